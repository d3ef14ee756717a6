/* Solves x*x - 2*p*x + 1 = 0 for growing p: the smaller root is computed from the larger one.
 *
 *     gcc -O2 -g cancel_fixed.c -o cancel_fixed -lm && fpgrind ./cancel_fixed
 */
#include <math.h>
#include <stdio.h>

__attribute__((noinline))
static double smaller_root(double p)
{
    return 1 / (p + sqrt(p * p - 1));
}

int main(void)
{
    for (double p = 10; p < 1e9; p *= 10)
        printf("p = %-10g smaller root %.15g\n", p, smaller_root(p));
    return 0;
}
