//! From conversations to the tokens that a model reads: content does not become control tokens, and
//! what is too long is refused before it is tokenised.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::model_support::{Tensors, load, random_model, shared, write_model};
use maskwright::ErrorKind;
use maskwright::Vocabulary;
use maskwright::engine::{Engine, Prompt, Request};
use maskwright::model::{Message, Model, SpecialNames};
use serde_json::{Value, json};

/// Names of control tokens in public models.
const NAMES: [&str; 18] = [
    "<|im_start|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "[INST]",
    "[/INST]",
    "</s>",
    "<s>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<|end|>",
    "<|user|>",
    "<|system|>",
    "<|assistant|>",
    "<|endoftext|>",
    "<|start|>",
    "<|message|>",
];

/// Each shared template with a tokenizer of its family.
const FAMILIES: [(&str, &str); 12] = [
    ("HuggingFaceTB-SmolLM3-3B", "smollm2"),
    ("NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "llama-3.2"),
    ("Qwen-Qwen2.5-7B-Instruct", "qwen2.5"),
    ("Qwen-Qwen3-0.6B", "qwen2.5"),
    ("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "qwen2.5"),
    ("fireworks-ai-llama-3-firefunction-v2", "llama-3.2"),
    ("google-gemma-2-2b-it", "gemma-3"),
    ("meta-llama-Llama-3.1-8B-Instruct", "llama-3.2"),
    ("meta-llama-Llama-3.2-3B-Instruct", "smollm2"),
    ("microsoft-Phi-3.5-mini-instruct", "phi-3-mini"),
    ("mistralai-Mistral-Nemo-Instruct-2407", "mistral-7b-v0.1"),
    ("openai-gpt-oss-120b", "gpt2"),
];

/// A model without blocks that reads this tokenizer, in which each of the [`NAMES`] is a special
/// token, and the ids of control tokens by name.
fn model(
    name: &str,
    tokenizer: &Path,
    template: Option<&Path>,
    context: usize,
) -> (PathBuf, BTreeMap<String, u32>) {
    let mut file: Value =
        serde_json::from_slice(&std::fs::read(tokenizer.join("tokenizer.json")).unwrap()).unwrap();
    let vocab = file["model"]["vocab"].as_object().unwrap();
    let mut next = vocab.values().map(|id| id.as_u64().unwrap()).max().unwrap() + 1;
    // A name that is a piece of text to this model cannot be an added token, too.
    let is_piece = |name: &&&str| vocab.contains_key(**name);
    let pieces: Vec<&str> = NAMES.iter().filter(is_piece).copied().collect();
    let added = file["added_tokens"].as_array_mut().unwrap();
    next = added.iter().map(|t| t["id"].as_u64().unwrap() + 1).max().unwrap().max(next);
    for name in NAMES {
        if !pieces.contains(&name) && !added.iter().any(|token| token["content"] == name) {
            added.push(json!({"id": next, "content": name, "special": true, "single_word": false,
                "lstrip": false, "rstrip": false, "normalized": false}));
            next += 1;
        }
    }
    // What a file does not call special is text that is written as one token (`<s>`, an element of
    // HTML, in Gemma), unless it ends texts elsewhere.
    let ids = added
        .iter()
        .filter(|token| token["special"] == true || token["content"] == "</s>")
        .map(|t| (t["content"].as_str().unwrap().to_owned(), t["id"].as_u64().unwrap() as u32))
        .collect();
    let width = next as usize;
    let config = json!({
        "model_type": "llama", "hidden_size": 2, "intermediate_size": 1, "vocab_size": width,
        "num_hidden_layers": 0, "num_attention_heads": 1, "rms_norm_eps": 1e-5,
        "max_position_embeddings": context, "tie_word_embeddings": true
    });
    let tensors = Tensors::from([
        ("model.embed_tokens.weight".to_owned(), (vec![width, 2], vec![0.0; 2 * width])),
        ("model.norm.weight".to_owned(), (vec![2], vec![0.0; 2])),
    ]);
    let folder = write_model(name, &config, &tensors, "F32", 1);
    std::fs::write(folder.join("tokenizer.json"), file.to_string()).unwrap();
    let tokens = json!({"bos_token": "<s>", "eos_token": "<|endoftext|>"});
    std::fs::write(folder.join("tokenizer_config.json"), tokens.to_string()).unwrap();
    if let Some(template) = template {
        let mut text = std::fs::read_to_string(template).unwrap();
        if text.contains("+ functions") {
            // Its own program gives it these two.
            let given = "{%- set functions = tools | tojson -%}{%- set datetime = 'today' -%}\n";
            text.insert_str(0, given);
        }
        std::fs::write(folder.join("chat_template.jinja"), text).unwrap();
    }
    (folder, ids)
}

/// Conversations in which `text` stands wherever a request has text.
fn conversations(text: &str) -> Vec<(Vec<Message>, Option<Value>)> {
    let message = |role: &str, content: &str| Message::new(role, content);
    let mut named = message("user", text);
    named.more.insert("name".into(), json!(text));
    let mut call = message("assistant", "");
    let arguments = json!({ text: text, "list": [text] }).to_string();
    call.more.insert(
        "tool_calls".into(),
        json!([{"id": "abcdefghi", "type": "function",
            "function": {"name": format!("f{text}"), "arguments": arguments}}]),
    );
    let mut result = message("tool", text);
    result.more.insert("tool_call_id".into(), json!("abcdefghi"));
    result.more.insert("name".into(), json!(format!("f{text}")));
    let tools = json!([{"type": "function", "function": {
        "name": format!("f{text}"), "description": text,
        "parameters": {"type": "object", "properties": {
            text: {"type": "string", "description": text, "enum": [text]}}}}}]);
    let padded = format!("  {text} between {text}\n");
    vec![
        (vec![named.clone()], None),
        (vec![message("user", &padded), message("assistant", text), message("user", text)], None),
        (vec![message("system", text), message("user", &padded)], None),
        (vec![message("user", text)], Some(tools.clone())),
        (vec![message("user", text), call, result, message("assistant", "x")], Some(tools)),
    ]
}

/// The tokens as text, special ones by their names.
fn text(model: &Model, tokens: &[u32]) -> String {
    let vocabulary = model.vocabulary();
    let mut bytes = Vec::new();
    for &token in tokens {
        match vocabulary.token_bytes(token) {
            Some(text) => bytes.extend_from_slice(text),
            None => bytes.extend_from_slice(vocabulary.token_name(token).as_bytes()),
        }
    }
    String::from_utf8(bytes).unwrap()
}

#[test]
fn content_never_becomes_control_tokens() {
    let (Some(templates), Some(tokenizers)) = (shared("templates"), shared("tokenizers")) else {
        return;
    };
    assert_eq!(std::fs::read_dir(&templates).unwrap().count(), FAMILIES.len());
    let mut checked = 0;
    for (template, tokenizer) in FAMILIES {
        let file = templates.join(format!("{template}.jinja"));
        let (folder, ids) =
            model(&format!("prompts-{template}"), &tokenizers.join(tokenizer), Some(&file), 4096);
        let model = load(folder);
        let is_control = |token: &&u32| {
            let named = NAMES.iter().any(|name| ids.get(*name) == Some(*token));
            named || model.vocabulary().is_special(**token)
        };
        let control =
            |tokens: &[u32]| -> Vec<u32> { tokens.iter().filter(is_control).copied().collect() };
        let encode = |(messages, tools): &(Vec<Message>, Option<Value>), names| {
            model.encode_chat(messages, tools.as_ref(), names)
        };
        let render = |(messages, tools): &(Vec<Message>, Option<Value>)| {
            model.chat_template().unwrap().render(messages, true, tools.as_ref()).unwrap()
        };
        let mut rendered = 0;
        let ordinary = conversations("a plain text");
        for (place, plain) in ordinary.iter().enumerate() {
            let Ok(expected) = encode(plain, SpecialNames::AsText) else { continue };
            rendered += 1;
            let prompt = render(plain);
            let whole = model.tokenizer().encode_prompt(&prompt, false).unwrap();
            assert_eq!(expected, whole, "{template}: {place}");
            for name in NAMES {
                for hostile in [format!("a{name}b"), name.to_owned(), format!("é {name} 東京")] {
                    let conversation = &conversations(&hostile)[place];
                    let tokens = encode(conversation, SpecialNames::AsText).unwrap();
                    assert_eq!(
                        control(&tokens),
                        control(&expected),
                        "{template}: {place}: {hostile:?} of {}",
                        text(&model, &tokens)
                    );
                    // Some tokenizers put spaces before texts, or take them away.
                    let squeezed = |text: &str| text.replace([' ', '\n'], "");
                    let (tokens, prompt) = (text(&model, &tokens), render(conversation));
                    assert_eq!(squeezed(&tokens), squeezed(&prompt), "{template}: {place}");
                    checked += 1;
                }
                // The old way, for those who ask for it.
                let conversation = &conversations(name)[place];
                let tokens = encode(conversation, SpecialNames::AsTokens).unwrap();
                let prompt = render(conversation);
                assert_eq!(tokens, model.tokenizer().encode_prompt(&prompt, false).unwrap());
                if place == 1 && ids.contains_key(name) {
                    assert!(
                        control(&tokens).len() > control(&expected).len(),
                        "{template}: {name}"
                    );
                }
            }
            // Disguised at its borders, and still tokenised as ever.
            for odd in ["a <", "> b", "if a<b|c>d", "<|im", "nd|> x </t>", "e\u{301} <", "[x] ["] {
                let conversation = &conversations(odd)[place];
                let tokens = encode(conversation, SpecialNames::AsText).unwrap();
                let prompt = render(conversation);
                let expected = model.tokenizer().encode_prompt(&prompt, false).unwrap();
                assert_eq!(tokens, expected, "{template}: {place}: {odd}");
            }
        }
        assert!(rendered >= 2, "{template}: {rendered}");
    }
    eprintln!("{checked} prompts");
}

/// Text between control tokens is tokenised as one text.
#[test]
fn text_around_a_name_is_tokenised_with_it() {
    let Some(tokenizers) = shared("tokenizers") else { return };
    for tokenizer in ["gpt2", "llama-3.2", "qwen2.5", "smollm2", "mistral-7b-v0.1", "phi-3-mini"] {
        let name = format!("around-{tokenizer}");
        let (folder, _) = model(&name, &tokenizers.join(tokenizer), None, 4096);
        let model = load(folder);
        let raw = model.tokenizer();
        for content in ["one<|im_end|>two", "a </s>\n\n b", "[INST]", "x<|user|>  y"] {
            let tokens = model.encode_text(content, SpecialNames::AsText).unwrap();
            let special = |&&token: &&u32| NAMES.contains(&&*model.vocabulary().token_name(token));
            let begins = tokens.iter().filter(special).count();
            // At most what the tokenizer puts before each text.
            let before = raw.encode_prompt("x", true).unwrap().iter().filter(special).count();
            assert_eq!(begins, before, "{tokenizer}: {content:?}: {tokens:?}");
        }
        // As the tokenizer would if it had no such tokens.
        let plain = tokenizers.join(tokenizer).join("tokenizer.json");
        let mut file: Value = serde_json::from_slice(&std::fs::read(plain).unwrap()).unwrap();
        file["added_tokens"] = json!([]);
        file["post_processor"] = Value::Null;
        let bare = maskwright::model::Tokenizer::from_bytes(file.to_string().as_bytes()).unwrap();
        let content = "one<|im_end|>two [INST] x</s>y";
        let tokens = model.encode_text(content, SpecialNames::AsText).unwrap();
        let expected = bare.encode_prompt(content, false).unwrap();
        assert!(tokens.ends_with(&expected), "{tokenizer}: {tokens:?} {expected:?}");
    }
}

/// Sizes that a trainer left in the file are no limits of prompts.
#[test]
fn a_tokenizer_neither_cuts_nor_fills_up() {
    let mut file = crate::model_support::byte_tokenizer();
    file["truncation"] = json!({"direction": "Right", "max_length": 3,
        "strategy": "LongestFirst", "stride": 0});
    file["padding"] = json!({"strategy": {"Fixed": 12}, "direction": "Right",
        "pad_to_multiple_of": null, "pad_id": 256, "pad_type_id": 0, "pad_token": "<|end|>"});
    let tokenizer = maskwright::model::Tokenizer::from_bytes(file.to_string().as_bytes()).unwrap();
    assert_eq!(tokenizer.encode_prompt("Hello", false).unwrap(), b"Hello".map(u32::from));
}

/// The number after "at least" in the message.
fn bound(error: &maskwright::Error) -> usize {
    let message = error.message();
    let (_, rest) = message.split_once("at least ").unwrap();
    rest.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_prompt_that_is_too_long_is_refused_by_its_bytes() {
    let Some(tokenizers) = shared("tokenizers") else { return };
    let texts = [
        ("words", "The quick brown fox jumps over the lazy dog. "),
        ("blanks", "          \n\n\t\t  "),
        ("dashes", "--------------------------------================"),
        (
            "composed",
            "e\u{301}o\u{302}\u{301}\u{212A}\u{1112}\u{1161}\u{11AB}\u{3A9}\u{342}\u{345}",
        ),
        ("singletons", "\u{37E}\u{1FEF}\u{2126}\u{212B}\u{2000}\u{2F800}\u{F900}"),
        ("marks", "\u{2581}\u{2581}a\u{2581}"),
        ("others", "東京都 Привет مرحبا 👩‍👩‍👧 \u{0}\u{7F}\u{85}\u{A0}\u{3000}"),
        ("names", "<|im_end|>[INST]  </s> <|user|>\n\n<|user|>"),
        ("code", "    if (a != b) { return foo_bar(x, y)[0]; }\n"),
    ];
    for tokenizer in
        ["gpt2", "llama-3.2", "qwen2.5", "smollm2", "mistral-7b-v0.1", "phi-3-mini", "gemma-3"]
    {
        let name = format!("long-{tokenizer}");
        let (folder, _) = model(&name, &tokenizers.join(tokenizer), None, 4);
        let model = load(folder);
        for (kind, text) in texts {
            let text = text.repeat(400);
            for names in [SpecialNames::AsText, SpecialNames::AsTokens] {
                let Err(error) = model.encode_text(&text, names) else { continue };
                assert_eq!(error.kind(), ErrorKind::Context);
                let actual = model.tokenizer().encode_prompt(&text, true).unwrap().len();
                let bound = bound(&error);
                assert!(bound <= actual, "{tokenizer}: {kind}: {bound} of {actual}");
                assert!(error.message().starts_with("This model's maximum context length is 4 "));
                assert!(error.message().contains("context_length_exceeded"));
                if kind == "words" {
                    assert!(bound * 40 > actual, "{tokenizer}: {bound} of {actual}");
                }
            }
        }
    }
}

#[test]
fn a_prompt_that_fills_the_context_is_refused() {
    let model = load(crate::model_support::hey("prompts-full"));
    let engine = Engine::new(model);
    let run = |n: usize| {
        let request = Request { max_tokens: 1, ..Request::text("a".repeat(n)) };
        engine.generate(&request, &mut |_| std::ops::ControlFlow::Continue(()))
    };
    // The template adds one.
    assert!(run(2046).is_ok());
    for n in [2047, 2048, 10_000_000] {
        let error = run(n).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Context);
        let text = error.to_string();
        let start = "This model's maximum context length is 2048 tokens, and a prompt of ";
        let end = " leaves no room for an answer (context_length_exceeded); shorten it to at most \
                   2047 tokens";
        assert!(text.starts_with(start) && text.ends_with(end), "{text}");
        if n < 10_000 {
            assert_eq!(text, format!("{start}{}{end}", n + 1));
        } else {
            assert!(bound(&error) > n / 12, "{text}");
        }
    }
}

/// A tokenizer may have special tokens beyond the embedding, as that of Gemma 3 has for images: the request that names
/// one is refused, and no other.
#[test]
fn a_special_token_beyond_the_embedding_is_refused() {
    let folder = crate::model_support::hey("prompts-beyond");
    let path = folder.join("tokenizer.json");
    let mut tokenizer: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    for id in 257..=262 {
        let token = json!({ "id": id, "content": format!("<image{id}>"), "special": true,
            "single_word": false, "lstrip": false, "rstrip": false, "normalized": false });
        tokenizer["added_tokens"].as_array_mut().unwrap().push(token);
    }
    std::fs::write(&path, tokenizer.to_string()).unwrap();
    let engine = Engine::new(load(folder));
    let beyond = Request { raw: true, ..Request::text("a <image262> b") };
    let error = engine.generate(&beyond, &mut |_| std::ops::ControlFlow::Continue(())).unwrap_err();
    assert_eq!((error.kind(), error.place().field), (ErrorKind::Request, Some("prompt")));
    assert!(error.message().contains("names special token 262"), "{error}");
    let fine = Request { max_tokens: 1, ..beyond };
    let fine = Request { prompt: Prompt::Text("a > b".to_owned()), ..fine };
    assert!(engine.generate(&fine, &mut |_| std::ops::ControlFlow::Continue(())).is_ok());
}

/// transformers reads them as well, and their ids are those that the model was trained with.
#[test]
fn tokens_that_a_tokenizer_lacks_come_from_the_files_beside_it() {
    let added = |id: u64, content: &str, special: bool| {
        let flags = json!({"special": special, "lstrip": false, "rstrip": false, "normalized": false,
            "single_word": false, "content": content});
        (id.to_string(), flags)
    };
    let decoder: serde_json::Map<String, Value> = [
        added(256, "<|end|>", true),
        added(257, "<|im_start|>", true),
        added(258, "<|im_end|>", true),
        // The tokenizer.json has another text there, and would give this one another id.
        added(65, "<|a|>", true),
        added(270, "<|far|>", true),
    ]
    .into_iter()
    .collect();
    for (name, file, content) in [
        ("decoder", "tokenizer_config.json", json!({ "added_tokens_decoder": decoder })),
        ("added", "added_tokens.json", json!({ "<|im_start|>": 257, "<|im_end|>": 258 })),
    ] {
        let folder = random_model(&format!("prompts-{name}"), 3);
        let special =
            json!({ "additional_special_tokens": ["<|im_start|>"], "eos_token": "<|im_end|>" });
        std::fs::write(folder.join("special_tokens_map.json"), special.to_string()).unwrap();
        std::fs::write(folder.join(file), content.to_string()).unwrap();
        std::fs::write(folder.join("generation_config.json"), r#"{"eos_token_id": 258}"#).unwrap();
        let model = load(folder.clone());
        let tokens =
            model.tokenizer().encode_prompt("<|im_start|>a<|im_end|><|far|>", true).unwrap();
        assert_eq!(tokens[..3], [257, 97, 258], "{name}");
        assert_eq!(tokens.len(), 3 + "<|far|>".len(), "{name}");
        assert!(model.vocabulary().end_tokens().contains(&258), "{name}");
        let alone = Vocabulary::from_file(&folder).unwrap();
        assert_eq!(alone.token_name(257), "<|im_start|>", "{name}");
        assert!(alone.is_special(257) && alone.end_tokens().contains(&258), "{name}");
    }
}
