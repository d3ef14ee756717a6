"""The harmonic series up to SIZE, so many times, in an interpreter."""
import sys

size, repeats = int(sys.argv[1]), int(sys.argv[2])
for _ in range(repeats):
    total = 0.0
    for i in range(1, size + 1):
        total += 1.0 / i
print(total)
