//! A scanner of JSON texts that may be cut off: brackets, keys, and nothing else.

/// Byte offset after the opening bracket of the innermost array or object around a byte of a JSON
/// text; 0 if there is none around it.
pub fn enclosing_content(text: &[u8], byte: usize) -> usize {
    let (mut open, mut at) = (vec![0], 0);
    while at < byte {
        let Some(length) = token_length(&text[at..]) else { break };
        if at + length > byte {
            break;
        }
        match text[at] {
            b'{' | b'[' => open.push(at + 1),
            b'}' | b']' if open.len() > 1 => {
                open.pop();
            }
            _ => {}
        }
        at += length;
    }
    open.pop().unwrap_or(0)
}

/// An array or object that is open at the scanner's position.
struct OpenBracket {
    /// Keys read so far; `None` for an array.
    keys: Option<Vec<String>>,
    /// Items before the position, for an array.
    items: usize,
    /// Whether a key comes next.
    is_at_key: bool,
}

/// Reads the brackets and keys of a JSON text, and skips everything else.
struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
    open: Vec<OpenBracket>,
}

impl Scanner<'_> {
    /// Reads one token, of which a string is one.
    fn step(&mut self) -> Option<()> {
        let start = self.at;
        self.at += token_length(self.text.get(start..)?)?;
        match *self.text.get(start)? {
            b'{' => {
                self.open.push(OpenBracket { keys: Some(Vec::new()), items: 0, is_at_key: true })
            }
            b'[' => self.open.push(OpenBracket { keys: None, items: 0, is_at_key: false }),
            b'}' | b']' => {
                self.open.pop();
            }
            b',' => {
                let level = self.open.last_mut()?;
                (level.items, level.is_at_key) = (level.items + 1, level.keys.is_some());
            }
            b'"' => {
                let text = &self.text[start..self.at];
                if let Some(OpenBracket { keys: Some(keys), is_at_key, .. }) = self.open.last_mut()
                    && std::mem::take(is_at_key)
                {
                    keys.push(serde_json::from_slice(text).ok()?);
                }
            }
            _ => {}
        }
        Some(())
    }
}

/// The keys of an object, as far as they explain a rejection.
pub(super) enum ObjectKeys {
    All(Vec<String>),
    /// The key at the rejected byte, which the object has already.
    Repeated(String),
}

/// JSON pointer and keys of the object that ends at a byte, or in which a key stands there.
pub(super) fn object_around(text: &[u8], byte: usize) -> Option<(String, ObjectKeys)> {
    let mut scanner = Scanner { text, at: 0, open: Vec::new() };
    let mut pointer = String::new();
    let repeated: Option<String> = loop {
        let level = scanner.open.last();
        let rest = text.get(scanner.at..)?;
        let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let next = *rest.get(blank)?;
        // The token in which the byte stands, or before which.
        let length = token_length(&rest[blank..]).unwrap_or(rest.len());
        let ends = scanner.at + blank + length > byte;
        if ends {
            let keyed = level.is_some_and(|level| level.keys.is_some());
            let at_key = level.is_some_and(|level| level.is_at_key) && next == b'"';
            if !keyed || !(at_key || next == b'}') {
                return None;
            }
            let key = rest.get(blank..blank + length).filter(|_| at_key);
            let key = key.and_then(|key| serde_json::from_slice(key).ok());
            let before = level.and_then(|level| level.keys.as_ref());
            break key.filter(|key| before.is_some_and(|keys| keys.contains(key)));
        }
        scanner.at += blank;
        scanner.step()?;
    };
    let depth = scanner.open.len();
    for level in &scanner.open[..depth - 1] {
        let token = match &level.keys {
            Some(keys) => keys.last()?.replace('~', "~0").replace('/', "~1"),
            None => level.items.to_string(),
        };
        pointer += "/";
        pointer += &token;
    }
    if let Some(name) = repeated {
        return Some((pointer, ObjectKeys::Repeated(name)));
    }
    // Keys that come later are not lacking.
    loop {
        let last = scanner.open.len() == depth && scanner.text.get(scanner.at) == Some(&b'}');
        if last {
            return Some((pointer, ObjectKeys::All(scanner.open.pop()?.keys?)));
        }
        scanner.step()?;
    }
}

/// The length of the string at the start of a text that has an end, or of one byte.
fn token_length(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    if text.first()? == &b'"' {
        while *text.get(at)? != b'"' {
            at += if text[at] == b'\\' { 2 } else { 1 };
        }
        at += 1;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_around_are_found() {
        for (text, byte, expected) in [
            ("12", 1, 0),
            (r#"["[", {"a": []}, 1"#, 18, 1),
            (r#"{"a": [1, "x"#, 12, 7),
            ("[]", 0, 0),
        ] {
            assert_eq!(enclosing_content(text.as_bytes(), byte), expected, "{text}");
        }
    }
}
