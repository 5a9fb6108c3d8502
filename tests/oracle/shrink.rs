//! Makes a failing case smaller while it still fails.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::language::{Expr, Grammar, Node, Token};
use super::random::Family;
use super::walk::{Case, Compile, Outcome};

/// Smaller cases tried before giving up; each takes about a millisecond.
const ATTEMPTS: usize = 4_000;

/// Runs a case; a panic is a disagreement too.
pub(crate) fn run(case: &Case, compile: Compile) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| case.run(compile))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// The smallest failing case that removing one part after the other leads to.
pub(crate) fn shrink(case: &Case, compile: Compile) -> (Case, String) {
    let fails = |case: &Case| run(case, compile).err();
    let (mut case, mut wrong) = (case.clone(), fails(case).unwrap_or_default());
    let mut attempts = 0;
    'smaller: while attempts < ATTEMPTS {
        for candidate in smaller(&case) {
            attempts += 1;
            if let Some(words) = fails(&candidate) {
                (case, wrong) = (candidate, words);
                continue 'smaller;
            }
        }
        break;
    }
    (case, wrong)
}

pub(crate) fn smaller(case: &Case) -> Vec<Case> {
    let mut out = Vec::new();
    if case.before.is_some() {
        out.push(Case { before: None, ..case.clone() });
    }
    for (rule, body) in case.grammar.rules.iter().enumerate() {
        for body in smaller_node(body) {
            let mut rules = case.grammar.rules.clone();
            rules[rule] = body;
            out.push(Case { grammar: Grammar { rules }, ..case.clone() });
        }
    }
    for (id, token) in case.tokens.iter().enumerate() {
        let single = matches!(token, Token::Text(bytes) if bytes.len() == 1);
        let needed = single && case.family == Family::Plain || *token == Token::Special;
        if *token != Token::Missing && !needed {
            let mut tokens = case.tokens.clone();
            tokens[id] = Token::Missing;
            out.push(Case { tokens, ..case.clone() });
        }
    }
    out
}

/// All vectors with one part left out, and with one part made smaller.
fn smaller_parts<T: Clone>(parts: &[T], smaller: impl Fn(&T) -> Vec<T>) -> Vec<Vec<T>> {
    let without = |i: usize| [&parts[..i], &parts[i + 1..]].concat();
    let with = |i: usize, part: T| {
        let mut parts = parts.to_vec();
        parts[i] = part;
        parts
    };
    let mut out: Vec<Vec<T>> = (0..parts.len()).map(without).collect();
    for (i, part) in parts.iter().enumerate() {
        out.extend(smaller(part).into_iter().map(|part| with(i, part)));
    }
    out
}

fn smaller_bounds(min: u32, max: Option<u32>) -> Vec<(u32, Option<u32>)> {
    let mut out = Vec::new();
    if min > 0 {
        out.push((min - 1, max.map(|max| max - 1)));
        out.push((min - 1, max));
    }
    if let Some(max) = max.filter(|max| *max > min) {
        out.push((min, Some(max - 1)));
    }
    out
}

fn smaller_node(node: &Node) -> Vec<Node> {
    let mut out = Vec::new();
    match node {
        Node::Terminal(expr) => out.extend(smaller_expr(expr).into_iter().map(Node::Terminal)),
        Node::Special(_) => {}
        Node::Call(_) => out.push(Node::Sequence(vec![])),
        Node::Sequence(parts) => {
            out.extend(parts.iter().cloned());
            out.extend(smaller_parts(parts, smaller_node).into_iter().map(Node::Sequence));
        }
        Node::Choice(parts) => {
            out.extend(parts.iter().cloned());
            out.extend(smaller_parts(parts, smaller_node).into_iter().map(Node::Choice));
        }
        Node::Budget(part, max) => {
            out.push((**part).clone());
            let parts = smaller_node(part).into_iter();
            out.extend(parts.map(|part| Node::Budget(Box::new(part), *max)));
        }
        Node::Repeat(part, min, max) => {
            out.push((**part).clone());
            let bounds = smaller_bounds(*min, *max).into_iter();
            out.extend(bounds.map(|(min, max)| Node::Repeat(part.clone(), min, max)));
            let parts = smaller_node(part).into_iter();
            out.extend(parts.map(|part| Node::Repeat(Box::new(part), *min, *max)));
        }
    }
    out
}

fn smaller_expr(expr: &Expr) -> Vec<Expr> {
    let mut out = Vec::new();
    let mut parts = |parts: &[Expr], make: fn(Vec<Expr>) -> Expr| {
        out.extend(parts.iter().cloned());
        out.extend(smaller_parts(parts, smaller_expr).into_iter().map(make));
    };
    match expr {
        Expr::Concat(xs) => parts(xs, Expr::Concat),
        Expr::Union(xs) => parts(xs, Expr::Union),
        // Without one of its parts it might be all strings, of bytes that are no tokens.
        Expr::And(xs) => out.extend(xs.iter().enumerate().flat_map(|(i, x)| {
            smaller_expr(x).into_iter().map(move |x| {
                let mut xs = xs.clone();
                xs[i] = x;
                Expr::And(xs)
            })
        })),
        Expr::Not(x) => out.extend(smaller_expr(x).into_iter().map(|x| Expr::Not(Box::new(x)))),
        Expr::Class(bytes) if bytes.len() > 1 => {
            out.extend(bytes.iter().map(|&b| Expr::Class(vec![b])));
        }
        Expr::Literal(bytes) if !bytes.is_empty() => {
            out.push(Expr::Literal(bytes[1..].to_vec()));
            out.push(Expr::Literal(bytes[..bytes.len() - 1].to_vec()));
        }
        Expr::Class(_) | Expr::Literal(_) => {}
        Expr::Repeat(x, min, max) => {
            out.push((**x).clone());
            let bounds = smaller_bounds(*min, *max).into_iter();
            out.extend(bounds.map(|(min, max)| Expr::Repeat(x.clone(), min, max)));
            let parts = smaller_expr(x).into_iter();
            out.extend(parts.map(|part| Expr::Repeat(Box::new(part), *min, *max)));
        }
    }
    out
}
