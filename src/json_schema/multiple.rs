//! Multiples of a decimal, as an automaton that keeps the remainder of what it has read.

use rustc_hash::FxHashMap;

use super::decimal::Decimal;
use super::number::{NumberSet, Numbers};
use crate::regex::{ByteSet, Language, Languages};

/// States that one automaton may have.
const STATES: u64 = 20_000;

/// What has been read of a literal `-?[0-9]+(.[0-9]*)?`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    Start,
    Sign,
    /// Digits before the point, by their remainder.
    Whole(u64),
    /// So many digits after the point, as far as they matter, and the remainder of all digits.
    Fraction(u64, u64),
}

/// `divisor` is `modulus` times ten to the power of minus `places`.
#[derive(Clone, Copy)]
struct Divisor {
    modulus: u64,
    places: u64,
}

impl Divisor {
    fn new(divisor: &Decimal) -> Option<Self> {
        let (digits, power) = divisor.scientific();
        // One digit stands before the point.
        let exponent = power + 1 - digits.len() as i64;
        let digits = std::str::from_utf8(digits).ok()?.parse::<u64>().ok()?;
        let scale = 10u64.checked_pow(u32::try_from(exponent.max(0)).ok()?)?;
        let this = Self { modulus: digits.checked_mul(scale)?, places: (-exponent).max(0) as u64 };
        let states = this.modulus.checked_mul(this.places.checked_add(2)?)?;
        (states <= STATES).then_some(this)
    }

    /// The remainder once the digits up to `places` are filled with zeros.
    fn filled(self, remainder: u64, digits: u64) -> u64 {
        (digits..self.places).fold(remainder, |r, _| r * 10 % self.modulus)
    }

    fn accepts(self, state: State) -> bool {
        match state {
            State::Start | State::Sign => false,
            State::Whole(r) => self.filled(r, 0) == 0,
            State::Fraction(digits, r) => self.filled(r, digits) == 0,
        }
    }

    fn digit(self, state: State, digit: u64) -> Option<State> {
        let further = |r: u64| (r * 10 + digit) % self.modulus;
        match state {
            State::Start | State::Sign => Some(State::Whole(further(0))),
            State::Whole(r) => Some(State::Whole(further(r))),
            State::Fraction(digits, r) if digits < self.places => {
                Some(State::Fraction(digits + 1, further(r)))
            }
            // Beyond its last place a multiple has zeros only.
            State::Fraction(..) => (digit == 0).then_some(state),
        }
    }
}

impl Numbers {
    /// The multiples of a positive number; `None` if the automaton would be too large.
    pub(super) fn multiples(&self, l: &mut Languages, divisor: &Decimal) -> Option<NumberSet> {
        let divisor = Divisor::new(divisor)?;
        let mut variables: FxHashMap<State, Language> = FxHashMap::default();
        let mut order = Vec::new();
        let mut open = Vec::new();
        let mut variable = |l: &mut Languages, state: State, open: &mut Vec<State>| {
            *variables.entry(state).or_insert_with(|| {
                let language = l.variable(divisor.accepts(state));
                order.push(language);
                open.push(state);
                language
            })
        };
        let start = variable(l, State::Start, &mut open);
        while let Some(state) = open.pop() {
            let this = variable(l, state, &mut open);
            let mut targets: Vec<(State, ByteSet)> = Vec::new();
            let mut edge = |byte: u8, to: State| match targets.iter_mut().find(|t| t.0 == to) {
                Some((_, bytes)) => bytes.insert(byte),
                None => targets.push((to, ByteSet::single(byte))),
            };
            for digit in 0..10u8 {
                if let Some(to) = divisor.digit(state, digit.into()) {
                    edge(b'0' + digit, to);
                }
            }
            match state {
                State::Start => edge(b'-', State::Sign),
                State::Whole(r) => edge(b'.', State::Fraction(0, r)),
                State::Sign | State::Fraction(..) => {}
            }
            let mut parts = Vec::new();
            if divisor.accepts(state) {
                parts.push(Language::EPSILON);
            }
            for (to, bytes) in targets {
                let (first, rest) = (l.byte_set(bytes), variable(l, to, &mut open));
                parts.push(l.concat([first, rest]));
            }
            let body = l.union(parts);
            l.define(this, body);
        }
        let multiples = l.settle(&order, start);
        Some(self.written(l, multiples))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_are_those_of_arithmetic() {
        let mut l = Languages::new();
        let numbers = Numbers::new(&mut l);
        for (divisor, places) in
            [("1", 0), ("7", 0), ("12", 0), ("100", 0), ("0.01", 2), ("2.5", 1), ("0.075", 3)]
        {
            let decimal = Decimal::parse(divisor).unwrap();
            let set = numbers.multiples(&mut l, &decimal).unwrap();
            let (spelled, _) = numbers.spelling(&mut l, set, 20);
            let scale = 10i64.pow(places);
            let modulus = (divisor.parse::<f64>().unwrap() * scale as f64).round() as i64;
            for n in -300..300i64 {
                let value = Decimal::parse(&format!("{n}e-{places}")).unwrap();
                let text = value.to_fixed();
                assert_eq!(
                    l.matches(spelled, text.as_bytes()).unwrap(),
                    n % modulus == 0,
                    "{text} of {divisor}"
                );
            }
        }
        let huge = Decimal::parse("0.123456789").unwrap();
        assert!(numbers.multiples(&mut l, &huge).is_none());
    }
}
