//! Listed values (`const`, `enum`) as shapes.

use crate::error::{ErrorKind, Result};
use crate::json_schema::document::canonical_text::write_canonical;
use crate::json_schema::document::{Document, Value, ValueId};
use crate::json_schema::number::{Decimal, MAX_TRIE_NUMBERS, NumberLiterals, NumberSet};
use crate::json_schema::options::Spelling;
use crate::json_schema::set::array_set::ArraySet;
use crate::json_schema::set::keys::KeyClass;
use crate::json_schema::set::keys::NamedKey;
use crate::json_schema::set::membership::exact_number;
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{KeywordOrigins, Set, Sets, Shape};

impl Sets<'_> {
    pub(crate) fn value_shape(&mut self, value: ValueId) -> Result<Shape> {
        values_shape(self, &[value])
    }

    /// The shape of a listed array or object, item by item.
    pub(crate) fn unlisted(&mut self, value: ValueId) -> Result<Shape> {
        let origins = KeywordOrigins(smallvec::smallvec![value]);
        Ok(match self.document.value(value) {
            Value::Array(items) => {
                let prefix: Vec<Set> = items.iter().map(|&item| self.listed(item)).collect();
                let n = prefix.len() as u32;
                let (rest, max) = (Set::NEVER, Some(n));
                let array = ArraySet { prefix, rest, min: n, max, origins, ..ArraySet::any() };
                Shape { arrays: vec![array], ..Shape::never() }
            }
            Value::Object(members) => {
                let named = members.iter().map(|(key, value)| NamedKey {
                    key: key.into(),
                    set: self.listed(value),
                    required: true,
                });
                let named: Vec<NamedKey> = named.collect();
                let classes = vec![KeyClass { keys: self.strings.any, set: Set::NEVER }];
                let free = ObjectSet::any(self.strings.any);
                let object = ObjectSet { named, classes, origins, ..free };
                Shape { objects: vec![object], ..Shape::never() }
            }
            _ => self.value_shape(value)?,
        })
    }
}

/// The shape of some listed values. Strings become one trie, however many they are.
pub(crate) fn values_shape(sets: &mut Sets<'_>, values: &[ValueId]) -> Result<Shape> {
    let mut shape = Shape::never();
    let (mut strings, mut numbers) = (Vec::new(), Vec::new());
    for &value in values {
        match sets.document.value(value) {
            Value::Null => shape.null = true,
            &Value::Bool(b) => shape.booleans[usize::from(b)] = true,
            Value::Number(literal) => numbers.push((value, &**literal)),
            Value::String(text) => strings.push(&**text),
            Value::Array(_) | Value::Object(_) => shape.listed.push(value),
        }
    }
    shape.strings = sets.strings.texts(&mut sets.languages, strings);
    shape.numbers = listed_numbers(sets, &numbers)?;
    Ok(shape)
}

/// The listed numbers: each by itself where they are few, otherwise as one automaton.
fn listed_numbers(sets: &mut Sets<'_>, listed: &[(ValueId, &str)]) -> Result<NumberSet> {
    if let (Spelling::Any, Some(&(at, _))) = (sets.options.spelling, listed.get(MAX_TRIE_NUMBERS)) {
        let message = format!(
            "{} numbers are listed, and where every spelling of a number counts, at most \
             {MAX_TRIE_NUMBERS} can be",
            listed.len()
        );
        let help = "use canonical spelling, list fewer numbers, or list them as strings";
        return Err(sets.document.error(ErrorKind::Limit, at, message).with_help(help));
    }
    if listed.len() <= MAX_TRIE_NUMBERS {
        let numbers = listed.iter().map(|&(at, literal)| {
            let number = exact_number(sets, at, literal)?;
            Ok(sets.numbers.listed(&mut sets.languages, &number, literal))
        });
        let numbers: Vec<NumberSet> = numbers.collect::<Result<_>>()?;
        return Ok(any_of_numbers(sets, &numbers));
    }
    let mut list = NumberLiterals::with_capacity(listed.len());
    for &(at, literal) in listed {
        if !list.add_integer(literal) {
            list.add(&exact_number(sets, at, literal)?, literal);
        }
    }
    sets.numbers.list(&mut sets.languages, list)
}

/// The union of numbers, by halves, so that each is copied a logarithmic number of times.
fn any_of_numbers(sets: &mut Sets<'_>, numbers: &[NumberSet]) -> NumberSet {
    match *numbers {
        [] => NumberSet::NONE,
        [one] => one,
        _ => {
            let (first, second) = numbers.split_at(numbers.len() / 2);
            let (first, second) = (any_of_numbers(sets, first), any_of_numbers(sets, second));
            sets.numbers.or(&mut sets.languages, first, second)
        }
    }
}

/// The shape of the value of a canonical text.
pub(crate) fn text_shape(sets: &mut Sets<'_>, text: &str) -> Result<Shape> {
    let document = Document::parse(text)?;
    let value = document.root();
    let mut shape = Shape::never();
    let part = |this: &mut Sets<'_>, value| {
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
                shape.numbers = sets.numbers.listed(&mut sets.languages, &number, "1.0");
            }
        }
        Value::String(text) => {
            shape.strings = sets.strings.texts(&mut sets.languages, [&**text]);
        }
        Value::Array(items) => {
            let prefix: Vec<Set> = items.iter().map(|&item| part(sets, item)).collect();
            let (rest, min) = (Set::NEVER, prefix.len() as u32);
            let array = ArraySet { prefix, rest, min, max: Some(min), ..ArraySet::any() };
            shape.arrays.push(array);
        }
        Value::Object(members) => {
            let named = members.iter().map(|(key, value)| NamedKey {
                key: key.into(),
                set: part(sets, value),
                required: true,
            });
            let named: Vec<NamedKey> = named.collect();
            let classes = vec![KeyClass { keys: sets.strings.any, set: Set::NEVER }];
            let free = ObjectSet::any(sets.strings.any);
            shape.objects.push(ObjectSet { named, classes, ..free });
        }
    }
    Ok(shape)
}
