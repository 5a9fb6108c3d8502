//! Budgets of tokens: what `tokens_to_finish` promises, masks within a budget keep.
//!
//! Small vocabularies are checked by the definition, token by token, and against a search over all
//! sequences of tokens; real schemas on a real vocabulary by walks with random budgets, each of
//! which must end complete. `MASKWRIGHT_BUDGET_WALKS` says how many of these.
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
#![allow(clippy::print_stdout, reason = "the counts are what one runs these tests for")]

use std::path::PathBuf;

use maskwright::json_schema::{Options, PropertyOrder};
use maskwright::{Compiler, Constraint, ErrorKind, Matcher, Vocabulary};
use serde_json::{Value, json};

fn next(random: &mut u64) -> u64 {
    // xorshift64 (Marsaglia, 2003)
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}

/// All bytes, some longer tokens, an end token.
fn small_vocabulary() -> Vocabulary {
    let mut tokens: Vec<Option<Vec<u8>>> = (0..=255).map(|byte| Some(vec![byte])).collect();
    let longer = "aa ab ba bb aaa aba abab {\" \": \", }\" \"} \"a\" \"aa \"b {} [] }} ]] ], [[ [{ {\"a\": \
                  true false null 00 000 10 12 123 0. .5 1e 1, 2, \"\" \"\", ,\"\" () (( )) ((( ))) a( )a aab,";
    tokens.extend(longer.split(' ').map(|token| Some(token.as_bytes().to_vec())));
    tokens.push(Some(b", \"".to_vec()));
    tokens.push(Some(b"\": ".to_vec()));
    let end = tokens.len() as u32;
    tokens.push(None);
    Vocabulary::from_tokens(tokens, &[(end, "<end>")], &[end]).unwrap()
}

/// The fewest tokens to the end, by trying all sequences of up to `depth`.
fn fewest(matcher: &mut Matcher, depth: u32) -> Option<u32> {
    if matcher.is_accepting() {
        return Some(0);
    }
    if depth == 0 {
        return None;
    }
    let allowed: Vec<u32> = matcher.mask().unwrap().iter().collect();
    let mut least = None;
    for token in allowed.into_iter().take(60) {
        matcher.accept(token).unwrap();
        let bound = least.map_or(depth - 1, |least: u32| least.saturating_sub(2));
        if let Some(rest) = fewest(matcher, bound) {
            least = Some(least.map_or(rest + 1, |least: u32| least.min(rest + 1)));
        }
        matcher.rollback(1).unwrap();
    }
    least
}

/// One walk; returns its steps.
fn walk(constraint: &Constraint, random: &mut u64, by_definition: bool, name: &str) -> Option<u32> {
    let mut matcher = constraint.matcher();
    // Some schemas are refused only where a text comes to what is too complex.
    let least = match matcher.tokens_to_finish() {
        Err(error) if error.to_string().contains("no way to complete") => return None,
        least => least.unwrap_or_else(|error| panic!("{name}: {error}")).tokens,
    };
    let budget = least + next(random) as u32 % (1 + [2, 10, 60][next(random) as usize % 3]);
    let ends: Vec<u32> = constraint.vocabulary().end_tokens().to_vec();
    let mut written: Vec<u8> = Vec::new();
    for step in 0..=budget {
        let left = budget - step;
        let all = match matcher.mask() {
            Err(error) if error.to_string().contains("asked for at once") => return None,
            all => all.unwrap_or_else(|error| panic!("{name}: {error}")).clone(),
        };
        let context = format!("{name}: {:?}, {left} left", String::from_utf8_lossy(&written));
        let mask = matcher.mask_within(left);
        let mask = mask.unwrap_or_else(|e| panic!("{context}: {e}")).clone();
        assert!(mask.iter().all(|token| all.contains(token)), "{context}");
        // What is known is what was computed; near the end nothing is.
        let mut row = vec![0; all.words().len()];
        assert!(matcher.fill_known_mask(&mut row, None).unwrap(), "{context}");
        assert_eq!(row, all.words(), "{context}");
        if matcher.fill_known_mask(&mut row, Some(left)).unwrap() {
            assert_eq!(row, mask.words(), "{context}");
        }
        let allowed: Vec<u32> = mask.iter().filter(|token| !ends.contains(token)).collect();
        for &end in &ends {
            assert_eq!(mask.contains(end), matcher.is_accepting(), "{context}");
        }
        if by_definition {
            for token in all.iter().filter(|token| !ends.contains(token)) {
                let mut after = matcher.clone();
                after.accept(token).unwrap();
                let fits = after.tokens_to_finish().unwrap().tokens < left;
                assert_eq!(
                    allowed.contains(&token),
                    fits,
                    "{context}: token {token} {:?}",
                    after.tokens_to_finish()
                );
            }
        }
        // An end token now and then, as soon as the text may end.
        if allowed.is_empty() || matcher.is_accepting() && next(random).is_multiple_of(8) {
            assert!(matcher.is_accepting(), "stuck: {context}");
            return Some(step);
        }
        let token = allowed[next(random) as usize % allowed.len()];
        matcher.accept(token).unwrap();
        written.extend_from_slice(constraint.vocabulary().token_bytes(token).unwrap_or_default());
    }
    assert!(matcher.is_accepting(), "{name}: {:?}", String::from_utf8_lossy(&written));
    Some(budget)
}

#[test]
fn masks_far_from_the_end_are_known_to_later_texts() {
    let constraint = Compiler::new(small_vocabulary()).regex("(ab|ba){2,5}c?").unwrap();
    let mut row = vec![0; constraint.vocabulary().len().div_ceil(32)];
    let mut known = |left| {
        let matcher = constraint.matcher();
        matcher.fill_known_mask(&mut row, left).unwrap().then(|| row.clone())
    };
    assert_eq!((known(None), known(Some(60))), (None, None));
    let far = constraint.matcher().mask_within(60).unwrap().words().to_vec();
    assert_eq!(known(Some(60)), Some(far.clone()));
    assert_eq!(known(None), Some(far.clone()));
    // One token is enough for `abab`, and not for what begins with `a` alone.
    let near = constraint.matcher().mask_within(1).unwrap().words().to_vec();
    assert_ne!(near, far);
    assert_eq!(known(Some(1)), None);
}

fn small_constraints() -> Vec<(String, Constraint)> {
    let compiler = Compiler::new(small_vocabulary());
    let mut all = Vec::new();
    let regexes = [
        "a{3,7}b|b{2,}",
        "(ab|ba){2,5}c?",
        "[ab]*a[ab]{4}",
        "(aab,){1,40}",
        "0|[1-9][0-9]*",
        "[^,]+",
    ];
    for regex in regexes {
        all.push((regex.to_owned(), compiler.regex(regex).unwrap()));
    }
    let grammars = [
        "root ::= \"(\" root \")\" | \"a\"",
        "root ::= list{2,4}\nlist ::= \"[\" (item (\",\" item)*)? \"]\"\nitem ::= list | [0-9]+ | \"true\"",
        "root ::= x x?\nx ::= \"a\" x \"b\" | \"ab\" | \"a\"",
    ];
    for grammar in grammars {
        let dialect = maskwright::ebnf::Dialect::Gbnf;
        all.push((grammar.to_owned(), compiler.grammar(grammar, dialect).unwrap()));
    }
    let schemas = [
        json!({"type": "integer", "multipleOf": 12, "minimum": 100}),
        json!({"type": "string", "minLength": 3, "maxLength": 9, "pattern": "^(aa|b)*$"}),
        json!({"type": "object", "required": ["a", "bb"], "additionalProperties": false,
               "properties": {"a": {"type": "array", "items": {"type": "boolean"}, "minItems": 2},
                              "bb": {"anyOf": [{"$ref": "#"}, {"const": 12}]},
                              "c": {"type": "null"}}}),
        json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "required": ["next"],
            "properties": {"next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}}}}}),
        json!({"type": "object", "minProperties": 3}),
        json!({"type": "array", "uniqueItems": true, "minItems": 3, "items": {"enum": [0, 1, 12, "a"]}}),
        json!({"type": "array", "uniqueItems": true, "minItems": 2, "items": {"type": "string"}}),
        json!({"type": "array", "uniqueItems": true, "minItems": 3, "items": {
            "type": "object", "additionalProperties": false,
            "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean"}}}}),
        json!({"$ref": "#/$defs/all", "$defs": {"all": {
            "type": "array", "uniqueItems": true, "minItems": 2, "items": {
                "type": "object", "additionalProperties": false,
                "properties": {"a": {"$ref": "#/$defs/all"}, "b": {"const": ""}}}}}}),
        json!({"oneOf": [{"type": "number"}, {"multipleOf": 5}]}),
        json!({}),
    ];
    for schema in schemas {
        all.push((schema.to_string(), compiler.json_schema(&schema).unwrap()));
    }
    all
}

#[test]
fn masks_within_a_budget_are_those_of_the_definition() {
    let mut random = 0x9e37_79b9_7f4a_7c15;
    for (name, constraint) in small_constraints() {
        // Where captured texts decide, less may be allowed near the end.
        let captures = ["uniqueItems", "minProperties", "{}", "next", "oneOf"];
        let exact = !captures.iter().any(|word| name.contains(word));
        for _ in 0..6 {
            walk(&constraint, &mut random, exact, &name);
        }
    }
}

#[test]
fn every_walk_within_a_budget_ends_complete() {
    let mut random = 0x2545_f491_4f6c_dd1d;
    let mut steps = 0;
    for (name, constraint) in small_constraints() {
        for _ in 0..60 {
            steps += walk(&constraint, &mut random, false, &name).unwrap();
        }
    }
    assert!(steps > 1_000);
}

#[test]
fn no_sequence_of_tokens_is_shorter_than_what_is_called_exact() {
    let (mut exact, mut tight, mut all) = (0, 0, 0);
    for (name, constraint) in small_constraints() {
        let mut random = 0x1234_5678_9abc_def1;
        for _ in 0..4 {
            let mut matcher = constraint.matcher();
            for _ in 0..12 {
                let promised = matcher.tokens_to_finish().unwrap_or_else(|e| panic!("{name}: {e}"));
                if promised.tokens <= 3 {
                    let least = fewest(&mut matcher, promised.tokens);
                    // All that is tried may be longer, never is there nothing.
                    let least = least.unwrap_or(promised.tokens);
                    assert!(least <= promised.tokens, "{name}");
                    assert!(!promised.exact || least == promised.tokens, "{name}");
                    all += 1;
                    exact += u32::from(promised.exact);
                    tight += u32::from(least == promised.tokens);
                }
                let ends = constraint.vocabulary().end_tokens();
                let allowed: Vec<u32> =
                    matcher.mask().unwrap().iter().filter(|token| !ends.contains(token)).collect();
                let Some(at) = (next(&mut random) as usize).checked_rem(allowed.len()) else {
                    break;
                };
                matcher.accept(allowed[at]).unwrap();
            }
        }
    }
    println!("of {all} states {exact} are called exact, {tight} are as tight as can be");
    assert!(exact * 3 > all && tight * 10 > all * 9);
}

#[test]
fn a_budget_that_is_too_small_says_what_is_needed() {
    let compiler = Compiler::new(small_vocabulary());
    let mut matcher = compiler.regex("aaaaaaaab").unwrap().matcher();
    assert_eq!(matcher.tokens_to_finish().unwrap().tokens, 4);
    assert!(matcher.tokens_to_finish().unwrap().exact);
    let error = matcher.mask_within(3).unwrap_err().to_string();
    assert!(error.contains("4 are needed"), "{error}");
    // The matcher stays as it was.
    assert_eq!(matcher.mask_within(4).unwrap().iter().count(), 3);
    assert_eq!(matcher.mask().unwrap().iter().count(), 3);
    matcher.accept_bytes(b"a").unwrap();
    assert_eq!(matcher.mask_within(3).unwrap().iter().count(), 1);
}

/// Eleven open objects that differ by what an optional name holds: `{}` is in all of them, and one
/// member with a long name, which nothing requires, decides.
#[test]
fn the_member_that_decides_is_written_before_shorter_ones() {
    let branches: Vec<Value> = (0..11)
        .map(|i| {
            json!({ "properties": {
                "protocol": { "const": format!("kind{i}") },
                format!("n{i}"): { "minimum": 3 },
                format!("m{i}"): { "type": "string" },
            }})
        })
        .collect();
    let numbers = (0..30).map(|i| (format!("n{i}"), json!({ "type": "integer" })));
    let properties: serde_json::Map<String, Value> = numbers.collect();
    let schema = json!({ "type": "object", "properties": properties, "oneOf": branches });
    let mut options = Options::default();
    options.property_order = PropertyOrder::Any;
    for options in [options, Options::default()] {
        let order = options.property_order;
        let compiler = Compiler::new(small_vocabulary()).with_json_options(options);
        let constraint = compiler.json_schema(&schema).unwrap();
        for prefix in ["", "{\"n1\":5,\"n2\":1", "{\"m3\": \"a\""] {
            let mut matcher = constraint.matcher();
            matcher.accept_bytes(prefix.as_bytes()).unwrap();
            let least = matcher.tokens_to_finish().unwrap().tokens;
            for left in (0..least).rev() {
                if matcher.is_accepting() {
                    break;
                }
                let token = matcher.mask_within(left + 1).unwrap().iter().next().unwrap();
                matcher.accept(token).unwrap();
            }
            assert!(matcher.is_accepting(), "{order:?}: {prefix}");
            // Not all names that are shorter, one after the other.
            assert!(order == PropertyOrder::Schema || least < 60, "{prefix}: {least} tokens");
        }
    }
}

#[test]
fn bytes_that_stand_only_inside_longer_tokens() {
    let tokens: Vec<_> =
        ["ab", "ba", "aab", "b"].map(|token| Some(token.as_bytes().to_vec())).into();
    let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[]).unwrap());
    let mut matcher = compiler.regex("(a|b){4}").unwrap().matcher();
    let least = matcher.tokens_to_finish().unwrap();
    assert!(least.exact && least.tokens == 2);
    let mut random = 7;
    for _ in 0..20 {
        walk(matcher.constraint(), &mut random, true, "(a|b){4}");
    }
}

#[test]
fn real_schemas_on_a_real_vocabulary() {
    let Some(shared) = std::env::var_os("MASKWRIGHT_SHARED").map(PathBuf::from) else {
        println!("skipped: MASKWRIGHT_SHARED is not set");
        return;
    };
    let walks = std::env::var("MASKWRIGHT_BUDGET_WALKS").ok().and_then(|n| n.parse().ok());
    let walks: usize = walks.unwrap_or(100);
    let vocabulary =
        Vocabulary::from_file(shared.join("tokenizers/llama-3.2/tokenizer.json")).unwrap();
    let compiler = Compiler::new(vocabulary);
    let folder = shared.join("corpus/maskbench");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut schemas = Vec::new();
    for file in files {
        for line in std::fs::read_to_string(file).unwrap_or_default().lines() {
            if let Ok(record) = serde_json::from_str::<Value>(line)
                && let Some(schema) = record.get("schema")
            {
                schemas.push((record["id"].to_string(), schema.clone()));
            }
        }
    }
    let (mut done, mut steps, mut refused) = (0, 0, 0);
    let mut random = 0xdead_beef_cafe_f00d;
    let every = (schemas.len() / (walks / 4).max(1)).max(1);
    for (name, schema) in schemas.iter().step_by(every) {
        let Ok(constraint) = compiler.json_schema(schema) else { continue };
        for _ in 0..4 {
            match walk(&constraint, &mut random, false, name) {
                Some(taken) => (done, steps) = (done + 1, steps + taken),
                None => {
                    println!("refused: {name}");
                    refused += 1;
                }
            }
        }
    }
    println!("{done} walks of {steps} tokens, each complete within its budget; {refused} refused");
    assert!(refused * 50 <= done);
    assert!(done >= walks / 2);
}

/// Constraints whose shortest text is far longer than any budget: counts multiply, alternatives and
/// nesting hide them. Nothing may be spelled out or searched for; a hang or an abort fails the test.
#[test]
fn what_no_budget_holds_is_refused_by_arithmetic() {
    let counts = [100_000u64, 1_000_000, 100_000_000, 2_147_483_648, 4_294_967_294];
    let compiler = Compiler::new(small_vocabulary());
    let mut random = 0x1234_5678_9abc_def0;
    let mut refused = 0;
    for round in 0..100 {
        let count = counts[next(&mut random) as usize % counts.len()];
        let schema = far_schema(&mut random, count, 0);
        let mut options = Options::default();
        if round % 2 == 1 {
            options.property_order = PropertyOrder::Any;
        }
        let compiler = compiler.clone().with_json_options(options);
        let constraint = compiler.json_schema(&schema).unwrap_or_else(|e| panic!("{schema}: {e}"));
        let mut matcher = constraint.matcher();
        let budget = [1, 50, 2_000][next(&mut random) as usize % 3];
        let error = matcher.check_budget(budget).expect_err(&schema.to_string());
        assert_eq!(error.kind(), ErrorKind::Request, "{schema}: {error}");
        assert!(error.to_string().contains("at least"), "{schema}: {error}");
        assert!(matcher.mask_within(budget).is_err(), "{schema}");
        refused += 1;
    }
    for regex in ["a{100000000}", "(ab?){1000,}{100000}", "((x|yy){3000}z){5000}|b{4000000000}"] {
        let constraint = compiler.regex(regex).unwrap();
        let error = constraint.matcher().check_budget(2_000).expect_err(regex);
        assert!(error.to_string().contains("at least"), "{regex}: {error}");
        assert!(constraint.matcher().tokens_to_finish().is_err(), "{regex}");
        refused += 1;
    }
    assert_eq!(refused, 103);
}

/// A schema of which every value is long.
fn far_schema(random: &mut u64, count: u64, depth: u32) -> Value {
    match next(random) % if depth < 3 { 10 } else { 4 } {
        0 => json!({ "type": "string", "minLength": count }),
        1 => json!({ "type": "array", "minItems": count }),
        2 => json!({ "type": "object", "minProperties": count }),
        3 => json!({ "type": "string", "pattern": format!("^[a-z]{{{count},}}$") }),
        4 => json!({ "type": "array", "uniqueItems": true, "minItems": count }),
        5 => {
            let inner = far_schema(random, count, depth + 1);
            json!({ "properties": { "a": inner }, "required": ["a", "b"], "type": "object" })
        }
        6 => json!({ "anyOf": [
            far_schema(random, count, depth + 1),
            far_schema(random, count, depth + 1),
        ]}),
        7 => {
            let inner = far_schema(random, count, depth + 1);
            json!({ "type": "array", "minItems": 1 + next(random) % 5_000, "items": inner })
        }
        8 => json!({ "type": "string", "pattern": "^(ab|c)*$", "minLength": count }),
        _ => {
            let required: Vec<String> = (0..8_000).map(|i| format!("name{i}")).collect();
            json!({ "type": "object", "required": required })
        }
    }
}

/// Objects and arrays of so many members that no two may be alike: the planned text writes each of
/// them, with room for nothing else.
#[test]
fn members_that_must_differ_are_planned() {
    let compiler = Compiler::new(small_vocabulary());
    let mut random = 77;
    for schema in [
        json!({ "type": "object", "minProperties": 60 }),
        json!({ "type": "object", "minProperties": 30, "additionalProperties": { "minLength": 3, "type": "string" } }),
        json!({ "type": "object", "minProperties": 12, "propertyNames": { "pattern": "^[ab]+$" } }),
        json!({ "type": "array", "minItems": 40, "uniqueItems": true, "items": { "type": "integer" } }),
        json!({ "type": "array", "minItems": 30, "uniqueItems": true, "items": { "type": "string" } }),
    ] {
        let constraint = compiler.json_schema(&schema).unwrap();
        let mut matcher = constraint.matcher();
        let least = matcher.tokens_to_finish().unwrap_or_else(|e| panic!("{schema}: {e}")).tokens;
        assert!(matcher.check_budget(least).is_ok(), "{schema}");
        let error = matcher.check_budget(least / 4).expect_err(&schema.to_string());
        assert_eq!(error.kind(), ErrorKind::Request, "{schema}: {error}");
        for _ in 0..2 {
            walk(&constraint, &mut random, false, &schema.to_string()).unwrap();
        }
    }
}

/// Where not all bytes are tokens, the shortest way is searched for, and the one that a rule has by itself may be too
/// long.
#[test]
fn masks_keep_to_the_budget_in_vocabularies_without_all_bytes() {
    let tokens = ["c", "x", "bc"].map(|token| Some(token.as_bytes().to_vec()));
    let tokens = tokens.into_iter().chain([None]).collect();
    let vocabulary = Vocabulary::from_tokens(tokens, &[(3, "<end>")], &[3]).unwrap();
    let grammar = "start: r | \"bc\" | \"b\"\nr: \"c\" r \"x\" | \"ccccxxxx\"";
    let mut matcher = Compiler::new(vocabulary).lark(grammar).unwrap().matcher();
    let needed = matcher.tokens_to_finish().unwrap().tokens;
    assert_eq!(needed, 1);
    let mut row = [0];
    matcher.fill_mask_within(&mut row, needed).unwrap();
    for token in (0..3).filter(|token| row[0] >> token & 1 == 1) {
        let mut next = matcher.clone();
        next.accept(token).unwrap();
        assert!(next.tokens_to_finish().unwrap().tokens < needed, "{token}");
    }
    assert_ne!(row[0], 0);
}
