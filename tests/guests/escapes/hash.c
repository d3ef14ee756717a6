/* A checksum over the bits of numbers that have lost their digits; with an argument, of numbers that have not. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t mix(uint64_t hash, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (hash ^ bits) * UINT64_C(0x100000001b3);
}

int main(int argc, char **argv)
{
    (void)argv;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 1; i <= 100; i++) {
        volatile double x = i * 1e6;
        double root = sqrt(x * x + 1);
        hash = mix(hash, argc > 1 ? root + x : root - x);
    }
    printf("%016llx\n", (unsigned long long)hash);
    return 0;
}
