/* fpgrind.h: what a program can tell fpgrind, and ask it.
 *
 *   FPGRIND_OUTPUT(x)   x is a result: the report says how wrong it is and why, as of a number that is printed.
 *   FPGRIND_BEGIN()     Only what this thread does between BEGIN and END, and threads that it makes there, is analysed; the rest of
 *   FPGRIND_END()       the program runs fast. A program that has no BEGIN is analysed as a whole. Regions do not nest: the first END ends
 *                       one.
 *   FPGRIND_ERROR(x)    How many bits of x are wrong at this moment, a double: 0 outside of fpgrind. The analysis runs behind the
 *                       program, so the program waits here until it has caught up. That can take long: not for inner loops.
 *
 * x is a float, double or long double, or an integer, and is evaluated once. Each mark is an instruction that does nothing when
 * the program runs without fpgrind, and a copy of x on the stack. For C and C++ with gcc or clang on x86-64; elsewhere the
 * marks are empty.
 *
 * A region in a library is one from its first END on, unless the program itself has a BEGIN.
 */
#ifndef FPGRIND_H
#define FPGRIND_H

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)

/* nopl 0x667067NN(%rax): a multi-byte no-op (Intel SDM, volume 2, NOP), which reads nothing. NN is the mark. */
#define FPGRIND_MARK_ ".byte 0x0f, 0x1f, 0x80, %c[mark], 0x67, 0x70, 0x66"

/* What the program is known by as one that has regions. */
#define FPGRIND_NOTE_                                              \
    ".pushsection .note.fpgrind, \"a\", @note\n\t.balign 4\n\t"    \
    ".long 8, 0, 1\n\t.asciz \"fpgrind\"\n\t.popsection\n\t"

#define FPGRIND_BEGIN() __asm__ __volatile__(FPGRIND_NOTE_ FPGRIND_MARK_ : : [mark] "i"(1) : "memory")
#define FPGRIND_END() __asm__ __volatile__(FPGRIND_MARK_ : : [mark] "i"(2) : "memory")

/* 0 for float, 1 for double, 2 for long double. */
#define FPGRIND_FORMAT_(x) (sizeof(x) == 4 ? 0 : sizeof(x) == 8 ? 1 : 2)

#define FPGRIND_OUTPUT(x)                                                             \
    __extension__({                                                                   \
        __typeof__((x) * 1.0f) fpgrind_x_ = (x);                                      \
        __asm__ __volatile__(FPGRIND_MARK_                                            \
                             :                                                        \
                             : [mark] "i"(16 + FPGRIND_FORMAT_(fpgrind_x_)), "D"(&fpgrind_x_), "m"(fpgrind_x_)); \
        (void)0;                                                                      \
    })

#define FPGRIND_ERROR(x)                                                              \
    __extension__({                                                                   \
        __typeof__((x) * 1.0f) fpgrind_x_ = (x);                                      \
        union {                                                                       \
            unsigned long long bits;                                                  \
            double value;                                                             \
        } fpgrind_error_ = {0};                                                       \
        __asm__ __volatile__(FPGRIND_MARK_                                            \
                             : "+a"(fpgrind_error_.bits)                              \
                             : [mark] "i"(32 + FPGRIND_FORMAT_(fpgrind_x_)), "D"(&fpgrind_x_), "m"(fpgrind_x_)); \
        fpgrind_error_.value;                                                         \
    })

#else

#define FPGRIND_BEGIN() ((void)0)
#define FPGRIND_END() ((void)0)
#define FPGRIND_OUTPUT(x) ((void)(x))
#define FPGRIND_ERROR(x) ((void)(x), 0.0)

#endif
#endif
