//! The expression as a tree, from its inputs on the left to its result on the right, coloured by the error at each place when it is
//! evaluated at the worst inputs; and the same as a table.

use super::markup::{Html, classed, element};
use super::math::symbol;
use super::plot::svg;
use crate::numbers::{bits, exact, short, short_pair};
use fpgrind_analysis::{Cause, Expr, Step};

/// A node's box, and the distances from one to the next.
const BOX_WIDTH: f64 = 74.0;
const BOX_HEIGHT: f64 = 34.0;
const COLUMN: f64 = 124.0;
const ROW: f64 = 42.0;
const MARGIN: f64 = 8.0;
/// Characters that fit a box.
const LABEL: usize = 10;

/// Bits of error from which the next colour is used, beginning with the second.
pub const LEVELS: [f64; 5] = [1.0, 5.0, 15.0, 30.0, 45.0];

/// A part of the expression where it is drawn.
struct Node<'a> {
    expr: &'a Expr,
    step: &'a Step,
    depth: usize,
    /// In rows from the top.
    height: f64,
    parent: Option<usize>,
}

/// The parts in the order of the steps. Nothing if there are no steps for them, as in reports of earlier versions.
fn nodes(cause: &Cause) -> Option<Vec<Node<'_>>> {
    let mut nodes = Vec::new();
    let mut rows = 0;
    lay_out(&cause.expr, 0, &cause.steps, &mut nodes, &mut rows)?;
    (nodes.len() == cause.steps.len()).then_some(nodes)
}

/// Lays out a part and all that is in it; its number.
fn lay_out<'a>(
    expr: &'a Expr,
    depth: usize,
    steps: &'a [Step],
    nodes: &mut Vec<Node<'a>>,
    rows: &mut usize,
) -> Option<usize> {
    let mut children = Vec::new();
    if let Expr::Op { args, .. } = expr {
        for arg in args {
            children.push(lay_out(arg, depth + 1, steps, nodes, rows)?);
        }
    }
    let height = match (children.first(), children.last()) {
        (Some(first), Some(last)) => (nodes[*first].height + nodes[*last].height) / 2.0,
        _ => {
            *rows += 1;
            (*rows - 1) as f64
        }
    };
    let number = nodes.len();
    children.iter().for_each(|child| nodes[*child].parent = Some(number));
    nodes.push(Node { expr, step: steps.get(number)?, depth, height, parent: None });
    Some(number)
}

/// The tree with its table.
pub fn tree(cause: &Cause, names: &[&str], threshold: f64) -> Option<Html> {
    let nodes = nodes(cause)?;
    let deepest = nodes.iter().map(|node| node.depth).max()?;
    let lowest = nodes.iter().fold(0.0, |lowest: f64, node| lowest.max(node.height));
    let left = |node: &Node| MARGIN + (deepest - node.depth) as f64 * COLUMN;
    let top = |node: &Node| MARGIN + node.height * ROW;
    let width = 2.0 * MARGIN + deepest as f64 * COLUMN + BOX_WIDTH;
    let height = 2.0 * MARGIN + lowest * ROW + BOX_HEIGHT;
    let edges = nodes.iter().filter_map(|node| {
        let parent = nodes.get(node.parent?)?;
        let (x, y) = (left(node) + BOX_WIDTH, top(node) + BOX_HEIGHT / 2.0);
        let (to_x, to_y) = (left(parent), top(parent) + BOX_HEIGHT / 2.0);
        let middle = (x + to_x) / 2.0;
        let d = format!("M{x:.1} {y:.1}C{middle:.1} {y:.1} {middle:.1} {to_y:.1} {to_x:.1} {to_y:.1}");
        Some(element("path").with("class", format!("edge e{}", level(node.step.bits))).with("d", d))
    });
    let boxes = nodes.iter().map(|node| {
        let (x, y) = (left(node), top(node));
        let arises = if node.step.local_bits > threshold { " arises" } else { "" };
        let class = format!("node n{}{arises}", level(node.step.bits));
        let frame = element("rect").with("x", format!("{x:.1}")).with("y", format!("{y:.1}"));
        let text = |dy: f64, said: String, class: &'static str| {
            let text = classed("text", class).with("x", format!("{:.1}", x + BOX_WIDTH / 2.0));
            text.with("y", format!("{:.1}", y + dy)).say(said)
        };
        element("g")
            .with("class", class)
            .put(element("title").say(told(node, names, threshold)))
            .put(frame.with("width", BOX_WIDTH).with("height", BOX_HEIGHT).with("rx", 6))
            .put(text(15.0, label(node.expr, names), "what"))
            .put(text(28.0, bits(node.step.bits), "bits"))
    });
    let picture = svg(width, height, "tree", &summary(&nodes, names, threshold)).all(edges).all(boxes);
    let scroll = classed("div", "scroll from-right")
        .with("tabindex", 0)
        .with("role", "group")
        .with("aria-label", "expression tree");
    Some([scroll.put(picture).into(), legend(), table(&nodes, names, threshold)].into_iter().collect())
}

pub fn level(bits: f64) -> usize {
    LEVELS.iter().filter(|from| bits >= **from).count()
}

fn label(expr: &Expr, names: &[&str]) -> String {
    let label = match expr {
        Expr::Op { operator, ty, .. } => symbol(*operator, *ty).to_string(),
        Expr::Num(value) if expr.infix(names) != "PI" => short(*value),
        _ => expr.infix(names),
    };
    match label.char_indices().nth(LABEL) {
        Some((at, _)) => format!("{}…", &label[..at]),
        None => label,
    }
}

fn told(node: &Node, names: &[&str], threshold: f64) -> String {
    let Step { computed, correct, .. } = *node.step;
    let (computed, correct) = short_pair(computed, correct);
    let arises = if node.step.local_bits > threshold { ", which arises here" } else { "" };
    let of = node.expr.infix(names);
    format!("{of}\ncomputed {computed}, correct {correct}\n{} of error{arises}", bits(node.step.bits))
}

fn summary(nodes: &[Node], names: &[&str], threshold: f64) -> String {
    let arises = nodes.iter().filter(|node| node.step.local_bits > threshold);
    let arises: Vec<String> = arises.map(|node| node.expr.infix(names)).collect();
    match arises.as_slice() {
        [] => "Expression tree: at the worst inputs no single operation makes the error".to_string(),
        _ => format!("Expression tree: at the worst inputs the error arises in {}", arises.join(" and in ")),
    }
}

fn legend() -> Html {
    let swatch = |level: usize| {
        let said = match (level, LEVELS.get(level)) {
            (0, _) => "below 1 bit".to_string(),
            (_, Some(to)) => format!("{} to {to}", LEVELS[level - 1]),
            (_, None) => format!("{} or more", LEVELS[level - 1]),
        };
        element("span").put(element("i").with("class", format!("swatch n{level}"))).say(said)
    };
    let arises = element("span").put(classed("i", "swatch arises")).say("arises here");
    classed("p", "legend").with("aria-hidden", "true").all((0..=LEVELS.len()).map(swatch)).put(arises).into()
}

fn table(nodes: &[Node], names: &[&str], threshold: f64) -> Html {
    let head = ["part", "computed", "correct", "error", "of its own"];
    let head = element("tr").all(head.into_iter().map(|name| element("th").with("scope", "col").say(name)));
    let rows = nodes.iter().filter(|node| !matches!(node.expr, Expr::Num(_))).map(|node| {
        let step = node.step;
        let class = if step.local_bits > threshold { "step arises" } else { "step" };
        let number = |value: String| classed("td", "number").say(value);
        element("tr")
            .with("class", class)
            .put(element("th").with("scope", "row").put(element("code").say(node.expr.infix(names))))
            .put(number(exact(step.computed)))
            .put(number(exact(step.correct)))
            .put(number(bits(step.bits)))
            .put(number(bits(step.local_bits)))
    });
    let table = element("table").put(element("thead").put(head)).put(element("tbody").all(rows));
    classed("details", "steps")
        .put(element("summary").say("Every step with its numbers"))
        .put(classed("div", "scroll").put(table))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn every_part_is_a_box_with_its_error_and_leads_to_what_is_made_of_it() {
        let mut cause = fixtures::cause();
        cause.steps[9].local_bits = 53.0;
        let html = tree(&cause, &["x", "y"], 5.0).expect("has steps").into_string();
        assert_eq!(html.matches("<rect").count(), 10, "{html}");
        assert_eq!(html.matches("class=\"edge").count(), 9, "{html}");
        assert_eq!(html.matches("class=\"node n5 arises\"").count(), 1, "{html}");
        assert!(html.contains("the error arises in sqrt(x*x + y*y) - x\""), "{html}");
        assert!(html.contains("computed 0, correct 1.9226e-23\n53.0 bits of error, which arises here"), "{html}");
        // Two numbers that differ in the last place have all their digits in the table.
        assert!(html.contains("<td class=\"number\">0.2499</td>"), "{html}");
        assert_eq!(html.matches("<tr class=\"step").count(), 10, "{html}");
    }

    #[test]
    fn steps_that_do_not_fit_the_expression_are_not_drawn() {
        let mut cause = fixtures::cause();
        cause.steps.pop();
        assert_eq!(tree(&cause, &["x", "y"], 5.0), None);
        cause.steps.clear();
        assert_eq!(tree(&cause, &["x", "y"], 5.0), None);
        let cause = Cause { steps: vec![fixtures::cause().steps[0]; 11], ..cause };
        assert_eq!(tree(&cause, &["x", "y"], 5.0), None);
    }

    #[test]
    fn colours_follow_the_error() {
        assert_eq!([0.0, 0.9, 1.0, 5.0, 14.0, 29.9, 30.0, 64.0].map(level), [0, 0, 1, 2, 2, 3, 4, 5]);
    }
}
