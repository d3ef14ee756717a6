# What compound interest adds in a day, at small rates.
import math

def gained(rate):
    return math.exp(rate / 365) - 1

for rate in [0.05, 1e-4, 1e-7, 1e-10]:
    print(f"{rate:g} a year: {gained(rate):.15g} a day")
