//! Concrete traces: the operations behind a value, as a DAG of bounded depth. Moves, loads, stores and calls leave no
//! node in it.

use crate::error;
use crate::format::is_within;
use crate::influence::Influences;
pub use crate::leaf::Leaf;
use crate::location::LocationId;
use crate::number::Number;
use crate::real::Real;
use fpgrind_ir::{MAX_ARITY, Operator, Type};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The bits of a float in sixteen bytes: traces are made of them.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, packed(2))]
pub struct Bits {
    low: u64,
    high: u64,
}

impl Bits {
    #[inline]
    pub fn new(bits: u128) -> Bits {
        Bits { low: bits as u64, high: (bits >> 64) as u64 }
    }

    #[inline]
    pub fn get(self) -> u128 {
        self.low as u128 | (self.high as u128) << 64
    }
}

/// The result of an operation, and how it came about.
pub struct Node<R> {
    pub operator: Operator,
    pub ty: Type,
    /// Levels of operations below and including this one.
    pub depth: u16,
    pub influences: Influences,
    pub at: LocationId,
    /// What the guest computed.
    pub bits: Bits,
    /// What it stands for, and the float next to that, rounded as the operation rounds.
    pub real: R,
    pub rounded: Bits,
    /// Total error, in the format in which the value was last rounded.
    pub ulps: u64,
    /// Empty where the trace is cut off.
    pub args: Args<R>,
}

impl<R> Node<R> {
    /// Did it not round? Where the trace is cut off, a cast to a wide format is taken to widen.
    pub fn is_exact(&self) -> bool {
        let from = self.args.first().map_or(Type::F32, Term::ty);
        crate::operation::is_exact(self.operator, from, self.ty)
    }

    /// Does the same operation occur among those behind the value? Then the value is one that a loop carries from turn to turn.
    pub fn recurs(&self) -> bool {
        /// Nodes looked at: a loop's body is not larger, or its traces are cut before they show a second turn.
        const ENOUGH: usize = 200;
        let mut pending = vec![self];
        let mut looked_at = 0;
        while let Some(node) = pending.pop() {
            for arg in node.args.iter() {
                if let Term::Node(arg) = arg {
                    looked_at += 1;
                    if (arg.at, arg.operator) == (self.at, self.operator) {
                        return true;
                    }
                    if looked_at < ENOUGH {
                        pending.push(arg);
                    }
                }
            }
        }
        false
    }
}

/// The arguments of an operation.
pub struct Args<R> {
    terms: [Term<R>; MAX_ARITY],
    count: u8,
}

impl<R> Args<R> {
    pub fn none() -> Args<R> {
        Args::from_iter([])
    }
}

impl<R> FromIterator<Term<R>> for Args<R> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = Term<R>>>(terms: I) -> Args<R> {
        let mut terms = terms.into_iter();
        let mut count = 0;
        let terms = std::array::from_fn(|_| match terms.next() {
            Some(term) => {
                count += 1;
                term
            }
            None => Term::Leaf(Leaf::new(Type::F64, 0, false)),
        });
        Args { terms, count }
    }
}

impl<R> std::ops::Deref for Args<R> {
    type Target = [Term<R>];

    fn deref(&self) -> &[Term<R>] {
        &self.terms[..self.count as usize]
    }
}

impl<R> std::ops::DerefMut for Args<R> {
    fn deref_mut(&mut self) -> &mut [Term<R>] {
        &mut self.terms[..self.count as usize]
    }
}

/// A float as an operation sees it.
pub enum Term<R> {
    Leaf(Leaf),
    Node(Rc<Node<R>>),
}

impl<R> Clone for Term<R> {
    fn clone(&self) -> Term<R> {
        match self {
            Term::Leaf(leaf) => Term::Leaf(*leaf),
            Term::Node(node) => Term::Node(node.clone()),
        }
    }
}

impl<R> Term<R> {
    pub fn bits(&self) -> u128 {
        match self {
            Term::Leaf(leaf) => leaf.bits(),
            Term::Node(node) => node.bits.get(),
        }
    }

    pub fn ty(&self) -> Type {
        match self {
            Term::Leaf(leaf) => leaf.ty,
            Term::Node(node) => node.ty,
        }
    }

    /// The native value, for ranges: a long double's is not exact.
    pub fn value(&self) -> f64 {
        error::value(self.ty(), self.bits())
    }

    /// The native value.
    pub fn number(&self) -> Number {
        Number::new(self.ty(), self.bits())
    }

    /// The float next to the real.
    pub fn rounded(&self) -> u128 {
        match self {
            Term::Leaf(leaf) => leaf.bits(),
            Term::Node(node) => node.rounded.get(),
        }
    }

    /// Is the native value what it should be?
    pub fn is_right(&self) -> bool {
        match self {
            Term::Leaf(_) => true,
            Term::Node(node) => node.rounded == node.bits,
        }
    }

    /// What the native value should be.
    pub fn correct(&self) -> Number {
        Number::new(self.ty(), self.rounded())
    }

    pub fn ulps(&self) -> u64 {
        match self {
            Term::Leaf(_) => 0,
            Term::Node(node) => node.ulps,
        }
    }

    pub fn influences(&self) -> Influences {
        match self {
            Term::Leaf(_) => Influences::NONE,
            Term::Node(node) => node.influences,
        }
    }

    pub fn depth(&self) -> u16 {
        match self {
            Term::Leaf(_) => 0,
            Term::Node(node) => node.depth,
        }
    }

    /// The term that an expression shows for this one: widening a single is exact and leaves no mark.
    pub fn shown(&self) -> &Term<R> {
        let mut term = self;
        while let Term::Node(node) = term
            && is_widening(node)
            && let Some(arg) = node.args.first()
        {
            term = arg;
        }
        term
    }
}

/// A single taken as a double, or the like: exact, and no operation to speak of.
pub fn is_widening<R>(node: &Node<R>) -> bool {
    node.operator == Operator::Cast && node.args.first().is_some_and(|arg| is_within(arg.ty(), node.ty))
}

/// Cuts traces that have grown too deep. A value may have [`SLACK`] times the depth that is kept; it is then rebuilt with
/// that depth, so that the cost per operation is constant and dropping a trace never recurses far.
pub struct Pruner<R> {
    max_depth: u16,
    /// By the original's address and the levels kept.
    rebuilt: FxHashMap<(*const Node<R>, u16), Rebuilt<R>>,
}

struct Rebuilt<R> {
    node: Rc<Node<R>>,
    /// Held so that its address is not reused.
    _original: Rc<Node<R>>,
}

/// Rebuilding copies a node once for each level that it lies on, so it must be seldom; memory must be little.
const SLACK: u16 = 8;
/// Rebuilt nodes are shared between the traces of neighbours; more than these are not remembered.
const MAX_REMEMBERED: usize = 1 << 16;
/// A number of a factorised matrix rests on all the others, and twenty levels of its trace may be a hundred thousand nodes. Nobody reads
/// such an expression, so then fewer levels are kept.
const MAX_REBUILT: usize = 300;
/// Depth costs memory for every live value, and recursion when it is dropped.
const MAX_DEPTH: usize = 1000;

impl<R: Real> Pruner<R> {
    pub fn new(max_depth: usize) -> Pruner<R> {
        Pruner { max_depth: max_depth.clamp(1, MAX_DEPTH) as u16, rebuilt: FxHashMap::default() }
    }

    pub fn max_depth(&self) -> usize {
        self.max_depth as usize
    }

    /// The depth of a new node on these arguments; those that would make it too much are cut.
    pub fn depth_over(&mut self, args: &mut Args<R>) -> u16 {
        let mut depth = 1;
        for arg in args.iter_mut() {
            if arg.depth() + 1 >= SLACK * self.max_depth {
                let levels = levels_within(MAX_REBUILT, arg, self.max_depth - 1);
                *arg = self.cut(arg, levels);
                if self.rebuilt.len() > MAX_REMEMBERED {
                    self.rebuilt.clear();
                }
            }
            depth = depth.max(arg.depth() + 1);
        }
        depth
    }

    /// The term with so many levels of operations whose arguments are known, and one level of results below.
    fn cut(&mut self, term: &Term<R>, levels: u16) -> Term<R> {
        let Term::Node(node) = term else { return term.clone() };
        if node.depth <= levels || node.args.is_empty() {
            return term.clone();
        }
        let key = (Rc::as_ptr(node), levels);
        if let Some(rebuilt) = self.rebuilt.get(&key) {
            return Term::Node(rebuilt.node.clone());
        }
        let args: Args<R> = match levels {
            0 => Args::none(),
            _ => node.args.iter().map(|arg| self.cut(arg, levels - 1)).collect(),
        };
        let rebuilt = Rc::new(Node {
            depth: 1 + args.iter().map(Term::depth).max().unwrap_or(0),
            args,
            real: node.real.clone(),
            ..**node
        });
        self.rebuilt.insert(key, Rebuilt { node: rebuilt.clone(), _original: node.clone() });
        Term::Node(rebuilt)
    }
}

/// How many levels of a term, up to a number, have no more than so many nodes together.
fn levels_within<R>(nodes: usize, term: &Term<R>, levels: u16) -> u16 {
    let inner = |term: &Term<R>| match term {
        Term::Node(node) => Some(node.clone()),
        Term::Leaf(_) => None,
    };
    let mut level: Vec<Rc<Node<R>>> = inner(term).into_iter().collect();
    let mut count = 0;
    for depth in 0..levels {
        count += level.len();
        if count > nodes {
            return depth;
        }
        level = level.iter().flat_map(|node| node.args.iter().filter_map(inner)).collect();
        level.sort_unstable_by_key(Rc::as_ptr);
        level.dedup_by_key(|node| Rc::as_ptr(node));
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpfr::Mpfr;

    fn node(pruner: &mut Pruner<Mpfr>, args: &[Term<Mpfr>], pc: u64) -> Term<Mpfr> {
        let mut args: Args<Mpfr> = args.iter().cloned().collect();
        let depth = pruner.depth_over(&mut args);
        Term::Node(Rc::new(Node {
            operator: Operator::Add,
            ty: Type::F64,
            depth,
            influences: Influences::NONE,
            at: LocationId(pc as u32),
            bits: Bits::new(pc as u128),
            real: Mpfr::zero(64),
            rounded: Bits::new(pc as u128),
            ulps: 0,
            args,
        }))
    }

    fn leaf() -> Term<Mpfr> {
        Term::Leaf(Leaf::new(Type::F64, 0, false))
    }

    /// Follows the first arguments down to the end of the trace; the pcs on the way.
    fn spine(term: &Term<Mpfr>) -> Vec<u64> {
        match term {
            Term::Leaf(_) => vec![],
            Term::Node(node) => {
                let below = node.args.first().map_or(vec![], spine);
                [vec![node.at.0 as u64], below].concat()
            }
        }
    }

    #[test]
    fn a_long_chain_keeps_at_least_the_depth_asked_for_of_the_latest_operations() {
        let mut pruner = Pruner::new(4);
        let mut value = leaf();
        for pc in 1..=1000u64 {
            value = node(&mut pruner, &[value, leaf()], pc);
            let pcs = spine(&value);
            assert!(pcs.len() >= 4.min(pc as usize) && pcs.len() <= 4 * SLACK as usize, "{pcs:?}");
            assert!(pcs.iter().enumerate().all(|(i, at)| *at == pc - i as u64));
        }
    }

    #[test]
    fn terms_are_small() {
        assert_eq!(std::mem::size_of::<Term<Mpfr>>(), 16);
    }

    #[test]
    fn a_shared_argument_stays_shared_when_cut() {
        // x = x + x: a tree of 2^n leaves, a DAG of n nodes.
        let mut pruner = Pruner::new(20);
        let mut value = leaf();
        for pc in 1..=10_000 {
            value = node(&mut pruner, &[value.clone(), value.clone()], pc);
        }
        let Term::Node(root) = &value else { panic!() };
        let [Term::Node(a), Term::Node(b)] = &root.args[..] else { panic!() };
        assert!(Rc::ptr_eq(a, b));
    }

    #[test]
    fn of_a_wide_trace_fewer_levels_are_kept() {
        // Every value of a row rests on three of the row before, as in a matrix that is being factorised.
        let mut pruner = Pruner::new(100);
        let mut row = vec![leaf(); 50];
        for pc in 1..=50 {
            row = (0..50).map(|at| node(&mut pruner, &[0, 1, 5].map(|on| row[(at + on) % 50].clone()), pc)).collect();
        }
        let levels = levels_within(300, &row[0], 49);
        assert!((6..20).contains(&levels), "{levels}");
        assert_eq!(levels_within(300, &row[0], 3), 3);
        let Term::Node(cut) = pruner.cut(&row[0], levels) else { panic!() };
        assert_eq!((cut.depth, spine(&row[0]).len()), (levels + 1, 50));
    }
}
