//! A writer of GGUF files like llama.cpp's converter: the models of `tests/data/family_logits` with its names,
//! orders and metadata, for the architectures of [`rearranged`](super::rearranged).

use candle_core::quantized::gguf_file::Value;
use candle_core::quantized::{GgmlDType, QTensor};
use serde_json::{Value as Json, json};

use super::families::put_experts_into_all_layers;
use super::{interleaved, quantised, tokenizer_metadata};
use crate::families::Case;
use crate::model_support::Tensors;

/// A model as a GGUF file can say it.
pub(super) struct ConvertedModel {
    pub(super) model_type: String,
    pub(super) config: Json,
    pub(super) tensors: Tensors,
}

impl ConvertedModel {
    /// The model of a case, without what the converter does not write.
    pub(super) fn of(case: &Case) -> Self {
        let mut config = case.value["config"].clone();
        let mut tensors = case.tensors();
        let model_type = case.model_type().to_owned();
        let object = config.as_object_mut().unwrap();
        let mut drop = |keys: &[&str]| object.retain(|key, _| !keys.contains(&&key[..]));
        match &model_type[..] {
            // llama.cpp's code of it has no windows.
            "dots1" => {
                drop(&["max_window_layers"]);
                config["sliding_window"] = Json::Null;
            }
            "gemma" => {
                drop(&["tie_word_embeddings"]);
                tensors.retain(|name, _| name != "lm_head.weight");
            }
            "gemma4_text" => {
                if let Some(types) = config["rope_parameters"].as_object_mut() {
                    for (key, object) in types {
                        let object = object.as_object_mut().unwrap();
                        object.remove("factor");
                        if key == "sliding_attention" {
                            object.insert("rope_type".to_owned(), json!("default"));
                        }
                    }
                }
            }
            "gpt2" => drop(&["scale_attn_by_inverse_layer_idx", "activation_function"]),
            "gpt_neox" => drop(&["rotary_emb_base", "hidden_act"]),
            "gpt_oss" => {
                drop(&["swiglu_limit", "swiglu_alpha"]);
                if config.get("rope_scaling").is_none() {
                    config["rope_theta"] = json!(150_000.0);
                }
            }
            "ministral3" => drop(&["sliding_window"]),
            "olmoe" => drop(&["clip_qkv", "norm_topk_prob"]),
            "phi" => drop(&["hidden_act"]),
            "qwen2_moe" => {
                drop(&[
                    "norm_topk_prob",
                    "use_sliding_window",
                    "sliding_window",
                    "max_window_layers",
                ]);
                put_experts_into_all_layers(&mut config, &mut tensors);
            }
            "starcoder2" => drop(&["sliding_window"]),
            _ => {}
        }
        Self { model_type, config, tensors }
    }

    pub(super) fn size(&self, key: &str) -> Option<usize> {
        self.config[key].as_u64().map(|n| n as usize)
    }

    pub(super) fn number(&self, key: &str, usual: f64) -> Value {
        Value::F32(self.config[key].as_f64().unwrap_or(usual) as f32)
    }

    pub(super) fn flag(&self, key: &str) -> bool {
        self.config[key].as_bool().unwrap_or(false)
    }

    /// A size under its usual name or GPT-2's.
    fn of_stream(&self, key: &str, short: &str) -> usize {
        self.size(key).or(self.size(short)).unwrap()
    }

    fn heads(&self) -> usize {
        self.of_stream("num_attention_heads", "n_head")
    }

    fn kv_heads(&self) -> usize {
        self.size("num_key_value_heads").unwrap_or(self.heads())
    }

    fn hidden(&self) -> usize {
        self.of_stream("hidden_size", "n_embd")
    }

    pub(super) fn head_width(&self) -> usize {
        self.size("head_dim").unwrap_or(self.hidden() / self.heads())
    }

    /// The scaling of rotary positions, that of the library where the file says nothing.
    fn scaling(&self) -> Json {
        let stated = [&self.config["rope_parameters"], &self.config["rope_scaling"]];
        let stated = stated.into_iter().find(|object| object.is_object());
        match (&self.model_type[..], stated) {
            (_, Some(object)) => object.clone(),
            ("gpt_oss", None) => json!({"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0,
                "beta_slow": 1.0, "original_max_position_embeddings": 4096}),
            ("ministral3", None) => json!({"rope_type": "yarn", "factor": 16.0, "beta_fast": 32.0,
                "beta_slow": 1.0, "mscale_all_dim": 1.0, "rope_theta": 1e6,
                "llama_4_scaling_beta": 0.1, "original_max_position_embeddings": 16_384}),
            _ => Json::Null,
        }
    }

    fn theta(&self) -> f64 {
        let usual = match &self.model_type[..] {
            "cohere" | "ernie4_5_moe" | "olmo3" => 5e5,
            "minimax_m2" => 5e6,
            "solar_open" => 1e6,
            "gpt_oss" => 150_000.0,
            _ => 1e4,
        };
        let stated = self.scaling()["rope_theta"].as_f64();
        stated.or(self.config["rope_theta"].as_f64()).unwrap_or(usual)
    }

    pub(super) fn metadata(&self, architecture: &str) -> Vec<(String, Value)> {
        let mut all = Vec::new();
        let mut set = |key: &str, value: Value| all.push((format!("{architecture}.{key}"), value));
        let u32 = |n: usize| Value::U32(n as u32);
        let text = |text: &str| Value::String(text.to_owned());
        let layers = self.of_stream("num_hidden_layers", "n_layer") + self.mtp_layers();
        let (hidden, width) = (self.hidden(), self.head_width());
        let model_type = &self.model_type[..];
        let inner = self.size("intermediate_size").or(self.size("n_inner")).unwrap_or(4 * hidden);
        set("block_count", u32(layers));
        set("context_length", u32(self.of_stream("max_position_embeddings", "n_positions")));
        set("embedding_length", u32(hidden));
        set("attention.head_count", u32(self.heads()));
        if !["gpt2", "gpt_neox", "gemma4_text"].contains(&model_type) {
            set("attention.head_count_kv", u32(self.kv_heads()));
        }
        let (layer_norm, rms) =
            ("attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon");
        match model_type {
            "cohere" | "gpt_neox" | "phi" | "stablelm" | "starcoder2" | "gpt2" => {
                set(layer_norm, self.number("layer_norm_eps", 1e-5));
            }
            "glm" => set(rms, Value::F32(1.5625e-7)),
            "gpt_oss" | "hunyuan_v1_dense" | "ministral3" | "olmo3" | "olmoe" => {
                set(rms, Value::F32(1e-5));
            }
            "bailing_moe" | "bailing_moe_v2" | "ernie4_5_moe" | "glm4_moe" | "hunyuan_v1_moe"
            | "solar_open" => {
                set(rms, Value::F32(1e-5));
            }
            _ => set(rms, Value::F32(1e-6)),
        }
        let has_base =
            !["gemma", "gemma4_text", "gpt2", "gpt_neox", "phi", "stablelm"].contains(&model_type);
        let scaling = self.scaling();
        let alpha = scaling["alpha"].as_f64();
        if let Some(alpha) = alpha {
            let power = width as f64 / (width as f64 - 2.0);
            set("rope.freq_base", Value::F32((1e4 * alpha.powf(power)) as f32));
            set("rope.scaling.type", text("none"));
            set("rope.scaling.factor", Value::F32(1.0));
        } else if has_base {
            set("rope.freq_base", Value::F32(self.theta() as f32));
        }
        if scaling["rope_type"] == "yarn" {
            let number = |key: &str| scaling[key].as_f64().map(|x| Value::F32(x as f32));
            set("rope.scaling.type", text("yarn"));
            set("rope.scaling.factor", number("factor").unwrap());
            let original = scaling["original_max_position_embeddings"].as_u64().unwrap();
            set("rope.scaling.original_context_length", Value::U32(original as u32));
            for (key, own) in [
                ("beta_fast", "rope.scaling.yarn_beta_fast"),
                ("beta_slow", "rope.scaling.yarn_beta_slow"),
                ("mscale_all_dim", "rope.scaling.yarn_log_multiplier"),
                ("llama_4_scaling_beta", "attention.temperature_scale"),
            ] {
                if let Some(number) = number(key) {
                    set(own, number);
                }
            }
        }
        let has_width = ["gemma", "glm", "gpt_oss", "hunyuan_v1_dense", "ministral3"];
        let is_routed = super::routed::FAMILIES.iter().any(|(family, _)| *family == model_type);
        if has_width.contains(&model_type) || is_routed && self.size("head_dim").is_some() {
            set("attention.key_length", u32(width));
            set("attention.value_length", u32(width));
        }
        let part = |key: &str, usual: f64| {
            (self.config[key].as_f64().unwrap_or(usual) * width as f64) as usize
        };
        match model_type {
            "glm" | "phi" => {
                set("rope.dimension_count", u32(part("partial_rotary_factor", 0.5)));
            }
            "stablelm" => {
                set("rope.dimension_count", u32(part("partial_rotary_factor", 0.25)));
                // The converter's default; the missing norm tells.
                set("use_parallel_residual", Value::Bool(true));
            }
            "gpt_neox" => {
                set("rope.dimension_count", u32(part("rotary_pct", 0.25)));
                let is_parallel = self.config["use_parallel_residual"].as_bool().unwrap_or(true);
                set("use_parallel_residual", Value::Bool(is_parallel));
            }
            "cohere" => {
                set("logit_scale", self.number("logit_scale", 0.0625));
                set("rope.scaling.type", text("none"));
            }
            "granitemoe" | "granitemoeshared" => {
                set("attention.scale", self.number("attention_multiplier", 1.0));
                set("embedding_scale", self.number("embedding_multiplier", 1.0));
                set("residual_scale", self.number("residual_multiplier", 1.0));
                set("logit_scale", self.number("logits_scaling", 1.0));
                if let Some(shared) = self.size("shared_intermediate_size") {
                    set("expert_shared_feed_forward_length", u32(shared));
                }
            }
            "qwen2_moe" => {
                let shared = self.size("shared_expert_intermediate_size").unwrap();
                set("expert_shared_feed_forward_length", u32(shared));
                set("expert_feed_forward_length", u32(self.size("moe_intermediate_size").unwrap()));
            }
            "gpt_oss" => {
                set("attention.sliding_window", u32(self.size("sliding_window").unwrap()));
                set("expert_feed_forward_length", u32(inner));
            }
            "olmo3" => {
                set("attention.sliding_window", u32(self.size("sliding_window").unwrap()));
                let windowed = (0..layers).map(|layer| Value::Bool((layer + 1) % 4 != 0));
                let pattern = Value::Array(windowed.collect());
                set("attention.sliding_window_pattern", pattern);
                set("rope.freq_base_swa", Value::F32(5e5));
            }
            _ => {}
        }
        let experts = self.size("num_experts").or(self.size("num_local_experts"));
        if is_routed {
            self.of_routed(&mut set);
        } else if let Some(experts) = experts {
            set("expert_count", u32(experts));
            let used = self.size("num_experts_per_tok").or(self.size("top_k_experts"));
            set("expert_used_count", u32(used.unwrap_or(2)));
        }
        if model_type == "gemma4_text" {
            self.of_gemma4(layers, inner, &mut set);
        } else {
            set("feed_forward_length", u32(inner));
        }
        all.push(("general.architecture".to_owned(), text(architecture)));
        all.extend(tokenizer_metadata());
        all
    }

    fn of_gemma4(&self, layers: usize, inner: usize, set: &mut impl FnMut(&str, Value)) {
        let u32 = |n: usize| Value::U32(n as u32);
        let windowed = self.windowed(layers);
        let of_layer = |layer: usize, key: &str| {
            self.config["per_layer_config"][layer.to_string()][key].as_u64().map(|n| n as usize)
        };
        let first_full = windowed.iter().position(|windowed| !windowed).unwrap();
        let width = of_layer(first_full, "head_dim").or(self.size("global_head_dim")).unwrap();
        for key in ["key", "value"] {
            set(&format!("attention.{key}_length"), u32(width));
            set(&format!("attention.{key}_length_swa"), u32(self.head_width()));
        }
        let full_heads = of_layer(first_full, "num_key_value_heads")
            .or(self.size("num_global_key_value_heads"))
            .unwrap_or(self.kv_heads());
        let heads = windowed.iter().map(|&windowed| {
            if windowed {
                Value::I32(self.kv_heads() as i32)
            } else {
                Value::I32(full_heads as i32)
            }
        });
        set("attention.head_count_kv", Value::Array(heads.collect()));
        let shared = self.size("num_kv_shared_layers").unwrap_or(0);
        set("attention.shared_kv_layers", u32(shared));
        if self.flag("use_double_wide_mlp") {
            let widths = (0..layers).map(|layer| {
                if layer < layers - shared {
                    Value::I32(inner as i32)
                } else {
                    Value::I32(2 * inner as i32)
                }
            });
            set("feed_forward_length", Value::Array(widths.collect()));
        } else {
            set("feed_forward_length", u32(inner));
        }
        let inputs = self.size("hidden_size_per_layer_input").unwrap();
        set("embedding_length_per_layer_input", u32(inputs));
        set("attention.sliding_window", u32(self.size("sliding_window").unwrap()));
        let pattern = windowed.into_iter().map(Value::Bool).collect();
        set("attention.sliding_window_pattern", Value::Array(pattern));
        if let Some(width) = self.size("moe_intermediate_size") {
            set("expert_feed_forward_length", u32(width));
        }
        if self.config["final_logit_softcapping"].is_number() {
            set("final_logit_softcapping", self.number("final_logit_softcapping", 0.0));
        }
        let theta = |layers: &str, usual: f64| {
            let stated = self.config["rope_parameters"][layers]["rope_theta"].as_f64();
            Value::F32(stated.unwrap_or(usual) as f32)
        };
        set("rope.freq_base", theta("full_attention", 1e6));
        set("rope.freq_base_swa", theta("sliding_attention", 1e4));
        set("rope.dimension_count", u32(width));
        set("rope.dimension_count_swa", u32(self.head_width()));
    }

    /// The layers of Gemma 4 with a window.
    fn windowed(&self, layers: usize) -> Vec<bool> {
        let mut windowed: Vec<bool> = match self.config["layer_types"].as_array() {
            Some(types) => types.iter().map(|kind| kind == "sliding_attention").collect(),
            None => (0..layers).map(|layer| (layer + 1) % 6 != 0).collect(),
        };
        windowed[layers - 1] = false;
        windowed
    }

    /// The converter's tensors.
    pub(super) fn own_tensors(&self) -> Vec<(String, QTensor)> {
        let mut all = Vec::new();
        let mut stacks = Tensors::new();
        for (name, (shape, values)) in &self.tensors {
            if let Some((before, after)) = name.split_once(".experts.")
                && let Some((_, projection)) = after.split_once('.')
            {
                let stack = stacks.entry(format!("{before}.experts.{projection}"));
                let (stacked, all) =
                    stack.or_insert_with(|| ([vec![0], shape.clone()].concat(), vec![]));
                stacked[0] += 1;
                all.extend(values);
                continue;
            }
            all.extend(self.converted(name, shape, values));
        }
        for (name, (shape, values)) in &stacks {
            all.extend(self.converted(name, shape, values));
        }
        all.extend(self.tensors_of_mtp_layers());
        if self.model_type == "gemma4_text" {
            let layers = self.size("num_hidden_layers").unwrap();
            let first_full = self.windowed(layers).iter().position(|windowed| !windowed).unwrap();
            let name = format!("model.layers.{first_full}.self_attn.q_norm.weight");
            let pairs = self.tensors[&name].0[0] / 2;
            let part = &self.config["rope_parameters"]["full_attention"]["partial_rotary_factor"];
            let moving = (part.as_f64().unwrap_or(0.25) * pairs as f64) as usize;
            let factors = [vec![1.0; moving], vec![1e30; pairs - moving]].concat();
            all.push(("rope_freqs.weight".to_owned(), vec![pairs], factors));
        }
        let quantise = |(name, shape, values): (String, Vec<usize>, Vec<f32>)| {
            (name, quantised(&values, &shape, GgmlDType::F32))
        };
        all.into_iter().map(quantise).collect()
    }

    /// Names, shapes and numbers that the converter makes of a tensor.
    fn converted(
        &self,
        name: &str,
        shape: &[usize],
        values: &[f32],
    ) -> Vec<(String, Vec<usize>, Vec<f32>)> {
        let model_type = &self.model_type[..];
        let (own, kind) = self.own_name(name);
        let name = |stem: &str| format!("{}.{kind}", own.replace('*', stem));
        let one = |shape: Vec<usize>, values: Vec<f32>| vec![(name(""), shape, values)];
        let is_permuted = ["granitemoe", "granitemoeshared", "ministral3"].contains(&model_type);
        match (shape, model_type) {
            ([experts, hidden, both], "gpt_oss") if own.contains('*') => {
                let turned = transposed(values, *experts, *hidden, *both);
                let rows = |first| every_other(&turned, *hidden, first);
                let shape = vec![*experts, both / 2, *hidden];
                vec![(name("gate"), shape.clone(), rows(0)), (name("up"), shape, rows(1))]
            }
            ([experts, both], "gpt_oss") if own.contains('*') => {
                let part = |first| every_other(values, 1, first);
                let shape = vec![*experts, both / 2];
                vec![(name("gate"), shape.clone(), part(0)), (name("up"), shape, part(1))]
            }
            ([experts, inputs, outputs], "gpt_oss") => {
                let turned = transposed(values, *experts, *inputs, *outputs);
                one(vec![*experts, *outputs, *inputs], turned)
            }
            ([before @ .., both, hidden], _) if own.contains('*') => {
                let halves = |half: usize| {
                    let stacks = values.chunks(both * hidden);
                    stacks
                        .flat_map(move |s| s.chunks(both / 2 * hidden).nth(half).unwrap())
                        .copied()
                };
                let shape = [before, &[both / 2, *hidden]].concat();
                let (gate, up) = (halves(0).collect(), halves(1).collect());
                vec![(name("gate"), shape.clone(), gate), (name("up"), shape, up)]
            }
            ([rows, columns], "gpt2") if own.starts_with("blk.") => {
                one(vec![*columns, *rows], transposed(values, 1, *rows, *columns))
            }
            (_, "bailing_moe") if own.ends_with("attn_qkv") => {
                self.taken_apart(&own, &kind, shape, values)
            }
            (_, "gpt_neox") if own.ends_with("attn_qkv") => {
                let (heads, width) = (self.heads(), self.head_width());
                let row = values.len() / shape[0];
                let part = |part: usize| {
                    let from = move |head: usize| (head * 3 + part) * width * row;
                    (0..heads).flat_map(move |head| &values[from(head)..from(head) + width * row])
                };
                one(shape.to_vec(), (0..3).flat_map(part).copied().collect())
            }
            (_, "gemma") if own.ends_with("norm") => {
                one(shape.to_vec(), values.iter().map(|x| x + 1.0).collect())
            }
            _ if is_permuted && own.ends_with("attn_q") => {
                one(shape.to_vec(), interleaved(values, shape[0], self.heads()))
            }
            _ if is_permuted && own.ends_with("attn_k") => {
                one(shape.to_vec(), interleaved(values, shape[0], self.kv_heads()))
            }
            ([], _) => one(vec![1], values.to_vec()),
            _ => one(shape.to_vec(), values.to_vec()),
        }
    }

    /// llama.cpp's name without the kind, and the kind. `*` stands for gate and up.
    fn own_name(&self, name: &str) -> (String, String) {
        let name = ["transformer.", "gpt_neox."]
            .iter()
            .fold(name, |name, prefix| name.strip_prefix(prefix).unwrap_or(name));
        let (stem, kind) = match name {
            _ if name.ends_with("_bias") => (name.trim_end_matches("_bias"), "bias"),
            _ => match name.rsplit_once('.') {
                Some((stem, kind @ ("weight" | "bias"))) => (stem, kind),
                _ => (name, "weight"),
            },
        };
        let stem = stem.trim_start_matches("model.");
        let outside = match stem {
            "embed_tokens" | "wte" | "embed_in" | "word_embeddings" => Some("token_embd"),
            "wpe" => Some("position_embd"),
            "norm" | "final_layernorm" | "ln_f" | "final_layer_norm" => Some("output_norm"),
            "lm_head" | "embed_out" => Some("output"),
            "embed_tokens_per_layer" => Some("per_layer_token_embd"),
            "per_layer_model_projection" => Some("per_layer_model_proj"),
            "per_layer_projection_norm" => Some("per_layer_proj_norm"),
            _ => None,
        };
        if let Some(outside) = outside {
            return (outside.to_owned(), kind.to_owned());
        }
        let inside = stem.strip_prefix("layers.").or(stem.strip_prefix("h.")).unwrap();
        let (layer, part) = inside.split_once('.').unwrap();
        let has_norms_after = ["gemma4_text", "glm4_moe", "gpt_oss", "olmo3", "solar_open"];
        let own = match part {
            "post_attention_layernorm" if has_norms_after.contains(&&self.model_type[..]) => {
                "post_attention_norm"
            }
            "router.per_expert_scale" => {
                return (format!("blk.{layer}.ffn_down_exps"), "scale".into());
            }
            "router.scale" => return (format!("blk.{layer}.ffn_gate_inp"), "scale".into()),
            _ => INSIDE
                .iter()
                .chain(super::routed::INSIDE)
                .find(|(name, _)| *name == part)
                .map(|(_, own)| *own)
                .unwrap_or_else(|| panic!("{part} of {}", self.model_type)),
        };
        (format!("blk.{layer}.{own}"), kind.to_owned())
    }
}

/// Hugging Face's names inside layers, and llama.cpp's.
const INSIDE: &[(&str, &str)] = &[
    ("input_layernorm", "attn_norm"),
    ("ln_1", "attn_norm"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("attn.c_attn", "attn_qkv"),
    ("attention.query_key_value", "attn_qkv"),
    ("self_attn.o_proj", "attn_output"),
    ("self_attn.dense", "attn_output"),
    ("attn.c_proj", "attn_output"),
    ("attention.dense", "attn_output"),
    ("self_attn.q_norm", "attn_q_norm"),
    ("self_attn.k_norm", "attn_k_norm"),
    ("self_attn.query_layernorm", "attn_q_norm"),
    ("self_attn.key_layernorm", "attn_k_norm"),
    ("self_attn.sinks", "attn_sinks"),
    ("post_attention_layernorm", "ffn_norm"),
    ("pre_feedforward_layernorm", "ffn_norm"),
    ("ln_2", "ffn_norm"),
    ("post_feedforward_layernorm", "post_ffw_norm"),
    ("post_feedforward_layernorm_1", "post_ffw_norm_1"),
    ("post_feedforward_layernorm_2", "post_ffw_norm_2"),
    ("pre_feedforward_layernorm_2", "pre_ffw_norm_2"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.gate_up_proj", "ffn_up"),
    ("mlp.c_fc", "ffn_up"),
    ("mlp.fc1", "ffn_up"),
    ("mlp.dense_h_to_4h", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
    ("mlp.c_proj", "ffn_down"),
    ("mlp.fc2", "ffn_down"),
    ("mlp.dense_4h_to_h", "ffn_down"),
    ("mlp.gate", "ffn_gate_inp"),
    ("mlp.router", "ffn_gate_inp"),
    ("router.proj", "ffn_gate_inp"),
    ("block_sparse_moe.router.layer", "ffn_gate_inp"),
    ("mlp.experts.gate_proj", "ffn_gate_exps"),
    ("mlp.experts.up_proj", "ffn_up_exps"),
    ("mlp.experts.down_proj", "ffn_down_exps"),
    ("mlp.experts.gate_up_proj", "ffn_*_exps"),
    ("experts.gate_up_proj", "ffn_gate_up_exps"),
    ("experts.down_proj", "ffn_down_exps"),
    ("block_sparse_moe.input_linear", "ffn_*_exps"),
    ("block_sparse_moe.output_linear", "ffn_down_exps"),
    ("shared_mlp.input_linear", "ffn_*_shexp"),
    ("shared_mlp.output_linear", "ffn_down_shexp"),
    ("mlp.shared_expert.gate_proj", "ffn_gate_shexp"),
    ("mlp.shared_expert.up_proj", "ffn_up_shexp"),
    ("mlp.shared_expert.down_proj", "ffn_down_shexp"),
    ("mlp.shared_expert_gate", "ffn_gate_inp_shexp"),
    ("layer_scalar", "layer_output_scale"),
    ("per_layer_input_gate", "inp_gate"),
    ("per_layer_projection", "proj"),
    ("post_per_layer_input_norm", "post_norm"),
];

/// Each of some matrices, turned.
fn transposed(values: &[f32], count: usize, rows: usize, columns: usize) -> Vec<f32> {
    let at = |matrix, column, row| values[(matrix * rows + row) * columns + column];
    let of = |matrix| {
        (0..columns).flat_map(move |column| (0..rows).map(move |row| at(matrix, column, row)))
    };
    (0..count).flat_map(of).collect()
}

/// Every other row, from the row `first` on.
fn every_other(values: &[f32], row: usize, first: usize) -> Vec<f32> {
    values.chunks(row).skip(first).step_by(2).flatten().copied().collect()
}
