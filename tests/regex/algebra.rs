//! And, or, not, concatenation and repeats against sets of strings.

use maskwright::regular::{Language, Languages};
use proptest::prelude::*;

use crate::{all_strings, cases};

/// Texts up to this many bytes are compared in the algebra's test.
const MAX_STRING_LENGTH: usize = 6;

#[derive(Clone, Debug)]
enum Tree {
    Set(u8),
    Epsilon,
    Word(Vec<u8>),
    Concat(Box<Tree>, Box<Tree>),
    Union(Box<Tree>, Box<Tree>),
    Intersect(Box<Tree>, Box<Tree>),
    Complement(Box<Tree>),
    Repeat(Box<Tree>, u32, Option<u32>),
}

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        3 => (0..4u8).prop_map(Tree::Set),
        1 => Just(Tree::Epsilon),
        2 => proptest::collection::vec(proptest::sample::select(&b"ab"[..]), 1..4).prop_map(Tree::Word),
    ];
    leaf.prop_recursive(5, 32, 2, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            3 => two.clone().prop_map(|(a, b)| Tree::Concat(a.into(), b.into())),
            2 => two.clone().prop_map(|(a, b)| Tree::Union(a.into(), b.into())),
            2 => two.prop_map(|(a, b)| Tree::Intersect(a.into(), b.into())),
            1 => inner.clone().prop_map(|a| Tree::Complement(a.into())),
            2 => (inner, 0..4u32, proptest::option::of(0..4u32))
                .prop_map(|(a, min, more)| Tree::Repeat(a.into(), min, more.map(|n| min + n))),
        ]
    })
}

fn language(l: &mut Languages, tree: &Tree) -> Language {
    match tree {
        Tree::Set(bits) => {
            let bytes = b"ab".iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1);
            l.byte_set(bytes.map(|(_, &b)| b).collect())
        }
        Tree::Epsilon => Language::EPSILON,
        Tree::Word(word) => l.literal(word),
        Tree::Concat(a, b) => {
            let parts = [language(l, a), language(l, b)];
            l.concat(parts)
        }
        Tree::Union(a, b) => {
            let parts = [language(l, a), language(l, b)];
            l.union(parts)
        }
        Tree::Intersect(a, b) => {
            let parts = [language(l, a), language(l, b)];
            l.intersect(parts)
        }
        Tree::Complement(a) => {
            let a = language(l, a);
            l.complement(a)
        }
        Tree::Repeat(a, min, max) => {
            let a = language(l, a);
            l.repeat(a, *min, *max)
        }
    }
}

/// The strings over {a, b} of at most [`MAX_STRING_LENGTH`] bytes in a tree's language, by its definition; a
/// string is its position in `all`.
fn meaning(tree: &Tree, all: &[Vec<u8>]) -> Vec<bool> {
    let concat = |a: &[bool], b: &[bool]| -> Vec<bool> {
        let has = |set: &[bool], text: &[u8]| set[position(text)];
        all.iter()
            .map(|text| (0..=text.len()).any(|i| has(a, &text[..i]) && has(b, &text[i..])))
            .collect()
    };
    match tree {
        Tree::Set(bits) => {
            all.iter().map(|s| matches!(s[..], [b] if bits >> (b - b'a') & 1 == 1)).collect()
        }
        Tree::Epsilon => all.iter().map(Vec::is_empty).collect(),
        Tree::Word(word) => all.iter().map(|s| s == word).collect(),
        Tree::Concat(a, b) => concat(&meaning(a, all), &meaning(b, all)),
        Tree::Union(a, b) => {
            meaning(a, all).iter().zip(meaning(b, all)).map(|(a, b)| a | b).collect()
        }
        Tree::Intersect(a, b) => {
            meaning(a, all).iter().zip(meaning(b, all)).map(|(a, b)| a & b).collect()
        }
        Tree::Complement(a) => meaning(a, all).iter().map(|a| !a).collect(),
        Tree::Repeat(a, min, max) => {
            let a = meaning(a, all);
            let mut power: Vec<bool> = all.iter().map(Vec::is_empty).collect();
            let mut sum = vec![false; all.len()];
            // Without a bound, more rounds than bytes add nothing.
            for round in 0..=max.unwrap_or(min + MAX_STRING_LENGTH as u32) {
                if round >= *min {
                    sum.iter_mut().zip(&power).for_each(|(sum, p)| *sum |= p);
                }
                power = concat(&power, &a);
            }
            sum
        }
    }
}

/// The index of a string among all of them, ordered by length and then as binary numbers.
fn position(text: &[u8]) -> usize {
    text.iter().fold(0, |number, b| 2 * number + usize::from(b - b'a')) + (1 << text.len()) - 1
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn the_algebra_means_what_sets_of_strings_mean(tree in trees()) {
        let all: Vec<_> =
            all_strings(&["a", "b"], MAX_STRING_LENGTH).into_iter().map(String::into_bytes).collect();
        let expected = meaning(&tree, &all);
        let mut l = Languages::new();
        let x = language(&mut l, &tree);
        for (text, &inside) in all.iter().zip(&expected) {
            prop_assert_eq!(l.matches(x, text).unwrap(), inside, "{:?}", String::from_utf8_lossy(text));
        }
        let ab = l.byte_range(b'a', b'b');
        let words = l.repeat(ab, 0, None);
        let x = l.intersect([x, words]);
        let shortest = l.shortest(x).unwrap();
        prop_assert_eq!(shortest.is_some(), l.is_live(x).unwrap());
        let expected = all.iter().zip(&expected).find(|(_, inside)| **inside).map(|(s, _)| s.len());
        match expected {
            Some(length) => prop_assert_eq!(shortest.map(|s| s.len()), Some(length)),
            None => prop_assert!(shortest.is_none_or(|s| s.len() > MAX_STRING_LENGTH)),
        }
    }
}
