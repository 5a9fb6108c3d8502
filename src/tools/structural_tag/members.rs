//! Objects of a structural tag, each with its JSON pointer for errors.

use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::grammar::SpecialToken;

/// The members of an object.
pub(super) struct Members<'a> {
    members: &'a Map<String, Value>,
    /// The object's JSON pointer.
    pub(super) at: String,
}

impl<'a> Members<'a> {
    /// Errors if the value is no object.
    pub(super) fn new(value: &'a Value, at: &str) -> Result<Self> {
        let members =
            value.as_object().ok_or_else(|| bad(at, "a structural tag is made of JSON objects"))?;
        Ok(Self { members, at: at.to_owned() })
    }

    /// The JSON pointer of a member.
    pub(super) fn at(&self, key: &str) -> String {
        format!("{}/{key}", self.at)
    }

    /// An error at a member.
    pub(super) fn bad(&self, key: &str, message: impl Into<String>) -> Error {
        bad(self.at(key), message)
    }

    /// Errors if there is a member of another name.
    pub(super) fn only(&self, known: &[&str]) -> Result<()> {
        match self.members.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(self
                .bad(key, format!("`{key}` is not supported here"))
                .with_help(format!("known are {}", known.join(", ")))),
        }
    }

    /// A member that may be missing or null.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.members.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn member(&self, key: &str) -> Result<&'a Value> {
        self.members.get(key).ok_or_else(|| bad(self.at.as_str(), format!("`{key}` is missing")))
    }

    pub(super) fn text(&self, key: &str) -> Result<&'a str> {
        self.member(key)?.as_str().ok_or_else(|| self.bad(key, format!("`{key}` is a text")))
    }

    /// A text that is not empty.
    pub(super) fn full_text(&self, key: &str) -> Result<&'a str> {
        match self.text(key)? {
            "" => Err(self.bad(key, format!("`{key}` is empty"))),
            text => Ok(text),
        }
    }

    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool> {
        let wrong = || self.bad(key, format!("`{key}` is true or false"));
        self.get(key).map_or(Some(default), Value::as_bool).ok_or_else(wrong)
    }

    /// A number of tokens, characters or times; `None` where it is missing or null.
    pub(super) fn count(&self, key: &str) -> Result<Option<u32>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let count = value.as_u64().filter(|&count| count <= i32::MAX as u64);
        let wrong = || {
            let message = format!("`{key}` is an integer from 0 to {}", i32::MAX);
            self.bad(key, message)
        };
        count.map(|count| Some(count as u32)).ok_or_else(wrong)
    }

    /// The items of a list, each with its JSON pointer.
    pub(super) fn list(&self, key: &str) -> Result<Vec<(String, &'a Value)>> {
        items(self.member(key)?, &self.at(key), key)
    }

    /// The items of a list that is not empty.
    pub(super) fn full_list(&self, key: &str) -> Result<Vec<(String, &'a Value)>> {
        match self.list(key)? {
            list if list.is_empty() => Err(self.bad(key, format!("`{key}` is empty"))),
            list => Ok(list),
        }
    }

    /// Texts, none of them empty; none where the member is missing.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>> {
        let Some(list) = self.get(key) else { return Ok(Vec::new()) };
        let text = |(at, item): (String, &Value)| match item.as_str() {
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            _ => Err(bad(at, "this is a text, and not an empty one")),
        };
        items(list, &self.at(key), key)?.into_iter().map(text).collect()
    }

    /// Tokens by their ids or texts; none where the member is missing.
    pub(super) fn tokens(&self, key: &str) -> Result<Vec<NamedToken>> {
        let Some(list) = self.get(key) else { return Ok(Vec::new()) };
        items(list, &self.at(key), key)?.into_iter().map(|(at, item)| token(item, at)).collect()
    }
}

/// A token as a structural tag names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedToken {
    pub(super) token: SpecialToken,
    /// Its JSON pointer.
    pub(super) at: String,
}

/// A token by its id or its text.
pub(super) fn token(value: &Value, at: String) -> Result<NamedToken> {
    let token = match value {
        Value::String(name) => Some(SpecialToken::Name(name.clone())),
        _ => value.as_u64().and_then(|id| u32::try_from(id).ok()).map(SpecialToken::Id),
    };
    match token {
        Some(token) => Ok(NamedToken { token, at }),
        None => Err(bad(at, "a token is given by its id or its text")),
    }
}

/// The items of a list, each with its JSON pointer.
pub(super) fn items<'a>(value: &'a Value, at: &str, key: &str) -> Result<Vec<(String, &'a Value)>> {
    let list = value.as_array().ok_or_else(|| bad(at, format!("`{key}` is a list")))?;
    Ok(list.iter().enumerate().map(|(i, item)| (format!("{at}/{i}"), item)).collect())
}

/// An error at a JSON pointer.
pub(super) fn bad(at: impl Into<String>, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Request, message.into()).at_pointer(at.into())
}
