//! Reader of arguments that are written in a style, back to JSON as they come.
//!
//! The signs of the style's description are followed, forwards and without a grammar: the constraint
//! says that they are there. Where several kinds of values may stand, each is a reading of its own:
//!
//! ```text
//! <parameter=days>⏎3⏎</parameter>      {"days": 3}     where the schema allows a number
//!                                      {"days": "3"}   where it allows strings alone
//! ```
//!
//! A value that the schema allows as either is no string.

use std::sync::Arc;

use serde_json::Value;

use super::json_end::{JsonEndScanner, JsonPart};
use super::value_kinds::{Kind, Kinds, Step};
use crate::json_schema::style::{GAP, Notation, Strip, ValueSign, Written};

/// A reading of arguments so far.
#[derive(Clone, Debug)]
pub(super) struct WrittenArguments {
    style: Arc<Notation>,
    /// The schema of the arguments.
    schema: Arc<Value>,
    phase: Phase,
    /// The place of the value that is being read.
    path: Vec<Step>,
    /// The open objects and arrays, the object of all arguments first.
    frames: Vec<Frame>,
    /// JSON that was not taken yet.
    out: String,
    /// Whether it has just read a sign that ends an object or array.
    ended_frame: bool,
}

/// An object or array that is being read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Frame {
    kind: FrameKind,
    /// Members or items that were begun.
    count: usize,
    /// The signs behind its own end.
    behind: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameKind {
    Object,
    Array,
}

/// The part of a text that is being read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// A sign, of which so many characters were read.
    Sign(Vec<char>, usize, Then),
    /// The signs before the next member or item, or the end.
    Between,
    /// A key, with the beginning of the sign behind it.
    Key(String),
    /// A string without quotes; its last characters may begin the sign behind it.
    Text { held: String, is_begun: bool, end: Vec<char>, strip: Strip },
    /// JSON of a kind, with the sign behind it.
    Json { scanner: JsonEndScanner, bare: String, kind: Kind, end: String },
    /// Nothing more.
    Done,
}

/// The part behind a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Then {
    Between,
    Key,
    Item,
    Value(Kind, String),
    AfterValue,
    EndOfFrame,
}

impl PartialEq for WrittenArguments {
    /// Whether all that follows is read alike.
    fn eq(&self, other: &Self) -> bool {
        (&self.phase, &self.path, &self.frames) == (&other.phase, &other.path, &other.frames)
    }
}

impl Eq for WrittenArguments {}

impl WrittenArguments {
    pub(super) fn new(style: Arc<Notation>, schema: Arc<Value>) -> Self {
        let root = Frame { kind: FrameKind::Object, count: 0, behind: String::new() };
        // Whitespace may stand before and behind all arguments.
        let begin = [GAP].into_iter().chain(style.object.begin.chars()).collect();
        let phase = Phase::Sign(begin, 0, Then::Between);
        let (path, frames, out) = (Vec::new(), vec![root], "{".to_owned());
        Self { style, schema, phase, path, frames, out, ended_frame: false }
    }

    /// The JSON since the last time.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// Whether it has just read a sign that ends an object or array, which no other reading can
    /// mean.
    pub(super) fn take_end(&mut self) -> bool {
        std::mem::take(&mut self.ended_frame)
    }

    /// The arguments if they may end here.
    pub(super) fn ended(&self) -> Option<Self> {
        let mut ended = self.clone();
        match (&self.phase, self.frames.len()) {
            (Phase::Done, _) => Some(ended),
            (Phase::Between, 1) if self.style.object.end.is_empty() => {
                ended.out.push('}');
                ended.phase = Phase::Done;
                Some(ended)
            }
            (Phase::Sign(sign, 0, Then::Between), 1) if *sign == [GAP] => {
                ended.phase = Phase::Between;
                ended.ended()
            }
            _ => None,
        }
    }

    /// The readings after one more character, in order of priority.
    pub(super) fn step(self, c: char) -> Vec<Self> {
        let mut next = Vec::new();
        self.step_into(c, &mut next);
        next
    }

    fn step_into(mut self, c: char, next: &mut Vec<Self>) {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Done if c.is_ascii_whitespace() => next.push(self),
            Phase::Done => {}
            Phase::Sign(sign, at, then) => match sign.get(at) {
                None => self.then(then).into_iter().for_each(|one| one.step_into(c, next)),
                Some(&GAP) if c.is_ascii_whitespace() => {
                    self.phase = Phase::Sign(sign, at, then);
                    next.push(self);
                }
                Some(&GAP) => {
                    self.phase = Phase::Sign(sign, at + 1, then);
                    self.step_into(c, next);
                }
                Some(&expected) if expected == c && at + 1 == sign.len() => {
                    next.extend(self.then(then));
                }
                Some(&expected) if expected == c => {
                    self.phase = Phase::Sign(sign, at + 1, then);
                    next.push(self);
                }
                Some(_) => {}
            },
            Phase::Between => {
                self.phase = Phase::Between;
                let ended = self.ended();
                self.between().into_iter().for_each(|one| one.step_into(c, next));
                if let Some(ended) = ended {
                    ended.step_into(c, next);
                }
            }
            Phase::Key(mut key) => {
                key.push(c);
                match key.strip_suffix(self.style.object.named.as_str()).map(str::to_owned) {
                    Some(key) => next.extend(self.value_of(&key)),
                    None => {
                        self.phase = Phase::Key(key);
                        next.push(self);
                    }
                }
            }
            Phase::Text { held, is_begun, end, strip } => {
                next.push(self.text(c, (held, is_begun), end, strip));
            }
            Phase::Json { scanner, bare, kind, end } => {
                self.json(c, (scanner, bare), kind, end, next);
            }
        }
    }

    /// The readings after a special token, which only signs hold, in order of priority.
    pub(super) fn step_special(self, name: &str) -> Vec<Self> {
        let mut next = Vec::new();
        self.step_special_into(name, &mut next);
        next
    }

    fn step_special_into(mut self, name: &str, next: &mut Vec<Self>) {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Done | Phase::Key(_) => {}
            Phase::Sign(sign, at, then) => match sign.get(at) {
                None => {
                    self.then(then).into_iter().for_each(|one| one.step_special_into(name, next));
                }
                Some(&GAP) => {
                    self.phase = Phase::Sign(sign, at + 1, then);
                    self.step_special_into(name, next);
                }
                Some(_)
                    if sign[at..].iter().copied().take(name.chars().count()).eq(name.chars()) =>
                {
                    let behind = at + name.chars().count();
                    if behind == sign.len() {
                        next.extend(self.then(then));
                    } else {
                        self.phase = Phase::Sign(sign, behind, then);
                        next.push(self);
                    }
                }
                Some(_) => {}
            },
            Phase::Between => {
                self.phase = Phase::Between;
                let ended = self.ended();
                self.between().into_iter().for_each(|one| one.step_special_into(name, next));
                if let Some(ended) = ended {
                    ended.step_special_into(name, next);
                }
            }
            Phase::Text { held, end, strip, .. } => {
                // The string ends where the sign with the token begins.
                let begins = |&at: &usize| {
                    let sign = stripped(&held[at..], strip).chars().chain(name.chars());
                    end.starts_with(&sign.collect::<Vec<char>>())
                };
                let at = held.char_indices().map(|(at, _)| at).chain([held.len()]).find(begins);
                let Some(at) = at else { return };
                held[..at].chars().for_each(|c| self.push_quoted(c));
                self.out.push('"');
                let read = stripped(&held[at..], strip).chars().count();
                self.phase = Phase::Sign(end, read, Then::AfterValue);
                self.step_special_into(name, next);
            }
            Phase::Json { bare, end, .. } => {
                if is_bare(&bare) {
                    self.sign(&end, Then::AfterValue).step_special_into(name, next);
                }
            }
        }
    }

    /// Adds a character of a string.
    fn push_quoted(&mut self, c: char) {
        let quoted = Value::from(c.to_string()).to_string();
        self.out.push_str(&quoted[1..quoted.len() - 1]);
    }

    fn sign(mut self, sign: &str, then: Then) -> Self {
        self.phase = Phase::Sign(sign.chars().collect(), 0, then);
        self
    }

    /// The readings behind a sign.
    fn then(mut self, then: Then) -> Vec<Self> {
        match then {
            Then::Between => self.phase = Phase::Between,
            Then::Key => self.phase = Phase::Key(String::new()),
            Then::Item => return self.item(),
            Then::Value(kind, end) => self.begin_value(kind, end),
            Then::AfterValue => {
                self.path.pop();
                self.phase = Phase::Between;
            }
            Then::EndOfFrame => {
                self.ended_frame = true;
                let frame = self.frames.pop();
                let is_array = frame.is_some_and(|frame| frame.kind == FrameKind::Array);
                self.out.push(if is_array { ']' } else { '}' });
                self.phase = match self.frames.is_empty() {
                    true => Phase::Done,
                    false => Phase::Between,
                };
                self.path.pop();
            }
        }
        vec![self]
    }

    /// Before the next member or item: the end, or that.
    fn between(self) -> Vec<Self> {
        let Some(frame) = self.frames.last() else { return Vec::new() };
        let style = Arc::clone(&self.style);
        let (object, array) = (&style.object, &style.array);
        let (end, between, begin, then) = match frame.kind {
            FrameKind::Object => (&object.end, &object.between, &object.member, Then::Key),
            FrameKind::Array => (&array.end, &array.between, &array.item, Then::Item),
        };
        let end = [end.as_str(), &frame.behind].concat();
        let begin = match frame.count {
            0 => begin.clone(),
            _ => [between.as_str(), begin].concat(),
        };
        let mut ways = Vec::new();
        if !end.is_empty() {
            ways.push(self.clone().sign(&end, Then::EndOfFrame));
        }
        ways.push(self.sign(&begin, then));
        ways
    }

    /// The number of the next part of the innermost frame, with JSON's comma before it.
    fn count(&mut self) -> usize {
        let Some(frame) = self.frames.last_mut() else { return 0 };
        frame.count += 1;
        if frame.count > 1 {
            self.out.push_str(", ");
        }
        frame.count - 1
    }

    /// The value of a member whose key was read.
    fn value_of(mut self, key: &str) -> Vec<Self> {
        self.count();
        self.out.push_str(&Value::from(key).to_string());
        self.out.push_str(": ");
        self.path.push(Step::Member(key.to_owned()));
        let end = self.style.member_end(key);
        self.values(&end)
    }

    /// The next item of an array.
    fn item(mut self) -> Vec<Self> {
        let index = self.count();
        self.path.push(Step::Item(index));
        let end = self.style.item_end.clone();
        self.values(&end)
    }

    /// The values of all kinds that may stand here.
    fn values(self, end: &str) -> Vec<Self> {
        let kinds = Kinds::at(&self.schema, &self.path);
        let style = Arc::clone(&self.style);
        let kinds = Kind::ALL.into_iter().filter(|&kind| kinds.contains(kind));
        let value = |kind: Kind| {
            self.clone().sign(&signs(&style, kind).open, Then::Value(kind, end.to_owned()))
        };
        kinds.map(value).collect()
    }

    fn begin_value(&mut self, kind: Kind, end: String) {
        let style = Arc::clone(&self.style);
        let signs = signs(&style, kind);
        let end = [signs.close.as_str(), &end].concat();
        self.phase = match (signs.written, kind) {
            (Written::Text, _) => {
                self.out.push('"');
                let (end, strip) = (end.chars().collect(), signs.strip);
                Phase::Text { held: String::new(), is_begun: false, end, strip }
            }
            (Written::Style, Kind::Array) => {
                self.out.push('[');
                self.frames.push(Frame { kind: FrameKind::Array, count: 0, behind: end });
                Phase::Sign(style.array.begin.chars().collect(), 0, Then::Between)
            }
            (Written::Style, _) => {
                self.out.push('{');
                self.frames.push(Frame { kind: FrameKind::Object, count: 0, behind: end });
                Phase::Sign(style.object.begin.chars().collect(), 0, Then::Between)
            }
            (Written::Json, _) => {
                let scanner = JsonEndScanner::default();
                Phase::Json { scanner, bare: String::new(), kind, end }
            }
        };
    }

    /// One more character of a string without quotes.
    fn text(
        mut self,
        c: char,
        (mut held, mut is_begun): (String, bool),
        end: Vec<char>,
        strip: Strip,
    ) -> Self {
        held.push(c);
        while !held.is_empty() {
            let first = held.chars().next().unwrap_or_default();
            let is_stripped = !is_begun
                && match strip {
                    Strip::Nothing => false,
                    Strip::Line => first == '\n',
                    Strip::Blank => first.is_ascii_whitespace(),
                };
            if is_stripped {
                is_begun = strip == Strip::Line;
                held.remove(0);
                continue;
            }
            is_begun |= !end.starts_with(&[first]);
            let sign: Vec<char> = stripped(&held, strip).chars().collect();
            if sign == end {
                self.out.push('"');
                return self.then(Then::AfterValue).remove(0);
            }
            if end.starts_with(&sign) {
                break;
            }
            is_begun = true;
            held.remove(0);
            self.push_quoted(first);
        }
        self.phase = Phase::Text { held, is_begun, end, strip };
        self
    }

    /// One more character of JSON, or of the sign behind it.
    fn json(
        mut self,
        c: char,
        (mut scanner, mut bare): (JsonEndScanner, String),
        kind: Kind,
        end: String,
        next: &mut Vec<Self>,
    ) {
        if is_bare(&bare) {
            self.clone().sign(&end, Then::AfterValue).step_into(c, next);
        }
        let is_first = scanner == JsonEndScanner::default();
        if is_first && !begins(kind, c) {
            return;
        }
        if scanner.read(c) != Some(JsonPart::Value) {
            return;
        }
        if scanner.is_bare {
            bare.push(c);
            if !begins_bare(&bare) {
                return;
            }
        }
        self.out.push(c);
        next.push(match scanner.has_ended() {
            true => self.sign(&end, Then::AfterValue),
            false => {
                self.phase = Phase::Json { scanner, bare, kind, end };
                self
            }
        });
    }
}

/// The end of a string and what follows it, without what a reader strips from the string.
fn stripped(text: &str, strip: Strip) -> &str {
    match strip {
        Strip::Nothing => text,
        Strip::Line => text.strip_prefix('\n').unwrap_or(text),
        Strip::Blank => text.trim_ascii_start(),
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

/// Whether JSON of a kind can begin with a character.
fn begins(kind: Kind, c: char) -> bool {
    match kind {
        Kind::Null => c == 'n',
        Kind::Boolean => c == 't' || c == 'f',
        Kind::Number => c == '-' || c.is_ascii_digit(),
        Kind::Array => c == '[',
        Kind::Object => c == '{',
        Kind::String => c == '"',
    }
}

/// Whether a text is a number, `true`, `false` or `null`.
fn is_bare(text: &str) -> bool {
    !text.is_empty() && serde_json::from_str::<Value>(text).is_ok()
}

/// Whether a text can become a number, `true`, `false` or `null`.
fn begins_bare(text: &str) -> bool {
    let words = ["true", "false", "null"];
    let number = [text, "0"].concat();
    words.iter().any(|word| word.starts_with(text))
        || is_bare(text)
        || is_bare(&number)
        || is_bare(&[&number, "e0"].concat())
}
