//! Budgets of tokens inside a grammar, on cases whose answer is plain to see.
#![allow(clippy::unwrap_used)]

use maskwright::grammar::{GrammarBuilder, NodeId};
use maskwright::{Compiler, Constraint, ErrorKind, Matcher, Vocabulary};

/// All bytes, then these tokens from 256 on, then the end token.
fn vocabulary(tokens: &[&str]) -> Vocabulary {
    let bytes = (0..=255u8).map(|byte| Some(vec![byte]));
    let tokens = tokens.iter().map(|token| Some(token.as_bytes().to_vec()));
    let all: Vec<_> = bytes.chain(tokens).chain([None]).collect();
    let end = all.len() as u32 - 1;
    Vocabulary::from_tokens(all, &[(end, "</s>")], &[end]).unwrap()
}

fn compile(
    tokens: &[&str],
    build: impl FnOnce(&mut GrammarBuilder) -> NodeId,
) -> maskwright::Result<Constraint> {
    let mut g = GrammarBuilder::new();
    let body = build(&mut g);
    let start = g.rule("start", body);
    Compiler::new(vocabulary(tokens)).compile(g.finish(start)?)
}

/// A matcher after some tokens, each the longest that the text goes on with.
fn after(constraint: &Constraint, tokens: &[&str]) -> maskwright::Result<Matcher> {
    let vocabulary = constraint.vocabulary();
    let mut matcher = constraint.matcher();
    for token in tokens {
        let bytes = Some(token.as_bytes());
        let ids = 0..vocabulary.len() as u32;
        let id = ids.rev().find(|&id| vocabulary.token_bytes(id) == bytes).unwrap();
        assert_eq!(matcher.mask()?.contains(id), matcher.clone().accept(id).is_ok());
        matcher.accept(id)?;
    }
    Ok(matcher)
}

fn allows(constraint: &Constraint, tokens: &[&str]) -> bool {
    after(constraint, tokens).is_ok()
}

/// `(`, at most two tokens of `a`, `)`.
fn bracketed(g: &mut GrammarBuilder) -> NodeId {
    let a = g.literal(b"a");
    let some = g.repeat(a, 0, None);
    let (open, some, close) = (g.literal(b"("), g.budget(some, 2), g.literal(b")"));
    g.sequence([open, some, close])
}

#[test]
fn tokens_across_a_border_count() {
    let c = compile(&["(a", "aa", "a)", "(", "()", "aaaa"], bracketed).unwrap();
    for (tokens, allowed) in [
        (&["(", "aaaa", "aa", ")"][..], true),
        (&["(", "aa", "aa", "a"], false),
        (&["(a", "aa", ")"], true),
        (&["(a", "aa", "a)"], false),
        (&["(a", "a)"], true),
        (&["(", "a", "a", ")"], true),
        (&["(", "a", "a", "a"], false),
        (&["()"], true),
        (&["(", ")"], true),
    ] {
        assert_eq!(allows(&c, tokens), allowed, "{tokens:?}");
    }
}

#[test]
fn text_without_tokens_takes_nothing() {
    let c = compile(&["aa"], bracketed).unwrap();
    let mut matcher = c.matcher();
    matcher.accept_bytes(b"(aaaaaaaa").unwrap();
    matcher.accept(256).unwrap();
    matcher.accept_bytes(b"aaa").unwrap();
    matcher.accept(256).unwrap();
    assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [u32::from(b')')]);
    matcher.rollback(1).unwrap();
    assert!(matcher.mask().unwrap().contains(256));
}

#[test]
fn what_cannot_be_closed_in_time_is_not_begun() {
    // A bracketed word of at most three tokens.
    let word = |g: &mut GrammarBuilder| {
        let letter = g.languages().byte_range(b'a', b'z');
        let letters = g.languages().repeat(letter, 1, None);
        let (open, letters, close) = (g.literal(b"["), g.regular(letters), g.literal(b"]"));
        let all = g.sequence([open, letters, close]);
        let all = g.budget(all, 3);
        let more = g.literal(b".");
        g.sequence([all, more])
    };
    let c = compile(&["ab", "b]", "b]."], word).unwrap();
    assert!(!allows(&c, &["[", "ab", "ab"]));
    assert!(allows(&c, &["[", "ab", "b]", "."]));
    assert!(allows(&c, &["[", "ab", "b]."]));
    assert!(!allows(&c, &["[", "ab", "a", "]"]));
}

#[test]
fn tokens_make_short_what_bytes_make_long() {
    let greeting = |max| {
        move |g: &mut GrammarBuilder| {
            let (text, end) = (g.literal(b"hello world"), g.literal(b"!"));
            let text = g.budget(text, max);
            g.sequence([text, end])
        }
    };
    let tokens = ["hello", " world", "hell", " world!"];
    let c = compile(&tokens, greeting(2)).unwrap();
    assert!(allows(&c, &["hello", " world", "!"]) && allows(&c, &["hello", " world!"]));
    assert!(!allows(&c, &["hell"]) && !allows(&c, &["h"]));
    let c = compile(&tokens, greeting(3)).unwrap();
    assert!(allows(&c, &["hell", "o", " world"]) && !allows(&c, &["h"]));
    let error = compile(&tokens, greeting(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsatisfiable);
}

#[test]
fn budgets_in_budgets() {
    // Items of at most 2 tokens each, all of them within 5.
    let list = |g: &mut GrammarBuilder| {
        let letter = g.literal(b"a");
        let item = g.repeat(letter, 1, None);
        let (item, comma) = (g.budget(item, 2), g.literal(b","));
        let one = g.sequence([item, comma]);
        let all = g.repeat(one, 0, None);
        let all = g.budget(all, 5);
        let end = g.literal(b".");
        g.sequence([all, end])
    };
    let c = compile(&["aa", "a,"], list).unwrap();
    assert!(allows(&c, &["aa", "aa", ",", "a,", "."]));
    assert!(!allows(&c, &["aa", "aa", "a"]));
    assert!(allows(&c, &["aa", "aa", ",", "aa", ",", "."]));
    // Two tokens are left, enough for one letter and the comma.
    assert!(!allows(&c, &["aa", "aa", ",", "a", "a"]));
    assert!(allows(&c, &["aa", "aa", ",", "a", "a,", "."]));
}

/// Whatever is taken of the masks within a number of tokens, the text is complete in time.
#[test]
fn budgets_of_the_whole_text() {
    let greeting = |g: &mut GrammarBuilder| {
        let (text, end) = (g.literal(b"hello world"), g.literal(b"!"));
        let text = g.budget(text, 3);
        g.sequence([text, end])
    };
    let tokens = ["hello", " world", "hell", "o world", "(a", "aa"];
    for constraint in [compile(&tokens, greeting).unwrap(), compile(&tokens, bracketed).unwrap()] {
        let bound = constraint.matcher().tokens_to_finish().unwrap().tokens;
        let mut open = vec![(constraint.matcher(), bound + 2)];
        let mut complete = 0;
        while let Some((mut matcher, left)) = open.pop() {
            if left == 0 {
                assert!(matcher.is_accepting());
                complete += 1;
                continue;
            }
            let allowed: Vec<u32> = matcher.mask_within(left).unwrap().iter().collect();
            assert!(!allowed.is_empty());
            for id in allowed {
                let mut next = matcher.clone();
                next.accept(id).unwrap();
                if next.is_finished() {
                    complete += 1;
                } else {
                    open.push((next, left - 1));
                }
            }
        }
        assert!(complete >= 3, "{complete}");
    }
}

#[test]
fn left_recursion_through_a_budget_is_refused() {
    let mut g = GrammarBuilder::new();
    let sum = g.declare("sum");
    let (call, one) = (g.call(sum), g.literal(b"+1"));
    let more = g.sequence([call, one]);
    let (more, one) = (g.budget(more, 3), g.literal(b"1"));
    let body = g.choice([more, one]);
    g.define(sum, body);
    let error = Compiler::new(vocabulary(&[])).compile(g.finish(sum).unwrap()).unwrap_err();
    assert!(error.message().contains("left edge"), "{error}");
}

#[test]
fn no_token_allows_the_empty_text_alone() {
    let c = compile(&[], |g| {
        let a = g.literal(b"a");
        let (a, end) = (g.repeat(a, 0, None), g.literal(b"."));
        let a = g.budget(a, 0);
        g.sequence([a, end])
    });
    assert!(allows(&c.unwrap(), &["."]));
    let c = compile(&[], |g| {
        let a = g.literal(b"a");
        g.budget(a, 0)
    });
    assert_eq!(c.unwrap_err().kind(), ErrorKind::Unsatisfiable);
}
