//! A byte offset of a text as people look for it: line and column, and the line with a caret.

/// Greatest number of characters of a line that [`caret_excerpt`] shows before the byte, and from
/// it on: two such halves fit a terminal of 120 columns and a bit.
const EXCERPT_HALF_CHARS: usize = 60;

/// Line and column (both from 1, columns in characters) of a byte offset in a text.
///
/// ```
/// use maskwright::error::line_column;
/// assert_eq!(line_column("é\nüb".as_bytes(), 5), (2, 2));
/// ```
pub fn line_column(text: &[u8], byte: usize) -> (usize, usize) {
    let before = &text[..byte.min(text.len())];
    let start = before.iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
    let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
    let column = before[start..].iter().filter(|&&b| b & 0xC0 != 0x80).count() + 1;
    (line, column)
}

/// The line of a text that holds a byte, and a caret under that byte, as two lines. Of a long line
/// only the part around the byte is shown; blanks stand for control characters.
///
/// ```
/// use maskwright::error::caret_excerpt;
/// assert_eq!(caret_excerpt("one\ntwo x\n", 8), "two x\n    ^");
/// ```
pub fn caret_excerpt(text: &str, byte: usize) -> String {
    let byte = byte.min(text.len());
    let byte = (0..=byte).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let before = text[..byte].rsplit('\n').next().unwrap_or_default();
    let after = text[byte..].split('\n').next().unwrap_or_default();
    let mut start: Vec<char> = before.chars().rev().take(EXCERPT_HALF_CHARS + 1).collect();
    if start.len() > EXCERPT_HALF_CHARS {
        start[EXCERPT_HALF_CHARS] = '…';
    }
    start.reverse();
    let end: String = after.chars().take(EXCERPT_HALF_CHARS).collect();
    let more = if after.chars().nth(EXCERPT_HALF_CHARS).is_some() { "…" } else { "" };
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    let line: String = start.iter().copied().chain(end.chars()).map(visible).collect();
    format!("{}{more}\n{}^", line.trim_end(), " ".repeat(start.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caret_stands_under_its_character() {
        assert_eq!(caret_excerpt("a\n\té b\nc", 5), " é b\n  ^");
        assert_eq!(caret_excerpt("ab", 2), "ab\n  ^");
        assert_eq!(caret_excerpt("", 7), "\n^");
        let long = "x".repeat(200);
        let shown = caret_excerpt(&long, 100);
        let (line, mark) = shown.split_once('\n').unwrap();
        assert_eq!(line.chars().count(), 122);
        assert_eq!(mark.chars().count(), 62);
    }

    #[test]
    fn columns_count_characters() {
        assert_eq!(line_column("é\nüb".as_bytes(), 5), (2, 2));
        assert_eq!(line_column(b"", 0), (1, 1));
        assert_eq!(line_column(b"a", 9), (1, 2));
    }
}
