# The harmonic series up to SIZE, so many times, in an interpreter.
use strict;
use warnings;

my ($size, $repeats) = @ARGV;
my $total;
for (1 .. $repeats) {
    $total = 0.0;
    for my $i (1 .. $size) {
        $total += 1.0 / $i;
    }
}
print "$total\n";
