/* The Fourier transform of SIZE complex numbers, SIZE a power of two: radix 2, in place, forth and back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void transform(double (*x)[2], double (*roots)[2], long n, int back)
{
    for (long i = 1, j = 0; i < n; i++) {
        long bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j)
            for (int k = 0; k < 2; k++) {
                double swapped = x[i][k];
                x[i][k] = x[j][k];
                x[j][k] = swapped;
            }
    }
    for (long length = 2; length <= n; length *= 2)
        for (long start = 0; start < n; start += length)
            for (long k = 0; k < length / 2; k++) {
                double re = roots[k * (n / length)][0], im = roots[k * (n / length)][1];
                double *a = x[start + k], *b = x[start + k + length / 2];
                if (back)
                    im = -im;
                double tr = b[0] * re - b[1] * im, ti = b[0] * im + b[1] * re;
                b[0] = a[0] - tr;
                b[1] = a[1] - ti;
                a[0] += tr;
                a[1] += ti;
            }
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 512, repeats = argc > 2 ? atol(argv[2]) : 1;
    double (*x)[2] = malloc(size * sizeof *x), (*roots)[2] = malloc(size * sizeof *roots);
    for (long i = 0; i < size; i++) {
        double angle = -2 * 3.14159265358979323846 * i / size;
        roots[i][0] = cos(angle);
        roots[i][1] = sin(angle);
        x[i][0] = 0.3 * (i % 17) - 2;
        x[i][1] = 0;
    }
    for (long r = 0; r < repeats; r++) {
        transform(x, roots, size, 0);
        transform(x, roots, size, 1);
        for (long i = 0; i < size; i++) {
            x[i][0] /= size;
            x[i][1] /= size;
        }
    }
    printf("%.17g %.17g\n", x[0][0], x[size / 3][0]);
    return 0;
}
