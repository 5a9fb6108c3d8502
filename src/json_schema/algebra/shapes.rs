//! Intersection, union and complement of shapes.
//!
//! Types are combined one by one. Numbers and strings are languages, for which the operations are
//! exact and cheap; arrays and objects are lists of alternatives, which multiply, so crowds of
//! object sets are folded into one with a formula.

use std::sync::Arc;

use crate::error::{ErrorKind, Result};
use crate::json_schema::algebra::arrays::{complement_arrays, intersect_arrays};
use crate::json_schema::algebra::formula_folding::{fold_complement, fold_union};
use crate::json_schema::algebra::objects::{
    complement_objects, intersect_objects, intersect_objects_unsettled, remove_subsumed_objects,
};
use crate::json_schema::set::array_set::{ArraySet, smaller};
use crate::json_schema::set::membership::lists_value;
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{KeywordOrigins, Set, Sets, Shape};
use crate::json_schema::string::patterns::check_no_infinite_state_product;
use crate::regular::{Language, unit_bounds};

/// Parts that are combined one after another; more are combined by halves, so that each alternative
/// is copied a logarithmic number of times.
pub(crate) const MAX_LINEAR_PARTS: usize = 64;

/// Intersections after which formulas are settled: settling at each costs more than it removes.
const SETTLE_INTERVAL: usize = 8;

/// Alternatives from which on subsumed ones are looked for.
const MIN_CROWD: usize = 4;

/// Object sets that are kept apart; more are folded into one with a formula.
const MAX_SEPARATE_OBJECTS: usize = 64;

/// All JSON values.
pub(crate) fn every_value(sets: &Sets<'_>) -> Shape {
    Shape {
        null: true,
        booleans: [true; 2],
        numbers: sets.numbers.all(),
        strings: sets.strings.any,
        arrays: vec![ArraySet::any()],
        objects: vec![ObjectSet::any(sets.strings.any)],
        folded: None,
        listed: Vec::new(),
        open_format: None,
        origins: KeywordOrigins::default(),
    }
}

pub(crate) fn intersect_all(sets: &mut Sets<'_>, parts: &[Set]) -> Result<Shape> {
    if parts.len() > MAX_LINEAR_PARTS {
        let (first, second) = parts.split_at(parts.len() / 2);
        let (first, second) = (intersect_all(sets, first)?, intersect_all(sets, second)?);
        return intersect(sets, &first, &second);
    }
    let mut result: Option<Shape> = None;
    for (i, &part) in parts.iter().enumerate() {
        let shape = sets.shape(part)?;
        // Formulas are settled every few parts, and after the last one.
        let settle = i + 1 == parts.len() || i % SETTLE_INTERVAL == 0;
        result = Some(match result {
            Some(so_far) => {
                let crowd = if parts.len() > MIN_CROWD { 0 } else { MIN_CROWD };
                intersect_partly_settled(sets, &so_far, &shape, settle, crowd)?
            }
            None => (*shape).clone(),
        });
    }
    Ok(result.unwrap_or_else(|| every_value(sets)))
}

pub(crate) fn unite_all(sets: &mut Sets<'_>, parts: &[Set]) -> Result<Shape> {
    if parts.len() > MAX_LINEAR_PARTS {
        let (first, second) = parts.split_at(parts.len() / 2);
        let (first, second) = (unite_all(sets, first)?, unite_all(sets, second)?);
        return unite(sets, &first, &second);
    }
    let mut result = Shape::never();
    for &part in parts {
        let shape = sets.shape(part)?;
        result = unite(sets, &result, &shape)?;
    }
    Ok(result)
}

/// The intersection of two shapes.
pub(crate) fn intersect(sets: &mut Sets<'_>, a: &Shape, b: &Shape) -> Result<Shape> {
    intersect_partly_settled(sets, a, b, true, MIN_CROWD)
}

/// The intersection, whose formulas are settled only on demand; where there would be more object
/// sets than `crowd`, folded complements are used.
fn intersect_partly_settled(
    sets: &mut Sets<'_>,
    a: &Shape,
    b: &Shape,
    settle: bool,
    crowd: usize,
) -> Result<Shape> {
    let mut arrays = Vec::new();
    for (x, y) in pairs(&a.arrays, &b.arrays) {
        sets.add_steps(1 + x.prefix.len() + y.prefix.len() + arrays.len());
        sets.check_work(Set::ANY)?;
        if let Some(both) = intersect_arrays(sets, x, y) {
            push_new(&mut arrays, both);
        }
        sets.check_alternatives(arrays.len())?;
    }
    let mut objects = intersect_object_lists(sets, a, b, settle, crowd)?;
    let mut listed = Vec::new();
    for (from, against) in [(&a.listed, b), (&b.listed, a)] {
        for &value in from {
            if listed.contains(&value) {
                continue;
            }
            let cycles = sets.unfolding.cycles;
            match sets.accepts(against, value) {
                Ok(true) => listed.push(value),
                Ok(false) => {}
                // A part of the value belongs to a set that is being unfolded, so membership cannot be
                // decided yet: the value's shape is intersected instead, part by part.
                Err(_) if sets.unfolding.cycles > cycles => {
                    let one = sets.unlisted(value)?;
                    for (x, y) in pairs(&one.arrays, &against.arrays) {
                        arrays.extend(intersect_arrays(sets, x, y));
                    }
                    for (x, y) in pairs(&one.objects, &against.objects) {
                        objects.extend(intersect_objects(sets, x, y)?);
                    }
                    if lists_value(sets, against, value)? {
                        listed.push(value);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(Shape {
        null: a.null && b.null,
        booleans: [a.booleans[0] && b.booleans[0], a.booleans[1] && b.booleans[1]],
        numbers: sets.numbers.and(&mut sets.languages, a.numbers, b.numbers),
        // Every set of strings is one of texts.
        strings: match (a.strings, b.strings) {
            (any, other) | (other, any) if any == sets.strings.any => other,
            (a, b) => {
                let both = intersect_texts(sets, a, b)?;
                check_no_infinite_state_product(sets, both)?
            }
        },
        arrays,
        objects,
        folded: None,
        listed,
        open_format: a.open_format.or(b.open_format),
        origins: a.origins.merged(&b.origins),
    })
}

fn intersect_object_lists(
    sets: &mut Sets<'_>,
    a: &Shape,
    b: &Shape,
    settle: bool,
    crowd: usize,
) -> Result<Vec<ObjectSet>> {
    // A complement is one formula where its alternatives would be too many.
    let mut sides = [&a.objects[..], &b.objects];
    for (side, shape) in sides.iter_mut().zip([a, b]) {
        if let Some(folded) = shape.folded.as_deref()
            && a.objects.len() * b.objects.len() > crowd
        {
            *side = std::slice::from_ref(folded);
        }
    }
    if let (false, [x], [y]) = (settle, sides[0], sides[1]) {
        return Ok(intersect_objects_unsettled(sets, x, y)?.into_iter().collect());
    }
    let (mut objects, mut crowd) = (Vec::new(), MIN_CROWD);
    for (x, y) in pairs(sides[0], sides[1]) {
        if let Some(both) = intersect_objects(sets, x, y)? {
            push_new(&mut objects, both);
        }
        if objects.len() > crowd {
            remove_subsumed_objects(sets, &mut objects)?;
            crowd = MIN_CROWD.max(2 * objects.len());
        }
        if objects.len() > MAX_SEPARATE_OBJECTS.max(sides[0].len()).max(sides[1].len()) {
            let [a, b] = [fold_union(sets, sides[0])?, fold_union(sets, sides[1])?];
            return Ok(intersect_objects(sets, &a, &b)?.into_iter().collect());
        }
    }
    Ok(objects)
}

/// The union of two shapes.
pub(crate) fn unite(sets: &mut Sets<'_>, a: &Shape, b: &Shape) -> Result<Shape> {
    sets.add_steps(a.arrays.len() * b.arrays.len() + a.objects.len() * b.objects.len());
    sets.check_work(Set::ANY)?;
    let mut arrays = a.arrays.clone();
    b.arrays.iter().for_each(|array| push_new(&mut arrays, array.clone()));
    let mut objects = a.objects.clone();
    b.objects.iter().for_each(|object| push_new(&mut objects, object.clone()));
    sets.check_alternatives(arrays.len().max(objects.len()))?;
    let mut listed = a.listed.clone();
    b.listed.iter().for_each(|&value| push_new(&mut listed, value));
    if let Some(any) = arrays.iter().find(|array| **array == ArraySet::any()) {
        arrays = vec![any.clone()];
    }
    let free = ObjectSet::any(sets.strings.any);
    if objects.contains(&free) {
        objects = vec![free];
    }
    let any = a.strings == sets.strings.any || b.strings == sets.strings.any;
    Ok(Shape {
        null: a.null || b.null,
        booleans: [a.booleans[0] || b.booleans[0], a.booleans[1] || b.booleans[1]],
        numbers: sets.numbers.or(&mut sets.languages, a.numbers, b.numbers),
        strings: if any {
            sets.strings.any
        } else {
            let either = sets.languages.union([a.strings, b.strings]);
            check_no_infinite_state_product(sets, either)?
        },
        arrays,
        objects,
        folded: None,
        listed,
        open_format: a.open_format.or(b.open_format),
        origins: a.origins.merged(&b.origins),
    })
}

/// The texts in both of two languages. Where one is made of lengths, these are pushed into the other:
/// an intersection would have a state for each length.
fn intersect_texts(sets: &mut Sets<'_>, a: Language, b: Language) -> Result<Language> {
    let char = sets.strings.char;
    let [of_a, of_b] = [a, b].map(|x| unit_bounds::unit_ranges(&sets.languages, x, char));
    let (lengths, other) = match (of_a, of_b) {
        (Some(of_a), Some(of_b)) => {
            let mut parts = Vec::new();
            for (&(least, most), &(min, max)) in pairs(&of_a, &of_b) {
                let (min, max) = (min.max(least), smaller(max, most));
                parts.push(sets.strings.of_length(&mut sets.languages, min, max));
            }
            return Ok(sets.languages.union(parts));
        }
        (Some(lengths), None) => (lengths, b),
        (None, Some(lengths)) => (lengths, a),
        (None, None) => return Ok(sets.languages.intersect([a, b])),
    };
    let mut parts = Vec::with_capacity(lengths.len());
    for range in lengths {
        match unit_bounds::with_unit_bounds(&mut sets.languages, other, char, range)? {
            Some(part) => parts.push(part),
            None => return Ok(sets.languages.intersect([a, b])),
        }
    }
    Ok(sets.languages.union(parts))
}

/// The texts that are not in a language; of one that is made of lengths, those of other lengths.
fn complement_of_texts(sets: &mut Sets<'_>, texts: Language) -> Language {
    let lengths = unit_bounds::unit_ranges(&sets.languages, texts, sets.strings.char);
    let Some(mut lengths) = lengths else {
        return sets.languages.difference(sets.strings.any, texts);
    };
    lengths.sort_unstable();
    let mut others = Vec::new();
    // The least length that is in no range so far; `None` past all of them.
    let mut next = Some(0);
    for (min, max) in lengths {
        let Some(least) = next else { break };
        if min > least {
            others.push((least, Some(min - 1)));
        }
        next = max.map(|max| least.max(max.saturating_add(1)));
    }
    others.extend(next.map(|least| (least, None)));
    let others: Vec<Language> = others
        .into_iter()
        .map(|(min, max)| sets.strings.of_length(&mut sets.languages, min, max))
        .collect();
    sets.languages.union(others)
}

/// The complement of a shape.
pub(crate) fn complement(sets: &mut Sets<'_>, a: &Shape) -> Result<Shape> {
    if let Some(at) = a.open_format {
        let message = "this format is not enforced, so its complement cannot be";
        return Err(sets.document.error(ErrorKind::Schema, at, message));
    }
    let all = every_value(sets);
    let strings = complement_of_texts(sets, a.strings);
    let mut result = Shape {
        null: !a.null,
        booleans: a.booleans.map(|b| !b),
        numbers: sets.numbers.not(&mut sets.languages, a.numbers),
        strings: check_no_infinite_state_product(sets, strings)?,
        ..all
    };
    let mut arrays = a.arrays.clone();
    let mut objects = a.objects.clone();
    for &value in &a.listed {
        let shape = sets.unlisted(value)?;
        arrays.extend(shape.arrays);
        objects.extend(shape.objects);
    }
    for array in &arrays {
        let not = Shape { arrays: complement_arrays(sets, array), ..every_value(sets) };
        result = intersect(sets, &result, &not)?;
    }
    let mut one = Some(ObjectSet::any(sets.strings.any));
    for object in &objects {
        // Each of its keys is an alternative of the complement.
        sets.check_alternatives(object.named.len())?;
        let folded = fold_complement(sets, object)?;
        one = match (one, &folded) {
            (Some(one), Some(folded)) => intersect_objects(sets, &one, folded)?,
            _ => None,
        };
        let folded = folded.map(Arc::new);
        let not = Shape { objects: complement_objects(sets, object)?, folded, ..every_value(sets) };
        result = intersect(sets, &result, &not)?;
    }
    if result.objects.len() > 1 {
        result.folded = one.map(Arc::new);
    }
    Ok(result)
}

fn pairs<'a, T>(a: &'a [T], b: &'a [T]) -> impl Iterator<Item = (&'a T, &'a T)> {
    a.iter().flat_map(move |x| b.iter().map(move |y| (x, y)))
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
