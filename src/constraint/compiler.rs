//! From constraint texts to compiled constraints.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::limits::Limits;
use super::liveness::Spelling;
use super::machine::{ConfigId, Machine};
use super::matcher::Matcher;
use super::program::Program;
use super::slices::Slices;
use crate::error::Result;
use crate::grammar::{Grammar, GrammarBuilder};
use crate::json_schema::{Options, Schema};
use crate::regex::{self, Utf8};
use crate::vocab::Vocabulary;

/// Compiles constraints for one vocabulary. `Send + Sync`; one per vocabulary is enough.
#[derive(Clone, Debug)]
pub struct Compiler {
    vocabulary: Arc<Vocabulary>,
    limits: Limits,
    pub(super) json_options: Options,
    slices: Arc<Slices>,
    spelling: Spelling,
}

impl Compiler {
    /// A compiler for a vocabulary, with default [`Limits`].
    pub fn new(vocabulary: impl Into<Arc<Vocabulary>>) -> Self {
        let limits = Limits::default();
        let slices = Arc::new(Slices::new(&limits));
        let json_options = Options::default();
        let vocabulary = vocabulary.into();
        let spelling = Spelling::new(&vocabulary);
        Self { vocabulary, limits, json_options, slices, spelling }
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        let slices = Arc::new(Slices::new(&limits));
        Self { limits, slices, ..self }
    }

    /// The same with other choices of whitespace, digits, formats for JSON. Cheap: caches stay
    /// shared with the compiler that it was made from.
    #[must_use]
    pub fn with_json_options(self, json_options: Options) -> Self {
        Self { json_options, ..self }
    }

    /// The vocabulary that constraints are compiled for.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// Compiles a grammar.
    ///
    /// Errors if no text satisfies it, if it names a special token that the vocabulary does not
    /// have, or if it is larger than the limits allow.
    pub fn compile(&self, grammar: Grammar) -> Result<Constraint> {
        let (program, languages) =
            Program::new(grammar, &self.vocabulary, &self.spelling, &self.limits)?;
        let vocabulary = Arc::clone(&self.vocabulary);
        let slices = Arc::clone(&self.slices);
        let (fresh, start) =
            Machine::new(&program, &vocabulary, languages, slices, &self.spelling, &self.limits)?;
        let current = Mutex::new(Cell::new(fresh.clone()));
        let cache_bytes = self.limits.cache_bytes;
        let shared = Shared { vocabulary, program, cache_bytes, fresh, start, current };
        Ok(Constraint { shared: Arc::new(shared) })
    }

    /// JSON that a schema accepts, by the compiler's [`Options`].
    pub fn json_schema(&self, schema: &serde_json::Value) -> Result<Constraint> {
        self.schema(&Schema::from_value(schema)?)
    }

    /// The same from the schema's text: errors name line and column, and numbers are taken as they
    /// are written.
    pub fn json_schema_text(&self, schema: &str) -> Result<Constraint> {
        self.schema(&Schema::from_text(schema)?)
    }

    /// JSON that deserialises into a `T`, by the schema that `schemars` derives for it.
    ///
    /// ```
    /// # use maskwright::{Compiler, Vocabulary};
    /// #[derive(schemars::JsonSchema)]
    /// struct Person {
    ///     name: String,
    ///     age: u8,
    /// }
    /// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
    /// # let vocabulary = Vocabulary::from_tokens(tokens, &[], &[])?;
    /// let constraint = Compiler::new(vocabulary).for_type::<Person>()?;
    /// let mut matcher = constraint.matcher();
    /// matcher.accept_bytes(br#"{"name": "Grace", "age": 85}"#)?;
    /// assert!(matcher.is_accepting());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn for_type<T: schemars::JsonSchema>(&self) -> Result<Constraint> {
        let schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>();
        self.json_schema(&schema.to_value())
    }

    /// Any JSON object.
    pub fn json_object(&self) -> Result<Constraint> {
        self.json_schema_text(r#"{"type": "object"}"#)
    }

    fn schema(&self, schema: &Schema) -> Result<Constraint> {
        self.compile(schema.grammar(&self.json_options)?)
    }

    /// Text that matches a regular expression, whole, in the syntax of Rust's `regex` crate.
    pub fn regex(&self, pattern: &str) -> Result<Constraint> {
        let mut grammar = GrammarBuilder::new();
        let options = regex::Options::default();
        let language = regex::parse(grammar.languages(), pattern, options, &Utf8)?;
        let body = grammar.regular(language);
        let rule = grammar.rule("regex", body);
        self.compile(grammar.finish(rule)?)
    }

    /// Exactly one of these texts.
    pub fn choice<S: AsRef<str>>(&self, choices: &[S]) -> Result<Constraint> {
        let mut grammar = GrammarBuilder::new();
        let texts = choices.iter().map(|choice| choice.as_ref().as_bytes());
        let language = grammar.languages().literals(texts);
        let body = grammar.regular(language);
        let rule = grammar.rule("choice", body);
        self.compile(grammar.finish(rule)?)
    }
}

/// A machine that matchers share. Behind a lock, since every step may remember something.
#[derive(Clone, Debug)]
pub(super) struct Cell(Arc<Mutex<Machine>>);

impl Cell {
    fn new(machine: Machine) -> Self {
        Self(Arc::new(Mutex::new(machine)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Machine> {
        // Every operation leaves the machine consistent, whatever happens between two of them.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) vocabulary: Arc<Vocabulary>,
    pub(super) program: Program,
    cache_bytes: usize,
    /// The machine as it was after compiling, without memory.
    fresh: Machine,
    /// The configuration before any text; the same in every copy of `fresh`.
    start: ConfigId,
    /// The machine that new matchers use. When it outgrows its limit a fresh one takes its place;
    /// matchers that still hold the old one move over at their next step.
    current: Mutex<Cell>,
}

impl Shared {
    /// The machine to use from now on.
    pub(super) fn current(&self) -> Cell {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.lock().bytes() > self.cache_bytes + self.fresh.bytes() {
            *current = Cell::new(self.fresh.clone());
        }
        current.clone()
    }
}

/// A compiled constraint. Cheap to clone; `Send + Sync`; what matchers learn is shared by all of
/// them, within [`Limits::cache_bytes`].
#[derive(Clone)]
pub struct Constraint {
    pub(super) shared: Arc<Shared>,
}

impl Constraint {
    /// A matcher at the start of a text; one per sequence.
    pub fn matcher(&self) -> Matcher {
        Matcher::new(self.clone(), self.shared.current(), self.shared.start)
    }

    /// The vocabulary that it was compiled for.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.shared.vocabulary
    }

    /// About how many bytes its memory takes now.
    pub fn cache_bytes(&self) -> usize {
        self.shared.current().lock().bytes()
    }
}

impl fmt::Debug for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Constraint").finish_non_exhaustive()
    }
}
