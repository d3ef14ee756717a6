/* Sums that carry along what their additions lose, and look at it. */
#include "numbers.h"

enum { COUNT = 2000 };
static double x[COUNT];

static APART double kahan(int *lossy)
{
    double sum = 0, c = 0;
    for (int i = 0; i < COUNT; i++) {
        double y = x[i] - c, t = sum + y;
        c = (t - sum) - y;
        if (c != 0)
            ++*lossy;
        sum = t;
    }
    return sum;
}

static APART double neumaier(int *lossy)
{
    double sum = 0, c = 0;
    for (int i = 0; i < COUNT; i++) {
        double t = sum + x[i];
        c += fabs(sum) >= fabs(x[i]) ? (sum - t) + x[i] : (x[i] - t) + sum;
        if (fabs(c) > 1e-13)
            ++*lossy;
        sum = t;
    }
    return sum + c;
}

static APART double klein(int *lossy)
{
    double s = 0, cs = 0, ccs = 0;
    for (int i = 0; i < COUNT; i++) {
        double t = s + x[i];
        double c = fabs(s) >= fabs(x[i]) ? (s - t) + x[i] : (x[i] - t) + s;
        s = t;
        t = cs + c;
        double cc = fabs(cs) >= fabs(c) ? (cs - t) + c : (c - t) + cs;
        if (cc != 0)
            ++*lossy;
        cs = t;
        ccs += cc;
        if (ccs > 0)
            ++*lossy;
    }
    return s + (cs + ccs);
}

static double pairwise(const double *x, int count)
{
    return count == 1 ? *x : pairwise(x, count / 2) + pairwise(x + count / 2, count - count / 2);
}

int main(void)
{
    int lossy[3] = {0};
    for (int i = 0; i < COUNT; i++)
        x[i] = next() * (i % 7 ? 1 : 1e4);
    printf("%.17g\n", kahan(lossy));
    printf("%.17g\n", neumaier(lossy + 1));
    printf("%.17g\n", klein(lossy + 2));
    printf("%.17g\n", pairwise(x, COUNT));
    printf("%d %d %d\n", lossy[0], lossy[1], lossy[2]);
    return 0;
}
