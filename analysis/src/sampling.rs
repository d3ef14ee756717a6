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
    #[inline(always)]
    pub fn passes(&mut self) -> bool {
        self.skip > 0 && !self.is_due()
    }

    #[inline(always)]
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

    /// The next is so many times as far away.
    pub fn postpone(&mut self, times: u64) {
        self.skip = self.skip.saturating_mul(times);
    }
}

/// Looks at the executions of something of which they tell ever less: all at first, and half as many after each so many looks that told nothing new.
pub struct Looks {
    /// Executions to pass over before the next look.
    pub skip: u64,
    /// Looks since one told something new, and what all together have cost.
    quiet: u64,
    spent: u64,
    /// After so many quiet looks there are half as many.
    enough: u64,
    random: Random,
}

/// So often at most.
const HALVINGS: u64 = 10;

impl Looks {
    pub fn new(enough: u64) -> Looks {
        Looks { skip: 0, quiet: 0, spent: 0, enough: enough.max(1), random: Random::default() }
    }

    #[inline(always)]
    pub fn would_be_due(&self) -> bool {
        self.skip == 0
    }

    /// Is the next execution to be looked at? If not, it has passed.
    #[inline(always)]
    pub fn is_due(&mut self) -> bool {
        // (Not `self.skip -= !is_due as u64`: LLVM 22.1 in rustc 1.95 makes of that that nothing is due again.)
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        true
    }

    /// A look that cost so much, and whether it told something new; where so much was spent that looks must be few, one for so many executions.
    /// How many executions are passed over from here.
    pub fn looked(&mut self, cost: usize, is_new: bool, free: u64, one_in: u64) -> u64 {
        self.spent += cost as u64;
        self.quiet = if is_new { 0 } else { self.quiet + 1 };
        let one_in = if self.spent > free { one_in } else { 1 };
        let one_in = one_in.max(1 << (self.quiet / self.enough).min(HALVINGS));
        self.skip = if one_in == 1 { 0 } else { self.random.below(2 * one_in) };
        self.skip
    }

    /// What is looked at has become something else.
    pub fn start_again(&mut self) {
        self.quiet = 0;
    }
}

/// A sum of logarithms to base two, as the logarithm of a product: that takes a multiplication for each.
pub struct Logarithms {
    pub significand: f64,
    pub exponent: u64,
}

impl Default for Logarithms {
    fn default() -> Logarithms {
        Logarithms { significand: 1.0, exponent: 0 }
    }
}

impl Logarithms {
    /// One more, of a number that is one or more.
    #[inline(always)]
    pub fn add(&mut self, number: f64) {
        const ONE: u64 = 1.0f64.to_bits();
        let product = (self.significand * number).to_bits();
        self.exponent += (product >> 52) - (ONE >> 52);
        self.significand = f64::from_bits(product << 12 >> 12 | ONE);
    }

    pub fn sum(&self) -> f64 {
        self.exponent as f64 + self.significand.log2()
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
    fn looks_that_tell_nothing_new_become_fewer_and_those_that_do_many_again() {
        let mut looks = Looks::new(512);
        let mut count = |executions: u64, is_new: bool, free: u64| {
            let due = |_: &u64| looks.is_due() && (looks.looked(10, is_new, free, 64), true).1;
            (0..executions).filter(due).count()
        };
        assert_eq!(count(512, false, u64::MAX), 512);
        let half = count(1024, false, u64::MAX);
        assert!((400..600).contains(&half), "{half}");
        count(1 << 20, false, u64::MAX);
        assert!((50..200).contains(&count(100_000, false, u64::MAX)));
        count(5_000, true, u64::MAX);
        assert_eq!(count(100, true, u64::MAX), 100);
        assert!((10..30).contains(&count(1280, true, 0)));
    }

    #[test]
    fn what_is_postponed_comes_so_many_times_later() {
        let mut sampling = Sampling::<4, 32>::default();
        let mut count = |executions: u64| {
            let due = |_: &u64| sampling.is_due() && (sampling.postpone(16), true).1;
            (0..executions).filter(due).count()
        };
        assert_eq!(count(4), 4);
        assert!((100..400).contains(&count(100_000)));
    }

    #[test]
    fn logarithms_add_up() {
        let (mut logarithms, mut sum) = (Logarithms::default(), 0.0);
        for ulps in [0, 1, 31, 1 << 40, u64::MAX, 12345] {
            logarithms.add(ulps as f64 + 1.0);
            sum += (ulps as f64 + 1.0).log2();
        }
        assert!((logarithms.sum() - sum).abs() < 1e-12);
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
