//! Free text that ends at the first of several trigger strings, as tool calls do.
//!
//! The first trigger is the one that begins leftmost; of those that begin there, any may be completed.
//! With the triggers `ab`, `abc` and `b`: text ends in `ab` or goes on to `abc`, and `b` is found
//! only where no `a` stands before it. Texts that are excluded stand nowhere in free text, nor in the
//! trigger after it.

use super::{ByteSet, Language, Languages, Utf8, any_text};
use crate::error::{Error, ErrorKind, Result};

/// Free text up to the first of several triggers.
pub(crate) struct Triggers {
    /// Text that contains no trigger and nothing excluded.
    pub(crate) free: Language,
    /// For each trigger: text that ends in it, with no other before.
    pub(crate) heads: Vec<Language>,
}

impl Triggers {
    /// Errors if a trigger or an excluded text is empty.
    pub(crate) fn new(
        languages: &mut Languages,
        triggers: &[String],
        excludes: &[String],
    ) -> Result<Self> {
        if triggers.iter().chain(excludes).any(String::is_empty) {
            return Err(Error::new(ErrorKind::Request, "a trigger is empty")
                .with_help("give a text that free text does not hold"));
        }
        let text = any_text(languages, &Utf8);
        let byte = languages.byte_set(ByteSet::ALL);
        let any = languages.literals(triggers.iter().map(String::as_bytes));
        let excluded = languages.literals(excludes.iter().map(String::as_bytes));
        let holds_excluded = languages.concat([text, excluded, text]);
        let stop = languages.union([any, excluded]);
        let holds = languages.concat([text, stop, text]);
        let free = languages.difference(text, holds);
        let rest = languages.repeat(byte, 0, None);
        let begins = languages.concat([any, rest]);
        let heads = triggers
            .iter()
            .map(|trigger| {
                let literal = languages.literal(trigger.as_bytes());
                let ends = languages.concat([text, literal]);
                // From the beginning of a trigger to the end of the text: more than this one.
                let more = u32::try_from(trigger.len() + 1).unwrap_or(u32::MAX);
                let longer = languages.repeat(byte, more, None);
                let earlier = languages.intersect([begins, longer]);
                let earlier = languages.concat([text, earlier]);
                let other = languages.union([earlier, holds_excluded]);
                languages.difference(ends, other)
            })
            .collect();
        Ok(Self { free, heads })
    }
}
