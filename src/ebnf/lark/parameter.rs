//! The parameter of a rule `name::_`: 64 bits that a call sets and that alternatives ask about
//! (llguidance's `docs/parametric.md`).
//!
//! A rule with a parameter means what it would if it were written out for each value. Only the
//! values that calls reach are (`lower`).

use super::syntax::{Parser, space};
use crate::error::Result;

/// The bits `first..end` of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bits {
    first: u32,
    end: u32,
}

impl Bits {
    const ALL: Self = Self { first: 0, end: u64::BITS };

    fn one(bit: u32) -> Self {
        Self { first: bit, end: bit + 1 }
    }

    /// As many ones as there are bits.
    fn ones(self) -> u64 {
        u64::MAX >> (u64::BITS - (self.end - self.first))
    }

    fn of(self, value: u64) -> u64 {
        value >> self.first & self.ones()
    }
}

/// What a call makes of the caller's parameter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Function {
    Same,
    Constant(u64),
    And(u64),
    Or(u64),
    /// One more in these bits, unless all are set.
    Increment(Bits),
    /// One less in these bits, unless none is set.
    Decrement(Bits),
}

impl Function {
    pub(super) fn apply(self, value: u64) -> u64 {
        match self {
            Self::Same => value,
            Self::Constant(constant) => constant,
            Self::And(mask) => value & mask,
            Self::Or(mask) => value | mask,
            Self::Increment(bits) if bits.of(value) == bits.ones() => value,
            Self::Increment(bits) => value + (1 << bits.first),
            Self::Decrement(bits) if bits.of(value) == 0 => value,
            Self::Decrement(bits) => value - (1 << bits.first),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Comparison {
    /// By the last two letters of a condition's name.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "eq" => Self::Equal,
            "ne" => Self::Unequal,
            "lt" => Self::Less,
            "le" => Self::AtMost,
            "gt" => Self::Greater,
            "ge" => Self::AtLeast,
            _ => return None,
        })
    }

    fn holds(self, a: u64, b: u64) -> bool {
        match self {
            Self::Equal => a == b,
            Self::Unequal => a != b,
            Self::Less => a < b,
            Self::AtMost => a <= b,
            Self::Greater => a > b,
            Self::AtLeast => a >= b,
        }
    }
}

/// What an alternative asks of the parameter: `%if …`.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    True,
    /// Of the bits as a number without sign.
    Number(Bits, Comparison, u64),
    /// Of how many bits are set.
    Count(Bits, Comparison, u64),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
}

impl Condition {
    pub(super) fn holds(&self, value: u64) -> bool {
        match self {
            Self::True => true,
            Self::Number(bits, compare, number) => compare.holds(bits.of(value), *number),
            Self::Count(bits, compare, number) => {
                compare.holds(bits.of(value).count_ones().into(), *number)
            }
            Self::And(a, b) => a.holds(value) && b.holds(value),
            Self::Or(a, b) => a.holds(value) || b.holds(value),
            Self::Not(inner) => !inner.holds(value),
        }
    }
}

const FUNCTIONS: &str =
    "known are _, numbers, set_bit, clear_bit, bit_and, bit_or, incr and decr, as in incr([0:3])";
const CONDITIONS: &str = "known are true, bit_set, bit_clear, is_ones, is_zeros, eq, ne, lt, le, \
                          gt, ge, bit_count_eq (and so on), and, or, not";

impl Parser<'_> {
    /// What stands behind the `::` of a call.
    pub(super) fn function(&mut self) -> Result<Function> {
        let at = self.text.at;
        if self.text.peek().is_some_and(|c| c.is_ascii_digit()) {
            return Ok(Function::Constant(self.number()?));
        }
        let name = self.word();
        if name == "_" {
            return Ok(Function::Same);
        }
        if !matches!(name, "set_bit" | "clear_bit" | "bit_and" | "bit_or" | "incr" | "decr") {
            let message = format!("`{name}` makes no parameter of another");
            return Err(self.text.error(at, message).with_help(FUNCTIONS));
        }
        self.punctuation("(")?;
        let function = match name {
            "set_bit" => Function::Or(1 << self.bit()?),
            "clear_bit" => Function::And(!(1 << self.bit()?)),
            "bit_and" => Function::And(self.number()?),
            "bit_or" => Function::Or(self.number()?),
            "incr" => Function::Increment(self.bits()?),
            _ => Function::Decrement(self.bits()?),
        };
        self.punctuation(")")?;
        Ok(function)
    }

    /// What stands behind `%if`.
    pub(super) fn condition(&mut self) -> Result<Condition> {
        space(&mut self.text, true);
        let at = self.text.at;
        let name = self.word();
        if name == "true" {
            if self.text.eat("(") {
                self.punctuation(")")?;
            }
            return Ok(Condition::True);
        }
        let counts = name.strip_prefix("bit_count_");
        let comparison = Comparison::named(counts.unwrap_or(name));
        let known =
            matches!(name, "bit_set" | "bit_clear" | "is_ones" | "is_zeros" | "and" | "or" | "not");
        if comparison.is_none() && !known {
            let message = format!("`{name}` is no condition of a parameter");
            return Err(self.text.error(at, message).with_help(CONDITIONS));
        }
        // Conditions nest in each other as groups do.
        space(&mut self.text, true);
        if !self.text.starts_with("(") {
            self.punctuation("(")?;
        }
        let open = self.text.at;
        self.text.enter("(")?;
        let equal = |bits: Bits, number| Condition::Number(bits, Comparison::Equal, number);
        let condition = match (name, comparison) {
            (_, Some(comparison)) => {
                let bits = self.bits()?;
                self.punctuation(",")?;
                let number = self.number()?;
                match counts {
                    Some(_) => Condition::Count(bits, comparison, number),
                    None => Condition::Number(bits, comparison, number),
                }
            }
            ("bit_set", _) => equal(Bits::one(self.bit()?), 1),
            ("bit_clear", _) => equal(Bits::one(self.bit()?), 0),
            ("is_zeros", _) => equal(self.bits()?, 0),
            ("is_ones", _) => {
                let bits = self.bits()?;
                equal(bits, bits.ones())
            }
            ("not", _) => Condition::Not(Box::new(self.condition()?)),
            _ => {
                let first = Box::new(self.condition()?);
                self.punctuation(",")?;
                let second = Box::new(self.condition()?);
                match name {
                    "and" => Condition::And(first, second),
                    _ => Condition::Or(first, second),
                }
            }
        };
        space(&mut self.text, true);
        self.text.leave(")", open)?;
        Ok(condition)
    }

    fn punctuation(&mut self, sign: &str) -> Result<()> {
        space(&mut self.text, true);
        if self.text.eat(sign) {
            return Ok(());
        }
        let found = self.text.found();
        Err(self.text.error(self.text.at, format!("expected `{sign}`, found {found}")))
    }

    /// A decimal or hexadecimal number of 64 bits.
    fn number(&mut self) -> Result<u64> {
        space(&mut self.text, true);
        let at = self.text.at;
        let word = self.text.take_while(|c| c.is_ascii_alphanumeric());
        let number = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => word.parse(),
        };
        number.map_err(|_| {
            self.text
                .error(at, "expected a number of 64 bits")
                .with_help("write it like `10` or `0xA`")
        })
    }

    /// The number of a bit, `0` to `63`.
    fn bit(&mut self) -> Result<u32> {
        self.bit_below(u64::BITS)
    }

    fn bit_below(&mut self, end: u32) -> Result<u32> {
        space(&mut self.text, true);
        let at = self.text.at;
        match self.number()? {
            bit if bit < u64::from(end) => Ok(bit as u32),
            _ => Err(self.text.error(at, "a parameter has 64 bits")),
        }
    }

    /// `_`, or `[x:y]` for the bits from `x` to before `y`.
    fn bits(&mut self) -> Result<Bits> {
        space(&mut self.text, true);
        let at = self.text.at;
        if self.text.eat("_") {
            return Ok(Bits::ALL);
        }
        if !self.text.eat("[") {
            let found = self.text.found();
            return Err(self
                .text
                .error(at, format!("expected some bits of the parameter, found {found}"))
                .with_help("write `_` for all of them, `[0:3]` for the first three"));
        }
        let first = self.bit()?;
        self.punctuation(":")?;
        let end = self.bit_below(u64::BITS + 1)?;
        self.punctuation("]")?;
        if end <= first {
            return Err(self.text.error(at, "the bits end before they begin"));
        }
        Ok(Bits { first, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stop_at_their_ends() {
        let bits = Bits { first: 4, end: 6 };
        let up = Function::Increment(bits);
        assert_eq!(up.apply(0x10F), 0x11F);
        assert_eq!(up.apply(0x13F), 0x13F);
        assert_eq!(Function::Decrement(bits).apply(0x12F), 0x11F);
        assert_eq!(Function::Decrement(bits).apply(0x10F), 0x10F);
        assert_eq!(Function::Increment(Bits::ALL).apply(u64::MAX), u64::MAX);
        assert_eq!(Function::Increment(Bits::one(63)).apply(0), 1 << 63);
    }

    #[test]
    fn counts_are_of_some_bits_alone() {
        let bits = Bits { first: 1, end: 4 };
        assert!(Condition::Count(bits, Comparison::Equal, 2).holds(0b1_0110));
        assert!(Condition::Number(bits, Comparison::Less, 4).holds(0b1_0111));
        assert!(!Condition::Number(Bits::ALL, Comparison::AtMost, 4).holds(0b1_0111));
    }
}
