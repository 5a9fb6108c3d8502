//! The engine against a slow oracle, on random grammars, regexes and vocabularies.
//!
//! The oracle decides texts of small languages from the definition. It shares nothing with the
//! engine, no code and no idea: languages have a form of their own ([`language`]), terminals
//! become explicit automata ([`automaton`]), a text is judged by a fixed point over all its spans
//! ([`spans`]). [`enumerate`] makes all short strings of a language in the most literal way, and
//! the oracle is checked against that.

mod automaton;
mod enumerate;
mod language;
mod random;
mod spans;

use std::collections::BTreeSet;

use enumerate::{all_texts, strings};
use language::{Symbol, alphabet, show_text, show_tokens, special, symbols};
use random::{Family, Maker, Random, SPECIALS};
use spans::Oracle;

/// Longest string that the oracle's own check enumerates.
const SHORT: usize = 5;

/// Does following the texts that the oracle calls viable lead to a member? `Some(false)` where
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
    let short = if bytes.len() > 2 { SHORT - 1 } else { SHORT };
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
        assert!(open * 10 < viables, "{open} of {viables} viable texts stayed open");
        println!("{family:?}: {open} of {viables} viable texts stayed open");
    }
}
