/* A compensated sum of which nothing is wrong, and a difference of roots of it, of which much is. */
#include "numbers.h"

static APART double sum(void)
{
    double sum = 0, c = 0;
    for (int i = 0; i < 1000; i++) {
        double y = next() * 1e9 - c, t = sum + y;
        c = (t - sum) - y;
        sum = t;
    }
    return sum;
}

static APART double steps(double x)
{
    return sqrt(x + 1) - sqrt(x);
}

int main(void)
{
    for (int i = 0; i < 10; i++)
        printf("%.17g\n", steps(sum()));
    return 0;
}
