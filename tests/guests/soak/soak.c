/* The same thing over and over: soak KIND COUNT [LIBRARY...]. At half time and at the end it says so and waits for a byte,
   so that whoever runs it can measure; what is lost is counted. */
#include "../guest.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static int count;
static char **libraries;

static void measured_at(const char *when)
{
    char byte;
    puts(when);
    if (read(0, &byte, 1) != 1)
        abort();
}

static void half_or_end(int done)
{
    if (done == count / 2)
        measured_at("half");
    if (done == count)
        measured_at("end");
}

#define WORKERS 2
static atomic_int received[WORKERS], disorder, stop, ready;
static _Thread_local int own_number, last_value;
static double calm[WORKERS];

static void receives(int number, siginfo_t *info, void *context)
{
    if (info->si_value.sival_int <= last_value)
        disorder++;
    last_value = info->si_value.sival_int;
    received[own_number]++;
    (void)number, (void)context;
}

static void *computes(void *argument)
{
    long wrong = 0;
    own_number = (int)(intptr_t)argument;
    calm[own_number] = work(500, own_number);
    ready++;
    while (!stop)
        wrong += work(500, own_number) != calm[own_number];
    return (void *)wrong;
}

static int total(void)
{
    int sum = 0;
    for (int i = 0; i < WORKERS; i++)
        sum += received[i];
    return sum;
}

static void signals(void)
{
    pthread_t threads[WORKERS];
    long wrong = 0;
    handle(SIGRTMIN, receives, SA_RESTART);
    for (intptr_t i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, computes, (void *)i);
    while (ready < WORKERS)
        nap(1);
    for (int i = 1; i <= count; i++) {
        while (pthread_sigqueue(threads[i % WORKERS], SIGRTMIN, (union sigval){.sival_int = i}) != 0)
            nap(1);
        /* Some on their way at once, not thousands. */
        while (i - total() > 300)
            sched_yield();
        if (i == count / 2 || i == count) {
            while (total() < i)
                nap(1);
            half_or_end(i);
        }
    }
    stop = 1;
    for (int i = 0; i < WORKERS; i++) {
        void *value;
        pthread_join(threads[i], &value);
        wrong += (intptr_t)value;
    }
    printf("received %d\n", total());
    check(total() == count && disorder == 0 && wrong == 0);
}

static void forks(void)
{
    int wrong = 0;
    for (int i = 1; i <= count; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(work(50, i) == work(50, i) ? i % 100 : 101);
        wrong += end_of(child) != i % 100;
        half_or_end(i);
    }
    check(wrong == 0);
}

static void *one_thread(void *argument)
{
    int number = (int)(intptr_t)argument;
    return (void *)(intptr_t)(work(200, number) == work(200, number) ? number : -1);
}

static void threads(void)
{
    int wrong = 0;
    for (int i = 1; i <= count; i++) {
        pthread_t thread;
        void *value;
        expect(pthread_create(&thread, NULL, one_thread, (void *)(intptr_t)i) == 0);
        pthread_join(thread, &value);
        wrong += (intptr_t)value != i;
        half_or_end(i);
    }
    check(wrong == 0);
}

static void loads(void)
{
    int wrong = 0;
    for (int i = 1; i <= count; i++) {
        void *library = dlopen(libraries[i % 2], RTLD_NOW);
        if (!library)
            abort();
        int (*number)(void) = (int (*)(void))dlsym(library, "plugin_number");
        double (*value)(double) = (double (*)(double))dlsym(library, "plugin_value");
        wrong += number() != i % 2 + 1 || value(4) != (i % 2 + 1) * 5 + 1;
        dlclose(library);
        half_or_end(i);
    }
    check(wrong == 0);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"signals", signals}, {"forks", forks}, {"threads", threads}, {"loads", loads}, {0}};
    count = argc > 2 ? atoi(argv[2]) : 10;
    libraries = argv + 3;
    return run_cases(cases, argc, argv);
}
