//! The syntax of rule parameters: functions after `name::`, conditions after `%if`.

use super::lexical::LarkParser;
use crate::error::Result;
use crate::grammar::parameter::{BitRange, Comparison, ParameterCondition, ParameterFunction};

const FUNCTIONS: &str =
    "known are _, numbers, set_bit, clear_bit, bit_and, bit_or, incr and decr, as in incr([0:3])";
const CONDITIONS: &str = "known are true, bit_set, bit_clear, is_ones, is_zeros, eq, ne, lt, le, \
                          gt, ge, bit_count_eq (and so on), and, or, not";

impl LarkParser<'_> {
    /// Reads the function after the `::` of a call.
    pub(super) fn function(&mut self) -> Result<ParameterFunction> {
        let at = self.text.at;
        if self.text.peek().is_some_and(|c| c.is_ascii_digit()) {
            return Ok(ParameterFunction::Constant(self.number()?));
        }
        let name = self.word();
        if name == "_" {
            return Ok(ParameterFunction::Same);
        }
        if !matches!(name, "set_bit" | "clear_bit" | "bit_and" | "bit_or" | "incr" | "decr") {
            let message = format!("`{name}` makes no parameter of another");
            return Err(self.text.error(at, message).with_help(FUNCTIONS));
        }
        self.punctuation("(")?;
        let function = match name {
            "set_bit" => ParameterFunction::Or(1 << self.bit()?),
            "clear_bit" => ParameterFunction::And(!(1 << self.bit()?)),
            "bit_and" => ParameterFunction::And(self.number()?),
            "bit_or" => ParameterFunction::Or(self.number()?),
            "incr" => ParameterFunction::Increment(self.bits()?),
            _ => ParameterFunction::Decrement(self.bits()?),
        };
        self.punctuation(")")?;
        Ok(function)
    }

    /// Reads the condition after `%if`.
    pub(super) fn condition(&mut self) -> Result<ParameterCondition> {
        self.skip_blanks_and_lines();
        let at = self.text.at;
        let name = self.word();
        if name == "true" {
            if self.text.eat("(") {
                self.punctuation(")")?;
            }
            return Ok(ParameterCondition::True);
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
        self.skip_blanks_and_lines();
        if !self.text.starts_with("(") {
            self.punctuation("(")?;
        }
        let open = self.text.at;
        self.text.enter("(")?;
        let equal =
            |bits: BitRange, number| ParameterCondition::Number(bits, Comparison::Equal, number);
        let condition = match (name, comparison) {
            (_, Some(comparison)) => {
                let bits = self.bits()?;
                self.punctuation(",")?;
                let number = self.number()?;
                match counts {
                    Some(_) => ParameterCondition::Count(bits, comparison, number),
                    None => ParameterCondition::Number(bits, comparison, number),
                }
            }
            ("bit_set", _) => equal(BitRange::one(self.bit()?), 1),
            ("bit_clear", _) => equal(BitRange::one(self.bit()?), 0),
            ("is_zeros", _) => equal(self.bits()?, 0),
            ("is_ones", _) => {
                let bits = self.bits()?;
                equal(bits, bits.ones())
            }
            ("not", _) => ParameterCondition::Not(Box::new(self.condition()?)),
            _ => {
                let first = Box::new(self.condition()?);
                self.punctuation(",")?;
                let second = Box::new(self.condition()?);
                match name {
                    "and" => ParameterCondition::And(first, second),
                    _ => ParameterCondition::Or(first, second),
                }
            }
        };
        self.skip_blanks_and_lines();
        self.text.leave(")", open)?;
        Ok(condition)
    }

    /// Reads a sign, perhaps after blanks.
    fn punctuation(&mut self, sign: &str) -> Result<()> {
        self.skip_blanks_and_lines();
        if self.text.eat(sign) {
            return Ok(());
        }
        let found = self.text.found();
        Err(self.text.error(self.text.at, format!("expected `{sign}`, found {found}")))
    }

    /// Reads a decimal or hexadecimal number of 64 bits.
    fn number(&mut self) -> Result<u64> {
        self.skip_blanks_and_lines();
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

    /// Reads the number of a bit, `0` to `63`.
    fn bit(&mut self) -> Result<u32> {
        self.bit_below(u64::BITS)
    }

    fn bit_below(&mut self, end: u32) -> Result<u32> {
        self.skip_blanks_and_lines();
        let at = self.text.at;
        match self.number()? {
            bit if bit < u64::from(end) => Ok(bit as u32),
            _ => Err(self.text.error(at, "a parameter has 64 bits")),
        }
    }

    /// Reads `_`, or `[x:y]` for the bits from `x` to before `y`.
    fn bits(&mut self) -> Result<BitRange> {
        self.skip_blanks_and_lines();
        let at = self.text.at;
        if self.text.eat("_") {
            return Ok(BitRange::ALL);
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
        Ok(BitRange { first, end })
    }
}
