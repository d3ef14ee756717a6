/* Programs that lock themselves in: filters of system calls, other roots, no dumps, no privileges. */
#include "../guest.h"
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Lets through what is listed; everything else has this result. */
static int lock_in(const int *allowed, int count, uint32_t otherwise)
{
    struct sock_filter filter[64];
    int length = 0;
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < count; i++) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i], 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
    struct sock_fprog program = {(unsigned short)length, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static const int few[] = {SYS_read, SYS_write, SYS_exit, SYS_exit_group, SYS_rt_sigreturn};

/* Functions that run for the first time inside the sandbox. */
static __attribute__((noinline)) double fresh(double x) { return x * 1.25 + 0.5; }

static void few_calls_allowed(void)
{
    pid_t child = fork();
    if (child == 0) {
        if (lock_in(few, 5, SECCOMP_RET_KILL_PROCESS) != 0)
            _exit(9);
        char text[64];
        double sum = fresh(work(1000, 1)) + strtod("12.5", NULL);
        int length = snprintf(text, sizeof text, "inside %.12g\n", sum);
        if (write(1, text, (size_t)length) != length)
            _exit(8);
        _exit(33);
    }
    check(end_of(child) == 33);
    child = fork();
    if (child == 0) {
        lock_in(few, 5, SECCOMP_RET_KILL_PROCESS);
        syscall(SYS_getppid);
        _exit(1);
    }
    check(end_of(child) == 1000 + SIGSYS);
}

/* The same in the process itself, which fpgrind started, not in a child. */
static void few_calls_allowed_here(void)
{
    puts("standard output has its buffer");
    check(lock_in(few, 5, SECCOMP_RET_KILL_PROCESS) == 0);
    char text[64];
    double sum = fresh(work(1000, 2)) + strtod("12.5", NULL);
    int length = snprintf(text, sizeof text, "inside %.12g\n", sum);
    if (write(1, text, (size_t)length) != length)
        _exit(8);
    _exit(0);
}

static void calls_refused(void)
{
    static const int most[] = {SYS_read, SYS_write, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_brk};
    check(lock_in(most, 6, SECCOMP_RET_ERRNO | 99) == 0);
    check(syscall(SYS_getppid) == -1 && errno == 99);
    check(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == 99);
    printf("work %.12g, %g\n", fresh(work(1000, 3)), strtod("4.25", NULL));
}

static volatile int trapped;

static void told(int number, siginfo_t *info, void *context)
{
    trapped += info->si_syscall == SYS_getppid && info->si_code == 1 /* SYS_SECCOMP */ && number == SIGSYS;
    (void)context;
}

static void calls_trapped(void)
{
    static const int most[] = {SYS_read,   SYS_write,         SYS_exit,  SYS_exit_group, SYS_rt_sigreturn,
                               SYS_futex,  SYS_rt_sigprocmask, SYS_mmap, SYS_brk,        SYS_munmap};
    handle(SIGSYS, told, 0);
    check(lock_in(most, 10, SECCOMP_RET_TRAP) == 0);
    for (int i = 0; i < 10; i++)
        syscall(SYS_getppid);
    check(trapped == 10);
}

static void strict_mode(void)
{
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        double value = fresh(work(500, 1));
        if (write(1, value > 0 ? "strict\n" : "?\n", 7) != 7)
            syscall(SYS_exit, 5);
        syscall(SYS_exit, 6);
    }
    check(end_of(child) == 6);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        syscall(SYS_getppid);
    }
    check(end_of(child) == 1000 + SIGKILL);
}

static void no_dumps(void)
{
    check(prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_GET_DUMPABLE) == 0);
    printf("work %.12g, %g\n", fresh(work(1000, 1)), strtod("4.5", NULL));
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pid_t child = fork();
    if (child == 0)
        _exit(fresh(2) == 3.0 ? 12 : 13);
    check(end_of(child) == 12);
}

static void no_new_privileges(void)
{
    check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    check(system("grep NoNewPrivs /proc/self/status") == 0);
}

/* A root without anything in it: no /proc, no /tmp, no libraries. */
static void empty_root(void)
{
    char name[] = "/tmp/guest-root-XXXXXX";
    if (geteuid() != 0) {
        puts("only root can change its root");
        return;
    }
    check(mkdtemp(name) != NULL && chdir(name) == 0 && chroot(".") == 0);
    check(open("/proc/self/maps", O_RDONLY) == -1 && errno == ENOENT);
    printf("work %.12g, %g\n", fresh(work(1000, 1)), strtod("8.5", NULL));
    handle(SIGSYS, told, 0);
    raise(SIGSYS);
    pid_t child = fork();
    if (child == 0)
        _exit(fresh(2) == 3.0 ? 12 : 13);
    check(end_of(child) == 12);
}

static void another_user(void)
{
    if (geteuid() != 0) {
        puts("only root can become another");
        return;
    }
    check(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
    check(getuid() == 65534);
    printf("work %.12g, %g\n", fresh(work(1000, 1)), strtod("8.25", NULL));
    pid_t child = fork();
    if (child == 0)
        _exit(fresh(2) == 3.0 ? 12 : 13);
    check(end_of(child) == 12);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"few calls allowed", few_calls_allowed},
        {"few calls allowed here", few_calls_allowed_here},
        {"calls refused", calls_refused},
        {"calls trapped", calls_trapped},
        {"strict mode", strict_mode},
        {"no dumps", no_dumps},
        {"no new privileges", no_new_privileges},
        {"empty root", empty_root},
        {"another user", another_user},
        {0},
    };
    return run_cases(cases, argc, argv);
}
