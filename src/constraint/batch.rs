//! Masks of many sequences at once, and of the draft tree of one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::matcher::Matcher;
use super::memory_pool::cores;
use crate::error::{Error, ErrorKind, Result};
use crate::thread_pool;
use crate::urgency::Urgent;

/// A token of a draft, and the one before it in the same draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DraftToken {
    /// The token's id.
    pub token: u32,
    /// Its predecessor, as an index into the draft; `None` where the draft begins.
    pub parent: Option<usize>,
}

/// The time for which one thread computes before others help: about as long as these take to begin.
const SINGLE_THREAD_TIME: Duration = Duration::from_micros(100);

/// From so many masks on, others help at once.
const MIN_SHARED_MASKS: usize = 64;

impl Matcher {
    /// The masks along a tree of draft tokens: the first row is the mask here, row `i + 1` that
    /// after `draft[i]`. A row is `ceil(V / 32)` words, all zero where the constraint does not
    /// allow the way there. The matcher stays as it was.
    ///
    /// Errors if the rows have another length, or a parent does not come before its children.
    ///
    /// ```
    /// # use maskwright::{Compiler, DraftToken, Vocabulary};
    /// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
    /// # let vocabulary = Vocabulary::from_tokens(tokens, &[], &[])?;
    /// let mut matcher = Compiler::new(vocabulary).regex("ab|ac")?.matcher();
    /// let token = |byte: u8, parent| DraftToken { token: byte.into(), parent };
    /// let draft = [token(b'a', None), token(b'b', Some(0)), token(b'x', Some(0))];
    /// let mut rows = vec![0; 4 * 8];
    /// matcher.fill_tree(&draft, &mut rows)?;
    /// assert_eq!(rows[8 + 3], 1 << (b'b' - 96) | 1 << (b'c' - 96)); // after `a`
    /// assert!(rows[16..].iter().all(|&word| word == 0)); // after `ab` the end; `ax` is not allowed
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn fill_tree(&mut self, draft: &[DraftToken], rows: &mut [u32]) -> Result<()> {
        let memories = Arc::clone(&self.constraint.memories);
        memories.timed(|| self.fill_draft(draft, rows))
    }

    fn fill_draft(&mut self, draft: &[DraftToken], rows: &mut [u32]) -> Result<()> {
        let vocabulary = self.constraint.vocabulary();
        let words = vocabulary.len().div_ceil(32);
        if rows.len() != words * (draft.len() + 1) {
            let message = format!(
                "{} words for the masks of a draft where {} fit",
                rows.len(),
                words * (draft.len() + 1)
            );
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("give ceil(V / 32) words for the start and for each token"));
        }
        let mut memory = self.memory.lock();
        self.constraint.memories.evict(&mut memory);
        let start = (!self.finished).then(|| self.current());
        let mut configurations = vec![start];
        for (index, &DraftToken { token, parent }) in draft.iter().enumerate() {
            let from = match parent {
                None => start,
                Some(parent) if parent < index => configurations[parent + 1],
                Some(parent) => {
                    let message = format!("token {index} of the draft follows token {parent}");
                    return Err(Error::new(ErrorKind::Request, message)
                        .with_help("put parents before their children"));
                }
            };
            // An end token ends a text that may end, as where it is accepted.
            let ends = |from| {
                vocabulary.end_tokens().contains(&token) && memory.recognizer.is_accepting(from)
            };
            configurations.push(match from.filter(|&from| !ends(from)) {
                Some(from) => memory.recognizer.read_token(vocabulary, from, token)?.ok(),
                None => None,
            });
        }
        if words == 0 {
            return Ok(());
        }
        for (configuration, row) in configurations.into_iter().zip(rows.chunks_exact_mut(words)) {
            match configuration {
                Some(id) => memory.mask_builder(vocabulary).mask(id)?.write(row),
                None => row.fill(0),
            }
        }
        Ok(())
    }
}

/// The masks of many sequences, each written into its row as [`Matcher::fill_mask`] does.
///
/// The calling thread alone writes a batch whose masks are all known, since copying is bound by memory,
/// and a batch that takes little time to compute. For more work, other threads help it. Matchers of a
/// constraint share memories, up to about sixteen matchers in one; each thread takes one memory after
/// the other and computes all of its rows, so that no thread waits for a lock. A thread that has nothing
/// more to compute writes rows that are known. The helpers are rayon's pool, whose size
/// `RAYON_NUM_THREADS` sets; threads made for each batch would start on the core of their maker and might
/// stay there for longer than the batch takes. A process that was forked from one with this pool has none
/// of its threads, and computes alone.
///
/// Errors as [`Matcher::fill_mask`] does, with the first error; rows of other matchers may be
/// written then.
///
/// ```
/// # use maskwright::{Compiler, Vocabulary, fill_masks};
/// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
/// # let vocabulary = Vocabulary::from_tokens(tokens, &[], &[])?;
/// let compiler = Compiler::new(vocabulary);
/// let (mut one, mut two) = (compiler.regex("a")?.matcher(), compiler.regex("b")?.matcher());
/// let (mut first, mut second) = ([0; 8], [0; 8]);
/// fill_masks(&mut [(&mut one, &mut first), (&mut two, &mut second)])?;
/// assert_eq!((first[3], second[3]), (1 << 1, 1 << 2));
/// # Ok::<(), maskwright::Error>(())
/// ```
pub fn fill_masks(batch: &mut [(&mut Matcher, &mut [u32])]) -> Result<()> {
    let _urgent = Urgent::begin();
    let mut groups: BTreeMap<*const (), Vec<(&mut Matcher, &mut [u32])>> = BTreeMap::new();
    let mut known = Vec::new();
    for (matcher, row) in batch {
        matcher.check_row(row)?;
        match matcher.known_packed_mask() {
            Some(mask) => known.push((mask, &mut **row)),
            None => groups.entry(matcher.memory.address()).or_default().push((matcher, row)),
        }
    }
    // The largest first.
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(Vec::len);
    let began = Instant::now();
    let helps_at_once = groups.iter().map(Vec::len).sum::<usize>() >= MIN_SHARED_MASKS;
    let has_help = cores() > 1 && thread_pool::has_threads();
    while !helps_at_once && began.elapsed() < SINGLE_THREAD_TIME || !has_help {
        let Some(group) = groups.last_mut() else { break };
        match group.pop() {
            Some((matcher, row)) => matcher.packed_mask()?.write(row),
            None => _ = groups.pop(),
        }
    }
    let helpers = groups.len().saturating_sub(1);
    let (groups, known, done) = (Mutex::new(groups), Mutex::new(known), Mutex::new(Ok(())));
    let work = || -> Result<()> {
        while let Some(group) = take(&groups) {
            for (matcher, row) in group {
                matcher.packed_mask()?.write(row);
            }
        }
        while let Some((mask, row)) = take(&known) {
            mask.write(row);
        }
        Ok(())
    };
    // The pool is not made before it is needed.
    if helpers == 0 {
        return work();
    }
    let join = || {
        if let Err(error) = work() {
            *done.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
        }
    };
    rayon::in_place_scope(|scope| {
        let others = rayon::current_num_threads().saturating_sub(1);
        (0..helpers.min(others)).for_each(|_| scope.spawn(|_| join()));
        join();
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The next entry of a queue.
fn take<T>(queue: &Mutex<Vec<T>>) -> Option<T> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).pop()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::constraint::Compiler;
    use crate::vocabulary::Vocabulary;

    const SCHEMA: &str = r#"{"type": "object", "properties": {
        "name": {"type": "string", "pattern": "^[a-z]+( [a-z]+)?$"},
        "tags": {"type": "array", "uniqueItems": true, "items": {"type": ["integer", "string"]}}}}"#;
    const TEXT: &[u8] = br#"{"name": "ada lovelace", "tags": [12, "a", 3, "abc"]}"#;

    fn compiler() -> Compiler {
        let mut tokens: Vec<_> = (0..=255).map(|byte| Some(vec![byte])).collect();
        tokens.extend(["\",", "\": ", "abc", "12", "a\", \""].map(|t| Some(t.as_bytes().to_vec())));
        Compiler::new(Vocabulary::from_tokens(tokens, &[], &[]).unwrap())
    }

    /// Rows of many matchers are those of each, whatever memory it has and whoever fills it.
    #[test]
    fn a_batch_is_what_each_of_it_is() {
        let (compiler, alone) = (self::compiler(), self::compiler());
        let constraint = compiler.json_schema_str(SCHEMA).unwrap();
        let one = alone.json_schema_str(SCHEMA).unwrap();
        let mut matchers: Vec<Matcher> = (0..100).map(|_| constraint.matcher()).collect();
        for (index, matcher) in matchers.iter_mut().enumerate() {
            matcher.accept_bytes(&TEXT[..index % TEXT.len()]).unwrap();
        }
        let words = compiler.vocabulary().len().div_ceil(32);
        // Cold, then known.
        for _ in 0..2 {
            let mut rows = vec![u32::MAX; matchers.len() * words];
            let mut batch: Vec<_> = matchers.iter_mut().zip(rows.chunks_mut(words)).collect();
            fill_masks(&mut batch).unwrap();
            for (index, row) in rows.chunks(words).enumerate() {
                let mut matcher = one.matcher();
                matcher.accept_bytes(&TEXT[..index % TEXT.len()]).unwrap();
                assert_eq!(matcher.mask().unwrap().words(), row, "row {index}");
            }
        }
    }

    /// Many matchers have more than one memory, where there is more than one core.
    #[test]
    fn few_matchers_share_a_memory() {
        let constraint = compiler().json_schema_str(SCHEMA).unwrap();
        let addresses = |count: usize| {
            let matchers: Vec<_> = (0..count).map(|_| constraint.matcher()).collect();
            let all: std::collections::BTreeSet<_> =
                matchers.iter().map(|matcher| matcher.memory.address()).collect();
            all.len()
        };
        let cores = cores();
        assert_eq!(addresses(16), 1);
        assert_eq!(addresses(16 * cores + 40), cores);
        assert_eq!(addresses(1), 1);
    }

    /// A text's states are forgotten with its memory: the keys of each text need states of their own, and
    /// all of them together need more than there may be.
    #[test]
    fn texts_do_not_use_up_the_states_of_those_that_follow() {
        let limits = crate::Limits { language_states: 4_000, ..crate::Limits::default() };
        let constraint = compiler()
            .with_limits(limits)
            .json_schema_str(r#"{"type": "object", "additionalProperties": {"type": "integer"}}"#)
            .unwrap();
        let states = |matcher: &Matcher| matcher.memory.lock().recognizer.languages.len();
        let mut made = 0;
        for n in 0..300 {
            let mut matcher = constraint.matcher();
            let before = states(&matcher);
            for byte in format!(r#"{{"first {n}": 1, "{n} second": 2, "third {n}": 3}}"#).bytes() {
                matcher.mask().unwrap();
                matcher.accept(byte.into()).unwrap();
            }
            made += states(&matcher) - before;
        }
        assert!(made > 2 * 4_000, "{made}");
    }

    /// Hot masks are the same as written ones, however often they are asked for.
    #[test]
    fn masks_that_are_asked_for_often_stay_the_same() {
        let constraint = compiler().json_schema_str(SCHEMA).unwrap();
        let mut row = vec![0; constraint.vocabulary().len().div_ceil(32)];
        for _ in 0..20 {
            let mut matcher = constraint.matcher();
            for byte in TEXT {
                matcher.fill_mask(&mut row).unwrap();
                assert_eq!(matcher.mask().unwrap().words(), row);
                assert_eq!(matcher.mask().unwrap().words(), row);
                matcher.accept_bytes(&[*byte]).unwrap();
            }
            matcher.rollback(3).unwrap();
            matcher.fill_mask(&mut row).unwrap();
            assert_eq!(matcher.mask().unwrap().words(), row);
        }
        assert!(constraint.cache_bytes() > 0);
    }

    #[test]
    fn an_error_of_one_row_is_the_batch_s() {
        let limits = crate::Limits {
            time_per_mask: Some(std::time::Duration::ZERO),
            ..crate::Limits::default()
        };
        let constraint = compiler().with_limits(limits).json_schema_str(SCHEMA).unwrap();
        // By one thread, and by all.
        for count in [40, MIN_SHARED_MASKS] {
            let mut matchers: Vec<Matcher> = (0..count).map(|_| constraint.matcher()).collect();
            let words = constraint.vocabulary().len().div_ceil(32);
            let mut rows = vec![0; matchers.len() * words];
            let mut batch: Vec<_> = matchers.iter_mut().zip(rows.chunks_mut(words)).collect();
            let error = fill_masks(&mut batch).unwrap_err();
            assert!(error.to_string().contains("time_per_mask"), "{error}");
        }
    }
}
