/* (x - 1)^7 multiplied out, near 1: every term is needed to explain the error, and powers occur again and again. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) static double seventh(double x)
{
    double x2 = x * x, x3 = x2 * x, x4 = x2 * x2;
    return x4 * x3 - 7 * x3 * x3 + 21 * x4 * x - 35 * x4 + 35 * x3 - 21 * x2 + 7 * x - 1;
}

int main(void)
{
    for (uint64_t i = 1; i < 200; i++) {
        uint64_t bits = 0x3ff0000000000000 + (i << 36);
        double x;
        memcpy(&x, &bits, sizeof x);
        printf("%.17g\n", seventh(x));
    }
    return 0;
}
