//! A lower bound on the length of what a rule still takes, by arithmetic on counts.

use super::Emitter;
use super::state::{ObjectState, OpenRule, Progress};
use crate::grammar::RuleId;
use crate::json_schema::layout::Layout;

/// A lower bound on the bytes of so many texts that all differ: one is empty, and of each length
/// there are no more than bytes can tell apart.
fn least_bytes_of_distinct(texts: u32) -> u64 {
    let (mut left, mut bytes, mut length, mut of_length) = (u64::from(texts), 0, 0, 1u64);
    while left > 0 {
        let taken = left.min(of_length);
        bytes += taken * length;
        left -= taken;
        (length, of_length) = (length + 1, of_length * 256);
    }
    bytes
}

impl Emitter<'_> {
    /// A lower bound on the bytes of each text of a rule whose body is not made: what the members
    /// and items that must still come take at least, by arithmetic.
    pub(super) fn least_bytes(&self, rule: RuleId) -> u64 {
        match self.open.get(&rule) {
            Some(&OpenRule::Object(id, state)) => self.least_object_bytes(id, state),
            // A colon, or the quote before it, and a value.
            Some(&OpenRule::Member(id, _, _, next)) => 1 + self.least_object_bytes(id, next),
            Some(&OpenRule::Array(id, state)) => {
                let missing = self.arrays.automata[id as usize].set.min.saturating_sub(state.at);
                // Each item and what stands before the next or after the last.
                1 + 2 * u64::from(missing)
            }
            Some(OpenRule::Set(..) | OpenRule::Items(..)) | None => 1,
        }
    }

    fn least_object_bytes(&self, id: u32, state: ObjectState) -> u64 {
        /// `"":0` and a comma.
        const MIN_MEMBER_BYTES: u64 = 5;
        if let Layout::Styled(_) = state.layout {
            return 1;
        }
        let object = &self.objects.automata[id as usize];
        let required = (state.at..object.members.len() as u32).filter(|&index| {
            object.members[index as usize].required && !self.is_seen(state, index)
        });
        let (mut bytes, mut members) = (1, 0);
        for index in required {
            bytes += MIN_MEMBER_BYTES + object.members[index as usize].spelled.len() as u64;
            members += 1;
        }
        let missing = object.min.saturating_sub(state.count).saturating_sub(members);
        bytes += MIN_MEMBER_BYTES * u64::from(missing) + least_bytes_of_distinct(missing);
        // The first member has no comma before it.
        bytes - u64::from(state.progress != Progress::NotEmpty && bytes > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::least_bytes_of_distinct;

    #[test]
    fn texts_that_differ_are_longer_than_texts_that_need_not() {
        assert_eq!(least_bytes_of_distinct(0), 0);
        assert_eq!(least_bytes_of_distinct(1), 0);
        assert_eq!(least_bytes_of_distinct(257), 256);
        assert_eq!(least_bytes_of_distinct(1_000), 256 + 2 * 743);
        assert!(least_bytes_of_distinct(u32::MAX) > 3 * u64::from(u32::MAX));
    }
}
