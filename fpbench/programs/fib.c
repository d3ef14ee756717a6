/* Calls and returns, and no floating point: fib(SIZE), so many times. */
#include <stdio.h>
#include <stdlib.h>

/* The barrier keeps the compiler from inlining several levels, and from calling it once for all repeats. */
__attribute__((noinline))
static long fib(long n)
{
    if (n < 2)
        return n;
    long before = fib(n - 1);
    __asm__ volatile("" ::: "memory");
    return before + fib(n - 2);
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 20, repeats = argc > 2 ? atol(argv[2]) : 1;
    long sum = 0;
    for (long r = 0; r < repeats; r++)
        sum += fib(size);
    printf("%ld\n", sum);
    return 0;
}
