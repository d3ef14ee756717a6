/* The dot product of two vectors of SIZE. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline))
static double dot(const double *x, const double *y, long n)
{
    double total = 0;
    for (long i = 0; i < n; i++)
        total += x[i] * y[i];
    return total;
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 10000, repeats = argc > 2 ? atol(argv[2]) : 1;
    double *x = malloc(size * sizeof *x), *y = malloc(size * sizeof *y), total = 0;
    for (long i = 0; i < size; i++) {
        x[i] = 1.0 / (i + 1);
        y[i] = 0.3 * (i % 17) - 2;
    }
    for (long r = 0; r < repeats; r++) {
        x[r % size] += 0.001;
        total = dot(x, y, size);
    }
    printf("%.17g\n", total);
    return 0;
}
