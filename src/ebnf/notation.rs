//! The notations, a parser each.
//!
//! A parser reads a [`GrammarText`](super::grammar_text::GrammarText), makes a
//! [`RuleExpr`](super::expression::RuleExpr) of each right-hand side with the constructors of a
//! [`RuleTable`](super::rule_table::RuleTable), and ends with
//! [`RuleTable::finish`](super::rule_table::RuleTable::finish). `iso` is the shortest example.

mod abnf;
mod gbnf;
mod iso;
mod lark;
mod w3c;

use super::dialect::{Dialect, without_byte_order_mark};
use super::environment::{Environment, NamedGrammar, WithoutOptions};
use crate::error::Result;
use crate::grammar::{Grammar, GrammarBuilder};
use crate::regular::ChoiceList;

/// Parses a grammar of a dialect.
pub(super) fn parse(
    text: &str,
    dialect: Dialect,
    environment: &dyn Environment,
) -> Result<Grammar> {
    let text = without_byte_order_mark(text);
    match dialect {
        Dialect::Gbnf => gbnf::parse(text, environment),
        Dialect::Lark => lark::parse(text, environment),
        Dialect::W3c => w3c::parse(text, environment),
        Dialect::Iso => iso::parse(text, environment),
        Dialect::Abnf => abnf::parse(text, environment),
    }
}

/// A grammar that an environment knows by name.
///
/// Errors if there is none of this name, or if it cannot be parsed.
pub(crate) fn grammar_by_name(environment: &dyn Environment, name: &str) -> Result<Grammar> {
    match environment.named_grammar(name)? {
        NamedGrammar::Text { text, dialect, file } => {
            parse(&text, dialect, &WithoutOptions(environment)).map_err(|error| match file {
                Some(file) => error.in_file(file),
                None => error,
            })
        }
        NamedGrammar::JsonSchema(schema) => environment.json_schema(&schema),
        NamedGrammar::Choices(list) => choices_grammar(&list),
    }
}

/// One text of a list.
pub(crate) fn choices_grammar(list: &ChoiceList) -> Result<Grammar> {
    let mut grammar = GrammarBuilder::new();
    let language = list.language(grammar.languages());
    let body = grammar.regular(language);
    let rule = grammar.rule("choice", body);
    grammar.finish(rule)
}
