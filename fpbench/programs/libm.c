/* The mathematical library: eleven functions of SIZE arguments. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline))
static double functions(double x)
{
    return sin(x) + cos(x) * tan(x / 4) + exp(-x) * log(1 + x) + pow(x, 0.3) + atan2(x, 2) + hypot(x, 1) + cbrt(x)
        + tanh(x) + expm1(x / 8);
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 300, repeats = argc > 2 ? atol(argv[2]) : 1;
    double sum = 0;
    for (long r = 0; r < repeats; r++) {
        for (long i = 0; i < size; i++)
            sum += functions(0.01 * (i + 1) + 1e-6 * (r % 100));
    }
    printf("%.17g\n", sum);
    return 0;
}
