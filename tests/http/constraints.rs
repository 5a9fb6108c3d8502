//! Constraints under the names that OpenAI and other servers give them.

use serde_json::{Value, json};

use crate::model_support::hey;
use crate::tools::{WITH_TOOLS, two_tools};
use crate::{chat, serve, serve_with};

#[test]
fn a_response_format_is_enforced() {
    let address = serve(hey("http-format"), &[]);
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "minLength": 1, "maxLength": 4 },
            "age": { "type": "integer", "minimum": 0, "maximum": 150 },
        },
        "required": ["name", "age"],
        "additionalProperties": false,
    });
    let format = json!({
        "type": "json_schema",
        "json_schema": { "name": "person", "strict": true, "schema": schema },
    });
    let validator = jsonschema::validator_for(&schema).unwrap();
    for seed in 0..5 {
        let fields = json!({ "response_format": format, "temperature": 1, "seed": seed });
        let answer = chat(address, "http-format", fields.clone()).json();
        assert_eq!(answer["choices"][0]["finish_reason"], "stop", "{answer}");
        let text = answer["choices"][0]["message"]["content"].as_str().unwrap();
        let value = serde_json::from_str(text).unwrap();
        assert!(validator.is_valid(&value), "{text}");
        // The same request is the same text, also in pieces.
        let mut fields = fields;
        fields["stream"] = json!(true);
        let events = chat(address, "http-format", fields).events();
        let pieces: String = events
            .iter()
            .filter_map(|event| serde_json::from_str::<Value>(event).ok())
            .filter_map(|event| Some(event["choices"][0]["delta"]["content"].as_str()?.to_owned()))
            .collect();
        assert_eq!(pieces, text);
    }
    let any = json!({ "response_format": { "type": "json_object" }, "max_tokens": 5 });
    let answer = chat(address, "http-format", any).json();
    assert!(answer["choices"][0]["message"]["content"].as_str().unwrap().starts_with('{'));
}

#[test]
fn other_servers_names_for_constraints_are_read() {
    let model = "http-constraints";
    let address = serve(hey(model), &[]);
    let tag = json!({ "type": "tag", "begin": "<n>", "end": "</n>",
        "content": { "type": "regex", "pattern": "[0-9]{2}" } });
    let older = json!({ "triggers": ["<n>"],
        "structures": [{ "begin": "<n>", "schema": { "const": 1 }, "end": "</n>" }] });
    let not = json!({ "allOf": [{ "regex": "a|b|c" }, { "not": { "choice": ["a", "c"] } }] });
    let one = r#"{"const":[1]}"#;
    let named =
        json!({ "type": "object", "properties": { "a": { "const": 1 } }, "minProperties": 1 });
    let closed = r#"^\{\s*"a":\s?1\s*\}$"#;
    for (fields, pattern) in [
        (json!({ "structured_outputs": { "regex": "[xy]{3}" } }), "^[xy]{3}$"),
        // ECMA-262's, unless a dialect is named.
        (json!({ "structured_outputs": { "regex": r"[[]\cJ" } }), r"^\[\n$"),
        (json!({ "guided_regex": r"[[]\/" }), "^\\[/$"),
        (
            json!({ "structured_outputs": { "regex": r"[[]\Z", "regex_dialect": "python" } }),
            r"^\[$",
        ),
        (
            json!({ "structured_outputs": { "grammar": "root ::= a a\na ::= \"x\"", "start": "a" } }),
            "^x$",
        ),
        (json!({ "structured_outputs": { "gbnf": "a ::= \"x\"", "start": "a" } }), "^x$"),
        (
            json!({ "structured_outputs": { "lark": "start: /[[]/", "regex_dialect": "python" } }),
            r"^\[$",
        ),
        (json!({ "structured_outputs": { "choice": ["red", "blue"] } }), "^(red|blue)$"),
        (json!({ "structured_outputs": { "json": { "const": [1] } } }), r"^\[\s*1\s*\]$"),
        (json!({ "structured_outputs": { "json": one } }), r"^\[\s*1\s*\]$"),
        (
            json!({ "structured_outputs": { "json": { "enum": [[1, 2]] },
            "disable_any_whitespace": true } }),
            r"^\[1,2\]$",
        ),
        (
            json!({ "structured_outputs": { "style": "qwen_xml", "json":
                { "properties": { "a": { "const": "<1>" } }, "required": ["a"], "additionalProperties": false } } }),
            "^<parameter=a>\n?<1>\n?</parameter>$",
        ),
        (
            json!({ "structured_outputs": { "json": named, "disable_additional_properties": true } }),
            closed,
        ),
        (
            json!({ "response_format": { "type": "json_schema",
                "json_schema": { "name": "n", "strict": true, "schema": named } } }),
            closed,
        ),
        (
            json!({ "structured_outputs": { "json": { "x-guidance": {
                "whitespace_flexible": false, "item_separator": " ,\\s" }, "enum": [[1, 2]] } } }),
            r"^\[1 ,[ \t\r\n]2\]$",
        ),
        (json!({ "structured_outputs": { "grammar": "root ::= \"a\" | \"b\"" } }), "^[ab]$"),
        (json!({ "structured_outputs": { "grammar": "start: \"a\" | /b{2}/" } }), "^(a|bb)$"),
        (
            json!({ "structured_outputs": { "grammar": "{\"grammars\": [{\"lark_grammar\": \"start: \\\"a\\\" @b\"}, {\"name\": \"b\", \"json_schema\": {\"const\": 1}}]}" } }),
            "^a1$",
        ),
        (json!({ "structured_outputs": { "abnf": "a = %x61 / \"?\"\n" } }), "^[a?]$"),
        (json!({ "structured_outputs": not }), "^b$"),
        (
            json!({ "structured_outputs": { "structural_tag":
            { "type": "structural_tag", "format": tag } } }),
            "^<n>[0-9]{2}</n>$",
        ),
        (
            json!({ "response_format": { "type": "structural_tag", "no_such": null,
                "format": { "type": "tag", "begin": "<n>", "end": "</n>", "no_such": null,
                    "content": { "type": "regex", "pattern": "[0-9]{2}", "no_such": null } } } }),
            "^<n>[0-9]{2}</n>$",
        ),
        (
            json!({ "structured_outputs": { "anyOf": [
                { "regex": "[xy]{3}", "choice": null }, { "schema": { "const": null } }] } }),
            "^([xy]{3}|null)$",
        ),
        (
            json!({ "response_format": { "type": "structural_tag", "format": tag } }),
            "^<n>[0-9]{2}</n>$",
        ),
        (json!({ "structured_outputs": { "structural_tag": older }, "max_tokens": 20 }), "^"),
        (
            // As text, in the fields of vLLM and SGLang.
            json!({ "structured_outputs": { "structural_tag":
                json!({ "type": "structural_tag", "format": tag }).to_string() } }),
            "^<n>[0-9]{2}</n>$",
        ),
        (
            json!({ "structural_tag":
                json!({ "type": "structural_tag", "format": tag }).to_string() }),
            "^<n>[0-9]{2}</n>$",
        ),
        (json!({ "guided_regex": "[xy]{3}", "guided_decoding_backend": "xgrammar" }), "^[xy]{3}$"),
        (json!({ "guided_choice": ["red", "blue"] }), "^(red|blue)$"),
        (json!({ "guided_json": { "const": [1] } }), r"^\[\s*1\s*\]$"),
        (json!({ "guided_grammar": "root ::= [ab]" }), "^[ab]$"),
        // By its old name and its new one, as guidance's client writes it.
        (
            json!({ "guided_grammar": "root ::= [ab]",
                "structured_outputs": { "grammar": "root ::= [ab]" } }),
            "^[ab]$",
        ),
        (json!({ "grammar": "root ::= [ab]", "response_format": { "type": "text" } }), "^[ab]$"),
        (json!({ "grammar": "start: /a/" }), "^a$"),
        (json!({ "grammar": "semver", "max_tokens": 12 }), r"^[0-9]+\."),
        (json!({ "json_schema": { "const": [1] } }), r"^\[\s*1\s*\]$"),
        (
            json!({ "response_format": { "type": "json_object", "schema": { "const": [1] } } }),
            r"^\[\s*1\s*\]$",
        ),
        (
            json!({ "response_format": { "type": "json_schema", "schema": { "const": [1] } } }),
            r"^\[\s*1\s*\]$",
        ),
        (json!({ "regex": "[xy]{3}" }), "^[xy]{3}$"),
        (json!({ "ebnf": "root ::= [ab]" }), "^[ab]$"),
        (json!({ "ebnf": "a ::= [ab]\nroot ::= a a", "start": "a" }), "^[ab]$"),
        (json!({ "guided_grammar": "s = 2%x61\nt = %x62\n", "start": "t" }), "^b$"),
        (json!({ "regex": "[a-c&&[^a]]", "regex_dialect": "rust" }), "^[bc]$"),
        (json!({ "guided_regex": "[[:digit:]]", "regex_dialect": "rust" }), "^[0-9]$"),
        (json!({ "regex": "[a&&b]", "regex_dialect": "ecma" }), "^[a&b]$"),
    ] {
        let answer = chat(address, model, fields.clone());
        assert_eq!(answer.status, 200, "{fields}: {}", answer.body);
        let message = &answer.json()["choices"][0]["message"];
        let text = message["content"].as_str().unwrap();
        assert!(regex::Regex::new(pattern).unwrap().is_match(text), "{fields}: {text:?}");
    }
    for (fields, param, words) in [
        (json!({ "structured_outputs": {} }), "structured_outputs", "no constraint"),
        (
            json!({ "structured_outputs": { "regex": "a", "choice": ["a"] } }),
            "structured_outputs.choice",
            "allOf",
        ),
        (json!({ "structured_outputs": { "xml": "a" } }), "structured_outputs.xml", "supported"),
        (json!({ "structured_outputs": { "regex": "(" } }), "structured_outputs.regex", ""),
        (
            json!({ "structured_outputs": { "json": {}, "start": "a" } }),
            "structured_outputs.start",
            "does not apply to `structured_outputs.json`",
        ),
        (
            json!({ "structured_outputs": { "choice": ["a"], "style": "qwen_xml" } }),
            "structured_outputs.style",
            "it is for json",
        ),
        (
            json!({ "structured_outputs": { "json": true, "style": "yaml" } }),
            "structured_outputs.style",
            "use one of json, qwen_xml",
        ),
        (
            json!({ "structured_outputs": { "choice": ["a"], "regex_dialect": "ecma" } }),
            "structured_outputs.choice",
            "does not apply to `choice`",
        ),
        (
            json!({ "structured_outputs": { "grammar": "root ::= \"a\"", "regex_dialect": "pcre" } }),
            "structured_outputs.regex_dialect",
            "known are rust, ecma, python",
        ),
        (
            json!({ "structured_outputs": { "grammar": "root ::= (" } }),
            "structured_outputs.grammar",
            "line 1, column",
        ),
        (
            json!({ "structured_outputs": { "grammar": "sequel" } }),
            "structured_outputs.grammar",
            "sql",
        ),
        (
            json!({ "structured_outputs": { "structural_tag": { "format": { "type": "tags" } } } }),
            "structured_outputs.structural_tag",
            "/format/type",
        ),
        (json!({ "structured_outputs": { "json": 7 } }), "structured_outputs.json", "JSON Schema"),
        (
            json!({ "structured_outputs": { "not": { "grammar": "json" } } }),
            "structured_outputs.not",
            "/not/grammar",
        ),
        (json!({ "guided_json": "{" }), "guided_json", "no JSON"),
        (
            json!({ "structured_outputs": { "choices": ["a"] } }),
            "structured_outputs.choices",
            "`choice` is",
        ),
        (
            json!({ "guided_regex": "a", "response_format": { "type": "json_object" } }),
            "guided_regex",
            "allOf",
        ),
        (json!({ "grammar": "start: /a" }), "grammar", "line 1"),
        // Other things in Rust's dialect.
        (json!({ "regex": "x[[:alpha:]]" }), "regex", "`[:alpha:]` in a class"),
        (
            json!({ "structured_outputs": { "not": { "search": "[a-z&&[^b]]" } } }),
            "structured_outputs.not",
            "`&&` in a class",
        ),
        (json!({ "start": "a" }), "start", "needs a grammar"),
        (json!({ "json_schema": {}, "regex_dialect": "ecma" }), "regex_dialect", "`json_schema`"),
        (
            json!({ "structured_outputs": { "regex": "a" }, "start": "a" }),
            "start",
            "beside its constraint",
        ),
        (json!({ "ebnf": "root ::= [ab]", "start": "c" }), "ebnf", "no rule `c`"),
    ] {
        let answer = chat(address, model, fields.clone());
        assert_eq!(answer.status, 400, "{fields}: {}", answer.body);
        let error = &answer.json()["error"];
        assert_eq!(error["param"], param, "{fields}: {error}");
        assert!(error["message"].as_str().unwrap().contains(words), "{fields}: {error}");
    }
    let model = "http-constraints-tools";
    let address = serve_with(model, WITH_TOOLS);
    let fields = json!({ "tools": two_tools(), "tool_choice": "none", "guided_regex": "[xy]{3}" });
    let message = &chat(address, model, fields).json()["choices"][0]["message"];
    assert!(regex::Regex::new("^[xy]{3}$").unwrap().is_match(message["content"].as_str().unwrap()));
}

/// Documents that come with a request, wherever a schema stands in it.
#[test]
fn references_lead_to_documents_of_the_request() {
    let model = "http-resources";
    let address = serve(hey(model), &[]);
    let uri = "https://example.org/defs/yes.json";
    let schema = json!({ "$ref": "https://example.org/defs/other.json#/$defs/yes" });
    let resources = json!({
        "https://example.org/defs/other.json": { "$defs": { "yes": { "$ref": "yes.json" } } },
        uri: { "const": "yes" },
    });
    let format = json!({ "type": "json_schema",
        "json_schema": { "name": "x", "schema": schema, "resources": resources } });
    for fields in [
        json!({ "response_format": format }),
        json!({ "guided_json": schema, "resources": resources }),
        json!({ "structured_outputs": { "json": schema, "resources": resources } }),
        json!({ "structured_outputs": { "anyOf": [{ "schema": schema }], "resources": resources } }),
        json!({ "response_format": { "type": "json_object", "schema": schema,
            "resources": resources } }),
    ] {
        let answer = chat(address, model, fields.clone());
        assert_eq!(answer.status, 200, "{fields}: {}", answer.body);
        assert_eq!(answer.json()["choices"][0]["message"]["content"], "\"yes\"", "{fields}");
    }
    let tool = json!({ "type": "function", "function": { "name": "f", "parameters": {
        "type": "object", "properties": { "a": schema }, "required": ["a"],
        "additionalProperties": false } } });
    let fields = json!({ "tools": [tool], "tool_choice": "required",
        "parallel_tool_calls": false, "resources": resources });
    let answer = chat(address, model, fields).json();
    let arguments = &answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"];
    let arguments: Value = serde_json::from_str(arguments.as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({ "a": "yes" }));
    // Not those of other requests.
    for (fields, param, says) in [
        (json!({ "guided_json": schema }), "guided_json", "which is not supplied"),
        (
            json!({ "structured_outputs": { "json": schema, "resources": resources },
                "resources": resources }),
            "structured_outputs.resources",
            "is supplied twice",
        ),
        (json!({ "resources": { "https://a.b/#c": {} } }), "resources", "URI of a whole document"),
        (
            json!({ "resources": { uri: 1 } }),
            "resources.https://example.org/defs/yes.json",
            "a JSON",
        ),
        (json!({ "resources": [] }), "resources", "an object from URIs"),
        (
            json!({ "guided_json": schema, "resources": { "https://example.org/defs/other.json":
                { "$defs": { "yes": { "type": "sting" } } } } }),
            "guided_json",
            "https://example.org/defs/other.json: at /$defs/yes/type",
        ),
    ] {
        let answer = chat(address, model, fields.clone());
        assert_eq!(answer.status, 400, "{fields}: {}", answer.body);
        let error = &answer.json()["error"];
        assert_eq!(error["param"], param, "{error}");
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
    }
}

#[test]
fn captures_of_a_grammar_are_told() {
    let model = "http-captures";
    let address = serve(hey(model), &[]);
    let grammar = "start: (word \"-\")~2\nword[capture]: /[xyz]{2}/";
    let fields = json!({ "structured_outputs": { "grammar": grammar }, "max_tokens": 20 });
    let answer = chat(address, model, fields.clone()).json();
    let choice = &answer["choices"][0];
    let text = choice["message"]["content"].as_str().unwrap();
    let expected = json!([
        { "name": "word", "text": text[..2], "start": 0, "end": 2 },
        { "name": "word", "text": text[3..5], "start": 3, "end": 5 },
    ]);
    assert_eq!(choice["captures"], expected, "{answer}");
    let mut streamed = fields;
    streamed["stream"] = json!(true);
    let events = chat(address, model, streamed).events();
    let last = events.iter().rev().find(|event| event.contains("captures")).unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["choices"][0]["captures"], expected);
    // They stand in the content, which has no reasoning.
    let mut thinking = json!({ "structured_outputs": { "grammar": grammar }, "max_tokens": 60 });
    thinking["reasoning_budget"] = json!(4);
    let thought = chat(address, model, thinking).json()["choices"][0].clone();
    assert!(thought["message"]["reasoning_content"].is_string(), "{thought}");
    let content = thought["message"]["content"].as_str().unwrap();
    for capture in thought["captures"].as_array().unwrap() {
        let at = |name: &str| capture[name].as_u64().unwrap() as usize;
        assert_eq!(content[at("start")..at("end")], *capture["text"].as_str().unwrap());
    }
    // Without captures there is no such member.
    let plain = json!({ "structured_outputs": { "regex": "x" } });
    assert!(chat(address, model, plain).json()["choices"][0].get("captures").is_none());
}

#[test]
fn a_rule_has_a_temperature_of_its_own() {
    let model = "http-temperature";
    let address = serve(hey(model), &[]);
    let text = |temperature: &str, seed: u32| {
        let grammar = format!("start: word\nword[temperature={temperature}]: /[a-z]{{8}}/");
        let fields = json!({ "structured_outputs": { "grammar": grammar }, "temperature": 2,
            "max_tokens": 20, "seed": seed });
        let answer = chat(address, model, fields).json();
        answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
    };
    let all = |temperature| -> Vec<String> { (0..4).map(|seed| text(temperature, seed)).collect() };
    let (cold, warm) = (all("0"), all("1000"));
    assert!(cold.iter().all(|text| *text == cold[0]), "{cold:?}");
    assert!(warm.iter().any(|text| *text != warm[0]), "{warm:?}");
}
