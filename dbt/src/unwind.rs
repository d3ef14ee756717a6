//! Who called: the frames above a call, by the tables that compilers leave for exceptions (.eh_frame), or in Go by the frame pointers that all
//! its functions keep. Those of libraries of languages are passed over.

use crate::guest::{Guest, Mapping};
use crate::modules::{bias, is_go};
use fpgrind_wrappers::{is_go_runtime_function, is_runtime_function, is_runtime_module, is_static_writer};
use gimli::{BaseAddresses, CfaRule, CieOrFde, EhFrame, EhFrameOffset, EndianSlice, LittleEndian};
use gimli::{RegisterRule, UnwindContext, UnwindSection};
use memmap2::Mmap;
use object::{Object, ObjectSection, ObjectSymbol};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Frames that are looked at before giving up.
const MAX_FRAMES: usize = 64;

const RSP: usize = 4;
const RBP: usize = 5;
/// General registers by their numbers in the tables (System V ABI, figure 3.36), in the hardware's numbering.
const GENERAL: [usize; 16] = [0, 2, 1, 3, 6, 7, RBP, RSP, 8, 9, 10, 11, 12, 13, 14, 15];
const RETURN_ADDRESS: u16 = 16;

#[derive(Default)]
pub struct Unwinder {
    files: FxHashMap<PathBuf, Option<Tables>>,
    context: UnwindContext<usize>,
}

/// A file's tables, and where they are in its own addressing.
struct Tables {
    data: Mmap,
    /// None of a program in Go.
    frames: Option<(Range<usize>, u64)>,
    /// Where in them each function is described, by where it begins, once somebody has asked. (Static executables lack the index that
    /// files have of their own.)
    functions: OnceCell<Vec<(u64, EhFrameOffset)>>,
    /// Where functions are that belong to a language, in order. They are looked for in modules that do not.
    runtime: Vec<Range<u64>>,
}

/// A function that has been called and has not returned: where it goes on, and its registers.
#[derive(Clone, Copy)]
struct Frame {
    pc: u64,
    gpr: [u64; 16],
}

impl Unwinder {
    /// The return address of the innermost call that the program's own code has made, when a function is entered with these registers. The
    /// direct caller's if that cannot be told: never another's. The same of a function that has got to the address `inside`.
    pub fn caller(
        &mut self,
        gpr: &[u64; 16],
        inside: Option<u64>,
        guest: &Guest,
        mut mapping_of: impl FnMut(u64) -> Option<Mapping>,
    ) -> u64 {
        let mut frame = Frame { pc: inside.unwrap_or(0), gpr: *gpr };
        if inside.is_none() {
            let Some(direct) = guest.read_u64(gpr[RSP]) else { return 0 };
            frame.pc = direct;
            frame.gpr[RSP] = frame.gpr[RSP].wrapping_add(8);
        }
        let direct = frame.pc;
        for _ in 0..MAX_FRAMES {
            // The call itself lies before where it returns to.
            let Some(mapping) = mapping_of(frame.pc.wrapping_sub(1)) else { break };
            let tables = self.files.entry(mapping.name.clone()).or_insert_with(|| Tables::read(&mapping.name));
            let at = tables.as_ref().and_then(|tables| tables.address(&mapping, frame.pc.wrapping_sub(1)));
            let (Some(tables), Some(at)) = (tables, at) else { return frame.pc };
            if !is_runtime_module(&mapping.name) && !tables.is_runtimes(at) {
                return frame.pc;
            }
            match tables.above(&frame, at, guest, &mut self.context) {
                Some(above) if above.gpr[RSP] > frame.gpr[RSP] => frame = above,
                _ => break,
            }
        }
        direct
    }
}

/// The frame that called this one, where each keeps a pointer to where its caller's is saved, with the return address behind it.
fn by_frame_pointer(frame: &Frame, guest: &Guest) -> Option<Frame> {
    let base = frame.gpr[RBP];
    let mut above = Frame { pc: guest.read_u64(base.wrapping_add(8))?, gpr: frame.gpr };
    above.gpr[RBP] = guest.read_u64(base)?;
    above.gpr[RSP] = base.wrapping_add(16);
    Some(above)
}

fn functions(frames: &EhFrame<EndianSlice<LittleEndian>>, bases: &BaseAddresses) -> Vec<(u64, EhFrameOffset)> {
    let mut functions = Vec::new();
    let mut entries = frames.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(fde) = partial.parse(EhFrame::cie_from_offset) else { break };
        functions.push((fde.initial_address(), EhFrameOffset(fde.offset())));
    }
    functions.sort_unstable_by_key(|(start, _)| *start);
    functions
}

impl Tables {
    fn read(path: &Path) -> Option<Tables> {
        let opened = std::fs::File::open(path).ok()?;
        // SAFETY: if somebody truncates the file meanwhile we are killed, as the guest that executes it would be.
        let data = unsafe { Mmap::map(&opened) }.ok()?;
        let file = object::File::parse(&*data).ok()?;
        let is_go = is_go(&file);
        let frames = if is_go {
            None
        } else {
            let section = file.section_by_name(".eh_frame")?;
            let (start, size) = section.file_range()?;
            let start = usize::try_from(start).ok()?;
            Some((start..start.checked_add(usize::try_from(size).ok()?)?, section.address()))
        };
        let is_static = file.dynamic_symbols().next().is_none();
        let of_runtime = |symbol: &object::Symbol| {
            let known = |name| match is_go {
                true => is_go_runtime_function(name),
                false => is_runtime_function(name) || is_static && is_static_writer(name),
            };
            symbol.name().is_ok_and(known) && symbol.size() > 0
        };
        let range = |symbol: object::Symbol| symbol.address()..symbol.address().saturating_add(symbol.size());
        let mut runtime: Vec<Range<u64>> = match is_runtime_module(path) {
            true => Vec::new(),
            false => file.symbols().filter(of_runtime).map(range).collect(),
        };
        runtime.sort_unstable_by_key(|range| range.start);
        drop(file);
        Some(Tables { data, frames, functions: OnceCell::new(), runtime })
    }

    /// An address in the guest in the file's own addressing.
    fn address(&self, mapping: &Mapping, address: u64) -> Option<u64> {
        Some(address.wrapping_sub(bias(&object::File::parse(&*self.data).ok()?, mapping)?))
    }

    /// The frame that called this one, whose call is at `pc` in the file's own addressing.
    fn above(&self, frame: &Frame, pc: u64, guest: &Guest, context: &mut UnwindContext<usize>) -> Option<Frame> {
        let Some((section, address)) = &self.frames else { return by_frame_pointer(frame, guest) };
        let bases = BaseAddresses::default().set_eh_frame(*address);
        let frames = EhFrame::new(self.data.get(section.clone())?, LittleEndian);
        let functions = self.functions.get_or_init(|| functions(&frames, &bases));
        let behind = functions.partition_point(|(start, _)| *start <= pc);
        let (_, offset) = functions.get(behind.checked_sub(1)?)?;
        let fde = frames.fde_from_offset(&bases, *offset, EhFrame::cie_from_offset).ok()?;
        if !fde.contains(pc) {
            return None;
        }
        let row = fde.unwind_info_for_address(&frames, &bases, context, pc).ok()?;
        let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else { return None };
        let base = frame.gpr[*GENERAL.get(register.0 as usize)?].wrapping_add_signed(*offset);
        let saved = |rule: &RegisterRule<usize>| match rule {
            RegisterRule::Offset(offset) => guest.read_u64(base.wrapping_add_signed(*offset)),
            _ => None,
        };
        let mut above = Frame { pc: saved(&row.register(gimli::Register(RETURN_ADDRESS))?)?, gpr: frame.gpr };
        above.gpr[RSP] = base;
        for (register, rule) in row.registers().filter(|(register, _)| register.0 != RETURN_ADDRESS) {
            if matches!(rule, RegisterRule::SameValue) {
                continue;
            }
            above.gpr[*GENERAL.get(register.0 as usize)?] = saved(rule)?;
        }
        Some(above)
    }

    fn is_runtimes(&self, address: u64) -> bool {
        let behind = self.runtime.partition_point(|range| range.start <= address);
        behind > 0 && self.runtime[behind - 1].contains(&address)
    }
}
