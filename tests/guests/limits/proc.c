/* What the program reads about itself. */
#include "../guest.h"
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

static int data = 7;

struct mapping {
    unsigned long start, end;
    char protection[8], path[256];
};

static int mapping_of(const void *address, struct mapping *found)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    int hits = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        struct mapping one = {0};
        if (sscanf(line, "%lx-%lx %7s %*x %*x:%*x %*u %255s", &one.start, &one.end, one.protection, one.path) < 3)
            continue;
        if ((unsigned long)address >= one.start && (unsigned long)address < one.end) {
            *found = one;
            hits++;
        }
    }
    if (maps)
        fclose(maps);
    return hits;
}

static void executable(void)
{
    char path[512] = {0}, again[512] = {0};
    check(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    snprintf(again, sizeof again, "/proc/%d/exe", getpid());
    struct stat by_link, by_name;
    check(stat("/proc/self/exe", &by_link) == 0 && stat(path, &by_name) == 0 && by_link.st_ino == by_name.st_ino);
    printf("called %s\n", strrchr(path, '/') + 1);
    check(getauxval(AT_EXECFN) != 0 && getauxval(AT_PHDR) != 0 && getauxval(AT_SYSINFO_EHDR) != 0);
}

static void maps(void)
{
    struct mapping text, own_data, stack;
    int local = 0;
    check(mapping_of((void *)maps, &text) == 1 && !strcmp(text.protection, "r-xp"));
    check(strstr(text.path, "proc") != NULL);
    check(mapping_of(&data, &own_data) == 1 && !strcmp(own_data.protection, "rw-p"));
    check(mapping_of(&local, &stack) == 1 && !strcmp(stack.path, "[stack]"));
    check(mapping_of((void *)getauxval(AT_SYSINFO_EHDR), &text) == 1 && !strcmp(text.path, "[vdso]"));
    /* What malloc gives is where brk is. */
    struct mapping heap;
    check(mapping_of(malloc(100), &heap) == 1 && !strcmp(heap.path, "[heap]"));
}

static void statistics(void)
{
    char line[1024] = {0}, name[64] = {0}, state;
    int pid, parent, group, session;
    int file = open("/proc/self/stat", O_RDONLY);
    check(read(file, line, sizeof line - 1) > 0);
    check(sscanf(line, "%d (%63[^)]) %c %d %d %d", &pid, name, &state, &parent, &group, &session) == 6);
    check(pid == getpid() && group == getpgrp() && session == getsid(0) && state == 'R');
    printf("name %s\n", name);
}

static void environment(void)
{
    static char text[65536];
    int file = open("/proc/self/environ", O_RDONLY);
    ssize_t length = read(file, text, sizeof text - 1);
    int variables = 0, same = 0;
    extern char **environ;
    for (ssize_t at = 0; at < length; at += (ssize_t)strlen(text + at) + 1, variables++)
        same += environ[variables] && !strcmp(environ[variables], text + at);
    check(variables > 0 && same == variables);
    file = open("/proc/self/cmdline", O_RDONLY);
    length = read(file, text, sizeof text);
    check(length > 0 && !strcmp(text + strlen(text) + 1, "environment"));
}

static volatile int stop;

static void *waits(void *unused)
{
    while (!stop)
        nap(1);
    return unused;
}

static int tasks(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void threads(void)
{
    pthread_t ones[5];
    check(tasks() == 1);
    for (int i = 0; i < 5; i++)
        pthread_create(&ones[i], NULL, waits, NULL);
    check(tasks() == 6);
    stop = 1;
    for (int i = 0; i < 5; i++)
        pthread_join(ones[i], NULL);
}

static void status(void)
{
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, "Name", 4) || !strncmp(line, "Threads", 7) || !strncmp(line, "Sig", 3) ||
            !strncmp(line, "Shd", 3) || !strncmp(line, "Seccomp", 7) || !strncmp(line, "Cap", 3) ||
            !strncmp(line, "NoNew", 5))
            if (strncmp(line, "SigQ", 4))
                fputs(line, stdout);
    fclose(file);
}

static int counts(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)size;
    ++*(int *)count;
    printf("module %s\n", strrchr(info->dlpi_name, '/') ? strrchr(info->dlpi_name, '/') + 1 : info->dlpi_name);
    return 0;
}

static void modules(void)
{
    int count = 0;
    dl_iterate_phdr(counts, &count);
    check(count >= 1);
}

/* No file can be made where temporary files belong. */
static void no_temporary_files(void)
{
    setenv("TMPDIR", "/proc/no-such-folder", 1);
    check(tmpfile() != NULL || errno != 0);
    check(system("echo a child without TMPDIR") == 0);
}

static void own_code(void)
{
    unsigned long sum = 0;
    extern char __executable_start, __etext;
    for (const char *at = &__executable_start; at < &__etext; at++)
        sum = sum * 31 + (unsigned char)*at;
    char path[512] = {0};
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
        abort();
    printf("code sums to %lx\n", sum);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"executable", executable},
        {"maps", maps},
        {"statistics", statistics},
        {"environment", environment},
        {"threads", threads},
        {"status", status},
        {"modules", modules},
        {"no temporary files", no_temporary_files},
        {"own code", own_code},
        {0},
    };
    return run_cases(cases, argc, argv);
}
