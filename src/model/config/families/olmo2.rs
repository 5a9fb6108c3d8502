//! OLMo 2: norms after each part, and norms over all heads of queries and keys.

use super::plain::{self, Defaults};
use super::qwen::add_head_norms;
use crate::error::Result;
use crate::model::config::decoder::{Config, HeadNormExtent, NormPlaces};
use crate::model::config::fields::ConfigFields;

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &Defaults { eps: 1e-5, ..Defaults::LLAMA })?;
    plain::read_attention_bias(&mut config, fields)?;
    add_head_norms(&mut config, HeadNormExtent::AllHeads);
    for layer in &mut config.decoder.layers {
        layer.norms = NormPlaces::POST;
    }
    Ok(config)
}
