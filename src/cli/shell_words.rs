//! Splits a typed line of options into arguments, as a shell does.

use maskwright::error::{Error, ErrorKind, Result};

/// The characters before which a backslash inside of double quotes is no character itself.
const ESCAPED_IN_QUOTES: [char; 4] = ['$', '`', '"', '\\'];

/// The arguments of a line: quotes keep words together, and a backslash outside of single quotes
/// keeps the next character.
pub(super) fn shell_words(line: &str) -> Result<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let (next, word) = (characters.next(), word.get_or_insert_default());
                if quote.is_some() && !next.is_some_and(|c| ESCAPED_IN_QUOTES.contains(&c)) {
                    word.push('\\');
                }
                word.extend(next);
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match quote {
        None => Ok(words),
        Some(quote) => {
            let message = format!("a {quote} that is not closed");
            Err(Error::new(ErrorKind::Request, message).with_help("close it"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_divided_as_a_shell_does() {
        for (line, expected) in [
            ("", &[][..]),
            (" a  b ", &["a", "b"]),
            (r#"--schema '{"a b": "c\d"}'"#, &["--schema", r#"{"a b": "c\d"}"#]),
            (r#"x"a \" b"y z"#, &[r#"xa " by"#, "z"]),
            (r"a\ b ''", &["a b", ""]),
            (r#"--regex "\d{4}\\" \d"#, &["--regex", r"\d{4}\", "d"]),
        ] {
            assert_eq!(shell_words(line).unwrap(), expected, "{line}");
        }
        assert!(shell_words("'a").is_err());
    }
}
