//! Keywords for strings: `pattern`, `format`, lengths, `x-quote-from` and `x-choices-from`.

use crate::error::Result;
use crate::json_schema::keywords::choices_from::choices;
use crate::json_schema::keywords::quote_from::quotations;
use crate::json_schema::keywords::values::count_of;
use crate::json_schema::set::keyword_reader::KeywordReader;
use crate::json_schema::set::{Sets, Shape};
use crate::json_schema::string::byte_texts::{CHOICES_FROM, QUOTE_FROM};
use crate::json_schema::string::format::is_beyond;
use crate::json_schema::string::patterns::{check_no_infinite_state_product, pattern_language};
use crate::regular::Language;
use crate::regular::lengths;
use crate::regular::unit_bounds;

/// Adds the strings that a schema accepts to its shape (Validation, section 6.3).
pub(crate) fn add_strings<'d>(
    sets: &mut Sets<'d>,
    reader: &KeywordReader<'d>,
    shape: &mut Shape,
) -> Result<()> {
    let mut parts = vec![sets.strings.any];
    let min = count_of(sets, reader, "minLength")?.unwrap_or(0);
    let max = count_of(sets, reader, "maxLength")?;
    if let Some(at) = reader.get("pattern") {
        let Some(pattern) = sets.document.string(at) else {
            return Err(sets.malformed(at, "`pattern` must be a string"));
        };
        parts.push(pattern_language(sets, pattern, at)?);
    }
    for keyword in [QUOTE_FROM, CHOICES_FROM] {
        let Some(at) = reader.get(keyword) else { continue };
        let texts = match keyword {
            QUOTE_FROM => quotations(sets, at)?,
            _ => choices(sets, at)?,
        };
        // Every quotation and every choice is a text.
        match parts[..] {
            [any] if any == sets.strings.any => parts[0] = texts,
            _ => parts.push(texts),
        }
    }
    if let Some(at) = reader.get("format") {
        let Some(name) = sets.document.string(at) else {
            return Err(sets.malformed(at, "`format` must be a string"));
        };
        let asserted = reader.dialect.asserts_formats();
        let enforced = sets.options.formats || asserted;
        if is_beyond(name, |keyword| reader.get(keyword).is_some()) {
            shape.open_format = enforced.then_some(at)
        } else {
            parts.extend(sets.format(name, asserted)?)
        }
    }
    let (min, max) = lengths_not_implied(sets, &parts, min, max);
    if (min, max) != (0, None) && !move_length_into_pattern(sets, &mut parts, (min, max))? {
        let length = sets.strings.of_length(&mut sets.languages, min, max);
        // Texts of any length hold those of some.
        if parts[0] == sets.strings.any { parts[0] = length } else { parts.push(length) }
    }
    let strings = sets.languages.intersect(parts);
    shape.strings = match (check_no_infinite_state_product(sets, strings), reader.get("format")) {
        (Err(error), Some(at)) => return Err(sets.document.with_place(error, Some(at))),
        (strings, _) => strings?,
    };
    Ok(())
}

/// Makes the bounds on a string's length those of one of its languages, such as the pattern
/// `^[a-z]*$`, if that repeats characters and counts nothing else: an intersection has a state for
/// each length.
fn move_length_into_pattern(
    sets: &mut Sets<'_>,
    parts: &mut [Language],
    lengths: (u32, Option<u32>),
) -> Result<bool> {
    for i in 1..parts.len() {
        let counted = unit_bounds::with_unit_bounds(
            &mut sets.languages,
            parts[i],
            sets.strings.char,
            lengths,
        )?;
        if let Some(counted) = counted {
            parts[i] = counted;
            // What is made of characters is a text.
            if parts[0] == sets.strings.any {
                parts[0] = counted;
            }
            return Ok(true);
        }
    }
    Ok(false)
}

/// The bounds on a string's length that its other languages do not imply: to a pattern of three
/// letters they add nothing, and an intersection costs more than a pattern.
fn lengths_not_implied(
    sets: &Sets<'_>,
    parts: &[Language],
    min: u32,
    max: Option<u32>,
) -> (u32, Option<u32>) {
    let (mut min, mut max) = (min, max);
    if (min, max) == (0, None) {
        return (min, max);
    }
    for &part in parts {
        let lengths = lengths::length_range(&sets.languages, part);
        // A character is spelled in one byte, or more.
        if max.is_some_and(|max| lengths.most.is_some_and(|most| most <= max)) {
            max = None;
        }
        if min <= if lengths.alone { lengths.least } else { lengths.least.min(1) } {
            min = 0;
        }
    }
    (min, max)
}
