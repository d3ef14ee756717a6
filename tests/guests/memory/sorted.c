/* Inaccurate numbers are sorted by the C library, in elements of every size that it treats in a way of its own. Each line says which, and
   prints all of them. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#define COUNT 40
#define MANY 2000

static volatile double big = 0x1p53;
static volatile float big_single = 0x1p24f;

/* Each is one off. */
__attribute__((noinline)) static double wrong(int i) { return (big + (2 * i + 1)) - big; }
__attribute__((noinline)) static float wrong_single(int i) { return (big_single + (2 * i + 1)) - big_single; }

struct pair { double value; long key; };
struct triple { float value, key, other; };
struct record { char name[24]; double value; char more[16]; };

#define DESCENDING(type, field)                                                                                        \
    static int compare_##type(const void *a, const void *b)                                                            \
    {                                                                                                                  \
        const type *x = a, *y = b;                                                                                     \
        return (x->field < y->field) - (x->field > y->field);                                                          \
    }
typedef struct { double value; } number;
typedef struct { float value; } single;
typedef struct pair pair;
typedef struct triple triple;
typedef struct record record;
DESCENDING(number, value)
DESCENDING(single, value)
DESCENDING(pair, value)
DESCENDING(triple, value)
DESCENDING(record, value)

static int by_context(const void *a, const void *b, void *context)
{
    ++*(int *)context;
    return compare_number(a, b);
}

#define SORTED(type, count, value_of)                                                                                  \
    static type type##s[MANY];                                                                                         \
    for (int i = 0; i < count; i++) type##s[i].value = value_of(i);                                                    \
    qsort(type##s, count, sizeof(type), compare_##type);

int main(void)
{
    SORTED(number, MANY, wrong)
    for (int i = 0; i < MANY; i++) printf("doubles %g\n", numbers[i].value);
    SORTED(single, COUNT, wrong_single)
    for (int i = 0; i < COUNT; i++) printf("floats %g\n", singles[i].value);
    SORTED(pair, COUNT, wrong)
    for (int i = 0; i < COUNT; i++) printf("pairs %g\n", pairs[i].value);
    SORTED(triple, COUNT, wrong_single)
    for (int i = 0; i < COUNT; i++) printf("triples %g\n", triples[i].value);
    SORTED(record, COUNT, wrong)
    for (int i = 0; i < COUNT; i++) printf("records %g\n", records[i].value);
    int calls = 0;
    for (int i = 0; i < COUNT; i++) numbers[i].value = wrong(i);
    qsort_r(numbers, COUNT, sizeof *numbers, by_context, &calls);
    for (int i = 0; i < COUNT; i++) printf("context %g\n", numbers[i].value);
    return calls == 0;
}
