//! Calls built by hand. That the convention is the compilers' own is checked by tests/convention.rs.

use super::*;
use fpgrind_analysis::log::Origin;
use std::collections::BTreeMap;

const RSP: usize = 4;
const RDI: usize = 7;
const RSI: usize = 6;
const STACK: u64 = 0x7ffd_0000_1000;
const FORMAT: u64 = 0x40_20f8;
const RETURN: u64 = 0x40_1144;

/// A call with a memory in which only what was put can be read.
#[derive(Default)]
struct Call {
    state: CallState,
    bytes: BTreeMap<u64, u8>,
}

impl Call {
    fn new(format: &str) -> Call {
        let mut call = Call::default();
        call.state.gpr[RSP] = STACK;
        call.put(STACK, &RETURN.to_le_bytes());
        call.put(FORMAT, format.as_bytes());
        // The rest of the string's page is readable, as it is in a process.
        call.put(FORMAT + format.len() as u64, &[0; 512]);
        call
    }

    fn put(&mut self, address: u64, bytes: &[u8]) {
        self.bytes.extend((address..).zip(bytes.iter().copied()));
    }

    fn put_double(&mut self, address: u64, value: f64) {
        self.put(address, &value.to_bits().to_le_bytes());
    }

    /// The return address and the floats, whose numbers are checked and left out.
    fn run(&self, symbol: &str) -> (u64, Vec<OutputArg>) {
        let function = output(symbol).or_else(|| foreign_output(symbol)).expect("known function");
        let memory = |address: u64, buffer: &mut [u8]| {
            buffer.iter_mut().enumerate().all(|(i, to)| match self.bytes.get(&address.wrapping_add(i as u64)) {
                Some(byte) => {
                    *to = *byte;
                    true
                }
                None => false,
            })
        };
        let mut args = output_call(&function, &self.state, &memory);
        for (number, arg) in args.iter_mut().enumerate() {
            assert_eq!(std::mem::take(&mut arg.argument), number as u32);
        }
        (self.state.return_address(&memory).unwrap_or(0), args)
    }
}

fn arg(value: f64, origin: Origin, conversion: char) -> OutputArg {
    let conversion = Conversion::new(&format!("%{conversion}"));
    OutputArg { ty: Type::F64, bits: value.to_bits().into(), origin, argument: 0, conversion }
}

#[test]
fn the_table_knows_where_each_format_is() {
    let known = |symbol: &str| match output(symbol)?.shows {
        Shows::Format(format) => Some((output(symbol)?.name(), format.argument, format.passing)),
        _ => None,
    };
    use Passing::*;
    for (symbol, name, format, passing) in [
        ("printf", "printf", 0, Variadic),
        ("fprintf@@GLIBC_2.2.5", "fprintf", 1, Variadic),
        ("dprintf", "dprintf", 1, Variadic),
        ("sprintf", "sprintf", 1, Variadic),
        ("snprintf", "snprintf", 2, Variadic),
        ("asprintf", "asprintf", 1, Variadic),
        ("vprintf", "vprintf", 0, VaList),
        ("vfprintf", "vfprintf", 1, VaList),
        ("vdprintf", "vdprintf", 1, VaList),
        ("vsprintf", "vsprintf", 1, VaList),
        ("vsnprintf", "vsnprintf", 2, VaList),
        ("vasprintf", "vasprintf", 1, VaList),
        ("__printf_chk", "printf", 1, Variadic),
        ("__fprintf_chk", "fprintf", 2, Variadic),
        ("__dprintf_chk", "dprintf", 2, Variadic),
        ("__sprintf_chk", "sprintf", 3, Variadic),
        ("__snprintf_chk", "snprintf", 4, Variadic),
        ("__asprintf_chk", "asprintf", 2, Variadic),
        ("__vprintf_chk", "vprintf", 1, VaList),
        ("__vfprintf_chk", "vfprintf", 2, VaList),
        ("__vdprintf_chk", "vdprintf", 2, VaList),
        ("__vsprintf_chk", "vsprintf", 3, VaList),
        ("__vsnprintf_chk", "vsnprintf", 4, VaList),
        ("__vasprintf_chk", "vasprintf", 2, VaList),
        ("_IO_printf", "printf", 0, Variadic),
        ("___vsnprintf", "vsnprintf", 2, VaList),
        ("swprintf", "swprintf", 2, Variadic),
        ("__vfwprintf_chk", "vfwprintf", 2, VaList),
        ("obstack_vprintf", "obstack_vprintf", 1, VaList),
        ("error", "error", 2, Variadic),
        ("verrx", "verrx", 1, VaList),
    ] {
        assert_eq!(known(symbol), Some((name, format, passing)), "{symbol}");
    }
    for other in
        ["__printf_fp", "__vfprintf_internal", "_dl_printf", "puts", "verror", "printf_chk", "register_printf_function"]
    {
        assert_eq!(known(other), None, "{other}");
    }
}

#[test]
fn doubles_come_from_vector_registers_whatever_integers_lie_between() {
    let mut call = Call::new("%d: %.3f, %s %g\n");
    call.state.gpr[RDI] = FORMAT;
    call.state.xmm[0] = 1.5f64.to_bits().into();
    call.state.xmm[1] = (-2.25f64).to_bits().into();
    let (pc, args) = call.run("printf");
    assert_eq!(pc, RETURN);
    assert_eq!(args[0], OutputArg { conversion: Conversion::new("%.3f"), ..arg(1.5, Origin::Register(0), 'f') });
    assert_eq!(args[1..], [arg(-2.25, Origin::Register(1), 'g')]);
}

#[test]
fn the_ninth_double_and_the_sixth_integer_are_on_the_stack_in_order() {
    // printf: rdi is the format, so five integers fit in registers; %d number six takes the first stack slot.
    let mut call = Call::new(&("%d".repeat(6) + &"%f".repeat(8) + "%e%d%g"));
    call.state.gpr[RDI] = FORMAT;
    for i in 0..8 {
        call.state.xmm[i] = (i as f64).to_bits().into();
    }
    call.put_double(STACK + 16, 8.0);
    call.put(STACK + 24, &[0; 8]);
    call.put_double(STACK + 32, 9.0);
    let (_, args) = call.run("printf");
    let mut expected: Vec<_> = (0..8).map(|i| arg(i as f64, Origin::Register(i), 'f')).collect();
    expected.push(arg(8.0, Origin::Memory(STACK + 16), 'e'));
    expected.push(arg(9.0, Origin::Memory(STACK + 32), 'g'));
    assert_eq!(args, expected);
}

#[test]
fn long_doubles_are_on_the_stack_with_their_alignment() {
    // Stack arguments begin at STACK + 8, which is 8 modulo 16: the long double goes to STACK + 16.
    let mut call = Call::new(&("%f".repeat(8) + "%Lf%f"));
    call.state.gpr[RDI] = FORMAT;
    let bits = 0x3ffd_aaaa_aaaa_aaaa_aaab_u128;
    call.put(STACK + 16, &bits.to_le_bytes()[..10]);
    call.put_double(STACK + 32, 3.5);
    let (_, args) = call.run("printf");
    assert_eq!(args.len(), 10);
    let (origin, conversion) = (Origin::Memory(STACK + 16), Conversion::new("%Lf"));
    assert_eq!(args[8], OutputArg { ty: Type::F80, bits, origin, argument: 0, conversion });
    assert_eq!(args[9], arg(3.5, Origin::Memory(STACK + 32), 'f'));
}

#[test]
fn numbered_arguments_are_taken_in_the_order_of_passing() {
    let mut call = Call::new("%3$g %1$e %2$d");
    call.state.gpr[RSI] = FORMAT;
    call.state.xmm[0] = 1.0f64.to_bits().into();
    call.state.xmm[1] = 3.0f64.to_bits().into();
    let (_, args) = call.run("fprintf");
    assert_eq!(args, [arg(1.0, Origin::Register(0), 'e'), arg(3.0, Origin::Register(1), 'g')]);
}

/// A va_list and its areas, as va_start leaves them in a function with one named argument and as some use of it
/// leaves them.
fn va_list(call: &mut Call, gp_offset: u32, fp_offset: u32) -> (u64, u64, u64) {
    let (list, overflow, saved) = (STACK + 0x100, STACK + 0x400, STACK + 0x200);
    call.put(list, &gp_offset.to_le_bytes());
    call.put(list + 4, &fp_offset.to_le_bytes());
    call.put(list + 8, &overflow.to_le_bytes());
    call.put(list + 16, &saved.to_le_bytes());
    for i in 0..8 {
        call.put_double(saved + 48 + 16 * i, i as f64);
    }
    (list, overflow, saved)
}

#[test]
fn a_va_list_reads_its_save_area_and_then_the_overflow_area() {
    let mut call = Call::new(&("%d".repeat(6) + &"%f".repeat(9) + "%g"));
    let (list, overflow, saved) = va_list(&mut call, 8, 48);
    call.state.gpr[RDI] = FORMAT;
    call.state.gpr[RSI] = list;
    call.put_double(overflow + 8, 8.0);
    call.put_double(overflow + 16, 9.0);
    let (pc, args) = call.run("vprintf");
    assert_eq!(pc, RETURN);
    let mut expected: Vec<_> = (0..8).map(|i| arg(i as f64, Origin::Memory(saved + 48 + 16 * i), 'f')).collect();
    expected.push(arg(8.0, Origin::Memory(overflow + 8), 'f'));
    expected.push(arg(9.0, Origin::Memory(overflow + 16), 'g'));
    assert_eq!(args, expected);
}

#[test]
fn a_va_list_partly_used_goes_on_where_it_is() {
    let mut call = Call::new("%f %f");
    let (list, overflow, saved) = va_list(&mut call, 16, 48 + 7 * 16);
    call.state.gpr[RDI] = FORMAT;
    call.state.gpr[RSI] = list;
    call.put_double(overflow, 8.0);
    let (_, args) = call.run("vprintf");
    assert_eq!(args, [arg(7.0, Origin::Memory(saved + 48 + 7 * 16), 'f'), arg(8.0, Origin::Memory(overflow), 'f')]);
}

#[test]
fn what_cannot_be_read_is_left_out() {
    // The ninth double's stack slot is not readable.
    let mut call = Call::new(&"%f".repeat(10));
    call.state.gpr[RDI] = FORMAT;
    assert_eq!(call.run("printf").1.len(), 8);
    // Neither is this format, nor this va_list, nor this stack.
    call.state.gpr[RDI] = u64::MAX;
    assert_eq!(call.run("printf"), (RETURN, vec![]));
    call.state.gpr[RDI] = FORMAT;
    call.state.gpr[RSI] = u64::MAX - 3;
    assert_eq!(call.run("vprintf"), (RETURN, vec![]));
    call.state.gpr[RSP] = u64::MAX;
    assert_eq!(call.run("printf").0, 0);
}

#[test]
fn a_format_at_the_end_of_readable_memory_is_read_to_its_end() {
    let mut call = Call::new("");
    let page_end = 0x50_0000u64;
    let format = b"%f and no more\0";
    let start = page_end - format.len() as u64;
    call.put(start, format);
    call.state.gpr[RDI] = start;
    assert_eq!(call.run("printf").1.len(), 1);
}

#[test]
fn a_format_without_end_is_read_to_a_limit() {
    let asked = std::cell::Cell::new(0usize);
    let endless = |_: u64, buffer: &mut [u8]| {
        asked.set(asked.get() + buffer.len());
        buffer.fill(b'x');
        true
    };
    assert_eq!(read_format(3, false, &endless).len(), MAX_FORMAT);
    assert!(asked.get() <= MAX_FORMAT + PIECE as usize);
}

#[test]
fn a_wide_format_is_read_character_by_character() {
    let mut call = Call::new("");
    let wide: Vec<u8> = "%g \u{20ac} %.2f\0".chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
    call.put(FORMAT & !255, &[0xff; 1024]);
    call.put(FORMAT, &wide);
    call.state.gpr[RDI] = FORMAT;
    call.state.xmm[1] = 2.5f64.to_bits().into();
    let (_, args) = call.run("wprintf");
    assert_eq!(args.iter().map(|arg| arg.conversion.text()).collect::<Vec<_>>(), ["%g", "%.2f"]);
    assert_eq!(args[1].bits as u64, 2.5f64.to_bits());
}

#[test]
fn floats_passed_by_value_are_found_whatever_their_width() {
    let mut call = Call::new("");
    call.state.xmm[0] = 0xffff_ffff_0000_0000 | u128::from(1.5f32.to_bits());
    let bits = 0x3ffd_aaaa_aaaa_aaaa_aaab_u128;
    call.put(STACK + 16, &[0; 16]);
    let stack = (STACK + 8).next_multiple_of(16);
    call.put(stack, &bits.to_le_bytes()[..10]);
    let types = ["strfromf", "_ZNSolsEd", "qecvt", "_ZSt8to_charsPcS_fSt12chars_formati"].map(|symbol| {
        let (_, args) = call.run(symbol);
        let [arg] = args.as_slice() else { panic!("{symbol}: {args:?}") };
        (arg.ty, arg.bits)
    });
    let single = u128::from(1.5f32.to_bits());
    let double = call.state.xmm[0];
    assert_eq!(types, [(Type::F32, single), (Type::F64, double), (Type::F80, bits), (Type::F32, single)]);
}

#[test]
fn symbols_of_other_libraries_are_known_by_their_whole_names() {
    let known = |symbol: &str| foreign_output(symbol).map(OutputFunction::name);
    for (symbol, name) in [
        ("_ZNSo9_M_insertIdEERSoT_@@GLIBCXX_3.4.9", "operator<<"),
        ("_ZNSt13basic_ostreamIwSt11char_traitsIwEElsEf", "operator<<"),
        ("_ZNSt3__18to_charsEPcS0_eNS_12chars_formatE", "to_chars"),
        ("_gfortran_transfer_array_write@@GFORTRAN_8", "write"),
        ("PyOS_double_to_string", "str"),
        ("_RNvXs7_NtNtCsgEmfK2I1SDS_4core3fmt5floatdNtB7_7Display3fmt", "fmt"),
        ("_ZN4core3fmt5float52_$LT$impl$u20$core..fmt..Display$u20$for$u20$f64$GT$3fmt17h0123456789abcdefE", "fmt"),
    ] {
        assert_eq!(known(symbol), Some(name), "{symbol}");
    }
    for other in
        ["_ZNSolsEi", "_ZNSo9_M_insertIbEERSoT_", "_ZSt8to_charsPcS_", "_gfortran_transfer_real", "print", "_RNvX"]
    {
        assert_eq!(known(other), None, "{other}");
    }
}
