/* Cancels ever more as x grows; right for small x. */
#include <math.h>
#include <stdio.h>

int main(void)
{
    for (long n = 1; n <= 1000000000000000; n += n / 2 + 1) {
        double x = n;
        printf("%.17g\n", sqrt(x + 1) - sqrt(x));
    }
    return 0;
}
