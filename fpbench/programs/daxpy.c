/* y = y + a x over vectors of SIZE: as much memory as arithmetic. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline))
static void daxpy(double *y, double a, const double *x, long n)
{
    for (long i = 0; i < n; i++)
        y[i] += a * x[i];
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 10000, repeats = argc > 2 ? atol(argv[2]) : 1;
    double *x = malloc(size * sizeof *x), *y = malloc(size * sizeof *y);
    for (long i = 0; i < size; i++) {
        x[i] = 1.0 / (i + 1);
        y[i] = 0.3 * (i % 17) - 2;
    }
    for (long r = 0; r < repeats; r++) {
        daxpy(y, 0.1, x, size);
    }
    printf("%.17g %.17g\n", y[0], y[size - 1]);
    return 0;
}
