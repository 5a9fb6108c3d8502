//! Guesses of what the model will write, all read in one pass.
//!
//! Leviathan, Kalman and Matias 2023, "Fast Inference from Transformers via Speculative Decoding":
//! the text's distribution is exactly that of drawing token by token. A guess that was drawn from a
//! distribution is taken or replaced by their rule ([`Sampler::verify`]). A guess about which there
//! was no chance (text that the constraint forces, words of the prompt) needs no rule of its own:
//! the model's token is drawn as ever, and where it is the guess, the pass has already read what
//! comes after it; its rate of acceptance is what their rule gives, and the text is the same token
//! for token.
//!
//! Trees of guesses follow Miao et al. 2024, "SpecInfer": one pass reads all branches, each seeing
//! only what stands above it.
//!
//! [`Sampler::verify`]: crate::sampling::Sampler::verify

use super::request::Speculation;
use super::sequence::{Guess, Sequence};
use crate::constraint::Matcher;
use crate::error::Result;
use crate::model::{KvCache, Model};
use crate::sampling::Sampler;
use crate::vocabulary::Encode as _;

/// The most tokens that are guessed at once. On one sequence a pass over a few dozen positions
/// costs little more than over one.
const MOST: usize = 32;
/// The most bytes of forced text that are asked for at once.
const FORCED_BYTES: usize = 160;
/// As many bytes as may come next where a grammar draft tries all of them.
const FEW_CHOICES: usize = 4;
/// The longest sequence that is looked up in prompt and text, in tokens, and the shortest.
const NGRAMS: std::ops::RangeInclusive<usize> = 2..=4;
/// The tokens that follow it that are guessed.
const FOLLOWING: usize = 10;
/// Tokens that the draft model guesses at once.
const DRAFTED: usize = 5;

/// Tokens to read in one pass: the last of the text, and guesses after it.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    tokens: Vec<u32>,
    /// Of each token but the first: after which it stands.
    parents: Vec<usize>,
    /// Tokens that were drawn one after the other, with their distributions. The last one may be an
    /// end token, which is not read, but which is taken or replaced like the others: to draw anew
    /// only where it came would draw it too seldom.
    drawn: Vec<(u32, Vec<(u32, f64)>)>,
}

impl Tree {
    fn new(last: u32) -> Self {
        Self { tokens: vec![last], ..Self::default() }
    }

    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    pub(crate) fn parents(&self) -> &[usize] {
        &self.parents
    }

    /// The guess after this place that says the same.
    pub(crate) fn child(&self, node: usize, token: u32) -> Option<usize> {
        (1..self.tokens.len()).find(|&i| self.parents[i - 1] == node && self.tokens[i] == token)
    }

    /// The token that was drawn for the place after this one.
    pub(crate) fn guess(&self, node: usize) -> Option<Guess<'_>> {
        self.drawn.get(node).map(|(token, from)| (*token, from.as_slice()))
    }

    /// Adds a guess, unless it is there. `None` where the tree is full.
    fn add(&mut self, node: usize, token: u32, most: usize) -> Option<usize> {
        if let Some(child) = self.child(node, token) {
            return Some(child);
        }
        if self.tokens.len() > most {
            return None;
        }
        self.tokens.push(token);
        self.parents.push(node);
        Some(self.tokens.len() - 1)
    }

    /// Adds tokens one after the other as far as the constraint allows them. Says where that ends,
    /// and whether all are there.
    fn add_all(
        &mut self,
        mut node: usize,
        tokens: &[u32],
        mut matcher: Option<&mut Matcher>,
        most: usize,
    ) -> Result<(usize, bool)> {
        for &token in tokens {
            if let Some(matcher) = &mut matcher {
                if !matcher.mask()?.contains(token) {
                    return Ok((node, false));
                }
                matcher.accept(token)?;
            }
            match self.add(node, token, most) {
                Some(child) => node = child,
                None => return Ok((node, false)),
            }
        }
        Ok((node, true))
    }
}

/// Makes guesses for one sequence.
pub(crate) struct Drafter<'a> {
    kind: Speculation,
    /// Prompt and text, as far as they were looked at.
    read: Vec<u32>,
    prompt: usize,
    model: Option<(&'a Model, KvCache)>,
    /// What the draft model's cache remembers.
    cached: Vec<u32>,
    rounds: u64,
}

impl<'a> Drafter<'a> {
    pub(crate) fn new(
        kind: Speculation,
        model: Option<&'a Model>,
        prompt: Vec<u32>,
    ) -> Result<Self> {
        let model = match model.filter(|_| kind == Speculation::Draft) {
            Some(model) => Some((model, model.new_cache()?)),
            None => None,
        };
        let len = prompt.len();
        Ok(Self { kind, read: prompt, prompt: len, model, cached: Vec::new(), rounds: 0 })
    }

    /// The last token of the text, which is not empty, and guesses of what follows it.
    pub(crate) fn draft(&mut self, sequence: &Sequence<'_>) -> Result<Tree> {
        let known = self.read.len() - self.prompt;
        self.read.extend_from_slice(&sequence.tokens[known..]);
        let mut tree = Tree::new(self.read[self.read.len() - 1]);
        // The last token that fits is drawn, not read.
        let most = MOST.min(sequence.room().saturating_sub(1));
        if most > 0 {
            match self.kind {
                Speculation::Off => {}
                // What the prompt left to be written is no text of the constraint.
                _ if sequence.is_healing() => {}
                Speculation::Forced => grammar(&mut tree, sequence, most, false)?,
                Speculation::Grammar => grammar(&mut tree, sequence, most, true)?,
                Speculation::Ngram => self.ngram(&mut tree, sequence, most)?,
                Speculation::Draft => self.model(&mut tree, sequence, most)?,
            }
        }
        Ok(tree)
    }

    /// Prompt look-up (Saxena 2023, "Prompt Lookup Decoding"): what followed the last tokens when
    /// they last stood in prompt or text. The longest sequence that did is looked for first.
    fn ngram(&self, tree: &mut Tree, sequence: &Sequence<'_>, most: usize) -> Result<()> {
        let all = &self.read;
        for n in NGRAMS.rev().filter(|&n| n < all.len()) {
            let (before, last) = all.split_at(all.len() - n);
            let Some(at) = all[..all.len() - 1].windows(n).rposition(|window| window == last)
            else {
                continue;
            };
            debug_assert!(at < before.len());
            let next = &all[at + n..all.len().min(at + n + FOLLOWING)];
            let mut matcher = sequence.matcher.clone();
            tree.add_all(0, next, matcher.as_mut(), most)?;
            return Ok(());
        }
        Ok(())
    }

    /// Lets the draft model write on, with the settings and the constraint of the sequence.
    fn model(&mut self, tree: &mut Tree, sequence: &Sequence<'_>, most: usize) -> Result<()> {
        let Some((model, cache)) = &mut self.model else { return Ok(()) };
        let same = self.cached.iter().zip(&self.read).take_while(|(a, b)| a == b).count();
        // At least the last token is read, for the logits after it.
        let same = same.min(self.read.len() - 1);
        cache.truncate(same);
        self.cached.truncate(same);
        // Other random numbers than those that accept or refuse.
        self.rounds += 1;
        let mut writer = sequence.clone();
        writer.sampler = writer.sampler.fork(self.rounds);
        let mut unread = self.read[same..].to_vec();
        for _ in 0..DRAFTED.min(most) {
            if cache.len() + unread.len() > model.context_length() {
                break;
            }
            let row = model.forward(&unread, cache)?.to_vec()?;
            self.cached.append(&mut unread);
            let (mask, _) = writer.allow()?;
            if mask.is_empty() {
                break;
            }
            let mask = mask.clone();
            let distribution = writer.sampler.distribution(&row, Some(&mask))?;
            let token = draw(&distribution, &mut writer.sampler);
            let node = tree.tokens.len() - 1;
            let forced = writer.is_forced(token, false)?;
            tree.drawn.push((token, distribution));
            // What ends the text need not be read, for nothing comes after it.
            if writer.add(token, forced)?.is_some() || tree.add(node, token, most).is_none() {
                break;
            }
            unread.push(token);
        }
        Ok(())
    }
}

fn draw(distribution: &[(u32, f64)], sampler: &mut Sampler) -> u32 {
    let mut rest = sampler.uniform();
    let point = distribution.iter().find(|(_, p)| {
        rest -= p;
        rest < 0.0
    });
    // Where rounding leaves the line short, its last token; it is never empty.
    point.or(distribution.last()).map_or(0, |row| row.0)
}

/// Text that the constraint forces, as the tokenizer would write it, and, if it may branch, where
/// few bytes may come next, each of them with what it forces.
fn grammar(tree: &mut Tree, sequence: &Sequence<'_>, most: usize, branch: bool) -> Result<()> {
    let Some(matcher) = &sequence.matcher else { return Ok(()) };
    let tokenizer = sequence.engine.model().tokenizer();
    let tokens = |bytes: &[u8]| {
        // What is cut off in the middle of a character is left to the next pass.
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        };
        tokenizer.encode(text)
    };
    let mut open = std::collections::VecDeque::from([(0, matcher.clone())]);
    while let Some((node, mut matcher)) = open.pop_front() {
        if tree.tokens.len() > most {
            break;
        }
        let forced = matcher.forced_bytes(FORCED_BYTES)?;
        if !forced.is_empty() {
            let (end, all) = tree.add_all(node, &tokens(&forced)?, Some(&mut matcher), most)?;
            if all && end != node {
                open.push_back((end, matcher));
            }
            continue;
        }
        if !branch {
            break;
        }
        let expected = matcher.expected()?;
        if expected.bytes.len() > FEW_CHOICES || !expected.special_tokens.is_empty() {
            continue;
        }
        for byte in expected.bytes.iter() {
            let mut ahead = matcher.clone();
            ahead.accept_bytes(&[byte])?;
            let mut text = vec![byte];
            text.append(&mut ahead.forced_bytes(FORCED_BYTES)?);
            let mut branch = matcher.clone();
            let (end, all) = tree.add_all(node, &tokens(&text)?, Some(&mut branch), most)?;
            if all && end != node {
                open.push_back((end, branch));
            }
        }
    }
    Ok(())
}
