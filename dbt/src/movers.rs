//! Functions of the C library that move the program's numbers about: where their code is. It is looked at, unlike the rest of the
//! library's, so that what they move takes its shadows along.

use fpgrind_wrappers::moves_elements;
use gimli::{BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, ParsedEhFrameHdr, UnwindSection};
use iced_x86::{Decoder, DecoderOptions, FlowControl};
use object::{Object, ObjectSection, ObjectSymbol};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Their code and that of the helpers which they call, in the file's own addressing. Helpers are nobody else's: what others can call by
/// its name is a function of its own.
pub fn moving_code(file: &object::File) -> Vec<Range<u64>> {
    let symbols = || file.dynamic_symbols().chain(file.symbols()).filter(|symbol| !symbol.is_undefined());
    let moves = |symbol: &object::Symbol| symbol.name().is_ok_and(moves_elements);
    let mut pending: Vec<u64> = symbols().filter(moves).map(|symbol| symbol.address()).collect();
    let mut found: Vec<Range<u64>> = Vec::new();
    if pending.is_empty() {
        return found;
    }
    let public: FxHashSet<u64> = symbols().filter(|symbol| !symbol.is_local()).map(|symbol| symbol.address()).collect();
    // The library has names of its helpers only where it is part of an executable, and the index only where it is not.
    let sizes: FxHashMap<u64, u64> = symbols().map(|symbol| (symbol.address(), symbol.size())).collect();
    let functions = Functions::of(file);
    while let Some(start) = pending.pop() {
        let indexed = || functions.as_ref()?.size(start);
        let Some(size) = sizes.get(&start).copied().filter(|size| *size > 0).or_else(indexed) else { continue };
        let function = start..start.saturating_add(size);
        if !found.contains(&function) {
            pending.extend(called(file, &function).into_iter().filter(|target| !public.contains(target)));
            found.push(function);
        }
    }
    found
}

/// Where the calls in this code lead that are direct.
fn called(file: &object::File, code: &Range<u64>) -> Vec<u64> {
    let bytes = file.sections().find_map(|section| section.data_range(code.start, code.end - code.start).ok()?);
    let decoder = Decoder::with_ip(64, bytes.unwrap_or_default(), code.start, DecoderOptions::NONE);
    let calls = decoder.into_iter().filter(|instr| instr.flow_control() == FlowControl::Call);
    calls.map(|instr| instr.near_branch_target()).collect()
}

/// How long functions are, by the tables that compilers leave for exceptions.
struct Functions<'a> {
    index: ParsedEhFrameHdr<EndianSlice<'a, LittleEndian>>,
    frames: EhFrame<EndianSlice<'a, LittleEndian>>,
    bases: BaseAddresses,
}

impl<'a> Functions<'a> {
    fn of(file: &object::File<'a>) -> Option<Functions<'a>> {
        let [index, frames] = [".eh_frame_hdr", ".eh_frame"].map(|name| file.section_by_name(name));
        let (index, frames) = (index?, frames?);
        let bases = BaseAddresses::default().set_eh_frame_hdr(index.address()).set_eh_frame(frames.address());
        let index = EhFrameHdr::new(index.data().ok()?, LittleEndian).parse(&bases, 8).ok()?;
        Some(Functions { index, frames: EhFrame::new(frames.data().ok()?, LittleEndian), bases })
    }

    /// The length of the function that begins here.
    fn size(&self, address: u64) -> Option<u64> {
        let table = self.index.table()?;
        let found = table.fde_for_address(&self.frames, &self.bases, address, EhFrame::cie_from_offset).ok()?;
        (found.initial_address() == address).then(|| found.len())
    }
}
