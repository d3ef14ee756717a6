/* Numbers in the order of their bits, as Rust's total_cmp has them. One of them is wrong, and so is its place. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int64_t ordered(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
}

__attribute__((noinline)) static int is_less(double x, double y)
{
    return ordered(x) < ordered(y);
}

int main(void)
{
    volatile double big = 1e16, one = 1, half = 0.5;
    double zero = big + one - big;
    printf("%d %d\n", is_less(zero, half), is_less(-zero, -big));
    return 0;
}
