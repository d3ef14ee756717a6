// GSL: special functions, integration, roots, interpolation, random numbers, statistics.
#include <gsl/gsl_errno.h>
#include <gsl/gsl_fft_complex.h>
#include <gsl/gsl_integration.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_poly.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sf.h>
#include <gsl/gsl_spline.h>
#include <gsl/gsl_statistics.h>
#include <math.h>

#include "sums.h"

static void add(double value) {
    add_bytes(&value, sizeof value);
}

static double oscillation(double x, void *unused) {
    (void)unused;
    return sin(5 * x) / (1 + x * x);
}

int main(void) {
    gsl_set_error_handler_off();
    for (double x = 0.05; x < 20; x += 0.73) {
        add(gsl_sf_bessel_J0(x)), add(gsl_sf_bessel_Y1(x)), add(gsl_sf_bessel_Knu(0.5, x)), add(gsl_sf_airy_Ai(x, GSL_PREC_DOUBLE));
        add(gsl_sf_gamma(x)), add(gsl_sf_lngamma(x)), add(gsl_sf_psi(x)), add(gsl_sf_zeta(x + 1.1)), add(gsl_sf_erf(x / 4));
        add(gsl_sf_expint_E1(x)), add(gsl_sf_Ci(x)), add(gsl_sf_dawson(x)), add(gsl_sf_debye_3(x)), add(gsl_sf_clausen(x));
        add(gsl_sf_ellint_Kcomp(x / 21, GSL_PREC_DOUBLE)), add(gsl_sf_legendre_Pl(7, x / 20)), add(gsl_sf_hyperg_1F1(1.5, 2.5, -x));
        add(gsl_sf_fermi_dirac_half(x)), add(gsl_sf_lambert_W0(x)), add(gsl_sf_synchrotron_1(x)), add(gsl_sf_gamma_inc_P(2.5, x));
        add(gsl_sf_beta(x, 2)), add(gsl_sf_hazard(x));
    }
    say("special functions");
    gsl_integration_workspace *space = gsl_integration_workspace_alloc(100);
    gsl_function function = {.function = oscillation};
    double result, error;
    gsl_integration_qags(&function, 0, 3, 1e-10, 1e-10, 100, space, &result, &error), add(result), add(error);
    gsl_integration_qagiu(&function, 0, 1e-4, 1e-4, 100, space, &result, &error), add(result), say("integrals");
    double roots[10], coefficients[] = {-1, 2, 0.5, -3, 1, 1};
    gsl_poly_complex_workspace *poly = gsl_poly_complex_workspace_alloc(6);
    gsl_poly_complex_solve(coefficients, 6, poly, roots), add_bytes(roots, sizeof roots), say("roots");
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    double data[128];
    for (int i = 0; i < 128; i++)
        data[i] = gsl_ran_gaussian_ziggurat(rng, 1) + gsl_ran_gamma(rng, 1.5, 1) - gsl_ran_beta(rng, 2, 3);
    add(gsl_stats_mean(data, 1, 128)), add(gsl_stats_variance(data, 1, 128)), add(gsl_stats_kurtosis(data, 1, 128)), say("statistics");
    gsl_fft_complex_radix2_forward(data, 1, 64), add_bytes(data, sizeof data), say("transform");
    double x[16], y[16], matrix[64];
    for (int i = 0; i < 16; i++)
        x[i] = i + 0.3 * sin(i), y[i] = cos(x[i]);
    gsl_spline *spline = gsl_spline_alloc(gsl_interp_cspline, 16);
    gsl_spline_init(spline, x, y, 16);
    for (double at = 0.1; at < 15; at += 0.37)
        add(gsl_spline_eval(spline, at, 0)), add(gsl_spline_eval_deriv(spline, at, 0));
    say("spline");
    for (int i = 0; i < 64; i++)
        matrix[i] = next_number() + (i % 9 == 0);
    gsl_matrix_view view = gsl_matrix_view_array(matrix, 8, 8);
    gsl_matrix *v = gsl_matrix_alloc(8, 8);
    gsl_vector *s = gsl_vector_alloc(8), *work = gsl_vector_alloc(8);
    gsl_linalg_SV_decomp(&view.matrix, v, s, work), add_bytes(matrix, sizeof matrix), add_bytes(v->data, 64 * 8), say("svd");
}
