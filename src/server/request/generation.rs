//! Fields of sampling and generation, under the names of OpenAI, vLLM, llama.cpp and Hugging Face.

use serde_json::Value;

use crate::engine::{BeamSearch, EarlyStopping, Request, Speculation};
use crate::sampling::{ChainStep, PenaltyScope, SamplingParams};

use super::fields::Fields;
use crate::server::api_error::ApiError;

/// Greatest number of alternatives reported with each token; OpenAI's limit.
const MAX_TOP_LOGPROBS: u64 = 20;

/// Greatest number of `dry_sequence_breakers`: each is looked for in each token of the vocabulary.
const MAX_BREAKERS: usize = 128;

/// The only tokens that may be drawn; empty for all where the field is not sent.
fn allowed_token_ids(fields: &mut Fields) -> Result<Vec<u32>, ApiError> {
    let place = fields.name("allowed_token_ids");
    match fields.token_id_set("allowed_token_ids")? {
        Some(ids) if ids.is_empty() => {
            Err(ApiError::field(place, "allows no token; leave it out to allow all"))
        }
        ids => Ok(ids.unwrap_or_default()),
    }
}

/// Parameters of the sampling chain; `off` has those that the request does not say.
pub(super) fn sampling_params(
    fields: &mut Fields,
    off: &SamplingParams,
) -> Result<SamplingParams, ApiError> {
    let mut off = off.clone();
    let samplers = fields.read(
        "samplers",
        &format!("a list of steps of the chain: {}", steps()),
        |value| {
            let names = value.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<_>>>();
            ChainStep::list(names?).ok()
        },
    )?;
    // The request did not ask for steps that the model's makers recommend, and need not take them back.
    let rejects = fields.is_true("rejection");
    for step in ChainStep::DEFAULT_ORDER {
        let is_left_out = samplers.as_ref().is_some_and(|samplers| !samplers.contains(&step));
        if is_left_out || (rejects && step.is_truncation()) {
            off.switch_off(step);
        }
    }
    let any = 0.0..=f64::from(f32::MAX);
    let breakers = format!("a list of at most {MAX_BREAKERS} strings");
    let repetition = repetition_penalty(fields)?;
    let has_top_k = fields.has("top_k");
    let top_k = window(fields, "top_k")?;
    let params = SamplingParams {
        allowed_token_ids: allowed_token_ids(fields)?,
        // No request wants the tokens that the model must not write.
        banned_token_ids: [
            off.banned_token_ids,
            fields.token_id_set("banned_token_ids")?.unwrap_or_default(),
        ]
        .concat(),
        logit_bias: fields
            .read("logit_bias", "an object from token ids to numbers from -100 to 100", biases)?
            .unwrap_or_default(),
        repetition_penalty: repetition.unwrap_or(off.repetition_penalty),
        frequency_penalty: fields
            .number("frequency_penalty", -2.0..=2.0)?
            .unwrap_or(off.frequency_penalty),
        presence_penalty: fields
            .number("presence_penalty", -2.0..=2.0)?
            .unwrap_or(off.presence_penalty),
        repeat_last_n: window(fields, "repeat_last_n")?,
        penalty_scope: fields
            .read("penalty_scope", "\"published\", \"prompt\", \"output\" or \"all\"", |value| {
                match value.as_str()? {
                    "published" => Some(PenaltyScope::Published),
                    "prompt" => Some(PenaltyScope::Prompt),
                    "output" => Some(PenaltyScope::Output),
                    "all" => Some(PenaltyScope::All),
                    _ => None,
                }
            })?
            .unwrap_or_default(),
        penalize_forced: fields.flag("penalize_forced")?.unwrap_or(off.penalize_forced),
        dry_multiplier: fields.number("dry_multiplier", any.clone())?.unwrap_or(off.dry_multiplier),
        dry_base: fields.number("dry_base", 1.0..=f64::from(f32::MAX))?.unwrap_or(off.dry_base),
        dry_allowed_length: fields
            .integer("dry_allowed_length", 1)?
            .unwrap_or(off.dry_allowed_length),
        dry_penalty_last_n: window(fields, "dry_penalty_last_n")?,
        dry_sequence_breakers: fields
            .read("dry_sequence_breakers", &breakers, |value| {
                let list = value.as_array()?;
                let read = |item: &Value| item.as_str().map(str::to_owned);
                let strings = list.iter().map(read).collect::<Option<Vec<String>>>()?;
                (strings.len() <= MAX_BREAKERS).then_some(strings)
            })?
            .unwrap_or(off.dry_sequence_breakers),
        top_n_sigma: top_n_sigma(fields)?.unwrap_or(off.top_n_sigma),
        // OpenAI's own models end at 2; local servers do not, and min-p is made for more.
        temperature: fields.number("temperature", any.clone())?.unwrap_or(off.temperature),
        top_k: if has_top_k { top_k } else { off.top_k },
        top_p: fields.number("top_p", 0.0..=1.0)?.unwrap_or(off.top_p),
        min_p: fields.number("min_p", 0.0..=1.0)?.unwrap_or(off.min_p),
        typical_p: fields.number("typical_p", 0.0..=1.0)?.unwrap_or(off.typical_p),
        xtc_probability: fields
            .number("xtc_probability", 0.0..=1.0)?
            .unwrap_or(off.xtc_probability),
        xtc_threshold: fields.number("xtc_threshold", 0.0..=1.0)?.unwrap_or(off.xtc_threshold),
        mirostat: fields
            .read("mirostat", "0 or 2", |value| match value.as_u64()? {
                version @ (0 | 2) => Some(version as u8),
                _ => None,
            })?
            .unwrap_or(off.mirostat),
        mirostat_tau: fields.number("mirostat_tau", any.clone())?.unwrap_or(off.mirostat_tau),
        mirostat_eta: fields.number("mirostat_eta", any)?.unwrap_or(off.mirostat_eta),
        samplers: samplers.unwrap_or(off.samplers),
        seed: seed(fields)?,
    };
    params.validate().map_err(|error| ApiError::from_engine(&error))?;
    Ok(params)
}

/// `seed`, which Mistral calls `random_seed`; none where it is -1, as vLLM and llama.cpp have it.
fn seed(fields: &mut Fields) -> Result<Option<u64>, ApiError> {
    let mut read = |field| {
        // OpenAI's seeds are signed; all 64 bits count.
        fields.read(field, "an integer of 64 bits", |value| match value.as_i64() {
            Some(-1) => Some(None),
            Some(seed) => Some(Some(seed as u64)),
            None => value.as_u64().map(Some),
        })
    };
    let (ours, theirs) = (read("seed")?, read("random_seed")?);
    if ours.is_some() && theirs.is_some() {
        let says = "says the same as `seed`; write one of them";
        return Err(ApiError::field("random_seed", says));
    }
    Ok(ours.or(theirs).flatten())
}

/// `repetition_penalty`, which llama.cpp calls `repeat_penalty`.
fn repetition_penalty(fields: &mut Fields) -> Result<Option<f32>, ApiError> {
    let mut read = |field| {
        let above_zero = |value: &Value| value.as_f64().filter(|number| *number > 0.0);
        fields.read(field, "a number above 0", above_zero)
    };
    let (ours, theirs) = (read("repetition_penalty")?, read("repeat_penalty")?);
    if ours.is_some() && theirs.is_some() {
        let says = "says the same as `repetition_penalty`; write one of them";
        return Err(ApiError::field("repeat_penalty", says));
    }
    Ok(ours.or(theirs).map(|number| number as f32))
}

/// `top_n_sigma`; off where it is not above 0, as in llama.cpp, whose clients send -1.
fn top_n_sigma(fields: &mut Fields) -> Result<Option<f32>, ApiError> {
    let read = |value: &Value| value.as_f64().filter(|&number| number >= 0.0 || number == -1.0);
    let number = fields.read("top_n_sigma", "a number from 0 up, or -1 for off", read)?;
    Ok(number.filter(|&number| number > 0.0).map(|number| number as f32))
}

fn steps() -> String {
    ChainStep::DEFAULT_ORDER.map(ChainStep::name).join(", ")
}

/// `logprobs` of a completion: a number of alternatives, or a flag as clients of chats write it.
pub(super) fn completion_logprobs(fields: &mut Fields) -> Result<Option<usize>, ApiError> {
    let wanted = format!("an integer from 0 to {MAX_TOP_LOGPROBS}");
    let top = fields.read("logprobs", &wanted, |value| match value {
        Value::Bool(false) => Some(None),
        Value::Bool(true) => Some(Some(0)),
        value => {
            let n = value.as_u64().filter(|n| *n <= MAX_TOP_LOGPROBS)?;
            Some(Some(usize::try_from(n).ok()?))
        }
    })?;
    Ok(top.flatten())
}

/// `prompt_logprobs`: a number of alternatives to each token of the prompt; false is none.
pub(super) fn prompt_logprobs(fields: &mut Fields) -> Result<Option<usize>, ApiError> {
    let wanted = format!("an integer from 0 to {MAX_TOP_LOGPROBS}");
    let top = fields.read("prompt_logprobs", &wanted, |value| match value {
        Value::Bool(false) => Some(None),
        value => {
            let n = value.as_u64().filter(|n| *n <= MAX_TOP_LOGPROBS)?;
            Some(Some(usize::try_from(n).ok()?))
        }
    })?;
    Ok(top.flatten())
}

/// A field that is a number of texts, at most so many.
pub(super) fn text_count(
    fields: &mut Fields,
    field: &str,
    most: usize,
) -> Result<Option<usize>, ApiError> {
    fields.read(field, &format!("an integer from 1 to {most}"), |value| {
        let n = usize::try_from(value.as_u64()?).ok()?;
        (1..=most).contains(&n).then_some(n)
    })
}

/// All other settings of generation, as a request that has only them. `most` bounds the beams.
pub(super) fn settings(fields: &mut Fields, most: usize) -> Result<Request, ApiError> {
    let off = Request::text("");
    let width = text_count(fields, "num_beams", most)?.filter(|&width| width > 1);
    let length_penalty = fields.read("length_penalty", "a number", |value| value.as_f64())?;
    let wanted = "true, false or \"never\"";
    let early_stopping = fields.read("early_stopping", wanted, |value| match value {
        Value::Bool(true) => Some(EarlyStopping::Yes),
        Value::Bool(false) => Some(EarlyStopping::No),
        value => (value == "never").then_some(EarlyStopping::Never),
    })?;
    let beam = width.map(|width| BeamSearch {
        length_penalty: length_penalty.map_or(1.0, |number| number as f32),
        early_stopping: early_stopping.unwrap_or_default(),
        ..BeamSearch::new(width)
    });
    let trace = fields.flag("trace")?.unwrap_or(false);
    let logprobs = fields.flag("logprobs")?.unwrap_or(false) || trace;
    let wanted = format!("an integer from 0 to {MAX_TOP_LOGPROBS}");
    let top_logprobs = fields.read("top_logprobs", &wanted, |value| {
        let n = value.as_u64().filter(|n| *n <= MAX_TOP_LOGPROBS)?;
        usize::try_from(n).ok()
    })?;
    if top_logprobs.is_some_and(|n| n > 0) && !logprobs {
        return Err(ApiError::field(
            "top_logprobs",
            "is only for `logprobs`: true or `trace`: true",
        ));
    }
    let rejection = fields.flag("rejection")?.unwrap_or(off.rejection);
    let wanted = "\"off\", \"forced\", \"grammar\", \"ngram\" or \"draft\"";
    let speculate = fields.read("speculate", wanted, |value| match value.as_str()? {
        "off" => Some(Speculation::Off),
        "forced" => Some(Speculation::Forced),
        "grammar" => Some(Speculation::Grammar),
        "ngram" => Some(Speculation::Ngram),
        "draft" => Some(Speculation::Draft),
        _ => None,
    })?;
    Ok(Request {
        min_tokens: fields.integer("min_tokens", 0)?.unwrap_or(off.min_tokens),
        ignore_eos: fields.flag("ignore_eos")?.unwrap_or(off.ignore_eos),
        include_stop_str_in_output: fields
            .flag("include_stop_str_in_output")?
            .unwrap_or(off.include_stop_str_in_output),
        stop_token_ids: fields.token_id_set("stop_token_ids")?.unwrap_or_default(),
        beam,
        budget: fields.flag("budget")?.unwrap_or(off.budget),
        token_healing: fields.flag("token_healing")?.unwrap_or(off.token_healing),
        canonical: fields.flag("canonical")?.unwrap_or(off.canonical),
        rejection,
        // Draws without masks report the estimate of their weight, too.
        faithfulness: fields.flag("faithfulness")?.unwrap_or(rejection),
        speculate: speculate.unwrap_or_default(),
        trace,
        logprobs,
        top_logprobs: top_logprobs.unwrap_or(0),
        ..off
    })
}

/// A number of tokens; -1 is all of them, as in llama.cpp and vLLM.
fn window(fields: &mut Fields, field: &str) -> Result<Option<usize>, ApiError> {
    let read = |value: &Value| match value.as_i64() {
        Some(-1) => Some(None),
        _ => Some(Some(usize::try_from(value.as_u64()?).ok()?)),
    };
    Ok(fields.read(field, "an integer from 0 up, or -1 for all", read)?.flatten())
}

/// `{"15": -2.5}`, as OpenAI has it.
fn biases(value: &Value) -> Option<std::collections::BTreeMap<u32, f32>> {
    let bias = |(token, bias): (&String, &Value)| {
        let bias = bias.as_f64().filter(|bias| (-100.0..=100.0).contains(bias))?;
        Some((token.parse().ok()?, bias as f32))
    };
    value.as_object()?.iter().map(bias).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: Value, off: &SamplingParams) -> SamplingParams {
        sampling_params(&mut Fields::new("", body).unwrap(), off).unwrap()
    }

    #[test]
    fn recommended_settings_yield_to_what_a_request_says() {
        let recommended = SamplingParams {
            temperature: 0.7,
            top_k: Some(20),
            top_p: 0.8,
            repetition_penalty: 1.05,
            ..SamplingParams::default()
        };
        let params = read(json!({ "samplers": ["top_p", "temperature"] }), &recommended);
        assert_eq!((params.temperature, params.top_p), (0.7, 0.8));
        assert_eq!((params.top_k, params.repetition_penalty), (None, 1.0));
        let params = read(json!({ "rejection": true }), &recommended);
        assert_eq!((params.first_truncation(), params.repetition_penalty), (None, 1.05));
        // What a request sends itself is not taken back, and greedy choice stays.
        let mut fields = Fields::new("", json!({ "samplers": [], "top_k": 3 })).unwrap();
        let error = sampling_params(&mut fields, &recommended).unwrap_err();
        assert!(error.object().to_string().contains("`top_k` is set"), "{}", error.object());
        let greedy = read(json!({ "samplers": ["top_p"] }), &SamplingParams::greedy());
        assert_eq!(greedy.temperature, 0.0);
    }

    #[test]
    fn a_seed_of_minus_one_is_none() {
        let seed = |seed: Value| read(json!({ "seed": seed }), &SamplingParams::default()).seed;
        assert_eq!(seed(json!(-1)), None);
        assert_eq!((seed(json!(-2)), seed(json!(7))), (Some(u64::MAX - 1), Some(7)));
    }
}
