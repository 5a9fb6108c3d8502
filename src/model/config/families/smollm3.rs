//! SmolLM3: every fourth layer knows no positions.

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::Config;
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const DEFAULTS: Defaults = Defaults {
    kv_heads: Some(4),
    max_position_embeddings: 32_768,
    is_tied: true,
    rope: RopeDefaults { theta: 2_000_000.0, ..RopeDefaults::LLAMA },
    ..Defaults::LLAMA
};

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read_without_rope(fields, &DEFAULTS)?;
    let layers = config.num_hidden_layers;
    let interval = fields.size("no_rope_layer_interval")?.unwrap_or(4);
    let turns: Vec<bool> = match fields.list("no_rope_layers")? {
        // The name says the opposite of what the numbers mean: 1 is a layer with rotary positions.
        Some(list) => {
            let flags = list.iter().map(|value| value.as_u64().filter(|n| *n < 2).map(|n| n == 1));
            let flags: Option<Vec<bool>> = flags.collect();
            let wanted = format!("it must be a list of {layers} numbers, each 0 or 1");
            flags
                .filter(|flags| flags.len() == layers)
                .ok_or_else(|| fields.wrong("no_rope_layers", &wanted))?
        }
        None => (0..layers).map(|layer| (layer + 1) % interval != 0).collect(),
    };
    plain::set_rope(&mut config, fields, &DEFAULTS.rope, |layer| turns[layer])?;
    plain::read_attention_bias(&mut config, fields)?;
    plain::read_mlp_bias(&mut config, fields)?;
    let is_switched_on = fields.flag("use_sliding_window")?.unwrap_or(false);
    let window = fields.size("sliding_window")?.filter(|_| is_switched_on);
    plain::read_windows(&mut config, fields, window, |layer| window.is_some() && !turns[layer])?;
    Ok(config)
}
