/* LU decomposition of a SIZE x SIZE matrix with partial pivoting. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline))
static void decompose(double *a, long n)
{
    for (long k = 0; k < n; k++) {
        long pivot = k;
        for (long i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k]))
                pivot = i;
        for (long j = 0; j < n; j++) {
            double swapped = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = swapped;
        }
        for (long i = k + 1; i < n; i++) {
            double factor = a[i * n + k] /= a[k * n + k];
            for (long j = k + 1; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 32, repeats = argc > 2 ? atol(argv[2]) : 1;
    size_t bytes = size * size * sizeof(double);
    double *given = malloc(bytes), *a = malloc(bytes);
    unsigned random = 1;
    for (long i = 0; i < size * size; i++) {
        random = random * 1664525u + 1013904223u;
        given[i] = random / 4294967296.0 - 0.5;
    }
    for (long r = 0; r < repeats; r++) {
        given[0] += 0.001;
        memcpy(a, given, bytes);
        decompose(a, size);
    }
    double determinant = 1;
    for (long i = 0; i < size; i++)
        determinant *= a[i * size + i];
    printf("%.17g\n", determinant);
    return 0;
}
