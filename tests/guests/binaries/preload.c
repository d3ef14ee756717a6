/* Put before other libraries by LD_PRELOAD: answers instead of the C library, and asks it. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((constructor)) static void loaded(void) { fputs("preloaded\n", stderr); }

pid_t getppid(void) { return 4242; }

double strtod(const char *text, char **end)
{
    double (*original)(const char *, char **) = (double (*)(const char *, char **))dlsym(RTLD_NEXT, "strtod");
    return original(text, end) * 2;
}
