//! `/v1/responses`: items and messages, formats, tools, streams, and responses that were stored.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::model_support::{hey, thinker};
use crate::{Answer, send, serve, serve_with};

const HEAD: &str = "POST /v1/responses HTTP/1.1\r\nContent-Type: application/json";

fn respond(address: SocketAddr, model: &str, fields: &Value) -> Answer {
    let mut body = json!({ "model": model, "input": "Hello", "temperature": 0 });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    send(address, HEAD, &body.to_string())
}

fn responded(address: SocketAddr, model: &str, fields: &Value) -> Value {
    let answer = respond(address, model, fields);
    assert_eq!(answer.status, 200, "{fields}: {}", answer.body);
    answer.json()
}

/// The events of a stream: their types agree with their names.
fn streamed(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.body);
    let event = |event: &str| {
        let (name, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(name.strip_prefix("event: ").unwrap(), data["type"]);
        data
    };
    answer.body.split_terminator("\n\n").map(event).collect()
}

#[test]
fn a_text_is_a_message() {
    let model = "http-responses";
    let address = serve(hey(model), &[]);
    let response = responded(address, model, &json!({ "instructions": "Be kind." }));
    assert_eq!(
        (&response["object"], &response["status"]),
        (&json!("response"), &json!("completed"))
    );
    assert_eq!(response["instructions"], "Be kind.");
    let message = &response["output"][0];
    assert_eq!((&message["type"], &message["role"]), (&json!("message"), &json!("assistant")));
    assert_eq!(message["content"][0]["text"], "Hey");
    // "Be kind.Hello>"
    assert_eq!(response["usage"]["input_tokens"], 14);
    assert_eq!(response["usage"]["output_tokens"], 3);

    let cut = responded(address, model, &json!({ "max_output_tokens": 2 }));
    assert_eq!(cut["status"], "incomplete");
    assert_eq!(cut["incomplete_details"], json!({ "reason": "max_output_tokens" }));
    assert_eq!(cut["output"][0]["status"], "incomplete");

    let format = json!({ "type": "json_schema", "name": "n", "strict": true,
        "schema": { "type": "array", "items": { "const": 1 }, "minItems": 1, "maxItems": 1 } });
    let json = responded(address, model, &json!({ "text": { "format": format } }));
    let text = json["output"][0]["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), json!([1]));
    assert_eq!(json["text"]["format"]["name"], "n");

    let captured = json!({ "structured_outputs": { "grammar": "start: word \"-\"\nword[capture]: /[xyz]{2}/" } });
    let captured = responded(address, model, &captured);
    assert_eq!(captured["captures"][0]["end"], 2, "{captured}");

    let logprobs = json!({ "include": ["message.output_text.logprobs"], "top_logprobs": 2 });
    let logprobs = responded(address, model, &logprobs);
    let tokens = &logprobs["output"][0]["content"][0]["logprobs"];
    assert_eq!(tokens.as_array().unwrap().len(), 3);
    assert_eq!(tokens[0]["token"], "H");
    assert_eq!(tokens[0]["top_logprobs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_stream_tells_of_each_part() {
    let model = "http-response-stream";
    let address = serve(hey(model), &[]);
    let events = streamed(&respond(address, model, &json!({ "stream": true })));
    let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let (first, rest) = types.split_at(4);
    assert_eq!(
        first,
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added"
        ]
    );
    let (deltas, last) = rest.split_at(rest.len() - 4);
    assert!(deltas.iter().all(|kind| *kind == "response.output_text.delta"), "{deltas:?}");
    assert_eq!(
        last,
        [
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed"
        ]
    );
    for (i, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], i);
    }
    let text: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
    assert_eq!(text, "Hey");
    let whole = &events.last().unwrap()["response"];
    assert_eq!(whole["output"][0]["content"][0]["text"], "Hey");
    assert_eq!(events[0]["response"]["id"], whole["id"]);
    // The same as a whole, but for ids and times.
    let alone = responded(address, model, &json!({}));
    assert_eq!(alone["usage"]["output_tokens"], whole["usage"]["output_tokens"]);
}

#[test]
fn calls_are_items() {
    let model = "http-response-tools";
    let address = serve(hey(model), &[]);
    let tool = json!({ "type": "function", "name": "f", "strict": true, "parameters": {
        "type": "object", "properties": { "a": { "const": 1 } }, "required": ["a"] } });
    let fields = json!({ "tools": [tool], "tool_choice": { "type": "function", "name": "f" } });
    let response = responded(address, model, &fields);
    let call = &response["output"][0];
    assert_eq!((&call["type"], &call["name"]), (&json!("function_call"), &json!("f")));
    let arguments: Value = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({ "a": 1 }));
    assert_eq!(response["output"].as_array().unwrap().len(), 1);
    assert_eq!(response["tools"], fields["tools"]);

    let mut stream = fields.clone();
    stream["stream"] = json!(true);
    let events = streamed(&respond(address, model, &stream));
    let of = |kind: &str| -> Vec<&Value> {
        events.iter().filter(|event| event["type"] == kind).collect()
    };
    let deltas = of("response.function_call_arguments.delta");
    let text: String = deltas.iter().map(|event| event["delta"].as_str().unwrap()).collect();
    assert_eq!(text, of("response.function_call_arguments.done")[0]["arguments"]);
    assert_eq!(of("response.output_item.done")[0]["item"]["call_id"].as_str().unwrap().len(), 9);

    // The next turn: the call, by its items or by the response's id, and its output.
    let output = json!({ "type": "function_call_output", "call_id": call["call_id"],
        "output": "2" });
    let user = json!({ "role": "user", "content": "Hello" });
    for fields in [
        json!({ "input": [user, call, output] }),
        json!({ "input": [user, { "type": "item_reference", "id": call["id"] }, output] }),
        json!({ "input": [user, { "id": call["id"] }, output] }),
        json!({ "input": [output], "previous_response_id": response["id"] }),
    ] {
        let next = responded(address, model, &fields);
        assert_eq!(next["output"][0]["content"][0]["text"], "Hey", "{fields}");
    }
}

#[test]
fn tokens_are_counted_as_the_response_has_them() {
    let model = "http-responses-count";
    let address = serve(hey(model), &[]);
    const COUNT: &str =
        "POST /v1/responses/input_tokens HTTP/1.1\r\nContent-Type: application/json";
    let count = |fields: &Value| {
        let mut body = fields.clone();
        body["model"] = json!(model);
        send(address, COUNT, &body.to_string())
    };
    let first = responded(address, model, &json!({ "input": "Hello" }));
    let tool = json!({ "type": "function", "name": "f", "parameters": { "type": "object" } });
    for fields in [
        json!({ "input": "Hello" }),
        json!({ "input": "Hello", "instructions": "Be brief.", "tools": [tool] }),
        json!({ "input": "Again", "previous_response_id": first["id"] }),
    ] {
        let counted = count(&fields);
        assert_eq!(counted.status, 200, "{}", counted.body);
        let read = &responded(address, model, &fields)["usage"]["input_tokens"];
        let expected = json!({ "object": "response.input_tokens", "input_tokens": read });
        assert_eq!(counted.json(), expected, "{fields}");
    }
    let refused = count(&json!({ "input": "Hello", "previous_response_id": "resp_x" }));
    assert_eq!(refused.json()["error"]["code"], "previous_response_not_found");
}

/// Nobody finds another client's item by an id that the client has chosen, and references are bounded.
#[test]
fn items_have_ids_of_the_server() {
    let model = "http-response-ids";
    let address = serve_with(model, "{% for m in messages %}{{ m.content }}|{% endfor %}>");
    let secret = json!({ "type": "message", "id": "msg_1", "role": "user", "content": "secret" });
    let first = responded(address, model, &json!({ "input": [secret] }));
    let asked = json!({ "input": [{ "type": "item_reference", "id": "msg_1" }] });
    let refused = respond(address, model, &asked);
    assert_eq!(refused.status, 400, "{}", refused.body);
    // An item that came back keeps its id.
    let id = first["id"].as_str().unwrap();
    let items = |id: &str| {
        send(address, &format!("GET /v1/responses/{id}/input_items HTTP/1.1"), "").json()["data"]
            .clone()
    };
    let item = items(id)[0].clone();
    assert_ne!(item["id"], "msg_1");
    let again = responded(address, model, &json!({ "input": [item] }));
    assert_eq!(items(again["id"].as_str().unwrap())[0], item);
    let large =
        json!({ "type": "reasoning", "summary": [], "encrypted_content": "x".repeat(6 << 20) });
    let fields = json!({ "input": [{ "role": "user", "content": "a" }, large] });
    let stored = responded(address, model, &fields);
    let id = items(stored["id"].as_str().unwrap())[0]["id"].clone();
    let reference = json!({ "type": "item_reference", "id": id });
    let many = respond(address, model, &json!({ "input": vec![reference; 1400] }));
    assert_eq!((many.status, &many.json()["error"]["param"]), (400, &json!("input[2].id")));
}

/// Reasoning belongs to the answer after it, not to one after the user's next turn.
#[test]
fn reasoning_stays_in_its_turn() {
    let model = "http-response-turns";
    let template = "{% for m in messages %}{{ m.role[0] }}{{ m.reasoning_content }}|{% endfor %}>";
    let address = serve_with(model, template);
    let message = |role: &str| json!({ "role": role, "content": "x" });
    let thought = |text: &str| {
        let part = json!({ "type": "reasoning_text", "text": text });
        json!({ "type": "reasoning", "summary": [], "content": [part] })
    };
    let lengths = [
        vec![message("user"), thought("1"), thought("2"), message("assistant"), message("user")],
        vec![message("user"), thought("1"), thought("2"), message("user"), message("assistant")],
    ];
    let tokens = lengths.map(|items| {
        let answer = responded(address, model, &json!({ "input": items }));
        answer["usage"]["input_tokens"].as_u64().unwrap()
    });
    // `u|a1\n2|u|>` and `u|a1\n2|u|a|>`.
    assert_eq!(tokens, [10, 12]);
}

#[test]
fn responses_are_stored() {
    // The whole conversation is the prompt.
    let model = "http-response-store";
    let address = serve_with(model, "{% for m in messages %}{{ m.content }}|{% endfor %}>");
    let get = |path: &str| send(address, &format!("GET /v1/responses/{path} HTTP/1.1"), "");
    let first = responded(address, model, &json!({ "input": "a", "instructions": "x" }));
    let id = first["id"].as_str().unwrap();
    assert_eq!(get(id).json(), first);
    let items = get(&format!("{id}/input_items")).json();
    assert_eq!(items["data"][0]["content"][0]["text"], "a");
    assert_eq!(get(&format!("{id}?stream=false&include[]=x")).json(), first);
    // As the official clients write it.
    assert_eq!(get(&format!("{id}?include%5B%5D=message.output_text.logprobs")).json(), first);
    let message = |text: &str| json!({ "role": "user", "content": text });
    let several = json!({ "input": [message("1"), message("2"), message("3")] });
    let several = responded(address, model, &several)["id"].as_str().unwrap().to_owned();
    let page = |query: &str| {
        let page = get(&format!("{several}/input_items?{query}")).json();
        let text = |item: &Value| {
            assert_eq!(
                (&item["type"], &item["content"][0]["type"]),
                (&json!("message"), &json!("input_text"))
            );
            item["content"][0]["text"].as_str().unwrap().to_owned()
        };
        let texts: Vec<String> = page["data"].as_array().unwrap().iter().map(text).collect();
        (texts.concat(), page["has_more"].as_bool().unwrap(), page["last_id"].clone())
    };
    assert_eq!(page("").0, "321");
    assert_eq!(page("order=asc").0, "123");
    let (texts, has_more, last) = page("order=asc&limit=2");
    assert_eq!((texts.as_str(), has_more), ("12", true));
    let (texts, has_more, _) = page(&format!("order=asc&after={}", last.as_str().unwrap()));
    assert_eq!((texts.as_str(), has_more), ("3", false));
    for (path, param) in [
        (format!("{id}?stream=true"), "stream"),
        (format!("{id}?starting_after=3"), "starting_after"),
        (format!("{several}/input_items?limit=0"), "limit"),
        (format!("{several}/input_items?limit=x"), "limit"),
        (format!("{several}/input_items?order=up"), "order"),
        (format!("{several}/input_items?after=none"), "after"),
        (format!("{several}/input_items?before=x"), "before"),
    ] {
        let refused = get(&path);
        assert_eq!(
            (refused.status, &refused.json()["error"]["param"]),
            (400, &json!(param)),
            "{path}"
        );
    }
    let next = json!({ "input": "b", "previous_response_id": id });
    let second = responded(address, model, &next);
    assert_eq!(second["previous_response_id"], id);
    // "a|Hey|b|>": the instructions are not those of the next turn.
    assert_eq!(second["usage"]["input_tokens"], 9);
    let third = json!({ "input": "c", "previous_response_id": second["id"] });
    assert_eq!(responded(address, model, &third)["usage"]["input_tokens"], 15);

    let cancelled = send(address, &format!("POST /v1/responses/{id}/cancel HTTP/1.1"), "");
    assert_eq!(cancelled.status, 400, "{}", cancelled.body);
    let deleted = send(address, &format!("DELETE /v1/responses/{id} HTTP/1.1"), "");
    assert_eq!(deleted.json(), json!({ "id": id, "object": "response", "deleted": true }));
    assert_eq!(get(id).status, 404);
    let unknown = respond(address, model, &next);
    assert_eq!(unknown.status, 400, "{}", unknown.body);
    let error = unknown.json()["error"].clone();
    assert_eq!(error["param"], "previous_response_id");
    assert_eq!(error["code"], "previous_response_not_found");
    let unkept = responded(address, model, &json!({ "store": false }));
    assert_eq!(get(unkept["id"].as_str().unwrap()).status, 404);
}

#[test]
fn responses_that_cannot_be_are_refused() {
    let model = "http-response-errors";
    let address = serve(hey(model), &[]);
    let format = |format: Value| json!({ "text": { "format": format } });
    for (fields, param) in [
        (json!({ "input": null }), "input"),
        (json!({ "input": [] }), "input"),
        (json!({ "input": [{ "role": "critic", "content": "" }] }), "input[0].role"),
        (
            json!({ "input": [{ "role": "user", "content": [{ "type": "input_image" }] }] }),
            "input[0].content[0].type",
        ),
        (json!({ "input": [{ "type": "item_reference", "id": "x" }] }), "input[0].id"),
        (json!({ "input": [{ "type": "web_search_call" }] }), "input[0].type"),
        (json!({ "input": [{ "role": "user", "content": "a", "x": 1 }] }), "input[0].x"),
        (json!({ "tools": [{ "type": "web_search" }] }), "tools[0].type"),
        (json!({ "tools": [{ "type": "function", "name": "a b" }] }), "tools[0].name"),
        (json!({ "background": true }), "background"),
        (json!({ "truncation": "auto" }), "truncation"),
        (json!({ "max_output_tokens": 0 }), "max_output_tokens"),
        (json!({ "reasoning": { "effort": "hard" } }), "reasoning.effort"),
        (json!({ "include": ["file_search_call.results"] }), "include"),
        (json!({ "text": { "verbosity": "low" } }), "text.verbosity"),
        (format(json!({ "type": "json_schema", "name": "x" })), "text.format.schema"),
        (
            format(json!({ "type": "json_schema", "name": "x", "schema": { "type": "sting" } })),
            "text.format.schema",
        ),
        (format(json!({ "type": "text", "schema": {} })), "text.format.schema"),
        (json!({ "messages": [] }), "messages"),
        (json!({ "inputs": 1 }), "inputs"),
        (json!({ "model": "other" }), "model"),
        (json!({ "input": "x".repeat(3000) }), "input"),
    ] {
        let answer = respond(address, model, &fields);
        assert!(matches!(answer.status, 400 | 404), "{fields}: {}", answer.body);
        let error = answer.json()["error"].clone();
        assert_eq!(error["param"], param, "{fields}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(!message.contains("`messages") || param == "messages", "{message}");
    }
}

/// The tags before a text are none of its tokens.
#[test]
fn log_probabilities_are_of_the_text() {
    let model = "http-response-logprobs";
    let address = serve(thinker(model), &[]);
    let fields =
        |stream: bool| json!({ "include": ["message.output_text.logprobs"], "stream": stream });
    let tokens = |logprobs: &Value| -> String {
        let logprobs = logprobs.as_array().unwrap().iter();
        logprobs.map(|entry| entry["token"].as_str().unwrap()).collect()
    };
    let response = responded(address, model, &fields(false));
    let [thought, message] = &response["output"].as_array().unwrap()[..] else {
        panic!("{response}")
    };
    assert_eq!(thought["type"], "reasoning");
    assert_eq!(message["content"][0]["text"], "Hey");
    assert_eq!(tokens(&message["content"][0]["logprobs"]), "Hey", "{message}");
    let events = streamed(&respond(address, model, &fields(true)));
    let deltas = events.iter().filter(|event| event["type"] == "response.output_text.delta");
    assert_eq!(deltas.map(|event| tokens(&event["logprobs"])).collect::<String>(), "Hey");
}

/// A response says by which sampling it was drawn, whoever chose it.
#[test]
fn the_sampling_in_force_is_told() {
    let model = "http-response-sampling";
    let folder = hey(model);
    let config = json!({ "temperature": 0.6, "top_p": 0.9 });
    std::fs::write(folder.join("generation_config.json"), config.to_string()).unwrap();
    let address = serve(folder, &[]);
    let told = |fields: Value| {
        let response = responded(address, model, &fields);
        (response["temperature"].as_f64().unwrap(), response["top_p"].as_f64().unwrap())
    };
    assert_eq!(told(json!({ "temperature": null })), (0.6, 0.9));
    assert_eq!(told(json!({ "temperature": 0.2, "top_p": null })), (0.2, 0.9));
    assert_eq!(told(json!({ "top_p": 0.8 })), (0.0, 0.8));
}
