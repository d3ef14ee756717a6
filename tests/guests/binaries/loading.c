/* Libraries that come and go: FIRST and SECOND are plugin.c with the numbers 1 and 2. */
#include "../guest.h"
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>

static void *load(const char *name)
{
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        puts(dlerror());
        abort();
    }
    return library;
}

/* The second library lands where the first one was: the same address is now another function. */
static void another_at_the_same_address(void)
{
    void *last = NULL;
    int repeats = 0, wrong = 0;
    for (int i = 0; i < 60; i++) {
        int number = i % 2 + 1;
        void *library = load(number == 1 ? FIRST : SECOND);
        int (*function)(void) = (int (*)(void))dlsym(library, "plugin_number");
        double (*value)(double) = (double (*)(double))dlsym(library, "plugin_value");
        repeats += (void *)function == last;
        last = (void *)function;
        wrong += function() != number;
        wrong += value(10) != number * 10 + number + 1;
        wrong += value(10) != number * 10 + number + 2;
        dlclose(library);
    }
    check(wrong == 0);
    check(repeats >= 50); /* else this case shows nothing */
}

static void *calls(void *library)
{
    double (*value)(double) = (double (*)(double))dlsym(library, "plugin_value");
    return (void *)(intptr_t)(value(1) + value(1) + value(1));
}

/* Each thread has its own copy of the library's thread-local variable. */
static void thread_local_in_a_library(void)
{
    int wrong = 0;
    for (int round = 0; round < 5; round++) {
        void *library = load(FIRST);
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, calls, library);
        for (int i = 0; i < 4; i++) {
            void *sum;
            pthread_join(threads[i], &sum);
            wrong += (intptr_t)sum != 3 * 1 + 2 + 3 + 4;
        }
        dlclose(library);
    }
    check(wrong == 0);
}

static double chosen_slow(double x) { return x * 2; }
static double chosen_fast(double x) { return x * 2; }
static double (*resolve(void))(double)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") ? chosen_fast : chosen_slow;
}
double chosen(double x) __attribute__((ifunc("resolve")));

static void indirect_functions(void)
{
    double sum = 0;
    double (*pointer)(double) = chosen;
    for (int i = 0; i < 100; i++)
        sum += chosen(i) + pointer(i);
    check(sum == 4 * 4950.0);
    char a[300], b[300];
    memset(a, 'x', sizeof a);
    memcpy(b, a, sizeof a);
    check(!memcmp(a, b, sizeof a) && memchr(a, 'y', sizeof a) == NULL && strnlen(a, 300) == 300);
    volatile double x = 0.5;
    printf("%.17g %.17g %.17g\n", sin(x), exp(x), floor(x * 7));
}

/* The first call of each goes through the dynamic linker, which keeps the vector registers. */
static void lazy_binding(void)
{
    volatile double x = 1.75;
    double before = x * 3;
    printf("%.17g %.17g %.17g %.17g %.17g\n", before, tgamma(x), erf(x), lgamma(x), y0(x));
    printf("%.17g %.17g %.17g\n", hypot(x, before), fmod(before, x), atan2(before, x));
    long double wide = tanl(x) + sqrtl(x);
    printf("%.20Lg\n", wide);
}

static void clocks(void)
{
    struct timespec last = {0, 0}, now;
    int backwards = 0;
    for (int i = 0; i < 20000; i++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        backwards += now.tv_sec < last.tv_sec || (now.tv_sec == last.tv_sec && now.tv_nsec < last.tv_nsec);
        last = now;
    }
    check(backwards == 0);
    unsigned processor;
    check(getcpu(&processor, NULL) == 0 && time(NULL) > 1600000000);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"another at the same address", another_at_the_same_address},
        {"thread-local in a library", thread_local_in_a_library},
        {"indirect functions", indirect_functions},
        {"lazy binding", lazy_binding},
        {"clocks", clocks},
        {0},
    };
    return run_cases(cases, argc, argv);
}
