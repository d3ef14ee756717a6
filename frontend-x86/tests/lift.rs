//! Guest code and the IR that it must become. Each file in `blocks/` holds cases: a line `== what must be true`, options, the
//! instructions in hexadecimal with their disassembly, and after `--` the block. `FPGRIND_UPDATE=1` writes what is found
//! into the files, to be looked at before it is committed.

use fpgrind_frontend_x86::{Left, LiftOptions, lift, lift_loop};
use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, NasmFormatter};
use std::fmt::Write;

/// Memory that cannot change, as the tests have it: 0x1000 to 0x1040.
const LITERALS: std::ops::Range<u64> = 0x1000..0x1040;
const START: u64 = 0x400000;

struct Case {
    name: String,
    options: String,
    bytes: Vec<u8>,
    text: String,
}

fn literals(addr: u64, buffer: &mut [u8]) -> bool {
    let doubles =
        [0x7fff_ffff_ffff_ffffu64, 0, 0x8000_0000_0000_0000, 0, 0x3ff0_0000_0000_0000, 0x3ff0_0000_0000_0000, 0, 0];
    let bytes: Vec<u8> = doubles.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    let Some(at) = addr.checked_sub(LITERALS.start).map(|at| at as usize) else { return false };
    let Some(found) = bytes.get(at..at.saturating_add(buffer.len())) else { return false };
    buffer.copy_from_slice(found);
    true
}

fn decode(bytes: &[u8]) -> Vec<Instruction> {
    Decoder::with_ip(64, bytes, START, DecoderOptions::NONE).into_iter().collect()
}

fn render(case: &Case) -> String {
    let instrs = decode(&case.bytes);
    let [check, entering] = ["check", "entering"].map(|option| case.options.contains(option));
    let entering = Left { registers: entering.into(), ..Left::default() };
    let options = LiftOptions { check, constants: &literals, carriers: 0, loads: 0, entering: &entering };
    let blocks = match case.options.contains("twice") {
        true => lift_loop(&instrs.repeat(2), 2, &options).expect("a loop that can be logged"),
        false => vec![lift(&instrs, &options)],
    };
    let mut text = format!("== {}\n", case.name);
    if !case.options.is_empty() {
        writeln!(text, "{}", case.options).unwrap();
    }
    let mut formatter = NasmFormatter::new();
    for instr in &instrs {
        let at = (instr.ip() - START) as usize;
        let hex: Vec<String> = case.bytes[at..at + instr.len()].iter().map(|byte| format!("{byte:02x}")).collect();
        let mut disassembly = String::new();
        formatter.format(instr, &mut disassembly);
        writeln!(text, "{:<32} {disassembly}", hex.join(" ")).unwrap();
    }
    let blocks: Vec<String> = blocks.iter().map(|block| block.to_string()).collect();
    writeln!(text, "--\n{}", blocks.concat().trim_end()).unwrap();
    text
}

fn parse(file: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    for text in file.split("== ").skip(1) {
        let mut lines = text.lines();
        let name = lines.next().unwrap_or_default().to_string();
        let (mut options, mut bytes) = (String::new(), Vec::new());
        for line in lines.take_while(|line| *line != "--") {
            if line.starts_with("options") {
                options = line.to_string();
                continue;
            }
            let hex = line.split("  ").next().unwrap_or_default();
            bytes.extend(hex.split_whitespace().map_while(|byte| u8::from_str_radix(byte, 16).ok()));
        }
        cases.push(Case { name, options, bytes, text: format!("== {}\n", text.trim_end()) });
    }
    cases
}

#[test]
fn guest_code_becomes_the_expected_blocks() {
    let update = std::env::var_os("FPGRIND_UPDATE").is_some();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/blocks");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for path in files {
        let cases = parse(&std::fs::read_to_string(&path).unwrap());
        assert!(!cases.is_empty(), "{} holds no case", path.display());
        let rendered: Vec<String> = cases.iter().map(render).collect();
        if update {
            std::fs::write(&path, rendered.join("\n")).unwrap();
            continue;
        }
        for (case, found) in cases.iter().zip(rendered) {
            assert_eq!(found, case.text, "in {}: {}", path.display(), case.name);
        }
    }
}
