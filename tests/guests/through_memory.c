/* (x+1)-x, whose two operations lie in two functions, with the values handed over in a struct on the heap. */
#include <stdio.h>
#include <stdlib.h>

struct pair { double small, large; };

static const volatile double inputs[] = { 0.1, 1.1, 10.1, 1e2 / 7, 1e4 / 7, 1e6 / 7, 1e8 / 7, 1e10 / 7, 1e12 / 7, 1e14 / 7, 1e16 };

__attribute__((noinline)) static struct pair *with_successor(double x)
{
    struct pair local = { x, x + 1 };
    struct pair *heap = malloc(sizeof *heap);
    if (!heap)
        abort();
    *heap = local;
    return heap;
}

__attribute__((noinline)) static double distance(struct pair pair)
{
    return pair.large - pair.small;
}

int main(void)
{
    for (unsigned i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        struct pair *pair = with_successor(inputs[i]);
        printf("%.17g\n", distance(*pair));
        free(pair);
    }
    return 0;
}
