//! From sets to a grammar.
//!
//! Each set with arrays or objects becomes a rule, when it is first called for. The members of an
//! object are a chain of rules, one for each place where an optional property may be left out, so
//! an object with n properties takes on the order of n nodes, and each rule ends in a call, with
//! nothing left to do after it.

pub(crate) mod hole;
mod numbering;
mod regular;
pub(crate) mod source;

use rustc_hash::FxHashMap;

use super::array::{ArraySet, Repeats};
use super::condition::Condition;
use super::document::ValueId;
use super::layout::Layout;
use super::lazy::Lazy;
use super::options::Whitespace;
use super::punctuation::{self, Punctuation};
use super::set::{Expr, Set, Sets, Shape, Sources};
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::{GrammarBuilder, Node, NodeId, Origin};
use crate::regular::Language;
use numbering::Numbering;

pub(crate) struct Emitter<'d> {
    pub(crate) sets: Sets<'d>,
    pub(crate) builder: GrammarBuilder,
    /// The nodes of the sets met so far that are empty (`None`) or hold neither arrays nor objects:
    /// these have no layout.
    scalar_nodes: FxHashMap<Set, Option<NodeId>>,
    /// The nodes of the other sets met so far.
    nodes: FxHashMap<(Set, Layout), NodeId>,
    /// What texts are written as, once made.
    quoted: FxHashMap<Language, Language>,
    /// Rules whose bodies are made when they are asked for.
    pub(crate) lazy: Lazy,
    /// How its tags and places are told from those of other schemas.
    pub(crate) numbering: Numbering,
    text_nodes: TextNodes,
    /// What rules for the items of arrays are called.
    items: Origin,
    /// What stands in each gap of [`Layout::Gaps`].
    gap: Language,
    /// Brackets, commas and colons by layout, once made.
    signs: FxHashMap<Layout, Signs>,
}

/// Brackets, commas and colons as nodes.
pub(crate) type Signs = Punctuation<NodeId>;

/// Items that are listed one by one beyond which each waits for a text.
const LONG: usize = 64;

/// How strings are written as terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextNodes {
    /// As [`Node::Text`]: their characters are spelled as in all strings of the program.
    Text,
    /// As [`Node::Regular`]: another schema of the program spells its strings otherwise.
    Regular,
}

impl<'d> Emitter<'d> {
    pub(crate) fn new(
        mut sets: Sets<'d>,
        builder: GrammarBuilder,
        numbering: Numbering,
        text_nodes: TextNodes,
    ) -> Result<Self> {
        let gap = match &sets.options.whitespace {
            Whitespace::Flexible => sets.flexible_gap,
            whitespace => punctuation::gap(&mut sets.languages, whitespace)?,
        };
        Ok(Self {
            sets,
            builder,
            scalar_nodes: FxHashMap::default(),
            nodes: FxHashMap::default(),
            quoted: FxHashMap::default(),
            lazy: Lazy::default(),
            numbering,
            text_nodes,
            items: Origin::Kind("items".into()),
            gap,
            signs: FxHashMap::default(),
        })
    }

    /// Brackets, commas and colons in a layout.
    pub(crate) fn signs(&mut self, layout: Layout) -> Signs {
        if let Some(&signs) = self.signs.get(&layout) {
            return signs;
        }
        // Its gaps are flexible ones.
        let is_known = layout != Layout::Gaps || self.gap == self.sets.flexible_gap;
        let punctuation = match self.sets.punctuation.get(&layout) {
            Some(&punctuation) if is_known => punctuation,
            _ => Punctuation::new(&mut self.sets.languages, layout, self.gap),
        };
        let signs = punctuation.map(|text| self.builder.regular(text));
        self.signs.insert(layout, signs);
        signs
    }

    /// What may follow the opening bracket of a container that may be empty: the closing bracket,
    /// or members or items behind the `first` gap, where there may be any.
    pub(crate) fn closed_or(
        &mut self,
        end: NodeId,
        first: Option<NodeId>,
        some: Option<NodeId>,
    ) -> NodeId {
        let Some(some) = some else { return end };
        let some = self.builder.sequence(first.into_iter().chain([some]));
        self.builder.choice([end, some])
    }

    /// A value that is the whole text, with the whitespace around it; `None` if there is none.
    pub(crate) fn whole(&mut self, set: Set) -> Result<Option<NodeId>> {
        let layout = Layout::of(&self.sets.options.whitespace);
        let Some(value) = self.value(set, layout)? else { return Ok(None) };
        Ok(Some(match self.sets.options.whitespace {
            Whitespace::Any => {
                let gap = self.builder.regular(self.gap);
                self.builder.sequence([gap, value, gap])
            }
            _ => value,
        }))
    }

    /// A text between quotes.
    pub(crate) fn quoted(&mut self, text: Language) -> NodeId {
        let language = self.quoted_text(text);
        match self.text_nodes {
            TextNodes::Text => self.builder.add(Node::Text(language)),
            TextNodes::Regular => self.builder.regular(language),
        }
    }

    pub(crate) fn quoted_text(&mut self, text: Language) -> Language {
        if let Some(&known) = self.quoted.get(&text) {
            return known;
        }
        let plain = text;
        // What cannot be finished stays as it is; so does an error, for when it is read.
        let unit = self.sets.strings.char;
        let languages = &mut self.sets.languages;
        let text = languages.compact(text, Some(unit)).unwrap_or(text);
        let quote = languages.literal(b"\"");
        let quoted = languages.concat([quote, text, quote]);
        self.quoted.insert(plain, quoted);
        quoted
    }

    pub(crate) fn mark(&mut self, node: NodeId, sources: &Sources) -> NodeId {
        match sources.0.is_empty() {
            true => node,
            false => {
                let origin = self.origin(&sources.0);
                self.builder.mark_from(node, origin)
            }
        }
    }

    /// Places, for messages.
    pub(crate) fn origin(&self, places: &[ValueId]) -> Origin {
        Origin::Places(places.iter().map(|&at| self.numbering.place(at)).collect())
    }

    /// What a set's rule is called.
    fn name(&self, set: Set) -> Origin {
        match self.sets.expr(set) {
            Expr::Any => Origin::Kind("any value".into()),
            _ => self.origin(self.sets.place(set).as_slice()),
        }
    }

    /// The node of a set in a layout; `None` if it is empty.
    pub(crate) fn value(&mut self, set: Set, layout: Layout) -> Result<Option<NodeId>> {
        if let Some(&node) = self.scalar_nodes.get(&set) {
            return Ok(node);
        }
        if let Some(&node) = self.nodes.get(&(set, layout)) {
            return Ok(Some(node));
        }
        if self.sets.is_empty(set)? {
            self.scalar_nodes.insert(set, None);
            return Ok(None);
        }
        let shape = self.sets.shape(set)?;
        if shape.arrays.is_empty() && shape.objects.is_empty() && shape.listed.is_empty() {
            let scalars = self.scalars(&shape)?;
            if scalars.is_empty() {
                return Err(self.too_few_digits(set));
            }
            let node = self.builder.choice(scalars);
            self.scalar_nodes.insert(set, Some(node));
            return Ok(Some(node));
        }
        let rule = self.builder.declare_from(self.name(set));
        self.lazy.set_rule(rule, set, layout);
        let node = self.builder.call(rule);
        self.nodes.insert((set, layout), node);
        Ok(Some(node))
    }

    /// The body of a set's rule in a layout.
    pub(crate) fn rule(&mut self, set: Set, layout: Layout) -> Result<NodeId> {
        let shape = self.sets.shape(set)?;
        let mut choices = self.scalars(&shape)?;
        for array in &shape.arrays {
            choices.extend(self.array(array, &self.name(set), layout)?);
        }
        for object in &self.sets.gather(&shape.objects)? {
            choices.extend(self.object(object, &self.name(set), layout)?);
        }
        for &value in &shape.listed {
            let node = self.listed(value, layout)?;
            let origin = self.origin(&[value]);
            choices.push(self.builder.mark_from(node, origin));
        }
        if choices.is_empty() {
            // Items or members asked for that do not fit together.
            let asks = shape.arrays.iter().any(|array| !array.some.is_empty())
                || shape.objects.iter().any(|object| object.condition != Condition::HOLDS);
            if !asks {
                return Err(self.too_few_digits(set));
            }
        }
        Ok(self.builder.choice(choices))
    }

    fn too_few_digits(&self, set: Set) -> Error {
        let digits = self.sets.options.digits;
        let message = format!("no number with at most {digits} digits satisfies the schema");
        let error = self.sets.error(ErrorKind::Unsatisfiable, set, message);
        error.with_help("allow more digits")
    }

    fn scalars(&mut self, shape: &Shape) -> Result<Vec<NodeId>> {
        let mut nodes = Vec::new();
        let words = [
            (shape.null, &b"null"[..]),
            (shape.booleans[0], b"false"),
            (shape.booleans[1], b"true"),
        ];
        let words: Vec<&[u8]> = words.into_iter().filter(|w| w.0).map(|w| w.1).collect();
        if !words.is_empty() {
            let words = self.sets.languages.literals(words);
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
        Ok(nodes.into_iter().map(|node| self.mark(node, &shape.sources)).collect())
    }

    /// A listed value: a set that holds it alone, so the options count here, too.
    pub(crate) fn listed(&mut self, value: ValueId, layout: Layout) -> Result<NodeId> {
        let shape = self.sets.unlisted(value)?;
        let name = self.origin(&[value]);
        let mut ways = self.scalars(&shape)?;
        for array in &shape.arrays {
            ways.extend(self.array(array, &name, layout)?);
        }
        for object in &shape.objects {
            ways.extend(self.object(object, &name, layout)?);
        }
        Ok(self.builder.choice(ways))
    }

    /// An item of a long list: a value that is listed is written down when a text comes to it.
    fn item_of_many(&mut self, set: Set, layout: Layout) -> Result<Option<NodeId>> {
        if !matches!(self.sets.expr(set), Expr::Value(_) | Expr::Text(_)) {
            return self.value(set, layout);
        }
        let rule = self.builder.declare_from(self.items.clone());
        self.lazy.set_rule(rule, set, layout);
        Ok(Some(self.builder.call(rule)))
    }

    pub(crate) fn array(
        &mut self,
        array: &ArraySet,
        name: &Origin,
        layout: Layout,
    ) -> Result<Option<NodeId>> {
        if !array.some.is_empty() || array.repeats != Repeats::May {
            return self.lazy_array(array, name, layout);
        }
        if layout == Layout::Undecided {
            return self.undecided_array(array, name);
        }
        let Some(some) = self.items(array, layout)? else { return Ok(None) };
        let signs = self.signs(layout);
        let node = match (array.min, some) {
            (0, some) => {
                let inside = self.closed_or(signs.end_array, signs.first, some);
                self.builder.sequence([signs.open_array, inside])
            }
            (_, Some(some)) => self.builder.sequence([signs.begin_array, some]),
            // Without items there are too few.
            (_, None) => return Ok(None),
        };
        Ok(Some(self.mark(node, &array.sources)))
    }

    /// The items of an array with the bracket that closes them, if there may be any; nothing at all
    /// if too few are possible.
    pub(crate) fn items(
        &mut self,
        array: &ArraySet,
        layout: Layout,
    ) -> Result<Option<Option<NodeId>>> {
        let (signs, inside) = (self.signs(layout), layout.inside());
        let mut items = Vec::new();
        let mut max = array.max;
        for &item in array.prefix.iter().take(max.unwrap_or(u32::MAX) as usize) {
            let item = match array.prefix.len() > LONG {
                true => self.item_of_many(item, inside)?,
                false => self.value(item, inside)?,
            };
            match item {
                Some(node) => items.push(node),
                None => {
                    max = Some(items.len() as u32);
                    break;
                }
            }
        }
        let more = max.is_none_or(|max| max as usize > items.len());
        let rest = if more { self.value(array.rest, inside)? } else { None };
        if rest.is_none() {
            max = Some(items.len() as u32);
        }
        if max.is_some_and(|max| max < array.min) {
            return Ok(None);
        }
        // Backwards: what follows the first i items.
        let mut tail = vec![signs.close_array];
        let written = items.len() as u32;
        if let Some(rest) = rest {
            let (first, again) = (written.max(1), self.builder.sequence([signs.comma, rest]));
            let (min, max) = (array.min.saturating_sub(first), max.map(|max| max - first));
            let again = self.builder.repeat(again, min, max);
            tail.push(again);
            if written == 0 {
                tail.push(rest);
            }
        }
        for (i, &item) in items.iter().enumerate().rev() {
            if i as u32 + 1 >= array.min.max(1) && (i + 1 < items.len()) {
                // The array may end after this item, or go on.
                let further = self.builder.sequence(tail.into_iter().rev());
                let rule = self.builder.declare_from(self.items.clone());
                let body = self.builder.choice([signs.close_array, further]);
                self.builder.define(rule, body);
                tail = vec![self.builder.call(rule)];
            }
            tail.push(item);
            if i > 0 {
                tail.push(signs.comma);
            }
        }
        let some = items.len() + usize::from(rest.is_some()) > 0;
        Ok(Some(some.then(|| self.builder.sequence(tail.into_iter().rev()))))
    }
}
