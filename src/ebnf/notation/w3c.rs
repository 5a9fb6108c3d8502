//! The EBNF of the W3C (XML 1.0, fifth edition, section 6 "Notation").
//!
//! `symbol ::= expression`; `#xN` and quoted strings, classes `[a-z]`, `[^<&]`, `[#x20-#x7E]`; `?`,
//! `*`, `+`, `|`, `A - B`, groups and `/* comments */`. As in the W3C's documents productions may
//! be numbered (`[14] CharData ::= …`) and carry `[wfc: …]` and `[vc: …]`, which are conditions
//! beyond the grammar and no part of it. The start is the first rule.
//!
//! The section gives `A - B` no rank; it binds tighter than a sequence here, as all productions of
//! XML 1.0 read it.

use crate::ebnf::environment::Environment;
use crate::ebnf::expression::{RuleExpr, RuleExprKind};
use crate::ebnf::grammar_text::{GrammarText, MAX_CODE_POINT, MAX_NESTING};
use crate::ebnf::rule_table::RuleTable;
use crate::error::Result;
use crate::grammar::Grammar;

/// Parses a W3C grammar.
pub(super) fn parse(text: &str, environment: &dyn Environment) -> Result<Grammar> {
    let mut parser =
        W3cParser { text: GrammarText::new(text), rules: RuleTable::new("::=", environment) };
    let mut start = None;
    parser.skip_space()?;
    while parser.text.peek().is_some() {
        let name = parser.rule()?;
        start.get_or_insert(name);
    }
    match start {
        Some(start) => parser.rules.finish(&parser.text, &start),
        None => {
            Err(parser.text.error(0, "the grammar has no rule").with_help("a rule is `name ::= …`"))
        }
    }
}

/// The state of a parser.
struct W3cParser<'a> {
    text: GrammarText<'a>,
    rules: RuleTable<'a>,
}

impl W3cParser<'_> {
    /// Skips blanks, comments, and conditions on productions.
    fn skip_space(&mut self) -> Result<()> {
        loop {
            self.text.take_while(char::is_whitespace);
            if self.text.starts_with("/*") {
                self.text.skip_enclosed("/*", "*/", "comment")?;
            } else if ["[wfc:", "[vc:", "[nsc:"].iter().any(|mark| {
                self.text.rest().get(..mark.len()).is_some_and(|s| s.eq_ignore_ascii_case(mark))
            }) {
                self.text.skip_enclosed("[", "]", "condition")?;
            } else {
                return Ok(());
            }
        }
    }

    fn name(&mut self) -> Option<String> {
        if !self.text.peek().is_some_and(|c| c.is_alphabetic() || c == '_') {
            return None;
        }
        let start = self.text.at;
        let name = self.text.take_while(|c| c.is_alphanumeric() || "_-.:".contains(c));
        // A colon may be part of a name, but `::=` is not, nor is `-` before a blank.
        let name = name.trim_end_matches([':', '-']);
        self.text.at = start + name.len();
        Some(name.to_owned())
    }

    /// Reads the left-hand side of a rule, if one begins here: a name and `::=`, perhaps numbered.
    /// The name and its byte offset.
    fn head(&mut self) -> Result<Option<(String, usize)>> {
        let before = self.text.at;
        if self.text.peek() == Some('[') {
            let rest = self.text.rest();
            let number = rest.find(']').map(|end| &rest[1..end]);
            match number {
                Some(number) if number.chars().all(|c| c.is_ascii_alphanumeric()) => {
                    self.text.at += number.len() + 2;
                    self.skip_space()?;
                }
                _ => return Ok(None),
            }
        }
        let start = self.text.at;
        let name = self.name();
        if let Some(name) = name {
            self.skip_space()?;
            if self.text.eat("::=") {
                return Ok(Some((name, start)));
            }
        }
        self.text.at = before;
        Ok(None)
    }

    fn rule(&mut self) -> Result<String> {
        let at = self.text.at;
        let Some((name, start)) = self.head()? else {
            let found = self.text.found();
            return Err(self
                .text
                .error(at, format!("expected a rule, found {found}"))
                .with_help("a rule is `name ::= …`"));
        };
        self.rules.id(&name, start);
        let body = self.alternatives()?;
        self.rules.define(&self.text, &name, start, body)?;
        Ok(name)
    }

    fn alternatives(&mut self) -> Result<RuleExpr> {
        let start = self.text.at;
        let mut items = Vec::new();
        loop {
            items.push(self.sequence()?);
            if !self.text.eat("|") {
                return Ok(RuleExpr::choice(start, items));
            }
        }
    }

    fn sequence(&mut self) -> Result<RuleExpr> {
        let start = self.text.at;
        let mut items = Vec::new();
        loop {
            self.skip_space()?;
            let before = self.text.at;
            if self.head()?.is_some() {
                self.text.at = before;
                break;
            }
            let Some(mut item) = self.repeated()? else { break };
            while self.text.eat("-") {
                let at = self.text.at;
                self.skip_space()?;
                let Some(other) = self.repeated()? else {
                    return Err(self.text.error(at, "expected what is taken away after `-`"));
                };
                item =
                    RuleExpr::new(item.at, RuleExprKind::Except(Box::new(item), Box::new(other)));
            }
            items.push(item);
        }
        Ok(RuleExpr::sequence(start, items))
    }

    fn repeated(&mut self) -> Result<Option<RuleExpr>> {
        let Some(mut item) = self.primary()? else { return Ok(None) };
        let mut repeats = 0;
        loop {
            self.skip_space()?;
            let (min, max) = match self.text.peek() {
                Some('*') => (0, None),
                Some('+') => (1, None),
                Some('?') => (0, Some(1)),
                _ => return Ok(Some(item)),
            };
            repeats += 1;
            if repeats > MAX_NESTING {
                return Err(self.text.error(self.text.at, "too many repeats of one item"));
            }
            self.text.at += 1;
            item = item.repeat(min, max);
        }
    }

    fn primary(&mut self) -> Result<Option<RuleExpr>> {
        let start = self.text.at;
        match self.text.peek() {
            Some(quote @ ('"' | '\'')) => {
                let quote = quote.to_string();
                let text = self.text.skip_enclosed(&quote, &quote, "string")?.to_owned();
                Ok(Some(self.rules.literal(start, &text)))
            }
            Some('#') => {
                let code = code(&mut self.text)?;
                let c = self.text.character(code, start)?;
                Ok(Some(self.rules.literal(start, c.encode_utf8(&mut [0; 4]))))
            }
            Some('[') => self.class().map(Some),
            Some('(') => {
                self.text.enter("(")?;
                let item = self.alternatives()?;
                self.text.leave(")", start)?;
                Ok(Some(item))
            }
            Some('*' | '+' | '?') => Err(self
                .text
                .error(start, "nothing to repeat")
                .with_help("put a string, class, symbol or group before it")),
            Some('-') => Err(self.text.error(start, "nothing to take away from")),
            None | Some('|' | ')') => Ok(None),
            Some(_) => match self.name() {
                Some(name) => Ok(Some(self.rules.call(&name, start))),
                None => Err(self
                    .text
                    .error(start, format!("unexpected {}", self.text.found()))
                    .with_help("strings stand in quotes, characters are `#xN`")),
            },
        }
    }

    fn class(&mut self) -> Result<RuleExpr> {
        let start = self.text.at;
        let ranges = self.text.class(class_character)?;
        Ok(self.rules.class(start, &ranges))
    }
}

fn class_character(text: &mut GrammarText<'_>) -> Result<u32> {
    let rest = text.rest();
    let numbered =
        rest.strip_prefix("#x").is_some_and(|r| r.starts_with(|c: char| c.is_ascii_hexdigit()));
    if numbered {
        return code(text);
    }
    // The caller has seen that there is one.
    Ok(text.take().unwrap_or_default().into())
}

/// `#xN`, a code point in hexadecimal.
fn code(text: &mut GrammarText<'_>) -> Result<u32> {
    let start = text.at;
    text.at += 1;
    if !text.eat("x") {
        return Err(text.error(start, "expected `#xN`, a character by its number"));
    }
    let digits = text.take_while(|c| c.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|&code| code <= MAX_CODE_POINT).ok_or_else(|| {
        text.error(start, "no such character")
            .with_help("write its code point in hexadecimal, such as `#x20`")
    })
}
