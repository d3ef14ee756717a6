//! Every instruction that reads or writes floats, or moves vector data, is lifted, or dropped for a reason.

use fpgrind_frontend_x86::{Coverage, coverage};
use iced_x86::{Code, EncodingKind};

#[test]
fn nothing_is_missing() {
    let missing: Vec<Code> = Code::values().filter(|&code| coverage(code) == Coverage::Missing).collect();
    assert_eq!(missing, []);
}

#[test]
fn arithmetic_on_floats_is_never_dropped() {
    for code in Code::values() {
        let name = format!("{:?}", code.mnemonic()).to_lowercase();
        let arithmetic = ["add", "sub", "mul", "div", "vsqrt", "min", "max"].iter().any(|it| name.contains(it));
        let of_floats = ["ss", "sd", "ps", "pd", "sh", "ph"].iter().any(|it| name.ends_with(it));
        let integers = name.starts_with('p') || name.starts_with("vp") || name.starts_with("v4");
        if arithmetic && of_floats && !integers && code.encoding() != EncodingKind::MVEX {
            assert_eq!(coverage(code), Coverage::Lifted, "{code:?}");
        }
    }
}
