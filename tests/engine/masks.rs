//! Masks against plain acceptance, on real schemas and a real vocabulary: along the tokens of real
//! instances, a token is in the mask if and only if a fork accepts it.
//!
//! Masks are put together from parts that were found without the vocabulary in sight; acceptance
//! reads a token byte by byte. The files are found through the variable `MASKWRIGHT_SHARED`;
//! without it these tests say so and do nothing. `MASKWRIGHT_MASK_SCHEMAS` says how many schemas
//! are taken; every so many-th, by `MASKWRIGHT_INSTANCE_STRIDE` (1: all), has its instances read
//! whole, as their tokenizer splits them and otherwise.
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
#![allow(clippy::print_stdout, reason = "the counts are what one runs these tests for")]

use std::path::{Path, PathBuf};

use crate::common::suite::{Case, DRAFTS, files, remotes, suite};
use maskwright::json_schema::{Options, PropertyOrder, Spelling, Whitespace};
use maskwright::{Compiler, Constraint, Matcher, Vocabulary};
use serde_json::{Value, json};

/// Any tokens that make a text: the longest that fits, or a shorter one, by chance.
fn tokens(vocabulary: &Vocabulary, text: &str, random: &mut u64) -> Vec<u32> {
    let (trie, mut rest, mut found) = (vocabulary.trie(), text.as_bytes(), Vec::new());
    while !rest.is_empty() {
        let (mut node, mut ways) = (0, Vec::new());
        for (i, &byte) in rest.iter().enumerate() {
            let Some(child) = trie.child(node, byte) else { break };
            node = child;
            ways.extend(trie.tokens(node).first().map(|&token| (token, i + 1)));
        }
        let back =
            if next(random).is_multiple_of(4) { next(random) as usize % ways.len() } else { 0 };
        let (token, length) = ways[ways.len() - 1 - back];
        found.push(token);
        rest = &rest[length..];
    }
    found
}

fn next(random: &mut u64) -> u64 {
    // xorshift64 (Marsaglia, 2003)
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}

/// Every token of the mask, up to a few hundred, and as many that are not in it.
fn check(matcher: &mut Matcher, vocabulary: &Vocabulary, random: &mut u64, name: &str) -> usize {
    let mask = matcher.mask().unwrap().clone();
    let allowed: Vec<u32> = mask.iter().filter(|t| !vocabulary.end_tokens().contains(t)).collect();
    let ids = vocabulary.trie().ids();
    let mut asked: Vec<u32> = match allowed.len() {
        ..=200 => allowed.clone(),
        n => (0..200).map(|_| allowed[next(random) as usize % n]).collect(),
    };
    // Those that hold what ends something are the likeliest to be wrong.
    let ends = |token: &u32| {
        let bytes = vocabulary.token_bytes(*token).unwrap_or_default();
        bytes.iter().any(|byte| b"\"}],:\n".contains(byte))
    };
    asked.extend((0..100).map(|_| ids[next(random) as usize % ids.len()]));
    let from = next(random) as usize % ids.len();
    asked.extend(ids[from..].iter().copied().filter(ends).take(100));
    for &token in &asked {
        let accepted = matcher.clone().accept(token).is_ok();
        assert_eq!(
            mask.contains(token),
            accepted,
            "{name}: token {token} ({}) at step {}",
            vocabulary.token_name(token),
            matcher.steps()
        );
    }
    asked.len()
}

/// The lines of MaskBench.
fn schemas(shared: &Path) -> Vec<Value> {
    let mut schemas: Vec<Value> = Vec::new();
    let mut folder: Vec<_> = std::fs::read_dir(shared.join("corpus/maskbench"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    folder.sort();
    for path in folder {
        let text = std::fs::read_to_string(path).unwrap();
        schemas.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
    }
    schemas
}

fn accepts(constraint: &Constraint, text: &str) -> bool {
    let mut matcher = constraint.matcher();
    matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
}

/// Each token of valid instances is in its mask, and so is the end: as the tokenizer splits the
/// text, and as chance does.
#[test]
fn every_prefix_of_a_valid_instance_is_allowed() {
    let Some(shared) = std::env::var_os("MASKWRIGHT_SHARED").map(PathBuf::from) else {
        println!("skipped: MASKWRIGHT_SHARED is not set");
        return;
    };
    let stride = std::env::var("MASKWRIGHT_INSTANCE_STRIDE").map_or(37, |n| n.parse().unwrap());
    let encoder = tiktoken_rs::o200k_base().unwrap();
    let path = shared.join("tokenizers/tiktoken/o200k_base.tiktoken");
    let plain = Compiler::new(Vocabulary::from_file(path).unwrap());
    let mut any_order = Options::default();
    any_order.property_order = PropertyOrder::Any;
    let any_order = plain.clone().with_json_options(any_order);
    let mut random = 0x2545_F491_4F6C_DD1D;
    let (mut instances, mut masks, mut refused) = (0, 0, Vec::new());
    let schemas = schemas(&shared);
    for entry in schemas.iter().step_by(stride) {
        let name = entry["id"].as_str().unwrap();
        let constraint = plain.json_schema(&entry["schema"]);
        let valid = entry["tests"].as_array().unwrap().iter().filter(|test| test["valid"] == true);
        for text in valid.map(|test| crate::common::dumps(&test["data"])) {
            let ordered = constraint.as_ref().ok().filter(|c| accepts(c, &text)).cloned();
            let unordered = || any_order.json_schema(&entry["schema"]).ok();
            let found = ordered.or_else(|| unordered().filter(|c| accepts(c, &text)));
            let Some(constraint) = found else {
                refused.push(name);
                continue;
            };
            instances += 1;
            let vocabulary = plain.vocabulary();
            let real: Vec<u32> = encoder.encode_ordinary(&text);
            let others = [(); 2].map(|()| tokens(vocabulary, &text, &mut random));
            for split in [real].into_iter().chain(others) {
                let mut matcher = constraint.matcher();
                for token in split {
                    let step = matcher.steps();
                    let mask = matcher.mask().unwrap();
                    assert!(mask.contains(token), "{name}: token {token} at step {step} of {text}");
                    matcher.accept(token).unwrap();
                    masks += 1;
                }
                let mask = matcher.mask().unwrap();
                assert!(mask.contains(vocabulary.end_tokens()[0]), "{name}: the end of {text}");
            }
        }
    }
    println!("{masks} tokens of {instances} instances are allowed; refused: {refused:?}");
    // Labels that are wrong, and what is beyond the limits.
    assert!(instances > 0 && refused.len() * 100 < instances);
}

/// Whether a text is accepted token by token, each allowed by the mask.
fn accepts_tokens(constraint: &Constraint, vocabulary: &Vocabulary, tokens: &[u32]) -> bool {
    let mut matcher = constraint.matcher();
    let allowed = tokens.iter().all(|&token| {
        matcher.mask().unwrap().contains(token) && {
            matcher.accept(token).unwrap();
            true
        }
    });
    allowed && matcher.mask().unwrap().contains(vocabulary.end_tokens()[0])
}

/// Valid or not, a text of the corpus or of the official suite is accepted in bytes if and only if
/// it is in tokens, whichever make it.
#[test]
fn bytes_and_tokens_answer_alike() {
    let Some(shared) = std::env::var_os("MASKWRIGHT_SHARED").map(PathBuf::from) else {
        println!("skipped: MASKWRIGHT_SHARED is not set");
        return;
    };
    let stride = std::env::var("MASKWRIGHT_INSTANCE_STRIDE").map_or(37, |n| n.parse().unwrap());
    let path = shared.join("tokenizers/tiktoken/o200k_base.tiktoken");
    let plain = Compiler::new(Vocabulary::from_file(path).unwrap());
    let vocabulary = plain.vocabulary();
    let mut random = 0xD1B5_4A32_D192_ED03;
    let (mut texts, mut accepted, mut wrong) = (0, 0, Vec::new());
    let mut compare = |constraint: &Constraint, name: &str, text: &str| {
        let bytes = accepts(constraint, text);
        for _ in 0..2 {
            let split = tokens(vocabulary, text, &mut random);
            if accepts_tokens(constraint, vocabulary, &split) != bytes {
                wrong.push(format!("{name}: {bytes} in bytes: {text}"));
            }
        }
        texts += 1;
        accepted += usize::from(bytes);
    };
    for entry in schemas(&shared).iter().step_by(stride) {
        let Ok(constraint) = plain.json_schema(&entry["schema"]) else { continue };
        for test in entry["tests"].as_array().unwrap() {
            compare(
                &constraint,
                entry["id"].as_str().unwrap(),
                &crate::common::dumps(&test["data"]),
            );
        }
    }
    let Some(suite) = suite() else { return };
    let remotes = remotes(&suite);
    for (name, draft) in DRAFTS {
        let folder = suite.join("tests").join(name);
        if !folder.is_dir() {
            continue;
        }
        let mut options = Options::default();
        options.draft = Some(draft);
        options.spelling = Spelling::Any;
        options.property_order = PropertyOrder::Any;
        options.whitespace = Whitespace::Any;
        options.digits = 400;
        let free = plain.clone().with_json_options(options);
        for path in files(&folder, "json") {
            let text = std::fs::read_to_string(&path).unwrap();
            let cases: Vec<Case<'_>> = serde_json::from_str(&text).unwrap();
            for case in cases.iter().step_by(stride.div_ceil(10)) {
                let compiled =
                    case.schema(&remotes).and_then(|schema| free.json_schema_document(schema));
                let Ok(constraint) = compiled else { continue };
                for test in &case.tests {
                    compare(&constraint, &case.description, test.data.get());
                }
            }
        }
    }
    println!("{texts} texts, {accepted} of them accepted; {} differ", wrong.len());
    assert!(wrong.is_empty() && accepted > 0 && accepted < texts, "{wrong:#?}");
}

#[test]
fn a_token_is_in_the_mask_if_and_only_if_it_is_accepted() {
    let Some(shared) = std::env::var_os("MASKWRIGHT_SHARED").map(PathBuf::from) else {
        println!("skipped: MASKWRIGHT_SHARED is not set");
        return;
    };
    let count = std::env::var("MASKWRIGHT_MASK_SCHEMAS").map_or(60, |n| n.parse().unwrap());
    let path = shared.join("tokenizers/llama-3.2/tokenizer.json");
    let plain = Compiler::new(Vocabulary::from_file(path).unwrap());
    let mut free = Options::default();
    free.property_order = PropertyOrder::Any;
    free.spelling = Spelling::Any;
    free.whitespace = Whitespace::Any;
    let free = plain.clone().with_json_options(free);
    let schemas = schemas(&shared);
    let mut random = 0x9E37_79B9_7F4A_7C15;
    let (mut masks, mut asked) = (0, 0);
    for _ in 0..count {
        let entry = &schemas[next(&mut random) as usize % schemas.len()];
        let compiler = if next(&mut random).is_multiple_of(4) { &free } else { &plain };
        let Ok(constraint) = compiler.json_schema(&entry["schema"]) else { continue };
        let vocabulary = compiler.vocabulary();
        for test in entry["tests"].as_array().unwrap().iter().take(2) {
            let text = crate::common::dumps(&test["data"]);
            let mut matcher = constraint.matcher();
            for token in tokens(vocabulary, &text, &mut random).into_iter().take(60) {
                let name = entry["id"].as_str().unwrap();
                asked += check(&mut matcher, vocabulary, &mut random, name);
                masks += 1;
                if matcher.accept(token).is_err() {
                    break;
                }
            }
        }
    }
    println!("{masks} masks, {asked} tokens");
}

/// Grammars of words, operators and blanks: along texts that they accept, masks are what acceptance
/// says, at some steps for the whole vocabulary.
#[test]
fn masks_of_grammars_are_those_of_acceptance() {
    let Some(shared) = std::env::var_os("MASKWRIGHT_SHARED").map(PathBuf::from) else {
        println!("skipped: MASKWRIGHT_SHARED is not set");
        return;
    };
    let encoder = tiktoken_rs::o200k_base().unwrap();
    let path = shared.join("tokenizers/tiktoken/o200k_base.tiktoken");
    let compiler = Compiler::new(Vocabulary::from_file(path).unwrap());
    let vocabulary = compiler.vocabulary();
    let mut random = 0x9E37_79B9_7F4A_7C15;
    let (mut steps, mut asked) = (0, 0);
    // Names before names, keywords as names, numbers before names: what `plain` readings are for.
    let words = "start: (NAME | KEYWORD NAME | NUMBER UNIT | NAME \".\" NAME)+\n\
                 NAME: /[a-z_][a-z_0-9]*/\nKEYWORD: \"let\" | \"return\"\nUNIT: /k?m|s/\n\
                 NUMBER: /[0-9]+(\\.[0-9]+)?/\n%ignore /[ \\t\\n]+/\n";
    for (name, grammar, texts) in [
        ("sql", None, vec!["SELECT a.total, COUNT(*) FROM orders AS a WHERE name = 'x' LIMIT 5"]),
        ("c", None, vec!["total = (int)size * f(x->len, 0x1F) >> 2", "*p++ && n[i - 1] == '\\n'"]),
        ("python", None, vec!["def f(x):\n    return x.name + 1.5e3\n"]),
        ("graphql", None, vec!["query Q($id: ID!) { user(id: $id) { name, friends } }"]),
        ("words", Some(words), vec!["let total_1.size return 12 km x5.y"]),
    ] {
        let constraint = match grammar {
            Some(grammar) => compiler.lark(grammar),
            None => {
                let ready = maskwright::ebnf::builtin(name).unwrap();
                compiler.grammar(ready.text, ready.dialect)
            }
        };
        let constraint = constraint.unwrap();
        for text in texts {
            assert!(accepts(&constraint, text), "{name} rejects {text}");
            let real = encoder.encode_ordinary(text);
            let whole = next(&mut random) as usize % real.len();
            let mut matcher = constraint.matcher();
            for (step, &token) in real.iter().enumerate() {
                asked += check(&mut matcher, vocabulary, &mut random, name);
                if step == whole {
                    let mask = matcher.mask().unwrap().clone();
                    for &token in vocabulary.trie().ids() {
                        let accepted = matcher.clone().accept(token).is_ok();
                        let shown = vocabulary.token_name(token);
                        assert_eq!(mask.contains(token), accepted, "{name}: {shown} at {step}");
                    }
                }
                matcher.accept(token).unwrap();
                steps += 1;
            }
        }
    }
    println!("{steps} steps, {asked} tokens asked one by one");
}

/// Texts with a pattern or a format and a bound on their length: masks are what acceptance says, for
/// the tokens of most characters above all, far from the bound and near it.
#[test]
fn masks_of_bounded_texts_are_those_of_acceptance() {
    let Some(shared) = std::env::var_os("MASKWRIGHT_SHARED").map(PathBuf::from) else {
        println!("skipped: MASKWRIGHT_SHARED is not set");
        return;
    };
    let path = shared.join("tokenizers/tiktoken/o200k_base.tiktoken");
    let plain = Compiler::new(Vocabulary::from_file(path).unwrap());
    let mut free = Options::default();
    free.spelling = Spelling::Any;
    let free = plain.clone().with_json_options(free);
    let vocabulary = plain.vocabulary();
    let characters = |token: u32| {
        let bytes = vocabulary.token_bytes(token).unwrap_or_default();
        bytes.iter().filter(|&&byte| !(0x80..0xC0).contains(&byte)).count()
    };
    let (mut long, mut short): (Vec<u32>, Vec<u32>) =
        vocabulary.trie().ids().iter().partition(|&&token| characters(token) > 14);
    long.sort_by_key(|&token| std::cmp::Reverse(characters(token)));
    short.retain(|&token| characters(token) < 8);
    let mut random = 0x9E37_79B9_7F4A_7C15;
    let texts = [
        json!({"pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"}),
        json!({"pattern": "^[-=#*\\s]+([-=*][-=* ]*a?)+$"}),
        json!({"pattern": "^(?!-)[A-Za-z0-9 _.,-]+\\.(com|org)$", "minLength": 3}),
        json!({"pattern": "^(\\S+\\s+){0,9}\\S+$"}),
        json!({"pattern": "^\\p{L}+(['\u{2019} -]\\p{L}+)*$"}),
        json!({"pattern": "x$", "minLength": 10}),
        json!({"not": {"pattern": "  "}, "pattern": "^ *\\S"}),
        json!({"format": "email"}),
        json!({"format": "uri"}),
    ];
    let (mut masks, mut asked) = (0, 0);
    for (i, text) in texts.iter().enumerate() {
        for most in [18, 33, 64, 120, 200] {
            let mut text = text.clone();
            text["type"] = "string".into();
            text["maxLength"] = most.into();
            let compiler = if (i + most).is_multiple_of(3) { &free } else { &plain };
            let constraint = compiler.json_schema(&text).unwrap();
            let mut matcher = constraint.matcher();
            matcher.accept_bytes(b"\"").unwrap();
            for _ in 0..12 {
                asked += check(&mut matcher, vocabulary, &mut random, &text.to_string());
                let mask = matcher.mask().unwrap().clone();
                let from = next(&mut random) as usize % long.len();
                for &token in long[..100].iter().chain(long[from..].iter().take(100)) {
                    let accepted = matcher.clone().accept(token).is_ok();
                    let shown = vocabulary.token_name(token);
                    let step = matcher.steps();
                    assert_eq!(mask.contains(token), accepted, "{text}: {shown} at {step}");
                }
                masks += 1;
                // Not only words of languages that are seldom written: long ones, and letters.
                let tokens = if next(&mut random).is_multiple_of(3) { &long } else { &short };
                let allowed = tokens.iter().filter(|&&token| mask.contains(token));
                let allowed: Vec<u32> = allowed.copied().collect();
                match allowed.len() {
                    0 => break,
                    n => matcher.accept(allowed[next(&mut random) as usize % n]).unwrap(),
                }
            }
        }
    }
    println!("{masks} masks, {asked} tokens");
    assert!(masks > 300);
}
