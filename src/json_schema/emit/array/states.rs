//! Arrays whose items are counted by kind or must differ, as automata.
//!
//! A state knows the number of items, how many of each counted kind (`contains`), and the items
//! written, where later ones must differ. Each state is a rule, made when a text first reaches it.
//! Items that must differ are *captured*: what follows depends on their text.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Result};
use crate::grammar::{Node, NodeId, Origin};
use crate::json_schema::document::canonical_text::{CanonicalText, write_canonical};
use crate::json_schema::emit::Emitter;
use crate::json_schema::emit::state::{ArrayState, Captured, OpenRule, Progress};
use crate::json_schema::emit::tables::ArrayAutomaton;
use crate::json_schema::layout::Layout;
use crate::json_schema::options::Spelling;
use crate::json_schema::satisfiability::unique_items::ArrayProgress;
use crate::json_schema::satisfiability::unique_items::uniform_from;
use crate::json_schema::satisfiability::value_listing::values_if_fewer;
use crate::json_schema::set::array_set::ArraySet;
use crate::json_schema::set::array_set::ItemEquality;
use crate::json_schema::set::array_set::MAX_COUNTED_KINDS;
use crate::json_schema::set::{Set, Shape};
use crate::regular::TextSet;

/// Arrays and objects of a set that are written each by itself, where they must differ; of a larger set only those that end
/// are known to differ.
const MAX_SINGLE_STRUCTURES: usize = 100;

/// Pairs of a number of items and counts of kinds that one array may go through; each is kept.
const MAX_ARRAY_STATES: usize = 20_000;

impl Emitter<'_> {
    /// An array whose items are counted or must differ.
    pub(crate) fn array_by_states(
        &mut self,
        array: &ArraySet,
        name: &Origin,
        layout: Layout,
    ) -> Result<Option<NodeId>> {
        let known = match layout {
            Layout::Indented(..) => self.arrays.declared.get(array).copied(),
            _ => None,
        };
        let declared = match known {
            Some(known) => known,
            None => {
                let declared = self.declare_array(array, name)?;
                if let Layout::Indented(..) = layout {
                    self.arrays.declared.insert(array.clone(), declared);
                }
                declared
            }
        };
        let Some((id, start)) = declared else { return Ok(None) };
        let signs = self.punctuation(layout).array;
        let (open, progress) = if signs.first.is_some() && !self.may_close_array(id, start) {
            (Some(signs.begin), Progress::AfterGap)
        } else {
            (signs.open, Progress::AfterBracket)
        };
        let further = self.call_array(id, ArrayState { progress, layout, ..start });
        let node = self.builder.sequence(open.into_iter().chain([further]));
        Ok(Some(self.mark(node, &array.origins)))
    }

    /// An array whose rules are to be made, and the state in which it begins; `None` if it is
    /// empty.
    pub(crate) fn declare_array(
        &mut self,
        array: &ArraySet,
        name: &Origin,
    ) -> Result<Option<(u32, ArrayState)>> {
        if self.sets.array_is_empty(array)? {
            return Ok(None);
        }
        self.check_counted_kinds(array.contains_counts.len(), array.rest)?;
        let cap = uniform_from(array);
        let zeros: SmallVec<[u32; 4]> = SmallVec::from_elem(0, array.contains_counts.len());
        let counts = self.arrays.counts.id(zeros);
        let id = self.arrays.automata.len() as u32;
        self.arrays.automata.push(ArrayAutomaton {
            set: array.clone(),
            cap,
            alive: FxHashSet::default(),
            name: name.clone(),
        });
        if !array.contains_counts.is_empty() {
            self.find_completable(id, counts)?;
        }
        let start = ArrayState { at: 0, counts, ..ArrayState::default() };
        Ok(self.can_complete_array(id, start)?.then_some((id, start)))
    }

    pub(crate) fn check_counted_kinds(&self, asked: usize, set: Set) -> Result<()> {
        if asked <= MAX_COUNTED_KINDS {
            return Ok(());
        }
        let message =
            format!("more than {MAX_COUNTED_KINDS} kinds of items are counted in one array");
        let error = self.sets.error(ErrorKind::Limit, set, message);
        Err(error.with_help("let fewer `contains` apply to the same array"))
    }

    /// The sets that the next item may be in, each with the counts after it.
    pub(crate) fn next_items(&mut self, id: u32, at: u32, counts: u32) -> Result<Vec<(Set, u32)>> {
        let begun = ArrayProgress { at, counts: self.arrays.counts.get(counts).clone() };
        let array = self.arrays.automata[id as usize].set.clone();
        let mut ways = Vec::new();
        for (item, next) in self.sets.item_ways(&array, &begun) {
            if self.has_value(item)? {
                let after = self.arrays.counts.id(next.counts);
                ways.push((item, after));
            }
        }
        Ok(ways)
    }

    pub(crate) fn index_after(&self, id: u32, at: u32) -> u32 {
        let cap = self.arrays.automata[id as usize].cap;
        (at + 1).min(cap)
    }

    pub(crate) fn has_enough_items(&mut self, id: u32, at: u32, counts: u32) -> bool {
        let array = &self.arrays.automata[id as usize].set;
        let counts = self.arrays.counts.get(counts);
        at >= array.min
            && array.contains_counts.iter().zip(counts).all(|(contains, &n)| n >= contains.min)
    }

    /// Whether the array may end in a state, if its text so far allows a closing bracket.
    pub(crate) fn may_close_array(&mut self, id: u32, state: ArrayState) -> bool {
        let equality = self.arrays.automata[id as usize].set.equality;
        let enough = equality != ItemEquality::Must || state.repeated || state.unknown;
        enough && self.has_enough_items(id, state.at, state.counts)
    }

    pub(crate) fn is_full_array(&mut self, id: u32, at: u32) -> bool {
        self.arrays.automata[id as usize].set.max.is_some_and(|max| at >= max)
    }

    /// Finds the places and counts from which an array can be completed.
    pub(crate) fn find_completable(&mut self, id: u32, start: u32) -> Result<()> {
        let mut states = vec![(0, start)];
        let mut ids: FxHashMap<(u32, u32), usize> = FxHashMap::from_iter([((0, start), 0)]);
        let mut before: Vec<Vec<usize>> = vec![Vec::new()];
        let mut next = 0;
        while let Some(&(at, counts)) = states.get(next) {
            if !self.is_full_array(id, at) {
                for (_, after) in self.next_items(id, at, counts)? {
                    let to = (self.index_after(id, at), after);
                    let index = *ids.entry(to).or_insert_with(|| {
                        states.push(to);
                        before.push(Vec::new());
                        states.len() - 1
                    });
                    before[index].push(next);
                }
            }
            if states.len() > MAX_ARRAY_STATES {
                let message = format!("counting items takes more than {MAX_ARRAY_STATES} states");
                let place = self.arrays.automata[id as usize].set.origins.0.first().copied();
                let place = place.unwrap_or_else(|| self.sets.document.root());
                let error = self.sets.document.error(ErrorKind::Limit, place, message);
                let help = "lower `minContains` and `maxContains`, or count fewer kinds of items";
                return Err(error.with_help(help));
            }
            next += 1;
        }
        let mut open: Vec<usize> = (0..states.len())
            .filter(|&i| self.has_enough_items(id, states[i].0, states[i].1))
            .collect();
        let mut alive: FxHashSet<(u32, u32)> = open.iter().map(|&i| states[i]).collect();
        while let Some(state) = open.pop() {
            for &from in &before[state] {
                if alive.insert(states[from]) {
                    open.push(from);
                }
            }
        }
        self.arrays.automata[id as usize].alive = alive;
        Ok(())
    }

    /// Whether an array in this state can be completed.
    pub(crate) fn can_complete_array(&mut self, id: u32, state: ArrayState) -> Result<bool> {
        let array = &self.arrays.automata[id as usize];
        let missing = array.set.min.saturating_sub(state.at);
        let needed = match array.set.equality {
            ItemEquality::Must if !state.repeated && !state.unknown => missing.max(1),
            _ => missing,
        };
        if !array.set.contains_counts.is_empty() {
            return Ok(array.alive.contains(&(state.at, state.counts)));
        }
        if needed > missing && array.set.max.is_some_and(|max| state.at >= max) {
            return Ok(false);
        }
        let (prefix, rest, last) =
            (array.set.prefix.clone(), array.set.rest, state.at.saturating_add(needed));
        for place in state.at..last.min(prefix.len() as u32) {
            if !self.has_value(prefix[place as usize])? {
                return Ok(false);
            }
        }
        Ok(last as usize <= prefix.len() || self.has_value(rest)?)
    }

    pub(crate) fn call_array(&mut self, array: u32, state: ArrayState) -> NodeId {
        let rule = *self.arrays.rules.entry((array, state)).or_insert_with(|| {
            let rule = self.builder.declare_from(self.arrays.automata[array as usize].name.clone());
            self.open.insert(rule, OpenRule::Array(array, state));
            rule
        });
        self.builder.call(rule)
    }

    /// The body of a state's rule.
    pub(crate) fn array_state(&mut self, id: u32, state: ArrayState) -> Result<NodeId> {
        let equality = self.arrays.automata[id as usize].set.equality;
        let signs = self.punctuation(state.layout).array;
        let mut ways = Vec::new();
        if state.progress != Progress::AfterGap && self.may_close_array(id, state) {
            ways.extend(match state.progress {
                Progress::NotEmpty => signs.close,
                _ => signs.end,
            });
        }
        // While it is not decided, the items of one style are written here.
        let [first, others @ ..] = Layout::STYLES;
        let undecided = state.layout == Layout::Undecided;
        let layout = if undecided { first } else { state.layout };
        let state = ArrayState { layout, ..state };
        let inside = self.item_layout(state.layout);
        let mut items = Vec::new();
        if !self.is_full_array(id, state.at) {
            for (set, counts) in self.next_items(id, state.at, state.counts)? {
                let at = self.index_after(id, state.at);
                let next = ArrayState { at, progress: Progress::NotEmpty, counts, ..state };
                // Two items that are equal may be the last.
                let last = ArrayState { repeated: true, ..next };
                if !self.can_complete_array(id, last)? {
                    continue;
                }
                let set = if state.repeated || state.unknown {
                    set
                } else {
                    self.items_that_lead_on(id, set, next)?
                };
                if !self.has_value(set)? {
                    continue;
                }
                if equality == ItemEquality::May || state.repeated || state.unknown {
                    if let Some(value) = self.value(set, inside)? {
                        let further = self.call_array(id, next);
                        items.push(self.builder.sequence([value, further]));
                    }
                } else {
                    let tag = self.numbering.tag(self.captures.len());
                    self.captures.push(Captured::Item(id, state, counts));
                    items.extend(self.captured_items(set, state, tag, equality)?);
                }
            }
        }
        if !items.is_empty() {
            let item = self.builder.choice(items);
            ways.push(self.after_gap(state.progress, &signs, item));
            for layout in others.into_iter().filter(|_| undecided) {
                let further = ArrayState { layout, progress: Progress::AfterGap, ..state };
                let (gap, further) =
                    (self.punctuation(layout).array.first, self.call_array(id, further));
                ways.push(self.builder.sequence(gap.into_iter().chain([further])));
            }
        }
        Ok(if undecided { self.builder.choice_by_length(ways) } else { self.builder.choice(ways) })
    }

    /// Those items of a set with which the array can be completed: items that must differ leave
    /// enough values to others, and where two must be equal they can still come.
    pub(crate) fn items_that_lead_on(
        &mut self,
        id: u32,
        set: Set,
        next: ArrayState,
    ) -> Result<Set> {
        let begun =
            ArrayProgress { at: next.at, counts: self.arrays.counts.get(next.counts).clone() };
        let array = self.arrays.automata[id as usize].set.clone();
        self.sets.items_that_lead_on(&array, (set, &begun), next.used)
    }

    /// The ways to write an item of a set that differs from those before, where it must.
    pub(crate) fn captured_items(
        &mut self,
        set: Set,
        state: ArrayState,
        tag: u32,
        equality: ItemEquality,
    ) -> Result<Vec<NodeId>> {
        let used = match equality {
            ItemEquality::Never => state.used,
            _ => TextSet::EMPTY,
        };
        let shape = self.sets.shape(set)?;
        let excluded = self.sets.excluded_items(set, used)?;
        if excluded.refused_texts != TextSet::EMPTY {
            self.refused_texts.insert(tag, excluded.refused_texts);
        }
        let mut nodes = Vec::new();
        let words =
            [(shape.null, "null"), (shape.booleans[0], "false"), (shape.booleans[1], "true")];
        let words: Vec<&[u8]> = words
            .into_iter()
            .filter(|&(is, word)| is && !self.sets.written.contains(used, word))
            .map(|(_, word)| word.as_bytes())
            .collect();
        let mut scalars = Vec::new();
        if !words.is_empty() {
            scalars.push(self.sets.languages.literals(words));
        }
        let number = match excluded.numbers {
            TextSet::EMPTY => self.sets.number_text(shape.numbers)?,
            _ => {
                let numbers = self.sets.excluded_numbers(excluded);
                let digits = self.sets.options.digits;
                let languages = &mut self.sets.languages;
                let others = self.sets.numbers.not(languages, numbers);
                let numbers = self.sets.numbers.and(languages, shape.numbers, others);
                let (free, listed) = self.sets.numbers.spelling(languages, numbers, digits);
                languages.union([free, listed])
            }
        };
        let languages = &mut self.sets.languages;
        if languages.is_live(number)? {
            scalars.push(number);
        }
        let written = match self.sets.options.spelling {
            Spelling::Canonical => self.sets.written.texts.language(languages, excluded.strings),
            Spelling::Escapes | Spelling::Any => {
                let texts = self.sets.written.values(used);
                let texts = texts.iter().filter_map(|text| serde_json::from_str(text).ok());
                let texts: Vec<String> = texts.collect();
                self.sets.strings.written(languages, texts.iter().map(String::as_str))
            }
        };
        let strings = languages.difference(shape.strings, written);
        if languages.is_live(strings)? {
            let quote = languages.literal(b"\"");
            scalars.push(languages.concat([quote, strings, quote]));
        }
        for language in scalars {
            let node = self.builder.add(Node::Capture(language, tag));
            nodes.push(self.mark(node, &shape.origins));
        }
        let inside = state.layout.inside();
        let unused = self.unused_structures((set, &shape), used, inside)?;
        let known = self.arrays.structures.get(&(set, inside)).cloned();
        let mut structures = match unused.or(known) {
            Some(structures) => structures,
            // The same after any items.
            None => {
                let mut structures = Vec::new();
                let name = self.origin(&shape.origins.0);
                for array in &shape.arrays {
                    structures.extend(self.array(array, &name, inside)?);
                }
                for object in &shape.objects {
                    structures.extend(self.object(object, &name, inside)?);
                }
                self.arrays.structures.insert((set, inside), structures.clone());
                structures
            }
        };
        for &value in &shape.listed {
            let mut text = String::new();
            let known = write_canonical(self.sets.document, value, &mut text).is_some();
            if !(known && self.sets.written.contains(used, &text)) {
                structures.push(self.listed(value, inside)?);
            }
        }
        if !structures.is_empty() {
            let structure = self.builder.choice(structures);
            nodes.push(self.builder.add(Node::Scope(structure, tag)));
        }
        Ok(nodes)
    }

    /// The arrays and objects of a small set that differ from the items used; `None` if none of them was used or the set
    /// is not small. Where others are refused only when they end, a text could lead nowhere: of a small set, all that
    /// begin alike may be used.
    fn unused_structures(
        &mut self,
        (set, shape): (Set, &Shape),
        used: TextSet,
        layout: Layout,
    ) -> Result<Option<Vec<NodeId>>> {
        let is_simple = shape.arrays.is_empty() && shape.objects.is_empty();
        if is_simple || used == TextSet::EMPTY {
            return Ok(None);
        }
        let Some(values) = values_if_fewer(&mut self.sets, set, MAX_SINGLE_STRUCTURES)? else {
            return Ok(None);
        };
        let mut listed = FxHashSet::default();
        for &value in &shape.listed {
            let mut text = String::new();
            write_canonical(self.sets.document, value, &mut text);
            listed.insert(text);
        }
        let is_structure =
            |value: &&CanonicalText| value.starts_with(['[', '{']) && !listed.contains(&***value);
        let structures: Vec<&CanonicalText> = values.iter().filter(is_structure).collect();
        if !structures.iter().any(|value| self.sets.written.contains(used, value)) {
            return Ok(None);
        }
        let mut unused = Vec::new();
        for value in structures {
            if !self.sets.written.contains(used, value) {
                let one = self.sets.text(value);
                let one = self.sets.and([set, one]);
                unused.extend(self.value(one, layout)?);
            }
        }
        Ok(Some(unused))
    }

    /// The rest of an array after an item, if the item may stand there; without a text, after any item.
    pub(crate) fn after_item(
        &mut self,
        (id, state, counts): (u32, ArrayState, u32),
        item: Option<&[u8]>,
    ) -> Result<Option<NodeId>> {
        let (mut used, mut repeated) = (state.used, state.repeated);
        let must = self.arrays.automata[id as usize].set.equality == ItemEquality::Must;
        let unknown = state.unknown || must && item.is_none();
        if let Some(item) = item {
            // A text that the grammar has accepted is JSON.
            let value = self
                .read_value(item)
                .ok_or_else(|| Error::new(ErrorKind::Schema, "an item that is no JSON"))?;
            if self.sets.written.contains(used, &value) {
                if self.arrays.automata[id as usize].set.equality == ItemEquality::Never {
                    return Ok(None);
                }
                (repeated, used) = (true, TextSet::EMPTY);
            } else if !repeated {
                used = self.sets.written.with(used, &value);
            }
        }
        let at = self.index_after(id, state.at);
        let next = ArrayState {
            at,
            progress: Progress::NotEmpty,
            counts,
            used,
            repeated,
            unknown,
            ..state
        };
        if !self.can_complete_array(id, next)? {
            return Ok(None);
        }
        Ok(Some(self.call_array(id, next)))
    }
}
