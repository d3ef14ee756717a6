/* Ends in the way that its argument names. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "return";
    volatile int zero = 0;
    int *volatile nowhere = NULL;
    printf("before %s\n", how);
    fflush(stdout);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "segv"))
        *nowhere = 1;
    if (!strcmp(how, "jump"))
        ((void (*)(void))nowhere)();
    if (!strcmp(how, "divide"))
        return argc / zero;
    if (!strcmp(how, "illegal"))
        __asm__ volatile("ud2");
    if (!strcmp(how, "trap"))
        __asm__ volatile("int3");
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
    if (!strcmp(how, "term"))
        raise(SIGTERM);
    if (!strcmp(how, "realtime"))
        raise(SIGRTMIN + 3);
    if (!strcmp(how, "_exit"))
        _exit(42);
    if (!strcmp(how, "exit"))
        exit(255);
    return 3;
}
