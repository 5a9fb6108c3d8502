//! Literals of Python as JSON, character by character.
//!
//! ```text
//! {"a": True, "b": [None, 'say "x"']}     {"a": true, "b": [null, "say \"x\""]}
//! ```
//!
//! Text that JSON and Python write alike stays as it is.

/// Words of Python, which are no words of JSON, with those of JSON.
const WORDS: [(&str, &str); 3] = [("True", "true"), ("False", "false"), ("None", "null")];

/// A reader of literals of Python.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PythonLiterals {
    /// The quote of the string that is being read.
    quote: Option<char>,
    escaped: bool,
    in_number: bool,
    /// The beginning of a word.
    word: String,
}

impl PythonLiterals {
    /// Reads a character; adds the JSON that it completes.
    pub(crate) fn read(&mut self, c: char, json: &mut String) {
        match (self.quote, c) {
            (Some(_), _) if std::mem::take(&mut self.escaped) => {
                if c != '\'' {
                    json.push('\\');
                }
                json.push(c);
            }
            (Some(_), '\\') => self.escaped = true,
            (Some(quote), _) if c == quote => {
                self.quote = None;
                json.push('"');
            }
            (Some(_), '"') => json.push_str("\\\""),
            // A model may break a line where Python does not allow it.
            (Some(_), '\n') => json.push_str("\\n"),
            (Some(_), '\0'..' ') => json.push_str(&format!("\\u{:04x}", u32::from(c))),
            (Some(_), _) => json.push(c),
            (None, '"' | '\'') => {
                self.quote = Some(c);
                json.push('"');
            }
            (None, _) if c.is_ascii_alphabetic() && !self.in_number => self.letter(c, json),
            (None, _) => {
                let is_exponent = self.in_number && matches!(c, 'e' | 'E');
                self.in_number = is_exponent || matches!(c, '0'..='9' | '-' | '+' | '.');
                json.push(c);
            }
        }
    }

    fn letter(&mut self, c: char, json: &mut String) {
        self.word.push(c);
        let word = WORDS
            .into_iter()
            .find_map(|(python, word)| (self.word == python || self.word == word).then_some(word));
        if let Some(word) = word {
            json.push_str(word);
            self.word.clear();
        }
    }
}

/// A literal of Python as JSON.
pub(crate) fn json_of_python(text: &str) -> String {
    let (mut literals, mut json) = (PythonLiterals::default(), String::new());
    text.chars().for_each(|c| literals.read(c, &mut json));
    json
}

/// The word of Python for one of JSON.
pub(crate) fn python_word(json: &str) -> Option<&'static str> {
    WORDS.into_iter().find(|(_, word)| *word == json).map(|(python, _)| python)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_become_json() {
        for (python, json) in [
            ("True", "true"),
            ("[None, false, -1.5e+3]", "[null, false, -1.5e+3]"),
            (
                r#"{"a": 'say "x", True\n', "b": "it's"}"#,
                r#"{"a": "say \"x\", True\n", "b": "it's"}"#,
            ),
            (r#"'\'\\'"#, r#""'\\""#),
            ("'a\nb\tc'", r#""a\nb\u0009c""#),
        ] {
            assert_eq!(json_of_python(python), json);
        }
    }
}
