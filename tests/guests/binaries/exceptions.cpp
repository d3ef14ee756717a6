// Exceptions through many frames, through a library loaded at run time and back. The library is THROWING.
#include "../guest.h"
#include <dlfcn.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static int destroyed;
struct Guard {
    std::string text = "something on the heap, longer than a short string";
    ~Guard() { destroyed++; }
};

__attribute__((noinline)) static int dive(int depth)
{
    Guard guard;
    if (depth == 0)
        throw std::out_of_range("deep down");
    return dive(depth - 1) + 1;
}

static void many_frames()
{
    int caught = 0;
    for (int i = 0; i < 20; i++)
        try {
            dive(100);
        } catch (const std::logic_error &error) {
            caught += !strcmp(error.what(), "deep down");
        }
    check(caught == 20 && destroyed == 2020);
}

static void rethrown()
{
    std::string trace;
    try {
        try {
            try {
                throw 1.25;
            } catch (double) {
                trace += "a";
                throw;
            }
        } catch (int) {
            trace += "wrong";
        } catch (...) {
            trace += "b";
            std::throw_with_nested(std::runtime_error("outer"));
        }
    } catch (const std::exception &error) {
        trace += error.what();
        try {
            std::rethrow_if_nested(error);
        } catch (double value) {
            trace += value == 1.25 ? " nested" : " wrong";
        }
    }
    puts(trace.c_str());
    std::vector<int> numbers(3);
    try {
        numbers.at(7) = 1;
    } catch (const std::out_of_range &) {
        puts("the library threw");
    }
    try {
        dynamic_cast<const std::runtime_error &>(static_cast<const std::exception &>(std::logic_error("x")));
    } catch (const std::bad_cast &) {
        puts("bad cast");
    }
}

static void thrower() { throw std::runtime_error("from the program"); }

static void across_a_library()
{
    int caught = 0, inside = 0;
    for (int i = 0; i < 20; i++) {
        void *library = dlopen(THROWING, RTLD_NOW);
        if (!library) {
            puts(dlerror());
            abort();
        }
        auto throws = (int (*)(int))dlsym(library, "library_throws");
        auto catches = (int (*)(void (*)()))dlsym(library, "library_catches");
        try {
            throws(20);
        } catch (const std::runtime_error &) {
            caught++;
        }
        inside += catches(thrower);
        dlclose(library);
    }
    check(caught == 20 && inside == 20);
}

static void uncaught()
{
    pid_t child = fork();
    if (child == 0) {
        std::set_terminate([] {
            puts("terminated");
            _exit(3);
        });
        throw 5;
    }
    check(end_of(child) == 3);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {{"many frames", many_frames},
                                      {"rethrown", rethrown},
                                      {"across a library", across_a_library},
                                      {"uncaught", uncaught},
                                      {nullptr, nullptr}};
    return run_cases(cases, argc, argv);
}
