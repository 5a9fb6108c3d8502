//! The end of a JSON value in a stream of characters.

/// Scanner for the end of a JSON value. The constraint says that the text is JSON, so brackets and
/// strings are all that it looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct JsonEndScanner {
    /// Open brackets.
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// Whether the value is a number or a literal without brackets, which ends where another kind
    /// of character comes.
    pub(super) is_bare: bool,
}

impl JsonEndScanner {
    /// Reads a character; `None` if it cannot belong to the value, else whether it ends it.
    pub(super) fn read(&mut self, c: char) -> Option<bool> {
        if self.in_string {
            let ends = c == '"' && !self.escaped;
            self.escaped = c == '\\' && !self.escaped;
            self.in_string = !ends;
            return Some(ends && self.depth == 0);
        }
        match c {
            '"' => self.in_string = true,
            '{' | '[' => self.depth += 1,
            '}' | ']' => {
                self.depth = self.depth.checked_sub(1)?;
                return Some(self.depth == 0);
            }
            _ if self.depth > 0 => {}
            'a'..='z' | '0'..='9' | '-' | '+' | '.' | 'E' => self.is_bare = true,
            ' ' | '\n' | '\t' | '\r' if !self.is_bare => {}
            _ => return None,
        }
        Some(false)
    }
}
