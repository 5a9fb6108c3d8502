//! The end of a JSON value in a stream of characters.

/// Scanner for the end of a JSON value and of the whitespace around it. The constraint says that the
/// text is JSON, so brackets and strings are all that it looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JsonEndScanner {
    /// Open brackets.
    depth: u32,
    /// The quote of the string that is being read.
    quote: Option<char>,
    /// Whether literals may be those of Python.
    is_python: bool,
    escaped: bool,
    /// Whether the value is a number or a literal without brackets, which ends where another kind
    /// of character comes.
    pub(crate) is_bare: bool,
    has_begun: bool,
    has_ended: bool,
}

/// The part of a text that a character belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonPart {
    Value,
    /// Whitespace before or after the value.
    Around,
}

impl JsonEndScanner {
    /// A scanner of literals of Python.
    pub(crate) fn python() -> Self {
        Self { is_python: true, ..Self::default() }
    }

    /// Whether the value has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether the value has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether the value may have ended.
    pub(crate) fn may_end(&self) -> bool {
        self.has_ended || self.is_bare
    }

    /// Reads a character; `None` if it cannot belong to the value or stand around it.
    pub(crate) fn read(&mut self, c: char) -> Option<JsonPart> {
        let is_space = matches!(c, ' ' | '\n' | '\t' | '\r');
        if self.has_ended || !self.has_begun {
            if is_space {
                return Some(JsonPart::Around);
            }
            if self.has_ended {
                return None;
            }
        }
        self.has_begun = true;
        if let Some(quote) = self.quote {
            let ends = c == quote && !self.escaped;
            self.escaped = c == '\\' && !self.escaped;
            if ends {
                self.quote = None;
            }
            self.has_ended = ends && self.depth == 0;
            return Some(JsonPart::Value);
        }
        match c {
            '"' => self.quote = Some(c),
            '\'' if self.is_python => self.quote = Some(c),
            '{' | '[' => self.depth += 1,
            '}' | ']' => {
                self.depth = self.depth.checked_sub(1)?;
                self.has_ended = self.depth == 0;
            }
            _ if self.depth > 0 => {}
            'a'..='z' | '0'..='9' | '-' | '+' | '.' | 'E' => self.is_bare = true,
            'T' | 'F' | 'N' if self.is_python => self.is_bare = true,
            _ if is_space && self.is_bare => {
                (self.is_bare, self.has_ended) = (false, true);
                return Some(JsonPart::Around);
            }
            _ => return None,
        }
        Some(JsonPart::Value)
    }
}
