//! The EBNF of ISO/IEC 14977:1996.
//!
//! `meta identifier = definitions ;` (or `.`), `,` between the parts of a sequence, `|` (or `/`,
//! `!`) between alternatives, `[…]` (or `(/…/)`) for what may be left out, `{…}` (or `(:…:)`) for
//! what may be repeated, `n * part`, `part - exception`, strings in either quotes,
//! `(* comments *)`, which nest. Gaps in a meta identifier mean nothing (6.1). The start is the
//! first rule.
//!
//! The standard leaves the meaning of a special sequence `? … ?` (4.19) to implementations. Here it
//! is a pattern `? /[a-z]+/ ?` in the syntax of Rust's `regex` crate (another dialect can be chosen),
//! or a character or range of characters `? U+00E9 ?`, `? U+0041..U+005A ?`. An exception must be
//! regular (4.7 demands that it can be written without meta identifiers).
//!
//! Beyond the standard, as people write "EBNF": a name may contain `_`; the `,` of a sequence may be
//! left out; `"a" … "z"` (or `..`, `...`) is one character of a range; strings stand in backquotes,
//! too, and comments also between `/*` and `*/`. Without commas words side by side are the one rule
//! that is named by all of them, or else rules one after the other.

use rustc_hash::FxHashSet;

use crate::deadline;
use crate::ebnf::environment::Environment;
use crate::ebnf::expression::{RuleExpr, RuleExprKind};
use crate::ebnf::grammar_text::{GrammarText, MAX_CODE_POINT};
use crate::ebnf::rule_table::RuleTable;
use crate::error::Result;
use crate::grammar::Grammar;
use crate::regular::Dialect;

/// Parses an ISO 14977 grammar.
pub(super) fn parse(text: &str, environment: &dyn Environment) -> Result<Grammar> {
    let mut parser = IsoParser {
        text: GrammarText::new(text),
        rules: RuleTable::new("=", environment),
        defined: defined_names(text),
        meaningless: Vec::new(),
    };
    let mut start = None;
    parser.skip_space()?;
    while parser.text.peek().is_some() {
        let name = parser.rule()?;
        start.get_or_insert(name);
        parser.skip_space()?;
    }
    match start {
        Some(first) => {
            let start = parser.rules.start_rule(&first);
            let reached = parser.rules.reached(start);
            if let Some((_, at)) = parser.meaningless.iter().find(|(rule, _)| reached[*rule]) {
                return Err(parser
                    .text
                    .error(
                        *at,
                        "a comment stands in place of a definition, which no program can read",
                    )
                    .with_help("write what it says; an empty definition is the empty text"));
            }
            parser.rules.finish(&parser.text, start)
        }
        None => {
            Err(parser.text.error(0, "the grammar has no rule").with_help("a rule is `name = … ;`"))
        }
    }
}

/// The state of a parser.
struct IsoParser<'a> {
    text: GrammarText<'a>,
    rules: RuleTable<'a>,
    /// The names that the text defines, without their gaps.
    defined: FxHashSet<String>,
    /// Rules with a comment in place of their definition, as Go's specification has some, and the byte offset of it.
    meaningless: Vec<(usize, usize)>,
}

/// The words before each `=`, joined, of a text whose strings and comments are well-formed.
fn defined_names(text: &str) -> FxHashSet<String> {
    let (mut names, mut words) = (FxHashSet::default(), String::new());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let enclosed =
            [("(*", "*)"), ("/*", "*/"), ("\"", "\""), ("'", "'"), ("`", "`"), ("?", "?")];
        if let Some((open, close)) = enclosed.into_iter().find(|(open, _)| rest.starts_with(open)) {
            let inner = &rest[open.len()..];
            rest = inner.find(close).map_or("", |end| &inner[end + close.len()..]);
            if !matches!(close, "*)" | "*/") {
                words.clear();
            }
            continue;
        }
        match c {
            c if c.is_alphanumeric() || c == '_' => words.push(c),
            c if c.is_whitespace() => {}
            _ => {
                if c == '=' {
                    names.insert(std::mem::take(&mut words));
                }
                words.clear();
            }
        }
        rest = &rest[c.len_utf8()..];
    }
    names
}

impl<'a> IsoParser<'a> {
    /// Skips blanks, line breaks and comments.
    fn skip_space(&mut self) -> Result<()> {
        loop {
            self.text.take_while(char::is_whitespace);
            if self.text.starts_with("/*") {
                self.text.skip_enclosed("/*", "*/", "comment")?;
                continue;
            }
            if !self.text.starts_with("(*") {
                return Ok(());
            }
            let (start, mut open) = (self.text.at, 0usize);
            loop {
                if self.text.eat("(*") {
                    open += 1;
                } else if self.text.eat("*)") {
                    open -= 1;
                    if open == 0 {
                        break;
                    }
                } else if self.text.take().is_none() {
                    return Err(self
                        .text
                        .error(start, "the comment is not closed")
                        .with_help("end it with `*)`"));
                }
            }
        }
    }

    /// Reads a meta identifier, if one comes next, all of its words.
    fn name(&mut self) -> Result<Option<String>> {
        let words = self.words()?;
        Ok((!words.is_empty()).then(|| words.iter().map(|(_, word)| *word).collect()))
    }

    /// Reads words side by side, each with its byte offset.
    fn words(&mut self) -> Result<Vec<(usize, &'a str)>> {
        let mut words = Vec::new();
        while self.text.peek().is_some_and(|c| c.is_alphabetic() || !words.is_empty()) {
            let at = self.text.at;
            let word = self.text.take_while(|c| c.is_alphanumeric() || c == '_');
            if word.is_empty() {
                break;
            }
            words.push((at, word));
            self.skip_space()?;
        }
        Ok(words)
    }

    /// Calls of the rules that words name: of one, if all together name one; else each of the
    /// longest that is defined.
    fn calls(&mut self) -> Result<RuleExpr> {
        let words = self.words()?;
        let mut calls = Vec::new();
        let mut rest = &words[..];
        let longest = self.defined.iter().map(String::len).max().unwrap_or(0);
        while let [(at, first), ..] = rest {
            deadline::check()?;
            let joined =
                |count: usize| rest[..count].iter().map(|(_, word)| *word).collect::<String>();
            let (mut known, mut together) = (None, String::new());
            for (index, (_, word)) in rest.iter().enumerate() {
                together.push_str(word);
                if together.len() > longest {
                    break;
                }
                if self.defined.contains(&together) {
                    known = Some(index + 1);
                }
            }
            // Where nothing is defined, all of it is what is missing.
            let count = known.unwrap_or(if calls.is_empty() { rest.len() } else { 1 });
            let name =
                if known.is_some() || count > 1 { joined(count) } else { (*first).to_owned() };
            calls.push(self.rules.call(&name, *at));
            rest = &rest[count..];
        }
        Ok(RuleExpr::sequence(words.first().map_or(0, |(at, _)| *at), calls))
    }

    fn rule(&mut self) -> Result<String> {
        let start = self.text.at;
        let Some(name) = self.name()? else {
            let found = self.text.found();
            return Err(self
                .text
                .error(start, format!("expected a rule, found {found}"))
                .with_help("a rule is `name = … ;`, its name begins with a letter"));
        };
        if !self.text.eat("=") {
            return Err(self.text.error(self.text.at, format!("expected `=` after `{name}`")));
        }
        self.rules.id(&name, start);
        let before = self.text.at;
        let body = self.definitions()?;
        if self.is_prose(before)? {
            self.meaningless.push((self.rules.id(&name, start), before));
        }
        self.rules.define(&self.text, &name, start, body)?;
        if self.text.eat(";") || self.text.eat(".") {
            return Ok(name);
        }
        let found = self.text.found();
        Err(self
            .text
            .error(self.text.at, format!("expected `;` at the end of rule `{name}`, found {found}"))
            .with_help(if self.text.starts_with("*") || self.text.starts_with("+") {
                "write `{part}` for any number of times, `part, {part}` for one or more"
            } else {
                "`,` stands between the parts of a sequence, `|` between alternatives"
            }))
    }

    /// Whether a comment between `/*` and `*/`, and nothing else, stands between a place and here. (One in the
    /// standard's own signs says that nothing is meant.)
    fn is_prose(&mut self, from: usize) -> Result<bool> {
        let end = self.text.at;
        self.text.at = from;
        self.skip_space()?;
        let is_comment = self.text.at == end;
        self.text.at = end;
        Ok(is_comment && self.text.between(from, end).trim().starts_with("/*"))
    }

    fn definitions(&mut self) -> Result<RuleExpr> {
        let start = self.text.at;
        let mut items = Vec::new();
        loop {
            items.push(self.definition()?);
            // The closing brackets of 7.2 begin like signs between alternatives.
            if self.text.starts_with("/)") {
                return Ok(RuleExpr::choice(start, items));
            }
            if !(self.text.eat("|") || self.text.eat("/") || self.text.eat("!")) {
                return Ok(RuleExpr::choice(start, items));
            }
        }
    }

    fn definition(&mut self) -> Result<RuleExpr> {
        let start = self.text.at;
        let mut items = Vec::new();
        loop {
            let factor = self.factor()?;
            let item = if self.text.eat("-") {
                let exception = self.factor()?;
                RuleExpr::new(
                    factor.at,
                    RuleExprKind::Except(Box::new(factor), Box::new(exception)),
                )
            } else {
                factor
            };
            items.push(item);
            let goes_on = match self.text.peek() {
                Some('(') => !self.text.starts_with("(*"),
                Some(c) => c.is_alphanumeric() || "\"'`[{?".contains(c),
                None => false,
            };
            if !self.text.eat(",") && !goes_on {
                return Ok(RuleExpr::sequence(start, items));
            }
        }
    }

    fn factor(&mut self) -> Result<RuleExpr> {
        self.skip_space()?;
        let times = match self.text.peek() {
            Some(c) if c.is_ascii_digit() => {
                let times = self.text.bound()?;
                self.skip_space()?;
                if !self.text.eat("*") {
                    return Err(self
                        .text
                        .error(self.text.at, "expected `*` after a number")
                        .with_help("`3 * part` is the part three times"));
                }
                self.skip_space()?;
                Some(times)
            }
            _ => None,
        };
        let item = self.primary()?;
        self.skip_space()?;
        Ok(match times {
            Some(times) => item.repeat(times, Some(times)),
            None => item,
        })
    }

    fn primary(&mut self) -> Result<RuleExpr> {
        let start = self.text.at;
        match self.text.peek() {
            Some(quote @ ('"' | '\'' | '`')) => {
                let text = self.text.quoted(quote)?;
                self.skip_space()?;
                if ["…", "...", ".."].iter().any(|sign| self.text.eat(sign)) {
                    return self.range(start, text);
                }
                if text.is_empty() {
                    return Err(self
                        .text
                        .error(start, "a terminal string is not empty")
                        .with_help("leave the alternative empty for the empty string"));
                }
                Ok(self.rules.literal(start, text))
            }
            Some('(') if self.text.starts_with("(/") => self.group("(/", "/)", 0, Some(1)),
            Some('(') if self.text.starts_with("(:") => self.group("(:", ":)", 0, None),
            Some('(') => self.group("(", ")", 1, Some(1)),
            Some('[') => self.group("[", "]", 0, Some(1)),
            Some('{') => self.group("{", "}", 0, None),
            Some('?') => self.special(),
            Some(c) if c.is_alphabetic() => self.calls(),
            None | Some(',' | '|' | '/' | '!' | ';' | '.' | ')' | ']' | '}' | '-' | ':') => {
                Ok(RuleTable::empty(start))
            }
            Some(_) => Err(self
                .text
                .error(start, format!("unexpected {}", self.text.found()))
                .with_help("strings stand in quotes")),
        }
    }

    fn group(&mut self, open: &str, close: &str, min: u32, max: Option<u32>) -> Result<RuleExpr> {
        let start = self.text.at;
        self.text.enter(open)?;
        let item = self.definitions()?;
        self.text.leave(close, start)?;
        Ok(if (min, max) == (1, Some(1)) { item } else { item.repeat(min, max) })
    }

    /// One character from `first` to the string that comes next.
    fn range(&mut self, start: usize, first: &str) -> Result<RuleExpr> {
        self.skip_space()?;
        let last = match self.text.peek() {
            Some(quote @ ('"' | '\'' | '`')) => self.text.quoted(quote)?,
            _ => "",
        };
        let character = |text: &str| {
            let mut characters = text.chars();
            characters.next().filter(|_| characters.next().is_none()).map(u32::from)
        };
        match (character(first), character(last)) {
            (Some(first), Some(last)) if first <= last => {
                Ok(self.rules.class(start, &[(first, last)]))
            }
            (Some(_), Some(_)) => Err(self.text.error(start, "the range ends before it begins")),
            _ => Err(self
                .text
                .error(start, "a range leads from one character to another")
                .with_help("write it as `\"a\" … \"z\"`")),
        }
    }

    fn special(&mut self) -> Result<RuleExpr> {
        let start = self.text.at;
        let rest = &self.text.rest()[1..];
        // A pattern may hold question marks.
        if let Some(pattern) = rest.trim_start().strip_prefix('/') {
            let blanks = rest.len() - pattern.len() - 1;
            let mut is_escaped = false;
            let is_slash = |&(_, c): &(usize, char)| {
                let is_slash = c == '/' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                is_slash
            };
            let end = pattern
                .char_indices()
                .filter(is_slash)
                .find(|(at, _)| pattern[at + 1..].trim_start().starts_with('?'));
            if let Some((end, _)) = end {
                let after = pattern[end + 1..].find('?').unwrap_or_default();
                self.text.at = start + 1 + blanks + 1 + end + 1 + after + 1;
                let dialect = self.rules.pattern_dialect(Dialect::Rust);
                return self.rules.pattern(&self.text, start, &pattern[..end], dialect);
            }
        }
        let inner = self.text.skip_enclosed("?", "?", "special sequence")?.trim();
        let code = |part: &str| {
            let part = part.trim();
            let digits = part.strip_prefix("U+").or_else(|| part.strip_prefix("u+"))?;
            u32::from_str_radix(digits, 16).ok().filter(|&code| code <= MAX_CODE_POINT)
        };
        let (first, last) = inner.split_once("..").unwrap_or((inner, inner));
        match (code(first), code(last)) {
            (Some(first), Some(last)) if first <= last => {
                Ok(self.rules.class(start, &[(first, last)]))
            }
            _ => Err(self
                .text
                .error(start, format!("the special sequence `{inner}` has no meaning here"))
                .with_help("write `? /pattern/ ?`, `? U+0041 ?` or `? U+0041..U+005A ?`")),
        }
    }
}
