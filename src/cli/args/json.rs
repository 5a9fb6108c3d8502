//! Options of how JSON is written, which are part of the constraint.

use maskwright::error::{Error, ErrorKind, Result};
use maskwright::json_schema::{
    Draft, Gaps, OneOf, Options, PropertyOrder, Spelling, Strictness, Style, Whitespace,
};

use super::choices::ChoiceArgs;
use super::resources::{self, ResourceFolder};

/// Options of JSON.
///
/// More than 12 fields: one an option of the command.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Constraint")]
pub(crate) struct JsonArgs {
    /// Whitespace between JSON tokens: tidy (one of the five styles that follow, from the beginning
    /// of a text to its end), plain (json.dumps), compact (none), indent-2, indent-4, indent-tab,
    /// flexible (a line break and 64 blanks in every gap), any (all that JSON allows), or a regular
    /// expression for one gap [default: tidy]
    #[arg(long, value_name = "HOW|RE", allow_hyphen_values = true)]
    whitespace: Option<String>,
    /// Each member and item on a line of its own, indented by so many blanks for each level
    #[arg(long, value_name = "BLANKS", conflicts_with_all = ["whitespace", "max_whitespace"])]
    indent: Option<usize>,
    /// Most blanks and line breaks in each gap, of any kind
    #[arg(long, value_name = "N", conflicts_with = "whitespace")]
    max_whitespace: Option<u32>,
    /// Text or regular expression between members and items: a comma with whitespace [default: ", ",
    /// or "," with --indent, --max-whitespace or a --whitespace of a regular expression]
    #[arg(long, value_name = "RE", allow_hyphen_values = true)]
    item_separator: Option<String>,
    /// Text or regular expression between a key and its value: a colon with whitespace [default: ": ",
    /// or ":" with --max-whitespace or a --whitespace of a regular expression]
    #[arg(long, value_name = "RE", allow_hyphen_values = true)]
    key_separator: Option<String>,
    /// Close objects of which the schema names members, and arrays of which it lists items, where it
    /// says nothing of others
    #[arg(long)]
    strict: bool,
    /// Read `oneOf` as `anyOf`
    #[arg(long)]
    coerce_one_of: bool,
    /// Text that no string and no name of a member may hold as it is written (repeat the option)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    exclude: Vec<String>,
    /// Characters that may follow a backslash in strings, of "\\/bfnrtu [default: all that the
    /// spelling has]
    #[arg(long, value_name = "CHARACTERS", allow_hyphen_values = true)]
    escapes: Option<String>,
    /// Spelling of values [default: canonical]
    #[arg(long, value_enum, value_name = "HOW")]
    spelling: Option<SpellingName>,
    /// Notation of the values of a schema: that in which a model family writes the arguments of a
    /// tool, such as qwen_xml or gemma_4 [default: json]
    #[arg(long, value_name = "NAME")]
    style: Option<String>,
    /// Order of the members of objects [default: schema]
    #[arg(long, value_enum, value_name = "HOW")]
    property_order: Option<OrderName>,
    /// Digits that a JSON number may have on each side of its point
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    digits: Option<u32>,
    /// Whether `format` is enforced or an annotation [default: enforce]
    #[arg(long, value_enum, value_name = "HOW")]
    formats: Option<Formats>,
    /// The draft of a schema that names none in `$schema`
    #[arg(long, value_enum, value_name = "DRAFT")]
    schema_draft: Option<DraftName>,
    /// Documents that a `$ref` may lead to: each file `a/b.json` below the folder is the document
    /// BASE_URI/a/b.json, or without a base what its path is to the schema's file (repeat the option for
    /// more). Nothing is ever fetched
    #[arg(long, value_name = "[BASE_URI=]DIR", value_parser = resources::parse)]
    pub(super) resources: Vec<ResourceFolder>,
    #[command(flatten)]
    pub(crate) choices: ChoiceArgs,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum SpellingName {
    /// As a model would write them
    Canonical,
    /// The same, but strings may escape any character in any way
    Escapes,
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

impl JsonArgs {
    /// The name of an option that was given, of those that concern only JSON.
    pub(super) fn given(&self) -> Option<&'static str> {
        [
            ("--whitespace", self.whitespace.is_some()),
            ("--indent", self.indent.is_some()),
            ("--max-whitespace", self.max_whitespace.is_some()),
            ("--item-separator", self.item_separator.is_some()),
            ("--key-separator", self.key_separator.is_some()),
            ("--strict", self.strict),
            ("--coerce-one-of", self.coerce_one_of),
            ("--exclude", !self.exclude.is_empty()),
            ("--escapes", self.escapes.is_some()),
            ("--spelling", self.spelling.is_some()),
            ("--style", self.style.is_some()),
            ("--property-order", self.property_order.is_some()),
            ("--digits", self.digits.is_some()),
            ("--formats", self.formats.is_some()),
            ("--schema-draft", self.schema_draft.is_some()),
        ]
        .into_iter()
        .find_map(|(option, given)| given.then_some(option))
    }

    /// The options for the library.
    ///
    /// Errors if the documents of `--resources` cannot be used, or if there is no such style.
    pub(crate) fn options(&self) -> Result<Options> {
        let mut options = Options::default();
        options.resources = resources::load(&self.resources)?;
        options.choices = self.choices.named()?;
        options.whitespace = self.whitespace()?;
        options.strictness = if self.strict { Strictness::Closed } else { Strictness::AsWritten };
        options.one_of = if self.coerce_one_of { OneOf::AtLeast } else { OneOf::Exactly };
        options.excludes.clone_from(&self.exclude);
        options.escapes.clone_from(&self.escapes);
        options.spelling = match self.spelling {
            None | Some(SpellingName::Canonical) => Spelling::Canonical,
            Some(SpellingName::Escapes) => Spelling::Escapes,
            Some(SpellingName::Any) => Spelling::Any,
        };
        if let Some(style) = &self.style {
            options.style = Style::named(style)?;
        }
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

    /// Whitespace, with separators where they are given.
    ///
    /// Errors if separators are given beside whitespace that brings its own.
    fn whitespace(&self) -> Result<Whitespace> {
        let whitespace = match self.whitespace.as_deref() {
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
        let whitespace = self.max_whitespace.map_or(whitespace, Whitespace::at_most);
        let separators = self.item_separator.is_some() || self.key_separator.is_some();
        let (gaps, defaults) = match (self.indent, whitespace) {
            (Some(blanks), _) => (Gaps::Lines(" ".repeat(blanks)), [",", ": "]),
            (None, whitespace) if !separators => return Ok(whitespace),
            (None, Whitespace::Pattern(pattern)) => (Gaps::Pattern(pattern), [",", ":"]),
            (None, _) if self.whitespace.is_none() => (Gaps::Nothing, [", ", ": "]),
            (None, _) => {
                let message = "a separator is given, and --whitespace brings its own";
                return Err(Error::new(ErrorKind::Request, message).with_help(
                    "give --indent, --max-whitespace, or a regular expression to --whitespace",
                ));
            }
        };
        let or = |given: &Option<String>, default: &str| {
            given.clone().unwrap_or_else(|| default.to_owned())
        };
        Ok(Whitespace::Separated {
            gaps,
            item_separator: or(&self.item_separator, defaults[0]),
            key_separator: or(&self.key_separator, defaults[1]),
        })
    }
}
