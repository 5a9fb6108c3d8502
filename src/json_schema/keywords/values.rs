//! Typed access to the values of keywords, with the errors for values of another type.

use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::document::{Members, Value, ValueId, hints};
use crate::json_schema::number::Decimal;
use crate::json_schema::set::keyword_reader::KeywordReader;
use crate::json_schema::set::membership::exact_number;
use crate::json_schema::set::{Set, Sets};

/// The types that a schema allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Types {
    pub(crate) null: bool,
    pub(crate) boolean: bool,
    pub(crate) integer: bool,
    pub(crate) number: bool,
    pub(crate) string: bool,
    pub(crate) array: bool,
    pub(crate) object: bool,
}

impl Types {
    pub(crate) const fn every(value: bool) -> Self {
        Self {
            null: value,
            boolean: value,
            integer: value,
            number: value,
            string: value,
            array: value,
            object: value,
        }
    }

    fn add(&mut self, name: &str) -> bool {
        match name {
            "null" => self.null = true,
            "boolean" => self.boolean = true,
            "integer" => self.integer = true,
            "number" => self.number = true,
            "string" => self.string = true,
            "array" => self.array = true,
            "object" => self.object = true,
            _ => return false,
        }
        true
    }
}

/// The schemas of an array of schemas, which must not be empty.
pub(crate) fn schema_list(sets: &mut Sets<'_>, at: ValueId, keyword: &str) -> Result<Vec<Set>> {
    match sets.document.value(at) {
        Value::Array(items) if !items.is_empty() => {
            items.iter().map(|&item| sets.schema(item)).collect()
        }
        _ => Err(sets.malformed(at, format!("`{keyword}` must be a non-empty array"))),
    }
}

/// The types that `type` allows (Validation, section 6.1.1).
pub(crate) fn types_of(sets: &Sets<'_>, reader: &KeywordReader<'_>) -> Result<Types> {
    let Some(at) = reader.get("type") else { return Ok(Types::every(true)) };
    let mut types = Types::every(false);
    let one = [at];
    let names = match sets.document.value(at) {
        Value::Array(names) => &names[..],
        _ => &one,
    };
    for &name in names {
        let known = sets.document.string(name).is_some_and(|name| types.add(name));
        if !known {
            return Err(unknown_type(sets, name));
        }
    }
    Ok(types)
}

/// The error for a name that is no type.
pub(crate) fn unknown_type(sets: &Sets<'_>, at: ValueId) -> Error {
    let types = hints::TYPES.map(|name| format!("`{name}`")).join(", ");
    sets.malformed(at, format!("`type` must be one or several of {types}"))
}

/// The number that a keyword holds.
pub(crate) fn number_at(sets: &Sets<'_>, at: ValueId, keyword: &str) -> Result<Decimal> {
    match sets.document.value(at) {
        Value::Number(literal) => exact_number(sets, at, literal),
        _ => Err(sets.malformed(at, format!("`{keyword}` must be a number"))),
    }
}

/// The count that a keyword holds, if it is there.
pub(crate) fn count_of(
    sets: &Sets<'_>,
    reader: &KeywordReader<'_>,
    keyword: &str,
) -> Result<Option<u32>> {
    reader.get(keyword).map_or(Ok(None), |at| count_at(sets, at, keyword))
}

/// The count that a keyword holds. A least count beyond `u32` is refused; a greatest one is no
/// bound (`None`), since no text holds as many.
pub(crate) fn count_at(sets: &Sets<'_>, at: ValueId, keyword: &str) -> Result<Option<u32>> {
    let count = match sets.document.value(at) {
        Value::Number(literal) => exact_number(sets, at, literal)?.to_count(),
        _ => None,
    };
    match count {
        Some(u32::MAX) if keyword.starts_with("max") => Ok(None),
        Some(u32::MAX) => {
            let most = u32::MAX - 1;
            let message = format!("`{keyword}` is more than {most}, and cannot be counted");
            let help = "ask for fewer: no text holds as many";
            Err(sets.document.error(ErrorKind::Limit, at, message).with_help(help))
        }
        Some(count) => Ok(Some(count)),
        None => Err(sets.malformed(at, format!("`{keyword}` must be a non-negative integer"))),
    }
}

/// The members of a keyword that holds an object.
pub(crate) fn members_of<'d>(sets: &Sets<'d>, at: ValueId, keyword: &str) -> Result<&'d Members> {
    let document = sets.document;
    document.members(at).ok_or_else(|| sets.malformed(at, format!("`{keyword}` must be an object")))
}

/// The strings of a keyword that holds an array of them.
pub(crate) fn strings_of<'d>(sets: &Sets<'d>, at: ValueId, keyword: &str) -> Result<Vec<&'d str>> {
    let document = sets.document;
    let strings = match document.value(at) {
        Value::Array(items) => items.iter().map(|&item| document.string(item)).collect(),
        _ => None,
    };
    let strings: Option<Vec<&'d str>> = strings;
    strings.ok_or_else(|| sets.malformed(at, format!("`{keyword}` must hold strings")))
}
