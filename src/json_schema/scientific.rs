//! Numbers written with an exponent, in every way that JSON allows.
//!
//! `0.00001e5`, `100e-2` and `1E+0` are 1, so what may follow the `e` depends on all digits before
//! it. A set of numbers is therefore kept as a formula over a few conditions, and read by one
//! automaton: it follows the digits as far as the conditions need them, and at the `e` computes
//! the exact set of exponents that make the number right. With unbounded digits that would not be
//! a regular language, so the digits on each side of the point are bounded.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use rustc_hash::{FxHashMap, FxHashSet};

use super::decimal::Decimal;
use super::multiple::Divisor;
use super::number::Side;
use crate::deadline;
use crate::regex::automaton::{Automaton, State};
use crate::regex::{Language, Languages};

/// Exponents of ten beyond this are all alike: no bound is so far out.
const FAR: i64 = 10_000_000;

/// Continuations of the digits to look at before they are taken to lead to a number of the set.
/// Only multiples of a long number within narrow bounds need so many.
const SEARCH: usize = 5_000;

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
        let digits = digits.max(1);
        let name = format!("exponents {digits} {atoms:?} {steps:?}");
        let compared = atoms.iter().map(|atom| match atom {
            Atom::Bound { value, .. } | Atom::Value(value) => value.scientific().0.len() as i64,
            Atom::Multiple(divisor) => divisor.digits(),
        });
        let horizon = compared.sum::<i64>() + 2;
        let (digits, lives) = (digits.into(), Mutex::default());
        let automaton = Exponents { name, atoms, steps, digits, horizon, lives };
        let start = automaton.pack(&Mantissa::new(&automaton.atoms));
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

/// A set of integers as sorted disjoint ranges, both ends included; ±[`FAR`] is no end.
type Ranges = Vec<(i64, i64)>;

fn complement(a: &Ranges) -> Ranges {
    let mut result = Ranges::new();
    let mut from = -FAR;
    for &(low, high) in a {
        if from < low {
            result.push((from, low - 1));
        }
        from = high + 1;
    }
    if from <= FAR {
        result.push((from, FAR));
    }
    result
}

fn intersection(a: &Ranges, b: &Ranges) -> Ranges {
    let mut result = Ranges::new();
    for &(a, b0) in a {
        for &(c, d) in b {
            let (low, high) = (a.max(c), b0.min(d));
            if low <= high {
                result.push((low, high));
            }
        }
    }
    result
}

#[derive(Debug)]
struct Exponents {
    name: String,
    atoms: Vec<Atom>,
    steps: Vec<Step>,
    digits: i64,
    /// Further digits after which nothing is new: the bounds are told apart, and every remainder
    /// has come up.
    horizon: i64,
    /// What is known of the digits' beginnings: do they lead to a number of the set?
    lives: Mutex<FxHashMap<Vec<i64>, bool>>,
}

/// What is known of the digits read so far.
#[derive(Clone, Debug)]
struct Mantissa {
    phase: i64,
    negative: bool,
    /// Digits before the point and after it.
    whole: i64,
    fraction: i64,
    /// Where the first digit that is not 0 stands: the number is 0.ddd times ten to this power.
    /// `None` as long as there is none.
    power: Option<i64>,
    /// Zeros since the last digit that is not 0.
    zeros: i64,
    /// One for each atom: how the digits compare to those of its value, or their remainder.
    atoms: Vec<i64>,
}

/// Nothing, or a sign, is read.
const START: i64 = 0;
const SIGN: i64 = 1;
/// `0` before the point, or other digits.
const ZERO: i64 = 2;
const WHOLE: i64 = 3;
const POINT: i64 = 4;
const FRACTION: i64 = 5;
/// After the `e`.
const EXPONENT: i64 = 6;

/// The digits differ from those compared with; otherwise so many are equal.
const LESS: i64 = -1;
const GREATER: i64 = -2;

impl Mantissa {
    fn new(atoms: &[Atom]) -> Self {
        Self {
            phase: START,
            negative: false,
            whole: 0,
            fraction: 0,
            power: None,
            zeros: 0,
            atoms: vec![0; atoms.len()],
        }
    }

    /// Takes a digit other than the leading zeros, in front of which `self.zeros` zeros stand.
    fn digit(&mut self, digit: u8, atoms: &[Atom]) {
        if digit == b'0' {
            self.zeros += 1;
            return;
        }
        for (state, atom) in self.atoms.iter_mut().zip(atoms) {
            match atom {
                Atom::Bound { value, .. } | Atom::Value(value) => {
                    let (digits, _) = value.scientific();
                    for digit in std::iter::repeat_n(b'0', self.zeros as usize).chain([digit]) {
                        if *state < 0 {
                            break;
                        }
                        *state = match digits.get(*state as usize) {
                            Some(&other) if other == digit => *state + 1,
                            Some(&other) if digit < other => LESS,
                            Some(_) => GREATER,
                            // Nothing but zeros: equal still.
                            None if digit == b'0' => *state,
                            None => GREATER,
                        };
                    }
                }
                Atom::Multiple(divisor) => {
                    let zeros = (0..self.zeros).fold(*state, |r, _| divisor.append(r, 0));
                    *state = divisor.append(zeros, digit - b'0');
                }
            }
        }
        self.zeros = 0;
    }
}

impl Exponents {
    fn pack(&self, m: &Mantissa) -> State {
        let power = m.power.unwrap_or(i64::MAX);
        let head = [m.phase, m.negative.into(), m.whole, m.fraction, power, m.zeros];
        head.into_iter().chain(m.atoms.iter().copied()).collect()
    }

    fn unpack(&self, state: &[i64]) -> Option<Mantissa> {
        let &[phase, negative, whole, fraction, power, zeros, ref atoms @ ..] = state else {
            return None;
        };
        let power = (power != i64::MAX).then_some(power);
        let (negative, atoms) = (negative != 0, atoms.to_vec());
        Some(Mantissa { phase, negative, whole, fraction, power, zeros, atoms })
    }

    /// The exponents that an atom allows.
    fn allowed(&self, atom: &Atom, state: i64, m: &Mantissa) -> Ranges {
        let (all, none) = (vec![(-FAR, FAR)], Vec::new());
        let from = |low: i64| vec![(low.clamp(-FAR, FAR), FAR)];
        let to = |high: i64| vec![(-FAR, high.clamp(-FAR, FAR))];
        let when = |condition: bool| if condition { all.clone() } else { none.clone() };
        let compare = |value: &Decimal| match state {
            LESS => Ordering::Less,
            GREATER => Ordering::Greater,
            equal if (equal as usize) < value.scientific().0.len() => Ordering::Less,
            _ => Ordering::Equal,
        };
        match (atom, m.power) {
            (Atom::Multiple(_), None) => all,
            (Atom::Multiple(divisor), Some(_)) => match divisor.least_power(state) {
                // The last digit that is not 0 stands for ten to this power.
                Some(least) => from(least - (m.zeros - m.fraction)),
                None => none,
            },
            (Atom::Value(value), None) => when(value.is_zero()),
            (Atom::Value(value), Some(power)) => {
                let same = !value.is_zero() && value.is_negative() == m.negative;
                match same && compare(value).is_eq() {
                    true => {
                        let exponent = value.scientific().1 + 1 - power;
                        vec![(exponent, exponent)]
                    }
                    false => none,
                }
            }
            (Atom::Bound { value, side, inclusive }, power) => {
                let above = *side == Side::Above;
                let Some(power) = power else {
                    // Zero.
                    return when(match value.is_zero() {
                        true => *inclusive,
                        false => value.is_negative() == above,
                    });
                };
                if value.is_zero() || value.is_negative() != m.negative {
                    return when(m.negative != above);
                }
                // The larger number is the smaller one below zero.
                let above = above != m.negative;
                let same = value.scientific().1 + 1 - power;
                let order = compare(value);
                let fits = match order {
                    Ordering::Equal => *inclusive,
                    order => order.is_gt() == above,
                };
                match (above, fits) {
                    (true, true) => from(same),
                    (true, false) => from(same + 1),
                    (false, true) => to(same),
                    (false, false) => to(same - 1),
                }
            }
        }
    }

    /// The exponents that make a number of the set.
    fn exponents(&self, m: &Mantissa) -> Ranges {
        let mut results: Vec<Ranges> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            results.push(match *step {
                Step::None => Vec::new(),
                Step::All => vec![(-FAR, FAR)],
                Step::Atom(i) => self.allowed(&self.atoms[i], m.atoms[i], m),
                Step::And(a, b) => intersection(&results[a], &results[b]),
                Step::Or(a, b) => {
                    let neither = intersection(&complement(&results[a]), &complement(&results[b]));
                    complement(&neither)
                }
                Step::Not(a) => complement(&results[a]),
            });
        }
        // The whole is the last part that was made.
        results.pop().unwrap_or_default()
    }

    /// Do the digits lead to a number of the set? Since the exponent is free, that depends on the
    /// digits from the first to the last that is not 0, and not on where the point is.
    fn mantissa_lives(&self, m: &Mantissa) -> bool {
        let mut m = m.clone();
        let (ended, left) = match m.phase {
            WHOLE => (true, 2 * self.digits - m.whole),
            ZERO | FRACTION => (true, self.digits - m.fraction),
            POINT => (false, self.digits),
            _ => (false, 2 * self.digits),
        };
        if m.phase == WHOLE {
            m.power = Some(m.whole);
        }
        if ended && !self.exponents(&m).is_empty() {
            return true;
        }
        let budget = left.min(self.horizon);
        let fine = |atom: &Atom| matches!(atom, Atom::Multiple(divisor) if divisor.is_fine());
        if self.atoms.iter().any(fine) {
            return self.can_be_multiple(self.steps.len() - 1, &m, left);
        }
        let key = |m: &Mantissa| {
            let length = m.power.map_or(-1, |power| power + m.fraction - m.zeros);
            let head = [m.negative.into(), length, m.zeros];
            head.into_iter().chain(m.atoms.iter().copied()).collect::<Vec<i64>>()
        };
        let mut whole_key = key(&m);
        whole_key.extend([budget, ended.into()]);
        if let Ok(lives) = self.lives.lock()
            && let Some(&known) = lives.get(&whole_key)
        {
            return known;
        }
        let mut seen = FxHashSet::default();
        let mut open = VecDeque::from([(m, budget)]);
        let mut found = false;
        while let Some((m, budget)) = open.pop_front() {
            if budget == 0 {
                continue;
            }
            // Whoever asked looks at the clock before this is believed.
            if deadline::check().is_err() {
                return true;
            }
            for digit in b'0'..=b'9' {
                let mut next = m.clone();
                if next.power.is_none() && digit != b'0' {
                    next.power = Some(-next.fraction);
                }
                next.fraction += 1;
                if next.power.is_some() {
                    next.digit(digit, &self.atoms);
                }
                found |= !self.exponents(&next).is_empty();
                if !found && seen.insert(key(&next)) {
                    open.push_back((next, budget - 1));
                }
            }
            found |= seen.len() > SEARCH;
            if found {
                break;
            }
        }
        if let Ok(mut lives) = self.lives.lock() {
            lives.insert(whole_key, found);
        }
        found
    }

    /// Can the digits be followed by so many others, or fewer, that make them a multiple, where one
    /// is asked for? A search among the remainders of a long number would take too long, so
    /// everything else is taken to be possible.
    fn can_be_multiple(&self, step: usize, m: &Mantissa, left: i64) -> bool {
        match self.steps[step] {
            Step::And(a, b) => self.can_be_multiple(a, m, left) && self.can_be_multiple(b, m, left),
            Step::Atom(atom) => match &self.atoms[atom] {
                Atom::Multiple(divisor) => {
                    let remainder = (0..m.zeros).fold(m.atoms[atom], |r, _| divisor.append(r, 0));
                    divisor.can_be_reached(remainder, left)
                }
                _ => true,
            },
            Step::None => false,
            _ => true,
        }
    }

    /// A state after the `e`: the sign (1 or -1, 0 before it is known, 2 before a digit under a
    /// written plus, -2 under a minus), digits read, their value, and the ranges.
    fn exponent_state(&self, sign: i64, count: i64, value: i64, ranges: &[i64]) -> Option<State> {
        let state: State =
            [EXPONENT, sign, count, value].into_iter().chain(ranges.iter().copied()).collect();
        self.exponent_lives(&state).then_some(state)
    }

    fn exponent_lives(&self, state: &[i64]) -> bool {
        let &[_, sign, count, value, ref ranges @ ..] = state else { return false };
        let signs: &[i64] = match sign {
            0 => &[1, -1],
            sign => &[sign.signum()],
        };
        let (mut low, mut high) = (value, value);
        for more in 0..=(self.digits.max(8) - count) {
            if more > 0 {
                (low, high) = ((low * 10).min(FAR), (high * 10 + 9).min(FAR));
            }
            if count + more == 0 {
                continue;
            }
            for sign in signs {
                let (low, high) = ((low * sign).min(high * sign), (low * sign).max(high * sign));
                if ranges.chunks_exact(2).any(|range| range[0] <= high && low <= range[1]) {
                    return true;
                }
            }
        }
        false
    }

    fn step_exponent(&self, state: &[i64], byte: u8) -> Option<State> {
        let &[_, sign, count, value, ref ranges @ ..] = state else { return None };
        match byte {
            b'+' if (sign, count) == (0, 0) => self.exponent_state(2, 0, 0, ranges),
            b'-' if (sign, count) == (0, 0) => self.exponent_state(-2, 0, 0, ranges),
            b'0'..=b'9' if count < self.digits.max(8) => {
                let sign = if sign < 0 { -1 } else { 1 };
                let value = (value * 10 + i64::from(byte - b'0')).min(FAR);
                self.exponent_state(sign, count + 1, value, ranges)
            }
            _ => None,
        }
    }
}

impl Automaton for Exponents {
    fn name(&self) -> &str {
        &self.name
    }

    fn accepts(&self, state: &[i64]) -> bool {
        let &[EXPONENT, sign, count, value, ref ranges @ ..] = state else { return false };
        let value = value * sign.signum();
        count > 0 && ranges.chunks_exact(2).any(|range| (range[0]..=range[1]).contains(&value))
    }

    fn step(&self, state: &[i64], byte: u8) -> Option<State> {
        if !matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-') {
            return None;
        }
        if state.first() == Some(&EXPONENT) {
            return self.step_exponent(state, byte);
        }
        let mut m = self.unpack(state)?;
        match (byte, m.phase) {
            (b'-', START) => (m.negative, m.phase) = (true, SIGN),
            (b'0', START | SIGN) => (m.phase, m.whole) = (ZERO, 1),
            (b'1'..=b'9', START | SIGN) => {
                (m.phase, m.whole) = (WHOLE, 1);
                m.digit(byte, &self.atoms);
            }
            (b'0'..=b'9', WHOLE) if m.whole < self.digits => {
                m.whole += 1;
                m.digit(byte, &self.atoms);
            }
            (b'.', ZERO | WHOLE) => {
                if m.phase == WHOLE {
                    m.power = Some(m.whole);
                }
                m.phase = POINT;
            }
            (b'0'..=b'9', POINT | FRACTION) if m.fraction < self.digits => {
                m.phase = FRACTION;
                if m.power.is_none() && byte != b'0' {
                    m.power = Some(-m.fraction);
                }
                m.fraction += 1;
                // Zeros before the first other digit are told by its place.
                if m.power.is_some() {
                    m.digit(byte, &self.atoms);
                }
            }
            (b'e' | b'E', ZERO | WHOLE | FRACTION) => {
                if m.phase == WHOLE {
                    m.power = Some(m.whole);
                }
                let ranges = self.exponents(&m);
                let ranges: Vec<i64> = ranges.into_iter().flat_map(|(a, b)| [a, b]).collect();
                return self.exponent_state(0, 0, 0, &ranges);
            }
            _ => return None,
        }
        self.mantissa_lives(&m).then(|| self.pack(&m))
    }

    fn is_live(&self, state: &[i64]) -> Option<bool> {
        // Steps lead to live states; only the first one is not looked at before.
        match self.unpack(state).filter(|m| m.phase == START) {
            Some(m) => {
                let lives = self.mantissa_lives(&m);
                (!deadline::is_over()).then_some(lives)
            }
            None => Some(true),
        }
    }
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
