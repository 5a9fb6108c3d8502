//! A grammar in a request, and the fields beside a grammar or a pattern.

use serde_json::{Map, Value, json};

use super::AnswerConstraint;
use super::ecma_patterns::in_ecma;
use super::field_values::without_nulls;
use crate::constraint::{GrammarLayout, GrammarOptions};
use crate::ebnf::{self, Dialect};
use crate::error::Error;
use crate::grammar::Grammar;
use crate::server::api_error::{ApiError, with_cure};
use crate::server::request::fields::Fields;
use crate::{Compiler, regular};

/// A grammar, or the name of a ready one.
#[derive(PartialEq)]
pub(super) struct GrammarConstraint {
    text: String,
    /// Its notation; without one the notation that it looks like.
    dialect: Option<Dialect>,
    start: Option<String>,
    regex_dialect: Option<regular::Dialect>,
}

/// The fields beside a grammar or a pattern: its start rule, and the dialect of its regular expressions.
#[derive(Default)]
pub(super) struct GrammarFields {
    pub(super) start: Option<String>,
    pub(super) regex_dialect: Option<regular::Dialect>,
    /// The fields that were sent.
    pub(super) sent: Vec<String>,
}

impl GrammarFields {
    pub(super) fn read(fields: &mut Fields) -> Result<Self, ApiError> {
        let mut sent = Vec::new();
        let start = fields.string("start")?;
        sent.extend(start.as_ref().map(|_| fields.name("start")));
        let name = fields.name("regex_dialect");
        let dialect = fields.string("regex_dialect")?.map(|name| name.parse::<regular::Dialect>());
        let regex_dialect =
            dialect.transpose().map_err(|error| ApiError::field(&name, with_cure(&error)))?;
        sent.extend(regex_dialect.map(|_| name));
        Ok(Self { start, regex_dialect, sent })
    }

    pub(super) fn grammar(&self, text: String, dialect: Option<Dialect>) -> AnswerConstraint {
        let (start, regex_dialect) = (self.start.clone(), self.regex_dialect);
        AnswerConstraint::Grammar(GrammarConstraint { text, dialect, start, regex_dialect })
    }

    /// A formula of one member, which a start rule and a dialect stand beside.
    pub(super) fn formula(
        &self,
        field: &str,
        key: &str,
        value: Value,
    ) -> Result<AnswerConstraint, ApiError> {
        let mut formula = Map::from_iter([(key.to_owned(), value)]);
        if let Some(start) = &self.start {
            formula.insert("start".to_owned(), json!(start));
        }
        if let Some(dialect) = self.regex_dialect {
            formula.insert("regex_dialect".to_owned(), json!(dialect.name()));
        }
        let formula = without_nulls(Value::Object(formula));
        Ok(AnswerConstraint::Formula(in_ecma(field, formula)?))
    }

    /// Errors if something was sent that does not apply to the constraint that `field` has.
    pub(super) fn check(&self, field: &str, constraint: &AnswerConstraint) -> Result<(), ApiError> {
        let applies =
            matches!(constraint, AnswerConstraint::Grammar(_) | AnswerConstraint::Formula(_));
        match self.sent.first() {
            Some(option) if !applies => Err(ApiError::field(
                option,
                format!("does not apply to `{field}`; it is for a grammar or a regular expression"),
            )),
            _ => Ok(()),
        }
    }
}

impl GrammarConstraint {
    pub(super) fn grammar(
        &self,
        compiler: &Compiler,
        layout: GrammarLayout,
    ) -> crate::Result<Grammar> {
        let Self { text, dialect, start, regex_dialect } = self;
        let options = GrammarOptions { start: start.clone(), layout };
        if let Some(ready) = ebnf::builtin(text).filter(|_| dialect.is_none()) {
            if regex_dialect.is_some() {
                let message = "the dialect of a ready grammar's regular expressions is known";
                return Err(Error::new(crate::ErrorKind::Grammar, message)
                    .with_help("leave out `regex_dialect`"));
            }
            return compiler.parse_grammar_with_options(ready.text, ready.dialect, &options);
        }
        let guess = || Dialect::guess_with_reason(text);
        let Some((read_as, reason)) = dialect.map(|dialect| (dialect, "")).or_else(guess) else {
            let names: Vec<_> = ebnf::GRAMMARS.iter().map(|ready| ready.name).collect();
            let message = "this is no grammar, and the name of none that is here";
            return Err(Error::new(crate::ErrorKind::Grammar, message)
                .with_help(format!("write its rules; or one of {}", names.join(", "))));
        };
        let other = regex_dialect.map(|dialect| compiler.clone().with_regex_dialect(dialect));
        let compiler = other.as_ref().unwrap_or(compiler);
        let grammar = compiler.parse_grammar_with_options(text, read_as, &options);
        grammar.map_err(|error| match (dialect, error.help()) {
            (None, None) => error.with_help(format!(
                "it was read as {read_as}, for {reason}; {{\"structured_outputs\": {{\"{}\": …}}}} says which \
                 notation it is",
                read_as.name()
            )),
            _ => error,
        })
    }
}
