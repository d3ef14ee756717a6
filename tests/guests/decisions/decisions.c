/* Decisions that go the other way in the reals: some of them change results, others hardly can. */
#include <math.h>
#include <stdio.h>

#define APART __attribute__((noipa))
enum { COUNT = 400 };

/* Pairs of numbers that are equal in the reals and seldom natively. */
static double v[COUNT];

static APART void fill(void)
{
    for (int i = 0; i < COUNT; i += 2) {
        double a = 1.1 + 0.37 * sin(i), b = 0.7 + i * 0x1p-9, c = 1.3 + 0.21 * cos(i);
        v[i] = a * b * c;
        v[i + 1] = a * (b * c);
    }
}

/* Continuous: the greatest is one of those compared. */
static APART double greatest(void)
{
    double max = v[0];
    for (int i = 1; i < COUNT; i++)
        if (v[i] > max)
            max = v[i];
    return max;
}

static APART double least(void)
{
    volatile double min = v[COUNT - 1];
    for (int i = COUNT - 1; i > 0; i--)
        if (min > v[i - 1])
            min = v[i - 1];
    return min;
}

/* Continuous: near equality both sides are near 1. */
static APART double ratio(double x, double y)
{
    if (x < y)
        return x / y;
    return y / x;
}

/* Continuous: of equal parts either is the larger. */
static APART double larger_part(double x, double y)
{
    double larger = y;
    if (fabs(x) > fabs(y))
        larger = x;
    return larger * 0.5;
}

/* Continuous: when it stops hardly anything changes from turn to turn. */
static APART double newton(double a)
{
    double x = a, old;
    do {
        old = x;
        x = 0.5 * (x + a / x);
    } while (x != old);
    return x;
}

static APART double until_small(double a, double tolerance)
{
    double x = 1, change;
    do {
        double next = (x + a) / (x + 1);
        change = fabs(next - x);
        x = next;
    } while (change > tolerance);
    return x;
}

/* Continuous: either half has the middle as an end. */
static APART double bisection(double a)
{
    double low = 0, high = a;
    for (int i = 0; i < 70; i++) {
        double middle = 0.5 * (low + high);
        if (middle * middle - a > 0)
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* Not continuous: it counts. */
static APART int up(double step)
{
    int turns = 0;
    for (double x = 0; x < 1; x += step)
        turns++;
    return turns;
}

static APART int down(double step)
{
    int turns = 0;
    for (double x = 1; x > 0; x -= step)
        turns++;
    return turns;
}

static APART int whole(double x)
{
    double sum = 0;
    for (int i = 0; i < 10; i++)
        sum += x;
    return (int)sum;
}

/* Not continuous: inside or outside. */
static APART int inside(double x, double y, const double (*corner)[2], int corners)
{
    int is_inside = 0;
    for (int i = 0, k = corners - 1; i < corners; k = i++) {
        double x1 = corner[i][0], y1 = corner[i][1], x2 = corner[k][0], y2 = corner[k][1];
        if ((y1 > y) != (y2 > y) && x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
            is_inside = !is_inside;
    }
    return is_inside;
}

static APART int is_singular(double a, double b, double c, double d)
{
    return a * d - b * c == 0;
}

int main(void)
{
    fill();
    printf("%.12g\n", greatest());
    printf("%.12g\n", least());
    double ratios = 0, roots = 0;
    for (int i = 0; i < COUNT; i += 2)
        ratios += ratio(v[i], v[i + 1]) + ratio(v[i], v[(i + 2) % COUNT]) + ratio(v[(i + 2) % COUNT], v[i]);
    for (int i = 0; i < COUNT; i += 2)
        ratios += larger_part(v[i], -v[i + 1]) + larger_part(v[i + 1], v[(i + 7) % COUNT]);
    printf("%.12g\n", ratios);
    for (int i = 2; i < 40; i++)
        roots += newton(i) + bisection(i);
    for (int i = 2; i < 400; i++)
        roots += until_small(2, ldexp(5, -i / 7));
    printf("%.12g\n", roots);
    printf("%d %d %d\n", up(0.1), down(0.1), whole(0.1));
    const double triangle[3][2] = {{0, 0}, {0.3, 0.1}, {0, 1}};
    int found = 0, singular = 0;
    for (int i = 1; i < 100; i++) {
        found += inside(i * 0.003, i * 0.001, triangle, 3);
        singular += is_singular(0.1 * i, 0.3 * i, 0.1 * (i + 1), 0.3 * (i + 1));
    }
    printf("%d %d\n", found, singular);
    return 0;
}
