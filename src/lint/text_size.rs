//! Bounds on the size of a schema's texts, in bytes and without white space.
//!
//! The lower bound is a least fixed point over the sets that the shortest values need; the upper
//! bound is a recursion that ends without a bound at a recursive schema.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::json_schema::document::{Document, Value, ValueId};
use crate::json_schema::options::{Options, Spelling};
use crate::json_schema::set::array_set::ArraySet;
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{Set, Sets, Shape};
use crate::json_schema::style::Style;
use crate::regular::{Language, Languages, lengths, witness_length};

/// Sets that are visited before no bound is given.
const MAX_SETS: usize = 20_000;

/// DFA states that are visited for the longest string of a language.
const MAX_STATES: usize = 4_000;

/// Expressions that may be made in that search.
const MAX_NEW_LANGUAGES: usize = 100_000;

/// Schemas within schemas that are followed for the upper bound.
const MAX_DEPTH: usize = 100;

/// The least and the most bytes of a value of a schema, each `None` if it is not found: in JSON alone, where
/// each value has one spelling.
pub(super) fn bounds(
    document: &Document,
    options: &Options,
    sets: &mut Sets<'_>,
    root: ValueId,
) -> (Option<u64>, Option<u64>) {
    if options.style.name() != Style::default().name() || options.spelling != Spelling::Canonical {
        return (None, None);
    }
    TextSizes { document, options, sets }.bounds(root)
}

/// The computation of the bounds, over the sets of a schema.
struct TextSizes<'a, 'd> {
    document: &'a Document,
    options: &'a Options,
    sets: &'a mut Sets<'d>,
}

impl TextSizes<'_, '_> {
    fn bounds(&mut self, root: ValueId) -> (Option<u64>, Option<u64>) {
        let Ok(root) = self.sets.schema(root) else { return (None, None) };
        if !matches!(self.sets.is_empty(root), Ok(false)) {
            return (None, None);
        }
        let most = self.most(root, &mut FxHashMap::default(), &mut Vec::new());
        (self.least(root), most)
    }

    /// A lower bound: the bytes of the shortest value of each set, until none gets shorter.
    fn least(&mut self, root: Set) -> Option<u64> {
        let mut order = vec![root];
        let mut seen: FxHashSet<Set> = FxHashSet::from_iter([root]);
        let mut shapes = Vec::new();
        while let Some(&set) = order.get(shapes.len()) {
            let shape = self.sets.shape(set).ok()?;
            let scalars = self.least_scalar(&shape);
            let mut needed: Vec<Set> = Vec::new();
            for array in &shape.arrays {
                needed.extend(array.prefix.iter().take(least_items(array)));
                needed.push(array.rest);
                needed.extend(
                    array
                        .contains_counts
                        .iter()
                        .filter(|contains| contains.min > 0)
                        .map(|contains| contains.set),
                );
            }
            for object in &shape.objects {
                let all = object.min as usize > object.required();
                needed.extend(object.named.iter().filter(|n| all || n.required).map(|n| n.set));
                if all {
                    needed.extend(object.classes.iter().map(|class| class.set));
                }
            }
            order.extend(needed.into_iter().filter(|&set| seen.insert(set)));
            shapes.push((set, shape, scalars));
            if shapes.len() > MAX_SETS {
                return None;
            }
        }
        let mut known: FxHashMap<Set, u64> = FxHashMap::default();
        loop {
            let mut changed = false;
            for (set, shape, scalars) in &shapes {
                let arrays = shape.arrays.iter().filter_map(|array| least_array(array, &known));
                let objects =
                    shape.objects.iter().filter_map(|object| least_object(object, &known));
                let Some(least) = scalars.iter().copied().chain(arrays).chain(objects).min() else {
                    continue;
                };
                if known.get(set).is_none_or(|&before| least < before) {
                    known.insert(*set, least);
                    changed = true;
                }
            }
            if !changed {
                return known.get(&root).copied();
            }
        }
    }

    /// The least bytes of a value that is no array and no object.
    fn least_scalar(&mut self, shape: &Shape) -> Option<u64> {
        let mut sizes = Vec::new();
        sizes.extend(shape.null.then_some(4));
        sizes.extend(shape.booleans[0].then_some(5));
        sizes.extend(shape.booleans[1].then_some(4));
        let languages = &mut self.sets.languages;
        let (free, listed) =
            self.sets.numbers.spelling(languages, shape.numbers, self.options.digits);
        for (language, quotes) in [(free, 0), (listed, 0), (shape.strings, 2)] {
            // By structure: a shortest string itself may be long.
            let length = witness_length::short_length_memoized(
                languages,
                language,
                &mut FxHashMap::default(),
            );
            if let Ok(Some(length)) = length {
                sizes.push(u64::from(length) + quotes);
            }
        }
        for &value in &shape.listed {
            sizes.push(self.listed_size(value));
        }
        sizes.into_iter().min()
    }

    /// The bytes of a value as it is written.
    fn listed_size(&self, value: ValueId) -> u64 {
        let document = self.document;
        match document.value(value) {
            Value::Null | Value::Bool(true) => 4,
            Value::Bool(false) => 5,
            Value::Number(literal) => literal.len() as u64,
            Value::String(text) => self.sets.strings.spell(text).len() as u64 + 2,
            Value::Array(items) => {
                let inside: u64 = items.iter().map(|&item| self.listed_size(item) + 1).sum();
                inside.saturating_sub(1) + 2
            }
            Value::Object(members) => {
                let size = |(key, value): (&str, ValueId)| {
                    self.sets.strings.spell(key).len() as u64 + 4 + self.listed_size(value)
                };
                members.iter().map(size).sum::<u64>().saturating_sub(1) + 2
            }
        }
    }

    /// An upper bound for a set; `None` if there is none or it is not found within the limits.
    /// `open` has the sets around it.
    fn most(
        &mut self,
        set: Set,
        known: &mut FxHashMap<Set, Option<u64>>,
        open: &mut Vec<Set>,
    ) -> Option<u64> {
        if let Some(&most) = known.get(&set) {
            return most;
        }
        if !matches!(self.sets.is_empty(set), Ok(false)) {
            return Some(0);
        }
        if open.contains(&set) || known.len() > MAX_SETS || open.len() > MAX_DEPTH {
            return None;
        }
        open.push(set);
        let most = self.sets.shape(set).ok().and_then(|shape| self.most_of(&shape, known, open));
        open.pop();
        known.insert(set, most);
        most
    }

    /// An upper bound for the values of a shape.
    fn most_of(
        &mut self,
        shape: &Shape,
        known: &mut FxHashMap<Set, Option<u64>>,
        open: &mut Vec<Set>,
    ) -> Option<u64> {
        let mut most = match (shape.booleans, shape.null) {
            ([true, _], _) => 5,
            (_, true) | ([_, true], _) => 4,
            _ => 0,
        };
        let digits = self.options.digits;
        let languages = &mut self.sets.languages;
        let (free, listed) = self.sets.numbers.spelling(languages, shape.numbers, digits);
        if languages.is_live(free).ok()? {
            // Digits on both sides of the point and in the exponent; signs, point and `e`.
            let any = 3 * u64::from(digits.max(8)) + 4;
            most = most.max(longest(languages, free).map_or(any, |length| length.min(any)));
        }
        for (language, quotes) in [(listed, 0), (shape.strings, 2)] {
            if languages.is_live(language).ok()? {
                most = most.max(longest(languages, language)? + quotes);
            }
        }
        most = shape.listed.iter().map(|&value| self.listed_size(value)).fold(most, u64::max);
        for array in &shape.arrays {
            most = most.max(without_comma(self.most_array(array, known, open)?));
        }
        for object in &shape.objects {
            let mut size: u64 = 2;
            for named in &object.named {
                if matches!(self.sets.is_empty(named.set), Ok(true)) {
                    continue;
                }
                let value = self.most(named.set, known, open)?;
                let key = self.sets.strings.spell(&named.key).len() as u64;
                size = size.saturating_add(key + 4).saturating_add(value);
            }
            for class in &object.classes {
                // Such members have names without a bound.
                if matches!(self.sets.is_empty(class.set), Ok(false)) {
                    let others = self.sets.languages.is_live(class.keys).ok()?;
                    if others {
                        return None;
                    }
                }
            }
            most = most.max(without_comma(size));
        }
        Some(most)
    }

    /// An upper bound on the items of an array: its own, or by counting all items that may come.
    fn most_items(&mut self, array: &ArraySet) -> Option<u32> {
        let mut most = array.max;
        for contains in &array.contains_counts {
            let Some(max) = contains.max else { continue };
            let other = self.sets.not(contains.set);
            let other = self.sets.and([array.rest, other]);
            if matches!(self.sets.is_empty(other), Ok(true)) {
                let before = contains.from.max(array.prefix.len() as u32);
                let bound = before.saturating_add(max);
                most = Some(most.map_or(bound, |most| most.min(bound)));
            }
        }
        most
    }

    /// An upper bound for an array, with a comma after the last item.
    fn most_array(
        &mut self,
        array: &ArraySet,
        known: &mut FxHashMap<Set, Option<u64>>,
        open: &mut Vec<Set>,
    ) -> Option<u64> {
        let mut size: u64 = 2;
        let max = self.most_items(array);
        let count = max.map_or(array.prefix.len(), |max| array.prefix.len().min(max as usize));
        for &item in &array.prefix[..count] {
            if matches!(self.sets.is_empty(item), Ok(true)) {
                return Some(size);
            }
            size = size.saturating_add(self.most(item, known, open)?).saturating_add(1);
        }
        if matches!(self.sets.is_empty(array.rest), Ok(true)) {
            return Some(size);
        }
        let further = u64::from(max?).saturating_sub(count as u64);
        match further {
            0 => Some(size),
            further => {
                let item = self.most(array.rest, known, open)?.saturating_add(1);
                Some(size.saturating_add(item.saturating_mul(further)))
            }
        }
    }
}

/// The size without the comma after the last item or member.
fn without_comma(size: u64) -> u64 {
    if size > 2 { size - 1 } else { size }
}

/// A lower bound on the items of an array.
fn least_items(array: &ArraySet) -> usize {
    let asked = array.contains_counts.iter().filter(|contains| contains.min > 0);
    let asked = asked.map(|contains| contains.from as usize + contains.min as usize).max();
    asked.unwrap_or(0).max(array.min as usize)
}

/// The least bytes of an array, from those of the sets known so far.
fn least_array(array: &ArraySet, known: &FxHashMap<Set, u64>) -> Option<u64> {
    let items = least_items(array);
    let commas = items.saturating_sub(1) as u64;
    let (mut size, mut largest) = (2 + commas, 0);
    for item in array.prefix.iter().take(items) {
        let item = *known.get(item)?;
        (size, largest) = (size + item, largest.max(item));
    }
    let further = items.saturating_sub(array.prefix.len()) as u64;
    if further > 0 {
        let item = *known.get(&array.rest)?;
        (size, largest) = (size.saturating_add(item.saturating_mul(further)), largest.max(item));
    }
    // Counted items may be longer than those that their places demand.
    let mut counted = 0;
    for contains in array.contains_counts.iter().filter(|contains| contains.min > 0) {
        let longer = known.get(&contains.set)?.saturating_sub(largest);
        counted = longer.saturating_mul(contains.min.into()).max(counted);
    }
    Some(size.saturating_add(counted))
}

/// The least bytes of an object, from those of the sets known so far.
fn least_object(object: &ObjectSet, known: &FxHashMap<Set, u64>) -> Option<u64> {
    let mut size = 2;
    let mut count = 0;
    for named in object.named.iter().filter(|named| named.required) {
        // Quotes and a colon; a comma between members.
        size += known.get(&named.set)? + named.key.len() as u64 + 3 + u64::from(count > 0);
        count += 1;
    }
    // The least bytes of a further member: an empty name.
    let further = object.min.saturating_sub(count);
    Some(size + u64::from(further) * 5)
}

/// The length of the longest string, if there is one and it is found within the limits.
fn longest(l: &mut Languages, language: Language) -> Option<u64> {
    if let Some(most) = lengths::max_length(l, language, &mut FxHashMap::default()) {
        return Some(most.into());
    }
    // Depth first; a state that is met again on the current path is part of a cycle.
    let mut known: FxHashMap<Language, u64> = FxHashMap::default();
    let mut on_path: FxHashSet<Language> = FxHashSet::default();
    let mut stack: Vec<(Language, Vec<Language>, u64)> = Vec::new();
    let enter = |l: &mut Languages, state, stack: &mut Vec<_>| -> Option<()> {
        let mut next: Vec<Language> = l.row(state).ok()?.to_vec();
        next.retain(|&next| next != Language::EMPTY);
        next.sort_unstable();
        next.dedup();
        stack.push((state, next, 0));
        Some(())
    };
    let made = l.len();
    enter(l, language, &mut stack)?;
    on_path.insert(language);
    while let Some((state, next, most)) = stack.last_mut() {
        let Some(to) = next.pop() else {
            let (state, most) = (*state, *most);
            known.insert(state, most);
            on_path.remove(&state);
            stack.pop();
            if let Some((_, _, above)) = stack.last_mut() {
                *above = (*above).max(most + 1);
            }
            continue;
        };
        if let Some(&length) = known.get(&to) {
            *most = (*most).max(length + 1);
            continue;
        }
        if known.len() > MAX_STATES || l.len() - made > MAX_NEW_LANGUAGES || !on_path.insert(to) {
            return None;
        }
        enter(l, to, &mut stack)?;
    }
    known.get(&language).copied()
}
