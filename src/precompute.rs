//! Masks of a new constraint before a text needs them.
//!
//! Masks are computed where a text first needs them, and then known to all texts of the constraint. The first
//! text so pays for what the others find. Where a constraint is compiled some time before its first token (a
//! server that reads the prompt meanwhile), [`precompute_masks`] makes them known before:
//! it draws random [texts](crate::sample) of the constraint, spread over all of its parts, and computes the masks
//! along them. A [`MaskPrecomputer`] does so on a thread of its own.
//!
//! ```
//! use std::time::Duration;
//!
//! use maskwright::precompute::precompute_masks;
//! use maskwright::{Compiler, Vocabulary};
//!
//! let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
//! let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[])?);
//! let constraint = compiler.json_schema_str(r#"{"enum": ["yes", "no"]}"#)?;
//! let mut row = [0; 8];
//! assert!(!constraint.matcher().fill_known_mask(&mut row, None)?);
//!
//! let precomputed = precompute_masks(&constraint, Duration::from_secs(1))?;
//! assert!(precomputed.masks >= 8 && !precomputed.out_of_time);
//! assert!(constraint.matcher().fill_known_mask(&mut row, None)?);
//! # Ok::<(), maskwright::Error>(())
//! ```
//!
//! Masks and texts are the same whether or not anything was precomputed.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::constraint::{Constraint, Matcher};
use crate::deadline;
use crate::error::{Error, ErrorKind, LimitName, Result};
use crate::sample::{Bounds, Texts};
use crate::thread_pool;
use crate::urgency;
use crate::vocabulary::Trie;

/// Texts in a row that bring no new mask before the rest is taken for known.
const MAX_FRUITLESS_TEXTS: usize = 6;
/// A bound on texts, for constraints whose texts bring new masks for ever.
const MAX_TEXTS: usize = 200;
/// Bytes that are tried beside the text's next token, one of each kind of which states seldom tell the members apart.
/// A text that heads for something new takes the shortest way, and writes `0` for a number.
const PROBES: &[u8] = b"1aA";
/// Bytes of a text at most, and where every text has more.
const MAX_BYTES: [usize; 2] = [400, 8_000];
/// Constraints that wait for a [`MaskPrecomputer`] at most; more are passed over.
const MAX_WAITING: usize = 1_024;

/// The outcome of [`precompute_masks`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Precomputed {
    /// Texts along which masks were looked up.
    pub texts: usize,
    /// Masks that were not known before.
    pub masks: usize,
    /// Whether the time was over before texts ceased to bring new masks.
    pub out_of_time: bool,
}

/// Computes masks that the constraint's texts will probably need, for as long as `time` at most, and as one mask may
/// take ([`Limits::time_per_mask`](crate::Limits::time_per_mask)), and less where random texts no longer need new ones. They are kept with the constraint, within its
/// [`Limits::cache_bytes`](crate::Limits::cache_bytes).
///
/// Gives way to masks that other threads compute or write meanwhile; waiting for them is a part of the time.
/// Texts are cut into the longest tokens, as models mostly do. Those with special tokens are not drawn.
///
/// Errors if a limit of the constraint is reached.
pub fn precompute_masks(constraint: &Constraint, time: Duration) -> Result<Precomputed> {
    let mut done = Precomputed::default();
    // So that no mask is known which a text could not have had.
    let time = constraint.limits().time_per_mask.map_or(time, |limit| limit.min(time));
    let began = Instant::now();
    let result = deadline::within(LimitName::TimePerConstraint, Some(time), || {
        learn_along_texts(constraint, &mut done)
    });
    match result {
        Err(_) if began.elapsed() >= time => done.out_of_time = true,
        result => result?,
    }
    Ok(done)
}

fn learn_along_texts(constraint: &Constraint, done: &mut Precomputed) -> Result<()> {
    let mut matcher = constraint.matcher();
    done.masks += matcher.learn_masks(PROBES)?;
    let Some(mut texts) = bounded_texts(constraint)? else { return Ok(()) };
    let mut fruitless = 0;
    while fruitless < MAX_FRUITLESS_TEXTS && done.texts < MAX_TEXTS {
        let before = done.masks;
        urgency::give_way();
        let text = texts.draw()?;
        learn_along(&mut matcher, &text, &mut done.masks)?;
        done.texts += 1;
        fruitless = if done.masks == before { fruitless + 1 } else { 0 };
    }
    Ok(())
}

/// Texts of a usual length, or longer ones where there are no others; `None` where there are none of these either,
/// or all have special tokens.
fn bounded_texts(constraint: &Constraint) -> Result<Option<Texts>> {
    let unless_unfit = |error: Error| match error.kind() {
        ErrorKind::Request => Ok(None),
        _ => Err(error),
    };
    for max_bytes in MAX_BYTES {
        let bounds = Bounds { max_bytes, ..Bounds::default() };
        let texts = Texts::new(constraint, 0).and_then(|texts| {
            let mut texts = texts.within(bounds);
            texts.draw()?;
            Ok(Some(texts))
        });
        if let Some(texts) = texts.or_else(unless_unfit)? {
            return Ok(Some(texts));
        }
    }
    Ok(None)
}

/// Looks up the masks along a text in the longest tokens, and leaves the matcher at its start. Ends early where no
/// token spells the rest, or where a budget of tokens refuses one.
fn learn_along(matcher: &mut Matcher, text: &[u8], masks: &mut usize) -> Result<()> {
    let vocabulary = Arc::clone(matcher.constraint().vocabulary());
    let mut at = 0;
    while let Some((token, end)) = longest_token(vocabulary.trie(), text, at) {
        match matcher.accept(token) {
            Err(error) if error.kind() == ErrorKind::Rejected => break,
            result => result?,
        }
        urgency::give_way();
        *masks += matcher.learn_masks(PROBES)?;
        at = end;
    }
    matcher.rollback(matcher.steps())
}

/// The longest token that spells the text from `at` on, and the offset after it.
fn longest_token(trie: &Trie, text: &[u8], at: usize) -> Option<(u32, usize)> {
    let mut longest = None;
    trie.tokens_from(at, |at| text.get(at).copied(), &mut |token, end| {
        longest = Some((token, end))
    });
    longest
}

/// A thread that computes masks of new constraints in the order in which they are [given](Self::submit).
///
/// It ends when the precomputer is dropped. A process that was forked from its maker has no such thread:
/// nothing is precomputed there.
///
/// ```
/// use std::time::Duration;
///
/// use maskwright::precompute::MaskPrecomputer;
/// use maskwright::{Compiler, Vocabulary};
///
/// let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
/// let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[])?);
/// let precomputer = MaskPrecomputer::new(Duration::from_millis(10))?;
///
/// let constraint = compiler.regex("[0-9]{4}")?;
/// precomputer.submit(&constraint);
/// // The prompt is read meanwhile.
/// precomputer.wait();
/// let mut row = [0; 8];
/// assert!(constraint.matcher().fill_known_mask(&mut row, None)?);
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Debug)]
pub struct MaskPrecomputer {
    sender: SyncSender<Constraint>,
    unfinished: Arc<Unfinished>,
    /// The process that the thread belongs to.
    process: u32,
}

/// The number of constraints that were given and are not done.
#[derive(Debug, Default)]
struct Unfinished {
    count: Mutex<usize>,
    less: Condvar,
}

impl Unfinished {
    fn lock(&self) -> MutexGuard<'_, usize> {
        // A number is never half changed.
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count_down(&self) {
        *self.lock() -= 1;
        self.less.notify_all();
    }
}

impl MaskPrecomputer {
    /// A precomputer that spends at most `time_per_constraint` on each.
    ///
    /// Errors if no thread can be made.
    pub fn new(time_per_constraint: Duration) -> Result<Self> {
        let (sender, receiver) = sync_channel::<Constraint>(MAX_WAITING);
        let unfinished = Arc::new(Unfinished::default());
        let weak = Arc::downgrade(&unfinished);
        let work = move || {
            for constraint in receiver {
                let Some(unfinished) = weak.upgrade() else { break };
                // A limit that is reached here is met again by the text that reaches it, and told there.
                let _ = precompute_masks(&constraint, time_per_constraint);
                unfinished.count_down();
            }
        };
        let thread = thread::Builder::new().name("maskwright-precompute".to_owned()).spawn(work);
        thread.map_err(|error| {
            Error::new(ErrorKind::Io, format!("the thread for masks cannot be made: {error}"))
                .with_help("work without a precomputer, or raise the limit on threads")
        })?;
        Ok(Self { sender, unfinished, process: thread_pool::process() })
    }

    /// Puts a constraint at the end of the queue, without waiting. One that finds 1,024 others there is passed
    /// over: its masks are computed where texts need them.
    pub fn submit(&self, constraint: &Constraint) {
        // The lock's holder may not have been copied by a fork.
        if thread_pool::process() != self.process {
            return;
        }
        *self.unfinished.lock() += 1;
        if self.sender.try_send(constraint.clone()).is_err() {
            self.unfinished.count_down();
        }
    }

    /// Waits until all that was submitted is done. Returns at once in a forked process.
    pub fn wait(&self) {
        if thread_pool::process() != self.process {
            return;
        }
        let unfinished = self.unfinished.lock();
        let done = self.unfinished.less.wait_while(unfinished, |count| *count > 0);
        drop(done.unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::constraint::Compiler;
    use crate::limits::Limits;
    use crate::vocabulary::Vocabulary;

    const SCHEMA: &str = r#"{"type": "object", "properties": {
        "name": {"type": "string"}, "size": {"enum": ["small", "large"]}, "tags": {"type": "array",
        "items": {"type": "integer"}}}, "required": ["name"], "additionalProperties": false}"#;

    fn compiler() -> Compiler {
        let mut tokens: Vec<_> = (0..=255).map(|byte| Some(vec![byte])).collect();
        tokens
            .extend(["{\"", "name", "\":", "\": \"", "small"].map(|t| Some(t.as_bytes().to_vec())));
        tokens.push(None);
        Compiler::new(Vocabulary::from_tokens(tokens, &[(261, "<end>")], &[261]).unwrap())
    }

    /// The share of the masks along a text, in the longest tokens, that are known.
    fn known_along(constraint: &Constraint, text: &str) -> (usize, usize) {
        let mut matcher = constraint.matcher();
        let trie = constraint.vocabulary().trie();
        let (mut known, mut all, mut at) = (0, 0, 0);
        loop {
            known += 1 - matcher.learn_masks(b"").unwrap();
            all += 1;
            let Some((token, end)) = longest_token(trie, text.as_bytes(), at) else { break };
            matcher.accept(token).unwrap();
            at = end;
        }
        (known, all)
    }

    #[test]
    fn a_text_that_was_never_seen_finds_its_masks() {
        let text = r#"{"name": "any one", "size": "small", "tags": [12, 7]}"#;
        let compiler = compiler();
        let fresh = compiler.json_schema_str(SCHEMA).unwrap();
        let (known, all) = known_along(&fresh, text);
        assert!(known < all / 2, "{known} of {all}");
        let precomputed = compiler.json_schema_str(SCHEMA).unwrap();
        let done = precompute_masks(&precomputed, Duration::from_secs(60)).unwrap();
        assert!(!done.out_of_time && done.masks > 20, "{done:?}");
        let (known, all) = known_along(&precomputed, text);
        assert_eq!(known, all);
    }

    #[test]
    fn masks_stay_what_they_are() {
        let (compiler, other) = (compiler(), compiler());
        let precomputed = compiler.json_schema_str(SCHEMA).unwrap();
        precompute_masks(&precomputed, Duration::from_secs(60)).unwrap();
        let fresh = other.json_schema_str(SCHEMA).unwrap();
        let (mut one, mut two) = (precomputed.matcher(), fresh.matcher());
        for byte in br#"{"name": "x", "size": "large", "tags": [1]}"# {
            assert_eq!(one.mask().unwrap().words(), two.mask().unwrap().words());
            one.accept_bytes(&[*byte]).unwrap();
            two.accept_bytes(&[*byte]).unwrap();
        }
    }

    #[test]
    fn no_time_is_out_of_time() {
        let constraint = compiler().json_schema_str(SCHEMA).unwrap();
        let done = precompute_masks(&constraint, Duration::ZERO).unwrap();
        assert_eq!(done, Precomputed { texts: 0, masks: 0, out_of_time: true });
    }

    #[test]
    fn no_mask_takes_longer_than_it_may() {
        let limits = Limits { time_per_mask: Some(Duration::ZERO), ..Limits::default() };
        let constraint = compiler().with_limits(limits).json_schema_str(SCHEMA).unwrap();
        let done = precompute_masks(&constraint, Duration::from_secs(60)).unwrap();
        assert_eq!(done, Precomputed { texts: 0, masks: 0, out_of_time: true });
    }

    /// Texts that are longer than usual, and none that can be drawn.
    #[test]
    fn long_texts_and_special_tokens() {
        let compiler = compiler();
        let long = compiler.regex("[ab]{1000}").unwrap();
        assert!(precompute_masks(&long, Duration::from_secs(60)).unwrap().masks > 900);
        let longer = compiler.regex("[ab]{10000}").unwrap();
        assert_eq!(precompute_masks(&longer, Duration::from_secs(60)).unwrap().masks, 1);
    }

    #[test]
    fn a_thread_does_what_is_submitted() {
        let compiler = compiler();
        let precomputer = MaskPrecomputer::new(Duration::from_secs(60)).unwrap();
        let constraints: Vec<_> =
            (1..20).map(|n| compiler.regex(&format!("x{{{n}}}")).unwrap()).collect();
        constraints.iter().for_each(|constraint| precomputer.submit(constraint));
        precomputer.wait();
        for constraint in &constraints {
            assert_eq!(known_along(constraint, "x"), (2, 2));
        }
        // With nothing to wait for.
        precomputer.wait();
    }
}
