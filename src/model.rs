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
//! [`DType`], and are multiplied as the numbers that they stand for.
//!
//! # Parts
//!
//! | module | content |
//! |---|---|
//! | `checkpoint` | the folder or the GGUF file, and the tensors in it |
//! | `config` | `config.json`: every key is read, known to be harmless, or refused |
//! | `config/families` | the model families, a function each from `config.json` to the data of a decoder |
//! | `decoder` | the decoder that computes what this data says, on the CPU and with tensors |
//! | `kv_cache` | keys and values of one sequence, copied on write |
//! | `logits` | the result of a forward pass |
//! | `device` | where a model runs, and its dtype |
//! | `generation_config` | the settings of generation that a model comes with |
//! | `hub` | models by name: Hugging Face's cache, and downloads into it |
//! | `tokenization` | text to tokens; names of special tokens in content |
//! | `chat_template` | conversation to text |
//!
//! # Adding a model family
//!
//! A family is data. `config/decoder.rs` says what a decoder can be made of: norms before or after each
//! part, biases, fused weights, norms of queries and keys, rotary positions, windows, bounds on scores,
//! sinks, gated and plain feed-forward parts, mixtures of experts, factors.
//!
//! 1. A file in `config/families/` whose function reads the keys of the family's `config.json`, begins
//!    with `plain::read`, and states the differences; an entry in `FAMILIES`. What the function does not
//!    ask for is refused if its name tells of what a model computes.
//! 2. Cases in `tests/data/family_logits.py`, which writes the logits of small models computed by the
//!    `transformers` library; `tests/model/families.rs` compares, also batched and in chunks, bit for bit.
//!
//! A difference that the description cannot state becomes a field of it, computed by `decoder/cpu.rs` with
//! a kernel in `kernels/`, and by `decoder/tensors.rs` or refused there when the model is loaded.

mod batch;
mod candle_error;
mod chat_template;
mod checkpoint;
mod config;
mod decoder;
mod device;
mod generation_config;
mod hub;
mod kv_cache;
mod logits;
mod tokenization;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use batch::{Chunk, LogitRows};
pub use chat_template::{ChatTemplate, Message};
pub use checkpoint::ModelSource;
pub use config::Config;
pub use device::{DType, Device};
pub use generation_config::GenerationConfig;
pub use hub::{DownloadProgress, HubOptions, Repository};
pub use kv_cache::{KvBlocks, KvCache, RotaryFactors, SharedBlock};
pub use logits::Logits;
pub use tokenization::{Canonical, Tokenizer};

use crate::error::{Error, ErrorKind, Result, shortened};
use crate::vocabulary::Vocabulary;
use candle_error::candle_error;
use checkpoint::{ModelFiles, Weights};
use decoder::Decoder;
use kv_cache::BlockPool;

use tokenization::{ControlTokens, DisguisedConversation, StandIns, TokenCountBound};

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

/// A loaded model: weights, tokenizer, vocabulary, chat template. `Send + Sync`; sequences share it
/// and have a [`KvCache`] each.
#[derive(Clone, Debug)]
pub struct Model {
    source: ModelSource,
    config: Config,
    decoder: Decoder,
    tokenizer: Arc<Tokenizer>,
    vocabulary: Arc<Vocabulary>,
    chat_template: Option<Arc<ChatTemplate>>,
    generation_config: Arc<GenerationConfig>,
    /// The tokens that content of a conversation must not become.
    control_tokens: Arc<ControlTokens>,
    /// Lower bound on numbers of tokens; `None` if the tokenizer has no known one.
    token_bound: Option<TokenCountBound>,
}

/// The reading of names of special tokens in the content of a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpecialNames {
    /// As text, whoever wrote them: only the chat template writes special tokens.
    #[default]
    AsText,
    /// As these tokens. Whoever writes the content can then end a turn, and begin another one.
    AsTokens,
}

impl Model {
    /// Loads a model: reads and checks all of its files, and copies the weights to the device.
    ///
    /// Errors name the file, and the field or tensor in it: on files that are
    /// missing or damaged, on architectures that are not supported, and on files that do not belong
    /// together.
    pub fn load(options: &ModelOptions) -> Result<Self> {
        let files = options.source.files()?;
        refuse_adapter(&files)?;
        let config = config::read(&files)?;
        // First the vocabulary, which says best what is wrong with a tokenizer.
        let json = files.require(TOKENIZER)?;
        let vocabulary = vocabulary(&files, &json, &config, options.index.as_deref())?;
        let tokenizer =
            Tokenizer::from_bytes(&json).map_err(|error| error.in_file(files.path(TOKENIZER)))?;
        let chat_template = ChatTemplate::read(&files)?;
        let generation_config = Arc::new(GenerationConfig::read(&files)?);
        let (device, dtype) = (options.device.open()?, options.dtype.into());
        let weights = Weights::open(&files, dtype, &device)?;
        let decoder = Decoder::load(&config, weights, dtype, &device)?;
        let (source, vocabulary) = (options.source.clone(), Arc::new(vocabulary));
        let control_tokens = Arc::new(tokenizer.control_tokens(&vocabulary));
        let token_bound = tokenizer.token_bound(&vocabulary);
        let (tokenizer, chat_template) = (Arc::new(tokenizer), chat_template.map(Arc::new));
        Ok(Self {
            source,
            config,
            decoder,
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
    pub fn generation_config(&self) -> &GenerationConfig {
        &self.generation_config
    }

    /// The greatest length of a sequence in tokens: see [`Config::context_length`].
    pub fn context_length(&self) -> usize {
        self.config.context_length()
    }

    /// The parts of the checkpoint that were left out, by the beginnings of their tensors' names: a model that
    /// also reads images or sound is loaded as far as it reads text.
    pub fn left_out(&self) -> &[&'static str] {
        self.decoder.left_out()
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

    /// The tokens of a conversation, as the chat template writes it, ending where the assistant is
    /// to speak. `tools` is a list of OpenAI's tool objects.
    ///
    /// Special tokens are those that the template writes. Messages and tools are content, in which
    /// the names of special tokens are text, unless `names` says otherwise; a template that looks
    /// for such a name in content does not find it.
    ///
    /// Errors if there is no template or it refuses the conversation, and, before anything is
    /// tokenised, if the prompt is too long for the context by its bytes alone.
    pub fn encode_chat(
        &self,
        messages: &[Message],
        tools: Option<&serde_json::Value>,
        names: SpecialNames,
    ) -> Result<Vec<u32>> {
        self.encode_chat_with(messages, tools, &serde_json::Map::new(), names)
    }

    /// [`encode_chat`](Self::encode_chat) with more variables for the template
    /// ([`ChatTemplate::render_with`]).
    pub fn encode_chat_with(
        &self,
        messages: &[Message],
        tools: Option<&serde_json::Value>,
        variables: &serde_json::Map<String, serde_json::Value>,
        names: SpecialNames,
    ) -> Result<Vec<u32>> {
        self.encode_begun_chat(messages, tools, variables, names, "")
    }

    /// [`encode_chat_with`](Self::encode_chat_with), and the beginning of the answer.
    pub(crate) fn encode_begun_chat(
        &self,
        messages: &[Message],
        tools: Option<&serde_json::Value>,
        variables: &serde_json::Map<String, serde_json::Value>,
        names: SpecialNames,
        begun: &str,
    ) -> Result<Vec<u32>> {
        let template = self.chat_template()?;
        let prompt = template.render_with(messages, true, tools, variables)? + begun;
        self.check_length(&prompt)?;
        if names == SpecialNames::AsTokens {
            return self.tokenizer.encode_prompt(&prompt, false);
        }
        // Names in the beginning of the answer are text as in the messages.
        let mut messages = chat_template::with_parsed_arguments(messages);
        messages.push(Message::new("assistant", begun));
        match self.control_tokens.disguise(&messages, tools, template.text())? {
            Some(DisguisedConversation { mut messages, tools, stand_ins }) => {
                let begun = messages.pop().map_or_else(String::new, |message| message.content);
                let prompt =
                    template.render_with(&messages, true, tools.as_ref(), variables)? + &begun;
                self.encode_as_text(&prompt, Some(&stand_ins), false)
            }
            None => self.encode_as_text(&prompt, None, false),
        }
    }

    /// The tokens of a text without a template, with the special tokens that the tokenizer puts
    /// before and after a text.
    ///
    /// Errors, before anything is tokenised, if it is too long for the context by its bytes alone.
    pub fn encode_text(&self, text: &str, names: SpecialNames) -> Result<Vec<u32>> {
        self.check_length(text)?;
        if names == SpecialNames::AsTokens {
            return self.tokenizer.encode_prompt(text, true);
        }
        match self.control_tokens.disguise_text(text)? {
            Some((text, stand_ins)) => self.encode_as_text(&text, Some(&stand_ins), true),
            None => self.encode_as_text(text, None, true),
        }
    }

    /// The tokens of a prompt in which stand-ins disguise names, where it has any.
    fn encode_as_text(
        &self,
        prompt: &str,
        stand_ins: Option<&StandIns>,
        add_special_tokens: bool,
    ) -> Result<Vec<u32>> {
        let control = &self.control_tokens;
        let none = StandIns::default();
        match stand_ins {
            None if !control.are_normalized() => {
                self.tokenizer.encode_prompt(prompt, add_special_tokens)
            }
            some => {
                let stand_ins = some.unwrap_or(&none);
                self.tokenizer.encode_disguised(prompt, stand_ins, control, add_special_tokens)
            }
        }
    }

    /// Errors if the tokens of a prompt leave no room for an answer in the context.
    pub fn check_room(&self, prompt: &[u32]) -> Result<()> {
        if prompt.len() < self.context_length() {
            Ok(())
        } else {
            Err(self.too_long(&prompt.len().to_string()))
        }
    }

    /// Errors if no tokenisation of the text is short enough.
    fn check_length(&self, text: &str) -> Result<()> {
        let Some(bound) = &self.token_bound else { return Ok(()) };
        match bound.at_least(text) {
            least if least < self.context_length() => Ok(()),
            least => Err(self.too_long(&format!("at least {least}"))),
        }
    }

    /// The error for a prompt that is too long, in the words that clients of OpenAI's API know.
    fn too_long(&self, tokens: &str) -> Error {
        let context = self.context_length();
        let message = format!(
            "This model's maximum context length is {context} tokens, and a prompt of {tokens} \
             leaves no room for an answer (context_length_exceeded)"
        );
        let help = format!("shorten it to at most {} tokens", context.saturating_sub(1));
        Error::new(ErrorKind::Context, message).with_help(help)
    }

    /// The cache of a new sequence. In a model with LongRoPE (Phi-3) it is one within the original context
    /// ([`Config::short_context`]); [`new_cache_for`](Self::new_cache_for) makes longer ones.
    pub fn new_cache(&self) -> Result<KvCache> {
        self.decoder.new_cache().map_err(candle_error)
    }

    /// The cache of a new sequence of at most so many tokens. With LongRoPE their number decides about the
    /// factors by which all positions of the sequence turn: the short ones if it fits into the original
    /// context, the long ones if not, as in the `transformers` library for a sequence that is read at once.
    pub fn new_cache_for(&self, tokens: usize) -> Result<KvCache> {
        let is_long = self.config.short_context().is_some_and(|short| tokens > short);
        let factors = if is_long { RotaryFactors::Long } else { RotaryFactors::Short };
        Ok(self.new_cache()?.with_factors(factors))
    }

    /// The greatest length of the sequence of a cache.
    pub(crate) fn greatest_length(&self, cache: &KvCache) -> usize {
        match (self.config.short_context(), cache.rotary_factors()) {
            (Some(short), RotaryFactors::Short) => short,
            _ => self.context_length(),
        }
    }

    /// The cache of a sequence that begins with the tokens of these blocks, in order: as if they had
    /// been read, bit for bit, without reading them.
    ///
    /// ```no_run
    /// use maskwright::model::{Model, ModelOptions};
    /// let model = Model::load(&ModelOptions::default())?;
    /// let mut first = model.new_cache()?;
    /// model.forward(&[7; 40], &mut first)?;
    /// // 40 tokens fill two blocks of 16.
    /// let prefix: Vec<_> = (0..).map_while(|index| first.block(index)).collect();
    /// let mut second = model.cache_of(&prefix)?;
    /// assert_eq!(second.len(), 32);
    /// model.forward(&[7; 8], &mut second)?;
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    ///
    /// Errors if a block is of another model, or has other [`RotaryFactors`] than the first.
    pub fn cache_of(&self, blocks: &[SharedBlock]) -> Result<KvCache> {
        self.decoder.cache_of(blocks).map_err(candle_error)?.ok_or_else(|| {
            let message = "a block of a KV cache belongs to another model or has other factors";
            Error::new(ErrorKind::Model, message)
                .with_help("keep the blocks of each model, and of its rotary factors, apart")
        })
    }

    /// The blocks of all caches of the model. `None` on devices other than the CPU, whose caches have
    /// no blocks.
    ///
    /// A block that nobody holds any more stays allocated for the next sequence: the memory is that
    /// of the most blocks that were ever in use at once, unless
    /// [`limit_free_kv_blocks`](Self::limit_free_kv_blocks) says otherwise.
    pub fn kv_blocks(&self) -> Option<KvBlocks> {
        self.decoder.pool().map(BlockPool::counts)
    }

    /// The model with blocks of its own for its caches: those of clones count apart.
    #[must_use]
    pub(crate) fn with_own_blocks(mut self) -> Self {
        self.decoder = self.decoder.with_own_pool();
        self
    }

    /// Keeps the memory of at most so many blocks that nobody holds, from now on; without a call, of
    /// all.
    pub fn limit_free_kv_blocks(&self, blocks: usize) {
        if let Some(pool) = self.decoder.pool() {
            pool.limit_free(blocks);
        }
    }

    /// Reads the next tokens of a sequence, whose earlier ones the cache holds, and returns the
    /// logits of the token after the last: `vocab_size` numbers in `f32`, on the device.
    ///
    /// The time is in proportion to the number of tokens for the projections, and to that number
    /// times the length of the sequence for attention. Long prompts are read in pieces of 512
    /// tokens.
    ///
    /// Errors, with the cache unchanged, on no token at all, on an id beyond the logits, and if the
    /// sequence would become longer than [`context_length`](Self::context_length), or than what its
    /// cache is [for](Self::new_cache_for).
    pub fn forward(&self, tokens: &[u32], cache: &mut KvCache) -> Result<Logits> {
        self.check(tokens, cache)?;
        let before = cache.len();
        let (read, last) =
            tokens.split_at((tokens.len() - 1) / MAX_TOKENS_PER_PASS * MAX_TOKENS_PER_PASS);
        for piece in read.chunks(MAX_TOKENS_PER_PASS) {
            let chunk = Chunk::new(piece, cache).with_logits(LogitRows::None);
            if let Err(error) = self.forward_batch(&mut [chunk]) {
                cache.truncate(before);
                return Err(error);
            }
        }
        match self.forward_batch(&mut [Chunk::new(last, cache)]) {
            // One row is wanted.
            Ok(mut rows) => Ok(rows.remove(0).remove(0)),
            Err(error) => {
                cache.truncate(before);
                Err(error)
            }
        }
    }

    /// Reads a tree of tokens in one pass. `parents` holds the index of the parent of each token
    /// but the first; a parent comes before its children. Returns the logits of the token after
    /// each node. The cache then holds all nodes; [`keep`](Self::keep) drops those that are not on
    /// the chosen path.
    ///
    /// Errors as [`forward`](Self::forward) does, and on indices that are no parents.
    pub fn forward_tree(
        &self,
        tokens: &[u32],
        parents: &[usize],
        cache: &mut KvCache,
    ) -> Result<Vec<Logits>> {
        if parents.len() + 1 != tokens.len() {
            return Err(no_tree());
        }
        let chunk = Chunk { tokens, parents, cache, logits: LogitRows::All };
        Ok(self.forward_batch(&mut [chunk])?.into_iter().flatten().collect())
    }

    /// Reads the next tokens of several sequences in one pass, and returns for each the logits that
    /// it wants. On the CPU a sequence's logits are the same, bit for bit, whatever is read beside
    /// it, and however its tokens are cut into chunks.
    ///
    /// ```no_run
    /// use maskwright::model::{Chunk, Model, ModelOptions};
    /// let model = Model::load(&ModelOptions::default())?;
    /// let (mut one, mut other) = (model.new_cache()?, model.new_cache()?);
    /// let rows = model.forward_batch(&mut [
    ///     Chunk::new(&[1, 2, 3], &mut one),
    ///     Chunk::new(&[4], &mut other),
    /// ])?;
    /// assert_eq!(rows[1][0].to_vec()?, model.forward(&[4], &mut model.new_cache()?)?.to_vec()?);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    ///
    /// Errors as [`forward`](Self::forward) does, with all caches unchanged.
    pub fn forward_batch(&self, chunks: &mut [Chunk<'_>]) -> Result<Vec<Vec<Logits>>> {
        for chunk in chunks.iter() {
            self.check(chunk.tokens, chunk.cache)?;
            let before = |(i, &parent): (usize, &usize)| parent <= i;
            let is_tree = chunk.parents.len() + 1 == chunk.tokens.len()
                && chunk.parents.iter().enumerate().all(before);
            if !chunk.parents.is_empty() && !is_tree {
                return Err(no_tree());
            }
        }
        if chunks.is_empty() {
            return Ok(Vec::new());
        }
        let lengths: Vec<usize> = chunks.iter().map(|chunk| chunk.cache.len()).collect();
        let rows = self.decoder.forward(chunks).and_then(|all| {
            let mut next = 0;
            let mut rows = |chunk: &Chunk<'_>| {
                let from = next;
                next += chunk.wanted();
                (from..next).map(|row| all.get(row).map(Logits::new)).collect()
            };
            chunks.iter().map(&mut rows).collect()
        });
        rows.map_err(|error| {
            for (chunk, length) in chunks.iter_mut().zip(lengths) {
                chunk.cache.truncate(length);
            }
            candle_error(error)
        })
    }

    /// Keeps only these of a cache's positions from `from` on: the nodes (counted from `from`,
    /// ascending) of one path through a tree.
    ///
    /// Errors if they are not ascending, or were not read.
    pub fn keep(&self, cache: &mut KvCache, from: usize, path: &[usize]) -> Result<()> {
        let ascending = path.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending || path.last().is_some_and(|last| from + last >= cache.len()) {
            let message = "a path through a tree has ascending places that were read";
            return Err(Error::new(ErrorKind::Model, message));
        }
        cache.keep(from, path).map_err(candle_error)
    }

    /// A draft model: this model with its first layers only. Shares weights and tokenizer.
    ///
    /// Errors if it would have none, or more than there are.
    pub fn first_layers(&self, layers: usize) -> Result<Self> {
        let all = self.config.num_hidden_layers;
        if layers == 0 || layers > all {
            let message = format!("{layers} layers of a model of {all}");
            return Err(Error::new(ErrorKind::Model, message)
                .with_help(format!("write a number from 1 to {all}")));
        }
        let mut model = self.clone();
        model.decoder = self.decoder.first_layers(layers);
        model.config.num_hidden_layers = layers;
        Ok(model)
    }

    /// Errors on tokens that the model cannot read after those of the cache.
    fn check(&self, tokens: &[u32], cache: &KvCache) -> Result<()> {
        let error = |message| Err(Error::new(ErrorKind::Model, message));
        let width = self.config.vocab_size;
        if let Some(token) = tokens.iter().find(|&&token| token as usize >= width) {
            return error(format!("token {token} is beyond the model's {width} logits"));
        }
        if tokens.is_empty() {
            return error("a model reads at least one token".to_owned());
        }
        let (len, most) = (cache.len() + tokens.len(), self.greatest_length(cache));
        if len > most && most < self.context_length() {
            let message = format!("{len} tokens do not fit the context of {most} of short factors");
            return Err(Error::new(ErrorKind::Model, message)
                .with_help("make the cache of a longer sequence with `Model::new_cache_for`"));
        }
        if len > most {
            return error(format!("{len} tokens do not fit the model's context of {most}"));
        }
        Ok(())
    }
}

fn no_tree() -> Error {
    let message = "a tree has a parent for each token but the first, before it";
    Error::new(ErrorKind::Model, message)
}

/// The file of the tokenizer.
const TOKENIZER: &str = "tokenizer.json";

/// Greatest number of tokens of one forward pass: attention scores take memory in proportion to
/// this times the length of the sequence, and beyond a few hundred rows products gain nothing from
/// more.
const MAX_TOKENS_PER_PASS: usize = 512;

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
        (ModelFiles::Folder(_), Some(index)) => Vocabulary::from_file_indexed(&path, index),
        (ModelFiles::Folder(_), None) => Vocabulary::from_file(&path),
        (ModelFiles::Gguf(_), Some(index)) => Vocabulary::from_file_indexed(&path, index),
        (ModelFiles::Gguf(_), None) => Vocabulary::from_file(&path),
        (ModelFiles::Embedded(..), _) => Vocabulary::from_tokenizer_json(json)
            .and_then(|vocabulary| vocabulary.with_end_tokens(&config.eos_token_ids)),
    };
    vocabulary
        .and_then(|vocabulary| vocabulary.with_logits_width(config.vocab_size))
        .map_err(|error| error.in_file(path))
}
