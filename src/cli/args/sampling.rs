//! The options of the sampling chain, under the names that they have elsewhere.

use maskwright::error::{Error, ErrorKind, Result};
use maskwright::model::GenerationConfig;
use maskwright::sampling::{ChainStep, PenaltyScope, SamplingParams};

/// Parameters of the sampling chain, which draws from the allowed tokens.
///
/// More than 12 fields: one an option of the command.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct SamplingArgs {
    /// 0 takes the most probable token, higher values draw more evenly [default: the model's of
    /// --generation-config; 0, or 1 where another option asks for a draw]
    #[arg(long, allow_negative_numbers = true, value_name = "T")]
    temperature: Option<f32>,
    /// Draws from the K most probable tokens only; 0 or -1 from all
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = number_or_all)]
    top_k: Option<usize>,
    /// Draws from the smallest set of tokens whose probabilities reach P
    #[arg(long, allow_negative_numbers = true, value_name = "P")]
    top_p: Option<f32>,
    /// Draws from tokens at least P times as probable as the most probable one
    #[arg(long, allow_negative_numbers = true, value_name = "P")]
    min_p: Option<f32>,
    /// Draws from the smallest set of tokens of usual surprise whose probabilities reach P
    #[arg(long, alias = "typical", allow_negative_numbers = true, value_name = "P")]
    typical_p: Option<f32>,
    /// Draws from tokens whose logit is at most N standard deviations below the greatest
    #[arg(long, allow_negative_numbers = true, value_name = "N")]
    top_n_sigma: Option<f32>,
    /// Probability with which all top choices but the last are removed
    #[arg(long, allow_negative_numbers = true, value_name = "P")]
    xtc_probability: Option<f32>,
    /// From which probability on a token is a top choice
    #[arg(long, allow_negative_numbers = true, value_name = "P", default_value = "0.1")]
    #[arg(requires = "xtc_probability")]
    xtc_threshold: f32,
    /// 2 steers to a surprise, in mirostat's second version
    #[arg(long, value_name = "0|2")]
    mirostat: Option<u8>,
    /// The surprise that mirostat steers to, in bits
    #[arg(long, alias = "mirostat-ent", allow_negative_numbers = true, value_name = "BITS")]
    #[arg(default_value = "5", requires = "mirostat")]
    mirostat_tau: f32,
    /// Rate at which mirostat steers
    #[arg(long, alias = "mirostat-lr", allow_negative_numbers = true, value_name = "RATE")]
    #[arg(default_value = "0.1", requires = "mirostat")]
    mirostat_eta: f32,
    /// Makes tokens of prompt and text less probable where above 1
    #[arg(long, alias = "repeat-penalty", allow_negative_numbers = true, value_name = "R")]
    repetition_penalty: Option<f32>,
    /// Taken off a token's logit for each time it was written
    #[arg(long, allow_negative_numbers = true, value_name = "F", default_value = "0")]
    frequency_penalty: f32,
    /// Taken off a token's logit once it was written
    #[arg(long, allow_negative_numbers = true, value_name = "F", default_value = "0")]
    presence_penalty: f32,
    /// The penalties look at the last N tokens only; -1: at all
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number_or_all)]
    repeat_last_n: Option<usize>,
    /// Tokens that the penalties count [default: as each was published]
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        default_value = "published",
        hide_default_value = true
    )]
    penalty_scope: PenaltyScopeName,
    /// Penalises text that the constraint forced, too
    #[arg(long)]
    penalize_forced: bool,
    /// Taken off the logit of a token that would go on repeating a sequence
    #[arg(long, allow_negative_numbers = true, value_name = "M", default_value = "0")]
    dry_multiplier: f32,
    /// By what each further repeated token multiplies that
    #[arg(long, allow_negative_numbers = true, value_name = "B", default_value = "1.75")]
    #[arg(requires = "dry_multiplier")]
    dry_base: f32,
    /// The longest repetition that passes, in tokens
    #[arg(long, value_name = "N", default_value = "2", requires = "dry_multiplier")]
    dry_allowed_length: usize,
    /// Repetitions are looked for in the last N tokens only; -1: in all
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number_or_all)]
    #[arg(requires = "dry_multiplier")]
    dry_penalty_last_n: Option<usize>,
    /// A text that ends a repetition (repeat the option) [default: line end, `:`, `"`, `*`]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, requires = "dry_multiplier")]
    dry_sequence_breaker: Vec<String>,
    /// Added to the logit of one token, by its id, as in 15=-2.5 (repeat the option)
    #[arg(long, value_name = "ID=BIAS", value_parser = bias)]
    logit_bias: Vec<(u32, f32)>,
    /// Only these tokens are drawn, as far as the constraint allows one
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    allowed_token_ids: Vec<u32>,
    /// These tokens are not drawn, as far as the constraint allows another
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    banned_token_ids: Vec<u32>,
    /// The steps in the order in which they run [default:
    /// logit_bias;repetition_penalty;frequency_penalty;presence_penalty;dry;top_n_sigma;temperature;top_k;top_p;min_p;typical_p;xtc;mirostat]
    #[arg(long, value_name = "STEP;…", value_delimiter = ';')]
    samplers: Vec<String>,
    /// Makes the draws repeatable
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum PenaltyScopeName {
    /// Repetition in prompt and text, frequency and presence in the text
    Published,
    /// The prompt
    Prompt,
    /// The text
    Output,
    /// Prompt and text
    All,
}

fn bias(text: &str) -> Result<(u32, f32)> {
    let pair =
        text.split_once('=').and_then(|(id, bias)| Some((id.parse().ok()?, bias.parse().ok()?)));
    pair.ok_or_else(|| {
        Error::new(ErrorKind::Request, "is no bias").with_help("write ID=NUMBER, such as 15=-2.5")
    })
}

/// The value of `-1`: no limit.
const UNLIMITED: usize = usize::MAX;

/// A number of tokens; -1 is all of them, as in llama.cpp and vLLM.
fn number_or_all(text: &str) -> std::result::Result<usize, &'static str> {
    match text {
        "-1" => Ok(UNLIMITED),
        text => text.parse().map_err(|_| "write a whole number from 0 up, or -1 for all"),
    }
}

fn limit(given: Option<usize>) -> Option<usize> {
    given.filter(|&number| number != UNLIMITED)
}

/// All 64 bits count, signed or not, as over HTTP.
fn seed(text: &str) -> std::result::Result<u64, &'static str> {
    let signed = || text.parse::<i64>().map(|seed| seed as u64);
    text.parse().or_else(|_| signed()).map_err(|_| "write an integer of 64 bits")
}

impl SamplingArgs {
    /// The temperature, where one was given.
    pub(crate) fn temperature(&self) -> Option<f32> {
        self.temperature
    }

    /// The settings, each within its range; those that are not given are the model's.
    pub(crate) fn params(&self, model: &GenerationConfig) -> Result<SamplingParams> {
        let off = model.sampling();
        let draws = self.top_k.is_some()
            || [self.top_p, self.min_p, self.typical_p, self.top_n_sigma, self.xtc_probability]
                .iter()
                .any(Option::is_some)
            || self.mirostat.is_some_and(|version| version != 0)
            || self.seed.is_some();
        let says = model.temperature.is_some() || model.do_sample.is_some() || model.draws();
        let temperature = match (says, draws) {
            (true, _) => off.temperature,
            (false, true) => 1.0,
            (false, false) => 0.0,
        };
        let params = SamplingParams {
            allowed_token_ids: self.allowed_token_ids.clone(),
            banned_token_ids: [off.banned_token_ids.clone(), self.banned_token_ids.clone()]
                .concat(),
            logit_bias: self.logit_bias.iter().copied().collect(),
            repetition_penalty: self.repetition_penalty.unwrap_or(off.repetition_penalty),
            frequency_penalty: self.frequency_penalty,
            presence_penalty: self.presence_penalty,
            repeat_last_n: limit(self.repeat_last_n),
            penalty_scope: match self.penalty_scope {
                PenaltyScopeName::Published => PenaltyScope::Published,
                PenaltyScopeName::Prompt => PenaltyScope::Prompt,
                PenaltyScopeName::Output => PenaltyScope::Output,
                PenaltyScopeName::All => PenaltyScope::All,
            },
            penalize_forced: self.penalize_forced,
            dry_multiplier: self.dry_multiplier,
            dry_base: self.dry_base,
            dry_allowed_length: self.dry_allowed_length,
            dry_penalty_last_n: limit(self.dry_penalty_last_n),
            dry_sequence_breakers: match self.dry_sequence_breaker.as_slice() {
                [] => off.dry_sequence_breakers,
                given => given.to_vec(),
            },
            top_n_sigma: self.top_n_sigma.unwrap_or(off.top_n_sigma),
            temperature: self.temperature.unwrap_or(temperature),
            top_k: limit(self.top_k.or(off.top_k)),
            top_p: self.top_p.unwrap_or(off.top_p),
            min_p: self.min_p.unwrap_or(off.min_p),
            typical_p: self.typical_p.unwrap_or(off.typical_p),
            xtc_probability: self.xtc_probability.unwrap_or(off.xtc_probability),
            xtc_threshold: self.xtc_threshold,
            mirostat: self.mirostat.unwrap_or(off.mirostat),
            mirostat_tau: self.mirostat_tau,
            mirostat_eta: self.mirostat_eta,
            samplers: match self.samplers.as_slice() {
                [] => off.samplers,
                given => ChainStep::list(given.iter().map(String::as_str))?,
            },
            seed: self.seed,
        };
        params.validate()?;
        Ok(params)
    }
}
