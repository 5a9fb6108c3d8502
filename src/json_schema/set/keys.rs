//! Keys of object sets: named ones, and classes of others.

use std::sync::Arc;

use super::arena::Set;
use crate::regular::Language;

/// A key with a set of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NamedKey {
    pub(crate) key: Arc<str>,
    pub(crate) set: Set,
    pub(crate) required: bool,
}

/// Keys that share a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KeyClass {
    /// The keys, in canonical spelling without quotes. A named key may be among them; its own set
    /// counts.
    pub(crate) keys: Language,
    pub(crate) set: Set,
}

/// The key of a member, as a formula sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MemberKey<'a> {
    /// A named key, and its spelling.
    Named(&'a str, &'a [u8]),
    /// Any key of an [`UnnamedKeys`], by the languages of keys that hold it.
    Other(&'a [Language]),
}

/// Keys without a name that no statement of a formula distinguishes.
#[derive(Clone, Debug)]
pub(crate) struct UnnamedKeys {
    pub(crate) keys: Language,
    pub(crate) set: Set,
    /// The languages of keys, among those in statements, that hold all of these keys; the others
    /// hold none.
    pub(crate) inside: Arc<[Language]>,
}
