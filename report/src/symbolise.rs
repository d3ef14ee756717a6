//! From places in files to names and source lines.
//!
//! Lines come from debug information (`debug_files.rs` finds it); without any, the symbol table names the function; without that,
//! the module and the offset in it remain.

use crate::debug_files::DebugFolders;
use addr2line::Loader;
use fpgrind_analysis::{Findings, Location, SpotKind};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// What is at a place in the program, as far as that can be known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Where the code lay when it was first met.
    pub pc: u64,
    /// The file that the code came from.
    pub module: Option<PathBuf>,
    /// The address in that file's own addressing.
    pub address: u64,
    pub function: Option<String>,
    /// Bytes from the function's symbol to the address, where only symbols were found.
    pub function_offset: Option<u64>,
    pub file: Option<PathBuf>,
    pub line: Option<u32>,
    pub column: Option<u32>,
    /// Where the function's code stands instead of a call of it, from the inside out.
    pub inlined_into: Vec<Frame>,
    /// The same the other way: what the toolchain's headers do here, from the inside out.
    pub inlines: Vec<Frame>,
}

/// A function that another was inlined into, and where in it; or one that was, and where in it the code is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    pub function: Option<String>,
    pub file: Option<PathBuf>,
    pub line: Option<u32>,
    pub column: Option<u32>,
}

impl Frame {
    /// `f at plot.c:24`
    pub fn short(&self) -> String {
        let place = self.file.as_deref().map(|file| source_line(file, self.line));
        let parts = [self.function.as_deref().map(presentable), place];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" at ")
    }

    fn is_users(&self) -> bool {
        !self.file.iter().any(|file| TOOLCHAINS.iter().any(|toolchain| file.to_string_lossy().starts_with(toolchain)))
    }
}

impl Site {
    fn nameless(location: Location) -> Site {
        Site { pc: location.pc, ..Site::default() }
    }

    /// `csqrt (plot.c:24)`
    pub fn full(&self) -> String {
        match (self.function_and_offset(), self.source_line(), &self.module) {
            (Some(function), Some(line), _) => format!("{function} ({line})"),
            (Some(function), None, Some(module)) => format!("{function} ({})", file_name(module)),
            (Some(function), None, None) => function,
            (None, Some(line), _) => line,
            (None, None, _) => self.module_and_offset(),
        }
    }

    /// `plot.c:24`
    pub fn short(&self) -> String {
        self.source_line().or_else(|| self.function_and_offset()).unwrap_or_else(|| self.module_and_offset())
    }

    /// `inlined into f at plot.c:24, into main at plot.c:61`
    pub fn inlining(&self) -> Option<String> {
        let into: Vec<String> = self.inlined_into.iter().map(|frame| format!("into {}", frame.short())).collect();
        (!into.is_empty()).then(|| format!("inlined {}", into.join(", ")))
    }

    fn source_line(&self) -> Option<String> {
        Some(source_line(self.file.as_ref()?, self.line))
    }

    fn function_and_offset(&self) -> Option<String> {
        let function = presentable(self.function.as_deref()?);
        Some(match self.function_offset {
            Some(offset) => format!("{function}+{offset:#x}"),
            None => function,
        })
    }

    fn module_and_offset(&self) -> String {
        match &self.module {
            Some(module) => format!("{}+{:#x}", file_name(module), self.address),
            None => format!("{:#x}", self.pc),
        }
    }
}

fn source_line(file: &Path, line: Option<u32>) -> String {
    let file = file_name(file);
    match line {
        Some(line) => format!("{file}:{line}"),
        None => file,
    }
}

fn file_name(path: &Path) -> String {
    presentable(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
}

/// A name from a file that anybody may have made: no control characters reach the terminal, and a template's whole
/// expansion does not fill it.
fn presentable(name: &str) -> String {
    const MAX_NAME: usize = 80;
    let clean = |c: char| if c.is_control() { '?' } else { c };
    match name.char_indices().nth(MAX_NAME) {
        Some((at, _)) => name[..at].chars().map(clean).chain("...".chars()).collect(),
        None => name.chars().map(clean).collect(),
    }
}

/// The places that findings speak of. A location means one thing as an instruction and another as where a call
/// returns to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sites {
    pub instructions: FxHashMap<Location, Site>,
    pub returns: FxHashMap<Location, Site>,
}

impl Sites {
    pub fn of(findings: &Findings) -> Sites {
        Sites::with(findings, DebugFolders::of_environment())
    }

    /// The same, with debug information from these folders.
    pub fn with(findings: &Findings, folders: DebugFolders) -> Sites {
        let mut symboliser = Symboliser::new(&findings.files, folders);
        let mut sites = Sites::default();
        let causes = findings.causes.iter().map(|cause| cause.location);
        let failures = findings.check_failures.iter().map(|failure| failure.location);
        let accumulations = findings.spots.iter().flat_map(|spot| spot.accumulated_in.iter().copied());
        let steps = findings.causes.iter().flat_map(|cause| cause.steps.iter().filter_map(|step| step.location));
        let variables = findings.causes.iter().flat_map(|cause| &cause.variables);
        let carried = variables.filter_map(|variable| Some(variable.carried.as_ref()?.location));
        for location in causes.chain(failures).chain(accumulations).chain(steps).chain(carried) {
            sites.instructions.entry(location).or_insert_with(|| symboliser.instruction(location));
        }
        for spot in &findings.spots {
            let location = spot.location;
            match spot.kind {
                // An output spot is known by where the call returns to.
                SpotKind::Output { .. } => {
                    sites.returns.entry(location).or_insert_with(|| symboliser.call_before(location))
                }
                _ => sites.instructions.entry(location).or_insert_with(|| symboliser.instruction(location)),
            };
        }
        sites
    }

    pub fn instruction(&self, location: Location) -> Site {
        self.instructions.get(&location).cloned().unwrap_or(Site::nameless(location))
    }

    pub fn spot(&self, spot: &fpgrind_analysis::Spot) -> Site {
        match spot.kind {
            SpotKind::Output { .. } => {
                self.returns.get(&spot.location).cloned().unwrap_or(Site::nameless(spot.location))
            }
            _ => self.instruction(spot.location),
        }
    }
}

/// Looks locations up; each file is opened when the first location in it is asked for.
struct Symboliser<'a> {
    files: &'a [PathBuf],
    folders: DebugFolders,
    /// Best source first; empty if the file cannot be read.
    loaded: FxHashMap<&'a Path, Vec<Loader>>,
}

impl<'a> Symboliser<'a> {
    fn new(files: &'a [PathBuf], folders: DebugFolders) -> Symboliser<'a> {
        Symboliser { files, folders, loaded: FxHashMap::default() }
    }

    fn instruction(&mut self, location: Location) -> Site {
        self.look_up(location, location.address)
    }

    /// The call that returns to a location: the byte before belongs to it, while the location may begin another line, or
    /// another function.
    fn call_before(&mut self, location: Location) -> Site {
        self.look_up(location, location.address.wrapping_sub(1))
    }

    fn look_up(&mut self, location: Location, probe: u64) -> Site {
        let Some(file) = location.file.and_then(|file| self.files.get(file as usize)) else {
            return Site::nameless(location);
        };
        let mut site =
            Site { pc: location.pc, module: Some(file.clone()), address: location.address, ..Site::default() };
        let loaders = self.loaded.entry(file).or_insert_with(|| self.folders.load(file));
        if !loaders.iter().any(|loader| find_line(loader, probe, &mut site)) {
            loaders.iter().any(|loader| find_symbol(loader, probe, &mut site));
        }
        site
    }
}

/// Where toolchains keep the source of their own libraries: C and C++'s headers, Rust's and Go's code.
const TOOLCHAINS: &[&str] =
    &["/usr/include/", "/usr/lib/gcc/", "/usr/lib/llvm", "/rustc/", "/usr/lib/go", "/usr/share/go"];

/// Fills in function and line from debug information. Of functions inlined into one another it is the innermost whose source is the
/// user's: what a header of the toolchain does is done where it is used.
fn find_line(loader: &Loader, probe: u64, site: &mut Site) -> bool {
    let mut frames = frames_at(loader, probe);
    let own = frames.iter().position(Frame::is_users).unwrap_or(0);
    if own == frames.len() {
        return false;
    }
    site.inlined_into = frames.split_off(own + 1);
    let Frame { function, file, line, column } = frames.remove(own);
    (site.function, site.file, site.line, site.column) = (function, file, line, column);
    site.inlines = frames;
    true
}

/// The functions that the code at an address is of, those first that are inlined into the next.
fn frames_at(loader: &Loader, probe: u64) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    if let Ok(mut found) = loader.find_frames(probe) {
        while let Ok(Some(found)) = found.next() {
            let function = found.function.and_then(|function| Some(demangled(&function.raw_name().ok()?)));
            frames.extend(found.location.and_then(|location| frame(function, location)));
        }
    }
    // A symbol's code is that of the function that all others are inlined into.
    if let Some(outermost) = frames.last_mut().filter(|frame| frame.function.is_none()) {
        outermost.function = loader.find_symbol(probe).map(demangled);
    }
    frames
}

fn frame(function: Option<String>, location: addr2line::Location<'_>) -> Option<Frame> {
    // Line 0 marks code that belongs to no line (DWARF 5, 6.2.2), column 0 a whole line.
    let line = location.line.filter(|line| *line != 0);
    let column = location.column.filter(|column| *column != 0 && line.is_some());
    Some(Frame { function, file: Some(location.file?.into()), line, column })
}

fn find_symbol(loader: &Loader, probe: u64, site: &mut Site) -> bool {
    let Some(symbol) = loader.find_symbol_info(probe) else { return false };
    site.function = Some(demangled(symbol.name()));
    site.function_offset = Some(site.address.wrapping_sub(symbol.address()));
    true
}

/// Only what begins like a mangled name is one: a C++ function called `d` is not a `double`.
pub(crate) fn demangled(name: &str) -> String {
    if !name.starts_with('_') {
        return name.to_owned();
    }
    addr2line::demangle_auto(Cow::Borrowed(name), None).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_presentable_whatever_a_file_calls_them() {
        let site = Site { function: Some("\u{1b}[31mred\n".into()), line: Some(3), ..Site::default() };
        assert_eq!(Site { file: Some("a\tb.c".into()), ..site.clone() }.full(), "?[31mred? (a?b.c:3)");
        let outer = Frame { function: site.function.clone(), file: Some("a\tb.c".into()), ..Frame::default() };
        let inlined = Site { inlined_into: vec![outer], ..site };
        assert_eq!(inlined.inlining().as_deref(), Some("inlined into ?[31mred? at a?b.c"));
        let long = Site { function: Some("é".repeat(500)), ..Site::default() };
        assert_eq!(long.full().chars().count(), 83);
    }

    #[test]
    fn what_is_known_is_shown_and_no_more() {
        let site = Site { pc: 0x40_1139, ..Site::default() };
        assert_eq!(site.full(), "0x401139");
        let site = Site { module: Some("/opt/lib/libx.so.1".into()), address: 0x1139, ..site };
        assert_eq!((site.full().as_str(), site.short().as_str()), ("libx.so.1+0x1139", "libx.so.1+0x1139"));
        let site = Site { function: Some("f".into()), function_offset: Some(9), ..site };
        assert_eq!((site.full().as_str(), site.short().as_str()), ("f+0x9 (libx.so.1)", "f+0x9"));
        let site = Site { function_offset: None, file: Some("/src/x.c".into()), line: Some(7), ..site };
        assert_eq!((site.full().as_str(), site.short().as_str()), ("f (x.c:7)", "x.c:7"));
        assert_eq!(Site { function: None, line: None, ..site }.full(), "x.c");
    }

    #[test]
    fn one_address_in_two_files_is_two_places() {
        let files = ["first.so".into(), "second.so".into()];
        let at = |file| Location { file, address: 0x139, pc: 0x1139 };
        let mut symboliser = Symboliser::new(&files, DebugFolders::new([]));
        let [first, second, neither, unknown] =
            [Some(0), Some(1), None, Some(2)].map(|file| symboliser.instruction(at(file)).full());
        assert_eq!((first.as_str(), second.as_str()), ("first.so+0x139", "second.so+0x139"));
        assert_eq!((neither.as_str(), unknown.as_str()), ("0x1139", "0x1139"));
    }
}
