/* Two functions that cancel for large numbers, which come from the command line; ends with the status that STATUS names. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double one(double x)
{
    return (x + 1) - x;
}

static double near_zero(double x)
{
    return sqrt(x + 1) - sqrt(x);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        double x = atof(argv[i]);
        printf("%.17g\n", one(x));
        printf("%.17g\n", near_zero(x));
    }
    return getenv("STATUS") ? atoi(getenv("STATUS")) : 0;
}
