//! The fields of a JSON object, each taken once by name; whatever is left is refused by name.

use std::cell::RefCell;

use serde_json::{Map, Value};

use crate::ebnf::most_similar;
use crate::server::api_error::ApiError;

/// Longest piece of a wrong value that an error repeats, in characters.
const MAX_SHOWN_CHARS: usize = 40;

/// The parameter of OpenAI's Python client whose members become fields.
const CLIENT_PARAMETER: &str = "extra_body";

thread_local! {
    /// Names of fields that nobody took, where they are left out instead of refused.
    static IGNORED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

#[cfg(test)]
thread_local! {
    /// Full names of the fields that were taken, and whether more is done with each than to refuse it.
    static TAKEN: RefCell<Vec<(String, bool)>> = const { RefCell::new(Vec::new()) };
}

/// The result of reading, and the full names of the fields that were taken, whether they were sent or not;
/// with each whether its value is honoured or ignored, not only refused.
#[cfg(test)]
pub(crate) fn fields_taken<T>(read: impl FnOnce() -> T) -> (T, Vec<(String, bool)>) {
    TAKEN.take();
    let read = read();
    (read, TAKEN.take())
}

/// Reads with unknown fields left out, if `ignore`; gives their names, too.
pub(crate) fn ignoring_unknown<T>(
    ignore: bool,
    read: impl FnOnce() -> Result<T, ApiError>,
) -> Result<(T, Vec<String>), ApiError> {
    IGNORED.set(ignore.then(Vec::new));
    let read = read();
    let ignored = IGNORED.take().unwrap_or_default();
    read.map(|read| (read, ignored))
}

/// The fields of an object that were not taken yet, with the path of the object.
pub(crate) struct Fields {
    path: String,
    map: Map<String, Value>,
    /// Names that were asked for, whether they were there or not.
    asked: Vec<String>,
}

impl Fields {
    /// The fields of an object at `path` (empty for the whole body).
    pub(crate) fn new(path: impl Into<String>, value: Value) -> Result<Self, ApiError> {
        let path = path.into();
        match value {
            Value::Object(map) => Ok(Self { path, map, asked: Vec::new() }),
            value if path.is_empty() => {
                Err(ApiError::bad(format!("the body must be a JSON object, not {}", show(&value))))
            }
            value => Err(wrong(&path, "an object", &value)),
        }
    }

    /// The full name of a field.
    pub(crate) fn name(&self, field: &str) -> String {
        match self.path.as_str() {
            "" => field.to_owned(),
            path => format!("{path}.{field}"),
        }
    }

    /// Whether a field is there that was not taken yet.
    pub(crate) fn has(&self, field: &str) -> bool {
        self.map.get(field).is_some_and(|value| !value.is_null())
    }

    /// Whether a field that was not taken yet is true.
    pub(crate) fn is_true(&self, field: &str) -> bool {
        self.map.get(field) == Some(&Value::Bool(true))
    }

    /// A field's value; null is absent, as OpenAI's clients write it.
    pub(crate) fn value(&mut self, field: &str) -> Option<Value> {
        self.note(field, true);
        self.map.shift_remove(field).filter(|value| !value.is_null())
    }

    /// Notes that a field was asked for; in tests also whether more is done with it than to refuse it.
    #[cfg_attr(not(test), allow(unused_variables))]
    fn note(&mut self, field: &str, is_honoured: bool) {
        self.asked.push(field.to_owned());
        #[cfg(test)]
        TAKEN.with_borrow_mut(|taken| taken.push((self.name(field), is_honoured)));
    }

    /// A field's value, converted by `read`; `wanted` describes the accepted values in an error.
    pub(crate) fn read<T>(
        &mut self,
        field: &str,
        wanted: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        match self.value(field) {
            None => Ok(None),
            Some(value) => match read(&value) {
                Some(read) => Ok(Some(read)),
                None => Err(wrong(&self.name(field), wanted, &value)),
            },
        }
    }

    /// A number within a range.
    pub(crate) fn number(
        &mut self,
        field: &str,
        range: std::ops::RangeInclusive<f64>,
    ) -> Result<Option<f32>, ApiError> {
        let wanted = if *range.end() < f64::from(f32::MAX) {
            format!("a number from {} to {}", range.start(), range.end())
        } else {
            format!("a number from {} up", range.start())
        };
        let read = |value: &Value| value.as_f64().filter(|number| range.contains(number));
        Ok(self.read(field, &wanted, read)?.map(|number| number as f32))
    }

    /// An integer from `least` up.
    pub(crate) fn integer(&mut self, field: &str, least: u64) -> Result<Option<usize>, ApiError> {
        let read = |value: &Value| {
            let integer = value.as_u64().filter(|&integer| integer >= least)?;
            usize::try_from(integer).ok()
        };
        self.read(field, &format!("an integer from {least} up"), read)
    }

    /// A truth value.
    pub(crate) fn flag(&mut self, field: &str) -> Result<Option<bool>, ApiError> {
        self.read(field, "true or false", Value::as_bool)
    }

    /// A string.
    pub(crate) fn string(&mut self, field: &str) -> Result<Option<String>, ApiError> {
        self.read(field, "a string", |value| value.as_str().map(str::to_owned))
    }

    /// A list of token ids.
    pub(crate) fn token_ids(&mut self, field: &str) -> Result<Option<Vec<u32>>, ApiError> {
        self.read(field, "a list of token ids", |value| {
            let list = value.as_array()?;
            list.iter().map(|item| u32::try_from(item.as_u64()?).ok()).collect()
        })
    }

    /// A set of token ids, ascending.
    pub(crate) fn token_id_set(&mut self, field: &str) -> Result<Option<Vec<u32>>, ApiError> {
        let mut ids = self.token_ids(field)?;
        if let Some(ids) = &mut ids {
            ids.sort_unstable();
            ids.dedup();
        }
        Ok(ids)
    }

    /// Drops a field that cannot change the answer, whatever its value.
    pub(crate) fn ignore(&mut self, field: &str) {
        self.note(field, true);
        self.map.shift_remove(field);
    }

    /// Refuses a field of the API that this server does not honour, unless its value is `harmless`.
    pub(crate) fn only(
        &mut self,
        field: &str,
        harmless: impl FnOnce(&Value) -> bool,
        cure: &str,
    ) -> Result<(), ApiError> {
        self.note(field, false);
        let value = self.map.shift_remove(field).filter(|value| !value.is_null());
        match value {
            Some(value) if !harmless(&value) => {
                Err(ApiError::field(self.name(field), format!("is not supported; {cure}")))
            }
            _ => Ok(()),
        }
    }

    /// Everything that was not taken.
    pub(crate) fn into_rest(self) -> Map<String, Value> {
        self.map
    }

    /// Refuses the first field that was not taken, unless they are [left out](ignoring_unknown). Null counts as absent, as clients write it that
    /// serialise whole structs.
    pub(crate) fn finish(self) -> Result<(), ApiError> {
        let mut unknown = self.map.iter().filter(|(_, value)| !value.is_null());
        let Some((field, _)) = unknown.next() else { return Ok(()) };
        let names = || {
            let fields = unknown.map(|(field, _)| field);
            std::iter::once(field).chain(fields).map(|field| self.name(field))
        };
        let is_ignored = IGNORED.with_borrow_mut(|ignored| match ignored {
            Some(ignored) => {
                ignored.extend(names());
                true
            }
            None => false,
        });
        if is_ignored {
            Ok(())
        } else {
            let meant = most_similar(field, self.asked.iter().map(String::as_str));
            let cure = match meant {
                _ if field == CLIENT_PARAMETER => {
                    "; OpenAI's Python client sends its members beside the other fields".into()
                }
                Some(meant) => format!("; `{meant}` is"),
                None => String::new(),
            };
            let message = format!("is not a field that is supported here{cure}");
            Err(ApiError::field(self.name(field), message))
        }
    }

    /// Refuses fields that were written inside a parameter of a client instead of beside the others.
    pub(crate) fn refuse_client_parameter(&self) -> Result<(), ApiError> {
        match self.map.get_key_value(CLIENT_PARAMETER) {
            None => Ok(()),
            Some((name, value)) => {
                let map = Map::from_iter([(name.clone(), value.clone())]);
                Self { path: self.path.clone(), map, asked: Vec::new() }.finish()
            }
        }
    }
}

/// A field whose value cannot be read.
pub(crate) fn wrong(name: &str, wanted: &str, value: &Value) -> ApiError {
    ApiError::field(name, format!("must be {wanted}, not {}", show(value)))
}

fn show(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
