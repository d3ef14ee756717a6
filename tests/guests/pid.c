/* A controller that should run for 50 steps of 0.2 s. Fifty times 0.2 adds up to a little less than 10, so it runs 51. */
#include <stdio.h>

int main(void)
{
    volatile double step = 0.2, wanted = 5;
    double measured = 0, integral = 0, previous = 0;
    int steps = 0;
    for (double t = 0; t < 10; t += step) {
        double error = wanted - measured;
        integral += 0.7 * error * step;
        double control = 9.5 * error + integral + 3.0 * (error - previous) / step;
        previous = error;
        measured += 0.01 * control;
        steps++;
    }
    printf("%d steps, %.6f\n", steps, measured);
    return 0;
}
