//! Conversions between float formats, to integers (where floats end) and from them (where they begin).

use super::{Entry, Lanes, Operation, packed, row, scalar};
use fpgrind_ir::{
    Rounding::{self, Current, Truncate},
    Type::{Bf16, F16, F32, F64},
};
use iced_x86::Mnemonic::{self, *};

/// As many bytes as the general register has that is the destination.
const GENERAL: u8 = 0;

pub const TABLE: &[Entry] = &[
    row(&[Cvtss2sd, Vcvtss2sd], Operation::Cast { from: F32, to: F64, scalar: true }),
    row(&[Cvtsd2ss, Vcvtsd2ss], Operation::Cast { from: F64, to: F32, scalar: true }),
    row(&[Cvtps2pd, Vcvtps2pd], Operation::Cast { from: F32, to: F64, scalar: false }),
    row(&[Cvtpd2ps, Vcvtpd2ps], Operation::Cast { from: F64, to: F32, scalar: false }),
    row(&[Vcvtph2ps, Vcvtph2psx], Operation::Cast { from: F16, to: F32, scalar: false }),
    row(&[Vcvtps2ph, Vcvtps2phx], Operation::Cast { from: F32, to: F16, scalar: false }),
    row(&[Vcvtph2pd], Operation::Cast { from: F16, to: F64, scalar: false }),
    row(&[Vcvtpd2ph], Operation::Cast { from: F64, to: F16, scalar: false }),
    row(&[Vcvtsh2ss], Operation::Cast { from: F16, to: F32, scalar: true }),
    row(&[Vcvtss2sh], Operation::Cast { from: F32, to: F16, scalar: true }),
    row(&[Vcvtsh2sd], Operation::Cast { from: F16, to: F64, scalar: true }),
    row(&[Vcvtsd2sh], Operation::Cast { from: F64, to: F16, scalar: true }),
    row(&[Vcvtneps2bf16], Operation::Cast { from: F32, to: Bf16, scalar: false }),
    row(&[Vcvtne2ps2bf16], Operation::CastTwo { from: F32, to: Bf16 }),
    row(&[Vcvtneebf162ps], Operation::CastEverySecond { from: Bf16, to: F32, odd: false }),
    row(&[Vcvtneobf162ps], Operation::CastEverySecond { from: Bf16, to: F32, odd: true }),
    row(&[Vcvtneeph2ps], Operation::CastEverySecond { from: F16, to: F32, odd: false }),
    row(&[Vcvtneoph2ps], Operation::CastEverySecond { from: F16, to: F32, odd: true }),
    // One element in memory, for all lanes.
    row(&[Vbcstnebf162ps], Operation::CastEverySecond { from: Bf16, to: F32, odd: false }),
    row(&[Vbcstnesh2ps], Operation::CastEverySecond { from: F16, to: F32, odd: false }),
    to_int(&[Cvttss2si, Vcvttss2si], scalar(F32), GENERAL, Truncate, true),
    to_int(&[Vcvttss2usi], scalar(F32), GENERAL, Truncate, false),
    to_int(&[Cvtss2si, Vcvtss2si], scalar(F32), GENERAL, Current, true),
    to_int(&[Vcvtss2usi], scalar(F32), GENERAL, Current, false),
    to_int(&[Cvttsd2si, Vcvttsd2si], scalar(F64), GENERAL, Truncate, true),
    to_int(&[Vcvttsd2usi], scalar(F64), GENERAL, Truncate, false),
    to_int(&[Cvtsd2si, Vcvtsd2si], scalar(F64), GENERAL, Current, true),
    to_int(&[Vcvtsd2usi], scalar(F64), GENERAL, Current, false),
    to_int(&[Vcvttsh2si], scalar(F16), GENERAL, Truncate, true),
    to_int(&[Vcvttsh2usi], scalar(F16), GENERAL, Truncate, false),
    to_int(&[Vcvtsh2si], scalar(F16), GENERAL, Current, true),
    to_int(&[Vcvtsh2usi], scalar(F16), GENERAL, Current, false),
    to_int(&[Cvttps2dq, Vcvttps2dq], packed(F32), 4, Truncate, true),
    to_int(&[Vcvttps2udq], packed(F32), 4, Truncate, false),
    to_int(&[Vcvttps2qq], packed(F32), 8, Truncate, true),
    to_int(&[Vcvttps2uqq], packed(F32), 8, Truncate, false),
    to_int(&[Cvtps2dq, Vcvtps2dq], packed(F32), 4, Current, true),
    to_int(&[Vcvtps2udq], packed(F32), 4, Current, false),
    to_int(&[Vcvtps2qq], packed(F32), 8, Current, true),
    to_int(&[Vcvtps2uqq], packed(F32), 8, Current, false),
    to_int(&[Cvttpd2dq, Vcvttpd2dq], packed(F64), 4, Truncate, true),
    to_int(&[Vcvttpd2udq], packed(F64), 4, Truncate, false),
    to_int(&[Vcvttpd2qq], packed(F64), 8, Truncate, true),
    to_int(&[Vcvttpd2uqq], packed(F64), 8, Truncate, false),
    to_int(&[Cvtpd2dq, Vcvtpd2dq], packed(F64), 4, Current, true),
    to_int(&[Vcvtpd2udq], packed(F64), 4, Current, false),
    to_int(&[Vcvtpd2qq], packed(F64), 8, Current, true),
    to_int(&[Vcvtpd2uqq], packed(F64), 8, Current, false),
    to_int(&[Vcvttph2dq], packed(F16), 4, Truncate, true),
    to_int(&[Vcvttph2udq], packed(F16), 4, Truncate, false),
    to_int(&[Vcvttph2qq], packed(F16), 8, Truncate, true),
    to_int(&[Vcvttph2uqq], packed(F16), 8, Truncate, false),
    to_int(&[Vcvttph2w], packed(F16), 2, Truncate, true),
    to_int(&[Vcvttph2uw], packed(F16), 2, Truncate, false),
    to_int(&[Vcvtph2dq], packed(F16), 4, Current, true),
    to_int(&[Vcvtph2udq], packed(F16), 4, Current, false),
    to_int(&[Vcvtph2qq], packed(F16), 8, Current, true),
    to_int(&[Vcvtph2uqq], packed(F16), 8, Current, false),
    to_int(&[Vcvtph2w], packed(F16), 2, Current, true),
    to_int(&[Vcvtph2uw], packed(F16), 2, Current, false),
    from_int(&[Cvtsi2ss, Vcvtsi2ss, Vcvtusi2ss], scalar(F32), 4),
    from_int(&[Cvtsi2sd, Vcvtsi2sd, Vcvtusi2sd], scalar(F64), 4),
    from_int(&[Vcvtsi2sh, Vcvtusi2sh], scalar(F16), 4),
    from_int(&[Cvtdq2ps, Vcvtdq2ps, Vcvtudq2ps], packed(F32), 4),
    from_int(&[Cvtdq2pd, Vcvtdq2pd, Vcvtudq2pd], packed(F64), 4),
    from_int(&[Vcvtdq2ph, Vcvtudq2ph], packed(F16), 4),
    from_int(&[Vcvtqq2ps, Vcvtuqq2ps], packed(F32), 8),
    from_int(&[Vcvtqq2pd, Vcvtuqq2pd], packed(F64), 8),
    from_int(&[Vcvtqq2ph, Vcvtuqq2ph], packed(F16), 8),
    from_int(&[Vcvtw2ph, Vcvtuw2ph], packed(F16), 2),
    from_int(&[Cvtpi2ps], Lanes { ty: F64, scalar: true }, 8),
    from_int(&[Cvtpi2pd], packed(F64), 8),
];

/// Of a vector destination the part above the integers becomes zero; a general register is lost as a whole.
const fn to_int(mnemonics: &'static [Mnemonic], lanes: Lanes, bytes: u8, rounding: Rounding, signed: bool) -> Entry {
    row(mnemonics, Operation::ToInt { lanes, bytes, rounding, signed })
}

const fn from_int(mnemonics: &'static [Mnemonic], lanes: Lanes, of: usize) -> Entry {
    row(mnemonics, Operation::Leaf { lanes, of, why: "made from an integer: a float without a history" })
}
