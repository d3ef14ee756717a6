//! The harness judged by itself: every encoding of EVEX and x87 in every form is encoded as meant and runs, and the machine is
//! loaded and stored as it should be.

use super::cpu::{Cpu, State};
use super::encode::{instruction, is_decoded};
use super::features::lacking;
use super::forms::{Extra, Form, Masking, Shape, forms};
use super::masked;
use super::operands::{FPU_NEAREST, NEAREST, Random, is_x87, prepare};
use super::run::Run;
use iced_x86::{Code, EncodingKind, Instruction, Mnemonic, RoundingControl};

/// Encodes all forms of these encodings and runs each that the CPU has a few times.
fn run_all(codes: impl Iterator<Item = Code>) {
    let mut cpu = Cpu::new();
    let (mut encodings, mut count, mut runs, mut not_run) = (0, 0, 0, 0);
    for code in codes {
        let runs_here = lacking(code).is_empty();
        let mut random = Random::new(code as u64);
        let mut exists = false;
        for form in forms(code) {
            let (ip, memory) = (cpu.code_address(), cpu.memory_address());
            let Some(program) = instruction(code, form, form.registers(code), 0x55, ip, memory) else { continue };
            exists = true;
            count += 1;
            for _ in 0..if runs_here { 2 } else { 0 } {
                let state = prepare(&mut cpu, &[program.0], &mut random, NEAREST);
                let run = Run::new(&mut cpu, std::slice::from_ref(&program), state);
                check_masking(&run, form);
                runs += 1;
            }
        }
        assert!(exists, "{code:?} has no form");
        encodings += 1;
        not_run += !runs_here as usize;
    }
    println!("{encodings} encodings in {count} forms: {runs} runs; the CPU lacks {not_run} of the encodings");
}

/// Lanes of a vector that are masked out are as they were, or zero.
fn check_masking(run: &Run, form: Form) {
    let instr = &run.instrs[0];
    let register = instr.op0_register();
    let width = element_width(instr);
    if form.masking == Masking::None || !register.is_vector_register() || width == 0 {
        return;
    }
    let number = register.number();
    let mask = run.before().state.masks[form.mask() as usize];
    let [before, after] = [run.before(), run.after()]
        .map(|moment| moment.state.vectors[number].map(u128::to_le_bytes).as_flattened().to_vec());
    for lane in (0..register.size() / width).filter(|lane| mask >> lane & 1 == 0) {
        let bytes = lane * width..(lane + 1) * width;
        let kept = match form.masking {
            Masking::Zero => after[bytes].iter().all(|byte| *byte == 0),
            _ => after[bytes.clone()] == before[bytes],
        };
        assert!(kept, "{instr}: lane {lane} under mask {mask:#x}");
    }
}

/// Bytes of the destination's elements, of a few operations that show it by their names; 0 for others.
fn element_width(instr: &Instruction) -> usize {
    match instr.mnemonic() {
        Mnemonic::Vaddph | Mnemonic::Vmulph | Mnemonic::Vmovdqu16 => 2,
        Mnemonic::Vaddps | Mnemonic::Vmulps | Mnemonic::Vmovups | Mnemonic::Vpermt2ps | Mnemonic::Vshufps => 4,
        Mnemonic::Vaddpd | Mnemonic::Vmulpd | Mnemonic::Vmovupd | Mnemonic::Vcvtps2pd | Mnemonic::Vgatherdpd => 8,
        _ => 0,
    }
}

#[test]
fn every_form_of_evex_is_encoded_as_meant_and_runs() {
    let is_evex = |code: &Code| code.op_code().encoding() == EncodingKind::EVEX && is_decoded(*code);
    run_all(Code::values().filter(is_evex));
}

#[test]
fn every_form_of_x87_and_of_mask_instructions_is_encoded_as_meant_and_runs() {
    let is_mask = |code: Code| {
        let kinds = code.op_code().op_kinds();
        kinds.iter().any(|kind| format!("{kind:?}").starts_with('k')) && code.op_code().encoding() == EncodingKind::VEX
    };
    let wanted = |code: &Code| is_decoded(*code) && (is_mask(*code) || is_x87(*code));
    run_all(Code::values().filter(wanted));
}

fn vector_of<const N: usize>(values: [f32; N]) -> [u128; 4] {
    let mut quarters = [0; 4];
    for (lane, value) in values.into_iter().enumerate() {
        quarters[lane / 4] |= (value.to_bits() as u128) << (32 * (lane % 4));
    }
    quarters
}

fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
}

#[test]
fn masked_lanes_broadcasts_and_roundings_are_those_of_the_instruction() {
    if !has_avx512() {
        return;
    }
    let mut cpu = Cpu::new();
    let (ip, memory) = (cpu.code_address(), cpu.memory_address());
    let code = Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er;
    let form = Form { shape: Shape::Based, masking: Masking::Zero, extra: Extra::Broadcast };
    let program = instruction(code, form, [31, 30, 0, 0], 0, ip, memory).unwrap();
    let mut state = State::new();
    state.general[7] = memory;
    state.masks[form.mask() as usize] = 0b1010_0000_0000_0101;
    state.vectors[30] = vector_of(std::array::from_fn::<f32, 16, _>(|lane| lane as f32));
    cpu.memory()[64..68].copy_from_slice(&0.5f32.to_le_bytes());
    let run = Run::new(&mut cpu, std::slice::from_ref(&program), state.clone());
    let mut expected = [0.0; 16];
    for lane in [0, 2, 13, 15] {
        expected[lane] = lane as f32 + 0.5;
    }
    assert_eq!(run.after().state.vectors[31], vector_of(expected));
    let half = 0.5f32.to_bits() as u128;
    assert_eq!(masked::operand(&program.0, run.before(), 0), half | half << 64);
    assert_eq!(masked::operand(&program.0, run.before(), 16), 0);
    assert_eq!(masked::operand(&program.0, run.before(), 48), half << 32 | half << 96);

    for (control, expected) in [(RoundingControl::RoundUp, 1.0 + f32::EPSILON), (RoundingControl::RoundTowardZero, 1.0)]
    {
        let form = Form { shape: Shape::HighRegisters, masking: Masking::None, extra: Extra::Rounding(control) };
        let program = instruction(code, form, [20, 21, 22, 0], 0, ip, memory).unwrap();
        state.vectors[21] = vector_of([1.0; 16]);
        state.vectors[22] = vector_of([1e-30; 16]);
        let after = cpu.run(&program.1, &state);
        assert_eq!(after.vectors[20], vector_of([expected; 16]), "{control:?}");
    }
}

#[test]
fn the_x87_is_loaded_and_stored() {
    let mut cpu = Cpu::new();
    let (ip, memory) = (cpu.code_address(), cpu.memory_address());
    let one = 16383u128 << 64 | 1 << 63;
    let three = 16384u128 << 64 | 3 << 62;
    let mut state = State::new();
    state.fpu.set_top(6);
    state.fpu.tags = 1 << 6 | 1 << 7;
    state.fpu.registers[0] = one;
    state.fpu.registers[1] = three;
    state.fpu.control = FPU_NEAREST;
    let form = Form::plain(Shape::Registers);
    let divide = instruction(Code::Fdivrp_sti_st0, form, [1, 0, 0, 0], 0, ip, memory).unwrap();
    let third = cpu.run(&divide.1, &state);
    assert_eq!((third.fpu.top(), third.fpu.tags), (7, 1 << 7));
    assert_eq!(third.fpu.st(0), 16381 << 64 | 0xaaaa_aaaa_aaaa_aaab);
    assert_eq!(third.fpu.physical(7), third.fpu.st(0));
    // In 53 bits, upwards.
    state.fpu.control = FPU_NEAREST & !0xf00 | 2 << 8 | 2 << 10;
    assert_eq!(cpu.run(&divide.1, &state).fpu.st(0), 16381 << 64 | 0xaaaa_aaaa_aaaa_b000);
    let image = third.image();
    assert_eq!(image[..2], FPU_NEAREST.to_le_bytes());
    assert_eq!(image[32..42], third.fpu.st(0).to_le_bytes()[..10]);
}

#[test]
fn pushes_and_flags_are_the_instructions_own() {
    let mut cpu = Cpu::new();
    let (ip, memory) = (cpu.code_address(), cpu.memory_address());
    let form = Form::plain(Shape::Registers);
    let mut state = State::new();
    (state.general[4], state.general[2]) = (memory + 2048, 0x1234);
    let push = instruction(Code::Push_r64, form, [2, 0, 0, 0], 0, ip, memory).unwrap();
    let pushed = cpu.run(&push.1, &state);
    assert_eq!(pushed.general[4], memory + 2040);
    assert_eq!(cpu.memory()[2040..2042], [0x34, 0x12]);
    // cmove: the zero flag decides.
    let cmov = instruction(Code::Cmove_r64_rm64, form, [1, 2, 0, 0], 0, ip, memory).unwrap();
    assert_eq!(cpu.run(&cmov.1, &state).general[1], 0);
    state.flags = 1 << 6;
    assert_eq!(cpu.run(&cmov.1, &state).general[1], 0x1234);
}
