//! Exact decimals: the value of a JSON number, whatever way it is spelled.

use std::cmp::Ordering;

/// Decimal exponents beyond this are refused: a bound with a billion digits is no bound.
const MAX_EXPONENT: i64 = 100_000;

/// Powers of ten that `json.dumps` writes without an exponent.
pub(super) const FIXED_ONLY: std::ops::Range<i64> = -4..16;

/// Powers of ten up to which a listed value is written without exponent, too: beyond, its literal
/// would be longer than any number of a document.
pub(super) const FIXED_POWER: i64 = 400;

/// A decimal, equal by value: `1`, `1.0` and `1e0` are the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Decimal {
    negative: bool,
    /// ASCII digits without leading and trailing zeros; none for zero, which is not negative.
    digits: Box<[u8]>,
    /// The value is 0.DIGITS times ten to this power; 0 for zero.
    point: i64,
}

impl Decimal {
    /// Reads a JSON number. `None` if its exponent is out of all proportion.
    pub(crate) fn parse(literal: &str) -> Option<Self> {
        let (negative, rest) = match literal.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, literal),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()),
            None => (rest, Some(0)),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let Some(first) = digits.iter().position(|&d| d != b'0') else { return Some(Self::zero()) };
        let last = digits.iter().rposition(|&d| d != b'0').unwrap_or(first);
        let exponent = exponent.filter(|e| (-MAX_EXPONENT..=MAX_EXPONENT).contains(e))?;
        let point = exponent + whole.len() as i64 - first as i64;
        Some(Self { negative, digits: digits[first..=last].into(), point })
    }

    pub(crate) fn zero() -> Self {
        Self { negative: false, digits: Box::default(), point: 0 }
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.negative
    }

    /// The same without its sign.
    pub(crate) fn magnitude(&self) -> Self {
        Self { negative: false, ..self.clone() }
    }

    pub(crate) fn is_integer(&self) -> bool {
        self.digits.len() as i64 <= self.point || self.is_zero()
    }

    /// As a count: a non-negative integer, the largest `u32` if it is larger.
    pub(crate) fn to_count(&self) -> Option<u32> {
        if self.negative || !self.is_integer() {
            return None;
        }
        Some(self.whole_digits().parse().unwrap_or(u32::MAX))
    }

    /// The digits before the point, without sign: `0` if there are none.
    pub(crate) fn whole_digits(&self) -> String {
        if self.point <= 0 {
            return "0".into();
        }
        let zeros = std::iter::repeat(b'0');
        self.digits.iter().copied().chain(zeros).take(self.point as usize).map(char::from).collect()
    }

    /// The digits after the point, without trailing zeros; empty for an integer.
    pub(crate) fn fraction_digits(&self) -> String {
        let zeros = usize::try_from(-self.point).unwrap_or(0);
        let skip = usize::try_from(self.point).unwrap_or(0);
        let digits = self.digits.iter().copied().skip(skip);
        std::iter::repeat_n(b'0', zeros).chain(digits).map(char::from).collect()
    }

    /// As d.ddd times ten to a power: the digits, first before the point, and the power.
    pub(crate) fn scientific(&self) -> (&[u8], i64) {
        (&self.digits, self.point - 1)
    }

    /// The literal `d.ddde+XX`, as `json.dumps` writes it.
    pub(super) fn to_scientific(&self) -> String {
        let (digits, power) = self.scientific();
        let sign = if self.negative { "-" } else { "" };
        let digits: String = digits.iter().copied().map(char::from).collect();
        let point = if digits.len() > 1 { "." } else { "" };
        let (first, rest) = digits.split_at(1.min(digits.len()));
        format!("{sign}{first}{point}{rest}e{power:+03}")
    }

    /// Without exponent: `-?int(.digits)?`, no trailing zeros.
    pub(crate) fn to_fixed(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let (whole, fraction) = (self.whole_digits(), self.fraction_digits());
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{sign}{whole}{point}{fraction}")
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |x: &Self| if x.is_zero() { 0 } else { 1 - 2 * i32::from(x.negative) };
        let magnitude = |x: &Self, y: &Self| x.point.cmp(&y.point).then(x.digits.cmp(&y.digits));
        sign(self).cmp(&sign(other)).then_with(|| {
            if self.negative { magnitude(other, self) } else { magnitude(self, other) }
        })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_and_order_are_of_values() {
        let d = |s: &str| Decimal::parse(s).unwrap();
        for same in [["1", "1.0"], ["1", "10e-1"], ["0", "-0.0e5"], ["0.001", "1E-3"]] {
            assert_eq!(d(same[0]), d(same[1]));
        }
        let ascending = ["-1e3", "-12", "-1.5", "-0.1", "0", "0.01", "0.1", "0.11", "1", "9", "10"];
        for pair in ascending.windows(2) {
            assert!(d(pair[0]) < d(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn spelled_without_exponent() {
        let table = [("1e3", "1000"), ("-1.50", "-1.5"), ("25e-4", "0.0025"), ("-0", "0")];
        for (from, to) in table {
            assert_eq!(Decimal::parse(from).unwrap().to_fixed(), to);
        }
        assert_eq!(Decimal::parse("3.0").unwrap().to_count(), Some(3));
        assert_eq!(Decimal::parse("1e30").unwrap().to_count(), Some(u32::MAX));
        assert_eq!(Decimal::parse("0.5").unwrap().to_count(), None);
        for literal in ["1e999999999", "1e-9223372036854775808", "1e-9223372036854775809"] {
            assert!(Decimal::parse(literal).is_none(), "{literal}");
        }
    }
}
