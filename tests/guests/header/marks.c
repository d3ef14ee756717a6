/* Computes what cannot be right, in three formats, and says how wrong it is. In C and C++. */
#include "fpgrind.h"
#include <stdio.h>
#include <stdlib.h>

static float narrow(float x) { return (x + 0.1f) - x; }
static double usual(double x) { return (x + 0.1) - x; }
static long double wide(long double x) { return (x + 0.1L) - x; }
#ifdef REGION
static double outside(double x) { return (x + 0.3) - x; }
#endif

int main(int argc, char **argv) {
    double x = argc > 1 ? atof(argv[1]) : 1e6;
    volatile float f;
    volatile double d;
    volatile long double l;
    const double right = 0.5;
    int evaluated = 0;
#ifdef REGION
    volatile double before = outside(x), after;
    FPGRIND_BEGIN();
#endif
    f = narrow((float)x);
    d = usual(x);
    l = wide(x);
#ifdef REGION
    FPGRIND_END();
    after = outside(x + 1);
#endif
    FPGRIND_OUTPUT(f);
    FPGRIND_OUTPUT(d);
    FPGRIND_OUTPUT(l);
    FPGRIND_OUTPUT(right + evaluated++);
    printf("%.1f %.1f %.1f %.1f\n", FPGRIND_ERROR(f), FPGRIND_ERROR(d), FPGRIND_ERROR(l), FPGRIND_ERROR(right));
    printf("%.1f %d\n", FPGRIND_ERROR(7), evaluated);
#ifdef REGION
    printf("%.1f %.1f\n", FPGRIND_ERROR(before), FPGRIND_ERROR(after));
#endif
    return 0;
}
