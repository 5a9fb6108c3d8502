//! Arguments in a style, read back as JSON.
//!
//! A style does not say of each value what it is: `<parameter=n>5</parameter>` is a number or the
//! string `5`. The schema decides, as it does where servers read such messages: of the readings
//! that the schema accepts at this place, beside the other members, JSON comes before a string. A text
//! that the schema accepts in no reading is read nonetheless, as a string where it may be one.
//!
//! Readings ([`reading`]) go on side by side, character by character, so that a stream is read as a
//! whole text is; the sets of the schema ([`ArgumentSets`]) say which kinds of values may stand at a
//! place and, after a value that has several readings, which of them the schema accepts.

mod json_end;
mod python;
mod reading;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use self_cell::self_cell;
use serde_json::value::RawValue;

use super::document::canonical_text::canonical;
use super::document::closing;
use super::document::references::References;
use super::number::{Decimal, NumberSet};
use super::options::{Options, Strictness};
use super::schema::Schema;
use super::set::{Set, Sets, Shared};
use super::style::Notation;
use crate::deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::document::Value;
pub(crate) use json_end::{JsonEndScanner, JsonPart};
pub(crate) use python::{json_of_python, python_word};
pub(crate) use reading::{ArgumentReading, Candidates, MAX_READINGS, ReadPart};

impl Schema {
    /// The JSON of arguments that are written in the style of the options. Numbers and nested JSON
    /// stay as they are written.
    ///
    /// Errors if the text is not in the style, or names an argument twice.
    ///
    /// ```
    /// use maskwright::json_schema::{Options, Schema, Style};
    /// let schema = Schema::from_text(r#"{"properties": {"id": {"type": "string"}}}"#)?;
    /// let mut options = Options::default();
    /// options.style = Style::named("qwen_xml")?;
    /// let text = "<parameter=id>\n5\n</parameter>\n<parameter=days>\n3\n</parameter>";
    /// assert_eq!(schema.read_arguments(text, &options)?, r#"{"id":"5","days":3}"#);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn read_arguments(&self, text: &str, options: &Options) -> Result<String> {
        let Some(style) = options.style.notation() else {
            let value: &RawValue = serde_json::from_str(text.trim()).map_err(|error| {
                let message = format!("the arguments are not valid JSON: {error}");
                Error::new(ErrorKind::Request, message)
            })?;
            return Ok(value.get().to_owned());
        };
        let sets = Arc::new(ArgumentSets::new(self.clone(), options.clone())?);
        let first = ArgumentReading::new(Arc::clone(style), sets, Candidates::All);
        let mut readings = vec![first];
        for (at, c) in text.char_indices() {
            deadline::check()?;
            let next: Vec<_> =
                readings.into_iter().flat_map(|reading| reading.step(ReadPart::Char(c))).collect();
            readings = ArgumentReading::distinct(next);
            if readings.is_empty() {
                return Err(unread(style, text, at));
            }
        }
        let ended = readings.into_iter().filter_map(ArgumentReading::into_ended);
        // Of readings with as many doubts the first.
        let best = ended.min_by_key(ArgumentReading::doubts);
        best.map(|mut best| best.take()).ok_or_else(|| unread(style, text, text.len()))
    }
}

fn unread(style: &Notation, text: &str, at: usize) -> Error {
    let shown: String = text[at..].chars().take(20).collect();
    let place = if shown.is_empty() { "at the end".to_owned() } else { format!("at {shown:?}") };
    let message =
        format!("the text does not hold arguments in the style `{}`: {place}", style.name);
    Error::new(ErrorKind::Request, message)
        .at_byte(at)
        .with_help("write the arguments in this style, each at most once")
}

/// A schema of arguments with its options.
struct ArgumentSchema {
    schema: Schema,
    options: Options,
}

self_cell!(
    struct OpenSets {
        owner: ArgumentSchema,
        #[not_covariant]
        dependent: Sets,
    }
);

/// The sets of a schema of arguments, asked for while arguments are read.
///
/// Where a limit is reached, and where there is no schema that could be read, any value may stand.
pub(crate) struct ArgumentSets {
    sets: Option<Mutex<OpenSets>>,
    /// The set of all arguments.
    root: Set,
}

impl fmt::Debug for ArgumentSets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgumentSets").field("root", &self.root).finish_non_exhaustive()
    }
}

impl ArgumentSets {
    /// The sets of arguments that a schema accepts.
    ///
    /// Errors if the schema cannot be read.
    pub(crate) fn new(schema: Schema, options: Options) -> Result<Self> {
        let mut schema = schema.with_resources(&options.resources)?;
        if options.strictness == Strictness::Closed {
            closing::close(&mut schema.document, &mut References::new(options.draft))?;
        }
        let mut root = Set::ANY;
        let sets = OpenSets::try_new(ArgumentSchema { schema, options }, |owner| {
            let ArgumentSchema { schema, options } = owner;
            let base = Shared::default().base(options.spelling);
            let mut sets = Sets::from_base(&schema.document, options, base);
            root = sets.schema(schema.document.root())?;
            Ok::<_, Error>(sets)
        })?;
        Ok(Self { sets: Some(Mutex::new(sets)), root })
    }

    /// Sets of any arguments.
    pub(crate) fn any() -> Self {
        Self { sets: None, root: Set::ANY }
    }

    /// The set of all arguments.
    pub(crate) fn root(&self) -> Set {
        self.root
    }

    /// Asks the sets; `None` without any, and where a limit is reached.
    fn ask<T>(&self, ask: impl for<'d> FnOnce(&mut Sets<'d>) -> Result<T>) -> Option<T> {
        let mut sets = self.sets.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        sets.with_dependent_mut(|_, sets| {
            sets.begin_task_budget();
            ask(sets).ok()
        })
    }

    /// A superset of the kinds of values in a set: all kinds where a limit is reached.
    fn kinds(&self, set: Set) -> Kinds {
        let kinds = self.ask(|sets| {
            let shape = sets.shape(set)?;
            let mut kinds = Kinds::default();
            let has_strings = sets.languages.is_live(shape.strings)?;
            let listed = |of: fn(&Value) -> bool| {
                shape.listed.iter().any(|&value| of(sets.document.value(value)))
            };
            let is_array = |value: &Value| matches!(value, Value::Array(_));
            let is_object = |value: &Value| matches!(value, Value::Object(_));
            for (kind, holds) in [
                (Kind::Null, shape.null),
                (Kind::Boolean, shape.booleans != [false; 2]),
                (Kind::Number, shape.numbers != NumberSet::NONE),
                (Kind::String, has_strings),
                (Kind::Array, !shape.arrays.is_empty() || listed(is_array)),
                (Kind::Object, !shape.objects.is_empty() || listed(is_object)),
            ] {
                if holds {
                    kinds.add(kind);
                }
            }
            Ok(kinds)
        });
        kinds.unwrap_or(Kinds::ALL)
    }

    /// Whether a set may hold a value: true, too, where a limit is reached.
    fn holds(&self, set: Set, json: &str) -> bool {
        let holds = self.ask(|sets| {
            if json.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
                let shape = sets.shape(set)?;
                let Some(number) = Decimal::parse(json) else {
                    // Too long to be computed with.
                    let texts = sets.number_text(shape.numbers)?;
                    return sets.languages.matches(texts, json.as_bytes());
                };
                let languages = &mut sets.languages;
                return sets.numbers.contains(languages, shape.numbers, &number, json);
            }
            let Some(value) = canonical(json.as_bytes()) else { return Ok(false) };
            let value = sets.text(&value);
            let both = sets.and([set, value]);
            Ok(!sets.is_empty(both)?)
        });
        holds.unwrap_or(true)
    }

    /// Whether the values that may stand in an object or array of a set depend on each other: then it
    /// is checked as a whole.
    fn are_parts_dependent(&self, set: Set) -> bool {
        let are_dependent = self.ask(|sets| {
            let shape = sets.shape(set)?;
            let (mut objects, mut arrays) = (shape.objects.len(), shape.arrays.len());
            for &value in &shape.listed {
                let unlisted = sets.unlisted(value)?;
                objects += unlisted.objects.len();
                arrays += unlisted.arrays.len();
            }
            let contains = shape.arrays.iter().any(|array| !array.contains_counts.is_empty());
            Ok(objects > 1 || arrays > 1 || contains)
        });
        are_dependent.unwrap_or(false)
    }

    /// The values that a member with this key may have in the objects of a set.
    fn member(&self, set: Set, key: &str) -> Set {
        let member = self.ask(|sets| {
            let shape = sets.shape(set)?;
            let spelled = sets.strings.spell(key);
            let mut all = Vec::new();
            let mut objects = shape.objects.clone();
            for &value in &shape.listed {
                objects.extend(sets.unlisted(value)?.objects);
            }
            for object in &objects {
                if let Some(named) = object.named.iter().find(|named| *named.key == *key) {
                    all.push(named.set);
                    continue;
                }
                for other in sets.other_keys(object)? {
                    if sets.languages.matches(other.keys, &spelled)? {
                        all.push(other.set);
                    }
                }
            }
            Ok(sets.or(all))
        });
        member.unwrap_or(Set::ANY)
    }

    /// The values that an item at this index may have in the arrays of a set.
    fn item(&self, set: Set, index: usize) -> Set {
        let item = self.ask(|sets| {
            let shape = sets.shape(set)?;
            let mut all: Vec<Set> = shape.arrays.iter().map(|array| array.item(index)).collect();
            for &value in &shape.listed {
                all.extend(sets.unlisted(value)?.arrays.iter().map(|array| array.item(index)));
            }
            Ok(sets.or(all))
        });
        item.unwrap_or(Set::ANY)
    }
}

/// The kinds of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Null,
    Boolean,
    Number,
    Array,
    Object,
    String,
}

impl Kind {
    /// All kinds, strings last: a text that can be another value is no string.
    const ALL: [Self; 6] =
        [Self::Object, Self::Array, Self::Null, Self::Boolean, Self::Number, Self::String];
}

/// A set of kinds, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kinds(u8);

impl Kinds {
    const ALL: Self = Self(0x3f);

    fn add(&mut self, kind: Kind) {
        self.0 |= 1 << kind as u8;
    }

    fn contains(self, kind: Kind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }
}
