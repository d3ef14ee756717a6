/* The same sum in single and in double precision, added up. */
#include <stdio.h>

int main(void)
{
    float single = 0;
    double twice = 0;
    for (int i = 0; i < 5000; i++)
        single += 0.1f;
    for (int i = 0; i < 5000; i++)
        twice += 0.1;
    float both = single + (float)twice;
    printf("%.9g\n", both);
    return 0;
}
