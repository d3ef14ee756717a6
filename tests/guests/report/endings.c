/* Loses digits, says so, and ends in the way that its argument names. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) static double one(double x)
{
    return (x + 1) - x;
}

/* Computes for so many seconds without a word. */
static double busy(double seconds)
{
    struct timespec begin, now;
    double sum = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (int i = 1; i < 200; i++)
            sum += 1.0 / i;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begin.tv_sec + (now.tv_nsec - begin.tv_nsec) * 1e-9 < seconds);
    return sum;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "silent")) {
        printf("%d\n", busy(atof(argv[2])) > 0);
        return 0;
    }
    if (!strcmp(how, "prompt")) {
        printf("value? ");
        fflush(stdout);
        printf("%d\n", busy(atof(argv[2])) > 0);
        for (int line = 0; line < 3; line++)
            printf("line %d\n", line);
        return 0;
    }
    const char *numbers[] = { "1e16", "3e17", "7" };
    for (int i = 0; i < 3; i++)
        printf("%.17g\n", one(atof(numbers[i])));
    fflush(stdout);
    if (!strcmp(how, "segv"))
        *(volatile int *)8 = 1;
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "wait"))
        pause();
    return 0;
}
