// What a guest computed, in a line: a sum over all bits of its results.
#include <stdint.h>
#include <stdio.h>

static uint64_t sum_of_bits = 14695981039346656037u;

static void add_bytes(const void *values, size_t length) {
    const unsigned char *bytes = values;
    for (size_t i = 0; i < length; i++)
        sum_of_bits = (sum_of_bits ^ bytes[i]) * 1099511628211u;
}

// Six of a long double's bytes are padding.
static void add_long(const long double *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        add_bytes(values + i, 10);
}

static void say(const char *what) {
    printf("%s %016llx\n", what, (unsigned long long)sum_of_bits);
    sum_of_bits = 14695981039346656037u;
}

// Numbers in [-1, 1), the same on every run.
static double next_number(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)state * 0x1p-63;
}
