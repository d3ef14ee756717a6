/* A step of Jacobi's method for heat on a SIZE x SIZE grid. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline))
static void relax(double *restrict to, const double *restrict from, long n)
{
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++) {
            const double *here = from + i * n + j;
            to[i * n + j] = 0.25 * (here[-n] + here[n] + here[-1] + here[1]);
        }
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 64, repeats = argc > 2 ? atol(argv[2]) : 1;
    double *from = malloc(size * size * sizeof *from), *to = malloc(size * size * sizeof *to);
    for (long i = 0; i < size * size; i++)
        from[i] = to[i] = 1 + 0.01 * (i % 23);
    for (long r = 0; r < repeats; r++) {
        relax(to, from, size);
        double *swapped = to;
        to = from;
        from = swapped;
    }
    printf("%.17g %.17g\n", from[size + 1], from[size * (size / 2) + size / 2]);
    return 0;
}
