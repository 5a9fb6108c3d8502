//! Tool calls in the formats of several model families, and structural tags.
#![allow(clippy::unwrap_used)]

use crate::message_format::{accepts, compiler};
use maskwright::json_schema::{Options, Resources};
use maskwright::tools::{MessagePart, Tag, TagBody, Tags, Tool, ToolCalls, ToolChoice, ToolFormat};
use maskwright::{Compiler, Vocabulary};
use serde_json::json;

fn tools() -> Vec<Tool> {
    Tool::read(&json!([
        {"type": "function", "function": {"name": "weather", "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": false,
        }}},
        {"name": "time"},
    ]))
    .unwrap()
}

/// One call of each tool, as the model writes it, with the second right after the first.
struct Written {
    format: &'static str,
    text_before: Option<&'static str>,
    one: &'static str,
    two: Option<&'static str>,
    wrong: &'static [&'static str],
    plain: &'static str,
}

const WRITTEN: &[Written] = &[
    Written {
        format: "qwen",
        text_before: Some("I look. < <tool_cal> "),
        one: "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>",
        two: Some(
            "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>",
        ),
        wrong: &[
            "<tool_call>",
            "<tool_call>\n{\"name\": \"wether\", \"arguments\": {}}\n</tool_call>",
            "<tool_call>\n{\"name\": \"time\", \"arguments\": {\"a\": 1}}\n</tool_call>",
        ],
        plain: "No call is needed.",
    },
    Written {
        format: "llama3",
        text_before: None,
        one: "{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}",
        two: None,
        wrong: &[
            "{",
            "{\"name\": \"weather\", \"parameters\": {}}",
            "{\"name\": \"time\", \"parameters\": {}} ",
        ],
        plain: "No {call}.",
    },
    Written {
        format: "mistral",
        text_before: Some("I look. "),
        one: "[TOOL_CALLS][{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}]",
        two: Some(
            "[TOOL_CALLS] [{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}, \"id\": \"abcDEF123\"}, {\"name\": \"time\", \"arguments\": {}}]",
        ),
        wrong: &[
            "[TOOL_CALLS]",
            "[TOOL_CALLS][]",
            "[TOOL_CALLS][{\"name\": \"time\", \"arguments\": {}, \"id\": \"short\"}]",
        ],
        plain: "[no call]",
    },
    Written {
        format: "deepseek",
        text_before: Some("I look."),
        one: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\"city\": \"Oslo\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        two: Some(
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\"city\": \"Oslo\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>time\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ),
        wrong: &["<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>"],
        plain: "No call.",
    },
    Written {
        format: "gpt-oss",
        text_before: Some("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"),
        one: "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{\"city\": \"Oslo\"}",
        two: None,
        wrong: &[
            "plain",
            "<|channel|>commentary to=functions.wether json<|message|>{}",
            "<|channel|>final<|message|>x<|end|>",
        ],
        plain: "<|channel|>final<|message|>No call.",
    },
    Written {
        format: "json",
        text_before: None,
        one: "[{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}]",
        two: Some(
            "[{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}, {\"name\": \"time\", \"arguments\": {}}]",
        ),
        wrong: &["[]", "[{\"name\": \"weather\"}]", "[1]"],
        plain: "No call.",
    },
];

#[test]
fn calls_in_every_format() {
    for written in WRITTEN {
        let format = ToolFormat::named(written.format).unwrap();
        let calls = ToolCalls::new(tools(), format);
        let compile = |calls: ToolCalls| calls.compile(&compiler()).unwrap();
        let auto = compile(calls.clone());
        let required = compile(calls.clone().with_choice(ToolChoice::Required));
        let single = compile(calls.clone().with_parallel_calls(false));
        let time = compile(calls.clone().with_choice(ToolChoice::Named("time".into())));
        let none = compile(calls.with_choice(ToolChoice::None));
        let name = written.format;
        for (constraint, plain, one, two) in [
            (&auto, true, true, true),
            (&required, false, true, true),
            (&single, true, true, false),
            (&time, false, false, false),
            (&none, true, false, false),
        ] {
            assert_eq!(accepts(constraint, written.plain), plain, "{name}");
            assert_eq!(accepts(constraint, written.one), one, "{name}");
            if let Some(text) = written.two {
                assert_eq!(accepts(constraint, text), two, "{name}");
            }
        }
        assert!(
            accepts(
                &time,
                &written.one.replace("weather", "time").replace("\"city\": \"Oslo\"", "")
            ),
            "{name}"
        );
        if let Some(text) = written.text_before {
            assert!(accepts(&auto, &format!("{text}{}", written.one)), "{name}");
        }
        for wrong in written.wrong {
            assert!(!accepts(&auto, wrong), "{name}: {wrong}");
        }
    }
}

/// Without calls an answer may begin as JSON does; a word of code is no call.
#[test]
fn text_may_begin_like_a_call() {
    for (format, choice, text) in [
        ("llama3", ToolChoice::None, "{\"answer\": 1}"),
        ("json", ToolChoice::None, "[1]"),
        ("functools", ToolChoice::None, "from functools import cache"),
        ("functools", ToolChoice::Auto, "from functools import cache"),
    ] {
        let calls = ToolCalls::new(tools(), ToolFormat::named(format).unwrap());
        let constraint = calls.with_choice(choice).compile(&compiler()).unwrap();
        assert!(accepts(&constraint, text), "{format}");
    }
}

/// Arguments in a style have the types that the schema gives them by the compiler's documents.
#[test]
fn styled_arguments_are_read_by_the_compiler_s_options() {
    let mut options = Options::default();
    let code = json!({"$id": "https://example.org/code", "type": "string"});
    options.resources = Resources::default().with_value("https://example.org/code", code).unwrap();
    let parameters =
        json!({"type": "object", "properties": {"zip": {"$ref": "https://example.org/code"}}});
    let tool = Tool::new("ship", parameters).unwrap();
    let calls = ToolCalls::new([tool], ToolFormat::named("qwen-coder").unwrap());
    let text = "<tool_call>\n<function=ship>\n<parameter=zip>\n12345\n</parameter>\n</function>\n</tool_call>";
    let arguments = |calls: &ToolCalls| {
        let mut reader = calls.reader(None);
        let mut parts = reader.text(text);
        parts.extend(reader.finish());
        let arguments = parts.iter().filter_map(|part| match part {
            MessagePart::Arguments(text) => Some(text.as_str()),
            _ => None,
        });
        arguments.collect::<String>()
    };
    let calls = calls.with_json_options(&options);
    assert_eq!(arguments(&calls), r#"{"zip":"12345"}"#);
}

/// The name of a special token in letters is text to the constraint, and so it is to the reader.
#[test]
fn a_trigger_in_letters_is_no_call() {
    let bytes = (0..=255u8).map(|b| Some(vec![b])).collect();
    let special = [(256, "[TOOL_CALLS]"), (257, "</s>"), (258, "[ARGS]"), (259, "[CALL_ID]")];
    let vocabulary = Vocabulary::from_tokens(bytes, &special, &[257]).unwrap();
    let calls = ToolCalls::new(tools(), ToolFormat::named("mistral").unwrap());
    let read = |spelled: bool| {
        let mut reader = calls.reader(None).with_special_tokens(&vocabulary);
        let mut parts =
            if spelled { reader.text("[TOOL_CALLS]") } else { reader.special("[TOOL_CALLS]") };
        parts.extend(reader.text("[{\"name\": \"time\", \"arguments\": {\"amount\": -5}}]"));
        parts.extend(reader.finish());
        let text: String = parts
            .iter()
            .filter_map(|part| match part {
                MessagePart::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        (parts.iter().any(|part| matches!(part, MessagePart::Call { .. })), text)
    };
    let spelled = "[TOOL_CALLS][{\"name\": \"time\", \"arguments\": {\"amount\": -5}}]";
    assert_eq!(read(true), (false, spelled.to_owned()));
    assert_eq!(read(false), (true, String::new()));
}

#[test]
fn after_a_call_text_goes_on_where_the_format_has_it() {
    let calls = ToolCalls::new(tools(), ToolFormat::named("hermes").unwrap());
    let constraint = calls.compile(&compiler()).unwrap();
    let call = "<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>";
    assert!(accepts(&constraint, &format!("a{call}b<{call}c")));
    assert!(!accepts(&constraint, &format!("a{call}<tool_call>c")));
}

#[test]
fn structural_tags() {
    let number = Tag {
        begin: "<function=bar>".into(),
        body: TagBody::Regex("[0-9]+".into()),
        end: "</function>".into(),
    };
    let object = Tag {
        begin: "<function=foo>".into(),
        body: TagBody::Json(
            json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}),
        ),
        end: "</function>".into(),
    };
    let tags = Tags {
        triggers: vec!["<function=".into()],
        tags: vec![number, object],
        at_least_one: false,
        at_most_one: false,
    };
    let foo = "<function=foo>{\"a\": 1}</function>";
    let bar = "<function=bar>12</function>";
    for (at_least_one, at_most_one, yes, no) in [
        (
            false,
            false,
            vec!["".to_owned(), "text <func".into(), format!("a {foo} b {bar}{foo}")],
            vec!["<function=".to_owned(), "<function=baz>".into(), format!("{foo}<function=")],
        ),
        (
            true,
            false,
            vec![bar.to_owned(), format!("{foo}{bar}."), format!("{foo}text<{bar}")],
            vec!["".into(), "text".into(), format!("x{bar}"), format!("{foo}<function=baz>")],
        ),
        (
            false,
            true,
            vec!["text".into(), format!("x<{bar}")],
            vec![format!("{bar}."), format!("{foo}{bar}")],
        ),
        (
            true,
            true,
            vec![bar.to_owned()],
            vec!["".into(), format!("x{bar}"), format!("{foo}{bar}"), format!("{foo}x")],
        ),
    ] {
        let constraint =
            Tags { at_least_one, at_most_one, ..tags.clone() }.compile(&compiler()).unwrap();
        for text in yes {
            assert!(accepts(&constraint, &text), "{at_least_one} {at_most_one} {text}");
        }
        for text in no {
            assert!(!accepts(&constraint, &text), "{at_least_one} {at_most_one} {text}");
        }
    }
    // A trigger that begins within another, and one that is part of another.
    let tag = |begin: &str| Tag {
        begin: begin.into(),
        body: TagBody::Regex("x".into()),
        end: ";".into(),
    };
    let tags = Tags {
        triggers: vec!["aab".into(), "ab!".into()],
        tags: vec![tag("aab"), tag("ab!")],
        at_least_one: false,
        at_most_one: true,
    };
    let constraint = tags.compile(&compiler()).unwrap();
    for (text, expected) in
        [("aaabx;", true), ("ab!x;", true), ("aab!x;", false), ("bab!x;", true), ("aabx;", true)]
    {
        assert_eq!(accepts(&constraint, text), expected, "{text}");
    }
    let lost = Tags {
        triggers: vec!["<".into()],
        tags: vec![tag("{")],
        at_least_one: false,
        at_most_one: false,
    };
    assert!(
        lost.grammar(&Options::default()).unwrap_err().to_string().contains("none of the triggers")
    );
}

#[derive(schemars::JsonSchema)]
#[allow(dead_code)]
struct Point {
    x: i8,
}

#[test]
fn tools_come_from_json_and_from_types() {
    let calls = ToolCalls::new(
        [Tool::for_type::<Point>("point").unwrap()],
        ToolFormat::named("llama3").unwrap(),
    );
    let constraint = calls.compile(&compiler()).unwrap();
    assert!(accepts(&constraint, "{\"name\": \"point\", \"parameters\": {\"x\": 127}}"));
    assert!(!accepts(&constraint, "{\"name\": \"point\", \"parameters\": {\"x\": 128}}"));
    for (tools, place, message) in [
        (json!({}), "", "a JSON array"),
        (json!([{"type": "retrieval"}]), "/0/type", "a function or a custom tool"),
        (json!([{"type": "function", "function": {}}]), "/0/function/name", "needs a name"),
        (json!([{"name": "a b"}]), "/0/name", "no name"),
        (json!([{"name": "a"}, {"name": "a"}]), "/1/name", "one name"),
        (
            json!([{"type": "function", "function": {"name": "a", "paramters": {}}}]),
            "/0/function/paramters",
            "no member `paramters`",
        ),
        (json!([{"name": "a", "nmae": 1}]), "/0/nmae", "no member"),
        (json!([{"type": "custom", "name": "a", "x": 1}]), "/0/x", "no member"),
        (
            json!([{"type": "function", "function": {"name": "a"}, "strict": true}]),
            "/0/strict",
            "no member",
        ),
    ] {
        let error = Tool::read(&tools).unwrap_err();
        assert_eq!(error.place().pointer.as_deref(), Some(place), "{error}");
        assert!(error.message().contains(message), "{error}");
    }
    // Anthropic's type of tools with a schema is that of OpenAI's custom ones.
    let tools = json!([
        {"type": "custom", "name": "a", "input_schema": {"type": "object", "required": ["b"]}},
        {"type": "custom", "name": "c"},
        {"type": null, "name": "d", "parameters": null},
    ]);
    let kinds: Vec<bool> = Tool::read(&tools).unwrap().iter().map(Tool::is_custom).collect();
    assert_eq!(kinds, [false, true, false]);
    let bad = Tool::new("t", json!({"type": "strin"})).unwrap();
    let error =
        ToolCalls::new([bad], ToolFormat::named("json").unwrap()).grammar(&compiler()).unwrap_err();
    assert!(error.to_string().contains("tool `t`") && error.place().pointer.is_some(), "{error}");
    let error =
        ToolCalls::new([], ToolFormat::named("json").unwrap()).grammar(&compiler()).unwrap_err();
    assert!(error.to_string().contains("no tool"), "{error}");
    // The special tokens of another family.
    let tokens = (0..=255u8).map(|b| Some(vec![b])).collect();
    let plain = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[]).unwrap());
    let error = ToolCalls::new(self::tools(), ToolFormat::named("mistral").unwrap())
        .compile(&plain)
        .unwrap_err();
    assert!(error.to_string().contains("[TOOL_CALLS]"), "{error}");
}

/// Arguments are an object, whatever else the schema of the parameters would accept.
#[test]
fn arguments_are_an_object() {
    let constraint = |parameters: serde_json::Value, format| {
        let tool = Tool::new("f", parameters).unwrap();
        let calls = ToolCalls::new(vec![tool], ToolFormat::named(format).unwrap());
        calls.with_choice(ToolChoice::Required).compile(&compiler())
    };
    let city = json!({"properties": {"city": {"type": "string"}}});
    let by_reference = json!({"$ref": "#/$defs/city", "$defs": {"city": city}});
    let mut older = by_reference.clone();
    older["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    older["type"] = json!("object"); // not heeded beside a reference
    let nullable = json!({"type": ["object", "null"]});
    let any_of = json!({"anyOf": [{"type": "object"}, {"type": "integer"}]});
    for parameters in [json!({}), json!(true), city, by_reference, older, nullable, any_of] {
        for (format, open, close) in
            [("json", "[", "]"), ("qwen", "<tool_call>\n", "\n</tool_call>")]
        {
            let constraint = constraint(parameters.clone(), format).unwrap();
            let accepts = |arguments: &str| {
                let call = format!("{open}{{\"name\": \"f\", \"arguments\": {arguments}}}{close}");
                accepts(&constraint, &call)
            };
            assert!(accepts("{}") && accepts("{\"city\": \"Oslo\"}"), "{parameters} {format}");
            for other in ["5", "[1]", "null", "\"x\""] {
                assert!(!accepts(other), "{parameters} {format} {other}");
            }
        }
    }
    let error = constraint(json!({"type": "array"}), "json").unwrap_err().to_string();
    assert!(error.contains("tool `f`") && error.contains("arguments are an object"), "{error}");
}

#[test]
fn a_strict_tool_takes_no_other_arguments() {
    let tool = |strict: &str| {
        Tool::read(&json!([{"type": "function", "function": {
            "name": "weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
            "strict": serde_json::from_str::<serde_json::Value>(strict).unwrap(),
        }}]))
    };
    let other = "[{\"name\": \"weather\", \"arguments\": {\"town\": \"Oslo\"}}]";
    for (strict, accepted) in [("true", false), ("false", true), ("null", true)] {
        let format = ToolFormat::named("json").unwrap();
        let calls = ToolCalls::new(tool(strict).unwrap(), format).with_choice(ToolChoice::Required);
        let constraint = calls.compile(&compiler()).unwrap();
        assert!(accepts(&constraint, &other.replace("town", "city")), "{strict}");
        assert_eq!(accepts(&constraint, other), accepted, "{strict}");
    }
    let error = tool("1").unwrap_err().to_string();
    assert!(error.contains("/0/function/strict"), "{error}");
}
