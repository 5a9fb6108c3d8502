//! Names of tokens in grammars.

use super::grammar_text::GrammarText;
use crate::error::Result;

/// Reads a token's name between `<`, which comes next, and the next `>` of the line.
pub(super) fn read_name<'a>(text: &mut GrammarText<'a>) -> Result<&'a str> {
    let start = text.at;
    let rest = text.rest();
    let line = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
    let Some(end) = line.find('>') else {
        return Err(text
            .error(start, "the special token is not closed")
            .with_help("end it with `>`"));
    };
    if end <= 1 {
        return Err(text.error(start, "a special token needs a name").with_help("write `<name>`"));
    }
    text.at += end + 1;
    Ok(&line[1..end])
}
