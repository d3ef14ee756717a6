/* The product of two SIZE x SIZE matrices, rows innermost, so that a compiler can vectorise it. */
#include <stdio.h>
#include <stdlib.h>

/* Does not alias, and says so: otherwise the vectorised loop is one of two versions. */
__attribute__((noinline))
static void multiply(double *restrict c, const double *restrict a, const double *restrict b, long n)
{
    for (long i = 0; i < n * n; i++)
        c[i] = 0;
    for (long i = 0; i < n; i++)
        for (long k = 0; k < n; k++)
            for (long j = 0; j < n; j++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 24, repeats = argc > 2 ? atol(argv[2]) : 1;
    size_t bytes = size * size * sizeof(double);
    double *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
    for (long i = 0; i < size * size; i++) {
        a[i] = 1.0 / (i % 23 + 1);
        b[i] = 0.3 * (i % 17) - 2;
    }
    for (long r = 0; r < repeats; r++) {
        a[r % (size * size)] += 0.001;
        multiply(c, a, b, size);
    }
    printf("%.17g %.17g\n", c[0], c[size * size - 1]);
    return 0;
}
