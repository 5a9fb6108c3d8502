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
//! assert!(precomputed.masks >= 7 && !precomputed.out_of_time);
//! assert!(constraint.matcher().fill_known_mask(&mut row, None)?);
//! # Ok::<(), maskwright::Error>(())
//! ```
//!
//! Masks and texts are the same whether or not anything was precomputed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{mem, thread};

use crate::constraint::{Constraint, Matcher, WeakConstraint};
use crate::deadline;
use crate::error::{Error, ErrorKind, LimitName, Result};
use crate::sample::{Bounds, Texts};
use crate::thread_pool;
use crate::urgency::{self, Turn};
use crate::vocabulary::Trie;

/// Texts in a row that bring no new mask before the rest is taken for known.
const MAX_FRUITLESS_TEXTS: usize = 6;
/// A bound on texts, for constraints whose texts bring new masks for ever.
const MAX_TEXTS: usize = 200;
/// Bytes whose masks are computed beside those of the text, wherever they may come next: a digit and letters. A text that
/// heads for something new takes the shortest way, and writes the number `0`, after which others go on differently.
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

/// Computes masks that the constraint's texts will probably need, for as long as `time` at most.
///
/// It ends earlier where random texts no longer need new masks, and where a quarter of what a limit of the constraint
/// ([`Limits`](crate::Limits)) allows is used, which leaves the rest to the texts. All of it together takes no longer than
/// one mask may ([`Limits::time_per_mask`](crate::Limits::time_per_mask)), so that no mask is known which a text could not
/// have had. The first sixteen texts side by side share these masks; more of them have further memories, which begin
/// empty.
///
/// Gives way to masks that other threads compute or write meanwhile, and to other precomputations; waiting for them is
/// a part of the time. Texts are cut into the longest tokens, as models mostly do. Those with special tokens are not
/// drawn.
///
/// Errors if a limit of the constraint other than time is reached.
pub fn precompute_masks(constraint: &Constraint, time: Duration) -> Result<Precomputed> {
    let mut done = Precomputed::default();
    let time = constraint.limits().time_per_mask.map_or(time, |limit| limit.min(time));
    let began = Instant::now();
    let result = deadline::within(LimitName::TimePerConstraint, Some(time), || {
        learn_along_texts(constraint, &mut done)
    });
    done.out_of_time = began.elapsed() >= time;
    match result {
        Err(_) if done.out_of_time => Ok(done),
        result => result.map(|()| done),
    }
}

fn learn_along_texts(constraint: &Constraint, done: &mut Precomputed) -> Result<()> {
    let turn = Turn::take()?;
    let mut matcher = constraint.matcher();
    done.masks += usize::from(matcher.learn_mask()?);
    drop(turn);
    let Some(mut texts) = bounded_texts(constraint)? else { return Ok(()) };
    let mut fruitless = 0;
    while fruitless < MAX_FRUITLESS_TEXTS && done.texts < MAX_TEXTS {
        let before = done.masks;
        let turn = Turn::take()?;
        if matcher.has_well_filled_memory() {
            break;
        }
        let text = texts.draw()?;
        drop(turn);
        learn_along(&mut matcher, &text, &mut done.masks)?;
        done.texts += 1;
        fruitless = if done.masks == before { fruitless + 1 } else { 0 };
    }
    Ok(())
}

/// Texts of a usual length, or longer ones where there are no others; `None` where there are none of these either,
/// or all have special tokens.
fn bounded_texts(constraint: &Constraint) -> Result<Option<Texts>> {
    let _turn = Turn::take()?;
    let Some(mut texts) = unless_unfit(Texts::new(constraint, 0))? else { return Ok(None) };
    for max_bytes in MAX_BYTES {
        texts = texts.within(Bounds { max_bytes, ..Bounds::default() });
        if unless_unfit(texts.draw())?.is_some() {
            return Ok(Some(texts));
        }
    }
    Ok(None)
}

/// `None` where the constraint has no text as it is asked for.
fn unless_unfit<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Err(error) if error.kind() == ErrorKind::Request => Ok(None),
        found => found.map(Some),
    }
}

/// Looks up the masks along a text in the longest tokens, and leaves the matcher at its start. Ends early where no
/// token spells the rest, or where a budget of tokens refuses one.
fn learn_along(matcher: &mut Matcher, text: &[u8], masks: &mut usize) -> Result<()> {
    let vocabulary = Arc::clone(matcher.constraint().vocabulary());
    let mut at = 0;
    while let Some((token, end)) = longest_token(vocabulary.trie(), text, at) {
        let turn = Turn::take()?;
        match matcher.accept(token) {
            Err(error) if error.kind() == ErrorKind::Rejected => break,
            result => result?,
        }
        *masks += usize::from(matcher.learn_mask()?);
        drop(turn);
        for &byte in PROBES {
            let _turn = Turn::take()?;
            *masks += usize::from(matcher.learn_mask_after(byte)?);
        }
        at = end;
    }
    matcher.rollback(matcher.steps())
}

/// The longest token that spells the text from `at` on, and the offset after it.
fn longest_token(trie: &Trie, text: &[u8], at: usize) -> Option<(u32, usize)> {
    let mut longest = None;
    trie.tokens_from(at, |at| text.get(at).copied(), &mut |token, end| {
        longest = Some((token, end));
    });
    longest
}

/// Waits until no thread of this process works on masks ahead of their need, and lets none begin.
///
/// For a thread that is about to `fork`: the child has only this thread, and a lock that another one held would stay
/// locked there. Call [`resume_after_fork`] in both processes. The Python package does so by itself.
pub fn pause_for_fork() {
    urgency::pause_for_fork();
}

/// Lets work on masks ahead of their need go on after a fork, in the parent and in the child.
pub fn resume_after_fork(is_child: bool) {
    urgency::resume_after_fork(is_child);
}

/// A thread that computes masks of new constraints in the order in which they are [given](Self::submit).
///
/// It ends when the precomputer is dropped, after the constraint that it is at. A process that was forked from its maker
/// has no such thread: nothing is precomputed there. Before a fork, see [`pause_for_fork`].
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
/// assert!(precomputer.wait(Duration::from_secs(60)));
/// let mut row = [0; 8];
/// assert!(constraint.matcher().fill_known_mask(&mut row, None)?);
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Debug)]
pub struct MaskPrecomputer {
    /// Absent while it is dropped.
    sender: Option<SyncSender<Queued>>,
    unfinished: Arc<Unfinished>,
    /// The process that the thread belongs to.
    process: u32,
}

/// The number of constraints that were given and are not done.
#[derive(Debug, Default)]
struct Unfinished {
    count: Mutex<usize>,
    less: Condvar,
    /// Whether the precomputer is gone, and the rest need not be done.
    is_closed: AtomicBool,
}

impl Unfinished {
    fn lock(&self) -> MutexGuard<'_, usize> {
        // A number is never half changed.
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A constraint that waits, unless nobody has it any more; counted as unfinished until it is dropped.
struct Queued {
    constraint: WeakConstraint,
    unfinished: Arc<Unfinished>,
}

impl Drop for Queued {
    fn drop(&mut self) {
        *self.unfinished.lock() -= 1;
        self.unfinished.less.notify_all();
    }
}

impl MaskPrecomputer {
    /// A precomputer that spends at most `time_per_constraint` on each.
    ///
    /// Errors if no thread can be made.
    pub fn new(time_per_constraint: Duration) -> Result<Self> {
        let (sender, receiver) = sync_channel::<Queued>(MAX_WAITING);
        let unfinished = Arc::new(Unfinished::default());
        let work = move || {
            for queued in receiver {
                if queued.unfinished.is_closed.load(Ordering::Relaxed) {
                    break;
                }
                if let Some(constraint) = queued.constraint.upgrade() {
                    // A limit that is reached here is met again by the text that reaches it, and told there.
                    let _ = precompute_masks(&constraint, time_per_constraint);
                }
            }
        };
        let thread = thread::Builder::new().name("maskwright-precompute".to_owned()).spawn(work);
        thread.map_err(|error| {
            Error::new(ErrorKind::Io, format!("the thread for masks cannot be made: {error}"))
                .with_help("work without a precomputer, or raise the limit on threads")
        })?;
        Ok(Self { sender: Some(sender), unfinished, process: thread_pool::process() })
    }

    /// Puts a constraint at the end of the queue, without waiting. One that finds 1,024 others there is passed
    /// over: its masks are computed where texts need them. The queue keeps no constraint that nobody else has.
    pub fn submit(&self, constraint: &Constraint) {
        let Some(sender) = self.sender.as_ref().filter(|_| self.is_of_this_process()) else {
            return;
        };
        *self.unfinished.lock() += 1;
        let unfinished = Arc::clone(&self.unfinished);
        let queued = Queued { constraint: constraint.downgrade(), unfinished };
        // What is not taken is dropped, and no longer counted.
        let _ = sender.try_send(queued);
    }

    /// Waits until nothing is left to do, for `time` at most. Whether it is so; in a forked process nothing is.
    pub fn wait(&self, time: Duration) -> bool {
        if !self.is_of_this_process() {
            return true;
        }
        let unfinished = self.unfinished.lock();
        let less = &self.unfinished.less;
        let waited = less.wait_timeout_while(unfinished, time, |count| *count > 0);
        let (count, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *count == 0
    }

    fn is_of_this_process(&self) -> bool {
        thread_pool::process() == self.process
    }
}

impl Drop for MaskPrecomputer {
    fn drop(&mut self) {
        self.unfinished.is_closed.store(true, Ordering::Relaxed);
        if !self.is_of_this_process() {
            // The channel's locks may be held by a thread that is not in this process.
            mem::forget(self.sender.take());
        }
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

    /// The number of masks along a text, in the longest tokens, that are known, and of all.
    fn known_along(constraint: &Constraint, text: &str) -> (usize, usize) {
        let mut matcher = constraint.matcher();
        let trie = constraint.vocabulary().trie();
        let (mut known, mut all, mut at) = (0, 0, 0);
        loop {
            known += usize::from(!matcher.learn_mask().unwrap());
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

    /// A chain of rules takes as many rounds of distances as it has rules.
    #[test]
    fn a_long_chain_of_rules_keeps_the_time() {
        let rules = (0..3000).map(|n| format!("r{n} ::= \"(\" r{} \")\"\n", n + 1));
        let grammar = format!("root ::= r0\n{}r3000 ::= \"x\"\n", rules.collect::<String>());
        let constraint = compiler().gbnf(&grammar).unwrap();
        let time = Duration::from_millis(1);
        assert!(precompute_masks(&constraint, time).unwrap().out_of_time);
    }

    /// Most of what limits allow is left to texts.
    #[test]
    fn a_memory_is_not_filled() {
        let properties = (0..100).map(|n| format!(r#""p{n}": {{"enum": ["{n}", [{n}], {{}}]}}"#));
        let schema =
            format!(r#"{{"properties": {{{}}}}}"#, properties.collect::<Vec<_>>().join(", "));
        let all = compiler().json_schema_str(&schema).unwrap();
        let masks = precompute_masks(&all, Duration::from_secs(60)).unwrap().masks;
        for limits in [
            Limits { grammar_size: 4_000, ..Limits::default() },
            Limits { cache_bytes: 100_000, ..Limits::default() },
        ] {
            let bounded = compiler().with_limits(limits).json_schema_str(&schema).unwrap();
            let done = precompute_masks(&bounded, Duration::from_secs(60)).unwrap();
            assert!(done.masks < masks / 2, "{done:?} of {masks}");
        }
    }

    #[test]
    fn a_thread_does_what_is_submitted() {
        let compiler = compiler();
        let precomputer = MaskPrecomputer::new(Duration::from_secs(60)).unwrap();
        let constraints: Vec<_> =
            (1..20).map(|n| compiler.regex(&format!("x{{{n}}}")).unwrap()).collect();
        constraints.iter().for_each(|constraint| precomputer.submit(constraint));
        assert!(precomputer.wait(Duration::from_secs(60)));
        for constraint in &constraints {
            assert_eq!(known_along(constraint, "x"), (2, 2));
        }
        // With nothing to wait for; with a constraint that is gone.
        assert!(precomputer.wait(Duration::ZERO));
        precomputer.submit(&compiler.regex("y{9}").unwrap());
        assert!(precomputer.wait(Duration::from_secs(60)));
    }
}
