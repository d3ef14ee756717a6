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

/// Numbers as good as random, the same in each run.
#[derive(Default)]
pub struct Random(u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        // A linear congruential generator (Knuth's MMIX): a stride of its own would keep step with the program's loops.
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit.max(1)
    }
}

/// What is left of it when that is used up: the first `ALL`, and later one of `OF` on average.
#[derive(Default)]
pub struct Sampling<const ALL: u64, const OF: u64> {
    count: u64,
    /// What is left of the way to the next.
    pub skip: u64,
    random: Random,
}

impl<const ALL: u64, const OF: u64> Sampling<ALL, OF> {
    /// Is it not due? If it is, ask again.
    #[inline]
    pub fn passes(&mut self) -> bool {
        self.skip > 0 && !self.is_due()
    }

    #[inline]
    pub fn is_due(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.count += 1;
        if self.count > ALL {
            self.skip = self.random.below(2 * OF);
        }
        true
    }
}

/// So many of a stream of unknown length, each as likely as any other (Vitter's algorithm R).
pub struct Reservoir<T> {
    pub chosen: Vec<T>,
    offered: u64,
    random: Random,
}

/// Points that a plot can show.
const CHOSEN: usize = 64;

impl<T> Reservoir<T> {
    pub fn new() -> Reservoir<T> {
        Reservoir { chosen: Vec::new(), offered: 0, random: Random::default() }
    }

    pub fn can_grow(&self) -> bool {
        self.chosen.len() < CHOSEN
    }

    /// One more. If what is chosen cannot grow from here on, because it is enough or for want of memory, the new one may take the place of another.
    pub fn offer(&mut self, can_grow: bool, make: impl FnOnce() -> T) {
        self.offered += 1;
        if can_grow {
            self.chosen.push(make());
        } else if let Some(place) = self.chosen.get_mut(self.random.below(self.offered) as usize) {
            *place = make();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservoir_is_a_fair_choice() {
        let mut reservoir = Reservoir::new();
        (0..64_000).for_each(|number| reservoir.offer(number < 40, || number));
        let early = reservoir.chosen.iter().filter(|number| **number < 32_000).count();
        assert!(reservoir.chosen.len() == 40 && (10..=30).contains(&early), "{:?}", reservoir.chosen);
    }

    #[test]
    fn the_first_are_all_taken_and_later_some_of_each_residue() {
        let mut sampling = Sampling::<256, 32>::default();
        assert!((0..256).all(|_| sampling.is_due()));
        let due: Vec<u64> = (0..100_000).filter(|_| sampling.is_due()).collect();
        assert!((2000..5000).contains(&due.len()), "{}", due.len());
        for period in [2, 16, 24, 64] {
            assert!((0..period).all(|phase| due.iter().any(|at| at % period == phase)), "{period}");
        }
    }
}
