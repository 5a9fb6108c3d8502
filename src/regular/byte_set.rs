//! A set of bytes as 256 bits.

use std::fmt;

/// A set of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    /// The bits, by byte.
    pub(crate) fn bits(&self) -> [u64; 4] {
        self.0
    }

    /// The set of these bits.
    pub(crate) fn from_bits(bits: [u64; 4]) -> Self {
        Self(bits)
    }

    /// No byte.
    pub const EMPTY: Self = Self([0; 4]);
    /// Every byte.
    pub const ALL: Self = Self([u64::MAX; 4]);

    /// One byte.
    pub fn single(byte: u8) -> Self {
        let mut this = Self::EMPTY;
        this.insert(byte);
        this
    }

    /// The bytes from `first` to `last`, both included; empty if `first > last`.
    pub fn range(first: u8, last: u8) -> Self {
        if first > last {
            return Self::EMPTY;
        }
        // Of each word the bits from `first` on, without those beyond `last`.
        let word = |i: usize| {
            let (low, high) = (64 * i, 64 * i + 63);
            let (from, to) = (usize::from(first).max(low), usize::from(last).min(high));
            if from > to { 0 } else { u64::MAX << (from - low) & u64::MAX >> (high - to) }
        };
        Self(std::array::from_fn(word))
    }

    /// The bytes at which a run of members or of others begins, 0 aside: those in the set while the byte
    /// before is not, and the other way round.
    pub(crate) fn run_starts(&self) -> Self {
        let mut before = [0; 4];
        let mut carry = self.0[0] & 1;
        for (to, from) in before.iter_mut().zip(self.0) {
            *to = from << 1 | carry;
            carry = from >> 63;
        }
        Self(std::array::from_fn(|i| self.0[i] ^ before[i]))
    }

    /// Adds a byte.
    pub fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    /// Takes a byte out.
    pub fn remove(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] &= !(1 << (byte & 63));
    }

    /// Whether a byte is in the set.
    pub fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    /// Whether the set has no byte.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// The number of bytes in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Bytes in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    /// Bytes in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }

    /// Bytes not in the set.
    #[must_use]
    pub fn complement(&self) -> Self {
        Self(self.0.map(|w| !w))
    }

    /// The least byte.
    pub(crate) fn first(&self) -> Option<u8> {
        let word = self.0.iter().position(|&bits| bits != 0)?;
        Some((64 * word as u32 + self.0[word].trailing_zeros()) as u8)
    }

    /// The bytes, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u8> + '_ {
        (0..4u8).flat_map(|word| {
            let mut bits = self.0[usize::from(word)];
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as u8)?;
                bits &= bits - 1;
                Some(word << 6 | bit)
            })
        })
    }
}

impl FromIterator<u8> for ByteSet {
    fn from_iter<I: IntoIterator<Item = u8>>(bytes: I) -> Self {
        let mut set = Self::EMPTY;
        bytes.into_iter().for_each(|b| set.insert(b));
        set
    }
}

impl fmt::Debug for ByteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        let mut bytes = self.iter().peekable();
        while let Some(first) = bytes.next() {
            let mut last = first;
            while let Some(next) = bytes.next_if(|&b| b - 1 == last && are_of_one_range(last, b)) {
                last = next;
            }
            f.write_str(&shown(first))?;
            if last > first {
                let dash = if last > first + 1 { "-" } else { "" };
                write!(f, "{dash}{}", shown(last))?;
            }
        }
        f.write_str("]")
    }
}

/// Whether a reader knows what lies between two bytes: digits, letters of one case, what is not printed.
fn are_of_one_range(a: u8, b: u8) -> bool {
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        b'a'..=b'z' => 2,
        b'!'..=b'~' => 3,
        _ => 4,
    };
    kind(a) == kind(b) && kind(a) != 3
}

/// A byte as it stands in a class of a pattern; the space is escaped to be visible.
fn shown(byte: u8) -> String {
    match byte {
        b'[' | b']' | b'^' | b'-' => format!("\\{}", char::from(byte)),
        b'"' | b'\'' => char::from(byte).to_string(),
        b' ' => "\\x20".to_owned(),
        _ => std::ascii::escape_default(byte).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_algebra() {
        let digits = ByteSet::range(b'0', b'9');
        assert_eq!(digits.len(), 10);
        assert!(digits.contains(b'5') && !digits.contains(b'a'));
        assert_eq!(digits.union(&digits.complement()), ByteSet::ALL);
        assert!(digits.intersection(&digits.complement()).is_empty());
        assert!(ByteSet::range(9, 8).is_empty());
        assert_eq!(format!("{digits:?}"), "[0-9]");
        let others: ByteSet = b" \"-[]\\^\n".iter().copied().collect();
        assert_eq!(format!("{others:?}"), r#"[\n\x20"\-\[\\\]\^]"#);
        assert_eq!(ByteSet::ALL.iter().count(), 256);
    }

    #[test]
    fn runs_start_where_membership_changes() {
        for set in [
            ByteSet::EMPTY,
            ByteSet::ALL,
            ByteSet::range(64, 127),
            [0, 1, 63, 64, 200, 255].into_iter().collect(),
        ] {
            let plain = (1..=255u8).filter(|&b| set.contains(b) != set.contains(b - 1));
            assert_eq!(set.run_starts(), plain.collect());
            let all = (0..=255u8).filter(|&b| set.contains(b));
            assert!(set.iter().eq(all));
        }
    }
}
