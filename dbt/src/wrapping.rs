//! What the log says of wrapped library functions: a description, as of any block, of the moments before and after.

use crate::modules::Function;
use fpgrind_ir::{Addr, Block, GuestInstr, Op, Place, Reg, Slot, Type, Value, When, assign_slots};
use fpgrind_wrappers::{AllocatedAt, Argument, At, Change, Kind, Math, Wrapper};

/// General registers that carry the first integer arguments (System V ABI, 3.2.3): rdi, rsi, rdx, rcx, r8, r9.
pub const ARGUMENTS: [u8; 6] = [7, 6, 2, 1, 8, 9];
const RAX: u8 = 0;
const RSP: u8 = 4;

/// The arguments of a call that the description of its return asks for, by the registers that have them: so many bytes of each.
pub fn kept_arguments(function: Function) -> Vec<(Place, u8)> {
    match function {
        Function::Wrapped(Wrapper::Math(math)) => math.pointers.clone(),
        Function::Wrapped(Wrapper::Change(Change::Allocate { .. })) => {
            ARGUMENTS[..3].iter().map(|register| (Place::gpr(*register), 8)).collect()
        }
        _ => Vec::new(),
    }
}

/// The descriptions of a call of the function at `pc`: at its entry and at its return.
pub fn wrapper_blocks(pc: u64, function: Function) -> [Option<Block>; 2] {
    match function {
        Function::Wrapped(Wrapper::Math(math)) if math.results.is_empty() => [None, None],
        Function::Wrapped(Wrapper::Math(math)) => [Some(math_enter(pc, math)), Some(math_leave(pc, math))],
        Function::Wrapped(Wrapper::Change(change)) => change_of_memory(pc, change),
        Function::Wrapped(Wrapper::Output(_)) | Function::Resolver(_) => [None, None],
    }
}

fn math_enter(pc: u64, math: &Math) -> Block {
    let mut block = at(pc);
    let stack = live(&mut block, Place::gpr(RSP), Type::B64);
    let floats = math.args.iter().filter_map(|arg| match *arg {
        Argument { kind: Kind::Float(ty), at: At::Register(place) } => Some((place, ty)),
        _ => None,
    });
    let mut pieces = Pieces::new(floats.collect(), |place, slot| Op::Live { place, slot });
    let args = math.args.iter().map(|arg| match (arg.kind, arg.at) {
        (Kind::Float(ty), At::Register(place)) => pieces.float(&mut block, place, ty),
        (Kind::Float(ty), At::Stack(offset)) => pointed_to(&mut block, stack, offset, ty).1,
        (Kind::Integer(bytes), At::Register(place)) => {
            let (bits, ty) = if bytes <= 4 { (Type::B32, Type::F64) } else { (Type::B64, Type::F80) };
            let value = live(&mut block, place, bits);
            block.push(0, When::Before, Some(ty), Op::FromInt { value, bytes })
        }
        (Kind::Integer(bytes), At::Stack(offset)) => {
            let value = pointed_to(&mut block, stack, offset, Type::B64).1;
            block.push(0, When::Before, Some(Type::F80), Op::FromInt { value, bytes })
        }
        (Kind::Float(ty), At::Zero) => block.push(0, When::Before, Some(ty), Op::Const { bits: 0 }),
        (Kind::Integer(_), At::Zero) => block.push(0, When::Before, Some(Type::F64), Op::Const { bits: 0 }),
    });
    let args = args.collect();
    let (_, caller) = pointed_to(&mut block, stack, 0, Type::B64);
    block.push(0, When::Before, None, Op::Enter { args, caller });
    assign_slots(block)
}

fn math_leave(pc: u64, math: &Math) -> Block {
    let mut block = at(pc);
    let floats = math.results.iter().filter(|result| matches!(result.at.reg, Reg::Vec(_)));
    let floats = floats.map(|result| (result.at, result.ty)).collect();
    let mut pieces = Pieces::new(floats, |place, slot| Op::Fresh { place, slot });
    let mut image = None;
    for outcome in &math.results {
        let (operator, of, place, ty) = (outcome.operator, outcome.of.clone(), outcome.at, outcome.ty);
        let result = match place.reg {
            Reg::Out(_) => {
                let pointer = live(&mut block, Place { offset: 0, ..place }, Type::B64);
                let (addr, result) = pointed_to(&mut block, pointer, place.offset, ty);
                block.push(0, When::Before, None, Op::LeaveInMemory { operator, of, result, addr });
                continue;
            }
            Reg::X87(index) => {
                let taken = Op::Image { turned: 0, slot: Slot::UNASSIGNED };
                let image = *image.get_or_insert_with(|| block.push(0, When::Before, Some(Type::Image), taken));
                block.push(0, When::Before, Some(ty), Op::St { image, index, live: false })
            }
            Reg::Vec(_) => pieces.float(&mut block, place, ty),
            _ => block.push(0, When::Before, Some(ty), Op::Fresh { place, slot: Slot::UNASSIGNED }),
        };
        block.push(0, When::Before, None, Op::Leave { operator, of, result, place });
    }
    assign_slots(block)
}

/// Floats in vector registers. Those that share a quarter of one are logged together.
struct Pieces {
    floats: Vec<(Place, Type)>,
    logged: fn(Place, Slot) -> Op,
    known: Vec<(Place, Value)>,
}

impl Pieces {
    fn new(floats: Vec<(Place, Type)>, logged: fn(Place, Slot) -> Op) -> Pieces {
        Pieces { floats, logged, known: Vec::new() }
    }

    fn float(&mut self, block: &mut Block, place: Place, ty: Type) -> Value {
        const QUARTER: u8 = 16;
        let start = Place { offset: place.offset / QUARTER * QUARTER, ..place };
        let beside = self.floats.iter().filter(|(other, _)| other.reg == place.reg);
        let ends = beside.map(|(other, ty)| usize::from(other.offset.wrapping_sub(start.offset)) + ty.bytes());
        let piece = match ends.filter(|end| *end <= QUARTER.into()).max().unwrap_or(0) {
            // It is alone there.
            end if start.offset == 0 && end == ty.bytes() => ty,
            end if start.offset == 0 && end <= 8 => Type::B64,
            _ => Type::B128,
        };
        let known = self.known.iter().find(|(known, _)| *known == start).map(|(_, value)| *value);
        let whole = known.unwrap_or_else(|| {
            let value = block.push(0, When::Before, Some(piece), (self.logged)(start, Slot::UNASSIGNED));
            self.known.push((start, value));
            value
        });
        if piece == ty {
            return whole;
        }
        let granule = (place.offset - start.offset) / fpgrind_ir::GRANULE as u8;
        block.push(0, When::Before, Some(ty), Op::Extract { from: whole, granule })
    }
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
            pointed_to(&mut block, pointer, 0, Type::B64).1
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

fn pointed_to(block: &mut Block, pointer: Value, offset: u8, ty: Type) -> (Addr, Value) {
    let addr = Addr { base: Some(pointer), disp: offset.into(), ..Addr::default() };
    (addr, block.push(0, When::Before, Some(ty), Op::Load { addr, slot: Slot::UNASSIGNED }))
}

fn live(block: &mut Block, place: Place, ty: Type) -> Value {
    block.push(0, When::Before, Some(ty), Op::Live { place, slot: Slot::UNASSIGNED })
}
