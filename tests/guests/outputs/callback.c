/* A function of the C library, whose own code is not looked at, calls back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int calls;

/* In the reals the first is always less; in floats both are rounded to the same. */
static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    calls++;
    return (x + 0.1) + 0.2 < y + (0.1 + 0.2) ? -1 : 1;
}

int main(void)
{
    double values[3] = {1, 1, 1};
    qsort(values, 3, sizeof *values, compare);
    printf("%d\n", calls);
    return 0;
}
