//! Arrays of which all items must differ: against a plain comparison of JSON values, and masks
//! against the definition.
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use crate::common::accepts_by_masks;
use maskwright::json_schema::{Options, Spelling};
use maskwright::{Compiler, Constraint, Vocabulary};
use serde_json::{Value, json};

/// All bytes, and tokens that end items, begin others, or both.
fn compiler() -> Compiler {
    let longer = [
        "\",", "\", ", "\",\"", "\", \"", "a\"", "b\",", "ab", "\"a\"", "\"]", "1,", "2]", "12",
        "1, ", ",1", ", 1", "0,1", "1.", ".0", "true", ",true", "],[", "},{", "}]", "null,",
    ];
    let longer = longer.map(|token| Some(token.as_bytes().to_vec()));
    let tokens = (0..=255).map(|byte| Some(vec![byte])).chain(longer).collect();
    Compiler::new(Vocabulary::from_tokens(tokens, &[], &[]).unwrap())
}

fn constraint(schema: &Value) -> Constraint {
    compiler().json_schema(schema).unwrap()
}

fn accepts(constraint: &Constraint, text: &str) -> bool {
    let mut matcher = constraint.matcher();
    matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
}

/// Numbers that are the same on every machine (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// A kind of items: its schema, and a way to draw a text of one.
type Kind = (Value, fn(&mut Random) -> String);

fn kinds() -> Vec<Kind> {
    let number = |random: &mut Random| {
        let whole = random.below(40);
        match random.below(3) {
            0 => format!("{whole}"),
            1 => format!("{whole}.{}", ["0", "5", "50", "25"][random.below(4)]),
            _ => format!("-{whole}.5"),
        }
    };
    vec![
        (json!({"type": "integer"}), |random| (random.below(300) as i64 - 20).to_string()),
        (json!({"type": "integer", "minimum": 0, "maximum": 60}), |r| r.below(61).to_string()),
        (json!({"type": "number"}), number),
        (json!({"type": "string"}), |random| {
            let length = random.below(3);
            let text: String = (0..length).map(|_| ["a", "b", "\u{fc}"][random.below(3)]).collect();
            format!("\"{text}\"")
        }),
        (json!({"type": "string", "maxLength": 3}), |random| {
            let length = random.below(4);
            format!("\"{}\"", (0..length).map(|_| ["a", "b"][random.below(2)]).collect::<String>())
        }),
        (json!({"enum": (0..90).map(|n| format!("v{n}")).collect::<Vec<_>>()}), |random| {
            format!("\"v{}\"", random.below(90))
        }),
        (json!({"type": "array", "items": {"type": "integer"}}), |random| {
            let items: Vec<String> =
                (0..random.below(3)).map(|_| random.below(9).to_string()).collect();
            format!("[{}]", items.join(","))
        }),
        (
            json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"],
                "additionalProperties": false}),
            |random| format!("{{\"id\":{}}}", random.below(120)),
        ),
        (json!({"type": ["boolean", "null", "string", "integer"]}), |random| {
            let text = format!("\"{}\"", random.below(30));
            let number = random.below(30).to_string();
            ["true", "false", "null", &text, &number, &number][random.below(6)].to_owned()
        }),
        (json!({}), |random| {
            let one = random.below(6);
            [
                format!("[{one}]"),
                format!("{{\"a\":{one}}}"),
                format!("{one}"),
                format!("\"{one}\""),
                format!("{one}.0"),
                format!("{{\"a\":{one},\"b\":[]}}"),
            ][random.below(6)]
            .clone()
        }),
    ]
}

/// Whether two values are equal, as JSON Schema has it: numbers by their value.
fn are_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| are_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| are_equal(a, b)))
        }
        _ => a == b,
    }
}

fn all_differ(items: &[String]) -> bool {
    let values: Vec<Value> = items.iter().map(|item| serde_json::from_str(item).unwrap()).collect();
    (0..values.len()).all(|i| (0..i).all(|j| !are_equal(&values[i], &values[j])))
}

#[test]
fn random_arrays_are_judged_as_by_comparison() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let kinds = kinds();
    let (mut unique, mut repeated) = (0, 0);
    for variation in 0..30 {
        let (items, draw) = &kinds[variation % kinds.len()];
        let mut schema = json!({"type": "array", "items": items, "uniqueItems": true});
        let mut first = Vec::new();
        match variation / kinds.len() {
            0 => {}
            1 => {
                // Places with sets of their own, which share values with the rest.
                schema["prefixItems"] = json!([items, {"type": ["boolean", "integer"]}]);
                first = vec![draw(&mut random), ["true", "7"][random.below(2)].to_owned()];
            }
            _ => {
                schema["contains"] = items.clone();
                schema["minContains"] = json!(2);
            }
        }
        // Many short arrays within one object, and long ones.
        let long = variation % 2 == 0;
        let whole =
            if long { schema } else { json!({"type": "object", "additionalProperties": schema}) };
        let constraint = constraint(&whole);
        for _ in 0..8 {
            let array = |random: &mut Random| {
                let mut items = first.clone();
                let length = 2 + random.below(if long { 40 } else { 6 });
                while items.len() < length {
                    let item = draw(random);
                    let with = [&items[..], std::slice::from_ref(&item)].concat();
                    // Some are repeated, and then mostly the last.
                    if all_differ(&with) || random.below(60) == 0 {
                        items = with;
                    } else if items.len() >= 2 && random.below(40) == 0 {
                        break;
                    }
                }
                (all_differ(&items), format!("[{}]", items.join(",")))
            };
            let (expected, text) = if long {
                array(&mut random)
            } else {
                let arrays: Vec<(bool, String)> = (0..5).map(|_| array(&mut random)).collect();
                let members = arrays.iter().enumerate();
                let members: Vec<String> =
                    members.map(|(i, (_, text))| format!("\"k{i}\":{text}")).collect();
                let all = arrays.iter().all(|(differ, _)| *differ);
                (all, format!("{{{}}}", members.join(",")))
            };
            assert_eq!(accepts(&constraint, &text), expected, "{whole}: {text}");
            // Each mask on the way is what the definition says.
            if text.len() < 60 {
                assert_eq!(accepts_by_masks(&constraint, &text), expected, "{whole}: {text}");
            }
            unique += usize::from(expected);
            repeated += usize::from(!expected);
        }
    }
    assert!(unique > 60 && repeated > 20, "{unique} {repeated}");
}

#[test]
fn masks_beside_items_that_were_written() {
    let array = |items: Value| json!({"type": "array", "items": items, "uniqueItems": true});
    for (items, text) in [
        (json!({"type": "string"}), r#"["a","ab","abb", "b","","a"]"#),
        (json!({"type": "string", "maxLength": 2}), r#"["a","ab","bb","a"]"#),
        (json!({"type": "integer"}), "[1,12,121, 2,0,-1,12]"),
        (json!({"type": "integer", "minimum": 0, "maximum": 12}), "[1,12,2, 0,10,11,1]"),
        (json!({"type": "number"}), "[1,1.5,12,2.0,1.50]"),
        (
            json!({"type": ["string", "integer", "boolean", "null"]}),
            r#"["1",1,true,null,"a",true]"#,
        ),
        (json!({"enum": ["a", "ab", 1, 12, true]}), r#"["a",1,12,true,1]"#),
        (json!({"type": "array", "items": {"type": "integer"}}), "[[],[1],[1,2],[1]]"),
        (json!({"type": "object"}), r#"[{},{"a":1},{"a":1.0}]"#),
    ] {
        assert!(!accepts_by_masks(&constraint(&array(items)), text), "{text}");
    }
}

/// Equal numbers and strings are equal however they are spelled.
#[test]
fn spellings_of_one_value_are_one_item() {
    let mut options = Options::default();
    options.spelling = Spelling::Any;
    let compiler = compiler().with_json_options(options);
    let array = |items: Value| {
        compiler
            .json_schema(&json!({"type": "array", "items": items, "uniqueItems": true}))
            .unwrap()
    };
    let numbers = array(json!({"type": "number"}));
    for (text, expected) in [
        ("[1,2,1.5,15e1]", true),
        ("[1,2,1.0]", false),
        ("[1,2,1e0]", false),
        ("[100,1e2]", false),
        ("[0,-0.0]", false),
        ("[10e-1,3,1]", false),
    ] {
        assert_eq!(accepts(&numbers, text), expected, "{text}");
        assert_eq!(accepts_by_masks(&numbers, text), expected, "{text}");
    }
    let strings = array(json!({"type": "string"}));
    for (text, expected) in [
        (r#"["a","b"]"#, true),
        (r#"["a","\u0061"]"#, false),
        (r#"["\u00fc","ü"]"#, false),
        (r#"["\/","b","/"]"#, false),
    ] {
        assert_eq!(accepts(&strings, text), expected, "{text}");
        assert_eq!(accepts_by_masks(&strings, text), expected, "{text}");
    }
}

/// The cost of an item does not grow with the number of items before it: more would reach a limit.
#[test]
fn many_items_are_within_the_limits() {
    let array = |items: Value| json!({"type": "array", "items": items, "uniqueItems": true});
    let joined = |items: &mut dyn Iterator<Item = String>| {
        format!("[{}]", items.collect::<Vec<_>>().join(","))
    };
    let integers = constraint(&array(json!({"type": "integer"})));
    assert!(accepts(&integers, &joined(&mut (0..5_000).map(|i| i.to_string()))));
    assert!(!accepts(&integers, &joined(&mut (0..5_000).chain([17]).map(|i| i.to_string()))));
    let strings = constraint(&array(json!({"type": "string"})));
    let text = |i: usize| format!("\"https://example.com/pages/{i}\"");
    assert!(accepts(&strings, &joined(&mut (0..5_000).map(text))));
    assert!(!accepts(&strings, &joined(&mut (0..5_000).chain([4_000]).map(text))));
    let long = |i: usize| format!("\"{}{i}\"", "x".repeat(1_000));
    assert!(accepts(&strings, &joined(&mut (0..1_000).map(long))));
    assert!(!accepts(&strings, &joined(&mut (0..1_000).chain([999]).map(long))));
    let objects = constraint(&array(json!({"type": "object"})));
    let object = |i: usize| format!("{{\"id\":{i}}}");
    assert!(accepts(&objects, &joined(&mut (0..1_000).map(object))));
    assert!(!accepts(&objects, &joined(&mut (0..1_000).chain([5]).map(object))));
    let values: Vec<String> = (0..600).map(|i| format!("v{i}")).collect();
    let listed = constraint(&array(json!({"enum": values})));
    let value = |i: usize| format!("\"v{i}\"");
    assert!(accepts(&listed, &joined(&mut (0..600).map(value))));
    assert!(!accepts(&listed, &joined(&mut (0..599).chain([7]).map(value))));
}

/// The end of an array that needs many items is told from the items that were written.
#[test]
fn many_items_are_kept_within_a_budget() {
    for (items, count) in [
        (json!({"type": "integer"}), 150),
        (json!({"type": "string"}), 150),
        (json!({"enum": (0..200).map(|i| format!("v{i}")).collect::<Vec<_>>()}), 100),
    ] {
        let schema =
            json!({"type": "array", "items": items, "uniqueItems": true, "minItems": count});
        let constraint = constraint(&schema);
        let mut matcher = constraint.matcher();
        let mut left = matcher.tokens_to_finish().unwrap().tokens + 5;
        let mut random = Random(7);
        let mut text = Vec::new();
        while !matcher.is_accepting() {
            let mask = matcher.mask_within(left).unwrap();
            let tokens = 0..constraint.vocabulary().len() as u32;
            let allowed: Vec<u32> = tokens.filter(|&token| mask.contains(token)).collect();
            let token = allowed[random.below(allowed.len())];
            text.extend_from_slice(constraint.vocabulary().token_bytes(token).unwrap());
            matcher.accept(token).unwrap();
            left -= 1;
        }
        let value: Vec<Value> = serde_json::from_slice(&text).unwrap();
        let items: Vec<String> = value.iter().map(Value::to_string).collect();
        assert!(items.len() >= count && all_differ(&items), "{}", String::from_utf8_lossy(&text));
    }
}
