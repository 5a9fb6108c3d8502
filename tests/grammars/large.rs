//! Large grammars: many parts in a row take no stack (tests run with 2 MiB of it), and what has too many parts in
//! itself is refused before long.

use maskwright::ebnf::Dialect;
use maskwright::{ErrorKind, LimitName, Limits};

use crate::{accepts, compiler};

#[test]
fn parts_in_a_row_do_not_nest() {
    let abnf = format!("a = \"x\"\n{}", "a =/ \"y\"\n".repeat(10_000));
    assert!(accepts(&compiler().grammar(&abnf, Dialect::Abnf).unwrap(), "y"));
    let w3c = format!("root ::= [a-c]{}", " - \"b\"".repeat(30_000));
    let constraint = compiler().w3c_ebnf(&w3c).unwrap();
    assert!(accepts(&constraint, "c") && !accepts(&constraint, "b"));
    let extended = format!("start: a\na: \"x\"\n{}", "%extend a: \"y\"\n".repeat(4_000));
    assert!(accepts(&compiler().lark(&extended).unwrap(), "y"));
    // Beside a lazy rule, what alternatives begin with is factored out.
    let long = "\"a\" ".repeat(8_000);
    let lazy = format!("start: y | {long}\"b\" | {long}\"c\"\ny: x\nx[lazy]: /[d-z]+/ \";\"");
    assert!(accepts(&compiler().lark(&lazy).unwrap(), &("a".repeat(8_000) + "c")));
}

#[test]
fn repeats_of_one_item_are_few() {
    let nested = |item: &str, repeat: &str, groups: usize, repeats: usize| {
        let after = format!("{})", repeat.repeat(repeats)).repeat(groups);
        format!("{}{item}{after}", "(".repeat(groups))
    };
    for dialect in [Dialect::Gbnf, Dialect::W3c, Dialect::Lark] {
        let start = if dialect == Dialect::Lark { "start: " } else { "root ::= " };
        let many =
            compiler().grammar(&(start.to_owned() + &nested("\"a\"", "?", 60, 190)), dialect);
        assert!(many.unwrap_err().to_string().contains("more than 8 repeat"), "{dialect:?}");
        let few = compiler().grammar(&(start.to_owned() + &nested("\"a\"", "?", 100, 8)), dialect);
        assert!(accepts(&few.unwrap(), "a"), "{dialect:?}");
    }
}

#[test]
fn lines_that_can_be_read_in_too_many_ways_are_refused() {
    let head = "%declare _INDENT _DEDENT\nA: /[a-z]+/\n_NL: /(\\r?\\n[\\t ]*)+/\ns: A _NL\n";
    let parts = |parts: &str| compiler().lark(&format!("{head}start: {parts}\n"));
    assert!(parts("s s s s").is_ok());
    for many in [&"s ".repeat(14), "(((A _NL) * A) * A) * A"] {
        let error = parts(many).unwrap_err();
        assert!(error.to_string().contains("too many parts with lines"), "{many}: {error}");
    }
}

/// Rules that derive each other have factorially many derivations.
#[test]
fn a_search_for_captures_ends_with_its_time() {
    let names = |but: usize| {
        let all = (1..=12).filter(|&i| i != but).map(|i| format!("r{i}"));
        all.collect::<Vec<_>>().join(" | ")
    };
    let rules = (2..=12).map(|i| format!("r{i}: {}\n", names(i))).collect::<String>();
    let grammar = format!("start: r1 \".\"\nr1[capture]: {} | \"x\"\n{rules}", names(1));
    let time_per_mask = Some(std::time::Duration::from_millis(300));
    let limits = Limits { time_per_mask, ..Limits::default() };
    let constraint = compiler().with_limits(limits).lark(&grammar).unwrap();
    let mut matcher = constraint.matcher();
    matcher.accept_bytes(b"x.").unwrap();
    let error = matcher.captures().unwrap_err();
    assert_eq!((error.kind(), error.limit()), (ErrorKind::Limit, Some(LimitName::TimePerMask)));
}

/// A chain of rules that only name the next one is no cycle.
#[test]
fn long_chains_have_captures() {
    let chain: String = (0..600).map(|i| format!("a{i}: a{} | \"z{i}\"\n", i + 1)).collect();
    let grammar = format!("start: a0\n{chain}a600[capture]: \"q\"");
    let mut matcher = compiler().lark(&grammar).unwrap().matcher();
    matcher.accept_bytes(b"q").unwrap();
    assert_eq!(matcher.captures().unwrap().len(), 1);
}

/// The states that texts have made in a search for captures go when there are many.
#[test]
fn captures_are_found_however_many_texts_were_read() {
    let limits = Limits { language_states: 2_000, ..Limits::default() };
    let grammar = "start: body\nbody[capture]: /[ab]*a[ab]{9}/";
    let constraint = compiler().with_limits(limits).lark(grammar).unwrap();
    let mut seed = 1u64;
    for _ in 0..300 {
        let mut text = String::new();
        for _ in 0..30 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push(if seed >> 40 & 1 == 0 { 'a' } else { 'b' });
        }
        text += "abbbbbbbbb";
        let mut matcher = constraint.matcher();
        if matcher.accept_bytes(text.as_bytes()).is_ok() {
            assert_eq!(matcher.captures().unwrap().len(), 1, "{text}");
        }
    }
}
