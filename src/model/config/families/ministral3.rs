//! Ministral 3: YaRN, and attention temperature tuning.

use serde_json::{Map, Value};

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::{AttentionTemperature, Config};
use crate::model::config::errors::config_error;
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const BETA: &str = "llama_4_scaling_beta";
const ORIGINAL: &str = "original_max_position_embeddings";

const DEFAULTS: Defaults = Defaults {
    kv_heads: Some(8),
    head_dim: Some(128),
    max_position_embeddings: 262_144,
    eps: 1e-5,
    rope: RopeDefaults {
        more_keys: &[BETA, "max_position_embeddings"],
        object: Some(
            r#"{"type": "yarn", "rope_theta": 1000000.0, "factor": 16.0, "beta_fast": 32.0,
                "beta_slow": 1.0, "mscale_all_dim": 1.0, "mscale": 1.0,
                "original_max_position_embeddings": 16384}"#,
        ),
        ..RopeDefaults::LLAMA
    },
    ..Defaults::LLAMA
};

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &DEFAULTS)?;
    let window = fields.size("sliding_window")?;
    let stated = ["rope_parameters", "rope_scaling"].map(|key| Ok((key, fields.object(key)?)));
    let stated = stated.into_iter().collect::<Result<Vec<_>>>()?;
    let is_there = |(key, object): (&'static str, Option<&'_ Map<String, Value>>)| {
        object.filter(|object| !object.is_empty()).map(|object| (format!("/{key}"), object.clone()))
    };
    let tuning = match stated.into_iter().find_map(is_there) {
        None => AttentionTemperature { beta: 0.1, original: 16_384 },
        Some((at, object)) => {
            let rope = ConfigFields::new(&object, &at);
            let beta = rope.number(BETA, "it must be a number from 0", |x| x >= 0.0)?;
            let missing = |key: &str| {
                config_error(&format!("`{key}` is missing"))
                    .at_pointer(rope.pointer(key))
                    .with_help("a config.json of this model type states it")
            };
            AttentionTemperature {
                beta: beta.ok_or_else(|| missing(BETA))?,
                original: rope.size(ORIGINAL)?.ok_or_else(|| missing(ORIGINAL))?,
            }
        }
    };
    plain::for_attention(&mut config, |attention| {
        attention.window = window;
        attention.temperature_tuning = Some(tuning);
    });
    Ok(config)
}
