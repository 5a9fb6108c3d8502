//! ECMA-262 patterns (2025 edition, section 22.2.1 with the `u` flag), and the leniences that
//! [`Dialect::Ecma`](super::Dialect) names.

use regex_syntax::hir::ClassUnicode;

use super::ecma_class::{self, Atom};
use super::ecma_syntax;
use super::parse::{NEST_LIMIT, error};
use super::pattern::{Look, Mark, Pattern, class};
use crate::error::Result;

pub(crate) fn parse(text: &str) -> Result<Pattern> {
    let mut parser = Parser { text, at: 0, depth: 0, flags: Flags::default() };
    let pattern = parser.disjunction()?;
    match parser.peek() {
        None => Ok(pattern),
        // A disjunction only stops at a parenthesis or the end.
        Some(_) => Err(error(parser.at, "unmatched `)`").with_help("write a literal one as `\\)`")),
    }
}

/// The modifiers in force (ECMA-262, section 22.2.1, `RegularExpressionModifiers`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) ignore_case: bool,
    multiline: bool,
    dot_all: bool,
}

/// A cursor over the pattern's text.
pub(crate) struct Parser<'a> {
    text: &'a str,
    pub(crate) at: usize,
    depth: u32,
    pub(crate) flags: Flags,
}

impl<'a> Parser<'a> {
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(crate) fn eat(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    fn disjunction(&mut self) -> Result<Pattern> {
        let mut alternatives = Vec::new();
        loop {
            let mut terms = Vec::new();
            while !matches!(self.peek(), None | Some('|' | ')')) {
                terms.extend(self.term()?);
            }
            alternatives.push(one_or(terms, Pattern::Concat));
            if !self.eat("|") {
                return Ok(one_or(alternatives, Pattern::Alternate));
            }
        }
    }

    /// One term with its quantifier; none if it only sets flags.
    fn term(&mut self) -> Result<Option<Pattern>> {
        let start = self.at;
        // `disjunction` has seen that there is a character.
        let Some(c) = self.next() else { return Ok(None) };
        let mark = |name| Mark { byte: start, name };
        let atom = match c {
            '^' | '$' => {
                let pattern = match (c, self.flags.multiline) {
                    ('^', false) => Pattern::look(Look::Start, mark("`^`")),
                    ('^', true) => Pattern::line_start(line_breaks(), mark("`^`")),
                    (_, false) => Pattern::look(Look::End, mark("`$`")),
                    (_, true) => Pattern::line_end(line_breaks(), mark("`$`")),
                };
                return self.unrepeated(pattern, "an anchor");
            }
            '(' => match self.group(start)? {
                Group::Atom(pattern) => pattern,
                Group::Behind(pattern) => return self.unrepeated(pattern, "a lookbehind"),
                Group::Flags => return Ok(None),
            },
            '.' => {
                let mut any = if self.flags.dot_all { class([]) } else { line_breaks() };
                any.negate();
                Pattern::Class(any)
            }
            '[' => Pattern::Class(ecma_class::class(self, start)?),
            '\\' if matches!(self.peek(), Some('b' | 'B')) => {
                let negated = self.next() == Some('B');
                let name = if negated { "`\\B`" } else { "`\\b`" };
                let word = ecma_class::word(self.flags);
                let boundary = Pattern::word_boundary(&word, negated, mark(name));
                return self.unrepeated(boundary, "a word boundary");
            }
            '\\' => match ecma_class::escape(self, start, false)? {
                Atom::Char(c) => self.literal(c),
                Atom::Set(set) => Pattern::Class(set),
            },
            '*' | '+' | '?' => return Err(nothing_to_repeat(start, c)),
            '{' if self.count(start)?.is_some() => return Err(nothing_to_repeat(start, c)),
            // Annex B.1.2, ExtendedPatternCharacter: a brace or bracket that opens nothing.
            _ => self.literal(u32::from(c)),
        };
        self.quantified(atom).map(Some)
    }

    /// A code point that stands for itself. A lone surrogate is in no text.
    fn literal(&self, c: u32) -> Pattern {
        let c = char::from_u32(c).map(|c| (c, c));
        Pattern::Class(ecma_class::folded(class(c), self.flags))
    }

    fn unrepeated(&mut self, pattern: Pattern, what: &str) -> Result<Option<Pattern>> {
        match self.peek() {
            Some(c @ ('*' | '+' | '?')) => {
                Err(error(self.at, format!("`{c}` cannot repeat {what}, which has no length"))
                    .with_help("leave it out, or put a group around what is optional"))
            }
            _ => Ok(Some(pattern)),
        }
    }

    fn quantified(&mut self, atom: Pattern) -> Result<Pattern> {
        let (start, rest) = (self.at, self.rest());
        let (min, max) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.count(start)? {
                Some((min, max, length)) => {
                    // The closing brace is skipped below like the other marks.
                    self.at += length - 1;
                    (min, max)
                }
                None => return Ok(atom),
            },
            _ => return Ok(atom),
        };
        self.at += 1;
        if max.is_some_and(|max| max < min) {
            let message = format!("`{}` counts down", &rest[..self.at - start]);
            return Err(error(start, message).with_help("write the smaller number first"));
        }
        // A lazy match finds the same texts.
        self.eat("?");
        match self.peek() {
            Some('+') => Err(error(self.at, "possessive repeats are not in ECMA-262")
                .with_help("leave out the second `+`")),
            Some(c @ ('*' | '?')) => Err(nothing_to_repeat(self.at, c)),
            Some('{') if self.count(self.at)?.is_some() => Err(nothing_to_repeat(self.at, '{')),
            _ => Ok(Pattern::Repeat { body: Box::new(atom), min, max }),
        }
    }

    /// The count in braces at a place, if one stands there.
    fn count(&self, at: usize) -> Result<Option<(u32, Option<u32>, usize)>> {
        ecma_class::count(&self.text[at..]).map_err(|e| e.at_byte(at))
    }

    /// What follows an opening parenthesis at `start`, with the closing one.
    fn group(&mut self, start: usize) -> Result<Group> {
        if self.depth >= NEST_LIMIT {
            let message = format!("groups nest deeper than {NEST_LIMIT}");
            return Err(error(start, message).with_help("flatten the pattern"));
        }
        let outer = self.flags;
        let mut look = None;
        if self.eat("?") {
            if self.eat(":") {
            } else if self.eat("=") || self.eat("!") {
                look = Some((false, self.text[..self.at].ends_with('!')));
            } else if self.eat("<=") || self.eat("<!") {
                look = Some((true, self.text[..self.at].ends_with('!')));
            } else if self.eat("<") || self.eat("P<") {
                self.name(start)?;
            } else if self.modifiers(start)? {
                return Ok(Group::Flags);
            }
        }
        self.depth += 1;
        let body = self.disjunction()?;
        self.depth -= 1;
        self.flags = outer;
        if !self.eat(")") {
            return Err(error(start, "this group is never closed").with_help("add `)`"));
        }
        let mark = |name| Mark { byte: start, name };
        Ok(match look {
            None => Group::Atom(body),
            Some((false, negated)) => {
                Group::Atom(Pattern::ahead(body, negated, mark("a lookahead")))
            }
            Some((true, negated)) => {
                Group::Behind(Pattern::behind(body, negated, mark("a lookbehind")))
            }
        })
    }

    /// The name of a group, and its `>`. The name only matters to backreferences.
    fn name(&mut self, start: usize) -> Result<()> {
        let mut first = true;
        while first || !self.eat(">") {
            let c = match self.next() {
                Some('\\') if self.eat("u") => ecma_class::unicode(self, start)?,
                Some(c) => c.into(),
                None => return Err(no_name(start)),
            };
            if !ecma_syntax::is_of_name(c, first) {
                return Err(no_name(start));
            }
            first = false;
        }
        Ok(())
    }

    /// `ims-ims` and a colon, or the closing parenthesis of a group that only sets flags; true
    /// for the latter.
    fn modifiers(&mut self, start: usize) -> Result<bool> {
        let mut on = true;
        loop {
            let at = self.at;
            match self.next() {
                Some('i') => self.flags.ignore_case = on,
                Some('m') => self.flags.multiline = on,
                Some('s') => self.flags.dot_all = on,
                Some('-') if on => on = false,
                Some(':') if at > start + 2 => return Ok(false),
                Some(')') if at > start + 2 => return Ok(true),
                found => return Err(unknown_group(start, at, found)),
            }
        }
    }
}

enum Group {
    Atom(Pattern),
    Behind(Pattern),
    Flags,
}

fn one_or(mut parts: Vec<Pattern>, many: impl Fn(Vec<Pattern>) -> Pattern) -> Pattern {
    match parts.len() {
        1 => parts.swap_remove(0),
        _ => many(parts),
    }
}

/// LineTerminator (ECMA-262, section 12.3).
fn line_breaks() -> ClassUnicode {
    class([('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')])
}

fn nothing_to_repeat(at: usize, c: char) -> crate::error::Error {
    error(at, format!("nothing stands before `{c}` that it could repeat"))
        .with_help(format!("write a literal one as `\\{c}`"))
}

fn no_name(start: usize) -> crate::error::Error {
    error(start, "the name of this group is not an identifier")
        .with_help("write it as `(?<name>…)`")
}

fn unknown_group(start: usize, at: usize, found: Option<char>) -> crate::error::Error {
    let message = match found {
        Some('>') => "atomic groups are not in ECMA-262".to_owned(),
        Some('#') => "comments are not in ECMA-262".to_owned(),
        Some('(') => "conditional groups are not in ECMA-262".to_owned(),
        Some('P') => "`(?P` must go on with `<` and a name".to_owned(),
        Some(c) => format!("`{c}` is unknown after `(?`"),
        None => return error(start, "this group is never closed").with_help("add `)`"),
    };
    error(at, message)
        .with_help("groups begin with `(`, `(?:`, `(?=`, `(?!`, `(?<=`, `(?<!`, `(?<name>`, `(?i:`")
}
