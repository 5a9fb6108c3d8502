//! The syntax of right-hand sides: alternatives, conjunctions, sequences, repeats and atoms.

use super::ast::{LarkExpr, LarkExprKind, is_terminal};
use super::lexical::{LarkParser, skip_space};
use crate::ebnf::grammar_text::{GrammarText, MAX_REPEATS};
use crate::ebnf::special_tokens;
use crate::error::Result;

impl LarkParser<'_> {
    /// Reads alternatives.
    pub(super) fn choice(&mut self) -> Result<LarkExpr> {
        let at = self.text.at;
        let mut alternatives = Vec::new();
        loop {
            let start = self.text.at;
            let mut alternative = self.conjunction()?;
            self.alias()?;
            if self.text.eat("%if") {
                let condition = self.condition()?;
                let kind = LarkExprKind::If(Box::new(alternative), condition);
                alternative = LarkExpr { at: start, kind };
                self.alias()?;
            }
            alternatives.push(alternative);
            if !self.text.eat("|") {
                return Ok(LarkExpr { at, kind: one_or(alternatives, LarkExprKind::Choice) });
            }
        }
    }

    /// Skips `-> name`, which names a branch of the parse.
    fn alias(&mut self) -> Result<()> {
        self.text.skip_inner_space(skip_space);
        if self.text.eat("->") {
            self.skip_blanks();
            let at = self.text.at;
            if self.word().is_empty() {
                return Err(self.text.error(at, "expected a name after `->`"));
            }
            self.text.skip_inner_space(skip_space);
        }
        Ok(())
    }

    fn conjunction(&mut self) -> Result<LarkExpr> {
        let at = self.text.at;
        let mut parts = Vec::new();
        loop {
            parts.push(self.sequence()?);
            if !self.text.eat("&") {
                return Ok(LarkExpr { at, kind: one_or(parts, LarkExprKind::And) });
            }
            self.skip_blanks_and_lines();
        }
    }

    fn sequence(&mut self) -> Result<LarkExpr> {
        let at = self.text.at;
        let mut parts = Vec::new();
        loop {
            self.text.skip_inner_space(skip_space);
            match self.repeated()? {
                Some(part) => parts.push(part),
                None => return Ok(LarkExpr { at, kind: one_or(parts, LarkExprKind::Sequence) }),
            }
        }
    }

    fn repeated(&mut self) -> Result<Option<LarkExpr>> {
        let Some(mut expr) = self.atom()? else { return Ok(None) };
        for repeats in 0.. {
            self.skip_blanks();
            if repeats > MAX_REPEATS {
                let message = format!("more than {MAX_REPEATS} repeats of one item");
                return Err(self.text.error(self.text.at, message).with_help("one is enough"));
            }
            let start = self.text.at;
            let (min, max) = if self.text.eat("*") {
                (0, None)
            } else if self.text.eat("+") {
                (1, None)
            } else if self.text.eat("?") {
                (0, Some(1))
            } else if self.text.starts_with("{") {
                self.text.at += 1;
                self.count_in_braces()?
            } else if let Some(count) = self.tilde()? {
                count
            } else {
                return Ok(Some(expr));
            };
            self.text.check_bounds(min, max, start)?;
            expr = LarkExpr { at: expr.at, kind: LarkExprKind::Repeat(Box::new(expr), min, max) };
        }
        Ok(Some(expr))
    }

    /// Reads the bounds of a repeat after its opening brace.
    fn count_in_braces(&mut self) -> Result<(u32, Option<u32>)> {
        self.skip_blanks_and_lines();
        let digit = |text: &GrammarText<'_>| text.peek().is_some_and(|c| c.is_ascii_digit());
        let min = if digit(&self.text) { Some(self.text.bound()?) } else { None };
        self.skip_blanks_and_lines();
        let count = if self.text.eat(",") {
            self.skip_blanks_and_lines();
            let max = if digit(&self.text) { Some(self.text.bound()?) } else { None };
            (min.is_some() || max.is_some()).then_some((min.unwrap_or(0), max))
        } else {
            min.map(|min| (min, Some(min)))
        };
        self.skip_blanks_and_lines();
        match count {
            Some(count) if self.text.eat("}") => Ok(count),
            _ => Err(self
                .text
                .error(self.text.at, "expected the bounds of a repeat")
                .with_help("write `{2}`, `{2,}`, `{,5}` or `{2,5}`")),
        }
    }

    /// Reads `~n` or `~n..m`; a `~` before anything else is a negation, which is not read here.
    fn tilde(&mut self) -> Result<Option<(u32, Option<u32>)>> {
        let before = self.text.at;
        if !self.text.eat("~") {
            return Ok(None);
        }
        self.skip_blanks();
        if !self.text.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.text.at = before;
            return Ok(None);
        }
        let min = self.text.bound()?;
        self.skip_blanks();
        if !self.text.eat("..") {
            return Ok(Some((min, Some(min))));
        }
        self.skip_blanks();
        Ok(Some((min, Some(self.text.bound()?))))
    }

    /// Reads an expression without operators after it, if one comes next.
    pub(super) fn atom(&mut self) -> Result<Option<LarkExpr>> {
        let at = self.text.at;
        let expr = |kind| Ok(Some(LarkExpr { at, kind }));
        match self.text.peek() {
            Some('"') => {
                let text = self.string()?;
                let end_of_text = self.text.at;
                self.skip_blanks();
                if self.text.starts_with("..") {
                    self.text.at += 2;
                    self.skip_blanks();
                    let end = self.text.at;
                    if self.text.peek() != Some('"') {
                        return Err(self
                            .text
                            .error(end, "expected the end of the range in quotes"));
                    }
                    let last = self.string()?;
                    return match (single(&text), single(&last)) {
                        (Some(first), Some(last)) if first <= last => {
                            expr(LarkExprKind::Range(first, last))
                        }
                        (Some(_), Some(_)) => {
                            Err(self.text.error(at, "the range ends before it begins"))
                        }
                        _ => Err(self
                            .text
                            .error(at, "the ends of a range are single characters")
                            .with_help("write `\"a\"..\"z\"`")),
                    };
                }
                self.text.at = end_of_text;
                let caseless = self.text.eat("i");
                expr(LarkExprKind::Text { text, caseless })
            }
            Some('/') => {
                let pattern = self.pattern()?;
                expr(LarkExprKind::Pattern(pattern))
            }
            Some('<') => {
                let inner = special_tokens::read_name(&mut self.text)?.to_owned();
                expr(LarkExprKind::Special(inner))
            }
            Some('(') => {
                self.text.enter("(")?;
                self.skip_blanks_and_lines();
                let inner = self.choice()?;
                self.text.leave(")", at)?;
                expr(inner.kind)
            }
            Some('[') => {
                self.text.enter("[")?;
                self.skip_blanks_and_lines();
                let inner = self.choice()?;
                self.text.leave("]", at)?;
                expr(LarkExprKind::Repeat(Box::new(inner), 0, Some(1)))
            }
            Some('~') => {
                self.text.enter("~")?;
                self.skip_blanks_and_lines();
                let Some(inner) = self.atom()? else {
                    return Err(self.text.error(at, "expected a terminal after `~`"));
                };
                // A `~` has no closing sign.
                self.text.leave("", at)?;
                expr(LarkExprKind::Not(Box::new(inner)))
            }
            Some('@') => {
                self.text.at += 1;
                let name = self.word().to_owned();
                if name.is_empty() {
                    return Err(self.text.error(at, "expected the name of a grammar after `@`"));
                }
                expr(LarkExprKind::Grammar(name))
            }
            Some('%') if self.text.starts_with("%if") => Ok(None),
            Some('%') => {
                self.text.at += 1;
                let name = self.word();
                self.skip_blanks_and_lines();
                match name {
                    "json" => {
                        let truth = ["true", "false"].into_iter().find(|word| self.text.eat(word));
                        let schema = truth.map_or_else(|| self.braces(), Ok)?;
                        expr(LarkExprKind::Json(schema.to_owned()))
                    }
                    "regex" => expr(LarkExprKind::Regex(self.braces()?.to_owned())),
                    "lark" => {
                        let inner = self.grammar_in_braces()?;
                        expr(LarkExprKind::Lark(inner[1..inner.len() - 1].to_owned()))
                    }
                    _ => Err(self
                        .text
                        .error(at, format!("unexpected `%{name}`"))
                        .with_help("within a rule stand %json {…}, %regex {…} and %lark {…}")),
                }
            }
            Some('*' | '+' | '?' | '{') => Err(self
                .text
                .error(at, "nothing to repeat")
                .with_help("put a string, pattern, name or group before it")),
            Some(c) if c.is_alphabetic() || c == '_' || c == '!' => self.name(at),
            _ => Ok(None),
        }
    }

    fn name(&mut self, at: usize) -> Result<Option<LarkExpr>> {
        self.text.eat("!");
        let name = self.word().to_owned();
        if name.is_empty() {
            return Err(self.text.error(at, "expected a name"));
        }
        if self.text.eat("::") {
            let function = self.function()?;
            return Ok(Some(LarkExpr { at, kind: LarkExprKind::Parametric(name, function) }));
        }
        // A brace after a rule's name holds the arguments of a template, unless a number
        // or comma says that it counts.
        let after_name = self.text.at;
        self.skip_blanks();
        let rest = self.text.rest();
        let counts = rest.starts_with('{')
            && rest[1..].trim_start().starts_with(|c: char| c.is_ascii_digit() || c == ',');
        if is_terminal(&name) || !rest.starts_with('{') || counts {
            self.text.at = after_name;
            return Ok(Some(LarkExpr { at, kind: LarkExprKind::Name(name) }));
        }
        self.text.enter("{")?;
        let mut arguments = Vec::new();
        loop {
            self.skip_blanks_and_lines();
            arguments.push(self.choice()?);
            if !self.text.eat(",") {
                break;
            }
        }
        self.text.leave("}", at)?;
        Ok(Some(LarkExpr { at, kind: LarkExprKind::Template(name, arguments) }))
    }
}

/// The character of a text that is one.
fn single(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

/// A single part as it is, several as `many` of them.
fn one_or(mut parts: Vec<LarkExpr>, many: impl Fn(Vec<LarkExpr>) -> LarkExprKind) -> LarkExprKind {
    match parts.len() {
        1 => parts.swap_remove(0).kind,
        _ => many(parts),
    }
}
