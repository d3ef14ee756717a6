/* Threads that are cancelled, and mutexes whose owners are gone. */
#include "../guest.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>

static atomic_int cleanups, started, cancelled_now;
static sem_t never;

static void cleans(void *unused)
{
    (void)unused;
    cleanups++;
}

static void *waits_for_ever(void *how)
{
    int byte, ends[2];
    if (pipe(ends) != 0)
        abort();
    pthread_cleanup_push(cleans, NULL);
    pthread_cleanup_push(cleans, NULL);
    started++;
    switch ((intptr_t)how) {
    case 0: pause(); break;
    case 1: sem_wait(&never); break;
    case 2: if (read(ends[0], &byte, 1) != 1) abort(); break;
    case 3: for (;;) { work(100, 1); pthread_testcancel(); } break;
    case 4: nap(60000); break;
    }
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return NULL;
}

static void deferred(void)
{
    sem_init(&never, 0, 0);
    int cancelled = 0;
    for (intptr_t i = 0; i < 25; i++) {
        pthread_t thread;
        void *value;
        int before = started;
        pthread_create(&thread, NULL, waits_for_ever, (void *)(i % 5));
        while (started == before)
            sched_yield();
        if (i % 2)
            nap(2);
        pthread_cancel(thread);
        pthread_join(thread, &value);
        cancelled += value == PTHREAD_CANCELED;
    }
    check(cancelled == 25 && cleanups == 50);
}

static volatile double state;

static void *spins_for_ever(void *unused)
{
    int old;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
    pthread_cleanup_push(cleans, NULL);
    started++;
    for (;;)
        state = state * 0.5 + 1.0;
    pthread_cleanup_pop(0);
    return unused;
}

static void asynchronous(void)
{
    int cancelled = 0;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *value;
        int before = started;
        pthread_create(&thread, NULL, spins_for_ever, NULL);
        while (started == before)
            sched_yield();
        nap(1);
        pthread_cancel(thread);
        pthread_join(thread, &value);
        cancelled += value == PTHREAD_CANCELED;
    }
    check(cancelled == 20 && cleanups == 20);
}

static void *refuses(void *unused)
{
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    started++;
    while (!cancelled_now)
        nap(1); /* would be where it ends */
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
    cleanups++;
    pthread_testcancel();
    cleanups = -100;
    return unused;
}

static void disabled(void)
{
    pthread_t thread;
    void *value;
    pthread_create(&thread, NULL, refuses, NULL);
    while (!started)
        nap(1);
    pthread_cancel(thread);
    cancelled_now = 1;
    pthread_join(thread, &value);
    check(value == PTHREAD_CANCELED && cleanups == 1);
}

static pthread_mutex_t *shared_mutex(int robust, int protocol, int shared)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t *mutex = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, robust ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutexattr_setpshared(&attributes, shared ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE);
    if (pthread_mutex_init(mutex, &attributes) != 0)
        check(0);
    return mutex;
}

static void *dies_with_it(void *mutex)
{
    pthread_mutex_lock(mutex);
    return NULL;
}

static void owner_died(void)
{
    for (int protocol = 0; protocol < 2; protocol++)
        for (int process = 0; process < 2; process++) {
            pthread_mutex_t *mutex = shared_mutex(1, protocol ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE, process);
            pthread_t thread;
            if (process) {
                pid_t child = fork();
                if (child == 0) {
                    pthread_mutex_lock(mutex);
                    _exit(0);
                }
                end_of(child);
            } else {
                pthread_create(&thread, NULL, dies_with_it, mutex);
                pthread_join(thread, NULL);
            }
            check(pthread_mutex_lock(mutex) == EOWNERDEAD);
            check(pthread_mutex_consistent(mutex) == 0 && pthread_mutex_unlock(mutex) == 0);
            check(pthread_mutex_lock(mutex) == 0 && pthread_mutex_unlock(mutex) == 0);
        }
}

static atomic_int owner_is_in;
static long guarded;

static void *locks_for_a_while(void *mutex)
{
    pthread_mutex_lock(mutex);
    owner_is_in = 1;
    nap(10);
    pthread_mutex_unlock(mutex);
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(mutex);
        guarded++;
        pthread_mutex_unlock(mutex);
    }
    return NULL;
}

static void priority_inheritance(void)
{
    pthread_mutex_t *mutex = shared_mutex(0, PTHREAD_PRIO_INHERIT, 0);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, locks_for_a_while, mutex);
    while (!owner_is_in)
        sched_yield();
    pthread_mutex_lock(mutex);
    guarded += 10;
    pthread_mutex_unlock(mutex);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    check(guarded == 6010);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"deferred", deferred}, {"asynchronous", asynchronous}, {"disabled", disabled},
        {"owner died", owner_died}, {"priority inheritance", priority_inheritance}, {0},
    };
    return run_cases(cases, argc, argv);
}
