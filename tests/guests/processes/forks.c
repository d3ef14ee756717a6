/* Children by fork: what they compute, how they end, and what parents are told. */
#include "../guest.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static void compute_in_both(void)
{
    int ends[2];
    double theirs = 0;
    if (pipe(ends) != 0)
        abort();
    pid_t child = fork();
    if (child == 0) {
        double mine = work(30000, 2);
        expect(write(ends[1], &mine, sizeof mine) == sizeof mine);
        _exit(3);
    }
    double ours = work(30000, 1);
    check(read(ends[0], &theirs, sizeof theirs) == sizeof theirs);
    check(end_of(child) == 3);
    check(ours == work(30000, 1) && theirs == work(30000, 2));
}

static void in_a_loop(void)
{
    int wrong = 0;
    for (int i = 0; i < 60; i++) {
        pid_t child = fork();
        if (child == 0)
            exit(work(100, i) == work(100, i) ? i : 99);
        wrong += end_of(child) != i;
    }
    check(wrong == 0);
}

static void tree(void)
{
    /* Every process has two children, to a depth of three; each returns the size of its tree. */
    int depth = 3, size;
again:
    size = 1;
    for (int i = 0; depth > 0 && i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            depth--;
            goto again;
        }
        size += end_of(child);
    }
    if (depth < 3)
        _exit(size);
    check(size == 15);
}

static void memory_is_separate(void)
{
    static volatile int value = 1;
    volatile int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        value = 2;
        *shared = 2;
        _exit(0);
    }
    end_of(child);
    check(value == 1 && *shared == 2);
}

static volatile int stop;

static void *works(void *unused)
{
    double calm = work(500, 1);
    while (!stop)
        expect(work(500, 1) == calm);
    return unused;
}

static int prepared, in_parent, in_child;
static void prepares(void) { prepared++; }
static void parent_again(void) { in_parent++; }
static void child_starts(void) { in_child++; }

static void from_a_program_with_threads(void)
{
    pthread_t threads[3];
    int wrong = 0;
    pthread_atfork(prepares, parent_again, child_starts);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, works, NULL);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            stop = 1;
            pthread_create(&thread, NULL, works, NULL);
            pthread_join(thread, NULL);
            _exit(in_child == 1 ? 10 + i : 1);
        }
        wrong += end_of(child) != 10 + i;
    }
    stop = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    check(wrong == 0 && prepared == 20 && in_parent == 20);
}

/* Both sides go on to different code at the same address: neither may see the other's. */
static void different_code_afterwards(void)
{
    unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int wrong = 0;
    for (int i = 0; i < 30; i++) {
        pid_t child = fork();
        int value = child == 0 ? 100 + i : 50 + i;
        mprotect(at, 4096, PROT_READ | PROT_WRITE);
        at[0] = 0xb8;
        memcpy(at + 1, &value, 4);
        at[5] = 0xc3;
        mprotect(at, 4096, PROT_READ | PROT_EXEC);
        int got = ((int (*)(void))at)();
        if (child == 0)
            _exit(got);
        wrong += got != 50 + i || end_of(child) != 100 + i;
    }
    check(wrong == 0);
}

static volatile int children_ended, reaped;

static void reaps(int number, siginfo_t *info, void *context)
{
    int status, before = errno;
    children_ended++;
    while (waitpid(-1, &status, WNOHANG) > 0)
        reaped += WEXITSTATUS(status) == 4;
    errno = before;
    (void)number, (void)info, (void)context;
}

static void reaped_by_a_handler(void)
{
    handle(SIGCHLD, reaps, SA_RESTART | SA_NOCLDSTOP);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(4);
        expect(child > 0);
    }
    while (reaped < 20)
        nap(1);
    check(children_ended >= 1 && children_ended <= 20);
    check(waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
}

static void stopped_and_continued(void)
{
    int status, ends[2];
    char byte;
    if (pipe(ends) != 0)
        abort();
    pid_t child = fork();
    if (child == 0) {
        raise(SIGSTOP);
        /* A child that stops again is no longer one that was continued. */
        expect(read(ends[0], &byte, 1) == 1);
        raise(SIGTSTP);
        _exit(6);
    }
    check(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    kill(child, SIGCONT);
    check(waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status));
    expect(write(ends[1], "x", 1) == 1);
    check(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP);
    siginfo_t info;
    memset(&info, 0, sizeof info);
    kill(child, SIGCONT);
    check(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0);
    check(info.si_code == CLD_EXITED && info.si_status == 6 && info.si_pid == child);
    check(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 6);
}

static void statuses(void)
{
    struct rusage usage;
    int status;
    pid_t child = fork();
    if (child == 0) {
        work(100000, 1);
        raise(SIGTERM);
    }
    check(wait4(child, &status, 0, &usage) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    siginfo_t info;
    memset(&info, 0, sizeof info);
    child = fork();
    if (child == 0)
        raise(SIGKILL);
    check(waitid(P_ALL, 0, &info, WEXITED) == 0 && info.si_code == CLD_KILLED && info.si_status == SIGKILL);
    child = fork();
    if (child == 0) {
        nap(60000);
        _exit(0);
    }
    check(waitpid(child, &status, WNOHANG) == 0);
    kill(child, SIGHUP);
    check(end_of(child) == 1000 + SIGHUP);
}

static void orphan(void)
{
    int ends[2];
    char text[64] = {0};
    if (pipe(ends) != 0)
        abort();
    pid_t child = fork();
    if (child == 0) {
        pid_t parent = getpid();
        if (fork() == 0) {
            while (getppid() == parent)
                nap(1);
            int length = snprintf(text, sizeof text, "orphan computed %.12g", work(1000, 1));
            expect(write(ends[1], text, (size_t)length) == length);
            _exit(0);
        }
        _exit(0);
    }
    end_of(child);
    close(ends[1]);
    check(read(ends[0], text, sizeof text) > 0);
    puts(text);
    check(read(ends[0], text, sizeof text) == 0);
}

static void dies_with_its_parent(void)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        abort();
    pid_t child = fork();
    if (child == 0) {
        int ready[2];
        if (pipe(ready) != 0)
            abort();
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            expect(write(ready[1], "x", 1) == 1);
            nap(60000);
            _exit(0);
        }
        expect(read(ready[0], &byte, 1) == 1);
        _exit(0);
    }
    end_of(child);
    close(ends[1]);
    /* The end of the pipe is reached when the grandchild is dead. */
    check(read(ends[0], &byte, 1) == 0);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"compute in both", compute_in_both},
        {"in a loop", in_a_loop},
        {"tree", tree},
        {"memory is separate", memory_is_separate},
        {"from a program with threads", from_a_program_with_threads},
        {"different code afterwards", different_code_afterwards},
        {"reaped by a handler", reaped_by_a_handler},
        {"stopped and continued", stopped_and_continued},
        {"statuses", statuses},
        {"orphan", orphan},
        {"dies with its parent", dies_with_its_parent},
        {0},
    };
    return run_cases(cases, argc, argv);
}
