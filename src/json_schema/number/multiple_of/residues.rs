//! Which multiples of a number are meant: those of one divisor and not of another.
//!
//! `multipleOf` under and, or and not speaks of remainders. Among the multiples of one number, what
//! is said of other divisors repeats itself with a period, so a table of one period answers whether
//! there is a number between any two.

use std::sync::{Arc, OnceLock};

use num_bigint::BigInt;

use super::arithmetic::{gcd, lcm, ten};

/// The longest period that is looked at; a table of it takes half a megabyte.
const PERIOD: u64 = 1 << 22;

/// Divisors that one condition may name.
const DIVISORS: usize = 64;

/// Numbers that are asked one by one before the period is.
const FEW: u64 = 64;

/// A condition on a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Pick {
    /// It is a multiple of `step` times ten to the power of minus `places`.
    Multiple {
        step: BigInt,
        places: u32,
    },
    All(Box<[Arc<Pick>]>),
    Any(Box<[Arc<Pick>]>),
    Not(Arc<Pick>),
}

impl Pick {
    /// All conditions at once. `None` if that says too much, or nothing.
    pub(crate) fn all(parts: impl IntoIterator<Item = Arc<Self>>) -> Option<Arc<Self>> {
        Self::together(parts, Self::All)
    }

    /// Any of them.
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
            _ => Some(make(kept.into())).filter(|new| new.divisors() <= DIVISORS).map(Arc::new),
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

    /// After how many multiples of `step` times ten to the power of minus `places` the answers come
    /// again. `None` if that takes too long.
    pub(crate) fn period(&self, step: &BigInt, places: u32) -> Option<u64> {
        let all = self.places().max(places);
        self.test(&(step * ten(all - places)), all)?.period()
    }

    /// The same question, of which multiple of `step` it is: both are times ten to the power of
    /// minus `places`, which is no less than the divisors have.
    fn test(&self, step: &BigInt, places: u32) -> Option<Test> {
        let all = |parts: &[Arc<Self>]| {
            parts.iter().map(|part| part.test(step, places)).collect::<Option<Box<[_]>>>()
        };
        Some(match self {
            Self::Multiple { step: divisor, places: own } => {
                let divisor = divisor * ten(places - own);
                let every = &divisor / gcd(&divisor, step);
                Test::Every(u64::try_from(every).ok().filter(|&every| every <= PERIOD)?)
            }
            Self::All(parts) => Test::All(all(parts)?),
            Self::Any(parts) => Test::Any(all(parts)?),
            Self::Not(part) => Test::Not(Box::new(part.test(step, places)?)),
        })
    }

    /// The multiples of `step` that are meant.
    pub(crate) fn among(&self, step: &BigInt, places: u32) -> Option<Picked> {
        let test = self.test(step, places)?;
        Some(Picked { period: test.period()?, test, table: OnceLock::new() })
    }
}

/// A condition on a natural number.
#[derive(Debug)]
enum Test {
    Every(u64),
    All(Box<[Test]>),
    Any(Box<[Test]>),
    Not(Box<Test>),
}

impl Test {
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
                u64::try_from(both).ok().filter(|&both| both <= PERIOD)
            }),
            Self::Not(part) => part.period(),
        }
    }
}

impl Test {
    /// Of which numbers below `most` it holds, as bits. O(`most`) divided by the least divisor.
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

/// Natural numbers that a condition picks.
#[derive(Debug)]
pub(crate) struct Picked {
    test: Test,
    period: u64,
    /// One period, as bits; made when it is needed.
    table: OnceLock<Box<[u64]>>,
}

impl Picked {
    /// The answers come again after so many numbers.
    pub(crate) fn period(&self) -> u64 {
        self.period
    }

    /// Is no number picked?
    pub(crate) fn is_none(&self) -> bool {
        !self.is_any_between(&BigInt::ZERO, None)
    }

    /// Is a number from `first` to `last` picked? `None`: there is no last one.
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
            if (0..=span.min(FEW)).any(|n| self.test.holds((from + n) % self.period)) {
                return true;
            }
            if span <= FEW {
                return false;
            }
        }
        let end = from + span;
        self.holds_within(from, end.min(most)) || end > most && self.holds_within(0, end - most - 1)
    }

    /// The same within one period, both ends included.
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

    fn multiple(step: u32, places: u32) -> Arc<Pick> {
        Arc::new(Pick::Multiple { step: step.into(), places })
    }

    #[test]
    fn what_is_picked_is_what_arithmetic_says() {
        // Multiples of 0.5: of 3 or 4.5, not of 6.5.
        let some = Pick::any([multiple(3, 0), multiple(45, 1)]).unwrap();
        let not = Pick::not(multiple(65, 1)).unwrap();
        let pick = Pick::all([some, not]).unwrap();
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
        let both = Pick::all([multiple(4, 0), Pick::not(multiple(2, 0)).unwrap()]).unwrap();
        assert!(both.among(&BigInt::from(1), 0).unwrap().is_none());
        assert!(multiple(4_194_319, 0).among(&BigInt::from(1), 0).is_none());
    }
}
