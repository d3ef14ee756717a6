// Near 0, 1 - cos(x) is all cancellation. At -O2 GCC makes one call out of the sine and the cosine: sincos(x, &sin, &cos).
#include <math.h>
#include <stdio.h>

__attribute__((noinline)) static void print(double x) {
    double sine = sin(x), cosine = cos(x);
    printf("%.17g %.17g\n", sine, (1 - cosine) / (x * x));
}

__attribute__((noinline)) static void print_single(float x) {
    float sine = sinf(x), cosine = cosf(x);
    printf("%.9g %.9g\n", sine, (1 - cosine) / (x * x));
}

int main(void) {
    for (double x = 1; x > 1e-9; x *= 0.37)
        print(x);
    for (float x = 1; x > 1e-4f; x *= 0.37f)
        print_single(x);
}
