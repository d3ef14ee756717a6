/* POSIX threads: computing, waiting for each other, ending in every way. */
#include "../guest.h"
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int total, turn;
static pthread_key_t keys[3];
static __thread int own = 5;
static double results[300];

static void *computes(void *argument)
{
    int number = (int)(intptr_t)argument;
    results[number] = work(20000, number);
    for (int i = 0; i < 500; i++) {
        pthread_mutex_lock(&mutex);
        total++;
        pthread_mutex_unlock(&mutex);
    }
    return (void *)(intptr_t)(number * 3);
}

static void compute_and_count(void)
{
    pthread_t threads[8];
    int wrong = 0;
    for (intptr_t i = 0; i < 8; i++)
        expect(pthread_create(&threads[i], NULL, computes, (void *)i) == 0);
    for (int i = 0; i < 8; i++) {
        void *value;
        pthread_join(threads[i], &value);
        wrong += (intptr_t)value != i * 3 || results[i] != work(20000, i);
    }
    check(wrong == 0 && total == 4000);
}

static void *takes_turns(void *argument)
{
    int number = (int)(intptr_t)argument;
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&mutex);
        while (turn % 3 != number)
            pthread_cond_wait(&condition, &mutex);
        turn++;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void turns_by_condition(void)
{
    pthread_t threads[3];
    for (intptr_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, takes_turns, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    check(turn == 300);
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 5000000;
    if (soon.tv_nsec >= 1000000000)
        soon.tv_sec++, soon.tv_nsec -= 1000000000;
    pthread_mutex_lock(&mutex);
    check(pthread_cond_timedwait(&condition, &mutex, &soon) == ETIMEDOUT);
}

static double grid[4][100];

static void *relaxes(void *argument)
{
    int number = (int)(intptr_t)argument, serial = 0;
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 100; i++)
            grid[number][i] = 0.5 * grid[number][i] + 0.1 * (i + number);
        serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
        pthread_barrier_wait(&barrier);
    }
    return (void *)(intptr_t)serial;
}

static void rounds_by_barrier(void)
{
    pthread_t threads[4];
    intptr_t serial = 0;
    pthread_barrier_init(&barrier, NULL, 4);
    for (int i = 0; i < 400; i++)
        grid[i / 100][i % 100] = 1;
    for (intptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, relaxes, (void *)i);
    for (int i = 0; i < 4; i++) {
        void *value;
        pthread_join(threads[i], &value);
        serial += (intptr_t)value;
    }
    printf("%.17g %.17g\n", grid[0][0], grid[3][99]);
    check(serial == 100);
}

static void *waits_at_barrier(void *argument)
{
    int number = (int)(intptr_t)argument;
    results[number] = work(100, number);
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void three_hundred_at_once(void)
{
    pthread_t threads[300];
    pthread_attr_t small;
    int wrong = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&barrier, NULL, 301);
    for (intptr_t i = 0; i < 300; i++)
        expect(pthread_create(&threads[i], &small, waits_at_barrier, (void *)i) == 0);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 300; i++) {
        pthread_join(threads[i], NULL);
        wrong += results[i] != work(100, i);
    }
    check(wrong == 0);
}

static sem_t done;

static void *posts(void *unused)
{
    work(100, 1);
    sem_post(&done);
    return unused;
}

static void detached(void)
{
    pthread_attr_t attributes;
    sem_init(&done, 0, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        expect(pthread_create(&thread, i % 2 ? &attributes : NULL, posts, NULL) == 0);
        if (i % 2 == 0)
            pthread_detach(thread);
    }
    for (int i = 0; i < 50; i++)
        sem_wait(&done);
    check(1);
}

static void *outlives_main(void *unused)
{
    nap(30);
    printf("main is gone, work %.12g\n", work(1000, 1));
    exit(failures != 0);
    return unused;
}

static void main_leaves_first(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, outlives_main, NULL);
    pthread_exit(NULL);
}

static unsigned char *far_code;

static void *enters_far_code(void *argument)
{
    pthread_barrier_wait(&barrier);
    return (void *)(intptr_t)((int (*)(void))(far_code + (intptr_t)argument * 64))();
}

/* Threads come at the same moment to code that lies far from all that ran before. */
static void far_code_at_once(void)
{
    static const unsigned char returns_7[] = {0xb8, 7, 0, 0, 0, 0xc3};
    int right = 0;
    pthread_barrier_init(&barrier, NULL, 4);
    for (uintptr_t round = 0; round < 24; round++) {
        pthread_t threads[4];
        far_code = mmap((void *)(0x100000000000 + (round << 33)), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (int i = 0; i < 4; i++)
            memcpy(far_code + i * 64, returns_7, sizeof returns_7);
        expect(mprotect(far_code, 4096, PROT_READ | PROT_EXEC) == 0);
        for (intptr_t i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, enters_far_code, (void *)i);
        for (int i = 0; i < 4; i++) {
            void *value;
            pthread_join(threads[i], &value);
            right += (intptr_t)value == 7;
        }
    }
    check(right == 24 * 4);
}

static void *exits_deep(void *unused)
{
    if (unused)
        pthread_exit((void *)77);
    return unused;
}

static void last_thread_ends_the_process(void)
{
    pthread_t thread;
    void *value;
    pthread_create(&thread, NULL, exits_deep, &own);
    pthread_join(thread, &value);
    check(value == (void *)77);
    pthread_detach(pthread_self());
    pthread_exit(NULL); /* The last thread: the process ends with status 0. */
}


static volatile int destructors, again;

static void destroys(void *value)
{
    __atomic_add_fetch(&destructors, 1, __ATOMIC_SEQ_CST);
    /* A destructor that sets its key again is called again. */
    if ((intptr_t)value == 3 && __atomic_add_fetch(&again, 1, __ATOMIC_SEQ_CST) % 2)
        pthread_setspecific(keys[2], value);
}

static void *uses_specifics(void *unused)
{
    for (intptr_t i = 0; i < 3; i++)
        pthread_setspecific(keys[i], (void *)(i + 1));
    own++;
    return own == 6 ? unused : (void *)1;
}

static void thread_local_destructors(void)
{
    for (int i = 0; i < 3; i++)
        pthread_key_create(&keys[i], destroys);
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        void *value;
        pthread_create(&thread, NULL, uses_specifics, NULL);
        pthread_join(thread, &value);
        expect(value == NULL);
    }
    check(destructors == 40 && own == 5);
}

static void *long_work(void *result)
{
    *(double *)result = work(300000, 1);
    return NULL;
}

static void two_threads_at_work(void)
{
    pthread_t thread;
    double first, second;
    pthread_create(&thread, NULL, long_work, &first);
    long_work(&second);
    pthread_join(thread, NULL);
    check(first == second);
}

static void *ends_the_process(void *unused)
{
    nap(10);
    exit(0);
    return unused;
}

static void *never_ends(void *unused)
{
    for (;;)
        work(1000, 1);
    return unused;
}

static void exit_from_a_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, never_ends, NULL);
    pthread_create(&thread, NULL, ends_the_process, NULL);
    nap(60000);
    check(0);
}

static void killed_with_threads(void)
{
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        for (int i = 0; i < 4; i++)
            pthread_create(&thread, NULL, never_ends, NULL);
        nap(5);
        raise(SIGKILL);
    }
    check(end_of(child) == 1000 + SIGKILL);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"compute and count", compute_and_count},
        {"turns by condition", turns_by_condition},
        {"rounds by barrier", rounds_by_barrier},
        {"300 at once", three_hundred_at_once},
        {"detached", detached},
        {"main leaves first", main_leaves_first},
        {"far code at once", far_code_at_once},
        {"last thread ends the process", last_thread_ends_the_process},
        {"thread-local destructors", thread_local_destructors},
        {"two threads at work", two_threads_at_work},
        {"exit from a thread", exit_from_a_thread},
        {"killed with threads", killed_with_threads},
        {0},
    };
    return run_cases(cases, argc, argv);
}
