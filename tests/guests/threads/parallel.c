/* Prints how many cores two threads that only compute had: processor time over time, in tenths. */
#include "../guest.h"
#include <pthread.h>

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void *computes(void *result)
{
    *(double *)result = work(100000000, 1);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    double results[2], processor = seconds(CLOCK_PROCESS_CPUTIME_ID), start = seconds(CLOCK_MONOTONIC);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, computes, &results[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    processor = seconds(CLOCK_PROCESS_CPUTIME_ID) - processor;
    printf("%.0f\n", 10 * processor / (seconds(CLOCK_MONOTONIC) - start));
    return results[0] == results[1] ? 0 : 1;
}
