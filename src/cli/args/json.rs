//! Options of how JSON is written, which are part of the constraint.

use maskwright::error::Result;
use maskwright::json_schema::{Draft, Options, PropertyOrder, Spelling, Whitespace};

use super::resources::{self, ResourceFolder};

/// Options of JSON.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Constraint")]
pub(crate) struct JsonArgs {
    /// Whitespace between JSON tokens: tidy (one of the five styles that follow, from the beginning
    /// of a text to its end), plain (json.dumps), compact (none), indent-2, indent-4, indent-tab,
    /// flexible (a line break and 64 blanks in every gap), any (all that JSON allows), or a regular
    /// expression for one gap [default: tidy]
    #[arg(long, value_name = "HOW|RE", allow_hyphen_values = true)]
    whitespace: Option<String>,
    /// Spelling of values [default: canonical]
    #[arg(long, value_enum, value_name = "HOW")]
    spelling: Option<SpellingName>,
    /// Order of the members of objects [default: schema]
    #[arg(long, value_enum, value_name = "HOW")]
    property_order: Option<OrderName>,
    /// Digits that a JSON number may have on each side of its point
    #[arg(long, value_name = "N")]
    digits: Option<u32>,
    /// Whether `format` is enforced or an annotation [default: enforce]
    #[arg(long, value_enum, value_name = "HOW")]
    formats: Option<Formats>,
    /// The draft of a schema that names none in `$schema`
    #[arg(long, value_enum, value_name = "DRAFT")]
    schema_draft: Option<DraftName>,
    /// Documents that a `$ref` may lead to: each file `a/b.json` below the folder is the document
    /// BASE_URI/a/b.json (repeat the option for more). Nothing is ever fetched
    #[arg(long, value_name = "BASE_URI=DIR", value_parser = resources::parse)]
    pub(super) resources: Vec<ResourceFolder>,
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

impl JsonArgs {
    /// The name of an option that was given, of those that concern only JSON.
    pub(super) fn given(&self) -> Option<&'static str> {
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

    /// The options for the library.
    ///
    /// Errors if the documents of `--resources` cannot be used.
    pub(crate) fn options(&self) -> Result<Options> {
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
