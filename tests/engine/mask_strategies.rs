//! Masks with each strategy switched off, one at a time and all at once, against masks with all of
//! them: along the same texts they are the same, bit by bit.
//!
//! The first test makes its own vocabulary. The second takes that of `o200k_base` from the folder
//! that `MASKWRIGHT_SHARED` names; without it, it says so and does nothing.
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
#![allow(clippy::print_stdout, reason = "a skipped test says so")]

use std::path::PathBuf;

use maskwright::{Compiler, Constraint, Strategies, Strategy, Vocabulary};

/// Schemas, and a text to follow for each.
const SCHEMAS: [(&str, &str); 9] = [
    (
        r#"{"properties": {"name": {"type": "string", "maxLength": 300},
            "age": {"type": "integer", "minimum": 0}, "tags": {"items": {"type": "string"}}},
            "required": ["name"]}"#,
        r#"{"name": "Ada Lovelace", "age": 36, "tags": ["math", "é→x"], "more": {"a": [null]}}"#,
    ),
    (
        r#"{"type": "string", "pattern": "^[^\"]*net(drv_|→)[a-z]*$"}"#,
        r#""many nets, one netdrv_abc""#,
    ),
    (
        r#"{"type": "string", "pattern": "^([a-z]+-){1,40}[0-9]{2,60}$", "maxLength": 200}"#,
        r#""maker-of-things-0123456789""#,
    ),
    (
        r#"{"properties": {"at": {"format": "date-time"}, "mail": {"format": "email"}}}"#,
        r#"{"at": "2024-02-29T12:00:00Z", "mail": "ada@example.org"}"#,
    ),
    (
        r#"{"items": {"type": "string"}, "uniqueItems": true}"#,
        r#"["a", "ab", "abc", "a longer text", "é"]"#,
    ),
    (
        r#"{"items": {"type": "integer"}, "uniqueItems": true, "maxItems": 6}"#,
        "[1, 12, 123, -7, 99999999999]",
    ),
    (r#"{"type": "string", "not": {"enum": ["red", "green", "blue"]}}"#, r#""greenish red""#),
    (
        r#"{"enum": ["north", "north-east", "east", "south", "west", "in the middle of it"]}"#,
        r#""north-east""#,
    ),
    (r#"{"type": "string", "format": "regex"}"#, r#""^[a-z]+(\\d|é)*$""#),
];

/// Other constraints: regular expressions, and grammars; in the second one words may touch.
const PATTERNS: [(&str, &str); 3] = [
    ("(a|b|ab)*c{2,900}(the|then)?", "ababbbcccccccccthen"),
    (r"(?s)[^#]*#[ \t]*[A-Za-z_]+ = .{0,400}", "some words # name = text"),
    (r"(\w+\s+){3,50}end", "three of them and the end"),
];
const GRAMMARS: [(&str, &str); 2] = [
    (
        r#"start: statement+
statement: NAME " = " expression "\n"
expression: term (" + " term)*
term: NAME | NUMBER | "(" expression ")"
NAME: /[a-z_][a-z0-9_]*/
NUMBER: /[0-9]+/
"#,
        "alpha = beta + (10 + gamma_2)\ndelta = 7\n",
    ),
    (
        r#"start: "select"i item ("," item)* ["from"i NAME+ ["where"i item]]
item: NAME ["(" item ")"] [["as"i] NAME] | NUMBER | "(" start ")"
NAME: /[a-z_][a-z0-9_]*/
NUMBER: /[0-9]+/
%ignore /[ \t\n]+/
"#,
        "select the as a, ending(12) re_x, (select 1) from net where\n  abc",
    ),
];

/// Every byte, and thousands of tokens of words, marks and blanks.
fn vocabulary() -> Vocabulary {
    let (mut random, mut tokens) = (0x2545_F491_4F6C_DD1D_u64, std::collections::BTreeSet::new());
    let parts = [
        "a", "e", "n", "net", "the", "end", "ing", "re", "ab", "c", "cc", "x", "s", "o", "A", "T",
        "0", "1", "12", "99", " ", "  ", "\"", "\", \"", "\": ", "\"}", "},", ", ", "[", "]", "\n",
        "-", "_", "é", "→", "\\", "\\\\", "\\n", "(", ")", " = ", " + ", "#", ".", "@", ":",
    ];
    while tokens.len() < 12_000 {
        let mut token = String::new();
        for _ in 0..1 + random % 5 {
            // xorshift64 (Marsaglia, 2003)
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // Letters more often than marks.
            let among = if random & 3 == 0 { parts.len() } else { 14 };
            token += parts[(random >> 8) as usize % among];
        }
        tokens.insert(token.into_bytes());
    }
    tokens.extend(["abcdefgh ".repeat(5), "-".repeat(64), " ".repeat(40)].map(String::into_bytes));
    tokens.extend((0..=255).map(|byte| vec![byte]));
    let end = tokens.len() as u32;
    let tokens = tokens.into_iter().map(Some).chain([None]).collect();
    Vocabulary::from_tokens(tokens, &[(end, "</s>")], &[end]).unwrap()
}

fn constraints(compiler: &Compiler, all: bool) -> Vec<(Constraint, &'static str)> {
    let schemas = SCHEMAS.iter().map(|&(schema, text)| (compiler.json_schema_str(schema), text));
    let patterns = PATTERNS.iter().map(|&(pattern, text)| (compiler.regex(pattern), text));
    let grammars = GRAMMARS.iter().map(|&(grammar, text)| (compiler.lark(grammar), text));
    let made = schemas.chain(patterns).chain(grammars).map(|(made, text)| (made.unwrap(), text));
    made.step_by(if all { 1 } else { 3 }).collect()
}

/// The masks along a text, by the longest tokens and then the shortest.
fn masks(constraint: &Constraint, text: &str) -> Vec<Vec<u32>> {
    let trie = constraint.vocabulary().trie();
    let mut masks = Vec::new();
    for longest in [true, false] {
        let (mut matcher, mut rest) = (constraint.matcher(), text.as_bytes());
        loop {
            masks.push(matcher.mask().unwrap().words().to_vec());
            let (mut node, mut found) = (0, None);
            for (i, &byte) in rest.iter().enumerate() {
                let Some(child) = trie.child(node, byte) else { break };
                node = child;
                let token = trie.tokens(node).first().map(|&token| (token, i + 1));
                found = if longest { token.or(found) } else { found.or(token) };
            }
            let Some((token, length)) = found else { break };
            if matcher.accept(token).is_err() {
                break;
            }
            rest = &rest[length..];
        }
        assert!(!longest || rest.is_empty(), "{text} is cut at {} bytes", text.len() - rest.len());
    }
    masks
}

fn every_strategy_is_exact(vocabulary: Vocabulary, all: bool) {
    let compiler = Compiler::new(vocabulary);
    let followed = |compiler: &Compiler| -> Vec<Vec<Vec<u32>>> {
        let constraints = constraints(compiler, all);
        constraints.iter().map(|(constraint, text)| masks(constraint, text)).collect()
    };
    let expected = followed(&compiler);
    let without = Strategy::ALL.map(|one| (one.name(), Strategies::ALL.without(one)));
    for (name, strategies) in without.into_iter().chain([("all", Strategies::NONE)]) {
        let found = followed(&compiler.clone().with_strategies(strategies));
        for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found.len(), expected.len(), "constraint {index} without {name}");
            let differs =
                found.iter().zip(expected).position(|(found, expected)| found != expected);
            assert_eq!(differs, None, "constraint {index} without {name}: the mask of this step");
        }
    }
}

#[test]
fn masks_do_not_depend_on_strategies() {
    every_strategy_is_exact(vocabulary(), true);
}

#[test]
fn masks_of_a_real_vocabulary_do_not_depend_on_strategies() {
    let Some(shared) = std::env::var_os("MASKWRIGHT_SHARED").map(PathBuf::from) else {
        println!("skipped: MASKWRIGHT_SHARED is not set");
        return;
    };
    let path = shared.join("tokenizers/tiktoken/o200k_base.tiktoken");
    every_strategy_is_exact(Vocabulary::from_file(path).unwrap(), false);
}

#[test]
fn strategies_are_found_by_name() {
    for strategy in Strategy::ALL {
        assert_eq!(strategy.name().parse(), Ok(strategy));
    }
    assert!("speed".parse::<Strategy>().unwrap_err().contains("there are byte_shapes, "));
}
