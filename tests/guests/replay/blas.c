// BLAS and LAPACK on matrices of odd sizes, so that the kernels' tails run as well.
#include <complex.h>
#include <stdlib.h>

#include "sums.h"

typedef const int *Int;

#define GEMM(name, T) void name(const char *, const char *, Int, Int, Int, const T *, const T *, Int, const T *, Int, const T *, T *, Int)
GEMM(sgemm_, float);
GEMM(dgemm_, double);
GEMM(cgemm_, float complex);
GEMM(zgemm_, double complex);
void dgemv_(const char *, Int, Int, const double *, const double *, Int, const double *, Int, const double *, double *, Int);
void sgemv_(const char *, Int, Int, const float *, const float *, Int, const float *, Int, const float *, float *, Int);
void dtrsm_(const char *, const char *, const char *, const char *, Int, Int, const double *, const double *, Int, double *, Int);
void dsyrk_(const char *, const char *, Int, Int, const double *, const double *, Int, const double *, double *, Int);
void dgetrf_(Int, Int, double *, Int, int *, int *);
void zgetrf_(Int, Int, double complex *, Int, int *, int *);
void dpotrf_(const char *, Int, double *, Int, int *);
void dgeqrf_(Int, Int, double *, Int, double *, double *, Int, int *);
void dsyev_(const char *, const char *, Int, double *, Int, double *, double *, Int, int *);
void ssyev_(const char *, const char *, Int, float *, Int, float *, float *, Int, int *);
void dgesvd_(const char *, const char *, Int, Int, double *, Int, double *, double *, Int, double *, Int, double *, Int, int *);
double ddot_(Int, const double *, Int, const double *, Int);
float sdot_(Int, const float *, Int, const float *, Int);
double dnrm2_(Int, const double *, Int);
float snrm2_(Int, const float *, Int);
double dasum_(Int, const double *, Int);
double dznrm2_(Int, const double complex *, Int);
int idamax_(Int, const double *, Int);
int isamax_(Int, const float *, Int);
void daxpy_(Int, const double *, const double *, Int, double *, Int);
void zaxpy_(Int, const double complex *, const double complex *, Int, double complex *, Int);
void drot_(Int, double *, Int, double *, Int, const double *, const double *);
void dscal_(Int, const double *, double *, Int);

enum { LARGEST = 64 };
static const int one = 1, work_length = 64 * LARGEST;
static int pivots[LARGEST], info;

#define MATRICES(T, imaginary)                                                                                                   \
    T a[LARGEST * LARGEST], b[LARGEST * LARGEST], c[LARGEST * LARGEST];                                                          \
    for (int i = 0; i < LARGEST * LARGEST; i++)                                                                                  \
        a[i] = next_number() + next_number() * imaginary, b[i] = next_number() + next_number() * imaginary,                      \
        c[i] = next_number() + next_number() * imaginary;

#define PRODUCTS(gemm, T, imaginary)                                                                                             \
    do {                                                                                                                         \
        MATRICES(T, imaginary)                                                                                                   \
        T alpha = 1.5 + 0.5 * imaginary, beta = -0.25 + imaginary;                                                               \
        int k = n / 2 + 1, m = n - 1;                                                                                            \
        gemm("N", "N", &n, &m, &k, &alpha, a, &n, b, &n, &beta, c, &n), add_bytes(c, sizeof c);                                  \
        gemm("T", "N", &k, &n, &m, &alpha, a, &n, b, &n, &beta, c, &n), add_bytes(c, sizeof c);                                  \
        gemm("N", "C", &m, &n, &k, &alpha, a, &n, b, &n, &beta, c, &n), add_bytes(c, sizeof c);                                  \
        say(#gemm);                                                                                                              \
    } while (0)

static void vectors(int n) {
    MATRICES(double, 0)
    double alpha = 0.75, sine = 0.6, cosine = 0.8, r[4];
    dgemv_("N", &n, &n, &alpha, a, &n, b, &one, &sine, c, &one), dgemv_("T", &n, &n, &alpha, a, &n, b, &one, &sine, c, &one);
    daxpy_(&n, &alpha, a, &one, c, &one), drot_(&n, a, &one, b, &one, &cosine, &sine), dscal_(&n, &alpha, b, &one);
    r[0] = ddot_(&n, a, &one, b, &one), r[1] = dnrm2_(&n, a, &one), r[2] = dasum_(&n, b, &one), r[3] = idamax_(&n, a, &one);
    add_bytes(a, sizeof a), add_bytes(b, sizeof b), add_bytes(c, sizeof c), add_bytes(r, sizeof r), say("vectors, double");
}

static void single_vectors(int n) {
    MATRICES(float, 0)
    float alpha = 0.75, beta = 0.6, r[3];
    sgemv_("N", &n, &n, &alpha, a, &n, b, &one, &beta, c, &one), sgemv_("T", &n, &n, &alpha, a, &n, b, &one, &beta, c, &one);
    r[0] = sdot_(&n, a, &one, b, &one), r[1] = snrm2_(&n, a, &one), r[2] = isamax_(&n, a, &one);
    add_bytes(c, sizeof c), add_bytes(r, sizeof r), say("vectors, single");
}

static void factors(int n) {
    MATRICES(double, 0)
    double work[64 * LARGEST], values[LARGEST], unit = 1, zero = 0;
    dsyrk_("L", "N", &n, &n, &unit, a, &n, &zero, c, &n);
    for (int i = 0; i < n; i++)
        c[i * n + i] += n;
    dpotrf_("L", &n, c, &n, &info), add_bytes(c, sizeof c), add_bytes(&info, sizeof info);
    dtrsm_("L", "L", "N", "N", &n, &n, &unit, c, &n, b, &n), add_bytes(b, sizeof b), say("cholesky");
    dgetrf_(&n, &n, a, &n, pivots, &info), add_bytes(a, sizeof a), add_bytes(pivots, sizeof pivots), say("dgetrf");
    dgeqrf_(&n, &n, a, &n, values, work, &work_length, &info), add_bytes(a, sizeof a), say("dgeqrf");
    dsyev_("V", "U", &n, b, &n, values, work, &work_length, &info), add_bytes(b, sizeof b), say("dsyev");
    dgesvd_("N", "N", &n, &n, c, &n, values, 0, &one, 0, &one, work, &work_length, &info), add_bytes(values, n * 8), say("dgesvd");
}

static void other_factors(int n) {
    MATRICES(double complex, I)
    zgetrf_(&n, &n, a, &n, pivots, &info), zaxpy_(&n, &a[0], b, &one, c, &one);
    double norm = dznrm2_(&n, c, &one);
    add_bytes(a, sizeof a), add_bytes(c, sizeof c), add_bytes(&norm, sizeof norm), say("zgetrf");
}

static void single_factors(int n) {
    MATRICES(float, 0)
    float work[64 * LARGEST], values[LARGEST];
    ssyev_("N", "U", &n, b, &n, values, work, &work_length, &info), add_bytes(values, n * 4), say("ssyev");
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        int n = atoi(argv[i]);
        PRODUCTS(sgemm_, float, 0);
        PRODUCTS(dgemm_, double, 0);
        PRODUCTS(cgemm_, float complex, I);
        PRODUCTS(zgemm_, double complex, I);
        vectors(n), single_vectors(n), factors(n), other_factors(n), single_factors(n);
    }
}
