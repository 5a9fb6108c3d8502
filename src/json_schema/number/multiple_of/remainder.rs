//! Multiples of a decimal: an automaton that keeps the remainder of what it has read.

use std::sync::Arc;

use super::grid::MultipleGrid;
use crate::json_schema::number::decimal::Decimal;
use crate::json_schema::number::numbers::ExponentForms;
use crate::json_schema::number::{NumberSet, Numbers};
use crate::regular::Languages;
use crate::regular::automaton::{Automaton, AutomatonState as State};

/// Nothing, or a sign, is read of a literal `-?[0-9]+(.[0-9]*)?`.
const START: i64 = 0;
const SIGN: i64 = 1;
/// Digits before the point; then their remainder.
const WHOLE: i64 = 2;
/// Digits after the point; then the remainder of all digits, and how many stand after the point,
/// as far as that matters.
const FRACTION: i64 = 3;

/// `modulus` times ten to the power of minus `places`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RemainderAutomaton {
    name: String,
    modulus: i64,
    places: i64,
}

impl RemainderAutomaton {
    /// The automaton of a divisor; `None` if it has too many digits.
    pub(crate) fn new(divisor: &Decimal) -> Option<Self> {
        let (digits, power) = divisor.scientific();
        // One digit stands before the point.
        let exponent = power + 1 - digits.len() as i64;
        let digits = std::str::from_utf8(digits).ok()?.parse::<i64>().ok()?;
        let scale = 10i64.checked_pow(u32::try_from(exponent.max(0)).ok()?)?;
        let (modulus, places) = (digits.checked_mul(scale)?, (-exponent).max(0));
        Some(Self { name: format!("multiples of {modulus}e-{places}"), modulus, places })
    }

    /// The remainder once a digit is appended.
    fn append(&self, remainder: i64, digit: u8) -> i64 {
        let next = i128::from(remainder) * 10 + i128::from(digit);
        // Less than the modulus.
        (next % i128::from(self.modulus)) as i64
    }

    /// The remainder once the digits up to `places` are filled with zeros.
    fn filled(&self, remainder: i64, digits: i64) -> i64 {
        (digits..self.places).fold(remainder, |r, _| self.append(r, 0))
    }

    /// Whether the digits up to `places` can be filled so that no remainder is left.
    fn can_be_filled(&self, remainder: i64, digits: i64) -> bool {
        let missing = (self.modulus - self.filled(remainder, digits)) % self.modulus;
        let most = u32::try_from(self.places - digits).ok().and_then(|n| 10i64.checked_pow(n));
        most.is_none_or(|most| missing < most)
    }
}

impl Automaton for RemainderAutomaton {
    fn name(&self) -> &str {
        &self.name
    }

    fn accepts(&self, state: &[i64]) -> bool {
        match *state {
            [WHOLE, r, _] => self.filled(r, 0) == 0,
            [FRACTION, r, digits] => self.filled(r, digits) == 0,
            _ => false,
        }
    }

    fn step(&self, state: &[i64], byte: u8) -> Option<State> {
        let state: [i64; 3] = state.try_into().ok()?;
        let next = match (state, byte) {
            ([START, ..], b'-') => [SIGN, 0, 0],
            ([START | SIGN | WHOLE, r, _], b'0'..=b'9') => [WHOLE, self.append(r, byte - b'0'), 0],
            ([WHOLE, r, _], b'.') => [FRACTION, r, 0],
            ([FRACTION, r, digits], b'0'..=b'9') if digits < self.places => {
                [FRACTION, self.append(r, byte - b'0'), digits + 1]
            }
            // Beyond its last place a multiple has zeros only.
            ([FRACTION, r, digits], b'0') => [FRACTION, r, digits],
            _ => return None,
        };
        let lives = next[0] != FRACTION || self.can_be_filled(next[1], next[2]);
        lives.then(|| next.into())
    }

    fn is_live(&self, _: &[i64]) -> Option<bool> {
        // Digits before the point can always be continued to a multiple.
        Some(true)
    }

    fn completion_estimate(&self, state: &[i64]) -> u32 {
        let &[WHOLE, mut remainder, _] = state else { return 1 };
        // With this many digits more, some number of those that are possible is a multiple.
        let (mut digits, mut most) = (0, 1i64);
        while (self.modulus - remainder) % self.modulus >= most {
            (digits, most) = (digits + 1, most.saturating_mul(10));
            remainder = self.append(remainder, 0);
        }
        digits.max(1)
    }
}

impl Numbers {
    /// The multiples of a positive number; `None` if it has too many digits.
    pub(crate) fn multiples(&mut self, l: &mut Languages, decimal: &Decimal) -> Option<NumberSet> {
        let grid = MultipleGrid::multiples(decimal)?;
        let formula = self.formula(|formulas| formulas.multiple(&grid));
        let set = if grid.uses_digit_arithmetic() {
            // `and` makes the literals from the grid.
            self.all()
        } else {
            let literals =
                l.automaton(Arc::new(RemainderAutomaton::new(decimal)?), [START, 0, 0].into());
            self.written(l, literals)
        };
        let grid = Some(self.grid(grid));
        let set = NumberSet { formula, grid, ..set };
        Some(self.and(l, set, NumberSet { exponents: ExponentForms::Partial, ..set }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_are_those_of_arithmetic() {
        let mut l = Languages::new();
        let mut numbers = Numbers::new(&mut l, crate::json_schema::Spelling::Canonical);
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
        let huge = Decimal::parse("0.12345678901234567890123").unwrap();
        for spelling in [crate::json_schema::Spelling::Canonical, crate::json_schema::Spelling::Any]
        {
            let mut numbers = Numbers::new(&mut l, spelling);
            let set = numbers.multiples(&mut l, &huge).unwrap();
            let (spelled, _) = numbers.spelling(&mut l, set, 30);
            let any = spelling == crate::json_schema::Spelling::Any;
            for (text, expected) in [
                ("0.12345678901234567890123", true),
                ("-0.24691357802469135780246", true),
                ("0.12345678901234567890124", false),
                ("1.2345678901234567890123e-1", any),
                ("1.2345678901234567890123e-2", false),
            ] {
                assert_eq!(l.matches(spelled, text.as_bytes()).unwrap(), expected, "{text}");
            }
        }
    }
}
