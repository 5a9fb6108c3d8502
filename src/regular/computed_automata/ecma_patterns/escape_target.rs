//! Values that an escape may have, by the place that it is written at.

use super::state::EscapeTarget;
use crate::regular::syntax::identifiers::{PART, START, has_any_of};

impl EscapeTarget {
    /// Whether the value of an escape may be one from `first` to `last`.
    pub(crate) fn allows(&self, first: u32, last: u32) -> bool {
        first <= last
            && match self {
                Self::Term | Self::ClassMember => true,
                &Self::RangeEnd(least) => last >= least,
                Self::GroupName { read, .. } => {
                    has_any_of(if read.is_empty() { &START } else { &PART }, first, last)
                }
            }
    }

    /// The least value from `first` to `last` that is allowed.
    pub(crate) fn least(&self, first: u32, last: u32) -> Option<u32> {
        if !self.allows(first, last) {
            return None;
        }
        Some(match self {
            Self::Term | Self::ClassMember => first,
            &Self::RangeEnd(least) => first.max(least),
            Self::GroupName { read, .. } => {
                let ranges = if read.is_empty() { START.ranges() } else { PART.ranges() };
                let at = ranges.partition_point(|range| u32::from(range.end()) < first);
                first.max(ranges[at].start().into())
            }
        })
    }

    /// The number of hexadecimal digits that complete a value to an allowed code point; `None` if
    /// none do.
    pub(crate) fn digits(&self, value: u32) -> Option<u32> {
        let most = u32::from(char::MAX);
        // A code point has six digits at most.
        (0..=6).take_while(|digits| value << (4 * digits) <= most).find(|digits| {
            let (first, last) = (value << (4 * digits), ((value + 1) << (4 * digits)) - 1);
            self.allows(first, last.min(most))
        })
    }
}

/// Of a range of UTF-16 units, the low surrogates and the high surrogates.
pub(crate) fn surrogate_halves(first: u32, last: u32) -> ((u32, u32), (u32, u32)) {
    ((first.max(0xDC00), last.min(0xDFFF)), (first.max(0xD800), last.min(0xDBFF)))
}

/// The code point of a surrogate pair.
pub(crate) fn surrogate_pair(high: u32, low: u32) -> u32 {
    0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)
}
