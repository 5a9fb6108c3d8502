//! Whether arrays can be completed whose items must differ, or must not all differ.
//!
//! Items still to come that must differ need values of their own: a matching of the places that
//! must be filled and the values that fit there and are not used (Hall's condition, decided by
//! augmenting paths). Only places with few values matter. Where two items must be equal, there
//! must be two places that share a value, or one for a value that is written already.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::emptiness::{MAX_COUNTED_KINDS, count_strings};
use crate::error::{ErrorKind, Result};
use crate::json_schema::document::{Document, Value, ValueId};
use crate::json_schema::number::decimal::Decimal;
use crate::json_schema::set::array_set::{ArraySet, Repeats};
use crate::json_schema::set::object_set::{KeyClass, NamedKey, ObjectSet};
use crate::json_schema::set::{Set, Sets, Shape};
use crate::json_schema::written::Text;
use crate::regular::{Language, Languages, TextSet};

/// A set with so many values is endless.
const FEW_VALUES: usize = 2_000;

/// Arrays and objects within each other beyond which values are not listed.
const DEEPEST: usize = 4;

/// States of a search beyond which it is refused.
const STATES: usize = 20_000;

/// How many items of each counted kind an array has.
pub(crate) type ContainsCounts = SmallVec<[u32; 4]>;

/// An array after some of its items.
#[derive(Clone, Debug)]
pub(crate) struct ArrayProgress {
    /// Items written, as far as that matters.
    pub(crate) at: u32,
    pub(crate) counts: ContainsCounts,
}

/// Two items that must be equal, while places are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Pair {
    None,
    /// The first is in a set.
    Half(Set),
    Both,
}

impl<'d> Sets<'d> {
    /// From this number of items on places are alike.
    pub(crate) fn places(array: &ArraySet) -> u32 {
        let from = array.some.iter().map(|some| some.from).max().unwrap_or(0);
        let cap = (array.prefix.len() as u32).max(array.min).max(from);
        array.max.map_or(cap, |max| max.max(array.min))
    }

    /// The sets that the next item may be in, each with what is known of the array then.
    pub(crate) fn item_ways(&mut self, array: &ArraySet, begun: &ArrayProgress) -> Vec<(Set, ArrayProgress)> {
        let at = (begun.at + 1).min(Self::places(array));
        let item = array.item(begun.at as usize);
        let counted: Vec<usize> =
            (0..array.some.len()).filter(|&i| array.some[i].from <= begun.at).collect();
        let mut ways = Vec::new();
        if array.max.is_some_and(|max| begun.at >= max) {
            return ways;
        }
        for choice in 0..1u32 << counted.len().min(MAX_COUNTED_KINDS) {
            let (mut counts, mut item, mut fits) = (begun.counts.clone(), item, true);
            for (k, &i) in counted.iter().enumerate() {
                let some = array.some[i];
                if choice >> k & 1 == 1 {
                    item = self.and([item, some.set]);
                    let most = some.max.map_or(some.min, |max| max.saturating_add(1));
                    counts[i] = (counts[i] + 1).min(most);
                    fits &= some.max.is_none_or(|max| counts[i] <= max);
                } else if some.max.is_some() {
                    let not = self.not(some.set);
                    item = self.and([item, not]);
                }
            }
            if fits && item != Set::NEVER {
                ways.push((item, ArrayProgress { at, counts }));
            }
        }
        ways
    }

    /// Can an array whose items must differ be completed after items with these values?
    pub(crate) fn can_differ(
        &mut self,
        array: &ArraySet,
        begun: &ArrayProgress,
        used: TextSet,
    ) -> Result<bool> {
        if array.some.is_empty() || array.some.len() > MAX_COUNTED_KINDS {
            let cells = cells_ahead(array, begun.at);
            return self.are_enough(&cells, used);
        }
        let mut seen = FxHashSet::default();
        let mut open = vec![(begun.clone(), Vec::new())];
        while let Some((begun, cells)) = open.pop() {
            if may_end(array, &begun) {
                return Ok(true);
            }
            for (set, next) in self.item_ways(array, &begun) {
                // An item that changes nothing only takes a value away.
                if next.at == begun.at && next.counts == begun.counts {
                    continue;
                }
                let mut cells: Vec<(Set, u32)> = cells.clone();
                match cells.iter_mut().find(|cell| cell.0 == set) {
                    Some(cell) => cell.1 += 1,
                    None => cells.push((set, 1)),
                }
                cells.sort_unstable();
                let most = (next.at as usize + self.written.len(used)).min(FEW_VALUES);
                // What has many values needs no place of its own.
                if self.few_values(set, most + 1)?.is_none() {
                    cells.retain(|cell| cell.0 != set);
                }
                if self.are_enough(&cells, used)?
                    && seen.insert((next.at, next.counts.clone(), cells.clone()))
                {
                    open.push((next, cells));
                }
                self.check_states(array, seen.len())?;
            }
        }
        Ok(false)
    }

    /// Can an array of which two items must be equal be completed? `used` is what was written, a
    /// `half` what one of the two is; with a `goal` the other must be taken from that set.
    fn can_repeat(
        &mut self,
        array: &ArraySet,
        begun: &ArrayProgress,
        used: Set,
        half: Option<Set>,
        goal: Option<Set>,
        has_value: &mut dyn FnMut(&mut Self, Set) -> Result<bool>,
    ) -> Result<bool> {
        let array = &shortened(array, begun.at);
        let mut seen = FxHashSet::default();
        let mut open = vec![(begun.clone(), half.map_or(Pair::None, Pair::Half))];
        while let Some((begun, pair)) = open.pop() {
            if pair == Pair::Both && may_end(array, &begun) {
                return Ok(true);
            }
            for (set, next) in self.item_ways(array, &begun) {
                if !has_value(self, set)? {
                    continue;
                }
                let mut ways: SmallVec<[Pair; 3]> = smallvec::smallvec![pair];
                if pair == Pair::None {
                    ways.push(Pair::Half(set));
                }
                let first = match pair {
                    Pair::None => used,
                    Pair::Half(first) => self.or([first, used]),
                    Pair::Both => Set::NEVER,
                };
                let both = self.and([set, first]);
                if goal.is_none_or(|goal| goal == set) && has_value(self, both)? {
                    ways.push(Pair::Both);
                }
                for pair in ways {
                    if seen.insert((next.at, next.counts.clone(), pair)) {
                        open.push((next.clone(), pair));
                    }
                }
                self.check_states(array, seen.len())?;
            }
        }
        Ok(false)
    }

    /// Can the array be completed from its start? Sets of items have values unless `has_value`
    /// says otherwise.
    pub(crate) fn can_begin(
        &mut self,
        array: &ArraySet,
        has_value: &mut dyn FnMut(&mut Self, Set) -> Result<bool>,
    ) -> Result<bool> {
        let begun = ArrayProgress { at: 0, counts: SmallVec::from_elem(0, array.some.len()) };
        match array.repeats {
            Repeats::May => Ok(true),
            Repeats::Never => self.can_differ(array, &begun, TextSet::EMPTY),
            Repeats::Must => self.can_repeat(array, &begun, Set::NEVER, None, None, has_value),
        }
    }

    /// Those items of a way on after which an array can be completed whose items differ or repeat;
    /// that they are not among those used, where they must differ, is not looked at.
    pub(crate) fn items_that_lead_on(
        &mut self,
        array: &ArraySet,
        (set, next): (Set, &ArrayProgress),
        used: TextSet,
    ) -> Result<Set> {
        match array.repeats {
            Repeats::May => Ok(set),
            Repeats::Never => self.items_that_leave_enough(array, (set, next), used),
            Repeats::Must => self.items_that_may_repeat(array, (set, next), used),
        }
    }

    fn items_that_leave_enough(
        &mut self,
        array: &ArraySet,
        (set, next): (Set, &ArrayProgress),
        used: TextSet,
    ) -> Result<Set> {
        if !self.can_differ(array, next, used)? {
            return Ok(Set::NEVER);
        }
        let ahead = match array.some.is_empty() {
            true => cells_ahead(array, next.at),
            false => self.cells_with_counts(array, next)?,
        };
        let places: u32 = ahead.iter().fold(0, |sum, cell| sum.saturating_add(cell.1));
        let needed = (places as usize).saturating_add(self.written.len(used)).saturating_add(1);
        let mut critical: Vec<Text> = Vec::new();
        for &(cell, _) in &ahead {
            let Some(values) = self.few_values(cell, needed)? else { continue };
            let free = self.written.others(used, &values);
            // One of these can be spared, whatever the other items are.
            if free.len() as u32 > places {
                continue;
            }
            if ahead.len() == 1 && array.some.is_empty() {
                // All are alike.
                let not = self.not(cell);
                return Ok(self.and([set, not]));
            }
            critical.extend(free);
        }
        critical.sort_unstable();
        critical.dedup();
        let mut left = vec![set];
        for value in critical {
            let used = self.written.with(used, &value);
            if !self.can_differ(array, next, used)? {
                let one = self.text(&value);
                left.push(self.not(one));
            }
        }
        Ok(self.and(left))
    }

    fn items_that_may_repeat(
        &mut self,
        array: &ArraySet,
        (set, next): (Set, &ArrayProgress),
        used: TextSet,
    ) -> Result<Set> {
        let has_value = &mut |this: &mut Self, set| Ok(set == Set::ANY || !this.is_empty(set)?);
        if self.can_repeat(array, next, Set::NEVER, None, None, has_value)? {
            return Ok(set);
        }
        let used = self.written.values(used);
        let used: Vec<Set> = used.iter().map(|text| self.text(text)).collect();
        let used = self.or(used);
        if self.can_repeat(array, next, used, None, None, has_value)? {
            return Ok(set);
        }
        // This one is equal to one before, or to one that comes.
        let mut ways = vec![self.and([set, used])];
        for (cell, _) in self.cells_with_counts(array, next)? {
            let half = self.and([set, cell]);
            if has_value(self, half)?
                && self.can_repeat(array, next, Set::NEVER, Some(half), Some(cell), has_value)?
            {
                ways.push(half);
            }
        }
        Ok(self.or(ways))
    }

    /// The sets of items that may come, each once, with the most items that can be needed.
    fn cells_with_counts(&mut self, array: &ArraySet, begun: &ArrayProgress) -> Result<Vec<(Set, u32)>> {
        let array = &match array.repeats {
            Repeats::Must => shortened(array, begun.at),
            _ => array.clone(),
        };
        let asked = array.some.iter().fold(0u32, |sum, some| sum.saturating_add(some.min));
        let most = Self::places(array).saturating_add(asked);
        let mut cells: Vec<(Set, u32)> = Vec::new();
        let mut seen = FxHashSet::default();
        let mut open = vec![begun.clone()];
        while let Some(begun) = open.pop() {
            for (set, next) in self.item_ways(array, &begun) {
                if !cells.iter().any(|cell| cell.0 == set) {
                    cells.push((set, most));
                }
                if seen.insert((next.at, next.counts.clone())) {
                    open.push(next);
                }
            }
            self.check_states(array, seen.len())?;
        }
        Ok(cells)
    }

    /// Are there enough values for items in these sets, so many of each, that differ from each
    /// other and from those used?
    fn are_enough(&mut self, cells: &[(Set, u32)], used: TextSet) -> Result<bool> {
        let places: u32 = cells.iter().fold(0, |sum, cell| sum.saturating_add(cell.1));
        let needed = (places as usize).saturating_add(self.written.len(used));
        let mut few: Vec<(Vec<Text>, u32)> = Vec::new();
        for &(set, places) in cells {
            if let Some(values) = self.few_values(set, needed)? {
                let free = self.written.others(used, &values);
                if free.len() < places as usize {
                    return Ok(false);
                }
                few.push((free, places));
            }
        }
        let places: usize = few.iter().map(|few| few.1 as usize).sum();
        if few.len() <= 1 || few.iter().all(|few| few.0.len() >= places) {
            return Ok(true);
        }
        Ok(is_matched(&few))
    }

    /// The values of a set, if they are fewer than `most`.
    fn few_values(&mut self, set: Set, most: usize) -> Result<Option<Arc<[Text]>>> {
        if set == Set::ANY {
            return Ok(None);
        }
        let most = most.min(FEW_VALUES);
        match self.few.get(&set) {
            Some((_, Some(values))) if values.len() < most => return Ok(Some(values.clone())),
            Some((_, Some(_))) => return Ok(None),
            Some((least, None)) if *least >= most => return Ok(None),
            _ => {}
        }
        let asked = most.next_power_of_two().min(FEW_VALUES);
        let values = self.list_values(set, asked, 0)?.map(Arc::from);
        self.few.insert(set, (asked, values));
        self.few_values(set, most)
    }

    fn list_values(&mut self, set: Set, most: usize, depth: usize) -> Result<Option<Vec<Text>>> {
        if depth > DEEPEST || set == Set::ANY {
            return Ok(None);
        }
        let shape = self.shape(set)?;
        let Some(mut values) = self.list_scalars(&shape, most)? else { return Ok(None) };
        for &value in &shape.listed {
            let mut text = String::new();
            if write_canonical(self.document, value, &mut text).is_some() {
                values.push(text.into());
            }
        }
        let mut structures = Vec::new();
        for array in &shape.arrays {
            match self.list_arrays(array, most, depth)? {
                Some(texts) => structures.extend(texts),
                None => return Ok(None),
            }
        }
        // Objects are many.
        if !shape.objects.is_empty() {
            return Ok(None);
        }
        structures.sort_unstable();
        structures.dedup();
        for text in structures {
            let one = self.text(&text);
            let both = self.and([set, one]);
            if !self.is_empty(both)? {
                values.push(text);
            }
        }
        values.sort_unstable();
        values.dedup();
        Ok((values.len() < most).then_some(values))
    }

    fn list_scalars(&mut self, shape: &Shape, most: usize) -> Result<Option<Vec<Text>>> {
        let words =
            [("null", shape.null), ("false", shape.booleans[0]), ("true", shape.booleans[1])];
        let words = words.into_iter().filter(|word| word.1);
        let mut values: Vec<Text> = words.map(|word| word.0.into()).collect();
        let l = &mut self.languages;
        let numbers = self.numbers.one_each(l, shape.numbers);
        let strings = self.strings.canonical(l, shape.strings);
        for (language, quote) in [(numbers, ""), (strings, "\"")] {
            let Some(texts) = strings_of(l, language, most)? else { return Ok(None) };
            for text in texts {
                // Numbers and strings are UTF-8.
                let text = String::from_utf8_lossy(&text);
                values
                    .extend(canonical(format!("{quote}{text}{quote}").as_bytes()).map(Text::from));
            }
        }
        Ok(Some(values))
    }

    /// Texts of arrays, which may be more than there are.
    fn list_arrays(
        &mut self,
        array: &ArraySet,
        most: usize,
        depth: usize,
    ) -> Result<Option<Vec<Text>>> {
        let mut found: Vec<Text> = Vec::new();
        let mut open: Vec<String> = vec![String::new()];
        for length in 0.. {
            if length >= array.min as usize {
                found.extend(open.iter().map(|items| format!("[{items}]").into()));
            }
            if array.max.is_some_and(|max| length >= max as usize) {
                break;
            }
            let Some(items) = self.list_values(array.item(length), most, depth + 1)? else {
                return Ok(None);
            };
            open = open
                .iter()
                .flat_map(|before| {
                    let comma = if before.is_empty() { "" } else { "," };
                    items.iter().map(move |item| format!("{before}{comma}{item}"))
                })
                .take(most + 1)
                .collect();
            if open.is_empty() {
                break;
            }
            if open.len() > most || found.len() > most || length > most {
                return Ok(None);
            }
        }
        Ok(Some(found))
    }

    fn check_states(&self, array: &ArraySet, states: usize) -> Result<()> {
        if states <= STATES {
            return Ok(());
        }
        let message = format!(
            "which items an array still needs, where they must differ, takes more than {STATES} \
             states"
        );
        let place = array.sources.0.first().copied().unwrap_or_else(|| self.document.root());
        let error = self.document.error(ErrorKind::Limit, place, message);
        Err(error.with_help("ask for fewer items, or let one schema apply to all of them"))
    }
}

/// May an array end here, repeats apart?
fn may_end(array: &ArraySet, begun: &ArrayProgress) -> bool {
    begun.at >= array.min
        && array.some.iter().zip(&begun.counts).all(|(some, &count)| count >= some.min)
}

/// The sets of the items that must come at least where none are counted, with how many of each.
fn cells_ahead(array: &ArraySet, at: u32) -> Vec<(Set, u32)> {
    let length = array.prefix.len() as u32;
    let mut cells: FxHashMap<Set, u32> = FxHashMap::default();
    for &set in array.prefix.iter().take(array.min as usize).skip(at as usize) {
        *cells.entry(set).or_default() += 1;
    }
    let rest = array.min.saturating_sub(at.max(length));
    if rest > 0 {
        *cells.entry(array.rest).or_default() += rest;
    }
    let mut cells: Vec<(Set, u32)> = cells.into_iter().collect();
    cells.sort_unstable();
    cells
}

/// The array without items of which none is counted, and two of which may be equal anyway.
fn shortened(array: &ArraySet, at: u32) -> ArraySet {
    let enough = at.max(array.prefix.len() as u32).saturating_add(2);
    match array.some.is_empty() {
        true => ArraySet {
            min: array.min.min(enough),
            max: Some(array.max.map_or(enough, |max| max.min(enough))),
            ..array.clone()
        },
        false => array.clone(),
    }
}

/// Has each place a value of its own? Augmenting paths (Kuhn).
fn is_matched(few: &[(Vec<Text>, u32)]) -> bool {
    let mut taken: FxHashMap<&Text, usize> = FxHashMap::default();
    let places: Vec<&Vec<Text>> =
        few.iter().flat_map(|(values, n)| std::iter::repeat_n(values, *n as usize)).collect();
    for start in 0..places.len() {
        // Breadth first: from places to the values they could take, to the places that hold them.
        let mut from: FxHashMap<&Text, usize> = FxHashMap::default();
        let mut open = std::collections::VecDeque::from([start]);
        let mut free = None;
        'search: while let Some(place) = open.pop_front() {
            for value in places[place] {
                if from.contains_key(value) {
                    continue;
                }
                from.insert(value, place);
                match taken.get(value) {
                    Some(&holder) => open.push_back(holder),
                    None => {
                        free = Some(value);
                        break 'search;
                    }
                }
            }
        }
        let Some(mut value) = free else { return false };
        // Back to the start, each place taking the value that it was reached for.
        while let Some(&place) = from.get(value) {
            let before = places[place].iter().find(|v| taken.get(v) == Some(&place));
            taken.insert(value, place);
            match before {
                Some(before) if place != start => value = before,
                _ => break,
            }
        }
    }
    true
}

/// The strings of a language, if they are fewer than `most`.
fn strings_of(l: &mut Languages, language: Language, most: usize) -> Result<Option<Vec<Vec<u8>>>> {
    if count_strings(l, language, most as u32)? >= most as u32 {
        return Ok(None);
    }
    let (mut found, mut open) = (Vec::new(), vec![(Vec::new(), language)]);
    if !l.is_live(language)? {
        return Ok(Some(found));
    }
    while let Some((text, state)) = open.pop() {
        if l.is_nullable(state) {
            found.push(text.clone());
        }
        for byte in 0..=255u8 {
            let to = l.row(state)?[usize::from(byte)];
            if to != Language::EMPTY {
                let mut longer = text.clone();
                longer.push(byte);
                open.push((longer, to));
            }
        }
    }
    Ok(Some(found))
}

/// A JSON text in one spelling for each value: numbers exact, members sorted.
pub(crate) fn canonical(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let document = Document::parse(text).ok()?;
    let mut out = String::new();
    write_canonical(&document, document.root(), &mut out)?;
    Some(out)
}

pub(crate) fn write_canonical(document: &Document, value: ValueId, out: &mut String) -> Option<()> {
    match document.value(value) {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(literal) => match Decimal::parse(literal) {
            Some(number) if number.is_zero() => out.push_str("0e0"),
            Some(number) => {
                out.push_str(if number.is_negative() { "-" } else { "" });
                let (digits, power) = number.scientific();
                let digits = std::str::from_utf8(digits).ok()?;
                let (first, rest) = digits.split_at(1);
                let point = if rest.is_empty() { "" } else { "." };
                out.push_str(&format!("{first}{point}{rest}e{power}"));
            }
            None => out.push_str(literal),
        },
        Value::String(text) => out.push_str(&serde_json::to_string(&**text).ok()?),
        Value::Array(items) => {
            out.push('[');
            for (i, &item) in items.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                write_canonical(document, item, out)?;
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<(&str, ValueId)> = members.iter().collect();
            members.sort_unstable();
            out.push('{');
            for (i, (key, value)) in members.into_iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                out.push_str(&serde_json::to_string(key).ok()?);
                out.push(':');
                write_canonical(document, value, out)?;
            }
            out.push('}');
        }
    }
    Some(())
}

impl Sets<'_> {
    /// What a canonical text stands for, as a shape.
    pub(crate) fn text_shape(&mut self, text: &str) -> Result<Shape> {
        let document = Document::parse(text)?;
        let value = document.root();
        let mut shape = Shape::never();
        let part = |this: &mut Self, value| {
            let mut text = String::new();
            write_canonical(&document, value, &mut text);
            this.text(&text)
        };
        match document.value(value) {
            Value::Null => shape.null = true,
            &Value::Bool(b) => shape.booleans[usize::from(b)] = true,
            Value::Number(literal) => {
                if let Some(number) = Decimal::parse(literal) {
                    // As any number, it may have a fraction of zeros.
                    shape.numbers = self.numbers.listed(&mut self.languages, &number, "1.0");
                }
            }
            Value::String(text) => {
                shape.strings = self.strings.texts(&mut self.languages, [&**text]);
            }
            Value::Array(items) => {
                let prefix: Vec<Set> = items.iter().map(|&item| part(self, item)).collect();
                let (rest, min) = (Set::NEVER, prefix.len() as u32);
                let array = ArraySet { prefix, rest, min, max: Some(min), ..ArraySet::any() };
                shape.arrays.push(array);
            }
            Value::Object(members) => {
                let named = members.iter().map(|(key, value)| NamedKey {
                    key: key.into(),
                    set: part(self, value),
                    required: true,
                });
                let named: Vec<NamedKey> = named.collect();
                let classes = vec![KeyClass { keys: self.strings.any, set: Set::NEVER }];
                let free = ObjectSet::any(self.strings.any);
                shape.objects.push(ObjectSet { named, classes, ..free });
            }
        }
        Ok(shape)
    }
}
