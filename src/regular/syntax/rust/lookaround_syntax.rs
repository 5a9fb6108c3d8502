//! Rewriting of look-around, atomic groups and possessive repeats for `regex-syntax`.
//!
//! `regex-syntax` does not parse them, but it parses named groups. So each becomes a group with a
//! reserved name, with all flags in force, and is found again by that name in the parsed tree. A
//! possessive repeat `x*+` becomes an atomic group `(?>x*)`.
//!
//! ```text
//! a(?=b)c*+   ──►   a(?P<_.extension.0>b)(?P<_.extension.1>c*)
//! ```

use crate::error::{Error, Result};
use crate::regular::syntax::pattern_error::error_at;

/// The meaning of a group with a reserved name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupExtension {
    Look { behind: bool, negated: bool },
    Atomic,
}

/// A pattern that `regex-syntax` parses, with the meanings of its reserved groups.
pub(crate) struct RewrittenPattern {
    pub(crate) text: String,
    /// By number in the reserved name: the meaning, and the byte in the original pattern.
    groups: Vec<(GroupExtension, usize)>,
    /// Bytes of the rewritten pattern with their bytes in the original, ascending; one pair for
    /// each change.
    places: Vec<(usize, usize)>,
}

/// Prefix of reserved names. Group names may contain dots, and nobody writes this one.
const NAME: &str = "_.extension.";

impl RewrittenPattern {
    /// The meaning of a group by its name, and its byte in the original.
    pub(crate) fn group(&self, name: &str) -> Option<(GroupExtension, usize)> {
        let number: usize = name.strip_prefix(NAME)?.parse().ok()?;
        self.groups.get(number).copied()
    }

    /// The byte in the original pattern of a byte in the rewritten one.
    pub(crate) fn place(&self, byte: usize) -> usize {
        let after = self.places.partition_point(|&(there, _)| there <= byte);
        match after.checked_sub(1).map(|at| self.places[at]) {
            Some((there, here)) => here + (byte - there),
            None => byte,
        }
    }
}

/// One change of the text: the bytes removed at a position, and what replaces them.
struct TextEdit {
    at: usize,
    removed: usize,
    text: String,
}

/// A scanner that finds what `regex-syntax` does not parse.
struct ExtensionScanner<'a> {
    text: &'a str,
    at: usize,
    edits: Vec<TextEdit>,
    groups: Vec<(GroupExtension, usize)>,
    /// The open groups: the byte of each, and whether the pattern is verbose after it.
    open: Vec<(usize, bool)>,
    /// Byte of the last atom, which a quantifier would repeat.
    atom: Option<usize>,
    /// Whether blanks and comments may stand in the pattern.
    verbose: bool,
}

/// Rewrites what `regex-syntax` does not parse.
///
/// Errors for backreferences, which no regular language has, and for marks that some read as a
/// possessive repeat and others as a repeat of a repeat.
pub(crate) fn rewrite(text: &str) -> Result<RewrittenPattern> {
    let (edits, groups, open) = (Vec::new(), Vec::new(), Vec::new());
    let mut scan =
        ExtensionScanner { text, at: 0, edits, groups, open, atom: None, verbose: false };
    while scan.at < text.len() {
        scan.next()?;
    }
    let ExtensionScanner { mut edits, groups, .. } = scan;
    edits.sort_by_key(|edit| edit.at);
    let (mut out, mut places, mut from) = (String::new(), Vec::new(), 0);
    for TextEdit { at, removed, text: new } in edits {
        out.push_str(&text[from..at]);
        places.push((out.len(), at));
        out.push_str(&new);
        from = at + removed;
        places.push((out.len(), from));
    }
    out.push_str(&text[from..]);
    Ok(RewrittenPattern { text: out, groups, places })
}

impl ExtensionScanner<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn name(&mut self, extension: GroupExtension, at: usize) -> String {
        self.groups.push((extension, at));
        format!("(?P<{NAME}{}>", self.groups.len() - 1)
    }

    fn next(&mut self) -> Result<()> {
        let start = self.at;
        // The caller has seen that there is one.
        let Some(c) = self.rest().chars().next() else { return Ok(()) };
        self.at += c.len_utf8();
        match c {
            '\\' => {
                self.escape(start)?;
                self.atom = Some(start);
            }
            '[' => {
                self.class();
                self.atom = Some(start);
            }
            '(' => {
                self.open.push((start, self.verbose));
                self.group(start)?;
                self.atom = None;
            }
            ')' => match self.open.pop() {
                Some((group, verbose)) => (self.atom, self.verbose) = (Some(group), verbose),
                None => self.atom = None,
            },
            '|' => self.atom = None,
            '*' | '+' | '?' => self.repeat(start, matches!(c, '*' | '+'))?,
            '{' if self.atom.is_some() => {
                let end = self.rest().find('}').map_or(self.text.len(), |end| self.at + end + 1);
                self.at = end;
                self.repeat(start, false)?;
            }
            '#' if self.verbose => {
                let rest = self.rest();
                self.at += rest.find('\n').unwrap_or(rest.len());
            }
            c if self.verbose && c.is_whitespace() => {}
            _ => self.atom = Some(start),
        }
        Ok(())
    }

    /// Reads what follows a quantifier: `?` for lazy, `+` for possessive.
    fn repeat(&mut self, start: usize, is_unbounded_mark: bool) -> Result<()> {
        if self.rest().starts_with('?') {
            self.at += 1;
        } else if self.rest().starts_with('+') {
            let Some(atom) = self.atom else { return Ok(()) };
            if !is_unbounded_mark {
                let mark = &self.text[start..=self.at];
                let message = format!(
                    "`{mark}` is a possessive repeat to some and repeats a repeat to others"
                );
                return Err(error_at(start, message)
                    .with_help("write `(?>…)` around the first repeat, or `(?:…)+`"));
            }
            let open = self.name(GroupExtension::Atomic, start);
            // Before what was put at the same place: this group holds it.
            let at = self.edits.iter().position(|edit| edit.at >= atom).unwrap_or(self.edits.len());
            self.edits.insert(at, TextEdit { at: atom, removed: 0, text: open });
            self.edits.push(TextEdit { at: self.at, removed: 1, text: ")".to_owned() });
            self.at += 1;
        }
        Ok(())
    }

    fn escape(&mut self, start: usize) -> Result<()> {
        let Some(c) = self.rest().chars().next() else { return Ok(()) };
        self.at += c.len_utf8();
        let back = c.is_ascii_digit() && c != '0'
            || matches!(c, 'k' | 'g') && self.rest().starts_with(['<', '{', '\'']);
        if back {
            return Err(backreference(start));
        }
        if c == 'N' && self.rest().starts_with('{') {
            return Err(error_at(start, "characters are not read by name: `\\N{…}`")
                .with_help("write the character itself, or `\\u{…}` with its number"));
        }
        let rest = self.rest();
        let operand = match c {
            'p' | 'P' | 'x' | 'u' | 'U' | 'b' | 'B' if rest.starts_with('{') => {
                rest.find('}').map_or(rest.len(), |end| end + 1)
            }
            'p' | 'P' => rest.chars().next().map_or(0, char::len_utf8),
            'x' => hex_digits(rest, 2),
            'u' => hex_digits(rest, 4),
            'U' => hex_digits(rest, 8),
            _ => 0,
        };
        self.at += operand;
        Ok(())
    }

    /// Skips to the bracket that closes the class whose opening bracket was just read.
    fn class(&mut self) {
        let mut depth = 1;
        let mut first = true;
        self.class_start();
        while depth > 0 {
            let Some(c) = self.rest().chars().next() else { return };
            self.at += c.len_utf8();
            match c {
                '\\' => {
                    let skipped = self.rest().chars().next().map_or(0, char::len_utf8);
                    self.at += skipped;
                }
                '[' => {
                    depth += 1;
                    self.class_start();
                    first = true;
                    continue;
                }
                // A bracket at the start of a class stands for itself.
                ']' if !first => depth -= 1,
                _ => {}
            }
            first = false;
        }
    }

    /// Skips what may stand between the bracket that opens a class and its first item.
    fn class_start(&mut self) {
        self.class_blanks();
        if self.rest().starts_with('^') {
            self.at += 1;
            self.class_blanks();
        }
    }

    /// Skips blanks and comments, which the flag `x` allows in a class, too.
    fn class_blanks(&mut self) {
        while self.verbose {
            match self.rest().chars().next() {
                Some('#') => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                Some(blank) if blank.is_whitespace() => self.at += blank.len_utf8(),
                _ => return,
            }
        }
    }

    /// Reads what follows the opening parenthesis of a group at `start`.
    ///
    /// Errors on backreferences and conditional groups, which have no regular meaning.
    fn group(&mut self, start: usize) -> Result<()> {
        if self.rest().starts_with("?P=") {
            return Err(backreference(start));
        }
        if self.rest().starts_with("?(") {
            return Err(error_at(start, "a conditional group has no regular meaning")
                .with_help("write the two cases as alternatives"));
        }
        let known = [
            ("?=", GroupExtension::Look { behind: false, negated: false }),
            ("?!", GroupExtension::Look { behind: false, negated: true }),
            ("?<=", GroupExtension::Look { behind: true, negated: false }),
            ("?<!", GroupExtension::Look { behind: true, negated: true }),
            ("?>", GroupExtension::Atomic),
        ];
        for (mark, extension) in known {
            if self.rest().starts_with(mark) {
                let text = self.name(extension, start);
                self.edits.push(TextEdit { at: start, removed: 1 + mark.len(), text });
                self.at += mark.len();
                return Ok(());
            }
        }
        let text = self.text;
        let Some(flags) = text[self.at..].strip_prefix('?') else { return Ok(()) };
        let end = flags.find([')', ':', '<']).unwrap_or(flags.len());
        let (on, off) = flags[..end].split_once('-').unwrap_or((&flags[..end], ""));
        let closes = &flags[end..];
        if closes.starts_with([')', ':']) {
            self.verbose = (self.verbose || on.contains('x')) && !off.contains('x');
            self.at += 1 + end;
            if closes.starts_with(':') {
                self.at += 1;
            } else if let Some((_, after)) = self.open.last_mut() {
                // Flags alone hold to the end of the group around.
                *after = self.verbose;
            }
        } else {
            // A name, up to its end.
            self.at += 1 + flags.find('>').map_or(end, |end| end + 1);
        }
        Ok(())
    }
}

/// The length of the hexadecimal digits at the start of a text, of at most so many.
fn hex_digits(text: &str, most: usize) -> usize {
    text.bytes().take(most).take_while(u8::is_ascii_hexdigit).count()
}

fn backreference(at: usize) -> Error {
    error_at(at, "a backreference has no regular meaning")
        .with_help("write out what may be repeated")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_pattern_as_written() {
        let rewritten = rewrite("a(?=b)c*+d").unwrap();
        assert_eq!(rewritten.text, "a(?P<_.extension.0>b)(?P<_.extension.1>c*)d");
        for (there, here) in [("b)", 4), ("c*)", 6), (")d", 8)] {
            assert_eq!(rewritten.place(rewritten.text.find(there).unwrap()), here, "{there}");
        }
        assert_eq!(rewritten.place(rewritten.text.len()), 10);
    }

    #[test]
    fn flags_hold_to_the_end_of_their_group() {
        let looks = |pattern: &str| rewrite(pattern).unwrap().groups.len();
        assert_eq!(looks("(?x: a )#(?=b)b"), 1);
        assert_eq!(looks("(?x)a(?-x)#(?=b)b"), 1);
        assert_eq!(looks("(?:(?x)a )#(?=b)b"), 1);
        assert_eq!(looks("(?x: a )#b*+c"), 1);
        assert_eq!(looks("(?x)(?:a)#(?=b)b"), 0);
        assert_eq!(looks("(?x)[ ](?=]"), 0);
        assert_eq!(looks("(?x)[#]\n^ ](?=]"), 0);
        assert_eq!(looks("[ ](?=b)b"), 1);
    }

    #[test]
    fn an_escape_with_its_operand_is_one_atom() {
        for atom in [r"\x41", r"\u0041", r"\U00000041", r"\x{41}", r"\pL", r"\PL", r"\p{L}", r"\n"]
        {
            let expected = format!("1(?P<_.extension.0>{atom}*)2");
            assert_eq!(rewrite(&format!("1{atom}*+2")).unwrap().text, expected);
        }
    }

    #[test]
    fn ordinary_patterns_stay() {
        for pattern in [
            r"(?:a|[)(?=*+]+?)\(?=",
            "(?x) a # (?=\n b",
            r"[]+*]|[^]]",
            "(?P<n>a)*?",
            "(?x: a # (?=\n )b",
            "a{2}?",
            r"\p{L}+b{start}",
        ] {
            assert_eq!(rewrite(pattern).unwrap().text, pattern);
        }
    }
}
