//! From constraint texts to compiled constraints.

use std::sync::{Arc, Mutex};

use super::compiled::Constraint;
use super::context::CompileContext;
use super::memory::MemoryRecipe;
use super::memory_pool::MemoryPool;
use crate::error::Result;
use crate::grammar::Grammar;
use crate::grammar::normal::normalize;
use crate::json_schema::{Frame, Hole, Options, Schema};
use crate::limits::Limits;
use crate::mask::Strategies;
use crate::mask::split_cache::SplitCache;
use crate::recognizer::Program;
use crate::recognizer::program::find_special;
use crate::vocabulary::Vocabulary;

/// Compiles constraints for one vocabulary. `Send + Sync`; one per vocabulary is enough.
#[derive(Clone, Debug)]
pub struct Compiler {
    pub(super) context: CompileContext,
}

impl Compiler {
    /// A compiler for a vocabulary, with default [`Limits`].
    pub fn new(vocabulary: impl Into<Arc<Vocabulary>>) -> Self {
        Self { context: CompileContext::new(vocabulary.into()) }
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        let splits = Arc::new(self.context.splits.with_limits(&limits));
        Self { context: CompileContext { limits, splits, ..self.context } }
    }

    /// The same with only some of the strategies that make masks fast; masks are the same. Shares
    /// nothing with the compiler that it was made from but schemas.
    #[doc(hidden)]
    #[must_use]
    pub fn with_strategies(self, strategies: Strategies) -> Self {
        let splits = Arc::new(SplitCache::new(&self.context.limits, strategies));
        splits.prepare(&self.context.vocabulary);
        Self { context: CompileContext { splits, ..self.context } }
    }

    /// The same with other choices of whitespace, digits, formats for JSON. Cheap: caches stay
    /// shared with the compiler that it was made from.
    #[must_use]
    pub fn with_json_options(self, json_options: Options) -> Self {
        Self { context: CompileContext { json_options, ..self.context } }
    }

    /// The same for constraints that begin behind text of this grammar, such as a model's
    /// [reasoning](crate::tools::Reasoning): both together are the language.
    ///
    /// Errors if the prefix is recursive or holds the empty text, or if it names a special token
    /// that the vocabulary does not have.
    pub fn with_prefix(self, prefix: &Grammar) -> Result<Self> {
        let prefix = prefix.resolved(|token| find_special(&self.context.vocabulary, token))?;
        prefix.check_prefix()?;
        let prefix = Some(Arc::new(prefix));
        Ok(Self { context: CompileContext { prefix, ..self.context } })
    }

    /// The vocabulary that constraints are compiled for.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.context.vocabulary
    }

    /// Compiles a grammar.
    ///
    /// Errors if no text satisfies it, if it names a special token that the vocabulary does not
    /// have, or if it is larger than the limits allow.
    pub fn compile(&self, grammar: Grammar) -> Result<Constraint> {
        self.context.limits.compiling(|| self.compile_whole(grammar))
    }

    fn compile_whole(&self, grammar: Grammar) -> Result<Constraint> {
        let grammar = match &self.context.prefix {
            Some(prefix) => prefix.then(&grammar)?,
            None => grammar,
        };
        let CompileContext { vocabulary, coverage, limits, .. } = &self.context;
        let (program, languages) = Program::new(grammar, vocabulary, coverage, limits)?;
        self.constraint(MemoryRecipe::Whole(Box::new(Mutex::new((program, languages)))))
    }

    /// Compiles a grammar in which some rules are schemas. These are made as they are entered, and
    /// remember the texts that they must.
    pub(crate) fn compile_frame(&self, grammar: Grammar, holes: Vec<Hole>) -> Result<Constraint> {
        self.context.limits.compiling(|| self.compile_holes(grammar, holes))
    }

    fn compile_holes(&self, grammar: Grammar, mut holes: Vec<Hole>) -> Result<Constraint> {
        let grammar = match &self.context.prefix {
            Some(prefix) => {
                holes.iter_mut().for_each(|hole| hole.rule = hole.rule.after(prefix.rules().len()));
                prefix.then(&grammar)?
            }
            None => grammar,
        };
        let grammar = grammar.resolved(|token| find_special(&self.context.vocabulary, token))?;
        // It has no left recursion, so its rules stay where they are.
        let grammar = normalize(grammar, self.context.limits.grammar_size)?;
        let resources = &self.context.json_options.resources;
        self.constraint(MemoryRecipe::Frame(Box::new(Frame::new(grammar, holes, resources)?)))
    }

    fn constraint(&self, recipe: MemoryRecipe) -> Result<Constraint> {
        Ok(Constraint { memories: Arc::new(MemoryPool::new(&self.context, recipe)?) })
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
        self.context.limits.compiling(|| {
            let schema = schema.with_resources(&self.context.json_options.resources)?;
            self.constraint(MemoryRecipe::Schema(Arc::new(schema)))
        })
    }
}
