/* State beyond the registers that all programs use: tiles (AMX), opmasks and zmm16-31 (AVX-512), transactions (TSX). A timer interrupts
   them, so that the kernel saves and restores it under way. What the processor lacks is said and left out. */
#include "../guest.h"
#include <immintrin.h>
#include <sys/syscall.h>
#include <sys/time.h>

static volatile int ticks;

static void counts(int number)
{
    ticks++;
    (void)number;
}

static void interrupt_every(int microseconds)
{
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    signal(SIGALRM, counts);
    setitimer(ITIMER_REAL, &timer, NULL);
}

#define REQUEST_PERMISSION 0x1023 /* ARCH_REQ_XCOMP_PERM, for component 18: tiles' data (asm/prctl.h) */

struct __attribute__((packed)) tile_configuration {
    uint8_t palette, start, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

__attribute__((target("amx-tile,amx-int8"))) static void multiply_tiles(void)
{
    struct tile_configuration configuration = {.palette = 1, .row_bytes = {64, 64, 64}, .rows = {16, 16, 16}};
    static int8_t a[1024], b[1024];
    static int32_t product[256];
    uint64_t sum = 0;
    _tile_loadconfig(&configuration);
    interrupt_every(2000);
    for (int turn = 0; turn < 2000; turn++) {
        for (int i = 0; i < 1024; i++) {
            a[i] = i * 7 + turn;
            b[i] = i * 3 - turn;
        }
        _tile_zero(0);
        _tile_loadd(1, a, 64);
        _tile_loadd(2, b, 64);
        _tile_dpbssd(0, 1, 2);
        _tile_stored(0, product, 64);
        for (int i = 0; i < 256; i++)
            sum = sum * 31 + product[i];
    }
    interrupt_every(0);
    _tile_release();
    printf("%lx\n", sum);
}

static void tiles(void)
{
    if (syscall(SYS_arch_prctl, REQUEST_PERMISSION, 18) == 0)
        multiply_tiles();
    else
        puts("no tiles here");
}

__attribute__((target("avx512f,avx512bw"))) static void spin_with_masks(void)
{
    uint64_t before[8], after[8], wrong = 0;
    interrupt_every(500);
    for (int turn = 0; turn < 300000; turn++) {
        __m512i value = _mm512_set1_epi64(turn * 0x9e3779b97f4a7c15ul), kept;
        uint64_t mask = 0x123456789abcdef0ul ^ turn, mask_after;
        _mm512_storeu_si512(before, value);
        __asm__ volatile("vmovdqa64 %2, %%zmm29; kmovq %3, %%k5; vpxord %%zmm28, %%zmm28, %%zmm28\n"
                         "vpaddq %%zmm28, %%zmm29, %%zmm29; kmovq %%k5, %1; vmovdqa64 %%zmm29, %0"
                         : "=v"(kept), "=r"(mask_after)
                         : "v"(value), "r"(mask)
                         : "xmm28", "xmm29", "k5");
        _mm512_storeu_si512(after, kept);
        wrong += memcmp(before, after, 64) != 0 || mask != mask_after;
    }
    interrupt_every(0);
    check(wrong == 0);
}

static void masks_and_high_registers(void)
{
    if (__builtin_cpu_supports("avx512bw"))
        spin_with_masks();
    else
        puts("no AVX-512 here");
}

__attribute__((target("rtm"))) static void count_in_transactions(void)
{
    long counted = 0, committed = 0, aborted = 0;
    for (int i = 0; i < 1000; i++) {
        if (_xbegin() == _XBEGIN_STARTED) {
            counted++;
            _xend();
            committed++;
        } else {
            aborted++;
        }
    }
    check(counted == committed);
    check(committed + aborted == 1000);
}

static void transactions(void)
{
    unsigned a = 7, b, c = 0, d;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if (b >> 11 & 1)
        count_in_transactions();
    else
        puts("no transactions here");
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"tiles", tiles},
        {"masks and high registers", masks_and_high_registers},
        {"transactions", transactions},
        {NULL, NULL},
    };
    return run_cases(cases, argc, argv);
}
