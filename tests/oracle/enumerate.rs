//! All short strings of a language, by the definition of each operator: what the oracle is itself
//! checked against.

use std::collections::BTreeSet;

use super::language::{Expr, Grammar, Node, Symbol, special, symbols};

/// A set of texts.
pub(crate) type Texts = BTreeSet<Vec<Symbol>>;

/// All texts over these symbols up to a length.
pub(crate) fn all_texts(letters: &[Symbol], length: usize) -> Vec<Vec<Symbol>> {
    let mut all = vec![vec![]];
    let mut from = 0;
    for _ in 0..length {
        let to = all.len();
        for i in from..to {
            let longer = letters.iter().map(|&letter| [&all[i][..], &[letter]].concat());
            let longer: Vec<_> = longer.collect();
            all.extend(longer);
        }
        from = to;
    }
    all
}

/// The strings of a grammar over these bytes up to a length.
pub(crate) fn strings(grammar: &Grammar, alphabet: &[u8], length: usize) -> Texts {
    let words: Vec<Vec<u8>> = all_texts(&symbols(alphabet), length)
        .into_iter()
        .map(|text| text.iter().map(|&symbol| symbol as u8).collect())
        .collect();
    let mut rules = vec![Texts::new(); grammar.rules.len()];
    loop {
        let next: Vec<Texts> =
            grammar.rules.iter().map(|body| of_node(body, &rules, &words, length)).collect();
        if next == rules {
            return rules.swap_remove(0);
        }
        rules = next;
    }
}

fn of_node(node: &Node, rules: &[Texts], words: &[Vec<u8>], length: usize) -> Texts {
    let of = |node: &Node| of_node(node, rules, words, length);
    let empty = || Texts::from([vec![]]);
    match node {
        Node::Terminal(expr) => {
            words.iter().filter(|word| matches(expr, word)).map(|word| symbols(word)).collect()
        }
        Node::Special(id) => {
            Texts::from([vec![special(*id)]]).into_iter().filter(|t| t.len() <= length).collect()
        }
        Node::Sequence(parts) => {
            parts.iter().fold(empty(), |before, part| concat(&before, &of(part), length))
        }
        Node::Choice(parts) => parts.iter().flat_map(of).collect(),
        // Without tokens there is nothing to count.
        Node::Budget(part, _) => of(part),
        Node::Call(rule) => rules[*rule].clone(),
        Node::Repeat(part, min, max) => {
            let part = of(part);
            let mut times = (0..*min).fold(empty(), |before, _| concat(&before, &part, length));
            if max.is_some_and(|max| max < *min) {
                return Texts::new();
            }
            let mut all = times.clone();
            let mut count = *min;
            while max.is_none_or(|max| count < max) {
                times = concat(&times, &part, length);
                let before = all.len();
                all.extend(times.iter().cloned());
                count += 1;
                // Once a count adds nothing, no higher one does.
                if all.len() == before {
                    break;
                }
            }
            all
        }
    }
}

fn concat(left: &Texts, right: &Texts, length: usize) -> Texts {
    let mut out = Texts::new();
    for a in left {
        for b in right.iter().filter(|b| a.len() + b.len() <= length) {
            out.insert([&a[..], b].concat());
        }
    }
    out
}

/// Whether the expression holds the whole word, by trying every split.
fn matches(expr: &Expr, word: &[u8]) -> bool {
    match expr {
        Expr::Class(bytes) => matches!(word, [byte] if bytes.contains(byte)),
        Expr::Literal(bytes) => word == bytes,
        Expr::Union(xs) => xs.iter().any(|x| matches(x, word)),
        Expr::And(xs) => xs.iter().all(|x| matches(x, word)),
        Expr::Not(x) => !matches(x, word),
        Expr::Concat(xs) => match xs.split_first() {
            None => word.is_empty(),
            Some((first, rest)) => (0..=word.len()).any(|cut| {
                matches(first, &word[..cut]) && matches(&Expr::Concat(rest.to_vec()), &word[cut..])
            }),
        },
        Expr::Repeat(x, min, max) => {
            if max.is_some_and(|max| max < *min) {
                return false;
            }
            if *min == 0 && word.is_empty() {
                return true;
            }
            if *max == Some(0) {
                return false;
            }
            // An empty part counts towards the minimum only: elsewhere it changes nothing.
            let shortest = usize::from(*min == 0);
            let rest = Expr::Repeat(x.clone(), min.saturating_sub(1), max.map(|max| max - 1));
            (shortest..=word.len())
                .any(|cut| matches(x, &word[..cut]) && matches(&rest, &word[cut..]))
        }
    }
}
