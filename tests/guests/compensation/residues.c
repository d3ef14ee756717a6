/* Zero in the reals and not natively, but nothing that repairs a rounding. */
#include "numbers.h"

static APART int is_root(double x)
{
    double root = sqrt(x);
    return root * root - x == 0;
}

static APART int is_singular(double a, double b, double k)
{
    double c = k * a, d = k * b;
    return a * d - b * c == 0;
}

static APART int is_identity(double a, double b)
{
    return a * a - b * b - (a - b) * (a + b) == 0;
}

int main(void)
{
    int roots = 0, singular = 0, identities = 0;
    for (int i = 0; i < 200; i++) {
        double a = 1 + next(), b = next(), k = 1 + next();
        roots += is_root(a);
        singular += is_singular(a, b, k);
        identities += is_identity(a, b);
    }
    printf("%d %d %d\n", roots, singular, identities);
    return 0;
}
