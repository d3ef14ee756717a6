/* So many threads (1 to 64), each with the dot product of its own vectors of SIZE, REPEATS times. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long size, repeats;

static void *work(void *result)
{
    double *x = malloc(size * sizeof *x), *y = malloc(size * sizeof *y), total = 0;
    for (long i = 0; i < size; i++) {
        x[i] = 1.0 / (i + 1);
        y[i] = 0.3 * (i % 17) - 2;
    }
    for (long r = 0; r < repeats; r++) {
        x[r % size] += 0.001;
        for (long i = 0; i < size; i++)
            total += x[i] * y[i];
    }
    *(double *)result = total;
    free(x);
    free(y);
    return NULL;
}

int main(int argc, char **argv)
{
    size = argc > 1 ? atol(argv[1]) : 10000;
    repeats = argc > 2 ? atol(argv[2]) : 1;
    long threads = argc > 3 ? atol(argv[3]) : 2;
    pthread_t started[64];
    double results[64], total = 0;
    if (threads < 1 || threads > 64)
        return 1;
    /* The first thread works, too: with one thread, none is started. */
    for (long i = 1; i < threads; i++)
        if (pthread_create(&started[i], NULL, work, &results[i]) != 0)
            return 1;
    work(&results[0]);
    for (long i = 1; i < threads; i++)
        pthread_join(started[i], NULL);
    for (long i = 0; i < threads; i++)
        total += results[i];
    printf("%.17g\n", total);
    return 0;
}
