//! JSON in masks: the language of string characters, and the tokens in which a captured text decides
//! what follows.
//!
//! JSON sources capture two kinds of texts: keys that the schema does not name (no key twice) and
//! items of arrays with `uniqueItems`. What follows such a text in the *same token* depends on it
//! only after a comma: another key or item. So few tokens are uncertain:
//!
//! ```text
//! token `","b`  after `{"a`   its first key may end the object's last free member: the comma depends
//! token `": `   after `{"a`   whatever the key is, the same follows
//! ```

use crate::regular::{Language, Languages};

/// The spelling of JSON strings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonStrings {
    /// One character as it is spelled in a string; [`Language::EMPTY`] where a program reads no
    /// JSON.
    pub(super) character: Language,
    /// The closing quote.
    pub(super) quote: Language,
}

impl JsonStrings {
    /// The strings of a program whose characters are these.
    pub(super) fn new(character: Option<Language>, languages: &mut Languages) -> Self {
        let character = character.unwrap_or(Language::EMPTY);
        Self { character, quote: languages.literal(b"\"") }
    }
}

/// The ways in which a captured text can end in a token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CaptureEnd {
    /// The number of the token's first quote that may end the text, 1 or 2; 0 if the text may end
    /// before any quote.
    pub(super) quotes: usize,
    /// Whether the text may be the last of its kind, such as the last unused value of an `enum` in an array
    /// with `uniqueItems`: then no comma may follow.
    pub(super) may_be_last: bool,
}

impl CaptureEnd {
    /// All values, by their [`index`](Self::index).
    pub(crate) const ALL: [Self; 6] = {
        let mut all = [Self { quotes: 0, may_be_last: false }; 6];
        let mut i = 0;
        while i < 6 {
            all[i] = Self { quotes: i / 2, may_be_last: i % 2 == 1 };
            i += 1;
        }
        all
    };

    /// The place in [`CaptureEnd::ALL`].
    pub(super) fn index(self) -> usize {
        2 * self.quotes + usize::from(self.may_be_last)
    }
}

/// Whether the rest of a token, after the end of a captured text in it, depends on that text. A comma
/// depends on the text if this may be the last of its kind; a key or item after the comma does if it
/// must differ from the text.
pub(crate) fn depends_on_capture(token: &[u8], end: CaptureEnd) -> bool {
    let quotes = token.iter().enumerate().filter(|&(_, &byte)| byte == b'"');
    let from = match end.quotes {
        0 => 0,
        n => match quotes.map(|(at, _)| at).nth(n - 1) {
            Some(at) => at,
            None => return false,
        },
    };
    let Some(comma) = token[from..].iter().position(|&byte| byte == b',') else { return false };
    let (before, after) = token.split_at(from + comma);
    let value = before.get(from + 1..).unwrap_or_default();
    if !end.may_be_last && value.trim_ascii_start().first() == Some(&b':') {
        // A key. What follows is the same for all keys, but for the other keys, of which more than
        // one is left: so it matters only if another key begins.
        let mut keys = after.split(|&byte| byte == b'"').skip(1);
        return keys.any(|key| !key.is_empty());
    }
    // The captured text is a key.
    let key = before.rsplit(|&byte| byte == b'"').next().is_some_and(|v| v.contains(&b':'));
    end.may_be_last || key && before.contains(&b'"') || after.contains(&b'"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_by_their_index() {
        for (i, end) in CaptureEnd::ALL.into_iter().enumerate() {
            assert_eq!((end.index(), end.quotes * 2 + usize::from(end.may_be_last)), (i, i));
        }
    }
}
