//! What the x87's registers hold at a point inside a block.
//!
//! Registers are numbered from the one on top when the block is entered, so a register's number stays when the stack
//! turns. One that the block has not written is read out of an *image* of the whole unit, because no single store logs it; an image is
//! dear, so it is taken when it is first needed, and serves all registers that have not changed since.

use super::status::Status;
use crate::builder::Builder;
use fpgrind_ir::{Op, Place, Reg, Slot, Type, Value, X87_INDEFINITE};

/// Images that may be taken in one block to check results: with more of them its record would become too long.
const CHECKS: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Contents {
    /// What it held when the block was entered.
    Untouched,
    /// Whatever an instruction that is not described has written.
    Unknown,
    /// Popped, or freed. Nobody reads what is still in it.
    Empty,
    Holds(Value),
}

#[derive(Clone, Copy, Debug)]
struct Register {
    contents: Contents,
    /// Contents that are untouched or unknown, once they have been read.
    read: Option<Value>,
}

#[derive(Clone)]
pub struct Stack {
    registers: [Register; 8],
    /// The number of the register on top.
    top: u8,
    /// The last image, and which register was on top when it was taken. No register has since been written by an instruction that is not
    /// described.
    image: Option<(Value, u8)>,
    /// Was it taken after the present instruction?
    image_is_new: bool,
    /// The control word, if it has been read or written.
    pub control: Option<Value>,
    pub status: Status,
    /// Registers written and not yet checked, a bit each.
    changed: u8,
    /// Of so many instructions that change registers one is checked, after so many more.
    stride: usize,
    until_check: usize,
}

impl Stack {
    /// For a block of so many instructions.
    pub fn new(instrs: usize) -> Stack {
        Stack {
            registers: [Register { contents: Contents::Untouched, read: None }; 8],
            top: 0,
            image: None,
            image_is_new: false,
            control: None,
            status: Status::default(),
            changed: 0,
            stride: instrs.div_ceil(CHECKS).max(1),
            until_check: 0,
        }
    }

    /// A new instruction.
    pub fn begin(&mut self) {
        self.image_is_new = false;
    }

    fn number(&self, index: u8) -> u8 {
        (self.top + index) % 8
    }

    fn set(&mut self, number: u8, contents: Contents) {
        self.registers[number as usize] = Register { contents, read: None };
        self.changed |= 1 << number;
        if contents == Contents::Unknown {
            self.image = None;
        }
    }

    /// st(index) becomes this value, or something that is not known.
    pub fn write(&mut self, index: u8, value: Option<Value>) {
        self.set(self.number(index), value.map_or(Contents::Unknown, Contents::Holds));
    }

    pub fn free(&mut self, index: u8) {
        self.set(self.number(index), Contents::Empty);
    }

    pub fn pop(&mut self) {
        self.free(0);
        self.turn(1);
    }

    pub fn turn(&mut self, by: u8) {
        self.top = (self.top + by) % 8;
    }

    pub fn is_empty(&self, index: u8) -> bool {
        self.registers[self.number(index) as usize].contents == Contents::Empty
    }

    /// All registers become empty.
    pub fn empty(&mut self) {
        (0..8).for_each(|number| self.set(number, Contents::Empty));
    }

    /// An instruction that is not described may have written all registers.
    pub fn forget(&mut self) {
        (0..8).for_each(|number| self.set(number, Contents::Unknown));
    }

    /// The top of the stack becomes the first register of the machine. Which one that was at the block's beginning is not known: it is taken to
    /// have been the top, which is where it is when the stack is empty. If it was not, what the block leaves behind is found in
    /// registers that hold something else, until an image tells, and counts for nothing.
    pub fn top_is_first(&mut self) {
        self.top = 0;
    }

    /// Which registers are empty, and which is on top, may have changed. What was not written keeps its shadow.
    pub fn environment_changes(&mut self) {
        for number in 0..8 {
            if self.registers[number as usize].contents != Contents::Untouched {
                self.set(number, Contents::Unknown);
            }
        }
        self.reread();
    }

    /// The registers hold what was saved, or what they held: their bits will tell.
    pub fn restore(&mut self) {
        (0..8).for_each(|number| self.set(number, Contents::Untouched));
        self.reread();
    }

    fn reread(&mut self) {
        self.registers.iter_mut().for_each(|register| register.read = None);
        self.image = None;
    }
}

/// The value in st(index).
pub fn read(builder: &mut Builder, index: u8) -> Value {
    let number = builder.x87.number(index);
    let register = builder.x87.registers[number as usize];
    let live = match (register.contents, register.read) {
        (Contents::Holds(value), _) | (_, Some(value)) => return value,
        (Contents::Empty, None) => return builder.constant(Type::F80, X87_INDEFINITE),
        (contents, None) => contents == Contents::Untouched,
    };
    let (image, top) = match builder.x87.image {
        Some(image) => image,
        None => {
            let turned = builder.x87.top;
            let image = builder.value(Type::Image, Op::Image { turned, slot: Slot::UNASSIGNED });
            *builder.x87.image.insert((image, turned))
        }
    };
    let value = builder.value(Type::F80, Op::St { image, index: (number + 8 - top) % 8, live });
    builder.x87.registers[number as usize].read = Some(value);
    value
}

/// An unknown value is pushed as such.
pub fn push(builder: &mut Builder, value: Option<Value>) {
    builder.x87.turn(7);
    let full = matches!(builder.x87.registers[builder.x87.top as usize].contents, Contents::Holds(_));
    let pushed = if full { Some(builder.constant(Type::F80, X87_INDEFINITE)) } else { value };
    builder.x87.write(0, pushed);
}

/// What the instruction leaves in st(index), as the CPU has it: bits without a shadow.
pub fn result(builder: &mut Builder, index: u8) -> Value {
    let image = image_after(builder);
    builder.value(Type::F80, Op::St { image, index, live: false })
}

/// The state after the present instruction, of which it must be known by now how it turns the stack.
fn image_after(builder: &mut Builder) -> Value {
    match builder.x87.image {
        Some((image, _)) if builder.x87.image_is_new => image,
        _ => {
            let turned = builder.x87.top;
            let image = builder.value_after(Type::Image, Op::Image { turned, slot: Slot::UNASSIGNED });
            builder.x87.image = Some((image, turned));
            builder.x87.image_is_new = true;
            image
        }
    }
}

/// Claims, to be checked, that registers hold what was said to have been put there.
pub fn check(builder: &mut Builder) {
    let known = |stack: &Stack, number: u8| match stack.registers[number as usize].contents {
        Contents::Holds(value) if stack.changed >> number & 1 == 1 => Some(value),
        _ => None,
    };
    let claims: Vec<(u8, Value)> = (0..8).filter_map(|number| Some((number, known(&builder.x87, number)?))).collect();
    if claims.is_empty() {
        return;
    }
    if builder.x87.until_check > 0 {
        builder.x87.until_check -= 1;
        return;
    }
    builder.x87.until_check = builder.x87.stride - 1;
    builder.x87.changed = 0;
    let image = image_after(builder);
    for (number, value) in claims {
        let index = (number + 8 - builder.x87.top) % 8;
        builder.effect(Op::CheckSt { value, image, index });
    }
}

/// Leaves behind what the registers hold for the blocks that follow.
pub fn finish(builder: &mut Builder) {
    for number in 0..8u8 {
        let place = Place::whole(Reg::X87(number));
        match builder.x87.registers[number as usize].contents {
            Contents::Untouched => {}
            // No shadow outlives a pop. So nothing is found in a register that was written while it was not known which one was on top.
            Contents::Empty | Contents::Unknown => {
                builder.effect(Op::Drop { place, bytes: Reg::X87(number).bytes() as u8 })
            }
            Contents::Holds(value) => builder.effect(Op::Put { place, value }),
        }
    }
    if builder.x87.top != 0 {
        builder.effect(Op::Turn { by: builder.x87.top });
    }
}
