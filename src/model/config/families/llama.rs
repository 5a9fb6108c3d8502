//! Llama 2 and 3, and the many models of their form.

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::Config;
use crate::model::config::fields::ConfigFields;

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &Defaults::LLAMA)?;
    plain::read_attention_bias(&mut config, fields)?;
    plain::read_mlp_bias(&mut config, fields)?;
    plain::read_windows(&mut config, fields, None, |_| false)?;
    Ok(config)
}
