//! A schema as a grammar that is made as it is read.

use std::fmt;
use std::sync::Arc;

use self_cell::self_cell;

use super::Schema;
use super::document::{Document, ValueId};
use super::emit::Emitter;
use super::options::Options;
use super::set::{Sets, Shared};
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::names::Names;
use crate::grammar::source::Source;
use crate::grammar::{Grammar, GrammarBuilder, NodeId, RuleId};
use crate::json_schema::document::resources::Resources;
use crate::json_schema::satisfiability::unsat_core::unsatisfiable;
use crate::limits::Limits;
use crate::regular::{Language, Languages, TextSet, TextSets};

/// A rule of a grammar that is to be what a schema accepts.
#[derive(Clone, Debug)]
pub(crate) struct Hole {
    pub(crate) rule: RuleId,
    /// Of what the schema is, for messages.
    pub(crate) name: String,
    pub(crate) schema: serde_json::Value,
}

/// A grammar around schemas: in normal form, whatever its holes turn out to be.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    grammar: Grammar,
    holes: Vec<RuleId>,
    names: Vec<String>,
    /// All schemas, each a document of its own.
    schemas: Arc<Schema>,
}

impl Frame {
    /// A frame around these holes, whose schemas may refer to these documents.
    pub(crate) fn new(grammar: Grammar, holes: Vec<Hole>, resources: &Resources) -> Result<Self> {
        let mut document = Document::from_value(&serde_json::Value::Bool(true))?;
        for (i, hole) in holes.iter().enumerate() {
            document
                .supply_value(&format!("frame:/{i}"), &hole.schema)
                .map_err(|e| hole.name(e))?;
        }
        // Behind the schemas of the holes, which are found by their order.
        let schemas = Arc::new(Schema { document }.with_resources(resources)?);
        let rules = holes.iter().map(|hole| hole.rule).collect();
        let names = holes.into_iter().map(|hole| hole.name).collect();
        Ok(Self { grammar, holes: rules, names, schemas })
    }
}

impl Hole {
    /// May its schema stand beside others? Not if it has an identifier of its own, which another
    /// might have, too.
    pub(crate) fn stands_alone(schema: &serde_json::Value) -> bool {
        match schema {
            serde_json::Value::Object(members) => {
                let identified = ["$id", "id"]
                    .iter()
                    .any(|key| members.get(*key).is_some_and(|id| id.is_string()));
                identified || members.values().any(Self::stands_alone)
            }
            serde_json::Value::Array(items) => items.iter().any(Self::stands_alone),
            _ => false,
        }
    }

    fn name(&self, error: Error) -> Error {
        named(&self.name, &error)
    }
}

/// An error in a schema, with the name of what it is the schema of.
pub(crate) fn named(name: &str, error: &Error) -> Error {
    let mut named = Error::new(error.kind(), format!("{name}: {}", error.message()));
    if let Some(pointer) = &error.place().pointer {
        named = named.at_pointer(pointer.as_str());
    }
    match error.help() {
        Some(help) => named.with_help(help),
        None => named,
    }
}

struct Inputs {
    schema: Arc<Schema>,
    options: Options,
}

self_cell!(
    struct Owned {
        owner: Inputs,
        #[not_covariant]
        dependent: Emitter,
    }
);

/// A schema, and what was made of it so far.
pub(crate) struct SchemaSource(Owned);

impl fmt::Debug for SchemaSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchemaSource").finish_non_exhaustive()
    }
}

impl SchemaSource {
    /// The source of a schema's grammar behind a prefix, and its first rule.
    ///
    /// Errors if the schema is malformed where it is visited at once, or if nothing satisfies it.
    pub(crate) fn new(
        schema: &Arc<Schema>,
        options: &Options,
        limits: &Limits,
        shared: &Shared,
        prefix: Option<&Grammar>,
    ) -> Result<(Self, RuleId)> {
        let inputs = Inputs { schema: Arc::clone(schema), options: options.clone() };
        let mut start = None;
        let owned = Owned::try_new(inputs, |inputs| {
            let document = &inputs.schema.document;
            let at_root = |error| document.placed(error, Some(document.root()));
            let base = shared.base(inputs.options.spelling);
            let mut sets = Sets::from_base(document, &inputs.options, base);
            sets.languages.share(&shared.tables);
            sets.languages.set_limit(limits.language_states);
            let root = sets.schema(document.root())?;
            sets.validate(document.root()).map_err(at_root)?;
            if sets.is_empty(root).map_err(at_root)? {
                return Err(unsatisfiable(document, &inputs.options));
            }
            let mut emitter = Emitter::new(sets, true)?;
            let rule = emitter.builder.declare("start");
            let Some(body) = emitter.whole(root).map_err(at_root)? else {
                // A set that is not empty has a node.
                return Err(unsatisfiable(document, &inputs.options));
            };
            let body = match prefix {
                Some(prefix) => emitter.behind(prefix, body)?,
                None => body,
            };
            emitter.builder.define(rule, body);
            start = Some(rule);
            Ok(emitter)
        })?;
        match start {
            Some(start) => Ok((Self(owned), start)),
            // Set wherever the emitter is made.
            None => Err(unsatisfiable(&schema.document, options)),
        }
    }

    /// The source of a frame with its schemas, and its first rule.
    ///
    /// Errors as [`new`](Self::new) does, with the name of the schema.
    pub(crate) fn framed(
        frame: &Frame,
        options: &Options,
        limits: &Limits,
        shared: &Shared,
    ) -> Result<(Self, RuleId)> {
        let inputs = Inputs { schema: Arc::clone(&frame.schemas), options: options.clone() };
        let mut start = frame.grammar.start();
        let owned = Owned::try_new(inputs, |inputs| {
            let document = &inputs.schema.document;
            let base = shared.base(inputs.options.spelling);
            let mut sets = Sets::from_base(document, &inputs.options, base);
            sets.languages.share(&shared.tables);
            sets.languages.set_limit(limits.language_states);
            let mut roots = Vec::new();
            for ((_, root), name) in document.supplied().zip(&frame.names) {
                let set = sets.schema(root).and_then(|set| {
                    sets.validate(root)?;
                    match sets.is_empty(set)? {
                        false => Ok(set),
                        true => {
                            let message = "nothing satisfies the schema";
                            Err(document.error(ErrorKind::Unsatisfiable, root, message))
                        }
                    }
                });
                let set = set.map_err(|error| document.placed(error, Some(root)));
                roots.push((set.map_err(|error| named(name, &error))?, name));
            }
            let mut emitter = Emitter::new(sets, true)?;
            let place = emitter.embed_rules(&frame.grammar)?;
            start = place(frame.grammar.start());
            for (&hole, (set, name)) in frame.holes.iter().zip(roots) {
                // A set that is not empty has a node.
                let body = emitter.whole(set).map_err(|error| named(name, &error))?;
                let body = body.unwrap_or_else(|| emitter.builder.choice([]));
                emitter.builder.define(place(hole), body);
            }
            Ok::<_, Error>(emitter)
        })?;
        Ok((Self(owned), start))
    }
}

impl SchemaSource {
    /// Says whether every text can be spelled in tokens, byte by byte.
    pub(crate) fn set_every_byte(&mut self, every_byte: bool) {
        self.0.with_dependent_mut(|_, emitter| emitter.sets.written.every_byte = every_byte);
    }

    /// Rules that are made while a text is read: a task of its own, and where it is.
    fn task<T>(
        &mut self,
        place: impl FnOnce(&Emitter<'_>) -> Option<ValueId>,
        make: impl for<'d> FnOnce(&mut Emitter<'d>) -> Result<T>,
    ) -> Result<T> {
        self.0.with_dependent_mut(|_, emitter| {
            emitter.sets.go_on();
            make(emitter).map_err(|error| emitter.sets.document.placed(error, place(emitter)))
        })
    }
}

impl Source for SchemaSource {
    fn with_builder(&self, f: &mut dyn FnMut(&GrammarBuilder)) {
        self.0.with_dependent(|_, emitter| f(&emitter.builder));
    }

    fn exchange(&mut self, languages: &mut Languages) {
        self.0.with_dependent_mut(|_, emitter| {
            std::mem::swap(&mut emitter.sets.languages, languages);
        });
    }

    fn text_unit(&mut self) -> Language {
        self.0.with_dependent_mut(|_, emitter| emitter.sets.strings.char)
    }

    fn body(&mut self, rule: RuleId) -> Result<NodeId> {
        self.task(|at| at.place_of_rule(rule), |emitter| emitter.body(rule))
    }

    fn least_bytes(&self, rule: RuleId) -> u64 {
        self.0.with_dependent(|_, emitter| emitter.least_bytes(rule))
    }

    fn names(&mut self, tag: u32) -> Names {
        self.0.with_dependent_mut(|_, emitter| emitter.names(tag))
    }

    fn after_name(&mut self, tag: u32, rank: u32) -> Result<NodeId> {
        self.task(|at| at.place_of_name(tag), |emitter| emitter.after_name(tag, rank))
    }

    fn after_capture(&mut self, tag: u32, text: Option<&[u8]>) -> Result<Option<NodeId>> {
        self.task(|at| at.place_of_capture(tag), |emitter| emitter.after_capture(tag, text))
    }

    fn looked_up(&self, tag: u32) -> Option<(Arc<TextSets>, TextSet)> {
        self.0.with_dependent(|_, emitter| emitter.looked_up(tag))
    }

    fn completion(&mut self, rule: RuleId) -> Result<Option<Vec<u8>>> {
        self.task(|at| at.place_of_rule(rule), |emitter| emitter.completion(rule))
    }

    fn is_item(&self, tag: u32) -> bool {
        self.0.with_dependent(|_, emitter| emitter.is_item(tag))
    }

    fn bytes(&self) -> usize {
        self.0.with_dependent(|_, emitter| emitter.sets.written.bytes())
    }

    fn has_repeats(&self) -> bool {
        self.0.with_dependent(|_, emitter| emitter.has_repeats())
    }

    fn places(&self, places: &[u32]) -> String {
        self.0.with_dependent(|_, emitter| emitter.pointers(places))
    }

    fn placed(&self, places: &[u32], error: Error) -> Error {
        let at = places.first().map(|&at| ValueId::from_number(at));
        self.0.with_dependent(|_, emitter| emitter.sets.document.placed(error, at))
    }
}
