//! Granite: factors of embeddings, scores, residuals and logits.

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::Config;
use crate::model::config::fields::ConfigFields;

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &Defaults::LLAMA)?;
    plain::read_attention_bias(&mut config, fields)?;
    plain::read_mlp_bias(&mut config, fields)?;
    let scale = fields.positive("attention_multiplier")?.unwrap_or(1.0);
    let residual_scale = fields.positive("residual_multiplier")?.unwrap_or(1.0);
    config.decoder.embedding_scale = fields.positive("embedding_multiplier")?.unwrap_or(1.0);
    config.decoder.logit_scale = 1.0 / fields.positive("logits_scaling")?.unwrap_or(1.0);
    for layer in &mut config.decoder.layers {
        layer.attention.scale = scale;
        layer.residual_scale = residual_scale;
    }
    Ok(config)
}
