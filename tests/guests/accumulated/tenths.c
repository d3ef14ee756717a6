/* The last turn is one too many: ten tenths are less than one. */
#include <stdio.h>

int main(void)
{
    int turns = 0;
    for (volatile double t = 0; t < 1; t += 0.1)
        turns++;
    printf("%d\n", turns);
    return 0;
}
