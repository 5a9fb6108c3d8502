//! The attributes of a rule, in brackets behind its name (llguidance's `docs/syntax.md`, "Lexeme
//! options").

use super::ast::{LarkExpr, LarkExprKind, RuleAttributes};
use super::lexical::LarkParser;
use crate::error::Result;

/// The value of an attribute.
enum AttributeValue {
    Number(String),
    Terminal(LarkExpr),
}

impl LarkParser<'_> {
    /// Reads `[capture, lazy, suffix="…", max_tokens=9]` behind the name of a rule and the bracket.
    pub(super) fn attributes(&mut self) -> Result<RuleAttributes> {
        let mut attributes = RuleAttributes::default();
        loop {
            self.skip_blanks_and_lines();
            let at = self.text.at;
            let key = self.word();
            self.skip_blanks_and_lines();
            let value = if self.text.eat("=") {
                self.skip_blanks_and_lines();
                Some(self.attribute()?)
            } else {
                None
            };
            match (key, value) {
                ("capture", _) => {}
                ("lazy", None) => attributes.is_lazy = true,
                ("suffix", Some(Some(AttributeValue::Terminal(suffix)))) => {
                    attributes.is_lazy = true;
                    attributes.suffix = Some(suffix);
                }
                ("stop", Some(Some(AttributeValue::Terminal(stop)))) => {
                    if matches!(&stop.kind, LarkExprKind::Text { text, .. } if text.is_empty()) {
                        return Err(self
                            .text
                            .error(at, "`stop` names no text; the end token ends a whole text")
                            .with_help("name the text that stands behind the rule"));
                    }
                    attributes.stop = Some(stop);
                }
                ("stop_capture", Some(_)) => {}
                ("max_tokens", Some(Some(AttributeValue::Number(number)))) => {
                    attributes.max_tokens = Some(self.bound(at, key, &number)?);
                }
                ("max_chars", Some(Some(AttributeValue::Number(number)))) => {
                    attributes.max_chars = Some(self.bound(at, key, &number)?);
                }
                ("temperature", _) => {
                    return Err(self
                        .text
                        .error(at, format!("`{key}` is no matter of the language"))
                        .with_help("set it in the request"));
                }
                ("max_tokens" | "max_chars", _) => {
                    return Err(self
                        .text
                        .error(at, format!("`{key}` takes a number"))
                        .with_help(format!("write `{key}=100`")));
                }
                _ => {
                    return Err(self
                        .text
                        .error(at, format!("unknown attribute `{key}`"))
                        .with_help(
                            "known are capture, lazy, suffix, stop, max_tokens and max_chars",
                        ));
                }
            }
            self.skip_blanks_and_lines();
            if self.text.eat("]") {
                return Ok(attributes);
            }
            if !self.text.eat(",") {
                let found = self.text.found();
                return Err(self
                    .text
                    .error(self.text.at, format!("expected `,` or `]`, found {found}")));
            }
        }
    }

    /// Reads the value of an attribute.
    fn attribute(&mut self) -> Result<Option<AttributeValue>> {
        if self.text.peek().is_some_and(|c| c.is_ascii_digit()) {
            let number = self.text.take_while(|c| c.is_ascii_digit() || c == '.');
            return Ok(Some(AttributeValue::Number(number.to_owned())));
        }
        Ok(self.atom()?.map(AttributeValue::Terminal))
    }

    /// The number of a bound.
    fn bound(&self, at: usize, key: &str, number: &str) -> Result<u32> {
        number.parse().map_err(|_| {
            self.text
                .error(at, format!("`{key}` is {number}, and no whole number of 32 bits"))
                .with_help("leave the bound out where there is none")
        })
    }
}
