/* A matrix of SIZE x SIZE with two outer products added to it, and its products with two vectors. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline))
static void update(double *a, const double *u1, const double *v1, const double *u2, const double *v2, long n)
{
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++)
            a[i * n + j] = 0.5 * a[i * n + j] + u1[i] * v1[j] + u2[i] * v2[j];
}

/* x = beta A^T y + z, then w = alpha A x. */
__attribute__((noinline))
static void multiply(const double *a, double *w, double *x, const double *y, const double *z, long n)
{
    for (long i = 0; i < n; i++)
        x[i] = z[i];
    for (long j = 0; j < n; j++)
        for (long i = 0; i < n; i++)
            x[i] += 1.2 * a[j * n + i] * y[j];
    for (long i = 0; i < n; i++) {
        double sum = 0;
        for (long j = 0; j < n; j++)
            sum += a[i * n + j] * x[j];
        w[i] = 1.5 * sum;
    }
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 40, repeats = argc > 2 ? atol(argv[2]) : 1;
    double *a = malloc(size * size * sizeof *a), *vectors[8];
    for (int k = 0; k < 8; k++) {
        vectors[k] = malloc(size * sizeof **vectors);
        for (long i = 0; i < size; i++)
            vectors[k][i] = (i * (k + 3) % 11 + 1) / 7.0;
    }
    for (long i = 0; i < size * size; i++)
        a[i] = i % 13 / 13.0;
    for (long r = 0; r < repeats; r++) {
        update(a, vectors[0], vectors[1], vectors[2], vectors[3], size);
        multiply(a, vectors[4], vectors[5], vectors[6], vectors[7], size);
    }
    printf("%.17g %.17g\n", vectors[4][0], vectors[5][size - 1]);
    return 0;
}
