//! The forward pass against a plain float64 reference that shares no code with it: no candle, no
//! cache, nothing fused.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::path::Path;

use crate::model_support::{Tensors, shared, write_model};
use maskwright::ErrorKind;
use maskwright::model::{DType, Model, ModelOptions, ModelSource};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};

/// A Llama in loops over `Vec<f64>`.
struct Reference {
    config: Value,
    tensors: HashMap<String, Vec<f64>>,
}

impl Reference {
    fn number(&self, field: &str) -> Option<f64> {
        self.config.get(field).and_then(Value::as_f64)
    }

    fn size(&self, field: &str) -> usize {
        self.number(field).unwrap() as usize
    }

    /// W·x + b.
    fn linear(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let weight = &self.tensors[&format!("{name}.weight")];
        let bias = self.tensors.get(&format!("{name}.bias"));
        weight
            .chunks(x.len())
            .enumerate()
            .map(|(i, row)| {
                let dot: f64 = row.iter().zip(x).map(|(w, x)| w * x).sum();
                dot + bias.map_or(0.0, |b| b[i])
            })
            .collect()
    }

    fn norm(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let square = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
        let scale = 1.0 / (square + self.number("rms_norm_eps").unwrap()).sqrt();
        let weight = &self.tensors[&format!("{name}.weight")];
        x.iter().zip(weight).map(|(x, w)| x * scale * w).collect()
    }

    /// Turns each pair (i, i + width / 2) of a head by its angle at this position.
    fn rotate(&self, head: &mut [f64], position: usize) {
        let half = head.len() / 2;
        let theta = self.number("rope_theta").unwrap_or(10_000.0);
        for i in 0..half {
            let mut frequency = 1.0 / theta.powf(2.0 * i as f64 / head.len() as f64);
            let scaling = &self.config["rope_scaling"];
            if !scaling.is_null() {
                let get = |name: &str| scaling[name].as_f64().unwrap();
                let wavelength = 2.0 * std::f64::consts::PI / frequency;
                let original = get("original_max_position_embeddings");
                let (low, high) = (get("low_freq_factor"), get("high_freq_factor"));
                if wavelength > original / low {
                    frequency /= get("factor");
                } else if wavelength >= original / high {
                    let smooth = (original / wavelength - low) / (high - low);
                    frequency = (1.0 - smooth) * frequency / get("factor") + smooth * frequency;
                }
            }
            let (sin, cos) = (position as f64 * frequency).sin_cos();
            let (a, b) = (head[i], head[i + half]);
            (head[i], head[i + half]) = (a * cos - b * sin, b * cos + a * sin);
        }
    }

    /// The logits after each token.
    fn logits(&self, tokens: &[u32]) -> Vec<Vec<f64>> {
        let hidden = self.size("hidden_size");
        let heads = self.size("num_attention_heads");
        let kv_heads = self.size("num_key_value_heads");
        let width = self.number("head_dim").map_or(hidden / heads, |w| w as usize);
        let embedding = &self.tensors["model.embed_tokens.weight"];
        let mut stream: Vec<Vec<f64>> =
            tokens.iter().map(|&t| embedding[t as usize * hidden..][..hidden].to_vec()).collect();
        let add = |x: &mut Vec<f64>, y: Vec<f64>| x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
        for layer in 0..self.size("num_hidden_layers") {
            let name = |part: &str| format!("model.layers.{layer}.{part}");
            let normed: Vec<_> =
                stream.iter().map(|x| self.norm(&name("input_layernorm"), x)).collect();
            let project = |part: &str, turn: bool| -> Vec<Vec<f64>> {
                let rows = normed.iter().enumerate().map(|(position, x)| {
                    let mut y = self.linear(&name(part), x);
                    if turn {
                        y.chunks_mut(width).for_each(|head| self.rotate(head, position));
                    }
                    y
                });
                rows.collect()
            };
            let q = project("self_attn.q_proj", true);
            let k = project("self_attn.k_proj", true);
            let v = project("self_attn.v_proj", false);
            for (position, x) in stream.iter_mut().enumerate() {
                let mut out = Vec::new();
                for head in 0..heads {
                    let group = head / (heads / kv_heads) * width;
                    let query = &q[position][head * width..][..width];
                    let scores: Vec<f64> = (0..=position)
                        .map(|other| {
                            let key = &k[other][group..][..width];
                            let dot: f64 = query.iter().zip(key).map(|(a, b)| a * b).sum();
                            (dot / (width as f64).sqrt()).exp()
                        })
                        .collect();
                    let sum: f64 = scores.iter().sum();
                    out.extend((0..width).map(|i| {
                        (0..=position).map(|o| scores[o] / sum * v[o][group + i]).sum::<f64>()
                    }));
                }
                add(x, self.linear(&name("self_attn.o_proj"), &out));
            }
            for x in &mut stream {
                let normed = self.norm(&name("post_attention_layernorm"), x);
                let gate = self.linear(&name("mlp.gate_proj"), &normed);
                let up = self.linear(&name("mlp.up_proj"), &normed);
                let inner: Vec<f64> =
                    gate.iter().zip(up).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
                add(x, self.linear(&name("mlp.down_proj"), &inner));
            }
        }
        let head = match self.config["tie_word_embeddings"].as_bool() {
            Some(true) => "model.embed_tokens",
            _ => "lm_head",
        };
        stream.iter().map(|x| self.linear(head, &self.norm("model.norm", x))).collect()
    }

    /// The weights of a single `F32` safetensors file.
    fn read(folder: &Path) -> Self {
        let config = std::fs::read(folder.join("config.json")).unwrap();
        let file = std::fs::read(folder.join("model.safetensors")).unwrap();
        let (len, rest) = file.split_at(8);
        let (header, data) = rest.split_at(u64::from_le_bytes(len.try_into().unwrap()) as usize);
        let header: HashMap<String, Value> = serde_json::from_slice(header).unwrap();
        let tensors =
            header.into_iter().filter(|(name, _)| name != "__metadata__").map(|(name, t)| {
                assert_eq!(t["dtype"], "F32");
                let offset = |i: usize| t["data_offsets"][i].as_u64().unwrap() as usize;
                let numbers = data[offset(0)..offset(1)].chunks(4);
                let float = |b: &[u8]| f64::from(f32::from_le_bytes(b.try_into().unwrap()));
                (name, numbers.map(float).collect())
            });
        Self { config: serde_json::from_slice(&config).unwrap(), tensors: tensors.collect() }
    }
}

fn load(folder: &Path, dtype: DType) -> maskwright::Result<Model> {
    let source = ModelSource::Folder(folder.to_owned());
    Model::load(&ModelOptions { source, dtype, ..Default::default() })
}

/// The logits after each token: read one by one, and in two pieces.
fn compare(model: &Model, tokens: &[u32], expected: &[Vec<f64>], tolerance: f64) -> f64 {
    let mut worst: f64 = 0.0;
    let mut check = |logits: Vec<f32>, row: usize| {
        assert_eq!(logits.len(), expected[row].len());
        for (a, b) in logits.iter().zip(&expected[row]) {
            worst = worst.max((f64::from(*a) - b).abs());
        }
    };
    let mut cache = model.new_cache().unwrap();
    for (row, &token) in tokens.iter().enumerate() {
        check(model.forward(&[token], &mut cache).unwrap().to_vec().unwrap(), row);
    }
    // Another piece after dropping half of what is remembered, and one from the start.
    let middle = tokens.len() / 2;
    cache.truncate(middle);
    let logits = model.forward(&tokens[middle..], &mut cache).unwrap();
    check(logits.to_vec().unwrap(), tokens.len() - 1);
    assert_eq!(cache.len(), tokens.len());
    let mut cache = model.new_cache().unwrap();
    let logits = model.forward(&tokens[..middle + 1], &mut cache).unwrap();
    check(logits.to_vec().unwrap(), middle);
    assert!(worst < tolerance, "the logits are {worst} off the reference");
    worst
}

#[test]
fn stories260k_has_the_logits_of_the_reference() {
    let Some(folder) = shared("models/stories260K") else { return };
    let model = load(&folder, DType::F32).unwrap();
    let reference = Reference::read(&folder);
    let tokens = model.tokenizer().encode_prompt(
        "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, she saw",
        true,
    ).unwrap();
    assert!(tokens.len() > 35 && tokens[0] == 1);
    let worst = compare(&model, &tokens, &reference.logits(&tokens), 1e-4);
    eprintln!("stories260K: logits within {worst:.1e} over {} positions", tokens.len());
}

#[test]
fn stories260k_writes_its_story() {
    let Some(folder) = shared("models/stories260K") else { return };
    let page = std::fs::read_to_string(folder.join("stories260K.md")).unwrap();
    let (_, story) = page.split_once("-t 0.0\n").unwrap();
    let (story, _) = story.split_once("\n```").unwrap();
    let model = load(&folder, DType::F32).unwrap();
    let mut cache = model.new_cache().unwrap();
    let mut text = model.tokenizer().encode_prompt("", true).unwrap();
    assert_eq!(text, [1]);
    for i in 0..256 {
        let logits = model.forward(&text[i..], &mut cache).unwrap().to_vec().unwrap();
        let best = (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap();
        text.push(best as u32);
    }
    let written = String::from_utf8(model.vocabulary().decode(&text)).unwrap();
    // The tokenizer puts a space before every text; the page shows 256 tokens of story.
    assert_eq!(written.strip_prefix(' ').unwrap(), story);
}

pub(crate) fn random_tensors(config: &Value, seed: u64) -> Tensors {
    let size = |field: &str| config[field].as_u64().map(|n| n as usize);
    let [hidden, inner, vocab, heads, kv_heads] = [
        "hidden_size",
        "intermediate_size",
        "vocab_size",
        "num_attention_heads",
        "num_key_value_heads",
    ]
    .map(|field| size(field).unwrap());
    let width = size("head_dim").unwrap_or(hidden / heads);
    let flag = |field: &str| config[field].as_bool().unwrap_or(false);
    let qwen = config["model_type"] == "qwen2";
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut tensors = Tensors::new();
    let mut put = |name: &str, shape: &[usize], around: f32, spread: f32| {
        // Numbers that every dtype holds exactly, so that one reference serves all files.
        let number = |_| around + ((rng.next_u32() % 33) as f32 - 16.0) / 16.0 * spread;
        let values = (0..shape.iter().product()).map(number).collect();
        tensors.insert(name.to_owned(), (shape.to_vec(), values));
    };
    put("model.embed_tokens.weight", &[vocab, hidden], 0.0, 1.0);
    put("model.norm.weight", &[hidden], 1.0, 0.5);
    if !flag("tie_word_embeddings") {
        put("lm_head.weight", &[vocab, hidden], 0.0, 0.5);
    }
    for layer in 0..size("num_hidden_layers").unwrap() {
        let mut linear = |part: &str, shape: [usize; 2], bias: bool| {
            put(&format!("model.layers.{layer}.{part}.weight"), &shape, 0.0, 0.25);
            if bias {
                put(&format!("model.layers.{layer}.{part}.bias"), &shape[..1], 0.0, 0.5);
            }
        };
        let qkv = flag("attention_bias") || qwen;
        linear("self_attn.q_proj", [heads * width, hidden], qkv);
        linear("self_attn.k_proj", [kv_heads * width, hidden], qkv);
        linear("self_attn.v_proj", [kv_heads * width, hidden], qkv);
        linear("self_attn.o_proj", [hidden, heads * width], flag("attention_bias"));
        linear("mlp.gate_proj", [inner, hidden], flag("mlp_bias"));
        linear("mlp.up_proj", [inner, hidden], flag("mlp_bias"));
        linear("mlp.down_proj", [hidden, inner], flag("mlp_bias"));
        put(&format!("model.layers.{layer}.input_layernorm.weight"), &[hidden], 1.0, 0.5);
        put(&format!("model.layers.{layer}.post_attention_layernorm.weight"), &[hidden], 1.0, 0.5);
    }
    tensors
}

/// A small configuration with these fields changed.
pub(crate) fn config(fields: Value) -> Value {
    let mut config = json!({
        "model_type": "llama", "hidden_size": 24, "intermediate_size": 40, "vocab_size": 260,
        "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2,
        "rms_norm_eps": 1e-5, "max_position_embeddings": 400, "eos_token_id": 256
    });
    config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    config
}

#[test]
fn every_variant_has_the_logits_of_the_reference() {
    let llama3 = json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 64});
    // One key-value head for all, one for each, and groups; the long run crosses growths of the
    // cache, and is read in pieces.
    for (name, fields, dtype, shards, tolerance, length) in [
        ("plain", json!({}), "F32", 1, 1e-5, 12),
        ("long", json!({"max_position_embeddings": 1200}), "F32", 1, 1e-5, 1100),
        (
            "tied",
            json!({"tie_word_embeddings": true, "num_key_value_heads": 1}),
            "F32",
            1,
            1e-4,
            12,
        ),
        ("wide-heads", json!({"head_dim": 10, "num_key_value_heads": 6}), "F16", 1, 1e-5, 12),
        ("biases", json!({"attention_bias": true, "mlp_bias": true}), "BF16", 3, 1e-5, 12),
        ("qwen2", json!({"model_type": "qwen2", "rope_theta": 1e6}), "F32", 2, 1e-5, 12),
        ("llama3-rope", json!({"rope_scaling": llama3, "head_dim": 16}), "F32", 1, 1e-5, 40),
    ] {
        let config = config(fields);
        let tensors = random_tensors(&config, 11);
        let folder = write_model(&format!("variant-{name}"), &config, &tensors, dtype, shards);
        let tokens: Vec<u32> = (0..length).map(|i| (i * i * 31 + 7) % 256).collect();
        let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect();
        let tensors = tensors.into_iter().map(|(name, t)| (name, wide(&t.1))).collect();
        let expected = Reference { config, tensors }.logits(&tokens);
        let model = load(&folder, DType::F32).unwrap();
        let worst = compare(&model, &tokens, &expected, tolerance);
        eprintln!("{name}: within {worst:.1e}");
        // Narrow arithmetic is the same model, roughly: most mass lies where it should.
        for dtype in [DType::F16, DType::BF16] {
            let model = load(&folder, dtype).unwrap();
            compare(&model, &tokens[..12], &expected[..12], 1.0);
        }
    }
}

#[test]
fn a_folder_that_is_no_model_is_refused_with_place_and_cure() {
    let good = config(json!({}));
    let tensors = random_tensors(&good, 3);
    let write = |name: &str| write_model(name, &good, &tensors, "F32", 1);
    let refuse = |folder: &Path, place: &str, message: &str| {
        let error = load(folder, DType::F32).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(place) && text.contains(message), "{text}");
        assert!(error.help().is_some() && !text.contains('\n'), "no cure: {text}");
        assert!(matches!(error.kind(), ErrorKind::Model | ErrorKind::Vocabulary), "{text}");
    };
    refuse(Path::new("no/such"), "no/such: ", "ORG/NAME of Hugging Face's hub");
    refuse(Path::new("/no/such/folder"), "/no/such/folder: ", "there is no such model folder");
    refuse(Path::new("model.gguf"), "model.gguf: ", "there is no such GGUF file");
    refuse(Path::new("Cargo.toml"), "Cargo.toml: ", "not a model folder");

    for (file, message) in [
        ("config.json", "the model folder has no such file"),
        ("tokenizer.json", "the model folder has no such file"),
        ("model.safetensors", "the model folder has no weights"),
    ] {
        let folder = write(&format!("without-{file}"));
        std::fs::remove_file(folder.join(file)).unwrap();
        refuse(&folder, file, message);
    }
    let folder = write("cut-short");
    let file = folder.join("model.safetensors");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 10]).unwrap();
    refuse(&folder, "cut-short/model.safetensors: ", "cut short in tensor `model.norm.weight`: ");
    std::fs::write(&file, [&bytes[..], b"more"].concat()).unwrap();
    refuse(&folder, "cut-short/model.safetensors: ", "4 bytes of data after its last tensor, `");
    std::fs::write(&file, "{}").unwrap();
    refuse(&folder, "cut-short/model.safetensors: ", "not a safetensors file");
    let folder = write("damaged-config");
    std::fs::write(folder.join("config.json"), "{\n \"a\": }").unwrap();
    refuse(&folder, "config.json:2:7: ", "not valid JSON");

    let narrow = config(json!({"vocab_size": 200}));
    let folder = write_model("narrow", &narrow, &random_tensors(&narrow, 3), "F32", 1);
    refuse(&folder, "tokenizer.json", "does not fit the model");
    let other = config(json!({"hidden_size": 30, "head_dim": 4}));
    let folder = write_model("other-shape", &other, &tensors, "F32", 1);
    refuse(&folder, "model.safetensors", "is [260, 24], config.json says [260, 30]");
    let mut fewer = tensors.clone();
    fewer.remove("model.layers.1.mlp.up_proj.weight");
    let folder = write_model("fewer", &good, &fewer, "F32", 1);
    refuse(&folder, "model.safetensors", "no tensor `model.layers.1.mlp.up_proj.weight`");
    let mut more = tensors.clone();
    more.insert("model.layers.0.self_attn.q_norm.weight".into(), (vec![4], vec![0.0; 4]));
    let folder = write_model("more", &good, &more, "F32", 1);
    refuse(&folder, "model.safetensors", "q_norm.weight` has no place");
    for (number, dtype) in [(f32::NAN, "F32"), (f32::NEG_INFINITY, "F16"), (f32::NAN, "BF16")] {
        let mut damaged = tensors.clone();
        damaged.get_mut("model.layers.1.mlp.up_proj.weight").unwrap().1[7] = number;
        let folder = write_model("not-finite", &good, &damaged, dtype, 1);
        let message =
            "tensor `model.layers.1.mlp.up_proj.weight` is damaged: number 7 is not finite";
        refuse(&folder, "model.safetensors: ", message);
    }
    for (fields, place, message) in [
        (json!({"torch_dtype": "float8_e4m3fn"}), "/torch_dtype", "float16 and bfloat16 are read"),
        (json!({"dtype": 16}), "/dtype", "16 is not supported"),
        (
            json!({"architectures": ["LlamaForSequenceClassification"]}),
            "/architectures",
            "a `LlamaForSequenceClassification` writes no text",
        ),
    ] {
        let folder = write_model("other-task", &config(fields), &tensors, "F32", 1);
        refuse(&folder, &format!("config.json: at {place}: "), message);
    }
    let rwkv = config(json!({"model_type": "rwkv"}));
    let folder = write_model("rwkv", &rwkv, &tensors, "F32", 1);
    refuse(&folder, "rwkv/config.json: at /model_type: ", "type `rwkv` is not supported");
}

#[test]
fn what_does_not_fit_the_context_or_the_logits_is_refused_and_changes_nothing() {
    let config = config(json!({"max_position_embeddings": 8}));
    let folder = write_model("short-context", &config, &random_tensors(&config, 5), "F32", 1);
    let model = load(&folder, DType::F32).unwrap();
    let mut cache = model.new_cache().unwrap();
    model.forward(&[1, 2, 3], &mut cache).unwrap();
    for (tokens, expected) in [
        (&[1; 6][..], "9 tokens do not fit the model's context of 8"),
        (&[], "at least one token"),
        (&[4, 260], "token 260 is beyond the model's 260 logits"),
    ] {
        let error = model.forward(tokens, &mut cache).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(cache.len(), 3);
    }
    model.forward(&[1; 5], &mut cache).unwrap();
}

#[test]
fn a_mask_leaves_the_allowed_logits_as_they_are() {
    let config = config(json!({}));
    let folder = write_model("masked", &config, &random_tensors(&config, 6), "F32", 1);
    let model = load(&folder, DType::F32).unwrap();
    let logits = model.forward(&[7], &mut model.new_cache().unwrap()).unwrap();
    let mut mask = maskwright::TokenMask::new(260);
    for id in [0, 31, 32, 200, 259] {
        mask.allow(id);
    }
    let masked = logits.masked(&mask).unwrap().to_vec().unwrap();
    for (id, (before, after)) in logits.to_vec().unwrap().into_iter().zip(masked).enumerate() {
        let expected = if mask.contains(id as u32) { before } else { f32::NEG_INFINITY };
        assert_eq!(after, expected, "token {id}");
    }
    let error = logits.masked(&maskwright::TokenMask::new(256)).unwrap_err().to_string();
    assert!(error.contains("a mask of 256 tokens does not fit 260 logits"), "{error}");
}

/// Two statements of one folder that differ, and what another program would do with its files.
#[test]
fn a_folder_that_contradicts_itself_is_refused() {
    let refuse = |folder: &Path, place: &str, message: &str| {
        let text = load(folder, DType::F32).unwrap_err().to_string();
        assert!(text.contains(place) && text.contains(message), "{text}");
    };
    let tied = config(json!({"tie_word_embeddings": true}));
    let mut tensors = random_tensors(&tied, 3);
    let mut head = tensors["model.embed_tokens.weight"].clone();
    tensors.insert("lm_head.weight".into(), head.clone());
    let folder = write_model("tied-twice", &tied, &tensors, "F32", 1);
    assert!(load(&folder, DType::F32).is_ok());
    head.1[5] += 0.5;
    tensors.insert("lm_head.weight".into(), head);
    let folder = write_model("tied-otherwise", &tied, &tensors, "F32", 1);
    refuse(&folder, "model.safetensors: ", "`lm_head.weight` differs from `model.embed_tokens");
    refuse(&folder, "", "set `tie_word_embeddings` to false");

    let good = config(json!({}));
    let tensors = random_tensors(&good, 3);
    let folder = write_model("with-adapter", &good, &tensors, "F32", 1);
    std::fs::write(folder.join("adapter_config.json"), "{}").unwrap();
    refuse(&folder, "adapter_config.json: ", "adapters are not supported");

    // One file beside an index: the one file counts, as in transformers.
    let folder = write_model("file-and-index", &good, &tensors, "F32", 1);
    std::fs::write(folder.join("model.safetensors.index.json"), "{}").unwrap();
    assert!(load(&folder, DType::F32).is_ok());

    let folder = write_model("shard-twice", &good, &tensors, "F32", 2);
    let shard = |i: usize| folder.join(format!("model-{i}-of-2.safetensors"));
    std::fs::copy(shard(0), shard(1)).unwrap();
    refuse(&folder, "model-1-of-2.safetensors: ", "lies in `model-0-of-2.safetensors`, too");
}

#[test]
fn what_a_folder_lacks_is_told_by_what_it_has() {
    let good = config(json!({}));
    let tensors = random_tensors(&good, 3);
    let refuse = |folder: &Path, place: &str, message: &str| {
        let text = load(folder, DType::F32).unwrap_err().to_string();
        assert!(text.contains(place) && text.contains(message), "{text}");
    };
    let folder = write_model("shard-gone", &good, &tensors, "F32", 2);
    std::fs::remove_file(folder.join("model-1-of-2.safetensors")).unwrap();
    refuse(
        &folder,
        "index.json: at /weight_map: ",
        "1 of the 2 shards that the index names is not there: `model-1-of-2.safetensors`",
    );
    std::fs::remove_file(folder.join("model.safetensors.index.json")).unwrap();
    refuse(&folder, "index.json: ", "has shards (`model-0-of-2.safetensors`) and no index of them");
    let index = |text: &str| {
        std::fs::write(folder.join("model.safetensors.index.json"), text).unwrap();
    };
    index(r#"{"weight_map": {}}"#);
    refuse(&folder, "index.json: at /weight_map: ", "the index names no file");
    let long = format!("{}/x", "a".repeat(5000));
    for name in ["../x.safetensors", "/x.safetensors", "a/b.safetensors", "..", &long] {
        index(&json!({"weight_map": {"a": name}}).to_string());
        assert!(load(&folder, DType::F32).unwrap_err().message().len() < 200);
        refuse(&folder, "index.json: at /weight_map: ", "is not the name of a file in the model");
    }

    let folder = write_model("other-weights", &good, &tensors, "F32", 1);
    std::fs::rename(folder.join("model.safetensors"), folder.join("pytorch_model.bin")).unwrap();
    refuse(&folder, "model.safetensors: ", "no weights of this name, but `pytorch_model.bin`");
    #[cfg(unix)]
    {
        let gone = folder.join("blobs/gone");
        std::os::unix::fs::symlink(gone, folder.join("model.safetensors")).unwrap();
        refuse(&folder, "model.safetensors: ", "the link leads to no file");
    }
    std::fs::remove_file(folder.join("tokenizer.json")).unwrap();
    std::fs::write(folder.join("tokenizer.model"), "").unwrap();
    refuse(&folder, "tokenizer.json: ", "converts a tokenizer.model");
    std::fs::rename(folder.join("tokenizer.model"), folder.join("tekken.json")).unwrap();
    refuse(&folder, "tokenizer.json: ", "converts a tekken.json");

    let renamed = |name: &str, to: fn(&str) -> String| {
        let tensors = tensors.iter().map(|(name, tensor)| (to(name), tensor.clone())).collect();
        write_model(name, &good, &tensors, "F32", 1)
    };
    let packed = renamed("packed", |name| name.replace("_proj.weight", "_proj.qweight"));
    refuse(&packed, "model.safetensors: ", "the weights are quantised, as GPTQ and AWQ do it");
    let wrapped = renamed("wrapped", |name| format!("base_model.model.{name}"));
    refuse(&wrapped, "model.safetensors: ", "names with and without `base_model.model.`");

    let folder = write_model("only-gguf", &good, &tensors, "F32", 1);
    std::fs::remove_file(folder.join("config.json")).unwrap();
    std::fs::write(folder.join("model-q4.gguf"), "").unwrap();
    refuse(&folder, "config.json: ", "give `model-q4.gguf` itself to load that file");

    let folder = write_model("models--a--b", &good, &tensors, "F32", 1);
    std::fs::remove_file(folder.join("config.json")).unwrap();
    std::fs::create_dir_all(folder.join("snapshots/0123abc")).unwrap();
    refuse(&folder, "config.json: ", "give its snapshots/0123abc");
}
