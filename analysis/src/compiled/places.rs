//! Floats from where they are into lanes, and back.

use super::*;
use crate::lanes::{Address, Input, Word};
use crate::magic;
use crate::operation::Operations;
use crate::pages::{PAGE, RECENT, Recent, Slots};
use crate::shadow::Part;
use fpgrind_ir::GRANULE;

/// The kinds of parts, and what they are about, as bytes have it.
const NONE: i32 = 0;
const CONSTANT: i32 = 1;
pub const SHADOW: i32 = 2;
const NUMBER: usize = 4;
const PART: usize = size_of::<Part>();

/// From such on a constant may be a magic number.
const LARGE: i64 = magic::LEAST.to_bits() as i64;

impl<R: Real> Compiler<'_, R> {
    /// Where bytes of the record are.
    fn logged(&mut self, slot: u16, bytes: usize) -> i32 {
        self.is_broken |= slot as usize + bytes > self.record;
        slot as i32
    }

    /// An address into rax.
    fn address(&mut self, addr: &Address) {
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
            Word::Lane(number) => dynasm!(self.asm; .arch x64; mov rax, [r13 + lane(number, LANE_BITS)]),
            Word::LaneShort(number) => dynasm!(self.asm; .arch x64; mov eax, [r13 + lane(number, LANE_BITS)]),
        }
    }

    /// The slots of so many bytes at the address in rax, if that is simple: their page, as `field` has it, into rdx, and into rcx how far behind
    /// its parts they begin.
    fn slots(&mut self, field: usize, bytes: usize, slow: DynamicLabel) {
        let last = PAGE as i32 - bytes as i32;
        dynasm!(self.asm
            ; .arch x64
            ; mov ecx, eax
            ; and ecx, PAGE as i32 - 1
            ; test al, GRANULE as i8 - 1
            ; jnz =>slow
            ; cmp ecx, last
            ; ja =>slow
            ; shr rax, PAGE.trailing_zeros() as i8
            ; mov edx, eax
            ; and edx, RECENT as i32 - 1
            ; imul edx, edx, size_of::<Recent>() as i32
            ; cmp [r14 + rdx + offset_of!(Recent, number) as i32], rax
            ; jne =>slow
            ; mov rdx, [r14 + rdx + field as i32]
            // A slot is as many times as long as what it speaks of.
            ; lea ecx, [rcx + 2 * rcx]
        );
        const { assert!(PART == 3 * GRANULE) };
    }

    pub fn load_double(&mut self, addr: &Address, input: &Input, slow: DynamicLabel) -> bool {
        self.address(addr);
        self.slots(offset_of!(Recent, readable), 8, slow);
        let at = self.logged(input.slot, 8);
        dynasm!(self.asm
            ; .arch x64
            ; cmp BYTE [rdx + offset_of!(Slots, has_offsets) as i32], 0
            ; jne =>slow
            ; lea r9, [rdx + rcx + offset_of!(Slots, parts) as i32]
            ; mov r8, [r12 + at]
        );
        self.fill(input.to, slow);
        true
    }

    pub fn live_double(&mut self, first: usize, input: &Input, slow: DynamicLabel) -> bool {
        let at = self.logged(input.slot, 8);
        dynasm!(self.asm
            ; .arch x64
            ; lea r9, [r15 + (first * PART) as i32]
            ; mov r8, [r12 + at]
        );
        self.fill(input.to, slow);
        true
    }

    /// A double is in r8, and what is known of it at r9: makes a lane of it that is ready to be an argument.
    fn fill(&mut self, to: Number, slow: DynamicLabel) {
        let [shadow, leaf, filled] = self.labels();
        dynasm!(self.asm
            ; .arch x64
            ; mov eax, [r9]
            ; cmp eax, SHADOW
            ; je =>shadow
            ; mov ecx, slot_code(Slot::Data(Type::F64)) as i32
            ; test eax, eax
            ; jz =>leaf
            // Two constants that are these eight bytes, and no magic number.
            ; cmp eax, CONSTANT
            ; jne =>slow
            ; cmp eax, [r9 + PART as i32]
            ; jne =>slow
            ; mov edx, [r9 + NUMBER as i32]
            ; mov esi, [r9 + (PART + NUMBER) as i32]
            ; shl rsi, 32
            ; or rdx, rsi
            ; cmp rdx, r8
            ; jne =>slow
            ; mov rsi, QWORD LARGE
            ; btr rdx, 63
            ; cmp rdx, rsi
            ; jae =>slow
            ; mov ecx, slot_code(Slot::Number(Type::F64)) as i32
            ; =>leaf
            ; mov [r13 + lane(to, LANE_PART)], eax
            ; mov [r13 + lane(to, LANE_PART + NUMBER)], r8d
            // Nothing is zero, and constants are one.
            ; mov [r13 + lane(to, LANE_WIDE)], al
        );
        self.set_leaf(to);
        dynasm!(self.asm
            ; .arch x64
            ; jmp =>filled
            ; =>shadow
            ; mov ecx, [r9 + NUMBER as i32]
        );
        self.set_shadow(to, slow);
        dynasm!(self.asm; .arch x64; =>filled);
    }

    /// The double in r8 whose handle is in ecx becomes a lane, and its argument.
    fn set_shadow(&mut self, to: Number, slow: DynamicLabel) {
        let (size, real) = (size_of::<Node<R>>(), offset_of!(Node<R>, real));
        // Handles begin at one.
        let node = |field: usize| field as i32 - size as i32;
        let Some(big) = R::BEYOND_PAIRS else { return };
        let [has_doubles] = self.labels();
        dynasm!(self.asm
            ; .arch x64
            ; imul rdx, rcx, size as i32
            ; add rdx, [rbx + offset_of!(Operations<R>, nodes.base) as i32]
            ; cmp [rdx + node(offset_of!(Node<R>, low))], r8
            ; jne =>slow
            ; cmp BYTE [rdx + node(offset_of!(Node<R>, is_plain_double))], 0
            ; je =>slow
            // One by one, as they were written: what is written by halves is not soon read as a whole.
            ; vmovsd xmm0, [rdx + node(real)]
            ; vmovsd xmm1, [rdx + node(real + 8)]
            ; cmp QWORD [rdx + node(real + big)], 0
            ; je =>has_doubles
        );
        // The doubles still stand for it, unless they are out of their depth.
        self.check_safe(0, slow);
        dynasm!(self.asm
            ; .arch x64
            ; =>has_doubles
            ; mov rax, [rdx + node(real + 16)]
            ; mov rsi, [rdx + node(offset_of!(Node<R>, ulps))]
            ; mov edi, [rdx + node(offset_of!(Node<R>, influences))]
            ; vmovsd [r13 + lane(to, LANE_HI)], xmm0
            ; vmovsd [r13 + lane(to, LANE_LO)], xmm1
            ; mov [r13 + lane(to, LANE_ERR)], rax
            ; mov [r13 + lane(to, LANE_ULPS)], rsi
            ; mov [r13 + lane(to, LANE_INFLUENCES)], edi
            ; mov [r13 + lane(to, LANE_WORD)], rcx
            ; mov WORD [r13 + lane(to, LANE_SLOT)], slot_code(Slot::Node)
            ; mov [r13 + lane(to, LANE_BITS)], r8
            ; mov DWORD [r13 + lane(to, LANE_PART)], SHADOW
            ; mov [r13 + lane(to, LANE_PART + NUMBER)], ecx
            ; mov BYTE [r13 + lane(to, LANE_WIDE)], 0
            ; mov BYTE [r13 + lane(to, LANE_IS_PLAIN)], 1
        );
    }

    pub fn load(&mut self, addr: &Address, input: &Input, slow: DynamicLabel) -> bool {
        self.address(addr);
        self.slots(offset_of!(Recent, readable), input.bytes as usize, slow);
        dynasm!(self.asm
            ; .arch x64
            ; cmp BYTE [rdx + offset_of!(Slots, has_offsets) as i32], 0
            ; jne =>slow
            ; lea r9, [rdx + rcx + offset_of!(Slots, parts) as i32]
        );
        self.take(input, slow);
        true
    }

    pub fn live(&mut self, first: usize, input: &Input, slow: DynamicLabel) -> bool {
        dynasm!(self.asm; .arch x64; lea r9, [r15 + (first * PART) as i32]);
        self.take(input, slow);
        true
    }

    /// Lanes of a value whose parts are at r9.
    fn take(&mut self, input: &Input, slow: DynamicLabel) {
        let granules = input.bytes as usize / GRANULE;
        for granule in (0..granules).filter(|granule| input.wanted >> granule & 1 == 1) {
            let (slot, to) = (input.slot + (GRANULE * granule) as u16, input.to + granule as Number);
            let is_last = granule + 1 == granules;
            self.word(if is_last { Word::LoggedShort(slot) } else { Word::Logged(slot) });
            let [taken, shadow] = self.labels();
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
                ; mov [r13 + lane(to, LANE_BITS)], rax
                ; mov [r13 + lane(to, LANE_PART)], ecx
                ; mov [r13 + lane(to, LANE_PART + NUMBER)], edi
                ; mov [r13 + lane(to, LANE_WIDE)], sil
            );
        }
    }

    /// The handle in edi must be that of a double, or of a single, that begins in rax.
    fn check_shadow(&mut self, is_last: bool, slow: DynamicLabel) {
        let size = size_of::<Node<R>>();
        let node = |field: usize| field as i32 - size as i32;
        let [single, same] = self.labels();
        dynasm!(self.asm
            ; .arch x64
            ; imul rdx, rdi, size as i32
            ; add rdx, [rbx + offset_of!(Operations<R>, nodes.base) as i32]
            ; mov r8, [rdx + node(offset_of!(Node<R>, low))]
            ; cmp BYTE [rdx + node(offset_of!(Node<R>, ty))], Type::F32 as i8
            ; je =>single
        );
        if is_last {
            dynasm!(self.asm; .arch x64; jmp =>slow);
        } else {
            dynasm!(self.asm
                ; .arch x64
                ; cmp BYTE [rdx + node(offset_of!(Node<R>, ty))], Type::F64 as i8
                ; jne =>slow
                ; cmp r8, rax
                ; jne =>slow
                ; jmp =>same
            );
        }
        dynasm!(self.asm; .arch x64; =>single; cmp r8d, eax; jne =>slow; =>same);
    }

    /// The double in r8 without a history becomes the argument of a lane; how it is kept is in ecx.
    fn set_leaf(&mut self, to: Number) {
        dynasm!(self.asm
            ; .arch x64
            ; xor eax, eax
            ; mov [r13 + lane(to, LANE_BITS)], r8
            ; mov [r13 + lane(to, LANE_HI)], r8
            ; mov [r13 + lane(to, LANE_LO)], rax
            ; mov [r13 + lane(to, LANE_ERR)], rax
            ; mov [r13 + lane(to, LANE_ULPS)], rax
            ; mov [r13 + lane(to, LANE_INFLUENCES)], eax
            ; mov [r13 + lane(to, LANE_SLOT)], cx
            ; mov [r13 + lane(to, LANE_WORD)], r8
            ; mov BYTE [r13 + lane(to, LANE_IS_PLAIN)], 1
        );
    }

    /// What a lane has becomes ready.
    pub fn double(&mut self, number: Number, slow: DynamicLabel) -> bool {
        let [leaf, shadow, ready] = self.labels();
        dynasm!(self.asm
            ; .arch x64
            ; mov r8, [r13 + lane(number, LANE_BITS)]
            ; mov eax, [r13 + lane(number, LANE_PART)]
            ; cmp eax, SHADOW
            ; je =>shadow
            ; mov ecx, slot_code(Slot::Data(Type::F64)) as i32
            ; test eax, eax
            ; jz =>leaf
            ; cmp eax, CONSTANT
            ; jne =>slow
            ; cmp BYTE [r13 + lane(number, LANE_WIDE)], 0
            ; je =>slow
            ; mov rdx, r8
            ; btr rdx, 63
            ; mov rsi, QWORD LARGE
            ; cmp rdx, rsi
            ; jae =>slow
            ; mov ecx, slot_code(Slot::Number(Type::F64)) as i32
            ; =>leaf
        );
        self.set_leaf(number);
        dynasm!(self.asm
            ; .arch x64
            ; jmp =>ready
            ; =>shadow
            ; mov ecx, [r13 + lane(number, LANE_PART + NUMBER)]
        );
        self.set_shadow(number, slow);
        dynasm!(self.asm; .arch x64; =>ready);
        true
    }

    pub fn constant(&mut self, bits: u64, wide: bool, to: Number) -> bool {
        dynasm!(self.asm
            ; .arch x64
            ; mov rax, QWORD bits as i64
            ; mov [r13 + lane(to, LANE_BITS)], rax
            ; mov DWORD [r13 + lane(to, LANE_PART)], CONSTANT
            ; mov [r13 + lane(to, LANE_PART + NUMBER)], eax
            ; mov BYTE [r13 + lane(to, LANE_WIDE)], wide as i8
        );
        true
    }

    pub fn fresh(&mut self, input: &Input) -> bool {
        for granule in (0..input.bytes as usize / GRANULE).filter(|granule| input.wanted >> granule & 1 == 1) {
            let (slot, to) = (input.slot + (GRANULE * granule) as u16, input.to + granule as Number);
            self.word(match input.bytes as usize - GRANULE * granule {
                8.. => Word::Logged(slot),
                _ => Word::LoggedShort(slot),
            });
            dynasm!(self.asm
                ; .arch x64
                ; mov [r13 + lane(to, LANE_BITS)], rax
                ; mov DWORD [r13 + lane(to, LANE_PART)], NONE
                ; mov BYTE [r13 + lane(to, LANE_WIDE)], 0
            );
        }
        true
    }

    pub fn put(&mut self, first: usize, from: &[Number]) -> bool {
        for (number, from) in (first..).zip(from) {
            let at = (number * PART) as i32;
            if *from == 0 {
                dynasm!(self.asm; .arch x64; mov DWORD [r15 + at], NONE);
                continue;
            }
            self.copy_part(*from, |compiler, word| {
                dynasm!(compiler.asm; .arch x64; mov [r15 + at + word], eax);
            });
        }
        true
    }

    pub fn drop(&mut self, first: usize, count: usize) -> bool {
        for number in first..first + count {
            dynasm!(self.asm; .arch x64; mov DWORD [r15 + (number * PART) as i32], NONE);
        }
        true
    }

    pub fn store_double(&mut self, addr: &Address, from: Number, slow: DynamicLabel) -> bool {
        self.address(addr);
        self.slots(offset_of!(Recent, writable), 8, slow);
        let parts = offset_of!(Slots, parts) as i32;
        dynasm!(self.asm
            ; .arch x64
            ; test rdx, rdx
            ; jz =>slow
            ; cmp BYTE [rdx + offset_of!(Slots, has_offsets) as i32], 0
            ; jne =>slow
            ; mov BYTE [rdx + offset_of!(Slots, is_used) as i32], 1
            ; mov DWORD [rdx + rcx + (parts + PART as i32)], NONE
        );
        self.copy_part(from, |compiler, word| {
            dynasm!(compiler.asm; .arch x64; mov [rdx + rcx + (parts + word)], eax);
        });
        true
    }

    /// A part goes by words, as it came.
    fn copy_part(&mut self, from: Number, mut store_eax: impl FnMut(&mut Self, i32)) {
        for word in (0..PART).step_by(4) {
            dynasm!(self.asm; .arch x64; mov eax, [r13 + lane(from, LANE_PART + word)]);
            store_eax(self, word as i32);
        }
    }

    pub fn store(&mut self, addr: &Address, ty: Type, from: &[Number], slow: DynamicLabel) -> bool {
        self.address(addr);
        self.slots(offset_of!(Recent, writable), ty.bytes(), slow);
        let parts = offset_of!(Slots, parts) as i32;
        dynasm!(self.asm
            ; .arch x64
            ; test rdx, rdx
            ; jz =>slow
            ; cmp BYTE [rdx + offset_of!(Slots, has_offsets) as i32], 0
            ; jne =>slow
        );
        // Those that would be torn apart, and what is not worth a slot, are for the engine: before anything is changed.
        let granules = || (0..ty.granules()).zip(from).filter(|(_, from)| **from != 0);
        for (granule, from) in granules() {
            let part = lane(*from, LANE_PART);
            if granule + 1 == ty.granules() {
                let [whole] = self.labels();
                dynasm!(self.asm
                    ; .arch x64
                    ; cmp DWORD [r13 + part], SHADOW
                    ; jne =>whole
                    ; mov eax, [r13 + part + NUMBER as i32]
                    ; imul rax, rax, size_of::<Node<R>>() as i32
                    ; add rax, [rbx + offset_of!(Operations<R>, nodes.base) as i32]
                    ; cmp BYTE [rax + (offset_of!(Node<R>, ty) as i32 - size_of::<Node<R>>() as i32)], Type::F32 as i8
                    ; jne =>slow
                    ; =>whole
                );
            }
            if ty.bytes() > 8 {
                dynasm!(self.asm; .arch x64; cmp DWORD [r13 + part], CONSTANT; je =>slow);
            }
        }
        dynasm!(self.asm
            ; .arch x64
            ; mov BYTE [rdx + offset_of!(Slots, is_used) as i32], 1
            ; lea rdx, [rdx + rcx + parts]
        );
        for granule in 0..ty.granules() {
            let at = (granule * PART) as i32;
            match from[granule] {
                0 => dynasm!(self.asm; .arch x64; mov DWORD [rdx + at], NONE),
                from => self.copy_part(from, |compiler, word| {
                    dynasm!(compiler.asm; .arch x64; mov [rdx + at + word], eax);
                }),
            }
        }
        true
    }
}
