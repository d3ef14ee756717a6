// The program's own functions, called as some of glibc's are.
#include <stdio.h>

__attribute__((noinline)) double gamma(double x) {
    return (x + 1) - x;
}

__attribute__((noinline)) double y1(double x) {
    return (1e16 + x) - 1e16;
}

int main(int argc, char **argv) {
    for (int i = 1; i < 10; i++) {
        volatile double x = 1e17 / 3 * i * argc;
        printf("%.17g %.17g\n", gamma(x), y1(1 / x));
    }
}
