//! Text between brackets, in which line breaks are ignored: it becomes copies of the rules that ignore
//! them.

use super::{IndentationRewriter, PendingDefinition, name, sequence};
use crate::ebnf::notation::lark::ast::{LarkExpr, LarkExprKind, is_terminal};
use crate::error::Result;

/// Opening and closing brackets between which line breaks are ignored: texts and names.
const OPENING: [&str; 6] = ["(", "[", "{", "LPAR", "LSQB", "LBRACE"];
const CLOSING: [&str; 6] = [")", "]", "}", "RPAR", "RSQB", "RBRACE"];

#[derive(PartialEq, Eq)]
enum Bracket {
    Opening,
    Closing,
}

/// The bracket that an expression is.
fn bracket(expr: &LarkExpr) -> Option<Bracket> {
    let (LarkExprKind::Text { text, .. } | LarkExprKind::Name(text)) = &expr.kind else {
        return None;
    };
    if OPENING.contains(&text.as_str()) {
        return Some(Bracket::Opening);
    }
    CLOSING.contains(&text.as_str()).then_some(Bracket::Closing)
}

impl IndentationRewriter<'_> {
    /// An expression between brackets, where line breaks are ignored.
    pub(super) fn in_brackets(&mut self, expr: &LarkExpr, parameters: &[String]) -> LarkExpr {
        let mut copy = expr.clone();
        copy.visit_mut(&mut |expr| {
            if let LarkExprKind::Name(name) = &expr.kind
                && self.is_layout_terminal(name)
            {
                expr.kind = LarkExprKind::Choice(Vec::new());
            }
            if let LarkExprKind::Name(name) | LarkExprKind::Template(name, _) = &mut expr.kind
                && !is_terminal(name)
                && !parameters.contains(name)
                && self.by_name.contains_key(name.as_str())
            {
                let copy = format!("{name}@brackets");
                if self.known.insert(copy.clone()) {
                    self.todo.push(PendingDefinition::InBrackets(name.clone()));
                }
                *name = copy;
            }
        });
        copy
    }

    /// An expression without lines, what stands in brackets in rules of its own.
    pub(super) fn plain(&mut self, expr: &LarkExpr) -> Result<LarkExpr> {
        let at = expr.at;
        let kind = match &expr.kind {
            LarkExprKind::Sequence(parts) => return self.plain_sequence(at, parts),
            LarkExprKind::Choice(parts) => {
                let parts: Result<_> = parts.iter().map(|part| self.plain(part)).collect();
                LarkExprKind::Choice(parts?)
            }
            LarkExprKind::Repeat(inner, min, max) => {
                LarkExprKind::Repeat(Box::new(self.plain(inner)?), *min, *max)
            }
            _ if bracket(expr).is_some() => {
                return Err(self.error(at, "a bracket stands without its other half"));
            }
            _ => return Ok(expr.clone()),
        };
        Ok(LarkExpr { at, kind })
    }

    fn plain_sequence(&mut self, at: usize, parts: &[LarkExpr]) -> Result<LarkExpr> {
        let mut made = Vec::new();
        let mut index = 0;
        while let Some(part) = parts.get(index) {
            if bracket(part) != Some(Bracket::Opening) {
                made.push(self.plain(part)?);
                index += 1;
                continue;
            }
            let mut depth = 0usize;
            let close = parts[index..].iter().position(|part| {
                match bracket(part) {
                    Some(Bracket::Opening) => depth += 1,
                    Some(Bracket::Closing) => depth -= 1,
                    None => {}
                }
                depth == 0
            });
            let Some(close) = close else {
                return Err(self.error(part.at, "the bracket is not closed in its alternative"));
            };
            let inner = sequence(part.at, parts[index..index + close].to_vec());
            let inner = self.in_brackets(&inner, &[]);
            let rule = self.fresh("brackets");
            self.define(rule.clone(), part.at, inner, false, self.groups.brackets);
            made.push(name(part.at, rule));
            made.push(parts[index + close].clone());
            index += close + 1;
        }
        Ok(sequence(at, made))
    }
}

impl LarkExpr {
    /// Whether brackets were taken out of it.
    pub(super) fn has_bracket_rule(&self) -> bool {
        let mut found = false;
        self.visit(&mut |expr| {
            found |=
                matches!(&expr.kind, LarkExprKind::Name(name) if name.starts_with("brackets@"));
        });
        found
    }
}
