/* Error-free transformations: a sum or a product and what rounding took from it, which the program looks at. */
#include "numbers.h"

/* Knuth. */
static APART double two_sum(double a, double b, double *error)
{
    double s = a + b, bb = s - a;
    *error = (a - (s - bb)) + (b - bb);
    return s;
}

/* Dekker, for |a| >= |b|. */
static APART double fast_two_sum(double a, double b, double *error)
{
    double s = a + b;
    *error = b - (s - a);
    return s;
}

/* Veltkamp. */
static void split(double a, double *high, double *low)
{
    double c = 134217729 * a;
    *high = c - (c - a);
    *low = a - *high;
}

/* Dekker. */
static APART double two_product(double a, double b, double *error)
{
    double p = a * b, ah, al, bh, bl;
    split(a, &ah, &al);
    split(b, &bh, &bl);
    *error = al * bl - (((p - ah * bh) - al * bh) - ah * bl);
    return p;
}

static APART double two_product_fma(double a, double b, double *error)
{
    double p = a * b;
    *error = fma(a, b, -p);
    return p;
}

typedef double transformation(double, double, double *);

int main(void)
{
    static transformation *const all[] = {two_sum, fast_two_sum, two_product, two_product_fma};
    int lossy = 0, much = 0;
    double sum = 0;
    for (int i = 0; i < 500; i++) {
        double a = 1 + next(), b = next();
        for (int k = 0; k < 4; k++) {
            double error;
            sum += all[k](a, b, &error);
            if (error != 0)
                lossy++;
            if (fabs(error) > 5e-17)
                much++;
            sum += error;
        }
    }
    printf("%d %d %.10g\n", lossy, much, sum);
    return 0;
}
