//! Typed access to the fields of a JSON object, with errors that name field and place.

use std::cell::RefCell;

use rustc_hash::FxHashSet;
use serde_json::{Map, Value};

use super::errors::{config_error, refused, shown};
use crate::error::{Error, Result};

/// Greatest size of anything in a model; the product of two such sizes does not overflow.
pub(super) const MAX_SIZE: usize = 1 << 30;

/// An object of `config.json`: the whole, or one inside it. Remembers which members were asked for.
pub(super) struct ConfigFields<'a> {
    pub(super) object: &'a Map<String, Value>,
    /// JSON pointer of the object.
    at: &'a str,
    /// Names of this family for the usual ones: (usual, own).
    aliases: &'static [(&'static str, &'static str)],
    read: RefCell<FxHashSet<String>>,
}

impl<'a> ConfigFields<'a> {
    /// The members of an object that lies at this JSON pointer.
    pub(super) fn new(object: &'a Map<String, Value>, at: &'a str) -> Self {
        Self { object, at, aliases: &[], read: RefCell::default() }
    }

    /// The same members, some of which have other names than the usual ones: (usual, own).
    pub(super) fn with_aliases(&self, aliases: &'static [(&'static str, &'static str)]) -> Self {
        Self { object: self.object, at: self.at, aliases, read: RefCell::default() }
    }

    /// Takes what was asked of other fields of the same object as asked of these.
    pub(super) fn join(&self, other: &Self) {
        self.read.borrow_mut().extend(other.read.borrow().iter().cloned());
    }

    /// Takes members as asked for: keys that the family's class in the `transformers` library does not
    /// read.
    pub(super) fn ignore(&self, names: &[&str]) {
        self.read.borrow_mut().extend(names.iter().map(|name| (*name).to_owned()));
    }

    /// Reads members that say the same in every file of the family. Errors on one that says something else.
    pub(super) fn must_be<const N: usize>(&self, members: [(&str, Value); N]) -> Result<()> {
        for (name, expected) in members {
            let is_other = |value: &&Value| match (value.as_f64(), expected.as_f64()) {
                (Some(stated), Some(expected)) => stated != expected,
                _ => **value != expected,
            };
            if let Some(value) = self.get(name).filter(is_other) {
                return Err(refused(name, value, "is not supported").at_pointer(self.pointer(name)));
            }
        }
        Ok(())
    }

    /// The own name of a member, unless the file has the usual one.
    fn own<'n>(&self, name: &'n str) -> &'n str {
        let alias = self.aliases.iter().find(|(usual, _)| *usual == name);
        alias.filter(|_| !self.object.contains_key(name)).map_or(name, |(_, own)| own)
    }

    /// Whether a member was asked for.
    pub(super) fn was_read(&self, name: &str) -> bool {
        self.read.borrow().contains(name)
    }

    /// Whether the object has a member of this name, `null` or not.
    pub(super) fn has(&self, name: &str) -> bool {
        self.object.contains_key(self.own(name))
    }

    /// A member; `None` where it is absent or `null`.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        let name = self.own(name);
        self.read.borrow_mut().insert(name.to_owned());
        self.object.get(name).filter(|value| !value.is_null())
    }

    /// A size from 1 up.
    pub(super) fn size(&self, name: &str) -> Result<Option<usize>> {
        self.integer(name, 1)
    }

    /// A size that must be there.
    pub(super) fn required(&self, name: &str, least: usize) -> Result<usize> {
        self.integer(name, least)?.ok_or_else(|| {
            config_error(&format!("`{}` is missing", self.own(name)))
                .at_pointer(self.pointer(name))
                .with_help("a config.json of this model type states it")
        })
    }

    /// A whole number from `least` to [`MAX_SIZE`].
    pub(super) fn integer(&self, name: &str, least: usize) -> Result<Option<usize>> {
        let is_fine = |n: &usize| (least..=MAX_SIZE).contains(n);
        // Some files write whole numbers as `4096.0`.
        let whole = |value: &Value| value.as_f64().filter(|n| n.fract() == 0.0 && *n >= 0.0);
        let read = |value: &Value| {
            let number = value.as_u64().or_else(|| whole(value).map(|n| n as u64));
            number.and_then(|n| usize::try_from(n).ok())
        };
        let wanted = format!("it must be a number from {least} to {MAX_SIZE}");
        self.read(name, &wanted, |value| read(value).filter(is_fine))
    }

    /// A finite number that satisfies a condition.
    pub(super) fn number(
        &self,
        name: &str,
        wanted: &str,
        is_fine: fn(f64) -> bool,
    ) -> Result<Option<f64>> {
        self.read(name, wanted, |value| value.as_f64().filter(|&x| x.is_finite() && is_fine(x)))
    }

    /// A number above 0.
    pub(super) fn positive(&self, name: &str) -> Result<Option<f64>> {
        self.number(name, "it must be a number above 0", |x| x > 0.0)
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>> {
        self.read(name, "it must be true or false", Value::as_bool)
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>> {
        self.read(name, "it must be a string", Value::as_str)
    }

    pub(super) fn list(&self, name: &str) -> Result<Option<&'a Vec<Value>>> {
        self.read(name, "it must be a list", Value::as_array)
    }

    pub(super) fn object(&self, name: &str) -> Result<Option<&'a Map<String, Value>>> {
        self.read(name, "it must be an object", Value::as_object)
    }

    /// One token id or several.
    pub(super) fn token_ids(&self, name: &str) -> Result<Vec<u32>> {
        let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
        let wanted = "it must be a token id from 0 or a list of such ids";
        let ids = self.read(name, wanted, |value| match value {
            Value::Array(list) => list.iter().map(id).collect(),
            one => id(one).map(|id| vec![id]),
        })?;
        Ok(ids.unwrap_or_default())
    }

    fn read<T>(
        &self,
        name: &str,
        wanted: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| self.wrong(name, wanted))
    }

    /// The error for a member of the wrong type or out of range.
    pub(super) fn wrong(&self, name: &str, wanted: &str) -> Error {
        let name = self.own(name);
        let value = self.object.get(name).map_or_else(|| "missing".to_owned(), shown);
        config_error(&format!("`{name}` is {value}"))
            .at_pointer(self.pointer(name))
            .with_help(wanted)
    }

    /// JSON pointer of a member.
    pub(super) fn pointer(&self, name: &str) -> String {
        let name = self.own(name);
        format!("{}/{}", self.at, name.replace('~', "~0").replace('/', "~1"))
    }
}
