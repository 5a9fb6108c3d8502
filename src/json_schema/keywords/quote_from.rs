//! The keyword `x-quote-from`: strings that quote a given text.

use crate::error::{ErrorKind, Result};
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::options::Spelling;
use crate::json_schema::set::Sets;
use crate::json_schema::string::byte_texts::spelled_texts;
use crate::json_schema::string::spell;
use crate::regular;
use crate::regular::{Language, QuoteBy};

/// The units that may be quoted: words or characters of a text, or texts in a row, each whole.
fn quoted_units<'d>(sets: &Sets<'d>, at: ValueId) -> Result<Vec<&'d str>> {
    let malformed = || {
        let message = "`x-quote-from` must be a text, a list of texts, or an object with \
                       `text` and `by` (\"words\" or \"characters\")";
        sets.document.error(ErrorKind::Schema, at, message)
    };
    match sets.document.value(at) {
        Value::String(text) => Ok(QuoteBy::Words.units(text)),
        Value::Array(units) => {
            let units = units.iter().map(|&unit| sets.document.string(unit));
            units.collect::<Option<_>>().ok_or_else(malformed)
        }
        Value::Object(members) => {
            let member = |key| members.get(key).and_then(|at| sets.document.string(at));
            let by = match (member("by"), members.get("by")) {
                (Some("words"), _) | (None, None) => QuoteBy::Words,
                (Some("characters"), _) => QuoteBy::Characters,
                _ => return Err(malformed()),
            };
            let known = members.iter().all(|(key, _)| matches!(key, "text" | "by"));
            let text = member("text").filter(|_| known).ok_or_else(malformed)?;
            Ok(by.units(text))
        }
        _ => Err(malformed()),
    }
}

/// Errors if `x-quote-from` has not the form of a text to quote.
pub(crate) fn validate_quotation(sets: &Sets<'_>, at: ValueId) -> Result<()> {
    if quoted_units(sets, at)?.iter().all(|unit| unit.is_empty()) {
        let message = "`x-quote-from` has no text to quote";
        Err(sets.document.error(ErrorKind::Schema, at, message))
    } else {
        Ok(())
    }
}

/// The quotations of the units of an `x-quote-from`, in the spellings of the options.
pub(crate) fn quotations(sets: &mut Sets<'_>, at: ValueId) -> Result<Language> {
    validate_quotation(sets, at)?;
    let units = quoted_units(sets, at)?;
    match sets.options.spelling {
        Spelling::Canonical => {
            let units: Vec<Vec<u8>> = units.into_iter().map(spell).collect();
            regular::quotation(&mut sets.languages, &units)
        }
        Spelling::Escapes | Spelling::Any => Ok(match regular::quotation_automaton(&units)? {
            Some(quotation) => spelled_texts(&mut sets.languages, quotation, Spelling::Any),
            None => Language::EMPTY,
        }),
    }
}
