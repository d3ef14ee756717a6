/* One program for every way of linking: the C library, floating point, TLS, the heap, signals, arguments. */
#include "../guest.h"
#include <math.h>

static __thread int own = 3;
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static volatile int signalled;
static void signals(int number, siginfo_t *info, void *context) { signalled = number; (void)info, (void)context; }

__attribute__((constructor)) static void before_main(void) { own++; }
static int ran;
__attribute__((destructor)) static void after_main(void)
{
    if (ran)
        puts("destructor");
}

static void everything(void)
{
    ran = 1;
    int numbers[100];
    double sum = 0;
    for (int i = 0; i < 100; i++)
        numbers[i] = i * 37 % 101;
    qsort(numbers, 100, sizeof *numbers, compare);
    for (int i = 1; i < 100; i++)
        sum += sin(numbers[i]) * exp(-i * 0.01) + pow(i, 0.3) + log(i) + cbrt(i);
    printf("%d %d %.17g %La\n", numbers[0], numbers[99], sum, 1.0L / 3);
    char *text = strdup("copied");
    printf("%s %zu %g %s\n", text, strlen(text), strtod("6.02e23", NULL), strerror(ENOENT));
    free(text);
    handle(SIGUSR1, signals, 0);
    raise(SIGUSR1);
    check(signalled == SIGUSR1 && own == 4);
    struct timespec now;
    check(clock_gettime(CLOCK_MONOTONIC, &now) == 0 && now.tv_sec >= 0);
    printf("work %.17g\n", work(5000, 1));
    pid_t child = fork();
    if (child == 0)
        _exit(own == 4 ? 5 : 6);
    check(end_of(child) == 5);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {{"everything", everything}, {0}};
    return run_cases(cases, argc, argv);
}
