/* Rounds upwards throughout, as interval arithmetic does: all results are within an ulp of the reals. */
#include <fenv.h>
#include <stdio.h>

int main(void)
{
    volatile double third = 1, three = 3;
    fesetround(FE_UPWARD);
    third = third / three;
    for (int i = 1; i < 20; i++) {
        volatile double x = i * third;
        printf("%.17g\n", x * x + x);
    }
    return 0;
}
