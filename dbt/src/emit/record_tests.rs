//! Emitted code is run, right here: blocks written by hand, and what their records hold.

use super::fields::{Field, What, coalesce};
use super::{Emitter, Record};
use crate::arena::Arena;
use crate::context::{Mode, ThreadMemory};
use crate::decode::{Decoded, Writes, decode};
use crate::stubs::Stubs;
use dynasmrt::DynasmApi;
use fpgrind_ir::{Addr, Block, GuestInstr, Op, Place, Reg, Slot, Type, Value, When, assign_slots};
use iced_x86::{
    Code, Decoder, DecoderOptions, Encoder, EncodingKind, Instruction, InstructionInfoFactory, MemoryOperand, Register,
};

const PAGE: usize = 4096;
const ARCH_SET_GS: i32 = 0x1001;

/// Instructions that find `input` in rdi and `output` in rsi.
struct Guest {
    decoded: Decoded,
    block: Block,
}

impl Guest {
    fn new(instrs: &[Instruction]) -> Guest {
        let mut encoder = Encoder::new(64);
        for instr in instrs {
            encoder.encode(instr, 0x1000).expect("an instruction of the test");
        }
        let bytes = encoder.take_buffer();
        let decoded = decode(0x1000, &bytes, Mode::Logged, Writes::AreNothing, &mut InstructionInfoFactory::new());
        assert_eq!(decoded.instrs.len(), instrs.len());
        let instrs = decoded.instrs.iter().map(|instr| GuestInstr { pc: instr.ip(), len: instr.len() as u8 }).collect();
        Guest { decoded, block: Block { instrs, ..Block::default() } }
    }

    /// Logs what a place holds after an instruction.
    fn log(&mut self, instr: u16, place: Place, ty: Type) {
        self.block.push(instr, When::After, Some(ty), Op::Fresh { place, slot: Slot::UNASSIGNED });
    }

    /// Logs what memory holds before an instruction.
    fn load(&mut self, instr: u16, addr: Addr, ty: Type) {
        self.block.push(instr, When::Before, Some(ty), Op::Load { addr, slot: Slot::UNASSIGNED });
    }

    fn live(&mut self, instr: u16, gpr: u8) -> Value {
        let op = Op::Live { place: Place::gpr(gpr), slot: Slot::UNASSIGNED };
        self.block.push(instr, When::Before, Some(Type::B64), op)
    }

    /// The code, and with an effect that keeps the record.
    fn emit(&mut self, start: u64) -> Vec<u8> {
        let last = self.block.instrs.len() as u16 - 1;
        let zero = self.block.push(last, When::Before, Some(Type::B64), Op::Const { bits: 0 });
        self.block.push(last, When::Before, None, Op::Put { place: Place::gpr(0), value: zero });
        self.block = assign_slots(std::mem::take(&mut self.block));
        let mut emitter = Emitter::new(start, Stubs::default(), 0, true);
        emitter.body(&self.decoded, Record::new(vec![self.block.clone()], |_| 7).as_ref());
        emitter.asm.ops.push(0xc3);
        emitter.finish_cold();
        emitter.asm.finish()
    }

    /// Runs it; what is logged, in the order of the statements.
    fn run(mut self, input: *const u8, output: *mut u8) -> Vec<Vec<u8>> {
        let memory = ThreadMemory::new(&Arena::new().unwrap()).unwrap();
        // SAFETY: the code is the test's own; it is put into fresh memory, is called as a function and keeps what one must keep. GS is
        // not used by anything else in this thread.
        unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_32BIT;
            let pages = libc::mmap(std::ptr::null_mut(), 4 * PAGE, protection, flags, -1, 0);
            assert_ne!(pages, libc::MAP_FAILED);
            let code = self.emit(pages as u64);
            std::ptr::copy_nonoverlapping(code.as_ptr(), pages.cast(), code.len());
            libc::syscall(libc::SYS_arch_prctl, ARCH_SET_GS, memory.context_pointer());
            let function: extern "C" fn(*const u8, *mut u8) = std::mem::transmute(pages);
            function(input, output);
            libc::munmap(pages, 4 * PAGE);
        }
        let mut record = Vec::new();
        memory.ring.take_rest(&mut record);
        assert_eq!(record.len(), self.block.record as usize);
        let logged = self.block.stmts.iter().filter_map(|stmt| Field::of(&self.block, stmt));
        logged.map(|field| record[field.slot as usize..][..field.bytes].to_vec()).collect()
    }
}

fn at(base: Register, displacement: i64) -> MemoryOperand {
    MemoryOperand::with_base_displ(base, displacement)
}

fn with2(code: Code, register: Register, memory: MemoryOperand) -> Instruction {
    Instruction::with2(code, register, memory).unwrap()
}

fn with1(code: Code, memory: MemoryOperand) -> Instruction {
    Instruction::with1(code, memory).unwrap()
}

fn counted(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| (n as u8).wrapping_mul(37).wrapping_add(1)).collect()
}

fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl")
}

const PLACES: [(u8, Type); 8] = [
    (0, Type::B16),
    (0, Type::F32),
    (0, Type::F64),
    (8, Type::F64),
    (0, Type::B128),
    (16, Type::B128),
    (32, Type::B128),
    (48, Type::B128),
];

#[test]
fn every_piece_of_every_vector_register_is_logged() {
    if !has_avx512() {
        return;
    }
    let input = counted(64);
    for number in 0..32 {
        let load = with2(Code::EVEX_Vmovups_zmm_k1z_zmmm512, Register::ZMM0 + number, at(Register::RDI, 0));
        for places in [&PLACES[..], &PLACES[4..], &PLACES[5..], &PLACES[6..7], &PLACES[4..6]] {
            let mut guest = Guest::new(&[load]);
            for (offset, ty) in places {
                guest.log(0, Place::vec(number as u8, *offset), *ty);
            }
            let logged = guest.run(input.as_ptr(), std::ptr::null_mut());
            let expected: Vec<_> = places.iter().map(|(at, ty)| input[*at as usize..][..ty.bytes()].to_vec()).collect();
            assert_eq!(logged, expected, "zmm{number}");
        }
    }
}

#[test]
fn code_in_sse_meets_no_avx() {
    let load = |code| with2(code, Register::XMM3, at(Register::RDI, 0));
    let encodings = |instr: Instruction| {
        let mut guest = Guest::new(&[instr]);
        for (offset, ty) in &PLACES[..5] {
            guest.log(0, Place::vec(3, *offset), *ty);
        }
        let code = guest.emit(0x10_0000);
        let vector = |instr: &Instruction| (0..instr.op_count()).any(|op| instr.op_register(op) == Register::XMM3);
        let decoder = Decoder::with_ip(64, &code, 0x10_0000, DecoderOptions::NONE);
        decoder.into_iter().filter(vector).map(|instr| instr.encoding()).collect::<Vec<_>>()
    };
    assert_eq!(encodings(load(Code::Movups_xmm_xmmm128)), [EncodingKind::Legacy; 6]);
    assert_eq!(encodings(load(Code::VEX_Vmovups_xmm_xmmm128)), [EncodingKind::VEX; 6]);
}

#[test]
fn quarters_that_follow_each_other_are_stored_at_once() {
    let field = |n, offset, slot| Field { what: What::Place(Place::vec(n, offset)), bytes: 16, slot };
    let sizes = |mut fields: Vec<Field>| {
        coalesce(&mut fields);
        fields.iter().map(|field| (field.slot, field.bytes)).collect::<Vec<_>>()
    };
    let all = vec![field(1, 0, 16), field(1, 16, 32), field(1, 32, 48), field(1, 48, 64)];
    assert_eq!(sizes(all.clone()), [(16, 64)]);
    assert_eq!(sizes(all[..3].to_vec()), [(16, 32), (48, 16)]);
    assert_eq!(sizes(all[1..].to_vec()), [(32, 16), (48, 32)]);
    assert_eq!(sizes(vec![field(1, 16, 32), field(2, 0, 48), field(1, 0, 16)]), [(48, 16), (16, 32)]);
    assert_eq!(sizes(vec![field(1, 0, 16), field(2, 16, 32)]).len(), 2);
    assert_eq!(sizes(vec![field(1, 0, 16), field(1, 16, 48)]).len(), 2);
}

#[test]
fn masks_the_control_word_and_the_x87_are_logged() {
    let input = counted(64);
    let mut guest =
        Guest::new(&[with1(Code::Fld_m80fp, at(Register::RDI, 0)), with1(Code::Fstp_m80fp, at(Register::RSI, 0))]);
    guest.block.push(1, When::Before, Some(Type::Image), Op::Image { turned: 7, slot: Slot::UNASSIGNED });
    guest.log(1, Place::whole(Reg::X87Control), Type::B16);
    let mut output = [0; 10];
    let logged = guest.run(input.as_ptr(), output.as_mut_ptr());
    assert_eq!((&logged[0][32..42], &output[..]), (&input[..10], &input[..10]));
    assert_eq!(logged[1], 0x37f_u16.to_le_bytes());

    if has_avx512() {
        let load = with2(Code::VEX_Kmovq_kr_km64, Register::K5, at(Register::RDI, 8));
        let mut guest = Guest::new(&[load]);
        guest.log(0, Place::whole(Reg::Mask(5)), Type::B64);
        assert_eq!(guest.run(input.as_ptr(), std::ptr::null_mut()), [&input[8..16]]);
    }
}

#[test]
fn memory_is_logged_by_the_operand_or_by_the_registers_of_its_address() {
    let input = counted(64);
    let mut guest =
        Guest::new(&[with1(Code::Fld_m80fp, at(Register::RDI, 8)), with1(Code::Fstp_m80fp, at(Register::RSI, 0))]);
    let base = guest.live(0, 7);
    let addr = |disp| Addr { base: Some(base), disp, ..Addr::default() };
    for (disp, ty) in [(8, Type::F80), (20, Type::B16), (24, Type::F32), (32, Type::B128)] {
        guest.load(0, addr(disp), ty);
    }
    let logged = guest.run(input.as_ptr(), [0; 10].as_mut_ptr());
    assert_eq!(&logged[1..], [&input[8..18], &input[20..22], &input[24..28], &input[32..48]]);

    // lodsq names no memory; pop names where it writes.
    let lods = Instruction::with_lodsq(64, Register::None, iced_x86::RepPrefixKind::None).unwrap();
    let mut guest = Guest::new(&[lods]);
    let base = guest.live(0, 6);
    guest.load(0, Addr { base: Some(base), disp: 4, ..Addr::default() }, Type::F64);
    assert_eq!(guest.run(std::ptr::null(), input.as_ptr().cast_mut())[1], input[4..12]);

    let push = Instruction::with1(Code::Push_r64, Register::RSI).unwrap();
    let pop = with1(Code::Pop_rm64, at(Register::RDI, 0));
    let mut guest = Guest::new(&[push, pop]);
    let base = guest.live(1, 4);
    guest.load(1, Addr { base: Some(base), ..Addr::default() }, Type::F64);
    let mut popped = 0_u64;
    let pushed = input.as_ptr().cast_mut();
    let logged = guest.run((&raw mut popped).cast(), pushed);
    assert_eq!((&logged[1][..], popped), (&(pushed as u64).to_le_bytes()[..], pushed as u64));
}

#[test]
fn memory_is_logged_where_it_is_read_though_the_register_that_told_the_address_has_changed() {
    let input = counted(64);
    let (rax, rdi, rsi) = (Register::RAX, Register::RDI, Register::RSI);
    let copy = Instruction::with2(Code::Mov_r64_rm64, rax, rdi).unwrap();
    let copy_again = Instruction::with2(Code::Mov_r64_rm64, rsi, rdi).unwrap();
    let change = Instruction::with2(Code::Mov_r32_imm32, Register::EDI, 1).unwrap();
    let add = with2(Code::Addsd_xmm_xmmm64, Register::XMM0, at(rax, 16));
    let lods = Instruction::with_lodsq(64, Register::None, iced_x86::RepPrefixKind::None).unwrap();
    let mut guest = Guest::new(&[copy, copy_again, change, add, lods]);
    let base = guest.live(0, 7);
    guest.load(3, Addr { base: Some(base), disp: 16, ..Addr::default() }, Type::F64);
    guest.load(4, Addr { base: Some(base), ..Addr::default() }, Type::F64);
    assert_eq!(guest.run(input.as_ptr(), std::ptr::null_mut())[1..], [&input[16..24], &input[..8]]);
}

/// Memory that ends where none is.
struct Edge(*mut u8);

impl Edge {
    fn new() -> Edge {
        // SAFETY: plain system calls.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let pages = libc::mmap(std::ptr::null_mut(), 2 * PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(pages, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(pages.add(PAGE), PAGE, libc::PROT_NONE), 0);
            Edge(pages.cast())
        }
    }

    /// The last bytes before the edge become these; where they begin.
    fn put(&self, bytes: &[u8]) -> *const u8 {
        // SAFETY: within the page.
        unsafe {
            let start = self.0.add(PAGE - bytes.len());
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len());
            start
        }
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`.
        unsafe { libc::munmap(self.0.cast(), 2 * PAGE) };
    }
}

/// Under `mask` the instruction sees these bytes of its operand, which ends at the edge; what it does not see may not be there.
fn assert_operand(mut instr: Instruction, broadcast: bool, bytes: &[u8], mask: u64, expected: &[u8]) {
    instr.set_op_mask(Register::K3);
    instr.set_is_broadcast(broadcast);
    let edge = Edge::new();
    let operand = edge.put(bytes);
    // rax is where the operand is; all of zmm16 to zmm31 and the masks must be as before.
    let mut input = vec![0; 16];
    input[..8].copy_from_slice(&(operand as u64).to_le_bytes());
    input[8..].copy_from_slice(&mask.to_le_bytes());
    let kept = counted(64);
    input.extend(&kept);
    let mut instrs = vec![
        with2(Code::Mov_r64_rm64, Register::RAX, at(Register::RDI, 0)),
        with2(Code::VEX_Kmovq_kr_km64, Register::K3, at(Register::RDI, 8)),
        with2(Code::VEX_Kmovq_kr_km64, Register::K1, at(Register::RDI, 16)),
    ];
    let vectors =
        (16..32).map(|n| with2(Code::EVEX_Vmovups_zmm_k1z_zmmm512, Register::ZMM0 + n, at(Register::RDI, 16)));
    instrs.extend(vectors);
    instrs.extend([instr, Instruction::with(Code::Nopd)]);
    let mut guest = Guest::new(&instrs);
    let (index, nop) = (instrs.len() as u16 - 2, instrs.len() as u16 - 1);
    let offsets = (0..expected.len() as u8).step_by(16);
    offsets.for_each(|offset| guest.log(index, Place { reg: Reg::Operand, offset }, Type::B128));
    (16..32).for_each(|n| guest.log(nop, Place::vec(n, 32), Type::B128));
    guest.log(nop, Place::whole(Reg::Mask(1)), Type::B64);
    let logged = guest.run(input.as_ptr(), std::ptr::null_mut());
    let quarters = expected.len() / 16;
    assert_eq!(logged[..quarters].concat(), expected, "{instr}, mask {mask:#x}");
    assert!(logged[quarters..quarters + 16].iter().all(|bytes| *bytes == kept[32..48]), "{instr}");
    assert_eq!(logged[quarters + 16], kept[..8]);
}

/// The lanes that the mask has, of `lane` bytes each, up to a number of bytes.
fn lanes(bytes: &[u8], lane: usize, mask: u64, total: usize) -> Vec<u8> {
    let mut seen: Vec<u8> =
        bytes.iter().enumerate().map(|(at, byte)| if mask >> (at / lane) & 1 == 1 { *byte } else { 0 }).collect();
    seen.resize(total, 0);
    seen
}

#[test]
fn an_operand_is_seen_under_its_mask_and_nothing_else_is_read() {
    if !has_avx512() {
        return;
    }
    let there = at(Register::RAX, 0);
    let (z, y, x) = (Register::ZMM1, Register::YMM1, Register::XMM1);
    let bytes = counted(64);
    for mask in [0, 1, 0x5a, 0xff, 0xffff, u64::MAX] {
        let add = |code, register| Instruction::with3(code, register, register + 1, there).unwrap();
        let convert = |code, register| Instruction::with2(code, register, there).unwrap();
        let zpd = add(Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er, z);
        assert_operand(zpd, false, &bytes, mask, &lanes(&bytes, 8, mask, 64));
        assert_operand(zpd, true, &bytes[..8], mask, &lanes(&bytes[..8].repeat(8), 8, mask, 64));
        let yps = add(Code::EVEX_Vaddps_ymm_k1z_ymm_ymmm256b32, y);
        assert_operand(yps, false, &bytes[..32], mask, &lanes(&bytes[..32], 4, mask, 32));
        assert_operand(yps, true, &bytes[..4], mask, &lanes(&bytes[..4].repeat(8), 4, mask, 32));
        let xss = add(Code::EVEX_Vaddss_xmm_k1z_xmm_xmmm32_er, x);
        assert_operand(xss, false, &bytes[..4], mask, &lanes(&bytes[..4], 4, mask, 16));
        let xsd = add(Code::EVEX_Vaddsd_xmm_k1z_xmm_xmmm64_er, x);
        assert_operand(xsd, false, &bytes[..8], mask, &lanes(&bytes[..8], 8, mask, 16));
        // Two lanes, of which a load of sixteen bytes would make four.
        let widened = convert(Code::EVEX_Vcvtps2pd_xmm_k1z_xmmm64b32, x);
        assert_operand(widened, false, &bytes[..8], mask, &lanes(&bytes[..8], 4, mask, 16));
        assert_operand(widened, true, &bytes[..4], mask, &lanes(&bytes[..4].repeat(2), 4, mask, 16));
        let broadcast = convert(Code::EVEX_Vbroadcastss_zmm_k1z_xmmm32, z);
        assert_operand(broadcast, false, &bytes[..4], mask, &lanes(&bytes[..4].repeat(16), 4, mask, 64));
        if is_x86_feature_detected!("avx512fp16") {
            let zph = add(Code::EVEX_Vaddph_zmm_k1z_zmm_zmmm512b16_er, z);
            assert_operand(zph, false, &bytes, mask, &lanes(&bytes, 2, mask, 64));
            assert_operand(zph, true, &bytes[..2], mask, &lanes(&bytes[..2].repeat(32), 2, mask, 64));
            let widened = convert(Code::EVEX_Vcvtph2pd_xmm_k1z_xmmm32b16, x);
            assert_operand(widened, false, &bytes[..4], mask, &lanes(&bytes[..4], 2, mask, 16));
            assert_operand(widened, true, &bytes[..2], mask, &lanes(&bytes[..2].repeat(2), 2, mask, 16));
            let complex = add(Code::EVEX_Vfmulcsh_xmm_k1z_xmm_xmmm32_er, x);
            assert_operand(complex, false, &bytes[..4], mask, &lanes(&bytes[..4], 4, mask, 16));
        }
    }
}
