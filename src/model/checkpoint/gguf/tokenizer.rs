//! The tokenizer in the metadata of a GGUF file, as a `tokenizer.json`.
//!
//! Three models of llama.cpp have one: `gpt2`, byte pairs with merges and a
//! [pre-tokenizer](super::pre_tokenizers); `llama`, SentencePiece's byte pairs, whose merges follow from the scores of
//! pieces: the two halves that make the piece with the best score are merged first, as the `transformers`
//! library converts them; and `gemma4`, the same with merges in the file.

use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};

use super::metadata::Metadata;
use super::pre_tokenizers::PreTokenizer;
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::gguf_token_type as token_type;

/// The name of the rules by which text is cut into words.
const PRE: &str = "tokenizer.ggml.pre";

/// A token of the file.
struct GgufToken<'a> {
    text: &'a str,
    kind: i64,
}

/// The content of a `tokenizer.json` with the file's tokenizer.
pub(super) fn tokenizer_json(metadata: &Metadata<'_>) -> Result<Vec<u8>> {
    let tokens = tokens(metadata)?;
    let model = metadata.text("tokenizer.ggml.model")?.unwrap_or_default();
    let mut json = match model {
        "gpt2" => byte_level(metadata, &tokens)?,
        "llama" => {
            let scores = scores(metadata, &tokens)?;
            sentence_piece(metadata, &tokens, merges_of_scores(&tokens, &scores), true)?
        }
        "gemma4" => sentence_piece(metadata, &tokens, merges(metadata)?, false)?,
        other => {
            let message = format!("`tokenizer.ggml.model` is `{other}`, which is not read");
            return Err(Error::new(ErrorKind::Model, message)
                .with_help("`gpt2` (byte-level BPE), `llama` (SentencePiece) and `gemma4` are"));
        }
    };
    json.insert("version".to_owned(), json!("1.0"));
    let strips_after = model == "llama" && metadata.text("general.architecture")? == Some("phi3");
    json.insert("added_tokens".to_owned(), added_tokens(&tokens, model != "gpt2", strips_after));
    serde_json::to_vec(&json).map_err(|error| Error::new(ErrorKind::Model, error.to_string()))
}

/// The content of a `tokenizer_config.json`: chat templates, names of special tokens.
pub(super) fn tokenizer_config_json(metadata: &Metadata<'_>) -> Result<Vec<u8>> {
    let tokens = tokens(metadata)?;
    let mut config = Map::new();
    for (key, name) in [
        ("bos", "bos_token"),
        ("eos", "eos_token"),
        ("unknown", "unk_token"),
        ("padding", "pad_token"),
    ] {
        let id = metadata.token_id(key)?;
        if let Some(token) = id.and_then(|id| tokens.get(id)) {
            config.insert(name.to_owned(), json!(token.text));
        }
    }
    // llama.cpp puts the BOS token before conversations, too: templates of some files leave it to that.
    let bos = config.get("bos_token").and_then(Value::as_str).map(str::to_owned);
    let bos = if adds_bos(metadata)? { bos } else { None };
    let with_bos = |template: &str| match &bos {
        Some(bos) if !template.contains("bos_token") && !template.contains(bos.as_str()) => {
            format!("{{{{ bos_token }}}}{template}")
        }
        _ => template.to_owned(),
    };
    let mut templates = Vec::new();
    if let Some(template) = metadata.text("tokenizer.chat_template")? {
        templates.push(json!({"name": "default", "template": with_bos(template)}));
    }
    for name in metadata.texts("tokenizer.chat_templates")?.unwrap_or_default() {
        if let Some(template) = metadata.text(&format!("tokenizer.chat_template.{name}"))? {
            templates.push(json!({"name": name, "template": with_bos(template)}));
        }
    }
    if !templates.is_empty() {
        config.insert("chat_template".to_owned(), Value::Array(templates));
    }
    serde_json::to_vec(&config).map_err(|error| Error::new(ErrorKind::Model, error.to_string()))
}

fn tokens<'a>(metadata: &Metadata<'a>) -> Result<Vec<GgufToken<'a>>> {
    const TOKENS: &str = "tokenizer.ggml.tokens";
    const TYPES: &str = "tokenizer.ggml.token_type";
    let Some(texts) = metadata.texts(TOKENS)? else {
        let message = format!("the GGUF file has no `{TOKENS}`");
        return Err(Error::new(ErrorKind::Model, message)
            .with_help("convert the model again, with its tokenizer"));
    };
    let types = metadata.integers(TYPES)?.unwrap_or_else(|| vec![1; texts.len()]);
    if types.len() != texts.len() {
        let message = format!("`{TYPES}` has {} members, `{TOKENS}` {}", types.len(), texts.len());
        return Err(
            Error::new(ErrorKind::Model, message).with_help("get a complete copy of the file")
        );
    }
    let tokens = texts.into_iter().zip(types);
    Ok(tokens
        .map(|(text, kind)| GgufToken { text, kind: token_type::corrected(kind, text) })
        .collect())
}

/// Tokens that are found in a text before it is cut into words. With `strips_after`, most special tokens take the
/// white space after them, as Phi-3's do: a file cannot say so, and llama.cpp knows it by the name of the model.
fn added_tokens(tokens: &[GgufToken<'_>], is_sentence_piece: bool, strips_after: bool) -> Value {
    const BARE: [&str; 3] = ["<unk>", "<s>", "<|endoftext|>"];
    let is_added = |token: &GgufToken<'_>| match token.kind {
        token_type::CONTROL | token_type::UNKNOWN => true,
        // Pieces with escaped blanks are found as pieces.
        token_type::USER_DEFINED => !(is_sentence_piece && token.text.contains('▁')),
        _ => false,
    };
    let added = tokens.iter().enumerate().filter(|(_, token)| is_added(token));
    let strips = |token: &GgufToken<'_>| {
        let is_control = token.kind == token_type::CONTROL || token.text == "</s>";
        strips_after && is_control && !BARE.contains(&token.text)
    };
    let json = added.map(|(id, token)| {
        json!({
            "id": id, "content": token.text, "single_word": false, "lstrip": false, "rstrip": strips(token),
            "normalized": false, "special": token.kind != token_type::USER_DEFINED,
        })
    });
    Value::Array(json.collect())
}

/// The pieces, each with its id; a text that occurs twice is the first one's.
fn pieces(tokens: &[GgufToken<'_>]) -> Map<String, Value> {
    let mut pieces = Map::new();
    for (id, token) in tokens.iter().enumerate() {
        if token.kind != token_type::UNUSED {
            pieces.entry(token.text).or_insert_with(|| json!(id));
        }
    }
    pieces
}

fn byte_level(metadata: &Metadata<'_>, tokens: &[GgufToken<'_>]) -> Result<Map<String, Value>> {
    let Some(name) = metadata.text(PRE)? else {
        let message = format!("the GGUF file does not say how text is cut into words (`{PRE}`)");
        return Err(Error::new(ErrorKind::Model, message)
            .with_help("it is of before May 2024: get a newer file, or convert the model again"));
    };
    let Some(pre) = PreTokenizer::named(name) else {
        let message = format!("the pre-tokenizer `{name}` (`{PRE}`) is not known");
        return Err(Error::new(ErrorKind::Model, message)
            .with_help(format!("known are {}", PreTokenizer::names())));
    };
    let pairs = merges(metadata)?;
    let mut json = Map::new();
    json.insert("pre_tokenizer".to_owned(), pre.json());
    let decoder = json!({
        "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true,
    });
    json.insert("decoder".to_owned(), decoder);
    json.insert("post_processor".to_owned(), post_processor(metadata, tokens)?);
    json.insert(
        "model".to_owned(),
        json!({
            "type": "BPE", "vocab": pieces(tokens), "merges": pairs,
            "ignore_merges": pre.ignores_merges, "byte_fallback": false, "fuse_unk": false,
        }),
    );
    Ok(json)
}

/// The pairs that are merged, the first ones first.
fn merges<'a>(metadata: &Metadata<'a>) -> Result<Vec<(&'a str, &'a str)>> {
    const MERGES: &str = "tokenizer.ggml.merges";
    let Some(merges) = metadata.texts(MERGES)? else {
        let message = format!("the GGUF file has no `{MERGES}`");
        return Err(Error::new(ErrorKind::Model, message)
            .with_help("convert the model again, with its tokenizer"));
    };
    // A blank inside a half is written otherwise, so the one blank is between the halves.
    let pairs: Option<Vec<(&str, &str)>> = merges.into_iter().map(|m| m.split_once(' ')).collect();
    pairs.ok_or_else(|| {
        let message = format!("`{MERGES}` has a member that is not two halves");
        Error::new(ErrorKind::Model, message).with_help("get a complete copy of the file")
    })
}

/// The scores of pieces.
fn scores(metadata: &Metadata<'_>, tokens: &[GgufToken<'_>]) -> Result<Vec<f64>> {
    const SCORES: &str = "tokenizer.ggml.scores";
    let scores = metadata.floats(SCORES)?.unwrap_or_default();
    if scores.len() != tokens.len() || scores.iter().any(|score| score.is_nan()) {
        let message = format!("`{SCORES}` has no number for each of the {} tokens", tokens.len());
        return Err(
            Error::new(ErrorKind::Model, message).with_help("get a complete copy of the file")
        );
    }
    Ok(scores)
}

/// Byte pairs of text with escaped blanks. `adds_space` is the default of a blank before a text.
fn sentence_piece(
    metadata: &Metadata<'_>,
    tokens: &[GgufToken<'_>],
    merges: Vec<(&str, &str)>,
    adds_space: bool,
) -> Result<Map<String, Value>> {
    let adds_space = metadata.flag("tokenizer.ggml.add_space_prefix")?.unwrap_or(adds_space);
    let escape = json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
    let normalizers = if adds_space {
        json!([{"type": "Prepend", "prepend": "▁"}, escape])
    } else {
        json!([escape])
    };
    let mut decoders = vec![
        json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "}),
        json!({"type": "ByteFallback"}),
        json!({"type": "Fuse"}),
    ];
    if adds_space {
        decoders.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
    }
    let stated = metadata.token_id("unknown")?.and_then(|id| tokens.get(id));
    let unknown = stated.or_else(|| tokens.iter().find(|token| token.kind == token_type::UNKNOWN));
    let mut json = Map::new();
    json.insert("normalizer".to_owned(), json!({"type": "Sequence", "normalizers": normalizers}));
    json.insert("decoder".to_owned(), json!({"type": "Sequence", "decoders": decoders}));
    json.insert("post_processor".to_owned(), post_processor(metadata, tokens)?);
    json.insert(
        "model".to_owned(),
        json!({
            "type": "BPE", "vocab": pieces(tokens), "merges": merges,
            "byte_fallback": true, "fuse_unk": true, "ignore_merges": false,
            "unk_token": unknown.map(|token| token.text),
        }),
    );
    Ok(json)
}

/// The pairs of pieces that make a piece, those of the best score first.
fn merges_of_scores<'a>(tokens: &[GgufToken<'a>], scores: &[f64]) -> Vec<(&'a str, &'a str)> {
    let is_piece =
        |token: &GgufToken<'_>| matches!(token.kind, token_type::NORMAL | token_type::USER_DEFINED);
    let ids: FxHashMap<&str, usize> = tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| is_piece(token))
        .map(|(id, token)| (token.text, id))
        .collect();
    let mut merges = Vec::new();
    for (id, token) in tokens.iter().enumerate().filter(|(_, token)| is_piece(token)) {
        for (at, _) in token.text.char_indices().skip(1) {
            let (left, right) = token.text.split_at(at);
            if let (Some(&l), Some(&r)) = (ids.get(left), ids.get(right)) {
                merges.push((scores[id], l, r, (left, right)));
            }
        }
    }
    merges.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    merges.into_iter().map(|(.., pair)| pair).collect()
}

/// Whether texts begin with the BOS token; where the file does not say it, as llama.cpp knows it.
fn adds_bos(metadata: &Metadata<'_>) -> Result<bool> {
    let stated = metadata.flag("tokenizer.ggml.add_bos_token")?;
    Ok(match metadata.text("tokenizer.ggml.model")? {
        // Its first files say that texts do not, and it writes nonsense without; llama.cpp adds it, too.
        Some("gemma4") => true,
        Some("gpt2") => {
            let pre = metadata.text(PRE)?.and_then(PreTokenizer::named);
            stated.unwrap_or_else(|| pre.is_some_and(|pre| pre.adds_bos))
        }
        _ => stated.unwrap_or(true),
    })
}

/// The tokens before and after every text.
fn post_processor(metadata: &Metadata<'_>, tokens: &[GgufToken<'_>]) -> Result<Value> {
    let mut special = Map::new();
    let mut part = |name: &str, adds: bool| -> Result<Option<Value>> {
        let id = metadata.token_id(name)?.filter(|_| adds);
        let Some((id, token)) = id.and_then(|id| Some((id, tokens.get(id)?))) else {
            return Ok(None);
        };
        special.insert(
            token.text.to_owned(),
            json!({"id": token.text, "ids": [id], "tokens": [token.text]}),
        );
        Ok(Some(json!({"SpecialToken": {"id": token.text, "type_id": 0}})))
    };
    let adds_eos = metadata.flag("tokenizer.ggml.add_eos_token")?.unwrap_or(false);
    let (bos, eos) = (part("bos", adds_bos(metadata)?)?, part("eos", adds_eos)?);
    let sequence = |id: &str, kind: u32| json!({"Sequence": {"id": id, "type_id": kind}});
    let single: Vec<Value> =
        bos.iter().cloned().chain([sequence("A", 0)]).chain(eos.iter().cloned()).collect();
    let pair: Vec<Value> = [sequence("A", 0), sequence("B", 1)].into();
    Ok(json!({
        "type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_tokens_of_phi_3_take_the_white_space_after_them() {
        let token = |text, kind| GgufToken { text, kind };
        let tokens = [
            token("<unk>", token_type::UNKNOWN),
            token("<s>", token_type::CONTROL),
            token("</s>", token_type::USER_DEFINED),
            token("<|endoftext|>", token_type::CONTROL),
            token("<|user|>", token_type::CONTROL),
        ];
        let stripping = |strips: bool| {
            let added = added_tokens(&tokens, true, strips);
            let added = added.as_array().map(Vec::as_slice).unwrap_or_default();
            added.iter().map(|token| token["rstrip"] == true).collect::<Vec<bool>>()
        };
        assert_eq!(stripping(true), [false, false, true, false, true]);
        assert_eq!(stripping(false), [false; 5]);
    }
}
