//! A schema as a grammar that is made as it is read.

use std::fmt;
use std::sync::Arc;

use self_cell::self_cell;

use super::Schema;
use super::diagnosis::unsatisfiable;
use super::emit::Emitter;
use super::options::Options;
use super::set::{Sets, Shared};
use crate::constraint::{Names, Source};
use crate::error::Result;
use crate::grammar::{Grammar, GrammarBuilder, NodeId, RuleId};
use crate::regex::{Language, Languages};

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
        shared: &Shared,
        prefix: Option<&Grammar>,
    ) -> Result<(Self, RuleId)> {
        let inputs = Inputs { schema: Arc::clone(schema), options: options.clone() };
        let mut start = None;
        let owned = Owned::try_new(inputs, |inputs| {
            let document = &inputs.schema.document;
            let base = shared.base(inputs.options.spelling);
            let mut sets = Sets::from_base(document, &inputs.options, base);
            sets.languages.share(&shared.tables);
            let root = sets.schema(document.root())?;
            sets.validate(document.root())?;
            if sets.is_empty(root)? {
                return Err(unsatisfiable(document, &inputs.options));
            }
            let mut emitter = Emitter::new(sets, true)?;
            let rule = emitter.builder.declare("start");
            let Some(body) = emitter.whole(root)? else {
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
        self.0.with_dependent_mut(|_, emitter| emitter.body(rule))
    }

    fn names(&mut self, tag: u32) -> Names {
        self.0.with_dependent_mut(|_, emitter| emitter.names(tag))
    }

    fn after_name(&mut self, tag: u32, rank: u32) -> Result<NodeId> {
        self.0.with_dependent_mut(|_, emitter| emitter.after_name(tag, rank))
    }

    fn after_capture(&mut self, tag: u32, text: Option<&[u8]>) -> Result<Option<NodeId>> {
        self.0.with_dependent_mut(|_, emitter| emitter.after_capture(tag, text))
    }
}
