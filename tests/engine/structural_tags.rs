//! Structural tags: XGrammar's documented examples, errors with a place, and masks of random tags
//! against a machine written from the definitions (the head of `tools::structural_tag`).

#![allow(clippy::unwrap_used)]

use maskwright::regular::Dialect;
use maskwright::tools::structural_tag;
use maskwright::{Compiler, Constraint, Vocabulary};
use serde_json::{Value, json};

/// Every byte is a token; then an end token, special tokens, and ordinary ones of several bytes.
fn compiler() -> Compiler {
    let bytes = (0..=255u8).map(|byte| Some(vec![byte]));
    let more = [None, None, None, None, Some(b"tool".to_vec()), Some(b"ab".to_vec())];
    let special = [(256, "</s>"), (257, "<|tool|>"), (258, "<|end|>"), (259, "<|skip|>")];
    let vocabulary = Vocabulary::from_tokens(bytes.chain(more).collect(), &special, &[256]);
    Compiler::new(vocabulary.unwrap())
}

fn compile(compiler: &Compiler, format: &Value) -> Constraint {
    let tag = json!({"type": "structural_tag", "format": format});
    let grammar = structural_tag(&tag, compiler);
    compiler.compile(grammar.unwrap_or_else(|error| panic!("{format}\n{error}"))).unwrap()
}

/// A text in which `«257»` is the token of this id, and each other byte a token.
fn accepts(constraint: &Constraint, text: &str) -> bool {
    let mut matcher = constraint.matcher();
    let mut parts = text.split(['«', '»']);
    let mut read = |tokens: &[u32]| tokens.iter().all(|&token| matcher.accept(token).is_ok());
    while let Some(bytes) = parts.next() {
        if !read(&bytes.bytes().map(u32::from).collect::<Vec<_>>()) {
            return false;
        }
        let Some(token) = parts.next() else { break };
        if !read(&[token.parse().unwrap()]) {
            return false;
        }
    }
    matcher.is_accepting()
}

fn judge(format: &Value, yes: &[&str], no: &[&str]) {
    let constraint = compile(&compiler(), format);
    for (texts, expected) in [(yes, true), (no, false)] {
        for text in texts {
            assert_eq!(accepts(&constraint, text), expected, "{format}\non {text:?}");
        }
    }
}

fn tag(begin: Value, content: Value, end: Value) -> Value {
    json!({"type": "tag", "begin": begin, "content": content, "end": end})
}

fn text(value: &str) -> Value {
    json!({"type": "const_string", "value": value})
}

fn token(token: impl Into<Value>) -> Value {
    json!({"type": "token", "token": token.into()})
}

/// XGrammar's documentation, format by format.
#[test]
fn documented_formats() {
    judge(&text("Let's think step by step."), &["Let's think step by step."], &["", "Let's"]);
    let any = json!({"type": "any_text", "excludes": ["<function="]});
    judge(&any, &["", "a<function"], &["a<function="]);
    let within = json!({"type": "any_text", "excludes": [], "max_tokens": 4, "max_chars": 5});
    judge(&within, &["", "abcd", "«261»c«261»", "éb"], &["abcde", "«261»«261»«261»"]);
    judge(
        &json!({"type": "regex", "pattern": "[A-Z]{3}-[0-9]{4}"}),
        &["ABC-1234"],
        &["ABC-123", "abc-1234"],
    );
    judge(&json!({"type": "regex", "pattern": "a."}), &["ab", "a\n"], &["a"]);
    // Flags of the whole pattern stay at its beginning.
    for (dialect, pattern) in [(Dialect::Python, "(?i)a.|b"), (Dialect::Rust, "(?xi) a . | b # x")]
    {
        let compiler = compiler().with_regex_dialect(dialect);
        let constraint = compile(&compiler, &json!({"type": "regex", "pattern": pattern}));
        for (text, expected) in [("A\n", true), ("B", true), ("c", false)] {
            assert_eq!(accepts(&constraint, text), expected, "{pattern} on {text:?}");
        }
    }
    // ECMA-262's, like XGrammar's, unless the compiler has another dialect.
    judge(&json!({"type": "regex", "pattern": "[[][a&&b]\\d\\/"}), &["[&1/"], &["[c1/", "[a٣/"]);
    let yes_or_no = json!({"type": "grammar", "grammar": "root ::= (\"yes\" | \"no\")"});
    judge(&yes_or_no, &["yes", "no"], &["", "yesno"]);
    judge(
        &json!({"type": "or", "elements": [text("yes"), text("no")]}),
        &["yes", "no"],
        &["yesno"],
    );
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {}},
        "required": ["a"], "additionalProperties": false});
    let json = json!({"type": "json_schema", "json_schema": schema, "style": "json",
        "any_order": false, "max_whitespace_cnt": null, "excludes": []});
    judge(&json, &["{\"a\": 1}", "{\"a\": 1, \"b\": 2}"], &["{}", "{\"b\": 2, \"a\": 1}"]);
    let json = json!({"type": "json_schema", "json_schema": schema, "any_order": true,
        "max_whitespace_cnt": 2});
    judge(
        &json,
        &["{\"b\":  2,\"a\":\n 1}", "{\"a\":1}"],
        &["{}", "{\"a\":   1}", "{\"a\":1,\"a\":1}"],
    );
    let json =
        json!({"type": "json_schema", "json_schema": {"type": "string"}, "excludes": ["<|"]});
    judge(&json, &["\"<\"", "\"a|\""], &["\"<|\"", "\"a<|\""]);
    let styled = json!({"type": "qwen_xml_parameter", "json_schema": schema});
    judge(&styled, &["<parameter=a>1</parameter>"], &["{\"a\": 1}", ""]);
    // A gap around all arguments, as tags have it: `…</parameter>\n</invoke>`.
    let one = "<parameter=a>1</parameter>";
    let [after, around] = [format!("{one}\n"), format!("\n{one}\n")];
    let [twice, wide] = [format!("{one}\n\n"), format!("\n\n{one}")];
    judge(&styled, &[&after, &around], &[&twice, &wide]);
    let bracketed = json!({"type": "json_schema", "style": "gemma_4", "json_schema": schema});
    judge(&bracketed, &["{a:1}"], &["\n{a:1}", "{a:1}\n"]);
    let spaced = json!({"type": "json_schema", "style": "qwen_xml", "json_schema": schema,
        "max_whitespace_cnt": 2});
    judge(&spaced, &[&twice, &wide, &around], &[&format!("{one}\n\n\n")]);
    for (format, yes, no) in [
        (json!({"type": "optional", "content": text("x")}), &["", "x"][..], &["xx"][..]),
        (json!({"type": "plus", "content": text("x")}), &["x", "xxx"], &[""]),
        (json!({"type": "star", "content": text("x")}), &["", "xx"], &["y"]),
        (
            json!({"type": "repeat", "min": 1, "max": 3, "content": text("x")}),
            &["x", "xxx"],
            &["", "xxxx"],
        ),
        (
            json!({"type": "repeat", "min": 2, "max": -1, "content": text("x")}),
            &["xx", "xxxxx"],
            &["x"],
        ),
    ] {
        judge(&format, yes, no);
    }
    let answer = tag(json!("<r>"), json!({"type": "any_text"}), json!(["</r>", "</answer>"]));
    judge(&tag(json!("<r>"), json!({"type": "any_text"}), json!("")), &["<r>", "<r>a"], &["<"]);
    judge(&answer, &["<r>a</r>", "<r></answer>"], &["<r>a", "<r>a</r></r>"]);
}

#[test]
fn documented_dispatches() {
    let rules = json!([["<f=1>", text("a")], ["<f=2>", text("b")]]);
    let dispatch = |is_loop: bool| json!({"type": "dispatch", "rules": rules, "loop": is_loop, "excludes": ["</end>"]});
    judge(&dispatch(true), &["", "x<f=3", "q<f=1>a.<f=2>b"], &["<f=1>", "<f=1>b", "</end>"]);
    judge(&dispatch(false), &["x", "q<f=1>a"], &["q<f=1>a.", "<f=1>a<f=2>b"]);
    // The end of the tag is free text unless it is excluded, as XGrammar's documentation says.
    let within = |dispatch: Value| tag(json!("<r>"), dispatch, json!("</end>"));
    judge(&within(dispatch(true)), &["<r>x<f=1>a</end>"], &["<r></end></end>"]);
    // The leftmost trigger wins, and any of those that begin there.
    let nested = json!({"type": "dispatch",
        "rules": [["ab", text("1")], ["abc", text("2")], ["b", text("3")]]});
    judge(&nested, &["ab1", "abc2", "xb3", "ab1b3", "aab1"], &["ab3", "ab", "abb3", "abc", "abc1"]);
    // An excluded text may end within the content, not within the trigger.
    let excluded =
        json!({"type": "dispatch", "rules": [["abc", text("1")]], "excludes": ["bc", "cd"]});
    judge(&excluded, &["ab", ""], &["abc1", "xbc"]);

    let call =
        |name: &str, body: &str| tag(json!(format!("<f={name}>")), text(body), json!("</f>"));
    let triggered = |at_least_one: bool, stop_after_first: bool| {
        json!({"type": "triggered_tags", "triggers": ["<f"], "tags": [call("1", "a"), call("2", "b")],
            "at_least_one": at_least_one, "stop_after_first": stop_after_first, "excludes": ["!"]})
    };
    let (one, two) = ("<f=1>a</f>", "<f=1>a</f>x<f=2>b</f>");
    judge(&triggered(false, false), &["", "x<", one, two], &["<f", "x!", "<f=3>", "<f=1>b</f>"]);
    judge(&triggered(true, false), &[one, two, "<f=2>b</f>."], &["", "x<f=1>a</f>"]);
    judge(&triggered(false, true), &["", "x", "x<f=1>a</f>"], &[two, "<f=1>a</f>."]);
    judge(&triggered(true, true), &[one], &["", two, "x"]);
    let around = tag(json!("("), triggered(false, false), json!([")", ""]));
    judge(&around, &["(", "(x)", "(<f=1>a</f>)"], &["(x))", "(<f=1>)</f>)"]);
    let separated = json!({"type": "tags_with_separator", "tags": [call("1", "a"), call("2", "b")],
        "separator": ", ", "at_least_one": true, "stop_after_first": false});
    judge(&separated, &[one, "<f=1>a</f>, <f=2>b</f>"], &["", two, "<f=1>a</f>,"]);
    let older = json!({"type": "structural_tag", "triggers": ["<f"], "structures":
        [{"begin": "<f=1>", "schema": {"type": "integer"}, "end": "</f>"}]});
    let constraint = compiler().compile(structural_tag(&older, &compiler()).unwrap()).unwrap();
    assert!(accepts(&constraint, "so <f=1>12</f>.") && !accepts(&constraint, "<f=1>x</f>"));
    // As SGLang writes it for tools, of which one has no parameters.
    let older = json!({"type": "structural_tag", "triggers": ["<f"], "at_least_one": true,
        "structures": [{"begin": "<f=1>", "end": "</f>"}]});
    let constraint = compiler().compile(structural_tag(&older, &compiler()).unwrap()).unwrap();
    assert!(accepts(&constraint, "<f=1>{}</f>.") && !accepts(&constraint, "so"));
}

#[test]
fn documented_tokens() {
    // By id and by text, special and ordinary; an ordinary one is no other tokens with its bytes.
    for (format, id) in [(token(257), 257), (token("<|tool|>"), 257), (token("tool"), 260)] {
        judge(&format, &[&format!("«{id}»")], &["", "tool", "<|tool|>", "«258»"]);
    }
    let other = json!({"type": "exclude_token", "exclude_tokens": ["<|tool|>", 97]});
    judge(&other, &["b", "«258»", "«261»"], &["a", "«257»", "«256»", "", "bb"]);
    let any = json!({"type": "any_tokens", "exclude_tokens": ["tool"], "max_tokens": 2});
    judge(&any, &["", "ab", "«257»t"], &["abc", "«260»"]);
    let think = tag(token("<|tool|>"), json!({"type": "any_tokens"}), token("<|end|>"));
    judge(&think, &["«257»«258»", "«257»x«259»«260»«258»"], &["«257»", "«257»«258»«258»"]);
    let call = |begin: &str, body: &str| tag(token(begin), text(body), token("<|end|>"));
    let triggered = |at_least_one: bool, stop_after_first: bool| {
        json!({"type": "token_triggered_tags", "trigger_tokens": [257, "tool"],
            "tags": [call("<|tool|>", "a"), call("tool", "b")], "exclude_tokens": ["<|skip|>"],
            "at_least_one": at_least_one, "stop_after_first": stop_after_first})
    };
    let (one, two) = ("«257»a«258»", "«257»a«258»x«260»b«258»");
    let free = "x«258»tool";
    judge(&triggered(false, false), &["", free, one, two], &["«257»", "«259»", "«260»a«258»"]);
    judge(&triggered(true, false), &[one, two], &["", "x«257»a«258»"]);
    judge(&triggered(false, true), &["", free, "x«257»a«258»"], &[two]);
    judge(&triggered(true, true), &[one], &["", two]);
    let within = tag(json!("("), triggered(false, false), token("<|end|>"));
    judge(&within, &["(x«258»", "(«257»a«258»«258»"], &["(x", "(«258»«258»"]);
    let dispatch = json!({"type": "token_dispatch", "rules": [[257, text("x")]],
        "exclude_tokens": ["<|skip|>"]});
    judge(&dispatch, &["", "a«257»xb«258»«257»x"], &["«257»", "«259»"]);
}

/// Names of special tokens in texts are those tokens, too; free text holds no others.
#[test]
fn special_tokens_by_their_names_in_texts() {
    judge(&text("a<|tool|>b"), &["a<|tool|>b", "a«257»b"], &["ab", "a«258»b", "«257»b"]);
    let think = tag(json!("<t>"), json!({"type": "any_text"}), json!(["<|end|>", "."]));
    judge(&think, &["<t>a«258»", "<t>a<|end|>", "<t>."], &["<t>a«257»«258»", "<t>a.«258»"]);
    let triggered = json!({"type": "triggered_tags", "triggers": ["\n<|tool|>f"],
        "tags": [tag(json!("\n<|tool|>f1"), text("a"), json!("<|end|>"))]});
    judge(
        &triggered,
        &["", "x\n<|tool|>f1a<|end|>", "x\n«257»f1a«258»y", "\n<|tool|>g"],
        &["«257»", "\n«257»", "x«257»f1a«258»", "\n«257»f2", "\n<|tool|>f"],
    );
}

/// The signs of a style are tokens where the vocabulary has them, text where it does not.
#[test]
fn signs_of_styles_by_their_tokens() {
    let bytes = (0..=255u8).map(|byte| Some(vec![byte])).collect();
    let special = [(256, "</s>"), (257, "<|tool_call>"), (258, "<tool_call|>"), (259, "<|\"|>")];
    let vocabulary = Vocabulary::from_tokens(bytes, &special, &[256]).unwrap();
    let schema = json!({"properties": {"city": {"type": "string"}}, "additionalProperties": false});
    let arguments = json!({"type": "json_schema", "json_schema": schema, "style": "gemma_4"});
    let call = tag(json!("<|tool_call>call:f"), arguments, json!("<tool_call|>"));
    let constraint = compile(&Compiler::new(vocabulary), &call);
    assert!(accepts(&constraint, "«257»call:f{city:«259»Rome«259»}«258»"));
    assert!(!accepts(&constraint, "«257»call:f{city:<|\"|>Rome<|\"|>}«258»"));
    assert!(!accepts(&constraint, "«257»call:f{city:«259»Rome«259»«259»}«258»"));
    let constraint = compile(&compiler(), &call);
    assert!(accepts(&constraint, "<|tool_call>call:f{city:<|\"|>Rome<|\"|>}<tool_call|>"));
}

#[test]
fn errors_have_a_place() {
    let any = json!({"type": "any_text"});
    let call = tag(json!("<f>"), text("a"), json!("</f>"));
    let triggered =
        |triggers: Value| json!({"type": "triggered_tags", "triggers": triggers, "tags": [call]});
    for (format, pointer, word) in [
        (json!({"type": "json_schema", "json_schema": 5}), "/json_schema", "object"),
        (
            json!({"type": "json_schema", "json_schema": true, "max_whitespace_cnt": 0}),
            "/max_whitespace_cnt",
            "positive",
        ),
        (json!({"type": "json_schema", "json_schema": true, "style": "yaml"}), "/style", "yaml"),
        (json!({"type": "any_text", "max_tokens": -5}), "/max_tokens", "integer"),
        (json!({"type": "any_text", "max_chars": 2.5}), "/max_chars", "integer"),
        (json!({"type": "any_text", "most": 1}), "/most", "most"),
        (json!({"type": "regex", "pattern": ""}), "/pattern", "empty"),
        (
            json!({"type": "json_schema", "json_schema": {"items": {"type": "objec"}}}),
            "/json_schema/items/type",
            "objec",
        ),
        (json!({"type": "regex", "pattern": "(a"}), "/pattern", "never closed"),
        (json!({"type": "regex", "pattern": "a)|(b"}), "/pattern", "`)`"),
        (json!({"type": "grammar", "grammar": "root ::= x"}), "/grammar", "never defined"),
        (json!({"type": "sequence", "elements": []}), "/elements", "empty"),
        (json!({"type": "or", "elements": ["x"]}), "/elements/0", "objects"),
        (json!({"type": "repeat", "min": 3, "max": 2, "content": any}), "/min", "greater"),
        (json!({"type": "tags"}), "/type", "no format"),
        (json!({"type": "object", "properties": {}}), "/type", "\"json_schema\": …"),
        (tag(json!("<a>"), any.clone(), json!([])), "/end", "is empty"),
        (tag(json!("<a>"), any.clone(), json!([1])), "/end/0", "text"),
        (tag(any.clone(), any.clone(), json!("x")), "/begin/type", "type `token`"),
        (triggered(json!([])), "/triggers", "empty"),
        (triggered(json!([""])), "/triggers/0", "empty"),
        (triggered(json!(["<", "<f"])), "/tags/0/begin", "two triggers"),
        (triggered(json!(["<g"])), "/tags/0/begin", "no trigger"),
        (triggered(json!(["<f", "x"])), "/triggers/1", "no tag"),
        (json!({"type": "dispatch", "rules": []}), "/rules", "empty"),
        (json!({"type": "dispatch", "rules": [["a"]]}), "/rules/0", "pattern"),
        (token("<|no|>"), "/token", "no token"),
        (token(1_000_000), "/token", "no token"),
        (token(true), "/token", "id or its text"),
        (
            json!({"type": "token_dispatch", "rules": [[7, text("a")]], "exclude_tokens": [7]}),
            "/rules/0/0",
            "excluded",
        ),
        (
            json!({"type": "token_triggered_tags", "trigger_tokens": [7],
                "tags": [tag(token(8), text("a"), json!("x"))]}),
            "/tags/0/begin/token",
            "no trigger",
        ),
        (
            json!({"type": "token_triggered_tags", "trigger_tokens": [7],
                "tags": [tag(json!("a"), text("a"), json!("x"))]}),
            "/tags/0/begin",
            "token",
        ),
    ] {
        let value = json!({"type": "structural_tag", "format": format});
        let Err(error) = structural_tag(&value, &compiler()) else { panic!("{format}") };
        let expected = format!("/format{pointer}");
        assert_eq!(error.place().pointer.as_deref(), Some(&*expected), "{format}\n{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
    let older = json!({"type": "structural_tag", "max_new_tokens": 9, "triggers": ["<"], "structures":
        [{"begin": "<f>", "schema": {}, "end": ""}]});
    let error = structural_tag(&older, &compiler()).unwrap_err();
    assert!(error.to_string().contains("`max_tokens` of the request"), "{error}");
    let mut deep = text("a");
    for _ in 0..200 {
        deep = json!({"type": "optional", "content": deep});
    }
    let value = json!({"type": "structural_tag", "format": deep});
    assert!(structural_tag(&value, &compiler()).unwrap_err().to_string().contains("128"));
}
