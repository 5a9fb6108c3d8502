//! The reading that model types of candle-transformers have in common.

use maskwright_kernels::Activation;
use serde_json::{Value, json};

use crate::error::Result;
use crate::model::config::decoder::{AttentionConfig, Config};
use crate::model::config::errors::{config_error, refused};
use crate::model::config::families::plain::{self, Defaults};
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope;

/// Errors unless a key, or its default where it is absent, has the one value that candle-transformers
/// computes with.
pub(super) fn require(
    fields: &ConfigFields<'_>,
    key: &str,
    default: &Value,
    supported: &Value,
) -> Result<()> {
    let value = fields.get(key).unwrap_or(default);
    let is_same = match (value.as_f64(), supported.as_f64()) {
        (Some(value), Some(supported)) => value == supported,
        _ => value == supported,
    };
    if is_same {
        return Ok(());
    }
    Err(refused(key, value, "is not supported")
        .with_help(format!("candle-transformers computes with {supported}")))
}

/// [`require`] for keys whose default is supported.
pub(super) fn require_default<const N: usize>(
    fields: &ConfigFields<'_>,
    keys: [(&str, Value); N],
) -> Result<()> {
    keys.iter().try_for_each(|(key, default)| require(fields, key, default, default))
}

/// A model of attention layers, and its settings with the names that most models of candle-transformers have.
pub(super) struct AttentionModel {
    pub(super) config: Config,
    pub(super) attention: AttentionConfig,
    /// The number of dimensions of a head that are rotated.
    pub(super) rotary_dim: usize,
    pub(super) values: Value,
}

/// Reads a model of attention layers that are alike, with rotary positions that nothing scales.
pub(super) fn read_attention(
    fields: &ConfigFields<'_>,
    defaults: &Defaults,
    inner: usize,
) -> Result<AttentionModel> {
    let config = plain::read_with_inner(fields, defaults, inner)?;
    let Some(layer) = config.decoder.layers.first() else {
        return Err(
            fields.wrong("num_hidden_layers", "candle-transformers computes with 1 and more")
        );
    };
    let attention = layer.attention.clone();
    let context = config.max_position_embeddings;
    let rope = rope::read(fields, &defaults.rope, attention.width, context)?;
    let theta = rope.unscaled_base.ok_or_else(|| {
        config_error("rotary positions that are scaled are not supported for this model type")
            .at_pointer(fields.pointer("rope_parameters"))
            .with_help("candle-transformers computes with those of the type `default`")
    })?;
    let values = json!({
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": inner,
        "num_hidden_layers": config.num_hidden_layers,
        "num_attention_heads": attention.heads,
        "num_key_value_heads": attention.kv_heads,
        "head_dim": attention.width,
        "max_position_embeddings": context,
        "rope_theta": theta,
        "rms_norm_eps": config.decoder.norm.eps,
        "hidden_act": activation(fields, defaults)?,
        "tie_word_embeddings": config.tie_word_embeddings,
    });
    let rotary_dim = 2 * rope.config.frequencies.len();
    Ok(AttentionModel { config, attention, rotary_dim, values })
}

/// Errors unless the heads together are as wide as the stream.
pub(super) fn require_heads_of_stream(
    fields: &ConfigFields<'_>,
    model: &AttentionModel,
) -> Result<()> {
    let AttentionModel { config, attention, .. } = model;
    if attention.heads * attention.width == config.hidden_size {
        return Ok(());
    }
    let wanted = format!(
        "candle-transformers computes with {} heads that are {} wide together",
        attention.heads, config.hidden_size
    );
    Err(fields.wrong("head_dim", &wanted))
}

/// The name of the function in candle.
pub(super) fn activation(fields: &ConfigFields<'_>, defaults: &Defaults) -> Result<&'static str> {
    match plain::activation(fields, defaults)? {
        Activation::Silu => Ok("silu"),
        Activation::Gelu => Ok("gelu"),
        Activation::GeluTanh => Ok("gelu_pytorch_tanh"),
        Activation::Relu => Ok("relu"),
        Activation::SquaredRelu => Ok("relu2"),
        Activation::ClampedSwish { .. } => {
            Err(fields.wrong(defaults.activation_key, "candle has no such function"))
        }
    }
}

/// The settings with more members.
pub(super) fn with(mut values: Value, more: Value) -> Value {
    if let (Value::Object(values), Value::Object(more)) = (&mut values, more) {
        values.extend(more);
    }
    values
}
