//! Forward passes and the caches that they read and write.

use super::Model;
use super::adapted_error::adapted_error;
use super::batch::Chunk;
use super::candle_error::candle_error;
use super::device::free_memory;
use super::kv_cache::{BlockPool, KvBlocks, KvCache, RotaryFactors, SharedBlock};
use super::logit_rows::LogitRows;
use super::logits::Logits;
use crate::error::{Error, ErrorKind, Result};

/// Greatest number of tokens of one forward pass: attention scores take memory in proportion to
/// this times the length of the sequence, and beyond a few hundred rows products gain nothing from
/// more.
const MAX_TOKENS_PER_PASS: usize = 512;

impl Model {
    /// The cache of a new sequence. In a model with LongRoPE (Phi-3) it is one within the original context
    /// ([`Config::short_context`](super::Config::short_context)); [`new_cache_for`](Self::new_cache_for) makes longer ones.
    pub fn new_cache(&self) -> Result<KvCache> {
        Ok(self.network.new_cache())
    }

    /// The cache of a new sequence of at most so many tokens. With LongRoPE their number decides with which
    /// factors all positions of the sequence are rotated: the short ones if it fits into the original
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
        self.network.cache_of(blocks).ok_or_else(|| {
            let message = "a block of a KV cache belongs to another model or has other factors";
            Error::new(ErrorKind::Model, message)
                .with_help("keep the blocks of each model, and of its rotary factors, apart")
        })
    }

    /// The blocks of all caches of the model. `None` for models of candle-transformers, whose caches
    /// have no blocks.
    ///
    /// A block that nobody holds any more stays allocated for the next sequence: the memory is that
    /// of the most blocks that were ever in use at once, unless
    /// [`limit_free_kv_blocks`](Self::limit_free_kv_blocks) says otherwise.
    pub fn kv_blocks(&self) -> Option<KvBlocks> {
        self.network.pool().map(BlockPool::counts)
    }

    /// Whether the model runs on the CPU.
    pub(crate) fn is_on_cpu(&self) -> bool {
        self.network.device().is_cpu()
    }

    /// The bytes that are free on the GPU on which the model runs; `None` on the CPU.
    pub(crate) fn free_device_memory(&self) -> Option<usize> {
        free_memory(self.network.device())
    }

    /// The model with blocks of its own for its caches: those of clones count apart.
    #[must_use]
    pub(crate) fn with_own_blocks(mut self) -> Self {
        self.network = self.network.with_own_pool();
        self
    }

    /// Keeps the memory of at most so many blocks that nobody holds, from now on; without a call, of
    /// all. On devices other than the CPU, where blocks are parts of tensors, all of it stays.
    pub fn limit_free_kv_blocks(&self, blocks: usize) {
        if let Some(pool) = self.network.pool() {
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
            if !chunk.parents.is_empty() && self.is_adapted() {
                let error = self.not_of_adapted(ErrorKind::Model, "trees of tokens are");
                return Err(error.with_help("read each path by itself"));
            }
        }
        if chunks.is_empty() {
            return Ok(Vec::new());
        }
        let lengths: Vec<usize> = chunks.iter().map(|chunk| chunk.cache.len()).collect();
        let rows = self.network.forward(chunks).and_then(|all| {
            let mut all = Logits::rows(all)?.into_iter();
            Ok(chunks.iter().map(|chunk| all.by_ref().take(chunk.wanted()).collect()).collect())
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
    /// Errors if it would have none, or more than there are, and on models of candle-transformers.
    pub fn first_layers(&self, layers: usize) -> Result<Self> {
        let all = self.config.num_hidden_layers;
        if layers == 0 || layers > all {
            let message = format!("{layers} layers of a model of {all}");
            return Err(Error::new(ErrorKind::Model, message)
                .with_help(format!("write a number from 1 to {all}")));
        }
        let mut model = self.clone();
        model.network = self.network.first_layers(layers)?;
        model.config.num_hidden_layers = layers;
        Ok(model)
    }

    /// Whether candle-transformers computes the model: then one text is written at a time, and no state goes
    /// back.
    pub(crate) fn is_adapted(&self) -> bool {
        self.config.adapted.is_some()
    }

    /// The error for a feature, with its verb, that models of candle-transformers do not have.
    pub(crate) fn not_of_adapted(&self, kind: ErrorKind, feature: &str) -> Error {
        adapted_error(kind, &self.config.model_type, feature)
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
