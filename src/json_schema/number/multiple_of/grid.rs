//! Multiples of a number within bounds, where an automaton of remainders would be too large.
//!
//! A divisor of nine digits has a hundred million remainders, and whether bounds leave a multiple
//! cannot be found by a search among them. So all digits read are kept, and arithmetic says whether
//! they can be continued: the continuations are ranges of numbers, one for each number of digits
//! before the point, and a range holds a multiple or it does not.
//!
//! ```text
//! multiples of 0.000000007 between 1 and 2; digits read: 1.00000000
//! continuations 1.000000000 … 1.000000009: 1.000000001 = 142857143 · 0.000000007
//! ```
//!
//! Where only some of the multiples belong to the set, those of one divisor and not of another
//! (`residues`), the choice is periodic and known for one period.

use std::sync::Arc;

use num_bigint::BigInt;

use super::arithmetic::{from_words, gcd, lcm, ten, to_words};
use super::residues::{DivisorCondition, ResidueTable};
use crate::json_schema::number::BoundSide;
use crate::json_schema::number::decimal::Decimal;
use crate::regular::automaton::{Automaton, AutomatonState};
#[cfg(test)]
use crate::regular::witness;

/// Remainders times places up to which an automaton is searched.
const MAX_SEARCHED_STATES: u32 = 100_000;

/// Nothing, or a sign, is read of a literal `-?int(.[0-9]+)?`.
const START: i64 = 0;
const SIGN: i64 = 1;
/// `0` before the point, or other digits.
const ZERO: i64 = 2;
const WHOLE: i64 = 3;
const FRACTION: i64 = 4;

/// The multiples of a decimal between two bounds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MultipleGrid {
    /// The divisor times ten to the power of `places`; 0 if any number will do.
    step: BigInt,
    places: u32,
    /// The bounds, each with whether it belongs to the grid.
    low: Option<(Decimal, bool)>,
    high: Option<(Decimal, bool)>,
    /// Whether its numbers have no point (integers of draft 4).
    pub(crate) plain: bool,
    /// A condition on the multiples; `None`: all belong.
    pick: Option<Arc<DivisorCondition>>,
}

impl MultipleGrid {
    /// Every number.
    pub(crate) fn all() -> Self {
        let (low, high) = (None, None);
        Self { step: BigInt::ZERO, places: 0, low, high, plain: false, pick: None }
    }

    /// All integers; in draft 4, none of them has a point.
    pub(crate) fn integers(plain: bool) -> Self {
        Self { step: BigInt::from(1), plain, ..Self::all() }
    }

    /// The multiples of a positive decimal. `None` if it is out of all proportion.
    pub(crate) fn multiples(divisor: &Decimal) -> Option<Self> {
        let (digits, power) = divisor.scientific();
        // One digit stands before the point.
        let exponent = power + 1 - digits.len() as i64;
        if exponent.abs() > 1_000 || digits.len() > 1_000 {
            return None;
        }
        let digits = BigInt::parse_bytes(digits, 10)?;
        let step = digits * ten(exponent.max(0) as u32);
        Some(Self { step, places: (-exponent).max(0) as u32, ..Self::all() })
    }

    pub(crate) fn bound(value: &Decimal, side: BoundSide, inclusive: bool) -> Self {
        let bound = Some((value.clone(), inclusive));
        match side {
            BoundSide::Above => Self { low: bound, ..Self::all() },
            BoundSide::Below => Self { high: bound, ..Self::all() },
        }
    }

    /// The divisor: an integer, and the decimal places by which it is shifted.
    pub(crate) fn unit(&self) -> (&BigInt, u32) {
        (&self.step, self.places)
    }

    /// Whether literals of this grid are decided by arithmetic on the digits read ([`Literals`])
    /// instead of a remainder automaton: with a condition, if its period fits a table; without one,
    /// if remainders times places exceed [`MAX_SEARCHED_STATES`].
    pub(crate) fn uses_digit_arithmetic(&self) -> bool {
        let period = || self.pick.as_ref().map(|pick| pick.period(&self.step, self.places));
        if self.step == BigInt::ZERO {
            false
        } else {
            match period() {
                None => &self.step * (self.places + 2) > BigInt::from(MAX_SEARCHED_STATES),
                Some(period) => period.is_some(),
            }
        }
    }

    /// Whether it has no bounds and may write a point, so that the divisor and the condition alone
    /// decide.
    fn is_unbounded(&self) -> bool {
        self.low.is_none() && self.high.is_none() && !self.plain
    }

    /// The divisor and the condition, as one condition.
    fn condition(&self) -> Option<Arc<DivisorCondition>> {
        let step = (self.step != BigInt::ZERO).then(|| {
            DivisorCondition::Multiple { step: self.step.clone(), places: self.places }.into()
        });
        DivisorCondition::all(step.into_iter().chain(self.pick.clone()))
    }

    /// Numbers of either; `None` where they are no grid.
    pub(crate) fn or(&self, other: &Self) -> Option<Self> {
        if !self.is_unbounded() || !other.is_unbounded() {
            return None;
        }
        let places = self.places.max(other.places);
        let scaled = |grid: &Self| &grid.step * ten(places - grid.places);
        // A grid without a step has no divisor that all its numbers share, so the union has none.
        let step = if self.step == BigInt::ZERO || other.step == BigInt::ZERO {
            BigInt::ZERO
        } else {
            gcd(&scaled(self), &scaled(other))
        };
        let pick = Some(DivisorCondition::any([self.condition()?, other.condition()?])?);
        Some(Self { step, places, pick, ..Self::all() })
    }

    /// All other numbers; `None` where they are no grid.
    pub(crate) fn not(&self) -> Option<Self> {
        if !self.is_unbounded() {
            return None;
        }
        let pick = Some(DivisorCondition::not(self.condition()?)?);
        Some(Self { pick, ..Self::all() })
    }

    /// Numbers of both; `None` if their conditions name too many divisors together.
    pub(crate) fn and(&self, other: &Self) -> Option<Self> {
        let pick = match (&self.pick, &other.pick) {
            (Some(a), Some(b)) => Some(DivisorCondition::all([Arc::clone(a), Arc::clone(b)])?),
            (one, none) => one.clone().or_else(|| none.clone()),
        };
        let places = self.places.max(other.places);
        let scaled = |grid: &Self| &grid.step * ten(places - grid.places);
        let step = match (&self.step, &other.step) {
            (none, _) if *none == BigInt::ZERO => scaled(other),
            (_, none) if *none == BigInt::ZERO => scaled(self),
            _ => lcm(&scaled(self), &scaled(other)),
        };
        let tighter = |a: &Option<(Decimal, bool)>, b: &Option<(Decimal, bool)>, above: bool| {
            let (Some(a), Some(b)) = (a, b) else { return a.clone().or_else(|| b.clone()) };
            let first = match a.0.cmp(&b.0) {
                std::cmp::Ordering::Equal => !a.1,
                order => order.is_gt() == above,
            };
            Some(if first { a.clone() } else { b.clone() })
        };
        Some(Self {
            step,
            places,
            low: tighter(&self.low, &other.low, true),
            high: tighter(&self.high, &other.high, false),
            plain: self.plain || other.plain,
            pick,
        })
    }

    /// The literals without exponent of its numbers, with at most `digits` digits on each side of
    /// the point; `plain`: without a point, and without `-0`.
    pub(crate) fn literals(&self, digits: Option<u32>, plain: bool) -> Literals {
        // What is picked may be told apart by more places than the multiples have.
        let places = self.pick.as_ref().map_or(0, |pick| pick.places()).max(self.places);
        let scale = ten(places);
        // The least and the greatest number, times `scale`, towards the inside.
        let scaled = |bound: &Option<(Decimal, bool)>, up: bool| {
            let (value, inclusive) = bound.as_ref()?;
            let fraction = value.fraction_digits();
            let all = format!("{}{fraction}", value.whole_digits());
            let size = BigInt::parse_bytes(all.as_bytes(), 10)?;
            let value = if value.is_negative() { -size } else { size } * &scale;
            let unit = ten(fraction.len() as u32);
            let down = floor(&value, &unit);
            let exact = &down * &unit == value;
            Some(match (up, exact) {
                (true, true) if *inclusive => down,
                (true, _) => down + 1,
                (false, true) if !inclusive => down - 1,
                (false, _) => down,
            })
        };
        let (low, high) = (scaled(&self.low, true), scaled(&self.high, false));
        let mut step = &self.step * ten(places - self.places);
        if let Some(digits) = digits.filter(|&digits| digits < places) {
            step = lcm(&step, &ten(places - digits));
        }
        let picked = self.pick.as_ref().and_then(|pick| pick.among(&step, places));
        let pick = self.pick.as_deref();
        let name =
            format!("multiples of {step}e-{places} {low:?} {high:?} {digits:?} {plain} {pick:?}");
        Literals { name, step, places, low, high, digits, plain, picked }
    }
}

/// `a` divided by a positive `b`, rounded down.
pub(crate) fn floor(a: &BigInt, b: &BigInt) -> BigInt {
    let (quotient, remainder) = (a / b, a % b);
    if remainder < BigInt::ZERO { quotient - 1 } else { quotient }
}

/// Literals of the multiples of `step` from `low` to `high`, all times ten to the power of
/// `places`.
#[derive(Debug)]
pub(crate) struct Literals {
    name: String,
    step: BigInt,
    places: u32,
    low: Option<BigInt>,
    high: Option<BigInt>,
    digits: Option<u32>,
    plain: bool,
    /// A condition on the multiples of `step`; `None`: all belong.
    picked: Option<ResidueTable>,
}

/// The digits read so far.
struct Digits {
    phase: i64,
    negative: bool,
    /// Digits before the point, or after it, as far as their number matters.
    count: u32,
    /// All digits as one number, those after the last place left out; where no more is to be
    /// known of it than its remainder, a small number with that remainder.
    value: BigInt,
}

impl Literals {
    pub(crate) fn start() -> AutomatonState {
        [START, 0, 0].into()
    }

    fn read(&self, state: &[i64]) -> Option<Digits> {
        let &[phase, negative, count, ref words @ ..] = state else { return None };
        let value = from_words(words);
        Some(Digits { phase, negative: negative != 0, count: count as u32, value })
    }

    fn write(&self, digits: Digits) -> AutomatonState {
        let mut state = vec![digits.phase, digits.negative.into(), digits.count.into()];
        let mut value = digits.value;
        if let (least, None) = self.sizes(digits.negative) {
            // Without an upper bound, a number past the least stays past it whatever follows. Then only
            // its remainder matters, and a smaller number with that remainder keeps the states finite.
            let period = &self.step * self.picked.as_ref().map_or(1, ResidueTable::period);
            let enough = (least + &period - 1) / &period * &period;
            if value > enough {
                value = (value - &enough) % period + enough;
            }
        }
        state.extend(to_words(&value));
        state.into()
    }

    /// The least and the greatest absolute value of numbers with this sign, both scaled.
    fn sizes(&self, negative: bool) -> (BigInt, Option<BigInt>) {
        let (least, most) = if negative {
            (self.high.clone().map(|high| -high), self.low.clone().map(|low| -low))
        } else {
            (self.low.clone(), self.high.clone())
        };
        let zero = BigInt::from(u8::from(negative && self.plain));
        (least.unwrap_or_default().max(zero), most)
    }

    /// Whether there is a number from `from` to `to`, of the sizes that a sign may have.
    fn between(&self, negative: bool, from: BigInt, to: Option<BigInt>) -> bool {
        let (least, most) = self.sizes(negative);
        let from = from.max(least);
        let to = match (to, most) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let first = (from + &self.step - 1) / &self.step;
        // Times `step`; `None`: there is no last one.
        let last = to.map(|to| floor(&to, &self.step));
        match &self.picked {
            None => last.is_none_or(|last| first <= last),
            Some(picked) => picked.is_any_between(&first, last.as_ref()),
        }
    }

    /// The scaled numbers that begin with these digits, if so many more come before the point.
    fn range(&self, digits: &Digits, more: u32) -> (BigInt, BigInt) {
        let open = match digits.phase {
            FRACTION => self.places.saturating_sub(digits.count),
            _ => self.places + more,
        };
        let unit = ten(open);
        (&digits.value * &unit, (&digits.value + 1) * unit - 1)
    }

    /// The least number of digits that are still needed before the point; `None` if nothing helps.
    fn needed(&self, digits: &Digits) -> Option<u32> {
        let negative = digits.negative;
        let whole = |negative| {
            let most = self.digits.map(|digits| ten(digits + self.places) - 1);
            self.between(negative, BigInt::ZERO, most)
        };
        match digits.phase {
            START => (whole(false) || whole(true)).then_some(1),
            SIGN => whole(true).then_some(1),
            WHOLE => {
                let (least, most) = self.sizes(negative);
                if self.picked.as_ref().is_some_and(ResidueTable::is_none) {
                    return None;
                }
                let more = self.digits.map_or(u32::MAX, |most| most - digits.count);
                // With fewer digits the number is below the least one.
                let fewest = decimal_digits_at_least(&least)
                    .saturating_sub(decimal_digits_at_most(&digits.value))
                    .saturating_sub(self.places.into());
                let fewest = u32::try_from(fewest).unwrap_or(u32::MAX);
                for more in fewest..=more {
                    let (from, to) = self.range(digits, more);
                    if most.as_ref().is_some_and(|most| from > *most) {
                        return None;
                    }
                    if self.between(negative, from, Some(to)) {
                        return Some(more);
                    }
                }
                None
            }
            _ => {
                let (from, to) = self.range(digits, 0);
                self.between(negative, from, Some(to)).then_some(0)
            }
        }
    }
}

/// A lower bound on the decimal digits of a number, without computing them.
fn decimal_digits_at_least(number: &BigInt) -> u64 {
    // A number of `bits` bits is at least 2^(bits - 1), and a bit is more than 0.301 of a digit.
    number.bits().saturating_sub(1).saturating_mul(301) / 1000
}

/// An upper bound on the same.
fn decimal_digits_at_most(number: &BigInt) -> u64 {
    number.bits().saturating_mul(302) / 1000 + 1
}

impl Automaton for Literals {
    fn name(&self) -> &str {
        &self.name
    }

    fn accepts(&self, state: &[i64]) -> bool {
        let Some(digits) = self.read(state) else { return false };
        let ended = match digits.phase {
            ZERO | WHOLE => true,
            FRACTION => digits.count > 0,
            _ => false,
        };
        let (value, _) = self.range(&digits, 0);
        ended && self.between(digits.negative, value.clone(), Some(value))
    }

    fn step(&self, state: &[i64], byte: u8) -> Option<AutomatonState> {
        let mut digits = self.read(state)?;
        let full = self.digits.is_some_and(|most| digits.count >= most);
        match (digits.phase, byte) {
            (START, b'-') => (digits.phase, digits.negative) = (SIGN, true),
            (START | SIGN, b'0') => digits.phase = ZERO,
            (START | SIGN, b'1'..=b'9') | (WHOLE, b'0'..=b'9') if !full => {
                digits.phase = WHOLE;
                digits.count += u32::from(self.digits.is_some());
                digits.value = digits.value * 10 + (byte - b'0');
            }
            (ZERO | WHOLE, b'.') if !self.plain => (digits.phase, digits.count) = (FRACTION, 0),
            (FRACTION, b'0'..=b'9') if digits.count < self.places && !full => {
                digits.count += 1;
                digits.value = digits.value * 10 + (byte - b'0');
            }
            // Beyond its last place a multiple has zeros only.
            (FRACTION, b'0') if !full => {
                digits.count = match self.digits {
                    Some(_) => digits.count + 1,
                    None => self.places.max(1),
                };
            }
            _ => return None,
        }
        self.needed(&digits).map(|_| self.write(digits))
    }

    fn is_live(&self, state: &[i64]) -> Option<bool> {
        // Steps lead to live states; only the first one is not looked at before.
        Some(self.read(state).is_some_and(|digits| self.needed(&digits).is_some()))
    }

    fn completion_estimate(&self, state: &[i64]) -> u32 {
        let Some(digits) = self.read(state) else { return 1 };
        match digits.phase {
            // Where digits before the point may go on for ever, those after it come to an end.
            FRACTION => 1,
            _ => 2 + self.needed(&digits).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_schema::Spelling;
    use crate::json_schema::number::Numbers;
    use crate::regular::Languages;
    use std::sync::Arc;

    fn grid(divisor: &str, bounds: &[(&str, BoundSide, bool)]) -> MultipleGrid {
        let grid = MultipleGrid::multiples(&Decimal::parse(divisor).unwrap()).unwrap();
        bounds.iter().fold(grid, |grid, &(value, side, inclusive)| {
            grid.and(&MultipleGrid::bound(&Decimal::parse(value).unwrap(), side, inclusive))
                .unwrap()
        })
    }

    #[test]
    fn literals_are_those_of_arithmetic() {
        let grids = [
            (grid("0.75", &[]), 75, -1_000_000, 1_000_000),
            (grid("12", &[("-30", BoundSide::Above, true)]), 1200, -3000, 1_000_000),
            (
                grid("2.5", &[("5", BoundSide::Above, false), ("7.5", BoundSide::Below, true)]),
                250,
                501,
                750,
            ),
            (
                grid(
                    "0.3",
                    &[("-1.2", BoundSide::Above, false), ("0.31", BoundSide::Below, false)],
                ),
                30,
                -119,
                30,
            ),
        ];
        let mut l = Languages::new();
        for (grid, step, low, high) in grids {
            for digits in [None, Some(3)] {
                let language =
                    l.automaton(Arc::new(grid.literals(digits, false)), Literals::start());
                for n in -1_300..1_300i64 {
                    let value = Decimal::parse(&format!("{n}e-2")).unwrap().to_fixed();
                    let expected = n % step == 0 && (low..=high).contains(&n);
                    let said = l.matches(language, value.as_bytes()).unwrap();
                    assert_eq!(said, expected, "{value} {grid:?}");
                }
            }
        }
    }

    #[test]
    fn every_beginning_can_be_completed() {
        // The only multiples within the bounds have all of their digits decided.
        let grid = grid(
            "0.123456789",
            &[
                ("1e30", BoundSide::Above, true),
                ("1000000000000000000000000000000.2", BoundSide::Below, true),
            ],
        );
        let mut l = Languages::new();
        let language = l.automaton(Arc::new(grid.literals(Some(40), false)), Literals::start());
        assert!(l.is_live(language).unwrap());
        let (mut state, mut text) = (language, String::new());
        while !l.is_nullable(state) {
            let next: Vec<u8> = l.first_bytes(state).unwrap().iter().collect();
            text.push(char::from(next[0]));
            state = l.step(state, next[0]).unwrap();
            assert!(text.len() < 60, "{text}");
        }
        let nano = BigInt::parse_bytes(text.replace('.', "").as_bytes(), 10).unwrap();
        let places = text.split_once('.').map_or(0, |(_, fraction)| fraction.len() as u32);
        assert_eq!(nano * ten(9 - places) % BigInt::from(123_456_789), BigInt::ZERO, "{text}");
    }

    /// By the promise of arithmetic alone it would be any that needs no more digits.
    #[test]
    fn a_shortest_multiple_is_the_first_of_them() {
        let mut l = Languages::new();
        let grid = grid("3.75", &[("1", BoundSide::Above, true)]);
        let language = l.automaton(Arc::new(grid.literals(Some(9), false)), Literals::start());
        assert_eq!(l.shortest(language).unwrap().as_deref(), Some(&b"15"[..]));
        let short = witness::short(&mut l, language).unwrap().unwrap();
        assert!(l.matches(language, &short).unwrap() && short.len() <= 4, "{short:?}");
    }

    #[test]
    fn long_divisors_meet_bounds_and_integers() {
        let mut l = Languages::new();
        let d = |text: &str| Decimal::parse(text).unwrap();
        for spelling in [Spelling::Canonical, Spelling::Any] {
            let mut numbers = Numbers::new(&mut l, spelling);
            let multiples = numbers.multiples(&mut l, &d("0.123456789")).unwrap();
            let integers = numbers.integers(&mut l, true);
            let both = numbers.and(&mut l, integers, multiples);
            let (spelled, _) = numbers.spelling(&mut l, both, 20);
            for (text, expected) in [
                ("0", true),
                ("123456789", true),
                ("-246913578", true),
                ("1234567890", true),
                ("123456788", false),
                ("0.123456789", false),
            ] {
                assert_eq!(l.matches(spelled, text.as_bytes()).unwrap(), expected, "{text}");
            }
            let above = numbers.bound(&mut l, &d("1"), BoundSide::Above, true);
            let below = numbers.bound(&mut l, &d("123456788"), BoundSide::Below, true);
            let between = numbers.and(&mut l, both, above);
            let between = numbers.and(&mut l, between, below);
            assert!(!l.is_live(between.language).unwrap());
            let not = numbers.not(&mut l, both);
            let value = numbers.listed(&mut l, &d("1e308"), "1e308");
            let listed = numbers.and(&mut l, value, not);
            assert!(numbers.contains(&mut l, listed, &d("1e308"), "1e308").unwrap());
        }
    }
}
