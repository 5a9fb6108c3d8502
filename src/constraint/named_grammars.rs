//! Grammars that other grammars refer to by a name: `@name` and `%import .name.rule` in Lark's
//! notation.
//!
//! Names come from the caller one by one (`Compiler::with_grammar`), or by a function
//! (`Compiler::with_grammar_resolver`), such as one that reads files beside a grammar. The grammars
//! that come with the program are known by their names as well. Nothing here opens a file.
//!
//! llguidance takes a list of grammars in JSON in the place of a grammar's text; so does
//! `Compiler::lark`:
//!
//! ```text
//! {"grammars": [{"lark_grammar": "start: \"call \" @arguments"},
//!               {"name": "arguments", "json_schema": {"type": "object"}}]}
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::ebnf::{self, Dialect, NamedGrammar};
use crate::error::{Error, ErrorKind, Result};
use crate::strict_json;

/// A function from names to grammars.
pub(super) type Resolver = dyn Fn(&str) -> Result<Option<NamedGrammar>> + Send + Sync;

/// The grammars that a compiler knows by name.
#[derive(Clone, Default)]
pub(super) struct NamedGrammars {
    given: Arc<BTreeMap<String, NamedGrammar>>,
    resolver: Option<Arc<Resolver>>,
}

impl fmt::Debug for NamedGrammars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedGrammars").field("given", &self.given).finish_non_exhaustive()
    }
}

impl NamedGrammars {
    pub(super) fn with(mut self, name: String, grammar: NamedGrammar) -> Self {
        Arc::make_mut(&mut self.given).insert(name, grammar);
        self
    }

    pub(super) fn set_resolver(&mut self, resolver: Arc<Resolver>) {
        self.resolver = Some(resolver);
    }

    /// The grammar of a name: one that was given, else the resolver's, else one that comes with the
    /// program.
    pub(super) fn find(&self, name: &str) -> Result<NamedGrammar> {
        if let Some(known) = self.given.get(name) {
            return Ok(known.clone());
        }
        if let Some(resolver) = &self.resolver
            && let Some(found) = resolver(name)?
        {
            return Ok(found);
        }
        if let Some(known) = ebnf::builtin(name) {
            let (text, dialect) = (known.text.into(), known.dialect);
            return Ok(NamedGrammar::Text { text, dialect, file: None });
        }
        let given = self.given.keys().map(String::as_str);
        let names: Vec<&str> = given.chain(ebnf::GRAMMARS.iter().map(|known| known.name)).collect();
        Err(Error::new(ErrorKind::Grammar, format!("there is no grammar `{name}`"))
            .with_help(format!("known are {}", names.join(", "))))
    }
}

/// llguidance's list of grammars, the first of which is the whole.
pub(super) struct GrammarList {
    pub(super) first: NamedGrammar,
    pub(super) named: Vec<(String, NamedGrammar)>,
}

impl GrammarList {
    /// Reads the list, if a text in Lark's notation is one: no grammar begins with a brace.
    ///
    /// Errors name the JSON pointer.
    pub(super) fn read(text: &str, dialect: Dialect) -> Result<Option<Self>> {
        if dialect != Dialect::Lark || !text.trim_start().starts_with('{') {
            return Ok(None);
        }
        let value: Value = strict_json::parse(text)?;
        let bad = |pointer: &str, message: String| {
            Error::new(ErrorKind::Grammar, message).at_pointer(pointer).with_help(
                "write {\"grammars\": [{\"lark_grammar\": …}, {\"name\": …, \"json_schema\": {…}}]}",
            )
        };
        let members = value.as_object().into_iter().flatten();
        for (key, value) in members {
            match key.as_str() {
                "grammars" => {}
                "max_tokens" if value.is_null() => {}
                "max_tokens" => {
                    return Err(bad("/max_tokens", "`max_tokens` is for the request".to_owned()));
                }
                _ => {
                    return Err(bad(
                        &format!("/{key}"),
                        format!("`{key}` is no key of a list of grammars"),
                    ));
                }
            }
        }
        let list = value.get("grammars").and_then(Value::as_array);
        let Some(list) = list.filter(|list| !list.is_empty()) else {
            return Err(bad("", "a list of grammars is expected under `grammars`".to_owned()));
        };
        let mut first = None;
        let mut named: Vec<(String, NamedGrammar)> = Vec::new();
        for (index, entry) in list.iter().enumerate() {
            let pointer = format!("/grammars/{index}");
            let (mut name, mut grammar) = (None, None);
            for (key, value) in entry.as_object().into_iter().flatten() {
                let found = match (key.as_str(), value) {
                    (_, Value::Null) => continue,
                    ("name", Value::String(text)) => {
                        name = Some(text.clone());
                        continue;
                    }
                    ("lark_grammar", Value::String(text)) => {
                        NamedGrammar::new(text.as_str(), Dialect::Lark)
                    }
                    ("json_schema", schema) => NamedGrammar::JsonSchema(schema.to_string().into()),
                    _ => {
                        let at = format!("{pointer}/{key}");
                        return Err(bad(&at, format!("`{key}` has no meaning here with {value}")));
                    }
                };
                if grammar.replace(found).is_some() {
                    return Err(bad(&pointer, "a grammar is given twice".to_owned()));
                }
            }
            let Some(grammar) = grammar else {
                return Err(bad(&pointer, "no grammar is given".to_owned()));
            };
            match name {
                Some(name) if named.iter().any(|(known, _)| *known == name) => {
                    return Err(bad(&pointer, format!("another grammar is called `{name}`")));
                }
                Some(name) => named.push((name, grammar.clone())),
                None if index > 0 => {
                    let message = "this grammar has no name to refer to it".to_owned();
                    return Err(bad(&pointer, message));
                }
                None => {}
            }
            first.get_or_insert(grammar);
        }
        Ok(first.map(|first| Self { first, named }))
    }
}
