//! Speculative decoding: several tokens are guessed, one forward pass reads all of them, and those
//! that the model would have drawn are kept.
//!
//! Three sources of guesses ([`Speculation`]): text that the constraint forces, words of the prompt
//! and the text, and a smaller model. The distribution of texts does not change (Leviathan, Kalman
//! and Matias 2023, "Fast Inference from Transformers via Speculative Decoding"):
//!
//! - A token that a draft model drew from a distribution is accepted or replaced by their rule
//!   ([`Sampler::verify`]).
//! - A token that was guessed without chance (forced text, words of the prompt) needs no rule: the
//!   model's token is drawn as without speculation, and if it is the guess, the pass has already
//!   read what comes after it. Here even the text is the same, token for token.
//!
//! Guesses may branch (Miao et al. 2024, "SpecInfer"): one pass reads a tree of tokens, each of
//! which sees only its ancestors.
//!
//! ```text
//! text {"n    forced: ame":
//! tree  0 ── 1 `ame` ── 2 `":` ─┬─ 3 `"`        one pass reads nodes 0 to 4
//!                               └─ 4 `[`
//! ```

mod draft_tree;

use std::sync::Arc;

use super::request::Speculation;
use super::sequence::{ForcedNeed, Sequence};
use crate::error::{ErrorKind, Result};
use crate::model::{KvCache, Model};
use crate::sampling::Sampler;
use crate::vocabulary::Encode as _;
pub(crate) use draft_tree::DraftTree;

/// Greatest number of tokens that are guessed for one pass. On one sequence a pass over a few dozen
/// positions costs little more than over one.
const MAX_GUESSES: usize = 32;
/// Greatest number of bytes of forced text for one pass: about as many as its guesses hold.
const MAX_FORCED_BYTES: usize = 160;
/// Greatest number of possible next bytes at which the tree branches.
const MAX_BRANCHES: usize = 4;
/// Lengths, in tokens, of the sequences that are looked up in prompt and text.
const NGRAM_LENGTHS: std::ops::RangeInclusive<usize> = 2..=4;
/// Number of tokens after a sequence that was found that are guessed.
const NGRAM_GUESSES: usize = 10;
/// Number of tokens that the draft model guesses for one pass.
const DRAFT_MODEL_GUESSES: usize = 5;

/// Guesses the next tokens of one sequence.
#[derive(Debug)]
pub(crate) struct Drafter {
    kind: Speculation,
    /// The tokens of the prompt and of the text so far.
    read: Vec<u32>,
    prompt_len: usize,
    model: Option<(Arc<Model>, KvCache)>,
    /// The tokens that the draft model's cache holds.
    cached: Vec<u32>,
    /// Passes so far; each draws from another stream of random numbers.
    rounds: u64,
}

impl Drafter {
    /// A drafter for the text after a prompt, both of at most `max_len` tokens.
    pub(crate) fn new(
        kind: Speculation,
        model: Option<&Arc<Model>>,
        prompt: Vec<u32>,
        max_len: usize,
    ) -> Result<Self> {
        let model = match model.filter(|_| kind == Speculation::Draft) {
            Some(model) => Some((Arc::clone(model), model.new_cache_for(max_len)?)),
            None => None,
        };
        let prompt_len = prompt.len();
        Ok(Self { kind, read: prompt, prompt_len, model, cached: Vec::new(), rounds: 0 })
    }

    /// Lets go of all blocks of the draft model's cache: the text is read again.
    pub(crate) fn drop_cache(&mut self) {
        if let Some((_, cache)) = &mut self.model {
            cache.truncate(0);
        }
        self.cached.clear();
    }

    /// The last token of the text, which is not empty, with guesses after it.
    pub(crate) fn draft(&mut self, sequence: &Sequence) -> Result<DraftTree> {
        let known = self.read.len() - self.prompt_len;
        self.read.extend_from_slice(&sequence.tokens[known..]);
        let mut tree = DraftTree::new(self.read[self.read.len() - 1]);
        // The last token that the text may have is drawn and never read.
        let most = MAX_GUESSES.min(sequence.room().saturating_sub(1));
        if most > 0 {
            let guessed = match self.kind {
                Speculation::Off => Ok(()),
                // The healed bytes of the prompt are no text of the constraint.
                _ if sequence.is_healing() => Ok(()),
                Speculation::Forced => guess_forced(&mut tree, sequence, most, Branching::Off),
                Speculation::Grammar => guess_forced(&mut tree, sequence, most, Branching::On),
                Speculation::Ngram => self.guess_by_lookup(&mut tree, sequence, most),
                Speculation::Draft => self.guess_by_draft_model(&mut tree, sequence, most),
            };
            match guessed {
                // The text may go another way, where the constraint reaches no limit.
                Err(error) if error.kind() == ErrorKind::Limit => {
                    tree = DraftTree::new(self.read[self.read.len() - 1]);
                }
                guessed => guessed?,
            }
        }
        Ok(tree)
    }

    /// Prompt look-up (Saxena 2023, "Prompt Lookup Decoding"): guesses the tokens that followed the
    /// last few when these last occurred in prompt or text. Longer sequences are looked up first.
    fn guess_by_lookup(
        &self,
        tree: &mut DraftTree,
        sequence: &Sequence,
        most: usize,
    ) -> Result<()> {
        let all = &self.read;
        for n in NGRAM_LENGTHS.rev().filter(|&n| n < all.len()) {
            let (before, last) = all.split_at(all.len() - n);
            let Some(at) = all[..all.len() - 1].windows(n).rposition(|window| window == last)
            else {
                continue;
            };
            debug_assert!(at < before.len());
            let next = &all[at + n..all.len().min(at + n + NGRAM_GUESSES)];
            let mut matcher = sequence.matcher.clone();
            tree.add_chain(0, next, matcher.as_mut(), most)?;
            return Ok(());
        }
        Ok(())
    }

    /// Lets the draft model continue the text, with the settings and the constraint of the
    /// sequence.
    fn guess_by_draft_model(
        &mut self,
        tree: &mut DraftTree,
        sequence: &Sequence,
        most: usize,
    ) -> Result<()> {
        let Some((model, cache)) = &mut self.model else { return Ok(()) };
        let (width, drafted) = (sequence.runner.vocabulary().len(), model.vocabulary().len());
        // Of one tokenizer, models may be padded to different widths.
        if self.read.iter().any(|&token| token as usize >= drafted) {
            return Ok(());
        }
        let same = self.cached.iter().zip(&self.read).take_while(|(a, b)| a == b).count();
        // At least the last token is read, for the logits after it.
        let same = same.min(self.read.len() - 1);
        cache.truncate(same);
        self.cached.truncate(same);
        // Draws of the draft model are independent of the random numbers that accept or refuse its tokens.
        self.rounds += 1;
        let mut ahead = sequence.clone();
        ahead.sampler = ahead.sampler.fork(self.rounds);
        let mut unread = self.read[same..].to_vec();
        for _ in 0..DRAFT_MODEL_GUESSES.min(most) {
            if cache.len() + unread.len() > model.greatest_length(cache) {
                break;
            }
            let mut row = model.forward(&unread, cache)?.to_vec()?;
            row.resize(width, f32::NEG_INFINITY);
            self.cached.append(&mut unread);
            let (mask, _) = ahead.compute_mask()?;
            if mask.is_empty() {
                break;
            }
            let mask = mask.clone();
            ahead.set_temperature();
            // A narrower draft model may know none of the allowed tokens.
            if mask.iter().all(|token| row[token as usize] == f32::NEG_INFINITY) {
                break;
            }
            let distribution = ahead.sampler.distribution(&row, Some(&mask))?;
            let token = draw(&distribution, &mut ahead.sampler);
            let node = tree.tokens().len() - 1;
            let forced = ahead.is_forced(token, ForcedNeed::Penalties)?;
            tree.drawn.push((token, distribution));
            // A token that ends the text need not be read.
            if ahead.add(token, forced)?.is_some() || tree.add(node, token, most).is_none() {
                break;
            }
            unread.push(token);
        }
        Ok(())
    }
}

/// Draws a token from a distribution.
fn draw(distribution: &[(u32, f64)], sampler: &mut Sampler) -> u32 {
    let mut rest = sampler.uniform();
    let point = distribution.iter().find(|(_, p)| {
        rest -= p;
        rest < 0.0
    });
    // The last token where the probabilities add up to less than 1 by rounding. A distribution is never empty.
    point.or(distribution.last()).map_or(0, |row| row.0)
}

/// Whether a tree of forced text branches where few bytes are possible.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Branching {
    On,
    Off,
}

/// Guesses the text that the constraint forces, as the tokenizer writes it. With branching,
/// continues after each of up to [`MAX_BRANCHES`] possible bytes with what that byte forces.
fn guess_forced(
    tree: &mut DraftTree,
    sequence: &Sequence,
    most: usize,
    branching: Branching,
) -> Result<()> {
    let Some(matcher) = &sequence.matcher else { return Ok(()) };
    let tokenizer = sequence.runner.model().tokenizer();
    let tokens = |bytes: &[u8]| {
        // A character that is cut off is left to the next pass.
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        };
        tokenizer.encode(text)
    };
    let mut open = std::collections::VecDeque::from([(0, matcher.clone())]);
    while let Some((node, mut matcher)) = open.pop_front() {
        if tree.tokens().len() > most {
            break;
        }
        let forced = matcher.forced_bytes(MAX_FORCED_BYTES)?;
        if !forced.is_empty() {
            let (end, all) = tree.add_chain(node, &tokens(&forced)?, Some(&mut matcher), most)?;
            if all && end != node {
                open.push_back((end, matcher));
            }
            continue;
        }
        if branching == Branching::Off {
            break;
        }
        let expected = matcher.expected()?;
        if expected.bytes.len() > MAX_BRANCHES || !expected.special_tokens.is_empty() {
            continue;
        }
        for byte in expected.bytes.iter() {
            let mut ahead = matcher.clone();
            ahead.accept_bytes(&[byte])?;
            let mut text = vec![byte];
            text.append(&mut ahead.forced_bytes(MAX_FORCED_BYTES)?);
            let mut branch = matcher.clone();
            let (end, all) = tree.add_chain(node, &tokens(&text)?, Some(&mut branch), most)?;
            if all && end != node {
                open.push_back((end, branch));
            }
        }
    }
    Ok(())
}
