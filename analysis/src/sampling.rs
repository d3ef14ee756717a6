//! Which of many executions to look at closely: all at first, then fewer and fewer, at random, but the same in each run.

/// Work that is done in full while it is little beside the rest.
#[derive(Default)]
pub struct Budget {
    spent: u64,
}

impl Budget {
    /// May so much be spent? So much is free, and then so much as was earned.
    #[inline]
    pub fn spend(&mut self, cost: usize, free: u64, earned: u64) -> bool {
        let is_within = self.spent + cost as u64 <= free + earned;
        self.spent += if is_within { cost as u64 } else { 0 };
        is_within
    }
}

/// What is left of it when that is used up.
#[derive(Default)]
pub struct Sampling {
    count: u64,
    /// What is left of the way to the next.
    skip: u64,
    random: u64,
}

/// So many are all looked at.
const ALL: u64 = 256;
/// Later one of so many is, on average.
const OF: u64 = 32;

impl Sampling {
    #[inline]
    pub fn is_due(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.count += 1;
        if self.count > ALL {
            // A linear congruential generator (Knuth's MMIX): a stride of its own would keep step with the program's loops.
            self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            self.skip = (self.random >> 33) % (2 * OF);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_all_taken_and_later_some_of_each_residue() {
        let mut sampling = Sampling::default();
        assert!((0..ALL).all(|_| sampling.is_due()));
        let due: Vec<u64> = (0..100_000).filter(|_| sampling.is_due()).collect();
        assert!((2000..5000).contains(&due.len()), "{}", due.len());
        for period in [2, 16, 24, 64] {
            assert!((0..period).all(|phase| due.iter().any(|at| at % period == phase)), "{period}");
        }
    }
}
