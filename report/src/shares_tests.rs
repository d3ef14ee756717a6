use super::*;
use crate::fixtures::*;

/// The address of a line of sum.c.
const fn line(number: u64) -> u64 {
    0x1000 + number
}

fn told(contributions: Vec<Contribution>) -> String {
    let mut spot = printed(line(12), 1, 1, 20.1);
    spot.accumulated_in = contributions.iter().map(|contribution| contribution.location).collect();
    let accumulated = accumulated(contributions);
    shares(&without_causes(vec![spot]), &accumulated).expect("there are shares")
}

#[test]
fn shares_are_told_with_their_places_the_largest_first() {
    let product = Contribution { operator: Operator::Mul, executions: 1, ..contribution(line(9), 0.029) };
    assert_eq!(
        told(vec![product, contribution(line(7), 0.971)]),
        "of the error 97.1 % comes from the addition at sum.c:7 (executed 1,000,000 times) and \
         2.9 % from the multiplication at sum.c:9 (executed 1 time)"
    );
}

#[test]
fn a_sum_that_a_loop_carries_on_is_one_thing() {
    let sum = Contribution { inherited: 0.956, carried: true, ..contribution(line(7), 0.044) };
    assert_eq!(
        told(vec![sum]),
        "of the error 100 % comes from the addition at sum.c:7 (executed 1,000,000 times; 95.6 % before the last 10,000)"
    );
}

#[test]
fn an_unrolled_loop_is_told_as_one() {
    let inherited = Contribution { inherited: 0.5, carried: true, beside: vec![1], ..contribution(line(7), 0.1) };
    let other = Contribution { location: at(line(7) + 0x100), beside: vec![0], ..inherited.clone() };
    let other = Contribution { inherited: 0.3, ..other };
    assert_eq!(
        told(vec![inherited, other]),
        "of the error 100 % comes from the addition at sum.c:7 (executed 2,000,000 times; 80 % before the last 20,000)"
    );
}

#[test]
fn what_a_loop_of_several_operations_left_is_not_laid_on_one_of_them() {
    let sum = Contribution { inherited: 0.9, carried: true, beside: vec![1], ..contribution(line(7), 0.08) };
    let product = Contribution { operator: Operator::Mul, ..contribution(line(6), 0.02) };
    assert_eq!(
        told(vec![sum, product]),
        "of the error 90 % comes from earlier turns of the loop through the addition at sum.c:7 (executed 1,000,000 times), \
         with the multiplication at sum.c:6, 8 % from the addition at sum.c:7 (executed 1,000,000 times) and \
         2 % from the multiplication at sum.c:6 (executed 1,000,000 times)"
    );
}

#[test]
fn what_is_not_known_is_said() {
    let cut = Contribution { inherited: 0.4, ..contribution(line(7), 0.0) };
    assert_eq!(
        told(vec![cut]),
        "of the error 40 % comes with results of the addition at sum.c:7 whose histories are cut off and \
         60 % from what is not known"
    );
    let many = (1..=5).map(|number| contribution(line(number), 0.2)).collect();
    assert!(told(many).ends_with("times) and 40 % from other operations"));
    let unknown = Contribution { beside: vec![99], ..contribution(line(7), 1.0) };
    assert!(told(vec![unknown]).starts_with("of the error 100 % comes from"), "an index that is none is left out");
}

#[test]
fn nothing_is_said_of_nothing() {
    assert_eq!(shares(&without_causes(vec![]), &accumulated(vec![])), None);
}
