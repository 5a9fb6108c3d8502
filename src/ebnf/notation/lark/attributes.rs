//! The attributes of a rule, in brackets after its name (llguidance's `docs/syntax.md`, "Lexeme
//! options").

use std::sync::Arc;

use super::ast::{LarkExpr, LarkExprKind, RuleAttributes};
use super::lexical::LarkParser;
use crate::ebnf::grammar_text::GrammarText;
use crate::error::Result;
use crate::grammar::Temperature;

/// Guidance's prefix of the names of captures that become a list.
const LIST_APPEND: &str = "__LIST_APPEND:";

/// The value of an attribute.
enum AttributeValue {
    Number(String),
    Terminal(LarkExpr),
}

impl LarkParser<'_> {
    /// Reads `[capture, lazy, suffix="…", max_tokens=9]` after the name of a rule and the bracket.
    pub(super) fn attributes(&mut self, rule: &str) -> Result<RuleAttributes> {
        let mut attributes = RuleAttributes::default();
        let start = self.text.at;
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
                ("capture", None) => attributes.capture = Some(rule.into()),
                ("capture", Some(value)) => {
                    attributes.capture = Some(self.capture_name(at, key, value)?);
                }
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
                            .with_help("name the text that stands after the rule"));
                    }
                    attributes.stop = Some(stop);
                }
                ("stop_capture", Some(value)) => {
                    attributes.stop_capture = Some(self.capture_name(at, key, value)?);
                }
                ("max_tokens", Some(Some(AttributeValue::Number(number)))) => {
                    attributes.max_tokens = Some(self.bound(at, key, &number)?);
                }
                ("max_chars", Some(Some(AttributeValue::Number(number)))) => {
                    attributes.max_chars = Some(self.bound(at, key, &number)?);
                }
                ("temperature", Some(Some(AttributeValue::Number(number)))) => {
                    let number = number.parse().unwrap_or(f32::NAN);
                    let temperature = Temperature::new(number);
                    attributes.temperature =
                        Some(temperature.map_err(|error| self.text.embed(at, &error))?);
                }
                ("max_tokens" | "max_chars" | "temperature", _) => {
                    let example = if key == "temperature" { "0.7" } else { "100" };
                    return Err(self
                        .text
                        .error(at, format!("`{key}` takes a number"))
                        .with_help(format!("write `{key}={example}`")));
                }
                _ => {
                    return Err(self
                        .text
                        .error(at, format!("unknown attribute `{key}`"))
                        .with_help(
                            "known are capture, lazy, suffix, stop, stop_capture, max_tokens, \
                             max_chars and temperature",
                        ));
                }
            }
            self.skip_blanks_and_lines();
            if self.text.eat("]") {
                check_ends(&self.text, start, &attributes)?;
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

    /// The name of a capture; `__LIST_APPEND:` before it means nothing here, since all texts of a name
    /// are reported.
    fn capture_name(
        &self,
        at: usize,
        key: &str,
        value: Option<AttributeValue>,
    ) -> Result<Arc<str>> {
        let name = match &value {
            Some(AttributeValue::Terminal(LarkExpr {
                kind: LarkExprKind::Text { text, caseless: false },
                ..
            })) => text.strip_prefix(LIST_APPEND).unwrap_or(text),
            _ => "",
        };
        if name.is_empty() {
            return Err(self
                .text
                .error(at, format!("`{key}` takes a name"))
                .with_help(format!("write `{key}=\"name\"`")));
        }
        Ok(name.into())
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

/// Errors if the attributes that name the end of a rule contradict each other.
fn check_ends(text: &GrammarText<'_>, at: usize, attributes: &RuleAttributes) -> Result<()> {
    match attributes {
        RuleAttributes { stop: Some(_), suffix: Some(_), .. } => Err(text
            .error(at, "a rule with both `stop` and `suffix`")
            .with_help("`suffix` is part of the rule's text, `stop` stands after it")),
        RuleAttributes { stop_capture: Some(_), stop: Some(_), .. } => Err(text
            .error(at, "the text of `stop` stands after the rule, which cannot capture it")
            .with_help("write `suffix`, or capture a rule that reads the stop text")),
        RuleAttributes { stop_capture: Some(_), suffix: None, .. } => Err(text
            .error(at, "`stop_capture` without a `suffix`")
            .with_help("name the text that ends the rule by `suffix=\"…\"`")),
        _ => Ok(()),
    }
}
