//! Names for causes and spots that stay the same from run to run.
//!
//! An id is a hash of what the user would say of the thing: where it is in the source and what it does. Inputs, addresses in
//! memory, the order of events and folders do not enter; neither does the expression, which other inputs can make more general.
//! - The place is the function, the file's name without its folders, the line and the column. Without debug information it
//!   is the module's name, the function's symbol and the offset from it; without symbols the module and the address in it. Code
//!   that came from no file has no place.
//! - To that comes, for a cause, its kind, operator and format; for a spot its kind, and which number of which function's call it is.
//! - Those that are alike in all this are numbered by module and address.
//!
//! So an id outlives changes to other lines, and a new build of code with debug information.

use crate::{Report, Site};
use fpgrind_analysis::{SpotKind, precision};
use std::borrow::Cow;
use std::path::Path;

/// One for each cause in the findings.
pub fn causes(report: &Report) -> Vec<String> {
    let described = report.findings.causes.iter().map(|cause| {
        let kind = cause.kind.name();
        let what = format!("{kind}\0{}\0{}", cause.operator.name(), precision(cause.ty));
        (what, report.sites.instruction(cause.location))
    });
    numbered(described)
}

/// One for each spot in the findings.
pub fn spots(report: &Report) -> Vec<String> {
    let described = report.findings.spots.iter().map(|spot| {
        let what = match &spot.kind {
            SpotKind::Output { function, argument, .. } => format!("output\0{function}\0{argument}"),
            SpotKind::Branch { .. } => "branch".into(),
            SpotKind::Mask => "comparison".into(),
            SpotKind::ToInt => "to-integer".into(),
            SpotKind::Escape => "escape".into(),
        };
        (what, report.sites.spot(spot))
    });
    numbered(described)
}

fn numbered(described: impl Iterator<Item = (String, Site)>) -> Vec<String> {
    let described: Vec<(String, Site)> =
        described.map(|(what, site)| (format!("{}\0{what}", place(&site)), site)).collect();
    let mut order: Vec<usize> = (0..described.len()).collect();
    order.sort_by_key(|i| {
        let (what, site) = &described[*i];
        (what, &site.module, site.address, site.pc)
    });
    let mut ids = vec![String::new(); described.len()];
    for alike in order.chunk_by(|a, b| described[*a].0 == described[*b].0) {
        for (number, i) in alike.iter().enumerate() {
            let what = &described[*i].0;
            ids[*i] = if number == 0 { hash(what) } else { hash(&format!("{what}\0{number}")) };
        }
    }
    ids
}

fn place(site: &Site) -> String {
    let function = site.function.as_deref().map(without_hash).unwrap_or_default();
    match (&site.file, site.line, &site.module, site.function_offset) {
        (Some(file), Some(line), ..) => {
            format!("{function}\0{}\0{line}\0{}", name(file), site.column.unwrap_or(0))
        }
        (_, _, Some(module), Some(offset)) => format!("{}\0{function}\0{offset:#x}", name(module)),
        (_, _, Some(module), None) => format!("{}\0{:#x}", name(module), site.address),
        (_, _, None, _) => String::new(),
    }
}

fn name(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()
}

/// Rust's symbols end in a hash that every build makes anew: `::h` and 16 hexadecimal digits.
fn without_hash(function: &str) -> &str {
    match function.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()) => name,
        _ => function,
    }
}

/// FNV-1a of 64 bits: it needs no key and will be the same in every version.
fn hash(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::*;
    use fpgrind_analysis::CauseKind;
    use fpgrind_ir::Operator;

    /// The plotter with a second cause on another line.
    fn two_causes() -> Report {
        let mut report = plotter();
        let mut other = cause();
        other.location = at(CSQRT + 8);
        report.sites.instructions.insert(other.location, site(other.location, "csqrt", "plot.c", 25));
        report.findings.causes.push(other);
        report
    }

    #[test]
    fn other_addresses_inputs_folders_and_orders_give_the_same_ids() {
        let before = causes(&two_causes());
        assert_ne!(before[0], before[1]);
        let mut report = two_causes();
        report.findings.causes.reverse();
        for cause in &mut report.findings.causes {
            let mut site = report.sites.instructions.remove(&cause.location).unwrap();
            cause.location.pc += 0x5555_0000;
            (site.pc, site.file) = (cause.location.pc, Some("/other/plot.c".into()));
            (site.address, site.module) = (site.address + 64, Some("/other/plot".into()));
            report.sites.instructions.insert(cause.location, site);
            (cause.max_bits, cause.expr) = (7.0, fpgrind_analysis::Expr::Var(0));
            cause.variables.truncate(1);
        }
        let mut after = causes(&report);
        after.reverse();
        assert_eq!(before, after);
        assert_eq!(before[0], "9d1ae2fd6a21c79f", "ids are in people's files: they must not change");
    }

    #[test]
    fn another_place_operator_format_or_kind_is_another_cause() {
        let [first, _] = causes(&two_causes()).try_into().unwrap();
        let id = |change: fn(&mut Report)| {
            let mut report = plotter();
            change(&mut report);
            causes(&report).remove(0)
        };
        assert_eq!(id(|_| {}), first);
        let changes: [fn(&mut Report); 6] = [
            |report| report.findings.causes[0].operator = Operator::Add,
            |report| report.findings.causes[0].ty = fpgrind_ir::Type::F32,
            |report| report.findings.causes[0].kind = CauseKind::Invalid,
            |report| report.sites.instructions.get_mut(&at(CSQRT)).unwrap().column = Some(3),
            |report| report.sites.instructions.get_mut(&at(CSQRT)).unwrap().function = Some("f".into()),
            |report| report.sites.instructions.get_mut(&at(CSQRT)).unwrap().file = Some("a.c".into()),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            assert_ne!(id(change), first, "{number}");
        }
    }

    #[test]
    fn those_that_are_alike_are_told_apart_by_their_addresses() {
        let mut report = two_causes();
        report.sites.instructions.get_mut(&at(CSQRT + 8)).unwrap().line = Some(24);
        let before = causes(&report);
        assert_ne!(before[0], before[1]);
        report.findings.causes.reverse();
        assert_eq!(causes(&report), [before[1].clone(), before[0].clone()]);
    }

    #[test]
    fn a_rust_functions_hash_is_no_part_of_its_name() {
        assert_eq!(without_hash("core::f::h0123456789abcdef"), "core::f");
        assert_eq!(without_hash("core::hash"), "core::hash");
    }

    #[test]
    fn without_lines_the_symbol_or_the_module_is_the_place() {
        let mut report = plotter();
        let site = report.sites.instructions.get_mut(&at(CSQRT)).unwrap();
        (site.file, site.line) = (None, None);
        let by_module = causes(&report);
        report.sites.instructions.get_mut(&at(CSQRT)).unwrap().function_offset = Some(4);
        assert_ne!(causes(&report), by_module);
        let by_symbol = causes(&report);
        // The function lies elsewhere in its module.
        report.sites.instructions.get_mut(&at(CSQRT)).unwrap().address += 0x100;
        assert_eq!(causes(&report), by_symbol);
        report.sites = Default::default();
        assert_eq!(causes(&report)[0].len(), 16);
    }
}
