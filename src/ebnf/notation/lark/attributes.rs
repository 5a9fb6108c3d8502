//! The attributes of a rule, in brackets behind its name (llguidance's `docs/syntax.md`, "Lexeme
//! options").

use super::ast::{LarkExpr, RuleAttributes};
use super::lexical::LarkParser;
use crate::error::Result;

impl LarkParser<'_> {
    /// Reads `[capture, lazy, suffix="…"]` behind the name of a rule and the bracket.
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
                ("suffix", Some(Some(suffix))) => {
                    attributes.is_lazy = true;
                    attributes.suffix = Some(suffix);
                }
                ("stop" | "stop_capture", _) => {
                    return Err(self
                        .text
                        .error(at, format!("`{key}` takes text back after it was written"))
                        .with_help("use `suffix`, or `lazy`"));
                }
                ("max_tokens" | "temperature", _) => {
                    return Err(self
                        .text
                        .error(at, format!("`{key}` is no matter of the language"))
                        .with_help("set it in the request"));
                }
                ("max_chars", _) => {
                    return Err(self
                        .text
                        .error(at, "`max_chars` gives way where the text cannot end there")
                        .with_help("bound the text itself, as in `/(?s:.){0,100}/`"));
                }
                _ => {
                    return Err(self
                        .text
                        .error(at, format!("unknown attribute `{key}`"))
                        .with_help("known are capture, lazy and suffix=\"…\""));
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

    /// Reads the value of an attribute; a number is no terminal, and is skipped.
    fn attribute(&mut self) -> Result<Option<LarkExpr>> {
        if self.text.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.text.take_while(|c| c.is_ascii_digit() || c == '.');
            return Ok(None);
        }
        self.atom()
    }
}
