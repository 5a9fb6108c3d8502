//! From constraint texts to compiled constraints.

mod captured_holes;

use std::sync::{Arc, Mutex};

use super::captures::CaptureParser;
use super::compiled::Constraint;
use super::context::CompileContext;
use super::memory::MemoryTemplate;
use super::memory_pool::MemoryPool;
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::Grammar;
use crate::grammar::normal::normalize;
use crate::json_schema::{Options, Schema, SchemaHole};
use crate::limits::Limits;
use crate::mask::Strategies;
use crate::mask::split_cache::SplitCache;
use crate::recognizer::Program;
use crate::recognizer::program::{check_nesting, resolve_tokens};
use crate::regular::{ChoiceList, Dialect};
use crate::vocabulary::Vocabulary;
use captured_holes::CapturedHoles;

/// Compiles constraints for one vocabulary. `Send + Sync`; one per vocabulary is enough.
///
/// Making one prepares tables for the vocabulary (faster from an
/// [index](Vocabulary::from_file_indexed)); constraints of one compiler share these and the token
/// splits that they compute. Clones share them, too, and may differ in options:
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
/// | derived from a grammar | [`grammar`](Self::grammar), [`grammar_with_options`](Self::grammar_with_options) | text and [`Dialect`](crate::ebnf::Dialect) |
/// | | [`gbnf`](Self::gbnf), [`lark`](Self::lark), [`w3c_ebnf`](Self::w3c_ebnf), [`iso_ebnf`](Self::iso_ebnf), [`abnf`](Self::abnf) | text |
/// | one of a list | [`choice`](Self::choice) | texts |
/// | one of a long list | [`choices`](Self::choices) | a [`ChoiceList`] |
/// | a quotation | [`quotation`](Self::quotation) | the units of the quoted text |
/// | several of these combined | [`formula`](Self::formula) | `{"allOf": […]}` and so on |
/// | a [`Grammar`] | [`compile`](Self::compile) | one that was built or parsed |
///
/// `…_grammar` methods ([`parse_grammar`](Self::parse_grammar),
/// [`regex_grammar`](Self::regex_grammar), [`choice_grammar`](Self::choice_grammar),
/// [`quotation_grammar`](Self::quotation_grammar)) stop before compiling: they give the [`Grammar`],
/// to embed in another one, to answer beside tool calls
/// ([`ToolCalls::with_answer`](crate::tools::ToolCalls::with_answer)), or to look at.
///
/// More than 40 methods: one a front end and way to give it, with its settings.
#[derive(Clone, Debug)]
pub struct Compiler {
    pub(super) context: CompileContext,
}

impl Compiler {
    /// A compiler for a vocabulary, with default [`Limits`].
    pub fn new(vocabulary: impl Into<Arc<Vocabulary>>) -> Self {
        Self { context: CompileContext::new(vocabulary.into()) }
    }

    /// The same with other limits. If the new `split_bytes` is smaller, cached splits
    /// are evicted down to it.
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

    /// The same with other options of JSON: whitespace, digits, formats, resources. Cheap: caches
    /// stay shared with the compiler that it was made from.
    #[must_use]
    pub fn with_json_options(self, json_options: Options) -> Self {
        Self { context: CompileContext { json_options, ..self.context } }
    }

    /// The same with another dialect of regular expressions, for patterns and for those within
    /// grammars. JSON Schemas stay with ECMA-262, and whitespace with Rust's dialect. Cheap: caches
    /// stay shared with the compiler that it was made from.
    ///
    /// ```
    /// # use maskwright::{Compiler, Vocabulary};
    /// use maskwright::regular::Dialect;
    /// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
    /// # let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[])?);
    /// let python = compiler.with_regex_dialect(Dialect::Python);
    /// let mut matcher = python.regex(r"[[]\w+]\Z")?.matcher();
    /// matcher.accept_bytes("[été]".as_bytes())?;
    /// assert!(matcher.is_accepting());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    #[must_use]
    pub fn with_regex_dialect(self, dialect: Dialect) -> Self {
        let regex_dialect = Some(dialect);
        Self { context: CompileContext { regex_dialect, ..self.context } }
    }

    /// The same with a list of texts that schemas (`x-choices-from`), Lark grammars (`@name`) and
    /// formulas (`{"grammar": "name"}`) may name.
    ///
    /// Errors if the name is empty, or another list's.
    pub fn with_choices(self, name: &str, list: ChoiceList) -> Result<Self> {
        let mut options = self.context.json_options.clone();
        options.choices = options.choices.with(name, list)?;
        Ok(self.with_json_options(options))
    }

    /// The same for constraints that begin after text of this grammar, such as a model's
    /// [reasoning](crate::tools::ReasoningFormat): both together are the language.
    ///
    /// Errors if the prefix names a special token that the vocabulary does not have.
    pub fn with_prefix(self, prefix: &Grammar) -> Result<Self> {
        let prefix = resolve_tokens(prefix.clone(), &self.context.vocabulary)?;
        let prefix = Some(Arc::new(prefix));
        Ok(Self { context: CompileContext { prefix, ..self.context } })
    }

    /// The same for texts that no tokenizer cuts: `max_tokens` of rules bounds nothing.
    ///
    /// ```
    /// # use maskwright::{Compiler, Vocabulary};
    /// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
    /// let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[])?);
    /// let grammar = r#"start: word "!"
    /// word[max_tokens=2]: "red""#;
    /// assert!(compiler.lark(grammar).is_err(), "three bytes are three tokens");
    /// let mut matcher = compiler.without_token_budgets().lark(grammar)?.matcher();
    /// matcher.accept_bytes(b"red!")?;
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    #[must_use]
    pub fn without_token_budgets(self) -> Self {
        Self { context: CompileContext { has_token_budgets: false, ..self.context } }
    }

    /// The vocabulary that constraints are compiled for.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.context.vocabulary
    }

    /// The limits of its constraints.
    pub fn limits(&self) -> &Limits {
        &self.context.limits
    }

    /// Compiles a grammar.
    ///
    /// Errors if no text satisfies it, if it names a special token that the vocabulary does not
    /// have, or if it is larger than the limits allow.
    pub fn compile(&self, grammar: Grammar) -> Result<Constraint> {
        self.context.limits.compiling(|| self.compile_grammar(grammar))
    }

    fn compile_grammar(&self, grammar: Grammar) -> Result<Constraint> {
        let grammar = match &self.context.prefix {
            Some(prefix) => prefix.then(&grammar)?,
            None => grammar,
        };
        let grammar = if self.context.has_token_budgets {
            grammar
        } else {
            grammar.without_token_budgets()?
        };
        if !grammar.has_captures() {
            return compile_plain(&self.context, grammar);
        }
        let grammar = resolve_tokens(grammar, &self.context.vocabulary)?;
        check_nesting(&grammar)?;
        let plain = compile_plain(&self.context, grammar.clone().without_captures())?;
        let compiler = Self { context: CompileContext { prefix: None, ..self.context.clone() } };
        let holes = Box::new(CapturedHoles::new(&grammar, compiler));
        let parser = CaptureParser::new(grammar, holes, self.context.limits.cache_bytes)?;
        Ok(Constraint { captures: Some(Arc::new(parser)), ..plain })
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
        self.context.limits.compiling(|| {
            let schema = SchemaHole::new(schema, &self.context.json_options, None)?;
            self.compile_grammar(schema.grammar()?)
        })
    }
}

/// Compiles a grammar without captures, as it is.
fn compile_plain(context: &CompileContext, grammar: Grammar) -> Result<Constraint> {
    let CompileContext { vocabulary, coverage, limits, .. } = context;
    if grammar.holes().is_empty() {
        let (program, languages) = Program::new(grammar, vocabulary, coverage, limits)?;
        let template = MemoryTemplate::Whole(Box::new(Mutex::new((program, languages))));
        return constraint(context, template);
    }
    let grammar = resolve_tokens(grammar, vocabulary)?;
    let mut grammar = normalize(grammar, limits.grammar_size)?;
    check_nesting(&grammar)?;
    grammar.languages_mut().set_limit(limits.language_states);
    if !grammar.remove_dead_parts(coverage.any)? {
        return Err(Error::new(ErrorKind::Unsatisfiable, "no text satisfies the constraint")
            .with_help("look for parts that exclude each other"));
    }
    constraint(context, MemoryTemplate::WithSchemas(Box::new(grammar)))
}

fn constraint(context: &CompileContext, template: MemoryTemplate) -> Result<Constraint> {
    let memories = Arc::new(MemoryPool::new(context, template)?);
    Ok(Constraint { memories, captures: None })
}
