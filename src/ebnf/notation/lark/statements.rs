//! The syntax of a whole grammar: definitions, `%import`, `%ignore`, `%llguidance`.

use serde_json::Value;

use super::ast::{LarkDefinition, LarkExpr, LarkExprKind, LarkFile, LarkImport, LarkOptions};
use super::lexical::LarkParser;
use crate::error::Result;

impl LarkParser<'_> {
    /// Reads a whole grammar.
    pub(super) fn file(&mut self) -> Result<LarkFile> {
        let mut file = LarkFile::default();
        self.skip_blanks_and_lines();
        while self.text.peek().is_some() {
            if self.text.peek() == Some('%') {
                self.statement(&mut file)?;
            } else {
                let definition = self.definition()?;
                file.definitions.push(definition);
            }
            self.skip_blanks();
            if !matches!(self.text.peek(), None | Some('\n' | '\r')) {
                let found = self.text.found();
                return Err(self
                    .text
                    .error(self.text.at, format!("unexpected {found}"))
                    .with_help(
                        "a rule ends at the line's end, alternatives are separated by `|`",
                    ));
            }
            self.skip_blanks_and_lines();
        }
        Ok(file)
    }

    fn statement(&mut self, file: &mut LarkFile) -> Result<()> {
        let start = self.text.at;
        self.text.at += 1;
        let name = self.word();
        self.skip_blanks();
        match name {
            "ignore" => {
                let ignored = self.choice()?;
                file.ignored.push(ignored);
                Ok(())
            }
            "import" => self.import(start, file),
            // XGrammar has it by the second name.
            "llguidance" | "grammar_options" => self.options(start, &mut file.options),
            "declare" | "override" | "extend" => Err(self
                .text
                .error(start, format!("`%{name}` has no meaning without a lexer of one's own"))
                .with_help("define the terminal in this grammar")),
            _ => Err(self
                .text
                .error(start, format!("unknown statement `%{name}`"))
                .with_help("known are %import, %ignore and %llguidance")),
        }
    }

    /// Reads `common.NAME`, `common.NAME -> ALIAS` or `common (A, B)`.
    fn import(&mut self, start: usize, file: &mut LarkFile) -> Result<()> {
        let path_at = self.text.at;
        let path = self.text.take_while(|c| c.is_alphanumeric() || "_.".contains(c));
        let (library, one) = match path.split_once('.') {
            Some((library, name)) => (library, Some(name)),
            None => (path, None),
        };
        if library != "common" {
            return Err(self
                .text
                .error(path_at, format!("there is no library `{path}`"))
                .with_help("import from `common`, or copy the rules into this grammar"));
        }
        if let Some(name) = one {
            self.skip_blanks();
            let mut alias = name.to_owned();
            if self.text.eat("->") {
                self.skip_blanks();
                alias = self.word().to_owned();
            }
            file.imports.push(LarkImport { at: path_at, name: name.to_owned(), alias });
            return Ok(());
        }
        self.skip_blanks();
        if !self.text.eat("(") {
            return Err(self
                .text
                .error(start, "expected what is imported")
                .with_help("write `%import common.INT` or `%import common (INT, WS)`"));
        }
        loop {
            self.skip_blanks_and_lines();
            let at = self.text.at;
            let name = self.word().to_owned();
            file.imports.push(LarkImport { at, alias: name.clone(), name });
            self.skip_blanks_and_lines();
            if self.text.eat(")") {
                return Ok(());
            }
            if !self.text.eat(",") {
                let found = self.text.found();
                return Err(self
                    .text
                    .error(self.text.at, format!("expected `,` or `)`, found {found}")));
            }
        }
    }

    /// Reads the options of `%llguidance {…}`; those about speed mean nothing here.
    fn options(&mut self, start: usize, options: &mut LarkOptions) -> Result<()> {
        let value: Value = serde_json::from_str(self.braces()?)
            .map_err(|error| self.text.error(start, format!("the options are no JSON: {error}")))?;
        for (key, value) in value.as_object().into_iter().flatten() {
            match (key.as_str(), value) {
                ("no_forcing", _) => {}
                ("allow_initial_skip", Value::Bool(skips)) => options.begins_with_text = !skips,
                ("skip_repetition", Value::String(times)) if times == "once" => {
                    options.ignored_once = true;
                }
                ("skip_repetition", Value::String(times)) if times == "repeat" => {
                    options.ignored_once = false;
                }
                ("allow_invalid_utf8", Value::Bool(false)) => {}
                _ => {
                    let message = format!("the option `{key}` is not supported with {value}");
                    return Err(self.text.error(start, message).with_help("leave it out"));
                }
            }
        }
        Ok(())
    }

    fn definition(&mut self) -> Result<LarkDefinition> {
        let at = self.text.at;
        self.text.take_while(|c| c == '?' || c == '!');
        let name = self.word().to_owned();
        let good = name.trim_start_matches('_').starts_with(|c: char| c.is_alphabetic());
        if !good {
            self.text.at = at;
            let found = self.text.found();
            return Err(self
                .text
                .error(at, format!("expected a rule or terminal, found {found}"))
                .with_help("a rule is `name: …`, a terminal `NAME: …`"));
        }
        let mut definition = LarkDefinition {
            at,
            name,
            parameters: Vec::new(),
            is_parametric: false,
            is_lazy: false,
            suffix: None,
            body: LarkExpr { at, kind: LarkExprKind::Sequence(Vec::new()) },
        };
        if self.text.eat("::") {
            if self.word() != "_" {
                return Err(self
                    .text
                    .error(at, format!("the parameter of `{}` has no name", definition.name))
                    .with_help(format!("define the rule as `{}::_: …`", definition.name)));
            }
            definition.is_parametric = true;
        }
        if self.text.eat("{") {
            definition.parameters = self.parameters()?;
        }
        if self.text.eat("[") {
            self.attributes(&mut definition)?;
        }
        if self.text.eat(".") {
            self.text.eat("-");
            let digits = self.text.take_while(|c| c.is_ascii_digit());
            if digits.is_empty() {
                return Err(self
                    .text
                    .error(self.text.at, "expected a priority after `.`")
                    .with_help("write a whole number, such as `NAME.2: …`"));
            }
        }
        self.skip_blanks();
        if !self.text.eat(":") {
            let (name, found) = (&definition.name, self.text.found());
            return Err(self
                .text
                .error(self.text.at, format!("expected `:` after `{name}`, found {found}")));
        }
        self.skip_blanks();
        if !self.is_empty_rule() {
            self.skip_blanks_and_lines();
            definition.body = self.choice()?;
        }
        Ok(definition)
    }

    /// Whether nothing stands behind the colon of a rule, here: the line ends, and the next one
    /// begins another rule or statement, or there is none.
    fn is_empty_rule(&mut self) -> bool {
        let before = self.text.at;
        if !matches!(self.text.peek(), None | Some('\n' | '\r')) {
            return false;
        }
        self.skip_blanks_and_lines();
        let is_empty = match self.text.peek() {
            None | Some('%') => {
                !["%json", "%regex", "%lark"].iter().any(|word| self.text.starts_with(word))
            }
            _ => self.begins_definition(),
        };
        self.text.at = before;
        is_empty
    }

    /// Whether a rule or terminal is defined here.
    fn begins_definition(&mut self) -> bool {
        let before = self.text.at;
        self.text.take_while(|c| c == '?' || c == '!');
        let mut is_head = !self.word().is_empty();
        if self.text.eat("::") {
            is_head &= self.word() == "_";
        }
        for (open, close) in [("{", '}'), ("[", ']')] {
            if self.text.eat(open) {
                self.text.take_while(|c| c != close && c != '\n');
                self.text.take();
            }
        }
        if self.text.eat(".") {
            self.text.eat("-");
            self.text.take_while(|c| c.is_ascii_digit());
        }
        self.skip_blanks();
        is_head &= self.text.starts_with(":") && !self.text.starts_with("::");
        self.text.at = before;
        is_head
    }

    fn parameters(&mut self) -> Result<Vec<String>> {
        let mut parameters = Vec::new();
        loop {
            self.skip_blanks_and_lines();
            let at = self.text.at;
            let name = self.word();
            if name.is_empty() {
                return Err(self.text.error(at, "expected the name of a parameter"));
            }
            parameters.push(name.to_owned());
            self.skip_blanks_and_lines();
            if self.text.eat("}") {
                return Ok(parameters);
            }
            if !self.text.eat(",") {
                let found = self.text.found();
                return Err(self
                    .text
                    .error(self.text.at, format!("expected `,` or `}}`, found {found}")));
            }
        }
    }

    /// Reads `[capture, lazy, suffix="…"]` behind the name of a rule.
    fn attributes(&mut self, definition: &mut LarkDefinition) -> Result<()> {
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
                ("lazy", None) => definition.is_lazy = true,
                ("suffix", Some(Some(suffix))) => {
                    definition.is_lazy = true;
                    definition.suffix = Some(suffix);
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
                return Ok(());
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
