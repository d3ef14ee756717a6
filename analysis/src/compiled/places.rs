//! Floats from where they are into lanes, and back.

use super::routines::{Access, FILL, LOAD, NODE_SHIFT, slots};
use super::*;
use crate::lanes::{Address, Input, Word};
use crate::pages::Slots;
use fpgrind_ir::GRANULE;

impl<R: Real> Compiler<'_, R> {
    /// Where bytes of the record are.
    pub fn logged(&mut self, slot: u16, bytes: usize) -> i32 {
        self.is_broken |= slot as usize + bytes > self.program.record;
        slot as i32
    }

    /// An address into rax.
    pub fn address(&mut self, addr: &Address) {
        let disp = match addr {
            Address::Logged(slot, disp) => {
                self.word(Word::Logged(*slot));
                *disp
            }
            Address::Sum(sum) => {
                self.word(sum.index);
                if sum.narrow {
                    dynasm!(self.asm; .arch x64; movsxd rcx, eax);
                } else {
                    dynasm!(self.asm; .arch x64; mov rcx, rax);
                }
                dynasm!(self.asm; .arch x64; imul rdx, rcx, sum.scale as i32);
                self.word(sum.base);
                dynasm!(self.asm; .arch x64; add rdx, rax);
                self.word(sum.segment);
                dynasm!(self.asm; .arch x64; add rax, rdx);
                sum.disp
            }
        };
        match i32::try_from(disp as i64) {
            Ok(0) => {}
            Ok(disp) => dynasm!(self.asm; .arch x64; add rax, disp),
            Err(_) => dynasm!(self.asm; .arch x64; mov rcx, QWORD disp as i64; add rax, rcx),
        }
    }

    /// Part of an address into rax.
    fn word(&mut self, word: Word) {
        match word {
            Word::None => dynasm!(self.asm; .arch x64; xor eax, eax),
            Word::Logged(slot) => {
                let at = self.logged(slot, 8);
                dynasm!(self.asm; .arch x64; mov rax, [r12 + at]);
            }
            Word::LoggedShort(slot) => {
                let at = self.logged(slot, 4);
                dynasm!(self.asm; .arch x64; mov eax, [r12 + at]);
            }
            Word::Lane(number) | Word::LaneShort(number) if self.program.lanes.are_lean[number as usize] => {
                // Not all of it is there.
                self.is_broken = true;
            }
            Word::Lane(number) => dynasm!(self.asm; .arch x64; mov rax, [r13 + lane(number, LANE_BITS as usize)]),
            Word::LaneShort(number) => dynasm!(self.asm; .arch x64; mov eax, [r13 + lane(number, LANE_BITS as usize)]),
        }
    }

    pub fn load_double(&mut self, addr: &Address, input: &Input, work: *const Work) {
        self.address(addr);
        let at = self.logged(input.slot, 8);
        dynasm!(self.asm
            ; .arch x64
            ; mov r8, [r12 + at]
            ; lea rdi, [r13 + lane(input.to, 0)]
        );
        self.call_routine(LOAD, work);
    }

    pub fn live_double(&mut self, first: usize, input: &Input, work: *const Work) {
        let at = self.logged(input.slot, 8);
        dynasm!(self.asm
            ; .arch x64
            ; lea r9, [r15 + (first * PART) as i32]
            ; mov r8, [r12 + at]
            ; lea rdi, [r13 + lane(input.to, 0)]
        );
        self.call_routine(FILL, work);
    }

    /// What a lane has becomes ready.
    pub fn ready(&mut self, number: Number, routine: usize, work: *const Work) {
        dynasm!(self.asm; .arch x64; lea rdi, [r13 + lane(number, 0)]);
        self.call_routine(routine, work);
    }

    pub fn load(&mut self, addr: &Address, input: &Input, slow: DynamicLabel) {
        self.address(addr);
        slots(&mut self.asm, Access::Read, input.bytes as usize, slow);
        self.take(input, slow);
    }

    pub fn live(&mut self, first: usize, input: &Input, slow: DynamicLabel) {
        dynasm!(self.asm; .arch x64; lea r9, [r15 + (first * PART) as i32]);
        self.take(input, slow);
    }

    /// Lanes of a value whose parts are at r9.
    fn take(&mut self, input: &Input, slow: DynamicLabel) {
        let granules = input.bytes as usize / GRANULE;
        for granule in (0..granules).filter(|granule| input.wanted >> granule & 1 == 1) {
            let (slot, to) = (input.slot + (GRANULE * granule) as u16, input.to + granule as Number);
            let is_last = granule + 1 == granules;
            self.word(if is_last { Word::LoggedShort(slot) } else { Word::Logged(slot) });
            let [taken, shadow] = self.asm.new_labels();
            let part = (granule * PART) as i32;
            dynasm!(self.asm
                ; .arch x64
                ; mov ecx, [r9 + part]
                ; mov edi, [r9 + part + NUMBER as i32]
                ; xor esi, esi
                ; test ecx, ecx
                ; jz =>taken
                ; cmp ecx, SHADOW
                ; je =>shadow
                ; cmp ecx, CONSTANT
                ; jne =>slow
                ; cmp edi, eax
                ; jne =>slow
            );
            if !is_last {
                dynasm!(self.asm
                    ; .arch x64
                    ; cmp DWORD [r9 + (part + PART as i32)], CONSTANT
                    ; jne =>taken
                    ; mov rdx, rax
                    ; shr rdx, 32
                    ; cmp edx, [r9 + (part + (PART + NUMBER) as i32)]
                    ; sete sil
                );
            }
            dynasm!(self.asm; .arch x64; jmp =>taken; =>shadow);
            self.check_shadow(is_last, slow);
            dynasm!(self.asm
                ; .arch x64
                ; =>taken
                // What is soon read as a whole is written as a whole: else the CPU waits.
                ; shl rdi, 32
                ; or rcx, rdi
                ; mov [r13 + lane(to, LANE_BITS as usize)], rax
                ; mov [r13 + lane(to, LANE_PART as usize)], rcx
                ; mov [r13 + lane(to, LANE_WIDE as usize)], sil
            );
        }
    }

    /// The handle in edi must be that of a double, or of a single, that begins in rax.
    fn check_shadow(&mut self, is_last: bool, slow: DynamicLabel) {
        let node = |field: usize| field as i32 - size_of::<Node>() as i32;
        let [single, same] = self.asm.new_labels();
        dynasm!(self.asm
            ; .arch x64
            ; mov rdx, rdi
            ; shl rdx, NODE_SHIFT
            ; add rdx, [rbx + field::<R>(offset_of!(Operations<R>, nodes.base))]
            ; mov r8, [rdx + node(offset_of!(Node, near.native))]
            ; cmp WORD [rdx + node(offset_of!(Node, ty))], plain::<R>(Type::F32)
            ; je =>single
        );
        if is_last {
            dynasm!(self.asm; .arch x64; jmp =>slow);
        } else {
            dynasm!(self.asm
                ; .arch x64
                ; cmp WORD [rdx + node(offset_of!(Node, ty))], plain::<R>(Type::F64)
                ; jne =>slow
                ; cmp r8, rax
                ; jne =>slow
                ; jmp =>same
            );
        }
        dynasm!(self.asm
            ; .arch x64
            ; =>single
            ; vmovd xmm0, eax
            ; vcvtss2sd xmm0, xmm0, xmm0
            ; vmovq rdx, xmm0
            ; cmp r8, rdx
            ; jne =>slow
            ; =>same
        );
    }

    pub fn constant(&mut self, bits: u64, wide: bool, to: Number) {
        dynasm!(self.asm
            ; .arch x64
            ; mov rax, QWORD bits as i64
            ; mov [r13 + lane(to, LANE_BITS as usize)], rax
            ; shl rax, 32
            ; or rax, CONSTANT
            ; mov [r13 + lane(to, LANE_PART as usize)], rax
            ; mov BYTE [r13 + lane(to, LANE_WIDE as usize)], wide as i8
        );
    }

    pub fn fresh(&mut self, input: &Input) {
        for granule in (0..input.bytes as usize / GRANULE).filter(|granule| input.wanted >> granule & 1 == 1) {
            let (slot, to) = (input.slot + (GRANULE * granule) as u16, input.to + granule as Number);
            self.word(match input.bytes as usize - GRANULE * granule {
                8.. => Word::Logged(slot),
                _ => Word::LoggedShort(slot),
            });
            dynasm!(self.asm
                ; .arch x64
                ; mov [r13 + lane(to, LANE_BITS as usize)], rax
                ; mov QWORD [r13 + lane(to, LANE_PART as usize)], NONE
                ; mov BYTE [r13 + lane(to, LANE_WIDE as usize)], 0
            );
        }
    }

    pub fn put(&mut self, first: usize, from: &[Number]) {
        for (number, from) in (first..).zip(from) {
            let at = (number * PART) as i32;
            if *from == 0 {
                dynasm!(self.asm; .arch x64; mov QWORD [r15 + at], NONE);
                continue;
            }
            self.fetch_part(*from);
            dynasm!(self.asm; .arch x64; mov [r15 + at], rax; mov [r15 + at + 8], ecx);
        }
    }

    pub fn drop(&mut self, first: usize, count: usize) {
        for number in first..first + count {
            dynasm!(self.asm; .arch x64; mov QWORD [r15 + (number * PART) as i32], NONE);
        }
    }

    /// The part of a lane into rax and ecx. Of a shadow the latter is nothing.
    pub fn fetch_part(&mut self, from: Number) {
        let part = lane(from, LANE_PART as usize);
        const { assert!(PART == 12) };
        if let Some(result) = self.result(from) {
            self.handle(result);
            dynasm!(self.asm; .arch x64; shl rax, 32; or rax, SHADOW);
            return;
        }
        let [full, fetched] = self.asm.new_labels();
        if self.program.lanes.are_lean[from as usize] {
            dynasm!(self.asm
                ; .arch x64
                ; cmp BYTE [r13 + lane(from, LANE_SLOT as usize)], Slot::NODE.0 as i8
                ; jne =>full
                ; mov rax, [r13 + lane(from, LANE_WORD as usize)]
                ; shl rax, 32
                ; or rax, SHADOW
                ; jmp =>fetched
            );
        }
        dynasm!(self.asm; .arch x64; =>full; mov rax, [r13 + part]; mov ecx, [r13 + part + 8]; =>fetched);
    }

    pub fn store(&mut self, addr: &Address, ty: Type, from: &[Number], slow: DynamicLabel) {
        self.address(addr);
        slots(&mut self.asm, Access::Write, ty.bytes(), slow);
        // Those that would be torn apart, and what is not worth a slot, are for the engine: before anything is changed.
        for (granule, from) in (0..ty.granules()).zip(from).filter(|(_, from)| **from != 0) {
            if granule + 1 < ty.granules() && self.result(*from).is_some() {
                continue;
            }
            self.fetch_part(*from);
            if granule + 1 == ty.granules() {
                let [whole] = self.asm.new_labels();
                dynasm!(self.asm
                    ; .arch x64
                    ; cmp eax, SHADOW
                    ; jne =>whole
                    ; mov rcx, rax
                    ; shr rcx, 32
                    ; shl rcx, NODE_SHIFT
                    ; add rcx, [rbx + field::<R>(offset_of!(Operations<R>, nodes.base))]
                    ; cmp BYTE [rcx + (offset_of!(Node, ty) as i32 - size_of::<Node>() as i32)], Type::F32 as i8
                    ; jne =>slow
                    ; =>whole
                );
            }
            if ty.bytes() > 8 {
                dynasm!(self.asm; .arch x64; cmp eax, CONSTANT; je =>slow);
            }
        }
        dynasm!(self.asm; .arch x64; mov BYTE [rdx + offset_of!(Slots, is_used) as i32], 1);
        for (granule, from) in (0..ty.granules()).zip(from) {
            let at = (granule * PART) as i32;
            match *from {
                0 => dynasm!(self.asm; .arch x64; mov QWORD [r9 + at], NONE),
                from => {
                    self.fetch_part(from);
                    near!(self.asm; mov [r9 + at], rax);
                    near!(self.asm; mov [r9 + at + 8], ecx);
                }
            }
        }
    }
}
