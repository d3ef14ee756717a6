//! In which mode code runs that the user has or has not selected.
//!
//! That is decided by the code's address when it is translated. Where code is come to in a mode that is not its own there is a crossing, which
//! writes that there is a gap in the log and goes on in the other mode. Blocks are cut where that changes. So running costs nothing
//! but at crossings. Linkage tables, the C library and wrapped functions belong to whoever calls them.

use super::Translator;
use crate::context::Mode;
use crate::decode::Decoded;
use crate::exits::Key;
use crate::modules::Function;
use fpgrind_wrappers::Wrapper;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    selected: bool,
    begins: bool,
    ends: bool,
}

impl Translator {
    /// Where control is to go on in another mode, if it comes here in this one.
    pub(super) fn crossing(&mut self, (pc, mode): Key) -> Option<Key> {
        let chosen = self.chosen_mode(pc, mode);
        if !self.modes.contains(&chosen) {
            self.modes.push(chosen);
            self.reset_tables_of(chosen);
        }
        (chosen != mode).then_some((pc, chosen))
    }

    /// Is what is translated for this no copy of the guest's code?
    pub(super) fn is_of_ours(&mut self, key: Key) -> bool {
        self.wrapped(key).is_some() || self.chosen_mode(key.0, key.1) != key.1
    }

    fn chosen_mode(&mut self, pc: u64, mode: Mode) -> Mode {
        if mode == Mode::Quiet {
            return mode;
        }
        let Some(Choice { selected, begins, ends }) = self.choice(pc) else { return mode };
        match mode {
            Mode::Outside if !begins => Mode::Outside,
            // Where both are asked for it begins: else there would be no way on.
            Mode::Logged | Mode::Skipped if ends && !begins => Mode::Outside,
            _ if selected => Mode::Logged,
            _ => Mode::Skipped,
        }
    }

    /// What the user's selection says of this code; nothing if it belongs to whoever calls it.
    fn choice(&mut self, pc: u64) -> Option<Choice> {
        let selection = self.logging?.selection?;
        let module = self.learn(pc)?;
        if module.quiet || self.modules.is_linkage(pc) || self.modules.function(pc).is_some() {
            return None;
        }
        if let Some(known) = self.choices.get(&pc) {
            return Some(*known);
        }
        let origin = self.modules.origin(pc);
        let (file, address) = origin.as_ref().map_or((None, pc), |(file, address)| (Some(&**file), *address));
        let choice = Choice {
            selected: selection.includes(file, address),
            begins: selection.begins_with(file, address),
            ends: selection.ends_with(file, address),
        };
        self.choices.insert(pc, choice);
        Some(choice)
    }

    /// Ends a block where another mode begins.
    pub(super) fn cut(&mut self, decoded: &mut Decoded, mode: Mode) {
        if mode == Mode::Quiet || !self.is_partial() {
            return;
        }
        let later = decoded.instrs.iter().skip(1).map(|instr| instr.ip()).collect::<Vec<u64>>();
        if let Some(index) = later.into_iter().position(|pc| self.chosen_mode(pc, mode) != mode) {
            decoded.truncate(index + 1);
        }
    }

    /// What is wrapped at the entry of a function. Outputs are told of whoever makes them.
    pub(super) fn wrapped(&self, (pc, mode): Key) -> Option<Function> {
        let counts = |function: &Function| match mode {
            Mode::Quiet => false,
            Mode::Logged => true,
            Mode::Skipped | Mode::Outside => {
                matches!(function, Function::Resolver(_) | Function::Wrapped(Wrapper::Output(_)))
            }
        };
        self.modules.function(pc).filter(counts)
    }
}
