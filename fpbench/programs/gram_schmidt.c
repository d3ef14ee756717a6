/* Classical Gram-Schmidt on SIZE vectors of SIZE, the columns of a matrix near Hilbert's: loses orthogonality. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline))
static void orthonormalise(double *q, long n)
{
    for (long j = 0; j < n; j++) {
        double *column = q + j * n, norm = 0;
        double projections[64];
        for (long k = 0; k < j; k++) {
            projections[k] = 0;
            for (long i = 0; i < n; i++)
                projections[k] += q[k * n + i] * column[i];
        }
        for (long k = 0; k < j; k++)
            for (long i = 0; i < n; i++)
                column[i] -= projections[k] * q[k * n + i];
        for (long i = 0; i < n; i++)
            norm += column[i] * column[i];
        norm = sqrt(norm);
        for (long i = 0; i < n; i++)
            column[i] /= norm;
    }
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 20, repeats = argc > 2 ? atol(argv[2]) : 1;
    if (size > 64)
        size = 64;
    double *q = malloc(size * size * sizeof *q);
    for (long r = 0; r < repeats; r++) {
        for (long j = 0; j < size; j++)
            for (long i = 0; i < size; i++)
                q[j * size + i] = 1.0 / (i + j + 1 + r % 3) + (i == j ? 1e-3 : 0);
        orthonormalise(q, size);
    }
    double worst = 0;
    for (long j = 1; j < size; j++) {
        double product = 0;
        for (long i = 0; i < size; i++)
            product += q[i] * q[j * size + i];
        worst = fmax(worst, fabs(product));
    }
    printf("%.17g\n", worst);
    return 0;
}
