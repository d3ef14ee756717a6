/* Numbers in [0, 1) that look random (Knuth's MMIX generator). */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define APART __attribute__((noinline))

static uint64_t state = 1;

static double next(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(state >> 11) * 0x1p-53;
}
