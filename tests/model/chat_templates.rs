//! Chat templates against what Jinja2 makes of them in the environment that Hugging Face sets up.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use crate::model_support::{Tensors, shared, write_model};
use maskwright::ErrorKind;
use maskwright::model::{ChatTemplate, Message, Model, ModelOptions, ModelSource};
use maskwright::tools::ReasoningFormat;
use serde::Deserialize;
use serde_json::{Value, json};

/// Made by Jinja2 3.1 with `trim_blocks`, `lstrip_blocks`, and `tojson`, `raise_exception` and
/// `strftime_now` as in `transformers`.
#[derive(Deserialize)]
struct Expected {
    tokens: BTreeMap<String, String>,
    unix_time: u64,
    conversations: BTreeMap<String, Conversation>,
    /// By template and conversation: the prompt, or `{"refused": message}`.
    rendered: BTreeMap<String, BTreeMap<String, Value>>,
}

#[derive(Deserialize)]
struct Conversation {
    messages: Vec<Message>,
    add_generation_prompt: bool,
    tools: Option<Value>,
}

/// Whether Jinja2 refused, and not the template.
fn own(refused: &serde_json::Map<String, Value>) -> bool {
    let message = refused["refused"].as_str().unwrap();
    message.contains("is not iterable") || message.contains("is undefined")
}

/// Whether the template refused the order of the turns, the system's, or ids of calls that are not Mistral's.
fn refuses_order(refused: &serde_json::Map<String, Value>) -> bool {
    let message = refused["refused"].as_str().unwrap();
    ["alternat", "System role", "length 9"].iter().any(|words| message.contains(words))
}

/// Real templates that leave the reasoning open, or close it themselves, by what the caller says.
#[test]
fn real_templates_tell_whether_they_open_the_reasoning() {
    let Some(folder) = shared("templates") else { return };
    let conversation = [Message::new("user", "Hi")];
    let opening = [("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja", Some(true))];
    let mut read = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let Some(format) = ReasoningFormat::of_template(&text) else { continue };
        let template = ChatTemplate::new(&text, &[]).unwrap();
        for thinks in [None, Some(true), Some(false)] {
            let variables = thinks.map(|thinks| ("enable_thinking".to_owned(), json!(thinks)));
            let variables = variables.into_iter().collect();
            let prompt = template.render_with(&conversation, true, None, &variables).unwrap();
            let expected = opening.contains(&(file, thinks));
            assert_eq!(format.is_open_after(&prompt), expected, "{file} {thinks:?}: {prompt}");
            read += 1;
        }
    }
    assert_eq!(read, 3 * 4, "templates of models that reason");
}

#[test]
fn real_templates_render_as_in_jinja2() {
    let Some(folder) = shared("templates") else { return };
    let expected: Expected =
        serde_json::from_str(include_str!("../data/chat_templates.json")).unwrap();
    let files = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(files, expected.rendered.len());
    let tokens: Vec<_> = expected.tokens.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let now = UNIX_EPOCH + Duration::from_secs(expected.unix_time);
    let (mut prompts, mut joined, mut calls_in_text) = (0, 0, 0);
    let mut told_in_text = std::collections::BTreeSet::new();
    for (file, rendered) in &expected.rendered {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let template = ChatTemplate::new(&text, &tokens).unwrap();
        for (name, expected_prompt) in rendered {
            let c = &expected.conversations[name];
            let render =
                |tools| template.render_at(now, &c.messages, c.add_generation_prompt, tools);
            let mut prompt = render(c.tools.as_ref());
            // Jinja2 drops the tools for a template that reads none; here they are told in a message.
            if prompt.as_ref().is_ok_and(|prompt| prompt.contains("You can call these tools.")) {
                told_in_text.insert(file.as_str());
                prompt = render(None);
            }
            // Jinja2 drops the calls for a template that reads none; here they are told in the text.
            let has_calls = |message: &Message| message.more.contains_key("tool_calls");
            let has_calls = !text.contains("tool_calls") && c.messages.iter().any(has_calls);
            if let Some(prompt) = prompt.as_ref().ok().filter(|_| has_calls) {
                assert!(prompt.contains("[{\"name\": "), "{file}: {name}: {prompt}");
                calls_in_text += 1;
                continue;
            }
            match (prompt, expected_prompt) {
                (Ok(prompt), Value::String(expected)) => {
                    // DeepSeek-R1-Distill's asks whether content is none, which it is for calls without text:
                    // the conversations have an empty text, for which it writes a turn.
                    let expected = expected.replace("<｜Assistant｜><｜end▁of▁sentence｜>", "");
                    assert_eq!(prompt, expected, "{file}: {name}");
                    prompts += 1;
                }
                (Err(error), Value::Object(refused)) => {
                    let message = refused["refused"].as_str().unwrap();
                    assert!(
                        own(refused) || error.to_string().contains(message),
                        "{file}: {name}: {error}"
                    );
                    assert_eq!(error.kind(), ErrorKind::Request);
                }
                // What the template leaves out of the prompt without a word is refused here.
                (Err(error), Value::String(expected))
                    if error.to_string().contains("passes over") =>
                {
                    let tools = c.messages.iter().filter(|message| message.role == "tool");
                    assert!(tools.clone().count() > 0, "{file}: {name}: {error}");
                    assert!(tools.into_iter().all(|tool| !expected.contains(&tool.content)));
                }
                // What Jinja2 itself stumbles over (a loop over nothing, an unknown name) is empty
                // here.
                (Ok(_), Value::Object(refused)) if own(refused) => {}
                // Here turns are joined where a template wants them in turn.
                (Ok(prompt), Value::Object(refused)) if refuses_order(refused) => {
                    let told = |message: &Message| prompt.contains(message.content.trim());
                    assert!(c.messages.iter().all(told), "{file}: {name}: {prompt}");
                    joined += 1;
                }
                (result, expected) => panic!("{file}: {name}: {result:?}, not {expected}"),
            }
        }
    }
    assert!(told_in_text.contains("google-gemma-2-2b-it.jinja"), "{told_in_text:?}");
    assert!(!told_in_text.contains("meta-llama-Llama-3.2-3B-Instruct.jinja"), "{told_in_text:?}");
    assert!(joined > 0 && calls_in_text > 0);
    eprintln!("{prompts} prompts as in Jinja2, {joined} of joined turns");
}

fn render(text: &str, message: Value) -> maskwright::Result<String> {
    let message = serde_json::from_value(message).unwrap();
    ChatTemplate::new(text, &[("bos_token", "<s>")])?.render(&[message], true, None)
}

/// The prompts are those of Jinja2 3.1.
#[test]
fn what_templates_of_python_rely_on() {
    let message =
        json!({"role": "user", "content": "a<b & 'c'", "x": {"k": [1, true, null, "é"], "f": 0.5}});
    for (text, expected) in [
        ("{{ bos_token }}{{ messages[0].content }}", "<s>a<b & 'c'"),
        ("{{ messages[0].x | tojson }}", r#"{"k": [1, true, null, "é"], "f": 0.5}"#),
        ("{{ messages[0].x.k | tojson(indent=2) }}", "[\n  1,\n  true,\n  null,\n  \"é\"\n]"),
        ("{{ messages[0].x.k[1] }} {{ messages[0].x.k[2] }} {{ nothing }}.", "True None ."),
        ("{% if add_generation_prompt %}\n  yes\n  {% endif %}\nno", "  yes\nno"),
        ("{% for m in messages %}{% generation %}x{%- endgeneration -%} {% endfor %}", "x"),
        ("{% for i in range(9) %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}", "012"),
        ("{{ messages[0]['role'].upper() }} {{ 'a-b'.split('-')[-1] }}", "USER b"),
        ("{{ tools is none }} {{ tools is defined }} {{ documents is none }}", "True True True"),
        (
            "{{ tools is iterable }} {{ messages is iterable }} {{ no is iterable }}",
            "False True True",
        ),
        ("{{ 'x' if tools is iterable and tools | length > 0 else 'no tools' }}", "no tools"),
        ("{{ strftime_now('%Y') | int > 2024 }}", "True"),
        // Filters of nothing: of the properties of a tool without any.
        ("{% for k, v in messages[0].no | items %}x{% endfor %}{{ messages[0].x.k | last }}", "é"),
        ("{{ messages[0].no | length }} {{ messages[0].no | count }} {{ 'ab' | length }}", "0 0 2"),
        ("{{ messages[0].no | first }}{{ messages[0].no | last }}{{ 'ab' | first }}", "a"),
        ("{% for k, v in messages[0].x | items %}{{ k }}{% endfor %}", "kf"),
        // Methods that are not of MiniJinja's collection.
        (
            "{{ 'a.b.c'.rsplit('.', 1) | join('/') }} {{ 'x--y'.rsplit('-') | join('/') }}",
            "a.b/c x//y",
        ),
        (
            "{{ ' a  b c '.rsplit(none, 1) | join('/') }} {{ ' a b'.rsplit() | join('/') }}",
            " a  b/c a/b",
        ),
        (
            "{{ 'abcb'.partition('b') | join('/') }} {{ 'abc'.partition('x') | join('/') }}",
            "a/b/cb abc//",
        ),
        (
            "{{ 'abcb'.rpartition('b') | join('/') }} {{ 'a'.rpartition('x') | join('/') }}",
            "abc/b/ //a",
        ),
        ("{{ 'abc'.removeprefix('ab') }} {{ 'abc'.removesuffix('b') }}", "c abc"),
        (
            "{{ '-7'.zfill(4) }} {{ '7'.zfill(3) }} {{ 'é'.rjust(3) }} {{ 'é'.ljust(3, '.') }}",
            "-007 007   é é..",
        ),
        ("{{ 'éab'.index('b') }} {{ 'abab'.rindex('a') }} {{ [1, 2].index(2) }}", "2 2 1"),
        ("{{ messages[0].x.copy().f }}", "0.5"),
    ] {
        assert_eq!(render(text, message.clone()).unwrap(), expected, "{text}");
    }
    // OpenAI's clients send arguments as a string; templates want the object.
    let call = json!({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{\"a\": 1}"}}]});
    let text = "{{ messages[0].tool_calls[0].function.arguments.a }}{{ messages[0].content }}";
    assert_eq!(render(text, call).unwrap(), "1");
}

#[test]
fn errors_say_where_in_one_line() {
    let message = json!({"role": "user", "content": ""});
    for (text, kind, expected) in [
        ("a\n{% if %}", ErrorKind::Model, "does not parse: unexpected end of block (line 2 of"),
        ("{{ raise_exception('No\nway') }}", ErrorKind::Request, "refuses: No way (line 1"),
        (
            "{{ messages | nofilter }}",
            ErrorKind::Request,
            "template does not run here: filter nofilter is unknown",
        ),
        ("{{ 'a'.swapcase() }}", ErrorKind::Request, "template does not run here: "),
        ("{{ 'a'.index('b') }}", ErrorKind::Request, "refuses: "),
    ] {
        let error = render(text, message.clone()).unwrap_err();
        let line = error.to_string();
        assert!(line.contains(expected) && !line.contains('\n'), "{line}");
        assert_eq!(error.kind(), kind);
        assert!(error.help().is_some());
    }
}

/// DeepSeek-R1's own template writes calls where content is `none`, and their arguments as text.
#[test]
fn calls_without_text_have_no_content() {
    let text = "{%- for m in messages %}{%- if m['role'] == 'assistant' and m['content'] is none %}\
                {%- for tool in m['tool_calls'] %}{{ '<call>' + tool['function']['name'] + '\\n' \
                + tool['function']['arguments'] + '</call>' }}{%- endfor %}{%- endif %}\
                {%- if m['content'] is not none %}{{ m['role'] + ':' + m['content'] }}{%- endif %}{%- endfor %}";
    let call = |arguments: Value, content: &str| {
        json!({"role": "assistant", "content": content, "tool_calls": [{"type": "function",
            "function": {"name": "f", "arguments": arguments}}]})
    };
    for arguments in [json!(r#"{"a": 1}"#), json!({"a": 1})] {
        let written = if arguments.is_string() { r#"{"a": 1}"# } else { r#"{"a":1}"# };
        let prompt = render(text, call(arguments.clone(), "")).unwrap();
        assert_eq!(prompt, format!("<call>f\n{written}</call>"));
        assert_eq!(render(text, call(arguments, "Hm.")).unwrap(), "assistant:Hm.");
    }
    // DeepSeek-R1-Distill's asks whether it is not.
    let text = "{%- if messages[0]['content'] is not none -%}text{%- else -%}none{%- endif -%}\
                {%- for tool in messages[0]['tool_calls'] -%}{{ tool.function.name }}{%- endfor -%}";
    assert_eq!(render(text, call(json!("{}"), "")).unwrap(), "nonef");
    // A template that does not ask has text, and the error is that of the first attempt.
    let text = "{% if messages[0].tool_calls %}{{ messages[0].content | length }}{% endif %}";
    assert_eq!(render(text, call(json!("{}"), "")).unwrap(), "0");
    // One that reads no calls has them in the text.
    let text = "{{ messages[0].content }}";
    let prompt = render(text, call(json!("{}"), "Hm.")).unwrap();
    assert_eq!(prompt, r#"Hm.[{"name": "f", "arguments": {}}]"#);
    let error = render("{{ raise_exception('no') }}", call(json!("{}"), "")).unwrap_err();
    assert!(error.to_string().contains("the chat template refuses: no"), "{error}");
}

/// Mistral's templates want one turn of each speaker after the other, and ids of nine letters and digits.
#[test]
fn turns_are_joined_for_templates_that_want_them_in_turn() {
    let text = "{% for m in messages %}{% if not loop.first and m.role == messages[loop.index0 - 1].role %}\
                {{ raise_exception('roles must alternate') }}{% endif %}\
                {% if not loop.first and m.role == 'user' and messages[loop.index0 - 1].role == 'tool' %}\
                {{ raise_exception('no user after a tool') }}{% endif %}\
                {% for call in m.tool_calls %}{% if call.id | length != 9 %}{{ raise_exception('length 9') }}\
                {% endif %}<{{ call.id }}>{% endfor %}{% if m.tool_call_id %}({{ m.tool_call_id }}){% endif %}\
                {{ m.role[0] }}:{{ m.content }};{% endfor %}";
    let call = |id: &str| {
        json!({"role": "assistant", "content": "", "tool_calls": [{"id": id, "type": "function",
            "function": {"name": "f", "arguments": "{}"}}]})
    };
    let said = |role: &str, content: &str| json!({"role": role, "content": content});
    let given = |id: &str| json!({"role": "tool", "content": "sunny", "tool_call_id": id});
    let joined =
        json!([said("system", "a"), said("system", "b"), said("user", "c"), said("user", "d")]);
    assert_eq!(render_all(text, joined).unwrap(), "s:a\nb;u:c\nd;");
    let long = "call_0123456789";
    let answered = json!([said("user", "c"), call(long), given(long), said("user", "well?")]);
    let prompt = render_all(text, answered).unwrap();
    assert_eq!(prompt, "u:c;<call00000>a:;(call00000)t:sunny\nwell?;");
    // What a template takes stays as it is.
    let short = json!([said("user", "c"), call("abcdefghi"), given("abcdefghi")]);
    assert_eq!(render_all(text, short).unwrap(), "u:c;<abcdefghi>a:;(abcdefghi)t:sunny;");
    let any = "{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}";
    let two = json!([said("user", "c"), said("user", "d")]);
    assert_eq!(render_all(any, two).unwrap(), "u:c;u:d;");
}

/// Gemma 2's template refuses the system's message, and the first Mistral models' any role but the user's first.
#[test]
fn the_system_speaks_as_the_user_where_a_template_knows_none() {
    let text = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}\
                {{ m.role[0] }}:{{ m.content }};{% endfor %}";
    let said = |role: &str, content: &str| json!({"role": role, "content": content});
    let (a, b) = (said("system", "a"), said("system", "b"));
    let (c, d) = (said("user", "c"), said("user", "d"));
    let render = |messages: &[&Value]| render_all(text, json!(messages));
    assert_eq!(render(&[&a, &c]).unwrap(), "u:a\n\nc;");
    assert_eq!(render(&[&a, &b, &c, &d]).unwrap(), "u:a\nb\n\nc\nd;");
    // Later ones would change their place, and one alone has no turn to speak in.
    for refused in [&[&c, &a, &d][..], &[&a]] {
        let error = render(refused).unwrap_err().to_string();
        assert!(error.contains("the chat template refuses: no system"), "{error}");
    }
}

/// A template leaves nothing out of a prompt without a word.
#[test]
fn messages_that_a_template_passes_over_are_refused() {
    let text = "{% for m in messages %}{% if m.role == 'user' %}<u>{{ m.content }}{% elif m.role == 'assistant' %}\
                <a>{{ m.content }}{% endif %}{% endfor %}";
    let template = ChatTemplate::new(text, &[]).unwrap();
    let messages = |list: Value| -> Vec<Message> { serde_json::from_value(list).unwrap() };
    let asked = json!({"role": "user", "content": "Hi"});
    let answered = json!({"role": "tool", "content": "sunny"});
    let render = |list: Value| template.render(&messages(list), true, None);
    assert_eq!(
        render(json!([asked, {"role": "assistant", "content": "Yes"}])).unwrap(),
        "<u>Hi<a>Yes"
    );
    let error = render(json!([asked, answered])).unwrap_err().to_string();
    assert!(error.contains("passes over message 1, of the role `tool`"), "{error}");
    // One that writes any role passes over none.
    let any = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}";
    assert_eq!(render_all(any, json!([asked, answered])).unwrap(), "<user>Hi<tool>sunny");
}

fn render_all(text: &str, messages: Value) -> maskwright::Result<String> {
    let messages: Vec<Message> = serde_json::from_value(messages).unwrap();
    ChatTemplate::new(text, &[])?.render(&messages, true, None)
}

/// gpt-oss's template adds the description of each tool to a text.
#[test]
fn tools_need_no_description() {
    let text = "{% for t in tools %}{{ '// ' + t.function.description + ';' + t.function.name }}{% endfor %}";
    let template = ChatTemplate::new(text, &[]).unwrap();
    let tools = json!([{"type": "function", "function": {"name": "f"}},
        {"type": "function", "function": {"name": "g", "description": "G"}}]);
    let messages = [Message::new("user", "Hi")];
    assert_eq!(template.render(&messages, true, Some(&tools)).unwrap(), "// ;f// G;g");
    // One that asks is told that there is none.
    let asks = "{% for t in tools %}{{ t.function | tojson }}{% endfor %}";
    let prompt =
        ChatTemplate::new(asks, &[]).unwrap().render(&messages, true, Some(&tools)).unwrap();
    assert!(prompt.starts_with("{\"name\": \"f\"}"), "{prompt}");
}

/// Numbers of calls reach the prompt as they were written, or not at all.
#[test]
fn numbers_of_calls_are_not_rounded() {
    let text = "{{ messages[0].tool_calls[0].function.arguments | tojson }}";
    let call = |arguments: &str| json!({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]});
    let exact = r#"{"x": 0.009461053956418471}"#;
    assert_eq!(render(text, call(exact)).unwrap(), exact);
    let error = render(text, call(r#"{"x": 123456789012345678901234567890}"#)).unwrap_err();
    assert!(error.to_string().contains("would be read as"), "{error}");
}

/// A folder's template lies in one of four places.
#[test]
fn a_folder_has_its_template_in_one_of_four_places() {
    let config = json!({
        "model_type": "llama", "hidden_size": 2, "intermediate_size": 1, "vocab_size": 257,
        "num_hidden_layers": 0, "num_attention_heads": 1, "rms_norm_eps": 1e-5,
        "max_position_embeddings": 8, "tie_word_embeddings": true
    });
    let tensors = Tensors::from([
        ("model.embed_tokens.weight".to_owned(), (vec![257, 2], vec![0.0; 514])),
        ("model.norm.weight".to_owned(), (vec![2], vec![0.0; 2])),
    ]);
    let folder = write_model("with-template", &config, &tensors, "F32", 1);
    let load = || {
        let source = ModelSource::Folder(folder.clone());
        Model::load(&ModelOptions { source, ..Default::default() })
    };
    let prompt = |tools: Option<&Value>| {
        let messages = [Message::new("user", "hi")];
        load().unwrap().chat_template().unwrap().render(&messages, true, tools).unwrap()
    };
    let model = load().unwrap();
    assert!(!model.has_chat_template());
    assert_eq!(
        model.chat_template().unwrap_err().to_string(),
        "the model `with-template` has no chat template; put its chat_template.jinja into the \
         model folder, or give a prompt as plain text"
    );
    let write = |file: &str, text: String| std::fs::write(folder.join(file), text).unwrap();
    let eos = json!({"content": "<e>", "special": true});
    let single = json!({"eos_token": eos, "chat_template": "one{{ eos_token }}"});
    write("tokenizer_config.json", single.to_string());
    assert_eq!(prompt(None), "one<e>");
    let list = json!([
        {"name": "tool_use", "template": "with {{ tools | length }}"},
        {"name": "default", "template": "without"}
    ]);
    write("tokenizer_config.json", json!({"chat_template": list}).to_string());
    assert_eq!(prompt(None), "without");
    assert_eq!(prompt(Some(&json!([1, 2]))), "with 2");
    write("chat_template.json", json!({"chat_template": "of the processor"}).to_string());
    assert_eq!(prompt(None), "of the processor");
    write("chat_template.jinja", "own {{ messages[0].content }}".to_owned());
    assert_eq!(prompt(None), "own hi");
    // Named templates beside it, as transformers writes them now.
    std::fs::create_dir(folder.join("additional_chat_templates")).unwrap();
    write("additional_chat_templates/tool_use.jinja", "its {{ tools | length }}".to_owned());
    assert_eq!(prompt(None), "own hi");
    assert_eq!(prompt(Some(&json!([1, 2, 3]))), "its 3");
    write("additional_chat_templates/tool_use.jinja", "{% if".to_owned());
    let error = load().unwrap_err().to_string();
    assert!(error.contains("tool_use.jinja: the chat template does not parse"), "{error}");
    std::fs::remove_dir_all(folder.join("additional_chat_templates")).unwrap();
    // Special tokens that only their map names.
    let map = json!({"bos_token": "<b>", "eos_token": {"content": "<m>"}});
    write("special_tokens_map.json", map.to_string());
    write("chat_template.jinja", "{{ bos_token }}{{ eos_token }}".to_owned());
    assert_eq!(prompt(None), "<b><m>");
    write("tokenizer_config.json", json!({"eos_token": "<c>"}).to_string());
    assert_eq!(prompt(None), "<b><c>");
    write("chat_template.jinja", "{% if".to_owned());
    let error = load().unwrap_err().to_string();
    assert!(error.contains("with-template/chat_template.jinja: the chat template does not parse"));
}

/// Neither a loop in a template nor what it writes is without end.
#[test]
fn a_template_ends() {
    let message = json!({"role": "user", "content": "x"});
    let many = "{% for a in range(10000) %}{% for b in range(10000) %}";
    let ends = "{% endfor %}{% endfor %}";
    let long = "{% set x = 'x' * 100000 %}";
    for (text, expected) in [
        (format!("{many}{ends}"), "takes more than 5020000 steps"),
        (format!("{long}{many}{{{{ x }}}}{ends}"), "writes more than 16777"),
    ] {
        let error = render(&text, message.clone()).unwrap_err();
        let line = error.to_string();
        assert!(line.starts_with("the chat template ") && line.contains(expected), "{line}");
        assert!(line.contains("a loop in it may never end"), "{line}");
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
    // Many messages are no endless loop.
    let text = "{% for m in messages %}{% for c in m.content %}{{ c }}{% endfor %}{% endfor %}";
    let template = ChatTemplate::new(text, &[]).unwrap();
    let messages = vec![Message::new("user", "a".repeat(1000)); 2000];
    assert_eq!(template.render(&messages, true, None).unwrap().len(), 2_000_000);
}
