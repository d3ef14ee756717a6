/* No addition is bad, but a million of them in single precision are. */
#include <stdio.h>

int main(void)
{
    volatile float summand = 0.1f;
    float sum = 0;
    for (int i = 0; i < 1000000; i++)
        sum += summand;
    printf("%.9g\n", sum);
    return 0;
}
