//! Random schemas of all drafts, small enough that keywords meet: few names, few values, few
//! patterns.

use serde_json::{Map, Value, json};

use crate::random::Random;

/// The drafts, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Draft {
    /// draft-04
    Draft4,
    /// draft-06
    Draft6,
    /// draft-07
    Draft7,
    /// 2019-09
    Draft201909,
    /// 2020-12
    Draft202012,
}

use Draft::{Draft4, Draft6, Draft7, Draft201909, Draft202012};

impl Draft {
    const ALL: [Self; 5] = [Draft4, Draft6, Draft7, Draft201909, Draft202012];

    /// The URI by which `$schema` names the draft.
    pub fn uri(self) -> &'static str {
        match self {
            Draft4 => "http://json-schema.org/draft-04/schema#",
            Draft6 => "http://json-schema.org/draft-06/schema#",
            Draft7 => "http://json-schema.org/draft-07/schema#",
            Draft201909 => "https://json-schema.org/draft/2019-09/schema",
            Draft202012 => "https://json-schema.org/draft/2020-12/schema",
        }
    }

    /// The keyword that holds definitions.
    pub fn definitions(self) -> &'static str {
        if self >= Draft201909 { "$defs" } else { "definitions" }
    }
}

/// Names of properties.
pub const NAMES: &[&str] = &["a", "b", "c", "ab", "", "é"];
/// Strings that the patterns, formats and lengths tell apart.
pub const STRINGS: &[&str] =
    &["", "a", "b", "ab", "aab", "abc", "c", "é", "😀", "1", "12", "2024-02-29", "127.0.0.1"];
/// Numbers, equal ones in several spellings.
pub const NUMBERS: &[&str] = &[
    "0", "-0", "0.0", "1", "1.0", "1e0", "10e-1", "2", "2.5", "25e-1", "3", "-1", "-1.5", "0.1",
    "0.3", "6", "12", "100", "1e2", "4.75", "-7",
];
const PATTERNS: &[&str] = &[
    "a",
    "^a",
    "b$",
    "^[ab]*$",
    "a.b",
    "^(?:ab|c){1,2}$",
    "\\d",
    "^\\w+$",
    "^[^a]",
    "^$",
    "^(?!a)",
    "(?=.*b)",
    "é|😀",
    "^.{2}$",
    "^.*$",
];
/// Formats, and the first draft that knows them; ours are enforced in every draft.
const FORMATS: &[(&str, Draft)] = &[
    ("date-time", Draft4),
    ("ipv4", Draft4),
    ("unheard-of", Draft4),
    ("date", Draft7),
    ("uuid", Draft201909),
];
const TYPES: &[&str] = &["null", "boolean", "integer", "number", "string", "array", "object"];

/// A schema that the caller may put together: all of it is in definitions, and the definition `0`
/// is the whole.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The draft that `$schema` names.
    pub draft: Draft,
    /// The definitions, each by its number.
    pub definitions: Vec<Value>,
}

impl Parts {
    fn around(&self, mut keywords: Map<String, Value>) -> Value {
        let mut schema = Map::new();
        schema.insert("$schema".into(), json!(self.draft.uri()));
        schema.append(&mut keywords);
        let definitions = self.definitions.iter().enumerate();
        let definitions: Map<String, Value> =
            definitions.map(|(i, body)| (i.to_string(), body.clone())).collect();
        schema.insert(self.draft.definitions().into(), Value::Object(definitions));
        Value::Object(schema)
    }

    fn whole(&self) -> Value {
        json!({"$ref": format!("#/{}/0", self.draft.definitions())})
    }

    /// The schema.
    pub fn schema(&self) -> Value {
        // In older drafts a reference hides what is beside it, but not from other references.
        self.around(Map::from_iter([("allOf".to_owned(), json!([self.whole()]))]))
    }

    /// Whether the validator is known to read the schema otherwise. In 2019-09 `unevaluatedItems`
    /// looks at `items`, `additionalItems` and `unevaluatedItems` alone (Core, section 9.3.1.3); for
    /// the validator `contains` evaluates items, as it does in 2020-12.
    pub fn is_disputed(&self) -> bool {
        let text = json!(self.definitions).to_string();
        let both = ["\"contains\"", "\"unevaluatedItems\""].iter().all(|word| text.contains(word));
        self.draft == Draft201909 && both
    }

    /// The schema of the values that both this schema and another one accept.
    pub fn within(&self, other: &Value) -> Value {
        self.around(Map::from_iter([("allOf".to_owned(), json!([self.whole(), other]))]))
    }

    /// The schema of the values that this one does not accept.
    pub fn negated(&self) -> Value {
        self.around(Map::from_iter([("not".to_owned(), self.whole())]))
    }
}

/// Makes one random schema.
pub struct Maker<'r> {
    random: &'r mut Random,
    draft: Draft,
    definitions: usize,
    /// Whether formats are among the keywords.
    formats: bool,
    /// Nesting stops when this is used up.
    budget: usize,
}

/// The position of a schema: one that is applied to the same value as definition `n` may refer to
/// the
/// definitions after it alone, so that none is its own meaning.
type Place = usize;
const BELOW: Place = 0;

impl<'r> Maker<'r> {
    /// A schema of a random draft.
    pub fn make(random: &'r mut Random, formats: bool) -> Parts {
        // The newest has the most keywords.
        let draft = if random.percent(40) { Draft202012 } else { *random.pick(&Draft::ALL) };
        let definitions = 1 + random.below(3);
        let mut maker = Self { random, draft, definitions, formats, budget: 0 };
        let definitions = (0..definitions).map(|i| {
            maker.budget = 12;
            maker.schema(3, i + 1)
        });
        Parts { draft, definitions: definitions.collect() }
    }

    fn since(&self, draft: Draft) -> bool {
        self.draft >= draft
    }

    /// A schema that may refer to the definitions from `place` on.
    fn schema(&mut self, depth: usize, place: Place) -> Value {
        self.budget = self.budget.saturating_sub(1);
        if self.since(Draft6) && self.random.percent(6) {
            return json!(self.random.percent(65));
        }
        let mut schema = Map::new();
        let referable = self.definitions - place.min(self.definitions);
        if referable > 0 && self.random.percent(20) {
            let to = place + self.random.below(referable);
            schema.insert("$ref".into(), json!(format!("#/{}/{to}", self.draft.definitions())));
            // What stands beside it counts, or does not, by draft.
            if self.random.percent(60) {
                return Value::Object(schema);
            }
        }
        let kinds = [Self::numbers, Self::strings, Self::arrays, Self::objects, Self::values];
        if depth > 0 && self.budget > 0 && self.random.percent(45) {
            self.combined(&mut schema, depth - 1, place);
        }
        // Mostly of one type, now and then of two.
        let (count, focus) = (1 + self.random.below(5) / 4, self.random.below(kinds.len() + 3));
        let focus = if depth > 0 && self.budget > 0 {
            [0, 1, 2, 2, 3, 3, 3, 4][focus]
        } else {
            [0, 1, 4, 0, 1, 4, 0, 1][focus]
        };
        for i in 0..count {
            match (focus + i) % kinds.len() {
                2 | 3 if depth == 0 || self.budget == 0 => {}
                kind => kinds[kind](self, &mut schema, depth.saturating_sub(1)),
            }
        }
        if self.random.percent(45) {
            let of_focus: &[&str] = match focus {
                0 => &["number", "integer"],
                1 => &["string"],
                2 => &["array"],
                3 => &["object"],
                _ => TYPES,
            };
            let name = *self.random.pick(of_focus);
            let more = *self.random.pick(TYPES);
            let types = if self.random.percent(25) && more != name {
                json!([name, more])
            } else {
                json!(name)
            };
            schema.insert("type".into(), types);
        }
        Value::Object(schema)
    }

    fn list(&mut self, most: usize, depth: usize, place: Place) -> Value {
        (0..1 + self.random.below(most)).map(|_| self.schema(depth, place)).collect()
    }

    /// Many objects that are much alike, as authors list them.
    fn crowd(&mut self) -> Value {
        let names = [*self.random.pick(NAMES), *self.random.pick(NAMES)];
        (0..3 + self.random.below(7)).map(|_| self.one_of_crowd(&names)).collect()
    }

    fn one_of_crowd(&mut self, names: &[&str]) -> Value {
        let mut properties = Map::new();
        for &name in names {
            if self.random.percent(85) {
                let other = *self.random.pick(NAMES);
                let one = match self.random.below(7) {
                    0..=2 => json!({"enum": [self.random.pick(STRINGS)]}),
                    3 => json!({"type": "object", "required": [other]}),
                    4 => json!({"properties": {other: {"type": self.random.pick(TYPES)}}}),
                    5 => json!({"type": "integer", "minimum": self.random.below(3)}),
                    _ => json!({"type": self.random.pick(TYPES)}),
                };
                properties.insert(name.to_owned(), one);
            }
        }
        let mut schema = Map::from_iter([("properties".to_owned(), Value::Object(properties))]);
        if self.random.percent(30) {
            schema.insert("required".into(), json!([self.random.pick(names)]));
        }
        if self.random.percent(60) {
            schema.insert("type".into(), json!("object"));
        }
        if self.random.percent(10) {
            schema.insert("additionalProperties".into(), json!(false));
        }
        Value::Object(schema)
    }

    /// Schemas of the same value.
    fn combined(&mut self, schema: &mut Map<String, Value>, depth: usize, place: Place) {
        for _ in 0..1 + self.random.below(4) / 3 {
            match self.random.below(if self.since(Draft7) { 6 } else { 5 }) {
                0..4 if self.random.percent(10) => {
                    let keyword = *self.random.pick(&["oneOf", "oneOf", "anyOf"]);
                    schema.insert(keyword.into(), self.crowd())
                }
                0 => schema.insert("allOf".into(), self.list(2, depth, place)),
                1 => schema.insert("anyOf".into(), self.list(3, depth, place)),
                2 | 3 => schema.insert("oneOf".into(), self.list(3, depth, place)),
                4 => schema.insert("not".into(), self.schema(depth, place)),
                _ => {
                    for keyword in ["then", "else"] {
                        if self.random.percent(70) {
                            schema.insert(keyword.into(), self.schema(depth, place));
                        }
                    }
                    schema.insert("if".into(), self.schema(depth, place))
                }
            };
        }
        // They are about the same value, too.
        if self.since(Draft201909) && self.random.percent(25) {
            schema.insert("dependentSchemas".into(), self.by_name(depth, place));
        } else if !self.since(Draft201909) && self.random.percent(25) {
            let mut by_name = self.by_name(depth, place);
            for (_, value) in by_name.as_object_mut().into_iter().flatten() {
                if self.random.percent(50) {
                    *value = self.names(35);
                }
            }
            schema.insert("dependencies".into(), by_name);
        }
    }

    fn numbers(&mut self, schema: &mut Map<String, Value>, _: usize) {
        let bound = |this: &mut Self| {
            let text = *this.random.pick(NUMBERS);
            number(text)
        };
        for (keyword, exclusive) in
            [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")]
        {
            if self.random.percent(45) {
                schema.insert(keyword.into(), bound(self));
                if self.draft == Draft4 && self.random.percent(40) {
                    schema.insert(exclusive.into(), json!(self.random.percent(70)));
                }
            }
            if self.since(Draft6) && self.random.percent(25) {
                schema.insert(exclusive.into(), bound(self));
            }
        }
        if self.random.percent(40) {
            let of = ["1", "2", "3", "0.5", "1.5", "0.1", "0.25", "1.0", "1e1", "7e-1"];
            let text = *self.random.pick(&of);
            schema.insert("multipleOf".into(), number(text));
        }
    }

    fn strings(&mut self, schema: &mut Map<String, Value>, _: usize) {
        self.bounds(schema, "minLength", "maxLength", 3);
        if self.random.percent(55) {
            schema.insert("pattern".into(), json!(self.random.pick(PATTERNS)));
        }
        if self.formats && self.random.percent(20) {
            let (format, since) = *self.random.pick(FORMATS);
            if self.since(since) {
                schema.insert("format".into(), json!(format));
            }
        }
    }

    fn bounds(&mut self, schema: &mut Map<String, Value>, min: &str, max: &str, most: usize) {
        let least = self.random.below(most);
        if self.random.percent(35) {
            schema.insert(min.into(), json!(least));
        }
        if self.random.percent(35) {
            schema.insert(max.into(), json!(least + self.random.below(most)));
        }
    }

    fn arrays(&mut self, schema: &mut Map<String, Value>, depth: usize) {
        let below = |this: &mut Self| this.schema(depth, BELOW);
        self.bounds(schema, "minItems", "maxItems", 3);
        if self.random.percent(30) {
            schema.insert("uniqueItems".into(), json!(self.random.percent(85)));
        }
        let prefix = if self.since(Draft202012) { "prefixItems" } else { "items" };
        let rest = if self.since(Draft202012) { "items" } else { "additionalItems" };
        if self.random.percent(35) {
            schema.insert(prefix.into(), self.list(3, depth, BELOW));
            if self.random.percent(55) {
                schema.insert(rest.into(), below(self));
            }
        } else if self.random.percent(50) {
            schema.insert("items".into(), below(self));
        }
        if self.since(Draft6) && self.random.percent(40) {
            schema.insert("contains".into(), below(self));
            if self.since(Draft201909) {
                self.bounds(schema, "minContains", "maxContains", 3);
            }
        }
        if self.since(Draft201909) && self.random.percent(30) {
            schema.insert("unevaluatedItems".into(), self.mostly_false(depth));
        }
    }

    fn mostly_false(&mut self, depth: usize) -> Value {
        if self.random.percent(50) { json!(false) } else { self.schema(depth, BELOW) }
    }

    /// Schemas under names.
    fn by_name(&mut self, depth: usize, place: Place) -> Value {
        let names = self.random.some(NAMES, 35);
        names.into_iter().map(|name| (name.to_owned(), self.schema(depth, place))).collect()
    }

    fn names(&mut self, chance: usize) -> Value {
        let mut names = self.random.some(NAMES, chance);
        // The oldest draft knows no empty list.
        if names.is_empty() && self.draft == Draft4 {
            names.push("a");
        }
        json!(names)
    }

    fn objects(&mut self, schema: &mut Map<String, Value>, depth: usize) {
        self.bounds(schema, "minProperties", "maxProperties", 3);
        if self.random.percent(65) {
            schema.insert("properties".into(), self.by_name(depth, BELOW));
        }
        if self.random.percent(30) {
            let patterns = self.random.some(PATTERNS, 12);
            let patterns = patterns.into_iter();
            let patterns: Map<_, _> =
                patterns.map(|p| (p.to_owned(), self.schema(depth, BELOW))).collect();
            schema.insert("patternProperties".into(), Value::Object(patterns));
        }
        if self.random.percent(40) {
            let rest = match self.draft {
                Draft4 if self.random.percent(50) => json!(false),
                Draft4 => self.schema(depth, BELOW),
                _ => self.mostly_false(depth),
            };
            schema.insert("additionalProperties".into(), rest);
        }
        if self.random.percent(45) {
            schema.insert("required".into(), self.names(25));
        }
        if self.since(Draft6) && self.random.percent(20) {
            let mut names = Map::new();
            self.strings(&mut names, depth);
            if self.random.percent(40) {
                names.insert("enum".into(), self.names(60));
            }
            let names = match names.get("enum") {
                Some(Value::Array(none)) if none.is_empty() => json!(true),
                _ => Value::Object(names),
            };
            schema.insert("propertyNames".into(), names);
        }
        if self.since(Draft201909) && self.random.percent(25) {
            let names = self.random.some(NAMES, 30).into_iter();
            let names: Map<_, _> = names.map(|name| (name.to_owned(), self.names(30))).collect();
            schema.insert("dependentRequired".into(), Value::Object(names));
        }
        if self.since(Draft201909) && self.random.percent(35) {
            schema.insert("unevaluatedProperties".into(), self.mostly_false(depth));
        }
    }

    fn values(&mut self, schema: &mut Map<String, Value>, _: usize) {
        if self.since(Draft6) && self.random.percent(40) {
            schema.insert("const".into(), value(self.random, 2));
        } else {
            let mut values: Vec<Value> = Vec::new();
            for _ in 0..1 + self.random.below(4) {
                let one = value(self.random, 2);
                // Values of a list differ, by its metaschema.
                if values.iter().all(|other| crate::instances::differ(other, &one)) {
                    values.push(one);
                }
            }
            schema.insert("enum".into(), Value::Array(values));
        }
    }
}

/// A number as it is written.
pub fn number(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// A value that some schema may care about.
pub fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth > 0 { 12 } else { 7 }) {
        0 => Value::Null,
        1 => json!(random.percent(50)),
        2..=4 => {
            let text = *random.pick(NUMBERS);
            number(text)
        }
        5..=6 => json!(random.pick(STRINGS)),
        7..=8 => (0..random.below(4)).map(|_| value(random, depth - 1)).collect(),
        _ => {
            let names = random.some(NAMES, 30);
            names.into_iter().map(|name| (name.to_owned(), value(random, depth - 1))).collect()
        }
    }
}
