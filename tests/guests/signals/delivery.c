/* Signals on their way: queued, timed, waited for, directed at threads. */
#include "../guest.h"
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>

static volatile int count, sum, last, out_of_order, finished;
static volatile pid_t handled_by;

static void counts(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    count++;
    handled_by = gettid();
}

static void in_order(int number, siginfo_t *info, void *context)
{
    int value = info->si_value.sival_int;
    if (value != last + 1 || info->si_code != SI_QUEUE || info->si_pid != getpid())
        out_of_order++;
    last = value;
    count++;
    (void)number, (void)context;
}

static sigset_t only(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    return set;
}

static void real_time_queue(void)
{
    sigset_t set = only(SIGRTMIN + 1);
    handle(SIGRTMIN + 1, in_order, 0);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int i = 1; i <= 500; i++)
        expect(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i}) == 0);
    check(count == 0);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    check(count == 500 && out_of_order == 0);
    for (int i = 501; i <= 1000; i++)
        sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i});
    check(count == 1000 && out_of_order == 0);
}

static volatile pid_t sender_pid;

static void in_order_from_the_child(int number, siginfo_t *info, void *context)
{
    int value = info->si_value.sival_int;
    if (value != last + 1 || info->si_code != SI_QUEUE || (sender_pid && info->si_pid != sender_pid))
        out_of_order++;
    last = value;
    count++;
    (void)number, (void)context;
}

/* They come while the program computes: at any instruction, several at once. */
static void queued_while_computing(void)
{
    handle(SIGRTMIN + 1, in_order_from_the_child, SA_RESTART);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 1; i <= 500; i++) {
            sigqueue(getppid(), SIGRTMIN + 1, (union sigval){.sival_int = i});
            if (i % 50 == 0)
                nap(1);
        }
        _exit(0);
    }
    sender_pid = child;
    double calm = work(1000, 2);
    int wrong = 0;
    while (count < 500)
        wrong += work(1000, 2) != calm;
    check(wrong == 0 && count == 500 && out_of_order == 0);
    check(end_of(child) == 0);
}

static char sequence[16];

static void notes(int number, siginfo_t *info, void *context)
{
    sequence[strlen(sequence)] = (char)('0' + number - SIGRTMIN);
    (void)info, (void)context;
}

static void lowest_first(void)
{
    sigset_t set = only(SIGRTMIN + 1);
    for (int i = 1; i <= 4; i++) {
        struct sigaction action = {.sa_sigaction = notes, .sa_flags = SA_SIGINFO};
        sigfillset(&action.sa_mask);
        sigaction(SIGRTMIN + i, &action, NULL);
        sigaddset(&set, SIGRTMIN + i);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int i = 4; i >= 1; i--)
        raise(SIGRTMIN + i), raise(SIGRTMIN + i);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    printf("delivered %s\n", sequence);
    check(!strcmp(sequence, "11223344"));
}

static void posix_timer(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 77};
    struct itimerspec every = {{0, 4000000}, {0, 4000000}};
    handle(SIGRTMIN, counts, SA_RESTART);
    check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    timer_settime(timer, 0, &every, NULL);
    double calm = work(50000, 2);
    int wrong = 0;
    while (count < 50)
        wrong += work(50000, 2) != calm;
    check(wrong == 0);
    check(timer_getoverrun(timer) >= 0);
    check(timer_delete(timer) == 0);
}

static void interval_timers(void)
{
    static const int kinds[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
    static const int numbers[] = {SIGALRM, SIGVTALRM, SIGPROF};
    for (int i = 0; i < 3; i++) {
        struct itimerval timer = {{0, 5000}, {0, 5000}};
        count = 0;
        handle(numbers[i], counts, 0);
        setitimer(kinds[i], &timer, NULL);
        double calm = work(20000, 3);
        int wrong = 0;
        while (count < 10)
            wrong += work(20000, 3) != calm;
        memset(&timer, 0, sizeof timer);
        setitimer(kinds[i], &timer, NULL);
        check(wrong == 0);
    }
}

/* With everything blocked, so that the next signal is delivered when the handler returns. */
static void handle_alone(int number, int flags)
{
    struct sigaction action = {.sa_sigaction = counts, .sa_flags = SA_SIGINFO | flags};
    sigfillset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

static void only_counts(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    count++;
}

/* A timer that is faster than a tool delivers signals: the program gets on all the same. */
static void storm(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    struct itimerspec often = {{0, 50000}, {0, 50000}};
    struct itimerval every = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    double calm = work(300000, 2);
    handle(SIGALRM, counts, SA_RESTART);
    setitimer(ITIMER_REAL, &every, NULL);
    check(work(300000, 2) == calm);
    /* Interrupting itself. */
    handle(SIGALRM, only_counts, SA_RESTART | SA_NODEFER);
    check(work(300000, 2) == calm);
    /* Two at a time. */
    handle_alone(SIGALRM, SA_RESTART);
    handle_alone(SIGRTMIN, SA_RESTART);
    check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    timer_settime(timer, 0, &often, NULL);
    check(work(300000, 2) == calm);
    /* System calls get on as well, and forks. */
    for (int i = 0; i < 50; i++)
        expect(getppid() > 0);
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(i);
        expect(end_of(child) == i);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    timer_delete(timer);
    check(count > 0);
}

/* Signals that wait together are all delivered before sigprocmask returns, whoever sent them. */
static void unblocked_together(void)
{
    static const int numbers[] = {SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD};
    sigset_t set = only(SIGRTMIN);
    for (int i = 0; i < 5; i++) {
        handle_alone(numbers[i], 0);
        sigaddset(&set, numbers[i]);
    }
    handle_alone(SIGRTMIN, 0);
    for (int round = 1; round <= 20; round++) {
        struct itimerval soon = {{0, 0}, {0, 100}};
        count = 0;
        sigprocmask(SIG_BLOCK, &set, NULL);
        setitimer(ITIMER_REAL, &soon, NULL);
        pid_t child = fork();
        if (child == 0) {
            for (int i = 0; i < 3; i++)
                kill(getppid(), numbers[i]);
            for (int i = 0; i < 10; i++)
                sigqueue(getppid(), SIGRTMIN, (union sigval){.sival_int = i});
            _exit(0);
        }
        expect(end_of(child) == 0);
        sigset_t waiting;
        do
            sigpending(&waiting);
        while (!sigismember(&waiting, SIGALRM));
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        expect(count == 15);
    }
    check(count == 15);
}

static void descriptor(void)
{
    sigset_t set = only(SIGUSR1);
    struct signalfd_siginfo info;
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int file = signalfd(-1, &set, SFD_NONBLOCK);
    check(read(file, &info, sizeof info) == -1 && errno == EAGAIN);
    raise(SIGUSR1);
    sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 5});
    struct pollfd poller = {file, POLLIN, 0};
    check(poll(&poller, 1, 1000) == 1);
    check(read(file, &info, sizeof info) == sizeof info && info.ssi_signo == SIGUSR1);
    check(read(file, &info, sizeof info) == sizeof info && info.ssi_int == 5);
    check(read(file, &info, sizeof info) == -1 && errno == EAGAIN);
}

static void *sends_soon(void *target)
{
    while (!finished) {
        nap(2);
        pthread_kill(*(pthread_t *)target, SIGUSR1);
    }
    return NULL;
}

static void waiting(void)
{
    sigset_t set = only(SIGUSR1), rest;
    siginfo_t info;
    struct timespec moment = {0, 5000000};
    sigprocmask(SIG_BLOCK, &set, &rest);
    check(sigtimedwait(&set, &info, &moment) == -1 && errno == EAGAIN);
    sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 9});
    check(sigwaitinfo(&set, &info) == SIGUSR1 && info.si_value.sival_int == 9 && info.si_pid == getpid());
    handle(SIGUSR1, counts, 0);
    raise(SIGUSR1);
    check(sigsuspend(&rest) == -1 && errno == EINTR && count == 1);
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    check(sigismember(&now, SIGUSR1));
    raise(SIGUSR1);
    check(ppoll(NULL, 0, NULL, &rest) == -1 && errno == EINTR && count == 2);
    raise(SIGUSR1);
    check(pselect(0, NULL, NULL, NULL, NULL, &rest) == -1 && errno == EINTR && count == 3);
    raise(SIGUSR1);
    struct epoll_event event;
    int poller = epoll_create1(0);
    check(epoll_pwait(poller, &event, 1, -1, &rest) == -1 && errno == EINTR && count == 4);
    sigprocmask(SIG_SETMASK, &rest, NULL);
}

static void pauses(void)
{
    pthread_t self = pthread_self(), sender;
    sigset_t set = only(SIGUSR1), rest;
    handle(SIGUSR1, counts, 0);
    sigprocmask(SIG_BLOCK, &set, &rest);
    pthread_create(&sender, NULL, sends_soon, &self);
    /* Two sent before one is handled are one. */
    int woken = 0;
    while (count < 5) {
        expect(sigsuspend(&rest) == -1 && errno == EINTR);
        woken++;
    }
    check(woken == 5);
    finished = 1;
    pthread_join(sender, NULL);
    sigprocmask(SIG_SETMASK, &rest, NULL);
    handle(SIGALRM, counts, 0);
    struct itimerval timer = {{0, 20000}, {0, 20000}};
    count = 0;
    setitimer(ITIMER_REAL, &timer, NULL);
    check(pause() == -1 && errno == EINTR && count >= 1);
}

static volatile int ready;
static volatile pid_t workers[4];
static volatile int received[4], strangers;
static volatile double results[4];
static __thread int own_number = -1;

static void received_by(int number, siginfo_t *info, void *context)
{
    if (own_number < 0)
        strangers++;
    else
        received[own_number]++;
    (void)number, (void)info, (void)context;
}

static void *works_until_told(void *argument)
{
    own_number = (int)(intptr_t)argument;
    workers[own_number] = gettid();
    __atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
    double calm = work(1000, own_number);
    while (!finished)
        expect(work(1000, own_number) == calm);
    results[own_number] = calm;
    return NULL;
}

static void directed_at_threads(void)
{
    pthread_t threads[4];
    handle(SIGUSR1, received_by, SA_RESTART);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, works_until_told, (void *)(intptr_t)i);
    while (ready < 4)
        nap(1);
    for (int round = 1; round <= 8; round++)
        for (int i = 0; i < 4; i++) {
            if (i % 2)
                expect(pthread_kill(threads[i], SIGUSR1) == 0);
            else
                expect(syscall(SYS_tgkill, getpid(), workers[i], SIGUSR1) == 0);
            while (received[i] < round)
                sched_yield();
        }
    finished = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("received %d %d %d %d, by others %d\n", received[0], received[1], received[2], received[3], strangers);
    for (int i = 0; i < 4; i++)
        expect(results[i] == work(1000, i));
    /* Joined, it is about to be gone: it wakes who waits for it before the kernel takes it out of its lists. */
    int gone = 0;
    for (int tries = 0; tries < 1000 && !gone; tries++) {
        gone = syscall(SYS_tgkill, getpid(), workers[0], SIGUSR1) == -1 && errno == ESRCH;
        usleep(1000);
    }
    check(gone);
}

static void to_a_thread_with_it_unblocked(void)
{
    pthread_t thread;
    sigset_t set = only(SIGUSR1);
    handle(SIGUSR1, counts, 0);
    pthread_create(&thread, NULL, works_until_told, (void *)0);
    while (!ready)
        nap(1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGUSR1);
    while (count < 1)
        nap(1);
    check(handled_by == workers[0]);
    finished = 1;
    pthread_join(thread, NULL);
}

static void timer_thread(union sigval value) { __atomic_add_fetch(&sum, value.sival_int, __ATOMIC_SEQ_CST); }

static void notified_by_a_thread(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 3};
    struct itimerspec once = {{0, 0}, {0, 5000000}};
    event.sigev_notify_function = timer_thread;
    check(timer_create(CLOCK_REALTIME, &event, &timer) == 0);
    timer_settime(timer, 0, &once, NULL);
    while (!sum)
        nap(1);
    check(sum == 3);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"real-time queue", real_time_queue}, {"queued while computing", queued_while_computing}, {"lowest first", lowest_first},
        {"posix timer", posix_timer}, {"interval timers", interval_timers},
        {"storm", storm}, {"unblocked together", unblocked_together}, {"descriptor", descriptor}, {"waiting", waiting},
        {"pauses", pauses}, {"directed at threads", directed_at_threads},
        {"to a thread with it unblocked", to_a_thread_with_it_unblocked},
        {"notified by a thread", notified_by_a_thread}, {0},
    };
    return run_cases(cases, argc, argv);
}
