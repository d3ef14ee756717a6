/* Cholesky's factorisation of a positive definite SIZE x SIZE matrix. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline))
static void factor(double *a, long n)
{
    for (long j = 0; j < n; j++) {
        double pivot = a[j * n + j];
        for (long k = 0; k < j; k++)
            pivot -= a[j * n + k] * a[j * n + k];
        a[j * n + j] = pivot = sqrt(pivot);
        for (long i = j + 1; i < n; i++) {
            double sum = a[i * n + j];
            for (long k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = sum / pivot;
        }
    }
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 32, repeats = argc > 2 ? atol(argv[2]) : 1;
    size_t bytes = size * size * sizeof(double);
    double *matrix = malloc(bytes), *factors = malloc(bytes);
    for (long i = 0; i < size; i++)
        for (long j = 0; j < size; j++)
            matrix[i * size + j] = 1.0 / (1 + labs(i - j)) + (i == j ? 2 : 0);
    for (long r = 0; r < repeats; r++) {
        matrix[0] += 1e-6;
        memcpy(factors, matrix, bytes);
        factor(factors, size);
    }
    printf("%.17g %.17g\n", factors[0], factors[size * size - 1]);
    return 0;
}
