// Functions that nothing in their names says anything about: --wrap says what they are.
#include <math.h>
#include <stdio.h>

__attribute__((noinline)) double series(double x, int terms) {
    double sum = 0;
    for (int i = 1; i <= terms; i++)
        sum += exp(-x * i) / i;
    return sum;
}

__attribute__((noinline)) float length(float x, float y) {
    return sqrtf(x * x + y * y);
}

__attribute__((noinline)) double wave(double x) {
    return x - x * x * x / 6 + x * x * x * x * x / 120;
}

int main(int argc, char **argv) {
    for (int i = 1; i < 50; i++) {
        volatile double x = 1e-5 * i * argc;
        printf("%.17g\n", (series(x, 10) + x) - series(x, 10));
        printf("%g\n", length(x, x));
        printf("%.17g\n", 1 - wave(x) / x);
    }
}
