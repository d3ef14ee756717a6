/* The difference of two square roots, printed in every way that the C library has. Each line that ends in a comment prints one
 * inaccurate number, by the function named there. */
#include <err.h>
#include <error.h>
#include <math.h>
#include <obstack.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <wchar.h>

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

/* From C23, by another name where the header does not have them. */
int strfromd(char *restrict, size_t, const char *restrict, double);
int strfromf(char *restrict, size_t, const char *restrict, float);
int strfroml(char *restrict, size_t, const char *restrict, long double);

static volatile double x = 1e12;

__attribute__((noinline)) static double wrong(void) { return sqrt(x + 1) - sqrt(x); }

__attribute__((noinline)) static void list(char *buffer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)va_arg(arguments, int);
    vsnprintf(buffer, 100, format, arguments); /* vsnprintf %.3g */
    va_end(arguments);
}

int main(void) {
    char buffer[200], *made;
    wchar_t wide[200];
    int point, sign;
    struct obstack obstack;
    obstack_init(&obstack);

    printf("%d %s %.17g\n", 1, "two", wrong()); /* printf %.17g */
    printf("%2$d %1$g\n", wrong(), 7); /* printf %g */
    printf("%g %Lg\n", 1.0, (long double)wrong()); /* printf %Lg */
    printf("%f %f %f %f %f %f %f %f %e\n", 1., 2., 3., 4., 5., 6., 7., 8., wrong()); /* printf %e */
    printf("%.*f\n", 12, wrong()); /* printf %.*f */
    printf("%g\n", (float)wrong()); /* printf %g single */
    fflush(stdout);
    fprintf(stdout, "%a\n", wrong()); /* fprintf %a */
    fflush(stdout);
    dprintf(1, "%g\n", wrong()); /* dprintf %g */
    snprintf(buffer, sizeof buffer, "%-20.9E|", wrong()); /* snprintf %.9E */
    puts(buffer);
    sprintf(buffer, "%G", wrong()); /* sprintf %G */
    puts(buffer);
    list(buffer, "%.3g", 0, wrong());
    puts(buffer);
    if (asprintf(&made, "%g", wrong()) > 0) puts(made); /* asprintf %g */
    swprintf(wide, 200, L"%ls %g", L"\x20ac", wrong()); /* swprintf %g */
    fwprintf(stderr, L"%.2g\n", wrong()); /* fwprintf %.2g */
    obstack_printf(&obstack, "%g", wrong()); /* obstack_printf %g */
    error(0, 0, "%g", wrong()); /* error %g */
    warnx("%g", wrong()); /* warnx %g */

    strfromd(buffer, 200, "%.6g", wrong()); /* strfrom */
    strfromf(buffer, 200, "%.6g", wrong()); /* strfrom single */
    strfroml(buffer, 200, "%.6g", wrong()); /* strfrom */
    puts(buffer);
    puts(ecvt(wrong(), 12, &point, &sign)); /* ecvt */
    puts(fcvt(wrong(), 12, &point, &sign)); /* fcvt */
    puts(gcvt(wrong(), 12, buffer)); /* gcvt */
    ecvt_r(wrong(), 12, &point, &sign, buffer, 200); /* ecvt */
    fcvt_r(wrong(), 12, &point, &sign, buffer, 200); /* fcvt */
    puts(qecvt(wrong(), 12, &point, &sign)); /* ecvt */
    puts(qfcvt(wrong(), 12, &point, &sign)); /* fcvt */
    puts(qgcvt(wrong(), 12, buffer)); /* gcvt */
    return 0;
}
