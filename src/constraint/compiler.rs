//! From constraint texts to compiled constraints.

use std::fmt;
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use super::matcher::Matcher;
use crate::deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::Grammar;
use crate::grammar::normal::normalize;
use crate::json_schema::{self, Options, Schema, SchemaHole, SchemaSource};
use crate::limits::{LimitName, Limits};
use crate::mask::slices::Slices;
use crate::recognizer::liveness::Spelling;
use crate::recognizer::program::{Program, check_nesting, find_special};
use crate::recognizer::stepping::{ConfigId, Machine};
use crate::regular::Languages;
use crate::vocabulary::Vocabulary;

/// Compiles constraints for one vocabulary. `Send + Sync`; one per vocabulary is enough.
///
/// Making one prepares tables for the vocabulary (faster from an
/// [index](Vocabulary::from_file_indexed)); constraints of one compiler share these and the token
/// slices that they compute. Clones share them, too, and may differ in options:
///
/// ```
/// use maskwright::json_schema::{Options, Whitespace};
/// use maskwright::{Compiler, Limits};
/// # use maskwright::Vocabulary;
/// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
/// # let vocabulary = Vocabulary::from_tokens(tokens, &[], &[])?;
/// let mut options = Options::default();
/// options.whitespace = Whitespace::Compact;
/// let compiler = Compiler::new(vocabulary)
///     .with_json_options(options)
///     .with_limits(Limits { depth: 100, ..Limits::default() });
/// assert!(compiler.json_schema_str(r#"{"type": "array"}"#)?.matcher().accept_bytes(b"[1,2]").is_ok());
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Methods
///
/// The name of a method is the front end; a suffix says what it takes or gives.
///
/// | the text must be | method | takes |
/// |---|---|---|
/// | JSON of a schema | [`json_schema`](Self::json_schema) | a `&serde_json::Value` |
/// | | [`json_schema_str`](Self::json_schema_str) | the schema's text; errors name line and column |
/// | | `json_schema_for::<T>` | a Rust type (feature `schemars`) |
/// | | [`json_schema_document`](Self::json_schema_document) | a parsed [`Schema`] |
/// | any JSON object | [`json_object`](Self::json_object) | |
/// | a match of a pattern | [`regex`](Self::regex), [`regex_search`](Self::regex_search) | a pattern |
/// | derived from a grammar | [`grammar`](Self::grammar) | text and [`Dialect`](crate::ebnf::Dialect) |
/// | | [`gbnf`](Self::gbnf), [`lark`](Self::lark), [`w3c_ebnf`](Self::w3c_ebnf), [`iso_ebnf`](Self::iso_ebnf), [`abnf`](Self::abnf) | text |
/// | one of a list | [`choice`](Self::choice) | texts |
/// | a quotation | [`quotation`](Self::quotation) | the units of the quoted text |
/// | several of these combined | [`formula`](Self::formula) | `{"allOf": […]}` and so on |
/// | a [`Grammar`] | [`compile`](Self::compile) | one that was built or parsed |
///
/// `…_grammar` methods ([`parse_grammar`](Self::parse_grammar),
/// [`regex_grammar`](Self::regex_grammar), [`choice_grammar`](Self::choice_grammar),
/// [`quotation_grammar`](Self::quotation_grammar)) stop before compiling: they give the [`Grammar`],
/// to embed in another one, to answer beside tool calls
/// ([`ToolCalls::with_answer`](crate::tools::ToolCalls::with_answer)), or to look at.
#[derive(Clone, Debug)]
pub struct Compiler {
    vocabulary: Arc<Vocabulary>,
    limits: Limits,
    pub(crate) json_options: Options,
    slices: Arc<Slices>,
    /// What the compiled schemas share.
    schemas: Arc<json_schema::Shared>,
    spelling: Spelling,
    /// What stands before every text.
    prefix: Option<Arc<Grammar>>,
}

impl Compiler {
    /// A compiler for a vocabulary, with default [`Limits`].
    pub fn new(vocabulary: impl Into<Arc<Vocabulary>>) -> Self {
        let limits = Limits::default();
        let slices = Arc::new(Slices::new(&limits));
        let json_options = Options::default();
        let vocabulary = vocabulary.into();
        let spelling = Spelling::new(&vocabulary);
        slices.prepare(&vocabulary);
        let schemas: Arc<json_schema::Shared> = Arc::default();
        schemas.prepare();
        Self { vocabulary, limits, json_options, slices, schemas, spelling, prefix: None }
    }

    /// The same with other limits. Token slices beyond a smaller bound are dropped.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        let slices = Arc::new(self.slices.with_limits(&limits));
        Self { limits, slices, ..self }
    }

    /// The same with other options of JSON: whitespace, digits, formats, resources. Cheap: caches
    /// stay shared with the compiler that it was made from.
    #[must_use]
    pub fn with_json_options(self, json_options: Options) -> Self {
        Self { json_options, ..self }
    }

    /// The same for constraints that begin behind text of this grammar, such as a model's
    /// [reasoning](crate::tools::ReasoningFormat): both together are the language.
    ///
    /// Errors if the prefix names a special token that the vocabulary does not have.
    pub fn with_prefix(self, prefix: &Grammar) -> Result<Self> {
        let prefix = prefix.resolved(|token| find_special(&self.vocabulary, token))?;
        Ok(Self { prefix: Some(Arc::new(prefix)), ..self })
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
        self.limits.compiling(|| self.compile_whole(grammar))
    }

    fn compile_whole(&self, grammar: Grammar) -> Result<Constraint> {
        let grammar = match &self.prefix {
            Some(prefix) => prefix.then(&grammar)?,
            None => grammar,
        };
        if grammar.holes().is_empty() {
            let (program, languages) =
                Program::new(grammar, &self.vocabulary, &self.spelling, &self.limits)?;
            return self.constraint(Recipe::Whole(Box::new(Mutex::new((program, languages)))));
        }
        let grammar = grammar.resolved(|token| find_special(&self.vocabulary, token))?;
        let mut grammar = normalize(grammar, self.limits.grammar_size)?;
        check_nesting(&grammar)?;
        grammar.languages_mut().set_limit(self.limits.language_states);
        if !grammar.remove_dead_parts(self.spelling.any)? {
            return Err(Error::new(ErrorKind::Unsatisfiable, "no text satisfies the constraint")
                .with_help("look for parts that exclude each other"));
        }
        self.constraint(Recipe::WithSchemas(Box::new(grammar)))
    }

    fn constraint(&self, recipe: Recipe) -> Result<Constraint> {
        let cells = Mutex::new(vec![recipe.fresh(self)?]);
        Ok(Constraint { shared: Arc::new(Shared { compiler: self.clone(), recipe, cells }) })
    }

    /// JSON that a schema accepts, written by the compiler's [`Options`].
    pub fn json_schema(&self, schema: &serde_json::Value) -> Result<Constraint> {
        self.json_schema_document(Schema::from_value(schema)?)
    }

    /// The same from the schema's text: errors name line and column, and numbers are taken as they
    /// are written, digit by digit.
    pub fn json_schema_str(&self, schema: &str) -> Result<Constraint> {
        self.json_schema_document(Schema::from_text(schema)?)
    }

    /// JSON that deserialises into a `T`, by the schema that `schemars` derives for it. Needs the
    /// feature `schemars`.
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
    /// let constraint = Compiler::new(vocabulary).json_schema_for::<Person>()?;
    /// let mut matcher = constraint.matcher();
    /// matcher.accept_bytes(br#"{"name": "Grace", "age": 85}"#)?;
    /// assert!(matcher.is_accepting());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    #[cfg(feature = "schemars")]
    pub fn json_schema_for<T: schemars::JsonSchema>(&self) -> Result<Constraint> {
        let schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>();
        self.json_schema(&schema.to_value())
    }

    /// Any JSON object.
    pub fn json_object(&self) -> Result<Constraint> {
        self.json_schema_str(r#"{"type": "object"}"#)
    }

    /// JSON that a parsed schema accepts: one whose references lead to other documents, or whose
    /// draft was chosen.
    pub fn json_schema_document(&self, schema: Schema) -> Result<Constraint> {
        self.limits.compiling(|| {
            let schema = SchemaHole::new(schema, &self.json_options, None)?;
            self.compile_whole(schema.grammar()?)
        })
    }
}

/// What matchers share: the program, as far as it is made, and what is known of it.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) program: Program,
    pub(crate) machine: Machine,
}

impl Memory {
    pub(crate) fn bytes(&self) -> usize {
        self.program.bytes() + self.machine.bytes()
    }
}

/// Memory behind a lock, since every step may add to it, and where it starts.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    memory: Arc<Mutex<Memory>>,
    /// The configuration before any text.
    pub(crate) start: ConfigId,
    /// The bytes that it took at first.
    pub(crate) bytes: usize,
    /// The states of terminals that it held at first.
    states: usize,
}

impl Cell {
    /// Tells memories apart.
    pub(crate) fn address(&self) -> *const () {
        Arc::as_ptr(&self.memory).cast()
    }

    /// How many matchers use it.
    fn users(&self) -> usize {
        // The one is the constraint's own.
        Arc::strong_count(&self.memory) - 1
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Memory> {
        // Every operation leaves it consistent, whatever happens between two of them.
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.machine.languages.budget.begin_task();
        memory
    }
}

/// How to begin again without memory.
#[derive(Debug)]
enum Recipe {
    Whole(Box<Mutex<(Program, Languages)>>),
    /// A grammar with schemas in it, in normal form, without dead parts.
    WithSchemas(Box<Grammar>),
}

impl Recipe {
    /// Memory as it is after compiling.
    fn fresh(&self, compiler: &Compiler) -> Result<Cell> {
        let (program, languages) = match self {
            Self::Whole(whole) => {
                let whole = whole.lock().unwrap_or_else(PoisonError::into_inner);
                (whole.0.copy(), whole.1.clone())
            }
            Self::WithSchemas(grammar) => {
                let limits = &compiler.limits;
                let (mut source, start) = SchemaSource::new(grammar, limits, &compiler.schemas)?;
                source.set_every_byte(compiler.spelling.every_byte());
                Program::lazy(Box::new(source), start, limits)
            }
        };
        let slices = Arc::clone(&compiler.slices);
        let (machine, start) = Machine::new(
            &program,
            &compiler.vocabulary,
            languages,
            slices,
            &compiler.spelling,
            &compiler.limits,
        )?;
        let memory = Memory { program, machine };
        let (bytes, states) = (memory.bytes(), memory.machine.languages.len());
        Ok(Cell { memory: Arc::new(Mutex::new(memory)), start, bytes, states })
    }
}

#[derive(Debug)]
pub(crate) struct Shared {
    compiler: Compiler,
    recipe: Recipe,
    /// The memories that new matchers use, one at least; when one outgrows its limit, fresh memory
    /// takes its place, and it goes with the last of the matchers that use it.
    cells: Mutex<Vec<Cell>>,
}

/// The cores that the program may use, asked for once: asking takes longer than many masks.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}

/// Matchers that share a memory before another one is made. Matchers of one memory learn from each
/// other, and wait for each other.
const MATCHERS: usize = 16;

impl Shared {
    pub(crate) fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.compiler.vocabulary
    }

    /// The memory for a new matcher: the first that few others use; where there is none, another
    /// one, so that many sequences can be worked on by as many cores as there are.
    fn current(&self) -> Cell {
        let mut cells = self.lock();
        let few = cells.iter().position(|cell| cell.users() < MATCHERS);
        // What was compiled once compiles again; if not, the old memory serves.
        let fresh = || self.compiler.limits.compiling(|| self.recipe.fresh(&self.compiler));
        let least = || (0..cells.len()).min_by_key(|&index| cells[index].users());
        let index = match few {
            Some(index) => index,
            None if cells.len() < cores()
                && let Ok(cell) = fresh() =>
            {
                cells.push(cell.clone());
                return cell;
            }
            None => least().unwrap_or(0),
        };
        if self.is_outgrown(&cells[index], cells.len())
            && let Ok(cell) = fresh()
        {
            cells[index] = cell;
        }
        cells[index].clone()
    }

    /// Has one of so many memories learned so much that the next text should begin without? Beyond
    /// its bytes, or so many states of terminals that half of what is left of them may not be
    /// enough for a text.
    fn is_outgrown(&self, cell: &Cell, cells: usize) -> bool {
        let limits = &self.compiler.limits;
        let memory = cell.lock();
        let states = memory.machine.languages.len() - cell.states;
        memory.bytes() > limits.cache_bytes / cells + cell.bytes
            || states > limits.language_states.saturating_sub(cell.states) / 2
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Cell>> {
        // Consistent between any two operations.
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that masks may take that are kept whole.
    pub(crate) fn lent_bytes(&self) -> usize {
        self.compiler.limits.cache_bytes / 8
    }

    /// Runs what a matcher asks for, in the time that it may take.
    pub(crate) fn timed<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        deadline::within(LimitName::TimePerMask, self.compiler.limits.time_per_mask, run)
    }

    /// Forgets the masks in a memory that has outgrown its limit while a matcher holds it.
    pub(crate) fn relieve(&self, memory: &mut Memory) {
        if memory.machine.masks.bytes() > self.compiler.limits.cache_bytes {
            memory.machine.masks.forget();
            memory.machine.lent.forget();
        }
        if memory.machine.finishing.bytes() > self.compiler.limits.cache_bytes {
            memory.machine.finishing.forget();
        }
    }
}

/// A compiled constraint. Cheap to clone; `Send + Sync`; what matchers learn is shared by all of
/// them, within [`Limits::cache_bytes`].
#[derive(Clone)]
pub struct Constraint {
    pub(crate) shared: Arc<Shared>,
}

impl Constraint {
    /// A matcher at the start of a text; one per sequence.
    pub fn matcher(&self) -> Matcher {
        Matcher::new(self.clone(), self.shared.current())
    }

    /// Memory of its own, as it is after compiling, so that what is learned there depends on no
    /// other matcher; and how many bytes it may take.
    pub(crate) fn fresh(&self) -> Result<(Cell, usize)> {
        let compiler = &self.shared.compiler;
        Ok((self.shared.recipe.fresh(compiler)?, compiler.limits.cache_bytes))
    }

    /// The vocabulary that it was compiled for.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.shared.vocabulary()
    }

    /// The limits that it was compiled with.
    pub(crate) fn limits(&self) -> &Limits {
        &self.shared.compiler.limits
    }

    /// About how many bytes its memory takes now.
    pub fn cache_bytes(&self) -> usize {
        self.shared.lock().iter().map(|cell| cell.lock().bytes()).sum()
    }
}

impl fmt::Debug for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Constraint").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The keys of each text need states of their own; all of them together need more than there may be.
    #[test]
    fn texts_do_not_use_up_the_states_of_those_that_follow() {
        let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
        let limits = Limits { language_states: 4_000, ..Limits::default() };
        let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[]).unwrap());
        let constraint = compiler
            .with_limits(limits)
            .json_schema_str(r#"{"type": "object", "additionalProperties": {"type": "integer"}}"#)
            .unwrap();
        let mut states = 0;
        for n in 0..300 {
            let mut matcher = constraint.matcher();
            let before = matcher.cell.lock().machine.languages.len();
            for byte in format!(r#"{{"first {n}": 1, "{n} second": 2, "third {n}": 3}}"#).bytes() {
                matcher.mask().unwrap();
                matcher.accept(byte.into()).unwrap();
            }
            states += matcher.cell.lock().machine.languages.len() - before;
        }
        assert!(states > 2 * 4_000, "{states}");
    }
}
