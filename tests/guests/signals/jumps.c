/* Ways out of a handler other than returning from it, contexts, and the ends that signals bring. */
#include "../guest.h"
#include <execinfo.h>
#include <setjmp.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <ucontext.h>

static sigjmp_buf back;
static volatile int count;

static void jumps(int number, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    siglongjmp(back, number);
}

static void many_times(void)
{
    volatile int jumped = 0, masks = 0;
    volatile double sum = 0;
    handle(SIGUSR1, jumps, 0);
    for (volatile int i = 0; i < 10000; i++) {
        if (sigsetjmp(back, 1) == 0)
            raise(SIGUSR1);
        else {
            jumped++;
            sum += 0.5;
        }
        if (i % 1000 == 0) {
            sigset_t now;
            sigprocmask(SIG_BLOCK, NULL, &now);
            masks += sigismember(&now, SIGUSR1);
        }
    }
    check(jumped == 10000 && masks == 0 && sum == 5000);
}

static void from_a_fault(void)
{
    volatile int jumped = 0;
    volatile int *volatile nowhere = NULL;
    handle(SIGSEGV, jumps, SA_NODEFER);
    for (volatile int i = 0; i < 2000; i++) {
        if (sigsetjmp(back, 0) == 0)
            *nowhere = 1;
        jumped++;
    }
    check(jumped == 2000);
}

static void raises_and_jumps(int number, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    count++;
    if (number == SIGUSR1)
        raise(SIGUSR2);
    else if (number == SIGUSR2)
        raise(SIGHUP);
    else
        siglongjmp(back, 1);
}

static void out_of_nested_handlers(void)
{
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536}, now;
    sigaltstack(&stack, NULL);
    handle(SIGUSR1, raises_and_jumps, SA_ONSTACK);
    handle(SIGUSR2, raises_and_jumps, SA_ONSTACK);
    handle(SIGHUP, raises_and_jumps, SA_ONSTACK);
    for (volatile int i = 0; i < 300; i++)
        if (sigsetjmp(back, 1) == 0)
            raise(SIGUSR1);
    check(count == 900);
    check(sigaltstack(NULL, &now) == 0 && !(now.ss_flags & SS_ONSTACK));
}

/* An asynchronous signal leaves a computation anywhere in it. */
static void out_of_a_computation(void)
{
    handle(SIGALRM, jumps, 0);
    volatile int left = 0;
    for (volatile int i = 0; i < 100; i++) {
        struct itimerval timer = {{0, 0}, {0, 500}};
        if (sigsetjmp(back, 1) == 0) {
            setitimer(ITIMER_REAL, &timer, NULL);
            for (;;)
                work(1000, 1);
        }
        left++;
    }
    check(left == 100);
    check(work(1000, 1) == work(1000, 1));
}

static ucontext_t main_context, first, second;
static char stacks[2][65536];
static volatile double passed;

static void coroutine(int step)
{
    for (int i = 0; i < 1000; i++) {
        passed += step * 0.25;
        swapcontext(step == 1 ? &first : &second, step == 1 ? &second : &first);
    }
}

static void coroutines(void)
{
    getcontext(&first);
    first.uc_stack.ss_sp = stacks[0];
    first.uc_stack.ss_size = sizeof stacks[0];
    first.uc_link = &main_context;
    makecontext(&first, (void (*)(void))coroutine, 1, 1);
    getcontext(&second);
    second.uc_stack.ss_sp = stacks[1];
    second.uc_stack.ss_size = sizeof stacks[1];
    second.uc_link = &main_context;
    makecontext(&second, (void (*)(void))coroutine, 1, 2);
    swapcontext(&main_context, &first);
    check(passed == 750.0);
}

static void resumes_elsewhere(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    count++;
    setcontext(&main_context);
}

static void setcontext_out_of_a_handler(void)
{
    handle(SIGUSR1, resumes_elsewhere, SA_NODEFER);
    volatile int turns = 0;
    getcontext(&main_context);
    if (turns++ < 200)
        raise(SIGUSR1);
    check(count == 200 && turns == 201);
}

static __attribute__((noinline, aligned(64))) void innermost(void) { raise(SIGUSR1); count++; }
static __attribute__((noinline, aligned(64))) void middle(void) { innermost(); count++; }
static __attribute__((noinline, aligned(64))) void outermost(void) { middle(); count++; }

static int found_inner, found_middle, found_outer;

static void traces(int number, siginfo_t *info, void *context)
{
    void *frames[64];
    int length = backtrace(frames, 64);
    for (int i = 0; i < length; i++) {
        found_inner += (char *)frames[i] > (char *)innermost && (char *)frames[i] < (char *)innermost + 64;
        found_middle += (char *)frames[i] > (char *)middle && (char *)frames[i] < (char *)middle + 64;
        found_outer += (char *)frames[i] > (char *)outermost && (char *)frames[i] < (char *)outermost + 64;
    }
    printf("more than six frames: %d\n", length > 6);
    (void)number, (void)info, (void)context;
}

static void backtrace_through_a_signal(void)
{
    handle(SIGUSR1, traces, 0);
    outermost();
    check(found_inner == 1 && found_middle == 1 && found_outer == 1);
}

static void ends_by_default(void)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGUSR1,
                                  SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGSYS, SIGPROF, 40, 64};
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        pid_t child = fork();
        if (child == 0) {
            signal(numbers[i], SIG_DFL);
            raise(numbers[i]);
            _exit(0);
        }
        printf("signal %d: %d\n", numbers[i], end_of(child));
    }
    for (int number = SIGCHLD; number <= SIGWINCH; number += SIGWINCH - SIGCHLD)
        raise(number); /* ignored by default */
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_IGN);
        abort();
    }
    check(end_of(child) == 1000 + SIGABRT);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"many times", many_times}, {"from a fault", from_a_fault},
        {"out of nested handlers", out_of_nested_handlers}, {"out of a computation", out_of_a_computation},
        {"coroutines", coroutines}, {"setcontext out of a handler", setcontext_out_of_a_handler},
        {"backtrace through a signal", backtrace_through_a_signal}, {"ends by default", ends_by_default}, {0},
    };
    return run_cases(cases, argc, argv);
}
