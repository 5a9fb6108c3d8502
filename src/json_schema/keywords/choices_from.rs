//! The keyword `x-choices-from`: strings of a list that the caller supplied by name.

use crate::error::{ErrorKind, Result};
use crate::json_schema::choice_lists::NamedTexts;
use crate::json_schema::document::ValueId;
use crate::json_schema::set::Sets;
use crate::json_schema::string::byte_texts::spelled_texts;
use crate::regular::Language;

/// The texts that an `x-choices-from` names.
///
/// Errors if it names none of the options' lists, or one with strings that are not UTF-8.
pub(crate) fn named_texts(sets: &Sets<'_>, at: ValueId) -> Result<NamedTexts> {
    let Some(name) = sets.document.string(at) else {
        let message = "`x-choices-from` must be the name of a list";
        return Err(sets.document.error(ErrorKind::Schema, at, message));
    };
    let lists = &sets.options.choices;
    let Some(texts) = lists.texts(name) else {
        let names: Vec<&str> = lists.names().collect();
        let help = if names.is_empty() {
            "supply lists by name: `Compiler::with_choices`, or --choices NAME=FILE".into()
        } else {
            format!("the lists are {}", names.join(", "))
        };
        let message = format!("there is no list of choices with the name `{name}`");
        return Err(sets.document.error(ErrorKind::Schema, at, message).with_help(help));
    };
    if let NamedTexts::List(list) = texts {
        list.check_utf8().map_err(|error| {
            let help = "build the set from UTF-8 text";
            sets.document.error(ErrorKind::Schema, at, error.message()).with_help(help)
        })?;
    }
    Ok(texts.clone())
}

/// The texts of the list that an `x-choices-from` names, in the spellings of the options.
pub(crate) fn choices(sets: &mut Sets<'_>, at: ValueId) -> Result<Language> {
    let texts = named_texts(sets, at)?;
    Ok(spelled_texts(&mut sets.languages, texts.automaton(), sets.options.spelling))
}
