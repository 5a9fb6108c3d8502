//! Stop strings and stop regexes as one automaton, read byte by byte beside the text that is written.
//!
//! Everything is one anchored DFA (`regex-automata`), one pattern for each stop. At each byte a search
//! begins, and goes on while it may become a match. Searches in the same state have the same future,
//! so only the one that began first is kept, and there are never more than states, mostly none or
//! one:
//!
//! ```text
//! stop   END|NO[0-9]      text   E N D      live searches, by their beginning
//! after "E"   0:E         after "EN"   0:EN, 1:N         after "END"   0: match
//! ```
//!
//! So where a match ends is known at its last byte, and where it begins, too: of those that end there
//! it is the longest, and of those the stop that comes first. What must be held back is the text from
//! the beginning of the oldest search on.
//!
//! A pattern is decided by the text up to its end: `$` and `\b`, which look at what follows, are refused.

use std::collections::HashMap;
use std::sync::Arc;

use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use regex_syntax::hir::Look;

use crate::error::{Error, ErrorKind, Result};

/// Bytes that the automaton of all stops of a request may take while it is made.
const MAX_DFA_BYTES: usize = 32 << 20;
/// Bytes that the NFA may take of which it is made.
const MAX_NFA_BYTES: usize = 8 << 20;

/// A state of [`StopPatterns`].
type StopState = u32;

/// The state from which no match follows.
const DEAD: StopState = u32::MAX;

/// The stops of a request.
#[derive(Debug, Default)]
pub(crate) struct StopPatterns {
    /// By byte: its class.
    classes: Vec<u8>,
    class_count: usize,
    /// By state, then by class: the state after it.
    next: Vec<StopState>,
    /// By state: the first stop that ends in it.
    stops: Vec<Option<u32>>,
    /// By state: whether a match may end beyond it.
    goes_on: Vec<bool>,
    /// The state of a search that begins at the start of the text, after a line break, and elsewhere.
    starts: [StopState; 3],
}

impl StopPatterns {
    /// The automaton of stop strings, none of them empty, and of stop regexes after them.
    ///
    /// Errors, naming the field, if a regex cannot be read, matches the empty text, looks at what
    /// follows it, or is too large.
    pub(crate) fn new(strings: &[String], regexes: &[String]) -> Result<Self> {
        if strings.is_empty() && regexes.is_empty() {
            return Ok(Self::default());
        }
        for regex in regexes {
            check(regex)?;
        }
        let strings = strings.iter().map(|string| regex_syntax::escape(string));
        let patterns: Vec<String> = strings.chain(regexes.iter().cloned()).collect();
        let config = dense::Config::new()
            .start_kind(StartKind::Anchored)
            .match_kind(MatchKind::All)
            .dfa_size_limit(Some(MAX_DFA_BYTES))
            .determinize_size_limit(Some(MAX_DFA_BYTES));
        // A count within a count within a count makes gigabytes of a few letters.
        let thompson = thompson::Config::new().nfa_size_limit(Some(MAX_NFA_BYTES));
        let built =
            dense::Builder::new().configure(config).thompson(thompson).build_many(&patterns);
        let dfa = built.map_err(|error| {
            let message = format!("the stops make too large an automaton: {error}");
            let (help, field) = if regexes.is_empty() {
                ("shorten them", "stop")
            } else {
                ("lower their counts, or write ASCII classes such as [0-9a-z]", "stop_regex")
            };
            Error::new(ErrorKind::Limit, message).with_help(help).at_field(field)
        })?;
        Table::of(&dfa)
    }

    /// Whether there is no stop.
    pub(crate) fn is_empty(&self) -> bool {
        self.next.is_empty()
    }

    /// Bytes that it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.next) + size_of_val(&*self.stops) + size_of_val(&*self.goes_on)
    }

    fn step(&self, state: StopState, byte: u8) -> StopState {
        let class = usize::from(self.classes[usize::from(byte)]);
        self.next[state as usize * self.class_count + class]
    }
}

/// Errors if a regex is not decided by the text up to its end, or matches no text at all.
fn check(regex: &str) -> Result<()> {
    let error = |message: String, help: &str| {
        Error::new(ErrorKind::Regex, message).with_help(help).at_field("stop_regex")
    };
    let hir = regex_syntax::parse(regex).map_err(|inner| {
        let (byte, inner) = match &inner {
            regex_syntax::Error::Parse(e) => (e.span().start.offset, e.kind().to_string()),
            regex_syntax::Error::Translate(e) => (e.span().start.offset, e.kind().to_string()),
            other => (0, other.to_string()),
        };
        error(
            format!("the stop regex `{regex}` cannot be read: byte {byte}: {inner}"),
            "write it as Rust's `regex` crate does",
        )
    })?;
    let properties = hir.properties();
    let ahead = properties.look_set().remove(Look::Start).remove(Look::StartLF);
    if !ahead.is_empty() {
        let message = format!("the stop regex `{regex}` looks at what follows: `$` or `\\b`");
        return Err(error(message, "leave these out: a text ends at the first match"));
    }
    match properties.minimum_len() {
        Some(0) => Err(error(
            format!("the stop regex `{regex}` matches the empty text"),
            "let it match a character at least",
        )),
        None => Err(error(format!("the stop regex `{regex}` matches no text"), "leave it out")),
        Some(_) => Ok(()),
    }
}

/// A DFA while its states are numbered.
struct Table<'d> {
    dfa: &'d dense::DFA<Vec<u32>>,
    ids: HashMap<StateID, StopState>,
    states: Vec<StateID>,
}

impl Table<'_> {
    /// The states of a DFA from which a match follows, with the stop that ends in each: the DFA itself
    /// reports it a byte late.
    fn of(dfa: &dense::DFA<Vec<u32>>) -> Result<StopPatterns> {
        let mut table = Table { dfa, ids: HashMap::new(), states: Vec::new() };
        let mut starts = [DEAD; 3];
        for (start, before) in starts.iter_mut().zip([None, Some(b'\n'), Some(b' ')]) {
            let config = start::Config::new().anchored(Anchored::Yes).look_behind(before);
            let state = dfa.start_state(&config).map_err(|error| {
                Error::new(ErrorKind::Regex, format!("a stop regex cannot be searched: {error}"))
                    .at_field("stop_regex")
            })?;
            *start = table.number(state);
        }
        let representatives: Vec<u8> =
            dfa.byte_classes().representatives(..).filter_map(|unit| unit.as_u8()).collect();
        let class_count = representatives.len();
        let mut next: Vec<StopState> = Vec::new();
        let mut at = 0;
        while let Some(&state) = table.states.get(at) {
            for &byte in &representatives {
                let after = dfa.next_state(state, byte);
                next.push(if dfa.is_dead_state(after) { DEAD } else { table.number(after) });
            }
            at += 1;
        }
        let stops: Vec<Option<u32>> = table.states.iter().map(|&state| table.stop(state)).collect();
        // Whether a match ends in a state or beyond it, backwards from those in which one does.
        let mut before = vec![Vec::new(); stops.len()];
        for (edge, &target) in next.iter().enumerate() {
            if target != DEAD {
                before[target as usize].push((edge / class_count) as StopState);
            }
        }
        let ends = |&state: &StopState| stops[state as usize].is_some();
        let mut live = vec![false; stops.len()];
        let mut goes_on = vec![false; stops.len()];
        let mut open: Vec<StopState> = (0..stops.len() as StopState).filter(ends).collect();
        open.iter().for_each(|&state| live[state as usize] = true);
        while let Some(state) = open.pop() {
            for &state in &before[state as usize] {
                goes_on[state as usize] = true;
                if !std::mem::replace(&mut live[state as usize], true) {
                    open.push(state);
                }
            }
        }
        for target in next.iter_mut().chain(&mut starts) {
            if *target != DEAD && !live[*target as usize] {
                *target = DEAD;
            }
        }
        let classes = (0..=u8::MAX).map(|byte| dfa.byte_classes().get(byte)).collect();
        Ok(StopPatterns { classes, class_count, next, stops, goes_on, starts })
    }

    fn number(&mut self, state: StateID) -> StopState {
        *self.ids.entry(state).or_insert_with(|| {
            self.states.push(state);
            self.states.len() as StopState - 1
        })
    }

    /// The first stop that ends in a state.
    fn stop(&self, state: StateID) -> Option<u32> {
        let end = self.dfa.next_eoi_state(state);
        if !self.dfa.is_match_state(end) {
            return None;
        }
        let stops = 0..self.dfa.match_len(end);
        stops.map(|index| self.dfa.match_pattern(end, index).as_u32()).min()
    }
}

/// A stop that ends where the text was read to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StopMatch {
    /// Where it begins.
    pub(crate) start: usize,
    /// Its index: stop strings first.
    pub(crate) stop: usize,
}

/// The searches that may become a match.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopSearches {
    patterns: Arc<StopPatterns>,
    /// Each with its beginning, oldest first; no two in one state.
    live: Vec<(usize, StopState)>,
    after: Vec<(usize, StopState)>,
    /// The byte that was read last.
    before: Option<u8>,
}

impl StopSearches {
    /// Searches for these stops, before the first byte.
    pub(crate) fn new(patterns: Arc<StopPatterns>) -> Self {
        Self { patterns, ..Self::default() }
    }

    /// Reads the byte at an offset. The match that ends with it, if one does: the longest, and of
    /// those the first.
    pub(crate) fn read(&mut self, offset: usize, byte: u8) -> Option<StopMatch> {
        let patterns = &*self.patterns;
        if patterns.is_empty() {
            return None;
        }
        let start = match self.before.replace(byte) {
            None => 0,
            Some(b'\n') => 1,
            Some(_) => 2,
        };
        self.after.clear();
        let mut found: Option<StopMatch> = None;
        for &(start, state) in self.live.iter().chain([&(offset, patterns.starts[start])]) {
            let next = if state == DEAD { DEAD } else { patterns.step(state, byte) };
            if next == DEAD {
                continue;
            }
            if let (None, Some(stop)) = (found, patterns.stops[next as usize]) {
                found = Some(StopMatch { start, stop: stop as usize });
            }
            if patterns.goes_on[next as usize] && self.after.iter().all(|&(_, known)| known != next)
            {
                self.after.push((start, next));
            }
        }
        std::mem::swap(&mut self.live, &mut self.after);
        found
    }

    /// Where the oldest search began.
    pub(crate) fn oldest(&self) -> Option<usize> {
        self.live.first().map(|&(start, _)| start)
    }

    /// Drops all searches: no match reaches across.
    pub(crate) fn clear(&mut self) {
        self.live.clear();
    }
}
