//! Arcee (AFM): a feed-forward part without a gate, of squared ReLU.

use maskwright_kernels::Activation;

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::Config;
use crate::model::config::fields::ConfigFields;

const DEFAULTS: Defaults = Defaults {
    max_position_embeddings: 4096,
    eps: 1e-5,
    activation: Activation::SquaredRelu,
    ..Defaults::LLAMA
};

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &DEFAULTS)?;
    plain::read_attention_bias(&mut config, fields)?;
    let bias = fields.flag("mlp_bias")?.unwrap_or(false);
    plain::remove_gates(&mut config, bias);
    Ok(config)
}
