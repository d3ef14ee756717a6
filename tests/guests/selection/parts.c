// Functions that each lose digits in their own way, called by a main that only moves what they return.
#include <math.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

APART double difference(double x) { return (x + 0.1) - x; }
APART double root(double x) { return sqrt(x * x + 3) - x; }
// Wrong, and 0: a number that is everywhere.
APART double nothing(double x) { return (x + 1e-20) - x; }
static inline __attribute__((always_inline)) double inlined(double x) { return (x + 0.7) - x; }
APART double many(int n, double x) {
    double sum = 0;
    for (int i = 1; i <= n; i++) sum += sin(i * x) / i;
    return sum;
}
// How it rounds matters to all others.
APART void upwards(void) { fesetround(FE_UPWARD); }
APART void nearest(void) { fesetround(FE_TONEAREST); }
APART double zero(void) { return 0; }

int main(int argc, char **argv) {
    double x = argc > 1 ? atof(argv[1]) : 1e6;
    double kept[5];
    upwards();
    kept[0] = difference(x);
    nearest();
    kept[1] = root(x);
    kept[2] = nothing(x);
    kept[3] = inlined(x);
    kept[4] = zero();
    for (int i = 4; i >= 0; i--) printf("%.17g\n", kept[i]);
    printf("%.17g\n", many(1000, x));
    return 0;
}
