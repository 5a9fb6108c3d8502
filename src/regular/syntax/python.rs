//! Patterns of Python's `re` module for texts (`str`), as Python 3.14 documents them.
//!
//! `\d`, `\w`, `\s` and letters of either case are Unicode's, `(?a)` makes them ASCII's. `$` is the
//! end of the text or the place before a line feed that ends it, `\Z` the end alone. A `[` within
//! a class is a character. Worked example: of `(?i)a$` the whole texts are `a` and `A`, and a text
//! is found to end in it where it ends in `a`, `A`, `a\n` or `A\n`.
//!
//! Beyond Python, lookbehinds may have any length, and `(?<name>…)` is a group with a name. Refused
//! by name: backreferences, conditional groups, and characters by name (`\N{…}`).

mod escape;

use regex_syntax::hir::ClassUnicode;

use self::escape::PythonEscape;
use super::pattern::{Assertion, AssertionSource, Pattern, class_of};
use super::pattern_cursor::PatternCursor;
use super::pattern_error::{MAX_NESTED_GROUPS, error_at};
use crate::error::{Error, Result};

/// The syntax tree of a pattern.
pub(crate) fn parse(text: &str) -> Result<Pattern> {
    let mut parser = PythonParser { cursor: PatternCursor::new(text), depth: 0, is_begun: false };
    let pattern = parser.alternatives()?;
    match parser.cursor.peek() {
        None => Ok(pattern),
        // Alternatives only stop at a parenthesis or the end.
        Some(_) => {
            Err(error_at(parser.cursor.at, "unmatched `)`")
                .with_help("write a literal one as `\\)`"))
        }
    }
}

/// A recursive-descent parser of patterns.
struct PythonParser<'a> {
    cursor: PatternCursor<'a>,
    /// Groups that are open.
    depth: u32,
    /// Whether something was read that flags for the whole pattern may not follow.
    is_begun: bool,
}

/// An item, by what a quantifier after it does.
enum QuantifierTarget {
    Repeatable(Pattern),
    /// An anchor or word boundary.
    Anchor(Pattern),
    /// Flags or a comment.
    Nothing,
}

impl PythonParser<'_> {
    fn alternatives(&mut self) -> Result<Pattern> {
        let mut alternatives = Vec::new();
        loop {
            let mut items = Vec::new();
            loop {
                self.skip_ignored();
                if matches!(self.cursor.peek(), None | Some('|' | ')')) {
                    break;
                }
                items.extend(self.item()?);
            }
            alternatives.push(Pattern::Concat(items));
            if !self.cursor.eat("|") {
                return Ok(match alternatives.len() {
                    1 => alternatives.swap_remove(0),
                    _ => Pattern::Alternate(alternatives),
                });
            }
            self.is_begun = true;
        }
    }

    /// Skips comments in groups, and blanks and comments where flag `x` makes them mean nothing.
    fn skip_ignored(&mut self) {
        loop {
            if let Some(rest) = self.cursor.rest().strip_prefix("(?#")
                && let Some(length) = rest.find(')')
            {
                self.cursor.at += "(?#".len() + length + 1;
                continue;
            }
            match self.cursor.peek().filter(|_| self.cursor.flags.verbose) {
                Some(c) if " \t\n\r\x0B\x0C".contains(c) => self.cursor.at += 1,
                Some('#') => {
                    let rest = self.cursor.rest();
                    self.cursor.at += rest.find('\n').unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// One item with its quantifier; none if it only sets flags or is a comment.
    fn item(&mut self) -> Result<Option<Pattern>> {
        let item = self.unquantified()?;
        let (anchor, pattern) = match item {
            QuantifierTarget::Nothing => return Ok(None),
            QuantifierTarget::Anchor(pattern) => (true, pattern),
            QuantifierTarget::Repeatable(pattern) => (false, pattern),
        };
        self.is_begun = true;
        self.skip_ignored();
        let start = self.cursor.at;
        let Some((min, max)) = self.quantifier()? else { return Ok(Some(pattern)) };
        if anchor {
            return Err(error_at(start, "an anchor or word boundary has no length to repeat")
                .with_help("leave the quantifier out"));
        }
        let is_greedy = !self.cursor.eat("?");
        let is_possessive = is_greedy && self.cursor.eat("+");
        self.skip_ignored();
        let second = self.cursor.at;
        if self.quantifier()?.is_some() {
            return Err(error_at(second, "a repeat is repeated")
                .with_help("put a group around the first: `(?:…)`"));
        }
        let repeat = Pattern::Repeat { body: Box::new(pattern), min, max, greedy: is_greedy };
        let at = AssertionSource { byte: start, name: "a possessive repeat" };
        Ok(Some(if is_possessive {
            Pattern::Atomic { body: Box::new(repeat), greedy: true, at }
        } else {
            repeat
        }))
    }

    /// Reads a quantifier, if one comes next.
    fn quantifier(&mut self) -> Result<Option<(u32, Option<u32>)>> {
        let start = self.cursor.at;
        let bounds = match self.cursor.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => return self.counts(start),
            _ => return Ok(None),
        };
        self.cursor.at += 1;
        Ok(Some(bounds))
    }

    /// Reads `{m}`, `{m,}`, `{,n}` or `{m,n}`; another brace stands for itself.
    fn counts(&mut self, start: usize) -> Result<Option<(u32, Option<u32>)>> {
        let Some((inner, _)) = self.cursor.rest()[1..].split_once('}') else { return Ok(None) };
        let (least, most) = match inner.split_once(',') {
            Some((least, most)) => (least, most),
            None if inner.is_empty() => return Ok(None),
            None => (inner, inner),
        };
        if !least.bytes().chain(most.bytes()).all(|b| b.is_ascii_digit()) {
            return Ok(None);
        }
        let number = |digits: &str| {
            // One below the greatest, which languages keep for "unbounded".
            digits.parse::<u32>().ok().filter(|&n| n < u32::MAX).ok_or_else(|| {
                error_at(start, format!("the count {digits} is above {}", u32::MAX - 1))
                    .with_help("leave out the upper bound: `{m,}`")
            })
        };
        let min = if least.is_empty() { 0 } else { number(least)? };
        let max = if most.is_empty() { None } else { Some(number(most)?) };
        if max.is_some_and(|max| max < min) {
            return Err(error_at(start, format!("`{{{inner}}}` counts down"))
                .with_help("write the smaller number first"));
        }
        self.cursor.at += inner.len() + 2;
        Ok(Some((min, max)))
    }

    fn unquantified(&mut self) -> Result<QuantifierTarget> {
        let start = self.cursor.at;
        // `alternatives` has seen that there is a character.
        let Some(c) = self.cursor.next() else { return Ok(QuantifierTarget::Nothing) };
        let mark = |name| AssertionSource { byte: start, name };
        let newline = || class_of([('\n', '\n')]);
        Ok(match c {
            '^' if self.cursor.flags.multiline => {
                QuantifierTarget::Anchor(Pattern::line_start(newline(), mark("`^`")))
            }
            '^' => QuantifierTarget::Anchor(Pattern::look(Assertion::Start, mark("`^`"))),
            '$' if self.cursor.flags.multiline => {
                QuantifierTarget::Anchor(Pattern::line_end(newline(), mark("`$`")))
            }
            '$' => {
                let end = Pattern::look(Assertion::End, mark("`$`"));
                let last = Pattern::Concat(vec![Pattern::Class(newline()), end.clone()]);
                let before = Pattern::ahead(last, false, mark("`$`"));
                QuantifierTarget::Anchor(Pattern::Alternate(vec![end, before]))
            }
            '.' => {
                let mut any = class_of((!self.cursor.flags.dot_all).then_some(('\n', '\n')));
                any.negate();
                QuantifierTarget::Repeatable(Pattern::Class(any))
            }
            '(' => return self.group(start),
            '[' => QuantifierTarget::Repeatable(Pattern::Class(escape::class(
                &mut self.cursor,
                start,
            )?)),
            '\\' => match escape::escape(&mut self.cursor, start)? {
                PythonEscape::Char(c) => self.literal(c),
                PythonEscape::Class(class) => QuantifierTarget::Repeatable(Pattern::Class(class)),
                PythonEscape::Start => {
                    QuantifierTarget::Anchor(Pattern::look(Assertion::Start, mark("`\\A`")))
                }
                PythonEscape::End => {
                    QuantifierTarget::Anchor(Pattern::look(Assertion::End, mark("`\\Z`")))
                }
                PythonEscape::WordBoundary { negated } => {
                    let name = if negated { "`\\B`" } else { "`\\b`" };
                    let word = escape::word_class(self.cursor.flags);
                    QuantifierTarget::Anchor(Pattern::word_boundary(&word, negated, mark(name)))
                }
            },
            '*' | '+' | '?' => return Err(nothing_to_repeat(start, c)),
            '{' => {
                self.cursor.at = start;
                if self.counts(start)?.is_some() {
                    return Err(nothing_to_repeat(start, c));
                }
                self.cursor.at = start + 1;
                self.literal(c.into())
            }
            c => self.literal(c.into()),
        })
    }

    /// A code point that stands for itself. A lone surrogate is in no text.
    fn literal(&self, c: u32) -> QuantifierTarget {
        let class: ClassUnicode = class_of(char::from_u32(c).map(|c| (c, c)));
        QuantifierTarget::Repeatable(Pattern::Class(escape::case_folded(class, self.cursor.flags)))
    }

    /// A group that was opened at `start`, with its closing parenthesis.
    fn group(&mut self, start: usize) -> Result<QuantifierTarget> {
        if self.depth >= MAX_NESTED_GROUPS {
            let message = format!("groups nest deeper than {MAX_NESTED_GROUPS}");
            return Err(error_at(start, message).with_help("flatten the pattern"));
        }
        let outer = self.cursor.flags;
        let mark = |name| AssertionSource { byte: start, name };
        let mut kind = GroupKind::Plain;
        let known = [
            ("?:", GroupKind::Plain),
            ("?>", GroupKind::Atomic),
            ("?=", GroupKind::Look { behind: false, negated: false }),
            ("?!", GroupKind::Look { behind: false, negated: true }),
            ("?<=", GroupKind::Look { behind: true, negated: false }),
            ("?<!", GroupKind::Look { behind: true, negated: true }),
        ];
        if let Some((_, found)) = known.into_iter().find(|(sign, _)| self.cursor.eat(sign)) {
            kind = found;
        } else if self.cursor.eat("?P<") || self.cursor.eat("?<") {
            self.name(start)?;
        } else if self.cursor.eat("?#") {
            let rest = self.cursor.rest();
            let Some(end) = rest.find(')') else { return Err(never_closed(start)) };
            self.cursor.at += end + 1;
            return Ok(QuantifierTarget::Nothing);
        } else if self.cursor.eat("?P=") {
            return Err(backreference(start, "(?P=…)"));
        } else if self.cursor.eat("?(") {
            return Err(error_at(start, "a conditional group has no regular meaning")
                .with_help("write the two cases as alternatives"));
        } else if self.cursor.eat("?") && self.flags(start)? == FlagScope::Pattern {
            return Ok(QuantifierTarget::Nothing);
        }
        self.is_begun = true;
        self.depth += 1;
        let body = self.alternatives()?;
        self.depth -= 1;
        self.cursor.flags = outer;
        if !self.cursor.eat(")") {
            return Err(never_closed(start));
        }
        Ok(QuantifierTarget::Repeatable(match kind {
            GroupKind::Plain => body,
            GroupKind::Atomic => {
                // A body of one item is that item.
                let body = match body {
                    Pattern::Concat(mut parts) if parts.len() == 1 => parts.swap_remove(0),
                    body => body,
                };
                // Laziness makes no difference to a repeat of so many times.
                let greedy = matches!(body, Pattern::Repeat { greedy, min, max, .. } if greedy || max == Some(min));
                Pattern::Atomic { body: Box::new(body), greedy, at: mark("an atomic group") }
            }
            GroupKind::Look { behind: false, negated } => {
                Pattern::ahead(body, negated, mark("a lookahead"))
            }
            GroupKind::Look { behind: true, negated } => {
                Pattern::behind(body, negated, mark("a lookbehind"))
            }
        }))
    }

    /// The name of a group, and its `>`. The name only matters to backreferences.
    fn name(&mut self, start: usize) -> Result<()> {
        let rest = self.cursor.rest();
        let name = rest.split('>').next().unwrap_or_default();
        let mut characters = name.chars();
        let first = characters.next().is_some_and(|c| c == '_' || c.is_alphabetic());
        if !first || !characters.all(|c| c == '_' || c.is_alphanumeric()) {
            return Err(error_at(start, "the name of this group is not an identifier")
                .with_help("write it as `(?P<name>…)`"));
        }
        if name.len() == rest.len() {
            return Err(never_closed(start));
        }
        self.cursor.at += name.len() + 1;
        Ok(())
    }

    /// Flags after `(?`, with the colon or closing parenthesis after them.
    fn flags(&mut self, start: usize) -> Result<FlagScope> {
        let mut flags = self.cursor.flags;
        let mut on = true;
        loop {
            let at = self.cursor.at;
            match self.cursor.next() {
                Some('i') => flags.ignore_case = on,
                Some('m') => flags.multiline = on,
                Some('s') => flags.dot_all = on,
                Some('x') => flags.verbose = on,
                Some('a') if on => flags.ascii = true,
                Some('u') if on => flags.ascii = false,
                Some('-') if on => on = false,
                Some(':') if at > start + 2 => {
                    self.cursor.flags = flags;
                    return Ok(FlagScope::Group);
                }
                Some(')') if at > start + 2 && on => {
                    if self.is_begun || self.depth > 0 {
                        let message = "flags of the whole pattern stand at its beginning";
                        return Err(error_at(start, message)
                            .with_help("move them there, or write a group with flags: `(?i:…)`"));
                    }
                    self.cursor.flags = flags;
                    return Ok(FlagScope::Pattern);
                }
                found => {
                    let message = match found {
                        Some('L') => "flag `L` is for patterns of bytes".to_owned(),
                        Some(c) => format!("`{c}` is unknown after `(?`"),
                        None => return Err(never_closed(start)),
                    };
                    return Err(error_at(at, message).with_help(
                        "groups begin with `(`, `(?:`, `(?=`, `(?!`, `(?<=`, `(?<!`, `(?>`, \
                         `(?P<name>`, `(?#`, or flags of a, i, m, s, u, x: `(?i)`, `(?i:`",
                    ));
                }
            }
        }
    }
}

/// The kind of a group, as its prefix says.
enum GroupKind {
    Plain,
    Atomic,
    Look { behind: bool, negated: bool },
}

/// The part of a pattern in which flags are in force.
#[derive(PartialEq, Eq)]
enum FlagScope {
    Pattern,
    Group,
}

fn never_closed(start: usize) -> Error {
    error_at(start, "this group is never closed").with_help("add `)`")
}

fn nothing_to_repeat(at: usize, c: char) -> Error {
    error_at(at, format!("nothing stands before `{c}` that it could repeat"))
        .with_help(format!("write a literal one as `\\{c}`"))
}

fn backreference(at: usize, name: &str) -> Error {
    error_at(at, format!("the backreference `{name}` has no regular meaning"))
        .with_help("write out what may be repeated")
}
