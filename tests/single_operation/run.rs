//! A few instructions on the real CPU, and the same through the lifter and the analysis.

use crate::cpu::{Cpu, State};
use crate::record::{self, Moment};
use fpgrind_analysis::log::Event;
use fpgrind_analysis::{Analysis, Config};
use fpgrind_frontend_x86::{LiftOptions, lift};
use fpgrind_ir::{Block, GuestInstr, Op, Operator, Stmt, Type, When, assign_slots};
use iced_x86::Instruction;

/// Bits in which the sum of any product of doubles and any double is exact: from 2^2048 down to 2^-2148. With less, a product
/// halfway between two doubles hides to which side of it a tiny summand moves it.
const EXACT_FMA: u32 = 4200;

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

    pub fn lift(&self, constant_memory: bool) -> Block {
        let constants = |address: u64, buffer: &mut [u8]| {
            let bytes = self.before().load(address).to_le_bytes();
            buffer.copy_from_slice(&bytes[..buffer.len()]);
            constant_memory
        };
        lift(&self.instrs, &LiftOptions { check: true, constants: &constants })
    }

    pub fn analyse(&self, block: &Block) -> Analysis {
        let fused = |stmt: &Stmt| matches!(stmt.op, Op::Apply { operator, .. } if operator.traced().0 == Operator::Fma);
        let mut config = Config::default();
        if block.stmts.iter().any(fused) {
            config.precision = EXACT_FMA;
        }
        let mut analysis = Analysis::new(config);
        analysis.event(Event::Process { process: 0, forked_from: None });
        analysis.event(Event::Thread { thread: 0, process: 0, cloned_from: None });
        let mxcsr = set_mxcsr(self.before().state.mxcsr);
        for (number, block) in [(1, &mxcsr), (2, block)] {
            analysis.event(Event::Block { process: 0, number, block: block.clone() });
            analysis.event(Event::Records { thread: 0, bytes: &record::write(number, block, &self.moments) });
        }
        analysis
    }
}

fn set_mxcsr(mxcsr: u32) -> Block {
    let mut block = Block { instrs: vec![GuestInstr { pc: 1, len: 1 }], ..Block::default() };
    let value = block.push(0, When::Before, Some(Type::B32), Op::Const { bits: mxcsr as u128 });
    block.push(0, When::Before, None, Op::SetMxcsr { value });
    assign_slots(block)
}
