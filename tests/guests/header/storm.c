/* Marks without end, under signals without end: what is computed stays the same. */
#define _GNU_SOURCE
#include "fpgrind.h"
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static volatile sig_atomic_t signals;
static volatile double seen;

static void handler(int number) {
    (void)number;
    signals++;
    seen = seen * 0.5 + 0.1;
    FPGRIND_OUTPUT(seen);
}

int main(void) {
    struct itimerval often = { { 0, 300 }, { 0, 300 } };
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
    double sum = 0, errors = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 1; i <= 3000 || (signals < 50 && i < 100000000); i++) {
        double term = 1.0 / (i % 3000 + 1);
        FPGRIND_BEGIN();
        term = term * 3 - term;
        FPGRIND_OUTPUT(term);
        FPGRIND_END();
        if (i % 50 == 0) errors += FPGRIND_ERROR(term);
        if (i <= 3000) sum += term;
    }
    printf("%a %d\n", sum, errors >= 0 && errors < 1e9);
    return 0;
}
