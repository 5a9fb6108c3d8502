//! Tidy whitespace: a text has one of the five styles of `json.dumps` from its beginning to its
//! end.
//!
//! The reference is slow and plain: a value has five renderings, and a text is one of them or it
//! is rejected. Where a schema holds a single value, the renderings also say which tokens may
//! follow each prefix, so masks are checked by their definition.
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use maskwright::json_schema::{Options, PropertyOrder, Schema, Whitespace};
use maskwright::tools::{Tool, ToolCalls, ToolChoice, ToolFormat};
use maskwright::{Compiler, Constraint, ErrorKind, Vocabulary};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value, json};

/// Every byte, and tokens that hold several gaps, end inside one, or decide a style.
fn vocabulary() -> Vocabulary {
    let longer = [
        "{\"",
        "{\n",
        "{\n  ",
        "{\n  \"",
        "{\n    \"",
        "{\n\t\"",
        "{\n   ",
        "[\n",
        "[\n  {\n    \"",
        "[[",
        "[[\n",
        "[{\"",
        "[]",
        "{}",
        "{}}",
        "[],",
        "[], ",
        "\":",
        "\": ",
        "\": \"",
        "\":\"",
        "\": {\n    \"",
        "\": {\"",
        "\":{\"",
        "\": [",
        ",",
        ", ",
        ", \"",
        ",\"",
        ",\n",
        ",\n  ",
        ",\n    ",
        ",\n  \"",
        ",\n\t",
        ",\n\t\t",
        "\n",
        "\n\n",
        "\n  ",
        "\n    ",
        "\n}",
        "\n  }",
        "\n]",
        "}\n}",
        "}\n  ]",
        "},\n  {",
        "  ",
        "    ",
        "   ",
        "        ",
        "\t\t",
        " \"",
        " {",
        " [",
        "a\": ",
        "\"a\"",
        "\"a\": ",
        "\"a\":",
        "null",
        "null,\n  ",
        "1,",
        "1, ",
        "1]",
        "1}",
        "1\n",
        "true",
        "]]",
        "]}",
        "}]",
        "}}",
        "],[",
        "], [",
        "\"}",
        "\"\n}",
        "\", \"",
        "\",\n  \"",
        "\",\"",
    ];
    let tokens = (0..=255).map(|byte| Some(vec![byte]));
    let longer = longer.map(|token| Some(token.as_bytes().to_vec()));
    let tokens: Vec<_> = tokens.chain(longer).chain([None]).collect();
    let end = tokens.len() as u32 - 1;
    Vocabulary::from_tokens(tokens, &[(end, "<end>")], &[end]).unwrap()
}

/// A line end and indentation, or the text between parts on one line.
#[derive(Clone, Copy)]
enum Style {
    OneLine { comma: &'static str, colon: &'static str },
    Indented(&'static str),
}

const STYLES: [Style; 5] = [
    Style::OneLine { comma: ", ", colon: ": " },
    Style::OneLine { comma: ",", colon: ":" },
    Style::Indented("  "),
    Style::Indented("    "),
    Style::Indented("\t"),
];

/// The choices of the option that stand for the styles.
const SINGLE: [Whitespace; 5] = [
    Whitespace::Plain,
    Whitespace::Compact,
    Whitespace::Indent2,
    Whitespace::Indent4,
    Whitespace::IndentTab,
];

/// As `json.dumps` writes a value in a style.
fn render(value: &Value, style: Style, depth: usize, out: &mut String) {
    let line = |depth: usize| match style {
        Style::OneLine { .. } => String::new(),
        Style::Indented(unit) => format!("\n{}", unit.repeat(depth)),
    };
    let (comma, colon) = match style {
        Style::OneLine { comma, colon } => (comma, colon),
        Style::Indented(_) => (",", ": "),
    };
    match value {
        Value::Array(items) if !items.is_empty() => {
            for (i, item) in items.iter().enumerate() {
                *out += if i == 0 { "[" } else { comma };
                *out += &line(depth + 1);
                render(item, style, depth + 1, out);
            }
            *out += &line(depth);
            out.push(']');
        }
        Value::Object(members) if !members.is_empty() => {
            for (i, (key, value)) in members.iter().enumerate() {
                *out += if i == 0 { "{" } else { comma };
                *out += &line(depth + 1);
                *out += &Value::String(key.clone()).to_string();
                *out += colon;
                render(value, style, depth + 1, out);
            }
            *out += &line(depth);
            out.push('}');
        }
        flat => *out += &flat.to_string(),
    }
}

fn rendered(value: &Value, style: Style) -> String {
    let mut text = String::new();
    render(value, style, 0, &mut text);
    text
}

fn renderings(value: &Value) -> Vec<String> {
    STYLES.map(|style| rendered(value, style)).into()
}

fn accepts(constraint: &Constraint, text: &str) -> bool {
    let mut matcher = constraint.matcher();
    match matcher.accept_bytes(text.as_bytes()) {
        Ok(()) => matcher.is_accepting(),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Rejected, "{error}: {text}");
            false
        }
    }
}

struct Maker(ChaCha8Rng);

impl Maker {
    fn below(&mut self, n: usize) -> usize {
        self.0.random_range(0..n)
    }

    fn scalar(&mut self) -> Value {
        match self.below(6) {
            0 => Value::Null,
            1 => json!(self.below(2) == 0),
            2 => json!(self.below(200)),
            3 => json!(-7),
            4 => json!(["", "a", "a, b: c", "{\n  \"x\": 1\n}", " [ ] "][self.below(5)]),
            _ => json!("text ".repeat(self.below(3))),
        }
    }

    /// Any value.
    fn value(&mut self, depth: usize) -> Value {
        match (depth, self.below(4)) {
            (0, _) | (_, 0) => self.scalar(),
            (_, 1) => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => self.members(depth),
        }
    }

    fn members(&mut self, depth: usize) -> Value {
        let mut members = Map::new();
        for key in ["a", "b", "key", "", "x: y"] {
            if self.below(2) == 0 {
                members.insert(key.to_owned(), self.value(depth - 1));
            }
        }
        Value::Object(members)
    }

    /// A schema, and a value that it accepts, with its members in the schema's order.
    fn schema(&mut self, depth: usize) -> (Value, Value) {
        let (mut schema, value) = self.part(depth);
        if let Value::Object(members) = &mut schema {
            let tree = json!({"type": "object", "properties": {"v": {"type": "integer"},
                "of": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}, "required": ["of"],
                "additionalProperties": false});
            members.insert("$defs".to_owned(), json!({ "tree": tree }));
        }
        (schema, value)
    }

    /// The same as a part of a schema that defines `tree`.
    fn part(&mut self, depth: usize) -> (Value, Value) {
        if depth == 0 {
            let value = self.scalar();
            return ([json!(true), json!({ "const": value })][self.below(2)].clone(), value);
        }
        match self.below(11) {
            0 => (json!(true), self.value(depth)),
            1 => (json!({"type": "object"}), self.members(depth)),
            2 => {
                let value = self.value(depth);
                let others = [self.value(2), self.value(1), value.clone()];
                (json!({ "enum": others }), value)
            }
            3 => {
                let (mut properties, mut required, mut value) = (Map::new(), vec![], Map::new());
                for key in ["a", "b", "c", "d"] {
                    let (schema, member) = self.part(depth - 1);
                    properties.insert(key.to_owned(), schema);
                    match self.below(3) {
                        0 => {}
                        kind => {
                            required.extend((kind == 1).then_some(key));
                            value.insert(key.to_owned(), member);
                        }
                    }
                }
                let schema = json!({"type": "object", "properties": properties, "required": required,
                    "additionalProperties": false});
                (schema, value.into())
            }
            4 => {
                let (schema, item) = self.part(depth - 1);
                let items = vec![item; self.below(4)];
                (json!({"type": "array", "items": schema}), items.into())
            }
            5 => {
                let parts = [self.part(depth - 1), self.part(depth - 1)];
                let [(a, x), (b, y)] = parts;
                let schema =
                    json!({"type": "array", "prefixItems": [a, b], "items": false, "minItems": 1});
                (schema, if self.below(2) == 0 { json!([x, y]) } else { json!([x]) })
            }
            6 => {
                let mut items: Vec<Value> = Vec::new();
                for _ in 0..self.below(5) {
                    let item = self.value(depth - 1);
                    if !items.contains(&item) {
                        items.push(item);
                    }
                }
                (json!({"type": "array", "uniqueItems": true}), items.into())
            }
            7 => {
                let (schema, item) = self.part(depth - 1);
                let mut items = vec![self.value(1), item];
                items.extend((0..self.below(3)).map(|_| self.scalar()));
                (json!({"type": "array", "contains": schema, "minContains": 1}), items.into())
            }
            8 => {
                let (then, value) = self.part(depth - 1);
                let schema = json!({"type": "object",
                    "properties": {"kind": {"enum": ["a", "b"]}, "in": {"type": ["object", "array"]}, "v": true},
                    "required": ["kind"], "additionalProperties": false,
                    "if": {"properties": {"kind": {"const": "a"}}},
                    "then": {"properties": {"v": then}, "required": ["v"]}, "else": {"required": ["in"]}});
                let inner = self.members(1);
                let value = match self.below(3) {
                    0 => json!({"kind": "b", "in": inner}),
                    1 => json!({"kind": "a", "v": value}),
                    _ => json!({"kind": "a", "in": [inner], "v": value}),
                };
                (schema, value)
            }
            9 => {
                let (one, value) = self.part(depth - 1);
                let schema = json!({"type": "object", "patternProperties": {"^p": one},
                    "additionalProperties": false, "minProperties": 1});
                (schema, json!({"p": value.clone(), "p2": value}))
            }
            _ => {
                let mut value = json!({"of": []});
                for i in 0..self.below(4) {
                    value = match self.below(3) {
                        0 => json!({"of": [value]}),
                        1 => json!({"v": i, "of": [value, {"of": []}]}),
                        _ => json!({"v": i, "of": [{"v": 1, "of": []}, value]}),
                    };
                }
                (json!({"$ref": "#/$defs/tree"}), value)
            }
        }
    }

    /// A text with its whitespace outside of strings changed somewhere, perhaps to what another
    /// style has there.
    fn disturbed(&mut self, text: &str, other: &str) -> String {
        let (gaps, others) = (gaps(text), gaps(other));
        let at = self.below(gaps.len());
        let (start, end) = gaps[at];
        let gap = match self.below(3) {
            0 => {
                let (start, end) = others[at];
                other[start..end].to_owned()
            }
            1 => text[start..end].to_owned() + [" ", "\n", "\t", "  "][self.below(4)],
            _ => text[start..end].chars().skip(1).collect(),
        };
        format!("{}{gap}{}", &text[..start], &text[end..])
    }
}

/// The gaps around the brackets, commas and colons of a text, and around all of it, empty or not.
fn gaps(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let (mut gaps, mut at) = (Vec::new(), 0);
    let mut scalar = false;
    while at <= bytes.len() {
        let start = at;
        while at < bytes.len() && bytes[at].is_ascii_whitespace() {
            at += 1;
        }
        match bytes.get(at) {
            Some(b'"') => {
                gaps.push((start, at));
                at += 1;
                while bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
                scalar = false;
            }
            Some(byte) if b"{}[],:".contains(byte) => {
                gaps.push((start, at));
                at += 1;
                scalar = false;
            }
            _ => {
                if !scalar {
                    gaps.push((start, at));
                }
                scalar = true;
                at += 1;
            }
        }
    }
    gaps
}

#[test]
fn a_text_has_one_style_from_beginning_to_end() {
    let mut maker = Maker(ChaCha8Rng::seed_from_u64(1));
    let compiler = Compiler::new(vocabulary());
    let flexible = flexible(&compiler);
    let (mut texts, mut disturbed, mut mixed) = (0, 0, 0);
    for _ in 0..400 {
        let (schema, value) = maker.schema(3);
        let constraint = compiler.json_schema(&schema).unwrap_or_else(|e| panic!("{schema}: {e}"));
        let free = flexible.json_schema(&schema).unwrap();
        let all = renderings(&value);
        for text in &all {
            assert!(accepts(&constraint, text), "{schema} must accept {text:?}");
            texts += 1;
        }
        for _ in 0..20 {
            let (one, other) = (maker.below(5), maker.below(5));
            let text = maker.disturbed(&all[one], &all[other]);
            let expected = all.contains(&text);
            assert_eq!(accepts(&constraint, &text), expected, "{schema}: {text:?}");
            disturbed += usize::from(!expected);
            mixed += usize::from(!expected && accepts(&free, &text));
        }
    }
    assert!(texts == 2_000 && disturbed > 4_000 && mixed > 2_000, "{disturbed} {mixed}");
}

fn flexible(compiler: &Compiler) -> Compiler {
    let mut options = Options::default();
    options.whitespace = Whitespace::Flexible;
    compiler.clone().with_json_options(options)
}

/// With one valid value, a token is allowed if and only if a rendering of the value goes on so.
#[test]
fn masks_are_what_the_renderings_allow() {
    let mut maker = Maker(ChaCha8Rng::seed_from_u64(2));
    let compiler = Compiler::new(vocabulary());
    let vocabulary = compiler.vocabulary();
    let mut masks = 0;
    for round in 0..150 {
        let value = maker.value(3);
        let schema = match round % 3 {
            0 => json!({ "const": value }),
            1 => {
                json!({"enum": [value], "type": ["object", "array", "string", "number", "boolean", "null"]})
            }
            _ => exactly(&value),
        };
        let constraint = compiler.json_schema(&schema).unwrap();
        let all = renderings(&value);
        for text in &all {
            let mut matcher = constraint.matcher();
            let mut at = 0;
            loop {
                let mask = matcher.mask().unwrap().clone();
                masks += 1;
                let mut longest = Vec::new();
                for token in 0..vocabulary.len() as u32 {
                    let allowed = match vocabulary.token_bytes(token) {
                        Some(bytes) if !vocabulary.end_tokens().contains(&token) => {
                            let next = [&text.as_bytes()[..at], bytes].concat();
                            if text.as_bytes().starts_with(&next) {
                                longest.push(token);
                            }
                            all.iter().any(|text| text.as_bytes().starts_with(&next))
                        }
                        _ => all.contains(&text[..at].to_owned()),
                    };
                    let (name, before) = (vocabulary.token_name(token), &text[..at]);
                    assert_eq!(mask.contains(token), allowed, "{schema}: {name} after {before:?}");
                }
                if at == text.len() {
                    break;
                }
                let token = longest[maker.below(longest.len())];
                matcher.accept(token).unwrap();
                at += vocabulary.token_bytes(token).unwrap().len();
            }
            assert!(matcher.is_accepting());
        }
    }
    assert!(masks > 5_000, "{masks}");
}

/// A schema of a value that lists nothing but scalars.
fn exactly(value: &Value) -> Value {
    match value {
        Value::Array(items) if items.is_empty() => json!({"type": "array", "maxItems": 0}),
        Value::Array(items) => {
            json!({"type": "array", "prefixItems": items.iter().map(exactly).collect::<Vec<_>>(),
            "items": false, "minItems": items.len()})
        }
        Value::Object(members) => {
            let properties: Map<String, Value> =
                members.iter().map(|(key, value)| (key.clone(), exactly(value))).collect();
            let required: Vec<&String> = members.keys().collect();
            json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
        }
        scalar => json!({ "const": scalar }),
    }
}

/// Masks along texts of random schemas are what acceptance says, for every token.
#[test]
fn masks_of_schemas_are_those_of_acceptance() {
    let mut maker = Maker(ChaCha8Rng::seed_from_u64(3));
    let compiler = Compiler::new(vocabulary());
    let mut any_order = Options::default();
    any_order.property_order = PropertyOrder::Any;
    let any_order = compiler.clone().with_json_options(any_order);
    for round in 0..60 {
        let (schema, value) = maker.schema(2);
        let compiler = if round % 2 == 0 { &compiler } else { &any_order };
        let constraint = compiler.json_schema(&schema).unwrap();
        for text in renderings(&value) {
            assert!(crate::common::accepts_by_masks(&constraint, &text), "{schema}: {text:?}");
        }
    }
}

#[test]
fn each_style_can_be_had_alone() {
    let mut maker = Maker(ChaCha8Rng::seed_from_u64(4));
    let tidy = Compiler::new(vocabulary());
    for _ in 0..60 {
        let (schema, value) = maker.schema(3);
        let all = renderings(&value);
        for (i, whitespace) in SINGLE.into_iter().enumerate() {
            let mut options = Options::default();
            options.whitespace = whitespace;
            let constraint = tidy.clone().with_json_options(options).json_schema(&schema).unwrap();
            for text in &all {
                assert_eq!(accepts(&constraint, text), *text == all[i], "{i} {schema}: {text:?}");
            }
        }
    }
}

/// A value in so many arrays and objects in turn.
fn nested(depth: usize, innermost: Value) -> Value {
    (0..depth).fold(innermost, |value, i| match i % 2 {
        0 => json!([value]),
        _ => json!({"a": value, "b": []}),
    })
}

#[test]
fn styles_hold_at_every_depth() {
    let compiler = Compiler::new(vocabulary());
    let recursive = json!({"anyOf": [{"type": "array", "items": {"$ref": "#"}, "maxItems": 1}, {"type": "object",
        "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}, "additionalProperties": false}, {"type": "null"}]});
    for schema in [json!(true), recursive] {
        let constraint = compiler.json_schema(&schema).unwrap();
        for innermost in [Value::Null, json!([]), json!({})] {
            for depth in [0, 1, 2, 30, 100] {
                let all = renderings(&nested(depth, innermost.clone()));
                for text in &all {
                    assert!(accepts(&constraint, text), "{schema}: {text:?}");
                    let mixed = text.replacen(", \"b\"", ",\"b\"", 1);
                    let mixed = mixed.replacen(",\n  \"b\"", ",\n    \"b\"", 1);
                    assert_eq!(accepts(&constraint, &mixed), all.contains(&mixed), "{mixed:?}");
                }
            }
        }
    }
}

#[test]
fn empty_values_and_scalars_have_no_gaps() {
    let constraint = Compiler::new(vocabulary()).json_schema(&json!(true)).unwrap();
    for text in
        ["{}", "[]", "[[], {}]", "[[],{}]", "{\n  \"a\": {},\n  \"b\": []\n}", "1", "\"a\"", "null"]
    {
        assert!(accepts(&constraint, text), "{text:?}");
    }
    for text in [
        "{ }",
        "[ ]",
        "{\n}",
        "[\n]",
        "{\n  }",
        " {}",
        "{} ",
        "{}\n",
        "1 ",
        "\n1",
        "[[ ]]",
        "[1 ]",
        "[ 1]",
        "[1 ,2]",
        "{\"a\" : 1}",
        "{\"a\":  1}",
        "{\n  \"a\": {\n  }\n}",
        "{\n  \"a\":1\n}",
        "{\n \"a\": 1\n}",
        "{\n   \"a\": 1\n}",
        "[\r\n  1\r\n]",
        "[\n  1\n ]",
        "[\n  1]",
        "[1\n]",
        "{\"a\": 1,\"b\": 2}",
        "{\"a\":1, \"b\":2}",
        "{\"a\":1,\"b\": 2}",
        "[[1,2], 3]",
        "[\n  [1, 2]\n]",
        "[\n\t1,\n  2\n]",
    ] {
        assert!(!accepts(&constraint, text), "{text:?}");
    }
}

/// Items that must differ are compared as values, however they are indented.
#[test]
fn unique_items_are_values_in_every_style() {
    let schema = json!({"type": "array", "uniqueItems": true});
    let constraint = Compiler::new(vocabulary()).json_schema(&schema).unwrap();
    let item = json!({"a": [1, {"b": 2}], "c": {}});
    let turned = json!({"c": {}, "a": [1, {"b": 2}]});
    let other = json!({"a": [1, {"b": 3}], "c": {}});
    for text in renderings(&json!([item, other, [item]])) {
        assert!(accepts(&constraint, &text), "{text:?}");
    }
    for text in renderings(&json!([item, other, turned])) {
        assert!(!accepts(&constraint, &text), "{text:?}");
    }
}

/// A rollback across the gap that decided takes the decision back.
#[test]
fn rollback_takes_a_decision_back() {
    let constraint = Compiler::new(vocabulary()).json_object().unwrap();
    let value = json!({"a": [1, {"b": null}], "c": "d"});
    let mut matcher = constraint.matcher();
    for style in STYLES.into_iter().chain(STYLES) {
        let text = rendered(&value, style);
        for byte in text.bytes() {
            matcher.mask().unwrap();
            matcher.accept(byte.into()).unwrap();
        }
        assert!(matcher.is_accepting());
        matcher.rollback(text.len()).unwrap();
    }
    matcher.accept_bytes(b"{").unwrap();
    let fork = matcher.clone();
    matcher.accept_bytes(b"\n\t\"a\": 1").unwrap();
    assert!(matcher.accept_bytes(b",\n  ").is_err());
    let mut fork = fork;
    fork.accept_bytes(b"\"a\":1,\"b\":2}").unwrap();
    assert!(fork.is_accepting());
}

/// A budget ends a text in the style that it has.
#[test]
fn texts_end_within_a_budget_in_their_style() {
    let mut maker = Maker(ChaCha8Rng::seed_from_u64(5));
    let compiler = Compiler::new(vocabulary());
    for _ in 0..60 {
        let (schema, value) = maker.schema(3);
        let constraint = compiler.json_schema(&schema).unwrap();
        for text in renderings(&value) {
            let mut matcher = constraint.matcher();
            let cut = maker.below(text.len());
            // The shortest end of `-` is zero, which serde_json writes otherwise.
            if text[..cut].ends_with('-') {
                continue;
            }
            matcher.accept_bytes(&text.as_bytes()[..cut]).unwrap();
            let left = matcher.tokens_to_finish().unwrap().tokens;
            let mut end = text.as_bytes()[..cut].to_vec();
            for left in (0..=left).rev() {
                let mask = matcher.mask_within(left).unwrap();
                let ends = constraint.vocabulary().end_tokens();
                let Some(token) = mask.iter().find(|token| !ends.contains(token)) else { break };
                matcher.accept(token).unwrap();
                end.extend(constraint.vocabulary().token_bytes(token).unwrap());
            }
            assert!(matcher.is_accepting(), "{schema}: {:?}", String::from_utf8_lossy(&end));
            let end = String::from_utf8(end).unwrap();
            let whole: Value = serde_json::from_str(&end).unwrap();
            let all = renderings(&whole);
            assert!(all.contains(&end), "{schema}: {end:?}");
        }
    }
}

/// The grammar of a schema, for others to embed, has the styles that the schema has alone.
#[test]
fn values_in_grammars_have_every_style() {
    let mut maker = Maker(ChaCha8Rng::seed_from_u64(6));
    for _ in 0..150 {
        let (schema, value) = maker.schema(2);
        let parsed = Schema::from_value(&schema).unwrap();
        let constraint = crate::common::by_bytes(&parsed.grammar(&Options::default()).unwrap());
        let all = renderings(&value);
        for text in &all {
            assert!(accepts(&constraint, text), "{schema}: {text:?}");
        }
        for _ in 0..10 {
            let (one, other) = (maker.below(5), maker.below(5));
            let text = maker.disturbed(&all[one], &all[other]);
            assert_eq!(accepts(&constraint, &text), all.contains(&text), "{schema}: {text:?}");
        }
        let mut options = Options::default();
        options.whitespace = Whitespace::Indent4;
        let indented = crate::common::by_bytes(&parsed.grammar(&options).unwrap());
        for text in &all {
            assert_eq!(accepts(&indented, text), *text == all[3], "{schema}: {text:?}");
        }
    }
}

/// A schema in a grammar's text, and as the arguments of a tool.
#[test]
fn values_in_other_grammars() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}},
        "required": ["a"], "additionalProperties": false});
    let compiler = Compiler::new(vocabulary());
    let lark = format!("start: \"x=\" %json {schema}\n");
    let embedded = compiler.lark(&lark).unwrap();
    let tools = json!([{"name": "f", "parameters": schema}]);
    let tools = ToolCalls::new(Tool::read(&tools).unwrap(), ToolFormat::named("json").unwrap());
    let called = tools.with_choice(ToolChoice::Required).compile(&compiler).unwrap();
    let mut options = Options::default();
    options.whitespace = Whitespace::Indent2;
    let indented = compiler.with_json_options(options).lark(&lark).unwrap();
    let all = renderings(&json!({"a": [1, 2]}));
    for text in &all {
        let mixed = text.replacen("1,", "1, ", 1);
        assert!(accepts(&embedded, &format!("x={text}")), "{text:?}");
        assert!(!accepts(&embedded, &format!("x={mixed}")), "{mixed:?}");
        assert_eq!(accepts(&indented, &format!("x={text}")), *text == all[2], "{text:?}");
        let call = |arguments: &str| format!("[{{\"name\": \"f\", \"arguments\": {arguments}}}]");
        assert!(accepts(&called, &call(text)), "{text:?}");
        assert!(!accepts(&called, &call(&mixed)), "{mixed:?}");
    }
}

/// Many required members: the shortest end is found among five styles within the search's limits.
#[test]
fn the_end_of_large_objects_is_found() {
    let keys: Vec<String> = (0..400).map(|i| format!("key{i}")).collect();
    let properties: Map<String, Value> =
        keys.iter().map(|key| (key.clone(), json!({"type": "boolean"}))).collect();
    let schema = json!({"type": "object", "properties": properties, "required": keys});
    let constraint = Compiler::new(vocabulary()).json_schema(&schema).unwrap();
    for start in ["", "{", "{\n  \"", "{\n\t\"", "{\"key0\": "] {
        let mut matcher = constraint.matcher();
        matcher.accept_bytes(start.as_bytes()).unwrap();
        let least = matcher.tokens_to_finish().unwrap().tokens;
        matcher.mask_within(least + 100).unwrap();
        assert!(least > 400 * 7, "{least}");
    }
}
