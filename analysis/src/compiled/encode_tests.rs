//! What is written is read again by a decoder.

use super::*;
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use proptest::prelude::*;

const INSTRUCTIONS: [(Avx, Code); 31] = [
    (ADD, Code::VEX_Vaddsd_xmm_xmm_xmmm64),
    (SUB, Code::VEX_Vsubsd_xmm_xmm_xmmm64),
    (MUL, Code::VEX_Vmulsd_xmm_xmm_xmmm64),
    (DIV, Code::VEX_Vdivsd_xmm_xmm_xmmm64),
    (MIN, Code::VEX_Vminsd_xmm_xmm_xmmm64),
    (SQRT, Code::VEX_Vsqrtsd_xmm_xmm_xmmm64),
    (FMADD132, Code::VEX_Vfmadd132sd_xmm_xmm_xmmm64),
    (FMADD213, Code::VEX_Vfmadd213sd_xmm_xmm_xmmm64),
    (FMADD231, Code::VEX_Vfmadd231sd_xmm_xmm_xmmm64),
    (FMSUB132, Code::VEX_Vfmsub132sd_xmm_xmm_xmmm64),
    (FNMADD132, Code::VEX_Vfnmadd132sd_xmm_xmm_xmmm64),
    (FMSUB213, Code::VEX_Vfmsub213sd_xmm_xmm_xmmm64),
    (FNMADD231, Code::VEX_Vfnmadd231sd_xmm_xmm_xmmm64),
    (ADD_SINGLE, Code::VEX_Vaddss_xmm_xmm_xmmm32),
    (SUB_SINGLE, Code::VEX_Vsubss_xmm_xmm_xmmm32),
    (MUL_SINGLE, Code::VEX_Vmulss_xmm_xmm_xmmm32),
    (DIV_SINGLE, Code::VEX_Vdivss_xmm_xmm_xmmm32),
    (SQRT_SINGLE, Code::VEX_Vsqrtss_xmm_xmm_xmmm32),
    (FMADD213_SINGLE, Code::VEX_Vfmadd213ss_xmm_xmm_xmmm32),
    (TO_DOUBLE, Code::VEX_Vcvtss2sd_xmm_xmm_xmmm32),
    (TO_SINGLE, Code::VEX_Vcvtsd2ss_xmm_xmm_xmmm64),
    (ADD_PAIRS, Code::VEX_Vaddpd_xmm_xmm_xmmm128),
    (SUB_PAIRS, Code::VEX_Vsubpd_xmm_xmm_xmmm128),
    (AND, Code::VEX_Vandpd_xmm_xmm_xmmm128),
    (OR, Code::VEX_Vorpd_xmm_xmm_xmmm128),
    (XOR, Code::VEX_Vxorpd_xmm_xmm_xmmm128),
    (FIRST, Code::VEX_Vunpcklpd_xmm_xmm_xmmm128),
    (SECOND, Code::VEX_Vunpckhpd_xmm_xmm_xmmm128),
    (LOAD, Code::VEX_Vmovsd_xmm_m64),
    (LOAD_PAIR, Code::VEX_Vmovupd_xmm_xmmm128),
    (STORE, Code::VEX_Vmovsd_m64_xmm),
];

fn written(write: impl FnOnce(&mut VecAssembler<X64Relocation>)) -> Vec<u8> {
    let mut asm = VecAssembler::new(0);
    write(&mut asm);
    asm.finalize().expect("has no labels")
}

/// The only instruction that these bytes are.
fn decoded(bytes: &[u8]) -> Instruction {
    let instruction = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
    assert_eq!(instruction.len(), bytes.len());
    instruction
}

fn xmm(number: u8) -> Register {
    Register::XMM0 + number as u32
}

fn is_at(instruction: &Instruction, at: At) -> bool {
    instruction.memory_base() == Register::RAX + at.register as u32
        && instruction.memory_index() == Register::None
        && instruction.memory_displacement64() as i64 == at.distance as i64
}

/// Distances of one byte and of four.
fn any_at() -> impl Strategy<Value = At> {
    let distance = prop_oneof![Just(0), -128..128, any::<i32>()];
    (0..16u8, distance).prop_map(|(register, distance)| At { register, distance })
}

proptest! {
    #[test]
    fn instructions_on_registers_mean_what_they_say(
        (instruction, code) in prop::sample::select(&INSTRUCTIONS[..26]),
        [to, a, b] in prop::array::uniform3(0..16u8),
    ) {
        let bytes = written(|asm| asm.avx(instruction, to, a, b));
        let read = decoded(&bytes);
        prop_assert_eq!(read.code(), code);
        let args = [read.op1_register(), read.op2_register()];
        let turned = COMMUTE.contains(&instruction) && args == [xmm(b), xmm(a)];
        prop_assert!(read.op0_register() == xmm(to) && (turned || args == [xmm(a), xmm(b)]), "{:?}", read);
        let can_be_short = instruction.map == 1 && (b < 8 || a < 8 && COMMUTE.contains(&instruction));
        let shortest = if can_be_short { 4 } else { 5 };
        prop_assert_eq!(bytes.len(), shortest);
    }

    #[test]
    fn instructions_on_memory_mean_what_they_say(
        (instruction, code) in prop::sample::select(&INSTRUCTIONS[..]),
        [to, a] in prop::array::uniform2(0..16u8),
        at in any_at(),
    ) {
        let has_second = ![LOAD, LOAD_PAIR, STORE].contains(&instruction);
        let read = decoded(&written(|asm| asm.avx(instruction, to, if has_second { a } else { 0 }, at)));
        prop_assert_eq!(read.code(), code);
        prop_assert!(is_at(&read, at), "{:?}", read);
        let kinds = (0..read.op_count()).map(|number| read.op_kind(number));
        let registers = (0..).zip(kinds).filter(|(_, kind)| *kind == OpKind::Register);
        let registers: Vec<Register> = registers.map(|(number, _)| read.op_register(number)).collect();
        prop_assert!(registers == if has_second { vec![xmm(to), xmm(a)] } else { vec![xmm(to)] }, "{:?}", read);
    }

    #[test]
    fn general_instructions_mean_what_they_say(to in 0..16u8, at in any_at()) {
        for (instruction, code, first) in [
            (FETCH, Code::Mov_r32_rm32, Register::EAX),
            (FETCH_WIDE, Code::Mov_r64_rm64, Register::RAX),
            (JOIN, Code::Or_r32_rm32, Register::EAX),
        ] {
            let read = decoded(&written(|asm| asm.general(instruction, to, at)));
            prop_assert!(read.code() == code && is_at(&read, at), "{:?}", read);
            prop_assert_eq!(read.op0_register(), first + to as u32);
        }
    }

    #[test]
    fn what_is_kept_together_lies_within_thirty_two_bytes(before in 0..100usize, bytes in 1..16usize) {
        let code = written(|asm| {
            asm.extend(std::iter::repeat_n(&0x90, before));
            pad(asm, bytes);
        });
        let start = code.len();
        prop_assert!(start / 32 == (start + bytes) / 32 && start - before < 32);
        // What it is padded with are instructions that do nothing.
        let mut padding = Decoder::new(64, &code[before..], DecoderOptions::NONE);
        prop_assert!(padding.iter().all(|nop| nop.mnemonic() == Mnemonic::Nop));
    }
}
