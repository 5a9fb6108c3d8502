//! Compiled constraints by what they were compiled from, bounded in bytes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::compiled::Constraint;
use crate::error::{Error, LimitName, Result};

/// Constraints that were compiled before, for servers to which many clients send the same schema. A
/// constraint that is found has learned from all matchers before: its masks are mostly known.
///
/// The caller chooses the key, a text of everything that the constraint depends on. Threads that ask for a
/// key while it is being compiled wait for that one compilation. Errors of a compilation are kept, too,
/// except those of a time limit.
///
/// The bytes are counted when a constraint is added; then the least recently used ones are dropped until
/// the others fit. Matchers of a dropped constraint go on.
///
/// ```
/// use maskwright::constraint::ConstraintCache;
/// # use maskwright::{Compiler, Vocabulary};
/// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
/// # let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[])?);
/// let cache = ConstraintCache::new(64 << 20);
/// for _ in 0..3 {
///     let constraint = cache.get("regex [a-z]+", || compiler.regex("[a-z]+"))?;
///     assert!(constraint.matcher().accept_bytes(b"abc").is_ok());
/// }
/// assert_eq!((cache.stats().hits, cache.stats().misses), (2, 1));
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Debug)]
pub struct ConstraintCache {
    max_bytes: usize,
    entries: Mutex<Entries>,
}

/// The figures of a [`ConstraintCache`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConstraintCacheStats {
    /// Constraints and refusals that are kept.
    pub entries: usize,
    /// Their bytes, those of their keys among them.
    pub bytes: usize,
    /// Times that a key was found.
    pub hits: u64,
    /// Times that it was not.
    pub misses: u64,
}

/// The constraint of a key, or its refusal, once it is there.
type Cell = Arc<OnceLock<Result<Constraint>>>;

#[derive(Debug)]
struct Entry {
    cell: Cell,
    /// The time of the last use, counted in uses.
    used: u64,
}

#[derive(Debug, Default)]
struct Entries {
    by_key: HashMap<Arc<str>, Entry>,
    hits: u64,
    misses: u64,
}

impl Entry {
    /// Bytes of its constraint; a refusal is small.
    fn bytes(&self, key: &str) -> usize {
        let made = self.cell.get().and_then(|made| made.as_ref().ok());
        key.len() + size_of::<Self>() + made.map_or(0, Constraint::cache_bytes)
    }
}

impl ConstraintCache {
    /// A cache of at most so many bytes; 0 keeps nothing.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, entries: Mutex::default() }
    }

    /// The constraint of a key, compiled once however many threads ask.
    ///
    /// Errors as the compilation does, or did.
    pub fn get(
        &self,
        key: &str,
        mut compile: impl FnMut() -> Result<Constraint>,
    ) -> Result<Constraint> {
        if self.max_bytes == 0 {
            return compile();
        }
        loop {
            let cell = self.cell(key);
            let mut is_ours = false;
            let made = cell.get_or_init(|| {
                is_ours = true;
                compile()
            });
            if made.as_ref().is_err_and(is_for_want_of_time) {
                self.forget(key, &cell);
                // The time of another caller was over, or its client has left: ours is not.
                if !is_ours {
                    continue;
                }
            } else if is_ours {
                self.evict(key);
            }
            return made.clone();
        }
    }

    /// The figures now. Takes time in proportion to the number of entries.
    pub fn stats(&self) -> ConstraintCacheStats {
        let entries = self.lock();
        ConstraintCacheStats {
            entries: entries.by_key.len(),
            bytes: entries.by_key.iter().map(|(key, entry)| entry.bytes(key)).sum(),
            hits: entries.hits,
            misses: entries.misses,
        }
    }

    /// Keeps only entries whose keys satisfy a condition. Constraints and matchers in use stay as they are.
    pub fn retain(&self, keep: impl Fn(&str) -> bool) {
        self.lock().by_key.retain(|key, _| keep(key));
    }

    /// Empties it. Constraints and matchers in use stay as they are.
    pub fn clear(&self) {
        self.lock().by_key.clear();
    }

    fn cell(&self, key: &str) -> Cell {
        let mut entries = self.lock();
        let used = entries.hits + entries.misses;
        if let Some(entry) = entries.by_key.get_mut(key) {
            entry.used = used;
            let cell = Arc::clone(&entry.cell);
            entries.hits += 1;
            return cell;
        }
        entries.misses += 1;
        let cell = Cell::default();
        entries.by_key.insert(key.into(), Entry { cell: Arc::clone(&cell), used });
        cell
    }

    fn forget(&self, key: &str, cell: &Cell) {
        let mut entries = self.lock();
        if entries.by_key.get(key).is_some_and(|entry| Arc::ptr_eq(&entry.cell, cell)) {
            entries.by_key.remove(key);
        }
    }

    /// Drops what was not used for longest until the rest fits; the entry of `key` goes last.
    fn evict(&self, key: &str) {
        let mut entries = self.lock();
        let sizes = entries.by_key.iter().map(|(key, entry)| (entry.used, entry.bytes(key), key));
        let mut sizes: Vec<(u64, usize, Arc<str>)> =
            sizes.map(|(used, bytes, key)| (used, bytes, Arc::clone(key))).collect();
        let mut bytes: usize = sizes.iter().map(|(_, bytes, _)| bytes).sum();
        if bytes <= self.max_bytes {
            return;
        }
        sizes.sort_unstable_by_key(|(used, _, of)| (&**of == key, *used));
        for (_, size, key) in sizes {
            if bytes <= self.max_bytes {
                break;
            }
            entries.by_key.remove(&key);
            bytes -= size;
        }
    }

    /// Entries are consistent after each statement.
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether another compilation of the same may succeed.
fn is_for_want_of_time(error: &Error) -> bool {
    matches!(error.limit(), Some(LimitName::TimePerConstraint | LimitName::TimePerMask))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::{Compiler, ErrorKind, Limits, Vocabulary};

    fn compiler() -> Compiler {
        let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
        Compiler::new(Vocabulary::from_tokens(tokens, &[], &[]).unwrap())
    }

    #[test]
    fn threads_that_ask_for_one_key_compile_once() {
        let (cache, compiler) = (ConstraintCache::new(1 << 30), compiler());
        let (compiled, start) = (AtomicUsize::new(0), Barrier::new(8));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    let constraint = cache.get("a", || {
                        compiled.fetch_add(1, Ordering::Relaxed);
                        thread::sleep(Duration::from_millis(20));
                        compiler.regex("a+")
                    });
                    assert!(constraint.unwrap().matcher().accept_bytes(b"aa").is_ok());
                });
            }
        });
        assert_eq!(compiled.into_inner(), 1);
        assert_eq!((cache.stats().hits, cache.stats().misses), (7, 1));
    }

    #[test]
    fn refusals_are_kept_but_those_for_want_of_time() {
        let (cache, compiler) = (ConstraintCache::new(1 << 30), compiler());
        let mut compiled = 0;
        for _ in 0..2 {
            let refused = cache.get("(", || {
                compiled += 1;
                compiler.regex("(")
            });
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Regex);
        }
        assert_eq!((compiled, cache.stats().entries), (1, 1));
        let limits = Limits { time_per_constraint: Some(Duration::ZERO), ..Limits::default() };
        let hurried = compiler.clone().with_limits(limits);
        let refused = cache.get("a", || hurried.regex("a"));
        assert_eq!(refused.unwrap_err().limit(), Some(LimitName::TimePerConstraint));
        assert!(cache.get("a", || compiler.regex("a")).is_ok());
    }

    /// A waiting thread whose own time is not over compiles anew.
    #[test]
    fn the_end_of_anothers_time_is_not_ours() {
        let (cache, compiler) = (ConstraintCache::new(1 << 30), compiler());
        let limits = Limits { time_per_constraint: Some(Duration::ZERO), ..Limits::default() };
        let hurried = compiler.clone().with_limits(limits);
        let begun = Barrier::new(2);
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                cache.get("a", || {
                    begun.wait();
                    thread::sleep(Duration::from_millis(20));
                    hurried.regex("a")
                })
            });
            begun.wait();
            assert!(cache.get("a", || compiler.regex("a")).is_ok());
            assert!(other.join().unwrap().is_err());
        });
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let compiler = compiler();
        let compile = |key: &str| compiler.regex(key);
        let one = ConstraintCache::new(1 << 30);
        one.get("a{1}", || compile("a{1}")).unwrap();
        let cache = ConstraintCache::new(one.stats().bytes * 5 / 2);
        for key in ["a{1}", "a{2}", "a{1}", "a{3}"] {
            cache.get(key, || compile(key)).unwrap();
        }
        assert!(cache.stats().bytes <= one.stats().bytes * 5 / 2, "{:?}", cache.stats());
        let misses = cache.stats().misses;
        cache.get("a{1}", || compile("a{1}")).unwrap();
        assert_eq!(cache.stats().misses, misses);
        cache.get("a{2}", || compile("a{2}")).unwrap();
        assert_eq!(cache.stats().misses, misses + 1);
        cache.clear();
        assert_eq!(cache.stats().entries, 0);
        // Nothing is kept without room.
        let none = ConstraintCache::new(0);
        assert!(none.get("a", || compile("a")).is_ok() && none.stats().misses == 0);
    }
}
