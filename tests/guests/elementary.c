/* Elementary functions of arguments that are right, and of arguments that have lost digits before; and where functions lose them themselves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef SINGLE
typedef float REAL;
#define F(name) name##f
#define DIGITS 24
#else
typedef double REAL;
#define F(name) name
#define DIGITS 53
#endif

static unsigned long state = 88172645463325252;

static REAL fraction(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (REAL)(long)(state >> (64 - DIGITS)) / (1L << DIGITS);
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 300;
    double sum = 0;
    for (long i = 0; i < size; i++) {
        volatile REAL large = i % 3 ? 1 : 1e6;
        REAL u = fraction(), v = fraction();
        REAL x = (u + large) - large, y = v * 20 - 10, z = x * 3 + (REAL)0.1;
        REAL results[] = {
            F(sin)(y), F(cos)(z * 100), F(tan)(z), F(asin)(u), F(acos)(v), F(atan)(y), F(atan2)(y, z),
            F(exp)(y), F(exp2)(z), F(expm1)(x / 1000), F(log)(x + 1), F(log2)(z + 2), F(log10)(v), F(log1p)(x / 4),
            F(pow)(u, y), F(pow)(z + 1, 3), F(pow)(2, z), F(cbrt)(y), F(hypot)(x, y),
            F(sinh)(y), F(cosh)(z), F(tanh)(x), F(asinh)(y), F(acosh)(u + 1), F(atanh)(v),
            F(exp)(F(log)(u)), F(sin)((REAL)M_PI * i), F(log)(F(fabs)(1 - x * (REAL)1e-9)), F(tan)((REAL)M_PI_2 + x * (REAL)1e-10),
            F(acos)(1 - u * (REAL)1e-12), F(cos)(u) - 1, F(pow)(1 + u * (REAL)1e-10, (REAL)1e8),
        };
        for (unsigned k = 0; k < sizeof results / sizeof *results; k++)
            sum += isfinite(results[k]) && results[k] < 1e6 ? results[k] : 1;
    }
    printf("%.17g\n", sum);
    return 0;
}
