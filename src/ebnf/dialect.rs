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

    /// The dialect that a text is most probably written in; none where no line looks like a rule.
    pub fn guess(text: &str) -> Option<Self> {
        Self::guess_with_reason(text).map(|(dialect, _)| dialect)
    }

    /// The dialect that a text is most probably written in, and the signs of it, for a message.
    ///
    /// It is recognised by directives (`%ignore`, `@pass`), else by the first sign between a name and its
    /// right-hand side, `::=`, `:` or `=`, and by what else only one of the notations with that sign
    /// writes.
    ///
    /// ```
    /// use maskwright::ebnf::Dialect;
    /// let (dialect, reason) = Dialect::guess_with_reason("root ::= [0-9]{2}").unwrap();
    /// assert_eq!((dialect, reason), (Dialect::Gbnf, "`::=` and a rule `root`"));
    /// ```
    pub fn guess_with_reason(text: &str) -> Option<(Self, &'static str)> {
        let text = without_byte_order_mark(text);
        // llguidance's list of grammars in JSON.
        if text.trim_start().starts_with('{') {
            return Some((Self::Lark, "a list of grammars in JSON"));
        }
        let begins = |marks: &[&str]| {
            text.lines().any(|line| marks.iter().any(|mark| line.trim_start().starts_with(mark)))
        };
        if begins(&LARK_DIRECTIVES) {
            return Some((Self::Lark, "a directive with `%`"));
        }
        if begins(&["@terminals", "@pass"]) {
            return Some((Self::W3c, "`@terminals` or `@pass`"));
        }
        let sign = text.lines().find_map(definition_sign)?;
        if sign.starts_with("::=") {
            return Some(definition_by_two_colons(text));
        }
        if sign.starts_with(':') || sign.starts_with('[') {
            return Some((Self::Lark, "`:` after the name of a rule"));
        }
        sign.starts_with('=').then(|| definition_by_equals(text))
    }
}

/// The text after a byte order mark, with which some editors begin a file.
pub(super) fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{FEFF}').unwrap_or(text)
}

/// Directives of Lark, of which ABNF's `%x41` is none.
const LARK_DIRECTIVES: [&str; 9] = [
    "%ignore",
    "%import",
    "%declare",
    "%override",
    "%extend",
    "%json",
    "%lark",
    "%regex",
    "%llguidance",
];

/// The rest of a line after the name at its beginning, from the sign of a definition on.
fn definition_sign(line: &str) -> Option<&str> {
    // A comment of ISO's notation in front of a rule.
    let (mut line, mut rest) = (line.trim(), line.trim().strip_prefix("(*"));
    while let Some((_, after)) = rest.and_then(|rest| rest.split_once("*)")) {
        (line, rest) = (after.trim(), after.trim().strip_prefix("(*"));
    }
    if ["#", "//", ";", "(*", "/*", "*", "%"].iter().any(|mark| line.starts_with(mark)) {
        return None;
    }
    let line = numbered(line).unwrap_or(line);
    let is_name = |c: char| c.is_alphanumeric() || "_-.?!{}, \t".contains(c);
    // Names in angle brackets are those of the first notation of this kind.
    let bracketed = line.strip_prefix('<').and_then(|line| line.split_once('>'));
    let sign = match bracketed {
        Some((_, after)) => after.trim_start(),
        None => {
            let end = line.find(|c| !is_name(c)).filter(|&end| end > 0)?;
            &line[end..]
        }
    };
    // XGrammar's options of a rule.
    let after = sign.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let after = after.map(|(_, rest)| rest.trim_start());
    Some(after.filter(|rest| rest.starts_with("::=")).unwrap_or(sign))
}

/// A production of the W3C without its number; none if it has none.
fn numbered(line: &str) -> Option<&str> {
    let (number, rest) = line.strip_prefix('[')?.split_once(']')?;
    let is_number = number.chars().all(|c| c.is_ascii_alphanumeric() || ".: ".contains(c));
    is_number.then(|| rest.trim_start())
}

/// GBNF or the W3C's notation.
fn definition_by_two_colons(text: &str) -> (Dialect, &'static str) {
    let lines = || text.lines().map(str::trim_start);
    let is_numbered = |line: &str| {
        numbered(line).is_some_and(|rest| rest.contains("::=") && !rest.starts_with("::="))
    };
    if lines().any(is_numbered) {
        return (Dialect::W3c, "`::=` and numbers of productions");
    }
    if lines().any(|line| line.starts_with('<') && line.contains("::=")) {
        return (Dialect::W3c, "`::=` and names in angle brackets");
    }
    if lines().any(|line| line.starts_with("/*")) {
        return (Dialect::W3c, "`::=` and a comment in `/* */`");
    }
    let is_root = |line: &str| {
        line.strip_prefix("root").is_some_and(|rest| rest.trim_start().starts_with(['[', ':']))
    };
    if lines().any(is_root) {
        return (Dialect::Gbnf, "`::=` and a rule `root`");
    }
    let code = without_strings(text);
    let is_code_point =
        |(at, _): (usize, &str)| code[at + 2..].starts_with(|c: char| c.is_ascii_hexdigit());
    if code.contains('\'') || code.match_indices("#x").any(is_code_point) {
        return (Dialect::W3c, "`::=`, and `#xN` or strings in `'`");
    }
    let counts = code
        .match_indices('{')
        .any(|(at, _)| code[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    let escapes = ["\\n", "\\t", "\\x", "\\u", "\\\"", "\\]"];
    if counts || escapes.iter().any(|escape| text.contains(escape)) {
        return (Dialect::Gbnf, "`::=`, and `{n}` or escapes with `\\`");
    }
    if lines().any(|line| line.starts_with("# ")) {
        return (Dialect::Gbnf, "`::=` and comments with `#`");
    }
    (Dialect::W3c, "`::=` without a rule `root`")
}

/// ISO 14977 or ABNF.
fn definition_by_equals(text: &str) -> (Dialect, &'static str) {
    let code = without_strings(text);
    // In ABNF a semicolon begins a comment, in ISO's notation little stands after it in its line.
    let code: String =
        code.lines().flat_map(|line| [line.split(';').next().unwrap_or(""), "\n"]).collect();
    let is_kind = |(at, _): (usize, &str)| {
        let kind = code[at + 1..].chars().next().map(|c| c.to_ascii_lowercase());
        kind.is_some_and(|c| "xdbsi".contains(c))
    };
    if code.match_indices('%').any(is_kind) {
        return (Dialect::Abnf, "`=`, and terminals with `%`");
    }
    if code.contains("=/") {
        return (Dialect::Abnf, "`=/`");
    }
    if code.contains(['{', '|', '\'', '`', ',']) || code.contains("(*") {
        return (Dialect::Iso, "`=`, and `{`, `|`, `,` or strings in `'`");
    }
    if text.trim_end().ends_with([';', '.']) && !text.trim_start().starts_with(';') {
        return (Dialect::Iso, "`=`, and `;` or `.` at the end of rules");
    }
    (Dialect::Abnf, "`=`, and no `;` or `.` at the end of rules")
}

/// A text without what stands in double quotes on one line.
fn without_strings(text: &str) -> String {
    let outside = |line: &str| line.split('"').step_by(2).collect::<Vec<_>>().join("\"");
    text.lines().map(outside).collect::<Vec<_>>().join("\n")
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
            ("text = %x20-21 /\n       %x23-5B\n", Some(Dialect::Abnf)),
            ("a = x *( OWS \",\" OWS x )", Some(Dialect::Abnf)),
            ("   date = 4DIGIT \"-\" 2DIGIT ; the day's date", Some(Dialect::Abnf)),
            ("Block = \"{\" List \"}\" .\nList = { Statement \";\" } .", Some(Dialect::Iso)),
            ("a = \"x\" | b ; b = \"y\" ;", Some(Dialect::Iso)),
            ("<s> ::= \"a\" <s> | \"b\"", Some(Dialect::W3c)),
            ("expr ::= term ('+' term)*", Some(Dialect::W3c)),
            ("[1] root ::= 'a'", Some(Dialect::W3c)),
            ("doc ::= item*\n@terminals\nitem ::= [a-z]", Some(Dialect::W3c)),
            ("item ::= [^\"\\\\]{2,}", Some(Dialect::Gbnf)),
            ("# a list\nitems ::= \"x\"", Some(Dialect::Gbnf)),
            ("a.b ::= \"x\"\nroot ::= a.b", Some(Dialect::Gbnf)),
            ("root\t::= \"a\"", Some(Dialect::Gbnf)),
            ("\u{FEFF}root ::= \"a\"", Some(Dialect::Gbnf)),
            ("(* c *) e = \"x\", \"y\" ;", Some(Dialect::Iso)),
            ("(* c\n c *)", None),
            ("", None),
            ("???", None),
        ] {
            assert_eq!(Dialect::guess(text), dialect, "{text:?}");
        }
    }
}
