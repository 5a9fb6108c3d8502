//! Arrays whose items are counted or must differ, as machines whose states are rules.

use super::super::emptiness::SOME;
use super::super::items::{Begun, canonical, write_canonical};
use super::*;

impl Emitter<'_> {
    /// An array whose items are counted or must differ.
    pub(crate) fn lazy_array(
        &mut self,
        array: &ArraySet,
        name: &Origin,
        layout: Layout,
    ) -> Result<Option<NodeId>> {
        let known = match layout {
            Layout::Indented(..) => self.lazy.known_arrays.get(array).copied(),
            _ => None,
        };
        let declared = match known {
            Some(known) => known,
            None => {
                let declared = self.declare_array(array, name)?;
                if let Layout::Indented(..) = layout {
                    self.lazy.known_arrays.insert(array.clone(), declared);
                }
                declared
            }
        };
        let Some((id, start)) = declared else { return Ok(None) };
        let signs = self.signs(layout);
        let (open, phase) = match signs.first.is_some() && !self.may_close_array(id, start) {
            true => (signs.begin_array, Phase::Begun),
            false => (signs.open_array, Phase::Opened),
        };
        let further = self.call_array(id, ArrayState { phase, layout, ..start });
        let node = self.builder.sequence([open, further]);
        Ok(Some(self.mark(node, &array.sources)))
    }

    /// An array whose rules are to be made, and the state in which it begins; `None` if it is
    /// empty.
    fn declare_array(
        &mut self,
        array: &ArraySet,
        name: &Origin,
    ) -> Result<Option<(u32, ArrayState)>> {
        if self.sets.array_is_empty(array)? {
            return Ok(None);
        }
        self.check_some(array.some.len(), array.rest)?;
        let cap = Sets::places(array);
        let zeros: SmallVec<[u32; 4]> = SmallVec::from_elem(0, array.some.len());
        let lazy = &mut self.lazy;
        let counts = lazy.counts.id(zeros);
        let id = lazy.arrays.len() as u32;
        lazy.arrays.push(Array {
            set: array.clone(),
            cap,
            alive: FxHashSet::default(),
            name: name.clone(),
        });
        if !array.some.is_empty() {
            self.find_alive(id, counts)?;
        }
        let start = ArrayState { at: 0, counts, ..ArrayState::default() };
        Ok(self.array_is_alive(id, start)?.then_some((id, start)))
    }

    pub(crate) fn check_some(&self, asked: usize, set: Set) -> Result<()> {
        if asked <= SOME {
            return Ok(());
        }
        let message = format!("more than {SOME} kinds of items are counted in one array");
        let error = self.sets.error(ErrorKind::Limit, set, message);
        Err(error.with_help("let fewer `contains` apply to the same array"))
    }

    /// An array that is the whole text, in any style.
    pub(crate) fn undecided_array(
        &mut self,
        array: &ArraySet,
        name: &Origin,
    ) -> Result<Option<NodeId>> {
        let [first, others @ ..] = Layout::STYLES;
        let Some(some) = self.items(array, first)? else { return Ok(None) };
        let signs = self.signs(Layout::Undecided);
        let mut ways = Vec::new();
        if array.min == 0 {
            ways.push(signs.end_array);
        }
        if let Some(some) = some {
            ways.push(some);
            let lazy = &mut self.lazy;
            let id = lazy.whole_arrays.len() as u32;
            lazy.whole_arrays.push(array.clone());
            for layout in others {
                let rule = self.builder.declare_from(name.clone());
                self.lazy.open.insert(rule, Open::Items(id, layout));
                let (gap, items) = (self.signs(layout).first, self.builder.call(rule));
                ways.push(self.builder.sequence(gap.into_iter().chain([items])));
            }
        }
        let inside = self.builder.choice_by_length(ways);
        let node = self.builder.sequence([signs.open_array, inside]);
        Ok(Some(self.mark(node, &array.sources)))
    }

    /// The items of an array that is the whole text, in one style.
    pub(crate) fn items_of_whole(&mut self, array: u32, layout: Layout) -> Result<NodeId> {
        let array = self.lazy.whole_arrays[array as usize].clone();
        // There are some in each style if there are in one.
        let some = self.items(&array, layout)?.flatten();
        Ok(some.unwrap_or_else(|| self.builder.choice([])))
    }

    /// The sets that the next item may be in, each with the counts after it.
    fn array_ways(&mut self, id: u32, at: u32, counts: u32) -> Result<Vec<(Set, u32)>> {
        let lazy = &mut self.lazy;
        let begun = Begun { at, counts: lazy.counts.get(counts).clone() };
        let array = lazy.arrays[id as usize].set.clone();
        let mut ways = Vec::new();
        for (item, next) in self.sets.item_ways(&array, &begun) {
            if self.has_value(item)? {
                let after = self.lazy.counts.id(next.counts);
                ways.push((item, after));
            }
        }
        Ok(ways)
    }

    fn place_after(&self, id: u32, at: u32) -> u32 {
        let cap = self.lazy.arrays[id as usize].cap;
        (at + 1).min(cap)
    }

    fn may_end(&mut self, id: u32, at: u32, counts: u32) -> bool {
        let lazy = &mut self.lazy;
        let array = &lazy.arrays[id as usize].set;
        let counts = lazy.counts.get(counts);
        at >= array.min && array.some.iter().zip(counts).all(|(some, &n)| n >= some.min)
    }

    /// Whether the array may end in a state, if its text so far allows a closing bracket.
    fn may_close_array(&mut self, id: u32, state: ArrayState) -> bool {
        let repeats = self.lazy.arrays[id as usize].set.repeats;
        let enough = repeats != Repeats::Must || state.repeated || state.unknown;
        enough && self.may_end(id, state.at, state.counts)
    }

    fn is_full(&mut self, id: u32, at: u32) -> bool {
        self.lazy.arrays[id as usize].set.max.is_some_and(|max| at >= max)
    }

    /// Finds the places and counts from which an array can be completed.
    fn find_alive(&mut self, id: u32, start: u32) -> Result<()> {
        let mut states = vec![(0, start)];
        let mut ids: FxHashMap<(u32, u32), usize> = FxHashMap::from_iter([((0, start), 0)]);
        let mut before: Vec<Vec<usize>> = vec![Vec::new()];
        let mut next = 0;
        while let Some(&(at, counts)) = states.get(next) {
            if !self.is_full(id, at) {
                for (_, after) in self.array_ways(id, at, counts)? {
                    let to = (self.place_after(id, at), after);
                    let index = *ids.entry(to).or_insert_with(|| {
                        states.push(to);
                        before.push(Vec::new());
                        states.len() - 1
                    });
                    before[index].push(next);
                }
            }
            if states.len() > ARRAY_STATES {
                let message = format!("counting items takes more than {ARRAY_STATES} states");
                let place = self.lazy.arrays[id as usize].set.sources.0.first().copied();
                let place = place.unwrap_or_else(|| self.sets.document.root());
                let error = self.sets.document.error(ErrorKind::Limit, place, message);
                let help = "lower `minContains` and `maxContains`, or count fewer kinds of items";
                return Err(error.with_help(help));
            }
            next += 1;
        }
        let mut open: Vec<usize> =
            (0..states.len()).filter(|&i| self.may_end(id, states[i].0, states[i].1)).collect();
        let mut alive: FxHashSet<(u32, u32)> = open.iter().map(|&i| states[i]).collect();
        while let Some(state) = open.pop() {
            for &from in &before[state] {
                if alive.insert(states[from]) {
                    open.push(from);
                }
            }
        }
        self.lazy.arrays[id as usize].alive = alive;
        Ok(())
    }

    /// Can an array in this state be completed?
    fn array_is_alive(&mut self, id: u32, state: ArrayState) -> Result<bool> {
        let array = &self.lazy.arrays[id as usize];
        let missing = array.set.min.saturating_sub(state.at);
        let needed = match array.set.repeats {
            Repeats::Must if !state.repeated && !state.unknown => missing.max(1),
            _ => missing,
        };
        if !array.set.some.is_empty() {
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

    fn call_array(&mut self, array: u32, state: ArrayState) -> NodeId {
        let lazy = &mut self.lazy;
        let rule = *lazy.array_states.entry((array, state)).or_insert_with(|| {
            let rule = self.builder.declare_from(lazy.arrays[array as usize].name.clone());
            lazy.open.insert(rule, Open::Array(array, state));
            rule
        });
        self.builder.call(rule)
    }

    /// What may follow in a state.
    pub(crate) fn array_state(&mut self, id: u32, state: ArrayState) -> Result<NodeId> {
        let repeats = self.lazy.arrays[id as usize].set.repeats;
        let signs = self.signs(state.layout);
        let mut ways = Vec::new();
        if state.phase != Phase::Begun && self.may_close_array(id, state) {
            ways.push(match state.phase {
                Phase::Going => signs.close_array,
                _ => signs.end_array,
            });
        }
        // While it is not decided, the items of one style are written here.
        let [first, others @ ..] = Layout::STYLES;
        let undecided = state.layout == Layout::Undecided;
        let layout = if undecided { first } else { state.layout };
        let state = ArrayState { layout, ..state };
        let inside = state.layout.inside();
        let mut items = Vec::new();
        if !self.is_full(id, state.at) {
            for (set, counts) in self.array_ways(id, state.at, state.counts)? {
                let at = self.place_after(id, state.at);
                let next = ArrayState { at, phase: Phase::Going, counts, ..state };
                // Two items that are equal may be the last.
                let last = ArrayState { repeated: true, ..next };
                if !self.array_is_alive(id, last)? {
                    continue;
                }
                let set = match state.repeated || state.unknown {
                    true => set,
                    false => self.items_that_lead_on(id, set, next)?,
                };
                if !self.has_value(set)? {
                    continue;
                }
                if repeats == Repeats::May || state.repeated || state.unknown {
                    if let Some(value) = self.value(set, inside)? {
                        let further = self.call_array(id, next);
                        items.push(self.builder.sequence([value, further]));
                    }
                } else {
                    let lazy = &mut self.lazy;
                    let tag = self.numbering.tag(lazy.captures.len());
                    lazy.captures.push(Captured::Item(id, state, counts));
                    items.extend(self.captured_items(set, state, tag, repeats)?);
                }
            }
        }
        if !items.is_empty() {
            let item = self.builder.choice(items);
            ways.push(self.behind_gap(state.phase, &signs, item));
            for layout in others.into_iter().filter(|_| undecided) {
                let further = ArrayState { layout, phase: Phase::Begun, ..state };
                let (gap, further) = (self.signs(layout).first, self.call_array(id, further));
                ways.push(self.builder.sequence(gap.into_iter().chain([further])));
            }
        }
        Ok(match undecided {
            true => self.builder.choice_by_length(ways),
            false => self.builder.choice(ways),
        })
    }

    /// Those items of a set with which the array can be completed: items that must differ leave
    /// enough values to others, and where two must be equal they can still come.
    fn items_that_lead_on(&mut self, id: u32, set: Set, next: ArrayState) -> Result<Set> {
        let lazy = &mut self.lazy;
        let begun = Begun { at: next.at, counts: lazy.counts.get(next.counts).clone() };
        let array = lazy.arrays[id as usize].set.clone();
        self.sets.items_that_lead_on(&array, (set, &begun), next.used)
    }

    /// The ways to write an item of a set that differs from those before, where it must.
    fn captured_items(
        &mut self,
        set: Set,
        state: ArrayState,
        tag: u32,
        repeats: Repeats,
    ) -> Result<Vec<NodeId>> {
        let used = match repeats {
            Repeats::Never => state.used,
            _ => TextSet::EMPTY,
        };
        let shape = self.sets.shape(set)?;
        let taken = self.sets.taken(set, used)?;
        if taken.looked_up != TextSet::EMPTY {
            self.lazy.looked_up.insert(tag, taken.looked_up);
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
        let number = match taken.numbers {
            TextSet::EMPTY => self.sets.number_text(shape.numbers)?,
            _ => {
                let taken = self.sets.numbers_taken(taken);
                let digits = self.sets.options.digits;
                let languages = &mut self.sets.languages;
                let others = self.sets.numbers.not(languages, taken);
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
            Spelling::Canonical => self.sets.written.texts.language(languages, taken.strings),
            Spelling::Any => {
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
            nodes.push(self.mark(node, &shape.sources));
        }
        // The same after any items.
        let inside = state.layout.inside();
        let known = self.lazy.structures.get(&(set, inside)).cloned();
        let mut structures = match known {
            Some(known) => known,
            None => {
                let mut structures = Vec::new();
                let name = self.origin(&shape.sources.0);
                for array in &shape.arrays {
                    structures.extend(self.array(array, &name, inside)?);
                }
                for object in &shape.objects {
                    structures.extend(self.object(object, &name, inside)?);
                }
                self.lazy.structures.insert((set, inside), structures.clone());
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

    /// What follows an item, if it may stand there; `None` is any.
    pub(crate) fn after_item(
        &mut self,
        (id, state, counts): (u32, ArrayState, u32),
        item: Option<&[u8]>,
    ) -> Result<Option<NodeId>> {
        let (mut used, mut repeated) = (state.used, state.repeated);
        let must = self.lazy.arrays[id as usize].set.repeats == Repeats::Must;
        let unknown = state.unknown || must && item.is_none();
        if let Some(item) = item {
            // A text that the grammar has accepted is JSON.
            let value = canonical(item)
                .ok_or_else(|| Error::new(ErrorKind::Schema, "an item that is no JSON"))?;
            if self.sets.written.contains(used, &value) {
                if self.lazy.arrays[id as usize].set.repeats == Repeats::Never {
                    return Ok(None);
                }
                (repeated, used) = (true, TextSet::EMPTY);
            } else if !repeated {
                used = self.sets.written.with(used, &value);
            }
        }
        let at = self.place_after(id, state.at);
        let next = ArrayState { at, phase: Phase::Going, counts, used, repeated, unknown, ..state };
        if !self.array_is_alive(id, next)? {
            return Ok(None);
        }
        Ok(Some(self.call_array(id, next)))
    }
}
