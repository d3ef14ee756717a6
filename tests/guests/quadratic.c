/* The root of a x^2 + b x + c next to zero, where b*b dwarfs 4ac. */
#include <math.h>
#include <stdio.h>

static const volatile double as[] = { 1, 2, 3, 5, 0.5, 0.25, 1.5, 7 };
static const volatile double bs[] = { 1e3, 3e4, 1.1e5, 1.3e6, 1.7e7, 1.9e4, 7e6, 1e5 };
static const volatile double cs[] = { 1, 0.3, 0.7, 1.9, 3.1, 1.3, 2.9, 0.1 };

int main(void)
{
    for (unsigned i = 0; i < sizeof as / sizeof *as; i++) {
        double a = as[i], b = bs[i], c = cs[i];
        printf("%.17g\n", (-b + sqrt(b * b - 4 * a * c)) / (2 * a));
    }
    return 0;
}
