//! Patterns and the algebra of languages against other implementations and against sets of
//! strings.

use maskwright::regex::{self, Anchoring, Dialect, JsonString, Language, Languages, Options, Utf8};
use proptest::prelude::*;

const RUST: Dialect = Dialect::Rust;
const ECMA: Dialect = Dialect::Ecma;

fn options(dialect: Dialect, anchoring: Anchoring) -> Options {
    Options { dialect, anchoring }
}

/// Everything over `alphabet` up to a length.
fn all_strings(alphabet: &[&str], length: usize) -> Vec<String> {
    let mut strings = vec![String::new()];
    let mut from = 0;
    for _ in 0..length {
        let to = strings.len();
        for i in from..to {
            for c in alphabet {
                strings.push(format!("{}{c}", strings[i]));
            }
        }
        from = to;
    }
    strings
}

/// The text between the quotes of a JSON string.
fn in_json(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    quoted[1..quoted.len() - 1].to_owned()
}

/// A pattern whose syntax both dialects share, over `atoms`; `looks` are put in as they are.
fn patterns(
    atoms: &'static [&'static str],
    looks: &'static [&'static str],
    lookaround: bool,
) -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => proptest::sample::select(atoms).prop_map(str::to_owned),
        1 => proptest::sample::select(looks).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(5, 24, 3, move |inner| {
        let counts = prop_oneof![
            Just("*".to_owned()),
            Just("+".to_owned()),
            Just("?".to_owned()),
            (0..3u32, 0..3u32).prop_map(|(m, n)| format!("{{{m},{}}}", m + n)),
            (0..4u32).prop_map(|m| format!("{{{m}}}")),
            (0..3u32).prop_map(|m| format!("{{{m},}}")),
        ];
        let round = if lookaround {
            prop_oneof![Just("?="), Just("?!"), Just("?<="), Just("?<!")].boxed()
        } else {
            Just("?:").boxed()
        };
        prop_oneof![
            3 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}{b}")),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(?:{a}|{b})")),
            2 => (inner.clone(), counts).prop_map(|(a, count)| format!("(?:{a}){count}")),
            2 => (round, inner).prop_map(|(round, a)| format!("({round}{a})")),
        ]
    })
}

/// Both anchorings and both spellings of `pattern` agree with `is_match`, which searches for a
/// pattern in a text.
fn agree(
    dialect: Dialect,
    pattern: &str,
    texts: &[String],
    is_match: impl Fn(Anchoring, &str) -> bool,
) -> Result<(), TestCaseError> {
    for anchoring in [Anchoring::Whole, Anchoring::Search] {
        let mut l = Languages::new();
        let raw = regex::parse(&mut l, pattern, options(dialect, anchoring), &Utf8)
            .map_err(|e| TestCaseError::fail(format!("{pattern}: {e}")))?;
        let json = regex::parse(&mut l, pattern, options(dialect, anchoring), &JsonString)
            .map_err(|e| TestCaseError::fail(format!("{pattern}: {e}")))?;
        for text in texts {
            let expected = is_match(anchoring, text);
            let found = l.matches(raw, text.as_bytes()).unwrap();
            prop_assert_eq!(found, expected, "/{}/ {:?} on {:?}", pattern, anchoring, text);
            let found = l.matches(json, in_json(text).as_bytes()).unwrap();
            prop_assert_eq!(found, expected, "/{}/ {:?} on {:?} in JSON", pattern, anchoring, text);
        }
    }
    Ok(())
}

fn agree_with_regex(pattern: &str, texts: &[String]) -> Result<(), TestCaseError> {
    let whole = ::regex::Regex::new(&format!("^(?:{pattern})$")).unwrap();
    let search = ::regex::Regex::new(pattern).unwrap();
    agree(RUST, pattern, texts, |anchoring, text| match anchoring {
        Anchoring::Whole => whole.is_match(text),
        Anchoring::Search => search.is_match(text),
    })
}

fn agree_with_regress(pattern: &str, texts: &[String]) -> Result<(), TestCaseError> {
    let whole = regress::Regex::with_flags(&format!("^(?:{pattern})$"), "u").unwrap();
    let search = regress::Regex::with_flags(pattern, "u").unwrap();
    agree(ECMA, pattern, texts, |anchoring, text| match anchoring {
        Anchoring::Whole => whole.find(text).is_some(),
        Anchoring::Search => search.find(text).is_some(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn ascii_patterns_mean_what_the_regex_crate_says(
        pattern in patterns(&["a", "b", ".", "[^a]", "ab", "\\n"], &["^", "$", "\\b", "\\B", "(?m:^)", "(?m:$)", "\\b{start}", "(?R:(?m:$))", "(?Rm:^)"], false),
    ) {
        agree_with_regex(&pattern, &all_strings(&["a", "b", "\n"], 5))?;
        agree_with_regex(&pattern, &all_strings(&["a", " ", "\n", "\r"], 4))?;
    }

    #[test]
    fn unicode_patterns_mean_what_the_regex_crate_says(
        pattern in patterns(
            &["é", "[α-ω]", "\\w", "\\d", "\\s", ".", "(?i:k)", "\\p{Greek}", "[^\\x00-\\x7F]", "😀", "\"", "(?s:.)"],
            &["", "\\b", "(?-u:\\b)", "^", "$", "\\b{end-half}"], false),
    ) {
        agree_with_regex(&pattern, &all_strings(&["é", "λ", "K", "😀", "\"", " ", "٣", "\n", "\u{212A}"], 3))?;
    }

    #[test]
    fn ecma_patterns_mean_what_an_ecma_engine_says(
        pattern in patterns(&["a", "b", ".", "[^a]", "ab", "[]", "[^]"], &["^", "$", "\\b", "\\B"], false),
    ) {
        agree_with_regress(&pattern, &all_strings(&["a", "b", " "], 5))?;
    }
}

/// Texts up to this many bytes are compared in the algebra's test.
const SHORT: usize = 6;

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

/// The strings over {a, b} of at most [`SHORT`] bytes in a tree's language, by its definition; a
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
            for round in 0..=max.unwrap_or(min + SHORT as u32) {
                if round >= *min {
                    sum.iter_mut().zip(&power).for_each(|(sum, p)| *sum |= p);
                }
                power = concat(&power, &a);
            }
            sum
        }
    }
}

/// Where a string stands among all of them, ordered by length and then as binary numbers.
fn position(text: &[u8]) -> usize {
    text.iter().fold(0, |number, b| 2 * number + usize::from(b - b'a')) + (1 << text.len()) - 1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_algebra_means_what_sets_of_strings_mean(tree in trees()) {
        let all: Vec<_> =
            all_strings(&["a", "b"], SHORT).into_iter().map(String::into_bytes).collect();
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
            None => prop_assert!(shortest.is_none_or(|s| s.len() > SHORT)),
        }
    }
}
