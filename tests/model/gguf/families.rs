//! Every architecture that is read from GGUF: the small models of `tests/data/family_logits`, written with
//! the names, the orders and the metadata that llama.cpp's converter gives them, have bit for bit the
//! logits of the same models in safetensors.
//!
//! The tensors of this writer were compared with the files that the converter (`convert_hf_to_gguf.py`, 2026-10)
//! makes of these models, on which llama.cpp computes the same logits.

use candle_core::quantized::gguf_file::Value;
use candle_core::quantized::{GgmlDType, QTensor};
use serde_json::{Value as Json, json};

use super::{load, logits, quantised, tokenizer_metadata, write};
use crate::families::{Case, numbers};
use crate::model_support::{Tensors, write_model};

/// A model as a GGUF file can say it, and as a folder.
struct Twins {
    config: Json,
    tensors: Tensors,
}

impl Twins {
    /// The model of a case, without what the converter does not write.
    fn of(case: &Case) -> Self {
        let mut config = case.value["config"].clone();
        let mut tensors = case.tensors();
        let model_type = config["model_type"].as_str().unwrap().to_owned();
        match &model_type[..] {
            // llama.cpp's code of these has no windows.
            "mistral" | "mixtral" => config["sliding_window"] = Json::Null,
            "qwen2" | "qwen3" => {
                let object = config.as_object_mut().unwrap();
                object.retain(|key, _| !key.contains("window") && key != "layer_types");
            }
            // Always every fourth layer.
            "smollm3" => {
                let object = config.as_object_mut().unwrap();
                object.retain(|key, _| !key.contains("window") && key != "no_rope_layers");
            }
            // The scale of scores follows from the width of a head.
            "gemma2" | "gemma3_text" => {
                config["query_pre_attn_scalar"] = config["head_dim"].clone()
            }
            "cohere2" => {
                config["attention_bias"] = json!(false);
                tensors.retain(|name, _| !name.ends_with(".bias"));
            }
            // Experts in all layers, weighted among the chosen ones.
            "qwen3_moe" => {
                config["norm_topk_prob"] = json!(true);
                put_experts_into_all_layers(&mut config, &mut tensors);
            }
            _ => {}
        }
        Self { config, tensors }
    }

    fn size(&self, key: &str) -> Option<usize> {
        self.config[key].as_u64().map(|n| n as usize)
    }

    fn number(&self, key: &str) -> Option<f32> {
        self.config[key].as_f64().map(|n| n as f32)
    }

    fn model_type(&self) -> &str {
        self.config["model_type"].as_str().unwrap()
    }

    /// llama.cpp's name of the architecture.
    fn architecture(&self) -> &str {
        match self.model_type() {
            "mistral" | "mixtral" => "llama",
            "gemma3_text" => "gemma3",
            "qwen3_moe" => "qwen3moe",
            same => same,
        }
    }

    /// Settings that the library takes where a configuration has none: ε, base of rotary positions.
    fn defaults(&self) -> (f32, f32) {
        match self.model_type() {
            "mixtral" => (1e-5, 1e6),
            "phi3" | "olmo2" | "exaone4" | "arcee" | "cohere2" => (1e-5, 1e4),
            "ernie4_5" => (1e-5, 5e5),
            "gemma3_text" => (1e-6, 1e6),
            "smollm3" => (1e-6, 2e6),
            "glm4" => (1.5625e-7, 1e4),
            _ => (1e-6, 1e4),
        }
    }

    fn rope(&self) -> &Json {
        match &self.config["rope_parameters"] {
            Json::Null => &self.config["rope_scaling"],
            parameters => parameters,
        }
    }

    fn head_width(&self) -> usize {
        let heads = self.size("num_attention_heads").unwrap();
        self.size("head_dim").unwrap_or(self.size("hidden_size").unwrap() / heads)
    }

    /// Dimensions of a head that turn.
    fn turning(&self) -> usize {
        let default = if self.model_type() == "glm4" { 0.5 } else { 1.0 };
        let part = self.config["partial_rotary_factor"].as_f64().unwrap_or(default);
        (self.head_width() as f64 * part) as usize
    }

    fn theta(&self) -> f32 {
        let stated = self.rope()["rope_theta"].as_f64().map(|theta| theta as f32);
        stated.or(self.number("rope_theta")).unwrap_or(self.defaults().1)
    }

    fn metadata(&self) -> Vec<(String, Value)> {
        let mut all = Vec::new();
        let mut set = |key: &str, value: Value| {
            all.push((format!("{}.{key}", self.architecture()), value));
        };
        let u32 = |n: usize| Value::U32(n as u32);
        let size = |key: &str| u32(self.size(key).unwrap());
        set("block_count", size("num_hidden_layers"));
        set("context_length", size("max_position_embeddings"));
        set("embedding_length", size("hidden_size"));
        set("feed_forward_length", size("intermediate_size"));
        set("attention.head_count", size("num_attention_heads"));
        set("attention.head_count_kv", size("num_key_value_heads"));
        let model_type = self.model_type();
        let is_cohere = model_type == "cohere2";
        let eps = self.number(if is_cohere { "layer_norm_eps" } else { "rms_norm_eps" });
        let rms = if is_cohere { "" } else { "_rms" };
        let eps = Value::F32(eps.unwrap_or(self.defaults().0));
        set(&format!("attention.layer_norm{rms}_epsilon"), eps);
        if model_type != "gemma2" {
            set("rope.freq_base", Value::F32(self.theta()));
        }
        if self.size("head_dim").is_some() {
            set("attention.key_length", u32(self.head_width()));
            set("attention.value_length", u32(self.head_width()));
        }
        let has_turning = ["llama", "mistral", "mixtral", "arcee", "granite", "smollm3"];
        if has_turning.contains(&model_type) || ["phi3", "glm4", "cohere2"].contains(&model_type) {
            set("rope.dimension_count", u32(self.turning()));
        }
        match model_type {
            "mixtral" => {
                set("expert_count", size("num_local_experts"));
                set("expert_used_count", u32(self.size("num_experts_per_tok").unwrap_or(2)));
            }
            "qwen3_moe" => {
                set("expert_count", size("num_experts"));
                set("expert_used_count", size("num_experts_per_tok"));
                set("expert_feed_forward_length", size("moe_intermediate_size"));
            }
            "gemma2" => {
                let cap = |key: &str, usual| Value::F32(self.number(key).unwrap_or(usual));
                set("attn_logit_softcapping", cap("attn_logit_softcapping", 50.0));
                set("final_logit_softcapping", cap("final_logit_softcapping", 30.0));
                set("attention.sliding_window", size("sliding_window"));
            }
            "gemma3_text" => {
                let theta = self.number("rope_local_base_freq").unwrap_or(1e4);
                set("rope.freq_base_swa", Value::F32(theta));
                set("attention.sliding_window", size("sliding_window"));
                if let Some(period) = self.size("sliding_window_pattern") {
                    set("attention.sliding_window_pattern", u32(period));
                }
            }
            "granite" => {
                // As the converter writes Granite 4 without state-space layers and experts.
                set("expert_shared_feed_forward_length", size("intermediate_size"));
                set("ssm.state_size", u32(256));
                for (own, key) in [
                    ("attention.scale", "attention_multiplier"),
                    ("embedding_scale", "embedding_multiplier"),
                    ("residual_scale", "residual_multiplier"),
                    ("logit_scale", "logits_scaling"),
                ] {
                    set(own, Value::F32(self.number(key).unwrap_or(1.0)));
                }
            }
            "cohere2" => {
                set("logit_scale", Value::F32(self.number("logit_scale").unwrap_or(0.0625)));
                set("rope.scaling.type", Value::String("none".to_owned()));
                set("attention.sliding_window", size("sliding_window"));
                if let Some(period) = self.size("sliding_window_pattern") {
                    set("attention.sliding_window_pattern", u32(period));
                }
            }
            "exaone4" => {
                if let Some(window) = self.size("sliding_window") {
                    set("attention.sliding_window", u32(window));
                    let layers = self.size("num_hidden_layers").unwrap();
                    let windowed = (0..layers).map(|layer| Value::Bool((layer + 1) % 4 != 0));
                    let pattern = Value::Array(windowed.collect());
                    set("attention.sliding_window_pattern", pattern);
                }
            }
            "phi3" => {
                set("attention.sliding_window", u32(self.size("sliding_window").unwrap_or(0)))
            }
            _ => {}
        }
        let rope = self.rope();
        let number = |key: &str| rope[key].as_f64().map(|n| Value::F32(n as f32));
        let kind = rope["rope_type"].as_str().or(rope["type"].as_str()).unwrap_or_default();
        if let "linear" | "yarn" = kind {
            set("rope.scaling.type", Value::String(kind.to_owned()));
            set("rope.scaling.factor", number("factor").unwrap());
        }
        if kind == "yarn" {
            let original = rope["original_max_position_embeddings"].as_u64().unwrap();
            set("rope.scaling.original_context_length", u32(original as usize));
            for (own, key) in [
                ("yarn_attn_factor", "attention_factor"),
                ("yarn_beta_fast", "beta_fast"),
                ("yarn_beta_slow", "beta_slow"),
            ] {
                if let Some(number) = number(key) {
                    set(&format!("rope.scaling.{own}"), number);
                }
            }
        }
        if let "phi3" = model_type {
            let context = self.size("max_position_embeddings").unwrap();
            let original = self.size("original_max_position_embeddings").unwrap_or(4096);
            set("rope.scaling.original_context_length", u32(original));
            if kind == "longrope" {
                let scale = context as f64 / original as f64;
                let factor = (1.0 + scale.ln() / (original as f64).ln()).sqrt();
                set("rope.scaling.attn_factor", Value::F32(factor as f32));
            }
        }
        all.push((
            "general.architecture".to_owned(),
            Value::String(self.architecture().to_owned()),
        ));
        all.extend(tokenizer_metadata());
        all
    }

    /// The converter's tensors: under llama.cpp's names, permuted, added to, stacked.
    fn own_tensors(&self) -> Vec<(String, QTensor)> {
        let mut all = Vec::new();
        let mut stacks = Tensors::new();
        for (name, (shape, values)) in &self.tensors {
            let (mut shape, mut values) = (shape.clone(), values.clone());
            let permuted = ["llama", "mistral", "mixtral", "arcee", "granite", "smollm3"];
            if permuted.contains(&self.model_type()) {
                let heads = match name {
                    _ if name.contains(".q_proj.") => self.size("num_attention_heads"),
                    _ if name.contains(".k_proj.") => self.size("num_key_value_heads"),
                    _ => None,
                };
                if let Some(heads) = heads {
                    values = super::interleaved(&values, shape[0], heads);
                }
            }
            if self.model_type().starts_with("gemma") && name.ends_with("norm.weight") {
                values.iter_mut().for_each(|x| *x += 1.0);
            }
            if let Some((before, after)) = name.split_once(".experts.") {
                // In the order of experts, of which there are fewer than ten.
                let (_, projection) = after.split_once('.').unwrap();
                let stack = stacks.entry(format!("{before}.experts.{projection}"));
                let (stacked, all) = stack.or_insert_with(|| ([vec![0], shape].concat(), vec![]));
                stacked[0] += 1;
                all.extend(values);
                continue;
            }
            if shape.is_empty() {
                shape.push(1);
            }
            all.push((self.own_name(name), quantised(&values, &shape, GgmlDType::F32)));
        }
        for (name, (shape, values)) in stacks {
            all.push((self.own_name(&name), quantised(&values, &shape, GgmlDType::F32)));
        }
        let rope = self.rope();
        if rope["rope_type"] == "llama3" {
            let factors = self.llama3_factors();
            all.push(("rope_freqs.weight".to_owned(), numbers_of(&factors)));
        }
        for length in ["long", "short"] {
            if let Some(factors) = rope[format!("{length}_factor")].as_array() {
                let factors: Vec<f32> =
                    factors.iter().map(|x| x.as_f64().unwrap() as f32).collect();
                all.push((format!("rope_factors_{length}.weight"), numbers_of(&factors)));
            }
        }
        all
    }

    /// The divisor of each frequency.
    fn llama3_factors(&self) -> Vec<f32> {
        let rope = self.rope();
        let number = |key: &str| rope[key].as_f64().unwrap();
        let (factor, original) = (number("factor"), number("original_max_position_embeddings"));
        let (low, high) = (number("low_freq_factor"), number("high_freq_factor"));
        let width = self.head_width() as f64;
        let factor = |pair: usize| {
            let wave =
                std::f64::consts::TAU * f64::from(self.theta()).powf(2.0 * pair as f64 / width);
            if wave < original / high {
                1.0
            } else if wave > original / low {
                factor
            } else {
                let smooth = (original / wave - low) / (high - low);
                1.0 / ((1.0 - smooth) / factor + smooth)
            }
        };
        (0..self.head_width() / 2).map(|pair| factor(pair) as f32).collect()
    }

    fn own_name(&self, name: &str) -> String {
        let (stem, kind) = name.rsplit_once('.').unwrap();
        let global = match stem {
            "model.embed_tokens" => Some("token_embd"),
            "model.norm" => Some("output_norm"),
            "lm_head" => Some("output"),
            _ => None,
        };
        if let Some(global) = global {
            return format!("{global}.{kind}");
        }
        let (layer, part) = stem.strip_prefix("model.layers.").unwrap().split_once('.').unwrap();
        let has_norm_after = ["gemma2", "gemma3_text", "olmo2", "exaone4", "seed_oss"];
        let own = match part.rsplit_once('.').map_or(part, |(_, last)| last) {
            "q_proj" => "attn_q",
            "k_proj" => "attn_k",
            "v_proj" => "attn_v",
            "qkv_proj" => "attn_qkv",
            "o_proj" => "attn_output",
            "q_norm" => "attn_q_norm",
            "k_norm" => "attn_k_norm",
            "input_layernorm" => "attn_norm",
            "post_attention_layernorm" if has_norm_after.contains(&self.model_type()) => {
                "post_attention_norm"
            }
            "post_self_attn_layernorm" => "post_attention_norm",
            "post_attention_layernorm" | "pre_feedforward_layernorm" => "ffn_norm",
            "post_feedforward_layernorm" | "post_mlp_layernorm" => "post_ffw_norm",
            "gate" => "ffn_gate_inp",
            "gate_proj" | "w1" if part.contains("experts") => "ffn_gate_exps",
            "up_proj" | "w3" if part.contains("experts") => "ffn_up_exps",
            "down_proj" | "w2" if part.contains("experts") => "ffn_down_exps",
            "gate_proj" => "ffn_gate",
            "up_proj" | "gate_up_proj" => "ffn_up",
            "down_proj" => "ffn_down",
            other => panic!("{other} of {}", self.model_type()),
        };
        format!("blk.{layer}.{own}.{kind}")
    }
}

/// Makes each layer of a mixture as the first one that has experts.
pub(super) fn put_experts_into_all_layers(config: &mut Json, tensors: &mut Tensors) {
    config["mlp_only_layers"] = json!([]);
    config["decoder_sparse_step"] = json!(1);
    let (_, layer) = tensors
        .keys()
        .find_map(|name| {
            let (before, _) = name.split_once(".mlp.experts.")?;
            before.rsplit_once('.')
        })
        .unwrap();
    let from = format!("model.layers.{layer}.mlp.");
    let models: Vec<(String, Vec<usize>)> = tensors
        .iter()
        .filter_map(|(name, (shape, _))| {
            Some((name.strip_prefix(&from)?.to_owned(), shape.clone()))
        })
        .collect();
    tensors.retain(|name, _| !name.contains(".mlp."));
    for layer in 0..config["num_hidden_layers"].as_u64().unwrap() {
        for (name, shape) in &models {
            let name = format!("model.layers.{layer}.mlp.{name}");
            let values = numbers(&name, shape);
            tensors.insert(name, (shape.clone(), values));
        }
    }
}

fn numbers_of(values: &[f32]) -> QTensor {
    quantised(values, &[values.len()], GgmlDType::F32)
}

#[test]
fn every_architecture_has_bit_for_bit_the_logits_of_safetensors() {
    let cases = Case::all();
    assert!(cases.len() > 40);
    let mut families = std::collections::BTreeSet::new();
    for case in cases.iter().filter(|case| READ.contains(&case.model_type())) {
        let twins = Twins::of(case);
        families.insert(case.model_type().to_owned());
        let name = format!("family-{}.gguf", case.name);
        let gguf = load(&write(&name, &twins.metadata(), &twins.own_tensors()));
        let gguf = gguf.unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let name = format!("family-gguf-{}", case.name);
        let folder = write_model(&name, &twins.config, &twins.tensors, "F32", 1);
        let folder = load(&folder).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let tokens = case.tokens();
        for count in [1, 13, tokens.len()] {
            let (own, expected) =
                (logits(&gguf, &tokens[..count]), logits(&folder, &tokens[..count]));
            assert!(expected.iter().all(|x| x.is_finite()));
            let is_same = own.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(is_same, "{}: {:?} {:?}", case.name, &own[..4], &expected[..4]);
        }
    }
    assert_eq!(families.len(), READ.len(), "{families:?}");
}

/// The families of files that are read.
const READ: [&str; 18] = [
    "arcee",
    "cohere2",
    "ernie4_5",
    "exaone4",
    "gemma2",
    "gemma3_text",
    "glm4",
    "granite",
    "llama",
    "mistral",
    "mixtral",
    "olmo2",
    "phi3",
    "qwen2",
    "qwen3",
    "qwen3_moe",
    "seed_oss",
    "smollm3",
];

/// Frequencies that no configuration is known of are divided as the file says, which rounds them once.
#[test]
fn unknown_factors_of_frequencies_are_taken_as_they_are() {
    let cases = Case::all();
    let case = cases.iter().find(|case| case.name == "llama-llama3-rope").unwrap();
    let mut twins = Twins::of(case);
    twins.config["rope_scaling"]["low_freq_factor"] = json!(2.0);
    let gguf = load(&write("odd-factors.gguf", &twins.metadata(), &twins.own_tensors())).unwrap();
    let folder = write_model("odd-factors", &twins.config, &twins.tensors, "F32", 1);
    let (own, expected) =
        (logits(&gguf, &case.tokens()), logits(&load(&folder).unwrap(), &case.tokens()));
    assert!(own.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-4));
}
