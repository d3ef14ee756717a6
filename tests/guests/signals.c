/* Signal handlers of every kind, and what they see. The output is the same however often they run. */
#include <errno.h>
#include <fenv.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t count;
static volatile double in_handler;
static sigjmp_buf back;
static char *page;

static void install(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(number, &action, 0);
}

static void counts(int number, siginfo_t *info, void *context) { (void)number, (void)info, (void)context; count++; }

static void jumps(int number, siginfo_t *info, void *context) { (void)info, (void)context; siglongjmp(back, number); }

/* Computes, calls a library, and is itself interrupted. */
static void works(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    char text[32];
    for (int i = 1; i < 20; i++)
        in_handler += 1.0 / i;
    snprintf(text, sizeof text, "%g", in_handler);
    count++;
}

static void repairs(int number, siginfo_t *info, void *context)
{
    (void)context;
    printf("signal %d at the page: %d\n", number, (char *)info->si_addr == page + 8);
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

/* The pc in the frame must be the program's own: in this function's caller, not in some cache. */
__attribute__((noinline)) static void fault(double *where) { *where = *where + 1.5; }

static void looks(int number, siginfo_t *info, void *context)
{
    unsigned long pc = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    unsigned long code = (unsigned long)fault;
    printf("signal %d, pc in the program: %d\n", number, pc >= code && pc < code + 64);
    (void)info;
    siglongjmp(back, 1);
}

static void divides(int number, siginfo_t *info, void *context)
{
    ucontext_t *saved = context;
    printf("signal %d, pc is its address: %d\n", number,
           (unsigned long)info->si_addr == (unsigned long)saved->uc_mcontext.gregs[REG_RIP]);
    siglongjmp(back, 2);
}

static double busy(int turns)
{
    double sum = 0;
    for (int i = 1; i <= turns; i++)
        sum += (i % 7) * 0.5 + 1.0 / (i % 3 + 1);
    return sum;
}

int main(void)
{
    setvbuf(stdout, 0, _IOLBF, 0);
    install(SIGUSR1, counts, 0);
    for (int i = 0; i < 100; i++)
        raise(SIGUSR1);
    printf("raised 100, handled %d\n", (int)count);

    install(SIGUSR2, jumps, SA_NODEFER);
    int jumped = 0;
    for (int i = 0; i < 50; i++)
        if (sigsetjmp(back, 1) == 0)
            raise(SIGUSR2);
        else
            jumped++;
    printf("jumped out %d times\n", jumped);

    /* A storm of timer signals over a computation, whose result must not change. */
    install(SIGALRM, works, SA_RESTART);
    double calm = busy(200000);
    struct itimerval timer = {{0, 5000}, {0, 5000}};
    setitimer(ITIMER_REAL, &timer, 0);
    count = 0;
    int same = 1;
    for (int i = 0; i < 5; i++)
        same &= busy(200000) == calm;
    while (count < 20)
        same &= busy(50000) == busy(50000);
    /* Slow calls are restarted. */
    int ends[2];
    if (pipe(ends) == 0 && fork() == 0) {
        usleep(20000);
        if (write(ends[1], "x", 1) != 1)
            _exit(1);
        _exit(0);
    }
    char byte = 0;
    ssize_t got = read(ends[0], &byte, 1);
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, 0);
    printf("under timers: same %d, read %d %c\n", same, (int)got, byte);

    /* Without SA_RESTART they are interrupted. */
    install(SIGALRM, counts, 0);
    timer.it_value.tv_usec = 10000;
    setitimer(ITIMER_REAL, &timer, 0);
    got = read(ends[0], &byte, 1);
    printf("interrupted: %d %d\n", (int)got, errno == EINTR);

    /* Faults: repaired, looked at, jumped out of. */
    page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    install(SIGSEGV, repairs, 0);
    double *where = (double *)(page + 8);
    fault(where);
    printf("repaired: %g\n", *where);
    mprotect(page, 4096, PROT_NONE);
    install(SIGSEGV, looks, SA_NODEFER);
    if (sigsetjmp(back, 1) == 0)
        fault(where);
    install(SIGFPE, divides, 0);
    if (sigsetjmp(back, 1) == 0) {
        volatile int zero = 0;
        printf("%d\n", 7 / zero);
    }
    feenableexcept(FE_DIVBYZERO);
    if (sigsetjmp(back, 1) == 0) {
        volatile double zero = 0;
        printf("%g\n", 1 / zero);
    }
    fedisableexcept(FE_DIVBYZERO);

    /* On a stack of its own, once. */
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, 0);
    count = 0;
    install(SIGUSR1, works, SA_ONSTACK | SA_RESETHAND);
    raise(SIGUSR1);
    struct sigaction after;
    sigaction(SIGUSR1, 0, &after);
    printf("on another stack: %d, reset: %d\n", (int)count, after.sa_handler == SIG_DFL);
    raise(SIGUSR1);
    return 0;
}
