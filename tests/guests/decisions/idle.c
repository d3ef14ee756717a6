/* Loses what was added, and does nothing with it. */
#include <stdint.h>
#include <stdio.h>

static volatile double kept;

int main(void)
{
    for (int i = 1; i < 40; i++) {
        double x = (int64_t)i * 1000000000000000;
        kept = (x + 1) - x;
    }
    printf("done\n");
    return 0;
}
