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
    Cbrt "cbrt" 1;
    Hypot "hypot" 2;
    Exp "exp" 1;
    Exp2 "exp2" 1;
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
    Floor "floor" 1;
    Ceil "ceil" 1;
    Fmod "fmod" 2;
}

impl Operator {
    pub fn from_name(name: &str) -> Option<Operator> {
        Operator::ALL.iter().copied().find(|op| op.name() == name)
    }
}
