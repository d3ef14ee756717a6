/* Not a float in sight. */
#include <stdio.h>

int main(void)
{
    long sum = 0;
    for (long i = 1; i <= 1000; i++)
        sum += i * i;
    printf("%ld\n", sum);
    return 0;
}
