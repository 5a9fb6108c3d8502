//! Options of a caller: they are part of the constraint.

use crate::json_schema::choice_lists::ChoiceLists;
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
    /// Separators of one's own; none before or after the whole value. `json.dumps(value, indent=3,
    /// separators=(" ,", ": "))` writes
    ///
    /// ```
    /// use maskwright::json_schema::{Gaps, Whitespace};
    /// let whitespace = Whitespace::Separated {
    ///     gaps: Gaps::Lines("   ".to_owned()),
    ///     item_separator: " ,".to_owned(),
    ///     key_separator: ": ".to_owned(),
    /// };
    /// # let _ = whitespace;
    /// ```
    Separated {
        /// Whitespace around the separators and inside the brackets.
        gaps: Gaps,
        /// Between two members or items: a comma with whitespace around it, or a pattern whose
        /// matches are such (a text without a character that has a meaning in patterns is one).
        item_separator: String,
        /// Between a key and its value: the same with a colon.
        key_separator: String,
    },
}

impl Whitespace {
    /// At most so many blanks and line breaks in each gap.
    #[must_use]
    pub fn at_most(count: u32) -> Self {
        Self::Pattern(format!("[ \\t\\n\\r]{{0,{count}}}"))
    }
}

/// Whitespace around separators of one's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Gaps {
    /// None: the separators bring their own.
    #[default]
    Nothing,
    /// In each gap, and so on both sides of each separator, what the whole of this pattern matches,
    /// as for [`Whitespace::Pattern`].
    Pattern(String),
    /// Each member and item on a line of its own, indented by this text for each level: blanks and
    /// tabs. It may be empty. Nothing stands around the key's separator.
    Lines(String),
}

/// Spellings of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Spelling {
    /// As a model would write them: strings escape only what they must, integers have no
    /// fraction, numbers have an exponent only where `json.dumps` writes one.
    #[default]
    Canonical,
    /// The same, but strings and names of members may escape any character in any way.
    Escapes,
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

/// Members and items that a schema names nothing of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strictness {
    /// Allowed, unless the schema forbids them.
    #[default]
    AsWritten,
    /// Forbidden where a schema names members or lists items and says nothing of others: it is read
    /// as if it had `"additionalProperties": false` (or `"items": false` after `prefixItems`), or,
    /// where other schemas apply to the same value, `"unevaluatedProperties": false` (or
    /// `"unevaluatedItems": false`) beside them. Objects of which a schema names no member stay
    /// open, and so do schemas whose holding is a condition (`not`, `if`, `contains`).
    Closed,
}

/// The number of schemas of a `oneOf` that must hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OneOf {
    /// Exactly one.
    #[default]
    Exactly,
    /// At least one: `oneOf` is read as `anyOf`.
    AtLeast,
}

/// Options for turning a schema into a constraint.
///
/// More than 12 fields: each is an option of its own.
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
    /// Members and items that a schema names nothing of.
    pub strictness: Strictness,
    /// The number of schemas of a `oneOf` that must hold.
    pub one_of: OneOf,
    /// Texts that no string and no name of a member holds, as they are written between their quotes
    /// (escapes count as the characters that they are written with). Values of which a string or
    /// name holds one are not in the schema. None may be empty.
    pub excludes: Vec<String>,
    /// The characters that may follow a backslash in strings and names, of `"\\/bfnrtu`. `None`: all
    /// that the spelling writes. A text that cannot be written without others is not in the schema.
    pub escapes: Option<String>,
    /// Whether `\uXXXX` stands for characters alone that must be escaped and may not be in their short form.
    pub(crate) long_escapes_where_needed: bool,
    /// Whether only objects are written, whatever else the schema accepts: arguments of tools. Styles other than JSON
    /// write no other values anyway.
    pub(crate) objects_only: bool,
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
    /// Lists of texts that `x-choices-from` may name.
    pub choices: ChoiceLists,
    /// Alternatives (of one type) that a schema may combine into.
    pub alternatives: usize,
    /// Steps that it may take to compile a schema, and later to read a text or make a mask that
    /// enters new parts of it. A step is the work on one name, one member or one node of a formula
    /// or pattern: some hundredths of a microsecond to a tenth.
    pub work: usize,
}

impl Options {
    /// Lets the canonical spelling write in the long form (`\u000a`) what it may not write in the short one, where
    /// that is allowed.
    pub(crate) fn spell_without_short_escapes(&mut self) {
        let lacks = |escapes: &String| {
            escapes.contains('u') && "\"\\bfnrt".chars().any(|short| !escapes.contains(short))
        };
        if self.spelling == Spelling::Canonical && self.escapes.as_ref().is_some_and(lacks) {
            (self.spelling, self.long_escapes_where_needed) = (Spelling::Escapes, true);
        }
    }

    /// Whether some texts may not be written.
    pub(crate) fn restricts_texts(&self) -> bool {
        !self.excludes.is_empty() || self.escapes.is_some()
    }
}

/// The document `{"type": "object"}`, as it is supplied to schemas whose objects alone are written.
pub(crate) const OBJECTS_URI: &str = "maskwright:objects";

impl Default for Options {
    fn default() -> Self {
        Self {
            whitespace: Whitespace::Tidy,
            spelling: Spelling::Canonical,
            property_order: PropertyOrder::Schema,
            style: Style::default(),
            strictness: Strictness::AsWritten,
            one_of: OneOf::Exactly,
            excludes: Vec::new(),
            escapes: None,
            long_escapes_where_needed: false,
            objects_only: false,
            digits: DIGITS,
            formats: true,
            draft: None,
            resources: Resources::default(),
            choices: ChoiceLists::default(),
            alternatives: 1024,
            work: WORK,
        }
    }
}
