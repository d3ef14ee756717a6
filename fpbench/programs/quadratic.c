/* The roots of SIZE quadratic equations by the school's formula, which cancels for some of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline))
static int roots(double a, double b, double c, double *low, double *high)
{
    double d = b * b - 4 * a * c;
    if (d < 0)
        return 0;
    *low = (-b - sqrt(d)) / (2 * a);
    *high = (-b + sqrt(d)) / (2 * a);
    return 1;
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 1500, repeats = argc > 2 ? atol(argv[2]) : 1;
    double low = 0, high = 0, sum = 0;
    for (long r = 0; r < repeats; r++) {
        for (long i = 0; i < size; i++)
            if (roots(1 + 0.001 * (i % 100), 10.0 * (1 + i % 1000), 1e-3 * (r % 7 + 1), &low, &high))
                sum += low * high;
    }
    printf("%.17g\n", sum);
    return 0;
}
