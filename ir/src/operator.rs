//! The operations on floats that the analysis knows, whether an instruction or a library function performs them.

use crate::BlackBox;

macro_rules! operators {
    ($($variant:ident $name:literal $arity:literal;)*) => {
        /// An operation on floats. One enumeration for instructions and library functions, so that what is said
        /// about an operation (its real counterpart, its name in FPCore, its arity) is said once.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub enum Operator {
            $($variant,)*
            /// A function of which only the name is known.
            Opaque(BlackBox),
        }

        impl Operator {
            /// All that are known here, without black boxes.
            pub const ALL: &[Operator] = &[$(Operator::$variant,)*];

            /// The name in the IR's text form: FPCore's where it is a word.
            pub fn name(self) -> &'static str {
                match self {
                    $(Operator::$variant => $name,)*
                    Operator::Opaque(function) => function.described().0,
                }
            }

            pub fn arity(self) -> usize {
                match self {
                    $(Operator::$variant => $arity,)*
                    Operator::Opaque(function) => function.described().1,
                }
            }
        }
    };
}

operators! {
    Add "add" 2;
    Sub "sub" 2;
    Mul "mul" 2;
    Div "div" 2;
    Neg "neg" 1;
    Abs "fabs" 1;
    Min "fmin" 2;
    Max "fmax" 2;
    Sqrt "sqrt" 1;
    // The argument's value in the result's format: rounds when narrowing, exact when widening.
    Cast "cast" 1;
    Fma "fma" 3;
    // a*b - c, -(a*b) + c and -(a*b) - c, rounded once. See `traced`.
    Fms "fms" 3;
    Fnma "fnma" 3;
    Fnms "fnms" 3;
    Cbrt "cbrt" 1;
    Hypot "hypot" 2;
    Exp "exp" 1;
    Exp2 "exp2" 1;
    // The one with no name in FPCore.
    Exp10 "exp10" 1;
    Expm1 "expm1" 1;
    Log "log" 1;
    Log2 "log2" 1;
    Log10 "log10" 1;
    Log1p "log1p" 1;
    Pow "pow" 2;
    Sin "sin" 1;
    Cos "cos" 1;
    Tan "tan" 1;
    Asin "asin" 1;
    Acos "acos" 1;
    Atan "atan" 1;
    Atan2 "atan2" 2;
    Sinh "sinh" 1;
    Cosh "cosh" 1;
    Tanh "tanh" 1;
    Asinh "asinh" 1;
    Acosh "acosh" 1;
    Atanh "atanh" 1;
    Erf "erf" 1;
    Erfc "erfc" 1;
    Tgamma "tgamma" 1;
    // The logarithm of the gamma function's magnitude.
    Lgamma "lgamma" 1;
    Floor "floor" 1;
    Ceil "ceil" 1;
    Trunc "trunc" 1;
    // To the nearest integer, or as MXCSR says.
    Nearbyint "nearbyint" 1;
    // To the nearest integer, whatever MXCSR says. See `traced`.
    RoundEven "roundeven" 1;
    // To the nearest integer, halves away from zero.
    Round "round" 1;
    Fmod "fmod" 2;
    Remainder "remainder" 2;
    Fdim "fdim" 2;
    Copysign "copysign" 2;
    // The exponent of a number as a number: floor(log2(|x|)).
    Logb "logb" 1;
    // a * 2^floor(b) and a * 2^trunc(b): vscalef and fscale.
    Scalef "scalef" 2;
    Fscale "fscale" 2;
    // 2^x - 1, y * log2(x) and y * log2(x + 1), with y the first argument: the x87's.
    Exp2m1 "exp2m1" 1;
    Yl2x "yl2x" 2;
    Yl2xp1 "yl2xp1" 2;
    // Those below are only functions of libraries.
    // The greater or lesser of two, and NaN if one of them is: Max and Min prefer a number.
    Maximum "fmaximum" 2;
    Minimum "fminimum" 2;
    // The one that is greater or lesser in magnitude; a number rather than a NaN, or else NaN.
    MaxMag "fmaxmag" 2;
    MinMag "fminmag" 2;
    MaximumMag "fmaximum_mag" 2;
    MinimumMag "fminimum_mag" 2;
    // What is left of a number without its integer part.
    Fraction "fraction" 1;
    // A number freed from its power of two: of which, the float tells. See `is_relative`.
    Frexp "frexp" 1;
    // The next float: how far that is the float tells. See `is_relative`.
    Nextafter "nextafter" 2;
    // a * 2^b.
    Ldexp "ldexp" 2;
    Rsqrt "rsqrt" 1;
    Powr "powr" 2;
    // The b-th root of a, b an integer; (1 + a)^b.
    Rootn "rootn" 2;
    Compound "compoundn" 2;
    Exp10m1 "exp10m1" 1;
    Log2p1 "log2p1" 1;
    Log10p1 "log10p1" 1;
    Sinpi "sinpi" 1;
    Cospi "cospi" 1;
    Tanpi "tanpi" 1;
    Asinpi "asinpi" 1;
    Acospi "acospi" 1;
    Atanpi "atanpi" 1;
    Atan2pi "atan2pi" 2;
    // Bessel functions; the order, an integer, is the first argument.
    J0 "j0" 1;
    J1 "j1" 1;
    Jn "jn" 2;
    Y0 "y0" 1;
    Y1 "y1" 1;
    Yn "yn" 2;
    // The real and imaginary parts of functions of complex numbers, each given by its two parts.
    ReMul "re_cmul" 4;
    ImMul "im_cmul" 4;
    ReDiv "re_cdiv" 4;
    ImDiv "im_cdiv" 4;
    RePow "re_cpow" 4;
    ImPow "im_cpow" 4;
    ReSqrt "re_csqrt" 2;
    ImSqrt "im_csqrt" 2;
    ReExp "re_cexp" 2;
    ImExp "im_cexp" 2;
    ReLog "re_clog" 2;
    ImLog "im_clog" 2;
    ReLog10 "re_clog10" 2;
    ImLog10 "im_clog10" 2;
    ReSin "re_csin" 2;
    ImSin "im_csin" 2;
    ReCos "re_ccos" 2;
    ImCos "im_ccos" 2;
    ReTan "re_ctan" 2;
    ImTan "im_ctan" 2;
    ReAsin "re_casin" 2;
    ImAsin "im_casin" 2;
    ReAcos "re_cacos" 2;
    ImAcos "im_cacos" 2;
    ReAtan "re_catan" 2;
    ImAtan "im_catan" 2;
    ReSinh "re_csinh" 2;
    ImSinh "im_csinh" 2;
    ReCosh "re_ccosh" 2;
    ImCosh "im_ccosh" 2;
    ReTanh "re_ctanh" 2;
    ImTanh "im_ctanh" 2;
    ReAsinh "re_casinh" 2;
    ImAsinh "im_casinh" 2;
    ReAcosh "re_cacosh" 2;
    ImAcosh "im_cacosh" 2;
    ReAtanh "re_catanh" 2;
    ImAtanh "im_catanh" 2;
}

/// The most arguments that an operator has.
pub const MAX_ARITY: usize = 4;

impl Operator {
    pub fn from_name(name: &str) -> Option<Operator> {
        let known = Operator::ALL.iter().copied().find(|op| op.name() == name);
        known.or_else(|| BlackBox::find(name).map(Operator::Opaque))
    }

    /// The operator under which an operation is known to the reader, and which of its arguments are negated for it. Some
    /// operators are there only because instructions differ: in the sign of a NaN that they pass on, or under a strange MXCSR.
    pub fn traced(self) -> (Operator, [bool; 3]) {
        match self {
            Operator::Fms => (Operator::Fma, [false, false, true]),
            Operator::Fnma => (Operator::Fma, [true, false, false]),
            Operator::Fnms => (Operator::Fma, [true, false, true]),
            Operator::RoundEven => (Operator::Nearbyint, [false; 3]),
            _ => (self, [false; 3]),
        }
    }

    /// The imaginary part of what this is the real part of, and the other way round.
    pub fn other_part(self) -> Option<Operator> {
        let at = Operator::ALL.iter().position(|operator| *operator == self)?;
        match self.name().get(..3)? {
            "re_" => Operator::ALL.get(at + 1).copied(),
            "im_" => Operator::ALL.get(at.checked_sub(1)?).copied(),
            _ => None,
        }
    }

    /// Does the operation move its first argument to another float, as far as the bits tell, instead of computing a number?
    pub fn is_relative(self) -> bool {
        matches!(self, Operator::Frexp | Operator::Nextafter)
    }
}
