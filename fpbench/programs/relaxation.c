/* A sweep of Gauss and Seidel's method over a SIZE x SIZE grid, nine points each: every result goes into the next one. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline))
static void sweep(double *a, long n)
{
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++) {
            double *here = a + i * n + j;
            double above = here[-n - 1] + here[-n] + here[-n + 1];
            double below = here[n - 1] + here[n] + here[n + 1];
            *here = (above + here[-1] + here[0] + here[1] + below) / 9;
        }
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 48, repeats = argc > 2 ? atol(argv[2]) : 1;
    double *a = malloc(size * size * sizeof *a);
    for (long i = 0; i < size * size; i++)
        a[i] = i % 29 / 29.0 + 1;
    for (long r = 0; r < repeats; r++)
        sweep(a, size);
    printf("%.17g %.17g\n", a[size + 1], a[size * (size / 2) + size / 2]);
    return 0;
}
