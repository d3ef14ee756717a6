/* A cancellation in a function that is inlined into a second, and this into a third. Also C++. */
#include <math.h>
#include <stdio.h>

#define INLINE static inline __attribute__((always_inline))

INLINE double gap(double x)
{
    return sqrt(x + 1) - sqrt(x);
}

INLINE double scaled(double x)
{
    return 2 * gap(x);
}

__attribute__((noinline)) static double outer(double x)
{
    return scaled(x) + 1e-30;
}

int main(void)
{
    volatile double x = 1e12;
    printf("%.17g\n", outer(x));
    return 0;
}
