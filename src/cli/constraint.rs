//! The options that name a constraint, and the constraint they name.

use std::path::{Path, PathBuf};
use std::time::Duration;

use maskwright::constraint::Formula;
use maskwright::ebnf::{self, Dialect};
use maskwright::error::{Error, ErrorKind, Result};
use maskwright::grammar::Grammar;
use maskwright::json_schema::{Draft, Options, PropertyOrder, Schema, Spelling, Whitespace};
use maskwright::lint::Finding;
use maskwright::regular::{Anchoring, QuoteBy};
use maskwright::{Compiler, Constraint, strict_json};

use super::limits::LimitArgs;
use super::output;
use super::resources::{self, ResourceFolder};

/// How long a constraint with another option may take to read a text, to say that the text is
/// accepted with that option.
const EXPLAINED: Duration = Duration::from_millis(200);

/// A constraint: what the text must be, and how JSON is written.
#[derive(Debug, clap::Args)]
pub(super) struct ConstraintArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    text: TextArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

/// How a regular expression or a grammar is read.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Constraint")]
struct TextArgs {
    /// The notation of the grammar; without it, by the file's ending (.gbnf, .lark, .ebnf,
    /// .iso-ebnf, .abnf)
    #[arg(long, value_enum, value_name = "DIALECT", requires = "grammar")]
    grammar_dialect: Option<DialectName>,
    /// The regular expression need only match some part of the text
    #[arg(long, requires = "regex")]
    search: bool,
    /// What the quoted text is cut into: words, characters, or chunks, where the file is a JSON
    /// array of texts [default: words]
    #[arg(long, value_enum, value_name = "UNITS", requires = "quote")]
    quote_by: Option<Units>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Units {
    Words,
    Characters,
    Chunks,
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

/// One of these.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Constraint")]
#[group(multiple = false)]
struct Which {
    /// A JSON Schema: a file, or the schema itself
    #[arg(long, value_name = "FILE|JSON", allow_hyphen_values = true)]
    schema: Option<String>,
    /// A regular expression, as Rust's `regex` crate writes them, that the whole text must match
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
}

/// How JSON is written; part of the constraint.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Constraint")]
pub(super) struct JsonArgs {
    /// Whitespace between JSON tokens: tidy (one of the five styles that follow, from the beginning
    /// of a text to its end), plain (json.dumps), compact (none), indent-2, indent-4, indent-tab,
    /// flexible (a line break and 64 blanks in every gap), any (all that JSON allows), or a regular
    /// expression for one gap [default: tidy]
    #[arg(long, value_name = "HOW|RE", allow_hyphen_values = true)]
    whitespace: Option<String>,
    /// How values are spelled [default: canonical]
    #[arg(long, value_enum, value_name = "HOW")]
    spelling: Option<SpellingName>,
    /// In which order the members of objects come [default: schema]
    #[arg(long, value_enum, value_name = "HOW")]
    property_order: Option<OrderName>,
    /// Digits that a JSON number may have on each side of its point
    #[arg(long, value_name = "N")]
    digits: Option<u32>,
    /// Whether `format` is enforced or a remark [default: enforce]
    #[arg(long, value_enum, value_name = "HOW")]
    formats: Option<Formats>,
    /// The draft of a schema that names none in `$schema`
    #[arg(long, value_enum, value_name = "DRAFT")]
    schema_draft: Option<DraftName>,
    /// Documents that a `$ref` may lead to: each file `a/b.json` below the folder is the document
    /// BASE_URI/a/b.json (repeat the option for more). Nothing is ever fetched
    #[arg(long, value_name = "BASE_URI=DIR", value_parser = resources::parse)]
    resources: Vec<ResourceFolder>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum SpellingName {
    /// As a model would write them
    Canonical,
    /// Every way that JSON has
    Any,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum OrderName {
    /// That of the schema
    Schema,
    /// Any
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Formats {
    /// A string must have the format
    Enforce,
    /// A string may be anything
    Annotate,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum DraftName {
    #[value(name = "4")]
    Draft4,
    #[value(name = "6")]
    Draft6,
    #[value(name = "7")]
    Draft7,
    #[value(name = "2019-09")]
    Draft201909,
    #[value(name = "2020-12")]
    Draft202012,
}

impl ConstraintArgs {
    /// The constraint, where one is named.
    pub(super) fn compile(&self, compiler: &Compiler) -> Result<Option<Constraint>> {
        self.compile_as(compiler, Compiler::grammar)
    }

    fn compile_as(&self, compiler: &Compiler, of_grammar: OfGrammar) -> Result<Option<Constraint>> {
        let Which { schema, regex, grammar, json_object, .. } = &self.which;
        if let Some(option) = self.json.given()
            && schema.is_none()
            && !json_object
            && self.which.formula.is_none()
        {
            let message = format!("{option} says how JSON is written, and the text is no JSON");
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("leave it out, or give --schema or --json-object"));
        }
        if !self.json.resources.is_empty()
            && schema.is_none()
            && grammar.is_none()
            && !json_object
            && self.which.formula.is_none()
        {
            let message = "--resources is for schemas, and there is none";
            return Err(
                Error::new(ErrorKind::Request, message).with_help("leave it out, or give --schema")
            );
        }
        // Said here, since clap asks for nothing that is excluded by what is given.
        if self.text.search && regex.is_none() {
            return Err(Error::new(ErrorKind::Request, "--search is for a regular expression")
                .with_help("leave it out, or give --regex"));
        }
        if self.text.grammar_dialect.is_some() && grammar.is_none() {
            return Err(Error::new(ErrorKind::Request, "--grammar-dialect is for a grammar")
                .with_help("leave it out, or give --grammar"));
        }
        if self.text.quote_by.is_some() && self.which.quote.is_none() {
            return Err(Error::new(ErrorKind::Request, "--quote-by is for a quotation")
                .with_help("leave it out, or give --quote"));
        }
        let compiler = &self.configure(compiler)?;
        let constraint = if let Some(schema) = schema {
            compile_schema(compiler, schema)?
        } else if let Some(grammar) = grammar {
            let dialect = self.text.grammar_dialect.map(Dialect::from);
            read_grammar(grammar, dialect, |text, dialect| {
                note_if_unconstrained(&compiler.parse_grammar(text, dialect)?);
                of_grammar(compiler, text, dialect)
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

    /// A compiler that writes JSON as the options say, and keeps to the limits.
    ///
    /// Errors if the documents of `--resources` cannot be used.
    pub(super) fn configure(&self, compiler: &Compiler) -> Result<Compiler> {
        Ok(self.limits.configure(compiler, self.json.options()?))
    }

    /// How JSON is written, within the limits.
    fn options(&self) -> Result<Options> {
        Ok(self.limits.options(self.json.options()?))
    }

    /// The constraint as a grammar, where one is named: for other grammars to embed.
    pub(super) fn grammar(&self, compiler: &Compiler) -> Result<Option<Grammar>> {
        let Which { schema, regex, grammar, choice, json_object, quote, formula } = &self.which;
        let grammar = if let Some(schema) = schema {
            let (text, file) = read_schema(schema)?;
            let options = self.options()?;
            let grammar = Schema::from_text(&text).and_then(|s| s.grammar(&options));
            grammar.map_err(|error| match file {
                Some(file) => error.in_file(file),
                None => error,
            })?
        } else if let Some(regex) = regex {
            let anchoring = if self.text.search { Anchoring::Search } else { Anchoring::Whole };
            compiler.regex_grammar(regex, anchoring)?
        } else if let Some(grammar) = grammar {
            let dialect = self.text.grammar_dialect.map(Dialect::from);
            let compiler = &self.configure(compiler)?;
            read_grammar(grammar, dialect, |text, dialect| compiler.parse_grammar(text, dialect))?
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
        } else {
            return Ok(None);
        };
        Ok(Some(grammar))
    }

    fn quotation(&self, compiler: &Compiler, file: &Path) -> Result<Grammar> {
        let text = output::read_text(file, "a file with the text to quote")?;
        let grammar = match self.text.quote_by {
            Some(Units::Chunks) => {
                let chunks: Vec<String> = parse_json(&text, "the chunks")?;
                compiler.quotation_grammar(&chunks)
            }
            Some(Units::Characters) => {
                compiler.quotation_grammar(&QuoteBy::Characters.units(&text))
            }
            None | Some(Units::Words) => compiler.quotation_grammar(&QuoteBy::Words.units(&text)),
        };
        grammar.map_err(|error| error.in_file(file))
    }

    /// The constraint, for a subcommand that cannot do without.
    pub(super) fn require(&self, compiler: &Compiler) -> Result<Constraint> {
        self.compile(compiler)?.ok_or_else(none_given)
    }

    /// The same with all rules of a grammar kept apart, for a subcommand that looks at them.
    pub(super) fn require_by_rules(&self, compiler: &Compiler) -> Result<Constraint> {
        self.compile_as(compiler, Compiler::grammar_by_rules)?.ok_or_else(none_given)
    }
}

impl ConstraintArgs {
    /// The constraint with other options of how JSON is written, those that were not given, each
    /// alone and all together. None where the text is no JSON, or what is so made does not compile.
    pub(super) fn written_otherwise(&self, compiler: &Compiler) -> Vec<(&'static str, Constraint)> {
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
    pub(super) fn with_digits(&self, compiler: &Compiler, digits: u32) -> Option<Constraint> {
        let mut options = self.options().ok()?;
        if digits <= options.digits {
            return None;
        }
        options.digits = digits;
        self.written_by(compiler, options)
    }

    fn written_by(&self, compiler: &Compiler, options: Options) -> Option<Constraint> {
        // It only explains a rejection, and may be far dearer than what it explains.
        let mut limits = self.limits.limits();
        let within = |given: Option<Duration>| given.map_or(EXPLAINED, |time| time.min(EXPLAINED));
        limits.time_per_constraint = Some(within(limits.time_per_constraint));
        limits.time_per_mask = Some(within(limits.time_per_mask));
        let compiler = self.limits.configure(compiler, options).with_limits(limits);
        match (&self.which.schema, self.which.json_object) {
            (Some(schema), _) => compile_schema(&compiler, schema).ok(),
            (None, true) => compiler.json_object().ok(),
            (None, false) => None,
        }
    }
}

impl ConstraintArgs {
    /// The file of the schema, where the constraint is one and in a file. Parts of a schema are
    /// compiled when a text comes to them, and errors in them do not know the file.
    pub(super) fn schema_file(&self) -> Option<PathBuf> {
        let given = self.which.schema.as_deref().filter(|given| !is_inline(given))?;
        Some(PathBuf::from(given)).filter(|file| file.exists())
    }

    /// What in the schema, where the constraint is one, is not enforced although it looks so.
    pub(super) fn not_enforced(&self) -> Vec<Finding> {
        let text = self.which.schema.as_deref().and_then(|schema| read_schema(schema).ok());
        let schema = text.and_then(|(text, _)| Schema::from_text(&text).ok());
        let Some((schema, options)) = schema.zip(self.options().ok()) else { return Vec::new() };
        schema.not_enforced(&options)
    }

    /// The schema as a value, where the constraint is one, for messages about it.
    pub(super) fn schema_value(&self) -> Option<serde_json::Value> {
        let (text, _) = read_schema(self.which.schema.as_deref()?).ok()?;
        serde_json::from_str(&text).ok()
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
        "give one of --schema, --regex, --grammar, --choice, --json-object, --quote or --formula",
    )
}

/// JSON of this shape.
pub(super) fn parse_json<T: serde::de::DeserializeOwned>(text: &str, what: &str) -> Result<T> {
    let value = strict_json::parse(text).map_err(|error| match error.help() {
        Some(_) => error,
        None => {
            let message = format!("{what} cannot be read: no JSON ({})", error.message());
            let (line, column) = error.place().line_column.unwrap_or((1, 1));
            Error::new(error.kind(), message)
                .at_line_column(line, column)
                .with_help("see --help for its shape")
        }
    })?;
    serde_json::from_value(value).map_err(|error| {
        Error::new(ErrorKind::Request, format!("{what} cannot be read: {error}"))
            .with_help("see --help for its shape")
    })
}

/// The schema of `--json-object`.
const ANY_OBJECT: &str = r#"{"type": "object"}"#;

/// A way to compile a grammar.
type OfGrammar = fn(&Compiler, &str, Dialect) -> Result<Constraint>;

/// What is made of a grammar, given by the name of one that comes with the program, or a file.
fn read_grammar<T>(
    grammar: &str,
    dialect: Option<Dialect>,
    read: impl Fn(&str, Dialect) -> Result<T>,
) -> Result<T> {
    if let Some(known) = ebnf::builtin(grammar) {
        return read(known.text, known.dialect);
    }
    let text = output::read_text(Path::new(grammar), "a file with a grammar").map_err(|error| {
        if Path::new(grammar).exists() {
            return error;
        }
        let names: Vec<&str> = ebnf::GRAMMARS.iter().map(|known| known.name).collect();
        Error::new(ErrorKind::Io, format!("the grammar {}", error.message()))
            .in_file(grammar)
            .with_help(format!("give a file, or one of {}", names.join(", ")))
    })?;
    let dialect = match dialect.or_else(|| Dialect::of_file(grammar)) {
        Some(dialect) => dialect,
        None => guess(grammar, &text)?,
    };
    read(&text, dialect).map_err(|error| error.in_file(grammar))
}

/// The dialect that a text looks like, and a remark on standard error.
fn guess(file: &str, text: &str) -> Result<Dialect> {
    let Some(dialect) = Dialect::guess(text) else {
        return Err(Error::new(
            ErrorKind::Grammar,
            "the notation of the grammar is not to be seen",
        )
        .in_file(file)
        .with_help("give --grammar-dialect"));
    };
    let name = dialect.name();
    output::note(&format!(
        "{file}: reads like {dialect}; say so by the ending .{name} or by --grammar-dialect {name}"
    ));
    Ok(dialect)
}

impl JsonArgs {
    /// One that was given, and the others do not apply to other constraints than JSON either.
    fn given(&self) -> Option<&'static str> {
        [
            ("--whitespace", self.whitespace.is_some()),
            ("--spelling", self.spelling.is_some()),
            ("--property-order", self.property_order.is_some()),
            ("--digits", self.digits.is_some()),
            ("--formats", self.formats.is_some()),
            ("--schema-draft", self.schema_draft.is_some()),
        ]
        .into_iter()
        .find_map(|(option, given)| given.then_some(option))
    }

    /// Errors if the documents of `--resources` cannot be used.
    pub(super) fn options(&self) -> Result<Options> {
        let mut options = Options::default();
        options.resources = resources::load(&self.resources)?;
        options.whitespace = match self.whitespace.as_deref() {
            None | Some("tidy") => Whitespace::Tidy,
            Some("plain") => Whitespace::Plain,
            Some("compact") => Whitespace::Compact,
            Some("indent-2") => Whitespace::Indent2,
            Some("indent-4") => Whitespace::Indent4,
            Some("indent-tab") => Whitespace::IndentTab,
            Some("flexible") => Whitespace::Flexible,
            Some("any") => Whitespace::Any,
            Some(pattern) => Whitespace::Pattern(pattern.to_owned()),
        };
        options.spelling = match self.spelling {
            None | Some(SpellingName::Canonical) => Spelling::Canonical,
            Some(SpellingName::Any) => Spelling::Any,
        };
        options.property_order = match self.property_order {
            None | Some(OrderName::Schema) => PropertyOrder::Schema,
            Some(OrderName::Any) => PropertyOrder::Any,
        };
        options.digits = self.digits.unwrap_or(options.digits);
        options.formats = self.formats != Some(Formats::Annotate);
        options.draft = self.schema_draft.map(|name| match name {
            DraftName::Draft4 => Draft::Draft4,
            DraftName::Draft6 => Draft::Draft6,
            DraftName::Draft7 => Draft::Draft7,
            DraftName::Draft201909 => Draft::Draft201909,
            DraftName::Draft202012 => Draft::Draft202012,
        });
        Ok(options)
    }
}

fn compile_schema(compiler: &Compiler, given: &str) -> Result<Constraint> {
    let (text, file) = read_schema(given)?;
    compiler.json_schema_str(&text).map_err(|error| match file {
        Some(file) => error.in_file(file),
        None => error,
    })
}

/// A schema's text, and its file if it is in one.
pub(super) fn read_schema(given: &str) -> Result<(String, Option<PathBuf>)> {
    read_file_or_json(given, "a JSON Schema file, or the schema itself")
}

/// Whether an argument is JSON, and no file's name.
fn is_inline(given: &str) -> bool {
    let inline = given.trim();
    inline.starts_with(['{', '[']) || matches!(inline, "true" | "false")
}

/// JSON that is given as it is or as a file, which then comes back, too: what begins like an
/// object, a list or a constant is JSON, and so is any JSON that is no file's name.
pub(super) fn read_file_or_json(given: &str, wanted: &str) -> Result<(String, Option<PathBuf>)> {
    let inline = given.trim();
    if is_inline(given) {
        return Ok((given.to_owned(), None));
    }
    let file = PathBuf::from(given);
    if !file.exists() && serde_json::from_str::<serde_json::Value>(inline).is_ok() {
        return Ok((given.to_owned(), None));
    }
    let text = output::read_text(&file, wanted)?;
    Ok((text, Some(file)))
}
