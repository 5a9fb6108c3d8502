//! Options of generation: lengths, stop strings, beams, speculation.

use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use maskwright::engine::{BeamSearch, EarlyStopping, Engine, Request, Speculation};
use maskwright::error::{Error, ErrorKind, Result};
use maskwright::model::{GenerationConfig, Model, ModelSource, SpecialNames};

use super::model::ModelArgs;
use crate::cli::{output, progress};

/// Tokens that are written at most where nothing says.
const DEFAULT_MAX_TOKENS: usize = 256;

/// Options of generation.
///
/// More than 12 fields: one an option of the command.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("stops").args(["stop", "stop_regex"]).multiple(true))]
pub(crate) struct GenerationArgs {
    /// The most tokens that are written [default: the model's of --generation-config, or 256]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = at_least_one, allow_negative_numbers = true)]
    max_tokens: Option<NonZeroUsize>,
    /// The settings that count where no option says: `auto`, those of the model's
    /// generation_config.json; `none`; or those of a folder with such a file. End tokens are the
    /// model's in any case
    #[arg(long, value_name = "auto|none|DIR", default_value = "auto")]
    generation_config: GenerationConfigSource,
    /// As many tokens are written before the text may end, as far as the constraint goes on
    #[arg(long, value_name = "N", default_value = "0")]
    min_tokens: usize,
    /// Never ends the text by the model's end token, as far as the constraint goes on; by those of
    /// --stop-token-id still
    #[arg(long)]
    ignore_eos: bool,
    /// Ends the text before this string (repeat the option for more)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) stop: Vec<String>,
    /// Ends the text before the first match of this regular expression (repeat the option for more):
    /// the match that ends first, so `a+` ends with its first `a`
    #[arg(long, value_name = "RE", allow_hyphen_values = true)]
    stop_regex: Vec<String>,
    /// Ends the text after the stop string or match instead
    #[arg(long, alias = "include-stop-str-in-output", requires = "stops")]
    include_stop: bool,
    /// Ends the text before this token (repeat the option for more)
    #[arg(long, value_name = "ID")]
    stop_token_id: Vec<u32>,
    /// Writes N texts and takes the one that the model holds most probable per token
    #[arg(long, value_name = "N", default_value = "1", value_parser = at_least_one)]
    #[arg(allow_negative_numbers = true)]
    best_of: NonZeroUsize,
    /// Searches with N beams for the most probable text instead of drawing
    #[arg(long, alias = "num-beams", value_name = "N")]
    #[arg(value_parser = at_least_one, allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["best_of", "speculate"])]
    pub(crate) beam: Option<NonZeroUsize>,
    /// Divides a beam's log-probability by its length to this power
    #[arg(long, allow_negative_numbers = true, value_name = "P", default_value = "1")]
    #[arg(requires = "beam")]
    length_penalty: f32,
    /// The end of a search with beams
    #[arg(long, value_enum, value_name = "WHEN", default_value = "no", requires = "beam")]
    early_stopping: EarlyStoppingName,
    /// Keeps room for the rest of what the constraint asks for, so that --max-tokens cuts nothing off
    #[arg(long, value_enum, value_name = "on|off", default_value = "on")]
    budget: Switch,
    /// Writes the prompt's last tokens anew where they may be the beginning of longer ones
    #[arg(long)]
    token_healing: bool,
    /// Asks the constraint about drawn tokens instead of computing masks; same distribution
    #[arg(long, conflicts_with_all = ["best_of", "beam"])]
    pub(crate) rejection: bool,
    /// Writes only tokens that the tokenizer itself would write, as far as the constraint leaves one
    #[arg(long, conflicts_with = "beam")]
    canonical: bool,
    /// Takes names of special tokens in messages and tools for these tokens, not for text: who writes
    /// a message can then end its turn
    #[arg(long)]
    parse_special: bool,
    /// Source of guessed tokens, for fewer passes of the model
    #[arg(long, value_enum, value_name = "WHO", default_value = "off")]
    speculate: SpeculationName,
    /// The model that guesses: a model folder, or `layers:N` for the first N layers of the model
    #[arg(long, value_name = "DIR|layers:N")]
    draft_model: Option<String>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum EarlyStoppingName {
    /// As soon as there are as many texts as beams
    Yes,
    /// As soon as no unfinished text is better
    No,
    /// As soon as no unfinished text can become better
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SpeculationName {
    /// Nobody
    Off,
    /// The constraint, where it leaves no choice
    Forced,
    /// The constraint, where it leaves few choices
    Grammar,
    /// Prompt and text
    Ngram,
    /// The model of --draft-model
    Draft,
}

pub(crate) fn at_least_one(text: &str) -> std::result::Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "write a whole number from 1 up")
}

/// Where settings come from that no option says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GenerationConfigSource {
    Model,
    Nowhere,
    Folder(PathBuf),
}

impl FromStr for GenerationConfigSource {
    type Err = Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Infallible> {
        Ok(match text {
            "auto" => Self::Model,
            "none" => Self::Nowhere,
            folder => Self::Folder(folder.into()),
        })
    }
}

impl GenerationConfigSource {
    /// The settings for a model; a warning names those that cannot be honoured.
    pub(crate) fn read(&self, model: &Model) -> Result<GenerationConfig> {
        let config = match self {
            Self::Model => model.generation_config()?.clone(),
            Self::Nowhere => GenerationConfig::default(),
            Self::Folder(folder) if !folder.is_dir() => {
                let message = "there is no such folder for --generation-config";
                return Err(Error::new(ErrorKind::Request, message)
                    .in_file(folder)
                    .with_help("give `auto`, `none`, or a folder with generation_config.json"));
            }
            Self::Folder(folder) => {
                GenerationConfig::from_folder(folder)?.for_width(model.vocabulary().len())
            }
        };
        if !config.not_honoured().is_empty() {
            output::note(&format!(
                "warning: the model's generation_config.json has settings that are not supported, \
                 and texts are written without them: {} (--generation-config none leaves out all)",
                config.not_honoured().join(", ")
            ));
        }
        Ok(config)
    }
}

impl GenerationArgs {
    /// The settings for what no option says.
    pub(crate) fn defaults(&self, model: &Model) -> Result<GenerationConfig> {
        self.generation_config.read(model)
    }

    /// The most tokens that are written.
    pub(crate) fn max_tokens(&self, model: &GenerationConfig) -> usize {
        let given = self.max_tokens.map(NonZeroUsize::get);
        given.or(model.max_new_tokens).unwrap_or(DEFAULT_MAX_TOKENS)
    }

    /// Sets the fields of a request.
    pub(crate) fn apply(&self, request: Request, model: &GenerationConfig) -> Request {
        Request {
            max_tokens: self.max_tokens(model),
            min_tokens: self.min_tokens,
            ignore_eos: self.ignore_eos,
            stop: self.stop.clone(),
            stop_regex: self.stop_regex.clone(),
            include_stop_str_in_output: self.include_stop,
            stop_token_ids: self.stop_token_id.clone(),
            best_of: self.best_of.get(),
            beam: self.beam.map(|width| BeamSearch {
                length_penalty: self.length_penalty,
                early_stopping: match self.early_stopping {
                    EarlyStoppingName::Yes => EarlyStopping::Yes,
                    EarlyStoppingName::No => EarlyStopping::No,
                    EarlyStoppingName::Never => EarlyStopping::Never,
                },
                ..BeamSearch::new(width.get())
            }),
            budget: self.budget == Switch::On,
            token_healing: self.token_healing,
            rejection: self.rejection,
            canonical: self.canonical,
            parse_special: self.parse_special,
            speculate: match self.speculate {
                SpeculationName::Off => Speculation::Off,
                SpeculationName::Forced => Speculation::Forced,
                SpeculationName::Grammar => Speculation::Grammar,
                SpeculationName::Ngram => Speculation::Ngram,
                SpeculationName::Draft => Speculation::Draft,
            },
            ..request
        }
    }

    /// The reading of names of special tokens in messages.
    pub(crate) fn special_names(&self) -> SpecialNames {
        if self.parse_special { SpecialNames::AsTokens } else { SpecialNames::AsText }
    }

    /// Loads the model, and the one that guesses where there is one.
    pub(crate) fn load(&self, model: &ModelArgs) -> Result<Engine> {
        let asked = self.speculate == SpeculationName::Draft;
        if asked != self.draft_model.is_some() {
            let message = "--speculate draft and --draft-model go together";
            return Err(Error::new(ErrorKind::Request, message).with_help("give both, or neither"));
        }
        let engine = model.load()?;
        match &self.draft_model {
            None => Ok(engine),
            Some(draft) => with_draft(engine, draft, model),
        }
    }
}

/// The engine with a model that guesses: `layers:N`, or a model folder.
pub(crate) fn with_draft(engine: Engine, draft: &str, model: &ModelArgs) -> Result<Engine> {
    let draft = match draft.strip_prefix("layers:") {
        Some(layers) => {
            let layers = layers.parse().map_err(|_| {
                Error::new(ErrorKind::Request, format!("`{layers}` is no number of layers"))
                    .with_help("write --draft-model layers:N with N from 1")
            })?;
            engine.model().first_layers(layers)?
        }
        None => {
            let source: ModelSource = draft.parse()?;
            progress::loaded(&model.options(source)?)?
        }
    };
    engine.with_draft(draft)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Switch {
    On,
    Off,
}
