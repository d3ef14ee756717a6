//! The intermediate representation: what a block of guest code does to floating-point values.
//!
//! # Why there is an IR
//!
//! fpgrind never re-synthesises the guest's code: every instruction runs as it stands, on the real
//! registers. What it needs beside that is a *description* of each block, from which two things follow:
//!
//! - the **record** that the emitted code writes each time the block runs: the few native values that
//!   cannot be derived from others (register contents at entry, values loaded from memory, address bases);
//! - the **shadow program** that the analysis runs on that record: the same computation on real numbers.
//!
//! Both are read off one [`Block`]. Integers appear only as opaque bits: they matter as addresses and as
//! carriers of floats that travel through general registers.
//!
//! # A block
//!
//! A [`Block`] is a straight line of guest instructions, left only at its end. It is a list of statements
//! ([`Stmt`]), in order. A statement may define one value; the value is named after the statement
//! (`v3` is what statement 3 defines) and never changes: the form is SSA, and there are no joins, because
//! there is no control flow. Every value has a [`Type`].
//!
//! `movsd xmm0, [rbp-24]; addsd xmm0, xmm1; movsd [rbp-16], xmm0` becomes
//!
//! ```text
//! block 0x401136 record 32 {
//!   0x401136 5:
//!     v0: b64 = live rbp #8
//!     v1: f64 = load [v0-0x18] #16
//!     v2: b64 = const 0x0
//!   0x40113b 4:
//!     v3: f64 = live xmm1+0 #24
//!     v4: f64 = add v1, v3
//!   0x40113f 5:
//!     store [v0-0x10], v4
//!     put xmm0+0, v4
//!     put xmm0+8, v2
//! }
//! ```
//!
//! `0x401136 5:` introduces the guest instruction at that address, five bytes long. `#8` is the place in
//! the record where the native value is found. Only `live`, `fresh`, `load`, `image` and `check` have one: the rest is
//! recomputed. `rbp` was logged once and serves two addresses. Nothing was logged for the result of the
//! addition: the analysis adds the same two doubles and gets the same third.
//!
//! # Native bits and shadows
//!
//! At run time a value is a pair: the *native bits*, which are exactly those the guest computed, and for each
//! float in them optionally a *shadow*: the real number that the float stands for and how it came about. A float
//! without a shadow is a *leaf*: it is taken to be exactly what it says.
//!
//! The unit in which bits move is the **granule**, four bytes. A `b128` value has four; a float of eight bytes
//! covers two. [`Op::Extract`] and [`Op::Concat`] carry shadows along granule by granule, so a shuffle,
//! an unpack, a broadcast or a 16-byte copy needs no operation of its own: the frontend just says which granule went
//! where. A float whose granules arrive torn apart has lost its shadow; its bits are still right. Floats of two bytes share a granule;
//! [`Op::Half`] takes one out of it, and concatenating two makes one.
//!
//! # Registers and memory
//!
//! Inside a block registers do not exist: the frontend knows which value every granule of every register holds.
//! They exist between blocks. [`Op::Live`] reads a place that this block has not yet written, [`Op::Put`]
//! leaves a value behind for the next block, [`Op::Drop`] says that an instruction which is not described here wrote a
//! place. The shadow found by `live` or `load` counts only if its native bits equal the logged ones; so whatever wrote
//! the place without our knowledge can cost a shadow, and never makes one wrong.
//! [`Op::Fresh`] reads a place that an undescribed instruction of this block has just written: native bits, no shadow.
//!
//! # Lifting an instruction
//!
//! Say what it does to floats with the operations of [`Op`], or else drop what it writes. `sqrtpd xmm1, xmm2` is
//! two `sqrt` of the two lanes of xmm2, put into the two lanes of xmm1. `cvtsi2sd` makes a float out of
//! an integer that we do not follow: `fresh` after the instruction. `xorps` is [`Op::Bitwise`]:
//! whether it negates is seen when it runs and the mask is known. An operation on floats is [`Op::Apply`] with an
//! [`Operator`]; wrapped library functions use the same operators, through [`Op::Enter`] and [`Op::Leave`] (or
//! [`Op::LeaveInMemory`], for a result that the function wrote through a pointer): `leave sin.0 v2, xmm0+0` says that v2, now in xmm0, is
//! the sine of the first argument.
//!
//! What is chosen when the instruction runs is [`Op::Pick`] if the control is known, and [`Op::Among`] if only the bits can tell. A lane
//! that a mask may leave out has a [`Guard`]. An operation whose result is not sure to be computed again bit for bit takes it from the
//! log (`as` in the text): so does everything odd. The x87's registers are numbered from the top of its stack at the block's entry; what the block has
//! not written is read out of an image of the whole unit ([`Op::Image`], [`Op::St`]).
//!
//! The verifier ([`verify`]) runs between passes in debug builds. It is cheap, and a wrong block is far easier to
//! understand where it is made than where it is run.

mod blackbox;
mod block;
mod operator;
mod parse;
mod passes;
mod text;
mod types;
mod verify;

pub use blackbox::BlackBox;
pub use block::{
    Addr, BitOp, Block, Cond, Guard, GuestInstr, Op, Outcome, Relation, Rounding, Rule, Slot, Stmt, Test, Value, When,
};
pub use operator::{MAX_ARITY, Operator};
pub use parse::{ParseError, parse_block};
pub use passes::{MAX_RECORD, assign_slots, eliminate_dead, keep_settings, share_record};
pub use types::{GRANULE, MAX_OUT, Place, Reg, Type, X87_INDEFINITE};
pub use verify::{VerifyError, verify};
