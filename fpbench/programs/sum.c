/* Adds SIZE numbers up from left to right; -DREAL=float for single precision. */
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL double
#endif

__attribute__((noinline))
static REAL sum(const REAL *x, long n)
{
    REAL total = 0;
    for (long i = 0; i < n; i++)
        total += x[i];
    return total;
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 20000, repeats = argc > 2 ? atol(argv[2]) : 1;
    REAL *x = malloc(size * sizeof *x), total = 0;
    for (long i = 0; i < size; i++)
        x[i] = (REAL)1 / (REAL)(i + 1);
    for (long r = 0; r < repeats; r++) {
        /* Other numbers each time, so that the compiler cannot add them up once. */
        x[r % size] += (REAL)0.001;
        total = sum(x, size);
    }
    printf("%.17g\n", (double)total);
    return 0;
}
