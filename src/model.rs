//! Models on candle: loading, forward pass, KV cache, tokenizer and chat template.
//!
//! A [`Model`] is loaded from a folder in Hugging Face's layout, from a GGUF file, by its name on
//! Hugging Face's hub, or is the `tiny` one inside the binary, and never changes after that; a [`KvCache`] belongs to one sequence. Prompts go in as
//! tokens, [`Logits`] come out.
//!
//! ```no_run
//! use maskwright::model::{Model, ModelOptions};
//! let model = Model::load(&ModelOptions { source: "models/smollm2".parse()?, ..Default::default() })?;
//! let mut cache = model.new_cache()?;
//! let prompt = model.tokenizer().encode_prompt("Once upon a time", true)?;
//! let logits = model.forward(&prompt, &mut cache)?.to_vec()?;
//! assert_eq!(logits.len(), model.vocabulary().len());
//! # Ok::<(), maskwright::Error>(())
//! ```
//!
//! A model folder holds `config.json` (see [`Config`] for what is supported), `tokenizer.json`,
//! `model.safetensors` or shards with `model.safetensors.index.json`, and for conversations a chat
//! template in `chat_template.jinja` or `tokenizer_config.json`.
//!
//! A GGUF file holds the same. Its quantised weights stay quantised in memory on the CPU, whatever the
//! [`DType`], and are multiplied as integers with activations that are rounded to 16 bits.
//!
//! # Parts
//!
//! | module | content |
//! |---|---|
//! | `checkpoint` | the folder or the GGUF file, and the tensors in it |
//! | `config` | `config.json`: every key is read, known to be harmless, or refused |
//! | `config/families` | the model families, a function each from `config.json` to the data of a decoder |
//! | `decoder` | the decoder that computes what this data says, on the CPU and with tensors |
//! | `adapted` | models of candle-transformers, for types that the decoder does not cover |
//! | `network` | one of the two |
//! | `kv_cache` | keys and values of one sequence, copied on write |
//! | `forward` | forward passes and new caches |
//! | `logits`, `logit_rows` | the result of a forward pass |
//! | `device` | where a model runs, and its dtype |
//! | `generation_config` | the settings of generation that a model comes with |
//! | `hub` | models by name: Hugging Face's cache, and downloads into it |
//! | `tokenization` | text to tokens; names of special tokens in content |
//! | `chat_template` | conversation to text |
//! | `prompt_encoding` | conversations and texts to the tokens of a prompt |
//!
//! # Adding a model family
//!
//! A family is data. `config/decoder.rs` says what a decoder can be made of: norms before or after each
//! part, biases, fused weights, norms of queries and keys, rotary positions, windows, bounds on scores,
//! sinks, gated and plain feed-forward parts, mixtures of experts, factors.
//!
//! 1. A file in `config/families/` whose function reads the keys of the family's `config.json`, begins
//!    with `plain::read`, and states the differences; an entry in `FAMILIES`. What the function does not
//!    ask for is refused if its name says that it changes what a model computes.
//! 2. Cases in `tests/data/family_logits.py`, which writes the logits of small models computed by the
//!    `transformers` library; `tests/model/families.rs` compares, also batched and in chunks, bit for bit.
//!
//! A difference that the description cannot state becomes a field of it, computed by `decoder/cpu.rs` with
//! a kernel in `kernels/`, and by `decoder/tensors.rs` or refused there when the model is loaded.
//!
//! # Models of candle-transformers
//!
//! With the feature `candle-transformers`, types that the decoder does not cover are computed by that crate.
//! A reader in `config/families/adapted/` turns `config.json` into the settings that it reads, and a function in
//! `adapted/` makes its model of them and of the weights; a case in `tests/data/family_logits.py` has the
//! logits of the `transformers` library, which `tests/model/adapted.rs` compares. One text is written at a time, in
//! `f32`, without speculation, beams, labels and shared prefixes. A forked or cut [`KvCache`] reads its tokens
//! again, and logits depend, within rounding, on how the tokens were cut into passes.

#[cfg(feature = "candle-transformers")]
mod adapted;
mod adapted_error;
mod batch;
mod candle_error;
mod chat_template;
mod checkpoint;
mod config;
mod decoder;
mod device;
mod forward;
mod generation_config;
mod host_copy;
mod hub;
mod kv_cache;
mod logit_rows;
mod logits;
mod network;
mod paged_attention;
mod prompt_encoding;
mod tokenization;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use batch::Chunk;
#[cfg(feature = "server")]
pub(crate) use chat_template::strftime;
pub use chat_template::{ChatTemplate, Message};
pub use checkpoint::ModelSource;
pub use config::Config;
pub use device::{DType, Device};
pub use generation_config::GenerationConfig;
pub use hub::{DownloadProgress, HubOptions, Repository};
pub use kv_cache::{KvBlocks, KvCache, RotaryFactors, SharedBlock};
pub use logit_rows::LogitRows;
pub use logits::Logits;
pub use prompt_encoding::{PromptPart, SpecialNames};
pub use tokenization::{Canonical, Tokenizer};

use crate::error::{Error, ErrorKind, Result, shortened};
use crate::vocabulary::{Vocabulary, with_added_tokens};
use checkpoint::{ModelFiles, Weights};
use network::Network;
use tokenization::{ControlTokens, TokenCountBound};

/// The settings for loading a model: source, device, dtype, index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelOptions {
    /// The folder, the GGUF file, the name on the hub, or the model in the binary.
    pub source: ModelSource,
    /// The device that it runs on.
    pub device: Device,
    /// The dtype that its weights are converted to.
    pub dtype: DType,
    /// The folder for the [index](Vocabulary::from_file_indexed) of its vocabulary; `None` for no
    /// index.
    pub index: Option<PathBuf>,
}

/// The state of [loading a model](Model::load_with_progress).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadProgress {
    /// Layers whose weights are in memory.
    pub layers: usize,
    /// Layers of the model.
    pub total: usize,
}

/// A loaded model: weights, tokenizer, vocabulary, chat template. `Send + Sync`; sequences share it
/// and have a [`KvCache`] each.
#[derive(Clone, Debug)]
pub struct Model {
    source: ModelSource,
    config: Config,
    network: Network,
    tokenizer: Arc<Tokenizer>,
    vocabulary: Arc<Vocabulary>,
    chat_template: Option<Arc<ChatTemplate>>,
    /// The settings of generation, or what is wrong with their file: a model can be run without them.
    generation_config: Result<Arc<GenerationConfig>>,
    /// The tokens that content of a conversation must not become.
    control_tokens: Arc<ControlTokens>,
    /// Lower bound on numbers of tokens; `None` if the tokenizer has no known one.
    token_bound: Option<TokenCountBound>,
}

impl Model {
    /// Loads a model: reads and checks all of its files, and copies the weights to the device.
    ///
    /// Errors name the file, and the field or tensor in it: on files that are
    /// missing or damaged, on architectures that are not supported, and on files that do not belong
    /// together.
    pub fn load(options: &ModelOptions) -> Result<Self> {
        Self::load_with_progress(options, &mut |_| {})
    }

    /// Loads a model like [`load`](Self::load), and calls `progress` whenever the weights of another layer
    /// are in memory. The first call comes after the tokenizer is read and the weights are opened.
    pub fn load_with_progress(
        options: &ModelOptions,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Self> {
        let files = options.source.files()?;
        refuse_adapter(&files)?;
        let config = config::read(&files)?;
        // First the vocabulary, which says best what is wrong with a tokenizer.
        let mut json = files.require(TOKENIZER)?;
        if let ModelFiles::Folder(folder) = &files {
            json = with_added_tokens(json.into_owned(), folder)?.into();
        }
        let vocabulary = vocabulary(&files, &json, &config, options.index.as_deref())?;
        let tokenizer =
            Tokenizer::from_bytes(&json).map_err(|error| error.in_file(files.path(TOKENIZER)))?;
        let chat_template = ChatTemplate::read(&files)?;
        let generation_config = GenerationConfig::read(&files)
            .map(|config| Arc::new(config.for_width(vocabulary.len())));
        let (device, dtype) = (options.device.open()?, options.dtype.into());
        let weights = Weights::open(&files, dtype, &device)?;
        let total = config.num_hidden_layers;
        let network = Network::load(&config, weights, (dtype, &device), &mut |layers| {
            progress(LoadProgress { layers, total });
        })?;
        let (source, vocabulary) = (options.source.clone(), Arc::new(vocabulary));
        let control_tokens = Arc::new(tokenizer.control_tokens(&vocabulary));
        let token_bound = tokenizer.token_bound(&vocabulary);
        let (tokenizer, chat_template) = (Arc::new(tokenizer), chat_template.map(Arc::new));
        Ok(Self {
            source,
            config,
            network,
            tokenizer,
            vocabulary,
            chat_template,
            generation_config,
            control_tokens,
            token_bound,
        })
    }

    /// The name: [`ModelSource::name`].
    pub fn name(&self) -> String {
        self.source.name()
    }

    /// The shape and the constants of the architecture.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The vocabulary that constraints are compiled for; its masks are as wide as the logits.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Arc<Tokenizer> {
        &self.tokenizer
    }

    /// The settings of generation that the model comes with, for requests that do not say. A
    /// [`Request`](crate::engine::Request) does not take them by itself.
    ///
    /// Errors if the model's file has a value that is out of range.
    pub fn generation_config(&self) -> Result<&GenerationConfig> {
        self.generation_config.as_deref().map_err(Error::clone)
    }

    /// The greatest length of a sequence in tokens: see [`Config::context_length`].
    pub fn context_length(&self) -> usize {
        self.config.context_length()
    }

    /// The parts of the checkpoint that were left out, by the beginnings of their tensors' names: a model that
    /// also reads images or sound is loaded as far as it reads text.
    pub fn left_out(&self) -> &[&'static str] {
        self.network.left_out()
    }

    /// The chat template. Errors if there is none.
    pub fn chat_template(&self) -> Result<&ChatTemplate> {
        self.chat_template.as_deref().ok_or_else(|| {
            let message = format!("the model `{}` has no chat template", self.name());
            Error::new(ErrorKind::Model, message).with_help(
                "put its chat_template.jinja into the model folder, or give a prompt as plain text",
            )
        })
    }

    /// Whether there is a chat template.
    pub fn has_chat_template(&self) -> bool {
        self.chat_template.is_some()
    }
}

/// The file of the tokenizer.
const TOKENIZER: &str = "tokenizer.json";

/// Errors on a folder with an adapter (LoRA), whose weights would be wrong without it, and which is no
/// model without another's weights.
fn refuse_adapter(files: &ModelFiles) -> Result<()> {
    const ADAPTER: &str = "adapter_config.json";
    let Some(adapter) = files.json(ADAPTER)? else { return Ok(()) };
    let base = adapter.get("base_model_name_or_path").and_then(serde_json::Value::as_str);
    let base = base.map_or(String::new(), |base| format!(" of `{}`", shortened(base)));
    Err(Error::new(ErrorKind::Model, format!("an adapter{base}: adapters are not supported"))
        .in_file(files.path(ADAPTER))
        .with_help(
            "merge it into the weights (`merge_and_unload` of the `peft` library, then \
             `save_pretrained`), or take its files out of the folder",
        ))
}

/// The vocabulary of `tokenizer.json`, as wide as the logits. The end tokens of a folder are those
/// that its files name together; the model in the binary names them in its `config.json`.
fn vocabulary(
    files: &ModelFiles,
    json: &[u8],
    config: &Config,
    index: Option<&Path>,
) -> Result<Vocabulary> {
    let path = files.path(TOKENIZER);
    let vocabulary = match (files, index) {
        (ModelFiles::Embedded(..), _) => Vocabulary::from_tokenizer_json(json)
            .and_then(|vocabulary| vocabulary.with_end_tokens(&config.eos_token_ids)),
        (_, Some(index)) => Vocabulary::from_file_indexed(&path, index),
        (_, None) => Vocabulary::from_file(&path),
    };
    vocabulary
        .and_then(|vocabulary| vocabulary.with_logits_width(config.vocab_size))
        .map_err(|error| error.in_file(path))
}
