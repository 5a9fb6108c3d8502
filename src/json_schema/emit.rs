//! From sets to a grammar.
//!
//! Each set with arrays or objects becomes a rule, when it is first called for. The members of an
//! object are a chain of rules, one for each place where an optional property may be left out, so
//! an object with n properties takes on the order of n nodes, and each rule ends in a call, with
//! nothing left to do after it.

use rustc_hash::FxHashMap;

use super::document::{Value, ValueId};
use super::layout::Layout;
use super::lazy::Lazy;
use super::options::Whitespace;
use super::punctuation::{self, Punctuation};
use super::set::{Set, SetExpr, Sets, Shape, Sources};
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::analysis::least;
use crate::grammar::{Grammar, GrammarBuilder, Node, NodeId, Origin, RuleId};
use crate::json_schema::satisfiability::unsat_core::unsatisfiable;
use crate::json_schema::set::array_set::{ArraySet, Repeats};
use crate::json_schema::set::member_formula::MemberFormula;
use crate::json_schema::set::object_set::ObjectSet;
use crate::regular::Language;

/// The grammar of a set.
pub(crate) fn grammar(mut sets: Sets<'_>, root: Set) -> Result<Grammar> {
    let (document, options) = (sets.document, sets.options);
    if sets.is_empty(root)? {
        return Err(unsatisfiable(document, options));
    }
    let mut emitter = Emitter::new(sets, false)?;
    let start = emitter.builder.declare("start");
    let Some(body) = emitter.whole(root)? else {
        // A set that is not empty has a node.
        return Err(unsatisfiable(document, options));
    };
    emitter.builder.define(start, body);
    emitter.rules()?;
    let (mut builder, dead_ends) = (emitter.builder, emitter.dead_ends);
    *builder.languages() = emitter.sets.languages;
    let grammar = builder.finish(start)?;
    if dead_ends {
        let productive = least(&grammar, |_, node| *node != Node::Regular(Language::EMPTY));
        if !productive[body.index()] {
            return Err(unsatisfiable(document, options));
        }
    }
    Ok(grammar)
}

/// Indented whitespace is asked for where depth cannot be counted.
fn indented_in_whole_grammar() -> Error {
    let message = "indented whitespace depends on the depth of nesting, which a schema inside \
                   another grammar cannot count";
    Error::new(ErrorKind::Request, message).with_help(
        "choose the whitespace `tidy`, `plain`, `compact`, `flexible` or a pattern there",
    )
}

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
    /// Rules declared and not yet defined.
    open: Vec<(Set, Layout, RuleId)>,
    /// Rules whose bodies are made when they are asked for.
    pub(crate) lazy: Option<Lazy>,
    /// What rules for the items of arrays are called.
    items: Origin,
    /// Was a rule met that has no text?
    dead_ends: bool,
    /// What stands in each gap of [`Layout::Gaps`].
    gap: Language,
    /// Brackets, commas and colons by layout, once made.
    signs: FxHashMap<Layout, Signs>,
}

/// Brackets, commas and colons as nodes.
pub(crate) type Signs = Punctuation<NodeId>;

/// Items that are listed one by one beyond which each waits for a text.
const LONG: usize = 64;

/// A member of an object, ready to be written.
struct Member {
    node: NodeId,
    required: bool,
}

/// What the states of an object's rule know: the next member, and how many are written (no more
/// than matter).
type State = (usize, u32);

/// One object while its rules are written.
struct Object {
    members: Vec<Member>,
    /// Any one of the members without a name.
    other: Option<NodeId>,
    min: u32,
    max: Option<u32>,
    /// Counts from here on are the same.
    cap: u32,
    rules: FxHashMap<State, RuleId>,
    open: Vec<State>,
    name: Origin,
    signs: Signs,
}

impl Object {
    /// Can `count` members be completed to a whole object from member `at` on?
    fn alive(&self, (at, count): State) -> bool {
        let left = &self.members[at..];
        let required = left.iter().filter(|member| member.required).count() as u32;
        let most = count.saturating_add(left.len() as u32);
        self.max.is_none_or(|max| count + required <= max)
            && (self.other.is_some() || most >= self.min)
    }

    fn after(&self, (at, count): State) -> State {
        (at + 1, (count + 1).min(self.cap))
    }
}

impl<'d> Emitter<'d> {
    pub(crate) fn new(mut sets: Sets<'d>, lazy: bool) -> Result<Self> {
        let gap = match &sets.options.whitespace {
            Whitespace::Flexible => sets.flexible_gap,
            whitespace => punctuation::gap(&mut sets.languages, whitespace)?,
        };
        Ok(Self {
            sets,
            builder: GrammarBuilder::new(),
            scalar_nodes: FxHashMap::default(),
            nodes: FxHashMap::default(),
            quoted: FxHashMap::default(),
            open: Vec::new(),
            lazy: lazy.then(Lazy::default),
            items: Origin::Text("items".into()),
            dead_ends: false,
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
        match (layout, &self.lazy) {
            (Layout::Undecided, None) => return self.on_one_line(set),
            (Layout::Indented(..), None) => return Err(indented_in_whole_grammar()),
            _ => {}
        }
        let Some(value) = self.value(set, layout)? else { return Ok(None) };
        Ok(Some(match self.sets.options.whitespace {
            Whitespace::Any => {
                let gap = self.builder.regular(self.gap);
                self.builder.sequence([gap, value, gap])
            }
            _ => value,
        }))
    }

    /// A value in one of the styles that take one line.
    fn on_one_line(&mut self, set: Set) -> Result<Option<NodeId>> {
        let mut ways = Vec::new();
        for layout in Layout::ONE_LINE {
            ways.extend(self.value(set, layout)?);
        }
        ways.dedup();
        Ok((!ways.is_empty()).then(|| self.builder.choice(ways)))
    }

    /// Text of another grammar, then a node.
    pub(crate) fn behind(&mut self, prefix: &Grammar, node: NodeId) -> Result<NodeId> {
        let place = self.embed_rules(prefix)?;
        let prefix = self.builder.call(place(prefix.start()));
        Ok(self.builder.sequence([prefix, node]))
    }

    /// Copies the rules of another grammar; says which rule here is which there.
    pub(crate) fn embed_rules(
        &mut self,
        grammar: &Grammar,
    ) -> Result<impl Fn(RuleId) -> RuleId + use<>> {
        // Terminals are in the arena of the sets.
        std::mem::swap(self.builder.languages(), &mut self.sets.languages);
        let place = self.builder.embed_rules(grammar);
        std::mem::swap(self.builder.languages(), &mut self.sets.languages);
        place
    }

    /// A text between quotes.
    pub(crate) fn quoted(&mut self, text: Language) -> NodeId {
        let language = self.quoted_text(text);
        match self.lazy {
            Some(_) => self.builder.add(Node::Text(language)),
            None => self.builder.regular(language),
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

    /// Places, for messages: in words only where nobody could put them in words later.
    pub(crate) fn origin(&self, places: &[ValueId]) -> Origin {
        let places = places.iter().map(|at| at.number()).collect();
        match self.lazy {
            Some(_) => Origin::Places(places),
            None => Origin::Text(self.pointers(&places).into()),
        }
    }

    /// Places in words.
    pub(crate) fn pointers(&self, places: &[u32]) -> String {
        let pointer = |&at| self.sets.document.pointer(ValueId::from_number(at));
        let pointers: Vec<String> = places.iter().map(pointer).collect();
        pointers.join(", ")
    }

    /// What a set's rule is called.
    fn name(&self, set: Set) -> Origin {
        match self.sets.expr(set) {
            SetExpr::Any => Origin::Text("any value".into()),
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
        match &mut self.lazy {
            Some(lazy) => lazy.set_rule(rule, set, layout),
            None => self.open.push((set, layout, rule)),
        }
        let node = self.builder.call(rule);
        self.nodes.insert((set, layout), node);
        Ok(Some(node))
    }

    /// Defines the rules that were called for, and those that they call for.
    fn rules(&mut self) -> Result<()> {
        while let Some((set, layout, rule)) = self.open.pop() {
            let body = self.rule(set, layout)?;
            self.builder.define(rule, body);
            self.check_size(set)?;
        }
        Ok(())
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
                || shape.objects.iter().any(|object| object.condition != MemberFormula::HOLDS);
            if !asks {
                return Err(self.too_few_digits(set));
            }
            self.dead_ends = true;
        }
        Ok(self.builder.choice(choices))
    }

    pub(crate) fn check_size(&self, set: Set) -> Result<()> {
        let most = self.sets.options.grammar_size;
        if self.builder.size() <= most {
            return Ok(());
        }
        let message = format!("the grammar has more than {most} nodes (the limit `grammar_size`)");
        let error = self.sets.error(ErrorKind::Limit, set, message);
        Err(error.with_help("split the schema, or raise the limit"))
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

    /// A listed value, in canonical spelling and in its own order.
    pub(crate) fn listed(&mut self, value: ValueId, layout: Layout) -> Result<NodeId> {
        let document = self.sets.document;
        if self.lazy.is_some() {
            // As a set that holds it alone: so the options count here, too.
            let shape = self.sets.unlisted(value)?;
            let name = self.origin(&[value]);
            let mut ways = self.scalars(&shape)?;
            for array in &shape.arrays {
                ways.extend(self.array(array, &name, layout)?);
            }
            for object in &shape.objects {
                ways.extend(self.object(object, &name, layout)?);
            }
            return Ok(self.builder.choice(ways));
        }
        let signs = self.signs(layout);
        match document.value(value) {
            Value::Array(items) => {
                let mut parts = vec![signs.open_array];
                for (i, &item) in items.iter().enumerate() {
                    if i > 0 {
                        parts.push(signs.comma);
                    }
                    parts.push(self.listed(item, layout.inside())?);
                }
                parts.push(if items.is_empty() { signs.end_array } else { signs.close_array });
                Ok(self.builder.sequence(parts))
            }
            Value::Object(members) => {
                let mut parts = vec![signs.open_object];
                for (i, (key, value)) in members.iter().enumerate() {
                    if i > 0 {
                        parts.push(signs.comma);
                    }
                    parts.push(self.key(key));
                    parts.push(signs.colon);
                    parts.push(self.listed(value, layout.inside())?);
                }
                let empty = members.len() == 0;
                parts.push(if empty { signs.end_object } else { signs.close_object });
                Ok(self.builder.sequence(parts))
            }
            _ => {
                let shape = self.sets.value_shape(value)?;
                let scalars = self.scalars(&shape)?;
                Ok(self.builder.choice(scalars))
            }
        }
    }

    pub(crate) fn key(&mut self, key: &str) -> NodeId {
        let Sets { strings, languages, .. } = &mut self.sets;
        let key = strings.texts(languages, [key]);
        self.quoted(key)
    }

    /// An item of a long list: a value that is listed is written down when a text comes to it.
    fn item_of_many(&mut self, set: Set, layout: Layout) -> Result<Option<NodeId>> {
        let Some(lazy) = &mut self.lazy else { return self.value(set, layout) };
        if !matches!(self.sets.expr(set), SetExpr::Value(_) | SetExpr::Text(_)) {
            return self.value(set, layout);
        }
        let rule = self.builder.declare_from(self.items.clone());
        lazy.set_rule(rule, set, layout);
        Ok(Some(self.builder.call(rule)))
    }

    pub(crate) fn array(
        &mut self,
        array: &ArraySet,
        name: &Origin,
        layout: Layout,
    ) -> Result<Option<NodeId>> {
        if !array.some.is_empty() || array.repeats != Repeats::May {
            return match self.lazy {
                Some(_) => self.lazy_array(array, name, layout),
                None => self.array_with_some(array, name, layout),
            };
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

    pub(crate) fn object(
        &mut self,
        object: &ObjectSet,
        name: &Origin,
        layout: Layout,
    ) -> Result<Option<NodeId>> {
        if self.lazy.is_some() {
            return self.lazy_object(object, name, layout);
        }
        if object.condition != MemberFormula::HOLDS {
            return self.object_on_condition(object, name, layout);
        }
        let signs = self.signs(layout);
        let mut members = Vec::with_capacity(object.named.len());
        for named in &object.named {
            let Some(value) = self.value(named.set, layout.inside())? else {
                if named.required {
                    return Ok(None);
                }
                continue;
            };
            let key = self.key(&named.key);
            if let Some(place) = self.sets.place(named.set) {
                let origin = self.origin(&[place]);
                self.builder.mark_from(key, origin);
            }
            let node = self.builder.sequence([key, signs.colon, value]);
            members.push(Member { node, required: named.required });
        }
        let other = self.other_members(object, layout)?;
        let required = object.required() as u32;
        let min = if object.min <= required { 0 } else { object.min };
        self.check_count(object, min, other.is_some())?;
        let reachable = |max: &u32| other.is_some() || (*max as usize) < members.len();
        let max = object.max.filter(reachable);
        let cap = max.unwrap_or(min.max(1));
        let (rules, open, name) = (FxHashMap::default(), Vec::new(), name.clone());
        let mut states = Object { members, other, min, max, cap, rules, open, name, signs };
        if !states.alive((0, 0)) {
            return Ok(None);
        }
        let inside = self.state(&mut states, (0, 0));
        while let Some(state) = states.open.pop() {
            let body = self.state(&mut states, state);
            self.builder.define(states.rules[&state], body);
            if self.builder.size() > self.sets.options.grammar_size {
                self.check_size(Set::ANY)?;
            }
        }
        let node = self.builder.sequence([signs.open_object, inside]);
        Ok(Some(self.mark(node, &object.sources)))
    }

    /// Keys without a name may repeat, so they cannot be counted from below.
    pub(crate) fn check_count(&self, object: &ObjectSet, min: u32, others: bool) -> Result<()> {
        if min <= 1 || !others {
            return Ok(());
        }
        let message =
            "`minProperties` above 1 is not supported yet beside properties without a name";
        let at = object.sources.0.first().copied();
        let at = at.unwrap_or_else(|| self.sets.document.root());
        Err(self.sets.document.error(ErrorKind::Schema, at, message))
    }

    /// Any one member whose key has no name.
    fn other_members(&mut self, object: &ObjectSet, layout: Layout) -> Result<Option<NodeId>> {
        let signs = self.signs(layout);
        let names = self.sets.names(object);
        let mut choices = Vec::new();
        for class in &object.classes {
            let Some(value) = self.value(class.set, layout.inside())? else { continue };
            let languages = &mut self.sets.languages;
            let keys = languages.difference(class.keys, names);
            if !languages.is_live(keys)? {
                continue;
            }
            let key = self.quoted(keys);
            match self.sets.place(class.set) {
                Some(place) => {
                    let origin = self.origin(&[place]);
                    self.builder.mark_from(key, origin)
                }
                None => self.mark(key, &object.sources),
            };
            choices.push(self.builder.sequence([key, signs.colon, value]));
        }
        Ok(if choices.is_empty() { None } else { Some(self.builder.choice(choices)) })
    }

    fn call(&mut self, object: &mut Object, state: State) -> NodeId {
        let rule = *object.rules.entry(state).or_insert_with(|| {
            object.open.push(state);
            self.builder.declare(format!("{} from member {}", object.name.text(), state.0))
        });
        self.builder.call(rule)
    }

    /// What may follow in a state that is alive.
    fn state(&mut self, object: &mut Object, (mut at, mut count): State) -> NodeId {
        let mut parts = Vec::new();
        loop {
            let Some(member) = object.members.get(at) else {
                parts.push(self.tail(object, count));
                break;
            };
            let (node, required) = (member.node, member.required);
            let taken = object.after((at, count));
            let take = object.max.is_none_or(|max| count < max) && object.alive(taken);
            let skip = !required && object.alive((at + 1, count));
            let separator = (count > 0).then_some(object.signs.comma);
            match (take, skip) {
                (true, true) if parts.is_empty() => {
                    let further = self.call(object, taken);
                    let with = separator.into_iter().chain([node, further]);
                    let with = self.builder.sequence(with);
                    let without = self.call(object, (at + 1, count));
                    parts.push(self.builder.choice([with, without]));
                    break;
                }
                (true, true) => {
                    parts.push(self.call(object, (at, count)));
                    break;
                }
                (true, false) => {
                    parts.extend(separator);
                    parts.push(node);
                    (at, count) = taken;
                }
                (false, _) => at += 1,
            }
        }
        self.builder.sequence(parts)
    }

    /// What may follow the last named member.
    fn tail(&mut self, object: &Object, count: u32) -> NodeId {
        let need = object.min.saturating_sub(count);
        let left = object.max.map(|max| max - count);
        let other = object.other.filter(|_| left != Some(0));
        let Some(other) = other else {
            return if count > 0 { object.signs.close_object } else { object.signs.end_object };
        };
        let again = self.builder.sequence([object.signs.comma, other]);
        if count > 0 {
            let others = self.builder.repeat(again, need, left);
            return self.builder.sequence([others, object.signs.close_object]);
        }
        let others = self.builder.repeat(again, need.saturating_sub(1), left.map(|n| n - 1));
        let some = self.builder.sequence([other, others, object.signs.close_object]);
        if need > 0 { some } else { self.builder.choice([object.signs.end_object, some]) }
    }
}
