//! Limits that a text would come to only in a corner of the schema, found before the first token.

use rustc_hash::FxHashSet;

use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::document::ValueId;
use crate::json_schema::satisfiability::emptiness::MAX_COUNTED_KINDS;
use crate::json_schema::set::{Set, Sets, Shape};

/// Sets that are looked at; further ones wait for a text.
const SETS: usize = 2_000;

impl Sets<'_> {
    /// Errors if an array that the schema leads to counts more kinds of items than can be followed.
    /// What cannot be unfolded is an error of its own, when it is needed.
    pub(crate) fn foresee_counts(&mut self, schema: ValueId) -> Result<()> {
        let root = self.schema(schema)?;
        let (mut seen, mut open) = (FxHashSet::default(), vec![root]);
        while let Some(set) = open.pop() {
            if seen.len() == SETS || !seen.insert(set) {
                continue;
            }
            let Ok(shape) = self.shape(set) else { continue };
            if let Some(error) = self.too_many_counts(set, &shape) {
                return Err(error);
            }
            for array in &shape.arrays {
                open.extend(array.prefix.iter().chain([&array.rest]));
            }
            for object in &shape.objects {
                open.extend(object.named.iter().map(|named| named.set));
                open.extend(object.classes.iter().map(|class| class.set));
            }
        }
        Ok(())
    }

    /// What is wrong with a set whose arrays count too many kinds of items.
    pub(crate) fn too_many_counts(&self, set: Set, shape: &Shape) -> Option<Error> {
        let many = shape.arrays.iter().find(|array| array.some.len() > MAX_COUNTED_KINDS)?;
        let message = format!("more than {MAX_COUNTED_KINDS} kinds of items are counted in one array");
        let error = match many.sources.0.first() {
            Some(&at) => self.document.error(ErrorKind::Limit, at, message),
            None => self.error(ErrorKind::Limit, set, message),
        };
        Some(error.with_help("let fewer `contains` apply to the same array"))
    }
}
