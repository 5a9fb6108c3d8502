//! Schemas that are built to blow up: each is handled, or refused by the name of a limit.
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use maskwright::json_schema::{Options, PropertyOrder, Schema, Spelling, Strictness};
use maskwright::{Compiler, Constraint, ErrorKind, Limits, Vocabulary};
use serde_json::{Value, json};

fn compiler() -> Compiler {
    let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
    let vocabulary = Vocabulary::from_tokens(tokens, &[(256, "<end>")], &[256]).unwrap();
    let mut options = Options::default();
    options.property_order = PropertyOrder::Any;
    Compiler::new(vocabulary).with_json_options(options)
}

/// The schema accepts the text and the first mask of it exists; or a limit is named, at once or
/// when the text is read.
fn handles(schema: &Value, text: &str) -> Result<bool, String> {
    handles_by(&compiler(), schema, text)
}

fn handles_by(compiler: &Compiler, schema: &Value, text: &str) -> Result<bool, String> {
    let named = |e: maskwright::Error| {
        assert_eq!(e.kind(), ErrorKind::Limit, "{e}");
        e.to_string()
    };
    let constraint = compiler.json_schema(schema).map_err(named)?;
    let mut matcher = constraint.matcher();
    matcher.mask().map_err(named)?;
    match matcher.accept_bytes(text.as_bytes()) {
        Ok(()) => Ok(matcher.is_accepting()),
        Err(e) if e.kind() == ErrorKind::Rejected => Ok(false),
        Err(e) => Err(named(e)),
    }
}

/// `inner` in `depth` nestings.
fn nested(depth: usize, inner: Value, f: impl Fn(usize, Value) -> Value) -> Value {
    (0..depth).fold(inner, |schema, i| f(i, schema))
}

#[test]
fn alternatives_of_alternatives() {
    // Each level holds two ways that overlap.
    let schema = nested(
        6,
        json!({"required": ["a"]}),
        |i, inner| json!({"oneOf": [{"required": [format!("k{i}")]}, inner]}),
    );
    assert_eq!(handles(&schema, r#"{"a": 1}"#), Ok(true));
    assert_eq!(handles(&schema, r#"{"a": 1, "k3": 1}"#), Ok(false));
}

#[test]
fn one_of_two_many_times() {
    let all: Vec<Value> = (0..10)
        .map(|i| json!({"anyOf": [{"required": [format!("a{i}")]}, {"required": [format!("b{i}")]}]}))
        .collect();
    let text: Vec<String> = (0..10).map(|i| format!("\"a{i}\": 0")).collect();
    let schema = json!({"type": "object", "allOf": all});
    assert_eq!(handles(&schema, &format!("{{{}}}", text.join(", "))), Ok(true));
    assert_eq!(handles(&schema, &format!("{{{}}}", text[1..].join(", "))), Ok(false));
}

#[test]
fn alternatives_of_values_and_counts() {
    let pairs: Vec<Value> = (0..12)
        .map(|i| {
            let key = format!("p{}", i % 4);
            json!({"anyOf": [
                {"properties": {(key.clone()): {"multipleOf": i + 2}}},
                {"properties": {(key): {"pattern": format!("{i}")}}},
                {"minProperties": i}
            ]})
        })
        .collect();
    let schema = json!({"type": "object", "allOf": pairs});
    assert_eq!(handles(&schema, r#"{"p0": 120120}"#), Ok(true));
}

#[test]
fn exactly_one_of_many() {
    let branches: Vec<Value> = (0..60).map(|i| json!({"required": [format!("k{i}")]})).collect();
    let schema = json!({"type": "object", "oneOf": branches});
    assert_eq!(handles(&schema, r#"{"k3": 1, "x": 2}"#), Ok(true));
    assert_eq!(handles(&schema, r#"{"k3": 1, "k4": 2}"#), Ok(false));
    let numbers: Vec<Value> = (2..30).map(|i| json!({"multipleOf": i})).collect();
    let said = handles(&json!({"oneOf": numbers}), "29");
    assert!(
        said.as_ref().map_or_else(|e| e.contains("more than"), |&accepted| accepted),
        "{said:?}"
    );
}

#[test]
fn conditions_in_chains() {
    let chain = |depth| {
        nested(depth, json!(true), |i, inner| {
            json!({
                "if": {"properties": {"type": {"const": i}}, "required": ["type"]},
                "then": {"required": [format!("k{i}")]},
                "else": inner
            })
        })
    };
    assert_eq!(handles(&chain(30), r#"{"type": 7, "k7": 1}"#), Ok(true));
    assert_eq!(handles(&chain(30), r#"{"type": 7, "k8": 1}"#), Ok(false));
    let said = handles(&chain(60), r#"{"type": 7, "k7": 1}"#);
    assert!(
        said.as_ref().map_or_else(|e| e.contains("more than"), |&accepted| accepted),
        "{said:?}"
    );
    let all: Vec<Value> = (0..60)
        .map(|i| {
            json!({
                "if": {"properties": {"type": {"const": i}}, "required": ["type"]},
                "then": {"required": [format!("k{i}")]}
            })
        })
        .collect();
    let schema = json!({"allOf": all});
    assert_eq!(handles(&schema, r#"{"type": 7, "k7": 1}"#), Ok(true));
    assert_eq!(handles(&schema, r#"{"k8": 1, "type": 7}"#), Ok(false));
    let dependencies: serde_json::Map<String, Value> =
        (0..40).map(|i| (format!("k{i}"), json!([format!("k{}", i + 1)]))).collect();
    let schema = json!({"dependentRequired": dependencies});
    assert_eq!(handles(&schema, r#"{"k40": 1, "k39": 1}"#), Ok(true));
    assert_eq!(handles(&schema, r#"{"k38": 1, "k39": 1}"#), Ok(false));
}

#[test]
fn large_bounds() {
    let large = 4_000_000_000u32;
    for (schema, text) in [
        (json!({"type": "string", "minLength": large}), "\"\""),
        (json!({"type": "string", "maxLength": large}), "\"\""),
        (json!({"type": "array", "minItems": large}), "[]"),
        (json!({"type": "array", "maxItems": large, "uniqueItems": true}), "[]"),
        (json!({"type": "object", "minProperties": large}), "{}"),
        (json!({"type": "object", "maxProperties": large}), "{}"),
        (json!({"type": "array", "contains": {"const": 1}, "minContains": large}), "[]"),
        (json!({"contains": {"const": 1}, "maxContains": large}), "[1]"),
        (json!({"type": "number", "minimum": -1e300, "maximum": 1e300, "multipleOf": 1e-300}), "0"),
        (json!({"type": "string", "pattern": "^(a{1000}){1000}$"}), "\"\""),
        (json!({"type": "string", "pattern": "^a{1000000}$"}), "\"\""),
    ] {
        let said = handles(&schema, text);
        let least = ["minLength", "minItems", "minProperties", "minContains", "pattern"];
        let empty = least.iter().any(|keyword| schema.get(keyword).is_some());
        assert!(said.as_ref().map_or(true, |&accepted| accepted != empty), "{schema}: {said:?}");
    }
}

#[test]
fn patterns_with_many_states() {
    for pattern in [
        "^(a+)+$",
        "^(a|a)*b$",
        "(x+x+)+y",
        "a.{12}b",
        "^(?=.*a.{5})(?=.*b.{6})(?=.*c.{7}).*$",
        "^(?!.*(ab|ba).{40}c).*$",
        "^([a-z]+[0-9]*){50}$",
        "(.*a){20}",
    ] {
        let schema = json!({"type": "string", "pattern": pattern});
        if let Err(message) = handles(&schema, "\"aaab\"") {
            assert!(message.contains("states") || message.contains("limit"), "{message}");
        }
    }
    let patterns: serde_json::Map<String, Value> =
        (0..12).map(|i| (format!("a.{{{i}}}b"), json!({"minimum": i}))).collect();
    let schema = json!({"type": "object", "patternProperties": patterns});
    let said = handles(&schema, r#"{"axb": 11}"#);
    assert!(said.as_ref().map_or_else(|e| e.contains("limit"), |&accepted| accepted), "{said:?}");
}

#[test]
fn many_properties() {
    let properties: serde_json::Map<String, Value> =
        (0..100_000).map(|i| (format!("key{i}"), json!({"type": "integer"}))).collect();
    let schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    assert_eq!(handles(&schema, r#"{"key99999": 1, "key5": 2}"#), Ok(true));
    assert_eq!(handles(&schema, r#"{"key5": 1, "key5": 2}"#), Ok(false));
    let not = json!({"type": "object", "not": schema});
    let said = handles(&not, r#"{"key5": ""}"#);
    assert!(said.as_ref().map_or_else(|e| e.contains("limit"), |&accepted| accepted), "{said:?}");
}

#[test]
fn references_in_chains_and_cycles() {
    let mut definitions = serde_json::Map::new();
    for i in 0..2_000 {
        let next = format!("#/$defs/d{}", i + 1);
        definitions.insert(format!("d{i}"), json!({"properties": {"a": {"$ref": next}}}));
    }
    definitions.insert("d2000".into(), json!({"type": "null"}));
    let schema = json!({"$ref": "#/$defs/d0", "$defs": definitions});
    assert_eq!(handles(&schema, r#"{"a": {"a": {"a": 5}}}"#), Ok(true));
    let mut definitions = serde_json::Map::new();
    for i in 0..2_000 {
        definitions.insert(format!("d{i}"), json!({"$ref": format!("#/$defs/d{}", i + 1)}));
    }
    definitions.insert("d2000".into(), json!({"type": "null"}));
    let schema = json!({"$ref": "#/$defs/d0", "$defs": definitions});
    let message = handles(&schema, "null").unwrap_err();
    assert!(message.contains("by reference"), "{message}");
    // Every product of two of these is one more.
    let all: Vec<Value> = (2..9)
        .map(|n| {
            nested(
                n,
                json!({"$ref": format!("#/allOf/{}", n - 2)}),
                |_, inner| json!({"properties": {"a": inner}}),
            )
        })
        .collect();
    assert_eq!(handles(&json!({"allOf": all}), r#"{"a": {"a": {"a": {"a": 1}}}}"#), Ok(true));
}

#[test]
fn items_that_are_counted() {
    let all: Vec<Value> = (0..20).map(|i| json!({"contains": {"const": i}})).collect();
    let said = handles(&json!({"type": "array", "allOf": all}), "[0]");
    assert!(
        said.as_ref().map_or_else(|e| e.contains("more than"), |&accepted| !accepted),
        "{said:?}"
    );
    let all: Vec<Value> = (0..17)
        .map(|i| json!({"anyOf": [{"contains": {"const": i}}, {"items": {"minimum": i}}]}))
        .collect();
    let said = handles(&json!({"type": "array", "allOf": all}), "[0]");
    assert!(
        said.as_ref().map_or_else(|e| e.contains("more than"), |&accepted| !accepted),
        "{said:?}"
    );
}

/// A text that must match a dozen patterns, which together need most of its characters.
#[test]
fn many_patterns_on_one_text() {
    let words = ["ab1", "b12", "bc1", "c12", "ca1", "a12", "ac", "a2", "a1", "1.*2"];
    let mut all: Vec<Value> = words.iter().map(|word| json!({"pattern": word})).collect();
    all.extend([json!({"pattern": format!("^{}$", ".".repeat(40))}), json!({"pattern": "^\\w*$"})]);
    let schema = json!({"type": "string", "maxLength": 200,
        "not": {"not": {"allOf": all}}});
    let text = format!("\"ab12bc12ca12aca2{}\"", "x".repeat(24));
    assert_eq!(handles(&schema, &text), Ok(true));
    let text = format!("\"{}ab12bc12ca12aca2\"", "x".repeat(25));
    assert_eq!(handles(&schema, &text), Ok(false));
    let words: Vec<Value> = (0..8).map(|i| json!({"pattern": format!("w{i:02}x")})).collect();
    let unmet = json!({"anyOf": [{"type": "null"},
        {"type": "string", "allOf": words, "maxLength": 31}]});
    assert_eq!(handles(&unmet, "\"w"), Ok(false));
    assert_eq!(handles(&unmet, "null"), Ok(true));
}

/// The tag is required by what stands around the branches.
#[test]
fn a_tag_that_the_parent_requires() {
    let branch = |i: usize| {
        json!({"properties": {"type": {"enum": [format!("t{i}")]},
            "of": {"properties": {"x": {"multipleOf": i + 2}}, "additionalProperties": false}}})
    };
    let branches: Vec<Value> = (0..40).map(branch).collect();
    let schema = json!({"type": "object", "required": ["type", "of"],
        "allOf": [{"properties": {"id": {"type": "integer"}}}, {"oneOf": branches}]});
    assert_eq!(handles(&schema, r#"{"type": "t3", "id": 1, "of": {"x": 10}}"#), Ok(true));
    assert_eq!(handles(&schema, r#"{"type": "t3", "of": {"x": 11}}"#), Ok(false));
    assert_eq!(handles(&schema, r#"{"of": {}, "type": "t41"}"#), Ok(false));
    // Without the tag, more than one of the branches holds.
    let open = json!({"oneOf": (0..3).map(branch).collect::<Vec<_>>()});
    assert_eq!(handles(&open, r#"{"of": {"x": 1}}"#), Ok(false));
    assert_eq!(handles(&open, r#"{"of": {"x": 2}}"#), Ok(true));
    assert_eq!(handles(&open, "1"), Ok(false));
}

/// Alternatives that are told apart by what they list are never multiplied.
#[test]
fn many_alternatives_that_are_apart() {
    let tagged = |i: usize| {
        json!({"type": "object", "required": ["t"],
            "properties": {"t": {"const": format!("v{i}")}, "x": {"type": "integer"}}})
    };
    let schema = json!({"oneOf": (0..1_000).map(tagged).collect::<Vec<_>>()});
    assert_eq!(handles(&schema, r#"{"t": "v3", "x": 4}"#), Ok(true));
    let constants: Vec<Value> = (0..10_000).map(|i| json!({"const": format!("v{i}")})).collect();
    assert_eq!(handles(&json!({"oneOf": constants}), "\"v9999\""), Ok(true));
    assert_eq!(handles(&json!({"anyOf": constants}), "\"v10000\""), Ok(false));
    let numbers: Vec<u32> = (0..10_000).map(|i| 37 * i).collect();
    assert_eq!(handles(&json!({"enum": numbers}), "37"), Ok(true));
    let required: Vec<Value> = (0..5_000).map(|i| json!({"required": [format!("k{i}")]})).collect();
    assert_eq!(handles(&json!({"type": "object", "allOf": required}), "{}"), Ok(false));
}

/// Whatever else keywords are combined to, a limit is named before long.
#[test]
fn work_is_bounded() {
    let mut options = Options::default();
    options.property_order = PropertyOrder::Any;
    options.work = 1_000_000;
    let compiler = compiler().with_json_options(options);
    let each = |n: usize, f: &dyn Fn(usize) -> Value| (0..n).map(f).collect::<Vec<Value>>();
    let object = |all: Vec<Value>| json!({"type": "object", "allOf": all});
    for schema in [
        nested(
            40,
            json!({"required": ["a"]}),
            |i, inner| json!({"oneOf": [{"required": [format!("k{i}")]}, inner]}),
        ),
        nested(
            40,
            json!({"properties": {"a": {"type": "string"}}}),
            |i, inner| json!({"oneOf": [{"properties": {format!("k{i}"): {"type": "integer"}}}, inner]}),
        ),
        nested(
            40,
            json!({"items": {"type": "string"}}),
            |i, inner| json!({"oneOf": [{"contains": {"const": i}}, inner]}),
        ),
        nested(
            40,
            json!({"minLength": 5}),
            |i, inner| json!({"oneOf": [{"pattern": format!("a{{{}}}", i + 1)}, inner]}),
        ),
        object(each(
            60,
            &|i| json!({"anyOf": [{"required": [format!("a{i}")]}, {"required": [format!("b{i}")]}]}),
        )),
        object(each(
            60,
            &|i| json!({"not": {"required": [format!("a{i}"), format!("a{}", i + 1)]}}),
        )),
        json!({"type": "object", "oneOf": each(1_000, &|i| json!({"required": [format!("k{i}")]}))}),
        json!({"type": "string", "allOf": each(30, &|i| json!({"pattern": format!("a.{{{i}}}b")}))}),
        json!({"oneOf": each(300, &|i| json!({"type": "string", "pattern": format!("a.{{{i}}}b")}))}),
        json!({"type": "array", "allOf": each(20, &|i| {
            json!({"anyOf": [{"contains": {"const": i}}, {"minItems": i}]})
        })}),
        json!({"dependentRequired": (0..1_000)
            .map(|i| (format!("k{i}"), json!([format!("k{}", i + 1)])))
            .collect::<serde_json::Map<_, _>>()}),
        json!({"not": {"enum": each(1_000, &|i| json!({"a": i}))}}),
    ] {
        match handles_by(&compiler, &schema, r#"{"a0": 1}"#) {
            Ok(_) => {}
            Err(message) => {
                assert!(message.contains("limit") || message.contains("more than"), "{message}");
            }
        }
    }
}

/// A count beyond the limits is refused by its place; a bound beyond all texts is no bound.
#[test]
fn counts_beyond_all_texts() {
    let within = |keyword: &str, count: &str| {
        let schema = format!(
            r#"{{"properties": {{"a": {{"contains": {{"const": 1}}, "{keyword}": {count}}}}}}}"#
        );
        compiler().json_schema_str(&schema).map(|constraint| constraint.matcher())
    };
    for keyword in ["minLength", "minItems", "minProperties", "minContains"] {
        for count in ["4294967295", "4294967296", "9007199254740993", "1e30"] {
            let error = within(keyword, count).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Limit, "{keyword} {count}: {error}");
            let pointer = format!("/properties/a/{keyword}");
            assert_eq!(error.place().pointer.as_deref(), Some(&*pointer), "{error}");
            assert!(error.place().line_column.is_some(), "{error}");
            assert!(error.message().contains(keyword), "{error}");
        }
        assert!(within(keyword, "4294967294").is_ok(), "{keyword}");
    }
    for keyword in ["maxLength", "maxItems", "maxProperties", "maxContains"] {
        for count in ["4294967295", "4294967296", "1e30"] {
            let mut matcher = within(keyword, count).unwrap();
            matcher.accept_bytes(br#"{"a": [1]}"#).unwrap();
            assert!(matcher.is_accepting(), "{keyword} {count}");
        }
    }
    // Nothing has more, by whatever way that is asked.
    for bound in ["maxProperties", "maxItems"] {
        let never = json!({"not": {bound: 1e30}});
        let mut all: Vec<Value> = (0..12).map(|i| json!({"required": [format!("k{i}")]})).collect();
        all.push(json!({"not": {"anyOf": [never, {"required": ["b"]}]}}));
        let schema = json!({"anyOf": [never, {"allOf": [{"anyOf": all}]}]});
        assert_eq!(handles(&schema, r#"{"k1": 1, "b": 2}"#), Ok(true), "{bound}");
        assert_eq!(handles(&schema, r#"{"b": 2}"#), Ok(false), "{bound}");
    }
}

/// A limit is reached somewhere, and the error says where and what would do.
#[test]
fn limits_have_a_place() {
    let chain = |n: usize| {
        let needed = (0..n).map(|i| (format!("k{i}"), json!([format!("k{}", i + 1)])));
        json!({"dependentRequired": needed.collect::<serde_json::Map<String, Value>>()})
    };
    let states = Limits { language_states: 3_000, ..Limits::default() };
    let mut work = Options::default();
    work.work = 300_000;
    let few_steps = compiler().with_json_options(work);
    let few_states = compiler().with_limits(states);
    let letters = (0..400u32).map(|i| if (i * i / 7 + i / 3) % 5 < 2 { 'a' } else { 'b' });
    let text = format!(r#"[{{"a": {{"k0": 1}}}}, {{"a": "{}"}}]"#, letters.collect::<String>());
    let member = |schema: Value| json!({"items": {"properties": {"a": schema}}});
    let table = [
        (&few_steps, member(chain(2_000)), "/items/properties/a"),
        (
            &few_states,
            member(json!({"pattern": "^(?!.*(ab|ba).{40}c).*$"})),
            "/items/properties/a/pattern",
        ),
        (
            &few_states,
            member(json!({"pattern": "^(.{0,9}a.{40}b){1,300}$"})),
            "/items/properties/a/pattern",
        ),
    ];
    for (compiler, schema, pointer) in table {
        let schema = serde_json::to_string_pretty(&schema).unwrap();
        let read = || {
            let mut matcher = compiler.json_schema_str(&schema)?.matcher();
            for byte in text.bytes() {
                matcher.mask()?;
                matcher.accept_bytes(&[byte])?;
            }
            matcher.tokens_to_finish().map(drop)
        };
        let error: maskwright::Error = read().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        let found = error.place().pointer.as_deref().unwrap_or_default();
        assert!(found.starts_with(pointer), "{error}");
        assert!(error.place().line_column.is_some_and(|(line, _)| line > 1), "{error}");
        assert!(error.help().is_some_and(|help| help.contains("limit")), "{error}");
    }
}

/// A pattern may leave nothing to say to a bound on the length; characters are counted, not what
/// spells them.
#[test]
fn lengths_beside_patterns_count_characters() {
    let texts = ["", "a", "ab", "abc", "é", "éé", "\"", "\"\\", "\n\"a", "😀", "😀😀", "aaaa"];
    let mut accepted = 0;
    for spelling in [Spelling::Canonical, Spelling::Any] {
        let mut options = Options::default();
        options.spelling = spelling;
        let compiler = compiler().with_json_options(options);
        for (pattern, least, most) in [
            ("^[a-c]{2}$", 2, 2),
            ("^[a-c]{0,3}$", 0, 3),
            ("^[^a]{0,2}$", 0, 2),
            ("^.{1,2}$", 1, 2),
            ("^(é|\"|\\\\){0,2}$", 0, 2),
            ("^(é|😀){1,2}$", 1, 2),
        ] {
            for (min, max) in
                (0..=least + 1).flat_map(|min| (1..=most + 2).map(move |max| (min, max)))
            {
                let schema = json!({"type": "string", "pattern": pattern, "minLength": min, "maxLength": max});
                let same = json!({"type": "string", "allOf": [{"pattern": pattern}, {"minLength": min}, {"maxLength": max}]});
                let (Ok(one), Ok(other)) =
                    (compiler.json_schema(&schema), compiler.json_schema(&same))
                else {
                    assert!(
                        compiler.json_schema(&schema).is_err()
                            && compiler.json_schema(&same).is_err()
                    );
                    continue;
                };
                for text in texts {
                    let text = serde_json::to_string(text).unwrap();
                    let accepts = |constraint: &Constraint| {
                        let mut matcher = constraint.matcher();
                        matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
                    };
                    let count = serde_json::from_str::<String>(&text).unwrap().chars().count();
                    let fits = count >= min && count <= max;
                    assert_eq!(accepts(&one), accepts(&other), "{schema} {text}");
                    assert!(fits || !accepts(&one), "{schema} {text}");
                    accepted += usize::from(accepts(&one));
                }
            }
        }
    }
    assert!(accepted > 100, "{accepted}");
}

/// A trie counts its depth in 16 bits: longer names are refused by their place.
#[test]
fn names_of_many_bytes_are_refused() {
    let compiler = compiler();
    for (bytes, fits) in [(65_533, true), (65_534, false), (70_000, false)] {
        let name = "b".repeat(bytes);
        let required = json!({ "type": "object", "required": [name] });
        let optional = json!({ "type": "object", "properties": { "a": {}, name: {} } });
        for schema in [required, optional] {
            let compiled = compiler.json_schema(&schema);
            let started = compiled.and_then(|constraint| {
                let mut matcher = constraint.matcher();
                matcher.accept_bytes(b"{")?;
                matcher.mask().map(drop)
            });
            match started {
                Ok(()) => assert!(fits, "{bytes}"),
                Err(error) => {
                    assert!(!fits, "{bytes}: {error}");
                    assert_eq!(error.kind(), ErrorKind::Limit, "{bytes}");
                    assert!(error.to_string().contains("shorten the name"), "{bytes}");
                    assert!(error.to_string().len() < 400, "{bytes}");
                }
            }
        }
    }
}

/// A number below a bound of ten thousand digits is refused without trying all lengths up to it.
#[test]
fn listed_numbers_beside_large_bounds() {
    let text = r#"{"enum": [5, 7], "multipleOf": 1000000007, "minimum": 1e10000}"#;
    let grammar = Schema::from_text(text).and_then(|schema| schema.grammar(&Options::default()));
    let error = grammar.and_then(|grammar| compiler().compile(grammar)).unwrap_err();
    assert_ne!(error.kind(), ErrorKind::Limit, "{error}");
}

/// With `strict`, references are followed in search of members that a schema names.
#[test]
fn long_chains_of_references_with_strict() {
    let mut definitions = serde_json::Map::new();
    for i in 0..20_000 {
        definitions.insert(format!("a{i}"), json!({ "$ref": format!("#/$defs/a{}", i + 1) }));
    }
    definitions.insert("a20000".to_owned(), json!({ "type": "object" }));
    let schema = json!({ "allOf": [{ "$ref": "#/$defs/a0" }, {}], "$defs": definitions });
    let mut options = Options::default();
    options.strictness = Strictness::Closed;
    let error = compiler().with_json_options(options).json_schema(&schema).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit | ErrorKind::Schema), "{error}");
}
