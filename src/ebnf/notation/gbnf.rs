//! GBNF, the grammar notation of llama.cpp (its `grammars/README.md`).
//!
//! A rule is `name ::= alternatives`, ended by a line break outside parentheses; the text is what
//! `root` derives. An alternative is a sequence of literals, classes, rule names, groups, `.` and
//! tokens (`<name>`, `<[id]>`, and with a `!` before it any but this one), each with an optional
//! `*`, `+`, `?`, `{m}`, `{m,}` or `{m,n}`. Characters are code points, written in UTF-8. Left
//! recursion is allowed.
//!
//! A constraint does not see the borders between the tokens of a text. So `!<name>` is one
//! *character*, or one special token other than `<name>`; the usual form `!<name>*` means the same
//! either way.
//!
//! # XGrammar's additions (its "EBNF Grammar")
//!
//! - A line that begins no rule goes on with the rule above, and there are more escapes.
//! - Names may have dots, where the grammar defines a rule of such a name; elsewhere a dot is any
//!   character, as in llama.cpp.
//! - `name[lazy] ::= …` is a shortest match. Unlike a lazy rule of Lark it takes nothing from other
//!   alternatives ("each occurrence commits independently").
//! - Macros such as `TagDispatch(("<tool>", tool))` (`gbnf/macros.rs`).
//! - The forms in which XGrammar prints grammars: `{2, -1}` is a repeat without bound; a look-ahead
//!   `(=next)` after a rule repeats what follows the rule anyway (a hint for its mask cache), so
//!   it means nothing.
//!
//! `\x` takes two digits, as in llama.cpp and as XGrammar prints it. What XGrammar reads as one
//! character of four digits or more, `\x1F600`, is refused. `max_tokens` of a rule is a bound that always
//! holds (see [`GrammarBuilder::budget`](crate::grammar::GrammarBuilder::budget)), and so does
//! `max_chars`, of a rule that calls itself nowhere. `capture` and `temperature` are those of
//! [`GrammarBuilder`](crate::grammar::GrammarBuilder).

mod lexical;
mod macros;

use std::sync::Arc;

use crate::ebnf::environment::Environment;
use crate::ebnf::expression::{RuleAttribute, RuleExpr, RuleExprKind};
use crate::ebnf::grammar_text::{GrammarText, MAX_CODE_POINT, MAX_REPEATS};
use crate::ebnf::rule_table::RuleTable;
use crate::error::Result;
use crate::grammar::{Grammar, Temperature, TokenSet};
use crate::regular::Dialect;
use lexical::{GbnfParser, character, skip_space};

/// Parses a GBNF grammar.
pub(super) fn parse(text: &str, environment: &dyn Environment) -> Result<Grammar> {
    let mut parser = GbnfParser {
        text: GrammarText::new(text),
        rules: RuleTable::new("::=", environment),
        dotted_names: lexical::dotted_names(text),
    };
    parser.skip_blanks_and_lines();
    while parser.text.peek().is_some() {
        parser.rule()?;
        parser.skip_blanks_and_lines();
    }
    let start = parser.rules.start_rule("root");
    parser.rules.finish(&parser.text, start)
}

/// The options in brackets after a rule's name.
#[derive(Default)]
struct RuleOptions {
    is_lazy: bool,
    max_tokens: Option<u32>,
    max_chars: Option<u32>,
    temperature: Option<Temperature>,
    capture: Option<Arc<str>>,
}

impl GbnfParser<'_> {
    fn rule(&mut self) -> Result<()> {
        let start = self.text.at;
        let Some(name) = self.name() else {
            let message = format!("expected the name of a rule, found {}", self.text.found());
            return Err(self
                .text
                .error(start, message)
                .with_help("a rule is `name ::= …`, its name made of letters, digits and `-`"));
        };
        let options = self.rule_options(&name)?;
        self.skip_blanks();
        if !self.text.eat("::=") {
            return Err(self.text.error(self.text.at, format!("expected `::=` after `{name}`")));
        }
        self.rules.id(&name, start);
        let mut body = self.body()?;
        if options.is_lazy {
            body = RuleExpr::new(start, RuleExprKind::Lazy(Box::new(body)));
        }
        if let Some(most) = options.max_chars {
            let pattern = format!("(?s:.){{0,{most}}}");
            let characters = self.rules.pattern(&self.text, start, &pattern, Dialect::Rust)?;
            body = RuleExpr::new(start, RuleExprKind::And(vec![body, characters]));
        }
        let body = body
            .with(options.max_tokens.map(RuleAttribute::MaxTokens))
            .with(options.temperature.map(RuleAttribute::Temperature))
            .with(options.capture.map(RuleAttribute::Capture));
        self.rules.define(&self.text, &name, start, body)?;
        match self.text.peek() {
            None => Ok(()),
            Some('\n' | '\r') => Ok(()),
            Some(c) => Err(self
                .text
                .error(self.text.at, format!("unexpected `{c}` in rule `{name}`"))
                .with_help(
                    "a literal stands in double quotes, the next rule begins on a new line",
                )),
        }
    }

    /// The right-hand side of a rule; empty where the next line begins another rule.
    fn body(&mut self) -> Result<RuleExpr> {
        self.skip_blanks();
        let before = self.text.at;
        if matches!(self.text.peek(), Some('\n' | '\r')) {
            self.skip_blanks_and_lines();
            if self.begins_rule() {
                self.text.at = before;
                return Ok(RuleTable::empty(before));
            }
        }
        self.alternatives()
    }

    /// Reads `[lazy, capture="name", max_tokens=9]` after a rule's name.
    fn rule_options(&mut self, rule: &str) -> Result<RuleOptions> {
        let mut options = RuleOptions::default();
        if !self.text.eat("[") {
            return Ok(options);
        }
        loop {
            self.skip_blanks_and_lines();
            let at = self.text.at;
            match self.name().as_deref() {
                Some("lazy") => options.is_lazy = true,
                Some("max_tokens") => options.max_tokens = Some(self.bound(at)?),
                Some("max_chars") => options.max_chars = Some(self.bound(at)?),
                Some("temperature") => options.temperature = Some(self.temperature(at)?),
                Some("capture") => {
                    let name = if self.text.eat("=") { self.string()? } else { rule.to_owned() };
                    options.capture = Some(name.into());
                }
                Some(name) => {
                    let message = format!("unknown option `{name}`");
                    let help = "known are lazy, capture, max_tokens, max_chars and temperature";
                    return Err(self.text.error(at, message).with_help(help));
                }
                None => return Err(self.text.error(at, "expected the name of an option")),
            }
            self.skip_blanks_and_lines();
            if self.text.eat("]") {
                return Ok(options);
            }
            if !self.text.eat(",") {
                let found = self.text.found();
                let message = format!("expected `,` or `]`, found {found}");
                return Err(self.text.error(self.text.at, message));
            }
        }
    }

    /// Reads the number of a bound.
    fn bound(&mut self, at: usize) -> Result<u32> {
        let has_sign = self.text.eat("=");
        let digits = self.text.take_while(|c| c.is_ascii_digit());
        digits.parse().ok().filter(|_| has_sign).ok_or_else(|| {
            let message = "expected `=` and a whole number of 32 bits";
            self.text.error(at, message).with_help("write `max_tokens=100`")
        })
    }

    /// Reads a temperature.
    fn temperature(&mut self, at: usize) -> Result<Temperature> {
        let has_sign = self.text.eat("=");
        let number = self.text.take_while(|c| c.is_ascii_digit() || "+-.e".contains(c));
        match number.parse() {
            Ok(number) if has_sign => {
                Temperature::new(number).map_err(|error| self.text.embed(at, &error))
            }
            _ => {
                let message = "expected `=` and a number";
                Err(self.text.error(at, message).with_help("write `temperature=0.7`"))
            }
        }
    }

    fn alternatives(&mut self) -> Result<RuleExpr> {
        let start = self.text.at;
        let mut items = Vec::new();
        loop {
            items.push(self.sequence()?);
            if !self.text.eat("|") {
                return Ok(RuleExpr::choice(start, items));
            }
            self.skip_blanks_and_lines();
        }
    }

    /// Skips space within a rule: a line that begins no rule goes on with the one above.
    fn skip_space_in_rule(&mut self) {
        self.text.skip_inner_space(skip_space);
        if self.text.in_group() || !matches!(self.text.peek(), Some('\n' | '\r')) {
            return;
        }
        let before = self.text.at;
        self.skip_blanks_and_lines();
        if self.text.peek().is_none() || self.begins_rule() {
            self.text.at = before;
        }
    }

    /// Whether a rule begins here; nothing is read.
    fn begins_rule(&mut self) -> bool {
        let before = self.text.at;
        let named = self.name().is_some();
        if self.text.eat("[") {
            self.text.take_while(|c| c != ']' && c != '\n');
            self.text.eat("]");
        }
        self.skip_blanks();
        let begins = named && self.text.starts_with("::=");
        self.text.at = before;
        begins
    }

    fn sequence(&mut self) -> Result<RuleExpr> {
        let start = self.text.at;
        let mut items = Vec::new();
        loop {
            self.skip_space_in_rule();
            match self.repeated()? {
                Some(item) => items.push(item),
                None => return Ok(RuleExpr::sequence(start, items)),
            }
        }
    }

    fn repeated(&mut self) -> Result<Option<RuleExpr>> {
        let Some(mut item) = self.element()? else { return Ok(None) };
        for repeats in 0.. {
            self.skip_space_in_rule();
            if repeats > MAX_REPEATS {
                let message = format!("more than {MAX_REPEATS} repeats of one item");
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
        self.skip_blanks();
        let min = self.text.bound().map_err(|error| error.with_help(help))?;
        self.skip_blanks();
        let max = if self.text.eat(",") {
            self.skip_blanks();
            match self.text.peek() {
                Some('}') => None,
                // XGrammar prints a repeat without bound so.
                Some('-') if self.text.eat("-1") => None,
                _ => Some(self.text.bound().map_err(|error| error.with_help(help))?),
            }
        } else {
            Some(min)
        };
        self.skip_blanks();
        if self.text.peek() != Some('}') {
            let message = "expected `}` after the bounds of a repeat";
            return Err(self.text.error(self.text.at, message).with_help(help));
        }
        self.text.check_bounds(min, max, start)?;
        Ok((min, max))
    }

    fn element(&mut self) -> Result<Option<RuleExpr>> {
        let start = self.text.at;
        match self.text.peek() {
            Some('"') => self.literal().map(Some),
            Some('[') => self.class().map(Some),
            Some('.') => {
                self.text.at += 1;
                Ok(Some(self.rules.class(start, &[(0, MAX_CODE_POINT)])))
            }
            Some('(') => self.group().map(Some),
            Some('<') => {
                let token = self.token()?;
                Ok(Some(RuleExpr::new(start, RuleExprKind::Special(token.into()))))
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
                let tokens = TokenSet::Except([token].into());
                Ok(Some(RuleExpr::new(start, RuleExprKind::Special(tokens))))
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
                self.skip_blanks();
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

    fn group(&mut self) -> Result<RuleExpr> {
        let start = self.text.at;
        self.text.enter("(")?;
        let is_lookahead = self.text.eat("=");
        self.skip_blanks_and_lines();
        let item = self.alternatives()?;
        self.text.leave(")", start)?;
        Ok(if is_lookahead { RuleTable::empty(start) } else { item })
    }

    fn literal(&mut self) -> Result<RuleExpr> {
        let start = self.text.at;
        let text = self.string()?;
        Ok(self.rules.literal(start, &text))
    }

    fn class(&mut self) -> Result<RuleExpr> {
        let start = self.text.at;
        let ranges = self.text.class(character)?;
        Ok(self.rules.class(start, &ranges))
    }
}
