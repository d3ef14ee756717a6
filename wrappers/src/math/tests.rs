use super::functions::{EXTENSIONS, FUNCTIONS, Row};
use super::*;
use fpgrind_ir::Operator::*;
use fpgrind_ir::Reg;

/// A function of floats in the first vector registers, or on the stack, that returns one.
fn simple(operator: Operator, ty: Type) -> Math {
    let at = |number: u8| match ty {
        Type::F80 => At::Stack(8 + 16 * number),
        _ => At::Register(Place::vec(number, 0)),
    };
    let args = (0..operator.arity() as u8).map(|number| Argument { kind: Kind::Float(ty), at: at(number) });
    let returned = if ty == Type::F80 { Place::whole(Reg::X87(0)) } else { Place::vec(0, 0) };
    let of = (0..operator.arity() as u8).collect();
    Math { args: args.collect(), results: vec![Outcome { operator, of, ty, at: returned }], pointers: vec![] }
}

fn is_simple(name: &str, operator: Operator, ty: Type) {
    assert_eq!(math(name), Some(&simple(operator, ty)), "{name}");
}

fn known(name: &str) -> &'static Math {
    math(name).unwrap_or_else(|| panic!("{name} is known"))
}

#[test]
fn each_function_has_a_form_for_each_format() {
    for Row(name, ..) in FUNCTIONS.iter().chain(EXTENSIONS) {
        let (stem, end) = name.strip_suffix("_r").map_or((*name, ""), |stem| (stem, "_r"));
        let [double, float, long, quad] = ["", "f", "l", "f128"].map(|format| known(&format!("{stem}{format}{end}")));
        assert_ne!(double, float, "{name}");
        assert_ne!(double, long, "{name}");
        for (alias, same) in [("f32", float), ("f64", double), ("f32x", double), ("f64x", long), ("q", quad)] {
            assert_eq!(known(&format!("{stem}{alias}{end}")), same, "{name}{alias}");
        }
        assert_ne!(long, quad, "{name}");
    }
}

#[test]
fn a_name_that_begins_like_another_is_told_apart() {
    for (name, operator, ty) in [
        ("exp2f", Exp2, Type::F32),
        ("expm1", Expm1, Type::F64),
        ("atan2", Atan2, Type::F64),
        ("log1pf", Log1p, Type::F32),
        ("fmaf", Fma, Type::F32),
        ("fmaxf", Max, Type::F32),
        ("erff", Erf, Type::F32),
        ("erfcl", Erfc, Type::F80),
        ("acosh", Acosh, Type::F64),
        ("__roundeven_sse41", RoundEven, Type::F64),
        ("rintf", Nearbyint, Type::F32),
        ("fmaximum_mag_numf", MaxMag, Type::F32),
        ("cbrtl", Cbrt, Type::F80),
    ] {
        is_simple(name, operator, ty);
    }
}

#[test]
fn versions_and_standard_aliases_are_seen_through() {
    is_simple("exp@@GLIBC_2.29", Exp, Type::F64);
    is_simple("pow@GLIBC_2.2.5", Pow, Type::F64);
    is_simple("log2f32@@GLIBC_2.27", Log2, Type::F32);
}

#[test]
fn inner_names_of_a_static_glibc_are_seen_through() {
    for (name, operator, ty) in [
        ("__exp_finite", Exp, Type::F64),
        ("__powf_finite@GLIBC_2.15", Pow, Type::F32),
        ("__sin_fma", Sin, Type::F64),
        ("__cosf_sse2", Cos, Type::F32),
        ("__ieee754_exp_fma4", Exp, Type::F64),
        ("__ieee754_atan2_fma", Atan2, Type::F64),
        ("__ieee754_expl", Exp, Type::F80),
        ("__fma_fma3", Fma, Type::F64),
        ("__floor_c", Floor, Type::F64),
        ("__floorf_sse41", Floor, Type::F32),
        ("__w_log1p", Log1p, Type::F64),
        ("__libm_sse2_sin", Sin, Type::F64),
    ] {
        is_simple(name, operator, ty);
    }
}

#[test]
fn results_are_returned_or_written_where_a_pointer_points() {
    let sincos = known("sincosf");
    let places: Vec<(Operator, Place)> = sincos.results.iter().map(|result| (result.operator, result.at)).collect();
    assert_eq!(places, [(Sin, Place::whole(Reg::Out(0))), (Cos, Place::whole(Reg::Out(1)))]);
    assert_eq!(sincos.pointers, [(Place::gpr(7), 8), (Place::gpr(6), 8)]);
    assert_eq!(known("__sincos_fma").results[0].ty, Type::F64);
    let modf = known("modfl");
    assert_eq!(modf.args, [Argument { kind: Kind::Float(Type::F80), at: At::Stack(8) }]);
    assert_eq!(modf.pointers, [(Place::gpr(7), 8)]);
    assert_eq!(modf.results[0].at, Place::whole(Reg::X87(0)));
    assert_eq!(modf.results[1].at, Place::whole(Reg::Out(0)));
}

#[test]
fn integers_are_in_general_registers() {
    let integer = |number, bytes| Argument { kind: Kind::Integer(bytes), at: At::Register(Place::gpr(number)) };
    assert_eq!(known("jn").args[0], integer(7, 4));
    assert_eq!(known("scalblnf").args[1], integer(7, 8));
    let lround = &known("lroundf").results[0];
    assert_eq!((lround.operator, lround.ty, lround.at), (Round, Type::B64, Place::gpr(0)));
    assert_eq!(known("ilogbl").results[0].ty, Type::B32);
    let toward = known("nexttowardf");
    assert_eq!(toward.args[1], Argument { kind: Kind::Float(Type::F80), at: At::Stack(8) });
}

#[test]
fn complex_numbers_are_two_floats_where_the_abi_puts_them() {
    let places = |name: &str| known(name).args.iter().map(|arg| arg.at).collect::<Vec<_>>();
    let vec = |number, offset| At::Register(Place::vec(number, offset));
    assert_eq!(places("cpow"), [vec(0, 0), vec(1, 0), vec(2, 0), vec(3, 0)]);
    assert_eq!(places("cpowf"), [vec(0, 0), vec(0, 4), vec(1, 0), vec(1, 4)]);
    assert_eq!(places("cpowl"), [8, 24, 40, 56].map(At::Stack));
    let returned = |name: &str| known(name).results.iter().map(|result| result.at).collect::<Vec<_>>();
    assert_eq!(returned("csin"), [Place::vec(0, 0), Place::vec(1, 0)]);
    assert_eq!(returned("csinf"), [Place::vec(0, 0), Place::vec(0, 4)]);
    assert_eq!(returned("csinl"), [Reg::X87(0), Reg::X87(1)].map(Place::whole));
    assert_eq!((known("carg").results[0].operator, &known("carg").results[0].of[..]), (Atan2, &[1, 0][..]));
    assert_eq!(places("__mulsc3"), [vec(0, 0), vec(1, 0), vec(2, 0), vec(3, 0)]);
    assert_eq!(returned("__mulsc3"), [Place::vec(0, 0), Place::vec(0, 4)]);
}

#[test]
fn a_narrowing_function_takes_another_format_than_it_gives() {
    for (name, from, to) in
        [("fadd", Type::F64, Type::F32), ("dmull", Type::F80, Type::F64), ("f32xdivf64x", Type::F80, Type::F64)]
    {
        let math = known(name);
        assert_eq!((math.args[0].kind, math.results[0].ty), (Kind::Float(from), to), "{name}");
    }
}

#[test]
fn a_vector_function_has_an_operation_for_each_lane() {
    let pow = known("_ZGVdN4vv_pow");
    assert_eq!((pow.args.len(), pow.results.len()), (8, 4));
    assert_eq!(pow.args[7].at, At::Register(Place::vec(1, 24)));
    assert_eq!((&pow.results[3].of[..], pow.results[3].at), (&[3, 7][..], Place::vec(0, 24)));
    // Sixteen pointers fill two registers, and so do the others.
    let sincos = known("_ZGVeN16vvv_sincosf");
    assert_eq!(sincos.pointers, [1, 2, 3, 4].map(|number| (Place::vec(number, 0), 64)));
    assert_eq!((sincos.results[17].operator, sincos.results[17].at), (Cos, Place::whole(Reg::Out(17))));
    assert_eq!(sincos.results[17].of, [1]);
    // AVX has vectors of integers of half the size.
    assert_eq!(known("_ZGVcN4vvv_sincos").pointers.len(), 4);
    let linear = known("_ZGVbN2vl8l8_sincos");
    assert_eq!(linear.pointers, [(Place::gpr(7), 8), (Place::gpr(6), 8)]);
    assert_eq!(linear.results[3].at, Place { reg: Reg::Out(1), offset: 8 });
    assert_eq!(known("__svml_atan28").results.len(), 8);
    assert_eq!(known("__svml_sinf16_l9"), known("_ZGVeN16v_sinf"));
    assert_eq!(known("__svml_exp2"), known("_ZGVbN2v_exp"));
}

#[test]
fn compilers_helpers_are_known_by_their_own_names() {
    is_simple("__sqrt", Sqrt, Type::F64);
    for name in ["__powidf2", "__powisf2", "__powixf2", "_gfortran_pow_r10_i8", "_gfortran_pow_c4_i4", "__divxc3"] {
        assert!(math(name).is_some() && is_reserved(name), "{name}");
    }
    assert_eq!(known("_gfortran_pow_c8_i4").args[3].at, At::Zero);
    assert!(!is_reserved("sin") && !is_reserved("__sin"));
}

#[test]
fn names_that_a_program_may_have_for_its_own_functions_are_told_apart() {
    for name in ["gamma", "y1", "jnf", "fadd", "f32mulf64", "lgammal_r", "drem@GLIBC_2.2.5"] {
        assert!(is_extension(name) && math(name).is_some(), "{name}");
    }
    for name in ["sin", "lgamma", "fma", "__y1", "csqrtf"] {
        assert!(!is_extension(name) && math(name).is_some(), "{name}");
    }
}

#[test]
fn other_functions_are_left_alone() {
    // Quadruple precision, resolvers, helpers of libm, masks and results that are elsewhere.
    for name in [
        "__sin_ifunc",
        "__exp1",
        "exponent",
        "sin_fma",
        "__gamma_r_finite",
        "_ZGVbN2v_lround",
        "_ZGVbN2vv_sin",
        "_ZGVbN3v_sin",
        "_ZGVxN2v_sin",
        "_ZGVbN99v_sin",
        "_ZGV",
        "_ZGVb",
        "__svml_sincos4",
        "__svml_sin8_mask",
        "__svml_sin",
        "__libm_sse2_sincos",
        "__mul",
    ] {
        assert_eq!(math(name), None, "{name}");
    }
}

#[test]
fn complex_numbers_of_quadruple_precision_are_in_memory() {
    let power = known("cpowf128");
    let at: Vec<At> = power.args.iter().map(|arg| arg.at).collect();
    assert_eq!(at, [8, 24, 40, 56].map(At::Stack));
    let product = known("__multc3");
    assert_eq!(product.args[3].at, At::Register(Place::vec(3, 0)));
    for math in [power, product] {
        assert_eq!(math.pointers, [(Place::gpr(7), 8)]);
        let written = [0, 16].map(|offset| Place { reg: Reg::Out(0), offset });
        assert_eq!([math.results[0].at, math.results[1].at], written);
    }
    assert!(is_reserved("__addtf3") && !is_reserved("__addtonal"));
}
