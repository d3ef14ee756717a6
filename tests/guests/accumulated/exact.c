/* Every one of these sums is exact, or nearly so. */
#include <stdio.h>

int main(void)
{
    double eighths = 0, few = 0;
    for (int i = 0; i < 100000; i++)
        eighths += 0.125;
    for (int i = 0; i < 5; i++)
        few += 0.1;
    printf("%.17g %.17g\n", eighths, few);
    return 0;
}
