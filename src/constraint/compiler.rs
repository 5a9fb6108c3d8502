//! From constraint texts to compiled constraints.

use std::fmt;
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use super::matcher::Matcher;
use crate::deadline;
use crate::error::Result;
use crate::grammar::Grammar;
use crate::grammar::normal::normalize;
use crate::json_schema::{self, Frame, Hole, Options, Schema, SchemaSource};
use crate::limits::Limits;
use crate::mask::split::SplitCache;
use crate::mask::{Strategies, Strategy};
use crate::recognizer::liveness::Spelling;
use crate::recognizer::program::{Program, find_special};
use crate::recognizer::stepping::{ConfigId, Machine};
use crate::regular::Languages;
use crate::vocabulary::Vocabulary;

/// Compiles constraints for one vocabulary. `Send + Sync`; one per vocabulary is enough.
#[derive(Clone, Debug)]
pub struct Compiler {
    vocabulary: Arc<Vocabulary>,
    limits: Limits,
    pub(crate) json_options: Options,
    slices: Arc<SplitCache>,
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
        let slices = Arc::new(SplitCache::new(&limits, Strategies::ALL));
        let json_options = Options::default();
        let vocabulary = vocabulary.into();
        let spelling = Spelling::new(&vocabulary);
        slices.prepare(&vocabulary);
        let schemas: Arc<json_schema::Shared> = Arc::default();
        schemas.prepare();
        Self { vocabulary, limits, json_options, slices, schemas, spelling, prefix: None }
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        let slices = Arc::new(self.slices.with_limits(&limits));
        Self { limits, slices, ..self }
    }

    /// The same with only some of the strategies that make masks fast; masks are the same. Shares
    /// nothing with the compiler that it was made from but schemas.
    #[doc(hidden)]
    #[must_use]
    pub fn with_strategies(self, strategies: Strategies) -> Self {
        let slices = Arc::new(SplitCache::new(&self.limits, strategies));
        slices.prepare(&self.vocabulary);
        Self { slices, ..self }
    }

    /// The same with other choices of whitespace, digits, formats for JSON. Cheap: caches stay
    /// shared with the compiler that it was made from.
    #[must_use]
    pub fn with_json_options(self, json_options: Options) -> Self {
        Self { json_options, ..self }
    }

    /// The same for constraints that begin behind text of this grammar, such as a model's
    /// [reasoning](crate::tools::Reasoning): both together are the language.
    ///
    /// Errors if the prefix is recursive or holds the empty text, or if it names a special token
    /// that the vocabulary does not have.
    pub fn with_prefix(self, prefix: &Grammar) -> Result<Self> {
        let prefix = prefix.resolved(|token| find_special(&self.vocabulary, token))?;
        prefix.check_prefix()?;
        Ok(Self { prefix: Some(Arc::new(prefix)), ..self })
    }

    /// Whether items that must differ may be looked up where they end: every text can be spelled.
    fn looks_up_items(&self) -> bool {
        self.spelling.every_byte() && self.slices.strategies().has(Strategy::LookedUp)
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
        let (program, languages) =
            Program::new(grammar, &self.vocabulary, &self.spelling, &self.limits)?;
        self.constraint(Recipe::Whole(Box::new(Mutex::new((program, languages)))))
    }

    /// Compiles a grammar of which some rules are what schemas accept. They are made as they are
    /// entered, and remember what must be remembered.
    pub(crate) fn compile_frame(&self, grammar: Grammar, holes: Vec<Hole>) -> Result<Constraint> {
        self.limits.compiling(|| self.compile_holes(grammar, holes))
    }

    fn compile_holes(&self, grammar: Grammar, mut holes: Vec<Hole>) -> Result<Constraint> {
        let grammar = match &self.prefix {
            Some(prefix) => {
                holes.iter_mut().for_each(|hole| hole.rule = hole.rule.after(prefix.rules().len()));
                prefix.then(&grammar)?
            }
            None => grammar,
        };
        let grammar = grammar.resolved(|token| find_special(&self.vocabulary, token))?;
        // It has no left recursion, so its rules stay where they are.
        let grammar = normalize(grammar, self.limits.grammar_size)?;
        self.constraint(Recipe::Frame(Box::new(Frame::new(
            grammar,
            holes,
            &self.json_options.resources,
        )?)))
    }

    fn constraint(&self, recipe: Recipe) -> Result<Constraint> {
        let cells = Mutex::new(vec![recipe.fresh(self)?]);
        Ok(Constraint { shared: Arc::new(Shared { compiler: self.clone(), recipe, cells }) })
    }

    /// JSON that a schema accepts, by the compiler's [`Options`].
    pub fn json_schema(&self, schema: &serde_json::Value) -> Result<Constraint> {
        self.schema(Schema::from_value(schema)?)
    }

    /// The same from the schema's text: errors name line and column, and numbers are taken as they
    /// are written.
    pub fn json_schema_text(&self, schema: &str) -> Result<Constraint> {
        self.schema(Schema::from_text(schema)?)
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

    /// JSON that a schema accepts whose references lead to other documents, too.
    pub fn schema(&self, schema: Schema) -> Result<Constraint> {
        self.limits.compiling(|| {
            let schema = schema.with_resources(&self.json_options.resources)?;
            self.constraint(Recipe::Schema(Arc::new(schema)))
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
        memory.machine.languages.begin();
        memory
    }
}

/// How to begin again without memory.
#[derive(Debug)]
enum Recipe {
    Whole(Box<Mutex<(Program, Languages)>>),
    Schema(Arc<Schema>),
    Frame(Box<Frame>),
}

impl Recipe {
    /// Memory as it is after compiling.
    fn fresh(&self, compiler: &Compiler) -> Result<Cell> {
        let (program, languages) = match self {
            Self::Whole(whole) => {
                let whole = whole.lock().unwrap_or_else(PoisonError::into_inner);
                (whole.0.copy(), whole.1.clone())
            }
            Self::Schema(schema) => {
                let (options, limits) = (&compiler.json_options, &compiler.limits);
                let prefix = compiler.prefix.as_deref();
                let (mut source, start) =
                    SchemaSource::new(schema, options, limits, &compiler.schemas, prefix)?;
                source.set_every_byte(compiler.looks_up_items());
                Program::lazy(Box::new(source), start, limits)
            }
            Self::Frame(frame) => {
                let (options, limits) = (&compiler.json_options, &compiler.limits);
                let (mut source, start) =
                    SchemaSource::framed(frame, options, limits, &compiler.schemas)?;
                source.set_every_byte(compiler.looks_up_items());
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

    /// Whether masks that are asked for often are kept whole.
    pub(crate) fn keeps_hot_masks(&self) -> bool {
        self.compiler.slices.strategies().has(Strategy::HotMasks)
    }

    /// Runs what a matcher asks for, in the time that it may take.
    pub(crate) fn timed<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        deadline::within("time_per_mask", self.compiler.limits.time_per_mask, run)
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
            .json_schema_text(r#"{"type": "object", "additionalProperties": {"type": "integer"}}"#)
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
