//! `fpgrind isa [MNEMONIC]`: how much of the instruction set fpgrind understands, computed from the frontend's tables.

use fpgrind_frontend_x86::{Coverage, coverage};
use iced_x86::{Code, EncodingKind};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;

pub const NAME: &str = "isa";

pub fn tell(arguments: &[OsString]) -> Result<String, String> {
    match arguments {
        [] => Ok(summary()),
        [mnemonic] => of_mnemonic(&mnemonic.to_string_lossy()),
        _ => Err(format!("usage: fpgrind {NAME} [MNEMONIC]; a program named {NAME} is run as ./{NAME}")),
    }
}

/// Encodings by what becomes of floats in them.
#[derive(Default)]
struct Counts {
    lifted: usize,
    leaves: usize,
    dropped: usize,
    missing: usize,
}

impl Counts {
    fn add(&mut self, coverage: Coverage) {
        match coverage {
            Coverage::Lifted => self.lifted += 1,
            Coverage::Leaf(_) => self.leaves += 1,
            Coverage::Dropped(_) => self.dropped += 1,
            Coverage::Missing => self.missing += 1,
            Coverage::Irrelevant => {}
        }
    }

    fn line(&self, name: &str) -> String {
        let Counts { lifted, leaves, dropped, missing } = self;
        format!("{name:<28} {lifted:>7} {leaves:>7} {dropped:>8} {missing:>8}\n")
    }
}

fn summary() -> String {
    let mut extensions: BTreeMap<String, Counts> = BTreeMap::new();
    let mut reasons: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut all = Counts::default();
    for code in Code::values() {
        let coverage = coverage(code);
        match coverage {
            Coverage::Irrelevant => continue,
            Coverage::Leaf(why) => *reasons.entry(("leaf", why)).or_default() += 1,
            Coverage::Dropped(why) => *reasons.entry(("dropped", why)).or_default() += 1,
            Coverage::Lifted | Coverage::Missing => {}
        }
        extensions.entry(extension(code)).or_default().add(coverage);
        all.add(coverage);
    }
    let mut text = String::from(
        "Encodings that read or write floats, or move vector data:\n\nextension                     lifted  leaves  dropped  missing\n",
    );
    for (name, counts) in &extensions {
        text += &counts.line(name);
    }
    text += &all.line("all");
    text += "\nlifted: values keep their shadows. leaf: the result begins a history. dropped: it runs, and what it writes has none.\n\n";
    for ((kind, why), count) in reasons {
        let _ = writeln!(text, "{count:>6} {kind}: {why}");
    }
    text
}

/// The newest extension that an encoding needs, which names what it belongs to.
fn extension(code: Code) -> String {
    let features: Vec<String> = code.cpuid_features().iter().map(|feature| format!("{feature:?}")).collect();
    let mut newest = features.iter().rev().filter(|name| features.len() == 1 || *name != "AVX512VL");
    newest.next().cloned().unwrap_or_default()
}

fn of_mnemonic(wanted: &str) -> Result<String, String> {
    let mut text = String::new();
    for code in Code::values() {
        // Knights Corner's encodings are of another instruction set.
        let exists = code.encoding() != EncodingKind::MVEX;
        if !exists || !format!("{:?}", code.mnemonic()).eq_ignore_ascii_case(wanted) {
            continue;
        }
        let told = match coverage(code) {
            Coverage::Lifted => "lifted".to_string(),
            Coverage::Leaf(why) => format!("leaf: {why}"),
            Coverage::Dropped(why) => format!("dropped: {why}"),
            Coverage::Irrelevant => "touches no floats".to_string(),
            Coverage::Missing => "missing".to_string(),
        };
        let _ = writeln!(text, "{:<56} {told}", format!("{:?}", code));
    }
    if text.is_empty() {
        return Err(format!("there is no instruction {wanted}; `fpgrind {NAME}` alone tells of all"));
    }
    Ok(text)
}
