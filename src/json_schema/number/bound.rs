//! Numbers on one side of a bound, as automata that compare literals digit by digit.

use super::decimal::{Decimal, FIXED_ONLY};
use super::multiple_of::grid::MultipleGrid;
use super::numbers::{ExponentForms, NumberSet, Numbers};
use super::side::BoundSide;
use crate::regular::{Language, Languages};

impl Numbers {
    /// Everything on one side of a bound, and the bound itself if `inclusive`.
    pub(crate) fn bound(
        &mut self,
        l: &mut Languages,
        value: &Decimal,
        side: BoundSide,
        inclusive: bool,
    ) -> NumberSet {
        let key = (value.clone(), side, inclusive);
        if let Some(&known) = self.bounds.get(&key) {
            return known;
        }
        let set = self.beyond(l, value, side, inclusive);
        self.bounds.insert(key, set);
        set
    }

    fn beyond(
        &mut self,
        l: &mut Languages,
        value: &Decimal,
        side: BoundSide,
        inclusive: bool,
    ) -> NumberSet {
        let size = value.magnitude();
        let minus = l.literal(b"-");
        // The bound cuts on its own side of zero; on the other, all belongs or nothing.
        let outward = value.is_zero() || (side == BoundSide::Below) == value.is_negative();
        let toward = if outward { BoundSide::Above } else { BoundSide::Below };
        let cut_fixed = self.compare(l, &size, toward, inclusive);
        let cut_exponent = self.compare_exponent(l, &size, toward, inclusive);
        let cut = l.union([cut_fixed, cut_exponent]);
        let mantissa = self.mantissa(l);
        let e = l.literal(b"e");
        let powers = self.powers(l, None, BoundSide::Above);
        let unsigned_exponent = l.concat([mantissa, e, powers]);
        let unsigned = l.union([self.unsigned, unsigned_exponent]);
        let (positive, negative) = if value.is_zero() {
            let zeros = if inclusive { l.literals([&b"0"[..], b"0.0"]) } else { Language::EMPTY };
            match side {
                BoundSide::Above => (cut, zeros),
                BoundSide::Below => (zeros, cut),
            }
        } else {
            match (side, value.is_negative()) {
                (BoundSide::Above, false) => (cut, Language::EMPTY),
                (BoundSide::Below, true) => (Language::EMPTY, cut),
                (BoundSide::Above, true) => (unsigned, cut),
                (BoundSide::Below, false) => (cut, unsigned),
            }
        };
        let negative = l.concat([minus, negative]);
        let language = l.union([positive, negative]);
        let formula = self.formula(|formulas| formulas.bound(value, side, inclusive));
        let grid = Some(self.grid(MultipleGrid::bound(value, side, inclusive)));
        let listed = Language::EMPTY;
        NumberSet {
            language,
            listed,
            may_have_point: true,
            exponents: ExponentForms::Exact,
            formula,
            grid,
        }
    }

    /// Unsigned literals without exponent on one side of `b`, which is not negative.
    fn compare(
        &self,
        l: &mut Languages,
        b: &Decimal,
        side: BoundSide,
        inclusive: bool,
    ) -> Language {
        let fraction = b.fraction_digits();
        let equal = self.compare_fraction(l, fraction.as_bytes(), side, inclusive, true);
        let free = self.fraction(l, true);
        self.compare_whole(l, b.whole_digits().as_bytes(), side, equal, free)
    }

    /// The rest after the whole part: nothing, or a fraction.
    fn fraction(&self, l: &mut Languages, dot_zero: bool) -> Language {
        let point = l.literal(b".");
        let fraction = l.concat([point, self.digits, self.nonzero]);
        let zero = if dot_zero { l.literal(b".0") } else { Language::EMPTY };
        l.union([Language::EPSILON, fraction, zero])
    }

    /// Whole parts without leading zeros on one side of `whole`, followed by `free`; and `whole`
    /// itself, followed by `equal`.
    fn compare_whole(
        &self,
        l: &mut Languages,
        whole: &[u8],
        side: BoundSide,
        equal: Language,
        free: Language,
    ) -> Language {
        let n = whole.len();
        let mut same_length = equal;
        for (i, &d) in whole.iter().enumerate().rev() {
            let least = if i == 0 && n > 1 { b'1' } else { b'0' };
            let other = match side {
                BoundSide::Above => l.byte_range(d + 1, b'9'),
                BoundSide::Below => l.byte_range(least, d - 1),
            };
            let rest = l.repeat(self.digit, (n - 1 - i) as u32, Some((n - 1 - i) as u32));
            let other = l.concat([other, rest, free]);
            let this = l.literal(&[d]);
            let this = l.concat([this, same_length]);
            same_length = l.union([this, other]);
        }
        let lengths = match side {
            BoundSide::Above => l.repeat(self.digit, n as u32, None),
            BoundSide::Below if n > 1 => l.repeat(self.digit, 0, Some(n as u32 - 2)),
            BoundSide::Below => Language::EMPTY,
        };
        let mut other_length = l.concat([self.nonzero, lengths, free]);
        if side == BoundSide::Below && n > 1 {
            let zero = l.literal(b"0");
            let zero = l.concat([zero, free]);
            other_length = l.union([other_length, zero]);
        }
        l.union([same_length, other_length])
    }

    /// Fractions (with their point, or empty) on one side of `.digits`.
    fn compare_fraction(
        &self,
        l: &mut Languages,
        digits: &[u8],
        side: BoundSide,
        inclusive: bool,
        dot_zero: bool,
    ) -> Language {
        let point = l.literal(b".");
        let zero = if dot_zero { l.literal(b".0") } else { Language::EMPTY };
        let longer = l.concat([self.digits, self.nonzero]);
        let any = l.union([Language::EPSILON, longer]);
        let end = if inclusive { Language::EPSILON } else { Language::EMPTY };
        if digits.is_empty() {
            let equal =
                if inclusive { l.union([Language::EPSILON, zero]) } else { Language::EMPTY };
            let more = l.concat([point, longer]);
            return match side {
                BoundSide::Above => l.union([equal, more]),
                BoundSide::Below => equal,
            };
        }
        let mut rest = match side {
            BoundSide::Above => l.union([end, longer]),
            BoundSide::Below => end,
        };
        for (i, &d) in digits.iter().enumerate().rev() {
            let this = l.literal(&[d]);
            let this = l.concat([this, rest]);
            rest = match side {
                BoundSide::Above => {
                    let more = l.byte_range(d + 1, b'9');
                    let more = l.concat([more, any]);
                    l.union([this, more])
                }
                BoundSide::Below => {
                    let less = l.byte_range(b'1', d - 1);
                    let less = l.concat([less, any]);
                    let with_zero = if d > b'0' {
                        let zero = l.literal(b"0");
                        l.concat([zero, longer])
                    } else {
                        Language::EMPTY
                    };
                    // A proper prefix is smaller; it may end here if it does not end in zero.
                    let stops = i > 0 && digits[i - 1] != b'0';
                    let stop = if stops { Language::EPSILON } else { Language::EMPTY };
                    l.union([this, less, with_zero, stop])
                }
            };
        }
        let fraction = l.concat([point, rest]);
        match side {
            BoundSide::Above => fraction,
            BoundSide::Below => l.union([Language::EPSILON, zero, fraction]),
        }
    }

    /// `[1-9](.[0-9]*[1-9])?`
    pub(crate) fn mantissa(&self, l: &mut Languages) -> Language {
        let fraction = self.fraction(l, false);
        l.concat([self.nonzero, fraction])
    }

    /// Unsigned literals in exponent form on one side of `b`, which is not negative.
    fn compare_exponent(
        &self,
        l: &mut Languages,
        b: &Decimal,
        side: BoundSide,
        inclusive: bool,
    ) -> Language {
        let e = l.literal(b"e");
        let mantissa = self.mantissa(l);
        if b.is_zero() {
            let powers = match side {
                BoundSide::Above => self.powers(l, None, side),
                BoundSide::Below => Language::EMPTY,
            };
            return l.concat([mantissa, e, powers]);
        }
        let (digits, power) = b.scientific();
        let powers = self.powers(l, Some(power), side);
        let other = l.concat([mantissa, e, powers]);
        if FIXED_ONLY.contains(&power) {
            return other;
        }
        let equal = self.compare_fraction(l, &digits[1..], side, inclusive, false);
        let free = self.fraction(l, false);
        let first = match side {
            BoundSide::Above => l.byte_range(digits[0] + 1, b'9'),
            BoundSide::Below => l.byte_range(b'1', digits[0] - 1),
        };
        let first = l.concat([first, free]);
        let same = l.literal(&digits[..1]);
        let same = l.concat([same, equal]);
        let mantissa = l.union([first, same]);
        let power = l.literal(format!("e{power:+03}").as_bytes());
        let same_power = l.concat([mantissa, power]);
        l.union([other, same_power])
    }

    /// Exponents that `json.dumps` writes (at least +16, at most -05) and that lie strictly on
    /// one side of `than`; all of them if there is no `than`.
    pub(crate) fn powers(&self, l: &mut Languages, than: Option<i64>, side: BoundSide) -> Language {
        let [plus, minus] = [b"+", b"-"].map(|b: &[u8; 1]| l.literal(b));
        let (above, below) = match (than, side) {
            (None, _) => ((Some(15), None), (Some(4), None)),
            (Some(p), BoundSide::Above) => ((Some(p.max(15)), None), (Some(4), Some(-p))),
            (Some(p), BoundSide::Below) => ((Some(15), Some(p)), (Some((-p).max(4)), None)),
        };
        let above = self.exponent_digits_between(l, above);
        let below = self.exponent_digits_between(l, below);
        let above = l.concat([plus, above]);
        let below = l.concat([minus, below]);
        l.union([above, below])
    }

    /// Digits of an exponent as `json.dumps` writes them (`05`, `16`: at least two), with a value
    /// strictly between the bounds.
    pub(crate) fn exponent_digits_between(
        &self,
        l: &mut Languages,
        range: (Option<i64>, Option<i64>),
    ) -> Language {
        let zero = l.literal(b"0");
        let single = l.concat([zero, self.nonzero]);
        let several = l.repeat(self.digit, 1, None);
        let several = l.concat([self.nonzero, several]);
        let mut result = l.union([single, several]);
        for (bound, side) in [(range.0, BoundSide::Above), (range.1, BoundSide::Below)] {
            let Some(bound) = bound else { continue };
            if bound <= 0 {
                if side == BoundSide::Below {
                    return Language::EMPTY;
                }
                continue;
            }
            let digits = bound.to_string();
            let (none, free) = (Language::EMPTY, Language::EPSILON);
            let natural = self.compare_whole(l, digits.as_bytes(), side, none, free);
            let two = l.intersect([natural, several]);
            let nine = l.intersect([natural, self.nonzero]);
            let nine = l.concat([zero, nine]);
            let side = l.union([two, nine]);
            result = l.intersect([result, side]);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_schema::options::Spelling;

    const VALUES: &[&str] = &[
        "0",
        "0.0",
        "-0",
        "-0.0",
        "1",
        "-1",
        "9",
        "10",
        "99",
        "100",
        "101",
        "-100",
        "1.5",
        "0.1",
        "0.05",
        "0.10",
        "0.15",
        "0.3",
        "0.30000000000000004",
        "0.2999",
        "-0.1",
        "-0.3",
        "12.5",
        "12.50",
        "12.05",
        "0.001",
        "1e+16",
        "1.5e+16",
        "9e-05",
        "-2.5e-07",
        "1e+308",
        "1.7e+308",
        "-1e+308",
        "9.9e+307",
        "10000000000000000",
        "0.0001",
        "0.00009",
        "1.00",
    ];

    const BOUNDS: &[&str] = &[
        "0",
        "1",
        "-1",
        "10",
        "99",
        "100",
        "0.1",
        "0.3",
        "0.05",
        "-0.1",
        "12.5",
        "1e16",
        "1.5e16",
        "9e-5",
        "8e-6",
        "-2.5e-7",
        "1e308",
        "0.001",
        "5e-5",
        "-1e308",
        "123456789.000000001",
    ];

    #[test]
    fn bounds_compare_as_values_do() {
        let mut l = Languages::new();
        let mut numbers = Numbers::new(&mut l, Spelling::Canonical);
        for bound in BOUNDS {
            let b = Decimal::parse(bound).unwrap();
            for (side, inclusive) in [
                (BoundSide::Above, true),
                (BoundSide::Above, false),
                (BoundSide::Below, true),
                (BoundSide::Below, false),
            ] {
                let set = numbers.bound(&mut l, &b, side, inclusive);
                let opposite = numbers.not(&mut l, set);
                let (spelled, _) = numbers.spelling(&mut l, set, 20);
                let (outside, _) = numbers.spelling(&mut l, opposite, 20);
                for literal in VALUES {
                    let v = Decimal::parse(literal).unwrap();
                    let expected = match side {
                        BoundSide::Above => v > b || inclusive && v == b,
                        BoundSide::Below => v < b || inclusive && v == b,
                    };
                    let (s, o) = (
                        l.matches(spelled, literal.as_bytes()).unwrap(),
                        l.matches(outside, literal.as_bytes()).unwrap(),
                    );
                    assert_eq!(s, expected, "{literal} {side:?} {inclusive} {bound}");
                    assert_eq!(o, !expected, "{literal} not {side:?} {inclusive} {bound}");
                    assert_eq!(numbers.contains(&mut l, set, &v, literal).unwrap(), expected);
                }
            }
        }
    }
}
