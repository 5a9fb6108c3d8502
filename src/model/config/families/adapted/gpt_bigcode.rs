//! GPT-BigCode: learned positions, one head of keys and values.

use maskwright_kernels::Activation;
use serde_json::json;

use super::settings::{activation, require_default};
use crate::error::Result;
use crate::model::config::decoder::Config;
use crate::model::config::families::plain::{self, Defaults};
use crate::model::config::fields::ConfigFields;

const DEFAULTS: Defaults = Defaults {
    max_position_embeddings: 1024,
    eps_key: "layer_norm_epsilon",
    eps: 1e-5,
    is_tied: true,
    activation_key: "activation_function",
    activation: Activation::GeluTanh,
    ..Defaults::LLAMA
};

/// The usual names of keys, and GPT-BigCode's.
const ALIASES: &[(&str, &str)] = &[
    ("hidden_size", "n_embd"),
    ("num_hidden_layers", "n_layer"),
    ("num_attention_heads", "n_head"),
    ("max_position_embeddings", "n_positions"),
    ("intermediate_size", "n_inner"),
];

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let own = fields.with_aliases(ALIASES);
    let inner = match own.size("intermediate_size")? {
        Some(inner) => inner,
        None => 4 * own.required("hidden_size", 1)?,
    };
    let config = plain::read_with_inner(&own, &DEFAULTS, inner)?;
    let heads = own.required("num_attention_heads", 1)?;
    if !config.hidden_size.is_multiple_of(heads) {
        return Err(
            own.wrong("num_attention_heads", "the heads must divide the width of the stream")
        );
    }
    fields.join(&own);
    require_default(fields, [("multi_query", json!(true)), ("scale_attn_weights", json!(true))])?;
    if activation(fields, &DEFAULTS)? != "gelu_pytorch_tanh" {
        let wanted = "candle-transformers computes with gelu_pytorch_tanh";
        return Err(fields.wrong("activation_function", wanted));
    }
    // The dtype of a softmax, which is `f32` in any case; the default of both is true.
    fields.ignore(&["attention_softmax_in_fp32", "scale_attention_softmax_in_fp32"]);
    let values = json!({
        "vocab_size": config.vocab_size,
        "max_position_embeddings": config.max_position_embeddings,
        "num_hidden_layers": config.num_hidden_layers,
        "hidden_size": config.hidden_size,
        "layer_norm_epsilon": config.decoder.norm.eps,
        "n_inner": inner,
        "num_attention_heads": heads,
    });
    Ok(Config { adapted: Some(values), ..config })
}
