/* Instructions that touch more than registers and memory: flags, segments, counters, transactions, system calls. */
#include "../guest.h"
#include <asm/prctl.h>
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

static void processor(void)
{
    unsigned a, b, c, d, low, high;
    char vendor[13] = {0};
    __cpuid(0, a, b, c, d);
    memcpy(vendor, &b, 4), memcpy(vendor + 4, &d, 4), memcpy(vendor + 8, &c, 4);
    printf("vendor %s\n", vendor);
    __cpuid(1, a, b, c, d);
    printf("features %x %x\n", c, d);
    if (c & bit_OSXSAVE) {
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        printf("xcr0 %x\n", low);
    }
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
        printf("leaf 7: %x %x\n", b, c);
}

static void flags_word(void)
{
    uint64_t flags, with_id;
    __asm__ volatile("pushf; pop %0" : "=r"(flags));
    check((flags & 0x100) == 0);
    /* The ID flag can be changed where cpuid exists; nested task cannot be seen. */
    __asm__ volatile("pushf; pop %0; xor $0x200000, %0; push %0; popf; pushf; pop %0" : "=&r"(with_id));
    check(((with_id ^ flags) & 0x200000) != 0);
    uint16_t narrow;
    __asm__ volatile("stc; pushfw; pop %0; clc" : "=r"(narrow));
    check(narrow & 1);
    unsigned char ah;
    __asm__ volatile("stc; lahf; mov %%ah, %0; clc" : "=r"(ah) : : "rax");
    check(ah & 1);
}

/* With EFLAGS.AC set, an access that is not aligned faults: those of the program, and nobody else's. */
static volatile int aligned_faults;

static void clears_alignment(int number, siginfo_t *info, void *context)
{
    aligned_faults++;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x40000l;
    (void)number, (void)info;
}

static double aligned_numbers[64] __attribute__((aligned(64)));

static void alignment_check(void)
{
    handle(SIGBUS, clears_alignment, 0);
    double sum = 0;
    for (int i = 0; i < 64; i++)
        aligned_numbers[i] = i * 0.5;
    for (int round = 0; round < 50; round++) {
        __asm__ volatile("pushf; orq $0x40000, (%%rsp); popf" : : : "memory", "cc");
        for (int i = 0; i < 64; i++)
            sum += aligned_numbers[i] * 1.5;
        __asm__ volatile("call 1f; jmp 2f\n1: ret\n2: pushf; andq $~0x40000, (%%rsp); popf" : : : "memory", "cc");
    }
    check(sum == 50 * 1.5 * 1008.0 && aligned_faults == 0);
    uint32_t value;
    __asm__ volatile("pushf; orq $0x40000, (%%rsp); popf; mov 1(%1), %0; pushf; andq $~0x40000, (%%rsp); popf"
                     : "=r"(value) : "r"(aligned_numbers) : "memory", "cc");
    check(aligned_faults == 1);
}

static volatile int steps;
extern char step_start[], step_end[];

static void counts_steps(int number, siginfo_t *info, void *context)
{
    char *pc = (char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    if (pc > step_start && pc <= step_end)
        steps++;
    (void)number, (void)info;
}

/* A program that single-steps itself. */
static void trap_flag(void)
{
    handle(SIGTRAP, counts_steps, 0);
    long sum = 0;
    __asm__ volatile("pushf; orq $0x100, (%%rsp); popf\n"
                     ".globl step_start, step_end\n"
                     "step_start: inc %0; inc %0; inc %0; inc %0; inc %0\n"
                     "pushf; andq $~0x100, (%%rsp)\n"
                     "step_end: popf" : "+r"(sum) : : "memory", "cc");
    printf("steps %d\n", steps);
    check(sum == 5 && steps == 7);
}

static void time_stamps(void)
{
    uint64_t last = 0;
    unsigned processor_number;
    int backwards = 0;
    for (int i = 0; i < 10000; i++) {
        uint64_t now = i % 2 ? __rdtsc() : __rdtscp(&processor_number);
        backwards += now < last;
        last = now;
    }
    check(backwards == 0 && last != 0);
}

static void transactions(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & (1 << 11))) {
        puts("no transactions here");
        return;
    }
    volatile int shared = 0;
    for (int i = 0; i < 1000; i++) {
        int outcome = -1;
        /* Starts or falls back; either way the sum is right. */
        __asm__ volatile("xbegin 1f; incl %1; xend; jmp 2f; 1: incl %1; 2:" : "+a"(outcome), "+m"(shared) : : "memory");
    }
    check(shared == 1000);
}

static void unusual_calls(void)
{
    check(syscall(9999) == -1 && errno == ENOSYS);
    check(syscall(-1) == -1 && errno == ENOSYS);
    check(syscall(SYS_read, -1, NULL, 0) == -1 && errno == EBADF);
    /* rcx gets the return address and r11 the flags. */
    uint64_t rcx, r11, known, result;
    __asm__ volatile("mov %5, %%rax; stc; syscall\n1: mov %%rcx, %0; mov %%r11, %1; lea 1b(%%rip), %2; mov %%rax, %3"
                     : "=r"(rcx), "=r"(r11), "=r"(known), "=r"(result)
                     : "0"(0ul), "i"(SYS_getpid) : "rax", "rcx", "r11", "memory");
    check(rcx == known && (r11 & 1) && result == (uint64_t)getpid());
    /* The kernel takes the number as an int: the upper half of rax does not count. */
    long strange;
    __asm__ volatile("syscall" : "=a"(strange) : "a"(0x500000000ul + SYS_getppid) : "rcx", "r11", "memory");
    printf("upper half ignored: %d\n", strange == getppid());
}

static void old_gateway(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[256];
    int there = 0;
    while (fgets(line, sizeof line, maps))
        there |= strstr(line, "[vsyscall]") != NULL;
    fclose(maps);
    printf("vsyscall page: %d\n", there);
    if (!there)
        return;
    time_t (*gate_time)(time_t *) = (time_t (*)(time_t *))0xffffffffff600400ul;
    time_t before = time(NULL), gate = gate_time(NULL), after = time(NULL);
    check(gate >= before - 1 && gate <= after + 1);
    int (*gate_day)(struct timeval *, void *) = (int (*)(struct timeval *, void *))0xffffffffff600000ul;
    struct timeval day;
    check(gate_day(&day, NULL) == 0 && day.tv_sec >= before - 1);
}

/* 32-bit system calls from 64-bit code. */
static void old_interrupt(void)
{
    long pid = 20 /* getpid */;
    __asm__ volatile("int $0x80" : "+a"(pid) : : "memory", "r8", "r9", "r10", "r11");
    printf("int 0x80 answers: %d\n", pid == getpid());
}

static uint64_t own_segment[8] = {11, 22, 33};

static void guests_own_gs(void)
{
    uint64_t value = 0, base = 0;
    check(syscall(SYS_arch_prctl, ARCH_SET_GS, own_segment) == 0);
    for (int i = 0; i < 100; i++) {
        __asm__ volatile("movq %%gs:8, %0" : "=r"(value));
        expect(value == 22);
        __asm__ volatile("addq $1, %%gs:16; movq %%gs:16, %0" : "=r"(value) : : "memory", "cc");
        expect(value == 34u + (unsigned)i);
    }
    check(syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0 && base == (uint64_t)own_segment);
    check(own_segment[2] == 133);
    printf("work %.12g\n", work(10000, 1));
}

/* FSGSBASE, where the kernel allows it. */
static void base_instructions(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & 1)) {
        puts("no fsgsbase here");
        return;
    }
    uint64_t fs, gs, before;
    __asm__ volatile("rdfsbase %0" : "=r"(fs));
    check(fs != 0);
    __asm__ volatile("rdgsbase %0; wrgsbase %2; rdgsbase %1; wrgsbase %0" : "=&r"(before), "=&r"(gs) : "r"(own_segment));
    check(before == 0 && gs == (uint64_t)own_segment);
    check(work(1000, 1) == work(1000, 1));
}

static void segment_registers(void)
{
    uint16_t cs, ss, ds, es, fs, gs;
    __asm__ volatile("mov %%cs, %0; mov %%ss, %1; mov %%ds, %2; mov %%es, %3; mov %%fs, %4; mov %%gs, %5"
                     : "=r"(cs), "=r"(ss), "=r"(ds), "=r"(es), "=r"(fs), "=r"(gs));
    printf("selectors %x %x %x %x %x %x\n", cs, ss, ds, es, fs, gs);
    __asm__ volatile("mov %0, %%es; mov %0, %%ds" : : "r"(0));
    printf("work %.12g\n", work(100, 1));
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"processor", processor}, {"flags word", flags_word},
        {"alignment check", alignment_check}, {"trap flag", trap_flag},
        {"time stamps", time_stamps}, {"transactions", transactions},
        {"unusual calls", unusual_calls}, {"old gateway", old_gateway},
        {"old interrupt", old_interrupt}, {"guest's own gs", guests_own_gs},
        {"base instructions", base_instructions}, {"segment registers", segment_registers}, {0},
    };
    return run_cases(cases, argc, argv);
}
