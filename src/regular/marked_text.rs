//! Texts with marks around some of their terminals, and what may stand around these.
//!
//! A pattern with conditions on the text around it (`a(?!b)`, `\bif\b`) matches in one place and not in
//! another. So its language is one of whole texts in which the match stands between two marks, written `‹`
//! and `›` here. Where a text has several terminals, conditions are numbered; the marks of number i are `‹i` and `›i`:
//!
//! ```text
//! a(?!b)            ‹a› after any text, and before any that does not begin with b, marks left out
//! strings           {a}: what stands between the marks in some text
//! violations        any text, ‹0a›0, and a text that begins with b
//! monitor           the texts with marks that hold no violation
//! ```
//!
//! A parse that writes the marks of each such terminal, and stays within the monitor, reads every one of them
//! where its conditions hold. Marks are bytes that UTF-8 does not have.
//!
//! Where the conditions stand at the edges of a pattern and ask nothing of its match, they are those of any text
//! between the marks, and all terminals that have them [share](super::shared_conditions) a number.

use rustc_hash::FxHashMap;

use super::languages::{compact, variables};
use super::{ByteSet, CodePoints, Language, Languages, Utf8};
use crate::deadline;
use crate::error::{Error, ErrorKind, Result};

/// The mark before the match of the terminal that a language is about, and the one after it.
const BEGIN: u8 = 0xFE;
const END: u8 = 0xFF;
/// The first bytes of the marks of numbered conditions; a second byte is the number.
const NUMBERED_BEGIN: u8 = 0xF8;
const NUMBERED_END: u8 = 0xF9;

/// The greatest number: no byte of a mark is another mark's first.
const MAX_NUMBER: u8 = NUMBERED_BEGIN - 1;

/// States of an automaton that is written out.
const MAX_STATES: usize = 10_000;

/// States of an automaton that is made minimal. Conditions on Unicode's letters have 700; those that count have a
/// state for each set of counts, of which a grammar reaches few.
const MAX_MINIMAL_STATES: usize = 20_000;

/// The number of the conditions of terminals whose patterns look at the text around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MarkNumber(u8);

impl MarkNumber {
    /// The number of the conditions of this index. Errors if there are too many.
    pub(crate) fn new(index: usize) -> Result<Self> {
        match u8::try_from(index) {
            Ok(number) if number <= MAX_NUMBER => Ok(Self(number)),
            _ => {
                let most = usize::from(MAX_NUMBER) + 1;
                let message =
                    format!("terminals have more than {most} conditions on the text around them");
                Err(Error::new(ErrorKind::Limit, message)
                    .with_help("write some of them without look-around and `\\b`, or with the same at their edges"))
            }
        }
    }

    /// The language after the mark that stands before the terminal.
    pub(crate) fn begin(self, languages: &mut Languages, x: Language) -> Result<Language> {
        self.step(languages, x, NUMBERED_BEGIN)
    }

    /// The language after the mark that follows the terminal.
    pub(crate) fn end(self, languages: &mut Languages, x: Language) -> Result<Language> {
        self.step(languages, x, NUMBERED_END)
    }

    fn step(self, languages: &mut Languages, x: Language, first: u8) -> Result<Language> {
        let half = languages.row(x)?[usize::from(first)];
        Ok(languages.row(half)?[usize::from(self.0)])
    }
}

/// Whether a byte can be part of a mark: texts have none of these.
pub(crate) fn is_of_mark(byte: u8) -> bool {
    matches!(byte, BEGIN | END | NUMBERED_BEGIN | NUMBERED_END)
}

/// The languages that marked texts are made of.
#[derive(Clone, Copy)]
pub(crate) struct MarkedText {
    /// One mark of any kind.
    pub(crate) mark: Language,
    /// The mark before the terminal, and the one after it.
    pub(crate) begin: Language,
    pub(crate) end: Language,
    /// Text with marks of numbered conditions.
    pub(crate) around: Language,
}

impl MarkedText {
    pub(crate) fn new(languages: &mut Languages) -> Self {
        let l = languages;
        let first = ByteSet::single(NUMBERED_BEGIN).union(&ByteSet::single(NUMBERED_END));
        let (first, number) = (l.byte_set(first), l.byte_set(ByteSet::range(0, MAX_NUMBER)));
        let numbered = l.concat([first, number]);
        let (begin, end) = (l.byte_set(ByteSet::single(BEGIN)), l.byte_set(ByteSet::single(END)));
        let mark = l.union([numbered, begin, end]);
        let character = Utf8.class(l, &[(0, 0x10_FFFF)]);
        let unit = l.union([character, numbered]);
        let around = l.repeat(unit, 0, None);
        Self { mark, begin, end, around }
    }

    /// The texts in which one of `strings` stands between the marks.
    fn any_place(self, languages: &mut Languages, strings: Language) -> Language {
        languages.concat([self.around, self.begin, strings, self.end, self.around])
    }
}

/// A terminal whose pattern looks at the text around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LookaroundTerminal {
    /// The strings that it reads in some text.
    pub(crate) strings: Language,
    /// The conditions on the text around each of them.
    pub(crate) conditions: TextConditions,
}

impl LookaroundTerminal {
    /// The terminal of these marked texts. `None` if it reads the same strings in every place.
    pub(crate) fn new(languages: &mut Languages, marked_texts: Language) -> Result<Option<Self>> {
        let strings = strings(languages, marked_texts)?;
        let conditions = TextConditions::new(languages, strings, marked_texts)?;
        Ok(conditions.map(|conditions| Self { strings, conditions }))
    }
}

/// Conditions on the text around strings. Terminals may share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TextConditions {
    /// The strings that they are about; more than those of a terminal where its conditions ask for no string.
    strings: Language,
    /// The marked texts in which one of the strings stands where the conditions hold.
    marked_texts: Language,
}

impl TextConditions {
    /// The conditions of these marked texts. `None` if they hold everywhere.
    pub(crate) fn new(
        languages: &mut Languages,
        strings: Language,
        marked_texts: Language,
    ) -> Result<Option<Self>> {
        let all = MarkedText::new(languages).any_place(languages, strings);
        let refused = languages.difference(all, marked_texts);
        Ok(languages.is_live(refused)?.then_some(Self { strings, marked_texts }))
    }

    /// The texts with these numbered marks around a string where it must not stand.
    fn violations(self, languages: &mut Languages, number: MarkNumber) -> Result<Language> {
        let all = MarkedText::new(languages).any_place(languages, self.strings);
        let refused = languages.difference(all, self.marked_texts);
        written_out(languages, refused, Some(number), MAX_STATES)?.ok_or_else(too_many_states)
    }
}

/// The texts with marks in which the conditions hold, those of index i around the strings between marks of number i.
pub(crate) fn monitor(
    languages: &mut Languages,
    conditions: &[TextConditions],
) -> Result<Language> {
    if conditions.is_empty() {
        return Ok(Language::ALL);
    }
    let all = MarkedText::new(languages).around;
    let mut monitor = all;
    // One after the other, each minimal, so that what two of them demand alike is one state.
    for (index, conditions) in conditions.iter().enumerate() {
        let violations = conditions.violations(languages, MarkNumber::new(index)?)?;
        let without = languages.difference(all, violations);
        let without = minimal(languages, without)?;
        let both = languages.intersect([monitor, without]);
        monitor = minimal(languages, both)?;
    }
    Ok(monitor)
}

/// The same strings with any marks before, between and after their bytes.
pub(crate) fn among_marks(languages: &mut Languages, strings: Language) -> Result<Language> {
    let mark = MarkedText::new(languages).mark;
    let mut system = Equations::default();
    let first = system.variable(languages, strings, |l, x| Ok(l.is_nullable(x)))?;
    while let Some((state, variable)) = system.next() {
        if system.variables.len() > MAX_STATES {
            return Err(too_many_states());
        }
        let mut parts = vec![languages.concat([mark, variable])];
        for (bytes, next) in successors(languages, state)? {
            let next = system.variable(languages, next, |l, x| Ok(l.is_nullable(x)))?;
            let bytes = languages.byte_set(bytes);
            parts.push(languages.concat([bytes, next]));
        }
        if languages.is_nullable(state) {
            parts.push(Language::EPSILON);
        }
        let body = languages.union(parts);
        variables::define(languages, variable, body);
    }
    Ok(variables::settle(languages, &system.variables, first))
}

/// The strings between the marks of these texts.
fn strings(languages: &mut Languages, marked_texts: Language) -> Result<Language> {
    let mut starts = Vec::new();
    let (mut seen, mut at) = (vec![marked_texts], 0);
    let mut is_seen = FxHashMap::from_iter([(marked_texts, ())]);
    while let Some(&state) = seen.get(at) {
        at += 1;
        deadline::check()?;
        for (bytes, next) in successors(languages, state)? {
            if bytes.contains(BEGIN) {
                starts.push(next);
            }
            if bytes != ByteSet::single(BEGIN) && is_seen.insert(next, ()).is_none() {
                seen.push(next);
            }
        }
        if seen.len() > MAX_STATES {
            return Err(too_many_states());
        }
    }
    let ends = |languages: &mut Languages, x: Language| {
        Ok(languages.row(x)?[usize::from(END)] != Language::EMPTY)
    };
    let mut system = Equations::default();
    let starts: Result<Vec<Language>> =
        starts.into_iter().map(|start| system.variable(languages, start, ends)).collect();
    let starts = starts?;
    while let Some((state, variable)) = system.next() {
        if system.variables.len() > MAX_STATES {
            return Err(too_many_states());
        }
        let mut parts = Vec::new();
        for (mut bytes, next) in successors(languages, state)? {
            if bytes.contains(END) {
                bytes.remove(END);
                parts.push(Language::EPSILON);
            }
            if !bytes.is_empty() {
                let next = system.variable(languages, next, ends)?;
                let bytes = languages.byte_set(bytes);
                parts.push(languages.concat([bytes, next]));
            }
        }
        let body = languages.union(parts);
        variables::define(languages, variable, body);
    }
    let all = languages.union(starts);
    Ok(variables::settle(languages, &system.variables, all))
}

/// The same language as a system of equations, with numbered marks in the place of the others if there is a
/// number; where any text may follow, it is [`Language::ALL`], which no later byte changes. `None` if it has too
/// many states.
fn written_out(
    languages: &mut Languages,
    x: Language,
    number: Option<MarkNumber>,
    most: usize,
) -> Result<Option<Language>> {
    let is_nullable = |languages: &mut Languages, x| Ok(languages.is_nullable(x));
    let any = MarkedText::new(languages).around;
    let mut system = Equations::default();
    let first = system.variable(languages, x, is_nullable)?;
    while let Some((state, variable)) = system.next() {
        if system.variables.len() > most {
            return Ok(None);
        }
        let mut parts = Vec::new();
        for (bytes, next) in successors(languages, state)? {
            if number.is_some() && !system.known.contains_key(&next) && languages.is_nullable(next)
            {
                let others = languages.difference(any, next);
                if !languages.is_live(others)? {
                    system.known.insert(next, Language::ALL);
                }
            }
            let next = system.variable(languages, next, is_nullable)?;
            let mut plain = bytes;
            if let Some(MarkNumber(number)) = number {
                for (mark, numbered) in [(BEGIN, NUMBERED_BEGIN), (END, NUMBERED_END)] {
                    if bytes.contains(mark) {
                        plain.remove(mark);
                        let mark = languages.literal(&[numbered, number]);
                        parts.push(languages.concat([mark, next]));
                    }
                }
            }
            if !plain.is_empty() {
                let bytes = languages.byte_set(plain);
                parts.push(languages.concat([bytes, next]));
            }
        }
        if languages.is_nullable(state) {
            parts.push(Language::EPSILON);
        }
        let body = languages.union(parts);
        variables::define(languages, variable, body);
    }
    Ok(Some(variables::settle(languages, &system.variables, first)))
}

/// The same language as a minimal DFA, made of live states alone; as it is where it has too many states, of which
/// a grammar may reach few.
fn minimal(languages: &mut Languages, x: Language) -> Result<Language> {
    match written_out(languages, x, None, MAX_MINIMAL_STATES)? {
        Some(written) => Ok(compact::minimal(languages, written, MAX_MINIMAL_STATES)?.unwrap_or(x)),
        None => Ok(x),
    }
}

/// A system of equations with a variable for each state of an automaton.
#[derive(Default)]
struct Equations {
    known: FxHashMap<Language, Language>,
    variables: Vec<Language>,
    todo: Vec<(Language, Language)>,
}

impl Equations {
    /// The variable of a state, made where there is none. `is_nullable` says whether its body will be.
    fn variable(
        &mut self,
        languages: &mut Languages,
        state: Language,
        is_nullable: impl Fn(&mut Languages, Language) -> Result<bool>,
    ) -> Result<Language> {
        if let Some(&known) = self.known.get(&state) {
            return Ok(known);
        }
        deadline::check()?;
        let nullable = is_nullable(languages, state)?;
        let variable = variables::new_variable(languages, nullable);
        self.known.insert(state, variable);
        self.variables.push(variable);
        self.todo.push((state, variable));
        Ok(variable)
    }

    /// A state whose variable has no body yet.
    fn next(&mut self) -> Option<(Language, Language)> {
        self.todo.pop()
    }
}

/// The live successors of a state, each with the bytes that lead to it.
pub(crate) fn successors(
    languages: &mut Languages,
    state: Language,
) -> Result<Vec<(ByteSet, Language)>> {
    let row = *languages.row(state)?;
    let mut found: Vec<(ByteSet, Language)> = Vec::new();
    for (byte, next) in (0..=u8::MAX).zip(row) {
        if next == Language::EMPTY {
            continue;
        }
        match found.iter_mut().find(|(_, known)| *known == next) {
            Some((bytes, _)) => bytes.insert(byte),
            None => found.push((ByteSet::single(byte), next)),
        }
    }
    Ok(found)
}

fn too_many_states() -> Error {
    let message = "the conditions of a pattern on the text around it have too many states";
    Error::new(ErrorKind::Limit, message).with_help(
        "let it look less far, or write it as `/…/ & /(?s:.*)/`, where it sees its own text alone",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regular::{Dialect, compile_with_context, parse_pattern};

    fn terminal(l: &mut Languages, pattern: &str) -> Result<Option<LookaroundTerminal>> {
        let tree = parse_pattern(pattern, Dialect::Rust)?;
        let marked_texts = compile_with_context(l, &tree, tree.is_lazy(), &Utf8)?;
        LookaroundTerminal::new(l, marked_texts)
    }

    #[test]
    fn what_looks_no_further_than_its_own_text_is_no_lookaround_terminal() -> Result<()> {
        let l = &mut Languages::new();
        for pattern in ["a", "a(?=b)b", r#""(\\.|[^"])*(?<!x)""#, "^a$", r"a\Bb", r"-.*?(?<!\\)x"] {
            assert!(terminal(l, pattern)?.is_none(), "{pattern}");
        }
        for (pattern, strings, others) in [
            ("a(?=b)", &["a"][..], &["", "ab", "b"][..]),
            ("(?<!a)b+|c", &["b", "bb", "c"], &["", "ab"]),
            (r"\bé\b", &["é"], &["", "e"]),
            (r#""(?!"").*?""#, &["\"\"", "\"a\""], &["\"a\"b\"", "\""]),
        ] {
            let found = terminal(l, pattern)?.map(|terminal| terminal.strings);
            let found = found.unwrap_or(Language::EMPTY);
            for (texts, expected) in [(strings, true), (others, false)] {
                for text in texts {
                    assert_eq!(l.matches(found, text.as_bytes())?, expected, "{pattern} {text}");
                }
            }
        }
        Ok(())
    }

    #[test]
    fn the_monitor_holds_the_texts_in_which_terminals_stand_where_they_may() -> Result<()> {
        let l = &mut Languages::new();
        let patterns = ["a(?!b)", r"\bif\b"].map(|pattern| terminal(l, pattern));
        let terminals: Vec<LookaroundTerminal> =
            patterns.into_iter().filter_map(Result::transpose).collect::<Result<_>>()?;
        let conditions: Vec<TextConditions> =
            terminals.iter().map(|terminal| terminal.conditions).collect();
        let monitor = monitor(l, &conditions)?;
        for (text, expected) in [
            ("ab", true),
            ("‹0a›0c", true),
            ("‹0a›0b", false),
            ("‹0a›0", true),
            // Marks are no text.
            ("‹0a›0‹0a›0", true),
            ("‹0a›0‹0b›0", false),
            ("b‹1if›1", false),
            ("é‹1if›1", false),
            ("- ‹1if›1 ‹0a›0", true),
            ("‹1if›1‹0a›0", false),
            ("‹1if›1é", false),
        ] {
            let mut bytes = Vec::new();
            let mut chars = text.chars();
            while let Some(c) = chars.next() {
                let mark = match c {
                    '‹' => NUMBERED_BEGIN,
                    '›' => NUMBERED_END,
                    other => {
                        bytes.extend(other.to_string().bytes());
                        continue;
                    }
                };
                let number = chars.next().and_then(|digit| digit.to_digit(10)).unwrap_or(0);
                bytes.extend([mark, number as u8]);
            }
            assert_eq!(l.matches(monitor, &bytes)?, expected, "{text}");
        }
        Ok(())
    }

    #[test]
    fn numbers_end_where_marks_begin() {
        assert!(MarkNumber::new(247).is_ok());
        assert!(MarkNumber::new(248).is_err_and(|error| error.kind() == ErrorKind::Limit));
    }
}
