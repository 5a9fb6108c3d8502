//! Files as llama.cpp's converter makes them of mixtures whose experts are chosen by corrected scores, and of their
//! relatives.

use candle_core::quantized::GgmlDType;
use candle_core::quantized::gguf_file::Value;

use super::converter::ConvertedModel;
use super::{interleaved, load, logits, quantised, write};
use crate::families::{Case, numbers};

/// The families, and llama.cpp's name of each.
pub(super) const FAMILIES: &[(&str, &str)] = &[
    ("bailing_moe", "bailingmoe"),
    ("bailing_moe_v2", "bailingmoe2"),
    ("dots1", "dots1"),
    ("ernie4_5_moe", "ernie4_5-moe"),
    ("glm4_moe", "glm4moe"),
    ("hunyuan_v1_moe", "hunyuan-moe"),
    ("minimax_m2", "minimax-m2"),
    ("solar_open", "glm4moe"),
];

/// Hugging Face's names inside layers, and llama.cpp's.
pub(super) const INSIDE: &[(&str, &str)] = &[
    ("attention.dense", "attn_output"),
    ("attention.key_layernorm", "attn_k_norm"),
    ("attention.query_key_value", "attn_qkv"),
    ("attention.query_layernorm", "attn_q_norm"),
    ("block_sparse_moe.e_score_correction", "exp_probs_b"),
    ("block_sparse_moe.experts.w1", "ffn_gate_exps"),
    ("block_sparse_moe.experts.w2", "ffn_down_exps"),
    ("block_sparse_moe.experts.w3", "ffn_up_exps"),
    ("block_sparse_moe.gate", "ffn_gate_inp"),
    ("mlp.gate.expert", "exp_probs_b"),
    ("mlp.gate.e_score_correction", "exp_probs_b"),
    ("mlp.gate.wg", "ffn_gate_inp"),
    ("mlp.moe_statics.e_score_correction", "exp_probs_b"),
    ("mlp.shared_experts.down_proj", "ffn_down_shexp"),
    ("mlp.shared_experts.gate_proj", "ffn_gate_shexp"),
    ("mlp.shared_experts.up_proj", "ffn_up_shexp"),
    ("mlp.shared_mlp.down_proj", "ffn_down_shexp"),
    ("mlp.shared_mlp.gate_proj", "ffn_gate_shexp"),
    ("mlp.shared_mlp.up_proj", "ffn_up_shexp"),
];

impl ConvertedModel {
    /// The number of layers after the last one, of GLM-4.5.
    pub(super) fn mtp_layers(&self) -> usize {
        match &self.model_type[..] {
            "glm4_moe" => self.size("num_nextn_predict_layers").unwrap_or(1),
            _ => 0,
        }
    }

    /// Tensors of these layers.
    pub(super) fn tensors_of_mtp_layers(&self) -> Vec<(String, Vec<usize>, Vec<f32>)> {
        let layers = self.size("num_hidden_layers").unwrap_or(0);
        let hidden = self.size("hidden_size").unwrap_or(0);
        let tensors = |layer: usize| {
            [("attn_norm", vec![hidden]), ("nextn.eh_proj", vec![hidden, 2 * hidden])].map(
                |(stem, shape)| {
                    let name = format!("blk.{layer}.{stem}.weight");
                    let values = numbers(&name, &shape);
                    (name, shape, values)
                },
            )
        };
        (layers..layers + self.mtp_layers()).flat_map(tensors).collect()
    }

    /// Queries, keys and values of Ling 1, whose pairs the converter puts side by side.
    pub(super) fn taken_apart(
        &self,
        own: &str,
        kind: &str,
        shape: &[usize],
        values: &[f32],
    ) -> Vec<(String, Vec<usize>, Vec<f32>)> {
        let before = own.trim_end_matches("attn_qkv");
        let (heads, kv_heads) =
            (self.size("num_attention_heads").unwrap(), self.size("num_key_value_heads").unwrap());
        let row = values.len() / shape[0];
        let mut from = 0;
        [("attn_q", heads, true), ("attn_k", kv_heads, true), ("attn_v", kv_heads, false)]
            .map(|(stem, heads, turns)| {
                let rows = heads * self.head_width();
                let part = &values[from * row..(from + rows) * row];
                from += rows;
                let part = if turns { interleaved(part, rows, heads) } else { part.to_vec() };
                (format!("{before}{stem}.{kind}"), [&[rows], &shape[1..]].concat(), part)
            })
            .into()
    }

    /// The metadata of a mixture.
    pub(super) fn of_routed(&self, set: &mut impl FnMut(&str, Value)) {
        let u32 = |n: usize| Value::U32(n as u32);
        // A size, or the same in all layers.
        let size = |key: &str| {
            let first = self.config[key][0].as_u64().map(|n| n as usize);
            self.size(key).or(first)
        };
        let any = |keys: &[&str]| keys.iter().find_map(|key| size(key));
        let count = ["n_routed_experts", "moe_num_experts", "num_experts", "num_local_experts"];
        set("expert_count", u32(any(&count).unwrap()));
        set("expert_used_count", u32(any(&["num_experts_per_tok", "moe_k", "moe_topk"]).unwrap()));
        let inner = any(&["moe_intermediate_size", "intermediate_size"]).unwrap();
        set("expert_feed_forward_length", u32(inner));
        match &self.model_type[..] {
            "dots1" | "glm4_moe" | "solar_open" => {
                let shared = size("n_shared_experts").unwrap();
                set("expert_shared_count", u32(shared));
                if let Some(dense) = size("first_k_dense_replace") {
                    set("leading_dense_block_count", u32(dense));
                }
                set("expert_weights_scale", self.number("routed_scaling_factor", 1.0));
                set("expert_weights_norm", Value::Bool(self.flag("norm_topk_prob")));
                for (own, key) in
                    [("expert_group_count", "n_group"), ("expert_group_used_count", "topk_group")]
                {
                    if let Some(groups) = size(key) {
                        set(own, u32(groups));
                    }
                }
            }
            "bailing_moe" | "bailing_moe_v2" => {
                set("vocab_size", u32(size("vocab_size").unwrap()));
                set("expert_shared_count", u32(size("num_shared_experts").unwrap()));
                set("leading_dense_block_count", u32(size("first_k_dense_replace").unwrap_or(0)));
                set("expert_weights_scale", self.number("routed_scaling_factor", 1.0));
                set("expert_weights_norm", Value::Bool(self.flag("norm_topk_prob")));
                if self.config["score_function"] == "sigmoid" {
                    set("expert_gating_func", Value::U32(2));
                    set("expert_shared_feed_forward_length", u32(inner));
                    set("expert_group_count", u32(size("n_group").unwrap()));
                    set("expert_group_used_count", u32(size("topk_group").unwrap()));
                }
            }
            "ernie4_5_moe" => {
                set("interleave_moe_layer_step", u32(size("moe_layer_interval").unwrap_or(1)));
                set("leading_dense_block_count", u32(size("moe_layer_start_index").unwrap_or(1)));
                set("expert_shared_count", u32(size("moe_num_shared_experts").unwrap_or(2)));
                // Of other settings.
                let length = self.size("intermediate_size").unwrap() / 2;
                set("expert_shared_feed_forward_length", u32(length));
            }
            "hunyuan_v1_moe" => {
                set("expert_shared_count", u32(size("num_shared_expert").unwrap_or(1)));
                set("expert_shared_feed_forward_length", u32(inner));
                set("rope.scaling.original_context_length", Value::U32(256 * 1024));
            }
            _ => {}
        }
        let width = self.head_width();
        let part = self.config["partial_rotary_factor"].as_f64();
        match &self.model_type[..] {
            "glm4_moe" => {
                set("expert_gating_func", Value::U32(2));
                set("nextn_predict_layers", u32(self.mtp_layers()));
                let turning = (width as f64 * part.unwrap_or(0.5)) as usize;
                set("rope.dimension_count", u32(turning));
            }
            "bailing_moe" | "bailing_moe_v2" => {
                let turning = (width as f64 * part.unwrap_or(1.0)) as usize;
                set("rope.dimension_count", u32(turning));
            }
            "solar_open" => set("rope.dimension_count", u32(width)),
            "minimax_m2" => set("rope.dimension_count", u32(size("rotary_dim").unwrap())),
            _ => {}
        }
    }
}

/// A case, its model, and llama.cpp's name of the architecture.
fn model(name: &str) -> (Case, ConvertedModel, &'static str) {
    let case = Case::all().into_iter().find(|case| case.name == name).unwrap();
    let model = ConvertedModel::of(&case);
    let (_, own) = FAMILIES.iter().find(|(family, _)| *family == model.model_type).unwrap();
    (case, model, own)
}

#[test]
fn settings_of_routers_that_are_not_known_are_refused_by_name() {
    for (name, key, value, expected) in [
        ("glm4_moe", "expert_gating_func", 1, "expert_gating_func` is 1"),
        ("ernie4_5_moe", "expert_gating_func", 2, "expert_gating_func` is 2"),
        ("minimax_m2", "expert_gating_func", 4, "expert_gating_func` is 4"),
        (
            "dots1",
            "expert_group_count",
            4,
            "`dots1.expert_group_count`, in config.json `n_group`: ",
        ),
        (
            "glm4_moe",
            "expert_group_used_count",
            2,
            "`glm4moe.expert_group_used_count`, in config.json `topk_group`: ",
        ),
        ("dots1", "nextn_predict_layers", 1, "dots1.nextn_predict_layers"),
        ("minimax_m2", "expert_shared_feed_forward_length", 8, "is not known of this"),
    ] {
        let (_, model, own) = model(name);
        let mut metadata = model.metadata(own);
        let key = format!("{own}.{key}");
        metadata.retain(|(other, _)| *other != key);
        metadata.push((key, Value::U32(value)));
        let file = write(&format!("router-{name}.gguf"), &metadata, &model.own_tensors());
        let error = load(&file).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
}

#[test]
fn a_correction_is_a_row_or_a_vector() {
    let (case, model, own) = model("ernie4_5_moe");
    let (metadata, mut tensors) = (model.metadata(own), model.own_tensors());
    let path = write("correction-row.gguf", &metadata, &tensors);
    let of_rows = logits(&load(&path).unwrap(), &case.tokens());
    let mut count = 0;
    for (name, tensor) in &mut tensors {
        if name.ends_with("exp_probs_b.bias") {
            assert_eq!(tensor.shape().dims(), [1, 6]);
            let flat = tensor.dequantize(&candle_core::Device::Cpu).unwrap().flatten_all().unwrap();
            let values: Vec<f32> = flat.to_vec1().unwrap();
            *tensor = quantised(&values, &[6], GgmlDType::F32);
            count += 1;
        }
    }
    assert_eq!(count, 2);
    let path = write("correction-vector.gguf", &metadata, &tensors);
    assert_eq!(of_rows, logits(&load(&path).unwrap(), &case.tokens()));
}
