/* Cancels in the x87's format: compilers have no other for long double. */
#include <stdio.h>

static long double back(long double x, long double y)
{
    return (x + y) - x;
}

int main(void)
{
    for (long double x = 1; x < 2e18L; x *= 10)
        printf("%.12Lg\n", back(x, 0.7L));
    return 0;
}
