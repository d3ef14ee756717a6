/* The mean of the squares less the square of the mean: both sums are fine, their difference is not. */
#include <stdio.h>

static volatile double data[] = {1000001.3, 1000000.1, 999999.7};

int main(void)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < 1000; i++) {
        double x = data[i % 3];
        sum += x;
        squares += x * x;
    }
    double mean = sum / 1000;
    printf("%.17g\n", squares / 1000 - mean * mean);
    return 0;
}
