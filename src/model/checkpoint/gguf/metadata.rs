//! Values of a GGUF file's metadata by type: a value of another type is an error that names the key.

use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::{GgufMetadata, GgufValue};

/// The metadata of a file.
pub(super) struct Metadata<'a>(pub(super) &'a GgufMetadata<'a>);

impl<'a> Metadata<'a> {
    /// A string.
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>> {
        self.read(key, "a string", text)
    }

    /// A boolean.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>> {
        self.read(key, "a boolean", |value| match value {
            GgufValue::Bool(flag) => Some(flag),
            _ => None,
        })
    }

    /// An integer from 0.
    pub(super) fn size(&self, key: &str) -> Result<Option<usize>> {
        self.read(key, "an integer from 0", |value| match value {
            GgufValue::Integer(number) => usize::try_from(number).ok(),
            _ => None,
        })
    }

    /// The id of a special token: `bos`, `eos`, `unknown`, … Where a SentencePiece tokenizer says nothing, it is
    /// llama.cpp's default.
    pub(super) fn token_id(&self, name: &str) -> Result<Option<usize>> {
        let stated = self.size(&format!("tokenizer.ggml.{name}_token_id"))?;
        if stated.is_some() || self.text("tokenizer.ggml.model")? != Some("llama") {
            return Ok(stated);
        }
        let defaults = [("unknown", 0), ("bos", 1), ("eos", 2)];
        Ok(defaults.iter().find(|(token, _)| *token == name).map(|&(_, id)| id))
    }

    /// An integer from 0 that is the same for all layers: alone, or in an array of equal ones.
    pub(super) fn size_of_layers(&self, key: &str) -> Result<Option<usize>> {
        let wanted = "an integer from 0, the same for all layers";
        self.read(key, wanted, |value| match value {
            GgufValue::Integer(number) => usize::try_from(number).ok(),
            GgufValue::Array(array) => {
                let mut values = array.iter();
                let first = values.next()?;
                match first {
                    GgufValue::Integer(number) if values.all(|other| other == first) => {
                        usize::try_from(number).ok()
                    }
                    _ => None,
                }
            }
            _ => None,
        })
    }

    /// Integers from 0 of the layers: one for all, or one for each.
    pub(super) fn sizes(&self, key: &str) -> Result<Option<Vec<usize>>> {
        let size = |value: GgufValue<'a>| match value {
            GgufValue::Integer(number) => usize::try_from(number).ok(),
            _ => None,
        };
        self.read(key, "integers from 0, one for all layers or one for each", |value| match value {
            GgufValue::Array(array) => {
                let sizes: Option<Vec<usize>> = array.iter().map(size).collect();
                sizes.filter(|sizes| !sizes.is_empty())
            }
            one => size(one).map(|size| vec![size]),
        })
    }

    /// An array of booleans.
    pub(super) fn flags(&self, key: &str) -> Result<Option<Vec<bool>>> {
        self.array(key, "an array of booleans", |value| match value {
            GgufValue::Bool(flag) => Some(flag),
            _ => None,
        })
    }

    /// The length of an array; `None` for other values.
    pub(super) fn array_len(&self, key: &str) -> Option<usize> {
        match self.0.get(key)? {
            GgufValue::Array(array) => Some(array.iter().count()),
            _ => None,
        }
    }

    /// A finite number.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>> {
        self.read(key, "a finite number", number)
    }

    /// An array of strings.
    pub(super) fn texts(&self, key: &str) -> Result<Option<Vec<&'a str>>> {
        self.array(key, "an array of strings in UTF-8", text)
    }

    /// An array of integers.
    pub(super) fn integers(&self, key: &str) -> Result<Option<Vec<i64>>> {
        self.array(key, "an array of integers", |value| match value {
            GgufValue::Integer(number) => Some(number),
            _ => None,
        })
    }

    /// An array of numbers.
    pub(super) fn floats(&self, key: &str) -> Result<Option<Vec<f64>>> {
        self.array(key, "an array of numbers", |value| match value {
            GgufValue::Float(number) => Some(number),
            other => number(other),
        })
    }

    fn array<T>(
        &self,
        key: &str,
        wanted: &str,
        read: impl Fn(GgufValue<'a>) -> Option<T>,
    ) -> Result<Option<Vec<T>>> {
        self.read(key, wanted, |value| match value {
            GgufValue::Array(array) => array.iter().map(&read).collect(),
            _ => None,
        })
    }

    fn read<T>(
        &self,
        key: &str,
        wanted: &str,
        read: impl Fn(GgufValue<'a>) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.0.get(key) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| {
            Error::new(ErrorKind::Model, format!("the metadata `{key}` is not {wanted}"))
                .with_help("get a complete copy of the file, or convert the model again")
        })
    }
}

fn text(value: GgufValue<'_>) -> Option<&str> {
    match value {
        GgufValue::String(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

fn number(value: GgufValue<'_>) -> Option<f64> {
    match value {
        GgufValue::Float(number) if number.is_finite() => {
            let narrow = number as f32;
            Some(if f64::from(narrow) == number { shortest_decimal(narrow) } else { number })
        }
        GgufValue::Integer(number) => Some(number as f64),
        _ => None,
    }
}

/// The shortest decimal that is a number in single precision: what a configuration says, from which the
/// number was rounded.
pub(super) fn shortest_decimal(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}
