"""Objects are made and their methods called SIZE times, so many times, in an interpreter."""
import sys


def successor(x):
    return x + 1


class Number:
    def __init__(self, value):
        self.value = value

    def next(self):
        return successor(self.value)


size, repeats = int(sys.argv[1]), int(sys.argv[2])
seen = {}
for _ in range(repeats):
    total = 0
    for i in range(size):
        total += Number(i).next()
        seen[i % 100] = total
print(total, sum(seen.values()))
