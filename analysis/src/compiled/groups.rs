//! Doubles that are loaded, and results that are stored, near each other from the same base: their page is looked up once, and each takes a few
//! instructions.
//!
//! What is out of the ordinary is done one by one, from where that shows on, behind the rest of the code.

use super::encode::near;
use super::routines::{Access, NODE_SHIFT, slots};
use super::*;
use crate::lanes::Address;
use crate::pages::Slots;
use crate::shadow::GRANULES;
use smallvec::SmallVec;

/// Bytes that a group may reach over: what is longer often lies in two pages.
const REACH: u64 = 256;

/// The results that a store puts into parts, and nothing into others.
type Parts = SmallVec<[Option<usize>; GRANULES]>;

/// Instructions that load, or store, so many bytes from `least` behind a base on.
struct Group {
    instrs: Range<usize>,
    base: u16,
    least: u64,
    bytes: u64,
}

/// The instructions of a group, in case that they are done one by one.
pub struct Apart {
    stretch: Rc<Stretch>,
    instrs: Vec<Alone>,
    /// From the first on; and behind the group, and the stretch.
    from: DynamicLabel,
    back: DynamicLabel,
    end: DynamicLabel,
}

struct Alone {
    number: usize,
    work: *const Work,
    from: DynamicLabel,
    leaf: Option<Leaf>,
}

/// A float without a history may be loaded: where that is done, where it goes on, and where what is known of it would be.
struct Leaf {
    input: Input,
    part: At,
    from: DynamicLabel,
    back: DynamicLabel,
}

/// Where the parts of a group are, and those of the thread's registers.
const MEMORY: Gpr = 9;
const REGISTERS: Gpr = 15;

impl<R: Real> Compiler<'_, R> {
    /// Writes the loads or stores that begin with an instruction, if any do. How many they are.
    pub fn group(&mut self, stretch: &Rc<Stretch>, first: usize, end: DynamicLabel) -> usize {
        let program = self.program;
        let [from, back] = self.asm.new_labels();
        let instrs = match &program.lanes.instrs[first] {
            Instr::LiveDouble(place, input) => {
                let part = At { register: REGISTERS, distance: (place * PART) as i32 };
                vec![self.load_near(stretch, first, part, input)]
            }
            _ => match self.group_at(stretch, first) {
                Some(group) => self.in_one_page(stretch, &group, from),
                None => return 0,
            },
        };
        dynasm!(self.asm; .arch x64; =>back);
        let count = instrs.len();
        self.apart.push(Apart { stretch: stretch.clone(), instrs, from, back, end });
        count
    }

    fn group_at(&self, stretch: &Stretch, first: usize) -> Option<Group> {
        let instrs = &self.program.lanes.instrs[first..stretch.instrs.end];
        let is_load = matches!(instrs[0], Instr::LoadDouble(..));
        let place = |instr: &Instr| match instr {
            Instr::LoadDouble(Address::Logged(base, disp), _) if is_load => {
                Some((*base, *disp, size_of::<f64>() as u64))
            }
            _ if is_load => None,
            _ => self.results_at(instr).map(|(base, disp, parts)| (base, disp, (parts.len() * GRANULE) as u64)),
        };
        let (base, disp, bytes) = place(&instrs[0])?;
        let mut group = Group { instrs: first..first + 1, base, least: disp, bytes };
        for (base, disp, bytes) in instrs[1..].iter().map_while(place) {
            // (Distances may be negative.)
            let further = disp.wrapping_sub(group.least) as i64;
            let below = further.min(0).unsigned_abs();
            let reach = (below + group.bytes).max(below.wrapping_add_signed(further) + bytes);
            if base != group.base || further % GRANULE as i64 != 0 || reach > REACH {
                break;
            }
            group.least = group.least.wrapping_sub(below);
            group.bytes = reach;
            group.instrs.end += 1;
        }
        Some(group)
    }

    /// Where an instruction stores results, each of them whole, and nothing else.
    fn results_at(&self, instr: &Instr) -> Option<(u16, u64, Parts)> {
        let (addr, ty, from) = match instr {
            Instr::StoreDouble { addr, from } => (addr, Type::F64, [*from, 0, 0, 0]),
            Instr::Store { addr, ty, from } => (addr, *ty, *from),
            _ => return None,
        };
        let Address::Logged(base, disp) = addr else { return None };
        let mut parts = Parts::new();
        for granule in 0..ty.granules() {
            parts.push(match from[granule] {
                0 => None,
                lane => {
                    let (result, result_ty) = self.result_of_type(lane)?;
                    let is_whole =
                        result_ty == Type::F32 || from.get(granule + 1) == Some(&0) && granule + 1 < ty.granules();
                    if !is_whole {
                        return None;
                    }
                    Some(result)
                }
            });
        }
        Some((*base, *disp, parts))
    }

    /// Those of a group, if its page is one that was looked up before.
    fn in_one_page(&mut self, stretch: &Rc<Stretch>, group: &Group, apart: DynamicLabel) -> Vec<Alone> {
        let program = self.program;
        let instrs = &program.lanes.instrs[group.instrs.clone()];
        let are_loads = matches!(instrs[0], Instr::LoadDouble(..));
        self.address(&Address::Logged(group.base, group.least));
        let access = if are_loads { Access::Read } else { Access::Write };
        slots(&mut self.asm, access, group.bytes as usize, apart);
        if !are_loads {
            dynasm!(self.asm; .arch x64; mov BYTE [rdx + offset_of!(Slots, is_used) as i32], 1);
        }
        let part = |disp: u64| At {
            register: MEMORY,
            distance: (disp.wrapping_sub(group.least) as usize / GRANULE * PART) as i32,
        };
        let mut all = Vec::new();
        for (number, instr) in group.instrs.clone().zip(instrs) {
            all.push(match instr {
                Instr::LoadDouble(Address::Logged(_, disp), input) => {
                    self.load_near(stretch, number, part(*disp), input)
                }
                _ => {
                    if let Some((_, disp, results)) = self.results_at(instr) {
                        self.store_near(part(disp), &results);
                    }
                    Alone { number, work: self.work_in(stretch, number), from: self.asm.label(), leaf: None }
                }
            });
        }
        all
    }

    /// A double of which what is known is at `part`.
    fn load_near(&mut self, stretch: &Rc<Stretch>, number: usize, part: At, input: &Input) -> Alone {
        let work = self.work_in(stretch, number);
        let native = self.logged(input.slot, size_of::<f64>());
        let [from, leaf, back] = self.asm.new_labels();
        let to = lane(input.to, 0);
        keep_together(&mut self.asm, 14);
        dynasm!(self.asm
            ; .arch x64
            ; cmp DWORD [Rq(part.register) + part.distance], SHADOW
            ; jne =>leaf
            ; mov eax, [Rq(part.register) + part.distance + NUMBER as i32]
            ; mov rcx, [r12 + native]
            // Handles begin at one.
            ; lea rdx, [rax - 1]
            ; shl rdx, NODE_SHIFT
            ; add rdx, [rbx + field::<R>(offset_of!(Operations<R>, nodes.base))]
        );
        keep_together(&mut self.asm, 9);
        dynasm!(self.asm
            ; .arch x64
            ; cmp [rdx], rcx
            ; jne =>from
        );
        keep_together(&mut self.asm, 12);
        dynasm!(self.asm
            ; .arch x64
            ; cmp WORD [BYTE rdx + offset_of!(Node, ty) as i8], plain::<R>(Type::F64)
            ; jne =>from
        );
        if !R::HAS_PAIRS {
            // The engine wants all of it.
            dynasm!(self.asm; .arch x64; mov [r13 + to + LANE_BITS as i32], rcx);
        }
        near!(self.asm; mov [r13 + to + LANE_WORD as i32], rax);
        near!(self.asm; mov DWORD [r13 + to + LANE_WIDE as i32], ready(Slot::NODE, false));
        near!(self.asm; mov [r13 + to + LANE_FACTS as i32], rdx);
        if !R::HAS_PAIRS {
            dynasm!(self.asm; .arch x64; shl rax, 32; or rax, SHADOW; mov [r13 + to + LANE_PART as i32], rax);
        }
        dynasm!(self.asm; .arch x64; =>back);
        Alone { number, work, from, leaf: Some(Leaf { input: *input, part, from: leaf, back }) }
    }

    fn store_near(&mut self, part: At, results: &[Option<usize>]) {
        for (granule, result) in results.iter().enumerate() {
            let at = part.further(granule * PART);
            match result {
                Some(result) => {
                    // What is soon read as a whole is written as a whole: else the CPU waits.
                    self.handle(*result);
                    dynasm!(self.asm; .arch x64; shl rax, 32; or rax, SHADOW);
                    near!(self.asm; mov [r9 + at.distance], rax);
                }
                None => near!(self.asm; mov QWORD [r9 + at.distance], NONE),
            }
        }
    }

    /// Behind the rest: what is not done together.
    pub fn one_by_one(&mut self) {
        for Apart { stretch, instrs, from, back, end } in std::mem::take(&mut self.apart) {
            instrs.iter().for_each(|alone| self.leaf(alone));
            dynasm!(self.asm; .arch x64; =>from);
            self.within = Some(stretch);
            for Alone { number, work, from, .. } in instrs {
                let [slow, done] = self.asm.new_labels();
                self.number = number;
                dynasm!(self.asm; .arch x64; =>from);
                match &self.program.lanes.instrs[number] {
                    Instr::LoadDouble(addr, input) => self.load_double(addr, input, work),
                    Instr::LiveDouble(first, input) => self.live_double(*first, input, work),
                    Instr::Store { addr, ty, from } => self.store(addr, *ty, from, slow),
                    Instr::StoreDouble { addr, from } => self.store(addr, Type::F64, &[*from, 0], slow),
                    _ => self.is_broken = true,
                }
                dynasm!(self.asm; .arch x64; =>done);
                self.helped.push(Helped { routine: ENGINE, from: slow, work, done: end, back: done, made: None });
            }
            dynasm!(self.asm; .arch x64; jmp =>back);
            self.within = None;
        }
    }

    /// A float without a history, if that is what is there, becomes the lane, ready to be an argument.
    fn leaf(&mut self, alone: &Alone) {
        let Some(Leaf { input, part, from, back }) = &alone.leaf else { return };
        let native = self.logged(input.slot, size_of::<f64>());
        const { assert!(LANE_OWN == 0 && offset_of!(Facts, near.native) == 0) };
        dynasm!(self.asm
            ; .arch x64
            ; =>*from
            ; cmp DWORD [Rq(part.register) + part.distance], NONE
            ; jne =>alone.from
            ; mov rcx, [r12 + native]
            ; lea rdi, [r13 + lane(input.to, 0)]
            ; mov DWORD [BYTE rdi + LANE_WIDE], ready(Slot::leaf(Type::F64, false), false)
            ; mov [BYTE rdi + LANE_WORD], rcx
            ; mov [BYTE rdi + LANE_FACTS], rdi
            ; vmovq xmm0, rcx
            // With what it is off by, which is nothing: both are read at once, and then the CPU would wait.
            ; vmovupd [rdi], xmm0
            ; mov [BYTE rdi + LANE_BITS], rcx
            ; mov QWORD [BYTE rdi + LANE_PART], NONE
            ; jmp =>*back
        );
    }
}
