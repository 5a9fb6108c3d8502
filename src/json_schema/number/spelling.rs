//! Literals to write for a set of numbers: how many zeros at the end, how many digits.

use std::sync::Arc;

use super::multiple_of::grid::Literals;
use super::numbers::{ExponentForms, NumberSet, Numbers};
use crate::error::Result;
use crate::regular::compact;
use crate::regular::{Language, Languages};

impl Numbers {
    /// The literals to write, those of listed values apart: any number of zeros at the end of a
    /// fraction, at most `digits` digits on each side of the point.
    pub(crate) fn spelling(
        &self,
        l: &mut Languages,
        set: NumberSet,
        digits: u32,
    ) -> (Language, Language) {
        let arithmetic = self.arithmetic_spelling(l, set, digits);
        if let Some(formulas) = &self.formulas {
            let language = l.intersect([set.language, self.fixed]);
            let free = arithmetic.unwrap_or_else(|| self.pad(l, language, self.fixed));
            let listed = l.intersect([set.listed, self.fixed]);
            let listed = self.pad(l, listed, self.fixed);
            let limit = self.limit(l, digits);
            // Digit arithmetic bounds the digits already.
            let free = if arithmetic.is_some() { free } else { l.intersect([free, limit]) };
            let exponents = formulas.language(l, set.formula, digits);
            // Listed values have no other exponent forms than their set.
            return match set.language {
                Language::EMPTY => (free, l.union([listed, exponents])),
                _ => (l.union([free, exponents]), listed),
            };
        }
        let mut usable = match set.exponents {
            ExponentForms::Exact | ExponentForms::Partial => self.all,
            ExponentForms::Unknown => self.fixed,
        };
        if !set.may_have_point {
            usable = l.difference(usable, self.pointed_integers);
        }
        let (lists, others) = self.written_lists(l, set);
        let others = self.pad(l, others, usable);
        let listed = l.union([lists, others]);
        if let Some(arithmetic) = arithmetic {
            return (arithmetic, listed);
        }
        let free = match self.pad(l, set.language, usable) {
            Language::EMPTY => Language::EMPTY,
            free => {
                let limit = self.limit(l, digits);
                l.intersect([free, limit])
            }
        };
        (free, listed)
    }

    /// All literals to write, as an automaton that is cheap to step.
    pub(crate) fn written_as(
        &self,
        l: &mut Languages,
        set: NumberSet,
        digits: u32,
    ) -> Result<Language> {
        let (free, listed) = self.spelling(l, set, digits);
        let text = l.union([free, listed]);
        // What computes its states has too many for a table.
        if set.grid.is_some_and(|grid| self.grids[grid.0 as usize].uses_digit_arithmetic()) {
            Ok(text)
        } else {
            compact::compacted(l, text, None)
        }
    }

    /// The literals to write for a grid that is decided by digit arithmetic.
    fn arithmetic_spelling(
        &self,
        l: &mut Languages,
        set: NumberSet,
        digits: u32,
    ) -> Option<Language> {
        let grid = set
            .grid
            .map(|grid| &self.grids[grid.0 as usize])
            .filter(|grid| grid.uses_digit_arithmetic())?;
        // Where every spelling counts, `1.0` is an integer.
        let plain = grid.plain || !set.may_have_point && self.formulas.is_none();
        let literals = grid.literals(Some(digits.max(1)), plain);
        Some(l.automaton(Arc::new(literals), Literals::start()))
    }

    fn pad(&self, l: &mut Languages, language: Language, usable: Language) -> Language {
        if language == Language::EMPTY {
            return language;
        }
        if language == self.plain {
            return language;
        }
        let used = if language == usable { language } else { l.intersect([language, usable]) };
        let point = l.literal(b".");
        let integer = l.repeat(self.digit, 1, None);
        let minus = l.literal(b"-");
        let sign = l.union([Language::EPSILON, minus]);
        let dotted = l.concat([sign, integer, point, integer]);
        let zero = l.literal(b"0");
        let zeros = l.repeat(zero, 0, None);
        if language == self.all && used == self.all {
            // Said directly: the commonest of all sets deserves the smallest automaton.
            let natural = l.concat([self.nonzero, self.digits]);
            let whole = l.union([zero, natural]);
            let fraction = l.concat([point, integer]);
            let fraction = l.union([Language::EPSILON, fraction]);
            let fixed = l.concat([sign, whole, fraction]);
            return l.union([fixed, self.exponent]);
        }
        let fractions = l.intersect([used, dotted]);
        let padded = l.concat([fractions, zeros]);
        l.union([used, padded])
    }

    fn limit(&self, l: &mut Languages, digits: u32) -> Language {
        let digits = digits.max(1);
        let minus = l.literal(b"-");
        let sign = l.union([Language::EPSILON, minus]);
        let whole = l.repeat(self.digit, 1, Some(digits));
        let point = l.literal(b".");
        let fraction = l.concat([point, whole]);
        let fraction = l.union([Language::EPSILON, fraction]);
        let e = l.literal(b"e");
        let [plus, minus] = [b"+", b"-"].map(|b: &[u8; 1]| l.literal(b));
        // The range of doubles: `json.dumps` writes nothing beyond.
        let large = self.exponent_digits_between(l, (None, Some(309)));
        let small = self.exponent_digits_between(l, (None, Some(325)));
        let large = l.concat([plus, large]);
        let small = l.concat([minus, small]);
        let power = l.union([large, small]);
        let power = l.concat([e, power]);
        let power = l.union([Language::EPSILON, power]);
        l.concat([sign, whole, fraction, power])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_schema::number::Decimal;
    use crate::json_schema::options::Spelling;

    #[test]
    fn integers_have_one_spelling() {
        let mut l = Languages::new();
        let mut numbers = Numbers::new(&mut l, Spelling::Canonical);
        let set = numbers.integers(&mut l, true);
        let (spelled, _) = numbers.spelling(&mut l, set, 20);
        for (literal, ok) in [
            ("0", true),
            ("-0", false),
            ("1.0", false),
            ("1e+16", false),
            ("01", false),
            ("-7", true),
        ] {
            assert_eq!(l.matches(spelled, literal.as_bytes()).unwrap(), ok, "{literal}");
        }
        assert!(l.matches(spelled, &[b'1'; 20]).unwrap());
        assert!(!l.matches(spelled, &[b'1'; 21]).unwrap());
    }

    #[test]
    fn listed_values_escape_the_bound_on_digits() {
        let mut l = Languages::new();
        let mut numbers = Numbers::new(&mut l, Spelling::Canonical);
        let literal = "123456789012345678901234567890";
        let value = Decimal::parse(literal).unwrap();
        let set = numbers.listed(&mut l, &value, literal);
        let set = numbers.and(&mut l, set, numbers.all());
        let (free, listed) = numbers.spelling(&mut l, set, 20);
        assert!(!l.is_live(free).unwrap());
        assert!(l.matches(listed, literal.as_bytes()).unwrap());
        let other = Decimal::parse("1e400").unwrap();
        let set = numbers.listed(&mut l, &other, "1e400");
        let (_, listed) = numbers.spelling(&mut l, set, 20);
        assert!(l.matches(listed, b"1e+400").unwrap());
    }
}
