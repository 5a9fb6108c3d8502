//! For tests of models: folders made up on the spot, and where the shared ones lie.

#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use maskwright::model::{Model, ModelOptions, ModelSource};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};

/// The folder of shared models and templates, which `MASKWRIGHT_SHARED` names. Without it a test
/// says that it was skipped; with it a missing file is a failure.
#[allow(dead_code, clippy::print_stderr)] // not every test that includes this module needs it
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    match std::env::var_os("MASKWRIGHT_SHARED") {
        Some(root) => Some(Path::new(&root).join(path)),
        None => {
            eprintln!("skipped: MASKWRIGHT_SHARED does not say where {path} lies");
            None
        }
    }
}

/// A model of bytes without any block: what follows a byte has random logits.
#[allow(dead_code)]
pub(crate) fn random_model(name: &str, seed: u64) -> PathBuf {
    let hidden = 16;
    let config = json!({
        "model_type": "llama", "hidden_size": hidden, "intermediate_size": 1, "vocab_size": 260,
        "num_hidden_layers": 0, "num_attention_heads": 1, "rms_norm_eps": 1e-5,
        "max_position_embeddings": 256, "eos_token_id": END
    });
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut numbers = |n| -> Vec<f32> {
        (0..n).map(|_| (f64::from(rng.next_u32()) / f64::from(u32::MAX) - 0.5) as f32).collect()
    };
    let tensors = Tensors::from([
        ("model.embed_tokens.weight".to_owned(), (vec![260, hidden], numbers(260 * hidden))),
        ("lm_head.weight".to_owned(), (vec![260, hidden], numbers(260 * hidden))),
        ("model.norm.weight".to_owned(), (vec![hidden], vec![1.0; hidden])),
    ]);
    write_model(name, &config, &tensors, "F32", 1)
}

#[allow(dead_code)]
pub(crate) fn load(folder: PathBuf) -> Model {
    Model::load(&ModelOptions { source: ModelSource::Folder(folder), ..Default::default() })
        .unwrap()
}

/// A tensor to be written: shape and values.
pub(crate) type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// Writes the files of a model into an empty folder of this name and returns its path. With more
/// than one shard the weights get an index.
#[allow(dead_code)]
pub(crate) fn write_model(
    name: &str,
    config: &Value,
    tensors: &Tensors,
    dtype: &str,
    shards: usize,
) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    std::fs::write(folder.join("tokenizer.json"), byte_tokenizer().to_string()).unwrap();
    let mut map = serde_json::Map::new();
    for shard in 0..shards {
        let part: Tensors = tensors
            .iter()
            .enumerate()
            .filter(|(i, _)| i % shards == shard)
            .map(|(_, (name, tensor))| (name.clone(), tensor.clone()))
            .collect();
        let file = match shards {
            1 => "model.safetensors".to_owned(),
            _ => format!("model-{shard}-of-{shards}.safetensors"),
        };
        map.extend(part.keys().map(|name| (name.clone(), json!(file))));
        std::fs::write(folder.join(file), safetensors(&part, dtype)).unwrap();
    }
    if shards > 1 {
        let index = json!({"weight_map": map}).to_string();
        std::fs::write(folder.join("model.safetensors.index.json"), index).unwrap();
    }
    folder
}

/// The end token of [`byte_tokenizer`].
#[allow(dead_code)]
pub(crate) const END: u32 = 256;

/// Turns a conversation into the texts of its messages and a `>`.
#[allow(dead_code)]
const TEMPLATE: &str = "{% for m in messages %}{{ m.content }}{% endfor %}>";

/// A model without any block, with a chat template: each of these tokens is followed by the one
/// beside it.
#[allow(dead_code)]
pub(crate) fn parrot(
    name: &str,
    follows: &[(impl Into<u32> + Copy, u32)],
    context: usize,
) -> PathBuf {
    padded_parrot(name, follows, context, 260)
}

/// A [`parrot`] whose logits are padded to such a vocabulary.
#[allow(dead_code)]
pub(crate) fn padded_parrot(
    name: &str,
    follows: &[(impl Into<u32> + Copy, u32)],
    context: usize,
    vocabulary: usize,
) -> PathBuf {
    let hidden = 16;
    assert!(follows.len() <= hidden);
    let config = json!({
        "model_type": "llama", "hidden_size": hidden, "intermediate_size": 1,
        "vocab_size": vocabulary, "num_hidden_layers": 0, "num_attention_heads": 1,
        "rms_norm_eps": 1e-5, "max_position_embeddings": context, "eos_token_id": END
    });
    let mut embedding = vec![0.0; vocabulary * hidden];
    let mut head = embedding.clone();
    for (i, &(token, next)) in follows.iter().enumerate() {
        embedding[token.into() as usize * hidden + i] = 1.0;
        head[next as usize * hidden + i] = 2.0;
    }
    let tensors = Tensors::from([
        ("model.embed_tokens.weight".to_owned(), (vec![vocabulary, hidden], embedding)),
        ("lm_head.weight".to_owned(), (vec![vocabulary, hidden], head)),
        ("model.norm.weight".to_owned(), (vec![hidden], vec![1.0; hidden])),
    ]);
    let folder = write_model(name, &config, &tensors, "F32", 1);
    std::fs::write(folder.join("chat_template.jinja"), TEMPLATE).unwrap();
    folder
}

/// A parrot that answers `Hey`.
#[allow(dead_code)]
pub(crate) fn hey(name: &str) -> PathBuf {
    let next = |byte: u8| u32::from(byte);
    parrot(name, &[(b'>', next(b'H')), (b'H', next(b'e')), (b'e', next(b'y')), (b'y', END)], 2048)
}

/// A model that writes `<think>so</think>Hey`, the tags as tokens of their own.
#[allow(dead_code)]
pub(crate) fn thinker(name: &str) -> PathBuf {
    let byte = |byte: u8| u32::from(byte);
    let (open, close) = (257, 258);
    let follows = [
        (byte(b'>'), open),
        (open, byte(b's')),
        (byte(b's'), byte(b'o')),
        (byte(b'o'), close),
        (close, byte(b'H')),
        (byte(b'H'), byte(b'e')),
        (byte(b'e'), byte(b'y')),
        (byte(b'y'), END),
    ];
    let folder = parrot(name, &follows, 2048);
    let mut tokenizer = byte_tokenizer();
    for (id, content) in [(open, "<think>"), (close, "</think>")] {
        let token = json!({ "id": id, "content": content, "special": false, "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false });
        tokenizer["added_tokens"].as_array_mut().unwrap().push(token);
    }
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let template = "{% for m in messages %}{{ m.content.split('</think>')[-1] }}{% endfor %}>";
    std::fs::write(folder.join("chat_template.jinja"), template).unwrap();
    folder
}

/// The safetensors format: the header's length, the header, the data.
fn safetensors(tensors: &Tensors, dtype: &str) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, (shape, values)) in tensors {
        let start = data.len();
        // Packed weights are bytes whatever the others are.
        let is_packed = name.ends_with("_blocks") || name.ends_with("_scales");
        let dtype = if is_packed { "U8" } else { dtype };
        for &x in values {
            match dtype {
                "U8" => data.push(x as u8),
                "F32" => data.extend(x.to_le_bytes()),
                "F16" => data.extend(half::f16::from_f32(x).to_le_bytes()),
                "BF16" => data.extend(half::bf16::from_f32(x).to_le_bytes()),
                other => panic!("dtype {other}"),
            }
        }
        let offsets = [start, data.len()];
        header
            .insert(name.clone(), json!({"dtype": dtype, "shape": shape, "data_offsets": offsets}));
    }
    let header = Value::Object(header).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

/// One token for each byte, its id the byte, and `<|end|>` with id 256.
pub(crate) fn byte_tokenizer() -> Value {
    // GPT-2's printable stand-ins for bytes.
    let printable = |b: u32| matches!(b, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
    let mut spare = 0x100..;
    let vocab: serde_json::Map<String, Value> = (0..256u32)
        .map(|b| if printable(b) { (b, b) } else { (b, spare.next().unwrap()) })
        .map(|(b, c)| (char::from_u32(c).unwrap().to_string(), json!(b)))
        .collect();
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    json!({
        "version": "1.0",
        "added_tokens": [{"id": 256, "content": "<|end|>", "special": true, "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false}],
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocab, "merges": []}
    })
}
