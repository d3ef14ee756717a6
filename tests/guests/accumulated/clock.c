/* A clock that counts in tenths of a second, for a day and more, shown now and then. */
#include <stdio.h>

int main(void)
{
    double t = 0;
    for (int i = 1; i <= 1000000; i++) {
        t += 0.1;
        if (i % 50000 == 0)
            printf("%.17g\n", t);
    }
    return 0;
}
