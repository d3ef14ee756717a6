//! Memory for the expressions of all causes and spots together, counted roughly. Where it is short, an expression keeps fewer examples or is cut to fewer operations.

use std::cell::Cell;
use std::rc::Rc;

#[derive(Clone)]
pub struct Room {
    most: usize,
    used: Rc<Cell<usize>>,
    short: Rc<Cell<u64>>,
}

impl Room {
    /// In so many bytes.
    pub fn new(most: usize) -> Room {
        Room { most, used: Rc::default(), short: Rc::default() }
    }

    /// What is left for expressions.
    pub fn left(&self) -> usize {
        self.most.saturating_sub(self.used.get())
    }

    pub fn take(&self, bytes: usize) {
        self.used.update(|used| used.saturating_add(bytes));
    }

    /// Takes so much for an example, if there is that much: most of the room is for expressions that are yet to come.
    pub fn take_for_example(&self, bytes: usize) -> bool {
        let has_room = self.used.get().saturating_add(bytes) <= self.most / 4;
        if has_room {
            self.take(bytes);
        }
        has_room
    }

    /// An expression is not all that it would have been.
    pub fn is_short(&self) {
        self.short.update(|short| short + 1);
    }

    /// How many expressions are not.
    pub fn short(&self) -> u64 {
        self.short.get()
    }

    #[cfg(test)]
    pub fn used(&self) -> usize {
        self.used.get()
    }
}
