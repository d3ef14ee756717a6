/* The difference of two square roots in quadruple precision, in which GCC's and the C library's functions compute. Each line that ends in a
 * comment prints one inaccurate number, by the function named there. */
#include <math.h>
#include <quadmath.h>
#include <stdio.h>
#include <stdlib.h>

int strfromf128(char *restrict, size_t, const char *restrict, _Float128);

static volatile double x = 1e12;

__attribute__((noinline)) static __float128 wrong(void) { return sqrt(x + 1) - sqrt(x); }
__attribute__((noinline)) static __float128 negative(__float128 x) { return -x; }
/* What doubles do not have, these do. */
__attribute__((noinline)) static __float128 right(void) { return 1 / (sqrtq((__float128)x + 1) + sqrtq(x)); }

int main(void) {
    char text[100];
    quadmath_snprintf(text, sizeof text, "%.20Qg", wrong()); /* snprintf %.20Qg */
    puts(text);
    quadmath_snprintf(text, sizeof text, "%.20Qg", right());
    puts(text);
    strfromf128(text, sizeof text, "%.20g", wrong()); /* strfrom */
    puts(text);
    printf("%.17g\n", (double)wrong()); /* printf %.17g */
    printf("%.17g\n", (double)right());
    printf("%.9g\n", (float)wrong()); /* printf %.9g single */
    printf("%.17g\n", (double)fabsq(negative(wrong()))); /* printf %.17g */
    printf("%.17g\n", (double)fmaxq(wrong(), 0)); /* printf %.17g */
    printf("%.17g\n", (double)(wrong() * 3 / 3 + right() - right())); /* printf %.17g */
    __float128 *heap = malloc(sizeof *heap);
    *heap = wrong();
    FILE *nowhere = fopen("/dev/null", "wb");
    fwrite(heap, sizeof *heap, 1, nowhere); /* fwrite 0 */
    return fclose(nowhere);
}
