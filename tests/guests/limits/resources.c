/* Limits that the program sets for itself, and descriptors that it closes: a tool has no right to any of them. */
#include "../guest.h"
#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static void *one_more_thread(void *unused)
{
    return work(1000, 1) == work(1000, 1) ? unused : (void *)1;
}

static void limited_memory(void)
{
    /* Not from /proc/self/statm: fpgrind's memory is in that, and not in the limit. */
    struct rlimit limit = {1ul << 30, RLIM_INFINITY}, now;
    check(setrlimit(RLIMIT_AS, &limit) == 0);
    check(getrlimit(RLIMIT_AS, &now) == 0 && now.rlim_cur == limit.rlim_cur && now.rlim_max == limit.rlim_max);
    void *within = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(within != MAP_FAILED);
    errno = 0;
    void *beyond = mmap(NULL, 1ul << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(beyond == MAP_FAILED && errno == ENOMEM);
    /* Code that has not run before, threads and children still start. */
    pthread_t thread;
    check(pthread_create(&thread, NULL, one_more_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
    pid_t child = fork();
    if (child == 0)
        _exit(strtod("2.5", NULL) == 2.5 ? 17 : 18);
    check(end_of(child) == 17);
}

static volatile int over_time;

static void time_is_up(int number, siginfo_t *info, void *context)
{
    struct rlimit more = {100, RLIM_INFINITY};
    setrlimit(RLIMIT_CPU, &more);
    over_time = 1;
    (void)number, (void)info, (void)context;
}

/* Nothing left: not a page may be mapped, and code runs on all the same. */
static void no_memory_left(void)
{
    struct rlimit limit = {4096, RLIM_INFINITY};
    check(setrlimit(RLIMIT_AS, &limit) == 0);
    check(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == ENOMEM);
    handle(SIGUSR1, time_is_up, 0);
    raise(SIGUSR1);
    check(over_time == 1);
    printf("work %.12g, %g\n", work(1000, 1), strtod("1e3", NULL));
}

static void few_descriptors(void)
{
    struct rlimit limit = {10, 10}, now;
    check(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    check(getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur == 10 && now.rlim_max == 10);
    int last = 0, opened = 0;
    for (int file; (file = open("/dev/null", O_RDONLY)) >= 0; opened++)
        last = file;
    check(errno == EMFILE && last == 9 && opened == 7);
    check(dup2(0, 10) == -1 && errno == EBADF);
    pthread_t thread;
    check(pthread_create(&thread, NULL, one_more_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
    pid_t child = fork();
    if (child == 0)
        _exit(work(10, 1) > 0 ? 17 : 18);
    check(end_of(child) == 17);
}

static void stack_limit(void)
{
    struct rlimit limit, now;
    getrlimit(RLIMIT_STACK, &limit);
    limit.rlim_cur = 256 << 10;
    check(setrlimit(RLIMIT_STACK, &limit) == 0);
    check(getrlimit(RLIMIT_STACK, &now) == 0 && now.rlim_cur == 256 << 10);
    pid_t child = fork();
    if (child == 0) {
        volatile char *deep = __builtin_alloca(400 << 10);
        deep[0] = 1;
        _exit(deep[0]);
    }
    check(end_of(child) == 1000 + SIGSEGV);
    child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "ulimit -s; exit 4", (char *)NULL);
        _exit(99);
    }
    check(end_of(child) == 4);
}

static void processor_time(void)
{
    handle(SIGXCPU, time_is_up, 0);
    struct rlimit limit = {1, RLIM_INFINITY};
    check(setrlimit(RLIMIT_CPU, &limit) == 0);
    while (!over_time)
        work(1000, 1);
    check(over_time == 1);
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 3; /* itself, and . and .. */
}

static void everything_closed(void)
{
    printf("descriptors at the start: %d\n", open_descriptors());
    closefrom(3);
    int first = open("/dev/null", O_RDONLY);
    check(first == 3);
    dup2(first, 500);
    check(close_range(3, ~0u, 0) == 0);
    check(open_descriptors() == 3);
    closefrom(3);
    for (int i = 3; i < 2000; i++)
        expect(close(i) == -1 && errno == EBADF);
    check(open("/dev/null", O_RDONLY) == 3);
    /* Not even output is left; then a new one where it was. */
    int kept = fcntl(1, F_DUPFD, 100);
    closefrom(101);
    close(0), close(1), close(2), close(3);
    work(100, 1);
    pid_t child = fork();
    if (child == 0)
        _exit(11);
    int end = end_of(child);
    dup2(kept, 1);
    check(end == 11 && kept == 100);
}

static void numbers_of_descriptors(void)
{
    int ends[2];
    closefrom(3);
    check(pipe(ends) == 0 && ends[0] == 3 && ends[1] == 4);
    check(dup(0) == 5);
    check(memfd_create("own", 0) == 6);
}

static void not_randomised(void)
{
    int old = personality(0xffffffff);
    check(personality((unsigned long)old | ADDR_NO_RANDOMIZE) == old);
    check(personality(0xffffffff) == (old | ADDR_NO_RANDOMIZE));
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            execl("/bin/sh", "sh", "-c", "grep -E 'stack|vdso' /proc/self/maps | cut -d' ' -f2,6-; cat /proc/self/personality",
                  (char *)NULL);
            _exit(99);
        }
        check(end_of(child) == 0);
    }
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"limited memory", limited_memory},
        {"no memory left", no_memory_left},
        {"few descriptors", few_descriptors},
        {"stack limit", stack_limit},
        {"processor time", processor_time},
        {"everything closed", everything_closed},
        {"numbers of descriptors", numbers_of_descriptors},
        {"not randomised", not_randomised},
        {0},
    };
    return run_cases(cases, argc, argv);
}
