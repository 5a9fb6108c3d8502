//! Options of a caller: they are part of the constraint.

use crate::json_schema::document::draft::Draft;
use crate::json_schema::document::resources::Resources;
use crate::json_schema::style::Style;

/// Most digits of a number before and after the point, unless the caller says otherwise.
pub(crate) const DIGITS: u32 = 20;

/// Steps that one task may take, unless the caller says otherwise: a second or two.
const WORK: usize = 60_000_000;

/// Whitespace that a value may have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Whitespace {
    /// Any one of the five styles below, from the beginning of a text to its end: the first gap in
    /// which they differ chooses.
    #[default]
    Tidy,
    /// One line, with a blank after each comma and colon: `{"a": [1, 2]}`.
    Plain,
    /// None at all: `{"a":[1,2]}`.
    Compact,
    /// Each member and item on a line of its own, indented by two blanks for each level.
    Indent2,
    /// The same with four blanks.
    Indent4,
    /// The same with a tab.
    IndentTab,
    /// In each gap at most one line break, and at most 64 blanks on each line; none before or after
    /// the whole value. Holds every style above and mixtures of them, and lets a model write long
    /// runs of blanks.
    Flexible,
    /// All that JSON allows, also before and after the whole value.
    Any,
    /// In each gap what the whole of this pattern matches (in the syntax of Rust's `regex` crate,
    /// of JSON's blanks and line breaks alone); none before or after the whole value.
    Pattern(String),
}

/// Spellings of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Spelling {
    /// As a model would write them: strings escape only what they must, integers have no
    /// fraction, numbers have an exponent only where `json.dumps` writes one.
    #[default]
    Canonical,
    /// Every way that JSON has to write a value: escapes of all kinds, `1.0` and `10e-1` for 1.
    Any,
}

/// The order of the members of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PropertyOrder {
    /// Those of `properties` first, in the order of the schema, then others that are required,
    /// then the rest.
    #[default]
    Schema,
    /// Any order.
    Any,
}

/// Options for turning a schema into a constraint.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Whitespace that a value may have.
    pub whitespace: Whitespace,
    /// Spellings of a value.
    pub spelling: Spelling,
    /// The order of members.
    pub property_order: PropertyOrder,
    /// The notation of values: JSON, or that in which a model family writes the arguments of a tool.
    pub style: Style,
    /// Digits that a number may have on each side of its point. The default, 20, holds every
    /// 64-bit integer and every double as `json.dumps` writes them. Values that the schema lists
    /// (`const`, `enum`) are not bound by it.
    pub digits: u32,
    /// Whether the formats of draft 2020-12 are enforced. If not, they are annotations.
    pub formats: bool,
    /// The draft of schemas that name none in `$schema`. `None`: 2020-12, and keywords of older
    /// drafts that it does not define keep their old meaning. A `$schema` that is neither one of
    /// the five drafts nor a metaschema that is supplied names none: it is no error, and
    /// [`lint`](crate::json_schema::Schema::lint) says so.
    pub draft: Option<Draft>,
    /// Documents that references may lead to.
    pub resources: Resources,
    /// Alternatives (of one type) that a schema may combine into.
    pub alternatives: usize,
    /// Steps that it may take to compile a schema, and later to read a text or make a mask that
    /// enters new parts of it. A step is the work on one name, one member or one node of a formula
    /// or pattern: some hundredths of a microsecond to a tenth.
    pub work: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            whitespace: Whitespace::Tidy,
            spelling: Spelling::Canonical,
            property_order: PropertyOrder::Schema,
            style: Style::default(),
            digits: DIGITS,
            formats: true,
            draft: None,
            resources: Resources::default(),
            alternatives: 1024,
            work: WORK,
        }
    }
}
