//! The lexical pieces of GBNF: blanks, names, strings, characters and tokens.

use rustc_hash::FxHashSet;

use crate::ebnf::grammar_text::{GrammarText, LineBreaks};
use crate::ebnf::rule_table::RuleTable;
use crate::ebnf::special_tokens;
use crate::error::Result;
use crate::grammar::SpecialToken;

/// Hexadecimal digits after `\x` from which on the escape is refused, as it has two readings.
const AMBIGUOUS_HEX_DIGITS: usize = 4;

/// The state of a GBNF parser.
pub(super) struct GbnfParser<'a> {
    pub(super) text: GrammarText<'a>,
    pub(super) rules: RuleTable<'a>,
    /// Names with dots that the text defines.
    pub(super) dotted_names: FxHashSet<&'a str>,
}

/// A character of a name, dots aside.
fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// Names with dots (XGrammar's) that a text defines: at the start of a line, before `::=` or before
/// options of the rule.
pub(super) fn dotted_names(text: &str) -> FxHashSet<&str> {
    let defined = |line: &'_ str| -> Option<usize> {
        let end = line.find(|c: char| !is_name_character(c) && c != '.')?;
        let after = line[end..].trim_start();
        (after.starts_with("::=") || after.starts_with('[')).then_some(end)
    };
    let lines = text.lines().map(str::trim_start);
    let names = lines.filter_map(|line| defined(line).map(|end| &line[..end]));
    names.filter(|name| name.contains('.') && name.starts_with(is_name_character)).collect()
}

/// Skips blanks and comments, and line breaks where they count as blanks.
pub(super) fn skip_space(text: &mut GrammarText<'_>, line_breaks: LineBreaks) {
    while let Some(c) = text.peek() {
        match c {
            ' ' | '\t' => text.at += 1,
            '#' => text.skip_line(),
            '\n' | '\r' if line_breaks == LineBreaks::Skip => text.at += 1,
            _ => return,
        }
    }
}

impl GbnfParser<'_> {
    /// Skips blanks and comments.
    pub(super) fn skip_blanks(&mut self) {
        skip_space(&mut self.text, LineBreaks::Keep);
    }

    /// Skips blanks, comments and line breaks.
    pub(super) fn skip_blanks_and_lines(&mut self) {
        skip_space(&mut self.text, LineBreaks::Skip);
    }

    /// Reads a name, if one comes next: the longest with dots that the text defines, or else up to
    /// a dot.
    pub(super) fn name(&mut self) -> Option<String> {
        let start = self.text.at;
        let plain = self.text.take_while(is_name_character);
        if plain.is_empty() {
            return None;
        }
        if self.text.peek() == Some('.') && !self.dotted_names.is_empty() {
            self.text.take_while(|c| is_name_character(c) || c == '.');
            let mut name = self.text.between(start, self.text.at);
            while name.len() > plain.len() && !self.dotted_names.contains(name) {
                name = name.rsplit_once('.').map_or(plain, |(shorter, _)| shorter);
            }
            let name = if name.len() > plain.len() { name } else { plain };
            self.text.at = start + name.len();
            return Some(name.to_owned());
        }
        Some(plain.to_owned())
    }

    /// Reads a string in double quotes.
    pub(super) fn string(&mut self) -> Result<String> {
        let start = self.text.at;
        if !self.text.eat("\"") {
            let found = self.text.found();
            return Err(self.text.error(start, format!("expected a `\"`, found {found}")));
        }
        let mut text = String::new();
        loop {
            match self.text.peek() {
                Some('"') => break,
                None => {
                    return Err(self
                        .text
                        .error(start, "the literal is not closed")
                        .with_help("end it with `\"`, write a literal one as `\\\"`"));
                }
                Some(_) => {
                    let at = self.text.at;
                    let code = character(&mut self.text)?;
                    text.push(self.text.character(code, at)?);
                }
            }
        }
        self.text.at += 1;
        Ok(text)
    }

    /// Reads a token: `<name>` by its name in the vocabulary, angle brackets included, or `<[id]>`
    /// by its id.
    pub(super) fn token(&mut self) -> Result<SpecialToken> {
        let start = self.text.at;
        let inner = special_tokens::read_name(&mut self.text)?;
        match inner.strip_prefix('[').and_then(|id| id.strip_suffix(']')) {
            Some(id) => Ok(SpecialToken::Id(id.parse().map_err(|_| {
                self.text
                    .error(start, format!("`{id}` is no token id"))
                    .with_help("write `<[1234]>`")
            })?)),
            None => Ok(SpecialToken::Name(format!("<{inner}>"))),
        }
    }
}

/// Reads one character of a string or class, or its escape.
pub(super) fn character(text: &mut GrammarText<'_>) -> Result<u32> {
    let start = text.at;
    // Callers have seen that there is one.
    let c = text.take().unwrap_or_default();
    if c != '\\' {
        return Ok(c.into());
    }
    match text.take() {
        Some('x') => {
            let digits = text.rest().bytes().take_while(u8::is_ascii_hexdigit).count();
            if digits >= AMBIGUOUS_HEX_DIGITS {
                let written = &text.rest()[..digits];
                let message = format!(
                    "`\\x{written}` is one character to XGrammar, and to llama.cpp two digits of a \
                     character and text after it"
                );
                return Err(text.error(start, message).with_help(
                    "write one character as \\uNNNN or \\UNNNNNNNN, or end the literal after \\xNN",
                ));
            }
            text.hex(2, start)
        }
        Some('u') => text.hex(4, start),
        Some('U') => text.hex(8, start),
        Some('t') => Ok(0x09),
        Some('n') => Ok(0x0A),
        Some('r') => Ok(0x0D),
        // The rest are XGrammar's.
        Some('0') => Ok(0x00),
        Some('a') => Ok(0x07),
        Some('b') => Ok(0x08),
        Some('v') => Ok(0x0B),
        Some('f') => Ok(0x0C),
        Some('e') => Ok(0x1B),
        Some(c) if c.is_ascii_punctuation() => Ok(c.into()),
        other => {
            let other = other.map_or("the end".into(), |c| format!("`\\{c}`"));
            Err(text
                .error(start, format!("unknown escape {other}"))
                .with_help(r#"known are \t \n \r \\ \" \[ \] \- \^ \0 \e \xNN \uNNNN \UNNNNNNNN"#))
        }
    }
}
