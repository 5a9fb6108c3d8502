//! Rules with a parameter that are made when a text enters them: as the same rules written out, and
//! as what they mean.

use std::fmt::Write as _;

use maskwright::{Compiler, Constraint, Vocabulary};

/// Bytes, and some tokens of several.
fn compiler() -> Compiler {
    let mut tokens: Vec<Option<Vec<u8>>> = (0..=255u8).map(|b| Some(vec![b])).collect();
    for text in ["ab", "ba", "abc", "cb", "aa", "bb", "1,", ",2", "[1", "2]", "(a", "a+", "+a"] {
        tokens.push(Some(text.as_bytes().to_vec()));
    }
    let end = tokens.len() as u32;
    tokens.push(None);
    Compiler::new(Vocabulary::from_tokens(tokens, &[(end, "</s>")], &[end]).unwrap())
}

/// A rule with 1 024 values, more than are written out at once.
fn many() -> String {
    let mut rule = "many::_: \"~\" %if is_ones([0:10])\n".to_owned();
    for bit in 0..10 {
        let letter = char::from(b'M' + bit);
        writeln!(rule, "  | \"{letter}\" many::set_bit({bit}) %if bit_clear({bit})").unwrap();
    }
    rule
}

/// Grammars with a start `top`.
const GRAMMARS: [&str; 7] = [
    // Subsets in any order, some of them empty.
    "top: p::0\np::_: \"\" %if is_ones([0:2])\n | \"a\" p::set_bit(0) %if bit_clear(0)\n | \"b\" p::set_bit(1) %if bit_clear(1)\n | \"c\" p::set_bit(2) %if bit_clear(2)",
    // Left recursion with a parameter that changes, and one that does not.
    "top: l::0\nl::_: l::incr(_) \"a\" %if lt(_, 3)\n | l::_ \"b\" %if lt(_, 2)\n | \"c\"",
    // A dead end: no text has an odd number of `a`.
    "top: e::0\ne::_: \"a\" o::_ | \"b\"\no::_: \"a\" e::_ | \"c\" dead::_\ndead::_: \"a\" dead::incr([0:4])",
    // Templates that pass the parameter on, empty rules, repeats.
    "top: \"[\" item::0 \"]\"\nitem::_: one{pick::_, \",\"}\none{x, y}: x | x y\npick::_: (\"1\" more::set_bit(1) %if bit_clear(1)) | \"2\" more::bit_or(0x4) %if not(bit_set(2))\nmore::_: [\",\" pick::_]",
    "top: (n::2 \",\")* n::1\nn::_: maybe::_ \"a\" n::decr([0:2]) %if gt(_, 0)\n | \"b\"{1,2} %if is_zeros(_)\nmaybe::_: | \"c\" %if ge(_, 2)",
    // Rules without a parameter around and within.
    "top: sum\nsum: sum \"+\" atom::0 | atom::1\natom::_: \"a\" | \"(\" sum \")\" %if eq(_, 0) | deep::_\ndeep::_: \"<\" deep::incr([0:2]) \">\" | \"b\" %if ge([0:2], 2)\n%ignore \" \"",
    "top: x::5 | y\nx::_: %json {\"enum\": [1, 2]} x::clear_bit(0) %if bit_set(0)\n | \"c\"\ny: x::0",
];

/// Masks and acceptance are those of the same grammar whose rules are written out at once.
#[test]
fn rules_that_are_entered_are_those_that_are_written_out() {
    let compiler = compiler();
    let both = |grammar: &str| -> [Constraint; 2] {
        [
            compiler.lark(&format!("start: top | \"~\"\n{grammar}")).unwrap(),
            compiler.lark(&format!("start: top | many::0\n{grammar}\n{}", many())).unwrap(),
        ]
    };
    for grammar in GRAMMARS {
        let [written, entered] = both(grammar);
        let mut todo = vec![(written.matcher(), entered.matcher(), String::new())];
        let (mut texts, mut accepted) = (0, 0);
        while let Some((mut a, mut b, text)) = todo.pop() {
            texts += 1;
            assert_eq!(a.is_accepting(), b.is_accepting(), "{grammar}\nafter {text:?}");
            accepted += usize::from(a.is_accepting());
            let mask: Vec<u32> = a.mask().unwrap().iter().collect();
            let mut other: Vec<u32> = b.mask().unwrap().iter().collect();
            if text.trim().is_empty() {
                // The rule of many values.
                other.retain(|&token| !(77..87).contains(&token));
                assert!(mask.contains(&126));
                other.push(126);
                other.sort_unstable();
            }
            assert_eq!(mask, other, "{grammar}\nafter {text:?}");
            if text.len() < 9 && texts < 250 {
                for &token in &mask {
                    let (mut a, mut b) = (a.clone(), b.clone());
                    let bytes = compiler.vocabulary().token_bytes(token).unwrap_or_default();
                    if token != 126 && !bytes.is_empty() {
                        a.accept(token).unwrap();
                        b.accept(token).unwrap();
                        todo.push((a, b, format!("{text}{}", String::from_utf8_lossy(bytes))));
                    }
                }
            }
        }
        assert!(texts > 5 && accepted > 1, "{grammar}: {texts} texts, {accepted} accepted");
    }
}

/// Thirty items in any order, each once: the next one is any that was not there.
#[test]
fn a_permutation_of_thirty_items() {
    let mut grammar = "start: p::0\np::_: \".\" %if is_ones([0:30])\n".to_owned();
    let letters: Vec<u8> = (b'A'..=b'Z').chain(b'0'..=b'3').collect();
    for (bit, letter) in letters.iter().enumerate() {
        let letter = char::from(*letter);
        writeln!(grammar, "  | \"{letter}\" p::set_bit({bit}) %if bit_clear({bit})").unwrap();
    }
    let constraint = compiler().lark(&grammar).unwrap();
    for step in [1, 7, 11, 29] {
        let mut matcher = constraint.matcher();
        let mut left: Vec<u32> = letters.iter().map(|&letter| letter.into()).collect();
        for turn in 0..30 {
            left.sort_unstable();
            assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), left);
            let letter = left.remove(turn * step % left.len());
            matcher.accept(letter).unwrap();
        }
        assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [46]);
        matcher.accept(46).unwrap();
        assert!(matcher.is_accepting());
    }
}

/// A counter without an end, and one that has an end far away.
#[test]
fn counters() {
    let constraint = compiler().lark("start: a::0\na::_: \"a\" a::incr(_) | \"b\"").unwrap();
    let mut matcher = constraint.matcher();
    matcher.accept_bytes(&[b'a'; 3_000]).unwrap();
    matcher.accept_bytes(b"b").unwrap();
    assert!(matcher.is_accepting());
    let exact = "start: a::0\na::_: \"a\" a::incr(_) %if lt(_, 5000)\n | \"\" %if eq(_, 5000)";
    let mut matcher = compiler().lark(exact).unwrap().matcher();
    matcher.accept_bytes(&[b'a'; 4_999]).unwrap();
    assert!(!matcher.is_accepting());
    matcher.accept_bytes(b"a").unwrap();
    assert!(matcher.is_accepting() && matcher.accept_bytes(b"a").is_err());
}

/// The shortest text leads through one of a hundred rules with a counter: each is looked at as far as it may be the
/// shortest.
#[test]
fn the_shortest_text_is_found_among_many_counters() {
    let names: Vec<String> = (0..100).map(|i| format!("p{i}::0")).collect();
    let mut grammar = format!("start: {}\n", names.join(" | "));
    for i in 0..100 {
        grammar += &format!(
            "p{i}::_: \"a\" p{i}::incr(_) %if lt(_, 200)\n | \"x{}\" %if eq(_, 3)\n",
            "y".repeat(100 - i)
        );
    }
    let constraint = compiler().lark(&grammar).unwrap();
    // `aa`, `a`, `x`, `y`.
    assert_eq!(constraint.matcher().tokens_to_finish().unwrap().tokens, 4);
}

/// An error within the rules of one value leaves the others as they were.
#[test]
fn an_error_in_one_rule_loses_none_of_the_others() {
    let grammar = "start: top | many::0\ntop: \"a\" word | \"b\" l::0\nword: \"xyz\"\n\
                   l::_[max_tokens=9]: l::_ \"c\" %if lt(_, 1)\n | \"d\"";
    let constraint = compiler().lark(&format!("{grammar}\n{}", many())).unwrap();
    let mut matcher = constraint.matcher();
    for _ in 0..2 {
        let error = matcher.accept_bytes(b"bd").unwrap_err();
        assert!(error.to_string().contains("calls itself at its left edge"), "{error}");
        let mut other = constraint.matcher();
        other.accept_bytes(b"axyz").unwrap();
        assert!(other.is_accepting());
    }
}
