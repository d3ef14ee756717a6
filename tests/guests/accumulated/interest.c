/* Five centuries of daily interest. */
#include <stdio.h>

int main(void)
{
    double balance = 1000;
    for (int day = 0; day < 182500; day++) {
        double interest = balance * 1e-4;
        balance += interest;
    }
    printf("%.17g\n", balance);
    return 0;
}
