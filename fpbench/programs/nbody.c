/* Five bodies under gravity, SIZE steps at a time: a loop of arithmetic that stays in the first-level cache. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODIES = 5 };

static struct body { double position[3], velocity[3], mass; } bodies[BODIES] = {
    { { 0, 0, 0 }, { 0, 0, 0 }, 1000 },
    { { 10, 0, 0 }, { 0, 10, 0.1 }, 1 },
    { { 0, 20, 0 }, { -7, 0, 0.2 }, 0.5 },
    { { -30, 0, 1 }, { 0, -5.7, 0 }, 2 },
    { { 0, -40, 2 }, { 5, 0, 0 }, 0.1 },
};

static void step(double dt)
{
    for (int i = 0; i < BODIES; i++) {
        for (int j = i + 1; j < BODIES; j++) {
            struct body *a = &bodies[i], *b = &bodies[j];
            double d[3], square = 0;
            for (int k = 0; k < 3; k++) {
                d[k] = a->position[k] - b->position[k];
                square += d[k] * d[k];
            }
            double pull = dt / (square * sqrt(square));
            for (int k = 0; k < 3; k++) {
                a->velocity[k] -= d[k] * b->mass * pull;
                b->velocity[k] += d[k] * a->mass * pull;
            }
        }
    }
    for (int i = 0; i < BODIES; i++)
        for (int k = 0; k < 3; k++)
            bodies[i].position[k] += dt * bodies[i].velocity[k];
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 50, repeats = argc > 2 ? atol(argv[2]) : 1;
    for (long i = 0; i < size * repeats; i++)
        step(0.001);
    for (int i = 0; i < BODIES; i++)
        printf("%.12f %.12f %.12f\n", bodies[i].position[0], bodies[i].position[1], bodies[i].position[2]);
    return 0;
}
