/* Floats handled as bits, compared, selected and negated: nothing here rounds, so nothing here is inaccurate. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const volatile double inputs[] = { -3.5, -1e-3, 0.1, 2.25, 1e10, -7e-9, 0.3, -0.7 };

static double with_bits(double x, uint64_t keep, uint64_t flip)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits & keep) ^ flip;
    memcpy(&x, &bits, sizeof x);
    return x;
}

int main(void)
{
    const uint64_t sign = UINT64_C(1) << 63;
    double least = 1e300, greatest = -1e300;
    for (unsigned i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        double x = inputs[i];
        double third = x / 3;
        least = third < least ? third : least;
        greatest = third > greatest ? third : greatest;
        printf("%.17g %.17g %.17g ", fabs(third), -third, copysign(third, -x));
        printf("%.17g %.17g ", with_bits(third, ~sign, 0), with_bits(third, ~UINT64_C(0), sign));
        printf("%.17g %.17g\n", fmax(third, 0.05), third < 0 ? 0 : third);
    }
    printf("%.17g %.17g\n", least, greatest);
    return 0;
}
