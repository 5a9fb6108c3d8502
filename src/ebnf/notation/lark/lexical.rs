//! The lexical pieces of Lark: blanks, names, strings, patterns and texts in braces.

use crate::ebnf::grammar_text::{GrammarText, LineBreaks};
use crate::error::{Error, Result};

/// The state of a Lark parser.
pub(super) struct LarkParser<'a> {
    pub(super) text: GrammarText<'a>,
}

/// Skips blanks and comments, and line breaks where they count as blanks.
pub(super) fn skip_space(text: &mut GrammarText<'_>, line_breaks: LineBreaks) {
    while let Some(c) = text.peek() {
        match c {
            ' ' | '\t' | '\u{c}' => text.at += 1,
            '#' => text.skip_line(),
            '/' if text.starts_with("//") => text.skip_line(),
            '\n' | '\r' if line_breaks == LineBreaks::Skip => text.at += 1,
            '\\' => match continued_line(text.rest()) {
                Some(length) => text.at += length,
                None => return,
            },
            _ => return,
        }
    }
}

/// The length of a backslash and the line break that it takes back, blanks between them included.
fn continued_line(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('\\')?.trim_start_matches([' ', '\t']);
    let next = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n'))?;
    Some(rest.len() - next.len())
}

impl<'a> LarkParser<'a> {
    pub(super) fn new(text: GrammarText<'a>) -> Self {
        Self { text }
    }

    /// Skips blanks and comments.
    pub(super) fn skip_blanks(&mut self) {
        skip_space(&mut self.text, LineBreaks::Keep);
    }

    /// Skips blanks, comments and line breaks.
    pub(super) fn skip_blanks_and_lines(&mut self) {
        skip_space(&mut self.text, LineBreaks::Skip);
    }

    /// Reads a name; empty if none comes next. A `-` before `>` is the arrow of an alias.
    pub(super) fn word(&mut self) -> &'a str {
        let start = self.text.at;
        let word = self.text.take_while(|c| c.is_alphanumeric() || c == '_' || c == '-');
        if word.ends_with('-') && self.text.starts_with(">") {
            self.text.at -= 1;
        }
        self.text.between(start, self.text.at)
    }

    /// Reads a string in double quotes, the first of which comes next.
    pub(super) fn string(&mut self) -> Result<String> {
        let start = self.text.at;
        self.text.at += 1;
        let mut text = String::new();
        loop {
            let at = self.text.at;
            match self.text.take() {
                Some('"') => return Ok(text),
                Some('\\') => text.push(escape(&mut self.text, at)?),
                Some('\n') | None => {
                    return Err(self
                        .text
                        .error(start, "the string is not closed")
                        .with_help("end it with `\"`, write a literal one as `\\\"`"));
                }
                Some(c) => text.push(c),
            }
        }
    }

    /// Reads `/…/flags`, as a pattern with its flags in it.
    pub(super) fn pattern(&mut self) -> Result<String> {
        let start = self.text.at;
        self.text.at += 1;
        let mut escaped = false;
        loop {
            match self.text.take() {
                None => return Err(unclosed_pattern(&self.text, start)),
                Some(_) if escaped => escaped = false,
                Some('\\') => escaped = true,
                // The first unescaped slash ends a pattern, even within a class.
                Some('/') => break,
                Some(_) => {}
            }
        }
        let body = self.text.between(start + 1, self.text.at - 1).to_owned();
        let at = self.text.at;
        let flags = self.text.take_while(|c| c.is_ascii_lowercase());
        if body.contains('\n') && !flags.contains('x') {
            return Err(unclosed_pattern(&self.text, start).with_help(
                "end it with `/`, write a literal one as `\\/`; one of several lines has the flag `x`",
            ));
        }
        if let Some(bad) = flags.chars().find(|c| !"imsux".contains(*c)) {
            return Err(self
                .text
                .error(at, format!("the flag `{bad}` is not supported"))
                .with_help("known are i, m, s, u and x"));
        }
        // Unicode is the default.
        let flags: String = flags.chars().filter(|&c| c != 'u').collect();
        Ok(if flags.is_empty() { body } else { format!("(?{flags}){body}") })
    }

    /// Reads a grammar in braces, braces included; those within its strings, patterns and comments do not count.
    pub(super) fn grammar_in_braces(&mut self) -> Result<&'a str> {
        let start = self.text.at;
        if self.text.peek() != Some('{') {
            return self.braces();
        }
        let mut depth = 0usize;
        // After an operand a slash would begin no pattern, but then it has no meaning either.
        while let Some(c) = self.text.peek() {
            match c {
                '"' => drop(self.string()?),
                '#' => self.text.skip_line(),
                '/' if self.text.starts_with("//") => self.text.skip_line(),
                '/' => drop(self.pattern()?),
                '%' if ["%json", "%regex"].iter().any(|sign| self.text.starts_with(sign)) => {
                    self.text.take_while(|c| c == '%' || c.is_ascii_lowercase());
                    self.skip_blanks();
                    if self.text.peek() == Some('{') {
                        self.braces()?;
                    }
                }
                '{' | '}' => {
                    self.text.at += 1;
                    depth = if c == '{' { depth + 1 } else { depth - 1 };
                    if depth == 0 {
                        return Ok(self.text.between(start, self.text.at));
                    }
                }
                _ => self.text.at += c.len_utf8(),
            }
        }
        Err(unclosed_braces(&self.text, start))
    }

    /// Reads a text in braces, braces included; those within strings do not count.
    pub(super) fn braces(&mut self) -> Result<&'a str> {
        let start = self.text.at;
        if self.text.peek() != Some('{') {
            let found = self.text.found();
            return Err(self.text.error(start, format!("expected `{{`, found {found}")));
        }
        let (mut depth, mut in_string) = (0usize, false);
        loop {
            match self.text.take() {
                None => return Err(unclosed_braces(&self.text, start)),
                Some('\\') if in_string => {
                    self.text.take();
                }
                Some('"') => in_string = !in_string,
                Some('{') if !in_string => depth += 1,
                Some('}') if !in_string => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(self.text.between(start, self.text.at));
                    }
                }
                Some(_) => {}
            }
        }
    }
}

/// Reads an escape after its backslash; `start` is the byte offset of that.
fn escape(text: &mut GrammarText<'_>, start: usize) -> Result<char> {
    let code = match text.take() {
        Some('n') => return Ok('\n'),
        Some('t') => return Ok('\t'),
        Some('r') => return Ok('\r'),
        Some('f') => return Ok('\u{c}'),
        Some('b') => return Ok('\u{8}'),
        Some('x') => text.hex(2, start)?,
        Some('u') => utf16(text, start)?,
        Some('U') => text.hex(8, start)?,
        Some(c @ ('"' | '\\' | '/')) => return Ok(c),
        // Lark reads both characters, llguidance neither.
        other => {
            let other = other.map_or("the end".into(), |c| format!("`\\{c}`"));
            return Err(text
                .error(start, format!("unknown escape {other}"))
                .with_help(
                    r#"known are \n \t \r \f \b \\ \" \/ \xNN \uNNNN \UNNNNNNNN; a backslash itself is `\\`"#,
                ));
        }
    };
    text.character(code, start)
}

/// Reads the digits of `\uNNNN`, or of the two escapes of a pair of surrogates, as JSON has them.
fn utf16(text: &mut GrammarText<'_>, start: usize) -> Result<u32> {
    let code = text.hex(4, start)?;
    let before = text.at;
    if (0xD800..0xDC00).contains(&code) && text.eat("\\u") {
        let low = text.hex(4, before)?;
        if (0xDC00..0xE000).contains(&low) {
            return Ok(0x1_0000 + ((code - 0xD800) << 10) + (low - 0xDC00));
        }
        text.at = before;
    }
    Ok(code)
}

fn unclosed_pattern(text: &GrammarText<'_>, start: usize) -> Error {
    text.error(start, "the pattern is not closed")
        .with_help("end it with `/`, write a literal one as `\\/`")
}

fn unclosed_braces(text: &GrammarText<'_>, start: usize) -> Error {
    text.error(start, "the braces are not closed").with_help("end them with `}`")
}
