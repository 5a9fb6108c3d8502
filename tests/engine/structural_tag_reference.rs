//! Masks of random structural tags against a machine that is written from their definitions (the
//! head of `tools::structural_tag`) and shares nothing with the engine. Its state is a set of
//! threads, each a list of what is left to be read; every thread that it keeps can be completed.

#![allow(clippy::unwrap_used)]

use maskwright::tools::structural_tag;
use maskwright::{Compiler, Vocabulary};
use serde_json::{Value, json};

type Id = u32;

/// The texts of ordinary tokens; those with one byte spell every text.
const TEXTS: [&str; 7] = ["a", "b", "c", "ab", "bc", "aa", "cab"];

/// Special tokens; texts hold the first one's name.
const SPECIAL: [(Id, &str); 2] = [(7, "bb"), (8, "<x>")];

const END: Id = 9;

/// Something to be read.
#[derive(Clone, Debug, PartialEq)]
enum Task {
    Bytes(Vec<u8>),
    Token(Id),
    OtherToken(Vec<Id>),
    Sequence(Vec<Self>),
    AnyOf(Vec<Self>),
    Repeat(Box<Self>, u64, Option<u64>),
    /// Free text: what it does not hold, what is written of it, and characters left.
    Free(Vec<String>, String, Option<u64>),
    /// Free text with triggers, and what is written since the last one.
    Dispatch(Dispatch, String),
}

#[derive(Clone, Debug, PartialEq)]
struct Dispatch {
    rules: Vec<Rule>,
    excludes: Vec<String>,
    is_loop: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Rule {
    trigger: String,
    /// A text that begins with the trigger.
    begin: String,
    /// The continuation after that text.
    then: Task,
}

/// Tasks that are left, the next one last.
type Thread = Vec<Task>;

/// The names of special tokens in a text, from the left.
fn names(text: &str) -> Vec<(usize, usize, Id)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match SPECIAL.iter().find(|(_, name)| text[at..].starts_with(name)) {
            Some((id, name)) => {
                found.push((at, at + name.len(), *id));
                at += name.len();
            }
            None => at += 1,
        }
    }
    found
}

/// A text, names of special tokens in it spelled or as tokens.
fn text(text: &str) -> Task {
    let (mut parts, mut written) = (Vec::new(), 0);
    for (from, to, id) in names(text) {
        parts.push(Task::Bytes(text[written..from].into()));
        parts.push(Task::AnyOf(vec![Task::Bytes(text[from..to].into()), Task::Token(id)]));
        written = to;
    }
    parts.push(Task::Bytes(text[written..].into()));
    Task::Sequence(parts)
}

fn id(token: &Value) -> Id {
    match token {
        Value::String(text) => match SPECIAL.iter().find(|(_, name)| name == text) {
            Some((id, _)) => *id,
            None => TEXTS.iter().position(|known| known == text).unwrap() as Id,
        },
        id => id.as_u64().unwrap() as Id,
    }
}

fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn ids(list: &Value) -> Vec<Id> {
    list.as_array().into_iter().flatten().map(id).collect()
}

/// The texts that free text in a tag with this end does not hold.
fn stops(format: &Value, end: &Value) -> Vec<String> {
    let mut all = texts(&format["excludes"]);
    all.extend(end.as_str().map(str::to_owned));
    all.extend(texts(end));
    all.retain(|text| !text.is_empty());
    all
}

fn other_tokens(format: &Value, end: &Value) -> Vec<Id> {
    let mut all = ids(&format["exclude_tokens"]);
    all.extend(end.get("token").map(id));
    all
}

/// A beginning or an end of a tag.
fn edge(edge: &Value) -> Task {
    match edge {
        Value::String(edge) => text(edge),
        Value::Array(edges) => Task::AnyOf(edges.iter().map(self::edge).collect()),
        token => Task::Token(id(&token["token"])),
    }
}

fn after_begin(tag: &Value) -> Task {
    Task::Sequence(vec![task(&tag["content"], &tag["end"]), edge(&tag["end"])])
}

fn whole_tag(tag: &Value) -> Task {
    Task::Sequence(vec![edge(&tag["begin"]), after_begin(tag)])
}

/// The task of a format within a tag with this end.
fn task(format: &Value, end: &Value) -> Task {
    let list = |key: &str| format[key].as_array().unwrap().iter();
    let repeat = |one: Task, min, max| Task::Repeat(Box::new(one), min, max);
    let content = || task(&format["content"], end);
    let flag = |key: &str| format[key] == true;
    let is_single = flag("stop_after_first") || format["loop"] == false;
    let kind = format["type"].as_str().unwrap();
    match kind {
        "const_string" => text(format["value"].as_str().unwrap()),
        "any_text" => Task::Free(stops(format, end), String::new(), format["max_chars"].as_u64()),
        "token" => Task::Token(id(&format["token"])),
        "exclude_token" => Task::OtherToken(other_tokens(format, end)),
        "any_tokens" => {
            repeat(Task::OtherToken(other_tokens(format, end)), 0, format["max_tokens"].as_u64())
        }
        "sequence" => Task::Sequence(list("elements").map(|part| task(part, end)).collect()),
        "or" => Task::AnyOf(list("elements").map(|part| task(part, end)).collect()),
        "optional" => repeat(content(), 0, Some(1)),
        "plus" => repeat(content(), 1, None),
        "star" => repeat(content(), 0, None),
        "repeat" => repeat(content(), format["min"].as_u64().unwrap(), format["max"].as_u64()),
        "tag" => whole_tag(format),
        "tags_with_separator" => {
            let tag = Task::AnyOf(list("tags").map(whole_tag).collect());
            let separator = text(format["separator"].as_str().unwrap());
            let more = repeat(Task::Sequence(vec![separator, tag.clone()]), 0, None);
            let all = Task::Sequence(if is_single { vec![tag] } else { vec![tag, more] });
            repeat(all, flag("at_least_one").into(), Some(1))
        }
        "triggered_tags" | "dispatch" => {
            let rule = |rule: &Value| {
                if kind == "dispatch" {
                    let pattern = rule[0].as_str().unwrap().to_owned();
                    let then = task(&rule[1], end);
                    return Rule { trigger: pattern.clone(), begin: pattern, then };
                }
                let begin = rule["begin"].as_str().unwrap().to_owned();
                let mut triggers = texts(&format["triggers"]);
                triggers.retain(|trigger| begin.starts_with(trigger));
                Rule { trigger: triggers[0].clone(), begin, then: after_begin(rule) }
            };
            let key = if kind == "dispatch" { "rules" } else { "tags" };
            let none = Value::Null;
            let excludes = stops(format, if kind == "dispatch" { &none } else { end });
            let rules: Vec<Rule> = list(key).map(rule).collect();
            let dispatch = Dispatch { rules, excludes, is_loop: !is_single };
            let free = Task::Dispatch(dispatch, String::new());
            with_first(format, free, is_single)
        }
        _ => {
            let rule = |rule: &Value| match kind {
                "token_dispatch" => (id(&rule[0]), task(&rule[1], end)),
                _ => (id(&rule["begin"]["token"]), after_begin(rule)),
            };
            let key = if kind == "token_dispatch" { "rules" } else { "tags" };
            let rules: Vec<(Id, Task)> = list(key).map(rule).collect();
            let none = Value::Null;
            let mut others =
                other_tokens(format, if kind == "token_dispatch" { &none } else { end });
            others.extend(rules.iter().map(|(id, _)| *id));
            let call = |(id, then)| Task::Sequence(vec![Task::Token(id), then]);
            let call = Task::AnyOf(rules.into_iter().map(call).collect());
            let free = Task::OtherToken(others);
            let all = if is_single {
                Task::Sequence(vec![repeat(free, 0, None), repeat(call, 0, Some(1))])
            } else {
                repeat(Task::AnyOf(vec![free, call]), 0, None)
            };
            with_first(format, all, is_single)
        }
    }
}

/// Free text after a first tag, where there must be one.
fn with_first(format: &Value, free: Task, is_single: bool) -> Task {
    if format["at_least_one"] != true {
        return free;
    }
    let first = Task::AnyOf(format["tags"].as_array().unwrap().iter().map(whole_tag).collect());
    Task::Sequence(if is_single { vec![first] } else { vec![first, free] })
}

impl Dispatch {
    /// The place where the leftmost trigger begins that is whole.
    fn leftmost(&self, written: &str) -> Option<usize> {
        self.rules.iter().filter_map(|rule| written.find(&rule.trigger)).min()
    }

    /// Whether a text may be written: it holds nothing excluded and no trigger, or the leftmost one
    /// ends it or may still go on to another.
    fn may_write(&self, written: &str) -> bool {
        let is_excluded =
            |text: &str| self.excludes.iter().any(|excluded| text.contains(excluded.as_str()));
        if is_excluded(written) {
            return false;
        }
        let Some(from) = self.leftmost(written) else { return true };
        self.rules.iter().any(|rule| {
            rule.trigger.starts_with(&written[from..])
                && !is_excluded(&format!("{}{}", &written[..from], rule.trigger))
        })
    }

    /// The continuation of a trigger, or of more of its beginning, that has been written.
    fn after(&self, rule: &Rule, written: usize) -> Thread {
        let mut thread = Thread::new();
        if self.is_loop {
            thread.push(Task::Dispatch(self.clone(), String::new()));
        }
        thread.push(rule.then.clone());
        thread.push(text(&rule.begin[written..]));
        thread
    }
}

/// Threads that read something next, or are complete.
fn settle(threads: Vec<Thread>) -> Vec<Thread> {
    let (mut todo, mut seen, mut settled) = (threads, Vec::new(), Vec::new());
    while let Some(thread) = todo.pop() {
        if seen.contains(&thread) {
            continue;
        }
        seen.push(thread.clone());
        let mut rest = thread.clone();
        match rest.pop() {
            Some(Task::Bytes(bytes)) if bytes.is_empty() => todo.push(rest),
            Some(Task::Sequence(parts)) => {
                rest.extend(parts.into_iter().rev());
                todo.push(rest);
            }
            Some(Task::AnyOf(parts)) => {
                todo.extend(parts.into_iter().map(|part| [rest.clone(), vec![part]].concat()));
            }
            Some(Task::Repeat(one, min, max)) => {
                if min == 0 {
                    todo.push(rest.clone());
                }
                if max != Some(0) {
                    let left = max.map(|max| max - 1);
                    rest.push(Task::Repeat(one.clone(), min.saturating_sub(1), left));
                    rest.push(*one);
                    todo.push(rest);
                }
            }
            Some(Task::Free(..)) => {
                settled.push(thread);
                todo.push(rest);
            }
            Some(Task::Dispatch(dispatch, written)) => {
                settled.push(thread);
                match dispatch.leftmost(&written) {
                    None => todo.push(rest),
                    Some(from) => {
                        let rules = dispatch.rules.iter();
                        for rule in rules.filter(|rule| written[from..] == rule.trigger) {
                            let then = dispatch.after(rule, rule.trigger.len());
                            todo.push([rest.clone(), then].concat());
                        }
                    }
                }
            }
            _ => settled.push(thread),
        }
    }
    settled
}

/// The threads after a byte.
fn read_byte(threads: &[Thread], byte: u8) -> Vec<Thread> {
    let mut next = Vec::new();
    for thread in threads {
        let mut rest = thread.clone();
        let more = match rest.pop() {
            Some(Task::Bytes(bytes)) if bytes[0] == byte => Task::Bytes(bytes[1..].into()),
            Some(Task::Free(stops, written, left)) if left != Some(0) => {
                let written = format!("{written}{}", char::from(byte));
                if stops.iter().any(|stop| written.contains(stop.as_str())) {
                    continue;
                }
                Task::Free(stops, written, left.map(|left| left - 1))
            }
            Some(Task::Dispatch(dispatch, written)) => {
                let written = format!("{written}{}", char::from(byte));
                if !dispatch.may_write(&written) {
                    continue;
                }
                Task::Dispatch(dispatch, written)
            }
            _ => continue,
        };
        rest.push(more);
        next.push(rest);
    }
    settle(next)
}

/// The threads after a token: as its bytes, and as itself.
fn read_token(threads: &[Thread], token: Id) -> Vec<Thread> {
    let mut next = match TEXTS.get(token as usize) {
        Some(text) => text.bytes().fold(threads.to_vec(), |at, byte| read_byte(&at, byte)),
        None => Vec::new(),
    };
    for thread in threads {
        let mut rest = thread.clone();
        match rest.pop() {
            Some(Task::Token(id)) if id == token => next.push(rest),
            Some(Task::OtherToken(others)) if !others.contains(&token) => next.push(rest),
            Some(Task::Dispatch(dispatch, written)) if dispatch.leftmost(&written).is_none() => {
                for rule in &dispatch.rules {
                    for (from, to, id) in names(&rule.begin) {
                        if id == token
                            && from < rule.trigger.len()
                            && written.ends_with(&rule.begin[..from])
                        {
                            next.push([rest.clone(), dispatch.after(rule, to)].concat());
                        }
                    }
                }
            }
            _ => {}
        }
    }
    settle(next)
}

/// Random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 0
    }

    fn text(&mut self) -> String {
        (0..=self.below(3)).map(|_| TEXTS[self.below(3)]).collect()
    }

    fn list(&mut self, most: usize, mut one: impl FnMut(&mut Self) -> Value) -> Value {
        (0..self.below(most + 1)).map(|_| one(self)).collect()
    }

    /// A token by its id or its text.
    fn token(&mut self) -> Value {
        match self.below(4) {
            0 => json!(SPECIAL[self.below(2)].1),
            1 => json!(TEXTS[self.below(7)]),
            _ => json!(self.below(9)),
        }
    }

    fn token_format(&mut self) -> Value {
        json!({"type": "token", "token": self.token()})
    }

    fn tag(&mut self, begin: Value, depth: usize) -> Value {
        let end = match self.below(5) {
            0 => json!([self.text(), self.text()]),
            1 => json!(["", self.text()]),
            2 => self.token_format(),
            _ => json!(self.text()),
        };
        json!({"type": "tag", "begin": begin, "content": self.format(depth), "end": end})
    }

    fn tags(&mut self, depth: usize, mut begin: impl FnMut(&mut Self) -> Value) -> Vec<Value> {
        (0..=self.below(2))
            .map(|_| {
                let begin = begin(self);
                self.tag(begin, depth)
            })
            .collect()
    }

    fn format(&mut self, depth: usize) -> Value {
        let texts = |random: &mut Self| random.list(2, |random| json!(random.text()));
        let tokens = |random: &mut Self| random.list(2, Self::token);
        let simple = if depth == 0 { 6 } else { 17 };
        let Some(deeper) = depth.checked_sub(1) else { return self.simple(simple) };
        let flags = (self.flag(), self.flag());
        match self.below(simple) {
            0..6 => self.simple(6),
            6 => {
                json!({"type": "sequence", "elements": [self.format(deeper), self.format(deeper)]})
            }
            7 => json!({"type": "or", "elements": [self.format(deeper), self.format(deeper)]}),
            8 => {
                let kind = ["optional", "plus", "star"][self.below(3)];
                json!({"type": kind, "content": self.format(deeper)})
            }
            9 => {
                let min = self.below(3);
                let max = [json!(min), json!(min + 2), json!(-1)][self.below(3)].clone();
                json!({"type": "repeat", "min": min, "max": max, "content": self.format(deeper)})
            }
            10 | 11 => {
                let begin = if self.flag() { json!(self.text()) } else { self.token_format() };
                self.tag(begin, deeper)
            }
            12 => json!({"type": "tags_with_separator", "separator": self.text(),
                "tags": self.tags(deeper, |random| json!(random.text())),
                "at_least_one": flags.0, "stop_after_first": flags.1}),
            13 => {
                // Each beginning has one trigger, and each trigger a tag.
                let trigger = self.text();
                let other = loop {
                    let other = self.text();
                    if !other.starts_with(&trigger) && !trigger.starts_with(&other) {
                        break other;
                    }
                };
                let mut tags =
                    self.tags(deeper, |random| json!(format!("{trigger}{}", random.text())));
                tags.extend(self.tags(deeper, |_| json!(other)));
                json!({"type": "triggered_tags", "triggers": [trigger, other], "tags": tags,
                    "excludes": texts(self), "at_least_one": flags.0, "stop_after_first": flags.1})
            }
            14 => {
                let rules: Vec<Value> = (0..=self.below(3))
                    .map(|_| json!([self.text(), self.format(deeper)]))
                    .collect();
                json!({"type": "dispatch", "rules": rules, "loop": flags.0,
                    "excludes": texts(self)})
            }
            15 => {
                let tags = self.tags(deeper, Self::token_format);
                let triggers: Vec<&Value> = tags.iter().map(|tag| &tag["begin"]["token"]).collect();
                json!({"type": "token_triggered_tags", "trigger_tokens": triggers, "tags": tags,
                    "at_least_one": flags.0, "stop_after_first": flags.1})
            }
            _ => {
                let rules: Vec<Value> = (0..=self.below(2))
                    .map(|_| json!([self.token(), self.format(deeper)]))
                    .collect();
                let used: Vec<Id> = rules.iter().map(|rule| id(&rule[0])).collect();
                let mut excludes = tokens(self);
                excludes.as_array_mut().unwrap().retain(|token| !used.contains(&id(token)));
                json!({"type": "token_dispatch", "rules": rules, "loop": flags.0,
                    "exclude_tokens": excludes})
            }
        }
    }

    fn simple(&mut self, kinds: usize) -> Value {
        let tokens = self.list(2, Self::token);
        match self.below(kinds.min(6)) {
            0 => json!({"type": "const_string", "value": self.text()}),
            1 => {
                json!({"type": "any_text", "excludes": self.list(2, |random| json!(random.text()))})
            }
            2 => json!({"type": "any_text", "max_chars": self.below(4)}),
            3 => self.token_format(),
            4 => json!({"type": "exclude_token", "exclude_tokens": tokens}),
            _ => {
                let most = [Value::Null, json!(self.below(3))][self.below(2)].clone();
                json!({"type": "any_tokens", "exclude_tokens": tokens, "max_tokens": most})
            }
        }
    }
}

/// `MASKWRIGHT_TAG_CASES` says how many random tags are walked through.
#[test]
fn masks_of_random_tags() {
    let cases = std::env::var("MASKWRIGHT_TAG_CASES").map_or(400, |cases| cases.parse().unwrap());
    let tokens = TEXTS.iter().map(|text| Some(text.as_bytes().to_vec())).collect();
    let special: Vec<(u32, &str)> = SPECIAL.into_iter().chain([(END, "</s>")]).collect();
    let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &special, &[END]).unwrap());
    let (mut steps, mut ends) = (0, 0);
    for case in 0..cases {
        let mut random = Random(case);
        let format = random.format(2);
        let tag = json!({"type": "structural_tag", "format": format});
        let grammar = structural_tag(&tag, &compiler)
            .unwrap_or_else(|error| panic!("case {case}\n{format}\n{error}"));
        let constraint = compiler.compile(grammar).unwrap();
        let mut matcher = constraint.matcher();
        let mut threads = settle(vec![vec![task(&format, &Value::Null)]]);
        let mut written = Vec::new();
        for _ in 0..12 {
            let mut allowed: Vec<Id> =
                (0..END).filter(|&token| !read_token(&threads, token).is_empty()).collect();
            let is_complete = threads.iter().any(Vec::is_empty);
            let mask: Vec<Id> = matcher.mask().unwrap().iter().collect();
            let mut expected = allowed.clone();
            expected.extend(is_complete.then_some(END));
            assert_eq!(mask, expected, "case {case}\n{format}\nafter {written:?}");
            (steps, ends) = (steps + 1, ends + usize::from(is_complete));
            if allowed.is_empty() {
                break;
            }
            let token = allowed.swap_remove(random.below(allowed.len()));
            threads = read_token(&threads, token);
            matcher.accept(token).unwrap();
            written.push(token);
        }
    }
    assert!(steps > cases as usize * 4 && ends > cases as usize, "{steps} {ends}");
}
