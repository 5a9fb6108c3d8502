//! Conditions on divisors: multiples of one number and not of another.
//!
//! `multipleOf` under and, or and not speaks of remainders. Among the multiples of one number, a
//! condition on other divisors is periodic, so a table of one period answers whether there is a
//! number between any two.
//!
//! ```text
//! multiples of 2, but not of 3   among 2, 4, 6, 8, …: yes yes no, yes yes no, …   period 3
//! ```

use std::sync::{Arc, OnceLock};

use num_bigint::BigInt;

use super::arithmetic::{gcd, lcm, ten};

/// Entries of the longest period; its table takes half a megabyte.
const MAX_PERIOD: u64 = 1 << 22;

/// Divisors that one condition may name.
const MAX_DIVISORS: usize = 64;

/// Numbers that are tested one by one before a table is made.
const MAX_TESTED_NUMBERS: u64 = 64;

/// A condition on a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DivisorCondition {
    /// It is a multiple of `step` times ten to the power of minus `places`.
    Multiple {
        step: BigInt,
        places: u32,
    },
    All(Box<[Arc<DivisorCondition>]>),
    Any(Box<[Arc<DivisorCondition>]>),
    Not(Arc<DivisorCondition>),
}

impl DivisorCondition {
    /// The conjunction of conditions. `None` if it names too many divisors, or none.
    pub(crate) fn all(parts: impl IntoIterator<Item = Arc<Self>>) -> Option<Arc<Self>> {
        Self::together(parts, Self::All)
    }

    /// The disjunction of conditions.
    pub(crate) fn any(parts: impl IntoIterator<Item = Arc<Self>>) -> Option<Arc<Self>> {
        Self::together(parts, Self::Any)
    }

    fn together(
        parts: impl IntoIterator<Item = Arc<Self>>,
        make: fn(Box<[Arc<Self>]>) -> Self,
    ) -> Option<Arc<Self>> {
        let mut kept: Vec<Arc<Self>> = Vec::new();
        for part in parts {
            if !kept.contains(&part) {
                kept.push(part);
            }
        }
        match kept.len() {
            0 => None,
            1 => kept.pop(),
            _ => Some(make(kept.into())).filter(|new| new.divisors() <= MAX_DIVISORS).map(Arc::new),
        }
    }

    pub(crate) fn not(part: Arc<Self>) -> Option<Arc<Self>> {
        Some(match &*part {
            Self::Not(inner) => Arc::clone(inner),
            _ => Arc::new(Self::Not(part)),
        })
    }

    fn divisors(&self) -> usize {
        match self {
            Self::Multiple { .. } => 1,
            Self::All(parts) | Self::Any(parts) => parts.iter().map(|part| part.divisors()).sum(),
            Self::Not(part) => part.divisors(),
        }
    }

    /// The most places that a divisor has.
    pub(crate) fn places(&self) -> u32 {
        match self {
            Self::Multiple { places, .. } => *places,
            Self::All(parts) | Self::Any(parts) => {
                parts.iter().map(|part| part.places()).max().unwrap_or(0)
            }
            Self::Not(part) => part.places(),
        }
    }

    /// The period of the condition, in multiples of `step` times ten to the power of minus
    /// `places`. `None` if it is too long.
    pub(crate) fn period(&self, step: &BigInt, places: u32) -> Option<u64> {
        let all = self.places().max(places);
        self.test(&(step * ten(all - places)), all)?.period()
    }

    /// The condition on the factor of a multiple of `step`: both are times ten to the power of
    /// minus `places`, which is no less than the divisors have.
    fn test(&self, step: &BigInt, places: u32) -> Option<ResidueTest> {
        let all = |parts: &[Arc<Self>]| {
            parts.iter().map(|part| part.test(step, places)).collect::<Option<Box<[_]>>>()
        };
        Some(match self {
            Self::Multiple { step: divisor, places: own } => {
                let divisor = divisor * ten(places - own);
                let every = &divisor / gcd(&divisor, step);
                ResidueTest::Every(u64::try_from(every).ok().filter(|&every| every <= MAX_PERIOD)?)
            }
            Self::All(parts) => ResidueTest::All(all(parts)?),
            Self::Any(parts) => ResidueTest::Any(all(parts)?),
            Self::Not(part) => ResidueTest::Not(Box::new(part.test(step, places)?)),
        })
    }

    /// The multiples of `step` that meet the condition.
    pub(crate) fn among(&self, step: &BigInt, places: u32) -> Option<ResidueTable> {
        let test = self.test(step, places)?;
        Some(ResidueTable { period: test.period()?, test, table: OnceLock::new() })
    }
}

/// A condition on a natural number.
#[derive(Debug)]
enum ResidueTest {
    Every(u64),
    All(Box<[ResidueTest]>),
    Any(Box<[ResidueTest]>),
    Not(Box<ResidueTest>),
}

impl ResidueTest {
    fn holds(&self, n: u64) -> bool {
        match self {
            Self::Every(every) => n.is_multiple_of(*every),
            Self::All(parts) => parts.iter().all(|part| part.holds(n)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(n)),
            Self::Not(part) => !part.holds(n),
        }
    }

    fn period(&self) -> Option<u64> {
        match self {
            Self::Every(every) => Some(*every),
            Self::All(parts) | Self::Any(parts) => parts.iter().try_fold(1, |period, part| {
                let both = lcm(&BigInt::from(period), &BigInt::from(part.period()?));
                u64::try_from(both).ok().filter(|&both| both <= MAX_PERIOD)
            }),
            Self::Not(part) => part.period(),
        }
    }
}

impl ResidueTest {
    /// The numbers below `most` that meet it, as bits. O(`most`) divided by the least divisor.
    fn up_to(&self, most: u64) -> Vec<u64> {
        let together = |parts: &[Self], join: fn(u64, u64) -> u64| {
            let mut parts = parts.iter().map(|part| part.up_to(most));
            let mut table = parts.next().unwrap_or_default();
            for part in parts {
                table.iter_mut().zip(part).for_each(|(word, other)| *word = join(*word, other));
            }
            table
        };
        match self {
            Self::Every(every) => {
                let mut table = vec![0u64; most.div_ceil(64) as usize];
                for n in (0..most).step_by(*every as usize) {
                    table[(n / 64) as usize] |= 1 << (n % 64);
                }
                table
            }
            Self::All(parts) => together(parts, |a, b| a & b),
            Self::Any(parts) => together(parts, |a, b| a | b),
            Self::Not(part) => part.up_to(most).into_iter().map(|word| !word).collect(),
        }
    }
}

/// The natural numbers that meet a condition.
#[derive(Debug)]
pub(crate) struct ResidueTable {
    test: ResidueTest,
    period: u64,
    /// One period, as bits; made when it is needed.
    table: OnceLock<Box<[u64]>>,
}

impl ResidueTable {
    /// The period.
    pub(crate) fn period(&self) -> u64 {
        self.period
    }

    /// Whether no number meets it.
    pub(crate) fn is_none(&self) -> bool {
        !self.is_any_between(&BigInt::ZERO, None)
    }

    /// Whether a number from `first` to `last` meets it. `None`: there is no last one.
    pub(crate) fn is_any_between(&self, first: &BigInt, last: Option<&BigInt>) -> bool {
        let most = self.period - 1;
        let span = match last {
            Some(last) if last < first => return false,
            Some(last) => u64::try_from(last - first).map_or(most, |span| span.min(most)),
            None => most,
        };
        // Less than the period.
        let from = u64::try_from(first % self.period).unwrap_or(0);
        if self.table.get().is_none() {
            if (0..=span.min(MAX_TESTED_NUMBERS)).any(|n| self.test.holds((from + n) % self.period))
            {
                return true;
            }
            if span <= MAX_TESTED_NUMBERS {
                return false;
            }
        }
        let end = from + span;
        self.holds_within(from, end.min(most)) || end > most && self.holds_within(0, end - most - 1)
    }

    /// Whether a number within one period meets it, both ends included.
    fn holds_within(&self, from: u64, to: u64) -> bool {
        let table = self.table.get_or_init(|| self.test.up_to(self.period).into());
        let (first, last) = ((from / 64) as usize, (to / 64) as usize);
        table[first..=last].iter().zip(first..).any(|(&word, at)| {
            let mut word = word;
            if at == first {
                word &= u64::MAX << (from % 64);
            }
            if at == last {
                word &= u64::MAX >> (63 - to % 64);
            }
            word != 0
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;

    fn multiple(step: u32, places: u32) -> Arc<DivisorCondition> {
        Arc::new(DivisorCondition::Multiple { step: step.into(), places })
    }

    #[test]
    fn what_is_picked_is_what_arithmetic_says() {
        // Multiples of 0.5: of 3 or 4.5, not of 6.5.
        let some = DivisorCondition::any([multiple(3, 0), multiple(45, 1)]).unwrap();
        let not = DivisorCondition::not(multiple(65, 1)).unwrap();
        let pick = DivisorCondition::all([some, not]).unwrap();
        let picked = pick.among(&BigInt::from(5), 1).unwrap();
        let said = |n: u64| (n.is_multiple_of(6) || n.is_multiple_of(9)) && !n.is_multiple_of(13);
        assert_eq!(picked.period(), 234);
        for first in 0..600u64 {
            for span in [0, 1, 5, 8, 80, 200] {
                let expected = (first..=first + span).any(said);
                let last = BigInt::from(first + span);
                let found = picked.is_any_between(&BigInt::from(first), Some(&last));
                assert_eq!(found, expected, "{first} {span}");
            }
        }
        assert!(!picked.is_none());
        // Rare ones are found in the table of one period.
        let rare = multiple(1009, 0).among(&BigInt::from(1), 0).unwrap();
        for first in [1u64, 500, 945, 1008, 1009, 1010] {
            for span in [0u64, 64, 65, 100, 900, 1008] {
                let last = BigInt::from(first + span);
                let expected = (first..=first + span).any(|n| n % 1009 == 0);
                let found = rare.is_any_between(&BigInt::from(first), Some(&last));
                assert_eq!(found, expected, "{first} {span}");
            }
        }
        let both =
            DivisorCondition::all([multiple(4, 0), DivisorCondition::not(multiple(2, 0)).unwrap()])
                .unwrap();
        assert!(both.among(&BigInt::from(1), 0).unwrap().is_none());
        assert!(multiple(4_194_319, 0).among(&BigInt::from(1), 0).is_none());
    }
}
