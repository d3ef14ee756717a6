/* Makes vectors orthogonal and of length one. The first of them is zero: it has no direction, and spoils the rest. */
#include <math.h>
#include <stdio.h>

enum { COUNT = 3 };

static volatile double inputs[COUNT][3] = { { 0, 0, 0 }, { 3, 4, 12 }, { 1, -2, 2 } };

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

int main(void)
{
    double basis[COUNT][3];
    for (int i = 0; i < COUNT; i++) {
        double v[3] = { inputs[i][0], inputs[i][1], inputs[i][2] };
        for (int j = 0; j < i; j++) {
            double along = dot(v, basis[j]);
            for (int k = 0; k < 3; k++)
                v[k] -= along * basis[j][k];
        }
        double length = sqrt(dot(v, v));
        for (int k = 0; k < 3; k++)
            basis[i][k] = v[k] / length;
        printf("%g %g %g\n", basis[i][0], basis[i][1], basis[i][2]);
    }
    return 0;
}
