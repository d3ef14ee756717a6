//! Modules: the ELF files whose code the guest runs, and the functions in them that mean something to us.

use crate::guest::Mapping;
use fpgrind_analysis::log::Module;
use fpgrind_wrappers::{Wrapper, is_quiet_module, wrapper};
use object::elf::STT_GNU_IFUNC;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolFlags};
use rustc_hash::FxHashMap;

/// What is at a function's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Wrapped(Wrapper),
    /// An IFUNC resolver: the function it returns is the one that is wrapped. In glibc nearly all of libm is reached so.
    Resolver(Wrapper),
}

#[derive(Default)]
pub struct Modules {
    loaded: Vec<Loaded>,
    functions: FxHashMap<u64, Function>,
}

struct Loaded {
    start: u64,
    end: u64,
    quiet: bool,
}

impl Modules {
    /// Does the code at this address run without leaving records?
    pub fn is_quiet(&self, pc: u64) -> bool {
        self.loaded.iter().any(|module| module.quiet && (module.start..module.end).contains(&pc))
    }

    pub fn knows(&self, pc: u64) -> bool {
        self.loaded.iter().any(|module| (module.start..module.end).contains(&pc))
    }

    pub fn function(&self, pc: u64) -> Option<Function> {
        self.functions.get(&pc).copied()
    }

    /// A resolver chose this implementation.
    pub fn resolved(&mut self, pc: u64, wrapper: Wrapper) {
        self.functions.insert(pc, Function::Wrapped(wrapper));
    }

    /// Memory in this range is no longer what it was.
    pub fn forget(&mut self, start: u64, end: u64) {
        self.loaded.retain(|module| module.end <= start || end <= module.start);
        self.functions.retain(|pc, _| !(start..end).contains(pc));
    }

    /// Learns what a mapping of code is, and if need be what its functions are. A file that cannot be read or understood is a
    /// module without names.
    pub fn load(&mut self, mapping: &Mapping, functions: bool) -> Module {
        let quiet = is_quiet_module(&mapping.name);
        self.loaded.push(Loaded { start: mapping.start, end: mapping.end, quiet });
        let mut module = Module {
            path: mapping.name.clone(),
            start: mapping.start,
            end: mapping.end,
            bias: mapping.start - mapping.offset.min(mapping.start),
        };
        if !functions {
            return module;
        }
        let Ok(opened) = std::fs::File::open(&mapping.name) else { return module };
        // SAFETY: if somebody truncates the file meanwhile we are killed, as the guest that executes it would be.
        let Ok(data) = (unsafe { memmap2::Mmap::map(&opened) }) else { return module };
        let Ok(file) = object::File::parse(&*data) else { return module };
        if let Some(bias) = bias(&file, mapping) {
            module.bias = bias;
        }
        // A dynamic executable's own `log` is as likely a logger as a logarithm: there the C library's functions are
        // in the C library. A static executable contains them.
        if quiet || file.dynamic_symbols().next().is_none() {
            self.find_functions(&file, &module);
        }
        module
    }

    fn find_functions(&mut self, file: &object::File, module: &Module) {
        for symbol in file.dynamic_symbols().chain(file.symbols()) {
            if symbol.is_undefined() {
                continue;
            }
            let address = symbol.address().wrapping_add(module.bias);
            let Some(wrapper) = symbol.name().ok().and_then(wrapper) else { continue };
            if !(module.start..module.end).contains(&address) {
                continue;
            }
            let indirect =
                matches!(symbol.flags(), SymbolFlags::Elf { st_info, .. } if st_info.st_type() == STT_GNU_IFUNC);
            let function = if indirect { Function::Resolver(wrapper) } else { Function::Wrapped(wrapper) };
            self.functions.insert(address, function);
        }
    }
}

/// What must be subtracted from an address to get the file's own: the segment that the mapping shows tells.
fn bias(file: &object::File, mapping: &Mapping) -> Option<u64> {
    file.segments().find_map(|segment| {
        let (offset, size) = segment.file_range();
        let first_page = offset & !0xfff;
        let shown = first_page <= mapping.offset && mapping.offset < offset + size;
        shown.then(|| mapping.start.wrapping_sub(mapping.offset).wrapping_sub(segment.address().wrapping_sub(offset)))
    })
}
