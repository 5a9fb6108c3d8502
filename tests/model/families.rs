//! Every model family against the `transformers` library: the logits that `tests/data/family_logits.py`
//! wrote, on weights that both make by one rule; and each family batched, in chunks and in trees.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use maskwright::Error;
use maskwright::model::{Chunk, DType, LogitRows, Model, ModelOptions, ModelSource, RotaryFactors};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde_json::{Value, json};

use crate::batch::{assert_batches_are_as_alone, assert_trees_are_as_paths};
use crate::model_support::{Tensors, write_model};

/// Weights that depend on a tensor's name and their index alone: FNV-1a, then SplitMix64.
pub(crate) fn numbers(name: &str, shape: &[usize]) -> Vec<f32> {
    let hash = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    let seed = name.bytes().fold(0xCBF2_9CE4_8422_2325, hash);
    let number = |index: usize| {
        let step = (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut z = seed.wrapping_add(step);
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        if name.ends_with("_blocks") {
            return (z >> 56) as f32;
        }
        if name.ends_with("_scales") {
            return (121 + (z >> 62)) as f32;
        }
        let x = (z >> 40) as f64 / f64::from(1 << 23) - 1.0;
        let width = shape[shape.len() - 1] as f64;
        let x = match shape {
            _ if name.contains("norm") || name.contains("scalar") => 1.0 + 0.5 * x,
            [_] => 0.5 * x,
            _ => x * (1.7 / width.sqrt()),
        };
        x as f32
    };
    (0..shape.iter().product()).map(number).collect()
}

/// A model of small size and what is known of its logits.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) value: Value,
}

impl Case {
    /// All cases of our decoder, in the order of their names.
    pub(crate) fn all() -> Vec<Self> {
        Self::of_folder("family_logits")
    }

    /// The cases in a folder of `tests/data`.
    pub(crate) fn of_folder(name: &str) -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
        let mut paths: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let case = |path: &PathBuf| Self {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            value: serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap(),
        };
        paths.iter().map(case).collect()
    }

    fn numbers(&self, key: &str) -> Vec<f64> {
        self.value[key].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    }

    pub(crate) fn model_type(&self) -> &str {
        self.value["config"]["model_type"].as_str().unwrap()
    }

    pub(crate) fn tokens(&self) -> Vec<u32> {
        self.numbers("tokens").into_iter().map(|x| x as u32).collect()
    }

    pub(crate) fn tensors(&self) -> Tensors {
        let tensors = self.value["tensors"].as_object().unwrap();
        let tensors = tensors.iter().map(|(name, shape)| {
            let shape: Vec<usize> = serde_json::from_value(shape.clone()).unwrap();
            let numbers = numbers(name, &shape);
            (name.clone(), (shape, numbers))
        });
        tensors.collect()
    }

    /// The model, from a folder of its own for each test: tests run side by side.
    pub(crate) fn load(&self, test: &str) -> Result<Model, Error> {
        self.load_with(test, ModelOptions::default())
    }

    /// The model on a device, in a dtype.
    pub(crate) fn load_with(&self, test: &str, options: ModelOptions) -> Result<Model, Error> {
        let name = format!("family-{test}-{}", self.name);
        let folder = write_model(&name, &self.value["config"], &self.tensors(), "F32", 1);
        Model::load(&ModelOptions { source: ModelSource::Folder(folder), ..options })
    }

    /// The greatest difference of a log-probability or its normaliser.
    pub(crate) fn worst(&self, model: &Model) -> f64 {
        let tokens = self.tokens();
        let mut cache = model.new_cache_for(tokens.len()).unwrap();
        let chunk = Chunk::new(&tokens, &mut cache).with_logits(LogitRows::All);
        let rows = model.forward_batch(&mut [chunk]).unwrap().remove(0);
        let expected = self.value["logits"].as_array().unwrap();
        let step = self.value["step"].as_u64().unwrap() as usize;
        assert_eq!((rows.len(), expected.len()), (tokens.len(), tokens.len()));
        let mut worst: f64 = 0.0;
        for ((row, expected), sum) in rows.iter().zip(expected).zip(self.numbers("log_sums")) {
            let row: Vec<f64> = row.to_vec().unwrap().into_iter().map(f64::from).collect();
            let greatest = row.iter().copied().fold(f64::MIN, f64::max);
            let own = greatest + row.iter().map(|x| (x - greatest).exp()).sum::<f64>().ln();
            worst = worst.max((own - sum).abs());
            let expected = expected.as_array().unwrap();
            assert_eq!(expected.len(), row.len().div_ceil(step));
            for (x, expected) in row.iter().step_by(step).zip(expected) {
                worst = worst.max((x - own - (expected.as_f64().unwrap() - sum)).abs());
            }
        }
        worst
    }
}

#[test]
fn every_family_has_the_logits_of_transformers() {
    let cases = Case::all();
    assert!(cases.len() > 75);
    let mut bad = Vec::new();
    for case in cases {
        let worst = match case.load("logits") {
            Ok(model) => case.worst(&model),
            Err(error) => {
                bad.push(format!("{}: {error}", case.name));
                continue;
            }
        };
        eprintln!("{}: within {worst:.1e}", case.name);
        // Most are within 5e-6. The library in f32 is up to 2.5e-5 from itself in f64 (`gemma3`).
        // Packed weights meet activations of 16 bits.
        let is_packed = !case.value["config"]["quantization_config"].is_null();
        if worst.is_nan() || worst > if is_packed { 5e-4 } else { 5e-5 } {
            bad.push(format!("{} {worst:e}", case.name));
        }
    }
    assert!(bad.is_empty(), "{bad:?}");
}

#[test]
fn every_family_computes_the_same_batched_and_in_trees() {
    for case in Case::all() {
        let model = case.load("batches").unwrap();
        eprintln!("{}", case.name);
        assert_batches_are_as_alone(&model, 3, &mut ChaCha8Rng::seed_from_u64(9));
        assert_trees_are_as_paths(&model, 3);
    }
}

fn case(name: &str) -> Case {
    Case::all().into_iter().find(|case| case.name == name).unwrap()
}

#[test]
fn sequences_of_both_factors_are_read_side_by_side() {
    let model = case("phi3-beyond-longrope").load("factors").unwrap();
    assert_eq!((model.context_length(), model.config().short_context()), (400, Some(30)));
    let tokens: Vec<u32> = (1..29).collect();
    let caches = || [30, 31].map(|tokens| model.new_cache_for(tokens).unwrap());
    let alone = caches().map(|mut cache| model.forward(&tokens, &mut cache).unwrap());
    let alone = alone.map(|logits| logits.to_vec().unwrap());
    assert_ne!(alone[0], alone[1]);
    let [mut short, mut long] = caches();
    let factors = [&short, &long].map(|cache| cache.rotary_factors());
    assert_eq!(factors, [RotaryFactors::Short, RotaryFactors::Long]);
    let mut chunks = [Chunk::new(&tokens, &mut short), Chunk::new(&tokens, &mut long)];
    let rows = model.forward_batch(&mut chunks).unwrap();
    for (rows, alone) in rows.iter().zip(&alone) {
        assert!(rows[0].to_vec().unwrap() == *alone);
    }
    // Forks and blocks keep their factors.
    assert_eq!(long.fork().rotary_factors(), RotaryFactors::Long);
    let blocks = [short.block(0).unwrap(), long.block(0).unwrap()];
    let cache = model.cache_of(&blocks[1..]).unwrap();
    assert_eq!((cache.len(), cache.rotary_factors()), (16, RotaryFactors::Long));
    assert!(model.cache_of(&blocks).is_err());
    // The short factors hold for 30 tokens, the long ones for the context.
    assert!(model.forward(&[1, 2], &mut short).is_ok());
    let error = model.forward(&[3], &mut short).unwrap_err().to_string();
    assert!(error.contains("short factors") && error.contains("new_cache_for"), "{error}");
    assert!(model.forward(&tokens, &mut long).is_ok());
}

#[test]
fn parts_that_read_no_text_are_left_out_by_name() {
    let left_out = |name: &str| case(name).load("left-out").unwrap().left_out().to_vec();
    assert_eq!(left_out("llama"), [""; 0]);
    assert_eq!(left_out("mistral3"), ["vision_tower.", "multi_modal_projector."]);
    assert_eq!(left_out("gemma4-images"), ["model.vision_tower.", "model.embed_vision."]);
}

#[test]
fn mtp_layers_are_left_out() {
    let logits = |model: &Model| {
        model.forward(&[1, 2], &mut model.new_cache().unwrap()).unwrap().to_vec().unwrap()
    };
    let mut case = case("glm4_moe");
    let alone = logits(&case.load("mtp").unwrap());
    for name in ["model.layers.3.eh_proj.weight", "model.layers.3.mlp.experts.0.up_proj.weight"] {
        case.value["tensors"][name] = serde_json::json!([24, 48]);
    }
    // The case states that there are none.
    let error = case.load("mtp").unwrap_err().to_string();
    assert!(error.contains("model.layers.3."), "{error}");
    case.value["config"]["num_nextn_predict_layers"] = serde_json::json!(1);
    let model = case.load("mtp").unwrap();
    assert_eq!((logits(&model), model.left_out()), (alone, &[""; 0][..]));
    case.value["tensors"]["model.layers.4.eh_proj.weight"] = serde_json::json!([24, 48]);
    let error = case.load("mtp").unwrap_err().to_string();
    assert!(error.contains("model.layers.4.eh_proj.weight"), "{error}");
}

#[test]
fn a_tie_that_the_file_does_not_state_gives_way_to_a_head() {
    let mut case = case("mistral3-mistral");
    let tied = case.load("assumed-tie").unwrap();
    case.value["tensors"]["language_model.lm_head.weight"] = serde_json::json!([260, 24]);
    let untied = case.load("assumed-tie").unwrap();
    let logits = |model: &Model| {
        model.forward(&[1, 2], &mut model.new_cache().unwrap()).unwrap().to_vec().unwrap()
    };
    assert_ne!(logits(&tied), logits(&untied));
    case.value["config"]["tie_word_embeddings"] = serde_json::json!(true);
    let error = case.load("assumed-tie").unwrap_err().to_string();
    assert!(error.contains("which config.json ties"), "{error}");
}

/// The library writes as many digits as the greatest index of a layer has.
#[test]
fn layers_have_their_own_settings_by_padded_indices() {
    let mut case = case("gemma4-per-layer-config");
    let of_layers = case.value["config"]["per_layer_config"].as_object().unwrap();
    let padded = of_layers.iter().map(|(key, value)| (format!("0{key}"), value.clone()));
    case.value["config"]["per_layer_config"] = Value::Object(padded.collect());
    let worst = case.worst(&case.load("padded").unwrap());
    assert!(worst < 1e-4, "{worst}");
    case.value["config"]["per_layer_config"]["7"] = json!({ "head_dim": 8 });
    let error = case.load("no-layer").unwrap_err();
    assert!(error.to_string().contains("`7` is no layer"), "{error}");
}

/// Those of published models differ by less than 16 bits tell apart.
#[test]
fn biases_of_experts_keep_their_digits() {
    let case = case("glm4_moe");
    let logits = |test: &str, bias: fn(usize) -> f32| {
        let mut tensors = case.tensors();
        for (_, (_, numbers)) in
            tensors.iter_mut().filter(|(name, _)| name.ends_with("score_correction_bias"))
        {
            numbers.iter_mut().enumerate().for_each(|(expert, number)| *number = bias(expert));
        }
        let folder = write_model(test, &case.value["config"], &tensors, "F32", 1);
        let source = ModelSource::Folder(folder);
        let options = ModelOptions { source, dtype: DType::BF16, ..ModelOptions::default() };
        let model = Model::load(&options).unwrap();
        let tokens = case.tokens();
        let mut cache = model.new_cache_for(tokens.len()).unwrap();
        model.forward(&tokens, &mut cache).unwrap().to_vec().unwrap()
    };
    // Steps of bf16 are 2 here.
    let near = logits("near-biases", |expert| if expert < 2 { 256.9 } else { 256.0 });
    let equal = logits("equal-biases", |_| 256.0);
    assert_ne!(near, equal);
}
