//! What the log says of wrapped library functions: a description, as of any block, of the moments before and after.

use crate::modules::Function;
use fpgrind_ir::{Addr, Block, GuestInstr, Op, Place, Slot, Type, Value, When, assign_slots};
use fpgrind_wrappers::{Copy, Math, Wrapper};

/// General registers that carry the first integer arguments (System V ABI, 3.2.3): rdi, rsi, rdx, rcx, r8, r9.
const ARGUMENTS: [u8; 6] = [7, 6, 2, 1, 8, 9];
const RSP: u8 = 4;

/// The descriptions of a call of the function at `pc`: at its entry and at its return.
pub fn wrapper_blocks(pc: u64, function: Function) -> [Option<Block>; 2] {
    match function {
        Function::Wrapped(Wrapper::Math(math)) => [Some(math_enter(pc, math)), Some(math_leave(pc, math))],
        Function::Wrapped(Wrapper::Copy(copy)) => [Some(copy_enter(pc, copy)), None],
        Function::Wrapped(Wrapper::Output(_)) | Function::Resolver(_) => [None, None],
    }
}

fn math_enter(pc: u64, math: Math) -> Block {
    let mut block = at(pc);
    let args: Vec<Value> =
        (0..math.operator.arity() as u8).map(|n| live(&mut block, Place::vec(n, 0), math.ty)).collect();
    let stack = live(&mut block, Place::gpr(RSP), Type::B64);
    let top = Addr { base: Some(stack), ..Addr::default() };
    let caller = block.push(0, When::Before, Some(Type::B64), Op::Load { addr: top, slot: Slot::UNASSIGNED });
    block.push(0, When::Before, None, Op::Enter { operator: math.operator, args, caller });
    assign_slots(block)
}

fn math_leave(pc: u64, math: Math) -> Block {
    let mut block = at(pc);
    let place = Place::vec(0, 0);
    let result = block.push(0, When::Before, Some(math.ty), Op::Fresh { place, slot: Slot::UNASSIGNED });
    block.push(0, When::Before, None, Op::Leave { result, place });
    assign_slots(block)
}

fn copy_enter(pc: u64, copy: Copy) -> Block {
    let mut block = at(pc);
    let [dst, src, len] =
        [copy.dst, copy.src, copy.len].map(|n| live(&mut block, Place::gpr(ARGUMENTS[n as usize % 6]), Type::B64));
    block.push(0, When::Before, None, Op::Copy { dst, src, len });
    assign_slots(block)
}

fn at(pc: u64) -> Block {
    Block { instrs: vec![GuestInstr { pc, len: 0 }], ..Block::default() }
}

fn live(block: &mut Block, place: Place, ty: Type) -> Value {
    block.push(0, When::Before, Some(ty), Op::Live { place, slot: Slot::UNASSIGNED })
}
