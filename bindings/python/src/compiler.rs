//! `Compiler`: constraints of one tokenizer, with a cache.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use maskwright::constraint::ConstraintCache;
use maskwright::precompute::MaskPrecomputer;
use maskwright::{Error, ErrorKind};
use pyo3::prelude::*;
use serde::Deserialize;

use crate::constraint::Constraint;
use crate::error::NativeError;
use crate::spec::Spec;
use crate::tokenizer::Tokenizer;

/// Sets of stop tokens whose tables are kept beside those of the tokenizer's own: each costs about what a
/// compiler costs, and servers have one or two.
const MAX_STOP_SETS: usize = 4;

/// Compiles constraints for one tokenizer. Any number of threads may use one.
#[pyclass(frozen, module = "maskwright._native")]
pub(crate) struct Compiler {
    base: maskwright::Compiler,
    /// Compilers whose texts end with other tokens, the last used last.
    others: Mutex<Vec<(Vec<u32>, maskwright::Compiler)>>,
    cache: ConstraintCache,
    /// For how long masks of a new constraint are computed before texts need them; zero for not at all.
    precompute_time: Duration,
    /// Made with the first constraint, in the process that compiles it; none where no thread could be made.
    precomputer: OnceLock<Option<MaskPrecomputer>>,
}

impl Compiler {
    /// Lets masks of a new constraint be computed in the background.
    fn precompute(&self, constraint: &maskwright::Constraint) {
        if self.precompute_time.is_zero() {
            return;
        }
        let start = || MaskPrecomputer::new(self.precompute_time).ok();
        if let Some(precomputer) = self.precomputer.get_or_init(start) {
            precomputer.submit(constraint);
        }
    }

    /// The compiler whose texts end with the tokens of the spec, or with the tokenizer's.
    fn ending_as(&self, spec: &Spec) -> Result<maskwright::Compiler, Error> {
        let Some(stop) = &spec.stop_token_ids else { return Ok(self.base.clone()) };
        let stop = as_set(stop.clone());
        if as_set(self.base.vocabulary().end_tokens().to_vec()) == stop {
            return Ok(self.base.clone());
        }
        let width = self.base.vocabulary().len();
        if let Some(token) = stop.iter().find(|&&token| token as usize >= width) {
            let message = format!("there is no token {token} to end a text, of {width}");
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("give ids below the tokenizer's width"));
        }
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let known = others.iter().position(|(ids, _)| *ids == stop);
        let entry = match known {
            Some(index) => others.remove(index),
            None => {
                let vocabulary = (**self.base.vocabulary()).clone().with_end_tokens(&stop)?;
                let compiler = maskwright::Compiler::new(vocabulary)
                    .with_json_options(self.base.json_options().clone());
                (stop.clone(), compiler)
            }
        };
        let compiler = entry.1.clone();
        others.push(entry);
        if others.len() > MAX_STOP_SETS {
            let (gone, _) = others.remove(0);
            // Constraints keep the vocabulary that they were compiled for, which the cache does not count.
            self.cache.retain(|spec| stop_set(spec).as_ref() != Some(&gone));
        }
        Ok(compiler)
    }
}

#[pymethods]
impl Compiler {
    #[new]
    #[pyo3(signature = (tokenizer, cache_bytes, precompute))]
    fn new(
        py: Python<'_>,
        tokenizer: &Tokenizer,
        cache_bytes: usize,
        precompute: f64,
    ) -> Result<Self, NativeError> {
        let vocabulary = tokenizer.vocabulary.clone();
        let precompute_time = seconds(precompute)?;
        let base = py.detach(|| maskwright::Compiler::new(vocabulary));
        let cache = ConstraintCache::new(cache_bytes);
        let precomputer = OnceLock::new();
        Ok(Self { base, others: Mutex::default(), cache, precompute_time, precomputer })
    }

    /// The constraint of a spec.
    fn _compile(&self, py: Python<'_>, spec: String) -> Result<Constraint, NativeError> {
        py.detach(|| {
            let read = Spec::read(&spec)?;
            let compile = || {
                let constraint = read.compile(&self.ending_as(&read)?)?;
                self.precompute(&constraint);
                Ok(constraint)
            };
            let native = self.cache.get(&spec, compile)?;
            Ok(Constraint { native, spec: spec.into(), kind: read.kind })
        })
    }

    /// Waits until the masks of all new constraints are precomputed.
    fn wait_for_masks(&self, py: Python<'_>) -> PyResult<()> {
        let Some(Some(precomputer)) = self.precomputer.get() else { return Ok(()) };
        // So that an interrupt is heard.
        while !py.detach(|| precomputer.wait(Duration::from_millis(50))) {
            py.check_signals()?;
        }
        Ok(())
    }

    /// Checks the settings of a spec.
    fn _check(&self, py: Python<'_>, spec: &str) -> Result<(), NativeError> {
        py.detach(|| {
            let read = Spec::read(spec)?;
            read.configured(&self.ending_as(&read)?)?;
            Ok(())
        })
    }

    /// The number of constraints in the cache, their bytes, and how often one was found and was not.
    #[getter]
    fn cache_info(&self, py: Python<'_>) -> (usize, usize, u64, u64) {
        // Its locks are held while memories are made.
        let stats = py.detach(|| self.cache.stats());
        (stats.entries, stats.bytes, stats.hits, stats.misses)
    }

    /// Empties the cache. Constraints and matchers in use stay as they are.
    fn clear_cache(&self, py: Python<'_>) {
        py.detach(|| self.cache.clear());
    }
}

/// Stop tokens in ascending order, each once.
fn as_set(mut stop: Vec<u32>) -> Vec<u32> {
    stop.sort_unstable();
    stop.dedup();
    stop
}

/// The set of stop tokens that a spec gives, if it does.
fn stop_set(spec: &str) -> Option<Vec<u32>> {
    /// The member of a spec that names them; the others are passed over.
    #[derive(Deserialize)]
    struct StopTokens {
        stop_token_ids: Option<Vec<u32>>,
    }
    // A search is faster than reading, and most specs have none.
    if !spec.contains("\"stop_token_ids\"") {
        return None;
    }
    let read: StopTokens = serde_json::from_str(spec).ok()?;
    read.stop_token_ids.map(as_set)
}

/// A number of seconds that Python gave.
pub(crate) fn seconds(number: f64) -> Result<Duration, Error> {
    Duration::try_from_secs_f64(number).map_err(|error| {
        Error::new(ErrorKind::Request, format!("{number} is no number of seconds: {error}"))
            .with_help("give 0 or more, such as 0.01")
    })
}

/// Waits until no thread works on masks ahead of their need, and lets none begin.
#[pyfunction(name = "_pause_for_fork")]
pub(crate) fn pause_for_fork(py: Python<'_>) {
    // Another thread may be about to fork, and needs the interpreter before it lets this one go on.
    py.detach(maskwright::precompute::pause_for_fork);
}

/// Lets that work go on, in the parent or in the child of a fork.
#[pyfunction(name = "_resume_after_fork")]
pub(crate) fn resume_after_fork(is_child: bool) {
    maskwright::precompute::resume_after_fork(is_child);
}
