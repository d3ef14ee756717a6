//! Stores of vector and mask registers, and the operands of instructions under a mask.

use super::fields::{Field, What};
use super::record::{GPR64, Scratch};
use super::{Emitter, Interrupted};
use crate::asm::operand_of;
use crate::context::at;
use dynasmrt::{DynasmApi, dynasm};
use fpgrind_ir::Place;
use iced_x86::{Code, Instruction, MemoryOperand, Mnemonic, OpKind, Register};
use std::sync::LazyLock;

/// Quarters of a register, of 16 bytes, that are moved at once.
const XMM: usize = 16;
const YMM: usize = 32;
const ZMM: usize = 64;

fn mask(number: u8) -> Register {
    Register::K0 + number as u32
}

/// Register `number` with so many bytes.
fn vector(number: u8, bytes: usize) -> Register {
    let first = match bytes {
        ZMM => Register::ZMM0,
        YMM => Register::YMM0,
        _ => Register::XMM0,
    };
    first + number as u32
}

/// The instruction that writes so many bytes of a vector register, from `offset` on. Where there is a choice it is one that the CPU has
/// if it has the register: of AVX-512 only the foundation.
pub(super) fn store(number: u8, offset: u8, bytes: usize, to: MemoryOperand, vex: bool) -> Instruction {
    let upper = number >= 16;
    let (legacy, vex_code, evex) = match (bytes, offset) {
        (2, _) => (Code::Pextrw_r32m16_xmm_imm8, Code::VEX_Vpextrw_r32m16_xmm_imm8, Code::EVEX_Vpextrw_r32m16_xmm_imm8),
        (4, _) => (Code::Movss_xmmm32_xmm, Code::VEX_Vmovss_m32_xmm, Code::EVEX_Vmovss_m32_k1_xmm),
        (8, 0) => (Code::Movlps_m64_xmm, Code::VEX_Vmovlps_m64_xmm, Code::EVEX_Vmovlps_m64_xmm),
        (8, _) => (Code::Movhps_m64_xmm, Code::VEX_Vmovhps_m64_xmm, Code::EVEX_Vmovhps_m64_xmm),
        (XMM, 0) if !upper => (Code::Movups_xmmm128_xmm, Code::VEX_Vmovups_xmmm128_xmm, Code::INVALID),
        (XMM, 16) if !upper => return extract(Code::VEX_Vextractf128_xmmm128_ymm_imm8, vector(number, YMM), 1, to),
        (XMM, _) => {
            let quarter = Code::EVEX_Vextractf32x4_xmmm128_k1z_zmm_imm8;
            return extract(quarter, vector(number, ZMM), offset / 16, to);
        }
        (YMM, 0) if !upper => return plain(Code::VEX_Vmovups_ymmm256_ymm, vector(number, YMM), to),
        (YMM, _) => {
            return extract(Code::EVEX_Vextractf64x4_ymmm256_k1z_zmm_imm8, vector(number, ZMM), offset / 32, to);
        }
        _ => return plain(Code::EVEX_Vmovups_zmmm512_k1z_zmm, vector(number, ZMM), to),
    };
    let code = match (upper, vex) {
        (true, _) => evex,
        (false, true) => vex_code,
        (false, false) => legacy,
    };
    match bytes {
        2 => extract(code, vector(number, XMM), 0, to),
        _ => plain(code, vector(number, XMM), to),
    }
}

fn plain(code: Code, register: Register, to: MemoryOperand) -> Instruction {
    Instruction::with2(code, to, register).expect("a store has a register and memory")
}

fn extract(code: Code, register: Register, part: u8, to: MemoryOperand) -> Instruction {
    Instruction::with3(code, to, register, u32::from(part)).expect("an extraction has a register, memory and a number")
}

/// Without AVX512BW masks have sixteen bits.
static MASKS_HAVE_64_BITS: LazyLock<bool> = LazyLock::new(|| is_x86_feature_detected!("avx512bw"));

pub(super) fn mask_to_general(number: u8, general: u8) -> Instruction {
    let (code, general) = match *MASKS_HAVE_64_BITS {
        true => (Code::VEX_Kmovq_r64_kr, GPR64[general as usize]),
        false => (Code::VEX_Kmovw_r32_kr, GPR64[general as usize].full_register32()),
    };
    Instruction::with2(code, general, mask(number)).expect("a mask fits a general register")
}

fn mask_from_general(number: u8, general: u8) -> Instruction {
    let (code, general) = match *MASKS_HAVE_64_BITS {
        true => (Code::VEX_Kmovq_kr_r64, GPR64[general as usize]),
        false => (Code::VEX_Kmovw_kr_r32, GPR64[general as usize].full_register32()),
    };
    Instruction::with2(code, mask(number), general).expect("a general register fits a mask")
}

impl Emitter {
    /// So many bytes of a vector register go into the context.
    pub(super) fn store_vector(&mut self, number: u8, bytes: u8, at: i32) {
        let to = MemoryOperand::new(Register::None, Register::None, 1, at as i64, 8, false, Register::GS);
        self.asm.encode(&store(number, 0, bytes.into(), to, bytes as usize > XMM));
    }

    /// The memory operand of the instruction just executed, as it saw it. It is loaded under the instruction's own mask, so nothing
    /// is read that the instruction has not read, into a vector register that the instruction does not name.
    pub(super) fn log_operand(&mut self, fields: &[Field], scratch: Scratch, instr: &Instruction) {
        let Some(spare) = spare_vector(instr) else { return };
        let context =
            |at: i32| MemoryOperand::new(Register::None, Register::None, 1, at as i64, 8, false, Register::GS);
        let whole = vector(spare, ZMM);
        self.mark(Interrupted::Between);
        self.asm.encode(&plain(Code::EVEX_Vmovups_zmmm512_k1z_zmm, whole, context(at::VECTOR)));
        let load = Masked::of(instr);
        match load.few {
            Some(lanes) => self.under_fewer_lanes(lanes, scratch, instr, |mask| load.to(spare, mask, instr)),
            None => self.asm.encode(&load.to(spare, instr.op_mask(), instr)),
        }
        for field in fields {
            if let What::Place(Place { offset, .. }) = field.what {
                self.asm.encode(&store(spare, offset, field.bytes, scratch.slot(field.slot), true));
            }
        }
        self.asm.emit(Instruction::with2(Code::EVEX_Vmovups_zmm_k1z_zmmm512, whole, context(at::VECTOR)));
    }

    /// An operand shorter than any vector register has fewer lanes than a load would look at, and the mask may have bits for more.
    fn under_fewer_lanes(
        &mut self,
        lanes: u32,
        scratch: Scratch,
        instr: &Instruction,
        load: impl FnOnce(Register) -> Instruction,
    ) {
        let value = scratch.value;
        let used = |number: u8| {
            instr.op_mask() == mask(number) || (0..instr.op_count()).any(|op| instr.op_register(op) == mask(number))
        };
        let Some(spare) = (1..8).find(|number| !used(*number)) else { return };
        let shift = |code, from| Instruction::with3(code, mask(spare), from, 16 - lanes);
        self.asm.encode(&mask_to_general(spare, value));
        dynasm!(self.asm.ops; .arch x64; gs mov [at::spill(2)], Rq(value));
        self.asm.emit(shift(Code::VEX_Kshiftlw_kr_kr_imm8, instr.op_mask()));
        self.asm.emit(shift(Code::VEX_Kshiftrw_kr_kr_imm8, mask(spare)));
        self.asm.encode(&load(mask(spare)));
        dynasm!(self.asm.ops; .arch x64; gs mov Rq(value), [at::spill(2)]);
        self.asm.encode(&mask_from_general(spare, value));
    }
}

/// A vector register that the instruction does not name, of those that code in SSE cannot see: writing one leaves the lower ones'
/// upper halves as clean as they are. (Some instructions name four registers by the first.)
fn spare_vector(instr: &Instruction) -> Option<u8> {
    let group = |register: Register| register.is_vector_register().then(|| register.number() as u8 / 4);
    let used = |number: u8| {
        let operands = (0..instr.op_count()).filter(|op| instr.op_kind(*op) == OpKind::Register);
        operands.map(|op| instr.op_register(op)).chain([instr.memory_index()]).any(|r| group(r) == Some(number / 4))
    };
    (16..32).find(|number| !used(*number))
}

/// The load that sees an instruction's memory operand as the instruction does.
struct Masked {
    code: Code,
    bytes: usize,
    /// The operand has only so many lanes.
    few: Option<u32>,
}

impl Masked {
    fn of(instr: &Instruction) -> Masked {
        let size = instr.memory_size();
        let element = match instr.mnemonic() {
            // One lane of two halves.
            Mnemonic::Vfmaddcsh | Mnemonic::Vfcmaddcsh | Mnemonic::Vfmulcsh | Mnemonic::Vfcmulcsh => 4,
            _ => size.element_size(),
        };
        let only_moves = matches!(
            instr.mnemonic(),
            Mnemonic::Vbroadcastss
                | Mnemonic::Vbroadcastsd
                | Mnemonic::Vbroadcastf32x2
                | Mnemonic::Vbroadcastf32x4
                | Mnemonic::Vbroadcastf32x8
                | Mnemonic::Vbroadcastf64x2
                | Mnemonic::Vbroadcastf64x4
                | Mnemonic::Vbroadcasti32x2
                | Mnemonic::Vbroadcasti32x4
                | Mnemonic::Vbroadcasti32x8
                | Mnemonic::Vbroadcasti64x2
                | Mnemonic::Vbroadcasti64x4
                | Mnemonic::Vpbroadcastw
                | Mnemonic::Vpbroadcastd
                | Mnemonic::Vpbroadcastq
                | Mnemonic::Vexpandps
                | Mnemonic::Vexpandpd
                | Mnemonic::Vpexpandw
                | Mnemonic::Vpexpandd
                | Mnemonic::Vpexpandq
        );
        if only_moves {
            // It is its own load: the operand is what it makes of it.
            return Masked { code: instr.code(), bytes: instr.op0_register().size(), few: None };
        }
        let total = if size.is_broadcast() { broadcast_bytes(instr) } else { size.size() };
        let masked = instr.op_mask() != Register::None;
        if !size.is_broadcast() && (total == element || total < XMM && !masked) {
            let code = match total {
                2 => Code::EVEX_Vmovsh_xmm_k1z_m16,
                4 => Code::EVEX_Vmovss_xmm_k1z_m32,
                _ => Code::EVEX_Vmovsd_xmm_k1z_m64,
            };
            return Masked { code, bytes: XMM, few: None };
        }
        let few = (total < XMM && masked).then_some((total / element) as u32);
        let bytes = total.max(XMM);
        let code = if size.is_broadcast() { broadcast(element, bytes) } else { load(element, bytes) };
        Masked { code, bytes, few }
    }

    fn to(&self, number: u8, mask: Register, instr: &Instruction) -> Instruction {
        let to = vector(number, self.bytes);
        let mut load =
            Instruction::with2(self.code, to, operand_of(instr, 0)).expect("a load has a register and memory");
        load.set_op_mask(mask);
        load.set_zeroing_masking(mask != Register::None && mask != Register::K0);
        load
    }
}

/// The bytes that an embedded broadcast fills; iced tells them by name: `Broadcast512_Float32`.
fn broadcast_bytes(instr: &Instruction) -> usize {
    let name = format!("{:?}", instr.memory_size());
    let digits = name.trim_start_matches("Broadcast").split('_').next().and_then(|bits| bits.parse::<usize>().ok());
    digits.map_or(ZMM, |bits| bits / 8)
}

fn load(element: usize, bytes: usize) -> Code {
    match (element, bytes) {
        (1, XMM) => Code::EVEX_Vmovdqu8_xmm_k1z_xmmm128,
        (1, YMM) => Code::EVEX_Vmovdqu8_ymm_k1z_ymmm256,
        (1, _) => Code::EVEX_Vmovdqu8_zmm_k1z_zmmm512,
        (2, XMM) => Code::EVEX_Vmovdqu16_xmm_k1z_xmmm128,
        (2, YMM) => Code::EVEX_Vmovdqu16_ymm_k1z_ymmm256,
        (2, _) => Code::EVEX_Vmovdqu16_zmm_k1z_zmmm512,
        (4, XMM) => Code::EVEX_Vmovdqu32_xmm_k1z_xmmm128,
        (4, YMM) => Code::EVEX_Vmovdqu32_ymm_k1z_ymmm256,
        (4, _) => Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512,
        (_, XMM) => Code::EVEX_Vmovdqu64_xmm_k1z_xmmm128,
        (_, YMM) => Code::EVEX_Vmovdqu64_ymm_k1z_ymmm256,
        _ => Code::EVEX_Vmovdqu64_zmm_k1z_zmmm512,
    }
}

fn broadcast(element: usize, bytes: usize) -> Code {
    match (element, bytes) {
        (2, XMM) => Code::EVEX_Vpbroadcastw_xmm_k1z_xmmm16,
        (2, YMM) => Code::EVEX_Vpbroadcastw_ymm_k1z_xmmm16,
        (2, _) => Code::EVEX_Vpbroadcastw_zmm_k1z_xmmm16,
        (4, XMM) => Code::EVEX_Vpbroadcastd_xmm_k1z_xmmm32,
        (4, YMM) => Code::EVEX_Vpbroadcastd_ymm_k1z_xmmm32,
        (4, _) => Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
        (_, XMM) => Code::EVEX_Vpbroadcastq_xmm_k1z_xmmm64,
        (_, YMM) => Code::EVEX_Vpbroadcastq_ymm_k1z_xmmm64,
        _ => Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
    }
}
