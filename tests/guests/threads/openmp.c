/* OpenMP: parallel loops, reductions by team order, tasks, critical sections. Built with -fopenmp. */
#include "../guest.h"
#include <omp.h>

static double numbers[20000];

static void parallel_loops(void)
{
    long wrong = 0;
    for (int threads = 1; threads <= 4; threads++) {
        omp_set_num_threads(threads);
#pragma omp parallel for schedule(static)
        for (int i = 0; i < 20000; i++)
            numbers[i] = work(10, i) * 0.5;
#pragma omp parallel for reduction(+ : wrong) schedule(dynamic, 100)
        for (int i = 0; i < 20000; i++)
            wrong += numbers[i] != work(10, i) * 0.5;
    }
    check(wrong == 0);
}

static long fibonacci(int n)
{
    long a, b;
    if (n < 12)
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
#pragma omp task shared(a)
    a = fibonacci(n - 1);
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static void tasks(void)
{
    long result = 0;
    omp_set_num_threads(3);
#pragma omp parallel
#pragma omp single
    result = fibonacci(20);
    check(result == 6765);
}

static void critical_sections(void)
{
    long counted = 0, atomics = 0;
    omp_set_num_threads(4);
#pragma omp parallel
    for (int i = 0; i < 1000; i++) {
#pragma omp critical
        counted++;
#pragma omp atomic
        atomics++;
#pragma omp barrier
    }
    check(counted == 4000 && atomics == 4000);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"parallel loops", parallel_loops}, {"tasks", tasks}, {"critical sections", critical_sections}, {0}};
    return run_cases(cases, argc, argv);
}
