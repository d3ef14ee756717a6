//! Code that the user wants analysed, by the names that debug information and symbols give it.

use crate::debug_files::DebugFolders;
use crate::patterns::{function_fits, path_fits};
use crate::symbolise::demangled;
use addr2line::Loader;
use rustc_hash::FxHashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// `solve*`, or `function:solve*`, `file:*.f90`, `module:libvendor.so*`.
#[derive(Debug)]
pub struct Pattern {
    /// As the user wrote it.
    text: String,
    field: Option<Field>,
    glob: String,
    fitted: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Function,
    File,
    Module,
}

const FIELDS: [(&str, Field); 3] = [("function:", Field::Function), ("file:", Field::File), ("module:", Field::Module)];

impl Pattern {
    /// Without a field it may be a function, a file or a module.
    pub fn new(text: &str) -> Pattern {
        let known = FIELDS.iter().find_map(|(name, field)| Some((*field, text.strip_prefix(name)?)));
        let (field, glob) = known.map_or((None, text), |(field, glob)| (Some(field), glob));
        Pattern { text: text.into(), field, glob: glob.into(), fitted: AtomicBool::new(false) }
    }

    fn fits(&self, module: Option<&Path>, code: &Code) -> bool {
        let wants = |field| self.field.is_none_or(|wanted| wanted == field);
        let fits = wants(Field::Function) && code.functions.iter().any(|function| function_fits(&self.glob, function))
            || wants(Field::File) && code.files.iter().any(|file| path_fits(&self.glob, file))
            || wants(Field::Module) && module.is_some_and(|module| path_fits(&self.glob, module));
        if fits {
            self.fitted.store(true, Ordering::Relaxed);
        }
        fits
    }
}

/// What is known of an instruction. Inlined code is both its own function's and that of those that it is inlined into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Code {
    functions: Vec<String>,
    files: Vec<PathBuf>,
    /// A function begins here.
    is_entry: bool,
}

pub struct Selection {
    only: Vec<Pattern>,
    exclude: Vec<Pattern>,
    start_at: Vec<Pattern>,
    stop_at: Vec<Pattern>,
    /// The files that were asked about, and their readers: best first.
    loaded: Mutex<FxHashMap<PathBuf, Vec<Loader>>>,
}

impl fmt::Debug for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.patterns().map(|(option, pattern)| (option, &pattern.text))).finish()
    }
}

impl Selection {
    pub fn new([only, exclude, start_at, stop_at]: [&[String]; 4]) -> Selection {
        let patterns = |texts: &[String]| texts.iter().map(|text| Pattern::new(text)).collect();
        Selection {
            only: patterns(only),
            exclude: patterns(exclude),
            start_at: patterns(start_at),
            stop_at: patterns(stop_at),
            loaded: Mutex::default(),
        }
    }

    /// Is this code to be analysed?
    pub fn includes(&self, module: Option<&Path>, address: u64) -> bool {
        if self.only.is_empty() && self.exclude.is_empty() {
            return true;
        }
        let code = self.code(module, address);
        (self.only.is_empty() || any(&self.only, module, &code)) && !any(&self.exclude, module, &code)
    }

    /// Is nothing analysed until a function is entered?
    pub fn begins_outside(&self) -> bool {
        !self.start_at.is_empty()
    }

    /// Is a function entered here with which the analysis begins?
    pub fn begins_with(&self, module: Option<&Path>, address: u64) -> bool {
        self.enters(&self.start_at, module, address)
    }

    pub fn ends_with(&self, module: Option<&Path>, address: u64) -> bool {
        self.enters(&self.stop_at, module, address)
    }

    fn enters(&self, patterns: &[Pattern], module: Option<&Path>, address: u64) -> bool {
        if patterns.is_empty() {
            return false;
        }
        let code = self.code(module, address);
        code.is_entry && any(patterns, module, &code)
    }

    /// What to keep in mind of the report: a sentence each.
    pub fn remarks(&self) -> Vec<String> {
        let shown: Vec<String> =
            self.patterns().map(|(option, pattern)| format!("{option} {}", pattern.text)).collect();
        let partial = format!(
            "part of the program was analysed ({}); what the rest computed was taken for right",
            shown.join(" ")
        );
        std::iter::once(partial).chain(self.unfitted()).collect()
    }

    /// A sentence if there are patterns that nothing fitted.
    fn unfitted(&self) -> Option<String> {
        let unfitted = self.patterns().filter(|(_, pattern)| !pattern.fitted.load(Ordering::Relaxed));
        let shown: Vec<String> = unfitted.map(|(option, pattern)| format!("{option} {}", pattern.text)).collect();
        let sentence = "no code that ran fits";
        (!shown.is_empty()).then(|| format!("{sentence} {}: look for a typing error", shown.join(" or ")))
    }

    fn patterns(&self) -> impl Iterator<Item = (&'static str, &Pattern)> {
        let of = |option, patterns: &'_ [Pattern]| std::iter::repeat_n(option, patterns.len());
        let options = of("--only", &self.only)
            .chain(of("--exclude", &self.exclude))
            .chain(of("--start-at", &self.start_at))
            .chain(of("--stop-at", &self.stop_at));
        options.zip(self.only.iter().chain(&self.exclude).chain(&self.start_at).chain(&self.stop_at))
    }

    fn code(&self, module: Option<&Path>, address: u64) -> Code {
        let Some(module) = module else { return Code::default() };
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if !loaded.contains_key(module) {
            loaded.insert(module.into(), DebugFolders::of_environment().load(module));
        }
        let mut code = Code::default();
        for loader in loaded.get(module).into_iter().flatten() {
            code.add_frames(loader, address);
            if let Some(symbol) = loader.find_symbol_info(address) {
                code.is_entry |= symbol.address() == address;
                code.functions.push(demangled(symbol.name()));
            }
        }
        code
    }
}

impl Code {
    fn add_frames(&mut self, loader: &Loader, address: u64) {
        let Ok(mut frames) = loader.find_frames(address) else { return };
        while let Ok(Some(frame)) = frames.next() {
            self.functions.extend(frame.function.and_then(|function| Some(demangled(&function.raw_name().ok()?))));
            self.files.extend(frame.location.and_then(|location| location.file).map(PathBuf::from));
        }
    }
}

/// All are tried, so that what fits is known of each.
fn any(patterns: &[Pattern], module: Option<&Path>, code: &Code) -> bool {
    patterns.iter().filter(|pattern| pattern.fits(module, code)).count() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str) -> bool {
        let code = Code {
            functions: vec!["geometry::area(double)".into(), "main".into()],
            files: vec!["/home/u/src/area.cc".into()],
            is_entry: false,
        };
        Pattern::new(pattern).fits(Some(Path::new("/opt/lib/libshape.so.1")), &code)
    }

    #[test]
    fn a_pattern_is_of_functions_files_and_modules_unless_it_says_which() {
        for pattern in ["geometry::*", "main", "*area", "area.cc", "src/*.cc", "libshape.so*", "/opt/*"] {
            assert!(fits(pattern), "{pattern}");
        }
        for pattern in ["function:main", "function:geometry::area", "file:area.cc", "module:libshape*"] {
            assert!(fits(pattern), "{pattern}");
        }
        for pattern in ["mai", "area", "rea.cc", "file:main", "module:main", "function:area.cc", "module:*.cc", ""] {
            assert!(!fits(pattern), "{pattern}");
        }
    }

    #[test]
    fn patterns_that_fit_nothing_are_told() {
        let texts = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let selection = Selection::new([&texts(&["a", "module:b"]), &[], &[], &texts(&["c"])]);
        assert!(selection.includes(Some(Path::new("/b")), 0));
        let sentence = selection.unfitted().expect("two have not fitted");
        assert!(sentence.contains("--only a or --stop-at c") && !sentence.contains("module:b"), "{sentence}");
    }
}
