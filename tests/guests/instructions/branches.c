/* Branches that compilers seldom emit, and the flags across them. */
#include "../guest.h"

static void counted_branches(void)
{
    long sum = 0;
    for (long n = 0; n < 100; n++) {
        long count = n, steps = 0;
        __asm__ volatile("jrcxz 2f\n1: inc %0\nloop 1b\n2:" : "+r"(steps), "+c"(count));
        expect(steps == n && count == 0);
        sum += steps;
    }
    check(sum == 4950);
    long count = 10, steps = 0;
    __asm__ volatile("1: inc %0; cmp $4, %0; loopne 1b" : "+r"(steps), "+c"(count) : : "cc");
    check(steps == 4 && count == 6);
    count = 10, steps = 0;
    __asm__ volatile("1: inc %0; cmp %0, %0; loope 1b" : "+r"(steps), "+c"(count) : : "cc");
    check(steps == 10 && count == 0);
    /* With the address-size prefix the counter is ecx: the upper half is not looked at, and is zeroed by loop. */
    uint64_t wide = 0x100000000ul, taken = 0;
    __asm__ volatile("jecxz 1f; jmp 2f; 1: inc %0; 2:" : "+r"(taken) : "c"(wide) : "cc");
    check(taken == 1);
    wide = 0xffffffff00000003ul, steps = 0;
    __asm__ volatile("1: inc %0; addr32 loop 1b" : "+r"(steps), "+c"(wide) : : "cc");
    check(steps == 3 && wide == 0);
}

/* Pops its two stack arguments itself. */
__asm__(".text\npops_arguments: mov 8(%rsp), %rax; add 16(%rsp), %rax; ret $16\n");

static void return_with_a_number(void)
{
    int wrong = 0;
    for (long i = 0; i < 1000; i++) {
        long sum, before, after;
        __asm__ volatile("mov %%rsp, %1; push %3; push %4; call pops_arguments; mov %%rsp, %2; mov %1, %%rsp"
                         : "=a"(sum), "=&r"(before), "=&r"(after) : "r"(i), "r"(i * 2) : "memory", "cc");
        wrong += sum != 3 * i || before != after;
    }
    check(wrong == 0);
}

static void call_to_the_next_instruction(void)
{
    int wrong = 0;
    for (int i = 0; i < 1000; i++) {
        uintptr_t called, known;
        __asm__ volatile("call 1f\n1: pop %0\nlea 1b(%%rip), %1" : "=r"(called), "=r"(known) : : "memory");
        wrong += called != known;
    }
    check(wrong == 0);
}

/* A return that is a jump, and a call whose return address is changed. */
static void returns_that_are_jumps(void)
{
    long count = 0;
    for (int i = 0; i < 1000; i++) {
        __asm__ volatile("lea 1f(%%rip), %%rax; push %%rax; ret; ud2\n1: inc %0" : "+r"(count) : : "rax", "memory", "cc");
        __asm__ volatile("call 2f; ud2; jmp 3f\n2: addq $2, (%%rsp); ret\n3: inc %0" : "+r"(count) : : "memory", "cc");
        __asm__ volatile("push $7f - 6f; call 4f\n6: ud2; ud2\n7: inc %0; jmp 5f\n"
                         "4: mov 8(%%rsp), %%rax; add %%rax, (%%rsp); ret $8\n5:"
                         : "+r"(count) : : "rax", "memory", "cc");
    }
    check(count == 3000);
}

/* A far return within 64-bit code. (AMD's far jumps take no 64-bit offset.) */
static void far_return(void)
{
    long count = 0;
    for (int i = 0; i < 100; i++)
        __asm__ volatile("mov %%cs, %%ecx; push %%rcx; lea 1f(%%rip), %%rax; push %%rax; lretq; ud2\n"
                         "1: inc %0" : "+r"(count) : : "rax", "rcx", "memory", "cc");
    check(count == 100);
}

static void *targets[16];

/* Many indirect targets from one jump, one target from many jumps, through registers and every kind of memory operand. */
static __attribute__((noinline)) long interpreter(const unsigned char *program, long length)
{
    static void *const labels[] = {&&add, &&twice, &&minus, &&mix, &&halve, &&negate, &&keep, &&end};
    long value = 1, at = 0;
    memcpy(targets, labels, sizeof labels);
#define NEXT goto *targets[at < length ? program[at++] % 7 : 7]
    NEXT;
add: value += at; NEXT;
twice: value *= 2; NEXT;
minus: value -= 3; NEXT;
mix: value ^= value << 13; NEXT;
halve: value = (long)((unsigned long)value >> 1); NEXT;
negate: value = -value; NEXT;
keep: NEXT;
end:
    return value;
}

static void indirect_jumps(void)
{
    unsigned char program[5000];
    unsigned state = 1;
    for (size_t i = 0; i < sizeof program; i++)
        program[i] = (unsigned char)((state = state * 1103515245 + 12345) >> 16);
    printf("interpreted %ld\n", interpreter(program, sizeof program));
    long count = 0;
    void *there = NULL;
    for (int i = 0; i < 200; i++) {
        __asm__ volatile("lea 1f(%%rip), %%rax; mov %%rax, %1; jmp *%1; ud2\n1: inc %0" : "+r"(count), "+m"(there) : : "rax", "cc");
        __asm__ volatile("lea 1f(%%rip), %%rax; push %%rax; jmp *(%%rsp); ud2\n1: pop %%rax; inc %0" : "+r"(count) : : "rax", "memory", "cc");
        __asm__ volatile("lea 1f(%%rip), %%rsi; lea %1, %%rcx; mov %%rsi, (%%rcx); mov $2, %%eax; jmp *-16(%%rcx,%%rax,8); ud2\n1: inc %0"
                         : "+r"(count), "+m"(there) : : "rax", "rcx", "rsi", "cc", "memory");
        __asm__ volatile("lea 1f(%%rip), %%r11; push %%r11; mov %%rsp, %%r11; call *(%%r11); jmp 2f\n1: inc %0; ret\n2: pop %%r11"
                         : "+r"(count) : : "r11", "memory", "cc");
        /* call through rsp-relative memory reads its target before it pushes. */
        __asm__ volatile("lea 1f(%%rip), %%r11; push %%r11; call *(%%rsp); jmp 2f\n1: inc %0; ret\n2: pop %%r11"
                         : "+r"(count) : : "r11", "memory", "cc");
    }
    check(count == 1000);
}

/* Flags survive jumps, calls and returns; 200 of them by one pattern each. */
static void flags_across_branches(void)
{
    int wrong = 0;
    for (unsigned i = 0; i < 256; i++) {
        uint64_t in = 0x202 | (i & 1) | (i & 2) << 1 | (i & 4) << 2 | (i & 8) << 3 | (i & 16) << 3 | (i & 32) << 6 | (i & 64) << 4, out;
        __asm__ volatile("push %1; popf; call 1f; jmp 3f\n1: lea 4f(%%rip), %0; jmp *%0; ud2\n4: ret\n3: pushf; pop %0; cld"
                         : "=&r"(out) : "r"(in) : "memory", "cc");
        wrong += ((in ^ out) & 0xcd5) != 0;
    }
    check(wrong == 0);
}

/* A whole red zone that holds its bytes over branches of every kind. */
__asm__(".text\nred_zone: mov $-128, %rcx; mov $0x0102030405060708, %rdx\n"
        "1: mov %rdx, (%rsp,%rcx); add %rdx, %rdx; add $8, %rcx; jnz 1b\n"
        "lea 2f(%rip), %rax; jmp *%rax; ud2\n"
        "2: mov $50, %esi\n"
        "3: dec %esi; jnz 3b\n"
        "xorps %xmm0, %xmm0; cvtsi2sd %rcx, %xmm0; addsd %xmm0, %xmm0; mulsd %xmm0, %xmm0\n"
        "xor %eax, %eax; mov $-128, %rcx\n"
        "4: add (%rsp,%rcx), %rax; add $8, %rcx; jnz 4b; ret\n");

static void red_zone_untouched(void)
{
    uint64_t sum, expected = 0, value = 0x0102030405060708;
    for (int i = 0; i < 16; i++, value += value)
        expected += value;
    int wrong = 0;
    for (int i = 0; i < 1000; i++) {
        __asm__ volatile("call red_zone" : "=a"(sum) : : "rcx", "rdx", "rsi", "xmm0", "memory", "cc");
        wrong += sum != expected;
    }
    check(wrong == 0);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"counted branches", counted_branches},
        {"return with a number", return_with_a_number},
        {"call to the next instruction", call_to_the_next_instruction},
        {"returns that are jumps", returns_that_are_jumps},
        {"far return", far_return},
        {"indirect jumps", indirect_jumps},
        {"flags across branches", flags_across_branches},
        {"red zone untouched", red_zone_untouched},
        {0},
    };
    return run_cases(cases, argc, argv);
}
