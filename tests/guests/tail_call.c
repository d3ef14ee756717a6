// A function whose last act is to print: at -O2 it jumps to printf instead of calling it.
#include <stdio.h>

__attribute__((noinline)) static void show(double x) {
    printf("%g\n", x + 1);
}

int main(void) {
    for (int i = 0; i < 3; i++)
        show(i);
}
