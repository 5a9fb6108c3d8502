//! A JSON Schema as a part of a grammar that is filled in while a text is read.

use std::sync::Arc;

use serde_json::json;

use crate::error::{Error, Result};
use crate::grammar::{Grammar, GrammarBuilder};
use crate::json_schema::document::closing;
use crate::json_schema::document::references::References;
use crate::json_schema::guidance;
use crate::json_schema::options::{OBJECTS_URI, Options, Spelling, Strictness, Whitespace};
use crate::json_schema::punctuation::separators;
use crate::json_schema::schema::Schema;
use crate::json_schema::set::Sets;
use crate::regular::Language;

/// The values of a schema, written as the options say: the only
/// [`Hole`](crate::grammar::hole::Hole) there is. Each has a
/// document of its own, so identifiers of one schema are unknown to all others.
#[derive(Clone, Debug)]
pub(crate) struct SchemaHole {
    pub(super) schema: Schema,
    pub(super) options: Options,
    /// The tool or answer that the schema is of, for messages.
    name: Option<String>,
}

impl SchemaHole {
    /// A schema that may refer to the options' documents, and what messages call it.
    ///
    /// Errors if it supplies a document under a URI that the options have, too, if its `x-guidance`
    /// says what has no meaning, or if it cannot be closed where the options ask for that.
    pub(crate) fn new(schema: Schema, options: &Options, name: Option<&str>) -> Result<Self> {
        let mut schema = schema.with_resources(&options.resources)?;
        if let Some(style) = options.style.notation() {
            let spelled = schema.document.supply_value(&style.uri(), &style.spelled);
            spelled.map_err(|error| error.in_file(style.uri()))?;
        } else if options.objects_only {
            schema.document.supply_value(OBJECTS_URI, &json!({"type": "object"}))?;
        }
        let mut options = guidance::apply(&schema.document, options.clone())?;
        if options.style.notation().is_some_and(|style| style.is_python()) {
            // JSON's other spellings, such as `\/`, mean something else in Python.
            options.spelling = Spelling::Canonical;
        } else {
            options.spell_without_short_escapes();
        }
        if options.strictness == Strictness::Closed {
            closing::close(&mut schema.document, &mut References::new(options.draft))?;
        }
        Ok(Self { schema, options, name: name.map(str::to_owned) })
    }

    /// A grammar that is this and nothing else.
    pub(crate) fn grammar(self) -> Result<Grammar> {
        self.grammar_with_gap(false)
    }

    /// The grammar of a part of a structural tag. Where the style has no signs around all members, there is a gap
    /// there as between two of them: the tags end with `…</parameter>\n</invoke>`.
    pub(crate) fn tag_grammar(self) -> Result<Grammar> {
        let has_gap = self.options.style.notation().is_some_and(|style| style.is_open());
        self.grammar_with_gap(has_gap)
    }

    /// The grammar, with a gap of at least one line break around all members or without. Whitespace around
    /// JSON is the schema's own.
    fn grammar_with_gap(self, has_gap: bool) -> Result<Grammar> {
        let mut builder = GrammarBuilder::new();
        let whitespace = &self.options.whitespace;
        let is_any = *whitespace == Whitespace::Any && self.options.style.notation().is_some();
        let gap = if has_gap || is_any {
            let own = separators(builder.languages(), whitespace)?.gap;
            let line = builder.languages().literal(b"\n");
            let gap = builder.languages().union([Language::EPSILON, line, own]);
            builder.regular(gap)
        } else {
            builder.empty()
        };
        let body = match self.arguments()? {
            Arguments::None => gap,
            Arguments::Some => {
                let hole = builder.hole(Arc::new(self));
                builder.sequence([gap, hole, gap])
            }
            Arguments::SomeOrNone => {
                let hole = builder.hole(Arc::new(self));
                let some = builder.sequence([gap, hole, gap]);
                builder.choice([some, gap])
            }
        };
        let start = builder.rule("start", body);
        builder.finish(start)
    }

    /// The arguments that the schema allows; `Some` in styles with signs around all members. In the
    /// other styles no arguments are the empty text, which a hole cannot derive.
    fn arguments(&self) -> Result<Arguments> {
        let Some(style) = self.options.style.notation() else { return Ok(Arguments::Some) };
        if !style.is_open() {
            return Ok(Arguments::Some);
        }
        let document = &self.schema.document;
        let at_root = |error| self.named(document.with_place(error, Some(document.root())));
        let mut sets = Sets::new(document, &self.options);
        let root = sets.root().map_err(at_root)?;
        let empty = sets.text("{}");
        let others = sets.not(empty);
        let (none, some) = (sets.and([root, empty]), sets.and([root, others]));
        let none = !sets.is_empty(none).map_err(at_root)?;
        Ok(match (none, sets.is_empty(some).map_err(at_root)?) {
            (true, true) => Arguments::None,
            (true, false) => Arguments::SomeOrNone,
            (false, _) => Arguments::Some,
        })
    }

    /// An error in it, with its name.
    pub(super) fn named(&self, error: Error) -> Error {
        match &self.name {
            Some(name) => named(name, &error),
            None => error,
        }
    }
}

/// The arguments that a schema allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arguments {
    Some,
    None,
    SomeOrNone,
}

/// An error in a schema, with the name of what it is the schema of.
pub(crate) fn named(name: &str, error: &Error) -> Error {
    let mut named = Error::new(error.kind(), format!("{name}: {}", error.message()));
    if let Some(pointer) = &error.place().pointer {
        named = named.at_pointer(pointer.as_str());
    }
    named.wrapping(error)
}
