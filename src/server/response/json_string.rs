//! The content of a JSON string, decoded while it is written.
//!
//! ```text
//! a\nb\ud83d      ──►  a⏎b        (half a surrogate pair waits for the other half)
//! \ude00" , …     ──►  😀         (closed after 7 bytes)
//! ```

/// Decoder of one string, from after its opening quote.
#[derive(Clone, Debug, Default)]
pub(super) struct StringReader {
    /// JSON that was not decoded yet: the beginning of an escape.
    held: String,
}

/// The state of a string after more of it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StringState {
    /// It goes on.
    Open,
    /// It ends; the number of bytes that were read of it last, with its closing quote.
    Closed(usize),
    /// It holds an escape that JSON does not have, half a surrogate pair, or a control character.
    Invalid,
}

impl StringReader {
    /// Reads more of the string and appends to `text` the characters that are decided.
    pub(super) fn read(&mut self, json: &str, text: &mut String) -> StringState {
        let before = self.held.len();
        self.held.push_str(json);
        let (length, is_closed) = whole_characters(&self.held);
        let decoded: Result<String, _> =
            serde_json::from_str(&format!("\"{}\"", &self.held[..length]));
        let Ok(decoded) = decoded else { return StringState::Invalid };
        text.push_str(&decoded);
        self.held.drain(..length);
        if is_closed {
            StringState::Closed((length + 1).saturating_sub(before))
        } else {
            StringState::Open
        }
    }
}

/// The number of bytes of whole characters that the content of a JSON string begins with, and whether
/// its closing quote comes next. Escapes are not checked here, but always end between characters.
fn whole_characters(json: &str) -> (usize, bool) {
    let mut at = 0;
    while let Some(c) = json[at..].chars().next() {
        let rest = &json[at..];
        let escape = rest.as_bytes();
        let length = match (c, escape.get(1)) {
            ('"', _) => return (at, true),
            ('\\', None) => return (at, false),
            ('\\', Some(b'u')) => {
                match rest.get(2..6).map(|digits| u16::from_str_radix(digits, 16)) {
                    Some(Ok(0xD800..=0xDBFF)) => 12,
                    Some(_) => 6,
                    None if escape.len() < 6 && rest.is_ascii() => return (at, false),
                    None => 2,
                }
            }
            ('\\', Some(_)) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            (c, _) => c.len_utf8(),
        };
        if rest.len() < length {
            return (at, false);
        }
        // An escape that runs into another character is none, which decoding will tell.
        at += (1..=length).rev().find(|&length| rest.is_char_boundary(length)).unwrap_or(length);
    }
    (at, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text, and the last state, of a string that is read in pieces of so many characters.
    fn read(json: &str, size: usize) -> (String, StringState) {
        let (mut reader, mut text) = (StringReader::default(), String::new());
        let mut state = StringState::Open;
        for piece in json.chars().collect::<Vec<_>>().chunks(size) {
            state = reader.read(&piece.iter().collect::<String>(), &mut text);
            if state != StringState::Open {
                break;
            }
        }
        (text, state)
    }

    #[test]
    fn characters_are_told_when_they_are_decided() {
        let json = r#"a\n\"\\é\ud83d\ude00\/""#;
        for size in 1..30 {
            let (text, state) = read(json, size);
            assert_eq!(text, "a\n\"\\é😀/", "{size}");
            assert!(matches!(state, StringState::Closed(_)), "{size}");
        }
        let (mut reader, mut text) = (StringReader::default(), String::new());
        assert_eq!(reader.read(r"ab\u00", &mut text), StringState::Open);
        assert_eq!(text, "ab");
        assert_eq!(reader.read("e9\" , ", &mut text), StringState::Closed(3));
        assert_eq!(text, "abé");
    }

    #[test]
    fn wrong_escapes_are_told() {
        for json in [r"\é", r"\u00é0", r"\ud83daééé", r"\ud83d\n12345", "a\nb", r"\udc00"] {
            for size in 1..20 {
                assert_eq!(read(json, size).1, StringState::Invalid, "{json} {size}");
            }
        }
    }
}
