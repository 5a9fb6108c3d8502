//! The model families: what each reads out of its `config.json`, a file a family.
//!
//! The default of an absent key is that of the family's own class in the `transformers` library,
//! version 5. Each begins as a [plain] decoder and states its differences.

mod adapted;
mod arcee;
mod bailing;
mod cohere2;
mod ernie4_5;
mod exaone4;
mod experts;
mod gemma;
mod gemma4;
mod glm4;
mod gpt2;
mod gpt_neox;
mod gpt_oss;
mod granite;
mod hunyuan;
mod llama;
mod ministral3;
mod mistral;
mod olmo2;
mod phi;
mod phi3;
mod plain;
mod qwen;
mod routed;
mod seed_oss;
mod smollm3;
mod stablelm;
mod starcoder2;
mod text_part;

pub(super) use adapted::ADAPTED;

use super::decoder::Config;
use super::fields::ConfigFields;
use crate::error::Result;

/// A model family by its `model_type`.
pub(super) struct Family {
    pub(super) model_type: &'static str,
    pub(super) read: fn(&ConfigFields<'_>) -> Result<Config>,
}

/// All families.
pub(super) const FAMILIES: &[Family] = &[
    Family { model_type: "arcee", read: arcee::read },
    Family { model_type: "bailing_moe", read: bailing::read },
    Family { model_type: "bailing_moe_v2", read: bailing::read },
    Family { model_type: "cohere", read: cohere2::read_cohere },
    Family { model_type: "cohere2", read: cohere2::read_cohere2 },
    Family { model_type: "dots1", read: routed::read_dots1 },
    Family { model_type: "ernie4_5", read: ernie4_5::read },
    Family { model_type: "ernie4_5_moe", read: ernie4_5::read_moe },
    Family { model_type: "exaone4", read: exaone4::read },
    Family { model_type: "gemma", read: gemma::read_gemma },
    Family { model_type: "gemma2", read: gemma::read_gemma2 },
    Family { model_type: "gemma3", read: text_part::read_gemma3_with_images },
    Family { model_type: "gemma3_text", read: gemma::read_gemma3 },
    Family { model_type: "gemma4", read: text_part::read_gemma4_with_images },
    Family { model_type: "gemma4_text", read: gemma4::read },
    Family { model_type: "glm", read: glm4::read_glm },
    Family { model_type: "glm4", read: glm4::read_glm4 },
    Family { model_type: "glm4_moe", read: routed::read_glm4_moe },
    Family { model_type: "gpt2", read: gpt2::read },
    Family { model_type: "gpt_neox", read: gpt_neox::read },
    Family { model_type: "gpt_oss", read: gpt_oss::read },
    Family { model_type: "granite", read: granite::read_granite },
    Family { model_type: "granitemoe", read: granite::read_granitemoe },
    Family { model_type: "granitemoeshared", read: granite::read_granitemoeshared },
    Family { model_type: "hunyuan_v1_dense", read: hunyuan::read_dense },
    Family { model_type: "hunyuan_v1_moe", read: hunyuan::read_moe },
    Family { model_type: "llama", read: llama::read },
    Family { model_type: "minimax_m2", read: routed::read_minimax_m2 },
    Family { model_type: "ministral3", read: ministral3::read },
    Family { model_type: "mistral", read: mistral::read },
    Family { model_type: "mistral3", read: text_part::read_mistral3 },
    Family { model_type: "mixtral", read: experts::read_mixtral },
    Family { model_type: "olmo2", read: olmo2::read_olmo2 },
    Family { model_type: "olmo3", read: olmo2::read_olmo3 },
    Family { model_type: "olmoe", read: experts::read_olmoe },
    Family { model_type: "phi", read: phi::read },
    Family { model_type: "phi3", read: phi3::read },
    Family { model_type: "qwen2", read: qwen::read_qwen2 },
    Family { model_type: "qwen2_moe", read: experts::read_qwen2_moe },
    Family { model_type: "qwen3", read: qwen::read_qwen3 },
    Family { model_type: "qwen3_moe", read: experts::read_qwen3_moe },
    Family { model_type: "seed_oss", read: seed_oss::read },
    Family { model_type: "smollm3", read: smollm3::read },
    Family { model_type: "solar_open", read: routed::read_solar_open },
    Family { model_type: "stablelm", read: stablelm::read },
    Family { model_type: "starcoder2", read: starcoder2::read },
];
