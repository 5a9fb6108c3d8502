//! Texts by the JSON spelling of their characters: `unescaped(x)` holds the texts whose canonical
//! spelling inside a JSON string is in `x`.
//!
//! Sets of strings are languages of their spelling between quotes. Where a string is written as it
//! is (a tool argument between two tags), the same set is needed without escapes. Spelling maps
//! each byte to a string of bytes, so this is the inverse image of a homomorphism `h`, which is
//! regular and commutes with union, intersection and complement (Hopcroft, Ullman, "Introduction to
//! Automata Theory", 1979, theorem 3.5); its derivative by `b` is that of `x` by each byte of `h(b)`:
//!
//! ```text
//! h(a) = a    h(") = \"    h(line feed) = \n    h(U+0001) = \u0001
//! ∂_b unescaped(x) = unescaped(∂_h(b) x)
//! ```

use smallvec::SmallVec;

use super::expression::{Expression, Language, Row, UNBOUNDED};
use super::store::Languages;
use crate::regular::encoding::{Utf8, spelled_byte};
use crate::regular::{AnyJsonString, CodePoints, JsonString};

impl Languages {
    /// The texts whose canonical spelling inside a JSON string, as
    /// [`JsonString`](crate::regular::JsonString) has it, is in `x`.
    ///
    /// ```
    /// use maskwright::regular::Languages;
    /// let mut l = Languages::new();
    /// let spelled = l.literals([&br#"say \"no\"\n"#[..], b"yes"]);
    /// let texts = l.unescaped(spelled);
    /// assert!(l.matches(texts, b"say \"no\"\n")? && l.matches(texts, b"yes")?);
    /// assert!(!l.matches(texts, br#"say \"no\"\n"#)?);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn unescaped(&mut self, x: Language) -> Language {
        match self.arena.expr(x).clone() {
            _ if matches!(x, Language::EMPTY | Language::EPSILON | Language::ALL) => x,
            Expression::Union(xs) => {
                let parts: Vec<Language> = xs.iter().map(|&part| self.unescaped(part)).collect();
                self.union(parts)
            }
            Expression::Intersect(xs) => {
                let parts: Vec<Language> = xs.iter().map(|&part| self.unescaped(part)).collect();
                self.intersect(parts)
            }
            Expression::Complement(inner) => {
                let inner = self.unescaped(inner);
                self.complement(inner)
            }
            Expression::Repeat(unit, min, max) => {
                let all = [(0, 0x10_FFFF)];
                if unit == JsonString.class(self, &all) || unit == AnyJsonString.class(self, &all) {
                    let unit = Utf8.class(self, &all);
                    self.repeat(unit, min, (max != UNBOUNDED).then_some(max))
                } else {
                    self.intern(Expression::Unescaped(x))
                }
            }
            _ => self.intern(Expression::Unescaped(x)),
        }
    }
}

/// The states of `x` within the spelling of an escaped character whose rows are not known, as far
/// as known rows lead.
pub(super) fn states_without_row(languages: &Languages, x: Language) -> SmallVec<[Language; 2]> {
    let mut missing = SmallVec::new();
    // Before a backslash, within `\u001f`, and where the last two digits part.
    for path in [&b""[..], b"\\", b"\\u", b"\\u0", b"\\u00", b"\\u000", b"\\u001"] {
        let mut at = x;
        let known = path.iter().all(|&byte| match languages.arena.row(at) {
            Some(row) => {
                at = row[usize::from(byte)];
                true
            }
            None => false,
        });
        if known && languages.arena.row(at).is_none() {
            missing.push(at);
        }
    }
    missing
}

/// The row of `unescaped(x)`, where [`states_without_row`] finds none.
pub(super) fn row(languages: &mut Languages, x: Language) -> Row {
    let mut row = [Language::EMPTY; 256];
    let mut last = (Language::EMPTY, Language::EMPTY);
    for byte in 0..=u8::MAX {
        let next = spelled_byte(byte)
            .iter()
            .try_fold(x, |at, &byte| languages.arena.row(at).map(|row| row[usize::from(byte)]));
        let Some(next) = next else { continue };
        if next != last.0 {
            last = (next, languages.unescaped(next));
        }
        row[usize::from(byte)] = last.1;
    }
    row
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regular::{self, Anchoring, Dialect, Options};

    /// The same pattern over JSON spellings, unescaped, and over plain texts.
    #[test]
    fn patterns_mean_the_same_texts() {
        let mut l = Languages::new();
        let options = Options { dialect: Dialect::Ecma, anchoring: Anchoring::Search };
        let texts = [
            "", "a", "\"", "\\", "\\n", "\n", "\u{1}", "\u{1f}", "\t\"a\\", "é\n", "😀\"", "a\nb",
            "n", "u0001", "\\u0001", "\u{7f}", "\n\n", "</p>", "ab\"\n",
        ];
        for pattern in [
            "",
            "^a",
            "\\n",
            "^[^\\n]*$",
            "\"$",
            "^\\W+$",
            "^.{2,3}$",
            "\\\\",
            "[\\x00-\\x1f]",
            "^é",
            "^(a|\\n|\")*$",
        ] {
            let spelled = regular::parse(&mut l, pattern, options, &JsonString).unwrap();
            let plain = regular::parse(&mut l, pattern, options, &Utf8).unwrap();
            let any = regular::any_text(&mut l, &JsonString);
            let none = l.difference(any, spelled);
            let (found, others) = (l.unescaped(spelled), l.unescaped(none));
            for text in texts {
                let text = text.as_bytes();
                let expected = l.matches(plain, text).unwrap();
                assert_eq!(l.matches(found, text).unwrap(), expected, "{pattern} {text:?}");
                assert_eq!(l.matches(others, text).unwrap(), !expected, "{pattern} {text:?}");
            }
            assert!(!l.matches(found, b"\xff").unwrap() && !l.matches(others, b"\xff").unwrap());
            // Rows agree with single steps, and lead nowhere that is dead.
            let row = *l.row(found).unwrap();
            for byte in 0..=u8::MAX {
                let next = l.step(found, byte).unwrap();
                assert_eq!(next, row[usize::from(byte)], "{pattern} {byte}");
            }
            let expected = l.is_live(plain).unwrap();
            assert_eq!(l.is_live(found).unwrap(), expected, "{pattern}");
        }
    }
}
