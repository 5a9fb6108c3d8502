//! Special tokens between angle brackets.

use crate::ebnf::expression::{RuleExpr, RuleExprKind};
use crate::ebnf::grammar_text::GrammarText;
use crate::error::Result;
use crate::grammar::{SpecialToken, TokenSet};

/// Special tokens of a set that is given by ranges.
const MAX_TOKENS_OF_A_SET: usize = 4_096;

/// `name`, `[7]`, `[7-9,12]`, `[^7]` or `[*]`, from between angle brackets.
pub(super) fn token_set(text: &GrammarText<'_>, at: usize, inner: &str) -> Result<RuleExpr> {
    let ids = inner.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
    let Some(ids) = ids else {
        let name = SpecialToken::Name(format!("<{inner}>"));
        return Ok(RuleExpr::new(at, RuleExprKind::Special(name.into())));
    };
    if ids == "*" {
        let any = TokenSet::Except(Box::default());
        return Ok(RuleExpr::new(at, RuleExprKind::Special(any)));
    }
    let negated = ids.strip_prefix('^');
    let mut tokens = Vec::new();
    for range in negated.unwrap_or(ids).split(',') {
        let bad = || {
            text.error(at, format!("`{range}` is no token id and no range of them"))
                .with_help("write `<[7]>`, `<[7-9,12]>`, `<[^7]>` or `<[*]>`")
        };
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let first: u32 = first.trim().parse().map_err(|_| bad())?;
        let last: u32 = last.trim().parse().map_err(|_| bad())?;
        if last < first {
            return Err(text.error(at, "the range ends before it begins"));
        }
        if (last - first) as usize + tokens.len() >= MAX_TOKENS_OF_A_SET {
            return Err(text
                .error(at, format!("a set of more than {MAX_TOKENS_OF_A_SET} tokens"))
                .with_help("describe ordinary text by patterns"));
        }
        tokens.extend((first..=last).map(SpecialToken::Id));
    }
    let tokens = match negated {
        Some(_) => TokenSet::Except(tokens.into()),
        None => TokenSet::OneOf(tokens.into()),
    };
    Ok(RuleExpr::new(at, RuleExprKind::Special(tokens)))
}
