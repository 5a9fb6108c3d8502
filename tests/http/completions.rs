//! `POST /v1/completions`: prompts as text and tokens, echo, log-probabilities, streams.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::model_support::hey;
use crate::{Answer, chat, send, serve};

const HEAD: &str = "POST /v1/completions HTTP/1.1\r\nContent-Type: application/json";

fn complete(address: SocketAddr, model: &str, fields: &Value) -> Answer {
    let mut body = json!({ "model": model, "prompt": ">", "temperature": 0 });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    send(address, HEAD, &body.to_string())
}

#[test]
fn texts_and_tokens_are_gone_on_from() {
    let model = "http-completions";
    let address = serve(hey(model), &[]);
    let texts = |fields: Value| -> Vec<String> {
        let answer = complete(address, model, &fields);
        assert_eq!(answer.status, 200, "{fields}: {}", answer.body);
        let choices = answer.json()["choices"].clone();
        let text = |choice: &Value| choice["text"].as_str().unwrap().to_owned();
        choices.as_array().unwrap().iter().map(text).collect()
    };
    assert_eq!(texts(json!({})), ["Hey"]);
    assert_eq!(texts(json!({ "prompt": [62] })), ["Hey"]);
    assert_eq!(texts(json!({ "prompt": ["x>", "H"] })), ["Hey", "ey"]);
    assert_eq!(texts(json!({ "prompt": [[62], [72]], "n": 2 })), ["Hey", "Hey", "ey", "ey"]);
    assert_eq!(texts(json!({ "echo": true })), [">Hey"]);
    assert_eq!(texts(json!({ "prompt": [72], "echo": true })), ["Hey"]);
    assert_eq!(texts(json!({ "max_tokens": 1 })), ["H"]);
    // Without a number 16 tokens are written, with -1 as many as fit.
    let long = |fields: Value| {
        let mut fields = fields;
        fields["ignore_eos"] = json!(true);
        complete(address, model, &fields).json()["usage"]["completion_tokens"].as_u64().unwrap()
    };
    assert_eq!(long(json!({})), 16);
    assert!(long(json!({ "max_tokens": -1 })) > 16 && long(json!({ "n_predict": -1 })) > 16);
    assert_eq!(texts(json!({ "stop": "y" })), ["He"]);
    assert_eq!(texts(json!({ "regex": "[0-9]", "suffix": "", "best_of": 2 })).len(), 1);

    let answer = complete(address, model, &json!({ "logprobs": 2, "max_tokens": 2 })).json();
    assert_eq!(answer["object"], "text_completion");
    assert_eq!(answer["usage"]["prompt_tokens"], 1);
    assert_eq!(answer["usage"]["completion_tokens"], 2);
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "length");
    let logprobs = &choice["logprobs"];
    assert_eq!(logprobs["tokens"], json!(["H", "e"]));
    assert_eq!(logprobs["text_offset"], json!([0, 1]));
    assert!(logprobs["token_logprobs"][1].as_f64().unwrap() <= 0.0);
    assert_eq!(logprobs["top_logprobs"][0].as_object().unwrap().len(), 2);
    assert_eq!(logprobs["top_logprobs"][0]["H"], logprobs["token_logprobs"][0]);
    let captured = complete(
        address,
        model,
        &json!({ "structured_outputs": { "grammar": "start: (word \"-\")~2\nword[capture]: /[xyz]{2}/" }, "max_tokens": 20 }),
    );
    let choice = captured.json()["choices"][0].clone();
    let parts = choice["captures"].as_array().unwrap();
    assert_eq!(parts.len(), 2);
    assert_eq!(parts[1]["text"].as_str(), choice["text"].as_str().map(|text| &text[3..5]));
    // The token itself stands beside the most probable ones.
    let unlikely = json!({ "logprobs": 0, "max_tokens": 1, "regex": "x" });
    let answer = complete(address, model, &unlikely).json();
    let logprobs = &answer["choices"][0]["logprobs"];
    assert_eq!(logprobs["top_logprobs"][0], json!({ "x": logprobs["token_logprobs"][0] }));
}

#[test]
fn completions_are_streamed() {
    let model = "http-completion-stream";
    let address = serve(hey(model), &[]);
    let fields = json!({ "stream": true, "echo": true, "n": 2,
        "stream_options": { "include_usage": true } });
    let events = complete(address, model, &fields).events();
    assert_eq!(events.last().unwrap(), "[DONE]");
    let chunks: Vec<Value> =
        events[..events.len() - 1].iter().map(|e| serde_json::from_str(e).unwrap()).collect();
    for index in [0, 1] {
        let choices = chunks.iter().flat_map(|chunk| chunk["choices"].as_array().unwrap());
        let mine: Vec<&Value> = choices.filter(|choice| choice["index"] == index).collect();
        let text: String = mine.iter().map(|choice| choice["text"].as_str().unwrap()).collect();
        assert_eq!(text, ">Hey");
        assert_eq!(mine.last().unwrap()["finish_reason"], "stop");
    }
    let last = chunks.last().unwrap();
    assert_eq!((&last["choices"], &last["usage"]["completion_tokens"]), (&json!([]), &json!(6)));
}

#[test]
fn completions_that_cannot_be_are_refused() {
    let model = "http-completion-errors";
    let address = serve(hey(model), &[]);
    for (fields, param) in [
        (json!({ "prompt": null }), "prompt"),
        (json!({ "prompt": [] }), "prompt"),
        (json!({ "prompt": [[]] }), "prompt"),
        (json!({ "prompt": [999] }), "prompt"),
        (json!({ "prompt": { "a": 1 } }), "prompt"),
        (json!({ "prompt": ["a", "b"], "best_of": 2 }), "prompt"),
        (json!({ "suffix": "x" }), "suffix"),
        (json!({ "echo": true, "logprobs": 1, "stream": true }), "echo"),
        (json!({ "prompt_logprobs": 1, "stream": true }), "prompt_logprobs"),
        (json!({ "prompt_logprobs": 21 }), "prompt_logprobs"),
        (json!({ "prompt_logprobs": 1, "num_beams": 2 }), "prompt_logprobs"),
        (json!({ "max_tokens": 0 }), "max_tokens"),
        (json!({ "logprobs": 21 }), "logprobs"),
        (json!({ "messages": [] }), "messages"),
        // Of conversations, where they are harmless.
        (json!({ "functions": [] }), "functions"),
        (json!({ "function_call": "auto" }), "function_call"),
        (json!({ "modalities": ["text"] }), "modalities"),
        (json!({ "audio": {} }), "audio"),
        (json!({ "verbosity": "medium" }), "verbosity"),
        (json!({ "prompt": "a".repeat(3000) }), "prompt"),
        (json!({ "prompt": vec![65; 3000], "stream": true }), "prompt"),
        (json!({ "add_special_tokens": false }), "add_special_tokens"),
        (json!({ "repetition_penalty": 1e300 }), "repetition_penalty"),
        (json!({ "samplers": ["top_k", "top_k"] }), "samplers"),
        (json!({ "regex": "(" }), "regex"),
    ] {
        let answer = complete(address, model, &fields);
        assert_eq!(answer.status, 400, "{fields}: {}", answer.body);
        assert_eq!(answer.json()["error"]["param"], param, "{fields}");
    }
}

/// The log-probabilities of a prompt are those of its tokens when they are drawn, in the shapes of OpenAI's
/// older API (which evaluation harnesses read) and of vLLM.
#[test]
fn prompts_are_measured() {
    let model = "http-completion-prompts";
    let address = serve(hey(model), &[]);
    let choice = |fields: Value| {
        let answer = complete(address, model, &fields);
        assert_eq!(answer.status, 200, "{fields}: {}", answer.body);
        answer.json()["choices"][0].clone()
    };
    let echoed = choice(json!({ "prompt": ">He", "echo": true, "logprobs": 2, "max_tokens": 1 }));
    assert_eq!(echoed["text"], ">Hey");
    let echoed = &echoed["logprobs"];
    assert_eq!(echoed["tokens"], json!([">", "H", "e", "y"]));
    assert_eq!(echoed["text_offset"], json!([0, 1, 2, 3]));
    assert_eq!(
        (&echoed["token_logprobs"][0], &echoed["top_logprobs"][0]),
        (&Value::Null, &Value::Null)
    );
    // Offsets are whole characters before a token; the tokens of this model are bytes.
    let echoed = choice(json!({ "prompt": ">é€He", "echo": true, "logprobs": 1, "max_tokens": 1 }));
    assert_eq!(echoed["logprobs"]["text_offset"], json!([0, 1, 1, 2, 2, 2, 3, 4, 5]));
    // A special token has the place of its name in a text, and none among tokens.
    let fields =
        |prompt: Value| json!({ "prompt": prompt, "echo": true, "logprobs": 0, "max_tokens": 1 });
    let echoed = choice(fields(json!("<|end|>é<|end|>He")));
    assert_eq!(echoed["text"], "<|end|>é<|end|>Hey");
    assert_eq!(echoed["logprobs"]["text_offset"], json!([0, 7, 7, 8, 15, 16, 17]));
    let echoed = choice(fields(json!([256, 72, 101])));
    assert_eq!(echoed["text"], "Hey");
    assert_eq!(echoed["logprobs"]["text_offset"], json!([0, 0, 1, 2]));
    // Chat completions tell the same of drawn tokens, over all logits: what is drawn is echoed bit for bit, but
    // for the rounding to a decimal number.
    let asked = json!({ "logprobs": true, "top_logprobs": 2, "max_tokens": 3 });
    let drawn = chat(address, model, asked).json()["choices"][0]["logprobs"]["content"].clone();
    let drawn = drawn.as_array().unwrap();
    let body = json!({ "model": model, "messages": [{ "role": "user", "content": "Hello" }] });
    let head = "POST /v1/tokenize HTTP/1.1\r\nContent-Type: application/json";
    let tokens = send(address, head, &body.to_string()).json()["tokens"].clone();
    let mut prompt = tokens.as_array().unwrap().clone();
    let start = prompt.len();
    prompt.extend("Hey".bytes().map(|byte| json!(byte)));
    let fields = json!({ "prompt": prompt, "echo": true, "logprobs": 2, "max_tokens": 0 });
    let echoed = choice(fields)["logprobs"].clone();
    assert_eq!(drawn.len(), 3);
    for (index, own) in drawn.iter().enumerate() {
        assert_eq!(echoed["tokens"][start + index], own["token"]);
        let (told, own) = (&echoed["token_logprobs"][start + index], &own["raw_logprob"]);
        let (told, own) = (told.as_f64().unwrap(), own.as_f64().unwrap());
        assert!((told - own).abs() < 1e-9, "{told} {own}");
    }
    // The end token has an entry beside the prompt, so that the last one is always a drawn token's.
    let ended = choice(json!({ "prompt": ">Hey", "echo": true, "logprobs": 1, "max_tokens": 1 }));
    assert_eq!((&ended["text"], &ended["finish_reason"]), (&json!(">Hey"), &json!("stop")));
    assert_eq!(ended["logprobs"]["tokens"].as_array().unwrap().len(), 5);
    // Nothing is written where no token is wanted.
    let read = choice(json!({ "prompt": ">He", "echo": true, "logprobs": 0, "max_tokens": 0 }));
    assert_eq!((&read["text"], &read["finish_reason"]), (&json!(">He"), &json!("length")));
    assert_eq!(read["logprobs"]["tokens"], json!([">", "H", "e"]));
    assert_eq!(read["logprobs"]["top_logprobs"][1].as_object().unwrap().len(), 1);
    assert_eq!(choice(json!({ "echo": true, "max_tokens": 0 }))["text"], ">");
    // An improbable token has a rank and stands beside the most probable.
    let measured = choice(json!({ "prompt": ">x", "prompt_logprobs": 1, "max_tokens": 1 }));
    let measured = measured["prompt_logprobs"].as_array().unwrap().clone();
    assert_eq!((measured.len(), &measured[0]), (2, &Value::Null));
    let (x, h) = (&measured[1]["120"], &measured[1]["72"]);
    assert_eq!(
        (&h["rank"], &h["decoded_token"], &x["decoded_token"]),
        (&json!(1), &json!("H"), &json!("x"))
    );
    assert!(x["rank"].as_u64().unwrap() > 1);
    assert!(x["logprob"].as_f64().unwrap() < h["logprob"].as_f64().unwrap());
    let answer = chat(address, model, json!({ "prompt_logprobs": 0, "max_tokens": 1 })).json();
    let measured = answer["prompt_logprobs"].as_array().unwrap();
    assert_eq!(measured.len() as u64, answer["usage"]["prompt_tokens"].as_u64().unwrap());
    assert_eq!(measured[1].as_object().unwrap().len(), 1);
}

/// The bodies that lm-evaluation-harness sends (`local-completions`, `local-chat-completions`), and its reading of
/// the answers.
#[test]
fn an_evaluation_harness_is_answered() {
    let model = "http-completion-harness";
    let address = serve(hey(model), &[]);
    let info = send(address, "GET /tokenizer_info HTTP/1.1", "").json();
    assert_eq!((&info["eos_token"], &info["bos_token"]), (&json!("<|end|>"), &Value::Null));
    assert_eq!(info["model_max_length"], 2048);
    assert!(info["chat_template"].as_str().unwrap().contains("messages"), "{info}");
    let encode = |text: &str| {
        let body = json!({ "prompt": text, "add_special_tokens": false }).to_string();
        let head = "POST /tokenize HTTP/1.1\r\nContent-Type: application/json";
        send(address, head, &body).json()["tokens"].as_array().unwrap().clone()
    };
    assert_eq!(encode("<|end|>"), [json!(256)]);
    // The likelihood of continuations of `>`: one that the model writes, one that it does not.
    let (context, texts) = (">", ["Hey", "yes"]);
    let prompts: Vec<Vec<Value>> =
        texts.iter().map(|text| encode(&format!("{context}{text}"))).collect();
    let score = |prompt: Value| -> Vec<(f64, bool)> {
        let fields = json!({ "prompt": prompt, "temperature": 0, "max_tokens": 1, "logprobs": 1,
            "seed": 1234, "echo": true });
        let answer = complete(address, model, &fields);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let mut choices = answer.json()["choices"].as_array().unwrap().clone();
        choices.sort_by_key(|choice| choice["index"].as_u64());
        let read = |choice: &Value| {
            let list = |name: &str| choice["logprobs"][name].as_array().unwrap().clone();
            let (tokens, tops) = (list("token_logprobs"), list("top_logprobs"));
            let scored = context.len()..tokens.len() - 1;
            let own: Vec<f64> =
                tokens[scored.clone()].iter().map(|t| t.as_f64().unwrap()).collect();
            let most = tops[scored].iter().map(|top| {
                let all = top.as_object().unwrap().values().map(|value| value.as_f64().unwrap());
                all.fold(f64::NEG_INFINITY, f64::max)
            });
            let is_greedy = own.iter().zip(most).all(|(own, most)| *own == most);
            assert_eq!(own.len(), 3);
            (own.iter().sum(), is_greedy)
        };
        choices.iter().map(read).collect()
    };
    let scores = score(json!(prompts));
    assert!(scores[0].1 && !scores[1].1, "{scores:?}");
    assert!(scores[0].0 > scores[1].0 + 5.0, "{scores:?}");
    // Texts are scored as their tokens are, one by one as together.
    assert_eq!(score(json!([">Hey", ">yes"])), scores);
    assert_eq!(score(json!(">Hey")), scores[..1]);
    assert_eq!(score(json!([prompts[1]])), scores[1..]);
    let generate = json!({ "prompt": [encode(">")], "max_tokens": 12, "temperature": 0,
        "stop": ["y", "<|end|>"], "seed": 1234 });
    assert_eq!(complete(address, model, &generate).json()["choices"][0]["text"], "He");
    let fields = json!({ "max_tokens": 12, "temperature": 0, "stop": ["y"], "seed": 1234 });
    assert_eq!(chat(address, model, fields).json()["choices"][0]["message"]["content"], "He");
}
