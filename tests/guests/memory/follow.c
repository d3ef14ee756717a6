/* An inaccurate number is taken through memory in every way that the C library and the kernel have. Each line says how. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#define COUNT 40

__attribute__((noinline)) static double wrong(volatile double *x, int i) { return (*x + i + 1) - *x; }

static volatile size_t bytes = COUNT * sizeof(double);
static volatile double x = 1e16;

static double *filled(double *array) {
    for (int i = 0; i < COUNT; i++) array[i] = wrong(&x, 0);
    return array;
}

int main(void) {
    static double a[COUNT], b[COUNT];
    filled(a);
    memcpy(b, a, bytes);
    printf("memcpy %g\n", b[7]);
    memmove(b + 1, b, bytes - 8);
    printf("memmove %g\n", b[8]);
    memset(b, 0, bytes);
    mempcpy(b, a, bytes);
    printf("mempcpy %g\n", b[7]);
    memset(b, 0, bytes);
    bcopy(a, b, bytes);
    printf("bcopy %g\n", b[7]);
    memset(b, 0, bytes);
    memccpy(b, a, 77, bytes);
    printf("memccpy %g\n", b[7]);

    memset(b, 0, bytes);
    /* Compilers keep floats over calls in registers that calls preserve. */
    __asm__ volatile("movq %1, %%rbx\n jmp 1f\n 1: mov %%rbx, %0" : "=m"(b[7]) : "x"(a[7]) : "rbx");
    printf("register %g\n", b[7]);
    memset(b, 0, bytes);
    /* So they do with floats that they only copy. */
    __asm__ volatile("mov (%1), %%r13\n call 1f\n mov %%r13, %0\n jmp 2f\n 1: ret\n 2:" : "=m"(b[7]) : "r"(a + 7) : "r13");
    printf("kept %g\n", b[7]);

    double *heap = filled(malloc(bytes));
    void *fence = malloc(16);
    heap = realloc(heap, 100 * bytes);
    printf("realloc %g\n", heap[7]);
    heap = reallocarray(heap, 200000, bytes);
    printf("reallocarray %g\n", heap[7]);
    heap = realloc(heap, 400000 * bytes);
    printf("remapped %g\n", heap[7]);
    free(heap);
    free(fence);

    double *mapped = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *wall = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    filled(mapped);
    mapped = mremap(mapped, 4096, 1 << 24, MREMAP_MAYMOVE);
    printf("mremap %g\n", mapped[7]);
    return wall == MAP_FAILED;
}
