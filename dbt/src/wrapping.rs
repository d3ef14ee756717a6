//! What the log says of wrapped library functions: a description, as of any block, of the moments before and after.

use crate::modules::Function;
use fpgrind_ir::{Addr, Block, GuestInstr, Op, Place, Reg, Slot, Type, Value, When, assign_slots};
use fpgrind_wrappers::{AllocatedAt, Change, Math, Results, Wrapper};

/// General registers that carry the first integer arguments (System V ABI, 3.2.3): rdi, rsi, rdx, rcx, r8, r9.
pub const ARGUMENTS: [u8; 6] = [7, 6, 2, 1, 8, 9];
const RAX: u8 = 0;
const RSP: u8 = 4;

/// The descriptions of a call of the function at `pc`: at its entry and at its return.
pub fn wrapper_blocks(pc: u64, function: Function) -> [Option<Block>; 2] {
    match function {
        Function::Wrapped(Wrapper::Math(math)) => [Some(math_enter(pc, math)), Some(math_leave(pc, math))],
        Function::Wrapped(Wrapper::Change(change)) => change_of_memory(pc, change),
        Function::Wrapped(Wrapper::Output(_)) | Function::Resolver(_) => [None, None],
    }
}

fn math_enter(pc: u64, math: Math) -> Block {
    let mut block = at(pc);
    let args: Vec<Value> = (0..math.arity() as u8).map(|n| live(&mut block, Place::vec(n, 0), math.ty)).collect();
    let stack = live(&mut block, Place::gpr(RSP), Type::B64);
    let (_, caller) = pointed_to(&mut block, stack, Type::B64);
    block.push(0, When::Before, None, Op::Enter { args, caller });
    assign_slots(block)
}

fn math_leave(pc: u64, math: Math) -> Block {
    let mut block = at(pc);
    match math.results {
        Results::Returned(operator) => {
            let place = Place::vec(0, 0);
            let result = block.push(0, When::Before, Some(math.ty), Op::Fresh { place, slot: Slot::UNASSIGNED });
            block.push(0, When::Before, None, Op::Leave { operator, result, place });
        }
        Results::Written(operators) => {
            for (number, operator) in (0..).zip(operators) {
                let pointer = live(&mut block, Place { reg: Reg::Out(number), offset: 0 }, Type::B64);
                let (addr, result) = pointed_to(&mut block, pointer, math.ty);
                block.push(0, When::Before, None, Op::LeaveInMemory { operator, result, addr });
            }
        }
    }
    assign_slots(block)
}

fn change_of_memory(pc: u64, change: Change) -> [Option<Block>; 2] {
    let mut block = at(pc);
    let argument = |block: &mut Block, n: u8| live(block, Place::gpr(ARGUMENTS[n as usize % 6]), Type::B64);
    match change {
        Change::Copy { dst, src, len } => {
            let [dst, src, len] = [dst, src, len].map(|n| argument(&mut block, n));
            block.push(0, When::Before, None, Op::Copy { dst, src, len, unit: 1 });
        }
        Change::Fill { dst, len, unit } => {
            let [dst, len] = [dst, len].map(|n| argument(&mut block, n));
            block.push(0, When::Before, None, Op::Forget { dst, len, unit });
        }
        Change::Allocate { old, count, size, place } => {
            return [None, Some(allocated(block, (size, count, old), place))];
        }
    }
    [Some(assign_slots(block)), None]
}

/// Memory has been handed out: so much, as these arguments said.
fn allocated(mut block: Block, (size, count, old): (u8, Option<u8>, Option<u8>), place: AllocatedAt) -> Block {
    let kept = |block: &mut Block, n: u8| live(block, Place { reg: Reg::Out(n), offset: 0 }, Type::B64);
    let at = match place {
        AllocatedAt::Returned => {
            let (place, slot) = (Place::gpr(RAX), Slot::UNASSIGNED);
            block.push(0, When::Before, Some(Type::B64), Op::Fresh { place, slot })
        }
        AllocatedAt::Written => {
            let pointer = kept(&mut block, 0);
            pointed_to(&mut block, pointer, Type::B64).1
        }
    };
    let size = kept(&mut block, size);
    let [count, old] = [count, old].map(|argument| argument.map(|n| kept(&mut block, n)));
    block.push(0, When::Before, None, Op::Allocate { at, size, count, old });
    assign_slots(block)
}

fn at(pc: u64) -> Block {
    Block { instrs: vec![GuestInstr { pc, len: 0 }], ..Block::default() }
}

fn pointed_to(block: &mut Block, pointer: Value, ty: Type) -> (Addr, Value) {
    let addr = Addr { base: Some(pointer), ..Addr::default() };
    (addr, block.push(0, When::Before, Some(ty), Op::Load { addr, slot: Slot::UNASSIGNED }))
}

fn live(block: &mut Block, place: Place, ty: Type) -> Value {
    block.push(0, When::Before, Some(ty), Op::Live { place, slot: Slot::UNASSIGNED })
}
