/* Other programs: by vfork, posix_spawn, system, popen, execve from anywhere; sessions, groups and daemons. */
#include "../guest.h"
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>

extern char **environ;

static void by_vfork(void)
{
    volatile int touched = 0;
    volatile int wrong = 0;
    for (volatile int i = 0; i < 30; i++) {
        pid_t child = vfork();
        if (child == 0) {
            touched++;
            if (i % 3 == 0)
                _exit(i);
            char number[16];
            snprintf(number, sizeof number, "%d", i);
            execl("/bin/sh", "sh", "-c", "exit $0", number, (char *)NULL);
            _exit(99);
        }
        wrong += end_of(child) != i;
    }
    check(wrong == 0 && touched == 30);
    pid_t child = vfork();
    if (child == 0) {
        execl("/no/such/program", "none", (char *)NULL);
        _exit(errno == ENOENT ? 44 : 45);
    }
    check(end_of(child) == 44);
}

static void by_posix_spawn(void)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char *arguments[] = {"sh", "-c", "echo spawned; read line; echo got $line; exit 12", NULL};
    pid_t child;
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], "a line\n", 7) != 7)
        abort();
    close(ends[1]);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int spawned = posix_spawn(&child, "/bin/sh", &actions, &attributes, arguments, environ);
    int end = end_of(child);
    check(spawned == 0 && end == 12);
    check(posix_spawnp(&child, "no-such-program-anywhere", NULL, NULL, arguments, environ) == ENOENT);
}

static void by_system(void)
{
    check(system("exit 9") == 9 << 8);
    check(system("kill -TERM $$") == SIGTERM);
    check(system("echo one; echo two | tr a-z A-Z") == 0);
    check(system(NULL) != 0);
}

static void pipelines(void)
{
    char line[64];
    FILE *lines = popen("seq 1 1000 | sort -rn | awk '{ s += $1 / 4 } END { print NR, s }'", "r");
    check(fgets(line, sizeof line, lines) != NULL);
    printf("read %s", line);
    check(pclose(lines) == 0);
    FILE *into = popen("cat; exit 5", "w");
    fprintf(into, "written %g\n", 1.5);
    check(pclose(into) == 5 << 8);
}

static void a_script(void)
{
    char name[] = "/tmp/guest-script-XXXXXX";
    int file = mkstemp(name);
    static const char text[] = "#!/bin/sh -e\necho script of $# arguments: \"$@\"\nexit 21\n";
    expect(write(file, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    fchmod(file, 0700);
    close(file);
    pid_t child = fork();
    if (child == 0) {
        execl(name, "ignored", "a b", "c", (char *)NULL);
        _exit(99);
    }
    check(end_of(child) == 21);
    unlink(name);
    child = fork();
    if (child == 0) {
        execl("/etc/passwd", "passwd", (char *)NULL);
        _exit(errno == EACCES ? 45 : 46);
    }
    check(end_of(child) == 45);
    /* In place of this program, with a descriptor for a name. */
    int shell = open("/bin/sh", O_RDONLY | O_CLOEXEC);
    child = fork();
    if (child == 0) {
        char *arguments[] = {"sh", "-c", "echo by descriptor $VARIABLE", NULL}, *environment[] = {"VARIABLE=set", NULL};
        fexecve(shell, arguments, environment);
        _exit(99);
    }
    check(end_of(child) == 0);
}

static void *becomes_another_program(void *unused)
{
    execl("/bin/sh", "sh", "-c", "echo the thread is a shell now; [ $$ = \"$0\" ] && echo of the same pid", (char *)unused,
          (char *)NULL);
    return NULL;
}

static void *sleeps(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void exec_from_a_thread(void)
{
    pthread_t thread;
    char pid[16];
    snprintf(pid, sizeof pid, "%d", getpid());
    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, sleeps, NULL);
    pthread_create(&thread, NULL, becomes_another_program, pid);
    pause();
}

static void replaces_itself(void)
{
    execl("/bin/sh", "sh", "-c", "echo replaced; trap 'echo trapped' USR1; kill -USR1 $$; exit 0", (char *)NULL);
    check(0);
}

static void groups(void)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        abort();
    pid_t leader = fork();
    if (leader == 0) {
        setpgid(0, 0);
        for (int i = 0; i < 3; i++)
            if (fork() == 0) {
                expect(write(ends[1], "x", 1) == 1);
                nap(60000);
            }
        expect(write(ends[1], "x", 1) == 1);
        nap(60000);
    }
    close(ends[1]);
    for (int i = 0; i < 4; i++)
        expect(read(ends[0], &byte, 1) == 1);
    check(getpgid(leader) == leader && getpgrp() != leader);
    check(kill(-leader, SIGTERM) == 0);
    check(end_of(leader) == 1000 + SIGTERM);
    check(read(ends[0], &byte, 1) == 0);
}

static void daemon_with_a_result(void)
{
    char name[] = "/tmp/guest-daemon-XXXXXX";
    int file = mkstemp(name);
    pid_t child = fork();
    if (child == 0) {
        if (setsid() != getpid() || fork() != 0)
            _exit(0);
        /* The daemon: nobody waits for it. */
        alarm(30);
        char text[64];
        int length = snprintf(text, sizeof text, "daemon computed %.12g\n", work(20000, 4));
        int null = open("/dev/null", O_RDWR);
        for (int i = 0; i < 3; i++)
            dup2(null, i);
        nap(30);
        expect(write(file, text, (size_t)length) == length);
        _exit(0);
    }
    end_of(child);
    struct stat state;
    do {
        nap(2);
        fstat(file, &state);
    } while (state.st_size == 0);
    char text[64] = {0};
    expect(pread(file, text, sizeof text, 0) > 0);
    fputs(text, stdout);
    unlink(name);
}

static void names(void)
{
    char name[17] = {0}, line[32] = {0};
    check(prctl(PR_SET_NAME, "renamed-guest") == 0);
    check(prctl(PR_GET_NAME, name) == 0 && !strcmp(name, "renamed-guest"));
    int file = open("/proc/self/comm", O_RDONLY);
    check(read(file, line, sizeof line) > 0 && !strcmp(line, "renamed-guest\n"));
    pid_t self = getpid(), child = fork();
    if (child == 0)
        _exit(getppid() == self ? 1 : 2);
    check(end_of(child) == 1);
    printf("parent is known: %d, session %d\n", getppid() > 0, getsid(0) > 0);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"by vfork", by_vfork},
        {"by posix_spawn", by_posix_spawn},
        {"by system", by_system},
        {"pipelines", pipelines},
        {"a script", a_script},
        {"exec from a thread", exec_from_a_thread},
        {"replaces itself", replaces_itself},
        {"groups", groups},
        {"daemon with a result", daemon_with_a_result},
        {"names", names},
        {0},
    };
    return run_cases(cases, argc, argv);
}
