//! Alternatives with much in common, of which one member tells which it is: decided before that
//! member is known, in any order of members, against a plain count of the alternatives that hold.
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use maskwright::json_schema::{Options, PropertyOrder};
use maskwright::{Compiler, Vocabulary};
use serde_json::{Value, json};

/// Members of the options of a kind of builder: those that all have, and some of its own.
const COMMON: [&str; 4] = ["path", "watch", "styles", "port"];

/// A closed object of options.
fn options(kind: usize) -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": {
        "path": {"type": "string"}, "watch": {"type": "boolean"},
        "styles": {"type": "array", "items": {"type": "string"}}, "port": {"type": "integer"},
        format!("index{kind}"): {"type": "string"}, format!("main{kind}"): {"type": "string"},
        format!("budget{kind}"): {"type": "integer"},
    }})
}

/// One alternative for builders of none of the kinds, and one for each kind.
fn schema(word: &str, kinds: usize, listed: bool, is_required: bool) -> Value {
    let names: Vec<String> = (0..kinds).map(|kind| format!("builder-{kind}")).collect();
    let mut all = vec![json!({"type": "object", "required": ["builder"], "properties": {
        "builder": {"type": "string", "not": {"enum": names}}, "options": {"type": "object"},
        "configurations": {"type": "object", "additionalProperties": {"type": "object"}}}})];
    for (kind, name) in names.iter().enumerate() {
        let builder = if listed { json!({"enum": [name]}) } else { json!({"const": name}) };
        let mut one = json!({"type": "object", "properties": {
            "builder": builder, "options": options(kind),
            "configurations": {"type": "object", "additionalProperties": options(kind)}}});
        if is_required {
            one["required"] = json!(["builder"]);
        }
        all.push(one);
    }
    json!({word: all})
}

/// Whether an object is one of the options of a kind.
fn is_of(kind: usize, options: &Value) -> bool {
    let own = [format!("index{kind}"), format!("main{kind}"), format!("budget{kind}")];
    let mut keys = options.as_object().unwrap().keys();
    keys.all(|key| COMMON.contains(&&**key) || own.contains(key))
}

/// The number of alternatives that hold.
fn holding(kinds: usize, is_required: bool, value: &Value) -> usize {
    let builder = value.get("builder").and_then(Value::as_str);
    let is_kind = |kind: usize| {
        let named = match builder {
            Some(name) => name == format!("builder-{kind}"),
            None => !is_required,
        };
        let configurations = value.get("configurations").and_then(Value::as_object);
        named
            && value.get("options").is_none_or(|options| is_of(kind, options))
            && configurations.is_none_or(|all| all.values().all(|options| is_of(kind, options)))
    };
    let other =
        builder.is_some_and(|name| (0..kinds).all(|kind| name != format!("builder-{kind}")));
    usize::from(other) + (0..kinds).filter(|&kind| is_kind(kind)).count()
}

#[test]
fn one_member_tells_which_of_many_alternatives_it_is() {
    let vocabulary = (0..=255).map(|byte| Some(vec![byte])).collect();
    let compiler = Compiler::new(Vocabulary::from_tokens(vocabulary, &[], &[]).unwrap());
    let builders = [None, Some("builder-0"), Some("builder-3"), Some("other")];
    let options = [
        None,
        Some(json!({})),
        Some(json!({"path": "x"})),
        Some(json!({"watch": true, "main0": "x"})),
        Some(json!({"main3": "x"})),
        Some(json!({"main0": "x", "main3": "x"})),
        Some(json!({"z": 1})),
    ];
    for (word, kinds, listed, is_required) in [
        ("oneOf", 4, false, false),
        ("oneOf", 8, false, false),
        ("oneOf", 8, true, true),
        ("oneOf", 20, true, false),
        ("anyOf", 8, false, false),
    ] {
        let schema = schema(word, kinds, listed, is_required);
        for order in [PropertyOrder::Schema, PropertyOrder::Any] {
            let mut settings = Options::default();
            settings.property_order = order;
            let compiler = compiler.clone().with_json_options(settings);
            let constraint = compiler.json_schema(&schema).unwrap();
            for builder in builders {
                for one in &options {
                    for configuration in &options {
                        let mut members = Vec::new();
                        members.extend(builder.map(|name| ("builder", json!(name))));
                        members.extend(one.clone().map(|options| ("options", options)));
                        let map =
                            configuration.clone().map(|options| json!({"a": {}, "b": options}));
                        members.extend(map.map(|map| ("configurations", map)));
                        if order == PropertyOrder::Any {
                            members.reverse();
                        }
                        let value: Value =
                            members.iter().map(|(key, value)| (*key, value.clone())).collect();
                        let count = holding(kinds, is_required, &value);
                        let expected = if word == "oneOf" { count == 1 } else { count > 0 };
                        let mut matcher = constraint.matcher();
                        let text = value.to_string();
                        let accepted =
                            matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting();
                        assert_eq!(accepted, expected, "{word} {kinds} {order:?}: {text}");
                    }
                }
            }
        }
    }
}
