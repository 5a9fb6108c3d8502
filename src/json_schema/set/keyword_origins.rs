//! Provenance: the keywords that a part of a set comes from, for messages.

use std::hash::{Hash, Hasher};

use smallvec::SmallVec;

use crate::json_schema::document::ValueId;

/// Keywords that a part of a set comes from. All are equal, so that sets are compared by their
/// values alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources(pub(crate) SmallVec<[ValueId; 2]>);

impl Sources {
    /// Keywords that are kept; messages name no more.
    const MAX_KEYWORDS: usize = 8;

    pub(crate) fn add(&mut self, source: ValueId) {
        if self.0.len() < Self::MAX_KEYWORDS && !self.0.contains(&source) {
            self.0.push(source);
        }
    }

    pub(crate) fn merged(&self, other: &Self) -> Self {
        let mut sources = self.clone();
        other.0.iter().for_each(|&source| sources.add(source));
        sources
    }
}

impl PartialEq for Sources {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Sources {}

impl Hash for Sources {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
