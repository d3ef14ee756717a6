/* Threads and processes by clone and clone3 themselves, without a thread library's help. */
#include "../guest.h"
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define STACK 65536
#define AS_A_THREAD (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)

static atomic_int count, ended;
static volatile double results[64];

static char *new_stack(void)
{
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        abort();
    return stack;
}

static void futex_wait_while(atomic_int *word, int value)
{
    while (atomic_load(word) == value)
        syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

/* Shares the thread pointer of its creator, so it must not touch anything thread-local: errno least of all. */
static int body(void *argument)
{
    int number = (int)(intptr_t)argument;
    results[number] = work(5000, number);
    atomic_fetch_add(&count, 1);
    return 0;
}

static void by_clone(void)
{
    static atomic_int tids[32];
    int wrong = 0;
    for (int i = 0; i < 32; i++) {
        tids[i] = -1;
        int flags = AS_A_THREAD | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
        char *stack = new_stack();
        int tid = clone(body, stack + STACK, flags, (void *)(intptr_t)i, &tids[i], NULL, &tids[i]);
        expect(tid > 0);
    }
    for (int i = 0; i < 32; i++) {
        int tid;
        while ((tid = atomic_load(&tids[i])) != 0)
            futex_wait_while(&tids[i], tid);
        wrong += results[i] != work(5000, i);
    }
    check(wrong == 0 && count == 32);
}

/* The child of clone3 starts on the new stack behind the system call; nothing of C may lie between. */
static long clone3_calling(struct clone_args *arguments, void (*function)(long), long argument)
{
    long result = SYS_clone3;
    __asm__ volatile("mov %2, %%r12; mov %3, %%r13; syscall; test %%rax, %%rax; jnz 1f\n"
                     "xor %%ebp, %%ebp; mov %%r13, %%rdi; call *%%r12; mov $60, %%eax; xor %%edi, %%edi; syscall; ud2\n1:"
                     : "+a"(result)
                     : "D"(arguments), "r"(function), "r"(argument), "S"(sizeof *arguments)
                     : "rcx", "r11", "r12", "r13", "memory", "cc");
    return result;
}

static void body_and_end(long number)
{
    body((void *)number);
}

static void by_clone3(void)
{
    static atomic_int tids[16];
    int wrong = 0;
    for (long i = 0; i < 16; i++) {
        struct clone_args arguments = {
            .flags = AS_A_THREAD | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
            .stack = (uint64_t)new_stack(),
            .stack_size = STACK,
            .parent_tid = (uint64_t)&tids[i],
            .child_tid = (uint64_t)&tids[i],
        };
        tids[i] = -1;
        expect(clone3_calling(&arguments, body_and_end, i) > 0);
    }
    for (int i = 0; i < 16; i++) {
        int tid;
        while ((tid = atomic_load(&tids[i])) != 0)
            futex_wait_while(&tids[i], tid);
        wrong += results[i] != work(5000, i);
    }
    check(wrong == 0 && count == 16);
}

static int writes_and_ends(void *argument)
{
    results[0] = *(double *)argument * 2;
    return 7;
}

/* A process that shares memory and nothing else, and one that shares nothing. */
static void processes_by_clone(void)
{
    double value = 21;
    pid_t child = clone(writes_and_ends, new_stack() + STACK, CLONE_VM | SIGCHLD, &value);
    check(end_of(child) == 7 && results[0] == 42);
    results[0] = 0;
    child = clone(writes_and_ends, new_stack() + STACK, SIGCHLD, &value);
    check(end_of(child) == 7 && results[0] == 0);
    child = clone(writes_and_ends, new_stack() + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, &value);
    check(results[0] == 42);
    check(end_of(child) == 7);
    child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0)
        _exit(work(10, 1) > 0 ? 5 : 6);
    check(end_of(child) == 5);
    struct clone_args arguments = {.exit_signal = SIGCHLD};
    child = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
    if (child == 0)
        _exit(work(10, 1) > 0 ? 8 : 9);
    check(end_of(child) == 8);
    arguments.flags = ~0ul;
    check(syscall(SYS_clone3, &arguments, sizeof arguments) == -1 && errno == EINVAL);
}

static atomic_int word;

static int waits_on_word(void *unused)
{
    (void)unused;
    futex_wait_while(&word, 0);
    atomic_fetch_add(&ended, 1);
    return 0;
}

static void futexes(void)
{
    for (int i = 0; i < 5; i++)
        expect(clone(waits_on_word, new_stack() + STACK, AS_A_THREAD, NULL) > 0);
    nap(20);
    check(ended == 0);
    atomic_store(&word, 1);
    long woken = syscall(SYS_futex, &word, FUTEX_WAKE, 100, NULL, NULL, 0);
    while (ended < 5)
        sched_yield();
    check(woken >= 0 && woken <= 5);
    struct timespec moment = {0, 2000000};
    check(syscall(SYS_futex, &word, FUTEX_WAIT, 1, &moment, NULL, 0) == -1 && errno == ETIMEDOUT);
    check(syscall(SYS_futex, &word, FUTEX_WAIT, 2, &moment, NULL, 0) == -1 && errno == EAGAIN);
    nap(5); /* until the threads have left the code of their ends */
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"by clone", by_clone}, {"by clone3", by_clone3},
        {"processes by clone", processes_by_clone}, {"futexes", futexes}, {0},
    };
    return run_cases(cases, argc, argv);
}
