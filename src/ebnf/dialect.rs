//! [`Dialect`]: the notations by name, by file ending, and by guess.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::error::{Error, ErrorKind};

/// The notation of a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// llama.cpp's notation (its `grammars/README.md`); the start is `root`.
    Gbnf,
    /// Lark's notation as llguidance and XGrammar users write it; the start is `start`.
    Lark,
    /// The EBNF of XML 1.0, section 6; the start is the first rule.
    W3c,
    /// ISO/IEC 14977:1996; the start is the first rule.
    Iso,
    /// RFC 5234 with RFC 7405; the start is the first rule.
    Abnf,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Gbnf, Self::Lark, Self::W3c, Self::Iso, Self::Abnf];

    /// Its name, which is also the ending of its files; `ebnf` is the W3C's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gbnf => "gbnf",
            Self::Lark => "lark",
            Self::W3c => "ebnf",
            Self::Iso => "iso-ebnf",
            Self::Abnf => "abnf",
        }
    }

    /// The dialect that a file's ending names.
    pub fn of_file(file: impl AsRef<Path>) -> Option<Self> {
        let ending = file.as_ref().extension()?.to_str()?.to_ascii_lowercase();
        Self::ALL.into_iter().find(|dialect| dialect.name() == ending)
    }

    /// The dialect that a text is most probably written in, by the first sign between a name and
    /// its right-hand side: `::=` (W3C's where a rule `root` is missing), `:` (Lark), `=` (ISO
    /// where a `;` or `.` ends the rule, else ABNF). None where no line looks like a rule.
    pub fn guess(text: &str) -> Option<Self> {
        // llguidance's list of grammars in JSON.
        if text.trim_start().starts_with('{') {
            return Some(Self::Lark);
        }
        let is_comment = |line: &str| {
            ["#", "//", ";", "(*", "/*", "*", "%"].iter().any(|mark| line.starts_with(mark))
        };
        let mut lines = text.lines().map(str::trim).filter(|line| !is_comment(line));
        let is_name = |c: char| c.is_alphanumeric() || "_-.?!{}, ".contains(c);
        let sign = lines.find_map(|line| {
            // A production of the W3C may be numbered.
            let line = match line.strip_prefix('[').and_then(|line| line.split_once(']')) {
                Some((number, rest))
                    if number.trim().chars().all(|c| c.is_ascii_alphanumeric()) =>
                {
                    rest.trim_start()
                }
                _ => line,
            };
            let end = line.find(|c| !is_name(c))?;
            let sign = &line[end..];
            // XGrammar's options of a rule.
            let behind = sign.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            let behind = behind.map(|(_, rest)| rest.trim_start());
            let sign = behind.filter(|rest| rest.starts_with("::=")).unwrap_or(sign);
            (end > 0).then_some(sign)
        });
        if text.lines().any(|line| line.trim_start().starts_with('%')) {
            return Some(Self::Lark);
        }
        let sign = sign?;
        if sign.starts_with("::=") {
            let root = |line: &str| {
                line.trim_start()
                    .strip_prefix("root")
                    .is_some_and(|rest| rest.trim_start().starts_with(['[', ':']))
            };
            return Some(if text.lines().any(root) { Self::Gbnf } else { Self::W3c });
        }
        if sign.starts_with(':') || sign.starts_with('[') {
            return Some(Self::Lark);
        }
        if sign.starts_with("=/") {
            return Some(Self::Abnf);
        }
        if sign.starts_with('=') {
            // In ABNF a semicolon begins a comment, it never ends what stands before it.
            let is_ended = text.trim_end().ends_with([';', '.', ')']);
            let has_comma = text.lines().any(|line| {
                let code = line.split(';').next().unwrap_or_default();
                code.trim_end().ends_with(',') || code.contains("\",") || code.contains("',")
            });
            return Some(if is_ended && (has_comma || text.trim_end().ends_with([';', '.'])) {
                Self::Iso
            } else {
                Self::Abnf
            });
        }
        None
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gbnf => "GBNF",
            Self::Lark => "Lark",
            Self::W3c => "W3C EBNF",
            Self::Iso => "ISO 14977 EBNF",
            Self::Abnf => "ABNF",
        })
    }
}

impl FromStr for Dialect {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name).ok_or_else(|| {
            Error::new(ErrorKind::Grammar, format!("`{name}` is no dialect of grammars"))
                .with_help("known are gbnf, lark, ebnf, iso-ebnf, abnf")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_and_guesses() {
        assert_eq!(Dialect::of_file("a/b.LARK"), Some(Dialect::Lark));
        assert_eq!(Dialect::of_file("x.iso-ebnf"), Some(Dialect::Iso));
        assert_eq!(Dialect::of_file("x.txt"), None);
        for dialect in Dialect::ALL {
            assert_eq!(dialect.name().parse::<Dialect>().unwrap(), dialect);
        }
        for (text, dialect) in [
            ("# c\nroot ::= \"a\"", Some(Dialect::Gbnf)),
            ("item ::= \"a\"\nroot::= item", Some(Dialect::Gbnf)),
            ("[1] document ::= prolog element\n", Some(Dialect::W3c)),
            ("start: a+\na: \"x\"", Some(Dialect::Lark)),
            ("// x\n%import common.INT\n?start: INT", Some(Dialect::Lark)),
            ("f[lazy]: /x/", Some(Dialect::Lark)),
            ("f::_: \"x\" f::incr(_)", Some(Dialect::Lark)),
            ("name[lazy] ::= [a-z]+\nroot ::= name", Some(Dialect::Gbnf)),
            ("root[capture] ::= [a-z]+", Some(Dialect::Gbnf)),
            ("(* c *)\nsyntax rule = name, \"=\" ;", Some(Dialect::Iso)),
            ("a = 'x' | b ;\nb = 'y';\n", Some(Dialect::Iso)),
            ("; c\nurl = scheme \":\" rest ; x\nscheme = 1*ALPHA", Some(Dialect::Abnf)),
            ("a =/ \"x\"", Some(Dialect::Abnf)),
            ("{\"grammars\": []}", Some(Dialect::Lark)),
            ("", None),
            ("???", None),
        ] {
            assert_eq!(Dialect::guess(text), dialect, "{text:?}");
        }
    }
}
