/* Inaccurate zeros lie in memory that is then overwritten with zeros, or freed and used again for zeros, by code that fpgrind does
 * not follow: the C library's, the kernel's, and loops over integers. Those zeros are right. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#define COUNT 40

static volatile size_t bytes = COUNT * sizeof(double);
static volatile double x = 1e16;
static volatile long zero = 0;

__attribute__((noinline)) static double *spoilt(double *array) {
    for (int i = 0; i < COUNT; i++) array[i] = (x + 1) - x;
    return array;
}

/* What fpgrind does not follow: integers from a general register. */
__attribute__((noinline)) static double *cleared(void *memory, long with) {
    for (long *p = memory; p < (long *)memory + COUNT; p++) *p = with;
    return memory;
}

int main(void) {
    static double a[COUNT];
    int zeros = open("/dev/zero", O_RDONLY);
    double *old, *new;

    printf("wrong %g\n", spoilt(a)[7]);
    memset(spoilt(a), 0, bytes);
    printf("memset %g\n", a[7]);
    bzero(spoilt(a), bytes);
    printf("bzero %g\n", a[7]);
    explicit_bzero(spoilt(a), bytes);
    printf("explicit_bzero %g\n", a[7]);
    if (read(zeros, spoilt(a), bytes) < 0) return 1;
    printf("read %g\n", a[7]);
    if (pread(zeros, spoilt(a), bytes, 0) < 0) return 1;
    printf("pread %g\n", a[7]);
    FILE *stream = fdopen(dup(zeros), "r");
    if (fread(spoilt(a), 8, COUNT, stream) != COUNT) return 1;
    printf("fread %g\n", a[7]);

    struct iovec pieces[2] = {{a, 80}, {a + 10, bytes - 80}};
    spoilt(a);
    if (readv(zeros, pieces, 2) < 0) return 1;
    printf("readv %g\n", a[7]);

    old = spoilt(malloc(bytes)), free(old), new = cleared(malloc(bytes), zero);
    printf("malloc %g\n", new[7] + 1);
    if (old != new) return 2;
    double *large = spoilt(malloc(2000));
    free(large), large = calloc(250, 8);
    printf("calloc %g\n", large[7] + 1);
    /* malloc keeps seven freed pieces of a size for itself; calloc gets the next. */
    double *small[8];
    for (int i = 0; i < 8; i++) small[i] = malloc(64);
    for (int i = 0; i < 8; i++) small[i][3] = small[i][7] = (x + 1) - x;
    for (int i = 0; i < 8; i++) free(small[i]);
    small[0] = calloc(8, 8);
    printf("calloc %g\n", small[0][3] + 1);
    if (small[0] != small[7]) return 2;
    spoilt(new), free(new), new = cleared(aligned_alloc(16, bytes), zero);
    printf("aligned_alloc %g\n", new[7] + 1);
    spoilt(new), free(new);
    void *got = 0;
    if (posix_memalign(&got, 16, bytes) || posix_memalign(0, 3, bytes) == 0) return 3;
    new = cleared(got, zero);
    printf("posix_memalign %g\n", new[7] + 1);
    free(new);

    /* A neighbour that was freed is what an allocation grows into. */
    old = malloc(2000), new = spoilt(malloc(2000)), free(malloc(2000)), free(new);
    old = realloc(old, 3900);
    cleared(old + 252, zero);
    printf("realloc %g\n", old[259] + 1);

    void *pages = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    spoilt(pages), munmap(pages, 4096);
    new = mmap(pages, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("munmap %g\n", new[7] + 1);
    mmap(spoilt(new), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    printf("mmap %g\n", new[7] + 1);
    /* Whole pages of the heap, given back and asked for again. */
    sbrk(4096 - (long)sbrk(0) % 4096);
    old = sbrk(8192), spoilt(old), sbrk(-8192), new = sbrk(8192);
    printf("brk %g\n", new[7]);
    if (old != new) return 2;
    return 0;
}
