/* Wrong numbers whose bits are looked at, changed and moved, but never computed with: whatever is done to them here is done to floats. Nothing is printed. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static volatile double sink;
static volatile int seen;

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of_single(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float of_single_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#define SIGN (UINT64_C(1) << 63)
#define DIGITS ((UINT64_C(1) << 52) - 1)

/* The compiler must not see what these are called with: all of the work is to be done on bits. */
#define OWN __attribute__((noinline))

OWN static double magnitude(double x) { return of_bits(bits_of(x) & ~SIGN); }
OWN static double negated(double x) { return of_bits(bits_of(x) ^ SIGN); }
OWN static double with_sign(double x, double y) { return of_bits((bits_of(x) & ~SIGN) | (bits_of(y) & SIGN)); }
OWN static int is_negative(double x) { return bits_of(x) >> 63; }
OWN static int exponent(double x) { return (int)(bits_of(x) >> 52 & 0x7ff) - 1023; }
OWN static int is_finite(double x) { return (bits_of(x) & ~SIGN) < UINT64_C(0x7ff0000000000000); }
OWN static int is_nan(double x) { return (bits_of(x) << 1) > UINT64_C(0xffe0000000000000); }
OWN static int is_zero(double x) { return (bits_of(x) << 1) == 0; }
OWN static double scaled(double x, int by) { return of_bits(bits_of(x) + ((uint64_t)(int64_t)by << 52)); }
OWN static double between_1_and_2(double x) { return of_bits((bits_of(x) & DIGITS) | UINT64_C(0x3ff0000000000000)); }
OWN static double next(double x) { return of_bits(bits_of(x) + 1); }
OWN static double truncated(double x) { return of_bits(bits_of(x) & ~UINT64_C(0x7ffffff)); }
OWN static float root(float x) { return of_single_bits(UINT32_C(0x1fbd1df5) + (bits_of_single(x) >> 1)); }
OWN static double either(double x, double y, uint64_t mask) { return of_bits((bits_of(x) & mask) | (bits_of(y) & ~mask)); }

/* As Rust's total_cmp does it. */
OWN static int is_less(double x, double y)
{
    int64_t a = (int64_t)bits_of(x), b = (int64_t)bits_of(y);
    a ^= (int64_t)((uint64_t)(a >> 63) >> 1);
    b ^= (int64_t)((uint64_t)(b >> 63) >> 1);
    return a < b;
}

struct pair {
    double a, b;
};

int main(void)
{
    for (int i = 1; i <= 50; i++) {
        volatile double given = i * 1e6;
        double x = given, wrong = sqrt(x * x + 1) - x;
        sink = magnitude(wrong);
        sink = negated(wrong);
        sink = with_sign(wrong, x) + with_sign(x, wrong);
        seen = is_negative(wrong) + exponent(wrong) + is_finite(wrong) + is_nan(wrong) + is_zero(wrong) + is_less(wrong, x);
        sink = scaled(wrong, i % 3);
        sink = between_1_and_2(wrong);
        sink = next(wrong);
        sink = truncated(wrong);
        sink = root((float)wrong);
        sink = either(wrong, x, -(uint64_t)(i & 1));
        struct pair *copy = malloc(2 * sizeof *copy);
        copy[0] = (struct pair){ wrong, x };
        memcpy(&copy[1], &copy[0], sizeof *copy);
        sink = copy[1].a;
        free(copy);
    }
    return 0;
}
