//! The parameter of a rule `name::_`: 64 bits that a call sets and that alternatives test.
//!
//! A rule with a parameter means what it would mean if it were written out for each value; `family`
//! writes out those values that a text enters. Two letters in any order, each once:
//!
//! ```text
//! start: letters::0
//! letters::_: "a" letters::set_bit(0)  %if bit_clear(0)
//!           | "b" letters::set_bit(1)  %if bit_clear(1)
//!           | ""                       %if is_ones([0:2])
//! ```
//!
//! *Source:* llguidance's `docs/parametric.md`.

/// The bits `first..end` of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BitRange {
    pub(crate) first: u32,
    pub(crate) end: u32,
}

impl BitRange {
    pub(crate) const ALL: Self = Self { first: 0, end: u64::BITS };

    pub(crate) fn one(bit: u32) -> Self {
        Self { first: bit, end: bit + 1 }
    }

    /// The greatest value of these bits.
    pub(crate) fn ones(self) -> u64 {
        u64::MAX >> (u64::BITS - (self.end - self.first))
    }

    /// The value of these bits in a parameter.
    fn of(self, value: u64) -> u64 {
        value >> self.first & self.ones()
    }
}

/// The parameter of a callee, as a function of the caller's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ParameterFunction {
    Same,
    Constant(u64),
    And(u64),
    Or(u64),
    /// One more in these bits, unless all are set.
    Increment(BitRange),
    /// One less in these bits, unless none is set.
    Decrement(BitRange),
    /// So much more, up to the greatest number.
    Add(u64),
}

impl ParameterFunction {
    /// Whether it is the same for all values.
    pub(crate) fn is_constant(self) -> bool {
        matches!(self, Self::Constant(_))
    }

    /// The callee's parameter.
    pub(crate) fn apply(self, value: u64) -> u64 {
        match self {
            Self::Same => value,
            Self::Constant(constant) => constant,
            Self::And(mask) => value & mask,
            Self::Or(mask) => value | mask,
            Self::Increment(bits) if bits.of(value) == bits.ones() => value,
            Self::Increment(bits) => value + (1 << bits.first),
            Self::Decrement(bits) if bits.of(value) == 0 => value,
            Self::Decrement(bits) => value - (1 << bits.first),
            Self::Add(more) => value.saturating_add(more),
        }
    }
}

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Comparison {
    /// The comparison of this name: the last two letters of a condition's name.
    pub(crate) fn named(name: &str) -> Option<Self> {
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

/// The condition of an alternative, `%if …`.
#[derive(Clone, Debug)]
pub(crate) enum ParameterCondition {
    True,
    /// Compares the bits, as an unsigned number.
    Number(BitRange, Comparison, u64),
    /// Compares the number of set bits.
    Count(BitRange, Comparison, u64),
    And(Box<ParameterCondition>, Box<ParameterCondition>),
    Or(Box<ParameterCondition>, Box<ParameterCondition>),
    Not(Box<ParameterCondition>),
}

impl ParameterCondition {
    /// Whether a parameter satisfies it.
    pub(crate) fn holds(&self, value: u64) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stop_at_their_ends() {
        let bits = BitRange { first: 4, end: 6 };
        let up = ParameterFunction::Increment(bits);
        assert_eq!(up.apply(0x10F), 0x11F);
        assert_eq!(up.apply(0x13F), 0x13F);
        assert_eq!(ParameterFunction::Decrement(bits).apply(0x12F), 0x11F);
        assert_eq!(ParameterFunction::Decrement(bits).apply(0x10F), 0x10F);
        assert_eq!(ParameterFunction::Increment(BitRange::ALL).apply(u64::MAX), u64::MAX);
        assert_eq!(ParameterFunction::Increment(BitRange::one(63)).apply(0), 1 << 63);
    }

    #[test]
    fn counts_are_of_some_bits_alone() {
        let bits = BitRange { first: 1, end: 4 };
        assert!(ParameterCondition::Count(bits, Comparison::Equal, 2).holds(0b1_0110));
        assert!(ParameterCondition::Number(bits, Comparison::Less, 4).holds(0b1_0111));
        assert!(!ParameterCondition::Number(BitRange::ALL, Comparison::AtMost, 4).holds(0b1_0111));
    }
}
