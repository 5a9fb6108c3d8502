//! Interned names of sets of JSON values (hash consing).
//!
//! A [`Set`] is a small id. Its [`SetExpr`] says which set it is: a schema of the document, a
//! listed value, or a combination of other sets. Equal expressions have equal ids, so sets are
//! compared and memoised by id, and a recursive schema is a finite graph:
//!
//! ```text
//! {"$ref": "#/$defs/tree"} and {"type": "object"}   Schema(1), Schema(2)
//! their intersection                                And([Set(2), Set(3)])
//! ```

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::json_schema::document::ValueId;
use crate::json_schema::document::references::DynamicScope;
use crate::regular::Language;

/// The id of a set of JSON values in a [`SetArena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Set(u32);

impl Set {
    /// Every value.
    pub(crate) const ANY: Self = Self(0);
    /// No value.
    pub(crate) const NEVER: Self = Self(1);

    /// The position of the set in tables that are indexed by sets.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The definition of a set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SetExpr {
    Any,
    Never,
    /// A schema of the document, read in a dynamic scope.
    Schema(ValueId, DynamicScope),
    /// A schema's keywords without its in-place applicators (`allOf`, `$ref`, `if`, …).
    Own(ValueId, DynamicScope),
    /// Values whose strings and names may be written, by the options.
    Writable,
    /// Exactly this value of the document.
    Value(ValueId),
    /// Exactly the value of a canonical text.
    Text(Arc<str>),
    /// Objects with this key.
    Has(Arc<str>),
    /// Non-objects, and objects whose members with these keys are in a set; the id is the keyword
    /// that requires it.
    Members(Language, Set, ValueId),
    /// Non-arrays, and arrays whose items from an index on are in a set; the id is the keyword
    /// that requires it.
    Items(u32, Set, ValueId),
    /// Sorted, without duplicates, at least two.
    And(Box<[Set]>),
    /// Sorted, without duplicates, at least two.
    Or(Box<[Set]>),
    Not(Set),
}

/// All sets named so far.
#[derive(Debug)]
pub(crate) struct SetArena {
    exprs: Vec<SetExpr>,
    ids: FxHashMap<SetExpr, Set>,
}

impl SetArena {
    pub(crate) fn new() -> Self {
        let mut arena = Self { exprs: Vec::new(), ids: FxHashMap::default() };
        let constants = (arena.intern(SetExpr::Any), arena.intern(SetExpr::Never));
        debug_assert_eq!(constants, (Set::ANY, Set::NEVER));
        arena
    }

    /// The id of an expression, which is stored if it is new.
    pub(crate) fn intern(&mut self, expr: SetExpr) -> Set {
        match self.ids.entry(expr) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                let set = Set(self.exprs.len() as u32);
                self.exprs.push(place.key().clone());
                place.insert(set);
                set
            }
        }
    }

    /// The id of an expression, if it is stored.
    pub(crate) fn find(&self, expr: &SetExpr) -> Option<Set> {
        self.ids.get(expr).copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.exprs.len()
    }

    pub(crate) fn expr(&self, set: Set) -> &SetExpr {
        &self.exprs[set.index()]
    }

    /// Whether one of these sorted sets is the complement of another.
    pub(crate) fn has_opposites(&self, sets: &[Set]) -> bool {
        sets.iter().any(|&set| match self.expr(set) {
            SetExpr::Not(inner) => sets.binary_search(inner).is_ok(),
            _ => false,
        })
    }

    /// Whether the expressions alone show that `a` is a subset of `b`; no means perhaps.
    pub(crate) fn is_subset_by_name(&self, a: Set, b: Set) -> bool {
        if a == b || a == Set::NEVER || b == Set::ANY {
            return true;
        }
        let one = [b];
        let needed = match self.expr(b) {
            SetExpr::And(parts) => parts,
            SetExpr::Or(parts) if parts.binary_search(&a).is_ok() => return true,
            _ => &one[..],
        };
        match self.expr(a) {
            SetExpr::And(parts) => needed.iter().all(|part| parts.binary_search(part).is_ok()),
            _ => false,
        }
    }

    /// The place in the document that a set comes from, if there is one.
    pub(crate) fn place(&self, set: Set) -> Option<ValueId> {
        match self.expr(set) {
            SetExpr::Schema(at, _)
            | SetExpr::Own(at, _)
            | SetExpr::Value(at)
            | SetExpr::Members(.., at)
            | SetExpr::Items(.., at) => Some(*at),
            SetExpr::And(parts) | SetExpr::Or(parts) => {
                parts.iter().find_map(|&part| self.place(part))
            }
            SetExpr::Not(inner) => self.place(*inner),
            SetExpr::Any
            | SetExpr::Never
            | SetExpr::Writable
            | SetExpr::Has(_)
            | SetExpr::Text(_) => None,
        }
    }
}
