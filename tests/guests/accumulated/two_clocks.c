/* Two clocks, whose errors are known, added up. */
#include <stdio.h>

int main(void)
{
    double tenths = 0, sevenths = 0;
    for (int i = 0; i < 100000; i++)
        tenths += 0.1;
    for (int i = 0; i < 60000; i++)
        sevenths += 0.7;
    printf("%.17g\n", tenths + sevenths);
    return 0;
}
