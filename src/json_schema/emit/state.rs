//! The memory of rules: what each of them is made from when a text enters it.

use crate::json_schema::layout::Layout;
use crate::json_schema::set::Set;
use crate::json_schema::set::member_formula::MemberFormula;
use crate::regular::TextSet;

/// The origin of a rule whose body is not made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OpenRule {
    /// The values of a set.
    Set(Set, Layout),
    /// The items of an array that is the whole text, and its closing bracket: an index into
    /// the arrays that are whole texts.
    Items(u32, Layout),
    /// The rest of an array, by its number, in a state.
    Array(u32, ArrayState),
    /// The rest of an object, by its number, in a state.
    Object(u32, ObjectState),
    /// The value of a member in a layout, then the rest of an object in a state.
    Member(u32, Set, Layout, ObjectState),
}

/// The part of an array or object that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Progress {
    /// The opening bracket.
    #[default]
    AfterBracket,
    /// The opening bracket and the gap after it: a member or item must come.
    AfterGap,
    /// Members or items.
    NotEmpty,
}

/// Memory of an object: what decides how it may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ObjectState {
    /// The first of the named members that may still come, in the schema's order.
    pub(crate) at: u32,
    /// The named members that are written, in any order: an index into the interned sets.
    pub(crate) seen: u32,
    /// Members written, up to the count from which all are alike.
    pub(crate) count: u32,
    pub(crate) progress: Progress,
    pub(crate) layout: Layout,
    /// Keys without a name of their own that are written: an index into the interned sets.
    pub(crate) used: u32,
    /// The formula over members that still come.
    pub(crate) formula: MemberFormula,
}

/// Memory of an array: what decides how it may go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ArrayState {
    /// Items written, up to the count from which all are alike.
    pub(crate) at: u32,
    pub(crate) progress: Progress,
    pub(crate) layout: Layout,
    /// The number of items written so far that match each `contains`: an index into the interned
    /// counts.
    pub(crate) counts: u32,
    /// Items written that others must differ from.
    pub(crate) used: TextSet,
    /// Whether two equal items are written.
    pub(crate) repeated: bool,
    /// Whether an item is written whose text is not known, so that it may equal another.
    pub(crate) unknown: bool,
}

/// The meaning of a captured text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Captured {
    /// The key of an object in a state, of one of its classes.
    Key(u32, ObjectState, usize),
    /// One of a key choice, by its tag, in a spelling that is not canonical.
    EscapedKey(u32),
    /// An item of an array in a state, and the counts after it.
    Item(u32, ArrayState, u32),
}
