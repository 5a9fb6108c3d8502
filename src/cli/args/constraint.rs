//! Options that name a constraint, and its compilation.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use maskwright::constraint::{Formula, GrammarLayout, GrammarOptions};
use maskwright::ebnf::{self, Dialect};
use maskwright::engine::Engine;
use maskwright::error::{Error, ErrorKind, Result};
use maskwright::grammar::Grammar;
use maskwright::json_schema::{Options, PropertyOrder, Schema, Spelling, Whitespace};
use maskwright::lint::Finding;
use maskwright::regular::{self, Anchoring, QuoteBy};
use maskwright::{Compiler, Constraint, tools};

use super::json::JsonArgs;
use super::limits::LimitArgs;
use super::named_grammars;
use super::resources::file_uri;
use crate::cli::input::{self, BYTE_ORDER_MARK, is_inline, parse_json, read_file_or_json};
use crate::cli::output;

/// Longest time to compile a constraint with another option, and to read a text with it, only to say
/// that the text is accepted with that option.
const EXPLANATION_TIMEOUT: Duration = Duration::from_secs(1);

/// A constraint, with the options of JSON and limits.
#[derive(Debug, clap::Args)]
pub(crate) struct ConstraintArgs {
    #[command(flatten)]
    choice: ConstraintChoice,
    #[command(flatten)]
    text: TextArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Options of regular expressions, grammars and quotations.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Constraint")]
struct TextArgs {
    /// The notation of the grammar; without it, by the file's ending (.gbnf, .lark, .ebnf,
    /// .iso-ebnf, .abnf)
    #[arg(long, value_enum, value_name = "DIALECT", requires = "grammar")]
    grammar_dialect: Option<DialectName>,
    /// A grammar that the grammar may refer to by this name, as `@NAME` or in `%import .NAME.rule`:
    /// a file in any notation, or a JSON Schema (.json). Repeat the option for more; grammars in the
    /// folder of the grammar are known without it
    #[arg(long = "named-grammar", value_name = "NAME=FILE", requires = "grammar")]
    named_grammars: Vec<String>,
    /// The rule of the grammar whose texts are wanted [default: root (GBNF), start (Lark), the first]
    #[arg(long, value_name = "RULE", requires = "grammar")]
    start: Option<String>,
    /// The dialect of the regular expression, or of those in the grammar [default: rust]
    #[arg(long, value_enum, value_name = "DIALECT")]
    regex_dialect: Option<RegexDialectName>,
    /// The regular expression need only match some part of the text
    #[arg(long, requires = "regex")]
    search: bool,
    /// Units of the quoted text: words, characters, or chunks, where the file is a JSON
    /// array of texts [default: words]
    #[arg(long, value_enum, value_name = "UNITS", requires = "quote")]
    quote_by: Option<QuoteUnits>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum QuoteUnits {
    Words,
    Characters,
    Chunks,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum RegexDialectName {
    /// Rust's `regex` crate (llguidance)
    Rust,
    /// ECMA-262 with the `u` flag (JSON Schema, XGrammar)
    Ecma,
    /// Python's `re`
    Python,
}

impl From<RegexDialectName> for regular::Dialect {
    fn from(name: RegexDialectName) -> Self {
        match name {
            RegexDialectName::Rust => Self::Rust,
            RegexDialectName::Ecma => Self::Ecma,
            RegexDialectName::Python => Self::Python,
        }
    }
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum DialectName {
    /// llama.cpp's
    Gbnf,
    /// Lark's, as llguidance and XGrammar users write it
    Lark,
    /// The W3C's (XML 1.0, section 6)
    Ebnf,
    /// ISO/IEC 14977
    IsoEbnf,
    /// RFC 5234 with RFC 7405
    Abnf,
}

impl From<DialectName> for Dialect {
    fn from(name: DialectName) -> Self {
        match name {
            DialectName::Gbnf => Self::Gbnf,
            DialectName::Lark => Self::Lark,
            DialectName::Ebnf => Self::W3c,
            DialectName::IsoEbnf => Self::Iso,
            DialectName::Abnf => Self::Abnf,
        }
    }
}

/// Texts by which a grammar shows that it may hold a JSON Schema: inline (`%json`), in llguidance's list, or
/// by way of a grammar that it names.
const SCHEMA_SIGNS: [&str; 4] = ["%json", "json_schema", "@", "%import"];

// The constraint: at most one of these options. (A doc comment would be a text of clap's help.)
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Constraint")]
#[group(multiple = false)]
struct ConstraintChoice {
    /// A JSON Schema: a file, or the schema itself
    #[arg(long, value_name = "FILE|JSON", allow_hyphen_values = true)]
    schema: Option<String>,
    /// A regular expression, as Rust's `regex` crate writes them (or --regex-dialect), that the
    /// whole text must match
    #[arg(long, value_name = "RE", allow_hyphen_values = true)]
    regex: Option<String>,
    /// A grammar: a file, or the name of one that comes with the program
    #[arg(long, value_name = "FILE|NAME")]
    grammar: Option<String>,
    /// One of these texts (repeat the option)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    choice: Vec<String>,
    /// Any JSON object
    #[arg(long)]
    json_object: bool,
    /// A quotation of the text in this file: one or more of its words in a row
    #[arg(long, value_name = "FILE")]
    quote: Option<PathBuf>,
    /// And, or and not of constraints: {"allOf": […]}, {"anyOf": […]}, {"not": …} around {"regex": …},
    /// {"search": …}, {"choice": […]}, {"schema": …}, {"quote": …}, {"grammar": NAME} and
    /// {"gbnf": …} (also lark, ebnf, iso-ebnf, abnf); a file, or the JSON itself
    #[arg(long, value_name = "FILE|JSON")]
    formula: Option<String>,
    /// A structural tag as XGrammar, vLLM and SGLang write it; a file, or the JSON itself
    #[arg(long, value_name = "FILE|JSON")]
    structural_tag: Option<String>,
}

impl ConstraintChoice {
    /// Whether one is given.
    fn is_given(&self) -> bool {
        let texts = [&self.schema, &self.regex, &self.grammar, &self.formula, &self.structural_tag];
        texts.iter().any(|text| text.is_some())
            || !self.choice.is_empty()
            || self.json_object
            || self.quote.is_some()
    }
}

impl ConstraintArgs {
    /// Whether a constraint is named.
    pub(crate) fn is_given(&self) -> bool {
        self.choice.is_given() || self.json.choices.is_constraint()
    }

    /// The constraint, where one is named.
    pub(crate) fn compile(&self, compiler: &Compiler) -> Result<Option<Constraint>> {
        self.compile_as(compiler, GrammarLayout::Merged)
    }

    /// Errors if an option of a constraint of text is given without that constraint. Said here, since clap asks for
    /// nothing that is excluded by what is given.
    fn check_options_of_text(&self) -> Result<()> {
        self.check_list()?;
        let ConstraintChoice { regex, grammar, .. } = &self.choice;
        if self.text.search && regex.is_none() {
            return Err(Error::new(ErrorKind::Request, "--search is for a regular expression")
                .with_help("leave it out, or give --regex"));
        }
        if self.text.grammar_dialect.is_some() && grammar.is_none() {
            return Err(Error::new(ErrorKind::Request, "--grammar-dialect is for a grammar")
                .with_help("leave it out, or give --grammar"));
        }
        if !self.text.named_grammars.is_empty() && grammar.is_none() {
            let message = "--named-grammar is for the grammars that a grammar refers to";
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("leave it out, or give --grammar"));
        }
        if self.text.start.is_some() && grammar.is_none() {
            return Err(Error::new(ErrorKind::Request, "--start is for a grammar")
                .with_help("leave it out, or give --grammar"));
        }
        if self.text.regex_dialect.is_some()
            && regex.is_none()
            && self.choice.formula.is_none()
            && grammar.as_ref().is_none_or(|grammar| ebnf::builtin(grammar).is_some())
        {
            let message = "--regex-dialect is for a regular expression, or for those in a grammar";
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("leave it out, or give --regex, or --grammar with a file"));
        }
        if self.text.quote_by.is_some() && self.choice.quote.is_none() {
            return Err(Error::new(ErrorKind::Request, "--quote-by is for a quotation")
                .with_help("leave it out, or give --quote"));
        }
        Ok(())
    }

    fn compile_as(&self, compiler: &Compiler, layout: GrammarLayout) -> Result<Option<Constraint>> {
        let ConstraintChoice { schema, grammar, json_object, .. } = &self.choice;
        if schema.is_none()
            && grammar.is_none()
            && !json_object
            && self.choice.formula.is_none()
            && self.choice.structural_tag.is_none()
        {
            self.refuse_options_of_json()?;
        }
        if !self.json.resources.is_empty()
            && schema.is_none()
            && grammar.is_none()
            && !json_object
            && self.choice.formula.is_none()
            && self.choice.structural_tag.is_none()
        {
            let message = "--resources is for schemas, and there is none";
            return Err(
                Error::new(ErrorKind::Request, message).with_help("leave it out, or give --schema")
            );
        }
        if self.json.choices.has_names()
            && schema.is_none()
            && grammar.is_none()
            && self.choice.formula.is_none()
            && self.choice.structural_tag.is_none()
        {
            let message =
                "--choices NAME=FILE is a list for a schema or grammar, and there is none";
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("leave NAME= out for one of its texts, or give --schema or --grammar"));
        }
        self.check_options_of_text()?;
        let compiler = &self.configure(compiler)?;
        let constraint = if let Some(schema) = schema {
            compile_schema(compiler, schema)?
        } else if let Some(grammar) = grammar {
            let dialect = self.text.grammar_dialect.map(Dialect::from);
            let options = GrammarOptions { start: self.text.start.clone(), layout };
            read_grammar(grammar, dialect, |text, dialect| {
                if !SCHEMA_SIGNS.iter().any(|sign| text.contains(sign)) {
                    self.refuse_options_of_json()?;
                }
                let merged = GrammarOptions { layout: GrammarLayout::Merged, ..options.clone() };
                note_if_unconstrained(
                    &compiler.parse_grammar_with_options(text, dialect, &merged)?,
                );
                compiler.grammar_with_options(text, dialect, &options)
            })?
        } else if *json_object {
            compiler.json_object()?
        } else {
            let Some(grammar) = self.grammar(compiler)? else { return Ok(None) };
            note_if_unconstrained(&grammar);
            compiler.compile(grammar)?
        };
        Ok(Some(constraint))
    }

    /// Errors if an option says how JSON is written, where the text holds none.
    fn refuse_options_of_json(&self) -> Result<()> {
        let Some(option) = self.json.given() else { return Ok(()) };
        let message = format!("{option} says how JSON is written, and the text is no JSON");
        Err(Error::new(ErrorKind::Request, message)
            .with_help("leave it out, or give --schema, --json-object, or a grammar with `%json`"))
    }

    /// Errors if the list of `--choices` stands beside another constraint.
    fn check_list(&self) -> Result<()> {
        if self.choice.is_given() && self.json.choices.is_constraint() {
            let message = "--choices has no name, and stands beside another constraint";
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("write --choices NAME=FILE for a list that a schema or grammar names"));
        }
        Ok(())
    }

    /// A compiler that writes JSON as the options say, keeps to the limits, and knows the named
    /// grammars.
    ///
    /// Errors if the documents of `--resources` or a named grammar cannot be used.
    pub(crate) fn configure(&self, compiler: &Compiler) -> Result<Compiler> {
        let compiler = self.limits.configure(compiler, self.json.options()?);
        let compiler = named_grammars::configure(
            compiler,
            self.choice.grammar.as_deref(),
            &self.text.named_grammars,
        )?;
        Ok(match self.text.regex_dialect {
            Some(dialect) => compiler.with_regex_dialect(dialect.into()),
            None => compiler,
        })
    }

    /// Options of JSON, with the limits of schemas.
    fn options(&self) -> Result<Options> {
        Ok(self.limits.options(self.json.options()?))
    }

    /// The constraint as a grammar, where one is named: for other grammars to embed.
    pub(crate) fn grammar(&self, compiler: &Compiler) -> Result<Option<Grammar>> {
        self.check_options_of_text()?;
        let ConstraintChoice {
            schema,
            regex,
            grammar,
            choice,
            json_object,
            quote,
            formula,
            structural_tag,
        } = &self.choice;
        let grammar = if let Some(schema) = schema {
            let (text, file) = read_schema(schema)?;
            let options = self.options()?;
            let schema = parse_schema(&text, file.as_deref());
            let grammar = schema.and_then(|schema| schema.grammar(&options));
            grammar.map_err(|error| match file {
                Some(file) => error.in_file(file),
                None => error,
            })?
        } else if let Some(regex) = regex {
            let anchoring = if self.text.search { Anchoring::Search } else { Anchoring::Whole };
            self.configure(compiler)?.regex_grammar(regex, anchoring)?
        } else if let Some(grammar) = grammar {
            let dialect = self.text.grammar_dialect.map(Dialect::from);
            let compiler = &self.configure(compiler)?;
            let options =
                GrammarOptions { start: self.text.start.clone(), ..GrammarOptions::default() };
            read_grammar(grammar, dialect, |text, dialect| {
                compiler.parse_grammar_with_options(text, dialect, &options)
            })?
        } else if let Some(list) = self.json.choices.constraint()? {
            compiler.choices_grammar(&list)?
        } else if !choice.is_empty() {
            compiler.choice_grammar(choice)?
        } else if *json_object {
            Schema::from_text(ANY_OBJECT)?.grammar(&self.options()?)?
        } else if let Some(file) = quote {
            self.quotation(compiler, file)?
        } else if let Some(formula) = formula {
            let (text, file) = read_file_or_json(formula, "a JSON file, or the formula itself")?;
            let compiler = &self.configure(compiler)?;
            let formula = parse_json(&text, "the formula")
                .and_then(|value| Formula::read(&value, compiler))
                .and_then(|formula| formula.grammar());
            formula.map_err(|error| match file {
                Some(file) => error.in_file(file),
                None => error,
            })?
        } else if let Some(tag) = structural_tag {
            let (text, file) = read_file_or_json(tag, "a JSON file, or the structural tag itself")?;
            let compiler = &self.configure(compiler)?;
            let tag = parse_json(&text, "the structural tag")
                .and_then(|value| tools::structural_tag(&value, compiler));
            tag.map_err(|error| match file {
                Some(file) => error.in_file(file),
                None => error,
            })?
        } else {
            return Ok(None);
        };
        Ok(Some(grammar))
    }

    fn quotation(&self, compiler: &Compiler, file: &Path) -> Result<Grammar> {
        let text = input::read_text(file, "a file with the text to quote")?;
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
        let grammar = match self.text.quote_by {
            Some(QuoteUnits::Chunks) => {
                let chunks: Vec<String> = parse_json(text, "the chunks")?;
                compiler.quotation_grammar(&chunks)
            }
            Some(QuoteUnits::Characters) => {
                compiler.quotation_grammar(&QuoteBy::Characters.units(text))
            }
            None | Some(QuoteUnits::Words) => {
                compiler.quotation_grammar(&QuoteBy::Words.units(text))
            }
        };
        grammar.map_err(|error| error.in_file(file))
    }

    /// The constraint, for a subcommand that cannot do without.
    pub(crate) fn require(&self, compiler: &Compiler) -> Result<Constraint> {
        self.compile(compiler)?.ok_or_else(none_given)
    }

    /// The same with all rules of a grammar kept apart, for a subcommand that looks at them.
    pub(crate) fn require_by_rules(&self, compiler: &Compiler) -> Result<Constraint> {
        self.compile_as(compiler, GrammarLayout::ByRules)?.ok_or_else(none_given)
    }
}

impl ConstraintArgs {
    /// The constraint with other options of JSON: those that were not given, each alone and all
    /// together. Empty if the text is no JSON; without those that do not compile.
    pub(crate) fn written_otherwise(&self, compiler: &Compiler) -> Vec<(&'static str, Constraint)> {
        // Options that cannot be used were an error before.
        let Ok(given) = self.options() else { return Vec::new() };
        let any = Options::default();
        let (whitespace, order, spelling) = (
            given.whitespace == any.whitespace,
            given.property_order == any.property_order,
            given.spelling == any.spelling,
        );
        let options = [
            ("--whitespace any", whitespace, false, false),
            ("--property-order any", false, order, false),
            ("--spelling any", false, false, spelling),
            ("--whitespace any --property-order any --spelling any", whitespace, order, spelling),
        ];
        let compile = |(name, whitespace, order, spelling): (&'static str, bool, bool, bool)| {
            let mut options = given.clone();
            if whitespace {
                options.whitespace = Whitespace::Any;
            }
            if order {
                options.property_order = PropertyOrder::Any;
            }
            if spelling {
                options.spelling = Spelling::Any;
            }
            if !(whitespace || order || spelling) {
                return None;
            }
            Some((name, self.written_by(compiler, options)?))
        };
        options.into_iter().filter_map(compile).collect()
    }

    /// The constraint for numbers with so many digits, if that is more than there may be.
    pub(crate) fn with_digits(&self, compiler: &Compiler, digits: u32) -> Option<Constraint> {
        let mut options = self.options().ok()?;
        if digits <= options.digits {
            return None;
        }
        options.digits = digits;
        self.written_by(compiler, options)
    }

    fn written_by(&self, compiler: &Compiler, options: Options) -> Option<Constraint> {
        // It only explains a rejection, and may cost far more than the constraint itself.
        let mut limits = self.limits.limits();
        let within = |given: Option<Duration>| {
            given.map_or(EXPLANATION_TIMEOUT, |time| time.min(EXPLANATION_TIMEOUT))
        };
        limits.time_per_constraint = Some(within(limits.time_per_constraint));
        limits.time_per_mask = Some(within(limits.time_per_mask));
        let compiler = self.limits.configure(compiler, options).with_limits(limits);
        match (&self.choice.schema, self.choice.json_object) {
            (Some(schema), _) => compile_schema(&compiler, schema).ok(),
            (None, true) => compiler.json_object().ok(),
            (None, false) => None,
        }
    }
}

impl ConstraintArgs {
    /// The file of the schema, where the constraint is one and in a file. Parts of a schema are
    /// compiled when a text comes to them, and errors in them do not know the file.
    pub(crate) fn schema_file(&self) -> Option<PathBuf> {
        let given = self.choice.schema.as_deref().filter(|given| !is_inline(given))?;
        Some(PathBuf::from(given)).filter(|file| file.exists())
    }

    /// Variables that tell the chat template of the constraint: its schema, if the template reads one
    /// ([`ChatTemplate::tell_schema`](maskwright::model::ChatTemplate::tell_schema)). One from standard input or a
    /// pipe cannot be read twice, and is not told.
    pub(crate) fn template_variables(&self, engine: &Engine) -> Map<String, Value> {
        let mut variables = Map::new();
        let is_lasting = |given: &str| is_inline(given) || Path::new(given).is_file();
        let schema = match self.choice.schema.as_deref() {
            Some(given) if is_lasting(given) => self.schema_value(),
            _ => None,
        };
        if let (Some(schema), Ok(template)) = (schema, engine.model().chat_template()) {
            template.tell_schema(&schema, &mut variables);
        }
        variables
    }

    /// Whether the constraint is read from standard input.
    pub(crate) fn reads_stdin(&self) -> bool {
        let ConstraintChoice { schema, grammar, quote, formula, structural_tag, .. } = &self.choice;
        let quote = quote.as_deref().and_then(Path::to_str);
        let texts = [schema, grammar, formula, structural_tag].map(Option::as_deref);
        texts.contains(&Some("-")) || quote == Some("-")
    }

    /// Keywords of the schema, if the constraint is one, that are not enforced although they look so.
    pub(crate) fn not_enforced(&self) -> Vec<Finding> {
        let text = self.choice.schema.as_deref().and_then(|schema| read_schema(schema).ok());
        let schema = text.and_then(|(text, file)| parse_schema(&text, file.as_deref()).ok());
        let Some((schema, options)) = schema.zip(self.options().ok()) else { return Vec::new() };
        schema.not_enforced(&options)
    }

    /// The schema as a value, where the constraint is one, for messages about it.
    pub(crate) fn schema_value(&self) -> Option<Value> {
        let (text, _) = read_schema(self.choice.schema.as_deref()?).ok()?;
        serde_json::from_str(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text)).ok()
    }
}

/// A remark on standard error where a constraint accepts every text.
fn note_if_unconstrained(grammar: &Grammar) {
    if grammar.accepts_every_text() {
        output::note("note: every text is accepted, so the constraint constrains nothing");
    }
}

fn none_given() -> Error {
    Error::new(ErrorKind::Request, "no constraint is given").with_help(
        "give one of --schema, --regex, --grammar, --choice, --choices, --json-object, --quote, --formula or \
         --structural-tag",
    )
}

/// The schema of `--json-object`.
const ANY_OBJECT: &str = r#"{"type": "object"}"#;

/// Reads a grammar, given by the name of one that comes with the program or by a file.
fn read_grammar<T>(
    grammar: &str,
    dialect: Option<Dialect>,
    read: impl Fn(&str, Dialect) -> Result<T>,
) -> Result<T> {
    if let Some(known) = ebnf::builtin(grammar) {
        return read(known.text, known.dialect);
    }
    let text = input::read_text(Path::new(grammar), "a file with a grammar").map_err(|error| {
        if Path::new(grammar).exists() {
            return error;
        }
        let names: Vec<&str> = ebnf::GRAMMARS.iter().map(|known| known.name).collect();
        Error::new(ErrorKind::Io, format!("the grammar {}", error.message()))
            .in_file(grammar)
            .with_help(format!("give a file, or one of {}", names.join(", ")))
    })?;
    let read_as = match dialect.or_else(|| Dialect::of_file(grammar)) {
        Some(dialect) => dialect,
        None => guess(grammar, &text)?,
    };
    read(&text, read_as).map_err(|error| {
        let error = error.in_file(grammar);
        match Dialect::guess_with_reason(&text) {
            // Both EBNFs are kept in files of one ending. What is wrong in both notations is no question of them.
            Some((other, reason))
                if dialect.is_none() && other != read_as && read(&text, other).is_ok() =>
            {
                let name = other.name();
                let first = error.help().map_or_else(String::new, |help| format!("{help}; or, "));
                let guess =
                    format!("it reads like {other} ({reason}): give --grammar-dialect {name}");
                error.with_help(first + &guess)
            }
            _ => error,
        }
    })
}

/// The dialect that a text looks like, and a remark on standard error.
fn guess(file: &str, text: &str) -> Result<Dialect> {
    let Some((dialect, reason)) = Dialect::guess_with_reason(text) else {
        return Err(Error::new(ErrorKind::Grammar, "cannot tell the notation of the grammar")
            .in_file(file)
            .with_help("give --grammar-dialect"));
    };
    let name = dialect.name();
    output::note(&format!(
        "{file}: reads like {dialect} ({reason}); say so by the ending .{name} or by --grammar-dialect {name}"
    ));
    Ok(dialect)
}

fn compile_schema(compiler: &Compiler, given: &str) -> Result<Constraint> {
    let (text, file) = read_schema(given)?;
    let schema = parse_schema(&text, file.as_deref());
    let constraint = schema.and_then(|schema| compiler.json_schema_document(schema));
    constraint.map_err(|error| match file {
        Some(file) => error.in_file(file),
        None => error,
    })
}

/// A schema that may stand in a file: then its relative references are relative to that.
pub(crate) fn parse_schema(text: &str, file: Option<&Path>) -> Result<Schema> {
    // Some editors write a byte order mark, as in files of grammars and lists.
    let schema = Schema::from_text(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text))?;
    match file.and_then(file_uri) {
        Some(uri) => schema.with_base(&uri),
        None => Ok(schema),
    }
}

/// A schema's text, and its file if it is in one.
pub(crate) fn read_schema(given: &str) -> Result<(String, Option<PathBuf>)> {
    read_file_or_json(given, "a JSON Schema file, or the schema itself")
}
