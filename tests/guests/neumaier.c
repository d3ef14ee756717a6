/* Neumaier's sum: like Kahan's, but right also where a summand is larger than the sum. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

/* Numbers in [0, 1) that look random (Knuth's MMIX generator). */
static double next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(*state >> 11) * 0x1p-53;
}

int main(void)
{
    uint64_t state = 1;
    double sum = 0, c = 0;
    for (int i = 0; i < 100000; i++) {
        double x = next(&state);
        double t = sum + x;
        c += fabs(sum) >= fabs(x) ? (sum - t) + x : (x - t) + sum;
        sum = t;
    }
    printf("%.17g\n", sum + c);
    return 0;
}
