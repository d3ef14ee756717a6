/* Solves x*x - 2*p*x + 1 = 0 for growing p: the smaller root goes wrong, and with it everything that is made of it.
 *
 *     gcc -O2 -g cancel.c -o cancel -lm && fpgrind ./cancel
 */
#include <math.h>
#include <stdio.h>

__attribute__((noinline))
static double smaller_root(double p)
{
    return p - sqrt(p * p - 1);
}

int main(void)
{
    for (double p = 10; p < 1e9; p *= 10)
        printf("p = %-10g smaller root %.15g\n", p, smaller_root(p));
    return 0;
}
