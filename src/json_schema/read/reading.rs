//! One reading of arguments in a style, character by character, as JSON.
//!
//! The signs of the style's description are followed, forwards and without a grammar: the constraint
//! says that they are there. Where several kinds of values may stand, each is a reading of its own:
//!
//! ```text
//! <parameter=days>⏎3⏎</parameter>      {"days":3}     where the schema allows a number
//!                                      {"days":"3"}   where it allows strings alone
//! ```
//!
//! Where a member's values depend on its siblings (`oneOf`, `if`), the readings stay apart until the
//! object ends, and the whole of it is checked:
//!
//! ```text
//! <parameter=value>54</parameter><parameter=kind>text</parameter>     {"value":"54","kind":"text"}
//! ```
//!
//! *Invariant:* readings are equal if and only if all that follows is read alike. Of equal ones that
//! with the fewest doubts is right: a doubt is a value that the schema does not accept at its place.

mod scalars;

use std::sync::Arc;

use serde_json::Value;

use self::scalars::OpenJson;
use super::{ArgumentSets, Kind};
use crate::json_schema::set::Set;
use crate::json_schema::style::{GAP, Notation, Strip, ValueSign, Written};

/// Levels of nesting that are read.
const MAX_DEPTH: usize = 128;
/// Readings that wait for siblings side by side; of more, each value is decided where it ends.
pub(crate) const MAX_READINGS: usize = 64;

/// The next part of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReadPart<'a> {
    Char(char),
    /// A special token by its name, which only signs hold.
    Special(&'a str),
}

/// The kinds of values that are tried at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Candidates {
    /// Those that the schema accepts there, so that what is certainly of one kind is reported as it comes.
    Accepted,
    /// All, those that the schema does not accept as doubts.
    All,
}

/// A reading of arguments so far.
#[derive(Clone, Debug)]
pub(crate) struct ArgumentReading {
    style: Arc<Notation>,
    sets: Arc<ArgumentSets>,
    candidates: Candidates,
    phase: ReadingPhase,
    /// The open objects and arrays, the object of all arguments first.
    frames: Vec<Frame>,
    /// The value that is being read, if it is no object or array in the style.
    value: Option<OpenValue>,
    /// Values that the schema does not accept at their places: 1 for each string, 2 for any other.
    doubts: usize,
    /// JSON that was not taken yet.
    out: String,
    /// JSON since the beginning of the first value that has to be checked.
    checked: String,
    /// Whether it has just read a sign that ends an object or array.
    ended_frame: bool,
}

/// The place of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OpenValue {
    /// The values that may stand there.
    set: Set,
    /// The offset of the value in the JSON to be checked, if it has several readings.
    from: Option<usize>,
}

/// An object or array that is being read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Frame {
    kind: FrameKind,
    /// Its own place.
    place: OpenValue,
    /// Keys that were read, with quotes.
    keys: Vec<String>,
    /// Members or items that were begun.
    count: usize,
    /// The signs after its own end.
    after: String,
    /// Whether the values of its parts depend on each other.
    is_dependent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameKind {
    Object,
    Array,
}

/// The part of a text that is being read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ReadingPhase {
    /// A sign, of which so many characters were read.
    Sign(Vec<char>, usize, AfterSign),
    /// The signs before the next member or item, or the end.
    Between,
    /// A key, with the beginning of the sign after it.
    Key(String),
    /// A string without quotes; its last characters may begin the sign after it.
    Text { held: String, is_begun: bool, end: Vec<char>, strip: Strip },
    /// JSON of a kind, with the sign after it.
    Json { value: OpenJson, kind: Kind, end: String },
    /// Nothing more.
    Done,
}

/// The part after a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AfterSign {
    Between,
    Key,
    Item,
    Value(Kind, String),
    AfterValue,
    EndOfFrame,
}

impl PartialEq for ArgumentReading {
    /// Whether all that follows is read alike.
    fn eq(&self, other: &Self) -> bool {
        // The cheapest first: most readings that wait for siblings differ there.
        let is_dependent = self.frames.iter().any(|frame| frame.is_dependent);
        (!is_dependent || self.checked == other.checked)
            && (&self.phase, &self.frames, &self.value)
                == (&other.phase, &other.frames, &other.value)
    }
}

impl Eq for ArgumentReading {}

impl ArgumentReading {
    pub(crate) fn new(
        style: Arc<Notation>,
        sets: Arc<ArgumentSets>,
        candidates: Candidates,
    ) -> Self {
        // Whitespace may stand before and after all arguments.
        let begin = [GAP].into_iter().chain(style.object.begin.chars()).collect();
        let set = sets.root();
        let is_dependent = sets.are_parts_dependent(set);
        let place = OpenValue { set, from: is_dependent.then_some(0) };
        let root = Frame { is_dependent, ..Frame::new(FrameKind::Object, place, String::new()) };
        let mut this = Self {
            style,
            sets,
            candidates,
            phase: ReadingPhase::Sign(begin, 0, AfterSign::Between),
            frames: vec![root],
            value: None,
            doubts: 0,
            out: String::new(),
            checked: String::new(),
            ended_frame: false,
        };
        this.push("{");
        this
    }

    /// Lets values no longer depend on each other: there are too many readings.
    pub(crate) fn forget_siblings(&mut self) {
        self.frames.iter_mut().for_each(|frame| frame.is_dependent = false);
    }

    /// The JSON since the last time.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// The weight of the values that the schema does not accept at their places; see `doubts`.
    pub(crate) fn doubts(&self) -> usize {
        self.doubts
    }

    /// Whether it has just read a sign that ends an object or array, which no other reading can
    /// mean.
    pub(crate) fn take_end(&mut self) -> bool {
        std::mem::take(&mut self.ended_frame)
    }

    /// Whether the arguments may end here.
    pub(crate) fn may_end(&self) -> bool {
        let is_open = self.frames.len() == 1 && self.style.object.end.is_empty();
        match &self.phase {
            ReadingPhase::Done => true,
            ReadingPhase::Between => is_open,
            ReadingPhase::Sign(sign, 0, AfterSign::Between) => is_open && *sign == [GAP],
            _ => false,
        }
    }

    /// The arguments if they may end here.
    pub(crate) fn into_ended(mut self) -> Option<Self> {
        if !self.may_end() {
            return None;
        }
        if self.phase != ReadingPhase::Done {
            self.push("}");
            self.phase = ReadingPhase::Done;
            if let Some(root) = self.frames.pop() {
                self.check(root.place);
            }
        }
        Some(self)
    }

    /// Of equal readings the first with the fewest doubts, in order of priority.
    pub(crate) fn distinct(mut readings: Vec<Self>) -> Vec<Self> {
        if readings.len() > MAX_READINGS {
            readings.iter_mut().for_each(Self::forget_siblings);
        }
        let mut distinct: Vec<Self> = Vec::with_capacity(readings.len());
        for reading in readings {
            match distinct.iter_mut().find(|known| **known == reading) {
                Some(known) if reading.doubts < known.doubts => *known = reading,
                Some(_) => {}
                None => distinct.push(reading),
            }
        }
        distinct
    }

    /// The readings after one more part of the text, in order of priority.
    pub(crate) fn step(self, part: ReadPart<'_>) -> Vec<Self> {
        let mut next = Vec::new();
        self.step_into(part, &mut next);
        next
    }

    fn step_into(mut self, part: ReadPart<'_>, next: &mut Vec<Self>) {
        match (std::mem::replace(&mut self.phase, ReadingPhase::Done), part) {
            (ReadingPhase::Done, ReadPart::Char(c)) if c.is_ascii_whitespace() => next.push(self),
            (ReadingPhase::Done, _) | (ReadingPhase::Key(_), ReadPart::Special(_)) => {}
            (ReadingPhase::Sign(sign, at, then), _) => self.step_sign((sign, at, then), part, next),
            (ReadingPhase::Between, _) => {
                self.phase = ReadingPhase::Between;
                let ended = self.may_end().then(|| self.clone()).and_then(Self::into_ended);
                self.between().into_iter().for_each(|one| one.step_into(part, next));
                if let Some(ended) = ended {
                    ended.step_into(part, next);
                }
            }
            (ReadingPhase::Key(mut key), ReadPart::Char(c)) => {
                key.push(c);
                match key.strip_suffix(self.style.object.named.as_str()).map(str::to_owned) {
                    Some(key) => next.extend(self.value_of(&key)),
                    None => {
                        self.phase = ReadingPhase::Key(key);
                        next.push(self);
                    }
                }
            }
            (ReadingPhase::Text { held, is_begun, end, strip }, ReadPart::Char(c)) => {
                next.push(self.text(c, (held, is_begun), end, strip));
            }
            (ReadingPhase::Text { held, end, strip, .. }, ReadPart::Special(name)) => {
                self.end_text(&held, end, strip, name, next);
            }
            (ReadingPhase::Json { value, kind, end }, ReadPart::Char(c)) => {
                self.json(c, value, kind, end, next);
            }
            (ReadingPhase::Json { value, end, .. }, ReadPart::Special(_)) => {
                if value.is_bare() {
                    self.sign(&end, AfterSign::AfterValue).step_into(part, next);
                }
            }
        }
    }

    fn step_sign(
        mut self,
        (sign, at, then): (Vec<char>, usize, AfterSign),
        part: ReadPart<'_>,
        next: &mut Vec<Self>,
    ) {
        let rest = &sign[at..];
        let read = match part {
            _ if rest.is_empty() => {
                self.then(then).into_iter().for_each(|one| one.step_into(part, next));
                return;
            }
            ReadPart::Char(c) if rest[0] == GAP && c.is_ascii_whitespace() => 0,
            _ if rest[0] == GAP => {
                self.phase = ReadingPhase::Sign(sign, at + 1, then);
                self.step_into(part, next);
                return;
            }
            ReadPart::Char(c) if rest[0] == c => 1,
            ReadPart::Special(name)
                if rest.iter().take(name.chars().count()).copied().eq(name.chars()) =>
            {
                name.chars().count()
            }
            _ => return,
        };
        if at + read == sign.len() {
            next.extend(self.then(then));
        } else {
            self.phase = ReadingPhase::Sign(sign, at + read, then);
            next.push(self);
        }
    }

    /// Adds JSON.
    fn push(&mut self, json: &str) {
        self.out.push_str(json);
        let is_checked = self.value.is_some_and(|value| value.from.is_some())
            || self.frames.iter().any(|frame| frame.place.from.is_some());
        if is_checked {
            self.checked.push_str(json);
        }
    }

    /// Adds a character of a string.
    fn push_quoted(&mut self, c: char) {
        let quoted = Value::from(c.to_string()).to_string();
        self.push(&quoted[1..quoted.len() - 1]);
    }

    fn sign(mut self, sign: &str, then: AfterSign) -> Self {
        self.phase = ReadingPhase::Sign(sign.chars().collect(), 0, then);
        self
    }

    /// The readings after a sign.
    fn then(mut self, then: AfterSign) -> Vec<Self> {
        match then {
            AfterSign::Between => self.phase = ReadingPhase::Between,
            AfterSign::Key => self.phase = ReadingPhase::Key(String::new()),
            AfterSign::Item => return self.item(),
            AfterSign::Value(Kind::Array | Kind::Object, _) if self.frames.len() >= MAX_DEPTH => {
                return Vec::new();
            }
            AfterSign::Value(kind, end) => self.begin_value(kind, end),
            AfterSign::AfterValue => {
                if let Some(value) = self.value.take() {
                    self.check(value);
                }
                self.phase = ReadingPhase::Between;
            }
            AfterSign::EndOfFrame => {
                let Some(frame) = self.frames.last() else { return Vec::new() };
                let (place, bracket) = (frame.place, frame.kind.close());
                // An empty one whose place has several readings may be an empty string, too.
                self.ended_frame =
                    frame.count > 0 || place.from.is_none() || self.frames.len() == 1;
                self.push(bracket);
                self.frames.pop();
                self.check(place);
                self.phase =
                    if self.frames.is_empty() { ReadingPhase::Done } else { ReadingPhase::Between };
            }
        }
        vec![self]
    }

    /// Checks a value that has ended.
    fn check(&mut self, place: OpenValue) {
        let Some(from) = place.from else { return };
        let json = &self.checked[from..];
        if !self.sets.holds(place.set, json) {
            // Where the schema accepts no reading, the value is read as a string: it weighs less.
            self.doubts += if json.starts_with('"') { 1 } else { 2 };
        }
        if from == 0 {
            self.checked.clear();
        }
    }

    /// Before the next member or item: the end, or that.
    fn between(self) -> Vec<Self> {
        let Some(frame) = self.frames.last() else { return Vec::new() };
        let style = Arc::clone(&self.style);
        let (object, array) = (&style.object, &style.array);
        let (end, between, begin, then) = match frame.kind {
            FrameKind::Object => (&object.end, &object.between, &object.member, AfterSign::Key),
            FrameKind::Array => (&array.end, &array.between, &array.item, AfterSign::Item),
        };
        let end = [end.as_str(), &frame.after].concat();
        let begin = match frame.count {
            0 => begin.clone(),
            _ => [between.as_str(), begin].concat(),
        };
        let mut ways = Vec::new();
        if !end.is_empty() {
            ways.push(self.clone().sign(&end, AfterSign::EndOfFrame));
        }
        ways.push(self.sign(&begin, then));
        ways
    }

    /// The number of the next part of the innermost frame, with JSON's comma before it.
    fn count(&mut self) -> usize {
        let Some(frame) = self.frames.last_mut() else { return 0 };
        frame.count += 1;
        let count = frame.count;
        if count > 1 {
            self.push(",");
        }
        count - 1
    }

    /// The set of the innermost frame.
    fn set(&self) -> Set {
        self.frames.last().map_or(Set::ANY, |frame| frame.place.set)
    }

    /// The value of a member whose key was read; nothing if the key is there already.
    fn value_of(mut self, key: &str) -> Vec<Self> {
        let quoted = Value::from(key).to_string();
        let known = self.frames.last().is_some_and(|frame| frame.keys.contains(&quoted));
        if known {
            return Vec::new();
        }
        self.count();
        self.push(&quoted);
        self.push(":");
        if let Some(frame) = self.frames.last_mut() {
            frame.keys.push(quoted);
        }
        let set = self.sets.member(self.set(), key);
        let end = self.style.member_end(key);
        self.values(set, &end)
    }

    /// The next item of an array.
    fn item(mut self) -> Vec<Self> {
        let index = self.count();
        let set = self.sets.item(self.set(), index);
        let end = self.style.item_end.clone();
        self.values(set, &end)
    }

    /// The values of all kinds that may stand here.
    fn values(self, set: Set, end: &str) -> Vec<Self> {
        let accepted = self.sets.kinds(set);
        let style = Arc::clone(&self.style);
        let is_candidate =
            |kind: &Kind| self.candidates == Candidates::All || accepted.contains(*kind);
        let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(is_candidate).collect();
        let is_ambiguous = kinds.len() > 1;
        let value = |kind: Kind| {
            let mut one = self.clone();
            let from = is_ambiguous.then_some(one.checked.len());
            one.value = Some(OpenValue { set, from });
            one.sign(&signs(&style, kind).open, AfterSign::Value(kind, end.to_owned()))
        };
        kinds.into_iter().map(value).collect()
    }

    fn begin_value(&mut self, kind: Kind, end: String) {
        let style = Arc::clone(&self.style);
        let signs = signs(&style, kind);
        let end = [signs.close.as_str(), &end].concat();
        self.phase = match (signs.written, kind) {
            (Written::Text, _) => {
                self.push("\"");
                let (end, strip) = (end.chars().collect(), signs.strip);
                ReadingPhase::Text { held: String::new(), is_begun: false, end, strip }
            }
            (Written::Style, kind) => {
                let (kind, begin) = match kind {
                    Kind::Array => (FrameKind::Array, &style.array.begin),
                    _ => (FrameKind::Object, &style.object.begin),
                };
                // A value was begun.
                let mut place =
                    self.value.take().unwrap_or(OpenValue { set: Set::ANY, from: None });
                let is_dependent = self.sets.are_parts_dependent(place.set);
                if is_dependent && place.from.is_none() {
                    place.from = Some(self.checked.len());
                }
                self.frames.push(Frame { is_dependent, ..Frame::new(kind, place, end) });
                self.push(kind.open());
                ReadingPhase::Sign(begin.chars().collect(), 0, AfterSign::Between)
            }
            (Written::Json, _) => {
                ReadingPhase::Json { value: OpenJson::new(style.literals), kind, end }
            }
        };
    }
}

impl Frame {
    fn new(kind: FrameKind, place: OpenValue, after: String) -> Self {
        Self { kind, place, keys: Vec::new(), count: 0, after, is_dependent: false }
    }
}

impl FrameKind {
    fn open(self) -> &'static str {
        match self {
            Self::Object => "{",
            Self::Array => "[",
        }
    }

    fn close(self) -> &'static str {
        match self {
            Self::Object => "}",
            Self::Array => "]",
        }
    }
}

/// The signs around values of a kind.
fn signs(style: &Notation, kind: Kind) -> &ValueSign {
    let signs = &style.values;
    match kind {
        Kind::Null => &signs.null,
        Kind::Boolean => &signs.boolean,
        Kind::Number => &signs.number,
        Kind::Array => &signs.array,
        Kind::Object => &signs.object,
        Kind::String => &signs.string,
    }
}
