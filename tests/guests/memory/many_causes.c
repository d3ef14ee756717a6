/* A thousand places that lose digits, each with an expression of its own and many different inputs. */
#include <math.h>
#include <stdio.h>

#define TEN(what) what what what what what what what what what what
#define LOSE total += (sqrt((x * x + y) * (1 + z * z) + y * z) - x * sqrt(1 + z * z)) * scale;

int main(void)
{
    double total = 0;
    for (int i = 1; i <= 100; i++) {
        volatile double x = i * 1e6, y = 1 + i * 0.25, z = i * 0.125, scale = 1e-3 * i;
        TEN(TEN(TEN(LOSE)))
    }
    printf("%.17g\n", total);
    return 0;
}
