//! `/v1/constraints/…`, `/v1/tokenize`, `/v1/detokenize`, `/ready`, and the options of one request.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::model_support::{byte_tokenizer, hey};
use crate::{Answer, chat, send, serve, serve_with};

fn post(address: SocketAddr, path: &str, body: &Value) -> Answer {
    let head = format!("POST {path} HTTP/1.1\r\nContent-Type: application/json");
    send(address, &head, &body.to_string())
}

/// The answer, which must be one.
fn posted(address: SocketAddr, path: &str, body: &Value) -> Value {
    let answer = post(address, path, body);
    assert_eq!(answer.status, 200, "{path} {body}: {}", answer.body);
    answer.json()
}

fn person() -> Value {
    json!({ "type": "object", "properties": { "age": { "type": "integer", "maximum": 9 } },
        "required": ["age"], "additionalProperties": false })
}

#[test]
fn texts_are_checked() {
    let address = serve(hey("http-check"), &[]);
    let check = |fields: Value| posted(address, "/v1/constraints/check", &fields);
    for tokens in [false, true] {
        let fields =
            |text: &str| json!({ "json_schema": person(), "text": text, "tokens": tokens });
        assert_eq!(check(fields(r#"{"age": 7}"#)), json!({ "accepted": true }));
        let rejected = check(fields(r#"{"age": "x"}"#));
        assert_eq!(rejected["accepted"], json!(false));
        assert_eq!((&rejected["byte"], &rejected["column"]), (&json!(8), &json!(9)), "{rejected}");
        assert_eq!(rejected["keyword"], json!("/properties/age/maximum"));
        assert!(rejected["message"].as_str().unwrap().contains("expected"), "{rejected}");
        let missing = check(fields("{}"));
        assert_eq!(missing["missing"]["names"], json!(["age"]), "{missing}");
    }
    // An option under which a text is accepted is named.
    let other = check(json!({ "json_schema": person(), "text": "{ \t\"age\":7}" }));
    assert!(other["option"].as_str().unwrap().contains(r#"{"whitespace":"any"}"#), "{other}");
    let any = json!({ "json_schema": person(), "text": "{ \t\"age\":7}",
        "constraint_options": { "whitespace": "any" } });
    assert_eq!(check(any), json!({ "accepted": true }));
    // Other constraints, and several texts; the innermost rule is named.
    let several = check(json!({ "structured_outputs": { "regex": "a+" }, "texts": ["aa", "b"] }));
    assert_eq!(several["results"][0], json!({ "accepted": true }));
    assert_eq!(several["results"][1]["byte"], json!(0));
    let grammar = "root ::= item+\nitem ::= [0-9]";
    let rule = check(json!({ "grammar": grammar, "text": "1x" }));
    assert_eq!(rule["keyword"], json!("rule `item` (2:10)"), "{rule}");
    for (body, param) in [
        (json!({ "text": "a" }), Value::Null),
        (json!({ "extra_body": { "regex": "a" }, "text": "a" }), json!("extra_body")),
        (json!({ "regex": "a" }), json!("text")),
        (json!({ "regex": "a", "text": "a", "texts": [] }), json!("texts")),
        (json!({ "regex": "a", "text": "a", "model": "other" }), json!("model")),
        (json!({ "regex": "a", "text": "a", "temperature": 1 }), json!("temperature")),
        (json!({ "regex": "(", "text": "a" }), json!("regex")),
    ] {
        let answer = post(address, "/v1/constraints/check", &body);
        assert!(matches!(answer.status, 400 | 404), "{body}: {}", answer.body);
        assert_eq!(answer.json()["error"]["param"], param, "{body}");
    }
}

#[test]
fn schemas_are_linted_and_sampled() {
    let address = serve(hey("http-lint"), &[]);
    let schema = json!({ "type": "string", "maxLenght": 5 });
    let lint = posted(address, "/v1/constraints/lint", &json!({ "json_schema": schema }));
    assert!(lint.to_string().contains("did you mean `maxLength`?"), "{lint}");
    assert_eq!((&lint["accepted"], &lint["least_bytes"]), (&json!(true), &json!(2)));
    let none = json!({ "json_schema": { "type": "integer", "minimum": 2, "maximum": 1 } });
    let none = posted(address, "/v1/constraints/lint", &none);
    assert_eq!(none["accepted"], json!(false));
    let answer = post(address, "/v1/constraints/lint", &json!({ "regex": "a" }));
    assert_eq!((answer.status, answer.json()["error"]["param"].clone()), (400, json!("regex")));

    let sample = json!({ "json_schema": person(), "n": 5, "seed": 7 });
    let texts = posted(address, "/v1/constraints/sample", &sample);
    assert_eq!(posted(address, "/v1/constraints/sample", &sample), texts);
    for text in texts["texts"].as_array().unwrap() {
        let value: Value = serde_json::from_str(text["text"].as_str().unwrap()).unwrap();
        assert!(value["age"].as_f64().unwrap() <= 9.0, "{value}");
    }
    let misses = json!({ "regex": "ab", "n": 3, "near_misses": true });
    for text in posted(address, "/v1/constraints/sample", &misses)["texts"].as_array().unwrap() {
        assert_ne!(text["text"], "ab");
    }
    let answer = post(address, "/v1/constraints/sample", &json!({ "regex": "a", "n": 1001 }));
    assert_eq!((answer.status, answer.json()["error"]["param"].clone()), (400, json!("n")));
}

#[test]
fn masks_are_listed_and_explained() {
    let address = serve(hey("http-mask"), &[]);
    let mask = |fields: Value| {
        let mut body = json!({ "structured_outputs": { "regex": "a[bc]d?" } });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        posted(address, "/v1/constraints/mask", &body)
    };
    let after_a = mask(json!({ "prefix": "a" }));
    assert_eq!((&after_a["allowed"], &after_a["accepting"]), (&json!(2), &json!(false)));
    assert_eq!(after_a["tokens"][1], json!({ "token": 99, "name": "\"c\"", "text": "c" }));
    assert_eq!(mask(json!({ "prefix_token_ids": [97] })), after_a);
    let page = mask(json!({ "prefix": "a", "offset": 1, "limit": 1 }));
    assert_eq!(
        (page["tokens"].as_array().unwrap().len(), &page["tokens"][0]["token"]),
        (1, &json!(99))
    );
    let why = mask(json!({ "prefix": "a", "why": "x" }));
    assert_eq!((&why["allowed"], &why["token"]), (&json!(false), &json!(120)));
    assert_eq!(mask(json!({ "prefix": "a", "why": 98 }))["allowed"], json!(true));
    for (fields, param) in [
        (json!({ "regex": "a", "prefix": "x" }), "prefix"),
        (json!({ "regex": "a", "why": 5000 }), "why"),
        (json!({ "regex": "a", "prefix": "a", "prefix_token_ids": [] }), "prefix_token_ids"),
    ] {
        let answer = post(address, "/v1/constraints/mask", &fields);
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert_eq!(answer.json()["error"]["param"], param);
    }
}

#[test]
fn texts_and_tokens_go_both_ways() {
    let template = "{% for m in messages %}{{ m.content }}{% endfor %}{{ greeting }}>";
    let address = serve_with("http-tokens", template);
    let tokens =
        posted(address, "/v1/tokenize", &json!({ "prompt": "ab", "return_token_strs": true }));
    assert_eq!((&tokens["tokens"], &tokens["count"]), (&json!([97, 98]), &json!(2)));
    assert_eq!(tokens["token_strs"], json!(["a", "b"]));
    for (fields, param) in
        [(json!({}), "prompt"), (json!({ "prompt": "a", "messages": [] }), "messages")]
    {
        let answer = post(address, "/v1/tokenize", &fields);
        assert_eq!((answer.status, &answer.json()["error"]["param"]), (400, &json!(param)));
    }
    let messages = json!([{ "role": "user", "content": "ab" }]);
    let chat = json!({ "messages": messages, "chat_template_kwargs": { "greeting": "!" } });
    assert_eq!(posted(address, "/tokenize", &chat)["tokens"], json!([97, 98, 33, 62]));
    // Tools are told as in a chat, whatever their form.
    let template = "{{ tools | tojson }}>";
    let telling = serve_with("http-tokens-tools", template);
    let tool = json!([{ "type": "function", "function": { "parameters": {}, "strict": true, "name": "f" } }]);
    let mut chat = json!({ "messages": messages, "tools": tool });
    let count = posted(telling, "/tokenize", &chat)["count"].clone();
    chat["max_tokens"] = json!(99);
    chat["model"] = send(telling, "GET /v1/models HTTP/1.1", "").json()["data"][0]["id"].clone();
    assert_eq!(posted(telling, "/v1/chat/completions", &chat)["usage"]["prompt_tokens"], count);
    let answer = post(telling, "/tokenize", &json!({ "messages": messages, "tools": [1] }));
    assert_eq!((answer.status, answer.json()["error"]["param"].clone()), (400, json!("tools[0]")));
    let back = posted(address, "/v1/detokenize", &json!({ "tokens": [97, 98, 256] }));
    assert_eq!(back, json!({ "prompt": "ab<|end|>" }));
    let answer = post(address, "/detokenize", &json!({ "tokens": [9999] }));
    assert_eq!((answer.status, answer.json()["error"]["param"].clone()), (400, json!("tokens")));
    assert_eq!(send(address, "GET /ready HTTP/1.1", "").json(), json!({ "status": "ready" }));
}

/// A tokenizer that puts a space before a text takes it off again.
#[test]
fn the_space_that_a_tokenizer_adds_is_taken_off() {
    let folder = hey("http-tokens-space");
    let mut tokenizer = byte_tokenizer();
    let strip = json!({ "type": "Strip", "content": " ", "start": 1, "stop": 0 });
    let steps = json!([tokenizer["decoder"], { "type": "Fuse" }, strip]);
    tokenizer["decoder"] = json!({ "type": "Sequence", "decoders": steps });
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let address = serve(folder, &[]);
    for (tokens, text) in [
        (vec![32, 97, 32, 98], "a b"),
        (vec![32, 32, 97], " a"),
        (vec![97, 32], "a "),
        (vec![256, 32, 97], "<|end|> a"),
        (vec![], ""),
    ] {
        let back = posted(address, "/v1/detokenize", &json!({ "tokens": tokens }));
        assert_eq!(back["prompt"], text, "{tokens:?}");
    }
}

/// The parrot writes what follows the last byte of its prompt: the template's variable decides.
#[test]
fn documents_reach_a_template_that_reads_them() {
    let model = "http-documents";
    let address = serve_with(model, "{% for d in documents %}{{ d.text }}{% else %}H{% endfor %}");
    let documents = json!([{ "title": "a", "text": ">" }]);
    for (fields, said) in [
        (json!({ "documents": documents }), "Hey"),
        (json!({ "chat_template_kwargs": { "documents": documents } }), "Hey"),
        (json!({ "documents": [] }), "ey"),
    ] {
        let answer = chat(address, model, fields);
        assert_eq!(answer.json()["choices"][0]["message"]["content"], said, "{}", answer.body);
    }
    for (fields, param) in [
        (json!({ "documents": ["text"] }), "documents"),
        (json!({ "chat_template_kwargs": { "documents": 1 } }), "chat_template_kwargs.documents"),
        (
            json!({ "documents": documents, "chat_template_kwargs": { "documents": documents } }),
            "documents",
        ),
    ] {
        let answer = chat(address, model, fields);
        assert_eq!((answer.status, answer.json()["error"]["param"].clone()), (400, json!(param)));
    }
    let without = serve_with("http-no-documents", ">");
    let answer = chat(without, "http-no-documents", json!({ "documents": documents }));
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert_eq!(answer.json()["error"]["param"], "documents");
}

#[test]
fn variables_reach_the_template() {
    let address = serve_with("http-variables", "{% if shout %}>{% else %}H{% endif %}");
    let said = |kwargs: Value| {
        let answer = chat(address, "http-variables", json!({ "chat_template_kwargs": kwargs }));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["choices"][0]["message"]["content"].clone()
    };
    assert_eq!((said(json!({ "shout": true })), said(json!({}))), (json!("Hey"), json!("ey")));
    for (kwargs, param) in [
        (json!({ "messages": [] }), "chat_template_kwargs.messages"),
        (json!({ "eos_token": "x" }), "chat_template_kwargs.eos_token"),
        (json!([1]), "chat_template_kwargs"),
    ] {
        let answer = chat(address, "http-variables", json!({ "chat_template_kwargs": kwargs }));
        assert_eq!((answer.status, answer.json()["error"]["param"].clone()), (400, json!(param)));
    }
}

#[test]
fn options_of_one_request_are_its_own() {
    let address = serve(hey("http-constraint-options"), &[]);
    let fields = |options: Value| {
        json!({ "json_schema": { "type": "array", "items": { "const": 1 }, "minItems": 2,
            "maxItems": 2 }, "constraint_options": options })
    };
    for (options, text) in [
        (json!({ "whitespace": "compact" }), "[1,1]"),
        (json!({ "whitespace": "plain" }), "[1, 1]"),
    ] {
        let answer = chat(address, "http-constraint-options", fields(options));
        assert_eq!(answer.json()["choices"][0]["message"]["content"], text, "{}", answer.body);
    }
    let document = json!({ "json_schema": { "$ref": "urn:a" },
        "constraint_options": { "resources": { "urn:a": { "const": 5 } } } });
    let answer = chat(address, "http-constraint-options", document);
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "5", "{}", answer.body);
    for (options, param) in [
        (json!({ "whitspace": "any" }), "constraint_options.whitspace"),
        (json!({ "digits": "many" }), "constraint_options.digits"),
        (json!({ "limits": { "depth": 9_000_000_000_u64 } }), "constraint_options.limits.depth"),
        (json!({ "limits": { "time_per_mask": null } }), "constraint_options.limits.time_per_mask"),
    ] {
        let answer = chat(address, "http-constraint-options", fields(options.clone()));
        assert_eq!(answer.status, 400, "{options}: {}", answer.body);
        assert_eq!(answer.json()["error"]["param"], param);
    }
}
