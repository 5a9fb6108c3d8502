//! The input of a custom tool, from the arguments of its call.
//!
//! A model writes a call of a custom tool as one of a function whose only argument is the text `input`:
//!
//! ```text
//! {"input": "a\nb  ──►  a⏎b
//! ```

/// Reader of the string in a call's arguments, as they come.
#[derive(Clone, Debug, Default)]
pub(super) struct InputReader {
    /// Quotes of JSON that were read: two around the key, then one before the text.
    quotes: usize,
    /// A character of the key that a backslash stands before comes next.
    is_escaped: bool,
    /// JSON of the text that was not decoded yet, such as the beginning of an escape.
    held: String,
    has_ended: bool,
}

/// Quotes up to the text.
const QUOTES_BEFORE_TEXT: usize = 3;

impl InputReader {
    /// The part of the text that more of the arguments brings.
    pub(super) fn read(&mut self, arguments: &str) -> String {
        for c in arguments.chars() {
            if self.quotes == QUOTES_BEFORE_TEXT {
                self.held.push(c);
            } else if std::mem::take(&mut self.is_escaped) {
                continue;
            } else {
                self.quotes += usize::from(c == '"');
                self.is_escaped = c == '\\';
            }
        }
        if self.has_ended {
            return String::new();
        }
        let (length, has_ended) = whole_characters(&self.held);
        self.has_ended = has_ended;
        let json = format!("\"{}\"", &self.held[..length]);
        self.held.drain(..length);
        // The constraint says that it is JSON; what a stop cut off is no whole character.
        serde_json::from_str(&json).unwrap_or_default()
    }
}

/// The number of bytes of whole characters that JSON of a text begins with, and whether the text ends there.
fn whole_characters(json: &str) -> (usize, bool) {
    let mut at = 0;
    while let Some(c) = json[at..].chars().next() {
        let rest = &json[at..];
        let length = match c {
            '"' => return (at, true),
            '\\' => match rest.as_bytes().get(1) {
                Some(b'u') => match rest.get(2..6).map(|digits| u16::from_str_radix(digits, 16)) {
                    Some(Ok(0xD800..=0xDBFF)) => 12,
                    Some(_) => 6,
                    None => return (at, false),
                },
                Some(_) => 2,
                None => return (at, false),
            },
            c => c.len_utf8(),
        };
        if rest.len() < length {
            return (at, false);
        }
        at += length;
    }
    (at, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_as_it_is_decided() {
        let arguments = r#" {"in\u0070ut" : "a\n\"\\é\ud83d\ude00\/"} "#;
        let mut whole = InputReader::default();
        assert_eq!(whole.read(arguments), "a\n\"\\é😀/");
        let (mut by_char, mut text) = (InputReader::default(), String::new());
        for c in arguments.chars() {
            text += &by_char.read(c.encode_utf8(&mut [0; 4]));
        }
        assert_eq!(text, "a\n\"\\é😀/");
        let mut cut = InputReader::default();
        assert_eq!(cut.read(r#"{"input": "ab\u00"#), "ab");
        assert_eq!(cut.read("e9"), "é");
    }
}
