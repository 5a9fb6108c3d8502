//! Characters of group names in ECMA-262 patterns (section 12.7, `IdentifierName`).

use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

/// `IdentifierStartChar`: the first character of a name.
pub(crate) static START: LazyLock<ClassUnicode> = LazyLock::new(|| class("[\\p{ID_Start}$_]"));

/// `IdentifierPartChar`: a later character of a name.
pub(crate) static PART: LazyLock<ClassUnicode> =
    LazyLock::new(|| class("[\\p{ID_Continue}$\\u{200C}\\u{200D}]"));

fn class(class: &str) -> ClassUnicode {
    match regex_syntax::parse(class).map(Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        // Its tables are a default feature.
        _ => ClassUnicode::empty(),
    }
}

/// Whether a code point may stand in a group's name, as its first character or a later one.
pub(crate) fn is_group_name_char(c: u32, first: bool) -> bool {
    has_any_of(if first { &START } else { &PART }, c, c)
}

/// Whether a set holds any code point from `first` to `last`.
pub(crate) fn has_any_of(class: &ClassUnicode, first: u32, last: u32) -> bool {
    let ranges = class.ranges();
    let at = ranges.partition_point(|range| u32::from(range.end()) < first);
    ranges.get(at).is_some_and(|range| u32::from(range.start()) <= last)
}
