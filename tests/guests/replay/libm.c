// Every function of libm in one precision, REAL with the functions' SUFFIX, at ordinary and special arguments.
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "sums.h"

#define PASTE(a, b) a##b
#define EXPANDED(a, b) PASTE(a, b)
#define OF(f) EXPANDED(f, SUFFIX)

static const long double special[] = {
    0.0L,    -0.0L,    1.0L,    -1.0L,   0.5L,     -0.5L,     2.0L,    1e-300L, -1e-30L,   1e-10L, 1e10L,    1e22L,    1e300L,
    -745.2L, 709.8L,   11356.6L, 88.8L,  0x1p-1074L, 0x1p-149L, 0x1p-16445L, DBL_MIN, FLT_MIN, LDBL_MIN, DBL_MAX, FLT_MAX, LDBL_MAX,
    M_PIl,   M_PI_2l,  -M_PI_4l, INFINITY, -INFINITY, NAN,    171.5L,  -170.5L, 26.5L,     4503599627370497.5L,
    9223372036854775807.0L, -2147483648.5L,
};
enum { SPECIAL = sizeof special / sizeof special[0] };

static REAL arguments[1000];
static int count = SPECIAL;

static REAL other(int i) {
    return arguments[(i * 7 + 3) % count];
}

static void add(REAL value) {
    add_bytes(&value, sizeof value > 10 ? 10 : sizeof value);
}

static void add_integer(long long value) {
    add_bytes(&value, sizeof value);
}

static void add_complex(REAL complex value) {
    add(OF(creal)(value));
    add(OF(cimag)(value));
}

#define EACH(name, call)                                                                                                         \
    for (int i = 0; i < count; i++) {                                                                                            \
        REAL x = arguments[i];                                                                                                   \
        call;                                                                                                                    \
    }                                                                                                                            \
    say(name);
#define ONE(f) EACH(#f, add(OF(f)(x)))
#define TWO(f) EACH(#f, add(OF(f)(x, other(i))))
#define INTEGER(f) EACH(#f, add_integer(OF(f)(x)))
#define COMPLEX(f) EACH(#f, add_complex(OF(f)(x + other(i) * I)))

static void several_results(int i, REAL x, REAL y, REAL z) {
    REAL a, b;
    int n = 0;
    OF(sincos)(x, &a, &b), add(a), add(b);
    add(OF(frexp)(x, &n)), add_integer(isfinite(x) ? n : 0);
    add(OF(modf)(x, &a)), add(a);
    n = 0, add(OF(remquo)(x, y, &n)), add_integer(n & 7);
    n = 0, add(EXPANDED(OF(lgamma), _r)(x, &n)), add_integer(n);
    add(OF(fma)(x, y, z));
    add(OF(ldexp)(x, i - 40)), add(OF(scalbn)(x, 40 - i)), add(OF(scalbln)(x, i)), add(OF(scalb)(x, 3));
    add(OF(jn)(3, x)), add(OF(yn)(2, x)), add(OF(nexttoward)(x, y));
    add_complex(OF(cpow)(x + y * I, z / 100));
    add(OF(cabs)(x + y * I)), add(OF(carg)(x + y * I));
    add_complex((x + y * I) * (y - z * I));
    add_complex((x + y * I) / (y - z * I));
}

int main(int argc, char **argv) {
    for (int i = 0; i < SPECIAL; i++)
        arguments[i] = special[i];
    int more = argc > 1 ? atoi(argv[1]) : 60;
    for (int i = 0; i < more && count < 1000; i++)
        arguments[count++] = next_number() * (i % 3 == 0 ? 1 : i % 3 == 1 ? 30 : expl(i - more / 2));
    ONE(acos) ONE(acosh) ONE(asin) ONE(asinh) ONE(atan) ONE(atanh) ONE(cbrt) ONE(ceil) ONE(cos) ONE(cosh) ONE(erf) ONE(erfc)
    ONE(exp) ONE(exp10) ONE(exp2) ONE(expm1) ONE(fabs) ONE(floor) ONE(j0) ONE(j1) ONE(lgamma) ONE(log) ONE(log10) ONE(log1p)
    ONE(log2) ONE(logb) ONE(nearbyint) ONE(rint) ONE(round) ONE(roundeven) ONE(significand) ONE(sin) ONE(sinh) ONE(sqrt)
    ONE(tan) ONE(tanh) ONE(tgamma) ONE(trunc) ONE(y0) ONE(y1)
    TWO(atan2) TWO(copysign) TWO(drem) TWO(fdim) TWO(fmax) TWO(fmin) TWO(fmod) TWO(hypot) TWO(nextafter) TWO(pow) TWO(remainder)
    INTEGER(ilogb) INTEGER(llrint) INTEGER(llround) INTEGER(lrint) INTEGER(lround)
    COMPLEX(cacos) COMPLEX(cacosh) COMPLEX(casin) COMPLEX(casinh) COMPLEX(catan) COMPLEX(catanh) COMPLEX(ccos) COMPLEX(ccosh)
    COMPLEX(cexp) COMPLEX(clog) COMPLEX(clog10) COMPLEX(cproj) COMPLEX(csin) COMPLEX(csinh) COMPLEX(csqrt) COMPLEX(ctan)
    COMPLEX(ctanh)
    EACH("several results", several_results(i, x, other(i), arguments[(i * 5 + 1) % count]))
}
