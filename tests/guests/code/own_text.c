/* The program's own code: changed in place after mprotect, read as data, put on the stack, made by libffi. */
#include "../guest.h"
#include <fcntl.h>
#include <ffi.h>
#include <sys/mman.h>

#define PAGE 4096

__attribute__((noinline, aligned(64))) static int changeable(void)
{
    int value;
    __asm__ volatile("mov $0x11223344, %0" : "=r"(value));
    return value;
}

static unsigned char *immediate_of(void *function)
{
    static const unsigned char constant[] = {0x44, 0x33, 0x22, 0x11};
    return memmem(function, 64, constant, 4);
}

static void changed_in_place(void)
{
    unsigned char *at = immediate_of((void *)changeable);
    check(at != NULL);
    check(changeable() == 0x11223344);
    void *page = (void *)((uintptr_t)changeable & -(uintptr_t)PAGE);
    check(mprotect(page, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    int wrong = 0;
    for (int i = 0; i < 500; i++) {
        memcpy(at, &i, 4);
        wrong += changeable() != i;
    }
    check(wrong == 0);
    check(mprotect(page, 2 * PAGE, PROT_READ | PROT_EXEC) == 0);
    check(changeable() == 499);
}

static void changed_with_protection(void)
{
    unsigned char *at = immediate_of((void *)changeable);
    void *page = (void *)((uintptr_t)changeable & -(uintptr_t)PAGE);
    int wrong = 0;
    for (int i = 0; i < 200; i++) {
        wrong += mprotect(page, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
        memcpy(at, &i, 4);
        wrong += mprotect(page, 2 * PAGE, PROT_READ | PROT_EXEC);
        wrong += changeable() != i;
    }
    check(wrong == 0);
}

/* What a program reads of its code are its own bytes, never the translator's. */
static void read_as_data(void)
{
    const unsigned char *code = (const unsigned char *)changeable;
    unsigned char before[64], from_file[64];
    memcpy(before, code, 64);
    for (int i = 0; i < 100; i++)
        changeable();
    check(!memcmp(before, code, 64));
    int file = open("/proc/self/mem", O_RDONLY);
    check(pread(file, from_file, 64, (off_t)(uintptr_t)code) == 64 && !memcmp(before, from_file, 64));
    close(file);
}

static int apply(int (*function)(int), int value) { return function(value); }

/* GCC puts a trampoline for a nested function on the stack. */
static __attribute__((noinline)) int with_nested(int offset)
{
    int adds(int value) { return value + offset; }
    return apply(adds, 1000);
}

static void trampolines_on_the_stack(void)
{
    int wrong = 0;
    for (int i = 0; i < 500; i++)
        wrong += with_nested(i) != 1000 + i;
    check(wrong == 0);
}

static void closure_body(ffi_cif *interface, void *result, void **arguments, void *data)
{
    *(double *)result = *(double *)arguments[0] * *(double *)data + *(int *)arguments[1];
    (void)interface;
}

static void closures(void)
{
    ffi_cif interface;
    ffi_type *types[] = {&ffi_type_double, &ffi_type_sint};
    check(ffi_prep_cif(&interface, FFI_DEFAULT_ABI, 2, &ffi_type_double, types) == FFI_OK);
    int wrong = 0;
    for (int i = 0; i < 200; i++) {
        void *code;
        double factor = i + 0.5;
        ffi_closure *closure = ffi_closure_alloc(sizeof *closure, &code);
        expect(ffi_prep_closure_loc(closure, &interface, closure_body, &factor, code) == FFI_OK);
        wrong += ((double (*)(double, int))code)(2.0, i) != 2.0 * factor + i;
        double argument = 3.0, result;
        int other = 7;
        void *arguments[] = {&argument, &other};
        ffi_call(&interface, FFI_FN(code), &result, arguments);
        wrong += result != 3.0 * factor + 7;
        ffi_closure_free(closure);
    }
    check(wrong == 0);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"changed in place", changed_in_place},
        {"changed with protection", changed_with_protection},
        {"read as data", read_as_data},
        {"trampolines on the stack", trampolines_on_the_stack},
        {"closures", closures},
        {0},
    };
    return run_cases(cases, argc, argv);
}
