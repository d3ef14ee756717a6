/* Code that the program writes while it runs. Every piece returns a number that only its present bytes give. */
#include "../guest.h"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE 4096

typedef int (*code_t)(void);
typedef double (*double_code_t)(double);

/* mov eax, value; ret */
static void write_return(unsigned char *where, int value)
{
    where[0] = 0xb8;
    memcpy(where + 1, &value, 4);
    where[5] = 0xc3;
}

static unsigned char *pages(int count, int protection)
{
    unsigned char *at = mmap(NULL, (size_t)count * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        abort();
    return at;
}

static void modified_in_place(void)
{
    unsigned char *at = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    int wrong = 0;
    for (int i = 0; i < 3000; i++) {
        write_return(at, i);
        wrong += ((code_t)at)() != i;
        wrong += ((code_t)at)() != i;
    }
    check(wrong == 0);
}

/* A loop of its own (translated as a loop), whose step changes between calls. */
static void a_loop_modified(void)
{
    unsigned char *at = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    /* xor eax,eax; mov ecx,100; again: add eax,step; dec ecx; jnz again; ret */
    static const unsigned char code[] = {0x31, 0xc0, 0xb9, 100, 0, 0, 0, 0x83, 0xc0, 0, 0xff, 0xc9, 0x75, 0xf9, 0xc3};
    memcpy(at, code, sizeof code);
    int wrong = 0;
    for (int i = 0; i < 1000; i++) {
        at[9] = (unsigned char)(i % 100);
        wrong += ((code_t)at)() != i % 100 * 100;
    }
    check(wrong == 0);
}

/* The code changes an instruction of its own that comes next: on x86 the very next execution sees it. */
static void modifies_what_comes_next(void)
{
    unsigned char *at = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    /* mov byte [rip+x], dil (the immediate below); mov eax, imm; ret */
    static const unsigned char code[] = {0x40, 0x88, 0x3d, 1, 0, 0, 0, 0xb8, 0, 0, 0, 0, 0xc3};
    memcpy(at, code, sizeof code);
    int wrong = 0;
    for (int i = 0; i < 200; i++)
        wrong += ((int (*)(int))at)(i) != i;
    check(wrong == 0);
}

static void floating_point_code(void)
{
    unsigned char *at = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    /* op xmm0, xmm0; ret: addsd 58, mulsd 59, subsd 5c, divsd 5e, sqrtsd 51 */
    static const unsigned char operations[] = {0x58, 0x59, 0x5c, 0x5e, 0x51};
    unsigned char code[] = {0xf2, 0x0f, 0, 0xc0, 0xc3};
    double sum = 0;
    for (int i = 0; i < 500; i++) {
        code[2] = operations[i % 5];
        memcpy(at, code, sizeof code);
        sum += ((double_code_t)at)(i + 0.1);
    }
    printf("sum %.17g\n", sum);
}

static void write_xor_execute(void)
{
    unsigned char *at = pages(4, PROT_READ | PROT_WRITE);
    int wrong = 0;
    for (int i = 0; i < 500; i++) {
        expect(mprotect(at, 4 * PAGE, PROT_READ | PROT_WRITE) == 0);
        for (int k = 0; k < 4; k++)
            write_return(at + k * PAGE + 100, i * 4 + k);
        expect(mprotect(at, 4 * PAGE, PROT_READ | PROT_EXEC) == 0);
        for (int k = 0; k < 4; k++)
            wrong += ((code_t)(at + k * PAGE + 100))() != i * 4 + k;
    }
    check(wrong == 0);
}

static void moved_by_mremap(void)
{
    unsigned char *first = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    unsigned char *second = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    int wrong = 0;
    for (int i = 0; i < 300; i++) {
        write_return(first, i);
        write_return(second, i + 10000);
        wrong += ((code_t)first)() != i || ((code_t)second)() != i + 10000;
        unsigned char *moved = mremap(first, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, second);
        wrong += moved != second || ((code_t)second)() != i;
        first = mmap(first, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    check(wrong == 0);
}

static void other_code_at_the_same_address(void)
{
    unsigned char *at = pages(1, PROT_READ | PROT_WRITE);
    int wrong = 0;
    for (int i = 0; i < 500; i++) {
        munmap(at, PAGE);
        unsigned char *again =
            mmap(at, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        wrong += again != at;
        write_return(at, i);
        wrong += ((code_t)at)() != i;
    }
    check(wrong == 0);
}

/* The file that holds the code changes under a read-only, executable mapping, by write(2) and by another mapping. */
static void a_file_mapped_twice(void)
{
    int file = memfd_create("code", 0);
    if (file < 0 || ftruncate(file, 2 * PAGE) != 0)
        abort();
    unsigned char *writable = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    unsigned char *executable = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    int wrong = 0;
    for (int i = 0; i < 1000; i++) {
        write_return(writable + 16, i);
        wrong += ((code_t)(executable + 16))() != i;
        wrong += ((code_t)(executable + 16))() != i;
    }
    check(wrong == 0);
    for (int i = 0; i < 300; i++) {
        unsigned char code[6];
        write_return(code, i);
        expect(pwrite(file, code, 6, PAGE + 32) == 6);
        wrong += ((code_t)(executable + PAGE + 32))() != i;
    }
    check(wrong == 0);
}

static unsigned char *shared_code;
static pthread_barrier_t barrier;
static volatile int wrong_in_thread;

static void *executes(void *unused)
{
    for (int i = 0; i < 500; i++) {
        pthread_barrier_wait(&barrier);
        /* The barrier orders memory; the CPU wants a serialising instruction before code written by another. */
        __asm__ volatile("cpuid" : : "a"(0), "c"(0) : "rbx", "rdx", "memory");
        if (((code_t)shared_code)() != i)
            wrong_in_thread++;
        pthread_barrier_wait(&barrier);
    }
    return unused;
}

static void written_by_another_thread(void)
{
    pthread_t thread;
    shared_code = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, executes, NULL);
    for (int i = 0; i < 500; i++) {
        write_return(shared_code, i);
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
    }
    pthread_join(thread, NULL);
    check(wrong_in_thread == 0);
}

/* Threads that write, protect and run pages of their own at the same time. */
static void *compiles(void *argument)
{
    int base = (int)(intptr_t)argument * 100000;
    for (int i = 0; i < 200; i++) {
        unsigned char *at = pages(1, PROT_READ | PROT_WRITE);
        write_return(at, base + i);
        mprotect(at, PAGE, PROT_READ | PROT_EXEC);
        if (((code_t)at)() != base + i)
            __atomic_add_fetch(&wrong_in_thread, 1, __ATOMIC_SEQ_CST);
        munmap(at, PAGE);
    }
    return NULL;
}

static void compiled_by_threads(void)
{
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, compiles, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    check(wrong_in_thread == 0);
}

/* An instruction across two pages, of which the second changes. */
static void across_two_pages(void)
{
    unsigned char *at = pages(2, PROT_READ | PROT_WRITE | PROT_EXEC);
    int wrong = 0;
    for (int i = 0; i < 300; i++) {
        write_return(at + PAGE - 2, i << 8 | 7);
        wrong += ((code_t)(at + PAGE - 2))() != (i << 8 | 7);
    }
    check(wrong == 0);
    mprotect(at, PAGE, PROT_READ | PROT_EXEC);
    for (int i = 0; i < 300; i++) {
        at[PAGE] = (unsigned char)i;
        wrong += (((code_t)(at + PAGE - 2))() >> 8 & 0xff) != (i & 0xff);
    }
    check(wrong == 0);
}

/* Many small functions, enough to fill more than one piece of any cache. */
static void thousands_of_functions(void)
{
    unsigned char *at = pages(256, PROT_READ | PROT_WRITE);
    for (int i = 0; i < 256 * PAGE / 16; i++)
        write_return(at + i * 16, i);
    mprotect(at, 256 * PAGE, PROT_READ | PROT_EXEC);
    long sum = 0;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 256 * PAGE / 16; i += 3)
            sum += ((code_t)(at + i * 16))();
    printf("sum %ld\n", sum);
}

static void *returns_it(void *value) { return value; }

/* Threads and children of every kind before and after code of the program's own making. */
static void children_and_threads_around_it(void)
{
    unsigned char *at = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    int wrong = 0;
    for (volatile int i = 0; i < 5; i++) {
        pid_t child = vfork();
        if (child == 0)
            _exit(7);
        wrong += end_of(child) != 7;
        write_return(at, i);
        wrong += ((code_t)at)() != i;
        pthread_t thread;
        void *value;
        wrong += pthread_create(&thread, NULL, returns_it, at) != 0 || pthread_join(thread, &value) != 0 || value != at;
        child = fork();
        if (child == 0)
            _exit(8);
        wrong += end_of(child) != 8;
    }
    check(wrong == 0);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"modified in place", modified_in_place},
        {"a loop modified", a_loop_modified},
        {"modifies what comes next", modifies_what_comes_next},
        {"floating-point code", floating_point_code},
        {"write xor execute", write_xor_execute},
        {"moved by mremap", moved_by_mremap},
        {"other code at the same address", other_code_at_the_same_address},
        {"a file mapped twice", a_file_mapped_twice},
        {"written by another thread", written_by_another_thread},
        {"compiled by threads", compiled_by_threads},
        {"across two pages", across_two_pages},
        {"thousands of functions", thousands_of_functions},
        {"children and threads around it", children_and_threads_around_it},
        {0},
    };
    return run_cases(cases, argc, argv);
}
