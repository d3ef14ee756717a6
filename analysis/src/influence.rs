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
}

impl Sets {
    pub fn new() -> Sets {
        let empty: Rc<[u32]> = Rc::from([]);
        Sets {
            members: vec![empty.clone()],
            numbers: FxHashMap::from_iter([(empty, Influences::NONE)]),
            unions: FxHashMap::default(),
            extended: FxHashMap::default(),
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
        let single = self.intern(vec![candidate]);
        let extended = self.union(set, single);
        self.extended.insert((set, candidate), extended);
        extended
    }

    pub fn union(&mut self, a: Influences, b: Influences) -> Influences {
        if a == b || b.is_empty() {
            return a;
        }
        if a.is_empty() {
            return b;
        }
        let key = (a.min(b), a.max(b));
        if let Some(union) = self.unions.get(&key) {
            return *union;
        }
        let mut all = [self.members(a), self.members(b)].concat();
        all.sort_unstable();
        all.dedup();
        let union = self.intern(all);
        self.unions.insert(key, union);
        union
    }

    fn intern(&mut self, sorted: Vec<u32>) -> Influences {
        let sorted: Rc<[u32]> = sorted.into();
        if let Some(number) = self.numbers.get(&sorted) {
            return *number;
        }
        let number = Influences(self.members.len() as u32);
        self.members.push(sorted.clone());
        self.numbers.insert(sorted, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_are_one_set_however_they_were_made() {
        let mut sets = Sets::new();
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
