/* Prints numbers by integer arithmetic of its own: its output functions see no float. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Nine digits of a number between 0 and 1. */
__attribute__((noinline)) static void print(double x)
{
    char text[12] = "0.";
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = bits >> 52 & 0x7ff;
    if (exponent == 0x7ff) {
        return;
    }
    uint64_t significand = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent > 0) {
        significand |= UINT64_C(1) << 52;
    }
    /* In units of 2^-56, which leaves room for a factor of ten. */
    const uint64_t one = UINT64_C(1) << 56;
    int shift = 1075 - 56 - exponent;
    uint64_t fraction = shift < 0 ? significand << -shift : shift < 64 ? significand >> shift : 0;
    for (int i = 0; i < 9; i++) {
        fraction *= 10;
        text[2 + i] = '0' + (char)(fraction / one);
        fraction %= one;
    }
    text[11] = '\n';
    (void)!write(1, text, sizeof text);
}

int main(void)
{
    for (int i = 1; i <= 20; i++) {
        volatile double x = i * 1e-7;
        print((1 - cos(x)) / (x * x));
    }
    return 0;
}
