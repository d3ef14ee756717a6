// Fourier transforms of many sizes in one precision of FFTW: REAL, with its functions' PREFIX.
#include <fftw3.h>
#include <stdlib.h>

#include "sums.h"

#define PASTE(a, b) a##b
#define EXPANDED(a, b) PASTE(a, b)
#define OF(name) EXPANDED(PREFIX, name)

enum { LARGEST = 1024, USED = sizeof(REAL) > 10 ? 10 : sizeof(REAL) };

static REAL (*in)[2], (*out)[2];

static void transform(OF(plan) plan, int n, const char *what) {
    for (int i = 0; i < LARGEST; i++)
        in[i][0] = next_number(), in[i][1] = next_number(), out[i][0] = out[i][1] = 0;
    OF(execute)(plan);
    for (int i = 0; i < n; i++)
        add_bytes(&out[i][0], USED), add_bytes(&out[i][1], USED);
    OF(destroy_plan)(plan);
    printf("%d: ", n), say(what);
}

int main(int argc, char **argv) {
    in = OF(malloc)(LARGEST * sizeof *in), out = OF(malloc)(LARGEST * sizeof *out);
    for (int i = 1; i < argc; i++) {
        int n = atoi(argv[i]);
        transform(OF(plan_dft_1d)(n, in, out, FFTW_FORWARD, FFTW_ESTIMATE), n, "forward");
        transform(OF(plan_dft_1d)(n, in, out, FFTW_BACKWARD, FFTW_ESTIMATE), n, "backward");
        transform(OF(plan_dft_r2c_1d)(n, (REAL *)in, out, FFTW_ESTIMATE), n / 2 + 1, "real to complex");
        transform(OF(plan_dft_c2r_1d)(n, in, (REAL *)out, FFTW_ESTIMATE), n / 2, "complex to real");
        transform(OF(plan_r2r_1d)(n, (REAL *)in, (REAL *)out, FFTW_REDFT10, FFTW_ESTIMATE), n / 2, "cosines");
        // Planning by measurement takes the faster of many algorithms, so only that it does not disagree can be said.
        if (n == 32)
            OF(destroy_plan)(OF(plan_dft_1d)(n, in, out, FFTW_FORWARD, FFTW_MEASURE));
    }
}
