/* The flags of sigaction, one case each, and the masks. */
#include "../guest.h"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>

static volatile sig_atomic_t count, depth, deepest;
static volatile double computed;

static void counts(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    count++;
}

static int ends[2];

/* Again and again: the first alarm may come before what it is to interrupt has begun. */
static void alarm_every(int microseconds)
{
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Writes to the pipe after several signals have gone by. */
static void *writes_later(void *unused)
{
    while (count < 5)
        nap(1);
    if (write(ends[1], "x", 1) != 1)
        abort();
    return unused;
}

static void restart(void)
{
    sigset_t alarms;
    pthread_t writer;
    char byte = 0;
    if (pipe(ends) != 0)
        abort();
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    pthread_create(&writer, NULL, writes_later, NULL);
    handle(SIGALRM, counts, SA_RESTART);
    alarm_every(5000);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    ssize_t got = read(ends[0], &byte, 1);
    alarm_every(0);
    pthread_join(writer, NULL);
    check(got == 1 && byte == 'x');
    check(count >= 5);
}

static void interrupt(void)
{
    char byte;
    if (pipe(ends) != 0)
        abort();
    handle(SIGALRM, counts, 0);
    alarm_every(3000);
    for (int i = 0; i < 20; i++) {
        errno = 0;
        ssize_t got = read(ends[0], &byte, 1);
        expect(got == -1 && errno == EINTR);
    }
    check(count >= 20);
    /* A sleep is never restarted, whatever the flag. */
    handle(SIGALRM, counts, SA_RESTART);
    struct timespec rest = {60, 0}, left = {0, 0};
    check(nanosleep(&rest, &left) == -1 && errno == EINTR);
    /* The kernel counts the timer's slack in: a sleep that ends where it began has more left than it asked for. A busy
       machine may take seconds to get here. */
    check(left.tv_sec > 30 && left.tv_sec <= 60);
    alarm_every(0);
}

static char *other_stack;

static void where(int number, siginfo_t *info, void *context)
{
    char here;
    stack_t now;
    sigaltstack(NULL, &now);
    int inside = &here > other_stack && &here < other_stack + 65536;
    printf("signal %d on the other stack: %d, says so: %d\n", number, inside, (now.ss_flags & SS_ONSTACK) != 0);
    computed = work(1000, 1);
    (void)info, (void)context;
}

static void on_stack(void)
{
    other_stack = malloc(65536);
    stack_t stack = {.ss_sp = other_stack, .ss_size = 65536}, old;
    check(sigaltstack(&stack, NULL) == 0);
    handle(SIGUSR1, where, SA_ONSTACK);
    handle(SIGUSR2, where, 0);
    raise(SIGUSR1);
    raise(SIGUSR2);
    raise(SIGUSR1);
    check(computed == work(1000, 1));
    stack.ss_flags = SS_DISABLE;
    check(sigaltstack(&stack, &old) == 0 && old.ss_sp == other_stack);
    raise(SIGUSR1);
}

static void recurses(int number, siginfo_t *info, void *context)
{
    depth++;
    if (depth > deepest)
        deepest = depth;
    count++;
    if (count < 10)
        raise(number);
    depth--;
    (void)info, (void)context;
}

static void no_defer(void)
{
    handle(SIGUSR1, recurses, SA_NODEFER);
    raise(SIGUSR1);
    check(deepest == 10 && count == 10);
}

static void defer(void)
{
    handle(SIGUSR1, recurses, 0);
    raise(SIGUSR1);
    check(deepest == 1 && count == 10);
}

static void reset_hand(void)
{
    handle(SIGUSR1, counts, SA_RESETHAND);
    raise(SIGUSR1);
    struct sigaction now;
    sigaction(SIGUSR1, NULL, &now);
    check(count == 1 && now.sa_handler == SIG_DFL);
    /* SA_RESETHAND does not imply SA_NODEFER on Linux. */
    pid_t child = fork();
    if (child == 0) {
        raise(SIGUSR1);
        _exit(0);
    }
    check(end_of(child) == 1000 + SIGUSR1);
}

static char trace[64];

static void notes(int number, siginfo_t *info, void *context)
{
    size_t length = strlen(trace);
    trace[length] = number == SIGUSR1 ? 'a' : number == SIGUSR2 ? 'b' : 'c';
    if (number == SIGUSR1)
        raise(SIGUSR2);
    if (number == SIGUSR2)
        raise(SIGHUP);
    trace[strlen(trace)] = number == SIGUSR1 ? 'A' : number == SIGUSR2 ? 'B' : 'C';
    (void)info, (void)context;
}

static void nested(void)
{
    handle(SIGUSR1, notes, 0);
    handle(SIGUSR2, notes, 0);
    handle(SIGHUP, notes, 0);
    raise(SIGUSR1);
    printf("nested: %s\n", trace);
    check(!strcmp(trace, "abcCBA"));
}

static void mask_of_the_action(void)
{
    struct sigaction action = {.sa_sigaction = notes, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR2);
    sigaddset(&action.sa_mask, SIGHUP);
    sigaction(SIGUSR1, &action, NULL);
    handle(SIGUSR2, notes, 0);
    handle(SIGHUP, notes, 0);
    raise(SIGUSR1);
    printf("masked while handling: %s\n", trace);
    check(!strcmp(trace, "aAbcCB"));
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    check(!sigismember(&now, SIGUSR1) && !sigismember(&now, SIGUSR2));
}

static void pending(void)
{
    sigset_t set, waiting, now;
    handle(SIGUSR1, counts, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < 5; i++)
        kill(getpid(), SIGUSR1);
    work(10000, 0);
    check(count == 0);
    sigpending(&waiting);
    check(sigismember(&waiting, SIGUSR1) == 1 && sigismember(&waiting, SIGUSR2) == 0);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    check(count == 1);
    sigpending(&waiting);
    check(sigismember(&waiting, SIGUSR1) == 0);
    sigfillset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    sigprocmask(SIG_BLOCK, NULL, &now);
    check(!sigismember(&now, SIGKILL) && !sigismember(&now, SIGSTOP) && sigismember(&now, SIGTRAP));
    /* Everything blocked, also what a tracer might like to use. */
    printf("computed with all signals blocked: %.12g\n", work(100000, 1));
}

static uint64_t own_mask(void)
{
    uint64_t mask = 0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof mask);
    return mask;
}

/* rt_sigprocmask(SIG_BLOCK, NULL, rsp - 64, 8); the mask. */
static const unsigned char reads_mask[] = {
    0x31, 0xff, 0x31, 0xf6, 0x48, 0x8d, 0x54, 0x24, 0xc0, 0x48, 0xc7, 0x02, 0, 0, 0, 0, 0x41, 0xba, 8, 0, 0, 0,
    0xb8, 14, 0, 0, 0, 0x0f, 0x05, 0x48, 0x8b, 0x44, 0x24, 0xc0, 0xc3,
};

/* Signals come while the program forks, and while it enters code that it has never run: its mask is its own, and its children's. */
static void mask_in_a_hail(void)
{
    handle(SIGALRM, counts, SA_RESTART);
    alarm_every(1000);
    for (int i = 0; i < 150; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(own_mask() != 0);
        expect(end_of(child) == 0);
    }
    for (int i = 0; i < 1000; i++) {
        void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(code, reads_mask, sizeof reads_mask);
        expect(((uint64_t(*)(void))code)() == 0);
        munmap(code, 4096);
    }
    alarm_every(0);
    check(own_mask() == 0);
}

static void ignored(void)
{
    char byte;
    if (pipe(ends) != 0)
        abort();
    signal(SIGUSR1, SIG_IGN);
    raise(SIGUSR1);
    signal(SIGPIPE, SIG_IGN);
    close(ends[0]);
    check(write(ends[1], "x", 1) == -1 && errno == EPIPE);
    (void)byte;
    /* An ignored signal stays ignored over execve; a handled one does not. */
    handle(SIGUSR2, counts, 0);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "kill -USR1 $$; echo survived; kill -USR2 $$; echo not this", NULL);
        _exit(9);
    }
    check(end_of(child) == 1000 + SIGUSR2);
}

static volatile int finished;

static void *raises(void *unused)
{
    volatile uint64_t words[128];
    for (int i = 0; i < 128; i++)
        words[i] = ~0ul;
    while (!finished) {
        raise(SIGUSR1);
        for (int i = 0; i < 128; i++)
            expect(words[i] == ~0ul);
    }
    return unused;
}

static void *reads_and_sleeps(void *unused)
{
    char byte = 0;
    struct timespec rest = {0, 10000000};
    while (!finished)
        expect(nanosleep(&rest, NULL) == 0 || errno == EINTR);
    expect(read(ends[0], &byte, 1) == 1 && byte == 'x');
    return unused;
}

/* A signal that is ignored when it arrives, although it was handled when it was sent. */
static void ignored_on_its_way(void)
{
    pthread_t raiser, reader;
    if (pipe(ends) != 0)
        abort();
    handle(SIGUSR1, counts, SA_RESTART);
    pthread_create(&raiser, NULL, raises, NULL);
    pthread_create(&reader, NULL, reads_and_sleeps, NULL);
    for (int i = 0; i < 20000; i++) {
        handle(SIGUSR1, counts, SA_RESTART);
        if (i % 20 == 0)
            pthread_kill(reader, SIGUSR1);
        signal(SIGUSR1, SIG_IGN);
        finished = i > 15000;
    }
    pthread_join(raiser, NULL);
    check(write(ends[1], "x", 1) == 1);
    pthread_join(reader, NULL);
}

static void old_actions(void)
{
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = notes;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_NODEFER;
    sigfillset(&action.sa_mask);
    check(sigaction(SIGUSR1, &action, &old) == 0 && old.sa_handler == SIG_DFL);
    check(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_sigaction == notes);
    printf("flags %x\n", old.sa_flags);
    check(sigismember(&old.sa_mask, SIGHUP) && !sigismember(&old.sa_mask, SIGKILL));
    check(sigaction(SIGKILL, &action, NULL) == -1 && errno == EINVAL);
    check(sigaction(65, &action, NULL) == -1 && errno == EINVAL);
    check(kill(getpid(), 0) == 0 && kill(getpid(), 99) == -1 && errno == EINVAL);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"restart", restart}, {"interrupt", interrupt}, {"on stack", on_stack},
        {"no defer", no_defer}, {"defer", defer}, {"reset hand", reset_hand},
        {"nested", nested}, {"mask of the action", mask_of_the_action}, {"pending", pending},
        {"mask in a hail", mask_in_a_hail},
        {"ignored", ignored}, {"ignored on its way", ignored_on_its_way}, {"old actions", old_actions}, {0},
    };
    return run_cases(cases, argc, argv);
}
