//! The fields of generation that all endpoints which write texts read alike: settings, length, stops, `n`, `stream`.

use serde_json::Value;

use super::fields::Fields;
use super::generation;
use crate::engine::{Prompt, Request};
use crate::model::GenerationConfig;
use crate::sampling::SamplingParams;
use crate::server::admission::GenerationBounds;
use crate::server::api_error::ApiError;

/// Greatest number of tokens to write, with the field that says so.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TokenBudget {
    /// Tokens; `None` for as many as fit into the model's context.
    pub(crate) tokens: Option<usize>,
    /// The field that was sent with a number.
    pub(crate) field: Option<&'static str>,
    /// Whether a field was sent that asks for as many as fit.
    pub(crate) asks_for_all: bool,
}

/// The server's settings of generation: values for what a request does not say, and bounds on what it
/// says.
#[derive(Clone, Debug, Default)]
pub(crate) struct GenerationSettings {
    pub(crate) sampling: SamplingParams,
    pub(crate) max_tokens: Option<usize>,
    pub(crate) bounds: GenerationBounds,
}

impl GenerationSettings {
    /// The settings that the model's makers recommend, and these bounds.
    pub(crate) fn new(config: &GenerationConfig, bounds: GenerationBounds) -> Self {
        Self { sampling: config.sampling(), max_tokens: config.max_new_tokens, bounds }
    }
}

/// The field `stream_options`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamOptions {
    /// Whether a chunk with the usage comes last.
    pub(crate) include_usage: bool,
    /// Whether all chunks have the usage so far, as vLLM has it.
    pub(crate) continuous_usage: bool,
    /// Whether chunks tell of the JSON document that their text is part of.
    pub(crate) include_document: bool,
}

/// The field that asks for log-probabilities.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogprobsField {
    /// `logprobs` is a flag, and `top_logprobs` a number.
    Chat,
    /// `logprobs` is a number, which beside `echo` counts for the prompt, too.
    Completion {
        /// Whether answers begin with the prompt.
        echo: bool,
    },
}

/// The settings of generation, which all endpoints that write texts read alike.
pub(crate) struct GenerationFields {
    pub(crate) sampling: SamplingParams,
    /// All other settings of generation; the prompt, the constraint and the other fields of this
    /// struct are not in it yet.
    pub(crate) settings: Request,
    pub(crate) budget: TokenBudget,
    pub(crate) stop: Vec<String>,
    pub(crate) stop_regex: Vec<String>,
    /// Number of answers.
    pub(crate) choices: usize,
    pub(crate) stream: bool,
    pub(crate) stream_options: StreamOptions,
    /// Number of alternatives to each token of the prompt, for the field `prompt_logprobs` of the answer.
    pub(crate) prompt_logprobs: Option<usize>,
}

impl GenerationFields {
    pub(crate) fn read(
        fields: &mut Fields,
        logprobs: LogprobsField,
        server: &GenerationSettings,
    ) -> Result<Self, ApiError> {
        let &GenerationBounds { max_choices, max_stops, .. } = &server.bounds;
        let top = match logprobs {
            LogprobsField::Chat => None,
            LogprobsField::Completion { .. } => generation::completion_logprobs(fields)?,
        };
        let sampling = generation::sampling_params(fields, &server.sampling)?;
        let mut settings = generation::settings(fields, max_choices)?;
        let best_of = generation::text_count(fields, "best_of", max_choices)?;
        settings.best_of = best_of.unwrap_or(settings.best_of);
        if let Some(top) = top {
            (settings.logprobs, settings.top_logprobs) = (true, top);
        }
        let echo = logprobs == (LogprobsField::Completion { echo: true });
        let prompt_logprobs = generation::prompt_logprobs(fields)?;
        let least = u64::from(!echo && prompt_logprobs.is_none());
        let budget = token_budget(fields, server.max_tokens, least)?;
        // Without a token to write the prompt alone is read.
        let reads_prompt = echo && (settings.logprobs || budget.tokens == Some(0));
        if reads_prompt && (settings.beam.is_some() || settings.token_healing) {
            let message =
                "goes with neither beams nor `token_healing` where it asks for `logprobs`";
            return Err(ApiError::field("echo", message));
        }
        settings.prompt_logprobs =
            prompt_logprobs.max(reads_prompt.then_some(settings.top_logprobs));
        let stop = stops(fields, "stop", max_stops)?;
        let stop_regex = stops(fields, "stop_regex", max_stops)?;
        let choices = generation::text_count(fields, "n", max_choices)?;
        let stream = fields.flag("stream")?.unwrap_or(false);
        let stream_options = stream_options(fields, stream)?;
        if stream_options.continuous_usage && settings.rejection {
            let message = "does not go with `rejection`, which tells of no steps; leave one out";
            return Err(ApiError::field("stream_options.continuous_usage_stats", message));
        }
        if stream && prompt_logprobs.is_some() {
            let message =
                "is only for an answer that is not streamed, as in vLLM; send `stream` false";
            return Err(ApiError::field("prompt_logprobs", message));
        }
        if stream && echo && settings.logprobs {
            let message = "beside `logprobs` is only for an answer that is not streamed; send `stream` \
                           false";
            return Err(ApiError::field("echo", message));
        }
        let choices = choices.unwrap_or(1);
        let beams = settings.beam.as_ref().map(|beam| ("num_beams", beam.width));
        let ranked = beams.or(best_of.map(|best_of| ("best_of", best_of)));
        if let Some((from, several)) = ranked.filter(|&(_, several)| choices > several) {
            let says = format!("is more than `{from}` {several}, of which the best are answered");
            return Err(ApiError::field("n", says));
        }
        Ok(Self {
            sampling,
            settings,
            budget,
            stop,
            stop_regex,
            choices,
            stream,
            stream_options,
            prompt_logprobs,
        })
    }

    /// A request for one text with these settings, for a model of this context length, of which the KV cache may hold less.
    pub(crate) fn request(&self, prompt: Prompt, context_length: usize) -> Request {
        Request {
            prompt,
            sampling: self.sampling.clone(),
            max_tokens: self.budget.tokens.unwrap_or(context_length),
            stop: self.stop.clone(),
            stop_regex: self.stop_regex.clone(),
            // Tokens are counted by their steps.
            logprobs: self.settings.logprobs || self.stream_options.continuous_usage,
            ..self.settings.clone()
        }
    }
}

/// The tokens of an answer, from `least` up; `default` where the request says nothing of them.
fn token_budget(
    fields: &mut Fields,
    default: Option<usize>,
    least: u64,
) -> Result<TokenBudget, ApiError> {
    // `Some(None)`: explicitly without limit.
    let mut read = |field| {
        let wanted = format!("an integer from {least} up, or -1 for as many as fit");
        fields.read(field, &wanted, |value| match value.as_i64() {
            Some(-1) => Some(None),
            _ => {
                let integer = value.as_u64().filter(|&integer| integer >= least)?;
                Some(Some(usize::try_from(integer).ok()?))
            }
        })
    };
    let (old, new) = (read("max_tokens")?, read("max_completion_tokens")?);
    // llama.cpp's name.
    if let Some(tokens) = read("n_predict")? {
        if old.or(new).is_some_and(|other| other != tokens) {
            let message = "differs from `max_tokens`, which says the same; write one of them";
            return Err(ApiError::field("n_predict", message));
        }
        let field = tokens.map(|_| "n_predict");
        return Ok(TokenBudget { tokens, field, asks_for_all: tokens.is_none() });
    }
    match (old, new) {
        (Some(old), Some(new)) if old != new => Err(ApiError::field(
            "max_tokens",
            "differs from `max_completion_tokens`, which says the same; write one of them",
        )),
        (None, None) => Ok(TokenBudget { tokens: default, field: None, asks_for_all: false }),
        _ => {
            let tokens = new.or(old).flatten();
            let field = if new.is_some() { "max_completion_tokens" } else { "max_tokens" };
            let asks_for_all = tokens.is_none();
            Ok(TokenBudget { tokens, field: tokens.map(|_| field), asks_for_all })
        }
    }
}

/// Greatest length of `stop`, and of `stop_regex`: an automaton is made of all of them.
const MAX_STOP_BYTES: usize = 4096;

/// `stop` or `stop_regex`, at most so many.
fn stops(fields: &mut Fields, field: &str, most: usize) -> Result<Vec<String>, ApiError> {
    let wanted = format!(
        "a string or a list of at most {most} strings, none of them empty, of at most \
         {MAX_STOP_BYTES} bytes together"
    );
    let read = |value: &Value| {
        let strings: Vec<String> = match value {
            Value::String(string) => vec![string.clone()],
            Value::Array(list) => {
                list.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<_>>()?
            }
            _ => return None,
        };
        let bytes: usize = strings.iter().map(String::len).sum();
        let fine = strings.len() <= most
            && bytes <= MAX_STOP_BYTES
            && strings.iter().all(|string| !string.is_empty());
        fine.then_some(strings)
    };
    Ok(fields.read(field, &wanted, read)?.unwrap_or_default())
}

fn stream_options(fields: &mut Fields, stream: bool) -> Result<StreamOptions, ApiError> {
    let Some(options) = fields.value("stream_options") else { return Ok(StreamOptions::default()) };
    if !stream {
        return Err(ApiError::field("stream_options", "is only for `stream`: true"));
    }
    let mut options = Fields::new("stream_options", options)?;
    let include_usage = options.flag("include_usage")?.unwrap_or(false);
    let read = StreamOptions {
        include_usage,
        continuous_usage: options.flag("continuous_usage_stats")?.unwrap_or(false) && include_usage,
        include_document: options.flag("include_document")?.unwrap_or(false),
    };
    // Padding against observers of the network; the text is the same with and without.
    options.ignore("include_obfuscation");
    options.finish()?;
    Ok(read)
}
