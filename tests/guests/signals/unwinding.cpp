// Exceptions thrown by a handler for a fault of the code that it interrupted: the unwinder walks over the kernel's frame.
// Built with -fnon-call-exceptions.
#include "../guest.h"
#include <setjmp.h>

static volatile int destroyed, caught;

struct Guard {
    ~Guard() { destroyed = destroyed + 1; }
};

struct Fault {
    int number;
};

static void throws(int number, siginfo_t *, void *)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    throw Fault{number};
}

__attribute__((noinline)) static int load(volatile int *address)
{
    Guard guard;
    return *address + 1;
}

__attribute__((noinline)) static int divide(int number, volatile int *zero)
{
    Guard guard;
    return number / *zero;
}

static void out_of_a_fault()
{
    handle(SIGSEGV, throws, 0);
    handle(SIGFPE, throws, 0);
    volatile int zero = 0;
    volatile int sum = 0;
    for (int i = 0; i < 100; i++) {
        try {
            sum = sum + (i % 2 ? load(nullptr) : divide(i, &zero));
        } catch (const Fault &fault) {
            caught = caught + (fault.number == (i % 2 ? SIGSEGV : SIGFPE));
        }
    }
    check(caught == 100 && destroyed == 100 && sum == 0);
}

static void handles_an_exception_of_its_own(int, siginfo_t *, void *)
{
    try {
        Guard guard;
        throw 42;
    } catch (int value) {
        caught = caught + (value == 42);
    }
}

static void inside_a_handler()
{
    handle(SIGUSR1, handles_an_exception_of_its_own, 0);
    for (int i = 0; i < 50; i++) {
        try {
            Guard guard;
            raise(SIGUSR1);
            throw 1.5;
        } catch (double value) {
            caught = caught + (value == 1.5);
        }
    }
    check(caught == 100 && destroyed == 100);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {
        {"out of a fault", out_of_a_fault}, {"inside a handler", inside_a_handler}, {nullptr, nullptr}};
    return run_cases(cases, argc, argv);
}
