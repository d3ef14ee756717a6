//! A few instructions on the real CPU, and the same through the lifter and the analysis.

use crate::cpu::{Cpu, State};
use crate::operands::FPU_NEAREST;
use crate::record::{Evaluation, Moment};
use fpgrind_analysis::log::Event;
use fpgrind_analysis::{Analysis, Config, RealKind};
use fpgrind_frontend_x86::{Left, LiftOptions, lift};
use fpgrind_ir::{Block, GuestInstr, Op, Operator, Type, When, assign_slots, verify};
use iced_x86::Instruction;

/// The number of the block under test in the log.
const NUMBER: u32 = 2;

/// Instructions with their bytes, run one after the other.
pub struct Run {
    pub instrs: Vec<Instruction>,
    pub moments: Vec<Moment>,
}

impl Run {
    pub fn new(cpu: &mut Cpu, program: &[(Instruction, Vec<u8>)], state: State) -> Run {
        let moment =
            |cpu: &mut Cpu, state| Moment { state, memory: *cpu.memory(), memory_address: cpu.memory_address() };
        let mut moments = vec![moment(cpu, state)];
        for (_, bytes) in program {
            let before = moments[moments.len() - 1].state.clone();
            let after = cpu.run(bytes, &before);
            moments.push(moment(cpu, after));
        }
        Run { instrs: program.iter().map(|(instr, _)| *instr).collect(), moments }
    }

    pub fn before(&self) -> &Moment {
        &self.moments[0]
    }

    pub fn after(&self) -> &Moment {
        &self.moments[self.moments.len() - 1]
    }

    /// Was an empty x87 register read, or a full one pushed onto? A program that does so has a bug: what the frontend and the analysis make of
    /// it is not looked at.
    pub fn stack_fault(&self) -> bool {
        const STACK_FAULT: u16 = 1 << 6;
        self.moments.iter().skip(1).any(|moment| moment.state.fpu.status & STACK_FAULT != 0)
    }

    pub fn lift(&self, constant_memory: bool) -> Block {
        let constants = |address: u64, buffer: &mut [u8]| {
            if constant_memory {
                buffer.copy_from_slice(self.before().slice(address, buffer.len()));
            }
            constant_memory
        };
        lift(
            &self.instrs,
            &LiftOptions { check: true, constants: &constants, carriers: 0, loads: 0, entering: &Left::default() },
        )
    }

    pub fn evaluate(&self, block: &Block) -> Evaluation {
        Evaluation::new(NUMBER, block, &self.instrs, &self.moments)
    }

    pub fn analyse(&self, block: &Block, evaluation: &Evaluation) -> Analysis {
        let mut analysis =
            Analysis::new(Config { real: RealKind::Mpfr, precision: precision(block), ..Config::default() });
        analysis.event(Event::Process { process: 0, forked_from: None });
        analysis.event(Event::Thread { thread: 0, process: 0, cloned_from: None });
        let modes = set_modes(&self.before().state);
        let entered = Evaluation::new(1, &modes, &[], &self.moments).record;
        for (number, block, record) in [(1, &modes, &entered), (NUMBER, block, &evaluation.record)] {
            analysis.event(Event::Block { process: 0, number, block: block.clone() });
            analysis.event(Event::Records { thread: 0, bytes: record });
        }
        analysis
    }
}

/// What an instruction that is not run must at least give: a block that makes sense.
pub fn check_lifts(instr: &Instruction, what: &str) {
    let block = lift(
        std::slice::from_ref(instr),
        &LiftOptions { check: true, constants: &|_, _| false, carriers: 0, loads: 0, entering: &Left::default() },
    );
    assert_eq!(verify(&block).map_err(|error| error.to_string()), Ok(()), "{what}\n{block}");
}

/// Bits in which the results of a block's operations are exact, where that needs more than the usual ones. With less, a sum or
/// a product halfway between two floats hides to which side of it a tiny summand moves it.
fn precision(block: &Block) -> u32 {
    let bits_for = |operator: Operator, ty: Option<Type>| match (operator.traced().0, ty) {
        // From the square of the largest number down to the square of the smallest one.
        (Operator::Fma, Some(Type::F64)) => 4300,
        (Operator::Fma, Some(Type::F32)) => 600,
        (Operator::Add | Operator::Sub, Some(Type::F64)) => 2200,
        (Operator::Add | Operator::Sub, Some(Type::F32)) => 300,
        (Operator::Add | Operator::Sub, Some(Type::F80)) => 33_000,
        _ => 0,
    };
    let applied = block.stmts.iter().filter_map(|stmt| match stmt.op {
        Op::Apply { operator, .. } => Some(bits_for(operator, stmt.ty)),
        _ => None,
    });
    applied.max().unwrap_or(0).max(Config::default().precision)
}

/// A block that says which modes the next one is entered with.
fn set_modes(state: &State) -> Block {
    let mut block = Block { instrs: vec![GuestInstr { pc: 1, len: 1 }], ..Block::default() };
    let value = block.push(0, When::Before, Some(Type::B32), Op::Const { bits: state.mxcsr as u128 });
    block.push(0, When::Before, None, Op::SetMxcsr { value });
    if state.fpu.control != FPU_NEAREST {
        let value = block.push(0, When::Before, Some(Type::B16), Op::Const { bits: state.fpu.control as u128 });
        block.push(0, When::Before, None, Op::SetX87Control { value });
    }
    assign_slots(block)
}
