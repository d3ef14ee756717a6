/* Calls and returns, and little else. */
#include <stdio.h>
#include <stdlib.h>

/* The compiler would otherwise inline several levels. */
__attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))
static long fib(long n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(int argc, char **argv)
{
    printf("%ld\n", fib(argc > 1 ? atol(argv[1]) : 30));
    return 0;
}
