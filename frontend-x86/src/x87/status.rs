//! From a comparison to a decision, by way of the status word: `fcom; fnstsw ax; sahf; ja`, or `test ah, 0x45; je` in place of the
//! last two.
//!
//! A comparison has four outcomes, and for each of them it is known which bits AH then has, and which flags the instructions
//! leave that compilers use on it. A condition on those flags holds for some of the outcomes, and that is a [`Cond`].

use crate::builder::Builder;
use fpgrind_ir::{Cond, Op, Outcome, Value};
use iced_x86::{ConditionCode, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, RflagsBits};

const OUTCOMES: [Outcome; 4] = [Outcome::Greater, Outcome::Less, Outcome::Equal, Outcome::Unordered];

/// C0, C2 and C3 in the upper byte of the status word (Intel SDM, FCOM, table 3-21; volume 1, figure 8-4): the bits are those of CF, PF and ZF
/// in the byte that sahf takes. The others, which tell the top of the stack and more, are not known.
const CODES: [u8; 4] = [0, 0x01, 0x40, 0x45];
const KNOWN: u8 = 0x45;

#[derive(Clone, Default)]
pub struct Status {
    /// The comparison whose outcome the status word shows. The SDM has many instructions leave its bits undefined; CPUs leave them as
    /// they are.
    pub compared: Option<Value>,
    ah: Option<Byte>,
    flags: Option<(Value, [Flags; 4])>,
}

/// What AH is after each outcome of a comparison.
#[derive(Clone, Copy)]
struct Byte {
    compared: Value,
    bits: [u8; 4],
    /// The bits that are known.
    known: u8,
}

#[derive(Clone, Copy)]
struct Flags {
    carry: bool,
    parity: bool,
    zero: bool,
    sign: bool,
    overflow: bool,
}

/// The status word is now in AX.
pub fn told(builder: &mut Builder) {
    builder.x87.status.ah = builder.x87.status.compared.map(|compared| Byte { compared, bits: CODES, known: KNOWN });
}

/// Looks at an instruction of any kind, for what it does to AH or to flags that come from it, and says what it decides on. True if there
/// is nothing else to say of it.
pub fn follow(builder: &mut Builder, instr: &Instruction) -> bool {
    let Status { ah, flags, .. } = builder.x87.status;
    if ah.is_none() && flags.is_none() {
        return false;
    }
    let sets_flags = instr.rflags_modified() != RflagsBits::NONE;
    if !sets_flags {
        decide(builder, instr.condition_code());
    } else {
        builder.x87.status.flags = None;
    }
    if ah.is_some() && writes_ah(instr) {
        builder.x87.status.ah = None;
    }
    let Some(before) = ah else { return false };
    if instr.mnemonic() == Mnemonic::Sahf {
        let raw = before.bits == CODES;
        if raw {
            builder.flags = Some(before.compared);
        }
        return raw;
    }
    if let Some((after, flags)) = compute(instr, before) {
        builder.x87.status.ah = Some(after);
        builder.x87.status.flags = flags.map(|flags| (before.compared, flags));
    }
    false
}

/// A decision by this condition.
pub fn decide(builder: &mut Builder, code: ConditionCode) {
    let Some((compared, flags)) = builder.x87.status.flags else { return };
    let decided = flags.map(|flags| flags.satisfy(code));
    let same = |cond: &Cond| OUTCOMES.iter().zip(decided).all(|(outcome, holds)| cond.holds(*outcome) == holds);
    if let Some(cond) = Cond::ALL.into_iter().find(same) {
        builder.effect(Op::Branch { flags: compared, cond });
    }
}

/// What is in AH after an instruction on it and an immediate, and the flags, if they do not depend on bits that are not known.
fn compute(instr: &Instruction, ah: Byte) -> Option<(Byte, Option<[Flags; 4]>)> {
    if instr.op0_register() != Register::AH {
        return None;
    }
    // Before it compares, gcc may decrement: then "equal or greater" is below a bound.
    if instr.mnemonic() == Mnemonic::Dec {
        return (ah.known == 0xff).then(|| (Byte { bits: ah.bits.map(|bits| bits.wrapping_sub(1)), ..ah }, None));
    }
    if instr.op_count() != 2 || instr.op1_kind() != OpKind::Immediate8 {
        return None;
    }
    let immediate = instr.immediate8();
    let and = Byte { bits: ah.bits.map(|bits| bits & immediate), known: ah.known | !immediate, ..ah };
    let xor = Byte { bits: ah.bits.map(|bits| bits ^ (immediate & ah.known)), ..ah };
    let flags = |byte: Byte| (byte.known == 0xff).then(|| byte.bits.map(Flags::of));
    match instr.mnemonic() {
        Mnemonic::And => Some((and, flags(and))),
        Mnemonic::Test => Some((ah, flags(and))),
        Mnemonic::Xor => Some((xor, flags(xor))),
        Mnemonic::Cmp => {
            let flags = ah.bits.map(|bits| Flags {
                carry: bits < immediate,
                overflow: (bits as i8).checked_sub(immediate as i8).is_none(),
                ..Flags::of(bits.wrapping_sub(immediate))
            });
            Some((ah, (ah.known == 0xff).then_some(flags)))
        }
        _ => None,
    }
}

impl Flags {
    /// As logic leaves them.
    fn of(bits: u8) -> Flags {
        Flags {
            carry: false,
            parity: bits.count_ones().is_multiple_of(2),
            zero: bits == 0,
            sign: bits >= 0x80,
            overflow: false,
        }
    }

    fn satisfy(self, code: ConditionCode) -> bool {
        let less = self.sign != self.overflow;
        match code {
            ConditionCode::None => false,
            ConditionCode::o => self.overflow,
            ConditionCode::no => !self.overflow,
            ConditionCode::b => self.carry,
            ConditionCode::ae => !self.carry,
            ConditionCode::e => self.zero,
            ConditionCode::ne => !self.zero,
            ConditionCode::be => self.carry || self.zero,
            ConditionCode::a => !self.carry && !self.zero,
            ConditionCode::s => self.sign,
            ConditionCode::ns => !self.sign,
            ConditionCode::p => self.parity,
            ConditionCode::np => !self.parity,
            ConditionCode::l => less,
            ConditionCode::ge => !less,
            ConditionCode::le => less || self.zero,
            ConditionCode::g => !less && !self.zero,
        }
    }
}

/// The kernel returns its result in rax, which a system call's instruction itself does not write.
fn writes_ah(instr: &Instruction) -> bool {
    InstructionInfoFactory::new().info(instr).used_registers().iter().any(|used| {
        let written = matches!(
            used.access(),
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        );
        written && used.register() != Register::AL && used.register().full_register() == Register::RAX
    }) || matches!(instr.mnemonic(), Mnemonic::Syscall | Mnemonic::Sysenter | Mnemonic::Int)
}
