/* The largest singular value of a corner, SIZE x SIZE, of an infinite matrix, by two steps of the power method. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double entry(long i, long j)
{
    return 1.0 / ((i + j) * (i + j + 1) / 2 + i + 1);
}

/* to = A from, or with A transposed. */
static void multiply(double *to, const double *from, long n, int transposed)
{
    for (long i = 0; i < n; i++) {
        double total = 0;
        for (long j = 0; j < n; j++)
            total += (transposed ? entry(j, i) : entry(i, j)) * from[j];
        to[i] = total;
    }
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 32, repeats = argc > 2 ? atol(argv[2]) : 1;
    double *u = malloc(size * sizeof *u), *v = malloc(size * sizeof *v), *w = malloc(size * sizeof *w), norm = 0;
    for (long r = 0; r < repeats; r++) {
        double vv = 0, uv = 0;
        for (long i = 0; i < size; i++)
            u[i] = 1 + 0.001 * (r % 10);
        for (int step = 0; step < 2; step++) {
            multiply(w, u, size, 0);
            multiply(v, w, size, 1);
            multiply(w, v, size, 0);
            multiply(u, w, size, 1);
        }
        for (long i = 0; i < size; i++) {
            uv += u[i] * v[i];
            vv += v[i] * v[i];
        }
        norm = sqrt(uv / vv);
    }
    printf("%.9f\n", norm);
    return 0;
}
