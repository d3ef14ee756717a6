//! No function takes long, whatever its arguments.

use crate::measure;
use fpgrind_analysis::log::Event;
use fpgrind_analysis::{Analysis, Config, RealKind};
use fpgrind_ir::{Block, GuestInstr, Op, Operator, Place, Rounding, Slot, Type, When, assign_slots};

/// Numbers at the ends of what there is, and between.
const ARGUMENTS: [f64; 24] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    -3.0,
    7.0,
    -700.5,
    1e3,
    1234.5678,
    -4096.0,
    1e6,
    -1e8 / 3.0,
    3.46e24,
    -9.3e18,
    1e100,
    1e308,
    -1.7e308,
    1e-10,
    -1e-160,
    1e-308,
    5e-324,
    f64::INFINITY,
];
/// Seconds that one may take.
const LONG: f64 = 1.0;

/// The operator on so many doubles from the record.
fn block(operator: Operator) -> Block {
    let mut block = Block { instrs: vec![GuestInstr { pc: 0x1000, len: 4 }], ..Block::default() };
    let mut push = |ty, op| block.push(0, When::Before, ty, op);
    let fresh = |number: usize| Op::Fresh { place: Place::vec(number as u8, 0), slot: Slot::UNASSIGNED };
    let args = (0..operator.arity()).map(|number| push(Some(Type::F64), fresh(number))).collect();
    let result = push(Some(Type::F64), Op::Apply { operator, args, rounding: Rounding::Current, result: None });
    push(None, Op::Put { place: Place::vec(0, 0), value: result });
    assign_slots(block)
}

#[test]
fn no_function_takes_long_whatever_its_arguments() {
    let mut slow = Vec::new();
    for operator in Operator::ALL.iter().copied().filter(|operator| *operator != Operator::Cast) {
        let block = block(operator);
        let (arity, length) = (operator.arity(), block.record as usize);
        let config = Config { real: RealKind::Mpfr, ..Config::default() };
        let mut analysis = Analysis::new(config);
        analysis.event(Event::Process { process: 0, forked_from: None });
        analysis.event(Event::Thread { thread: 0, process: 0, cloned_from: None });
        analysis.event(Event::Block { process: 0, number: 1, block });
        // All pairs; of more arguments those beyond are as the first ones.
        for number in 0..ARGUMENTS.len().pow(arity.min(2) as u32) {
            let args = [number % ARGUMENTS.len(), number / ARGUMENTS.len()].map(|at| ARGUMENTS[at]);
            let fields = (0..arity).flat_map(|at| args[at % 2].to_le_bytes());
            let mut record: Vec<u8> = 1u64.to_le_bytes().into_iter().chain(fields).collect();
            record.resize(length, 0);
            let ((), measured) = measure::of(|| analysis.event(Event::Records { thread: 0, bytes: &record }));
            if measured.seconds > LONG {
                slow.push(format!("{} of {:?} takes {} s", operator.name(), &args[..arity.min(2)], measured.seconds));
            }
        }
        // Some are two operations.
        assert!(analysis.operations() >= ARGUMENTS.len().pow(arity.min(2) as u32) as u64, "{}", operator.name());
    }
    assert!(slow.is_empty(), "{slow:#?}");
}
