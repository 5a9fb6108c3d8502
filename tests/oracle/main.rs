//! The engine against a slow oracle, on random grammars, regexes and vocabularies.
//!
//! The oracle decides texts of small languages from the definition. It shares nothing with the
//! engine, no code and no idea: languages have a form of their own ([`language`]), terminals
//! become explicit automata ([`automaton`]), a text is judged by a fixed point over all its spans
//! ([`spans`]). [`enumerate`] makes all short strings of a language in the most literal way, and
//! the oracle is checked against that.
//!
//! `MASKWRIGHT_ORACLE_CASES` says how many random cases each test takes,
//! `MASKWRIGHT_ORACLE_SEED` where it begins.
#![allow(clippy::print_stdout)]

mod automaton;
mod engine;
mod enumerate;
mod language;
mod random;
mod shrink;
mod spans;
mod text;
mod token_spans;
mod token_walk;
mod walk;

use std::collections::BTreeSet;

use enumerate::{all_texts, strings};
use language::{Grammar, Node, Symbol, alphabet, show_text, show_tokens, special, symbols};
use random::{Family, Maker, Random, SPECIALS};
use spans::Oracle;
use walk::{Case, Compile};

/// Longest string that the oracle's own check enumerates.
const MAX_ENUMERATED_LENGTH: usize = 5;

/// Whether following the texts that the oracle calls viable leads to a member. `Some(false)` where
/// nothing follows; `None` if no member came in a few walks.
fn completes(
    oracle: &mut Oracle,
    random: &mut Random,
    text: &[Symbol],
    tokens: &[Vec<Symbol>],
) -> Option<bool> {
    for _ in 0..20 {
        let mut text = text.to_vec();
        while text.len() < 16 {
            if oracle.judge(&text).member {
                return Some(true);
            }
            let longer = tokens.iter().map(|token| [&text[..], token].concat());
            let longer: Vec<_> = longer.filter(|longer| oracle.judge(longer).viable).collect();
            if longer.is_empty() {
                return Some(false);
            }
            text.clone_from(random.pick(&longer));
        }
    }
    None
}

/// The oracle against the enumeration of all short strings: membership of every short text; what
/// tokens can make a short member is viable; what is viable, tokens can make a member. Returns
/// how many texts were viable, and of how many of them that stayed open.
fn check_oracle(family: Family, seed: u64) -> (usize, usize) {
    let mut maker = Maker::new(seed, family);
    let tokens = maker.tokens();
    let grammar = maker.grammar(&tokens);
    let context = |text: &[Symbol]| {
        format!("seed {seed}, text {:?}\n{grammar}{}", show_text(text), show_tokens(&tokens))
    };
    let bytes = alphabet(&grammar, &tokens);
    let short = if bytes.len() > 2 { MAX_ENUMERATED_LENGTH - 1 } else { MAX_ENUMERATED_LENGTH };
    let members = strings(&grammar, &bytes, short);
    let mut oracle = Oracle::new(&grammar, &tokens);
    let mut letters = symbols(&bytes);
    letters.extend(SPECIALS.map(special));
    let texts = all_texts(&letters, short);
    for text in &texts {
        let member = oracle.judge(text).member;
        assert_eq!(member, members.contains(text), "membership: {}", context(text));
    }

    let tokens: Vec<Vec<Symbol>> =
        (0..).zip(&tokens).filter_map(|(id, token)| token.symbols(id)).collect();
    let mut spelled = BTreeSet::from([vec![]]);
    let mut new = vec![vec![]];
    while let Some(text) = new.pop() {
        for token in &tokens {
            let longer = [&text[..], token].concat();
            if longer.len() <= short && spelled.insert(longer.clone()) {
                new.push(longer);
            }
        }
    }
    let (mut viables, mut open) = (0, 0);
    for text in texts.iter().filter(|text| text.len() <= 2) {
        let viable = oracle.judge(text).viable;
        let found = members.iter().any(|member| {
            member.strip_prefix(&text[..]).is_some_and(|rest| spelled.contains(rest))
        });
        assert!(viable || !found, "a member begins with it: {}", context(text));
        viables += usize::from(viable);
        if viable && !found {
            match completes(&mut oracle, &mut maker.random, text, &tokens) {
                Some(completes) => assert!(completes, "nothing completes it: {}", context(text)),
                None => open += 1,
            }
        }
    }
    (viables, open)
}

#[test]
fn the_oracle_agrees_with_enumeration() {
    for family in [Family::Plain, Family::Gaps] {
        let counts: Vec<_> = (0..25).map(|seed| check_oracle(family, seed)).collect();
        let viables: usize = counts.iter().map(|count| count.0).sum();
        let open: usize = counts.iter().map(|count| count.1).sum();
        assert!(open * 5 < viables, "{open} of {viables} viable texts stayed open");
        println!("{family:?}: {open} of {viables} viable texts stayed open");
    }
}

/// A number from the environment.
fn setting(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")),
        Err(_) => otherwise,
    }
}

/// Runs random cases; of those that fail, shows the first in its smallest form.
fn walk_random_cases(what: &str, make: impl Fn(u64) -> Case, compile: Compile) {
    let first = setting("MASKWRIGHT_ORACLE_SEED", 0);
    let cases = setting("MASKWRIGHT_ORACLE_CASES", 300);
    let (mut masks, mut failures) = (0, Vec::new());
    for seed in first..first + cases {
        match shrink::run(&make(seed), compile) {
            Ok(compared) => masks += compared,
            Err(wrong) => failures.push((seed, wrong)),
        }
    }
    println!("{what}: {masks} masks of {cases} random languages are as the oracle says");
    if let Some((seed, wrong)) = failures.first() {
        let seeds: Vec<u64> = failures.iter().map(|(seed, _)| *seed).collect();
        let case = make(*seed);
        let (small, words) = shrink::shrink(&case, compile);
        panic!("seeds {seeds:?}, the first: {wrong}\n{case}\n\nsmaller: {words}\n{small}");
    }
}

/// A random case whose grammar passes a filter.
fn random_case(mut maker: Maker, seed: u64, passes: impl Fn(&Grammar) -> bool) -> Case {
    let tokens = maker.tokens();
    let mut grammar = maker.grammar(&tokens);
    while !passes(&grammar) {
        grammar = maker.grammar(&tokens);
    }
    let before = maker.random.percent(30).then(|| maker.grammar(&tokens));
    Case { grammar, before, tokens, family: maker.family, seed }
}

#[test]
fn grammars_where_every_byte_is_a_token() {
    let make = |seed| random_case(Maker::new(seed, Family::Plain), seed, |_| true);
    walk_random_cases("grammars", make, engine::compile);
}

#[test]
fn grammars_written_in_gbnf() {
    let has_text = |grammar: &Grammar| text::gbnf(grammar).is_some();
    let make =
        |seed| random_case(Maker::new(seed, Family::Plain).without_boolean(), seed, has_text);
    walk_random_cases("GBNF", make, |compiler, grammar| Some(compiler.gbnf(&text::gbnf(grammar)?)));
}

#[test]
fn grammars_with_budgets_of_tokens() {
    for (what, family) in [("budgets", Family::Plain), ("budgets, gaps", Family::Gaps)] {
        // Each takes longer than one without budgets.
        let cases = setting("MASKWRIGHT_ORACLE_CASES", 300) / 6;
        let first = setting("MASKWRIGHT_ORACLE_SEED", 0);
        let (mut masks, mut refused) = (0, 0);
        for seed in first..first + cases {
            let mut maker = Maker::new(seed, family).with_budgets();
            let tokens = maker.tokens();
            let grammar = maker.grammar(&tokens);
            let case = Case { grammar, before: None, tokens, family, seed };
            match token_walk::run(&case) {
                Ok(Some(compared)) => masks += compared,
                Ok(None) => refused += 1,
                Err(wrong) => {
                    let (small, wrong) = token_walk::shrunk(&case, wrong);
                    panic!("seed {seed}: {wrong}\n{small}");
                }
            }
        }
        println!("{what}: {masks} masks are as the oracle says; {refused} grammars refused");
        assert!(
            refused * 4 < cases,
            "{refused} of {cases} grammars are left-recursive in a budget"
        );
    }
}

#[test]
fn regexes() {
    let make = |seed| {
        let mut maker = Maker::new(seed, Family::Plain).without_boolean();
        let tokens = maker.tokens();
        let expr =
            std::iter::repeat_with(|| maker.expr(4)).find(|expr| text::regex(expr).is_some());
        let rules = expr.map(Node::Terminal).into_iter().collect();
        Case { grammar: Grammar { rules }, before: None, tokens, family: Family::Plain, seed }
    };
    walk_random_cases("regexes", make, |compiler, grammar| match &grammar.rules[..] {
        [Node::Terminal(expr)] => Some(compiler.regex(&text::regex(expr)?)),
        _ => None,
    });
}
