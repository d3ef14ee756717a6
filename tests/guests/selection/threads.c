// Two threads and a forked child that compute the same.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) double computed(int n) {
    double sum = 0;
    for (int i = 1; i <= n; i++) sum += 1.0 / i;
    return sum;
}

static void *run(void *result) {
    *(double *)result = computed(100);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    double results[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, run, &results[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    if (fork() == 0) _exit(computed(100) == results[0] ? 0 : 1);
    int status;
    wait(&status);
    printf("%d %.3f\n", status, results[0] + results[1]);
    return 0;
}
