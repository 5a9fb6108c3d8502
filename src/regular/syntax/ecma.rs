//! ECMA-262 patterns (2025 edition, section 22.2.1 with the `u` flag), and the leniences that
//! [`Dialect::Ecma`](crate::regular::Dialect) names.

mod class;
pub(crate) mod identifiers;

use regex_syntax::hir::ClassUnicode;

use self::class::PatternAtom;
use super::pattern::{Assertion, AssertionSource, Pattern, class_of};
use super::pattern_cursor::PatternCursor;
use super::pattern_error::{MAX_NESTED_GROUPS, error_at};
use crate::error::Result;

/// The syntax tree of a pattern.
pub(crate) fn parse(text: &str) -> Result<Pattern> {
    let mut parser = EcmaParser { cursor: PatternCursor::new(text), depth: 0 };
    let pattern = parser.disjunction()?;
    match parser.cursor.peek() {
        None => Ok(pattern),
        // A disjunction only stops at a parenthesis or the end.
        Some(_) => {
            Err(error_at(parser.cursor.at, "unmatched `)`")
                .with_help("write a literal one as `\\)`"))
        }
    }
}

/// A recursive-descent parser of patterns.
struct EcmaParser<'a> {
    cursor: PatternCursor<'a>,
    /// Groups that are open.
    depth: u32,
}

impl EcmaParser<'_> {
    fn disjunction(&mut self) -> Result<Pattern> {
        let mut alternatives = Vec::new();
        loop {
            let mut terms = Vec::new();
            while !matches!(self.cursor.peek(), None | Some('|' | ')')) {
                terms.extend(self.term()?);
            }
            alternatives.push(one_or(terms, Pattern::Concat));
            if !self.cursor.eat("|") {
                return Ok(one_or(alternatives, Pattern::Alternate));
            }
        }
    }

    /// One term with its quantifier; none if it only sets flags.
    fn term(&mut self) -> Result<Option<Pattern>> {
        let start = self.cursor.at;
        // `disjunction` has seen that there is a character.
        let Some(c) = self.cursor.next() else { return Ok(None) };
        let mark = |name| AssertionSource { byte: start, name };
        let atom = match c {
            '^' | '$' => {
                let pattern = match (c, self.cursor.flags.multiline) {
                    ('^', false) => Pattern::look(Assertion::Start, mark("`^`")),
                    ('^', true) => Pattern::line_start(line_breaks(), mark("`^`")),
                    (_, false) => Pattern::look(Assertion::End, mark("`$`")),
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
                let mut any = if self.cursor.flags.dot_all { class_of([]) } else { line_breaks() };
                any.negate();
                Pattern::Class(any)
            }
            '[' => Pattern::Class(class::parse_class(&mut self.cursor, start)?),
            '\\' if matches!(self.cursor.peek(), Some('b' | 'B')) => {
                let negated = self.cursor.next() == Some('B');
                let name = if negated { "`\\B`" } else { "`\\b`" };
                let word = class::word_class(self.cursor.flags);
                let boundary = Pattern::word_boundary(&word, negated, mark(name));
                return self.unrepeated(boundary, "a word boundary");
            }
            '\\' => match class::parse_escape(&mut self.cursor, start, false)? {
                PatternAtom::Char(c) => self.literal(c),
                PatternAtom::Set(set) => Pattern::Class(set),
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
        Pattern::Class(class::case_folded(class_of(c), self.cursor.flags))
    }

    /// A pattern without length, after which no quantifier may stand.
    fn unrepeated(&mut self, pattern: Pattern, what: &str) -> Result<Option<Pattern>> {
        match self.cursor.peek() {
            Some(c @ ('*' | '+' | '?')) => Err(error_at(
                self.cursor.at,
                format!("`{c}` cannot repeat {what}, which has no length"),
            )
            .with_help("leave it out, or put a group around what is optional")),
            _ => Ok(Some(pattern)),
        }
    }

    /// An atom with the quantifier that follows it, if any.
    fn quantified(&mut self, atom: Pattern) -> Result<Pattern> {
        let (start, rest) = (self.cursor.at, self.cursor.rest());
        let (min, max) = match self.cursor.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.count(start)? {
                Some((min, max, length)) => {
                    // The closing brace is skipped below like the other marks.
                    self.cursor.at += length - 1;
                    (min, max)
                }
                None => return Ok(atom),
            },
            _ => return Ok(atom),
        };
        self.cursor.at += 1;
        if max.is_some_and(|max| max < min) {
            let message = format!("`{}` counts down", &rest[..self.cursor.at - start]);
            return Err(error_at(start, message).with_help("write the smaller number first"));
        }
        let greedy = !self.cursor.eat("?");
        match self.cursor.peek() {
            Some('+') => Err(error_at(self.cursor.at, "possessive repeats are not in ECMA-262")
                .with_help("leave out the second `+`")),
            Some(c @ ('*' | '?')) => Err(nothing_to_repeat(self.cursor.at, c)),
            Some('{') if self.count(self.cursor.at)?.is_some() => {
                Err(nothing_to_repeat(self.cursor.at, '{'))
            }
            _ => Ok(Pattern::Repeat { body: Box::new(atom), min, max, greedy }),
        }
    }

    /// The count in braces at a place, if one stands there.
    fn count(&self, at: usize) -> Result<Option<(u32, Option<u32>, usize)>> {
        class::parse_count(&self.cursor.text[at..]).map_err(|e| e.at_byte(at))
    }

    /// The rest of a group that was opened at `start`, with its closing parenthesis.
    fn group(&mut self, start: usize) -> Result<Group> {
        if self.depth >= MAX_NESTED_GROUPS {
            let message = format!("groups nest deeper than {MAX_NESTED_GROUPS}");
            return Err(error_at(start, message).with_help("flatten the pattern"));
        }
        let outer = self.cursor.flags;
        let mut look = None;
        if self.cursor.eat("?") {
            if self.cursor.eat(":") {
            } else if self.cursor.eat("=") || self.cursor.eat("!") {
                look = Some((false, self.cursor.text[..self.cursor.at].ends_with('!')));
            } else if self.cursor.eat("<=") || self.cursor.eat("<!") {
                look = Some((true, self.cursor.text[..self.cursor.at].ends_with('!')));
            } else if self.cursor.eat("<") || self.cursor.eat("P<") {
                self.name(start)?;
            } else if self.modifiers(start)? {
                return Ok(Group::Flags);
            }
        }
        self.depth += 1;
        let body = self.disjunction()?;
        self.depth -= 1;
        self.cursor.flags = outer;
        if !self.cursor.eat(")") {
            return Err(error_at(start, "this group is never closed").with_help("add `)`"));
        }
        let mark = |name| AssertionSource { byte: start, name };
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
        while first || !self.cursor.eat(">") {
            let c = match self.cursor.next() {
                Some('\\') if self.cursor.eat("u") => {
                    class::parse_unicode_escape(&mut self.cursor, start)?
                }
                Some(c) => c.into(),
                None => return Err(no_name(start)),
            };
            if !identifiers::is_group_name_char(c, first) {
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
            let at = self.cursor.at;
            match self.cursor.next() {
                Some('i') => self.cursor.flags.ignore_case = on,
                Some('m') => self.cursor.flags.multiline = on,
                Some('s') => self.cursor.flags.dot_all = on,
                Some('-') if on => on = false,
                Some(':') if at > start + 2 => return Ok(false),
                Some(')') if at > start + 2 => return Ok(true),
                found => return Err(unknown_group(start, at, found)),
            }
        }
    }
}

/// A group, as its prefix says.
enum Group {
    Atom(Pattern),
    Behind(Pattern),
    Flags,
}

/// The only part, or `many` of them.
fn one_or(mut parts: Vec<Pattern>, many: impl Fn(Vec<Pattern>) -> Pattern) -> Pattern {
    match parts.len() {
        1 => parts.swap_remove(0),
        _ => many(parts),
    }
}

/// LineTerminator (ECMA-262, section 12.3).
fn line_breaks() -> ClassUnicode {
    class_of([('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')])
}

fn nothing_to_repeat(at: usize, c: char) -> crate::error::Error {
    error_at(at, format!("nothing stands before `{c}` that it could repeat"))
        .with_help(format!("write a literal one as `\\{c}`"))
}

fn no_name(start: usize) -> crate::error::Error {
    error_at(start, "the name of this group is not an identifier")
        .with_help("write it as `(?<name>…)`")
}

fn unknown_group(start: usize, at: usize, found: Option<char>) -> crate::error::Error {
    let message = match found {
        Some('>') => "atomic groups are not in ECMA-262".to_owned(),
        Some('#') => "comments are not in ECMA-262".to_owned(),
        Some('(') => "conditional groups are not in ECMA-262".to_owned(),
        Some('P') => "`(?P` goes on with `<` and a name here, and `(?P=…)` is a backreference, which has no regular \
                      meaning"
            .to_owned(),
        Some(c) => format!("`{c}` is unknown after `(?`"),
        None => return error_at(start, "this group is never closed").with_help("add `)`"),
    };
    error_at(at, message)
        .with_help("groups begin with `(`, `(?:`, `(?=`, `(?!`, `(?<=`, `(?<!`, `(?<name>`, `(?i:`")
}
