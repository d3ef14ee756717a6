//! What the x87's instructions do, as data: one line a mnemonic. Which operands an instruction has (memory of which type, st0 and
//! st(i) in which order) is seen in the decoded instruction.

use fpgrind_ir::{Operator, Rounding};
use iced_x86::{ConditionCode, Mnemonic};
use std::sync::LazyLock;

#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub mnemonic: Mnemonic,
    pub operation: Operation,
    /// How often the stack is popped when all else is done.
    pub pops: u8,
}

/// The *source* is the last operand, and the *destination* the first; where the instruction names only memory, or nothing, the
/// other is st0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operation {
    /// The destination becomes the operator on destination and source.
    Arithmetic(Operator),
    /// The destination becomes the operator on source and destination.
    Reversed(Operator),
    /// st0 becomes the operator on st0.
    Unary(Operator),
    /// st0 becomes the operator on st0 and st1.
    WithNext(Operator),
    /// st1 becomes the operator on st1 and st0.
    IntoNext(Operator),
    /// The first operator on st0 takes its place, and then the second, or 1, is pushed. Nothing of it happens if st0 is out of range.
    Pair(Operator, Option<Operator>),
    /// st0 becomes its exponent, and then its significand is pushed.
    Extract,
    /// The source is pushed.
    Load,
    /// One of these is pushed, as the rounding mode says: nearest, down, up, truncate.
    Constant([u128; 4]),
    /// Something that is not followed is pushed.
    Opaque,
    /// The operand becomes st0.
    Store,
    /// The operand, a register, becomes something that is not followed.
    Overwrite,
    /// The operand, in memory, becomes st0 as an integer.
    ToInt(Rounding),
    Exchange,
    /// st0 becomes the source if the condition holds.
    MoveIf(ConditionCode),
    /// Leaves the outcome of comparing st0 with the source in the status word.
    Compare,
    /// The same with st1, or with zero.
    CompareNext,
    CompareZero,
    /// The same as `Compare` in the flags.
    CompareToFlags,
    /// Leaves something else in the status word.
    Examine,
    /// The status word goes to ax or to memory.
    TellStatus,
    /// The top of the stack turns by so many registers, which keep what they hold.
    Turn(u8),
    /// The register becomes empty.
    Free,
    /// The control word is loaded.
    SetControl,
    /// All registers become empty, the control word and the top of the stack what they are at first.
    Init,
    /// The control word, the top and which registers are empty are loaded; what the registers hold stays.
    LoadEnvironment,
    /// All is loaded.
    LoadState,
    /// All is loaded, and vector registers besides, or else only those: another table has the instruction too.
    Restore,
    /// All registers become empty.
    Empty,
    /// Nothing that is followed.
    Nothing,
}

use ConditionCode::{a, ae, b, be, e, ne, np, p};
use Mnemonic::*;
use Operation::*;
use Operator::{
    Abs, Add, Atan2, Cos, Div, Exp2m1, Fmod, Mul, Nearbyint, Neg, Remainder, Sin, Sqrt, Sub, Tan, Yl2x, Yl2xp1,
};

const TABLE: &[Entry] = &[
    entry(Fadd, Arithmetic(Add)),
    entry(Faddp, Arithmetic(Add)).popping(1),
    entry(Fiadd, Arithmetic(Add)),
    entry(Fsub, Arithmetic(Sub)),
    entry(Fsubp, Arithmetic(Sub)).popping(1),
    entry(Fisub, Arithmetic(Sub)),
    entry(Fsubr, Reversed(Sub)),
    entry(Fsubrp, Reversed(Sub)).popping(1),
    entry(Fisubr, Reversed(Sub)),
    entry(Mnemonic::Fmul, Arithmetic(Mul)),
    entry(Fmulp, Arithmetic(Mul)).popping(1),
    entry(Fimul, Arithmetic(Mul)),
    entry(Fdiv, Arithmetic(Div)),
    entry(Fdivp, Arithmetic(Div)).popping(1),
    entry(Fidiv, Arithmetic(Div)),
    entry(Fdivr, Reversed(Div)),
    entry(Fdivrp, Reversed(Div)).popping(1),
    entry(Fidivr, Reversed(Div)),
    entry(Fchs, Unary(Neg)),
    entry(Fabs, Unary(Abs)),
    entry(Fsqrt, Unary(Sqrt)),
    entry(Frndint, Unary(Nearbyint)),
    // What they do out of range (fsin and fcos leave st0 alone), and where fprem stops short, shows when it is computed again.
    entry(Fsin, Unary(Sin)),
    entry(Fcos, Unary(Cos)),
    entry(F2xm1, Unary(Exp2m1)),
    entry(Fscale, WithNext(Operator::Fscale)),
    entry(Fprem, WithNext(Fmod)),
    entry(Fprem1, WithNext(Remainder)),
    entry(Fyl2x, IntoNext(Yl2x)).popping(1),
    entry(Fyl2xp1, IntoNext(Yl2xp1)).popping(1),
    entry(Fpatan, IntoNext(Atan2)).popping(1),
    entry(Fptan, Pair(Tan, None)),
    entry(Fsincos, Pair(Sin, Some(Cos))),
    entry(Fxtract, Extract),
    entry(Fld, Load),
    entry(Fild, Load),
    entry(Fbld, Opaque),
    // As a CPU of Intel has them. Precision control does not matter (Intel SDM, FLD1 and so on).
    entry(Fldz, Constant(exact(0))),
    entry(Fld1, Constant(exact(0x3fff_8000000000000000))),
    entry(Fldpi, Constant(above(0x4000_c90fdaa22168c235))),
    entry(Fldl2e, Constant(above(0x3fff_b8aa3b295c17f0bc))),
    entry(Fldl2t, Constant(below(0x4000_d49a784bcd1b8afe))),
    entry(Fldlg2, Constant(above(0x3ffd_9a209a84fbcff799))),
    entry(Fldln2, Constant(above(0x3ffe_b17217f7d1cf79ac))),
    entry(Fst, Store),
    entry(Fstp, Store).popping(1),
    // Undocumented: copies whatever lies in st0, be it empty.
    entry(Fstpnce, Overwrite).popping(1),
    entry(Fist, ToInt(Rounding::Current)),
    entry(Fistp, ToInt(Rounding::Current)).popping(1),
    entry(Fisttp, ToInt(Rounding::Truncate)).popping(1),
    entry(Fbstp, Nothing).popping(1),
    entry(Fxch, Exchange),
    entry(Fcmovb, MoveIf(b)),
    entry(Fcmove, MoveIf(e)),
    entry(Fcmovbe, MoveIf(be)),
    entry(Fcmovu, MoveIf(p)),
    entry(Fcmovnb, MoveIf(ae)),
    entry(Fcmovne, MoveIf(ne)),
    entry(Fcmovnbe, MoveIf(a)),
    entry(Fcmovnu, MoveIf(np)),
    entry(Fcom, Compare),
    entry(Fcomp, Compare).popping(1),
    entry(Fcompp, CompareNext).popping(2),
    entry(Fucom, Compare),
    entry(Fucomp, Compare).popping(1),
    entry(Fucompp, CompareNext).popping(2),
    entry(Ficom, Compare),
    entry(Ficomp, Compare).popping(1),
    entry(Ftst, CompareZero),
    entry(Fcomi, CompareToFlags),
    entry(Fcomip, CompareToFlags).popping(1),
    entry(Fucomi, CompareToFlags),
    entry(Fucomip, CompareToFlags).popping(1),
    entry(Fxam, Examine),
    entry(Fstsw, TellStatus),
    entry(Fnstsw, TellStatus),
    entry(Fincstp, Turn(1)),
    entry(Fdecstp, Turn(7)),
    entry(Ffree, Free),
    entry(Ffreep, Free).popping(1),
    entry(Fldcw, SetControl),
    entry(Finit, Init),
    entry(Fninit, Init),
    entry(Fsave, Init),
    entry(Fnsave, Init),
    entry(Fldenv, LoadEnvironment),
    entry(Frstor, LoadState),
    entry(Fxrstor, Restore),
    entry(Fxrstor64, Restore),
    entry(Xrstor, Restore),
    entry(Xrstor64, Restore),
    entry(Xrstors, Restore),
    entry(Xrstors64, Restore),
    entry(Emms, Empty),
    entry(Femms, Empty),
    entry(Fnop, Nothing),
    entry(Fstcw, Nothing),
    entry(Fnstcw, Nothing),
    entry(Fstenv, Nothing),
    entry(Fnstenv, Nothing),
    entry(Fclex, Nothing),
    entry(Fnclex, Nothing),
    // Of the 8087 and the 287; they do nothing any more.
    entry(Feni, Nothing),
    entry(Fneni, Nothing),
    entry(Fdisi, Nothing),
    entry(Fndisi, Nothing),
    entry(Fsetpm, Nothing),
    entry(Fnsetpm, Nothing),
    entry(Frstpm, Nothing),
];

const fn entry(mnemonic: Mnemonic, operation: Operation) -> Entry {
    Entry { mnemonic, operation, pops: 0 }
}

impl Entry {
    const fn popping(self, pops: u8) -> Entry {
        Entry { pops, ..self }
    }
}

/// A constant that is the same however it is rounded.
const fn exact(bits: u128) -> [u128; 4] {
    [bits; 4]
}

/// A constant whose nearest float lies above it.
const fn above(nearest: u128) -> [u128; 4] {
    [nearest, nearest - 1, nearest, nearest - 1]
}

/// A constant whose nearest float lies below it.
const fn below(nearest: u128) -> [u128; 4] {
    [nearest, nearest, nearest + 1, nearest]
}

/// The entry of an instruction, if it is one of the x87's, or changes the x87's state.
pub fn lookup(mnemonic: Mnemonic) -> Option<&'static Entry> {
    static BY_MNEMONIC: LazyLock<Vec<Option<&'static Entry>>> = LazyLock::new(|| {
        let mut by_mnemonic = vec![None; Mnemonic::values().len()];
        for entry in TABLE {
            by_mnemonic[entry.mnemonic as usize] = Some(entry);
        }
        by_mnemonic
    });
    *BY_MNEMONIC.get(mnemonic as usize)?
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Code, CpuidFeature, Instruction};

    #[test]
    fn no_mnemonic_has_two_entries() {
        let mut mnemonics: Vec<usize> = TABLE.iter().map(|entry| entry.mnemonic as usize).collect();
        mnemonics.sort_unstable();
        mnemonics.dedup();
        assert_eq!(mnemonics.len(), TABLE.len());
    }

    #[test]
    fn every_x87_instruction_of_intel_has_an_entry() {
        let of_x87 = |code: &Code| {
            let features = code.cpuid_features();
            [CpuidFeature::FPU, CpuidFeature::FPU287, CpuidFeature::FPU387].iter().any(|of| features.contains(of))
        };
        let missing: Vec<Code> =
            Code::values().filter(of_x87).filter(|code| lookup(code.mnemonic()).is_none()).collect();
        assert_eq!(missing, []);
    }

    /// The pops and pushes of an entry are those that the decoder's tables know of.
    #[test]
    fn the_stack_turns_as_the_decoder_says() {
        for code in Code::values() {
            let Some(entry) = lookup(code.mnemonic()) else { continue };
            let mut instr = Instruction::default();
            instr.set_code(code);
            let info = instr.fpu_stack_increment_info();
            let pushed = match entry.operation {
                Load | Constant(_) | Opaque | Pair(..) | Extract => -1,
                Turn(1) => 1,
                Turn(7) => -1,
                Init | LoadEnvironment | LoadState | Restore => continue,
                _ => 0,
            };
            assert_eq!(pushed + entry.pops as i32, info.increment(), "{code:?}");
        }
    }
}
