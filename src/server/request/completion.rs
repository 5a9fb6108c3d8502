//! The body of a completion: a text to go on from, without a conversation.

use serde_json::Value;

use super::answer_format::{self, AnswerFormat};
use super::fields::{Fields, wrong};
use super::generation_fields::{GenerationFields, GenerationSettings, LogprobsField};
use super::harmless::ignore_harmless;
use super::model_name::require_model;
use crate::engine::Prompt;
use crate::server::api_error::ApiError;
use crate::vocabulary::Vocabulary;

/// Tokens of an answer where the request does not say; OpenAI's default.
const DEFAULT_MAX_TOKENS: usize = 16;

/// Names of the special tokens that stand before the text in front of a gap, the text after it, and
/// what fills it, by families of models: Qwen, StarCoder, CodeLlama, DeepSeek.
const INFILL_TOKENS: [[&str; 3]; 4] = [
    ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"],
    ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"],
    ["▁<PRE>", "▁<SUF>", "▁<MID>"],
    ["<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"],
];

/// A request for completions, read and checked.
pub(crate) struct CompletionRequest {
    pub(crate) prompts: Vec<Prompt>,
    /// Whether answers begin with the prompt.
    pub(crate) echo: bool,
    pub(crate) format: AnswerFormat,
    pub(crate) generation: GenerationFields,
}

impl CompletionRequest {
    /// Reads a body for the model that is served under these names.
    pub(crate) fn read(
        mut fields: Fields,
        models: &[String],
        vocabulary: &Vocabulary,
        server: &GenerationSettings,
    ) -> Result<Self, ApiError> {
        require_model(&mut fields, models)?;
        let suffix = fields.string("suffix")?.filter(|suffix| !suffix.is_empty());
        let echo = fields.flag("echo")?.unwrap_or(false);
        let mut prompts = prompts(&mut fields, server.bounds.max_prompts)?;
        if let Some(suffix) = &suffix {
            prompts = with_suffix(&prompts, suffix, vocabulary)?;
        }
        let format = answer_format::read(&mut fields)?;
        fields.only("trace", |value| value == false, "chat completions have it")?;
        let mut generation =
            GenerationFields::read(&mut fields, LogprobsField::Completion { echo }, server)?;
        if generation.budget.tokens.is_none() && !generation.budget.asks_for_all {
            generation.budget.tokens = Some(DEFAULT_MAX_TOKENS);
        }
        if generation.stream_options.include_document {
            let message = "is not supported; chat completions have it";
            return Err(ApiError::field("stream_options.include_document", message));
        }
        ignore_harmless(&mut fields)?;
        let as_text = "send the prompt as token ids, which get none";
        fields.only("add_special_tokens", |value| value == true, as_text)?;
        fields.finish()?;
        if echo && suffix.is_some() {
            return Err(ApiError::field("echo", "says nothing beside `suffix`; leave one out"));
        }
        let settings = &generation.settings;
        if prompts.len() > 1 && (settings.best_of > 1 || settings.beam.is_some()) {
            let message = "several go with neither `best_of` nor `num_beams`; send them one by one";
            return Err(ApiError::field("prompt", message));
        }
        Ok(Self { prompts, echo, format, generation })
    }
}

/// The prompts, at most so many: a text, a list of texts, a list of token ids, or a list of such lists.
fn prompts(fields: &mut Fields, most: usize) -> Result<Vec<Prompt>, ApiError> {
    let wanted = format!(
        "a string, a list of token ids, or a list of at most {most} such, none of them empty"
    );
    let prompts = fields.read("prompt", &wanted, |value| match value {
        Value::String(text) => Some(vec![Prompt::Text(text.clone())]),
        Value::Array(items) if items.first().is_some_and(Value::is_u64) => {
            Some(vec![Prompt::Tokens(tokens(items)?)])
        }
        Value::Array(items) => items
            .iter()
            .map(|item| match item {
                Value::String(text) => Some(Prompt::Text(text.clone())),
                Value::Array(items) => Some(Prompt::Tokens(tokens(items)?)),
                _ => None,
            })
            .collect(),
        _ => None,
    })?;
    match prompts {
        None => Err(ApiError::field("prompt", format!("is missing; write {wanted}"))),
        Some(prompts) if prompts.is_empty() || prompts.len() > most => {
            Err(wrong("prompt", &wanted, &format!("{} of them", prompts.len()).into()))
        }
        Some(prompts) => Ok(prompts),
    }
}

/// A list of token ids, none of them empty.
fn tokens(items: &[Value]) -> Option<Vec<u32>> {
    let ids: Option<Vec<u32>> =
        items.iter().map(|item| u32::try_from(item.as_u64()?).ok()).collect();
    ids.filter(|ids| !ids.is_empty())
}

/// Prompts with the text that follows the answer, in the format of the model's family.
///
/// Errors if the model has no tokens for it, or if a prompt is given in tokens.
fn with_suffix(
    prompts: &[Prompt],
    suffix: &str,
    vocabulary: &Vocabulary,
) -> Result<Vec<Prompt>, ApiError> {
    let has_all =
        |names: &&[&str; 3]| names.iter().all(|name| vocabulary.token_named(name).is_some());
    let Some([before, after, fill]) = INFILL_TOKENS.iter().find(has_all) else {
        let message = "is not supported: this model has no tokens for infill; leave it out";
        return Err(ApiError::field("suffix", message));
    };
    let fold = |prompt: &Prompt| match prompt {
        Prompt::Text(text) => Ok(Prompt::Text(format!("{before}{text}{after}{suffix}{fill}"))),
        Prompt::Chat(_) | Prompt::Tokens(_) => {
            Err(ApiError::field("suffix", "goes with a prompt that is text"))
        }
    };
    prompts.iter().map(fold).collect()
}
