use super::*;
use proptest::prelude::*;

fn all() -> impl Strategy<Value = Type> {
    prop::sample::select(vec![Type::F16, Type::Bf16, Type::F32, Type::F64, Type::F80])
}

fn bits(ty: Type, random: u128) -> u128 {
    random & (u128::MAX >> (128 - 8 * ty.bytes()))
}

#[test]
fn halves_are_what_the_standard_says() {
    let value = |bits| f64::from_bits(convert(Type::F16, bits, Target::nearest(Type::F64)) as u64);
    assert_eq!(value(0x3c00), 1.0);
    assert_eq!(value(0xc000), -2.0);
    assert_eq!(value(0x7bff), 65504.0);
    assert_eq!(value(0x0001), 2f64.powi(-24));
    assert_eq!(value(0xfc00), f64::NEG_INFINITY);
    assert!(value(0x7e00).is_nan());
}

#[test]
fn what_the_x87_refuses_is_no_number_and_pseudo_denormals_are() {
    let kind = |bits| decode(Type::F80, bits).kind;
    assert_eq!(kind(0x3fff_0000_0000_0000_0000), Kind::Nan);
    assert_eq!(kind(0x7fff_0000_0000_0000_0000), Kind::Nan);
    assert_eq!(kind(0x7fff_8000_0000_0000_0000), Kind::Infinite);
    assert_eq!(kind(0x7fff_c000_0000_0000_0000), Kind::Nan);
    assert_eq!(kind(0x0000_8000_0000_0000_0000), kind(0x0001_8000_0000_0000_0000));
    assert_eq!(kind(0x3fff_8000_0000_0000_0000), Kind::Finite { exponent: 1, significand: 1 << 127 });
}

#[test]
fn what_is_too_large_becomes_infinite_or_the_largest_as_the_direction_says() {
    let to = |direction, digits| Target { ty: Type::F80, direction, digits };
    let huge = |to, negative| encode(to, negative, 20000, 1 << 127, false);
    assert_eq!(huge(to(Direction::Nearest, 64), true), 0xffff_8000_0000_0000_0000);
    assert_eq!(huge(to(Direction::Zero, 64), false), 0x7ffe_ffff_ffff_ffff_ffff);
    assert_eq!(huge(to(Direction::Up, 53), true), 0xfffe_ffff_ffff_ffff_f800);
    assert_eq!(huge(to(Direction::Up, 53), false), 0x7fff_8000_0000_0000_0000);
}

#[test]
fn integers_are_rounded_in_every_direction() {
    let of = |value: f64, direction| to_integer(Type::F64, value.to_bits() as u128, direction);
    for (direction, expected) in
        [(Direction::Nearest, -2), (Direction::Down, -3), (Direction::Up, -2), (Direction::Zero, -2)]
    {
        assert_eq!(of(-2.5, direction), Some(expected));
    }
    assert_eq!(of(0.3, Direction::Up), Some(1));
    assert_eq!(of(2f64.powi(63), Direction::Zero), Some(1 << 63));
    assert_eq!(of(f64::INFINITY, Direction::Zero), None);
}

proptest! {
    #[test]
    fn every_number_encodes_to_itself(ty in all(), random in any::<u128>()) {
        let bits = bits(ty, random);
        let again = convert(ty, bits, Target::nearest(ty));
        match decode(ty, bits).kind {
            Kind::Nan => prop_assert_eq!(decode(ty, again).kind, Kind::Nan),
            _ => prop_assert_eq!(decode(ty, again), decode(ty, bits)),
        }
    }

    #[test]
    fn narrowing_is_the_hardwares(double in any::<u64>(), near in any::<u32>(), step in -2i64..2) {
        for double in [double, ((f32::from_bits(near) as f64).to_bits() as i64 + step) as u64] {
            let single = convert(Type::F64, double as u128, Target::nearest(Type::F32)) as u32;
            let expected = f64::from_bits(double) as f32;
            prop_assert!(single == expected.to_bits() || expected.is_nan());
        }
    }

    #[test]
    fn integers_convert_as_by_the_hardware(value in any::<i64>()) {
        prop_assert_eq!(from_integer(value, Target::nearest(Type::F64)) as u64, (value as f64).to_bits());
        prop_assert_eq!(from_integer(value, Target::nearest(Type::F32)) as u32, (value as f32).to_bits());
        let long = from_integer(value, Target::nearest(Type::F80));
        prop_assert_eq!(to_integer(Type::F80, long, Direction::Nearest), Some(value as i128));
    }

    #[test]
    fn directed_rounding_encloses_the_number(ty in all(), double in any::<f64>()) {
        prop_assume!(double.is_finite());
        let to = |direction| {
            let target = Target { direction, ..Target::nearest(ty) };
            let bits = convert(Type::F64, double.to_bits() as u128, target);
            f64::from_bits(convert(ty, bits, Target::nearest(Type::F64)) as u64)
        };
        let (down, up) = (to(Direction::Down), to(Direction::Up));
        prop_assert!(down <= double && double <= up);
        prop_assert_eq!(to(Direction::Zero), if double < 0.0 { up } else { down });
        let nearest = to(Direction::Nearest);
        prop_assert!(nearest == down || nearest == up);
    }
}
