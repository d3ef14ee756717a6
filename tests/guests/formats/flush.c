/* Flush-to-zero is on: products of small numbers vanish, which is no cancellation. */
#include <immintrin.h>
#include <stdio.h>

int main(void)
{
    volatile double small = 1e-160;
    _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
    double product = small * (small * 1e4);
    printf("%g %g\n", product, small * 3);
    return 0;
}
