//! HEAD

use std::sync::Arc;

use super::arena::Set;
use crate::regular::Language;

/// A key that has a set of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NamedKey {
    pub(crate) key: Arc<str>,
    pub(crate) set: Set,
    pub(crate) required: bool,
}

/// Other keys that share a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KeyClass {
    /// The keys, in canonical spelling without quotes; named ones may be among them, and do not
    /// count.
    pub(crate) keys: Language,
    pub(crate) set: Set,
}

/// The key of a member that is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MemberKey<'a> {
    /// A key with a name, and its spelling.
    Named(&'a str, &'a [u8]),
    /// Any of some keys without a name: the sets of keys in conditions that hold them.
    Other(&'a [Language]),
}

/// Keys without a name that no condition tells apart.
#[derive(Clone, Debug)]
pub(crate) struct UnnamedKeys {
    pub(crate) keys: Language,
    pub(crate) set: Set,
    /// The sets of keys in conditions that hold them all; others hold none of them.
    pub(crate) inside: Arc<[Language]>,
}
