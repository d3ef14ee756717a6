/* Rounds to integers by adding and subtracting 1.5 * 2^52, and reduces by them, as mathematical libraries do. Nothing is wrong with it. */
#include <stdio.h>

static double nearest(double x)
{
    double magic = 0x1.8p52;
    return (x + magic) - magic;
}

int main(void)
{
    for (int i = 1; i < 50; i++) {
        double x = i * 0.40625; /* exactly */
        printf("%.17g %.17g\n", nearest(x), x - nearest(x));
    }
    return 0;
}
