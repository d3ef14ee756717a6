//! Influences: which candidate causes flowed into a value. Sets are interned, so that a value carries one small number
//! and the union of two sets, once made, is a lookup.

use rustc_hash::FxHashMap;
use std::rc::Rc;

/// An interned set of candidates. The empty set is the default.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct Influences(pub(crate) u32);

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
    /// Unions that were asked for last, for those in a hurry.
    pub recent: [Union; RECENT],
    pub recently_extended: [Extended; RECENT],
    extended: FxHashMap<(Influences, u32), Influences>,
    /// Bytes that they take, and may take.
    bytes: usize,
    most: usize,
    /// How often a set was not made.
    pub refused: u64,
}

pub const RECENT: usize = 256;
/// By which the first of two sets is multiplied to find their place among them.
pub const FIRST: usize = 5;

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Union {
    pub of: [Influences; 2],
    pub is: Influences,
}

/// A set with one more member.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Extended {
    pub set: Influences,
    pub candidate: u32,
    pub is: Influences,
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
            recent: [Union::default(); RECENT],
            // No candidate has that number.
            recently_extended: [Extended { set: Influences::NONE, candidate: u32::MAX, is: Influences::NONE }; RECENT],
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
    #[inline(always)]
    pub fn with(&mut self, set: Influences, candidate: u32) -> Influences {
        let recent = self.recently_extended[(FIRST * set.0 as usize + candidate as usize) % RECENT];
        if recent.set == set && recent.candidate == candidate { recent.is } else { self.extend(set, candidate) }
    }

    fn extend(&mut self, set: Influences, candidate: u32) -> Influences {
        let is = self.find_extended(set, candidate);
        self.recently_extended[(FIRST * set.0 as usize + candidate as usize) % RECENT] =
            Extended { set, candidate, is };
        is
    }

    fn find_extended(&mut self, set: Influences, candidate: u32) -> Influences {
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
        let place = (FIRST * a.0 as usize + b.0 as usize) % RECENT;
        if self.recent[place].of != [a, b] {
            self.recent[place] = Union { of: [a, b], is: self.find_union(a, b) };
        }
        self.recent[place].is
    }

    fn find_union(&mut self, a: Influences, b: Influences) -> Influences {
        let key = (a.min(b), a.max(b));
        if let Some(union) = self.unions.get(&key) {
            return *union;
        }
        let mut all = [self.members(a), self.members(b)].concat();
        all.sort_unstable();
        all.dedup();
        // Without memory some influences are forgotten, and no cause is invented; the same whichever comes first.
        let larger = if self.members(key.0).len() < self.members(key.1).len() { key.1 } else { key.0 };
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
    use proptest::prelude::*;
    use std::collections::BTreeSet;

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

    /// Members are few, so that sets meet.
    fn members() -> impl Strategy<Value = BTreeSet<u32>> {
        prop::collection::btree_set(0u32..12, 0..6)
    }

    fn made(sets: &mut Sets, members: &BTreeSet<u32>) -> Influences {
        members.iter().fold(Influences::NONE, |set, member| sets.with(set, *member))
    }

    fn held(sets: &Sets, set: Influences) -> BTreeSet<u32> {
        sets.members(set).iter().copied().collect()
    }

    proptest! {
        #[test]
        fn unions_are_those_of_sets(a in members(), b in members(), c in members(), one in 0u32..12) {
            let sets = &mut Sets::new(1 << 20);
            let [x, y, z] = [&a, &b, &c].map(|members| made(sets, members));
            let xy = sets.union(x, y);
            prop_assert_eq!(held(sets, xy), &a | &b);
            prop_assert_eq!(sets.union(y, x), xy);
            prop_assert_eq!(sets.union(x, x), x);
            prop_assert_eq!(sets.union(x, xy), xy);
            let yz = sets.union(y, z);
            prop_assert_eq!(sets.union(xy, z), sets.union(x, yz));
            let single = sets.with(Influences::NONE, one);
            prop_assert_eq!(sets.with(x, one), sets.union(x, single));
            prop_assert_eq!(sets.with(x, one) == x, a.contains(&one));
            prop_assert_eq!(sets.refused, 0);
        }

        #[test]
        fn where_memory_is_short_members_are_forgotten_and_none_is_invented(
            most in 0usize..3000,
            steps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u32..30), 1..200),
        ) {
            let sets = &mut Sets::new(most);
            // What each set should be.
            let mut known = vec![(Influences::NONE, BTreeSet::new())];
            for (a, b, one) in steps {
                let [(x, a), (y, b)] = [a, b].map(|index| known[index.index(known.len())].clone());
                let with = sets.with(x, one);
                let union = sets.union(x, y);
                // It is no smaller than what it is made of.
                prop_assert!(sets.members(with).len() >= sets.members(x).len());
                prop_assert!(sets.members(union).len() >= sets.members(x).len().max(sets.members(y).len()));
                // Nor does it depend on what was remembered.
                if one.is_multiple_of(8) {
                    sets.unions.clear();
                }
                prop_assert_eq!(sets.union(y, x), union);
                known.push((with, a.iter().copied().chain([one]).collect()));
                known.push((union, &a | &b));
                for (set, truth) in &known {
                    let held = held(sets, *set);
                    prop_assert!(held.is_subset(truth), "{:?} {:?}", held, truth);
                    prop_assert!(sets.refused > 0 || held == *truth);
                }
            }
            // One more set than there is room for, and as much again in tables of what was found.
            let largest = 30 * size_of::<u32>() + ENTRY;
            prop_assert!(sets.bytes <= most + largest);
            prop_assert!((sets.unions.len() + sets.extended.len()) * ENTRY <= most + 2 * ENTRY);
        }
    }
}
