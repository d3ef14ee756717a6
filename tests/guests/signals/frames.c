/* What a handler sees in its frame, and what its changes to the frame do. Every register holds a planted value when the
   signal comes: at an instruction that faults, or anywhere in a loop that branches in every way there is. */
#include "../guest.h"
#include <sys/time.h>
#include <ucontext.h>

/* rax rcx rdx rbx rbp rsi rdi r8-r15, flags. Not rsp, which is the program's. */
uint64_t planted[16], found[16];
uint8_t planted_xmm[16][16] __attribute__((aligned(16))), found_xmm[16][16] __attribute__((aligned(16)));
volatile int stop_spinning;
double factor = 1.0;

static const int order[15] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RBP, REG_RSI, REG_RDI, REG_R8,
                              REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

/* Both functions plant, let happen what they are for, and store what they find afterwards. */
#define PLANT                                                                                                          \
    "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"                                               \
    "lea planted_xmm(%rip), %rax\n"                                                                                    \
    "movaps (%rax), %xmm0; movaps 16(%rax), %xmm1; movaps 32(%rax), %xmm2; movaps 48(%rax), %xmm3\n"                   \
    "movaps 64(%rax), %xmm4; movaps 80(%rax), %xmm5; movaps 96(%rax), %xmm6; movaps 112(%rax), %xmm7\n"                \
    "movaps 128(%rax), %xmm8; movaps 144(%rax), %xmm9; movaps 160(%rax), %xmm10; movaps 176(%rax), %xmm11\n"           \
    "movaps 192(%rax), %xmm12; movaps 208(%rax), %xmm13; movaps 224(%rax), %xmm14; movaps 240(%rax), %xmm15\n"         \
    "push planted+120(%rip); popf\n"                                                                                   \
    "mov planted(%rip), %rax; mov planted+8(%rip), %rcx; mov planted+16(%rip), %rdx; mov planted+24(%rip), %rbx\n"     \
    "mov planted+32(%rip), %rbp; mov planted+40(%rip), %rsi; mov planted+48(%rip), %rdi; mov planted+56(%rip), %r8\n"  \
    "mov planted+64(%rip), %r9; mov planted+72(%rip), %r10; mov planted+80(%rip), %r11; mov planted+88(%rip), %r12\n"  \
    "mov planted+96(%rip), %r13; mov planted+104(%rip), %r14; mov planted+112(%rip), %r15\n"
#define COLLECT                                                                                                        \
    "mov %rax, found(%rip); mov %rcx, found+8(%rip); mov %rdx, found+16(%rip); mov %rbx, found+24(%rip)\n"             \
    "mov %rbp, found+32(%rip); mov %rsi, found+40(%rip); mov %rdi, found+48(%rip); mov %r8, found+56(%rip)\n"          \
    "mov %r9, found+64(%rip); mov %r10, found+72(%rip); mov %r11, found+80(%rip); mov %r12, found+88(%rip)\n"          \
    "mov %r13, found+96(%rip); mov %r14, found+104(%rip); mov %r15, found+112(%rip)\n"                                 \
    "pushf; pop found+120(%rip); cld\n"                                                                                \
    "lea found_xmm(%rip), %rax\n"                                                                                      \
    "movaps %xmm0, (%rax); movaps %xmm1, 16(%rax); movaps %xmm2, 32(%rax); movaps %xmm3, 48(%rax)\n"                   \
    "movaps %xmm4, 64(%rax); movaps %xmm5, 80(%rax); movaps %xmm6, 96(%rax); movaps %xmm7, 112(%rax)\n"                \
    "movaps %xmm8, 128(%rax); movaps %xmm9, 144(%rax); movaps %xmm10, 160(%rax); movaps %xmm11, 176(%rax)\n"           \
    "movaps %xmm12, 192(%rax); movaps %xmm13, 208(%rax); movaps %xmm14, 224(%rax); movaps %xmm15, 240(%rax)\n"         \
    "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"                                                     \
    "ret\n"

extern char faulting_place[], spin_start[], spin_end[], wait_start[], wait_end[];
void fault_once(void), spin(void), wait_for_a_push(void);

__asm__(".text\nfault_once:\n" PLANT "faulting_place: ud2\n" COLLECT);

/* Calls, returns, jumps through memory, conditional jumps both ways, loop and doubles; every planted register keeps
   its value at every instruction, except xmm15, which is multiplied by one. */
__asm__("spin:\n" PLANT
        "spin_start: cmpl $0, stop_spinning(%rip)\n"
        "jne spin_end\n"
        "call 2f\n"
        "mulsd factor(%rip), %xmm15\n"
        "jmp *spin_target(%rip)\n"
        "ud2\n"
        "2: push %rcx\n"
        "mov $3, %ecx\n"
        "3: nop\n"
        "mulsd factor(%rip), %xmm15\n"
        "loop 3b\n"
        "pop %rcx\n"
        "ret\n"
        "4: test %r8, %r8\n"
        "jz spin_end\n"
        "push %rax; pop %rax\n"
        "jmp spin_start\n"
        "spin_end: cld\n" COLLECT
        ".data\n.balign 8\nspin_target: .quad 4b\n.text\n");

/* Never ends by itself; may be left anywhere. */
__asm__("wait_for_a_push:\n" PLANT
        "wait_start: mulsd factor(%rip), %xmm15\n"
        "jmp *wait_target(%rip)\n"
        "5: test %r8, %r8\n"
        "jnz wait_start\n"
        "wait_end: cld\n" COLLECT
        ".data\n.balign 8\nwait_target: .quad 5b\n.text\n");

static void plant(void)
{
    for (int i = 0; i < 15; i++)
        planted[i] = 0x1111111111111111ul * (i + 1) ^ 0xfedcba9876543210ul;
    /* Carry, parity, adjust, zero, sign, overflow; the direction flag where a case wants it. Bit 1 is always set. */
    planted[15] = 0x202 | 0x8d5;
    for (int i = 0; i < 16; i++) {
        double lanes[2] = {1.5 + i, -0.25 * i};
        memcpy(planted_xmm[i], lanes, 16);
    }
    memset(found, 0, sizeof found);
}

#define STATUS_FLAGS 0xcd5 /* with the direction flag, without what the kernel may add */

static volatile int seen_wrong, seen, pc_wrong;
static uint64_t seen_flags;

static void compare(ucontext_t *frame, int except)
{
    for (int i = 0; i < 15; i++)
        if (i != except && (uint64_t)frame->uc_mcontext.gregs[order[i]] != planted[i])
            seen_wrong++;
    for (int i = 0; i < 16; i++)
        if (memcmp(&frame->uc_mcontext.fpregs->_xmm[i], planted_xmm[i], 16))
            seen_wrong++;
    seen++;
}

static void looks(int number, siginfo_t *info, void *context)
{
    ucontext_t *frame = context;
    compare(frame, -1);
    pc_wrong += frame->uc_mcontext.gregs[REG_RIP] != (greg_t)faulting_place;
    pc_wrong += info->si_addr != faulting_place;
    seen_flags = frame->uc_mcontext.gregs[REG_EFL] & STATUS_FLAGS;
    frame->uc_mcontext.gregs[REG_RIP] += 2;
    (void)number;
}

static void registers_at_a_fault(void)
{
    handle(SIGILL, looks, 0);
    for (int direction = 0; direction < 2; direction++) {
        plant();
        planted[15] |= direction ? 0x400 : 0;
        fault_once();
        check(seen_wrong == 0);
        check(pc_wrong == 0);
        check(seen_flags == (planted[15] & STATUS_FLAGS));
        check(!memcmp(found, planted, 15 * 8));
        check(((found[15] ^ planted[15]) & STATUS_FLAGS) == 0);
        check(!memcmp(found_xmm, planted_xmm, sizeof planted_xmm));
    }
    check(seen == 2);
}

static void changes(int number, siginfo_t *info, void *context)
{
    ucontext_t *frame = context;
    for (int i = 0; i < 15; i++)
        frame->uc_mcontext.gregs[order[i]] ^= 0x5555555555555555ul;
    frame->uc_mcontext.gregs[REG_EFL] ^= 0x8d5;
    for (int i = 0; i < 16; i++)
        frame->uc_mcontext.fpregs->_xmm[i].element[1] ^= 0xffff;
    frame->uc_mcontext.gregs[REG_RIP] += 2;
    (void)number, (void)info;
}

static void registers_changed_by_the_handler(void)
{
    handle(SIGILL, changes, 0);
    plant();
    fault_once();
    int wrong = 0;
    for (int i = 0; i < 15; i++)
        wrong += found[i] != (planted[i] ^ 0x5555555555555555ul);
    for (int i = 0; i < 16; i++) {
        planted_xmm[i][4] ^= 0xff;
        planted_xmm[i][5] ^= 0xff;
    }
    check(wrong == 0);
    check(((found[15] ^ planted[15]) & STATUS_FLAGS) == 0x8d5);
    check(!memcmp(found_xmm, planted_xmm, sizeof planted_xmm));
}

#define TICKS 200

static void ticks(int number, siginfo_t *info, void *context)
{
    ucontext_t *frame = context;
    char *pc = (char *)frame->uc_mcontext.gregs[REG_RIP];
    if (pc < (char *)spin || pc > spin_end + 200)
        return; /* Not yet, or no longer, in the loop. */
    if (pc >= spin_start && pc < spin_end)
        compare(frame, 1); /* rcx counts in the inner loop. */
    if (seen >= TICKS)
        stop_spinning = 1;
    (void)number, (void)info;
}

static void registers_anywhere_in_a_loop(void)
{
    handle(SIGALRM, ticks, 0);
    plant();
    planted[15] = 0x202;
    struct itimerval timer = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &timer, NULL);
    spin();
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, NULL);
    check(seen >= TICKS);
    check(seen_wrong == 0);
    check(!memcmp(found, planted, 15 * 8));
    check(!memcmp(found_xmm, planted_xmm, sizeof planted_xmm));
}

static void counts(int number, siginfo_t *info, void *context)
{
    seen++;
    (void)number, (void)info, (void)context;
}

/* Turns that a loop instruction makes, all with these flags. One that a handler interrupts must not count a turn twice. */
#define TURNS(flags, instruction)                                                                                      \
    ({                                                                                                                 \
        uint64_t left = 100000, made = 0;                                                                              \
        __asm__ volatile(flags "\n1: lea 1(%1), %1\n" instruction " 1b" : "+c"(left), "+r"(made) : : "cc");            \
        made;                                                                                                          \
    })
#define EQUAL "cmp %1, %1"
#define UNEQUAL "test %%rsp, %%rsp"

static void loops_count_every_turn_once(void)
{
    handle(SIGALRM, counts, 0);
    struct itimerval timer = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &timer, NULL);
    while (seen < TICKS) {
        expect(TURNS(EQUAL, "loop") == 100000);
        expect(TURNS(EQUAL, "loope") == 100000);
        expect(TURNS(UNEQUAL, "loopne") == 100000);
    }
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, NULL);
    check(seen >= TICKS);
}

static void leaves(int number, siginfo_t *info, void *context)
{
    ucontext_t *frame = context;
    char *pc = (char *)frame->uc_mcontext.gregs[REG_RIP];
    if (pc >= wait_start && pc < wait_end) {
        frame->uc_mcontext.gregs[REG_RIP] = (greg_t)wait_end;
        frame->uc_mcontext.gregs[REG_R13] = 4711;
        seen++;
    }
    (void)number, (void)info;
}

static void a_handler_moves_the_pc(void)
{
    handle(SIGALRM, leaves, 0);
    struct itimerval timer = {{0, 2000}, {0, 2000}};
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int i = 1; i <= 20; i++) {
        plant();
        planted[15] = 0x202;
        wait_for_a_push();
        expect(found[12] == 4711 && found[13] == planted[13]);
    }
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, NULL);
    check(seen >= 20);
}

static void reads_float_state(int number, siginfo_t *info, void *context)
{
    ucontext_t *frame = context;
    struct _libc_fpstate *floats = frame->uc_mcontext.fpregs;
    long double top;
    memcpy(&top, &floats->_st[0], 10);
    printf("mxcsr %x, control %x, top of stack %.3Lf\n", floats->mxcsr & 0xffc0, floats->cwd, top);
    floats->mxcsr &= ~0x6000u; /* rounds to nearest again */
    frame->uc_mcontext.gregs[REG_RIP] += 2;
    (void)number, (void)info;
}

static void float_state(void)
{
    handle(SIGILL, reads_float_state, 0);
    uint32_t upwards = 0x5f80, after = 0;
    uint16_t control = 0x0f7f, control_after = 0, plain = 0x037f;
    long double value = 2.718L, back = 0;
    __asm__ volatile("ldmxcsr %3; fldcw %4; fldt %5; ud2; fstpt %0; stmxcsr %1; fnstcw %2; fldcw %6"
                     : "=m"(back), "=m"(after), "=m"(control_after)
                     : "m"(upwards), "m"(control), "m"(value), "m"(plain)
                     : "st");
    check(back == value);
    check((after & 0xffc0) == 0x1f80);
    check(control_after == control);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"registers at a fault", registers_at_a_fault},
        {"registers changed by the handler", registers_changed_by_the_handler},
        {"registers anywhere in a loop", registers_anywhere_in_a_loop},
        {"loops count every turn once", loops_count_every_turn_once},
        {"a handler moves the pc", a_handler_moves_the_pc},
        {"float state", float_state},
        {0},
    };
    return run_cases(cases, argc, argv);
}
