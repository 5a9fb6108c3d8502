//! Sets of JSON values: interned names, their shapes, and the context that unfolds one to the
//! other.
//!
//! A [`Set`] is a name: a schema of the document, a listed value, or and, or, not of names. Names
//! are compared, never bodies, so the intersection of two recursive schemas is the name of their
//! product. A name unfolds, once and on demand ([`Sets::shape`]), to its [`Shape`]: what it holds
//! of each JSON type, where the children of arrays and objects are names again.

pub(crate) mod arena;
pub(crate) mod array_set;
pub(crate) mod base;
pub(crate) mod budget;
pub(crate) mod context;
pub(crate) mod keys;
pub(crate) mod keyword_origins;
pub(crate) mod keyword_reader;
pub(crate) mod member_formula;
pub(crate) mod membership;
pub(crate) mod memo;
pub(crate) mod object_set;
pub(crate) mod shape;
pub(crate) mod shared;
pub(crate) mod written_items;

pub(crate) use arena::{Set, SetExpr};
pub(crate) use base::BaseLanguages;
pub(crate) use context::Sets;
pub(crate) use keyword_origins::KeywordOrigins;
pub(crate) use shape::Shape;
pub(crate) use shared::Shared;
