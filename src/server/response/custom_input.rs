//! The input of a custom tool, from the arguments of its call.
//!
//! A model writes a call of a custom tool as one of a function whose only argument is the text `input`:
//!
//! ```text
//! {"input": "a\nb  ──►  a⏎b
//! ```

use super::json_string::{StringReader, StringState};

/// Reader of the string in a call's arguments, as they come.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputReader {
    /// Quotes of JSON that were read: two around the key, then one before the text.
    quotes: usize,
    /// A character of the key that a backslash stands before comes next.
    is_escaped: bool,
    text: StringReader,
    has_ended: bool,
}

/// Quotes up to the text.
const QUOTES_BEFORE_TEXT: usize = 3;

impl InputReader {
    /// The part of the text that more of the arguments brings.
    pub(crate) fn read(&mut self, arguments: &str) -> String {
        let (mut rest, mut text) = (arguments.chars(), String::new());
        while self.quotes < QUOTES_BEFORE_TEXT {
            match rest.next() {
                None => return text,
                Some(_) if std::mem::take(&mut self.is_escaped) => {}
                Some(c) => {
                    self.quotes += usize::from(c == '"');
                    self.is_escaped = c == '\\';
                }
            }
        }
        if !self.has_ended {
            // The constraint says that it is JSON; what a stop cut off is no whole character.
            self.has_ended = self.text.read(rest.as_str(), &mut text) != StringState::Open;
        }
        text
    }
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
