//! Messages taken apart into text, reasoning and calls; reasoning before constraints of every kind.
#![allow(clippy::unwrap_used)]

use crate::message_format::{accepts, compiler, pieces};
use maskwright::json_schema::Schema;
use maskwright::tools::{
    AfterReasoning, AssistantMessage, Marker, MessagePart, MessageReader, ReasoningFormat,
    ReasoningStart, Tool, ToolCall, ToolCalls, ToolChoice, ToolFormat,
};
use maskwright::{Constraint, Vocabulary};
use serde_json::json;

/// At each place of a message the mask allows what can be accepted, and there is a way to the end.
fn masks_are_exact_along(constraint: &Constraint, message: &str) {
    let mut matcher = constraint.matcher();
    let end = constraint.vocabulary().end_tokens()[0];
    let tokens = pieces(message).into_iter().flat_map(|(text, special)| match special {
        Some(id) => vec![id],
        None => text.bytes().map(u32::from).collect(),
    });
    for token in tokens.chain([end]) {
        let mask: Vec<u32> = matcher.mask().unwrap().iter().collect();
        let all = 0..constraint.vocabulary().len() as u32;
        let allowed: Vec<u32> =
            all.filter(|&token| matcher.clone().accept(token).is_ok()).collect();
        assert_eq!(mask, allowed, "{message}");
        assert!(mask.contains(&token), "{message}");
        assert!(matcher.tokens_to_finish().is_ok(), "{message}");
        matcher.accept(token).unwrap();
    }
}

/// Reads a message in groups of so many characters: the reply, and the parts in order.
fn read(
    mut reader: MessageReader,
    text: &str,
    group: usize,
) -> (AssistantMessage, Vec<MessagePart>) {
    let (mut parts, mut buffer) = (Vec::new(), String::new());
    for (text, special) in pieces(text) {
        match special {
            Some(_) => {
                parts.extend(reader.text(&std::mem::take(&mut buffer)));
                parts.extend(reader.special(text));
            }
            None => buffer += text,
        }
        if buffer.chars().count() >= group {
            parts.extend(reader.text(&std::mem::take(&mut buffer)));
        }
    }
    parts.extend(reader.text(&buffer));
    parts.extend(reader.finish());
    let mut reply = AssistantMessage::default();
    parts.iter().for_each(|part| reply.add(part));
    (reply, parts)
}

fn tools() -> Vec<Tool> {
    let weather = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": false,
    });
    vec![
        Tool::new("weather", weather).unwrap(),
        Tool::new("time", json!({"type": "object", "additionalProperties": false})).unwrap(),
    ]
}

/// A format, a message in it, and what it says: text, reasoning, calls.
type Message = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const OSLO: (&str, &str) = ("weather", r#"{"city": "Oslo"}"#);
const TIME: (&str, &str) = ("time", "{}");

const MESSAGES: &[Message] = &[
    ("qwen", "I look. < <tool_cal> ", "I look. < <tool_cal> ", "", &[]),
    ("qwen", "I look. <tool", "I look. <tool", "", &[]),
    (
        "qwen",
        "I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call> Done.",
        "I look.\n Done.",
        "",
        &[OSLO, TIME],
    ),
    (
        "qwen",
        "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"}\\\" </tool_call> {\"}}\n</tool_call>\n",
        "\n",
        "",
        &[("weather", "{\"city\": \"}\\\" </tool_call> {\"}")],
    ),
    ("llama3", "{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}", "", "", &[OSLO]),
    ("llama3", "No {\"call\"}", "No {\"call\"}", "", &[]),
    (
        "mistral",
        "I look. [TOOL_CALLS] [{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}, \"id\": \"abcDEF123\"}, {\"name\": \"time\", \"arguments\": {}}]",
        "I look. ",
        "",
        &[OSLO, TIME],
    ),
    (
        "deepseek",
        "I look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\"city\": \"Oslo\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>time\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "I look.",
        "",
        &[OSLO, TIME],
    ),
    (
        "gpt-oss",
        "<|channel|>analysis<|message|>Hm: final?<|end|><|start|>assistant<|channel|>commentary<|message|>One moment.<|end|><|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{\"city\": \"Oslo\"}",
        "One moment.",
        "Hm: final?",
        &[OSLO],
    ),
    (
        "gpt-oss",
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.",
        "Yes.",
        "Hm.",
        &[],
    ),
    ("json", "Yes [1].", "Yes [1].", "", &[]),
    (
        "json",
        "[{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}, {\"name\": \"time\", \"arguments\": {}}]",
        "",
        "",
        &[OSLO, TIME],
    ),
];

fn reply(text: &str, reasoning: &str, calls: &[(&str, &str)]) -> AssistantMessage {
    let call = |&(name, arguments): &(&str, &str)| ToolCall {
        name: name.into(),
        id: None,
        arguments: arguments.into(),
    };
    AssistantMessage {
        text: text.into(),
        reasoning: reasoning.into(),
        calls: calls.iter().map(call).collect(),
    }
}

#[test]
fn messages_are_taken_apart_however_they_are_split() {
    for &(format, message, text, reasoning, calls) in MESSAGES {
        let tools = ToolCalls::new(tools(), ToolFormat::named(format).unwrap());
        assert!(accepts(&tools.compile(&compiler()).unwrap(), message), "{format}: {message}");
        for group in [1, 2, 7, 1000] {
            let (read, _) = read(tools.reader(None), message, group);
            assert_eq!(read, reply(text, reasoning, calls), "{format}: {message} by {group}");
        }
        // Where a call must come, what surrounds calls is no text.
        if !calls.is_empty() && text.is_empty() {
            let required = tools.with_choice(ToolChoice::Required);
            assert!(accepts(&required.compile(&compiler()).unwrap(), message), "{format}");
            let (read, _) = read(required.reader(None), message, 3);
            assert_eq!(read, reply("", reasoning, calls), "{format}: {message}");
        }
    }
}

#[test]
fn parts_are_told_as_soon_as_they_are_certain() {
    let tools = ToolCalls::new(tools(), ToolFormat::named("qwen").unwrap());
    let message = "Hi <tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
    let mut reader = tools.reader(None);
    let mut told = Vec::new();
    for (at, c) in message.char_indices() {
        told.extend(reader.text(&c.to_string()).into_iter().map(|part| (at, part)));
    }
    // Text at once, `<` when it can be no tag any more or when it is one.
    assert_eq!(told[0], (0, MessagePart::Text("H".into())));
    assert_eq!(told[2], (2, MessagePart::Text(" ".into())));
    let arguments = message.find("{\"city").unwrap();
    assert_eq!(told[3], (arguments, MessagePart::Call { name: "weather".into(), id: None }));
    assert_eq!(told[4], (arguments, MessagePart::Arguments("{".into())));
    assert_eq!(told.last().unwrap().0, message.find("}}\n").unwrap());
    // A message that was cut off: what was certain of the call, and none of its tag.
    let (cut, _) = read(tools.reader(None), &message[..arguments + 6], 1);
    assert_eq!(cut, reply("Hi ", "", &[("weather", "{\"city")]));
    let (cut, _) = read(tools.reader(None), "Hi <tool_call>\n{\"na", 1);
    assert_eq!(cut, reply("Hi ", "", &[]));
}

#[test]
fn an_answer_may_have_a_grammar_of_its_own() {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": false});
    let answer = Schema::from_value(&schema).unwrap().grammar(&Default::default()).unwrap();
    let ada = "{\"name\": \"Ada\"}";
    for &(format, message, text, _, calls) in MESSAGES {
        let tools =
            ToolCalls::new(tools(), ToolFormat::named(format).unwrap()).with_answer(answer.clone());
        let constraint = tools.compile(&compiler()).unwrap();
        // Text is no answer any more, beside a call or without one.
        // (What comes before a call in gpt-oss' commentary is no answer.)
        let only_calls = !calls.is_empty() && (text.is_empty() || format == "gpt-oss");
        assert_eq!(accepts(&constraint, message), only_calls, "{format}: {message}");
        let whole = match format {
            "gpt-oss" => format!("<|channel|>final<|message|>{ada}"),
            _ => ada.to_owned(),
        };
        assert!(accepts(&constraint, &whole), "{format}");
        assert_eq!(read(tools.reader(None), &whole, 1).0, reply(ada, "", &[]), "{format}");
        if only_calls {
            assert_eq!(read(tools.reader(None), message, 1).0.calls.len(), calls.len(), "{format}");
        }
    }
}

#[test]
fn arguments_are_all_that_schemas_say() {
    let list = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/list"}}, "required": ["a"],
        "$defs": {"list": {"type": "array", "uniqueItems": true, "items": {"type": "integer"}}}});
    let other = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/list"}}, "required": ["a"],
        "additionalProperties": false, "$defs": {"list": {"const": [1, 1]}}});
    let tools = [Tool::new("list", list).unwrap(), Tool::new("other", other).unwrap()];
    for format in ["json", "qwen", "llama3", "mistral", "deepseek", "gpt-oss"] {
        let calls = ToolCalls::new(tools.clone(), ToolFormat::named(format).unwrap())
            .with_choice(ToolChoice::Required);
        let before = |name: &str| match format {
            "json" => format!("[{{\"name\": \"{name}\", \"arguments\": "),
            "qwen" => format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": "),
            "llama3" => format!("{{\"name\": \"{name}\", \"parameters\": "),
            "mistral" => format!("[TOOL_CALLS][{{\"name\": \"{name}\", \"arguments\": "),
            "deepseek" => format!(
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n"
            ),
            _ => format!("<|channel|>commentary to=functions.{name} json<|message|>"),
        };
        let after = match format {
            "json" | "mistral" => "}]",
            "qwen" => "}\n</tool_call>",
            "llama3" => "}",
            "deepseek" => "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            _ => "",
        };
        let thinking = ReasoningFormat::named("think").unwrap();
        let prefix = thinking
            .grammar(compiler().vocabulary(), ReasoningStart::Message, AfterReasoning::ToolFormat)
            .unwrap();
        for (compiler, thought) in
            [(compiler(), ""), (compiler().with_prefix(&prefix).unwrap(), "<think>So.</think>")]
        {
            let constraint = calls.compile(&compiler).unwrap();
            for (tool, arguments, expected) in [
                ("list", "{\"a\": [1, 2]}", true),
                ("list", "{\"a\": [1, 1]}", false),
                ("list", "{\"a\": [], \"b\": 1, \"c\": 2}", true),
                ("list", "{\"a\": [], \"b\": 1, \"b\": 2}", false),
                ("other", "{\"a\": [1, 1]}", true),
                ("other", "{\"a\": [1, 2]}", false),
            ] {
                let message = format!("{thought}{}{arguments}{after}", before(tool));
                assert_eq!(accepts(&constraint, &message), expected, "{format}: {message}");
                if expected {
                    masks_are_exact_along(&constraint, &message);
                }
            }
        }
    }
    // Schemas with identifiers of their own do not disturb each other.
    let named = |value: i32| json!({"$id": "https://example.org/s", "$ref": "#/$defs/x", "$defs": {"x": {"const": {"v": value}}}});
    let tools = [Tool::new("one", named(1)).unwrap(), Tool::new("two", named(2)).unwrap()];
    let calls =
        ToolCalls::new(tools, ToolFormat::named("json").unwrap()).compile(&compiler()).unwrap();
    assert!(accepts(&calls, "[{\"name\": \"two\", \"arguments\": {\"v\": 2}}]"));
    assert!(!accepts(&calls, "[{\"name\": \"two\", \"arguments\": {\"v\": 1}}]"));
    // What is wrong is reported with the tool's name and its place.
    let bad = Tool::new("t", json!({"properties": {"x": {"type": "strin"}}})).unwrap();
    let error =
        ToolCalls::new([bad], ToolFormat::named("json").unwrap()).compile(&compiler()).unwrap_err();
    assert_eq!(error.place().pointer.as_deref(), Some("/properties/x/type"));
    assert!(error.to_string().contains("tool `t`: `type` must be"), "{error}");
    let never = Tool::new("never", json!(false)).unwrap();
    let error = ToolCalls::new([never], ToolFormat::named("json").unwrap())
        .compile(&compiler())
        .unwrap_err();
    assert!(error.to_string().contains("tool `never`: no value satisfies"), "{error}");
}

/// A way to think, a message, the answer in it, and the reasoning.
const THOUGHTS: &[(&str, &str, &str)] = &[
    ("think", "<think>\nIs it 7?\n< no.</think>\n\n", "\nIs it 7?\n< no."),
    ("think", "<think></think>", ""),
    ("glm-4.5", "\n<think>7?</think>\n", "7?"),
    ("glm-4.5", "<think>7?</think>", "7?"),
    ("mistral", "[THINK]7?[/THINK]", "7?"),
    ("command", "<|START_THINKING|>7?<|END_THINKING|><|START_RESPONSE|>", "7?"),
    ("gemma4", "<|channel>thought\n7?<channel|>", "7?"),
    ("kimi-k3", "<|open|>think<|sep|>7?<|close|>think<|sep|><|open|>response<|sep|>", "7?"),
    ("minimax-m3", "<mm:think>7?</mm:think>", "7?"),
    ("seed-oss", "<seed:think>7?</seed:think>\n", "7?"),
    (
        "gpt-oss",
        "<|channel|>analysis<|message|>7?<|end|><|start|>assistant<|channel|>final<|message|>",
        "7?",
    ),
];

#[test]
fn reasoning_comes_first_and_the_constraint_holds_after_it() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 7}, "a": {"uniqueItems": true, "type": "array", "items": {"type": "integer"}}}, "required": ["n"], "additionalProperties": false});
    for &(name, thought, reasoning) in THOUGHTS {
        let format = ReasoningFormat::named(name).unwrap();
        let compiler = compiler();
        let prefix = format
            .grammar(compiler.vocabulary(), ReasoningStart::Message, AfterReasoning::Answer)
            .unwrap();
        let with = compiler.clone().with_prefix(&prefix).unwrap();
        for (constraint, good, bad) in [
            (
                with.json_schema(&schema).unwrap(),
                "{\"n\": 7, \"a\": [1, 2]}",
                "{\"n\": 7, \"a\": [1, 1]}",
            ),
            (with.regex("[ab]+").unwrap(), "abba", "abc"),
            (with.choice(&["yes", "no"]).unwrap(), "no", "maybe"),
            (with.gbnf("root ::= \"(\" root \")\" | \"x\"").unwrap(), "((x))", "((x)"),
        ] {
            assert!(accepts(&constraint, &format!("{thought}{good}")), "{name}: {good}");
            for wrong in [
                good.to_owned(),
                format!("{thought}{bad}"),
                thought.to_owned(),
                format!("{thought}{thought}{good}"),
            ] {
                assert!(!accepts(&constraint, &wrong), "{name}: {wrong}");
            }
        }
        let (read, _) = read(
            MessageReader::new(Some((&format, ReasoningStart::Message))),
            &format!("{thought}yes <x>"),
            1,
        );
        assert_eq!(read, reply("yes <x>", reasoning, &[]), "{name}");
    }
    // The prompt has the opening tag.
    let think = ReasoningFormat::named("think").unwrap();
    let compiler = compiler();
    let prefix = think
        .grammar(compiler.vocabulary(), ReasoningStart::Prompt, AfterReasoning::Answer)
        .unwrap();
    let opened = compiler.clone().with_prefix(&prefix).unwrap().choice(&["yes"]).unwrap();
    assert!(accepts(&opened, "so</think>yes") && !accepts(&opened, "yes"));
    assert_eq!(
        read(MessageReader::new(Some((&think, ReasoningStart::Prompt))), "so</think>yes", 2).0,
        reply("yes", "so", &[])
    );
    // The model may leave it out; special tokens that mean nothing in a text are no part of it.
    let harmony = ReasoningFormat::named("gpt-oss").unwrap();
    let optional = |format| MessageReader::new(Some((format, ReasoningStart::Optional)));
    let thought = "<|channel|>analysis<|message|>So.<|end|><|start|>assistant";
    let answer = "<|channel|>final<|message|>Hi";
    let vocabulary = compiler.vocabulary();
    for (format, message, text, thoughts) in [
        (&think, "Hi <think>", "Hi <think>", ""),
        (&think, "<think>so</think>Hi", "Hi", "so"),
        (&think, "<thin>", "<thin>", ""),
        (&think, "<think>so<|start|> it</think>Hi<|end|> you", "Hi you", "so it"),
        (&harmony, &format!("{thought}{answer}"), "Hi", "So."),
        (&harmony, answer, "Hi", ""),
        (&harmony, "Hi", "Hi", ""),
        (&harmony, "<|channel|>finish<|message|>Hi", "finishHi", ""),
    ] {
        let found = read(optional(format).with_special_tokens(vocabulary), message, 1).0;
        assert_eq!(found, reply(text, thoughts, &[]), "{message}");
    }
    for (start, good, wrong) in [
        (ReasoningStart::Absent, [format!("{answer}!"), format!("{answer}?")], thought),
        (ReasoningStart::Optional, [format!("{answer}!"), format!("{thought}{answer}!")], "Hi!"),
    ] {
        let prefix = harmony.grammar(vocabulary, start, AfterReasoning::Answer).unwrap();
        let constraint = compiler.clone().with_prefix(&prefix).unwrap().regex("Hi[!?]").unwrap();
        assert!(good.iter().all(|text| accepts(&constraint, text)), "{start:?}");
        assert!(!accepts(&constraint, &format!("{wrong}{answer}")), "{start:?}");
        assert!(!accepts(&constraint, "Hi!"), "{start:?}");
    }
    // Tags as the vocabulary has them.
    let vocabulary = compiler.vocabulary();
    assert_eq!(think.end(vocabulary).unwrap(), Marker::Bytes(b"</think>".to_vec()));
    let mistral = ReasoningFormat::named("mistral").unwrap();
    assert_eq!(mistral.end(vocabulary).unwrap(), Marker::Token(269));
    let tokens = (0..=255u8).map(|b| Some(vec![b])).collect();
    let plain = Vocabulary::from_tokens(tokens, &[], &[]).unwrap();
    assert_eq!(mistral.end(&plain).unwrap(), Marker::Bytes(b"[/THINK]".to_vec()));
    let error = ReasoningFormat::named("gpt-oss")
        .unwrap()
        .grammar(&plain, ReasoningStart::Message, AfterReasoning::Answer)
        .unwrap_err();
    assert!(error.to_string().contains("<|end|>"), "{error}");
}

#[test]
fn reasoning_and_calls_together() {
    for &(format, message, text, _, calls) in MESSAGES {
        let name = if format == "gpt-oss" { "gpt-oss" } else { "think" };
        let thinking = ReasoningFormat::named(name).unwrap();
        let thought = match name {
            "gpt-oss" => "<|channel|>analysis<|message|>So.<|end|><|start|>assistant",
            _ => "<think>So.</think>",
        };
        let compiler = compiler();
        let prefix = thinking
            .grammar(compiler.vocabulary(), ReasoningStart::Message, AfterReasoning::ToolFormat)
            .unwrap();
        let compiler = compiler.with_prefix(&prefix).unwrap();
        let tools = ToolCalls::new(tools(), ToolFormat::named(format).unwrap());
        let constraint = tools.compile(&compiler).unwrap();
        let message = format!("{thought}{message}");
        assert!(accepts(&constraint, &message), "{message}");
        let (read, _) = read(tools.reader(Some((&thinking, ReasoningStart::Message))), &message, 1);
        assert_eq!((read.text.as_str(), read.calls.len()), (text, calls.len()), "{message}");
        assert!(read.reasoning.starts_with("So."), "{message}");
    }
}

/// Whitespace around arguments, where the options allow it, is no part of them.
#[test]
fn arguments_have_whitespace_around_them() {
    let mut options = maskwright::json_schema::Options::default();
    options.whitespace = maskwright::json_schema::Whitespace::Any;
    let compiler = compiler().with_json_options(options);
    for (format, message) in [
        ("llama3", "{\"name\": \"weather\", \"parameters\": \n{\"city\" : \"Oslo\"}\n }"),
        (
            "gpt-oss",
            "<|channel|>commentary to=functions.weather json<|message|> {\"city\": \"Oslo\"} ",
        ),
        (
            "deepseek-v3.1",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜> {\"city\":\"Oslo\"}\n<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ),
        ("llama4", "[weather (city=\"Oslo\") , time()]"),
        (
            "qwen-coder",
            "<tool_call>\n<function=weather>\n \n<parameter=city>\nOslo\n</parameter>\n \n</function>\n</tool_call>",
        ),
    ] {
        let tools = ToolCalls::new(tools(), ToolFormat::named(format).unwrap());
        let constraint = tools.compile(&compiler).unwrap();
        let said = accepts(&constraint, message);
        let (read, _) = read(tools.reader(None), message, 1);
        assert!(said, "{format}: {message}");
        assert_eq!(read.calls.len(), 1 + usize::from(format == "llama4"), "{format}");
        let arguments: serde_json::Value = serde_json::from_str(&read.calls[0].arguments).unwrap();
        assert_eq!(arguments, json!({"city": "Oslo"}), "{format}");
        assert_eq!(read.text, "", "{format}");
    }
}

/// Values that are read alike are told apart by all that the schema says of them.
#[test]
fn arguments_in_a_style_are_read_as_the_schema_accepts_them() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"type": ["string", "integer"], "maximum": 3},
            "b": {"anyOf": [{"type": "array", "maxItems": 1}, {"type": "string"}]},
            "c": {"type": ["boolean", "string"], "not": {"const": true}},
            "d": {"not": {"type": "string"}},
        },
        "additionalProperties": {"type": ["string", "null"], "minLength": 4},
    });
    let format = ToolFormat::named("qwen-coder").unwrap();
    let calls = ToolCalls::new([Tool::new("f", schema.clone()).unwrap()], format);
    let constraint = calls.compile(&compiler()).unwrap();
    for (arguments, expected) in [
        ([("a", "5"), ("b", "[1]")], json!({"a": "5", "b": [1]})),
        ([("a", "3"), ("b", "[1, 2]")], json!({"a": 3, "b": "[1, 2]"})),
        ([("c", "true"), ("d", "[\"x\"]")], json!({"c": "true", "d": ["x"]})),
        ([("c", "false"), ("e", "null")], json!({"c": false, "e": null})),
        ([("d", "-1.0"), ("e", "1234")], json!({"d": -1.0, "e": "1234"})),
    ] {
        let written = arguments
            .map(|(key, value)| format!("<parameter={key}>\n{value}\n</parameter>\n"))
            .concat();
        let message = format!("<tool_call>\n<function=f>\n{written}</function>\n</tool_call>");
        assert!(accepts(&constraint, &message), "{message}");
        for group in [1, 7, 1000] {
            let (reply, _) = read(calls.reader(None), &message, group);
            let told: serde_json::Value = serde_json::from_str(&reply.calls[0].arguments).unwrap();
            assert_eq!(told, expected, "{message}");
        }
        let mut options = maskwright::json_schema::Options::default();
        options.style = maskwright::json_schema::Style::named("qwen_xml").unwrap();
        let whole = Schema::from_value(&schema).unwrap().read_arguments(&written, &options);
        let whole: serde_json::Value = serde_json::from_str(&whole.unwrap()).unwrap();
        assert_eq!(whole, expected, "{message}");
    }
}

/// An empty string in tags is no empty list, where the schema says so.
#[test]
fn an_empty_value_is_read_as_the_schema_has_it() {
    for (other, expected) in [
        (json!({"type": "array", "items": {"type": "integer"}, "minItems": 1}), r#"{"k":""}"#),
        (json!({"type": "object", "required": ["a"]}), r#"{"k":""}"#),
    ] {
        let schema = json!({"type": "object",
            "properties": {"k": {"anyOf": [{"type": "string"}, other]}}});
        let tools = vec![Tool::new("f", schema).unwrap()];
        let calls = ToolCalls::new(tools, ToolFormat::named("minimax-m3").unwrap());
        let begin = "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"f\">";
        let end = "]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>";
        let text = format!("{begin}]<]minimax[>[<k>]<]minimax[>[</k>{end}");
        let (reply, _) = read(calls.reader(None), &text, 3);
        assert_eq!(
            reply.calls.first().map(|call| call.arguments.as_str()),
            Some(expected),
            "{text}"
        );
    }
}

/// Where the constraint closes objects, an object with other members can only be a string.
#[test]
fn strict_tools_are_read_as_they_are_written() {
    let schema = json!({"type": "object", "required": ["v"], "properties": {"v": {"anyOf": [
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"type": "string"}]}}});
    let text = "<tool_call>\n<function=f>\n<parameter=v>\n{\"a\": 1, \"b\": 2}\n</parameter>\n\
                </function>\n</tool_call>";
    for (strict, is_string) in [(true, true), (false, false)] {
        let tool = json!([{"type": "function",
            "function": {"name": "f", "strict": strict, "parameters": schema}}]);
        let calls =
            ToolCalls::new(Tool::read(&tool).unwrap(), ToolFormat::named("qwen-coder").unwrap());
        let (reply, _) = read(calls.reader(None), text, 5);
        let arguments: serde_json::Value = serde_json::from_str(&reply.calls[0].arguments).unwrap();
        assert_eq!(arguments["v"].is_string(), is_string, "{arguments}");
    }
}
