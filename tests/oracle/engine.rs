//! A case put into the engine: the grammar through the builder, the vocabulary token by token.

use maskwright::constraint::{Compiler, Constraint};
use maskwright::grammar::{GrammarBuilder, NodeId, RuleId, SpecialToken};
use maskwright::regular::{Language, Languages};
use maskwright::{Result, Vocabulary, grammar};

use super::language::{Expr, Grammar, Node, Token, rule_name};
use super::random::SPECIALS;

/// The engine's vocabulary of these tokens.
pub(crate) fn vocabulary(tokens: &[Token]) -> Result<Vocabulary> {
    let bytes = tokens.iter().map(|token| match token {
        Token::Text(bytes) => Some(bytes.clone()),
        Token::End(bytes) => bytes.clone(),
        Token::Missing | Token::Special => None,
    });
    let ids = |kind: fn(&Token) -> bool| {
        (0..).zip(tokens).filter(move |(_, token)| kind(token)).map(|(id, _)| id)
    };
    let names: Vec<(u32, String)> =
        ids(|token| *token == Token::Special).map(|id| (id, special_name(id))).collect();
    let names: Vec<(u32, &str)> = names.iter().map(|(id, name)| (*id, name.as_str())).collect();
    let end: Vec<u32> = ids(|token| matches!(token, Token::End(_))).collect();
    Vocabulary::from_tokens(bytes.collect(), &names, &end)
}

fn special_name(id: u32) -> String {
    format!("<{id}>")
}

/// The engine's constraint for a grammar.
pub(crate) fn compile(compiler: &Compiler, grammar: &Grammar) -> Option<Result<Constraint>> {
    Some(translate(grammar).and_then(|grammar| compiler.compile(grammar)))
}

fn translate(grammar: &Grammar) -> Result<grammar::Grammar> {
    let mut builder = GrammarBuilder::new();
    let rules: Vec<RuleId> =
        (0..grammar.rules.len()).map(|rule| builder.declare(rule_name(rule))).collect();
    for (&rule, body) in rules.iter().zip(&grammar.rules) {
        let body = node(&mut builder, &rules, body);
        builder.define(rule, body);
    }
    builder.finish(rules[0])
}

fn node(builder: &mut GrammarBuilder, rules: &[RuleId], from: &Node) -> NodeId {
    let mut all = |nodes: &[Node]| -> Vec<NodeId> {
        nodes.iter().map(|one| node(builder, rules, one)).collect()
    };
    match from {
        Node::Terminal(Expr::Literal(bytes)) => builder.literal(bytes),
        Node::Terminal(from) => {
            let language = expr(builder.languages(), from);
            builder.regular(language)
        }
        // One of the two by its id, the other by its name.
        Node::Special(id) if *id == SPECIALS[0] => builder.special(SpecialToken::Id(*id)),
        Node::Special(id) => builder.special(SpecialToken::Name(special_name(*id))),
        Node::Sequence(parts) => {
            let parts = all(parts);
            builder.sequence(parts)
        }
        Node::Choice(parts) => {
            let parts = all(parts);
            builder.choice(parts)
        }
        Node::Repeat(part, min, max) => {
            let part = node(builder, rules, part);
            builder.repeat(part, *min, *max)
        }
        Node::Budget(part, max) => {
            let part = node(builder, rules, part);
            builder.budget(part, *max)
        }
        Node::Call(rule) => builder.call(rules[*rule]),
    }
}

fn expr(languages: &mut Languages, from: &Expr) -> Language {
    let mut all = |parts: &[Expr]| -> Vec<Language> {
        parts.iter().map(|part| expr(languages, part)).collect()
    };
    match from {
        Expr::Class(bytes) => languages.byte_set(bytes.iter().copied().collect()),
        Expr::Literal(bytes) => languages.literal(bytes),
        Expr::Concat(parts) => {
            let parts = all(parts);
            languages.concat(parts)
        }
        Expr::Union(parts) => {
            let parts = all(parts);
            languages.union(parts)
        }
        Expr::And(parts) => {
            let parts = all(parts);
            languages.intersect(parts)
        }
        Expr::Not(part) => {
            let part = expr(languages, part);
            languages.complement(part)
        }
        Expr::Repeat(part, min, max) => {
            let part = expr(languages, part);
            languages.repeat(part, *min, *max)
        }
    }
}
