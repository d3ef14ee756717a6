/* Numbers beyond their format, and operations that are not defined. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

APART static double length(double x, double y)
{
    return sqrt(x * x + y * y);
}

APART static double share(double x, double y)
{
    return x * x / (x * x + y * y);
}

APART static double logarithm(double x)
{
    return 1 + log(x);
}

APART static double quotient(double x, double y)
{
    return x / y;
}

int main(void)
{
    double big = atof("1e200"), small = atof("1e-200");
    printf("%g\n", length(big, 2 * big));
    printf("%g\n", share(small, 2 * small));
    printf("%g\n", logarithm(atof("-1")));
    printf("%g\n", quotient(atof("0"), atof("-0")));
    return 0;
}
