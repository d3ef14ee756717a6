/* Plots the argument of
 *
 *     f(z) = 1 / (sqrt(Re z) - sqrt(Re z + i exp(-20 z)))        for Re z in [0, 1/4], Im z in [-3, 3]
 *
 * as a picture, and prints a cut through it and the mean. After the complex-function plotter in
 * "Finding Root Causes of Floating Point Error" (Sanchez-Stern, Panchekha, Lerner, Tatlock; PLDI 2018).
 *
 * This is plotter.c with its square root repaired: the part that cancels is computed from the one that does not.
 *
 *     gcc -O2 -g plotter_fixed.c -o plotter_fixed -lm && fpgrind ./plotter_fixed picture.ppm
 */
#include <math.h>
#include <stdio.h>

enum { SIZE = 128, CUT_ROW = 35, CUT_STEP = 16 };

typedef struct { double re, im; } Complex;

/* Like a function of a library: one copy, that all callers share. */
__attribute__((noinline, noclone))
static Complex complex_sqrt(Complex z)
{
    double magnitude = sqrt(z.re * z.re + z.im * z.im);
    if (magnitude == 0)
        return (Complex){ 0, 0 };
    if (z.re > 0) {
        double re = sqrt((magnitude + z.re) / 2);
        return (Complex){ re, z.im / (2 * re) };
    }
    double im = sqrt((magnitude - z.re) / 2);
    return (Complex){ fabs(z.im) / (2 * im), z.im < 0 ? -im : im };
}

static Complex complex_exp(Complex z)
{
    double magnitude = exp(z.re);
    return (Complex){ magnitude * cos(z.im), magnitude * sin(z.im) };
}

static Complex reciprocal(Complex z)
{
    double square = z.re * z.re + z.im * z.im;
    return (Complex){ z.re / square, -z.im / square };
}

static Complex f(Complex z)
{
    Complex e = complex_exp((Complex){ -20 * z.re, -20 * z.im });
    Complex left = complex_sqrt((Complex){ z.re, 0 });
    Complex right = complex_sqrt((Complex){ z.re - e.im, e.re });
    return reciprocal((Complex){ left.re - right.re, left.im - right.im });
}

/* The point at the centre of a pixel. */
static Complex pixel(int row, int column)
{
    return (Complex){ 0.25 * (column + 0.5) / SIZE, 3 - 6 * (row + 0.5) / SIZE };
}

/* The brightness of a colour whose centre on the circle of arguments is given. */
static int brightness(double argument, double centre)
{
    return (int)(127.5 + 127 * cos(argument - centre));
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "plotter.ppm";
    FILE *picture = fopen(name, "wb");
    if (!picture) {
        perror(name);
        return 1;
    }
    fprintf(picture, "P6 %d %d 255\n", SIZE, SIZE);

    double cut[SIZE / CUT_STEP], total = 0;
    for (int row = 0; row < SIZE; row++) {
        double sum = 0;
        for (int column = 0; column < SIZE; column++) {
            Complex value = f(pixel(row, column));
            double argument = atan2(value.im, value.re);
            putc(brightness(argument, 0), picture);
            putc(brightness(argument, 2), picture);
            putc(brightness(argument, 4), picture);
            sum += fabs(argument);
            if (row == CUT_ROW && (column + 1) % CUT_STEP == 0)
                cut[column / CUT_STEP] = argument;
        }
        total += sum;
    }
    if (fclose(picture) != 0) {
        perror(name);
        return 1;
    }
    for (int i = 0; i < SIZE / CUT_STEP; i++) {
        Complex z = pixel(CUT_ROW, (i + 1) * CUT_STEP - 1);
        printf("arg f(%.10f + %.7fi) = %.16f\n", z.re, z.im, cut[i]);
    }
    printf("mean |arg f| = %.16f\n", total / (SIZE * SIZE));
    return 0;
}
