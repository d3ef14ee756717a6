/* Numbers of all sizes between 0 and 1, summed one after the other. */
#include <stdint.h>
#include <stdio.h>

int main(void)
{
    uint32_t state = 1;
    float sum = 0;
    for (int i = 0; i < 1000000; i++) {
        state = state * 1664525u + 1013904223u;
        float term = (float)(state >> 8) / 16777216;
        sum += term;
    }
    printf("%.9g\n", sum);
    return 0;
}
