// Half precision: arithmetic in AVX512-FP16, conversions of F16C and BF16's products.
#include <immintrin.h>
#include <string.h>

#include "sums.h"

enum { N = 203 };
static _Float16 a[N], b[N], c[N];
static float f[N], g[N];
static double d[N];
static short whole[N];

__attribute__((noinline)) static void arithmetic(void) {
    for (int i = 0; i < N; i++)
        c[i] = a[i] * b[i] + a[i];
    for (int i = 0; i < N; i++)
        if (a[i] > b[i])
            c[i] -= a[i] / (b[i] + (_Float16)2);
    for (int i = 0; i < N; i++)
        c[i] = a[i] < 0 ? -c[i] : (_Float16)__builtin_sqrtf((float)a[i]);
    add_bytes(c, sizeof c), say("arithmetic");
}

__attribute__((noinline)) static void reductions(void) {
    _Float16 sum = 0, most = a[0];
    float wider = 0;
    for (int i = 0; i < N; i++)
        sum += a[i] * b[i], most = a[i] > most ? a[i] : most, wider += (float)a[i] * (float)b[i];
    add_bytes(&sum, sizeof sum), add_bytes(&most, sizeof most), add_bytes(&wider, sizeof wider), say("reductions");
}

__attribute__((noinline)) static void conversions(void) {
    for (int i = 0; i < N; i++)
        f[i] = a[i], d[i] = b[i], whole[i] = c[i] * (_Float16)100;
    for (int i = 0; i < N; i++)
        c[i] = f[i] * 0.3f, b[i] = d[i] * 0.7, a[i] = whole[i];
    for (int i = 0; i < N; i++)
        c[i] += i, whole[i] += (int)c[i];
    add_bytes(f, sizeof f), add_bytes(d, sizeof d), add_bytes(a, sizeof a), add_bytes(b, sizeof b), add_bytes(c, sizeof c);
    add_bytes(whole, sizeof whole), say("conversions");
}

__attribute__((noinline)) static void intrinsics(void) {
    for (int i = 0; i + 32 <= N; i += 32) {
        __m512h x = _mm512_loadu_ph(a + i), y = _mm512_loadu_ph(b + i);
        __mmask32 less = _mm512_cmp_ph_mask(x, y, _CMP_LT_OQ);
        __m512h z = _mm512_mask_fmadd_ph(x, less, y, x);
        z = _mm512_fmadd_pch(x, y, z), z = _mm512_add_round_ph(z, x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
        z = _mm512_maskz_scalef_ph(less, z, _mm512_roundscale_ph(y, 0)), z = _mm512_min_ph(z, _mm512_getexp_ph(x));
        _mm512_storeu_ph(c + i, z);
        __m512bh u = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(f + i), _mm512_loadu_ps(f + i + 16));
        __m512 v = _mm512_dpbf16_ps(_mm512_loadu_ps(g + i), u, u);
        _mm512_storeu_ps(g + i, v);
        __m256i packed = _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        _mm512_storeu_ps(f + i, _mm512_cvtph_ps(packed));
        _mm_storeu_ps(f + i, _mm_cvtph_ps(_mm_cvtps_ph(_mm_loadu_ps(f + i), _MM_FROUND_TO_ZERO)));
    }
    add_bytes(c, sizeof c), add_bytes(f, sizeof f), add_bytes(g, sizeof g), say("intrinsics");
}

int main(void) {
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < N; i++)
            a[i] = next_number(), b[i] = next_number() * 3, f[i] = next_number(), g[i] = next_number();
        arithmetic(), reductions(), intrinsics(), conversions();
    }
}
