// Loaded by exceptions.cpp: throws through its caller's frames and catches what its caller throws.
#include <stdexcept>

extern "C" int library_throws(int depth)
{
    struct Guard {
        int &count;
        ~Guard() { count++; }
    };
    static int destroyed;
    Guard guard{destroyed};
    if (depth == 0)
        throw std::runtime_error("from the library");
    return library_throws(depth - 1) + 1;
}

extern "C" int library_catches(void (*callback)())
{
    try {
        callback();
    } catch (const std::exception &) {
        return 1;
    }
    return 0;
}
