//! Unfolding: from the name of a set to its shape, once and on demand.
//!
//! *Invariant:* a set's children stay names, so a set never needs its own shape: where it does
//! (`{"$ref": "#"}`), the schema is defined as itself, which is an error that shows the cycle.

use std::sync::Arc;

use super::algebra::shapes::{
    MAX_LINEAR_PARTS, complement, every_value, intersect, intersect_all, unite, unite_all,
};
use super::keywords::enum_const::{text_shape, values_shape};
use super::keywords::{own_keywords_shape, schema_shape};
use super::set::array_set::ArraySet;
use super::set::budget::STEPS_PER_NAME;
use super::set::object_set::ObjectSet;
use super::set::{KeywordOrigins, Set, SetExpr, Sets, Shape};
use super::string::written::writable_texts;
use crate::deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::set::keys::KeyClass;
use crate::json_schema::set::keys::NamedKey;

/// Sets that may unfold into each other without a value between them: deeper chains of references
/// are no schema of a person, and each level is a frame of the call stack.
const MAX_OPEN_SETS: usize = 128;

impl Sets<'_> {
    /// The shape of a set.
    pub(crate) fn shape(&mut self, set: Set) -> Result<Arc<Shape>> {
        if let Some(shape) = self.unfolding.shape(set) {
            return Ok(shape.clone());
        }
        if let Some(start) = self.unfolding.open.iter().position(|&open| open == set) {
            self.unfolding.cycles += 1;
            return Err(self.cycle(start));
        }
        if self.unfolding.open.len() >= MAX_OPEN_SETS {
            let message =
                format!("more than {MAX_OPEN_SETS} schemas apply to one value by reference");
            let help = "let references lead there in fewer steps";
            return Err(self.error(ErrorKind::Limit, set, message).with_help(help));
        }
        self.check_work(set)?;
        self.add_steps(5 * STEPS_PER_NAME);
        let open = self.unfolding.open.len();
        self.unfolding.open.push(set);
        let shape = unfold(self, set);
        // An error may have left others behind.
        self.unfolding.open.truncate(open);
        let shape = Arc::new(shape.map_err(|error| self.with_place(error, set))?);
        // A shape that rests on an answer that was cut short is not stored.
        deadline::check()?;
        self.check_work(set)?;
        let sets = self.arena().len();
        self.unfolding.store(set, shape.clone(), sets);
        Ok(shape)
    }

    /// The error for a set that needs its own shape; `start` is its index among the open sets.
    pub(crate) fn cycle(&self, start: usize) -> Error {
        let places = self.unfolding.open[start..].iter().filter_map(|&set| match self.expr(set) {
            SetExpr::Schema(at, _) => Some(*at),
            _ => None,
        });
        let mut path: Vec<String> =
            places.clone().map(|at| self.document.reference_to(at)).collect();
        path.extend(path.first().cloned());
        let message = format!("the schema is defined as itself: {}", path.join(" → "));
        let error = match places.clone().next() {
            Some(at) => self.document.error(ErrorKind::Schema, at, message),
            None => Error::new(ErrorKind::Schema, message),
        };
        error.with_help("recursion must pass through a property or an item")
    }
}

fn unfold(sets: &mut Sets<'_>, set: Set) -> Result<Shape> {
    Ok(match sets.expr(set).clone() {
        SetExpr::Any => every_value(sets),
        SetExpr::Never => Shape::never(),
        SetExpr::Schema(schema, scope) => {
            sets.in_scope(scope, |sets| schema_shape(sets, schema))?
        }
        SetExpr::Own(schema, scope) => {
            sets.in_scope(scope, |sets| own_keywords_shape(sets, schema))?
        }
        SetExpr::Writable => writable_shape(sets, set)?,
        SetExpr::Text(text) => text_shape(sets, &text)?,
        SetExpr::Has(key) => {
            let object = ObjectSet {
                named: vec![NamedKey { key, set: Set::ANY, required: true }],
                ..ObjectSet::any(sets.strings.any)
            };
            Shape { objects: vec![object], ..Shape::never() }
        }
        SetExpr::Members(keys, set, at) => {
            let others = sets.languages.difference(sets.strings.any, keys);
            let classes = vec![KeyClass { keys, set }, KeyClass { keys: others, set: Set::ANY }];
            let origins = KeywordOrigins(smallvec::smallvec![at]);
            let object = ObjectSet { classes, origins, ..ObjectSet::any(sets.strings.any) };
            Shape { objects: vec![object], ..every_value(sets) }
        }
        SetExpr::Items(from, set, at) => {
            let prefix = vec![Set::ANY; from as usize];
            let origins = KeywordOrigins(smallvec::smallvec![at]);
            let array = ArraySet { prefix, rest: set, origins, ..ArraySet::any() };
            Shape { arrays: vec![array], ..every_value(sets) }
        }
        SetExpr::Value(value) => values_shape(sets, &[value])?,
        SetExpr::And(parts) => match known_but_one(sets, &parts, SetExpr::And) {
            Some((others, last)) => {
                let last = sets.shape(last)?;
                intersect(sets, &others, &last)?
            }
            None => intersect_all(sets, &parts)?,
        },
        SetExpr::Or(parts) => match known_but_one(sets, &parts, SetExpr::Or) {
            Some((others, last)) => {
                let last = sets.shape(last)?;
                unite(sets, &others, &last)?
            }
            None => unite_all(sets, &parts)?,
        },
        SetExpr::Not(inner) => {
            let shape = sets.shape(inner)?;
            complement(sets, &shape)?
        }
    })
}

/// The shape of [`SetExpr::Writable`], which is `writable`.
fn writable_shape(sets: &mut Sets<'_>, writable: Set) -> Result<Shape> {
    let any = sets.strings.any;
    let mut texts = writable_texts(&mut sets.languages, any, sets.options)?;
    if sets.options.style.notation().is_some() {
        // A style may write a string as it is, too.
        let excluded = sets.options.excludes.iter().map(String::as_str);
        let excluded = sets.strings.texts(&mut sets.languages, excluded);
        let with_excluded = sets.languages.concat([any, excluded, any]);
        texts = sets.languages.difference(texts, with_excluded);
    }
    let others = sets.languages.difference(any, texts);
    let classes =
        [(texts, writable), (others, Set::NEVER)].map(|(keys, set)| KeyClass { keys, set });
    let object = ObjectSet { classes: classes.into(), ..ObjectSet::any(any) };
    let array = ArraySet { rest: writable, ..ArraySet::any() };
    Ok(Shape { strings: texts, arrays: vec![array], objects: vec![object], ..every_value(sets) })
}

/// The shape of the combination of all parts but the last, if it is stored: combinations grow part
/// by part.
fn known_but_one(
    sets: &Sets<'_>,
    parts: &[Set],
    made_of: fn(Box<[Set]>) -> SetExpr,
) -> Option<(Arc<Shape>, Set)> {
    let (&last, others) = parts.split_last()?;
    if others.len() < 2 || parts.len() > MAX_LINEAR_PARTS {
        return None;
    }
    let others = sets.arena().find(&made_of(others.into()))?;
    Some((sets.unfolding.shape(others)?.clone(), last))
}
