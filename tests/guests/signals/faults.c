/* Faults that the program handles: what the handler is told, and the repairs that it makes. */
#include "../guest.h"
#include <fenv.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

static char *page;
static sigjmp_buf back;
static volatile int faults;

static int at_pc(siginfo_t *info, void *context)
{
    return info->si_addr == (void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

static void unprotects(int number, siginfo_t *info, void *context)
{
    printf("signal %d, code %d, at offset %ld\n", number, info->si_code, (long)((char *)info->si_addr - page));
    faults++;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    (void)context;
}

static void repaired_by_mprotect(void)
{
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    handle(SIGSEGV, unprotects, 0);
    volatile double *value = (double *)(page + 64);
    for (int i = 0; i < 200; i++) {
        mprotect(page, 4096, i % 2 ? PROT_READ : PROT_NONE);
        *value = *value + 1.25;
    }
    check(faults == 200);
    check(*value == 250.0);
    mprotect(page, 4096, PROT_NONE);
    char *target = page + 100;
    size_t length = 50;
    __asm__ volatile("rep stosb" : "+D"(target), "+c"(length) : "a"('z') : "memory");
    check(target == page + 150 && length == 0 && page[149] == 'z');
}

static double spare = 42.5;

static void redirects(int number, siginfo_t *info, void *context)
{
    ucontext_t *frame = context;
    printf("signal %d, code %d, address %lx\n", number, info->si_code, (unsigned long)info->si_addr);
    frame->uc_mcontext.gregs[REG_RBX] = (greg_t)&spare;
}

static void repaired_by_a_register(void)
{
    handle(SIGSEGV, redirects, 0);
    double loaded;
    __asm__ volatile("mov $0x1230, %%ebx; movsd (%%rbx), %0" : "=x"(loaded) : : "rbx");
    check(loaded == 42.5);
    /* Not a canonical address: the kernel does not know which one it was. */
    __asm__ volatile("mov $0x5555000000000000, %%rbx; addsd (%%rbx), %0" : "+x"(loaded) : : "rbx");
    check(loaded == 85.0);
    uint64_t value;
    __asm__ volatile("xor %%ebx, %%ebx; mov 8(%%rbx), %0; nop" : "=r"(value) : : "rbx");
    (void)value;
}

static void leaves(int number, siginfo_t *info, void *context)
{
    printf("signal %d, code %d, at pc: %d\n", number, info->si_code, at_pc(info, context));
    faults++;
    siglongjmp(back, 1);
}

static void integer_division(void)
{
    handle(SIGFPE, leaves, 0);
    volatile int zero = 0, least = INT32_MIN, minus = -1;
    if (sigsetjmp(back, 1) == 0)
        printf("%d\n", 7 / zero);
    if (sigsetjmp(back, 1) == 0)
        printf("%d\n", least / minus);
    check(faults == 2);
}

static volatile double sink, tiny = 1e-300, huge = 1e300, none = 0, one = 1, three = 3;

static void floating_exceptions(void)
{
    handle(SIGFPE, leaves, 0);
    static const int kinds[] = {FE_DIVBYZERO, FE_INVALID, FE_OVERFLOW, FE_UNDERFLOW, FE_INEXACT};
    for (volatile int i = 0; i < 5; i++) {
        if (sigsetjmp(back, 1) == 0) {
            feclearexcept(FE_ALL_EXCEPT);
            feenableexcept(kinds[i]);
            switch (i) {
            case 0: sink = one / none; break;
            case 1: sink = none / none; break;
            case 2: sink = huge * huge; break;
            case 3: sink = tiny * tiny; break;
            case 4: sink = one / three; break;
            }
            printf("no exception %d\n", i);
        }
        /* The kernel leaves the handler's frame with the exceptions masked again only if told. */
        fedisableexcept(FE_ALL_EXCEPT);
        feclearexcept(FE_ALL_EXCEPT);
    }
    check(faults == 5);
    check(one / three > 0.333);
}

static void masks_and_repeats(int number, siginfo_t *info, void *context)
{
    ucontext_t *frame = context;
    printf("signal %d, code %d, at pc: %d\n", number, info->si_code, at_pc(info, context));
    frame->uc_mcontext.fpregs->mxcsr |= 0x1f80;
    frame->uc_mcontext.fpregs->mxcsr &= ~0x3fu;
    faults++;
}

static void exception_masked_by_the_handler(void)
{
    handle(SIGFPE, masks_and_repeats, 0);
    feenableexcept(FE_DIVBYZERO);
    double infinite = one / none;
    check(infinite > 1e308);
    check(faults == 1);
}

static void x87_exception(void)
{
    handle(SIGFPE, leaves, 0);
    volatile long double x = 1, y = 0;
    if (sigsetjmp(back, 1) == 0) {
        feenableexcept(FE_DIVBYZERO);
        x = x / y;
        __asm__ volatile("fwait");
        puts("no exception");
    }
    __asm__ volatile("fninit");
    check(faults == 1);
}

static void skips(int number, siginfo_t *info, void *context)
{
    ucontext_t *frame = context;
    faults++;
    expect(at_pc(info, context) && number == SIGILL && info->si_code == ILL_ILLOPN);
    frame->uc_mcontext.gregs[REG_RIP] += 2;
}

static void illegal_instruction_skipped(void)
{
    handle(SIGILL, skips, 0);
    int sum = 0;
    for (int i = 0; i < 500; i++)
        __asm__ volatile("add $3, %0; ud2; add $4, %0" : "+r"(sum));
    check(sum == 3500 && faults == 500);
}

extern char after_trap[];

static void trapped(int number, siginfo_t *info, void *context)
{
    ucontext_t *frame = context;
    expect(number == SIGTRAP);
    printf("code %x, pc behind it: %d\n", info->si_code, frame->uc_mcontext.gregs[REG_RIP] == (greg_t)after_trap);
    frame->uc_mcontext.gregs[REG_RAX] += 100;
    faults++;
}

static __attribute__((noinline)) long breakpoint(long start)
{
    __asm__ volatile("int3\n.globl after_trap\nafter_trap: inc %0" : "+a"(start));
    return start;
}

static void trap_handled(void)
{
    handle(SIGTRAP, trapped, 0);
    for (long i = 0; i < 5; i++)
        expect(breakpoint(i) == i + 101);
    check(faults == 5);
    raise(SIGTRAP);
    check(faults == 6);
}

static void bus_error(void)
{
    char name[] = "/tmp/guest-bus-XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    if (ftruncate(file, 8192) != 0)
        abort();
    page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    page[4096] = 1;
    if (ftruncate(file, 4096) != 0)
        abort();
    handle(SIGBUS, leaves, 0);
    volatile char seen = 0;
    if (sigsetjmp(back, 1) == 0)
        seen = page[4096];
    check(faults == 1 && seen == 0);
}

static void jumps_to_data(void)
{
    static unsigned char data[4096] __attribute__((aligned(4096))) = {0xc3};
    handle(SIGSEGV, leaves, 0);
    if (sigsetjmp(back, 1) == 0)
        ((void (*)(void))(void *)data)();
    if (sigsetjmp(back, 1) == 0)
        ((void (*)(void))16)();
    if (sigsetjmp(back, 1) == 0)
        __asm__ volatile("mov $0x1234567890123456, %%rax; jmp *%%rax" : : : "rax");
    if (sigsetjmp(back, 1) == 0)
        __asm__ volatile("hlt");
    check(faults == 4);
}

static volatile int deep;

#pragma GCC diagnostic ignored "-Winfinite-recursion"
static __attribute__((noinline)) int dives(int level)
{
    volatile char space[4096];
    space[0] = (char)level;
    deep = level;
    return dives(level + 1) + space[0];
}

static void surfaces(int number, siginfo_t *info, void *context)
{
    printf("signal %d, code %d\n", number, info->si_code);
    siglongjmp(back, 1);
    (void)context;
}

static void stack_overflow(void)
{
    struct rlimit limit = {1 << 20, RLIM_INFINITY};
    setrlimit(RLIMIT_STACK, &limit);
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, NULL);
    handle(SIGSEGV, surfaces, SA_ONSTACK);
    for (volatile int i = 0; i < 3; i++) {
        deep = 0;
        if (sigsetjmp(back, 1) == 0)
            dives(1);
        expect(deep > 150 && deep < 260);
    }
    check(deep > 150);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"repaired by mprotect", repaired_by_mprotect},
        {"repaired by a register", repaired_by_a_register},
        {"integer division", integer_division},
        {"floating exceptions", floating_exceptions},
        {"exception masked by the handler", exception_masked_by_the_handler},
        {"x87 exception", x87_exception},
        {"illegal instruction skipped", illegal_instruction_skipped},
        {"trap handled", trap_handled},
        {"bus error", bus_error},
        {"jumps to data", jumps_to_data},
        {"stack overflow", stack_overflow},
        {0},
    };
    return run_cases(cases, argc, argv);
}
