/* exp(x) by its series, which alternates where x is negative. */
#include <stdio.h>

int main(void)
{
    for (int k = 1; k <= 25; k++) {
        volatile double negative = -k;
        double x = negative, term = 1, sum = 1;
        for (int i = 1; i < 100; i++) {
            term = term * x / i;
            sum = sum + term;
        }
        printf("%.17g\n", sum);
    }
    return 0;
}
