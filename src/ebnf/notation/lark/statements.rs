//! The syntax of a whole grammar: definitions, `%import`, `%ignore`, `%declare`, `%override`,
//! `%extend`, `%llguidance`.

use serde_json::Value;

use super::ast::{
    DefinitionKind, ImportedName, LarkDefinition, LarkExpr, LarkExprKind, LarkFile, LarkImport,
    LarkOptions, RuleAttributes, is_terminal,
};
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
                let help = match self.text.peek() {
                    Some('\'') => "strings stand in double quotes",
                    _ => "a rule ends at the line's end, alternatives are separated by `|`",
                };
                return Err(self
                    .text
                    .error(self.text.at, format!("unexpected {found}"))
                    .with_help(help));
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
            "import" => {
                let import = self.import()?;
                file.imports.push(import);
                Ok(())
            }
            "declare" => self.declared(file),
            "override" | "extend" => {
                let mut definition = self.definition()?;
                definition.kind = match name {
                    "override" => DefinitionKind::Override,
                    _ => DefinitionKind::Extend,
                };
                file.definitions.push(definition);
                Ok(())
            }
            // XGrammar has it by the second name.
            "llguidance" | "grammar_options" => self.options(start, &mut file.options),
            _ => Err(self.text.error(start, format!("unknown statement `%{name}`")).with_help(
                "known are %import, %ignore, %declare, %override, %extend and %llguidance",
            )),
        }
    }

    /// Reads `library.NAME`, `.file.name -> alias` or `library (A, B)`.
    fn import(&mut self) -> Result<LarkImport> {
        let at = self.text.at;
        let is_relative = self.text.eat(".");
        let mut path = Vec::new();
        let mut last_at;
        loop {
            last_at = self.text.at;
            let name = self.word();
            if name.is_empty() {
                let found = self.text.found();
                return Err(self
                    .text
                    .error(last_at, format!("expected a name to import, found {found}"))
                    .with_help("write `%import common.NAME` or `%import .file.rule`"));
            }
            path.push(name.to_owned());
            if !self.text.eat(".") {
                break;
            }
        }
        self.skip_blanks();
        if self.text.starts_with("(") {
            let names = self.imported_names()?;
            return Ok(LarkImport { at, is_relative, path, names });
        }
        let name = path.pop().unwrap_or_default();
        if path.is_empty() {
            return Err(self
                .text
                .error(at, format!("`%import {name}` names no library or file"))
                .with_help(format!("write `%import common.{name}` or `%import .file.{name}`")));
        }
        let mut alias = name.clone();
        if self.text.eat("->") {
            self.skip_blanks();
            alias = self.alias_of(&name)?;
        }
        let names = vec![ImportedName { at: last_at, name, alias }];
        Ok(LarkImport { at, is_relative, path, names })
    }

    /// Reads the name that an imported one gets.
    fn alias_of(&mut self, name: &str) -> Result<String> {
        let at = self.text.at;
        let alias = self.word().to_owned();
        if alias.is_empty() {
            let found = self.text.found();
            return Err(self.text.error(at, format!("expected a name after `->`, found {found}")));
        }
        if is_terminal(&alias) != is_terminal(name) {
            let message = format!("`{name}` cannot be called `{alias}`");
            return Err(self
                .text
                .error(at, message)
                .with_help("rules have small letters, terminals capitals"));
        }
        Ok(alias)
    }

    /// Reads `(A, B)`, the parenthesis of which comes next.
    fn imported_names(&mut self) -> Result<Vec<ImportedName>> {
        self.text.at += 1;
        let mut names = Vec::new();
        loop {
            self.skip_blanks_and_lines();
            let at = self.text.at;
            let name = self.word().to_owned();
            if name.is_empty() {
                let found = self.text.found();
                return Err(self.text.error(at, format!("expected a name, found {found}")));
            }
            names.push(ImportedName { at, alias: name.clone(), name });
            self.skip_blanks_and_lines();
            if self.text.eat(")") {
                return Ok(names);
            }
            if !self.text.eat(",") {
                let found = self.text.found();
                return Err(self
                    .text
                    .error(self.text.at, format!("expected `,` or `)`, found {found}")));
            }
        }
    }

    /// Reads the names of `%declare`.
    fn declared(&mut self, file: &mut LarkFile) -> Result<()> {
        loop {
            let at = self.text.at;
            let name = self.word().to_owned();
            if name.is_empty() {
                let found = self.text.found();
                return Err(self
                    .text
                    .error(at, format!("expected the name of a terminal, found {found}"))
                    .with_help("write `%declare _INDENT _DEDENT`"));
            }
            file.declared.push((at, name));
            self.skip_blanks();
            if matches!(self.text.peek(), None | Some('\n' | '\r')) {
                return Ok(());
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
            kind: DefinitionKind::New,
            name,
            parameters: Vec::new(),
            is_parametric: false,
            attributes: RuleAttributes::default(),
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
        self.skip_blanks();
        if self.text.eat("{") {
            definition.parameters = self.parameters()?;
            self.skip_blanks();
        }
        if self.text.eat("[") {
            definition.attributes = self.attributes(&definition.name)?;
            self.skip_blanks();
        }
        if self.text.eat(".") {
            let _ = self.text.eat("-") || self.text.eat("+");
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

    /// Whether nothing stands after the colon of a rule, here: the line ends, and the next one
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
}
