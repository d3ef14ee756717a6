/* Accurate, except where x is so close to 113 that z is huge. */
#include <stdio.h>

static const volatile double inputs[] = {
    1,          50,         100,        110,          112,           112.5,          113.5,
    114,        120,        200,        1000,         112.9999,      112.999999,     112.99999999,
    113.000001, 113.0001,   113.000000001, 112.9999999999, 113.00000000001,
};

__attribute__((noinline)) static double foo(double z)
{
    return (z + 3.14159265358979323846) - z;
}

__attribute__((noinline)) static double baz(double x)
{
    return foo(1 / (x - 113));
}

int main(void)
{
    for (unsigned i = 0; i < sizeof inputs / sizeof *inputs; i++)
        printf("%.17g\n", baz(inputs[i]));
    return 0;
}
