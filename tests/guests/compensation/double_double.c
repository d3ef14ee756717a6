/* Numbers of twice the digits: each is a sum of two doubles, the second of which repairs the first. */
#include "numbers.h"

typedef struct { double hi, lo; } dd;

static dd quick(double a, double b)
{
    double s = a + b;
    return (dd){s, b - (s - a)};
}

static dd two_sum(double a, double b)
{
    double s = a + b, bb = s - a;
    return (dd){s, (a - (s - bb)) + (b - bb)};
}

static dd two_product(double a, double b)
{
    double p = a * b;
    return (dd){p, fma(a, b, -p)};
}

static APART dd add(dd a, dd b)
{
    dd s = two_sum(a.hi, b.hi), t = two_sum(a.lo, b.lo);
    s = quick(s.hi, s.lo + t.hi);
    return quick(s.hi, s.lo + t.lo);
}

static APART dd mul(dd a, dd b)
{
    dd p = two_product(a.hi, b.hi);
    return quick(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static dd negated(dd a)
{
    return (dd){-a.hi, -a.lo};
}

static APART dd quotient(dd a, dd b)
{
    double q1 = a.hi / b.hi;
    dd r = add(a, negated(mul(b, (dd){q1, 0})));
    double q2 = r.hi / b.hi;
    r = add(r, negated(mul(b, (dd){q2, 0})));
    return add(quick(q1, q2), (dd){r.hi / b.hi, 0});
}

static APART dd root(dd a)
{
    double x = 1 / sqrt(a.hi), ax = a.hi * x;
    dd r = add(a, negated(two_product(ax, ax)));
    return two_sum(ax, r.hi * (x * 0.5));
}

/* Is there anything in the second half? */
static APART int is_long(dd a)
{
    return a.lo != 0;
}

static APART int is_much(dd a)
{
    return fabs(a.lo) > 1e-17 * fabs(a.hi);
}

int main(void)
{
    int count = 0;
    dd sum = {0, 0}, product = {1, 0};
    for (int i = 0; i < 200; i++) {
        dd a = {1 + next(), 0}, b = {1 + next(), 0};
        dd c = add(root(mul(a, b)), quotient(a, b));
        sum = add(sum, c);
        product = mul(product, quotient(root(a), root(b)));
        count += is_long(c) + is_long(sum) + is_much(product);
    }
    printf("%d\n%.15g\n%.15g\n", count, sum.hi, product.hi);
    return 0;
}
