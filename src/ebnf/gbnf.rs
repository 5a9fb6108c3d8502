//! GBNF, the grammar notation of llama.cpp (its `grammars/README.md`).
//!
//! A rule is `name ::= alternatives`, ended by a line break outside parentheses; the text is what
//! `root` derives. An alternative is a sequence of literals, classes, rule names, groups, `.` and
//! special tokens (`<name>`, `<[id]>`), each with an optional `*`, `+`, `?`, `{m}`, `{m,}` or
//! `{m,n}`. Characters are code points, written in UTF-8. Left recursion is allowed.
//!
//! Two liberties beyond llama.cpp: a rule name may hold `_`, and a line may begin with the `|`
//! that goes on with the rule above it.

use std::cell::Cell;

use rustc_hash::FxHashMap;

use crate::error::{Error, ErrorKind, Result};
use crate::grammar::{Grammar, GrammarBuilder, NodeId, RuleId, SpecialToken};
use crate::regex::{CodePoints, Language, Utf8};

/// How deep groups may nest.
const NESTING: usize = 200;
/// The greatest bound of a repeat.
const MAX_REPEAT: u32 = 1_000_000;
/// The greatest code point.
const LAST: u32 = 0x10_FFFF;

/// Parses a grammar whose start is the rule `root`.
///
/// Errors name line and column, both from 1, and what would be accepted there.
pub fn gbnf(text: &str) -> Result<Grammar> {
    let (grammar, rules) = (GrammarBuilder::new(), FxHashMap::default());
    let mut parser = Parser {
        text,
        at: 0,
        grammar,
        rules,
        rule: String::new(),
        depth: 0,
        known: Cell::new((0, 1, 1)),
    };
    parser.space(true);
    while parser.peek().is_some() {
        parser.rule()?;
        parser.space(true);
    }
    for (name, rule) in &parser.rules {
        if !rule.defined {
            let message = format!("rule `{name}` is used but never defined");
            return Err(parser
                .error(rule.first_use, message)
                .with_help(format!("define it as `{name} ::= …`")));
        }
    }
    match parser.rules.get("root") {
        Some(root) => parser.grammar.finish(root.id),
        None => Err(parser
            .error(0, "the grammar has no rule `root`")
            .with_help("name the rule that derives the whole text `root`")),
    }
}

struct KnownRule {
    id: RuleId,
    first_use: usize,
    defined: bool,
}

/// What has been read: as long as it is regular, one terminal grows.
#[derive(Clone, Copy)]
enum Part {
    Regular(Language),
    Node(NodeId),
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    grammar: GrammarBuilder,
    rules: FxHashMap<String, KnownRule>,
    /// The rule that is being read.
    rule: String,
    depth: usize,
    /// A byte offset with its line and column: places are asked for close to each other, so that
    /// the way from the last one is short where that from the start of the text is not.
    known: Cell<(usize, usize, usize)>,
}

impl Parser<'_> {
    fn error(&self, at: usize, message: impl Into<String>) -> Error {
        let (line, column) = self.line_column(at);
        Error::new(ErrorKind::Grammar, message).at_line_column(line, column)
    }

    /// Line and column, both from 1, of a byte offset between two characters.
    fn line_column(&self, at: usize) -> (usize, usize) {
        let (from, mut line, mut column) = self.known.get();
        let passed = &self.text[from.min(at)..from.max(at)];
        let breaks = passed.matches('\n').count();
        if at >= from {
            line += breaks;
            column = match passed.rsplit_once('\n') {
                Some((_, last)) => last.chars().count() + 1,
                None => column + passed.chars().count(),
            };
        } else {
            line -= breaks;
            column = match breaks {
                0 => column - passed.chars().count(),
                _ => {
                    let before = &self.text[..at];
                    before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1
                }
            };
        }
        self.known.set((at, line, column));
        (line, column)
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.text[self.at..].starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Skips blanks and comments, and line breaks where they mean nothing.
    fn space(&mut self, lines: bool) {
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' => self.at += 1,
                '#' => {
                    let rest = &self.text[self.at..];
                    self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
                }
                '\n' | '\r' if lines => self.at += 1,
                _ => return,
            }
        }
    }

    /// In a group a line break is a blank. Outside it ends the rule, unless the next line goes on
    /// with `|`.
    fn inner_space(&mut self) {
        self.space(self.depth > 0);
        if self.depth == 0 && matches!(self.peek(), Some('\n' | '\r')) {
            let before = self.at;
            self.space(true);
            if self.peek() != Some('|') {
                self.at = before;
            }
        }
    }

    fn name(&mut self) -> Option<&str> {
        let rest = &self.text[self.at..];
        let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
        self.at += end;
        (end > 0).then(|| &rest[..end])
    }

    fn rule_id(&mut self, name: &str, at: usize) -> RuleId {
        if let Some(rule) = self.rules.get(name) {
            return rule.id;
        }
        let id = self.grammar.declare(format!("rule `{name}`"));
        self.rules.insert(name.to_owned(), KnownRule { id, first_use: at, defined: false });
        id
    }

    fn rule(&mut self) -> Result<()> {
        let start = self.at;
        let Some(name) = self.name().map(str::to_owned) else {
            let c = self.peek().unwrap_or_default();
            return Err(self
                .error(start, format!("expected the name of a rule, found `{c}`"))
                .with_help("a rule is `name ::= …`, its name made of letters, digits and `-`"));
        };
        self.space(false);
        if !self.eat("::=") {
            return Err(self.error(self.at, format!("expected `::=` after `{name}`")));
        }
        self.space(true);
        let id = self.rule_id(&name, start);
        self.rule.clone_from(&name);
        if let Some(rule) = self.rules.get_mut(&name)
            && std::mem::replace(&mut rule.defined, true)
        {
            return Err(self
                .error(start, format!("rule `{name}` is defined twice"))
                .with_help("join the two with `|`"));
        }
        let part = self.alternatives()?;
        let body = self.node(part, start);
        self.grammar.define(id, body);
        match self.peek() {
            None | Some('\n' | '\r') => Ok(()),
            Some(c) => Err(self
                .error(self.at, format!("unexpected `{c}` in rule `{name}`"))
                .with_help("a literal stands in double quotes, a rule ends at the line's end")),
        }
    }

    fn node(&mut self, part: Part, at: usize) -> NodeId {
        match part {
            Part::Node(node) => node,
            Part::Regular(language) => {
                let (line, column) = self.line_column(at);
                let node = self.grammar.regular(language);
                self.grammar.mark(node, format!("rule `{}` ({line}:{column})", self.rule))
            }
        }
    }

    fn alternatives(&mut self) -> Result<Part> {
        let (mut regular, mut nodes) = (Vec::new(), Vec::new());
        let start = self.at;
        loop {
            match self.sequence()? {
                Part::Regular(language) => regular.push(language),
                Part::Node(node) => nodes.push(node),
            }
            if !self.eat("|") {
                break;
            }
            self.space(true);
        }
        if !regular.is_empty() {
            let union = self.grammar.languages().union(regular);
            if nodes.is_empty() {
                return Ok(Part::Regular(union));
            }
            nodes.push(self.node(Part::Regular(union), start));
        }
        Ok(Part::Node(self.grammar.choice(nodes)))
    }

    fn sequence(&mut self) -> Result<Part> {
        // A run of regular parts is one terminal.
        let (mut nodes, mut run) = (Vec::new(), Vec::new());
        let mut run_start = self.at;
        loop {
            self.inner_space();
            let start = self.at;
            let Some(part) = self.repeated()? else { break };
            match part {
                Part::Regular(language) => {
                    if run.is_empty() {
                        run_start = start;
                    }
                    run.push(language);
                }
                Part::Node(node) => {
                    if !run.is_empty() {
                        let run = self.grammar.languages().concat(run.drain(..));
                        nodes.push(self.node(Part::Regular(run), run_start));
                    }
                    nodes.push(node);
                }
            }
        }
        // At once, not one by one: a concatenation is made from its end.
        let rest = !run.is_empty();
        let run = self.grammar.languages().concat(run);
        if nodes.is_empty() {
            return Ok(Part::Regular(run));
        }
        if rest {
            nodes.push(self.node(Part::Regular(run), run_start));
        }
        Ok(Part::Node(self.grammar.sequence(nodes)))
    }

    fn repeated(&mut self) -> Result<Option<Part>> {
        let Some(mut part) = self.element()? else { return Ok(None) };
        for repeats in 0.. {
            self.inner_space();
            if repeats == NESTING {
                let message = format!("more than {NESTING} repeats of one item");
                return Err(self.error(self.at, message).with_help("one is enough"));
            }
            let (min, max) = match self.peek() {
                Some('*') => (0, None),
                Some('+') => (1, None),
                Some('?') => (0, Some(1)),
                Some('{') => self.bounds()?,
                _ => return Ok(Some(part)),
            };
            // The mark itself; `bounds` stops at its closing brace.
            self.at += 1;
            part = match part {
                Part::Regular(language) => {
                    Part::Regular(self.grammar.languages().repeat(language, min, max))
                }
                Part::Node(node) => Part::Node(self.grammar.repeat(node, min, max)),
            };
        }
        Ok(Some(part))
    }

    fn bounds(&mut self) -> Result<(u32, Option<u32>)> {
        let start = self.at;
        self.at += 1;
        self.space(false);
        let min = self.number()?;
        self.space(false);
        let bounds = if self.eat(",") {
            self.space(false);
            let max = match self.peek() {
                Some('}') => None,
                _ => Some(self.number()?),
            };
            (min, max)
        } else {
            (min, Some(min))
        };
        self.space(false);
        if self.peek() != Some('}') {
            return Err(self.error(self.at, "expected `}` after the bounds of a repeat"));
        }
        if bounds.1.is_some_and(|max| max < min) {
            return Err(self.error(start, "the least number of times exceeds the greatest"));
        }
        Ok(bounds)
    }

    fn number(&mut self) -> Result<u32> {
        let rest = &self.text[self.at..];
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if digits == 0 {
            return Err(self
                .error(self.at, "expected a number")
                .with_help("write `{2}`, `{2,}` or `{2,5}`"));
        }
        match rest[..digits].parse() {
            Ok(number) if number <= MAX_REPEAT => {
                self.at += digits;
                Ok(number)
            }
            _ => Err(self.error(self.at, format!("a bound may be {MAX_REPEAT} at most"))),
        }
    }

    fn element(&mut self) -> Result<Option<Part>> {
        let start = self.at;
        match self.peek() {
            Some('"') => self.literal().map(Some),
            Some('[') => self.class().map(Some),
            Some('.') => {
                self.at += 1;
                Ok(Some(self.ranges(&[(0, LAST)])))
            }
            Some('(') => self.group().map(Some),
            Some('<') => self.token().map(Some),
            Some('!') => Err(self
                .error(start, "a negated token `!<…>` is not supported")
                .with_help("name the tokens that are allowed")),
            Some('*' | '+' | '?' | '{') => Err(self
                .error(start, "nothing to repeat")
                .with_help("put a literal, class, rule or group before it")),
            _ => {
                let Some(name) = self.name().map(str::to_owned) else { return Ok(None) };
                let after = self.at;
                self.space(false);
                if self.text[self.at..].starts_with("::=") {
                    return Err(self
                        .error(start, format!("rule `{name}` begins inside another"))
                        .with_help("start it on a line of its own, outside parentheses"));
                }
                self.at = after;
                let rule = self.rule_id(&name, start);
                Ok(Some(Part::Node(self.grammar.call(rule))))
            }
        }
    }

    fn group(&mut self) -> Result<Part> {
        let start = self.at;
        if self.depth == NESTING {
            let message = format!("parentheses nest more than {NESTING} deep");
            return Err(self
                .error(start, message)
                .with_help("give the inner groups rules of their own"));
        }
        self.at += 1;
        self.depth += 1;
        self.space(true);
        let part = self.alternatives()?;
        self.depth -= 1;
        match self.eat(")") {
            true => Ok(part),
            false => {
                let found = self.peek().map_or("the end".into(), |c| format!("`{c}`"));
                let (line, column) = self.line_column(start);
                let message = format!("expected `)`, found {found}");
                Err(self
                    .error(self.at, message)
                    .with_help(format!("close the group of line {line}, column {column}")))
            }
        }
    }

    fn ranges(&mut self, ranges: &[(u32, u32)]) -> Part {
        Part::Regular(Utf8.class(self.grammar.languages(), ranges))
    }

    fn literal(&mut self) -> Result<Part> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.peek() {
                Some('"') => break,
                None => {
                    return Err(self
                        .error(start, "the literal is not closed")
                        .with_help("end it with `\"`, write a literal one as `\\\"`"));
                }
                Some(_) => {
                    let at = self.at;
                    let c = self.character()?;
                    let c = char::from_u32(c)
                        .ok_or_else(|| self.error(at, "a surrogate is no character"))?;
                    text.push(c);
                }
            }
        }
        self.at += 1;
        Ok(Part::Regular(self.grammar.languages().literal(text.as_bytes())))
    }

    fn class(&mut self) -> Result<Part> {
        let start = self.at;
        self.at += 1;
        let negated = self.eat("^");
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        while self.peek() != Some(']') {
            if self.peek().is_none() {
                return Err(self
                    .error(start, "the class is not closed")
                    .with_help("end it with `]`"));
            }
            let at = self.at;
            let first = self.character()?;
            let rest = &self.text[self.at..];
            let last = if rest.starts_with('-') && !rest.starts_with("-]") {
                self.at += 1;
                if self.peek().is_none() {
                    return Err(self.error(start, "the class is not closed"));
                }
                self.character()?
            } else {
                first
            };
            if last < first {
                return Err(self.error(at, "the range ends before it begins"));
            }
            ranges.push((first, last));
        }
        self.at += 1;
        Ok(if negated { self.ranges(&complement(ranges)) } else { self.ranges(&ranges) })
    }

    /// One character of a literal or class, or its escape.
    fn character(&mut self) -> Result<u32> {
        let start = self.at;
        // Callers have seen that there is one.
        let c = self.take().unwrap_or_default();
        if c != '\\' {
            return Ok(c.into());
        }
        let hex = |this: &mut Self, digits: usize| {
            let code = this.text[this.at..].get(..digits);
            let code = code.filter(|code| code.bytes().all(|b| b.is_ascii_hexdigit()));
            let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
            match code {
                Some(code) if code <= LAST => {
                    this.at += digits;
                    Ok(code)
                }
                _ => Err(this
                    .error(start, format!("expected {digits} hexadecimal digits of a character"))),
            }
        };
        match self.take() {
            Some('x') => hex(self, 2),
            Some('u') => hex(self, 4),
            Some('U') => hex(self, 8),
            Some('t') => Ok(0x09),
            Some('n') => Ok(0x0A),
            Some('r') => Ok(0x0D),
            Some(c @ ('\\' | '"' | '[' | ']' | '-' | '^')) => Ok(c.into()),
            other => {
                let other = other.map_or("the end".into(), |c| format!("`\\{c}`"));
                Err(self
                    .error(start, format!("unknown escape {other}"))
                    .with_help(r#"known are \t \n \r \\ \" \[ \] \- \^ \xNN \uNNNN \UNNNNNNNN"#))
            }
        }
    }

    /// `<name>` or `<[id]>`: a special token, by its name in the vocabulary with the angle
    /// brackets, or by its id.
    fn token(&mut self) -> Result<Part> {
        let start = self.at;
        let rest = &self.text[self.at..];
        let line = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
        let Some(end) = line.find('>') else {
            return Err(self
                .error(start, "the special token is not closed")
                .with_help("end it with `>`"));
        };
        let inner = &line[1..end];
        let token = match inner.strip_prefix('[').and_then(|id| id.strip_suffix(']')) {
            Some(id) => SpecialToken::Id(id.parse().map_err(|_| {
                self.error(start, format!("`{id}` is no token id")).with_help("write `<[1234]>`")
            })?),
            None if inner.is_empty() => {
                return Err(self
                    .error(start, "a special token needs a name")
                    .with_help("write `<name>`"));
            }
            None => SpecialToken::Name(line[..=end].to_owned()),
        };
        self.at += end + 1;
        let node = self.grammar.special(token);
        let (line, column) = self.line_column(start);
        Ok(Part::Node(self.grammar.mark(node, format!("rule `{}` ({line}:{column})", self.rule))))
    }
}

fn complement(mut ranges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    ranges.sort_unstable();
    let (mut gaps, mut next) = (Vec::new(), 0);
    for (first, last) in ranges {
        if first > next {
            gaps.push((next, first - 1));
        }
        next = next.max(last + 1);
    }
    if next <= LAST {
        gaps.push((next, LAST));
    }
    gaps
}
