//! From the keywords of one schema to the shape of what it accepts.
//!
//! Keywords that look at a value of one type make up one shape (a single array set, a few object
//! sets); those that apply other schemas to the same value (`$ref`, `allOf`, `anyOf`) are
//! intersected with it. Section numbers are those of JSON Schema Validation and Core, 2020-12.

pub(crate) mod enum_const;
pub(crate) mod foresee;
pub(crate) mod unevaluated;
pub(crate) mod validate;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::document::{Members, Value, ValueId};
use super::number::{NumberSet, Side};
use super::set::{HALVED, Set, Sets, Shape, Sources};
use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::document::draft::Dialect;
use crate::json_schema::document::hints;
use crate::json_schema::number::decimal::Decimal;
use crate::json_schema::set::array_set::{ArraySet, Repeats, ContainsCount};
use crate::json_schema::set::member_formula::{MemberFormula, FormulaNode};
use crate::json_schema::set::object_set::{KeyClass, NamedKey, ObjectSet};
use crate::json_schema::string::format::is_beyond;
use crate::json_schema::string::quotation::QUOTE_FROM;
use crate::regular::Language;

/// Dependencies that are told apart as alternatives, two for each.
const FEW_DEPENDENCIES: usize = 3;

/// The types that a schema allows.
#[derive(Clone, Copy, Debug)]
struct Types {
    null: bool,
    boolean: bool,
    integer: bool,
    number: bool,
    string: bool,
    array: bool,
    object: bool,
}

impl Types {
    const fn every(value: bool) -> Self {
        Self {
            null: value,
            boolean: value,
            integer: value,
            number: value,
            string: value,
            array: value,
            object: value,
        }
    }

    fn add(&mut self, name: &str) -> bool {
        match name {
            "null" => self.null = true,
            "boolean" => self.boolean = true,
            "integer" => self.integer = true,
            "number" => self.number = true,
            "string" => self.string = true,
            "array" => self.array = true,
            "object" => self.object = true,
            _ => return false,
        }
        true
    }
}

/// One schema while its keywords are read.
#[derive(Clone)]
pub(crate) struct KeywordReader<'d> {
    pub(crate) schema: ValueId,
    members: &'d Members,
    pub(crate) dialect: Dialect,
    ignored: Arc<FxHashSet<ValueId>>,
}

impl KeywordReader<'_> {
    /// A `$ref` that hides the keywords beside it.
    pub(crate) fn lone_reference(&self) -> Option<ValueId> {
        self.get("$ref").filter(|_| self.dialect.reference_stands_alone())
    }

    /// The value of a keyword, if the dialect knows it.
    pub(crate) fn get(&self, keyword: &str) -> Option<ValueId> {
        let at = self.members.get(keyword)?;
        (self.dialect.knows(keyword) && !self.ignored.contains(&at)).then_some(at)
    }

    /// The keywords present among these.
    fn sources(&self, keywords: &[&str]) -> Sources {
        let mut sources = Sources::default();
        keywords.iter().filter_map(|k| self.get(k)).for_each(|at| sources.add(at));
        if sources.0.is_empty() {
            sources.add(self.schema);
        }
        sources
    }
}

impl<'d> Sets<'d> {
    /// A schema object, ready to be read.
    pub(crate) fn reader(&mut self, schema: ValueId) -> Result<KeywordReader<'d>> {
        let document = self.document;
        // `Sets::schema` names objects only.
        let members = document.members(schema).unwrap_or(Members::none());
        let dialect = self.references.dialect(document, schema)?;
        Ok(KeywordReader { schema, members, dialect, ignored: self.ignored.clone() })
    }

    /// The shape of what a schema object accepts.
    pub(crate) fn schema_shape(&mut self, schema: ValueId) -> Result<Shape> {
        let reader = self.reader(schema)?;
        if let Some(reference) = reader.lone_reference() {
            let target = self.reference(reference, "$ref")?;
            return Ok((*self.shape(target)?).clone());
        }
        let parts = self.applied(&reader)?;
        let mut shape = None;
        if parts.own {
            shape = Some(self.own_keywords_shape(schema)?);
        }
        if parts.all_of.len() > HALVED {
            let others = self.all_of(&parts.all_of)?;
            return match shape {
                Some(shape) => self.intersection(&shape, &others),
                None => Ok(others),
            };
        }
        for set in parts.all_of {
            let other = self.shape(set)?;
            shape = Some(match shape {
                Some(shape) => self.intersection(&shape, &other)?,
                None => (*other).clone(),
            });
        }
        Ok(shape.unwrap_or_else(|| self.any()))
    }

    /// What the keywords accept that apply no other schema to the same value.
    pub(crate) fn own_keywords_shape(&mut self, schema: ValueId) -> Result<Shape> {
        let (document, reader) = (self.document, self.reader(schema)?);
        let mut shape = self.own_shape(&reader)?;
        for listing in ["const", "enum"] {
            let Some(at) = reader.get(listing) else { continue };
            let values = match (listing, document.value(at)) {
                ("const", _) => vec![at],
                (_, Value::Array(values)) => values.to_vec(),
                _ => return Err(self.malformed(at, "`enum` must be an array")),
            };
            let listed = self.values_shape(&values)?;
            shape = self.intersection(&shape, &listed)?;
            shape.sources = reader.sources(&[listing]);
        }
        Ok(shape)
    }

    /// The schemas of an array of schemas, which must not be empty.
    pub(crate) fn list(&mut self, at: ValueId, keyword: &str) -> Result<Vec<Set>> {
        match self.document.value(at) {
            Value::Array(items) if !items.is_empty() => {
                items.iter().map(|&item| self.schema(item)).collect()
            }
            _ => Err(self.malformed(at, format!("`{keyword}` must be a non-empty array"))),
        }
    }

    /// The error for a value of the wrong kind, with what to write instead.
    pub(crate) fn malformed(&self, at: ValueId, message: impl Into<String>) -> Error {
        let error = self.document.error(ErrorKind::Schema, at, message);
        match hints::instead(self.document, at) {
            Some(help) => error.with_help(help),
            None => error,
        }
    }

    /// What the keywords accept that look at this value alone.
    fn own_shape(&mut self, reader: &KeywordReader<'d>) -> Result<Shape> {
        let types = self.types(reader)?;
        let mut shape = Shape::never();
        shape.null = types.null;
        shape.booleans = [types.boolean; 2];
        if types.number || types.integer {
            shape.numbers = self.own_numbers(reader, types.number)?;
        }
        if types.string {
            self.own_strings(reader, &mut shape)?;
        }
        if types.array {
            shape.arrays = self.own_arrays(reader)?.into_iter().collect();
        }
        if types.object {
            shape.objects = self.own_objects(reader)?;
        }
        shape.sources = reader.sources(&[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "pattern",
            "minLength",
            "maxLength",
            "format",
            QUOTE_FROM,
            "type",
        ]);
        Ok(shape)
    }

    /// Validation, section 6.1.1.
    fn types(&self, reader: &KeywordReader<'_>) -> Result<Types> {
        let Some(at) = reader.get("type") else { return Ok(Types::every(true)) };
        let mut types = Types::every(false);
        let one = [at];
        let names = match self.document.value(at) {
            Value::Array(names) => &names[..],
            _ => &one,
        };
        for &name in names {
            let known = self.document.string(name).is_some_and(|name| types.add(name));
            if !known {
                return Err(self.no_type(name));
            }
        }
        Ok(types)
    }

    /// The error for what is no type.
    pub(crate) fn no_type(&self, at: ValueId) -> Error {
        let types = hints::TYPES.map(|name| format!("`{name}`")).join(", ");
        self.malformed(at, format!("`type` must be one or several of {types}"))
    }

    /// A number that a keyword holds.
    fn number(&self, at: ValueId, keyword: &str) -> Result<Decimal> {
        match self.document.value(at) {
            Value::Number(literal) => self.decimal(at, literal),
            _ => Err(self.malformed(at, format!("`{keyword}` must be a number"))),
        }
    }

    /// A count that a keyword holds, if it is there.
    fn count(&self, reader: &KeywordReader<'_>, keyword: &str) -> Result<Option<u32>> {
        reader.get(keyword).map_or(Ok(None), |at| self.count_at(at, keyword))
    }

    /// A count that a keyword holds. What must be reached is refused where it is more than can be
    /// counted; what must not be exceeded is no bound there (`None`), since no text comes so far.
    pub(crate) fn count_at(&self, at: ValueId, keyword: &str) -> Result<Option<u32>> {
        let count = match self.document.value(at) {
            Value::Number(literal) => self.decimal(at, literal)?.to_count(),
            _ => None,
        };
        match count {
            Some(u32::MAX) if keyword.starts_with("max") => Ok(None),
            Some(u32::MAX) => {
                let most = u32::MAX - 1;
                let message = format!("`{keyword}` is more than {most}, and cannot be counted");
                let help = "ask for fewer: no text holds as many";
                Err(self.document.error(ErrorKind::Limit, at, message).with_help(help))
            }
            Some(count) => Ok(Some(count)),
            None => Err(self.malformed(at, format!("`{keyword}` must be a non-negative integer"))),
        }
    }

    /// Validation, section 6.2.
    fn own_numbers(&mut self, reader: &KeywordReader<'_>, fractions: bool) -> Result<NumberSet> {
        let pointed = reader.dialect.integers_may_have_points();
        let mut set = match fractions {
            true => self.numbers.all(),
            false => self.numbers.integers(&mut self.languages, pointed),
        };
        for (keyword, exclusive, side) in [
            ("minimum", "exclusiveMinimum", Side::Above),
            ("maximum", "exclusiveMaximum", Side::Below),
        ] {
            let mut inclusive = true;
            if let Some(at) = reader.get(exclusive) {
                match self.document.value(at) {
                    Value::Bool(strict) if reader.dialect.exclusive_may_be_boolean() => {
                        inclusive = !strict;
                    }
                    Value::Number(_)
                        if reader.dialect.draft
                            > crate::json_schema::document::draft::Draft::Draft4 =>
                    {
                        let value = self.number(at, exclusive)?;
                        let bound = self.numbers.bound(&mut self.languages, &value, side, false);
                        set = self.numbers.and(&mut self.languages, set, bound);
                    }
                    _ => {
                        let type_ = match reader.dialect.draft
                            > crate::json_schema::document::draft::Draft::Draft4
                        {
                            true => "a number",
                            false => "a boolean",
                        };
                        return Err(self.malformed(at, format!("`{exclusive}` must be {type_}")));
                    }
                }
            }
            if let Some(at) = reader.get(keyword) {
                let value = self.number(at, keyword)?;
                let bound = self.numbers.bound(&mut self.languages, &value, side, inclusive);
                set = self.numbers.and(&mut self.languages, set, bound);
            }
        }
        if let Some(at) = reader.get("multipleOf") {
            let divisor = self.number(at, "multipleOf")?;
            if divisor.is_zero() || divisor.is_negative() {
                return Err(self.malformed(at, "`multipleOf` must be greater than 0"));
            }
            let Some(multiples) = self.numbers.multiples(&mut self.languages, &divisor) else {
                let message = "`multipleOf` has more than 1,000 digits, or is beyond 1e±1000";
                let error = self.document.error(ErrorKind::Limit, at, message);
                return Err(
                    error.with_help("keep it to what a double holds: 17 digits, 1e-308 to 1e308")
                );
            };
            set = self.numbers.and(&mut self.languages, set, multiples);
        }
        Ok(set)
    }

    /// Validation, section 6.3.
    fn own_strings(&mut self, reader: &KeywordReader<'d>, shape: &mut Shape) -> Result<()> {
        let mut parts = vec![self.strings.any];
        let min = self.count(reader, "minLength")?.unwrap_or(0);
        let max = self.count(reader, "maxLength")?;
        if let Some(at) = reader.get("pattern") {
            let Some(pattern) = self.document.string(at) else {
                return Err(self.malformed(at, "`pattern` must be a string"));
            };
            parts.push(self.pattern(pattern, at)?);
        }
        if let Some(at) = reader.get(QUOTE_FROM) {
            let quotation = self.quotation(at)?;
            // Every quotation is a text.
            match parts[..] {
                [any] if any == self.strings.any => parts[0] = quotation,
                _ => parts.push(quotation),
            }
        }
        if let Some(at) = reader.get("format") {
            let Some(name) = self.document.string(at) else {
                return Err(self.malformed(at, "`format` must be a string"));
            };
            let asserted = reader.dialect.asserts_formats();
            let enforced = self.options.formats || asserted;
            match is_beyond(name, |keyword| reader.get(keyword).is_some()) {
                true => shape.open_format = enforced.then_some(at),
                false => parts.extend(self.format(name, asserted)?),
            }
        }
        let (min, max) = self.lengths_left(&parts, min, max);
        if (min, max) != (0, None) && !self.counts_itself(&mut parts, (min, max))? {
            let length = self.strings.of_length(&mut self.languages, min, max);
            // Texts of any length hold those of some.
            match parts[0] == self.strings.any {
                true => parts[0] = length,
                false => parts.push(length),
            }
        }
        let strings = self.languages.intersect(parts);
        shape.strings = match (self.few_enough(strings), reader.get("format")) {
            (Err(error), Some(at)) => return Err(self.document.placed(error, Some(at))),
            (strings, _) => strings?,
        };
        Ok(())
    }

    /// Makes the bounds on a text's length those of one of its parts, such as the pattern `^[a-z]*$`,
    /// if that repeats characters and counts nothing else: an intersection has a state for each length.
    fn counts_itself(
        &mut self,
        parts: &mut [Language],
        lengths: (u32, Option<u32>),
    ) -> Result<bool> {
        for i in 1..parts.len() {
            let counted = self.languages.with_units(parts[i], self.strings.char, lengths)?;
            if let Some(counted) = counted {
                parts[i] = counted;
                // What is made of characters is a text.
                if parts[0] == self.strings.any {
                    parts[0] = counted;
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The bounds on a text's length that the rest of what is said of it leaves open: to a pattern
    /// of three letters they say nothing, and an intersection costs more than a pattern.
    fn lengths_left(&self, parts: &[Language], min: u32, max: Option<u32>) -> (u32, Option<u32>) {
        let (mut min, mut max) = (min, max);
        if (min, max) == (0, None) {
            return (min, max);
        }
        for &part in parts {
            let lengths = self.languages.lengths(part);
            // A character is spelled in one byte, or more.
            if max.is_some_and(|max| lengths.most.is_some_and(|most| most <= max)) {
                max = None;
            }
            if min <= if lengths.alone { lengths.least } else { lengths.least.min(1) } {
                min = 0;
            }
        }
        (min, max)
    }

    /// Validation, section 6.4; Core, section 10.3.1. `None`: plainly no arrays.
    fn own_arrays(&mut self, reader: &KeywordReader<'_>) -> Result<Option<ArraySet>> {
        let mut array = ArraySet {
            min: self.count(reader, "minItems")?.unwrap_or(0),
            max: self.count(reader, "maxItems")?,
            ..ArraySet::any()
        };
        if let Some(at) = reader.get("prefixItems") {
            array.prefix = self.list(at, "prefixItems")?;
        }
        if let Some(at) = reader.get("items") {
            match self.document.value(at) {
                Value::Array(items) if reader.dialect.items_may_be_array() => {
                    array.prefix = items.iter().map(|&i| self.schema(i)).collect::<Result<_>>()?;
                    if let Some(at) = reader.get("additionalItems") {
                        array.rest = self.schema(at)?;
                    }
                }
                Value::Array(_) => {
                    let message = "`items` must be a schema";
                    return Err(self.malformed(at, message));
                }
                _ => array.rest = self.schema(at)?,
            }
        }
        if let Some(at) = reader.get("uniqueItems") {
            match self.document.value(at) {
                Value::Bool(true) => array.repeats = Repeats::Never,
                Value::Bool(false) => {}
                _ => return Err(self.malformed(at, "`uniqueItems` must be a boolean")),
            }
        }
        if let Some(at) = reader.get("contains") {
            let min = self.count(reader, "minContains")?.unwrap_or(1);
            let max = self.count(reader, "maxContains")?;
            let set = self.schema(at)?;
            match max {
                Some(max) if max < min => return Ok(None),
                Some(0) => {
                    let not = self.not(set);
                    for item in array.prefix.iter_mut().chain([&mut array.rest]) {
                        *item = self.and([*item, not]);
                    }
                }
                None if min == 0 => {}
                _ => array.some.push(ContainsCount { from: 0, set, min, max }),
            }
        }
        let keywords =
            ["minItems", "maxItems", "prefixItems", "items", "contains", "uniqueItems", "type"];
        array.sources = reader.sources(&keywords);
        Ok(Some(array))
    }

    /// Validation, section 6.5; Core, section 10.3.2.
    fn own_objects(&mut self, reader: &KeywordReader<'d>) -> Result<Vec<ObjectSet>> {
        let any = self.strings.any;
        let additional = match reader.get("additionalProperties") {
            Some(at) => self.schema(at)?,
            None => Set::ANY,
        };
        let mut patterns = Vec::new();
        if let Some(at) = reader.get("patternProperties") {
            for (pattern, schema) in self.map(at, "patternProperties")?.iter() {
                let keys = self.pattern(pattern, schema)?;
                patterns.push((keys, self.schema(schema)?));
            }
        }
        // Split the keys by the patterns that they match; none: additional.
        let mut classes: Vec<(Language, Option<Set>)> = vec![(any, None)];
        for &(keys, set) in &patterns {
            let mut split = Vec::new();
            for (old, so_far) in classes {
                let inside = self.languages.intersect([old, keys]);
                let outside = self.languages.difference(old, keys);
                if self.languages.is_live(inside)? {
                    split.push((inside, Some(self.and([set, so_far.unwrap_or(Set::ANY)]))));
                }
                if self.languages.is_live(outside)? {
                    split.push((outside, so_far));
                }
            }
            classes = split;
            self.limit_alternatives(reader, classes.len())?;
        }
        let mut named: Vec<NamedKey> = Vec::new();
        if let Some(at) = reader.get("properties") {
            for (key, schema) in self.map(at, "properties")?.iter() {
                let mut set = self.schema(schema)?;
                if !patterns.is_empty() {
                    let spelled = self.strings.spell(key);
                    for &(keys, other) in &patterns {
                        if self.languages.matches(keys, &spelled)? {
                            set = self.and([set, other]);
                        }
                    }
                }
                named.push(NamedKey { key: key.into(), set, required: false });
            }
        }
        let classes: Vec<KeyClass> = classes
            .into_iter()
            .map(|(keys, set)| KeyClass { keys, set: set.unwrap_or(additional) })
            .collect();
        let mut object = ObjectSet {
            named,
            classes,
            min: self.count(reader, "minProperties")?.unwrap_or(0),
            max: self.count(reader, "maxProperties")?,
            condition: MemberFormula::HOLDS,
            sources: reader.sources(&[
                "properties",
                "required",
                "additionalProperties",
                "patternProperties",
                "propertyNames",
                "minProperties",
                "maxProperties",
                "dependentRequired",
                "dependencies",
                "type",
            ]),
        };
        if let Some(at) = reader.get("required") {
            let mut known = object.positions();
            for key in self.strings_of(at, "required")? {
                let index = self.name_among(&mut object, &mut known, key)?;
                object.named[index].required = true;
            }
        }
        if let Some(at) = reader.get("propertyNames") {
            self.restrict_names(&mut object, at)?;
        }
        let mut dependencies = Vec::new();
        for keyword in ["dependentRequired", "dependencies"] {
            let Some(at) = reader.get(keyword) else { continue };
            for (key, needed) in self.map(at, keyword)?.iter() {
                let listed = matches!(self.document.value(needed), Value::Array(_));
                if keyword == "dependentRequired" || listed {
                    dependencies.push((key, self.strings_of(needed, keyword)?));
                }
            }
        }
        if dependencies.len() > FEW_DEPENDENCIES {
            let mut known = object.positions();
            let mut all = vec![object.condition];
            for (key, needed) in dependencies {
                all.push(self.depend(&mut object, &mut known, key, &needed)?);
            }
            object.condition = self.conditions.and(all);
            return Ok(self.settle(object)?.into_iter().collect());
        }
        let mut objects = vec![object];
        for (key, needed) in dependencies {
            objects = self.split(objects, key, &needed)?;
        }
        Ok(objects)
    }

    fn limit_alternatives(&self, reader: &KeywordReader<'_>, classes: usize) -> Result<()> {
        let most = self.options.alternatives;
        if classes <= most {
            return Ok(());
        }
        let message = format!(
            "the properties combine into more than {most} alternatives (the limit `alternatives`)"
        );
        let error = self.document.error(ErrorKind::Limit, reader.schema, message);
        Err(error.with_help("let fewer patterns match the same names, or raise the limit"))
    }

    /// The members of a keyword that holds an object.
    pub(crate) fn map(&self, at: ValueId, keyword: &str) -> Result<&'d Members> {
        let document = self.document;
        document
            .members(at)
            .ok_or_else(|| self.malformed(at, format!("`{keyword}` must be an object")))
    }

    /// The strings of a keyword that holds an array of them.
    fn strings_of(&self, at: ValueId, keyword: &str) -> Result<Vec<&'d str>> {
        let document = self.document;
        let strings = match document.value(at) {
            Value::Array(items) => items.iter().map(|&item| document.string(item)).collect(),
            _ => None,
        };
        let strings: Option<Vec<&'d str>> = strings;
        strings.ok_or_else(|| self.malformed(at, format!("`{keyword}` must hold strings")))
    }

    /// The same for many keys, with the positions of those that have a name.
    fn name_among(
        &mut self,
        object: &mut ObjectSet,
        known: &mut FxHashMap<Arc<str>, usize>,
        key: &str,
    ) -> Result<usize> {
        if let Some(&known) = known.get(key) {
            return Ok(known);
        }
        let set = self.class_of(&object.classes, key)?;
        let key: Arc<str> = key.into();
        known.insert(key.clone(), object.named.len());
        object.named.push(NamedKey { key, set, required: false });
        Ok(object.named.len() - 1)
    }

    /// The index of a key's name; one without a name gets one, after those it has.
    fn name(&mut self, object: &mut ObjectSet, key: &str) -> Result<usize> {
        if let Some(known) = object.named.iter().position(|named| &*named.key == key) {
            return Ok(known);
        }
        let set = self.class_of(&object.classes, key)?;
        object.named.push(NamedKey { key: Arc::from(key), set, required: false });
        Ok(object.named.len() - 1)
    }

    /// Core, section 10.3.2.4: keys outside the names' set are forbidden.
    fn restrict_names(&mut self, object: &mut ObjectSet, at: ValueId) -> Result<()> {
        let names = self.schema(at)?;
        let names = self.shape(names)?.strings;
        for named in &mut object.named {
            let spelled = self.strings.spell(&named.key);
            if !self.languages.matches(names, &spelled)? {
                named.set = Set::NEVER;
            }
        }
        let mut classes = Vec::new();
        for class in &object.classes {
            let keys = self.languages.intersect([class.keys, names]);
            if self.languages.is_live(keys)? {
                classes.push(KeyClass { keys, set: class.set });
            }
        }
        let forbidden = self.languages.difference(self.strings.any, names);
        if self.languages.is_live(forbidden)? {
            classes.push(KeyClass { keys: forbidden, set: Set::NEVER });
        }
        object.classes = classes;
        Ok(())
    }

    /// Validation, section 6.5.4: either the key is absent, or the needed ones are there too. Each
    /// way has its own names, and so its own order.
    fn split(
        &mut self,
        objects: Vec<ObjectSet>,
        key: &str,
        needed: &[&str],
    ) -> Result<Vec<ObjectSet>> {
        let mut result = Vec::new();
        for object in objects {
            let mut without = object.clone();
            let index = self.name(&mut without, key)?;
            if !without.named[index].required {
                without.named[index].set = Set::NEVER;
                result.push(without);
            }
            let mut with = object;
            for &key in std::iter::once(&key).chain(needed) {
                let index = self.name(&mut with, key)?;
                with.named[index].required = true;
            }
            result.push(with);
        }
        Ok(result)
    }

    /// The same as a condition: nothing is multiplied.
    fn depend(
        &mut self,
        object: &mut ObjectSet,
        known: &mut FxHashMap<Arc<str>, usize>,
        key: &str,
        needed: &[&str],
    ) -> Result<MemberFormula> {
        self.name_among(object, known, key)?;
        let mut all = Vec::with_capacity(needed.len());
        for &key in needed {
            self.name_among(object, known, key)?;
            all.push(self.conditions.of(FormulaNode::Present(key.into(), Set::ANY)));
        }
        let all = self.conditions.and(all);
        let absent = self.conditions.of(FormulaNode::Absent(key.into()));
        Ok(self.conditions.or([absent, all]))
    }
}
