/* (x - 1)^12 by Horner's rule, next to its root. */
#include <stdio.h>

static volatile double coefficients[] = {1, -12, 66, -220, 495, -792, 924, -792, 495, -220, 66, -12, 1};

int main(void)
{
    for (int k = 0; k < 20; k++) {
        volatile double x = 0.95 + k / 200.0;
        double at = x, value = 0;
        for (int i = 0; i < 13; i++) {
            value = value * at +
                    coefficients[i];
        }
        printf("%.17g\n", value);
    }
    return 0;
}
