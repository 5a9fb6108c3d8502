//! GBNF, the grammar notation of llama.cpp (its `grammars/README.md`).
//!
//! A rule is `name ::= alternatives`, ended by a line break outside parentheses; the text is what
//! `root` derives. An alternative is a sequence of literals, classes, rule names, groups, `.` and
//! tokens (`<name>`, `<[id]>`, and with a `!` before it any but this one), each with an optional
//! `*`, `+`, `?`, `{m}`, `{m,}` or `{m,n}`. Characters are code points, written in UTF-8. Left
//! recursion is allowed.
//!
//! A constraint knows no borders between the tokens of a text, so `!<name>` is one *character*, or
//! one special token other than `<name>`; `!<name>*`, the usual form, means the same either way.
//!
//! What XGrammar adds to the notation (its "EBNF Grammar") is read, too: indented lines go on with
//! the rule above, more escapes, `name[lazy] ::= …` for a shortest text, and macros such as
//! `TagDispatch(("<tool>", tool))` (`macros`). A lazy rule commits to its shortest text and takes
//! nothing from other alternatives ("each occurrence commits independently"), unlike one of Lark;
//! `TagDispatch` is what does. So are the forms in which XGrammar prints its grammars: `{2, -1}` is
//! a repeat without bound, and `(=next)` behind a rule repeats what follows it wherever it is used,
//! for its mask cache, so it is read and means nothing. Otherwise than there, `\x` takes two digits,
//! as in llama.cpp, and names hold no dot, which is any character; `max_tokens`, `temperature` and
//! `max_chars` of a rule are refused by name, since no text is in a language or not because of them.

use super::environment::Environment;
use super::macros;
use super::rules::{Item, Kind, Rules};
use super::text::{LAST, NESTING, Text};
use super::tokens;
use crate::error::Result;
use crate::grammar::{Grammar, SpecialToken};

pub(super) fn parse(text: &str, environment: &dyn Environment) -> Result<Grammar> {
    let mut parser = Parser { text: Text::new(text), rules: Rules::new("::=", environment) };
    space(&mut parser.text, true);
    while parser.text.peek().is_some() {
        parser.rule()?;
        space(&mut parser.text, true);
    }
    parser.rules.finish(&parser.text, "root")
}

pub(super) struct Parser<'a> {
    pub(super) text: Text<'a>,
    pub(super) rules: Rules<'a>,
}

/// Skips blanks and comments, and line breaks where they mean nothing.
pub(super) fn space(text: &mut Text<'_>, lines: bool) {
    while let Some(c) = text.peek() {
        match c {
            ' ' | '\t' => text.at += 1,
            '#' => text.skip_line(),
            '\n' | '\r' if lines => text.at += 1,
            _ => return,
        }
    }
}

impl Parser<'_> {
    pub(super) fn name(&mut self) -> Option<String> {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let name = self.text.take_while(word);
        (!name.is_empty()).then(|| name.to_owned())
    }

    fn rule(&mut self) -> Result<()> {
        let start = self.text.at;
        let Some(name) = self.name() else {
            let message = format!("expected the name of a rule, found {}", self.text.found());
            return Err(self
                .text
                .error(start, message)
                .with_help("a rule is `name ::= …`, its name made of letters, digits and `-`"));
        };
        let lazy = self.options()?;
        space(&mut self.text, false);
        if !self.text.eat("::=") {
            return Err(self.text.error(self.text.at, format!("expected `::=` after `{name}`")));
        }
        self.rules.id(&name, start);
        let mut body = self.body()?;
        if lazy {
            body = Item::new(start, Kind::Lazy(Box::new(body)));
        }
        self.rules.define(&self.text, &name, start, body)?;
        match self.text.peek() {
            None => Ok(()),
            Some('\n' | '\r') => Ok(()),
            Some(c) => Err(self
                .text
                .error(self.text.at, format!("unexpected `{c}` in rule `{name}`"))
                .with_help("a literal stands in double quotes, a rule ends at the line's end")),
        }
    }

    /// What stands behind `::=`; nothing where the next line begins another rule.
    fn body(&mut self) -> Result<Item> {
        space(&mut self.text, false);
        let before = self.text.at;
        if matches!(self.text.peek(), Some('\n' | '\r')) {
            space(&mut self.text, true);
            if self.begins_rule() {
                self.text.at = before;
                return Ok(Rules::empty(before));
            }
        }
        self.alternatives()
    }

    /// `[lazy, capture="name"]` behind a rule's name: is it lazy?
    fn options(&mut self) -> Result<bool> {
        let mut lazy = false;
        if !self.text.eat("[") {
            return Ok(lazy);
        }
        loop {
            space(&mut self.text, true);
            let at = self.text.at;
            match self.name().as_deref() {
                Some("lazy") => lazy = true,
                Some("capture") => {
                    if self.text.eat("=") {
                        self.string()?;
                    }
                }
                Some(name) => {
                    let message = format!("`{name}` of a rule is no matter of the language");
                    let help =
                        "known are lazy and capture; bounds stand in the rule, as in `{0,9}`";
                    return Err(self.text.error(at, message).with_help(help));
                }
                None => return Err(self.text.error(at, "expected the name of an option")),
            }
            space(&mut self.text, true);
            if self.text.eat("]") {
                return Ok(lazy);
            }
            if !self.text.eat(",") {
                let found = self.text.found();
                let message = format!("expected `,` or `]`, found {found}");
                return Err(self.text.error(self.text.at, message));
            }
        }
    }

    fn alternatives(&mut self) -> Result<Item> {
        let start = self.text.at;
        let mut items = Vec::new();
        loop {
            items.push(self.sequence()?);
            if !self.text.eat("|") {
                return Ok(Item::choice(start, items));
            }
            space(&mut self.text, true);
        }
    }

    /// Skips space within a rule: an indented line that begins no rule goes on with the one above.
    fn gap(&mut self) {
        self.text.inner_space(space);
        if self.text.in_group() || !matches!(self.text.peek(), Some('\n' | '\r')) {
            return;
        }
        let before = self.text.at;
        space(&mut self.text, true);
        let indented = self.text.between(before, self.text.at).ends_with([' ', '\t']);
        if !indented || self.text.peek().is_none() || self.begins_rule() {
            self.text.at = before;
        }
    }

    fn begins_rule(&mut self) -> bool {
        let before = self.text.at;
        let named = self.name().is_some();
        if self.text.eat("[") {
            self.text.take_while(|c| c != ']' && c != '\n');
            self.text.eat("]");
        }
        space(&mut self.text, false);
        let begins = named && self.text.starts_with("::=");
        self.text.at = before;
        begins
    }

    fn sequence(&mut self) -> Result<Item> {
        let start = self.text.at;
        let mut items = Vec::new();
        loop {
            self.gap();
            match self.repeated()? {
                Some(item) => items.push(item),
                None => return Ok(Item::sequence(start, items)),
            }
        }
    }

    fn repeated(&mut self) -> Result<Option<Item>> {
        let Some(mut item) = self.element()? else { return Ok(None) };
        for repeats in 0.. {
            self.gap();
            if repeats == NESTING {
                let message = format!("more than {NESTING} repeats of one item");
                return Err(self.text.error(self.text.at, message).with_help("one is enough"));
            }
            let (min, max) = match self.text.peek() {
                Some('*') => (0, None),
                Some('+') => (1, None),
                Some('?') => (0, Some(1)),
                Some('{') => self.bounds()?,
                _ => break,
            };
            // The mark itself; `bounds` stops at its closing brace.
            self.text.at += 1;
            item = item.repeat(min, max);
        }
        Ok(Some(item))
    }

    fn bounds(&mut self) -> Result<(u32, Option<u32>)> {
        let start = self.text.at;
        let help = "write `{2}`, `{2,}` or `{2,5}`";
        self.text.at += 1;
        space(&mut self.text, false);
        let min = self.text.bound().map_err(|error| error.with_help(help))?;
        space(&mut self.text, false);
        let max = if self.text.eat(",") {
            space(&mut self.text, false);
            match self.text.peek() {
                Some('}') => None,
                // XGrammar prints a repeat without bound so.
                Some('-') if self.text.eat("-1") => None,
                _ => Some(self.text.bound().map_err(|error| error.with_help(help))?),
            }
        } else {
            Some(min)
        };
        space(&mut self.text, false);
        if self.text.peek() != Some('}') {
            let message = "expected `}` after the bounds of a repeat";
            return Err(self.text.error(self.text.at, message).with_help(help));
        }
        self.text.in_order(min, max, start)?;
        Ok((min, max))
    }

    fn element(&mut self) -> Result<Option<Item>> {
        let start = self.text.at;
        match self.text.peek() {
            Some('"') => self.literal().map(Some),
            Some('[') => self.class().map(Some),
            Some('.') => {
                self.text.at += 1;
                Ok(Some(self.rules.class(start, &[(0, LAST)])))
            }
            Some('(') => self.group().map(Some),
            Some('<') => {
                let token = self.token()?;
                Ok(Some(Item::new(start, Kind::Special(vec![token]))))
            }
            Some('!') => {
                self.text.at += 1;
                if self.text.peek() != Some('<') {
                    return Err(self
                        .text
                        .error(start, "expected a token after `!`")
                        .with_help("write `!<name>` or `!<[1234]>`"));
                }
                let token = self.token()?;
                tokens::any_but(&mut self.rules, &self.text, start, &[token]).map(Some)
            }
            Some('*' | '+' | '?' | '{') => Err(self
                .text
                .error(start, "nothing to repeat")
                .with_help("put a literal, class, rule or group before it")),
            _ => {
                let Some(name) = self.name() else { return Ok(None) };
                if self.text.starts_with("(") && macros::is_known(&name) {
                    return self.call_macro(start, &name).map(Some);
                }
                let after = self.text.at;
                space(&mut self.text, false);
                if self.text.starts_with("::=") {
                    return Err(self
                        .text
                        .error(start, format!("rule `{name}` begins inside another"))
                        .with_help("start it on a line of its own, outside parentheses"));
                }
                self.text.at = after;
                Ok(Some(self.rules.call(&name, start)))
            }
        }
    }

    fn group(&mut self) -> Result<Item> {
        let start = self.text.at;
        self.text.enter("(")?;
        let is_lookahead = self.text.eat("=");
        space(&mut self.text, true);
        let item = self.alternatives()?;
        self.text.leave(")", start)?;
        Ok(if is_lookahead { Rules::empty(start) } else { item })
    }

    fn literal(&mut self) -> Result<Item> {
        let start = self.text.at;
        let text = self.string()?;
        Ok(self.rules.literal(start, &text))
    }

    /// A text between double quotes, the first of which is here.
    pub(super) fn string(&mut self) -> Result<String> {
        let start = self.text.at;
        if !self.text.eat("\"") {
            let found = self.text.found();
            return Err(self.text.error(start, format!("expected a `\"`, found {found}")));
        }
        let mut text = String::new();
        loop {
            match self.text.peek() {
                Some('"') => break,
                None => {
                    return Err(self
                        .text
                        .error(start, "the literal is not closed")
                        .with_help("end it with `\"`, write a literal one as `\\\"`"));
                }
                Some(_) => {
                    let at = self.text.at;
                    let code = character(&mut self.text)?;
                    text.push(self.text.character(code, at)?);
                }
            }
        }
        self.text.at += 1;
        Ok(text)
    }

    fn class(&mut self) -> Result<Item> {
        let start = self.text.at;
        let ranges = self.text.class(character)?;
        Ok(self.rules.class(start, &ranges))
    }

    /// `<name>` or `<[id]>`: a token, by its name in the vocabulary with the angle brackets, or by
    /// its id.
    fn token(&mut self) -> Result<SpecialToken> {
        let start = self.text.at;
        let inner = tokens::enclosed(&mut self.text)?;
        match inner.strip_prefix('[').and_then(|id| id.strip_suffix(']')) {
            Some(id) => Ok(SpecialToken::Id(id.parse().map_err(|_| {
                self.text
                    .error(start, format!("`{id}` is no token id"))
                    .with_help("write `<[1234]>`")
            })?)),
            None => Ok(SpecialToken::Name(format!("<{inner}>"))),
        }
    }
}

/// One character of a literal or class, or its escape.
fn character(text: &mut Text<'_>) -> Result<u32> {
    let start = text.at;
    // Callers have seen that there is one.
    let c = text.take().unwrap_or_default();
    if c != '\\' {
        return Ok(c.into());
    }
    match text.take() {
        Some('x') => text.hex(2, start),
        Some('u') => text.hex(4, start),
        Some('U') => text.hex(8, start),
        Some('t') => Ok(0x09),
        Some('n') => Ok(0x0A),
        Some('r') => Ok(0x0D),
        // The rest are XGrammar's.
        Some('0') => Ok(0x00),
        Some('a') => Ok(0x07),
        Some('b') => Ok(0x08),
        Some('v') => Ok(0x0B),
        Some('f') => Ok(0x0C),
        Some('e') => Ok(0x1B),
        Some(c) if c.is_ascii_punctuation() => Ok(c.into()),
        other => {
            let other = other.map_or("the end".into(), |c| format!("`\\{c}`"));
            Err(text
                .error(start, format!("unknown escape {other}"))
                .with_help(r#"known are \t \n \r \\ \" \[ \] \- \^ \0 \e \xNN \uNNNN \UNNNNNNNN"#))
        }
    }
}
