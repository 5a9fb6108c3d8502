//! Hunyuan (dense): norms of queries and keys after they have turned, a longer base of rotary positions.

use super::plain::{self, Defaults};
use super::qwen::add_head_norms;
use crate::error::Result;
use crate::model::config::decoder::{Config, HeadNormExtent, TensorNames};
use crate::model::config::errors::refused;
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const DEFAULTS: Defaults = Defaults {
    eps: 1e-5,
    rope: RopeDefaults {
        // Beside `alpha` the library reads none of them.
        more_keys: &["alpha", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"],
        ..RopeDefaults::LLAMA
    },
    ..Defaults::LLAMA
};

const NAMES: TensorNames = TensorNames {
    query_norm: "self_attn.query_layernorm",
    key_norm: "self_attn.key_layernorm",
    ..TensorNames::LLAMA
};

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &DEFAULTS)?;
    plain::read_attention_bias(&mut config, fields)?;
    if fields.flag("use_qk_norm")? == Some(false) {
        return Err(refused("use_qk_norm", &false.into(), "is not supported"));
    }
    // Of relatives with experts, and of programs of the family's authors.
    fields.ignore(&[
        "norm_type",
        "num_shared_expert",
        "moe_topk",
        "moe_layer_num_skipped",
        "routed_scaling_factor",
        "use_rotary_pos_emb",
        "attention_head_dim",
    ]);
    add_head_norms(&mut config, HeadNormExtent::Head);
    config.decoder.names = NAMES;
    plain::for_attention(&mut config, |attention| {
        if let Some(norm) = &mut attention.head_norm {
            norm.is_after_rope = true;
        }
    });
    Ok(config)
}
