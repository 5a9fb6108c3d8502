//! From sets to the rules of a grammar, made while a text is read.
//!
//! A set of values becomes a rule when it is first called for, and the rule gets its body when a
//! text enters it. Objects and arrays that must remember something are automata whose states are
//! rules ([`object`], [`array::states`]); other arrays are repeats. What was written (keys, items,
//! counts) is known to those rules alone: the engine that reads them remembers nothing.
//!
//! | file | holds |
//! |---|---|
//! | `hole` | a schema as a part of a grammar |
//! | `source` | all schemas of one grammar, asked for rules |
//! | `array`, `object` | members and items |
//! | `state`, `tables` | the memory of rules |
//! | `captured` | texts that decide what follows them |
//! | `completion`, `lower_bound` | the end of a text |
//! | `regular` | a schema as a regular language |
//! | `styled` | values in a style of a model family |
//!
//! Whitespace, brackets and commas come from the parent's `layout` and `punctuation`.
//!
//! *Invariant:* every rule made here is productive, derives no empty string, and is free of left
//! recursion.

mod array;
mod captured;
mod completion;
pub(crate) mod hole;
mod interned;
mod lower_bound;
mod numbering;
mod object;
mod places;
mod regular;
pub(crate) mod source;
mod state;
mod styled;
mod tables;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::document::ValueId;
use super::options::Whitespace;
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::{GrammarBuilder, Node, NodeId, Origin, RuleId};
use crate::json_schema::layout::Layout;
use crate::json_schema::punctuation::{ContainerSigns, Punctuation, Separators, separators};
use crate::json_schema::set::KeywordOrigins;
use crate::json_schema::set::Set;
use crate::json_schema::set::SetExpr;
use crate::json_schema::set::Sets;
use crate::json_schema::set::Shape;
use crate::json_schema::set::array_set::ItemEquality;
use crate::json_schema::set::member_formula::MemberFormula;
use crate::json_schema::set::object_set::ObjectSet;
use crate::regular::compact;
use crate::regular::{Language, TextSet};
use crate::vocabulary::SpecialTokenNames;
use interned::Interned;
use numbering::Numbering;
use state::{Captured, OpenRule, Progress};
use styled::StyleSigns;
use tables::{ArrayAutomaton, ArrayTables, ObjectTables};

/// The kind of node for JSON strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StringNodes {
    /// As [`Node::JsonString`]: their characters are spelled as in all strings of the program.
    JsonString,
    /// As [`Node::Regular`]: another schema of the program spells its strings otherwise.
    Regular,
}

/// Brackets, commas and colons as nodes.
pub(super) type PunctuationNodes = Punctuation<NodeId>;

/// Makes the rules of one schema. Its methods stand in the files that their concepts name; all of
/// them need the sets, the rules made so far and the arena of terminals.
///
/// More than 40 methods: one for each kind of rule, which make each other in turn.
pub(crate) struct Emitter<'d> {
    pub(super) sets: Sets<'d>,
    pub(super) builder: GrammarBuilder,
    numbering: Numbering,
    string_nodes: StringNodes,
    nodes: SetNodes,
    /// Rules whose bodies are made when they are asked for.
    open: FxHashMap<RuleId, OpenRule>,
    objects: ObjectTables,
    arrays: ArrayTables,
    /// Captured texts, by tag.
    captures: Vec<Captured>,
    /// By tag, if there are any: texts that a captured one must not be, though its language holds
    /// them.
    refused_texts: FxHashMap<u32, TextSet>,
    separators: Separators,
    signs: StyleSigns,
}

/// Nodes made so far.
#[derive(Default)]
struct SetNodes {
    /// Of the sets that are empty (`None`) or hold neither arrays nor objects: these have no layout.
    scalars: FxHashMap<Set, Option<NodeId>>,
    /// Of the other sets.
    structures: FxHashMap<(Set, Layout), NodeId>,
    /// Texts between quotes.
    quoted: FxHashMap<Language, Language>,
    /// Brackets, commas and colons.
    punctuation: FxHashMap<Layout, PunctuationNodes>,
}

impl<'d> Emitter<'d> {
    pub(crate) fn new(
        mut sets: Sets<'d>,
        builder: GrammarBuilder,
        numbering: Numbering,
        string_nodes: StringNodes,
        tokens: Arc<SpecialTokenNames>,
    ) -> Result<Self> {
        let separators = match &sets.options.whitespace {
            Whitespace::Flexible => Separators::with_gap(&mut sets.languages, sets.flexible_gap),
            whitespace => separators(&mut sets.languages, whitespace)?,
        };
        Ok(Self {
            sets,
            builder,
            numbering,
            string_nodes,
            nodes: SetNodes::default(),
            open: FxHashMap::default(),
            objects: ObjectTables::default(),
            arrays: ArrayTables::default(),
            captures: Vec::new(),
            refused_texts: FxHashMap::default(),
            separators,
            signs: StyleSigns { ends: Interned::default(), tokens },
        })
    }

    /// Brackets, commas and colons in a layout.
    pub(crate) fn punctuation(&mut self, layout: Layout) -> PunctuationNodes {
        if let Some(&signs) = self.nodes.punctuation.get(&layout) {
            return signs;
        }
        // The punctuation made in advance has flexible gaps around separators without whitespace.
        let is_known =
            layout != Layout::Gaps || self.sets.options.whitespace == Whitespace::Flexible;
        let known = self.sets.punctuation.get(&layout).copied().filter(|_| is_known);
        let signs = match (layout, self.style()) {
            (Layout::Styled(end), Some(style)) => self.styled_punctuation(&style, end),
            _ => {
                let (languages, separators) = (&mut self.sets.languages, &self.separators);
                let punctuation =
                    known.unwrap_or_else(|| Punctuation::new(languages, layout, separators));
                punctuation.map(|text| self.builder.regular(text))
            }
        };
        self.nodes.punctuation.insert(layout, signs);
        signs
    }

    /// The part after the opening bracket of a container that may be empty: the closing bracket, or
    /// its contents after the `first` gap, where there may be any.
    pub(crate) fn empty_or_contents(
        &mut self,
        end: Option<NodeId>,
        first: Option<NodeId>,
        contents: Option<NodeId>,
    ) -> Option<NodeId> {
        let Some(contents) = contents else { return end };
        let contents = self.builder.sequence(first.into_iter().chain([contents]));
        Some(self.builder.choice(end.into_iter().chain([contents])))
    }

    /// A member or item with what stands between it and the text before.
    fn after_gap(
        &mut self,
        progress: Progress,
        signs: &ContainerSigns<NodeId>,
        next: NodeId,
    ) -> NodeId {
        let gap = match progress {
            Progress::AfterBracket => signs.first,
            Progress::AfterGap => None,
            Progress::NotEmpty => Some(signs.comma),
        };
        match gap {
            Some(gap) => self.builder.sequence([gap, next]),
            None => next,
        }
    }

    /// A value that is the whole text, with the whitespace around it; `None` if there is none.
    pub(crate) fn document_value(&mut self, set: Set) -> Result<Option<NodeId>> {
        if self.style().is_some() {
            return self.arguments(set);
        }
        let layout = Layout::of(&self.sets.options.whitespace);
        let Some(value) = self.value(set, layout)? else { return Ok(None) };
        Ok(Some(match self.sets.options.whitespace {
            Whitespace::Any => {
                let gap = self.builder.regular(self.separators.gap);
                self.builder.sequence([gap, value, gap])
            }
            _ => value,
        }))
    }

    /// A text between quotes.
    pub(crate) fn quoted(&mut self, text: Language) -> NodeId {
        let language = self.quoted_text(text);
        match self.string_nodes {
            StringNodes::JsonString => self.builder.add(Node::JsonString(language)),
            StringNodes::Regular => self.builder.regular(language),
        }
    }

    pub(crate) fn quoted_text(&mut self, text: Language) -> Language {
        if let Some(&known) = self.nodes.quoted.get(&text) {
            return known;
        }
        let plain = text;
        // What cannot be finished stays as it is; so does an error, for when it is read.
        let unit = self.sets.strings.char;
        let languages = &mut self.sets.languages;
        let text = compact::compacted(languages, text, Some(unit)).unwrap_or(text);
        let quote = languages.literal(b"\"");
        let quoted = languages.concat([quote, text, quote]);
        self.nodes.quoted.insert(plain, quoted);
        quoted
    }

    pub(crate) fn mark(&mut self, node: NodeId, origins: &KeywordOrigins) -> NodeId {
        if origins.0.is_empty() {
            return node;
        }
        let origin = self.origin(&origins.0);
        self.builder.mark_from(node, origin)
    }

    /// Places, for messages.
    pub(crate) fn origin(&self, places: &[ValueId]) -> Origin {
        Origin::Places(places.iter().map(|&at| self.numbering.place(at)).collect())
    }

    /// The name of a set's rule, for messages.
    fn name(&self, set: Set) -> Origin {
        match self.sets.expr(set) {
            SetExpr::Any => Origin::Kind("any value".into()),
            _ => self.origin(self.sets.place(set).as_slice()),
        }
    }

    /// The node of a set in a layout; `None` if it is empty.
    pub(crate) fn value(&mut self, set: Set, layout: Layout) -> Result<Option<NodeId>> {
        let styled_end = match layout {
            Layout::StyledValue(end) => Some(end),
            _ => None,
        };
        match self.nodes.scalars.get(&set) {
            Some(None) => return Ok(None),
            Some(&node) if styled_end.is_none() => return Ok(node),
            _ => {}
        }
        if let Some(&node) = self.nodes.structures.get(&(set, layout)) {
            return Ok(Some(node));
        }
        if self.sets.is_empty(set)? {
            self.nodes.scalars.insert(set, None);
            return Ok(None);
        }
        let shape = self.sets.shape(set)?;
        if shape.arrays.is_empty() && shape.objects.is_empty() && shape.listed.is_empty() {
            let scalars = match styled_end {
                Some(end) => self.styled_scalars(&shape, end)?,
                None => self.scalars(&shape)?,
            };
            if scalars.is_empty() {
                return Err(self.too_few_digits(set));
            }
            let node = self.builder.choice(scalars);
            match styled_end {
                Some(_) => drop(self.nodes.structures.insert((set, layout), node)),
                None => drop(self.nodes.scalars.insert(set, Some(node))),
            }
            return Ok(Some(node));
        }
        let rule = self.builder.declare_from(self.name(set));
        self.open.insert(rule, OpenRule::Set(set, layout));
        let node = self.builder.call(rule);
        self.nodes.structures.insert((set, layout), node);
        Ok(Some(node))
    }

    /// The body of a rule.
    pub(crate) fn body(&mut self, rule: RuleId) -> Result<NodeId> {
        match self.open.get(&rule).copied() {
            Some(OpenRule::Set(set, layout)) => self.rule(set, layout),
            Some(OpenRule::Items(array, layout)) => self.items_of_whole(array, layout),
            Some(OpenRule::Object(object, state)) => self.object_state(object, state),
            Some(OpenRule::Array(array, state)) => self.array_state(array, state),
            Some(OpenRule::Member(object, set, layout, next)) => {
                let value = match self.value(set, layout)? {
                    Some(value) => value,
                    // Only names whose sets have values are allowed.
                    None => self.builder.choice([]),
                };
                // `None` means that nothing is written and nothing may come; here the value is written.
                Ok(self.rest_of_object(object, next, Some(value))?.unwrap_or(value))
            }
            None => Ok(self.builder.body(rule)),
        }
    }

    /// The body of a set's rule in a layout.
    pub(crate) fn rule(&mut self, set: Set, layout: Layout) -> Result<NodeId> {
        let shape = self.sets.shape(set)?;
        let objects = self.sets.gather(&shape.objects)?;
        let mut choices = self.ways(&shape, &objects, &self.name(set), layout)?;
        for &value in &shape.listed {
            let node = self.listed(value, layout)?;
            let origin = self.origin(&[value]);
            choices.push(self.builder.mark_from(node, origin));
        }
        if choices.is_empty() {
            // `contains` or a formula can ask for items or members that do not fit together. Otherwise
            // only the bound on digits can leave no value.
            let asks = shape.arrays.iter().any(|array| !array.contains_counts.is_empty())
                || shape.objects.iter().any(|object| object.formula != MemberFormula::HOLDS);
            if !asks {
                return Err(self.too_few_digits(set));
            }
        }
        Ok(self.builder.choice(choices))
    }

    /// The ways to write a value of a shape in a layout, listed values aside.
    fn ways(
        &mut self,
        shape: &Shape,
        objects: &[ObjectSet],
        name: &Origin,
        layout: Layout,
    ) -> Result<Vec<NodeId>> {
        if let Layout::StyledValue(end) = layout {
            return self.styled_ways(shape, objects, name, end);
        }
        let mut ways = self.scalars(shape)?;
        for array in &shape.arrays {
            ways.extend(self.array(array, name, layout)?);
        }
        for object in objects {
            ways.extend(self.object(object, name, layout)?);
        }
        Ok(ways)
    }

    /// Whether a set has a value.
    fn has_value(&mut self, set: Set) -> Result<bool> {
        Ok(set == Set::ANY || !self.sets.is_empty(set)?)
    }

    /// Whether two items of some array must be equal.
    pub(crate) fn has_required_duplicates(&self) -> bool {
        let must = |array: &ArrayAutomaton| array.set.equality == ItemEquality::Must;
        self.arrays.automata.iter().any(must)
    }

    fn too_few_digits(&self, set: Set) -> Error {
        let digits = self.sets.options.digits;
        let message = format!("no number with at most {digits} digits satisfies the schema");
        let error = self.sets.error(ErrorKind::Unsatisfiable, set, message);
        error.with_help("allow more digits")
    }

    fn scalars(&mut self, shape: &Shape) -> Result<Vec<NodeId>> {
        let mut nodes = Vec::new();
        let words =
            [(shape.null, "null"), (shape.booleans[0], "false"), (shape.booleans[1], "true")];
        let words: Vec<&str> = words.into_iter().filter(|w| w.0).map(|w| w.1).collect();
        if !words.is_empty() {
            let words = self.words(&words);
            nodes.push(self.builder.regular(words));
        }
        let number = self.sets.number_text(shape.numbers)?;
        let languages = &mut self.sets.languages;
        if languages.is_live(number)? {
            nodes.push(self.builder.regular(number));
        }
        if languages.is_live(shape.strings)? {
            nodes.push(self.quoted(shape.strings));
        }
        let single = self.single_quoted(shape.strings);
        if self.sets.languages.is_live(single)? {
            nodes.push(self.builder.regular(single));
        }
        Ok(nodes.into_iter().map(|node| self.mark(node, &shape.origins)).collect())
    }

    /// A listed value: a set that holds it alone, so the options count here, too.
    pub(crate) fn listed(&mut self, value: ValueId, layout: Layout) -> Result<NodeId> {
        let shape = self.sets.unlisted(value)?;
        let name = self.origin(&[value]);
        let ways = self.ways(&shape, &shape.objects, &name, layout)?;
        Ok(self.builder.choice(ways))
    }
}
