/* Shewchuk's expansions: a sum of doubles that do not overlap, from which zeros are left out. */
#include "numbers.h"

static double parts[64];
static int count;

static APART void grow(double x)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        double y = parts[i];
        if (fabs(x) < fabs(y)) {
            double t = x;
            x = y;
            y = t;
        }
        double high = x + y, low = y - (high - x);
        if (low != 0)
            parts[kept++] = low;
        x = high;
    }
    parts[kept++] = x;
    count = kept;
}

int main(void)
{
    for (int i = 0; i < 1000; i++)
        grow((next() - 0.5) * (i % 5 ? 1 : 1e8));
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += parts[i];
    printf("%d %.17g\n", count, sum);
    return 0;
}
