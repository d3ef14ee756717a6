// Loops that compilers vectorise: with conditions, reductions, gathers, conversions and copies.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sums.h"

enum { N = 203 };
static double a[N], b[N], c[N], d[N];
static float f[N], g[N], h[N];
static long double l[N];
static int32_t where[N], whole[N];
static int64_t wide[N];
static uint64_t natural[N];
static uint8_t bytes[N];
static struct { float x, y, z; double weight; } points[N];

__attribute__((noinline)) static void conditions(void) {
    for (int i = 0; i < N; i++)
        if (a[i] > 0.1)
            c[i] = a[i] / b[i];
        else if (b[i] < -0.5)
            c[i] = sqrt(-b[i]) - a[i];
    for (int i = 0; i < N; i++)
        h[i] = f[i] < g[i] ? f[i] * 2 : g[i] > 0.5f ? g[i] - f[i] : h[i];
    for (int i = 0; i < N; i++)
        d[i] = fmin(fmax(a[i], -0.25), b[i]) + fabs(c[i]) * copysign(1, a[i]);
    add_bytes(c, sizeof c), add_bytes(h, sizeof h), add_bytes(d, sizeof d), say("conditions");
}

__attribute__((noinline)) static void reductions(void) {
    double sum = 0, product = 1, least = 1e9, most = -1e9;
    float single = 0, single_most = -1e9f;
    long double extended = 0;
    int count = 0;
    for (int i = 0; i < N; i++)
        sum += a[i] * b[i], product *= 1 + a[i] * 1e-3, least = b[i] < least ? b[i] : least, most = a[i] > most ? a[i] : most;
    for (int i = 0; i < N; i++)
        single += f[i] * g[i], single_most = f[i] > single_most ? f[i] : single_most, extended += l[i] * f[i];
    for (int i = 0; i < N; i++)
        count += a[i] < b[i] && f[i] != g[i];
    double all[] = {sum, product, least, most, single, single_most, extended, count};
    add_bytes(all, sizeof all), say("reductions");
}

__attribute__((noinline)) static void gathers(void) {
    for (int i = 0; i < N; i++)
        c[i] = a[where[i]] + b[where[N - 1 - i]];
    for (int i = 0; i < N; i++)
        h[i] = f[where[i]] * g[i];
    for (int i = 0; i < N; i++)
        if (f[i] > 0)
            h[where[i]] = f[i] + 1;
    for (int i = 0; i < N; i++)
        points[i].weight = points[i].x * points[where[i]].y - points[i].z;
    for (int i = 1; i < N; i++)
        d[i] = d[i - 1] * 0.5 + a[N - i];
    add_bytes(c, sizeof c), add_bytes(h, sizeof h), add_bytes(d, sizeof d);
    for (int i = 0; i < N; i++)
        add_bytes(&points[i].weight, 8);
    say("gathers");
}

__attribute__((noinline)) static void conversions(void) {
    for (int i = 0; i < N; i++)
        whole[i] = a[i] * 1000, wide[i] = b[i] * 1e15;
    for (int i = 0; i < N; i++)
        natural[i] = fabs(a[i]) * 1e19;
    for (int i = 0; i < N; i++)
        c[i] = (double)wide[i] * 1e-15 + (double)natural[i] * 1e-19 + (float)a[i];
    for (int i = 0; i < N; i++)
        f[i] = (float)wide[i] + (float)whole[i] + (float)natural[i], g[i] = a[i];
    for (int i = 0; i < N; i++)
        bytes[i] = fabsf(h[i]) * 10, h[i] = (float)bytes[i] * 0.1f;
    for (int i = 0; i < N; i++)
        d[i] = floor(a[i] * 10) + ceil(b[i] * 10) + trunc(c[i]) + rint(f[i]) + round(b[i] * 7);
    for (int i = 0; i < N; i++)
        l[i] = a[i] / (b[i] + 3.0L), whole[i] += l[i] * 100, wide[i] += l[i] * 1e9L, d[i] += l[i], f[i] -= l[i];
    add_bytes(whole, sizeof whole), add_bytes(wide, sizeof wide), add_bytes(natural, sizeof natural);
    add_bytes(c, sizeof c), add_bytes(f, sizeof f), add_bytes(g, sizeof g), add_bytes(h, sizeof h), add_bytes(d, sizeof d);
    add_long(l, N), say("conversions");
}

__attribute__((noinline)) static void bits(void) {
    for (int i = 0; i < N; i++) {
        uint64_t word;
        memcpy(&word, &a[i], 8);
        word = (word & 0x000fffffffffffff) | 0x3ff0000000000000;
        memcpy(&c[i], &word, 8);
        c[i] = (c[i] - 1) * -b[i];
    }
    for (int i = 0; i < N; i++) {
        uint32_t word;
        memcpy(&word, &f[i], 4);
        word = 0x5f3759df - (word >> 1);
        memcpy(&h[i], &word, 4);
        h[i] *= 1.5f - f[i] * 0.5f * h[i] * h[i];
    }
    memmove(d + 3, c, sizeof d / 2);
    for (int i = 0; i < N / 2; i++) {
        double swapped = d[i];
        d[i] = d[N - 1 - i], d[N - 1 - i] = swapped;
    }
    add_bytes(c, sizeof c), add_bytes(h, sizeof h), add_bytes(d, sizeof d), say("bits");
}

__attribute__((noinline)) static void functions(void) {
    for (int i = 0; i < N; i++)
        c[i] = sin(a[i]) + exp(b[i]) * log(fabs(a[i]) + 1) + pow(fabs(b[i]), 1.5);
    for (int i = 0; i < N; i++)
        h[i] = cosf(g[i]) + expf(g[i]) - 1 / sqrtf(fabsf(g[i]) + 1);
    add_bytes(c, sizeof c), add_bytes(h, sizeof h), say("functions");
}

int main(void) {
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < N; i++) {
            a[i] = next_number(), b[i] = next_number(), f[i] = next_number(), g[i] = next_number(), l[i] = next_number();
            where[i] = (i * 37 + round) % N;
            points[i].x = next_number(), points[i].y = next_number(), points[i].z = next_number();
        }
        conditions(), reductions(), gathers(), conversions(), bits(), functions();
    }
}
