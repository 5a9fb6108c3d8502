//! The automaton of literals with an exponent: it keeps what the exponent depends on, and computes
//! at the `e` which exponents make the number right.

pub(crate) mod viable;

use std::cmp::Ordering;
use std::sync::Mutex;

use num_bigint::BigInt;
use rustc_hash::FxHashMap;

use super::super::decimal::Decimal;
use super::{FormulaStep, NumberAtom};
use crate::deadline;
use crate::json_schema::number::BoundSide;
use crate::json_schema::number::multiple_of::arithmetic::{from_words, lcm, to_words};
use crate::regular::automaton::{Automaton, AutomatonState};

/// Powers of ten beyond which all are alike: no bound is so far out.
const MAX_POWER: i64 = 10_000_000;

/// A set of integers as sorted disjoint ranges, both ends included; ±[`MAX_POWER`] is no end.
type Ranges = Vec<(i64, i64)>;

fn complement(a: &Ranges) -> Ranges {
    let mut result = Ranges::new();
    let mut from = -MAX_POWER;
    for &(low, high) in a {
        if from < low {
            result.push((from, low - 1));
        }
        from = high + 1;
    }
    if from <= MAX_POWER {
        result.push((from, MAX_POWER));
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
pub(crate) struct Exponents {
    name: String,
    atoms: Vec<NumberAtom>,
    steps: Vec<FormulaStep>,
    digits: i64,
    /// A common multiple of all divisors.
    modulus: BigInt,
    /// By what is known of the digits: whether they begin a number of the set.
    lives: Mutex<FxHashMap<Vec<i64>, bool>>,
}

/// The digits read so far, as far as the exponent depends on them.
#[derive(Clone, Debug)]
pub(crate) struct Mantissa {
    phase: i64,
    negative: bool,
    /// Digits before the point and after it.
    whole: i64,
    fraction: i64,
    /// The power of ten for which the number is 0.ddd times it, the first digit not 0. `None` as
    /// long as all are 0.
    power: Option<i64>,
    /// Zeros since the last digit that is not 0.
    zeros: i64,
    /// One for each atom: how the digits compare to those of its value, if it has one.
    orders: Vec<i64>,
    /// The digits up to the last that is not 0, as an integer modulo `Exponents::modulus`.
    remainder: BigInt,
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

/// The digits are less, or greater, than those of the atom's value. An order of 0 or more is the
/// number of leading digits that are equal so far.
const LESS: i64 = -1;
const GREATER: i64 = -2;

impl Mantissa {
    fn new(atoms: &[NumberAtom]) -> Self {
        Self {
            phase: START,
            negative: false,
            whole: 0,
            fraction: 0,
            power: None,
            zeros: 0,
            orders: vec![0; atoms.len()],
            remainder: BigInt::ZERO,
        }
    }

    /// The number of digits from the first to the last that is not 0.
    fn length(&self) -> Option<i64> {
        self.power.map(|power| power + self.fraction - self.zeros)
    }

    /// The state of the digits without their number.
    fn rest(&self) -> impl Iterator<Item = i64> {
        self.orders.iter().copied().chain(to_words(&self.remainder))
    }

    /// Takes a digit other than the leading zeros, in front of which `self.zeros` zeros stand.
    fn digit(&mut self, digit: u8, atoms: &[NumberAtom], modulus: &BigInt) {
        if digit == b'0' {
            self.zeros += 1;
            return;
        }
        for (order, atom) in self.orders.iter_mut().zip(atoms) {
            let (NumberAtom::Bound { value, .. } | NumberAtom::Value(value)) = atom else {
                continue;
            };
            let (digits, _) = value.scientific();
            for digit in std::iter::repeat_n(b'0', self.zeros as usize).chain([digit]) {
                if *order < 0 {
                    break;
                }
                *order = match digits.get(*order as usize) {
                    Some(&other) if other == digit => *order + 1,
                    Some(&other) if digit < other => LESS,
                    Some(_) => GREATER,
                    // Nothing but zeros: equal still.
                    None if digit == b'0' => *order,
                    None => GREATER,
                };
            }
        }
        for digit in std::iter::repeat_n(0, self.zeros as usize).chain([digit - b'0']) {
            self.remainder = (&self.remainder * 10 + digit) % modulus;
        }
        self.zeros = 0;
    }
}

impl Exponents {
    /// The automaton of a formula, and the state in which it begins.
    pub(crate) fn new(
        atoms: Vec<NumberAtom>,
        steps: Vec<FormulaStep>,
        digits: u32,
    ) -> (Self, AutomatonState) {
        let digits = digits.max(1);
        let name = format!("exponents {digits} {atoms:?} {steps:?}");
        let modulus = atoms.iter().fold(BigInt::from(1), |modulus, atom| match atom {
            NumberAtom::Multiple(divisor) => lcm(&modulus, &divisor.step),
            _ => modulus,
        });
        let (digits, lives) = (digits.into(), Mutex::default());
        let automaton = Self { name, atoms, steps, digits, modulus, lives };
        let start = automaton.pack(&Mantissa::new(&automaton.atoms));
        (automaton, start)
    }

    fn pack(&self, m: &Mantissa) -> AutomatonState {
        let power = m.power.unwrap_or(i64::MAX);
        let head = [m.phase, m.negative.into(), m.whole, m.fraction, power, m.zeros];
        head.into_iter().chain(m.rest()).collect()
    }

    fn unpack(&self, state: &[i64]) -> Option<Mantissa> {
        let &[phase, negative, whole, fraction, power, zeros, ref rest @ ..] = state else {
            return None;
        };
        let (orders, words) = rest.split_at_checked(self.atoms.len())?;
        let (orders, remainder) = (orders.to_vec(), from_words(words));
        let power = (power != i64::MAX).then_some(power);
        let negative = negative != 0;
        Some(Mantissa { phase, negative, whole, fraction, power, zeros, orders, remainder })
    }

    /// The exponents that an atom allows.
    fn allowed(&self, atom: &NumberAtom, order: i64, m: &Mantissa) -> Ranges {
        let (all, none) = (vec![(-MAX_POWER, MAX_POWER)], Vec::new());
        let from = |low: i64| vec![(low.clamp(-MAX_POWER, MAX_POWER), MAX_POWER)];
        let to = |high: i64| vec![(-MAX_POWER, high.clamp(-MAX_POWER, MAX_POWER))];
        let when = |condition: bool| if condition { all.clone() } else { none.clone() };
        let compare = |value: &Decimal| match order {
            LESS => Ordering::Less,
            GREATER => Ordering::Greater,
            equal if (equal as usize) < value.scientific().0.len() => Ordering::Less,
            _ => Ordering::Equal,
        };
        match (atom, m.power) {
            (NumberAtom::Multiple(_), None) => all,
            (NumberAtom::Multiple(divisor), Some(_)) => match divisor.least_power(&m.remainder) {
                // The last digit that is not 0 stands for ten to this power.
                Some(least) => from(least - (m.zeros - m.fraction)),
                None => none,
            },
            (NumberAtom::Value(value), None) => when(value.is_zero()),
            (NumberAtom::Value(value), Some(power)) => {
                let same = !value.is_zero() && value.is_negative() == m.negative;
                if same && compare(value).is_eq() {
                    let exponent = value.scientific().1 + 1 - power;
                    vec![(exponent, exponent)]
                } else {
                    none
                }
            }
            (NumberAtom::Bound { value, side, inclusive }, power) => {
                let above = *side == BoundSide::Above;
                let Some(power) = power else {
                    // Zero.
                    return when(if value.is_zero() {
                        *inclusive
                    } else {
                        value.is_negative() == above
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
                FormulaStep::None => Vec::new(),
                FormulaStep::All => vec![(-MAX_POWER, MAX_POWER)],
                FormulaStep::NumberAtom(i) => self.allowed(&self.atoms[i], m.orders[i], m),
                FormulaStep::And(a, b) => intersection(&results[a], &results[b]),
                FormulaStep::Or(a, b) => {
                    let neither = intersection(&complement(&results[a]), &complement(&results[b]));
                    complement(&neither)
                }
                FormulaStep::Not(a) => complement(&results[a]),
            });
        }
        // The whole is the last part that was made.
        results.pop().unwrap_or_default()
    }

    /// Whether the digits begin a number of the set.
    fn mantissa_lives(&self, m: &Mantissa) -> bool {
        let (ended, left) = match m.phase {
            WHOLE => (true, 2 * self.digits - m.whole),
            ZERO | FRACTION => (true, self.digits - m.fraction),
            POINT => (false, self.digits),
            _ => (false, 2 * self.digits),
        };
        // Digits that are all 0 can stay so.
        if (ended || m.power.is_none()) && !self.exponents(m).is_empty() {
            return true;
        }
        let mut key = vec![m.negative.into(), m.length().unwrap_or(-1), m.zeros, left];
        key.extend(m.rest());
        if let Ok(lives) = self.lives.lock()
            && let Some(&known) = lives.get(&key)
        {
            return known;
        }
        // Only the time limit stops the search. `true` is a guess that is not stored here; the caller
        // checks the limit before it uses the answer.
        let Ok(lives) = self.is_viable(m, left as u32) else { return true };
        if let Ok(mut known) = self.lives.lock() {
            known.insert(key, lives);
        }
        lives
    }

    /// Takes a byte before the `e`; `None` if it has no place there.
    fn take(&self, m: &mut Mantissa, byte: u8) -> Option<()> {
        match (byte, m.phase) {
            (b'-', START) => (m.negative, m.phase) = (true, SIGN),
            (b'0', START | SIGN) => (m.phase, m.whole) = (ZERO, 1),
            (b'1'..=b'9', START | SIGN) | (b'0'..=b'9', WHOLE) if m.whole < self.digits => {
                (m.phase, m.whole) = (WHOLE, m.whole + 1);
                m.power = Some(m.whole);
                m.digit(byte, &self.atoms, &self.modulus);
            }
            (b'.', ZERO | WHOLE) => m.phase = POINT,
            (b'0'..=b'9', POINT | FRACTION) if m.fraction < self.digits => {
                m.phase = FRACTION;
                if m.power.is_none() && byte != b'0' {
                    m.power = Some(-m.fraction);
                }
                m.fraction += 1;
                // Zeros before the first other digit follow from its place.
                if m.power.is_some() {
                    m.digit(byte, &self.atoms, &self.modulus);
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// A state after the `e`: the sign (1 or -1, 0 before it is known, 2 before a digit under a
    /// written plus, -2 under a minus), digits read, their value, and the ranges.
    fn exponent_state(
        &self,
        sign: i64,
        count: i64,
        value: i64,
        ranges: &[i64],
    ) -> Option<AutomatonState> {
        let state: AutomatonState =
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
                (low, high) = ((low * 10).min(MAX_POWER), (high * 10 + 9).min(MAX_POWER));
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

    fn step_exponent(&self, state: &[i64], byte: u8) -> Option<AutomatonState> {
        let &[_, sign, count, value, ref ranges @ ..] = state else { return None };
        match byte {
            b'+' if (sign, count) == (0, 0) => self.exponent_state(2, 0, 0, ranges),
            b'-' if (sign, count) == (0, 0) => self.exponent_state(-2, 0, 0, ranges),
            b'0'..=b'9' if count < self.digits.max(8) => {
                let sign = if sign < 0 { -1 } else { 1 };
                let value = (value * 10 + i64::from(byte - b'0')).min(MAX_POWER);
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

    fn step(&self, state: &[i64], byte: u8) -> Option<AutomatonState> {
        if !matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-') {
            return None;
        }
        if state.first() == Some(&EXPONENT) {
            return self.step_exponent(state, byte);
        }
        let mut m = self.unpack(state)?;
        if let b'e' | b'E' = byte {
            if !matches!(m.phase, ZERO | WHOLE | FRACTION) {
                return None;
            }
            let ranges = self.exponents(&m);
            let ranges: Vec<i64> = ranges.into_iter().flat_map(|(a, b)| [a, b]).collect();
            return self.exponent_state(0, 0, 0, &ranges);
        }
        self.take(&mut m, byte)?;
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
