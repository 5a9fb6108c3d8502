//! Numbers written with an exponent, in every way that JSON allows.
//!
//! `0.00001e5`, `100e-2` and `1E+0` are 1, so what may follow the `e` depends on all digits before
//! it. A set of numbers is therefore kept as a formula over a few conditions, and read by one
//! automaton: it follows the digits as far as the conditions need them, and at the `e` computes
//! the exact set of exponents that make the number right. With unbounded digits that would not be
//! a regular language, so the digits on each side of the point are bounded.

mod exponents;

use std::cmp::Ordering;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use self::exponents::Exponents;
use super::decimal::Decimal;
use super::multiple::Divisor;
use super::number::Side;
use crate::regex::{Language, Languages};

/// A set of numbers, as an index into the formulas that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Formula(u32);

impl Formula {
    /// No number.
    pub(super) const NONE: Self = Self(0);
    /// Every number.
    pub(super) const ALL: Self = Self(1);
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Expr {
    None,
    All,
    Atom(Atom),
    And(Formula, Formula),
    Or(Formula, Formula),
    Not(Formula),
}

/// A condition on a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Atom {
    Bound { value: Decimal, side: Side, inclusive: bool },
    Multiple(Divisor),
    Value(Decimal),
}

/// All formulas made so far.
#[derive(Clone, Debug)]
pub(super) struct Formulas {
    exprs: Vec<Expr>,
    ids: FxHashMap<Expr, Formula>,
}

impl Formulas {
    pub(super) fn new() -> Self {
        let mut this = Self { exprs: Vec::new(), ids: FxHashMap::default() };
        let constants = (this.intern(Expr::None), this.intern(Expr::All));
        debug_assert_eq!(constants, (Formula::NONE, Formula::ALL));
        this
    }

    fn intern(&mut self, expr: Expr) -> Formula {
        let next = Formula(self.exprs.len() as u32);
        let id = *self.ids.entry(expr.clone()).or_insert(next);
        if id == next {
            self.exprs.push(expr);
        }
        id
    }

    pub(super) fn bound(&mut self, value: &Decimal, side: Side, inclusive: bool) -> Formula {
        self.intern(Expr::Atom(Atom::Bound { value: value.clone(), side, inclusive }))
    }

    pub(super) fn multiple(&mut self, divisor: &Divisor) -> Formula {
        self.intern(Expr::Atom(Atom::Multiple(divisor.clone())))
    }

    pub(super) fn value(&mut self, value: &Decimal) -> Formula {
        self.intern(Expr::Atom(Atom::Value(value.clone())))
    }

    pub(super) fn and(&mut self, a: Formula, b: Formula) -> Formula {
        match (a.min(b), a.max(b)) {
            (Formula::NONE, _) => Formula::NONE,
            (Formula::ALL, x) => x,
            (x, y) if x == y => x,
            (x, y) => self.intern(Expr::And(x, y)),
        }
    }

    pub(super) fn or(&mut self, a: Formula, b: Formula) -> Formula {
        match (a.min(b), a.max(b)) {
            (Formula::NONE, x) => x,
            (Formula::ALL, _) => Formula::ALL,
            (x, y) if x == y => x,
            (x, y) => self.intern(Expr::Or(x, y)),
        }
    }

    pub(super) fn not(&mut self, a: Formula) -> Formula {
        match self.exprs[a.0 as usize] {
            Expr::None => Formula::ALL,
            Expr::All => Formula::NONE,
            Expr::Not(inner) => inner,
            _ => self.intern(Expr::Not(a)),
        }
    }

    /// The literals with an exponent whose value is in a set: at most `digits` digits on each
    /// side of the point and in the exponent.
    pub(super) fn language(&self, l: &mut Languages, set: Formula, digits: u32) -> Language {
        if set == Formula::NONE {
            return Language::EMPTY;
        }
        // What the formula is made of, in an order of its own.
        let mut parts = vec![set];
        let mut next = 0;
        while let Some(&part) = parts.get(next) {
            next += 1;
            let inner = match self.exprs[part.0 as usize] {
                Expr::And(a, b) | Expr::Or(a, b) => vec![a, b],
                Expr::Not(a) => vec![a],
                _ => vec![],
            };
            inner.into_iter().for_each(|part| {
                if !parts.contains(&part) {
                    parts.push(part);
                }
            });
        }
        parts.sort_unstable();
        let (mut atoms, mut steps): (Vec<Atom>, Vec<Step>) = (Vec::new(), Vec::new());
        for part in &parts {
            // Parts are made before what they are parts of.
            let place = |part: &Formula| parts.binary_search(part).unwrap_or(0);
            steps.push(match &self.exprs[part.0 as usize] {
                Expr::None => Step::None,
                Expr::All => Step::All,
                Expr::Atom(atom) => {
                    atoms.push(atom.clone());
                    Step::Atom(atoms.len() - 1)
                }
                Expr::And(a, b) => Step::And(place(a), place(b)),
                Expr::Or(a, b) => Step::Or(place(a), place(b)),
                Expr::Not(a) => Step::Not(place(a)),
            });
        }
        if is_plainly_empty(&atoms, &steps) {
            return Language::EMPTY;
        }
        let (automaton, start) = Exponents::new(atoms, steps, digits);
        l.automaton(Arc::new(automaton), start)
    }
}

/// How a formula is computed: each step from earlier ones.
#[derive(Clone, Copy, Debug)]
enum Step {
    None,
    All,
    Atom(usize),
    And(usize, usize),
    Or(usize, usize),
    Not(usize),
}

/// Steps that are taken to find out whether bounds contradict each other.
const CASES: usize = 100_000;

/// Do the bounds alone leave no number, whatever it is a multiple of? They split the numbers into
/// the values that are named and the gaps between them, and everywhere in a gap they say the same.
fn is_plainly_empty(atoms: &[Atom], steps: &[Step]) -> bool {
    let mut values: Vec<&Decimal> = Vec::new();
    let mut divisors = Vec::new();
    for (i, atom) in atoms.iter().enumerate() {
        match atom {
            Atom::Bound { value, .. } | Atom::Value(value) => values.push(value),
            Atom::Multiple(_) => divisors.push(i),
        }
    }
    values.sort_unstable();
    values.dedup();
    // Gaps have even numbers, values odd ones.
    let places = 2 * values.len() + 1;
    let choices = 1usize.checked_shl(divisors.len() as u32).unwrap_or(usize::MAX);
    if choices.saturating_mul(places * steps.len()) > CASES {
        return false;
    }
    let place_of = |value: &Decimal| 2 * values.partition_point(|other| *other < value) + 1;
    let holds = |place: usize, choice: usize| {
        let mut truths: Vec<bool> = Vec::with_capacity(steps.len());
        for step in steps {
            truths.push(match *step {
                Step::None => false,
                Step::All => true,
                Step::Atom(i) => match &atoms[i] {
                    Atom::Bound { value, side, inclusive } => match place.cmp(&place_of(value)) {
                        Ordering::Less => *side == Side::Below,
                        Ordering::Equal => *inclusive,
                        Ordering::Greater => *side == Side::Above,
                    },
                    Atom::Value(value) => place == place_of(value),
                    Atom::Multiple(_) => {
                        choice >> divisors.partition_point(|&divisor| divisor < i) & 1 == 1
                    }
                },
                Step::And(a, b) => truths[a] && truths[b],
                Step::Or(a, b) => truths[a] || truths[b],
                Step::Not(a) => !truths[a],
            });
        }
        truths.pop().unwrap_or(false)
    };
    !(0..places).any(|place| (0..choices).any(|choice| holds(place, choice)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LITERALS: &[&str] = &[
        "0e0",
        "-0.0e5",
        "0E+10",
        "1e0",
        "10e-1",
        "0.1e1",
        "1.0E0",
        "100e-002",
        "0.00001e5",
        "1e1",
        "1.5e1",
        "15e-1",
        "1.50e0",
        "15e0",
        "-15e-1",
        "-1.5e+01",
        "7e0",
        "70e-1",
        "0.7e1",
        "7e2",
        "14e-1",
        "14e1",
        "1e400",
        "-1e400",
        "1e-400",
        "99999e-4",
        "9.9999e0",
        "3e0",
        "3.1e0",
        "0.05e2",
        "5e0",
        "5.00e0",
        "5.01e0",
        "500e-2",
        "12345e-3",
        "12.345e0",
    ];

    #[test]
    fn exponents_are_those_that_make_the_number_right() {
        let d = |text: &str| Decimal::parse(text).unwrap();
        let mut formulas = Formulas::new();
        let above = formulas.bound(&d("3"), Side::Above, true);
        let below = formulas.bound(&d("5"), Side::Below, false);
        let between = formulas.and(above, below);
        let negative = formulas.bound(&d("0"), Side::Below, false);
        let seven = Divisor::new(&d("7")).unwrap();
        let seven = formulas.multiple(&seven);
        let tenths = Divisor::new(&d("0.1")).unwrap();
        let tenths = formulas.multiple(&tenths);
        let one = formulas.value(&d("1.0"));
        let fifteen = formulas.value(&d("-15"));
        let either = formulas.or(one, fifteen);
        let not_tenths = formulas.not(tenths);
        let outside = formulas.not(between);
        let odd = formulas.and(outside, not_tenths);
        let five = d("5");
        let sevens = |x: &Decimal| {
            x.is_integer()
                && x.whole_digits().bytes().fold(0, |r, b| (r * 10 + u32::from(b - b'0')) % 7) == 0
        };
        type Test<'a> = &'a dyn Fn(&Decimal) -> bool;
        let is_between = |x: &Decimal| *x >= d("3") && *x < five;
        let is_tenths = |x: &Decimal| x.fraction_digits().len() <= 1;
        let table: [(Formula, Test<'_>); 7] = [
            (Formula::ALL, &|_| true),
            (between, &is_between),
            (negative, &|x| *x < d("0")),
            (seven, &sevens),
            (tenths, &is_tenths),
            (either, &|x| *x == d("1") || *x == d("-15")),
            (odd, &|x| !is_between(x) && !is_tenths(x)),
        ];
        let mut l = Languages::new();
        for (formula, expected) in table {
            for digits in [20, 400] {
                let language = formulas.language(&mut l, formula, digits);
                for literal in LITERALS {
                    let accepted = l.matches(language, literal.as_bytes()).unwrap();
                    assert_eq!(accepted, expected(&d(literal)), "{literal} in {formula:?}");
                }
                for bad in ["1", "1.5", "01e0", "1.e0", ".5e0", "1e", "1e+", "e1", "1e1.0", "--1e0"]
                {
                    assert!(!l.matches(language, bad.as_bytes()).unwrap(), "{bad}");
                }
            }
        }
        let nothing = formulas.and(between, negative);
        let nothing = formulas.language(&mut l, nothing, 20);
        assert!(!l.is_live(nothing).unwrap());
    }

    #[test]
    fn bounds_that_contradict_each_other_leave_nothing() {
        let d = |text: &str| Decimal::parse(text).unwrap();
        let mut f = Formulas::new();
        let low = f.bound(&d("3"), Side::Above, true);
        let high = f.bound(&d("3"), Side::Below, true);
        let (open, three) = (f.bound(&d("3"), Side::Below, false), f.value(&d("3")));
        let (half, third) =
            ["0.5", "0.3"].map(|step| f.multiple(&Divisor::new(&d(step)).unwrap())).into();
        let mut l = Languages::new();
        let mut is_empty = |f: &Formulas, set| f.language(&mut l, set, 20) == Language::EMPTY;
        let either = f.or(half, third);
        let outside = f.and(low, open);
        let nothing = f.and(outside, either);
        assert!(is_empty(&f, nothing));
        let point = f.and(low, high);
        let some = f.and(point, either);
        assert!(!is_empty(&f, some));
        let other = f.not(three);
        let nothing = f.and(some, other);
        assert!(is_empty(&f, nothing));
        let neither = f.not(either);
        let nothing = f.and(neither, half);
        assert!(is_empty(&f, nothing));
        let some = f.and(neither, low);
        assert!(!is_empty(&f, some));
    }

    #[test]
    fn what_leads_nowhere_is_not_begun() {
        let d = |text: &str| Decimal::parse(text).unwrap();
        let mut formulas = Formulas::new();
        let (low, high) = (
            formulas.bound(&d("3"), Side::Above, true),
            formulas.bound(&d("5"), Side::Below, true),
        );
        let between = formulas.and(low, high);
        let mut l = Languages::new();
        let language = formulas.language(&mut l, between, 400);
        let first: Vec<u8> = l.first_bytes(language).unwrap().iter().collect();
        assert_eq!(first, b"0345");
        let after = l.step(language, b'5').unwrap();
        let next: Vec<u8> = l.first_bytes(after).unwrap().iter().collect();
        assert_eq!(next, b".0Ee");
    }
}
