//! Membership of a listed value in a shape, and of a key in the classes of an object set.

use crate::error::{ErrorKind, Result};
use crate::json_schema::document::{Members, Value, ValueId};
use crate::json_schema::number::Decimal;
use crate::json_schema::set::array_set::{ArraySet, ItemEquality};
use crate::json_schema::set::keys::KeyClass;
use crate::json_schema::set::member_formula::{FormulaNode, MemberFormula};
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{Set, Sets, Shape};
use crate::regular::Language;
use crate::regular::product;

impl Sets<'_> {
    /// Whether the shape holds the value. Exact for every value.
    pub(crate) fn accepts(&mut self, shape: &Shape, value: ValueId) -> Result<bool> {
        match self.document.value(value) {
            Value::Null => Ok(shape.null),
            &Value::Bool(b) => Ok(shape.booleans[usize::from(b)]),
            Value::Number(literal) => {
                let number = exact_number(self, value, literal)?;
                self.numbers.contains(&mut self.languages, shape.numbers, &number, literal)
            }
            Value::String(text) => {
                let spelled = self.strings.spell(text);
                self.languages.matches(shape.strings, &spelled)
            }
            Value::Array(_) => {
                for array in &shape.arrays {
                    if array_accepts(self, array, value)? {
                        return Ok(true);
                    }
                }
                lists_value(self, shape, value)
            }
            Value::Object(_) => {
                for object in &shape.objects {
                    if object_accepts(self, object, value)? {
                        return Ok(true);
                    }
                }
                lists_value(self, shape, value)
            }
        }
    }
}

/// The exact value of a number of the document.
pub(crate) fn exact_number(sets: &Sets<'_>, at: ValueId, literal: &str) -> Result<Decimal> {
    Decimal::parse(literal).ok_or_else(|| {
        let message = format!("the exponent of {literal} is out of all proportion");
        let help = "write a number with an exponent from -100000 to 100000";
        sets.document.error(ErrorKind::Limit, at, message).with_help(help)
    })
}

pub(crate) fn lists_value(sets: &Sets<'_>, shape: &Shape, value: ValueId) -> Result<bool> {
    for &listed in &shape.listed {
        if are_equal(sets, listed, value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn set_accepts(sets: &mut Sets<'_>, set: Set, value: ValueId) -> Result<bool> {
    if set == Set::ANY {
        return Ok(true);
    }
    let shape = sets.shape(set)?;
    sets.accepts(&shape, value)
}

fn array_accepts(sets: &mut Sets<'_>, array: &ArraySet, value: ValueId) -> Result<bool> {
    let Value::Array(items) = sets.document.value(value) else { return Ok(false) };
    let length = items.len() as u32;
    if length < array.min || array.max.is_some_and(|max| length > max) {
        return Ok(false);
    }
    for (i, &item) in items.iter().enumerate() {
        if !set_accepts(sets, array.item(i), item)? {
            return Ok(false);
        }
    }
    for contains in &array.contains_counts {
        let mut found = 0;
        for &item in items.iter().skip(contains.from as usize) {
            found += u32::from(set_accepts(sets, contains.set, item)?);
        }
        if found < contains.min || contains.max.is_some_and(|max| found > max) {
            return Ok(false);
        }
    }
    Ok(match array.equality {
        ItemEquality::May => true,
        ItemEquality::Never => !has_equal_values(sets, items)?,
        ItemEquality::Must => has_equal_values(sets, items)?,
    })
}

/// Whether two of the values are equal.
fn has_equal_values(sets: &Sets<'_>, values: &[ValueId]) -> Result<bool> {
    for (i, &a) in values.iter().enumerate() {
        for &b in &values[i + 1..] {
            if are_equal(sets, a, b)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn object_accepts(sets: &mut Sets<'_>, object: &ObjectSet, value: ValueId) -> Result<bool> {
    let Some(members) = sets.document.members(value) else { return Ok(false) };
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
            None => set_of_unnamed_key(sets, &object.classes, key)?,
        };
        if !set_accepts(sets, set, value)? {
            return Ok(false);
        }
    }
    meets_formula(sets, object.formula, members)
}

fn meets_formula(sets: &mut Sets<'_>, formula: MemberFormula, members: &Members) -> Result<bool> {
    let count = members.len() as u32;
    let (class, all) = match sets.formulas.node(formula).clone() {
        FormulaNode::Holds => return Ok(true),
        FormulaNode::Fails => return Ok(false),
        FormulaNode::Absent(key) => return Ok(members.get(&key).is_none()),
        FormulaNode::Present(key, set) => {
            return members.get(&key).map_or(Ok(false), |value| set_accepts(sets, set, value));
        }
        FormulaNode::AtLeast(n) => return Ok(count >= n),
        FormulaNode::AtMost(n) => return Ok(count <= n),
        FormulaNode::And(parts) => {
            for &part in parts.iter() {
                if !meets_formula(sets, part, members)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        FormulaNode::Or(parts) => {
            for &part in parts.iter() {
                if meets_formula(sets, part, members)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        FormulaNode::Some(class) => (class, false),
        FormulaNode::All(class) => (class, true),
    };
    for (key, value) in members.iter() {
        let spelled = sets.strings.spell(key);
        if sets.languages.matches(class.keys, &spelled)?
            && set_accepts(sets, class.set, value)? != all
        {
            return Ok(!all);
        }
    }
    Ok(all)
}

/// Whether two values are equal: numbers by value, objects without order.
pub(crate) fn are_equal(sets: &Sets<'_>, a: ValueId, b: ValueId) -> Result<bool> {
    Ok(match (sets.document.value(a), sets.document.value(b)) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Number(x), Value::Number(y)) => {
            exact_number(sets, a, x)? == exact_number(sets, b, y)?
        }
        (Value::Array(x), Value::Array(y)) => {
            if x.len() != y.len() {
                return Ok(false);
            }
            for (&x, &y) in x.iter().zip(y) {
                if !are_equal(sets, x, y)? {
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
                    Some(y) if are_equal(sets, x, y)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
        _ => false,
    })
}

/// Whether the shape holds no null, boolean, number, string or listed value.
pub(crate) fn has_no_scalar(sets: &mut Sets<'_>, shape: &Shape) -> Result<bool> {
    if shape.null || shape.booleans != [false; 2] || !shape.listed.is_empty() {
        return Ok(false);
    }
    for language in [shape.numbers.language, shape.numbers.listed] {
        if language != Language::EMPTY && sets.languages.is_live(language)? {
            return Ok(false);
        }
    }
    let (strings, unit) = (shape.strings, sets.strings.char);
    Ok(strings == Language::EMPTY || !product::has_text(&mut sets.languages, strings, unit)?)
}

/// The set of a key without a name of its own.
pub(crate) fn set_of_unnamed_key(
    sets: &mut Sets<'_>,
    classes: &[KeyClass],
    key: &str,
) -> Result<Set> {
    if let [only] = classes {
        return Ok(only.set);
    }
    let spelled = sets.strings.spell(key);
    for class in classes {
        if sets.languages.matches(class.keys, &spelled)? {
            return Ok(class.set);
        }
    }
    Ok(Set::NEVER)
}

/// Whether the set holds the empty object.
pub(crate) fn contains_empty_object(sets: &Sets<'_>, object: &ObjectSet) -> bool {
    object.min == 0 && object.required() == 0 && sets.formulas.holds_at_end(object.formula)
}
