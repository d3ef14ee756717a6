//! The operations, comparisons and constants of FPCore: their names, arities, and how C calls them.

macro_rules! operators {
    ($($variant:ident $name:literal $arity:literal $c:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Operator { $($variant,)* }

        impl Operator {
            pub const ALL: &[Operator] = &[$(Operator::$variant,)*];

            pub fn name(self) -> &'static str {
                match self { $(Operator::$variant => $name,)* }
            }

            pub fn arity(self) -> usize {
                match self { $(Operator::$variant => $arity,)* }
            }

            /// The function of C's library, or the infix operator.
            pub fn c_name(self) -> &'static str {
                match self { $(Operator::$variant => $c,)* }
            }
        }
    };
}

operators! {
    Add "+" 2 "+";
    Sub "-" 2 "-";
    Mul "*" 2 "*";
    Div "/" 2 "/";
    // Its name is also subtraction's: the number of arguments decides.
    Neg "-" 1 "-";
    Fabs "fabs" 1 "fabs";
    Fma "fma" 3 "fma";
    Exp "exp" 1 "exp";
    Exp2 "exp2" 1 "exp2";
    Expm1 "expm1" 1 "expm1";
    Log "log" 1 "log";
    Log10 "log10" 1 "log10";
    Log2 "log2" 1 "log2";
    Log1p "log1p" 1 "log1p";
    Pow "pow" 2 "pow";
    Sqrt "sqrt" 1 "sqrt";
    Cbrt "cbrt" 1 "cbrt";
    Hypot "hypot" 2 "hypot";
    Sin "sin" 1 "sin";
    Cos "cos" 1 "cos";
    Tan "tan" 1 "tan";
    Asin "asin" 1 "asin";
    Acos "acos" 1 "acos";
    Atan "atan" 1 "atan";
    Atan2 "atan2" 2 "atan2";
    Sinh "sinh" 1 "sinh";
    Cosh "cosh" 1 "cosh";
    Tanh "tanh" 1 "tanh";
    Asinh "asinh" 1 "asinh";
    Acosh "acosh" 1 "acosh";
    Atanh "atanh" 1 "atanh";
    Erf "erf" 1 "erf";
    Erfc "erfc" 1 "erfc";
    Tgamma "tgamma" 1 "tgamma";
    Lgamma "lgamma" 1 "lgamma";
    Ceil "ceil" 1 "ceil";
    Floor "floor" 1 "floor";
    Trunc "trunc" 1 "trunc";
    Round "round" 1 "round";
    Nearbyint "nearbyint" 1 "nearbyint";
    Fmod "fmod" 2 "fmod";
    Remainder "remainder" 2 "remainder";
    Fmax "fmax" 2 "fmax";
    Fmin "fmin" 2 "fmin";
    Fdim "fdim" 2 "fdim";
    Copysign "copysign" 2 "copysign";
    // Rounds to the precision that holds around it.
    Cast "cast" 1 "";
}

impl Operator {
    pub fn find(name: &str, arity: usize) -> Option<Operator> {
        Operator::ALL.iter().copied().find(|op| op.name() == name && op.arity() == arity)
    }

    /// The arities under which an operation of this name exists.
    pub fn arities(name: &str) -> Vec<usize> {
        Operator::ALL.iter().filter(|op| op.name() == name).map(|op| op.arity()).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    Less,
    Greater,
    AtMost,
    AtLeast,
    Equal,
    Unequal,
}

impl Comparison {
    pub const ALL: &[(&str, Comparison)] = &[
        ("<", Comparison::Less),
        (">", Comparison::Greater),
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("==", Comparison::Equal),
        ("!=", Comparison::Unequal),
    ];

    /// The same in C as in FPCore.
    pub fn name(self) -> &'static str {
        Comparison::ALL.iter().find(|(_, comparison)| *comparison == self).map_or("", |(name, _)| name)
    }

    pub fn holds<T: PartialOrd + ?Sized>(self, a: &T, b: &T) -> bool {
        match self {
            Comparison::Less => a < b,
            Comparison::Greater => a > b,
            Comparison::AtMost => a <= b,
            Comparison::AtLeast => a >= b,
            Comparison::Equal => a == b,
            Comparison::Unequal => a != b,
        }
    }
}

/// Questions about one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    IsFinite,
    IsInf,
    IsNan,
    IsNormal,
    Signbit,
}

impl Test {
    pub const ALL: &[(&str, Test)] = &[
        ("isfinite", Test::IsFinite),
        ("isinf", Test::IsInf),
        ("isnan", Test::IsNan),
        ("isnormal", Test::IsNormal),
        ("signbit", Test::Signbit),
    ];

    /// The same in C as in FPCore.
    pub fn name(self) -> &'static str {
        Test::ALL.iter().find(|(_, test)| *test == self).map_or("", |(name, _)| name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Constant {
    E,
    Log2E,
    Log10E,
    Ln2,
    Ln10,
    Pi,
    PiOver2,
    PiOver4,
    OneOverPi,
    TwoOverPi,
    TwoOverSqrtPi,
    Sqrt2,
    SqrtHalf,
    Infinity,
    Nan,
}

impl Constant {
    pub const ALL: &[(&str, Constant)] = &[
        ("E", Constant::E),
        ("LOG2E", Constant::Log2E),
        ("LOG10E", Constant::Log10E),
        ("LN2", Constant::Ln2),
        ("LN10", Constant::Ln10),
        ("PI", Constant::Pi),
        ("PI_2", Constant::PiOver2),
        ("PI_4", Constant::PiOver4),
        ("M_1_PI", Constant::OneOverPi),
        ("M_2_PI", Constant::TwoOverPi),
        ("M_2_SQRTPI", Constant::TwoOverSqrtPi),
        ("SQRT2", Constant::Sqrt2),
        ("SQRT1_2", Constant::SqrtHalf),
        ("INFINITY", Constant::Infinity),
        ("NAN", Constant::Nan),
    ];

    pub fn name(self) -> &'static str {
        Constant::ALL.iter().find(|(_, constant)| *constant == self).map_or("", |(name, _)| name)
    }
}

/// What a name in such a table stands for.
pub fn named<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == name).map(|(_, meaning)| *meaning)
}
