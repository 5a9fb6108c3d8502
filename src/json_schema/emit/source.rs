//! The rules of a grammar with schemas and rules with a parameter in it, made as they are entered.
//!
//! All schemas write into one list of rules and one arena of terminals, which are lent to the
//! schema that is asked for something. Everything else is each schema's own: document, identifiers,
//! options, limits, and what was written so far.

use std::fmt;
use std::sync::Arc;

use self_cell::self_cell;

use super::hole::SchemaHole;
use super::numbering::Numbering;
use super::styled::check_style;
use super::{Emitter, StringNodes};
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::family::{FamilyLeaf, FamilyRules, RuleFamily};
use crate::grammar::hole::Hole;
use crate::grammar::key_choice::KeyChoice;
use crate::grammar::source::{KeySigns, Source};
use crate::grammar::{Grammar, GrammarBuilder, Node, NodeId, RuleId};
use crate::json_schema::document::{Document, ValueId};
use crate::json_schema::options::Options;
use crate::json_schema::satisfiability::unsat_core::unsatisfiable;
use crate::json_schema::set::BaseLanguages;
use crate::json_schema::set::Sets;
use crate::json_schema::set::Shared;
use crate::limits::Limits;
use crate::regular::{Language, Languages, TextSet, TextSets};
use crate::vocabulary::SpecialTokenNames;

self_cell!(
    struct OpenSchema {
        owner: Arc<dyn Hole>,
        #[not_covariant]
        dependent: Emitter,
    }
);

/// The maker of a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RuleOwner {
    /// The grammar around all holes.
    Grammar,
    /// A schema, by index.
    Schema(usize),
    /// Rules with a parameter, by index.
    Family(usize),
}

/// A grammar with schemas and families of rules in it, and what was made of them so far.
pub(crate) struct SchemaSource {
    schemas: Vec<OpenSchema>,
    families: Vec<FamilyRules>,
    numberings: Vec<Numbering>,
    /// Ranges of rules with their owner, ascending: each begins at its rule and ends before the next.
    /// Rules before the first range are the grammar's.
    owners: Vec<(RuleId, RuleOwner)>,
    /// Rules and terminals, while no schema is asked for anything.
    builder: GrammarBuilder,
    languages: Languages,
}

impl fmt::Debug for SchemaSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchemaSource").finish_non_exhaustive()
    }
}

/// The schema of a hole.
fn schema_of(hole: &dyn Hole) -> Result<&SchemaHole> {
    let schema = hole.as_any().downcast_ref::<SchemaHole>();
    schema.ok_or_else(|| Error::new(ErrorKind::Grammar, "a part of the grammar is no schema"))
}

/// The error for a schema whose values the style of the options cannot spell, or that the options
/// let no text be written of.
fn unspelled(document: &Document, options: &Options) -> Error {
    if options.restricts_texts() {
        let message = "no value that the schema accepts can be written without the excluded texts \
                       and escapes";
        let error = document.error(ErrorKind::Unsatisfiable, document.root(), message);
        return error.with_help("exclude less");
    }
    if options.objects_only && options.style.notation().is_none() {
        let message = "arguments are an object, and the schema accepts none";
        let error = document.error(ErrorKind::Unsatisfiable, document.root(), message);
        return error.with_help("write parameters as `{\"type\": \"object\", \"properties\": …}`");
    }
    let style = options.style.name();
    let message = format!("the style `{style}` can write no value that the schema accepts");
    let error = document.error(ErrorKind::Unsatisfiable, document.root(), message);
    let usual = "let it accept an object whose keys and strings do not hold the style's tags";
    let help = options.style.notation().and_then(|notation| notation.help.as_deref());
    error.with_help(help.unwrap_or(usual))
}

/// The number of schemas in holes, those in families of rules included.
fn count_schemas(holes: &[Arc<dyn Hole>]) -> usize {
    let count = |hole: &Arc<dyn Hole>| match hole.as_any().downcast_ref::<RuleFamily>() {
        Some(family) => count_schemas(family.holes()),
        None => usize::from(hole.as_any().is::<SchemaHole>()),
    };
    holes.iter().map(count).sum()
}

/// The holes that were opened so far.
struct OpenHoles<'s> {
    bases: Bases<'s>,
    /// The schemas of all holes.
    schemas: usize,
    first_place: u32,
    /// Holes, and the rules that fill them.
    rules: Vec<(Arc<dyn Hole>, RuleId)>,
    limits: &'s Limits,
}

/// The bases of the schemas of one grammar: the first of them brings the arena.
struct Bases<'s> {
    shared: &'s Shared,
    first: Option<crate::json_schema::Spelling>,
}

impl Bases<'_> {
    fn base(
        &mut self,
        hole: &SchemaHole,
        languages: &mut Languages,
        limits: &Limits,
    ) -> BaseLanguages {
        let spelling = hole.options.spelling;
        match self.first {
            None => {
                self.first = Some(spelling);
                let mut base = self.shared.base(spelling);
                base.languages.share(&self.shared.tables);
                base.languages.set_limit(limits.language_states);
                base
            }
            Some(first) if first == spelling => {
                BaseLanguages { languages: std::mem::take(languages), ..self.shared.base(spelling) }
            }
            Some(_) => BaseLanguages::within(std::mem::take(languages), spelling),
        }
    }

    fn string_nodes(&self, hole: &SchemaHole) -> StringNodes {
        match self.first {
            Some(first) if first != hole.options.spelling => StringNodes::Regular,
            _ => StringNodes::JsonString,
        }
    }
}

impl SchemaSource {
    /// The source of a grammar in normal form without dead parts, and its first rule.
    ///
    /// Errors if a schema is malformed where it is visited at once, or if nothing satisfies it.
    pub(crate) fn new(
        grammar: &Grammar,
        limits: &Limits,
        shared: &Shared,
    ) -> Result<(Self, RuleId)> {
        let mut this = Self {
            schemas: Vec::new(),
            families: Vec::new(),
            numberings: Vec::new(),
            owners: Vec::new(),
            builder: GrammarBuilder::new(),
            languages: Languages::new(),
        };
        let holes = grammar.holes();
        let mut open = OpenHoles {
            bases: Bases { shared, first: None },
            schemas: count_schemas(holes),
            first_place: 0,
            rules: Vec::with_capacity(holes.len()),
            limits,
        };
        // Schemas first, since the first of them brings the arena.
        let mut rules: Vec<Option<RuleId>> = vec![None; holes.len()];
        for is_schema in [true, false] {
            for (hole, rule) in holes.iter().zip(&mut rules) {
                if hole.as_any().is::<SchemaHole>() == is_schema {
                    *rule = Some(this.fill(hole, &mut open)?);
                }
            }
        }
        let rules: Vec<RuleId> = rules.into_iter().flatten().collect();
        this.grammar(grammar, &rules).map(|start| (this, start))
    }

    /// Opens a hole; the rule that fills it.
    fn fill(&mut self, hole: &Arc<dyn Hole>, open: &mut OpenHoles<'_>) -> Result<RuleId> {
        if let Some((_, rule)) = open.rules.iter().find(|(known, _)| Arc::ptr_eq(known, hole)) {
            // Called twice.
            return Ok(*rule);
        }
        let rule = match hole.as_any().downcast_ref::<RuleFamily>() {
            Some(family) => {
                let mut filled = Vec::new();
                for inner in family.holes() {
                    let is_leaf = inner.as_any().is::<FamilyLeaf>();
                    filled.push(if is_leaf { None } else { Some(self.fill(inner, open)?) });
                }
                let index = self.families.len();
                let first_new = self.builder.next_rule();
                std::mem::swap(self.builder.languages(), &mut self.languages);
                let limit = open.limits.grammar_size;
                let made = FamilyRules::new(Arc::clone(hole), filled, &mut self.builder, limit);
                std::mem::swap(self.builder.languages(), &mut self.languages);
                let (rules, start) = made?;
                self.families.push(rules);
                self.own_from(first_new, RuleOwner::Family(index));
                start
            }
            None => {
                let schema = schema_of(&**hole)?;
                let numbering = Numbering::new(self.schemas.len(), open.schemas, open.first_place);
                open.first_place += schema.schema.document.len() as u32;
                let base = open.bases.base(schema, &mut self.languages, open.limits);
                let (string_nodes, tokens) =
                    (open.bases.string_nodes(schema), &open.bases.shared.tokens);
                let rule = self.open(hole, base, numbering, string_nodes, tokens);
                rule.map_err(|error| schema.named(error))?
            }
        };
        open.rules.push((Arc::clone(hole), rule));
        Ok(rule)
    }

    /// Opens a schema; the rule of its values.
    fn open(
        &mut self,
        hole: &Arc<dyn Hole>,
        base: BaseLanguages,
        numbering: Numbering,
        string_nodes: StringNodes,
        tokens: &Arc<SpecialTokenNames>,
    ) -> Result<RuleId> {
        let index = self.schemas.len();
        let rule = self.builder.declare("start");
        let builder = std::mem::take(&mut self.builder);
        let tokens = Arc::clone(tokens);
        let owned = OpenSchema::try_new(Arc::clone(hole), |hole| {
            let SchemaHole { schema, options, .. } = schema_of(&**hole)?;
            let document = &schema.document;
            let at_root = |error| document.with_place(error, Some(document.root()));
            check_style(document, options, &tokens)?;
            let mut sets = Sets::from_base(document, options, base);
            let root = sets.root()?;
            sets.validate(document.root()).map_err(at_root)?;
            if sets.is_empty(root).map_err(at_root)? {
                let plain = sets.schema(document.root())?;
                if plain != root && !sets.is_empty(plain).map_err(at_root)? {
                    return Err(unspelled(document, options));
                }
                return Err(unsatisfiable(document, options));
            }
            let mut emitter = Emitter::new(sets, builder, numbering, string_nodes, tokens)?;
            let Some(body) = emitter.document_value(root).map_err(at_root)? else {
                // A set that is not empty has a node.
                return Err(unsatisfiable(document, options));
            };
            emitter.builder.define(rule, body);
            Ok(emitter)
        })?;
        self.schemas.push(owned);
        self.numberings.push(numbering);
        self.own_from(rule, RuleOwner::Schema(index));
        self.exchange_with(index);
        Ok(rule)
    }

    /// Puts the grammar around its schemas, whose rules are given; the grammar's first rule.
    fn grammar(&mut self, grammar: &Grammar, rules: &[RuleId]) -> Result<RuleId> {
        let first = self.builder.next_rule();
        std::mem::swap(self.builder.languages(), &mut self.languages);
        let start = self.builder.embed(grammar);
        std::mem::swap(self.builder.languages(), &mut self.languages);
        self.builder.fill_holes(rules);
        self.owners.push((first, RuleOwner::Grammar));
        let start = start?;
        let body = self.builder.body(start);
        // A schema that stands alone is no call of another rule.
        Ok(match *self.builder.node(body) {
            Node::Call(only) if rules.contains(&only) => only,
            _ => start,
        })
    }

    /// Says whether every text can be spelled in tokens, byte by byte.
    pub(crate) fn set_every_byte(&mut self, every_byte: bool) {
        for schema in &mut self.schemas {
            schema.with_dependent_mut(|_, emitter| emitter.sets.written.every_byte = every_byte);
        }
    }

    /// Lends rules and terminals to a schema, or takes them back.
    fn exchange_with(&mut self, schema: usize) {
        let Self { schemas, builder, languages, .. } = self;
        schemas[schema].with_dependent_mut(|_, emitter| {
            std::mem::swap(&mut emitter.builder, builder);
            std::mem::swap(&mut emitter.sets.languages, languages);
        });
    }

    /// Records that the rules from this one on belong to `owner`.
    fn own_from(&mut self, rule: RuleId, owner: RuleOwner) {
        if self.owners.last().is_none_or(|&(_, last)| last != owner) {
            self.owners.push((rule, owner));
        }
    }

    /// The maker of a rule.
    fn owner(&self, rule: RuleId) -> RuleOwner {
        let after = self.owners.partition_point(|&(first, _)| first <= rule);
        self.owners[..after].last().map_or(RuleOwner::Grammar, |&(_, owner)| owner)
    }

    /// Makes the body of a rule with a parameter.
    fn family_body(&mut self, family: usize, rule: RuleId) -> Result<NodeId> {
        let first_new = self.builder.next_rule();
        std::mem::swap(self.builder.languages(), &mut self.languages);
        let made = self.families[family].body(rule, &mut self.builder);
        std::mem::swap(self.builder.languages(), &mut self.languages);
        if self.builder.next_rule() != first_new {
            self.own_from(first_new, RuleOwner::Family(family));
        }
        made
    }

    /// The schema that issued a tag.
    fn of_tag(&self, tag: u32) -> usize {
        self.numberings.first().map_or(0, |first| first.schema_of(tag))
    }

    /// The schema that issued a place number, and the value at that place.
    fn of_place(&self, place: u32) -> (usize, ValueId) {
        // Only schemas have places.
        let builtin = ValueId::from_number(place).is_builtin();
        let after = self.numberings.partition_point(|one| one.is_at_or_before(place));
        let schema = if builtin { 0 } else { after.saturating_sub(1) };
        (schema, self.numberings[schema].value(place))
    }

    /// Asks a schema for what is made while a text is read: a task of its own. Limits that it
    /// reaches without a place are reached at `place`.
    pub(super) fn ask<T>(
        &mut self,
        schema: usize,
        place: impl FnOnce(&Emitter<'_>) -> Option<ValueId>,
        make: impl for<'d> FnOnce(&mut Emitter<'d>) -> Result<T>,
    ) -> Result<T> {
        let first_new = self.builder.next_rule();
        self.exchange_with(schema);
        let made = self.schemas[schema].with_dependent_mut(|_, emitter| {
            emitter.sets.begin_task_budget();
            make(emitter).map_err(|error| emitter.sets.document.with_place(error, place(emitter)))
        });
        self.exchange_with(schema);
        if self.builder.next_rule() != first_new {
            self.own_from(first_new, RuleOwner::Schema(schema));
        }
        made
    }
}

impl Source for SchemaSource {
    fn with_builder(&self, f: &mut dyn FnMut(&GrammarBuilder)) {
        f(&self.builder);
    }

    fn exchange(&mut self, languages: &mut Languages) {
        std::mem::swap(&mut self.languages, languages);
    }

    fn json_character(&mut self) -> Language {
        let unit = |schema: &mut OpenSchema| {
            schema.with_dependent_mut(|_, emitter| emitter.sets.strings.char)
        };
        self.schemas.first_mut().map_or(Language::EMPTY, unit)
    }

    fn body(&mut self, rule: RuleId) -> Result<NodeId> {
        match self.owner(rule) {
            RuleOwner::Schema(schema) => {
                self.ask(schema, |at| at.place_of_rule(rule), |emitter| emitter.body(rule))
            }
            RuleOwner::Family(family) => self.family_body(family, rule),
            RuleOwner::Grammar => Ok(self.builder.body(rule)),
        }
    }

    fn least_bytes(&self, rule: RuleId) -> u64 {
        let RuleOwner::Schema(schema) = self.owner(rule) else { return 1 };
        self.schemas[schema].with_dependent(|_, emitter| emitter.least_bytes(rule))
    }

    fn key_choice(&mut self, tag: u32) -> KeyChoice {
        let schema = self.of_tag(tag);
        // Found when the state was entered, within the limits.
        self.exchange_with(schema);
        let choice = self.schemas[schema].with_dependent_mut(|_, emitter| emitter.key_choice(tag));
        self.exchange_with(schema);
        choice
    }

    fn after_key(&mut self, tag: u32, rank: u32) -> Result<NodeId> {
        let schema = self.of_tag(tag);
        self.ask(schema, |at| at.place_of_key_choice(tag), |emitter| emitter.after_key(tag, rank))
    }

    fn after_capture(&mut self, tag: u32, text: Option<&[u8]>) -> Result<Option<NodeId>> {
        let schema = self.of_tag(tag);
        self.ask(schema, |at| at.place_of_capture(tag), |emitter| emitter.after_capture(tag, text))
    }

    fn refused_texts(&self, tag: u32) -> Option<(Arc<TextSets>, TextSet)> {
        self.schemas[self.of_tag(tag)].with_dependent(|_, emitter| emitter.refused_texts(tag))
    }

    fn completion(&mut self, rule: RuleId) -> Result<Option<Vec<u8>>> {
        let RuleOwner::Schema(schema) = self.owner(rule) else { return Ok(None) };
        self.ask(schema, |at| at.place_of_rule(rule), |emitter| emitter.completion(rule))
    }

    fn is_item(&self, tag: u32) -> bool {
        self.schemas[self.of_tag(tag)].with_dependent(|_, emitter| emitter.is_item(tag))
    }

    fn memory_bytes(&self) -> usize {
        let bytes = |schema: &OpenSchema| {
            schema.with_dependent(|_, emitter| {
                let sets = &emitter.sets;
                size_of_val(emitter) + sets.languages.memory_bytes() + sets.written.memory_bytes()
            })
        };
        self.schemas.iter().map(bytes).sum()
    }

    fn has_required_duplicates(&self) -> bool {
        let has = |schema: &OpenSchema| {
            schema.with_dependent(|_, emitter| emitter.has_required_duplicates())
        };
        self.schemas.iter().any(has)
    }

    fn key_signs(&self) -> Vec<KeySigns> {
        let mut all = Vec::new();
        for schema in &self.schemas {
            let style = schema.with_dependent(|_, emitter| emitter.style());
            if let Some(signs) = style.map(|style| style.key_signs())
                && !all.contains(&signs)
            {
                all.push(signs);
            }
        }
        all
    }

    fn places(&self, places: &[u32]) -> String {
        let pointer = |&place: &u32| {
            let (schema, value) = self.of_place(place);
            self.schemas[schema].with_dependent(|_, emitter| emitter.sets.document.pointer(value))
        };
        places.iter().map(pointer).collect::<Vec<_>>().join(", ")
    }

    fn with_place(&self, places: &[u32], error: Error) -> Error {
        let Some(&place) = places.first() else { return error };
        let (schema, value) = self.of_place(place);
        self.schemas[schema]
            .with_dependent(|_, emitter| emitter.sets.document.with_place(error, Some(value)))
    }
}

impl SchemaSource {
    /// The arena of the terminals.
    pub(super) fn languages(&mut self) -> &mut Languages {
        &mut self.languages
    }

    /// Looks at the schema that issued a tag.
    pub(super) fn of<T>(
        &mut self,
        tag: u32,
        look: impl for<'d> FnOnce(&mut Emitter<'d>) -> T,
    ) -> T {
        let schema = self.of_tag(tag);
        self.exchange_with(schema);
        let found = self.schemas[schema].with_dependent_mut(|_, emitter| look(emitter));
        self.exchange_with(schema);
        found
    }
}
