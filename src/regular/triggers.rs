//! Free text that ends at the first of several trigger strings, as tool calls do.

use super::{ByteSet, Language, Languages, Utf8, any_text};
use crate::error::{Error, ErrorKind, Result};

/// Free text up to the first of several triggers.
pub(crate) struct Triggers {
    /// Text that contains no trigger.
    pub(crate) free: Language,
    /// For each trigger: text that ends in it and contains no trigger before.
    pub(crate) heads: Vec<Language>,
}

impl Triggers {
    /// Errors if a trigger is empty.
    pub(crate) fn new(languages: &mut Languages, triggers: &[String]) -> Result<Self> {
        if triggers.iter().any(String::is_empty) {
            return Err(Error::new(ErrorKind::Request, "a trigger is empty")
                .with_help("give a text that free text does not hold"));
        }
        let text = any_text(languages, &Utf8);
        let any = languages.literals(triggers.iter().map(String::as_bytes));
        let holds = languages.concat([text, any, text]);
        let free = languages.difference(text, holds);
        // Ends in a trigger, and is not the longer for another one before.
        let ends = languages.concat([text, any]);
        let byte = languages.byte_set(ByteSet::ALL);
        let more = languages.repeat(byte, 1, None);
        let longer = languages.concat([ends, more]);
        let first = languages.difference(ends, longer);
        let heads = triggers
            .iter()
            .map(|trigger| {
                let trigger = languages.literal(trigger.as_bytes());
                let ends = languages.concat([text, trigger]);
                languages.intersect([first, ends])
            })
            .collect();
        Ok(Self { free, heads })
    }
}
