/* A dot product in single precision, short enough to be looked at as a whole. */
#include <stdio.h>

static volatile float x[] = {0.1f, 0.2f}, y[] = {0.3f, 0.4f};

int main(void)
{
    float sum = 0;
    for (int i = 0; i < 4000; i++) {
        float product = x[i % 2] * y[i % 2];
        sum += product;
    }
    printf("%.9g\n", sum);
    return 0;
}
