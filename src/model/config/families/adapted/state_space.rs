//! Mamba and Mamba-2: layers of selective state spaces.

use serde_json::{Value, json};

use super::settings::{require, require_default};
use crate::error::Result;
use crate::model::config::decoder::Config;
use crate::model::config::families::plain::{self, Defaults};
use crate::model::config::fields::ConfigFields;

/// A state is as large after any number of tokens, and the files name no bound; requests have one.
const CONTEXT: usize = 1 << 20;

const DEFAULTS: Defaults = Defaults {
    max_position_embeddings: CONTEXT,
    eps_key: "layer_norm_epsilon",
    eps: 1e-5,
    is_tied: true,
    ..Defaults::LLAMA
};

/// Settings of training, and choices among implementations.
const IGNORED: [&str; 10] = [
    "rescale_prenorm_residual",
    "residual_in_fp32",
    "time_step_floor",
    "time_step_init_scheme",
    "time_step_max",
    "time_step_min",
    "time_step_scale",
    "use_associative_scan",
    "use_mambapy",
    "use_cache",
];

/// Mamba.
pub(super) fn read_mamba(fields: &ConfigFields<'_>) -> Result<Config> {
    let config = plain::read_without_attention(fields, &DEFAULTS)?;
    let hidden = config.hidden_size;
    require_default(
        fields,
        [
            ("state_size", json!(16)),
            ("conv_kernel", json!(4)),
            ("expand", json!(2)),
            ("intermediate_size", json!(2 * hidden)),
            ("layer_norm_epsilon", json!(1e-5)),
            ("use_bias", json!(false)),
            ("use_conv_bias", json!(true)),
            ("hidden_act", json!("silu")),
        ],
    )?;
    require_rank(fields, hidden)?;
    fields.ignore(&IGNORED);
    let values = json!({
        "d_model": hidden,
        "n_layer": config.num_hidden_layers,
        "vocab_size": config.vocab_size,
        "pad_vocab_size_multiple": 1,
    });
    Ok(Config { adapted: Some(values), ..config })
}

/// Mamba-2 with one group.
pub(super) fn read_mamba2(fields: &ConfigFields<'_>) -> Result<Config> {
    let config = plain::read_without_attention(fields, &Defaults { is_tied: false, ..DEFAULTS })?;
    let hidden = config.hidden_size;
    require_default(
        fields,
        [
            ("conv_kernel", json!(4)),
            ("layer_norm_epsilon", json!(1e-5)),
            ("use_bias", json!(false)),
            ("use_conv_bias", json!(true)),
            ("hidden_act", json!("silu")),
            ("rms_norm", json!(true)),
            ("norm_before_gate", json!(true)),
        ],
    )?;
    require(fields, "n_groups", &json!(8), &json!(1))?;
    let (head, expand) =
        (fields.size("head_dim")?.unwrap_or(64), fields.size("expand")?.unwrap_or(2));
    let heads = fields.size("num_heads")?.unwrap_or(128);
    if heads * head != expand * hidden {
        let wanted = format!("heads of {head} must be {} wide together", expand * hidden);
        return Err(fields.wrong("num_heads", &wanted));
    }
    // Of no bound there are several spellings.
    let is_zero = |value: &Value| value.as_f64() == Some(0.0);
    let is_infinite =
        |value: &Value| *value == json!("Infinity") || *value == json!({"__float__": "Infinity"});
    let is_unbounded = |limit: &Vec<Value>| matches!(&limit[..], [least, most] if is_zero(least) && is_infinite(most));
    if !fields.list("time_step_limit")?.is_none_or(is_unbounded) {
        let wanted = "candle-transformers computes without a limit: [0.0, Infinity]";
        return Err(fields.wrong("time_step_limit", wanted));
    }
    require_rank(fields, hidden)?;
    fields.ignore(&IGNORED);
    // A choice of the algorithm.
    fields.ignore(&["chunk_size"]);
    let values = json!({
        "d_model": hidden,
        "n_layer": config.num_hidden_layers,
        "vocab_size": config.vocab_size,
        "d_state": fields.size("state_size")?.unwrap_or(128),
        "expand": expand,
        "headdim": head,
        "ngroups": 1,
        "pad_vocab_size_multiple": 1,
    });
    Ok(Config { adapted: Some(values), ..config })
}

/// Errors unless the rank of time steps is ⌈hidden / 16⌉.
fn require_rank(fields: &ConfigFields<'_>, hidden: usize) -> Result<()> {
    if fields.get("time_step_rank") == Some(&json!("auto")) {
        return Ok(());
    }
    let rank = json!(hidden.div_ceil(16));
    require(fields, "time_step_rank", &rank, &rank)
}
