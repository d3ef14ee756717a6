//! Where library functions are called from: the instruction and the site, by the address of the call.
//!
//! To find them takes a search among the mapped files and two tables. Calls come from few places, again and again.

use crate::location::LocationId;
use fpgrind_ir::Operator;

/// What there is at an address, until something else is mapped.
#[derive(Clone, Copy)]
pub struct Caller {
    pub at: LocationId,
    pub site: usize,
}

#[derive(Clone, Copy)]
struct Known {
    pc: u64,
    operator: Operator,
    caller: Caller,
}

/// The callers met last. All functions here are of doubles.
#[derive(Default)]
pub struct Callers(Vec<[Option<Known>; 2]>);

/// So many are known at once, or twice as many: a call may compute two functions.
const COUNT: usize = 1 << 9;

impl Callers {
    /// Or what is found now.
    #[inline(always)]
    pub fn get(&mut self, pc: u64, operator: Operator, find: impl FnOnce() -> Caller) -> Caller {
        if let Some([last, other]) = self.0.get(place(pc)) {
            for known in [last, other] {
                if let Some(known) = known
                    && known.pc == pc
                    && known.operator == operator
                {
                    return known.caller;
                }
            }
        }
        self.find(pc, operator, find)
    }

    #[cold]
    fn find(&mut self, pc: u64, operator: Operator, find: impl FnOnce() -> Caller) -> Caller {
        let caller = find();
        self.0.resize(COUNT, [None; 2]);
        let known = &mut self.0[place(pc)];
        *known = [Some(Known { pc, operator, caller }), known[0]];
        caller
    }

    /// Other code may be at these addresses now.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}

#[inline(always)]
fn place(pc: u64) -> usize {
    (pc.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize % COUNT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_known_until_they_are_forgotten() {
        let mut callers = Callers::default();
        let caller = |number: u32| Caller { at: LocationId(number), site: number as usize };
        let mut get = |pc, operator, number| callers.get(pc, operator, || caller(number)).site;
        assert_eq!(get(0x1000, Operator::Sin, 1), 1);
        assert_eq!(get(0x1000, Operator::Sin, 2), 1);
        // Another function, from the same place.
        assert_eq!(get(0x1000, Operator::Cos, 3), 3);
        assert_eq!(get(0x1000, Operator::Sin, 4), 1);
        for pc in 0..5000 {
            assert_eq!(get(pc, Operator::Exp, pc as u32), pc as usize);
        }
        callers.forget();
        assert_eq!(callers.get(4999, Operator::Exp, || caller(7)).site, 7);
    }
}
