//! Special tokens that a grammar names, and their complements ("any token but these").

use super::expression::{RuleExpr, RuleExprKind};
use super::grammar_text::{GrammarText, MAX_CODE_POINT};
use super::rule_table::RuleTable;
use crate::error::Result;
use crate::grammar::SpecialToken;

/// Reads a token's name between `<`, which comes next, and the next `>` of the line.
pub(super) fn read_name<'a>(text: &mut GrammarText<'a>) -> Result<&'a str> {
    let start = text.at;
    let rest = text.rest();
    let line = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
    let Some(end) = line.find('>') else {
        return Err(text
            .error(start, "the special token is not closed")
            .with_help("end it with `>`"));
    };
    if end <= 1 {
        return Err(text.error(start, "a special token needs a name").with_help("write `<name>`"));
    }
    text.at += end + 1;
    Ok(&line[1..end])
}

/// One character, or one special token other than `tokens`.
///
/// Errors where there is no vocabulary, or where one of these is text in it.
pub(super) fn any_but(
    rules: &mut RuleTable<'_>,
    text: &GrammarText<'_>,
    at: usize,
    tokens: &[SpecialToken],
) -> Result<RuleExpr> {
    let environment = rules.environment;
    let special = environment.special_tokens().map_err(|error| text.embed(at, &error))?;
    let mut excluded = Vec::new();
    for token in tokens {
        match environment.is_special(token).map_err(|error| text.embed(at, &error))? {
            Some(id) => excluded.push(id),
            None => {
                let name = match token {
                    SpecialToken::Name(name) => name.clone(),
                    SpecialToken::Id(id) => format!("<[{id}]>"),
                };
                let message = format!("`{name}` is text in this vocabulary, it cannot be left out");
                return Err(text
                    .error(at, message)
                    .with_help("describe the text that may stand here by classes"));
            }
        }
    }
    Ok(text_or(rules, at, special.into_iter().filter(|id| !excluded.contains(id))))
}

/// One character, or one of these special tokens.
fn text_or(rules: &mut RuleTable<'_>, at: usize, special: impl Iterator<Item = u32>) -> RuleExpr {
    let character = rules.class(at, &[(0, MAX_CODE_POINT)]);
    let tokens: Vec<SpecialToken> = special.map(SpecialToken::Id).collect();
    if tokens.is_empty() {
        return character;
    }
    let special = RuleExpr::new(at, RuleExprKind::Special(tokens));
    RuleExpr::new(at, RuleExprKind::Choice(vec![character, special]))
}
