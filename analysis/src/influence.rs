//! Influences: which candidate causes flowed into a value. Sets are interned, so that a value carries one small number
//! and the union of two sets, once made, is a lookup.

use rustc_hash::FxHashMap;
use std::rc::Rc;

/// An interned set of candidates. The empty set is the default.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct Influences(u32);

impl Influences {
    pub const NONE: Influences = Influences(0);

    pub fn is_empty(self) -> bool {
        self == Influences::NONE
    }
}

pub struct Sets {
    /// Sorted members of each set.
    members: Vec<Rc<[u32]>>,
    numbers: FxHashMap<Rc<[u32]>, Influences>,
    unions: FxHashMap<(Influences, Influences), Influences>,
    extended: FxHashMap<(Influences, u32), Influences>,
    /// Bytes that they take, and may take.
    bytes: usize,
    most: usize,
    /// How often a set was not made.
    pub refused: u64,
}

/// What a set costs beside its members: two entries in tables.
const ENTRY: usize = 64;

impl Sets {
    /// In about so many bytes.
    pub fn new(most: usize) -> Sets {
        let empty: Rc<[u32]> = Rc::from([]);
        Sets {
            members: vec![empty.clone()],
            numbers: FxHashMap::from_iter([(empty, Influences::NONE)]),
            unions: FxHashMap::default(),
            extended: FxHashMap::default(),
            bytes: 0,
            most,
            refused: 0,
        }
    }

    pub fn members(&self, set: Influences) -> &[u32] {
        &self.members[set.0 as usize]
    }

    /// The set with one more member.
    pub fn with(&mut self, set: Influences, candidate: u32) -> Influences {
        if let Some(extended) = self.extended.get(&(set, candidate)) {
            return *extended;
        }
        let Some(single) = self.intern(vec![candidate]) else { return set };
        let extended = self.union(set, single);
        self.remember(|sets| sets.extended.insert((set, candidate), extended));
        extended
    }

    #[inline(always)]
    pub fn union(&mut self, a: Influences, b: Influences) -> Influences {
        match () {
            () if a == b || b.is_empty() => a,
            () if a.is_empty() => b,
            () => self.union_of_two(a, b),
        }
    }

    fn union_of_two(&mut self, a: Influences, b: Influences) -> Influences {
        let key = (a.min(b), a.max(b));
        if let Some(union) = self.unions.get(&key) {
            return *union;
        }
        let mut all = [self.members(a), self.members(b)].concat();
        all.sort_unstable();
        all.dedup();
        // Without memory some influences are forgotten, and no cause is invented.
        let larger = if self.members(a).len() < self.members(b).len() { b } else { a };
        let union = self.intern(all).unwrap_or(larger);
        self.remember(|sets| sets.unions.insert(key, union));
        union
    }

    /// What was found once is not computed again, unless there is too much of it.
    fn remember<T>(&mut self, insert: impl FnOnce(&mut Sets) -> T) {
        if (self.unions.len() + self.extended.len()) * ENTRY > self.most {
            self.unions.clear();
            self.extended.clear();
        }
        insert(self);
    }

    /// The set of these, unless there is no memory for another.
    fn intern(&mut self, sorted: Vec<u32>) -> Option<Influences> {
        let sorted: Rc<[u32]> = sorted.into();
        if let Some(number) = self.numbers.get(&sorted) {
            return Some(*number);
        }
        if self.bytes > self.most {
            self.refused += 1;
            return None;
        }
        self.bytes += size_of_val(&*sorted) + ENTRY;
        let number = Influences(self.members.len() as u32);
        self.members.push(sorted.clone());
        self.numbers.insert(sorted, number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_are_one_set_however_they_were_made() {
        let mut sets = Sets::new(1 << 20);
        let [a, b, c] = [7, 3, 5].map(|candidate| sets.with(Influences::NONE, candidate));
        let ab = sets.union(a, b);
        let bc = sets.union(b, c);
        let left = sets.union(ab, c);
        let right = sets.union(bc, a);
        assert_eq!(left, right);
        assert_eq!(sets.members(left), [3, 5, 7]);
        assert_eq!(sets.union(left, b), left);
        assert_eq!(sets.with(ab, 5), left);
        assert_eq!(sets.with(left, 5), left);
        assert_eq!(sets.union(Influences::NONE, a), a);
    }
}
