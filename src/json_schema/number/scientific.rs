//! Numbers written with an exponent, in every way that JSON allows.
//!
//! `0.00001e5`, `100e-2` and `1E+0` are 1, so what may follow the `e` depends on all digits before
//! it. A set of numbers is therefore kept as a formula over a few conditions, and read by one
//! automaton: it follows the digits as far as the conditions need them, and at the `e` computes
//! the exact set of exponents that make the number right. With unbounded digits that would not be
//! a regular language, so the digits on each side of the point are bounded.

pub(crate) mod exponents;

use std::sync::Arc;

use num_bigint::BigInt;
use rustc_hash::FxHashMap;

use self::exponents::Exponents;
use super::decimal::Decimal;
use crate::json_schema::number::BoundSide;
use crate::json_schema::number::multiple_of::arithmetic::gcd;
use crate::json_schema::number::multiple_of::grid::MultipleGrid;
use crate::regular::{Language, Languages};

/// A set of numbers, as an index into the formulas that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NumberFormula(u32);

impl NumberFormula {
    /// No number.
    pub(crate) const NONE: Self = Self(0);
    /// Every number.
    pub(crate) const ALL: Self = Self(1);
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FormulaExpr {
    None,
    All,
    NumberAtom(NumberAtom),
    And(NumberFormula, NumberFormula),
    Or(NumberFormula, NumberFormula),
    Not(NumberFormula),
}

/// A condition on a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NumberAtom {
    Bound { value: Decimal, side: BoundSide, inclusive: bool },
    Multiple(Divisor),
    Value(Decimal),
}

/// `step` times ten to the power of minus `places`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Divisor {
    step: BigInt,
    places: i64,
}

impl Divisor {
    /// The least power of ten which, times a number with this remainder, is a multiple, if the
    /// number does not end in 0.
    fn least_power(&self, remainder: &BigInt) -> Option<i64> {
        let (tens, rest) = tens(&(&self.step / gcd(&self.step, remainder)));
        (rest == BigInt::from(1)).then_some(tens - self.places)
    }
}

/// The least power of ten that makes up for the powers of 2 and 5 in a number, and the number
/// without them.
fn tens(number: &BigInt) -> (i64, BigInt) {
    let (mut rest, mut most) = (number.clone(), 0);
    for prime in [2, 5] {
        let mut powers = 0;
        while &rest % prime == BigInt::ZERO {
            rest /= prime;
            powers += 1;
        }
        most = most.max(powers);
    }
    (most, rest)
}

/// All formulas made so far.
#[derive(Clone, Debug)]
pub(crate) struct NumberFormulas {
    exprs: Vec<FormulaExpr>,
    ids: FxHashMap<FormulaExpr, NumberFormula>,
}

impl NumberFormulas {
    pub(crate) fn new() -> Self {
        let mut this = Self { exprs: Vec::new(), ids: FxHashMap::default() };
        let constants = (this.intern(FormulaExpr::None), this.intern(FormulaExpr::All));
        debug_assert_eq!(constants, (NumberFormula::NONE, NumberFormula::ALL));
        this
    }

    fn intern(&mut self, expr: FormulaExpr) -> NumberFormula {
        let next = NumberFormula(self.exprs.len() as u32);
        let id = *self.ids.entry(expr.clone()).or_insert(next);
        if id == next {
            self.exprs.push(expr);
        }
        id
    }

    pub(crate) fn bound(
        &mut self,
        value: &Decimal,
        side: BoundSide,
        inclusive: bool,
    ) -> NumberFormula {
        self.intern(FormulaExpr::NumberAtom(NumberAtom::Bound {
            value: value.clone(),
            side,
            inclusive,
        }))
    }

    /// The multiples that a grid is made of.
    pub(crate) fn multiple(&mut self, grid: &MultipleGrid) -> NumberFormula {
        let (step, places) = grid.unit();
        let divisor = Divisor { step: step.clone(), places: places.into() };
        self.intern(FormulaExpr::NumberAtom(NumberAtom::Multiple(divisor)))
    }

    pub(crate) fn value(&mut self, value: &Decimal) -> NumberFormula {
        self.intern(FormulaExpr::NumberAtom(NumberAtom::Value(value.clone())))
    }

    pub(crate) fn and(&mut self, a: NumberFormula, b: NumberFormula) -> NumberFormula {
        match (a.min(b), a.max(b)) {
            (NumberFormula::NONE, _) => NumberFormula::NONE,
            (NumberFormula::ALL, x) => x,
            (x, y) if x == y => x,
            (x, y) => self.intern(FormulaExpr::And(x, y)),
        }
    }

    pub(crate) fn or(&mut self, a: NumberFormula, b: NumberFormula) -> NumberFormula {
        match (a.min(b), a.max(b)) {
            (NumberFormula::NONE, x) => x,
            (NumberFormula::ALL, _) => NumberFormula::ALL,
            (x, y) if x == y => x,
            (x, y) => self.intern(FormulaExpr::Or(x, y)),
        }
    }

    pub(crate) fn not(&mut self, a: NumberFormula) -> NumberFormula {
        match self.exprs[a.0 as usize] {
            FormulaExpr::None => NumberFormula::ALL,
            FormulaExpr::All => NumberFormula::NONE,
            FormulaExpr::Not(inner) => inner,
            _ => self.intern(FormulaExpr::Not(a)),
        }
    }

    /// The literals with an exponent whose value is in a set: at most `digits` digits on each
    /// side of the point and in the exponent.
    pub(crate) fn language(&self, l: &mut Languages, set: NumberFormula, digits: u32) -> Language {
        if set == NumberFormula::NONE {
            return Language::EMPTY;
        }
        let (atoms, steps) = self.parts(set);
        let (automaton, start) = Exponents::new(atoms, steps, digits);
        l.automaton(Arc::new(automaton), start)
    }

    /// The atoms of a formula, and how it is computed from them.
    fn parts(&self, set: NumberFormula) -> (Vec<NumberAtom>, Vec<FormulaStep>) {
        // What the formula is made of, in an order of its own.
        let mut parts = vec![set];
        let mut next = 0;
        while let Some(&part) = parts.get(next) {
            next += 1;
            let inner = match self.exprs[part.0 as usize] {
                FormulaExpr::And(a, b) | FormulaExpr::Or(a, b) => vec![a, b],
                FormulaExpr::Not(a) => vec![a],
                _ => vec![],
            };
            inner.into_iter().for_each(|part| {
                if !parts.contains(&part) {
                    parts.push(part);
                }
            });
        }
        parts.sort_unstable();
        let (mut atoms, mut steps): (Vec<NumberAtom>, Vec<FormulaStep>) = (Vec::new(), Vec::new());
        for part in &parts {
            // Parts are made before what they are parts of.
            let place = |part: &NumberFormula| parts.binary_search(part).unwrap_or(0);
            steps.push(match &self.exprs[part.0 as usize] {
                FormulaExpr::None => FormulaStep::None,
                FormulaExpr::All => FormulaStep::All,
                FormulaExpr::NumberAtom(atom) => {
                    atoms.push(atom.clone());
                    FormulaStep::NumberAtom(atoms.len() - 1)
                }
                FormulaExpr::And(a, b) => FormulaStep::And(place(a), place(b)),
                FormulaExpr::Or(a, b) => FormulaStep::Or(place(a), place(b)),
                FormulaExpr::Not(a) => FormulaStep::Not(place(a)),
            });
        }
        (atoms, steps)
    }
}

/// The evaluation of a formula: each step uses earlier ones.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FormulaStep {
    None,
    All,
    NumberAtom(usize),
    And(usize, usize),
    Or(usize, usize),
    Not(usize),
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
        let mut formulas = NumberFormulas::new();
        let above = formulas.bound(&d("3"), BoundSide::Above, true);
        let below = formulas.bound(&d("5"), BoundSide::Below, false);
        let between = formulas.and(above, below);
        let negative = formulas.bound(&d("0"), BoundSide::Below, false);
        let [seven, tenths] =
            ["7", "0.1"].map(|step| formulas.multiple(&MultipleGrid::multiples(&d(step)).unwrap()));
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
        let table: [(NumberFormula, Test<'_>); 7] = [
            (NumberFormula::ALL, &|_| true),
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
    fn contradictions_leave_nothing() {
        let d = |text: &str| Decimal::parse(text).unwrap();
        let mut f = NumberFormulas::new();
        let low = f.bound(&d("3"), BoundSide::Above, true);
        let high = f.bound(&d("3"), BoundSide::Below, true);
        let (open, three) = (f.bound(&d("3"), BoundSide::Below, false), f.value(&d("3")));
        let [half, third, seven, long] = ["0.5", "0.3", "7", "0.12345678901234567890123"]
            .map(|step| f.multiple(&MultipleGrid::multiples(&d(step)).unwrap()));
        let either = f.or(half, third);
        let [outside, point, neither] = [f.and(low, open), f.and(low, high), f.not(either)];
        let [some, other] = [f.and(point, either), f.not(three)];
        let [below, positive] = [("6.99", BoundSide::Below), ("0", BoundSide::Above)]
            .map(|(v, side)| f.bound(&d(v), side, false));
        let [small, small_long] = [seven, long].map(|multiple| f.and(below, multiple));
        let integers = f.multiple(&MultipleGrid::integers(false));
        let none = f.not(NumberFormula::ALL);
        // Of 114 to 119 only the last is prime to 30.
        let prime =
            ["2", "3", "5"].map(|step| f.multiple(&MultipleGrid::multiples(&d(step)).unwrap()));
        let prime = prime.into_iter().fold(integers, |set, multiple| {
            let other = f.not(multiple);
            f.and(set, other)
        });
        let [from, to, before] =
            [("113", BoundSide::Above), ("120", BoundSide::Below), ("119", BoundSide::Below)]
                .map(|(value, side)| f.bound(&d(value), side, false));
        let prime = f.and(prime, from);
        let table = [
            (none, false),
            (f.and(outside, either), false),
            (some, true),
            (f.and(some, other), false),
            (f.and(neither, half), false),
            (f.and(neither, low), true),
            (small, true),
            (f.and(small, positive), false),
            (f.and(small_long, positive), true),
            (f.and(small_long, some), false),
            (f.and(long, integers), true),
            (f.and(prime, to), true),
            (f.and(prime, before), false),
        ];
        let mut l = Languages::new();
        for (set, expected) in table {
            let language = f.language(&mut l, set, 40);
            assert_eq!(l.is_live(language).unwrap(), expected, "{set:?}");
        }
    }

    #[test]
    fn what_leads_nowhere_is_not_begun() {
        let d = |text: &str| Decimal::parse(text).unwrap();
        let mut formulas = NumberFormulas::new();
        let (low, high) = (
            formulas.bound(&d("3"), BoundSide::Above, true),
            formulas.bound(&d("5"), BoundSide::Below, true),
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
