//! Provenance: the keywords that a part of a set comes from, for messages.

use std::hash::{Hash, Hasher};

use smallvec::SmallVec;

use crate::json_schema::document::ValueId;

/// The keywords that a part of a set comes from. All are equal, so that sets are compared by their
/// values alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeywordOrigins(pub(crate) SmallVec<[ValueId; 2]>);

impl KeywordOrigins {
    /// Keywords that are kept; messages name no more.
    const MAX_KEYWORDS: usize = 8;

    pub(crate) fn add(&mut self, keyword: ValueId) {
        if self.0.len() < Self::MAX_KEYWORDS && !self.0.contains(&keyword) {
            self.0.push(keyword);
        }
    }

    pub(crate) fn merged(&self, other: &Self) -> Self {
        let mut origins = self.clone();
        other.0.iter().for_each(|&keyword| origins.add(keyword));
        origins
    }
}

impl PartialEq for KeywordOrigins {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for KeywordOrigins {}

impl Hash for KeywordOrigins {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
