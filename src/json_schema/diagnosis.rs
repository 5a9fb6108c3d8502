//! Why a schema has no value: which keywords contradict each other.

use super::set::{Set, Sets};
use crate::error::{Error, ErrorKind};

impl Sets<'_> {
    /// The error for a set without values.
    pub(super) fn unsatisfiable(&self, set: Set) -> Error {
        self.error(ErrorKind::Unsatisfiable, set, "no value satisfies the schema")
    }
}
