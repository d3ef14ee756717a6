//! Whatever bytes a guest executes, lifting them must not panic and must give a block that verifies.

use fpgrind_frontend_x86::{Left, LiftOptions, lift, lift_for_others};
use fpgrind_ir::{Op, Place, Reg, verify};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};
use proptest::collection::vec;
use proptest::prelude::*;

/// An instruction of the two-byte map, where SSE lives, with any prefix, operation and operands.
fn sse() -> impl Strategy<Value = Vec<u8>> {
    let prefix = prop::sample::select(vec![
        vec![],
        vec![0x66],
        vec![0xf2],
        vec![0xf3],
        vec![0x64, 0x66],
        vec![0x65],
        vec![0x67],
    ]);
    let rex = prop_oneof![Just(vec![]), (0x40..0x50u8).prop_map(|rex| vec![rex])];
    let operation = prop_oneof![
        2 => prop_oneof![0x10..0x18u8, 0x28..0x30u8, 0x50..0x78u8, 0xc0..0xc8u8, 0xd0..=0xffu8],
        1 => any::<u8>()
    ];
    (prefix, rex, operation, vec(any::<u8>(), 7))
        .prop_map(|(prefix, rex, operation, rest)| [prefix, rex, vec![0x0f, operation], rest].concat())
}

/// An instruction with a VEX prefix of three bytes: any map, operation, width and operands.
fn vex() -> impl Strategy<Value = Vec<u8>> {
    let maps = (prop_oneof![Just(0xe1u8), Just(0xe2), Just(0xe3), Just(0x41), Just(0x42)], any::<u8>());
    let operation = prop_oneof![
        2 => prop_oneof![0x00..0x1bu8, 0x28..0x30u8, 0x46..0x7fu8, 0x90..0xc8u8, 0xd0..=0xffu8],
        1 => any::<u8>()
    ];
    (maps, operation, vec(any::<u8>(), 7))
        .prop_map(|((map, width), operation, rest)| [vec![0xc4, map, width, operation], rest].concat())
}

/// An instruction with an EVEX prefix: any map, operation, width, mask, broadcast and operands.
fn evex() -> impl Strategy<Value = Vec<u8>> {
    let map = prop::sample::select(vec![1u8, 2, 3, 5, 6]);
    (map, any::<[u8; 3]>(), any::<u8>(), vec(any::<u8>(), 7)).prop_map(|(map, [p0, p1, p2], operation, rest)| {
        // Bit 3 of the first byte is clear, bit 2 of the second set (Intel SDM volume 2, 2.7.1).
        [vec![0x62, p0 & 0xf0 | map, p1 | 4, p2, operation], rest].concat()
    })
}

/// An instruction of the x87 or of MMX, or one that works on the status word in ax.
fn x87() -> impl Strategy<Value = Vec<u8>> {
    let prefix = prop::sample::select(vec![vec![], vec![], vec![], vec![0x64], vec![0x65], vec![0x67], vec![0x66]]);
    let mmx = prop_oneof![0x60..0x80u8, 0xd1..=0xffu8];
    let operation = prop_oneof![
        8 => (0xd8..=0xdfu8).prop_map(|operation| vec![operation]),
        1 => mmx.prop_map(|operation| vec![0x0f, operation]),
        1 => Just(vec![0x0f, 0xae]),
        2 => prop::sample::select(vec![
            vec![0xdf, 0xe0], vec![0x9e], vec![0xf6, 0xc4, 0x45], vec![0x80, 0xe4, 0x45], vec![0x80, 0xfc, 0x40],
            vec![0xfe, 0xcc], vec![0x0f, 0x94, 0xc1], vec![0x0f, 0x9a, 0xc1],
        ]),
    ];
    // Few blocks would ever get beyond an operand in memory if it were as likely as in other instructions.
    let rest = prop_oneof![(0xc0..=0xffu8).prop_map(|modrm| vec![modrm; 8]), vec(any::<u8>(), 8)];
    (prefix, operation, rest).prop_map(|(prefix, operation, rest)| [prefix, operation, rest].concat())
}

fn mov() -> impl Strategy<Value = Vec<u8>> {
    let operation = prop::sample::select(vec![0x89u8, 0x8b, 0xc7, 0xb8, 0x50, 0x58]);
    (0x40..0x50u8, operation, vec(any::<u8>(), 7))
        .prop_map(|(rex, operation, rest)| [vec![rex, operation], rest].concat())
}

/// Integer arithmetic on the lower four registers, moves between them, two vector registers and the stack: what a float's bits go through.
fn bits() -> impl Strategy<Value = Vec<u8>> {
    let rex = prop::sample::select(vec![vec![], vec![0x48u8]]);
    let operation = prop_oneof![
        4 => prop::sample::select(vec![0x01u8, 0x09, 0x21, 0x29, 0x31, 0x39, 0x89]).prop_map(|operation| vec![operation]),
        1 => Just(vec![0x0f, 0xaf]),
    ];
    let registers = (0..4u8, 0..4u8).prop_map(|(a, b)| 0xc0 | a << 3 | b);
    // [rsp + 0], [rsp + 8]
    let cell = (0..4u8, prop::bool::ANY).prop_map(|(reg, second)| vec![0x44 | reg << 3, 0x24, 8 * u8::from(second)]);
    prop_oneof![
        4 => (rex.clone(), operation, registers.clone())
            .prop_map(|(rex, operation, modrm)| [rex, operation, vec![modrm]].concat()),
        2 => (rex.clone(), prop::sample::select(vec![0xe0u8, 0xe8, 0xc0]), 0..4u8, 0..64u8)
            .prop_map(|(rex, operation, reg, by)| [rex, vec![0xc1, operation | reg, by]].concat()),
        2 => (prop::sample::select(vec![0x6eu8, 0x7e]), 0..2u8, 0..4u8)
            .prop_map(|(operation, vector, reg)| vec![0x66, 0x48, 0x0f, operation, 0xc0 | vector << 3 | reg]),
        2 => (rex, prop::sample::select(vec![0x89u8, 0x8b, 0x01, 0x33]), cell.clone())
            .prop_map(|(rex, operation, cell)| [rex, vec![operation], cell].concat()),
        2 => (prop::sample::select(vec![0x10u8, 0x11, 0x58]), cell)
            .prop_map(|(operation, cell)| [vec![0xf2, 0x0f, operation], cell].concat()),
        1 => Just(vec![0xf2, 0x0f, 0x58, 0xc1]),
    ]
}

/// The first instruction of each piece, as long as it does not leave the block.
fn decode(pieces: &[Vec<u8>]) -> Vec<Instruction> {
    let mut instrs = Vec::new();
    let mut ip = 0x40_0000;
    for piece in pieces {
        let instr = Decoder::with_ip(64, piece, ip, DecoderOptions::NONE).decode();
        if !instr.is_invalid() && instr.flow_control() == FlowControl::Next {
            ip = instr.next_ip();
            instrs.push(instr);
        }
    }
    instrs
}

/// The bytes of each register that the block puts or drops.
fn left_behind(block: &fpgrind_ir::Block) -> Vec<(Place, usize)> {
    let places = block.stmts.iter().filter_map(|stmt| match stmt.op {
        Op::Put { place, value } => Some((place, block.type_of(value)?.bytes())),
        Op::Drop { place, bytes } => Some((place, bytes as usize)),
        _ => None,
    });
    places.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn any_instructions_lift_to_a_block_that_verifies(
        pieces in vec(
            prop_oneof![6 => sse(), 6 => vex(), 12 => evex(), 6 => x87(), 2 => mov(), 2 => vec(any::<u8>(), 15)],
            0..40,
        ),
        check: bool,
        all_constant: bool,
    ) {
        let instrs = decode(&pieces);
        let constants = |_: u64, buffer: &mut [u8]| { buffer.fill(0x3f); all_constant };
        let block = lift(&instrs, &LiftOptions { check, constants: &constants, carriers: 0, loads: 0, entering: &Left::default() });
        prop_assert_eq!(verify(&block).map_err(|error| error.to_string()), Ok(()));
        prop_assert_eq!(block.instrs.len(), instrs.len());

        let mut seen = std::collections::HashSet::new();
        // Before registers are saved it is said what they hold, and at the end again.
        let saves = block.stmts.iter().any(|stmt| matches!(stmt.op, Op::Save { .. }));
        for (place, bytes) in left_behind(&block).into_iter().filter(|_| !saves) {
            for offset in (place.offset as usize..place.offset as usize + bytes).step_by(4) {
                prop_assert!(seen.insert((place.reg, offset)), "{:?} is left behind twice", place);
            }
            prop_assert!(matches!(place.reg, Reg::Vec(_) | Reg::Gpr(_) | Reg::X87(_)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn what_becomes_of_floats_bits_is_described_in_one_block_and_the_next(pieces in vec(bits(), 0..40), cut in 0..40usize) {
        let instrs = decode(&pieces);
        let (first, second) = instrs.split_at(cut.min(instrs.len()));
        let mut entering = Left::default();
        for instrs in [first, second] {
            let options = LiftOptions { check: false, constants: &|_, _| false, carriers: 0, loads: 0, entering: &entering };
            let (block, left) = lift_for_others(instrs, &options);
            prop_assert_eq!(verify(&block).map_err(|error| error.to_string()), Ok(()));
            // Nothing escapes twice.
            let escapes: Vec<_> = block.stmts.iter().filter_map(|stmt| match stmt.op {
                Op::Escape { value } => Some(value),
                _ => None,
            }).collect();
            prop_assert!(escapes.iter().enumerate().all(|(at, value)| !escapes[..at].contains(value)), "{}", block);
            prop_assert!(left.cells.len() <= 8);
            entering = left;
        }
    }
}

#[test]
fn an_empty_block_is_empty() {
    let block = lift(
        &[],
        &LiftOptions { check: true, constants: &|_, _| false, carriers: 0, loads: 0, entering: &Left::default() },
    );
    assert!(block.stmts.is_empty() && block.record == 0);
}
