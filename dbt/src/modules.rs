//! Modules: the ELF files whose code the guest runs, and the functions in them that mean something to us.

use crate::guest::Mapping;
use crate::movers::moving_code;
use crate::translate::Logging;
use fpgrind_analysis::log::Module;
use fpgrind_wrappers::{
    Named, Wrapper, foreign_output, is_extension, is_go_runtime_function, is_math_module, is_quiet_module, is_reserved,
    wrapper,
};
use object::elf::STT_GNU_IFUNC;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolFlags};
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// What is at a function's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Wrapped(Wrapper),
    /// An IFUNC resolver: the function it returns is the one that is wrapped. In glibc nearly all of libm is reached so.
    Resolver(Wrapper),
}

/// Which functions are looked for.
struct Found {
    only_reserved: bool,
    /// The program's own functions are beside the library's.
    is_static: bool,
    is_go: bool,
    inside_math: bool,
    named: Option<&'static Named>,
}

impl Found {
    /// What the function with this name is; what the user says comes first. A library's names give way to others'.
    fn wrapper(&self, name: &str, gives_way: bool) -> Option<Wrapper> {
        self.named.and_then(|named| named.symbol(name)).or_else(|| {
            let is_others = !self.is_go && is_go_runtime_function(name);
            let known = match self.only_reserved && !is_reserved(name) {
                _ if is_others => None,
                true => foreign_output(name).map(Wrapper::Output),
                false if self.is_static && is_extension(name) && !gives_way => None,
                false => wrapper(name),
            };
            known.filter(|wrapper| !(self.inside_math && matches!(wrapper, Wrapper::Math(_))))
        })
    }
}

#[derive(Clone, Default)]
pub struct Modules {
    /// By start; they do not overlap.
    loaded: BTreeMap<u64, Loaded>,
    /// The one that was last asked for, and its start: most often it is the next as well.
    last: Cell<Option<(u64, Loaded)>>,
    functions: FxHashMap<u64, Function>,
    /// Code of the C library that moves the program's numbers about. It leaves records.
    moving: Vec<Range<u64>>,
    /// By start: the file, and what must be subtracted from an address to get the file's own.
    files: BTreeMap<u64, (Arc<Path>, u64)>,
    /// Code that does nothing but lead to other modules'.
    linkage: Vec<Range<u64>>,
}

/// A mapping of code.
#[derive(Clone, Copy, Debug)]
pub struct Loaded {
    pub end: u64,
    /// Runs without leaving records.
    pub quiet: bool,
    /// May change without a system call.
    pub volatile: bool,
}

impl Modules {
    pub fn at(&self, pc: u64) -> Option<Loaded> {
        let found = self.last.get().filter(|(start, loaded)| (*start..loaded.end).contains(&pc)).or_else(|| {
            let (start, loaded) = self.loaded.range(..=pc).next_back()?;
            (pc < loaded.end).then_some((*start, *loaded))
        })?;
        self.last.set(Some(found));
        Some(found.1)
    }

    /// Is code known in this range?
    pub fn touches(&self, memory: &Range<u64>) -> bool {
        self.loaded.range(..memory.end).next_back().is_some_and(|(_, loaded)| memory.start < loaded.end)
    }

    /// Is this code of the C library that moves the program's numbers about?
    pub fn is_moving(&self, pc: u64) -> bool {
        self.moving.iter().any(|code| code.contains(&pc))
    }

    pub fn function(&self, pc: u64) -> Option<Function> {
        self.functions.get(&pc).copied()
    }

    /// A resolver chose this implementation.
    pub fn resolved(&mut self, pc: u64, wrapper: Wrapper) {
        self.functions.insert(pc, Function::Wrapped(wrapper));
    }

    /// Memory in this range is no longer what it was.
    pub fn forget(&mut self, memory: &Range<u64>) {
        self.last.set(None);
        self.loaded.retain(|start, loaded| loaded.end <= memory.start || memory.end <= *start);
        self.functions.retain(|pc, _| !memory.contains(pc));
        self.moving.retain(|code| code.end <= memory.start || memory.end <= code.start);
        self.files.retain(|start, _| self.loaded.contains_key(start));
        self.linkage.retain(|range| range.end <= memory.start || memory.end <= range.start);
    }

    /// Learns what a mapping of code is, and if something is logged what its functions are. A file that cannot be read or understood is a
    /// module without names.
    pub fn load(&mut self, mapping: &Mapping, logging: Option<Logging>) -> Module {
        let inside_math = logging.is_some_and(|logging| logging.inside_math);
        let quiet = is_quiet_module(&mapping.name) && !(inside_math && is_math_module(&mapping.name));
        self.forget(&(mapping.start..mapping.end));
        let volatile = !mapping.is_stable_code();
        self.loaded.insert(mapping.start, Loaded { end: mapping.end, quiet, volatile });
        let mut module = Module {
            path: mapping.name.clone(),
            start: mapping.start,
            end: mapping.end,
            bias: mapping.start - mapping.offset.min(mapping.start),
        };
        if logging.is_none() || !mapping.is_file() {
            return module;
        }
        let Ok(opened) = std::fs::File::open(&mapping.name) else { return module };
        // SAFETY: if somebody truncates the file meanwhile we are killed, as the guest that executes it would be.
        let Ok(data) = (unsafe { memmap2::Mmap::map(&opened) }) else { return module };
        let Ok(file) = object::File::parse(&*data) else { return module };
        if let Some(bias) = bias(&file, mapping) {
            module.bias = bias;
        }
        self.files.insert(mapping.start, (mapping.name.as_path().into(), module.bias));
        self.find_linkage(&file, &module);
        // A dynamic executable's own `log` is as likely a logger as a logarithm: there the C library's functions are
        // in the C library, and only names that compilers keep for themselves mean something. A static executable contains them.
        let is_static = !quiet && file.dynamic_symbols().next().is_none();
        let only_reserved = !quiet && !is_static;
        if !only_reserved {
            let placed = |code: Range<u64>| code.start.wrapping_add(module.bias)..code.end.wrapping_add(module.bias);
            self.moving.extend(moving_code(&file).into_iter().map(placed));
        }
        let named = logging.and_then(|logging| logging.named);
        self.find_functions(
            &file,
            &module,
            Found { only_reserved, is_static, is_go: is_go(&file), inside_math, named },
        );
        for (address, wrapper) in named.into_iter().flat_map(|named| named.addresses(&module.path)) {
            let address = address.wrapping_add(module.bias);
            if (module.start..module.end).contains(&address) {
                self.functions.insert(address, Function::Wrapped(wrapper));
            }
        }
        module
    }

    /// The procedure linkage table: `.plt`, `.plt.sec`, `.plt.got`, `.iplt`.
    fn find_linkage(&mut self, file: &object::File, module: &Module) {
        for section in file.sections() {
            if section.name().is_ok_and(|name| name.starts_with(".plt") || name == ".iplt") {
                let start = section.address().wrapping_add(module.bias);
                self.linkage.push(start..start.saturating_add(section.size()));
            }
        }
    }

    /// Does the code here do nothing but lead to another module's?
    pub fn is_linkage(&self, pc: u64) -> bool {
        self.linkage.iter().any(|range| range.contains(&pc))
    }

    /// The file that the code here is from, and the address in the file's own addressing.
    pub fn origin(&self, pc: u64) -> Option<(Arc<Path>, u64)> {
        let (start, (file, bias)) = self.files.range(..=pc).next_back()?;
        let loaded = self.loaded.get(start).filter(|loaded| pc < loaded.end);
        loaded.map(|_| (file.clone(), pc.wrapping_sub(*bias)))
    }

    fn find_functions(&mut self, file: &object::File, module: &Module, found: Found) {
        for symbol in file.dynamic_symbols().chain(file.symbols()) {
            if symbol.is_undefined() {
                continue;
            }
            let address = symbol.address().wrapping_add(module.bias);
            let Ok(name) = symbol.name() else { continue };
            let indirect =
                matches!(symbol.flags(), SymbolFlags::Elf { st_info, .. } if st_info.st_type() == STT_GNU_IFUNC);
            let Some(wrapper) = found.wrapper(name, symbol.is_weak() || indirect) else { continue };
            if !(module.start..module.end).contains(&address) {
                continue;
            }
            let function = if indirect { Function::Resolver(wrapper) } else { Function::Wrapped(wrapper) };
            self.functions.insert(address, function);
        }
    }
}

/// Is it a program in Go, of a version that passes arguments in registers? (Those before 1.17 did not tell the two conventions apart.)
pub fn is_go(file: &object::File) -> bool {
    let is_new = |symbol: object::Symbol| symbol.name() == Ok("runtime.morestack_noctxt.abi0");
    file.section_by_name(".gopclntab").is_some() && file.symbols().any(is_new)
}

/// What must be subtracted from an address to get the file's own: the segment that the mapping shows tells.
pub fn bias(file: &object::File, mapping: &Mapping) -> Option<u64> {
    file.segments().find_map(|segment| {
        let (offset, size) = segment.file_range();
        let first_page = offset & !0xfff;
        // Linkers may put the end of one segment and the beginning of the next on one page of the file. The mapping is of code.
        let is_code = segment.permissions().executable();
        let shown = is_code && first_page <= mapping.offset && mapping.offset < offset + size;
        shown.then(|| mapping.start.wrapping_sub(mapping.offset).wrapping_sub(segment.address().wrapping_sub(offset)))
    })
}
