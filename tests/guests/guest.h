/* What the guests of the transparency suite share. A guest is a list of cases: without arguments it prints their names,
   with the name of one it runs it. A case prints what it observes, which must be the same in every run, and checks it. */
#ifndef GUEST_H
#define GUEST_H

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct test_case {
    const char *name;
    void (*run)(void);
};

/* Shared by threads: what is added must not be lost. */
static int failures;

static void check_that(int holds, const char *what, int line)
{
    int before = errno;
    if (!holds)
        __atomic_add_fetch(&failures, 1, __ATOMIC_SEQ_CST);
    if (holds)
        printf("yes: %s\n", what);
    else
        printf("NO: %s (line %d, errno %d)\n", what, line, before);
    errno = before;
}

/* Says what was checked and whether it holds. */
#define check(condition) check_that(!!(condition), #condition, __LINE__)

/* The same for what is checked thousands of times: only a failure is worth a line. */
#define expect(condition) ((condition) ? (void)0 : check_that(0, #condition, __LINE__))

__attribute__((unused)) static int run_cases(const struct test_case *cases, int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (; cases->name; cases++) {
        if (argc < 2)
            puts(cases->name);
        else if (!strcmp(argv[1], cases->name)) {
            cases->run();
            return failures != 0;
        }
    }
    return argc < 2 ? 0 : 2;
}

__attribute__((unused)) static void handle(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    sigemptyset(&action.sa_mask);
    if (sigaction(number, &action, NULL) != 0)
        check_that(0, "sigaction", __LINE__);
}

__attribute__((unused)) static void nap(int milliseconds)
{
    struct timespec rest = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        ;
}

/* A little work in doubles, with a result that depends on every step. */
__attribute__((unused, noinline)) static double work(int turns, double seed)
{
    double sum = seed;
    for (int i = 1; i <= turns; i++)
        sum += (i % 7) * 0.5 + 1.0 / (i % 3 + 1) - sum * 1e-6;
    return sum;
}

/* How a child ended, as one number: its status, or 1000 and the signal. */
__attribute__((unused)) static int end_of(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

#endif
