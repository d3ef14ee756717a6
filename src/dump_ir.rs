//! `fpgrind dump-ir FILE [FUNCTION]`: how fpgrind reads a function, as text.
//!
//! The file is not run. Its symbols say where functions are; each is decoded from its start, cut into blocks where
//! control enters or leaves, and lifted as it is when it runs.

use fpgrind_frontend_x86::{Left, LiftOptions, lift};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;

pub const NAME: &str = "dump-ir";

/// A function and its bytes.
struct Function<'a> {
    name: String,
    address: u64,
    code: &'a [u8],
}

pub fn dump(arguments: &[OsString]) -> Result<String, String> {
    let (path, wanted) = match arguments {
        [path] => (Path::new(path), None),
        [path, function] => (Path::new(path), Some(function.to_string_lossy())),
        _ => return Err(format!("usage: fpgrind {NAME} FILE [FUNCTION]; a program named {NAME} is run as ./{NAME}")),
    };
    let bytes = std::fs::read(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let file = object::File::parse(&*bytes).map_err(|error| format!("{} is no ELF file: {error}", path.display()))?;
    if file.architecture() != object::Architecture::X86_64 || !file.is_64() {
        return Err(format!("{} is not for x86-64, the only machine whose code fpgrind reads", path.display()));
    }
    let mut functions = functions(&file);
    if functions.is_empty() {
        return Err(format!("{} has no symbols of functions: it is stripped, or holds no code", path.display()));
    }
    if let Some(wanted) = wanted {
        functions.retain(|function| function.name == wanted);
        if functions.is_empty() {
            return Err(format!("{} has no function {wanted}; `nm {0}` lists those it has", path.display()));
        }
    }
    let literals: Vec<_> = file.sections().filter(|section| section.kind() == SectionKind::ReadOnlyData).collect();
    let read_only = |address: u64, buffer: &mut [u8]| {
        let data = literals.iter().find_map(|section| section.data_range(address, buffer.len() as u64).ok().flatten());
        data.map(|data| buffer.copy_from_slice(data)).is_some()
    };
    let mut text = String::new();
    for function in &functions {
        describe(function, &read_only, &mut text);
    }
    Ok(text)
}

/// The functions that .symtab and .dynsym name, by address; of several names for one address the first stays.
fn functions<'a>(file: &object::File<'a>) -> Vec<Function<'a>> {
    let mut by_address = BTreeMap::new();
    let symbols = file.symbols().chain(file.dynamic_symbols());
    for symbol in symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0) {
        let code = symbol
            .section_index()
            .and_then(|index| file.section_by_index(index).ok())
            .and_then(|section| section.data_range(symbol.address(), symbol.size()).ok().flatten());
        if let (Ok(name), Some(code)) = (symbol.name(), code) {
            let function = Function { name: name.to_owned(), address: symbol.address(), code };
            by_address.entry(symbol.address()).or_insert(function);
        }
    }
    by_address.into_values().collect()
}

fn describe(function: &Function, constants: &dyn Fn(u64, &mut [u8]) -> bool, text: &mut String) {
    let _ = writeln!(text, "; {}, {} bytes at {:#x}", function.name, function.code.len(), function.address);
    let options = LiftOptions { check: false, constants, carriers: 0, loads: 0, entering: &Left::default() };
    for block in blocks(function) {
        let _ = writeln!(text, "{}", lift(&block, &options));
    }
}

/// The function's instructions, cut before every target of a branch and after every change of control.
fn blocks(function: &Function) -> Vec<Vec<Instruction>> {
    let decoder = Decoder::with_ip(64, function.code, function.address, DecoderOptions::NONE);
    let instructions: Vec<Instruction> = decoder.into_iter().collect();
    let is_branch = |instruction: &&Instruction| {
        matches!(instruction.flow_control(), FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch)
    };
    let targets: BTreeSet<u64> = instructions.iter().filter(is_branch).map(Instruction::near_branch_target).collect();
    let mut blocks = vec![];
    let mut block = vec![];
    for instruction in instructions {
        if targets.contains(&instruction.ip()) && !block.is_empty() {
            blocks.push(std::mem::take(&mut block));
        }
        block.push(instruction);
        if instruction.flow_control() != FlowControl::Next {
            blocks.push(std::mem::take(&mut block));
        }
    }
    if !block.is_empty() {
        blocks.push(block);
    }
    blocks
}
