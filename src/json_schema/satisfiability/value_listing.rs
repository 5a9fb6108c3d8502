//! Listing of the values of small sets, as canonical texts, for arrays whose items must differ.

use std::sync::Arc;

use crate::deadline;
use crate::error::Result;
use crate::json_schema::document::canonical_text::CanonicalText;
use crate::json_schema::document::canonical_text::{canonical, write_canonical};
use crate::json_schema::set::array_set::ArraySet;
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{Set, Sets, Shape};
use crate::regular::{Language, Languages};

/// Values up to which a set is listed; a larger one counts as too large to list.
pub(crate) const MAX_LISTED_VALUES: usize = 2_000;

/// Levels of nested arrays and objects that are listed.
const MAX_LISTED_DEPTH: usize = 4;

/// The values of a set, if they are fewer than `most`.
pub(crate) fn values_if_fewer(
    sets: &mut Sets<'_>,
    set: Set,
    most: usize,
) -> Result<Option<Arc<[CanonicalText]>>> {
    if set == Set::ANY {
        return Ok(None);
    }
    let most = most.min(MAX_LISTED_VALUES);
    match sets.memo.listed_values.get(&set) {
        Some((_, Some(values))) if values.len() < most => return Ok(Some(values.clone())),
        Some((_, Some(_))) => return Ok(None),
        Some((least, None)) if *least >= most => return Ok(None),
        _ => {}
    }
    let asked = most.next_power_of_two().min(MAX_LISTED_VALUES);
    let values = list_values(sets, set, asked, 0)?.map(Arc::from);
    sets.memo.listed_values.insert(set, (asked, values));
    values_if_fewer(sets, set, most)
}

fn list_values(
    sets: &mut Sets<'_>,
    set: Set,
    most: usize,
    depth: usize,
) -> Result<Option<Vec<CanonicalText>>> {
    if depth > MAX_LISTED_DEPTH || set == Set::ANY {
        return Ok(None);
    }
    let shape = sets.shape(set)?;
    let Some(mut values) = list_scalars(sets, &shape, most)? else { return Ok(None) };
    for &value in &shape.listed {
        let mut text = String::new();
        if write_canonical(sets.document, value, &mut text).is_some() {
            values.push(text.into());
        }
    }
    let mut structures = Vec::new();
    for array in &shape.arrays {
        match list_arrays(sets, array, most, depth)? {
            Some(texts) => structures.extend(texts),
            None => return Ok(None),
        }
    }
    for object in &shape.objects {
        match list_objects(sets, object, most, depth)? {
            Some(texts) => structures.extend(texts),
            None => return Ok(None),
        }
    }
    structures.sort_unstable();
    structures.dedup();
    for text in structures {
        let one = sets.text(&text);
        let both = sets.and([set, one]);
        if !sets.is_empty(both)? {
            values.push(text);
        }
    }
    values.sort_unstable();
    values.dedup();
    Ok((values.len() < most).then_some(values))
}

fn list_scalars(
    sets: &mut Sets<'_>,
    shape: &Shape,
    most: usize,
) -> Result<Option<Vec<CanonicalText>>> {
    let words = [("null", shape.null), ("false", shape.booleans[0]), ("true", shape.booleans[1])];
    let words = words.into_iter().filter(|word| word.1);
    let mut values: Vec<CanonicalText> = words.map(|word| word.0.into()).collect();
    let l = &mut sets.languages;
    let numbers = sets.numbers.one_each(l, shape.numbers);
    let strings = sets.strings.canonical(l, shape.strings);
    for (language, quote) in [(numbers, ""), (strings, "\"")] {
        let Some(texts) = strings_of(l, language, most)? else { return Ok(None) };
        for text in texts {
            // Numbers and strings are UTF-8.
            let text = String::from_utf8_lossy(&text);
            values.extend(
                canonical(format!("{quote}{text}{quote}").as_bytes()).map(CanonicalText::from),
            );
        }
    }
    Ok(Some(values))
}

/// Texts of arrays, some of which may be outside the set.
fn list_arrays(
    sets: &mut Sets<'_>,
    array: &ArraySet,
    most: usize,
    depth: usize,
) -> Result<Option<Vec<CanonicalText>>> {
    let mut found: Vec<CanonicalText> = Vec::new();
    let mut open: Vec<String> = vec![String::new()];
    for length in 0.. {
        if length >= array.min as usize {
            found.extend(open.iter().map(|items| format!("[{items}]").into()));
        }
        if array.max.is_some_and(|max| length >= max as usize) {
            break;
        }
        let Some(items) = list_values(sets, array.item(length), most, depth + 1)? else {
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

/// Texts of objects, some of which may be outside the set.
fn list_objects(
    sets: &mut Sets<'_>,
    object: &ObjectSet,
    most: usize,
    depth: usize,
) -> Result<Option<Vec<CanonicalText>>> {
    if object.max != Some(0) {
        for class in &object.classes {
            if sets.languages.is_live(class.keys)? && !sets.is_empty(class.set)? {
                return Ok(None);
            }
        }
    }
    let mut open: Vec<String> = vec![String::new()];
    for named in &object.named {
        let values = match object.max {
            Some(0) => Vec::new(),
            _ => match list_values(sets, named.set, most, depth + 1)? {
                Some(values) => values,
                None => return Ok(None),
            },
        };
        let key = serde_json::Value::from(&*named.key);
        open = open
            .iter()
            .flat_map(|before| {
                let comma = if before.is_empty() { "" } else { "," };
                let with = values.iter().map({
                    let key = &key;
                    move |value| format!("{before}{comma}{key}:{value}")
                });
                with.chain((!named.required).then(|| before.clone()))
            })
            .take(most + 1)
            .collect();
        if open.len() > most {
            return Ok(None);
        }
    }
    let texts = open.iter().filter_map(|members| canonical(format!("{{{members}}}").as_bytes()));
    Ok(Some(texts.map(CanonicalText::from).collect()))
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

/// Strings that are counted; a larger language counts as large enough.
const MAX_COUNTED_STRINGS: u32 = 10_000;

/// The number of strings of a language, at most `most`.
pub(crate) fn count_strings(l: &mut Languages, language: Language, most: u32) -> Result<u32> {
    if !l.is_live(language)? {
        return Ok(0);
    }
    let (needed, most) = (most, most.min(MAX_COUNTED_STRINGS));
    let mut found = 0;
    let mut open = vec![language];
    // Every prefix in `open` can be completed, each to a string of its own.
    while !open.is_empty() && found + (open.len() as u32) < most {
        let mut next = Vec::new();
        for state in open {
            deadline::check()?;
            found += u32::from(l.is_nullable(state));
            for byte in 0..=255 {
                let to = l.row(state)?[byte];
                if to != Language::EMPTY {
                    next.push(to);
                }
            }
            if found + (next.len() as u32) >= most {
                return Ok(needed);
            }
        }
        open = next;
    }
    match found + open.len() as u32 {
        found if found >= most => Ok(needed),
        found => Ok(found),
    }
}
