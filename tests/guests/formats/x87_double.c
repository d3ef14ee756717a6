/* Built for the x87: doubles in memory, 64 bits of precision in between. What is printed has lost digits all the same. */
#include <math.h>
#include <stdio.h>

int main(void)
{
    volatile double one = 1;
    for (double x = 1e10; x < 1e16; x *= 10)
        printf("%.17g\n", (x + one) * (x + one) - x * x - 2 * x);
    return 0;
}
