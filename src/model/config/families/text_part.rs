//! The text part of a model that also reads images or sound: its decoder loads, the other parts are left
//! out.

use super::Family;
use super::gemma::read_gemma3;
use super::gemma4;
use super::ministral3;
use super::mistral;
use crate::error::Result;
use crate::model::config::decoder::{Config, Prefixes};
use crate::model::config::errors::{config_error, shown};
use crate::model::config::fields::ConfigFields;
use crate::model::config::keys;

/// The names of the decoder's tensors: as the library writes them, and as older files do.
const PREFIXES: &[Prefixes] = &[
    Prefixes { decoder: "model.language_model.", head: "" },
    Prefixes { decoder: "language_model.model.", head: "language_model." },
];

/// The beginnings of the names of the other parts' tensors.
const OTHER_PARTS: &[&str] = &[
    "model.vision_tower.",
    "model.multi_modal_projector.",
    "vision_tower.",
    "multi_modal_projector.",
    "model.embed_vision.",
    "model.audio_tower.",
    "model.embed_audio.",
];

/// Gemma 3.
pub(super) fn read_gemma3_with_images(fields: &ConfigFields<'_>) -> Result<Config> {
    read(fields, &[Family { model_type: "gemma3_text", read: read_gemma3 }])
}

/// Gemma 4.
pub(super) fn read_gemma4_with_images(fields: &ConfigFields<'_>) -> Result<Config> {
    read(fields, &[Family { model_type: "gemma4_text", read: gemma4::read }])
}

/// Mistral Small 3.1 and later, Ministral 3.
pub(super) fn read_mistral3(fields: &ConfigFields<'_>) -> Result<Config> {
    // Of the projector.
    fields.ignore(&["multimodal_projector_bias"]);
    let families = [
        Family { model_type: "mistral", read: mistral::read },
        Family { model_type: "ministral3", read: ministral3::read },
    ];
    read(fields, &families)
}

/// Reads `text_config` as one of some families, the first where it does not say.
fn read(fields: &ConfigFields<'_>, families: &[Family]) -> Result<Config> {
    let Some(text) = fields.object("text_config")? else {
        let model_type = families.first().map_or("", |family| family.model_type);
        return Err(config_error("`text_config` is missing")
            .at_pointer("/text_config")
            .with_help(format!("a model of type {model_type} has its keys at the top")));
    };
    let inner = ConfigFields::new(text, "/text_config");
    let family = match inner.text("model_type")? {
        None => families.first(),
        Some(name) => families.iter().find(|family| family.model_type == name),
    };
    let Some(family) = family else {
        let stated = inner.get("model_type").map(shown).unwrap_or_default();
        let known: Vec<&str> = families.iter().map(|family| family.model_type).collect();
        return Err(config_error(&format!("a text part of type {stated} is not supported"))
            .at_pointer("/text_config/model_type")
            .with_help(format!("text parts of these types are: {}", known.join(", "))));
    };
    let mut config = (family.read)(&inner)?;
    keys::refuse_unread(&inner, false)?;
    config.decoder.prefixes = PREFIXES;
    config.decoder.other_parts = OTHER_PARTS;
    // The end tokens of the whole come first.
    let end = fields.token_ids("eos_token_id")?;
    if !end.is_empty() {
        config.eos_token_ids = end;
    }
    config.bos_token_id =
        fields.token_ids("bos_token_id")?.first().copied().or(config.bos_token_id);
    // As in the library, the default is a tie, unless the file holds another head.
    let tied = fields.flag("tie_word_embeddings")?;
    config.tie_word_embeddings = tied.unwrap_or(true);
    config.decoder.is_tie_assumed = tied.is_none();
    Ok(config)
}
