//! Tags and places of several schemas in one program.

use crate::json_schema::document::ValueId;

/// The numbers of one of several schemas, apart from those of the others.
///
/// Tags are dealt out in turn: with three schemas, the second has the tags 1, 4, 7. Places are
/// values of the schema's document, after those of the schemas before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbering {
    /// The index of this schema.
    schema: u32,
    schemas: u32,
    /// Values in the documents of the schemas before this one.
    first_place: u32,
}

impl Numbering {
    pub(crate) fn new(schema: usize, schemas: usize, first_place: u32) -> Self {
        Self { schema: schema as u32, schemas: schemas as u32, first_place }
    }

    /// The tag of the key choice, or of the captured text, at an index.
    pub(crate) fn tag(self, index: usize) -> u32 {
        index as u32 * self.schemas + self.schema
    }

    /// The index that a tag was made from.
    pub(crate) fn index(self, tag: u32) -> usize {
        (tag / self.schemas) as usize
    }

    /// The schema, of all of them, that a tag is from.
    pub(crate) fn schema_of(self, tag: u32) -> usize {
        (tag % self.schemas) as usize
    }

    /// The number of a value; those of the metaschemas are the same in all documents.
    pub(crate) fn place(self, value: ValueId) -> u32 {
        if value.is_builtin() { value.number() } else { value.number() + self.first_place }
    }

    /// The value that a number was made from.
    pub(crate) fn value(self, place: u32) -> ValueId {
        let value = ValueId::from_number(place);
        if value.is_builtin() { value } else { ValueId::from_number(place - self.first_place) }
    }

    /// Whether a number was made here, or by a schema after this one.
    pub(crate) fn is_at_or_before(self, place: u32) -> bool {
        self.first_place <= place
    }
}
