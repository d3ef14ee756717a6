//! The operations on floats that the analysis knows, whether an instruction or a library function performs them.

macro_rules! operators {
    ($($variant:ident $name:literal $arity:literal;)*) => {
        /// An operation on floats. One enumeration for instructions and library functions, so that what is said
        /// about an operation (its real counterpart, its name in FPCore, its arity) is said once.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub enum Operator { $($variant,)* }

        impl Operator {
            pub const ALL: &[Operator] = &[$(Operator::$variant,)*];

            /// The name in the IR's text form: FPCore's where it is a word.
            pub fn name(self) -> &'static str {
                match self { $(Operator::$variant => $name,)* }
            }

            pub fn arity(self) -> usize {
                match self { $(Operator::$variant => $arity,)* }
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
}

impl Operator {
    pub fn from_name(name: &str) -> Option<Operator> {
        Operator::ALL.iter().copied().find(|op| op.name() == name)
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
}
