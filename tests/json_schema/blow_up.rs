//! Schemas that are built to blow up, of every kind that keywords can be combined to: each is
//! handled, or refused by the name of a limit before long; none hangs or takes the stack.
//!
//! `MASKWRIGHT_BLOW_UP=1` adds those that work for a second or two before they are refused.
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use maskwright::{Compiler, ErrorKind, Vocabulary};
use serde_json::{Map, Value, json};

fn each(n: usize, f: impl Fn(usize) -> Value) -> Vec<Value> {
    (0..n).map(f).collect()
}

fn map(n: usize, f: impl Fn(usize) -> (String, Value)) -> Map<String, Value> {
    (0..n).map(f).collect()
}

/// `inner` in `depth` nestings.
fn nested(depth: usize, inner: Value, f: impl Fn(usize, Value) -> Value) -> Value {
    (0..depth).fold(inner, |schema, i| f(i, schema))
}

/// The first of some definitions that refer to each other, `last` being the one after them.
fn definitions(n: usize, last: Value, f: impl Fn(usize) -> Value) -> Value {
    let mut all = map(n, |i| (format!("d{i}"), f(i)));
    all.insert(format!("d{n}"), last.clone());
    all.insert(format!("d{}", n + 1), last);
    json!({"$ref": "#/$defs/d0", "$defs": all})
}

fn to(i: usize) -> Value {
    json!({"$ref": format!("#/$defs/d{i}")})
}

const PRIMES: [usize; 20] =
    [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71];

fn combinators() -> Vec<Value> {
    let k = |i: usize| json!({"required": [format!("k{i}")]});
    let mut all = Vec::new();
    for op in ["oneOf", "anyOf", "allOf"] {
        all.push(nested(30, json!({"required": ["a"]}), |i, x| json!({op: [k(i), x]})));
        all.push(nested(
            20,
            json!({"properties": {"a": {"type": "string"}}}),
            |i, x| json!({op: [{"properties": {format!("k{i}"): {"type": "integer"}}}, x]}),
        ));
        all.push(nested(8, json!({"type": "integer"}), |i, x| {
            let [p, q] = ["p", "q"].map(|name| format!("{name}{i}"));
            json!({op: [{"properties": {p: x.clone()}}, {"properties": {q: x}}]})
        }));
    }
    all.push(nested(200, json!({"type": "string"}), |_, x| json!({"not": x})));
    all.push(nested(
        100,
        json!({"required": ["a"]}),
        |i, x| json!({"not": x, "minProperties": i % 3}),
    ));
    for (n, op) in [(17, "anyOf"), (10, "oneOf")] {
        let pair =
            |i| json!({op: [{"required": [format!("a{i}")]}, {"required": [format!("b{i}")]}]});
        all.push(json!({"type": "object", "allOf": each(n, pair)}));
    }
    all.push(json!({"type": "object", "allOf": each(12, |i| json!({"anyOf": [
        {"properties": {format!("a{i}"): {"type": "string"}}, "required": [format!("a{i}")]},
        {"properties": {format!("a{i}"): {"type": "integer"}}}]}))}));
    all.push(json!({"oneOf": each(40, |i| json!({"properties": {format!("k{i}"): {"type": "string"}}}))}));
    all.push(json!({"oneOf": each(20, |i| json!({"minimum": i, "maximum": i + 10}))}));
    all.push(json!({"oneOf": each(12, |i| json!({"multipleOf": i + 2}))}));
    all.push(json!({"oneOf": each(500, |i| json!({"const": {"a": i, "b": [i]}}))}));
    all.push(json!({"not": {"anyOf": each(40, |i| json!({"const": {"a": i}}))}}));
    // Boolean formulas: three of the variables in each clause.
    all.push(json!({"type": "object",
        "properties": map(10, |i| (format!("x{i}"), json!({"type": "boolean"}))),
        "required": each(10, |i| json!(format!("x{i}"))),
        "allOf": each(30, |c| json!({"anyOf": each(3, |k| json!({"properties": {
            format!("x{}", (7 * c + 3 * k + c * c * k) % 10): {"const": c >> k & 1 == 1}}}))}))}));
    all.push(json!({"type": "object", "maxProperties": 5, "additionalProperties": false,
        "properties": map(12, |i| (format!("v{i}"), json!(true))),
        "allOf": each(12, |i| json!({"anyOf": [{"required": [format!("v{i}")]},
            {"required": [format!("v{}", (i * 5 + 3) % 12)]}]}))}));
    all
}

fn bounds() -> Vec<Value> {
    let large = 4_000_000_000u32;
    let primes = || PRIMES.iter().map(|p| json!({"multipleOf": p})).collect::<Vec<_>>();
    vec![
        json!({"type": "string", "minLength": large}),
        json!({"type": "string", "minLength": 100_000, "pattern": "ab"}),
        json!({"type": "array", "minItems": 1_000_000}),
        json!({"type": "array", "minItems": 1000, "items":
            {"type": "array", "minItems": 1000, "items": {"type": "array", "minItems": 1000}}}),
        json!({"type": "object", "minProperties": 100_000, "propertyNames": {"pattern": "^[a-z]{2}$"}}),
        json!({"type": "object", "minProperties": 600, "propertyNames": {"pattern": "^[a-z]{2}$"}}),
        json!({"type": "array", "contains": {"type": "integer"}, "minContains": 1000}),
        json!({"type": "array", "contains": {"type": "integer"}, "minContains": 1_000_000,
            "maxItems": 1_000_003}),
        json!({"type": "integer", "allOf": primes()}),
        json!({"type": "integer", "not": {"anyOf": primes()}, "minimum": 2, "maximum": 70}),
        json!({"type": "number", "multipleOf": 0.123456789, "minimum": 5e14, "not": {"multipleOf": 7}}),
        json!({"type": "number", "minimum": -1e300, "maximum": 1e300, "multipleOf": 1e-300}),
    ]
}

/// Numbers that only a text can hold.
fn long_numbers() -> Vec<String> {
    vec![
        format!(r#"{{"type": "integer", "multipleOf": {}}}"#, "1234567890".repeat(30)),
        format!(r#"{{"type": "integer", "minimum": 1{}}}"#, "0".repeat(3000)),
        format!(r#"{{"type": "string", "maxLength": 1{}}}"#, "0".repeat(100)),
    ]
}

fn patterns() -> Vec<Value> {
    let words = |n: usize| each(n, |i| json!({"pattern": format!("w{i:02}x")}));
    let deep = format!("^{}a{}$", "(?:".repeat(100), ")*".repeat(100));
    let mut all: Vec<Value> = [
        "^(a+)+$",
        "^(a|a)*b$",
        "(x+x+)+y",
        "a.{40}b",
        "^(?=.*a.{5})(?=.*b.{6})(?=.*c.{7}).*$",
        "^(?!.*(ab|ba).{40}c).*$",
        "^([a-z]+[0-9]*){50}$",
        "(.*a){20}",
        "^(((a{0,100}){0,100}){0,100}){0,100}$",
        "^(a?){1000}a{1000}$",
        "^(.{0,50}x){30}$",
        "^(?=(?:.*\\d){4})(?=(?:.*[a-z]){4})(?=(?:.*[A-Z]){4}).{20,32}$",
        "(a{1,1000}b{1,1000}){1,1000}",
        "^\\p{L}{50,100}\\p{N}{0,1000}$",
        "^(?:a{1000000}|b)$",
        &deep,
    ]
    .iter()
    .map(|pattern| json!({"type": "string", "pattern": pattern}))
    .collect();
    all.extend([
        json!({"type": "string", "allOf": each(6, |i| json!({"pattern": format!("a.{{{i}}}b")}))}),
        json!({"type": "string", "allOf": words(8), "maxLength": 200}),
        json!({"type": "string", "allOf": words(8), "maxLength": 20}),
        json!({"type": "string", "minLength": 1,
            "allOf": each(5, |i| json!({"pattern": format!("^(.{{{}}})*$", PRIMES[i])}))}),
        json!({"type": "object", "additionalProperties": false,
            "patternProperties": map(60, |i| (format!("k{i}"), json!({"minimum": i})))}),
        json!({"minProperties": 3,
            "propertyNames": {"allOf": each(6, |i| json!({"pattern": format!("w{i}")}))}}),
    ]);
    all
}

fn many_and_deep() -> Vec<Value> {
    let wide = |key: &'static str, value: Value| json!({"properties": map(3000, |i| (format!("key{i}"), value.clone())), "required": [key]});
    let all = vec![
        json!({"type": "object", "required": each(20_000, |i| json!(format!("key{i}")))}),
        json!({"type": "object", "not": {"properties": wide("a", json!({"type": "integer"}))["properties"]}}),
        json!({"allOf": [wide("a", json!({"minimum": 3})), wide("b", json!({"maximum": 9}))]}),
        json!({"anyOf": [wide("a", json!({"type": "string"})), wide("b", json!({"type": "null"}))]}),
        json!({"oneOf": [wide("a", json!({"type": "string"})), wide("b", json!({"type": "null"}))]}),
        json!({"properties": map(3000, |i| (format!("key{i}"), json!(true))),
            "anyOf": [{"properties": {"x": true}}, {"properties": {"y": true}}],
            "unevaluatedProperties": false}),
        definitions(100, json!({"type": "null"}), |i| json!({"allOf": [to(i + 1), to(i + 1)]})),
        definitions(
            100,
            json!({"type": "null"}),
            |i| json!({"properties": {"a": to(i + 1), "b": to(i + 1)}, "required": ["a", "b"]}),
        ),
        definitions(60, json!({"type": "null"}), |i| json!({"oneOf": [to(i + 1), to(i + 2)]})),
        definitions(
            15,
            json!({"type": "null"}),
            |_| json!({"anyOf": each(15, |j| json!({"properties": {"n": to(j)}}))}),
        ),
        definitions(
            4,
            json!({"type": "null"}),
            |_| json!({"oneOf": each(4, |j| json!({"properties": {"n": to(j)}}))}),
        ),
        nested(
            100,
            json!({"type": "null"}),
            |_, x| json!({"not": {"properties": {"a": x}, "required": ["a"]}}),
        ),
        nested(
            200,
            json!({"type": "null"}),
            |_, x| json!({"type": "array", "minItems": 1, "items": x}),
        ),
        json!({"const": nested(200, json!(1), |_, x| json!([x]))}),
        json!({"enum": each(20_000, |i| json!(format!("value number {i}")))}),
        json!({"enum": each(1000, |i| json!({"id": i, "tags": [i, i + 1]})),
            "properties": {"id": {"multipleOf": 3}}}),
        json!({"allOf": [{"enum": each(3000, |i| json!(i))}, {"enum": each(3000, |i| json!(i + 1500))}]}),
        json!({"type": "string", "not": {"enum": each(3000, |i| json!(format!("v{i}")))}}),
        json!({"const": "x".repeat(100_000)}),
        json!({"const": map(10_000, |i| (format!("k{i}"), json!(i)))}),
        json!({"const": each(3000, |i| json!(i))}),
        json!({"not": {"const": map(500, |i| (format!("k{i}"), json!(i)))}}),
    ];
    all
}

fn arrays() -> Vec<Value> {
    let contains = |n: usize| each(n, |i| json!({"contains": {"const": i}}));
    vec![
        json!({"type": "array", "uniqueItems": true, "minItems": 99, "items": {"enum": each(100, |i| json!(i))}}),
        json!({"type": "array", "uniqueItems": true, "minItems": 11, "items": {"enum": each(10, |i| json!(i))}}),
        json!({"type": "array", "uniqueItems": true, "minItems": 20, "items": false,
            "prefixItems": each(20, |i| json!({"enum": each(10, |j| json!(i + j))}))}),
        json!({"type": "array", "uniqueItems": true, "minItems": 12,
            "prefixItems": each(12, |_| json!({"enum": each(11, |j| json!(j))}))}),
        json!({"type": "array", "not": {"uniqueItems": true}, "items": {"enum": each(40, |i| json!(i))}}),
        json!({"type": "array", "allOf": contains(20)}),
        json!({"type": "array", "allOf": contains(7)}),
        json!({"type": "array", "allOf": each(4, |i| {
            json!({"contains": {"multipleOf": i + 2}, "minContains": 3, "maxContains": 5})
        })}),
        json!({"type": "array", "allOf": each(17, |i| {
            json!({"anyOf": [{"contains": {"const": i}}, {"items": {"minimum": i}}]})
        })}),
        json!({"type": "array", "uniqueItems": true, "minItems": 5, "items": {"type": "array",
            "uniqueItems": true, "minItems": 2, "items": {"enum": [1, 2, 3]}}}),
        json!({"anyOf": each(20, |i| json!({"type": "array",
            "prefixItems": each(20, |j| json!({"const": if i == j { 99 } else { j }}))}))}),
        json!({"type": "array", "anyOf": each(5, |i| json!({"contains": {"multipleOf": i + 2}})),
            "unevaluatedItems": {"type": "string"}}),
    ]
}

fn conditions() -> Vec<Value> {
    let with = |i: usize| json!({"properties": {"type": {"const": i}}, "required": ["type"]});
    let k = |i: usize| json!({"required": [format!("k{i}")]});
    let one = |name: &str, i: usize| json!({"properties": {format!("{name}{i}"): true}});
    vec![
        nested(40, json!(true), |i, x| json!({"if": with(i), "then": k(i), "else": x})),
        json!({"allOf": each(60, |i| json!({"if": with(i), "then": k(i)}))}),
        json!({"allOf": each(12, |i| json!({
            "if": {"properties": {format!("t{i}"): {"const": i}}, "required": [format!("t{i}")]},
            "then": {"required": [format!("t{}", i + 1)]}, "else": {"required": [format!("u{i}")]}}))}),
        nested(
            20,
            json!({"type": "object"}),
            |i, x| json!({"if": {"minProperties": i}, "then": k(i), "else": x}),
        ),
        json!({"dependentRequired": map(40, |i| {
            let keys = (0..40).filter(|j| i * j % 7 == 1).map(|j| json!(format!("k{j}")));
            (format!("k{i}"), keys.collect())
        })}),
        json!({"dependentSchemas": map(10, |i| (format!("k{i}"), json!({"anyOf": [
            k((i * 3 + 1) % 10), k((i * 7 + 2) % 10)], "maxProperties": 8})))}),
        json!({"anyOf": each(12, |i| json!({"properties": {format!("a{i}"): true},
            "required": [format!("a{i}")]})), "unevaluatedProperties": false}),
        nested(
            10,
            one("z", 0),
            |i, x| json!({"anyOf": [one("a", i), x], "unevaluatedProperties": {"type": "string"}}),
        ),
        json!({"unevaluatedProperties": false, "allOf": each(8, |i| json!({"anyOf": [
            {"properties": {format!("a{i}"): {"type": "string"}}},
            {"properties": {format!("b{i}"): {"type": "integer"}}, "required": [format!("b{i}")]}]}))}),
    ]
}

/// Schemas that take a second or two.
fn heavy() -> Vec<Value> {
    let k = |i: usize| json!({"required": [format!("k{i}")]});
    vec![
        nested(100, json!({"required": ["a"]}), |i, x| json!({"oneOf": [k(i), x]})),
        json!({"type": "object", "allOf": each(60, |i| json!({"anyOf": [
            {"required": [format!("a{i}")]}, {"required": [format!("b{i}")]}]}))}),
        json!({"oneOf": each(300, |i| json!({"minimum": i, "maximum": i + 150}))}),
        json!({"type": "object", "oneOf": each(1000, k)}),
        json!({"const": each(100_000, |i| json!(i))}),
        json!({"type": "string", "allOf": each(20, |i| json!({"pattern": format!("w{i:02}x")})), "maxLength": 79}),
        json!({"type": "string", "allOf": each(30, |i| json!({"not": {"pattern": format!("a.{{{i}}}b")}}))}),
        definitions(
            12,
            json!({"type": "null"}),
            |_| json!({"oneOf": each(12, |j| json!({"properties": {"n": to(j)}}))}),
        ),
        json!({"enum": each(100_000, |i| json!(37 * i))}),
        json!({"type": "object", "properties": map(100_000, |i| (format!("key{i}"), json!({"type": "integer"}))),
            "additionalProperties": false}),
    ]
}

#[test]
fn each_is_handled_or_refused_by_name() {
    let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
    let vocabulary = Vocabulary::from_tokens(tokens, &[(256, "<end>")], &[256]).unwrap();
    let compiler = Compiler::new(vocabulary);
    let mut all =
        [combinators(), bounds(), patterns(), many_and_deep(), arrays(), conditions()].concat();
    assert!(all.len() >= 60, "{}", all.len());
    if std::env::var_os("MASKWRIGHT_BLOW_UP").is_some() {
        all.extend(heavy());
    }
    let (mut handled, mut refused) = (0, 0);
    let texts = all.iter().map(Value::to_string).chain(long_numbers());
    for schema in texts {
        let first = compiler
            .json_schema_str(&schema)
            .and_then(|constraint| constraint.matcher().mask().map(drop));
        match first {
            Ok(()) => handled += 1,
            // By its name, which help or message tell.
            Err(error) => {
                let shown: String = schema.chars().take(300).collect();
                let named = [ErrorKind::Limit, ErrorKind::Unsatisfiable].contains(&error.kind())
                    || error.message().contains("nested more than");
                assert!(named, "{shown}: {error}");
                assert!(error.to_string().len() > 20, "{shown}: {error}");
                refused += 1;
            }
        }
    }
    println!("{handled} handled, {refused} refused");
    assert!(handled > 2 * refused, "{handled} handled, {refused} refused");
}

/// Counts that no array can have are refused before the first token, wherever the array stands.
#[test]
fn counted_items_are_refused_at_once() {
    let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
    let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[]).unwrap());
    let counted = json!({"type": "array", "allOf": each(9, |i| json!({"contains": {"const": i}}))});
    let schema = json!({"properties": {"a": {"properties": {"b": {"items": counted}}}}});
    let error = compiler.json_schema(&schema).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    let pointer = error.place().pointer.as_deref().unwrap_or_default();
    assert!(pointer.starts_with("/properties/a/properties/b/items"), "{error}");
}

/// Lengths under `not`, `oneOf` and `allOf` stay counts, however large they are.
#[test]
fn lengths_are_combined_as_numbers() {
    type Lengths = (u32, Option<u32>);
    let ranges: [Lengths; 6] =
        [(0, None), (0, Some(2)), (1, Some(3)), (2, None), (4, Some(4)), (3, Some(1))];
    let schema = |(min, max): Lengths| match max {
        Some(max) => json!({"type": "string", "minLength": min, "maxLength": max}),
        None => json!({"type": "string", "minLength": min}),
    };
    let compiler = crate::common::byte_compiler();
    let texts = ["", "a", "ab", "éa", "abb", "abbé", "abbéa"];
    for (a, b) in ranges.iter().flat_map(|&a| ranges.map(|b| (a, b))) {
        let (one, other) = (schema(a), schema(b));
        // By whether the first holds, and whether the second does.
        for (combined, expected) in [
            (json!({"oneOf": [one, other]}), [[false, true], [true, false]]),
            (json!({"allOf": [one, {"not": other}]}), [[false, false], [true, false]]),
            (json!({"not": {"anyOf": [one, other]}}), [[true, false], [false, false]]),
            (json!({"allOf": [{"not": one}, {"not": other}]}), [[true, false], [false, false]]),
        ] {
            for pattern in ["", "^ab*é?"] {
                let string = json!({"type": ["string", "null"], "pattern": pattern});
                let all = json!({"allOf": [string, {"anyOf": [combined, {"type": "null"}]}]});
                let constraint = compiler.json_schema(&all).unwrap();
                for text in texts {
                    let n = text.chars().count() as u32;
                    let holds = |(min, max): Lengths| n >= min && max.is_none_or(|max| n <= max);
                    let (first, second) = (usize::from(holds(a)), usize::from(holds(b)));
                    let accepted =
                        expected[first][second] && (pattern.is_empty() || text.starts_with('a'));
                    let mut matcher = constraint.matcher();
                    let read = matcher.accept_bytes(format!("\"{text}\"").as_bytes()).is_ok();
                    assert_eq!(read && matcher.is_accepting(), accepted, "{all} {text}");
                }
            }
        }
    }
    let (long, short) = (20_001, 19_999);
    for (schema, accepted, rejected) in [
        (json!({"type": "string", "not": {"maxLength": 20_000}}), long, short),
        (
            json!({"oneOf": [{"type": "string", "minLength": 20_000}, {"maxLength": 1_000_000}]}),
            short,
            long,
        ),
    ] {
        let constraint = compiler.json_schema(&schema).unwrap();
        for (length, expected) in [(accepted, true), (rejected, false)] {
            let mut matcher = constraint.matcher();
            let text = format!("\"{}\"", "a".repeat(length));
            let read = matcher.accept_bytes(text.as_bytes()).is_ok();
            assert_eq!(read && matcher.is_accepting(), expected, "{schema}: {length}");
        }
    }
}
