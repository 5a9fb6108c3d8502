//! Languages of patterns and formats, each compiled once.

use std::sync::Arc;

use super::code_points;
use super::format::{Format, FormatTexts, format as format_texts_of};
use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::document::ValueId;
use crate::json_schema::options::Spelling;
use crate::json_schema::set::Sets;
use crate::regular::compact;
use crate::regular::computed_parts;
use crate::regular::{self, Anchoring, Dialect, Language, Options};

/// Characters of a pattern that an error message shows.
const MAX_SHOWN_CHARS: usize = 100;

impl Sets<'_> {
    /// The texts of a format; `None` if it is an annotation. An `asserted` format is enforced
    /// whatever the options say.
    pub(crate) fn format(&mut self, name: &str, asserted: bool) -> Result<Option<Language>> {
        if !self.options.formats && !asserted {
            return Ok(None);
        }
        if let Some(&known) = self.strings.formats.get(name) {
            return Ok(Some(known));
        }
        let Format::Texts(texts) = format_texts_of(name) else { return Ok(None) };
        let language = format_texts(self, &texts)?;
        let text = self.languages.repeat(self.strings.char, 0, None);
        self.languages.note_within(language, text);
        self.strings.formats.insert(name.into(), language);
        Ok(Some(language))
    }
}

/// The texts in which a pattern matches somewhere; `at` is its place.
pub(crate) fn pattern_language(
    sets: &mut Sets<'_>,
    pattern: &str,
    at: ValueId,
) -> Result<Language> {
    let options = Options { dialect: Dialect::Ecma, anchoring: Anchoring::Search };
    compiled_pattern(sets, pattern, options).map_err(|e| pattern_error(sets, pattern, at, &e))
}

/// The error for a pattern that cannot be compiled.
pub(crate) fn pattern_error(sets: &Sets<'_>, pattern: &str, at: ValueId, e: &Error) -> Error {
    let byte = e.place().byte.map_or(String::new(), |b| format!(" (byte {b})"));
    let shown = match pattern.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{:?}…", &pattern[..end]),
        None => format!("{pattern:?}"),
    };
    let message = format!("the pattern {shown}{byte}: {}", e.message());
    let kind = if e.kind() == ErrorKind::Limit { e.kind() } else { ErrorKind::Schema };
    sets.document.error(kind, at, message).wrapping(e)
}

fn compiled_pattern(sets: &mut Sets<'_>, pattern: &str, options: Options) -> Result<Language> {
    let key = (options.anchoring, pattern.to_owned());
    if let Some(&known) = sets.strings.patterns.get(&key) {
        return Ok(known);
    }
    let language =
        regular::parse(&mut sets.languages, pattern, options, code_points(sets.options.spelling))?;
    sets.strings.patterns.insert(key, language);
    Ok(language)
}

/// Errors if strings combine the format `regex`, whose automaton has infinitely many states, with
/// another language.
pub(crate) fn check_no_infinite_state_product(
    sets: &Sets<'_>,
    strings: Language,
) -> Result<Language> {
    if computed_parts::multiplies_infinite_state_automaton(&sets.languages, strings) {
        let message = "the format `regex` cannot be enforced together with other \
                           conditions on the same string, but for a small `minLength`";
        let help = "leave one of them out, or let formats be annotations (the option `formats`)";
        Err(Error::new(ErrorKind::Limit, message).with_help(help))
    } else {
        Ok(strings)
    }
}

fn format_texts(sets: &mut Sets<'_>, texts: &FormatTexts) -> Result<Language> {
    let whole = Options { dialect: Dialect::Ecma, anchoring: Anchoring::Whole };
    Ok(match texts {
        FormatTexts::Pattern(pattern) => compiled_pattern(sets, pattern, whole)?,
        FormatTexts::Finished(pattern) => {
            let name = format!("{:?} {pattern}", sets.options.spelling);
            match compact::named_dfa(&mut sets.languages, &name) {
                Some(known) => known,
                None => {
                    let language = compiled_pattern(sets, pattern, whole)?;
                    compact::compile_named_dfa(
                        &mut sets.languages,
                        &name,
                        language,
                        sets.strings.char,
                    )?
                }
            }
        }
        FormatTexts::Patterns => {
            let canonical = sets.options.spelling == Spelling::Canonical;
            regular::spelled(&mut sets.languages, Arc::new(regular::EcmaPatterns), canonical)
        }
        &FormatTexts::Length(min, max) => sets.languages.repeat(sets.strings.char, min, Some(max)),
        FormatTexts::Sequence(parts) => {
            let parts = each_format_part(sets, parts)?;
            sets.languages.concat(parts)
        }
        FormatTexts::Any(parts) => {
            let parts = each_format_part(sets, parts)?;
            sets.languages.union(parts)
        }
        FormatTexts::All(parts) => {
            let parts = each_format_part(sets, parts)?;
            sets.languages.intersect(parts)
        }
    })
}

fn each_format_part(sets: &mut Sets<'_>, parts: &[FormatTexts]) -> Result<Vec<Language>> {
    parts.iter().map(|part| format_texts(sets, part)).collect()
}
