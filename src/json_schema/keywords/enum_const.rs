//! Values that a schema lists (`const`, `enum`): as sets, and whether a set accepts them.

use crate::error::{ErrorKind, Result};
use crate::json_schema::document::{Members, Value, ValueId};
use crate::json_schema::number::NumberSet;
use crate::json_schema::number::decimal::Decimal;
use crate::json_schema::set::array_set::{ArraySet, Repeats};
use crate::json_schema::set::member_formula::{MemberFormula, FormulaNode};
use crate::json_schema::set::object_set::{KeyClass, NamedKey, ObjectSet};
use crate::json_schema::set::{Set, Sets, Shape, Sources};
use crate::regular::Language;

impl Sets<'_> {
    pub(crate) fn value_shape(&mut self, value: ValueId) -> Result<Shape> {
        self.values_shape(&[value])
    }

    /// Any of the values. Strings become one trie, however many they are.
    pub(crate) fn values_shape(&mut self, values: &[ValueId]) -> Result<Shape> {
        let mut shape = Shape::never();
        let (mut strings, mut numbers) = (Vec::new(), Vec::new());
        for &value in values {
            match self.document.value(value) {
                Value::Null => shape.null = true,
                &Value::Bool(b) => shape.booleans[usize::from(b)] = true,
                Value::Number(literal) => {
                    let number = self.decimal(value, literal)?;
                    numbers.push(self.numbers.listed(&mut self.languages, &number, literal));
                }
                Value::String(text) => strings.push(&**text),
                Value::Array(_) | Value::Object(_) => shape.listed.push(value),
            }
        }
        shape.strings = self.strings.texts(&mut self.languages, strings);
        shape.numbers = self.any_number(&numbers);
        Ok(shape)
    }

    /// Any of the numbers, by halves, so that each is looked at a few times only.
    fn any_number(&mut self, numbers: &[NumberSet]) -> NumberSet {
        match *numbers {
            [] => NumberSet::NONE,
            [one] => one,
            _ => {
                let (first, second) = numbers.split_at(numbers.len() / 2);
                let (first, second) = (self.any_number(first), self.any_number(second));
                self.numbers.or(&mut self.languages, first, second)
            }
        }
    }

    /// The exact value of a number of the document.
    pub(crate) fn decimal(&self, at: ValueId, literal: &str) -> Result<Decimal> {
        Decimal::parse(literal).ok_or_else(|| {
            let message = format!("the exponent of {literal} is out of all proportion");
            let help = "write a number with an exponent from -100000 to 100000";
            self.document.error(ErrorKind::Limit, at, message).with_help(help)
        })
    }

    /// A listed array or object as a set of arrays or objects.
    pub(crate) fn unlisted(&mut self, value: ValueId) -> Result<Shape> {
        let sources = Sources(smallvec::smallvec![value]);
        Ok(match self.document.value(value) {
            Value::Array(items) => {
                let prefix: Vec<Set> = items.iter().map(|&item| self.listed(item)).collect();
                let n = prefix.len() as u32;
                let (rest, max) = (Set::NEVER, Some(n));
                let array = ArraySet { prefix, rest, min: n, max, sources, ..ArraySet::any() };
                Self::only_arrays(vec![array])
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
                let object = ObjectSet { named, classes, sources, ..free };
                Shape { objects: vec![object], ..Shape::never() }
            }
            _ => self.value_shape(value)?,
        })
    }

    /// Is the value in the set? Exact for every value.
    pub(crate) fn accepts(&mut self, shape: &Shape, value: ValueId) -> Result<bool> {
        match self.document.value(value) {
            Value::Null => Ok(shape.null),
            &Value::Bool(b) => Ok(shape.booleans[usize::from(b)]),
            Value::Number(literal) => {
                let number = self.decimal(value, literal)?;
                self.numbers.contains(&mut self.languages, shape.numbers, &number, literal)
            }
            Value::String(text) => {
                let spelled = self.strings.spell(text);
                self.languages.matches(shape.strings, &spelled)
            }
            Value::Array(_) => {
                for array in &shape.arrays {
                    if self.array_accepts(array, value)? {
                        return Ok(true);
                    }
                }
                self.lists(shape, value)
            }
            Value::Object(_) => {
                for object in &shape.objects {
                    if self.object_accepts(object, value)? {
                        return Ok(true);
                    }
                }
                self.lists(shape, value)
            }
        }
    }

    pub(crate) fn lists(&self, shape: &Shape, value: ValueId) -> Result<bool> {
        for &listed in &shape.listed {
            if self.equal(listed, value)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn set_accepts(&mut self, set: Set, value: ValueId) -> Result<bool> {
        if set == Set::ANY {
            return Ok(true);
        }
        let shape = self.shape(set)?;
        self.accepts(&shape, value)
    }

    fn array_accepts(&mut self, array: &ArraySet, value: ValueId) -> Result<bool> {
        let Value::Array(items) = self.document.value(value) else { return Ok(false) };
        let length = items.len() as u32;
        if length < array.min || array.max.is_some_and(|max| length > max) {
            return Ok(false);
        }
        for (i, &item) in items.iter().enumerate() {
            if !self.set_accepts(array.item(i), item)? {
                return Ok(false);
            }
        }
        for some in &array.some {
            let mut found = 0;
            for &item in items.iter().skip(some.from as usize) {
                found += u32::from(self.set_accepts(some.set, item)?);
            }
            if found < some.min || some.max.is_some_and(|max| found > max) {
                return Ok(false);
            }
        }
        Ok(match array.repeats {
            Repeats::May => true,
            Repeats::Never => !self.repeats(items)?,
            Repeats::Must => self.repeats(items)?,
        })
    }

    /// Are two of the values equal?
    fn repeats(&self, values: &[ValueId]) -> Result<bool> {
        for (i, &a) in values.iter().enumerate() {
            for &b in &values[i + 1..] {
                if self.equal(a, b)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn object_accepts(&mut self, object: &ObjectSet, value: ValueId) -> Result<bool> {
        let Some(members) = self.document.members(value) else { return Ok(false) };
        let count = members.len() as u32;
        if count < object.min || object.max.is_some_and(|max| count > max) {
            return Ok(false);
        }
        if object.named.iter().any(|named| named.required && members.get(&named.key).is_none()) {
            return Ok(false);
        }
        for (key, value) in members.iter() {
            let set = match object.named.iter().find(|named| &*named.key == key) {
                Some(named) => named.set,
                None => self.class_of(&object.classes, key)?,
            };
            if !self.set_accepts(set, value)? {
                return Ok(false);
            }
        }
        self.meets(object.condition, members)
    }

    fn meets(&mut self, condition: MemberFormula, members: &Members) -> Result<bool> {
        let count = members.len() as u32;
        let (class, all) = match self.conditions.part(condition).clone() {
            FormulaNode::Holds => return Ok(true),
            FormulaNode::Fails => return Ok(false),
            FormulaNode::Absent(key) => return Ok(members.get(&key).is_none()),
            FormulaNode::Present(key, set) => {
                return members.get(&key).map_or(Ok(false), |value| self.set_accepts(set, value));
            }
            FormulaNode::AtLeast(n) => return Ok(count >= n),
            FormulaNode::AtMost(n) => return Ok(count <= n),
            FormulaNode::And(parts) => {
                for &part in parts.iter() {
                    if !self.meets(part, members)? {
                        return Ok(false);
                    }
                }
                return Ok(true);
            }
            FormulaNode::Or(parts) => {
                for &part in parts.iter() {
                    if self.meets(part, members)? {
                        return Ok(true);
                    }
                }
                return Ok(false);
            }
            FormulaNode::Some(class) => (class, false),
            FormulaNode::All(class) => (class, true),
        };
        for (key, value) in members.iter() {
            let spelled = self.strings.spell(key);
            if self.languages.matches(class.keys, &spelled)?
                && self.set_accepts(class.set, value)? != all
            {
                return Ok(!all);
            }
        }
        Ok(all)
    }

    /// Equality of values: numbers by value, objects without order.
    fn equal(&self, a: ValueId, b: ValueId) -> Result<bool> {
        Ok(match (self.document.value(a), self.document.value(b)) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::String(a), Value::String(b)) => a == b,
            (Value::Number(x), Value::Number(y)) => self.decimal(a, x)? == self.decimal(b, y)?,
            (Value::Array(x), Value::Array(y)) => {
                if x.len() != y.len() {
                    return Ok(false);
                }
                for (&x, &y) in x.iter().zip(y) {
                    if !self.equal(x, y)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Value::Object(x), Value::Object(y)) => {
                if x.len() != y.len() {
                    return Ok(false);
                }
                for (key, x) in x.iter() {
                    match y.get(key) {
                        Some(y) if self.equal(x, y)? => {}
                        _ => return Ok(false),
                    }
                }
                true
            }
            _ => false,
        })
    }

    /// Does the shape hold no null, boolean, number, string or listed value?
    pub(crate) fn scalarless(&mut self, shape: &Shape) -> Result<bool> {
        if shape.null || shape.booleans != [false; 2] || !shape.listed.is_empty() {
            return Ok(false);
        }
        for language in [shape.numbers.language, shape.numbers.listed] {
            if language != Language::EMPTY && self.languages.is_live(language)? {
                return Ok(false);
            }
        }
        let (strings, unit) = (shape.strings, self.strings.char);
        Ok(strings == Language::EMPTY || !self.languages.has_text(strings, unit)?)
    }
}
