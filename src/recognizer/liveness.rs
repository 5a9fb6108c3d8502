//! Liveness of items: whether tokens of the vocabulary can complete the text.
//!
//! Where every byte is a token by itself and no budget counts tokens, every configuration can be
//! completed: terminals are never in an empty state, and no point is unproductive. Bytes that stand in
//! no token at all are taken out of the terminals when a constraint is compiled. There remain bytes that
//! stand only *inside longer tokens*, and [budgets](super::rule_budgets).
//!
//! An item is *completable* if some text from it to the end can be tokenised terminal by terminal within all
//! rule budgets. The tokens of a terminal are those of a short witness: cut into the fewest tokens where every
//! byte is a token, into single-byte tokens elsewhere. The least number from a point to the end of its rule is
//! a least fixed point (Knuth 1977), in which a part with a budget counts only if its own least number is
//! within the budget. Of a stack only its *room* matters: the most tokens that may be spent above it. A frame
//! takes its own tokens from the room below it; the frame of a rule budget has at most the tokens that the
//! budget has left.
//!
//! The condition is sufficient, not necessary: a configuration without a completable item may still be live.
//! Then a search over whole tokens decides ([`Recognizer::is_live`](super::stepper::Recognizer::is_live)).
//!
//! `completion/least_derivation.rs` solves the same equations over points in bytes, and spells the text; here
//! they count tokens, and only the number matters. A new kind of [`Point`] needs a case in both.
//!
//! Example: the tokens are `a`, `b` and `xy`. In `("xy" | "a") "b"` the point of `"xy"` is not
//! completable, but the token `xy` leads from it to `"b"`, which is: so it is live. Where all bytes are tokens
//! and `aa` is one, too, `aaa` within 2 tokens is completable, and `"aa" "a"` within 1 token is not, whatever
//! longer tokens there are.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::budget_counter::{UNBOUNDED_BUDGET, tokens_left};
use super::byte_coverage::ByteCoverage;
use super::gss::{ReturnStacks, StackFrame};
use super::item::{ACCEPT, BOTTOM, ConfigId, Item, KeyChoiceId, PointId, StackId};
use super::point::Point;
use super::program::{KeySuffix, Program};
use crate::deadline;
use crate::error::Result;
use crate::regular::witness::short;
use crate::regular::{Language, Languages, SpanMemo, span, witness_length};
use crate::vocabulary::Vocabulary;

/// Memo tables of liveness.
#[derive(Debug)]
pub(super) struct Liveness {
    /// The strings of single-byte tokens; absent if every byte that tokens hold is one.
    byte_strings: Option<Language>,
    /// By language, where every byte is a token: the tokens that complete it.
    witness_tokens: FxHashMap<Language, u64>,
    /// By point: the fewest tokens, cut as for completable items, to the end of its rule; [`NEVER`] if none
    /// spell it.
    points: FxHashMap<PointId, u64>,
    /// By stack: the most tokens that may be spent above it; `None` if it cannot be completed.
    rooms: FxHashMap<StackId, Option<u64>>,
    /// By stack: the tokens that close its unbounded budgets.
    closing_tokens: FxHashMap<StackId, Option<u64>>,
    /// By key choice: the most tokens of a key and what follows it.
    longest_keys: FxHashMap<KeyChoiceId, u64>,
    spans: SpanMemo,
    /// By configuration: whether tokens complete it, as searches have found.
    pub(super) configurations: FxHashMap<ConfigId, bool>,
}

/// No number of tokens is enough.
const NEVER: u64 = u64::MAX;

/// Without a budget, any number of tokens may be spent.
const ANY_NUMBER: u64 = u64::MAX;

impl Liveness {
    /// `None` where everything is live: every byte that tokens hold is a token by itself, and nothing
    /// counts tokens.
    pub(super) fn new(
        languages: &mut Languages,
        coverage: &ByteCoverage,
        program: &Program,
    ) -> Option<Self> {
        let has_every_byte = coverage.single == coverage.any;
        if has_every_byte && !program.has_budgets() {
            return None;
        }
        let byte_strings = (!has_every_byte).then(|| {
            let one = languages.byte_set(coverage.single);
            languages.repeat(one, 0, None)
        });
        Some(Self {
            byte_strings,
            witness_tokens: FxHashMap::default(),
            points: FxHashMap::default(),
            rooms: FxHashMap::default(),
            closing_tokens: FxHashMap::default(),
            longest_keys: FxHashMap::default(),
            spans: SpanMemo::default(),
            configurations: FxHashMap::default(),
        })
    }

    /// Whether every byte that tokens hold is a token by itself.
    pub(super) fn has_every_byte(&self) -> bool {
        self.byte_strings.is_none()
    }
}

/// Points that one search for the fewest tokens of a point visits, breadth first. Rules of a schema are made
/// when they are visited, and there may be infinitely many. An alternative that leads beyond the visited
/// points counts as impossible.
const MAX_VISITED_POINTS: usize = 4_000;

/// Bytes of the longest witness that is cut into tokens; a longer one is counted as one token a byte.
const MAX_TOKENISED_WITNESS_BYTES: u64 = 4_096;

/// A way from a point to the end of its rule.
struct TokenAlternative {
    /// Tokens of its own.
    own: u64,
    /// The points that it goes through, each with a number of times.
    then: SmallVec<[(PointId, u32); 2]>,
    /// The most tokens that the first of them may take.
    budget: u32,
}

impl TokenAlternative {
    fn new(own: u64, then: &[(PointId, u32)]) -> Self {
        Self { own, then: SmallVec::from_slice(then), budget: UNBOUNDED_BUDGET }
    }
}

/// Decides which items are completable; tokens are counted terminal by terminal.
pub(super) struct LivenessCheck<'a> {
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) program: &'a Program,
    pub(super) languages: &'a mut Languages,
    pub(super) stacks: &'a ReturnStacks,
    pub(super) memo: &'a mut Liveness,
}

impl LivenessCheck<'_> {
    /// The fewest tokens from a point to the end of its rule: a least fixed point over the points that it
    /// leads to.
    fn point_tokens(&mut self, point: PointId) -> Result<u64> {
        if let Some(&tokens) = self.memo.points.get(&point) {
            return Ok(tokens);
        }
        let mut reached = vec![point];
        let mut ids = FxHashMap::from_iter([(point, 0)]);
        let mut before: Vec<SmallVec<[usize; 4]>> = vec![SmallVec::new()];
        let mut all: Vec<Vec<TokenAlternative>> = Vec::new();
        while let Some(&at) = reached.get(all.len()) {
            deadline::check()?;
            let alternatives = self.alternatives(at)?;
            for &(next, _) in alternatives.iter().flat_map(|one| &one.then) {
                if self.memo.points.contains_key(&next) {
                    continue;
                }
                let id = *ids.entry(next).or_insert_with(|| {
                    reached.push(next);
                    before.push(SmallVec::new());
                    reached.len() - 1
                });
                before[id].push(all.len());
            }
            all.push(alternatives);
            if reached.len() > MAX_VISITED_POINTS {
                break;
            }
        }
        // Points that were not visited count as if they spelled nothing.
        all.resize_with(reached.len(), Vec::new);
        let mut tokens = vec![NEVER; reached.len()];
        let mut todo: Vec<usize> = (0..reached.len()).collect();
        while let Some(at) = todo.pop() {
            let of = |point: PointId| match ids.get(&point) {
                Some(&id) => tokens[id],
                None => self.memo.points.get(&point).copied().unwrap_or(NEVER),
            };
            let cost = |one: &TokenAlternative| {
                let mut sum = one.own;
                for (i, &(next, times)) in one.then.iter().enumerate() {
                    let all = of(next).saturating_mul(times.into());
                    if i == 0 && one.budget < UNBOUNDED_BUDGET && all > one.budget.into() {
                        return NEVER;
                    }
                    sum = sum.saturating_add(all);
                }
                sum
            };
            let least = all[at].iter().map(cost).min().unwrap_or(NEVER);
            if least < tokens[at] {
                tokens[at] = least;
                todo.extend_from_slice(&before[at]);
            }
        }
        let found = tokens[0];
        let is_whole = reached.len() <= MAX_VISITED_POINTS;
        let of_points = reached.into_iter().zip(tokens);
        self.memo
            .points
            .extend(of_points.filter(|&(at, of)| is_whole || of < NEVER || at == point));
        Ok(found)
    }

    /// As many tokens as spell a short string of a language; [`NEVER`] if none do.
    fn language_tokens(&mut self, language: Language) -> Result<u64> {
        let Some(byte_strings) = self.memo.byte_strings else {
            return self.witness_token_count(language);
        };
        let both = self.languages.intersect([language, byte_strings]);
        if !self.languages.is_live(both)? {
            return Ok(NEVER);
        }
        let most = UNBOUNDED_BUDGET.into();
        Ok(witness_length::short_length(self.languages, both, most)?.unwrap_or(NEVER))
    }

    /// The fewest tokens that the short witness of a language is cut into, where every byte is a token; its
    /// number of bytes where it is long. After some tokens of the cut no more are needed than it has left, so
    /// an item that is completable stays so.
    fn witness_token_count(&mut self, language: Language) -> Result<u64> {
        if let Some(&known) = self.memo.witness_tokens.get(&language) {
            return Ok(known);
        }
        let most = UNBOUNDED_BUDGET.into();
        let length = witness_length::short_length(self.languages, language, most)?;
        let Some(length) = length else { return Ok(NEVER) };
        if length > MAX_TOKENISED_WITNESS_BYTES {
            return Ok(length);
        }
        let Some(text) = short(self.languages, language)? else { return Ok(NEVER) };
        let fewest = self.vocabulary.trie().fewest_tokens(&text);
        let mut state = language;
        for (at, &byte) in text.iter().enumerate() {
            // `fewest[at]` is `u32::MAX` where no tokens spell the tail. No terminal holds a byte that is not
            // a token here, so one token a byte is always enough.
            let tokens = u64::from(fewest[at]).min((text.len() - at) as u64);
            let known = self.memo.witness_tokens.entry(state).or_insert(tokens);
            *known = tokens.min(*known);
            state = self.languages.step(state, byte)?;
        }
        self.memo.witness_tokens.insert(state, 0);
        Ok(self.memo.witness_tokens[&language])
    }

    fn alternatives(&mut self, point: PointId) -> Result<Vec<TokenAlternative>> {
        let program = self.program;
        let one = |next: PointId| TokenAlternative::new(0, &[(next, 1)]);
        Ok(match program.point(point) {
            Point::Sentinel => vec![TokenAlternative::new(0, &[])],
            Point::Regular { language, next } => {
                vec![TokenAlternative::new(self.language_tokens(language)?, &[(next, 1)])]
            }
            Point::Special { next, .. } => vec![TokenAlternative::new(1, &[(next, 1)])],
            Point::Call { rule, next } => {
                let mut ways = Vec::new();
                if self.memo.has_every_byte()
                    && let Some(text) = program.completion(rule, self.languages)?
                {
                    ways.push(TokenAlternative::new(text.len() as u64, &[(next, 1)]));
                }
                if program.entry(rule).is_none() {
                    program.expand(rule, self.languages)?;
                }
                let entry = program.entry(rule);
                ways.extend(entry.map(|entry| TokenAlternative::new(0, &[(entry, 1), (next, 1)])));
                ways
            }
            Point::Fork(branches) => program.branches(branches).into_iter().map(one).collect(),
            Point::Repeat { min: 0, next, .. } => vec![one(next)],
            Point::Repeat { body, min, next, .. } => {
                vec![TokenAlternative::new(0, &[(body, min), (next, 1)])]
            }
            Point::Budget { body, max, next } => {
                vec![TokenAlternative {
                    budget: max,
                    ..TokenAlternative::new(0, &[(body, 1), (next, 1)])
                }]
            }
            Point::KeyChoice(choice) => {
                let mut alternatives = Vec::new();
                for (rank, name) in program.allowed_keys(choice) {
                    let name = self.languages.literal(&name);
                    let own = self.language_tokens(name)?;
                    if own < NEVER {
                        let next = program.after_key(choice, rank, self.languages)?;
                        alternatives.push(TokenAlternative::new(own, &[(next, 1)]));
                    }
                }
                alternatives
            }
            Point::Capture { language, tag } => {
                let own = self.language_tokens(language)?;
                let next = program.after_capture(tag, None, self.languages)?;
                next.map(|next| TokenAlternative::new(own, &[(next, 1)])).into_iter().collect()
            }
            Point::Scope { body, tag } => {
                let next = program.after_capture(tag, None, self.languages)?;
                next.map(|next| TokenAlternative::new(0, &[(body, 1), (next, 1)]))
                    .into_iter()
                    .collect()
            }
        })
    }

    /// Whether one of the items is completable, or complete.
    pub(super) fn has_completable(&mut self, items: &[Item]) -> Result<bool> {
        for &item in items {
            if item.point == ACCEPT {
                return Ok(true);
            }
            let Some(room) = self.room(item.stack)? else { continue };
            if self.item_tokens(item)?.is_some_and(|tokens| tokens <= room) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The fewest tokens from an item to the end of its rule; `None` if none spell it.
    fn item_tokens(&mut self, item: Item) -> Result<Option<u64>> {
        let program = self.program;
        let (here, next) = match program.point(item.point) {
            Point::Regular { next, .. } => (self.language_tokens(item.state)?, next),
            Point::Capture { tag, .. } => {
                match program.after_capture(tag, None, self.languages)? {
                    Some(next) => (self.language_tokens(item.state)?, next),
                    None => return Ok(None),
                }
            }
            Point::Special { next, .. } => (1, next),
            Point::KeyChoice(_) if item.is_at_key_root() => (0, item.point),
            Point::KeyChoice(choice) => {
                let mut least = NEVER;
                let keys = program.shortest_keys(choice, item.key_node());
                for KeySuffix { rank, bytes: rest, .. } in keys {
                    let rest = self.languages.literal(&rest);
                    let here = self.language_tokens(rest)?;
                    let next = program.after_key(choice, rank, self.languages)?;
                    least = least.min(here.saturating_add(self.point_tokens(next)?));
                }
                return Ok((least < NEVER).then_some(least));
            }
            _ => return Ok(None),
        };
        let tokens = here.saturating_add(self.point_tokens(next)?);
        Ok((tokens < NEVER).then_some(tokens))
    }

    /// The most tokens that close all unbounded budgets after any token that ends inside the
    /// terminal of an item; `None` if that is not known, or if another budget might not suffice.
    pub(super) fn closing_tokens(&mut self, item: Item) -> Result<Option<u64>> {
        let program = self.program;
        let rest = match program.point(item.point) {
            Point::Regular { next, .. } => {
                let longest = span::span_bound(self.languages, item.state, &mut self.memo.spans)?;
                longest.unwrap_or(NEVER).saturating_add(self.point_tokens(next)?)
            }
            Point::Capture { tag, .. } => {
                let Some(next) = program.after_capture(tag, None, self.languages)? else {
                    return Ok(None);
                };
                let longest = span::span_bound(self.languages, item.state, &mut self.memo.spans)?;
                longest.unwrap_or(NEVER).saturating_add(self.point_tokens(next)?)
            }
            Point::KeyChoice(choice) => self.longest_key(choice)?,
            Point::Special { next, .. } => self.point_tokens(next)?,
            _ if item.point == ACCEPT || item.is_scope_text() => return Ok(Some(0)),
            _ => return Ok(None),
        };
        // The token itself is counted, too.
        let Some(room) = self.room(item.stack)? else { return Ok(None) };
        if rest == NEVER || rest >= room && room != ANY_NUMBER {
            return Ok(None);
        }
        let closing = self.closing_of_stack(item.stack)?;
        Ok(closing.map_or(Some(0), |closing| rest.checked_add(closing)))
    }

    /// The most tokens of a key and the shortest text that follows it.
    fn longest_key(&mut self, choice: KeyChoiceId) -> Result<u64> {
        if let Some(&known) = self.memo.longest_keys.get(&choice) {
            return Ok(known);
        }
        let mut most = 0;
        for (rank, name) in self.program.allowed_keys(choice) {
            let next = self.program.after_key(choice, rank, self.languages)?;
            most = most.max(self.point_tokens(next)?.saturating_add(name.len() as u64));
        }
        self.memo.longest_keys.insert(choice, most);
        Ok(most)
    }

    /// The tokens that close all unbounded budgets of a stack, the most of any of its paths;
    /// `None` without one.
    fn closing_of_stack(&mut self, stack: StackId) -> Result<Option<u64>> {
        let stacks = self.stacks;
        self.memo.closing_tokens.insert(BOTTOM, None);
        for at in unknown_stacks(stacks, stack, |at| self.memo.closing_tokens.contains_key(&at)) {
            let mut most: Option<u64> = None;
            for &frame in stacks.frames(at) {
                let tokens = self.frame_tokens(frame)?;
                let closing = match self.memo.closing_tokens[&frame.below] {
                    _ if tokens == NEVER => continue,
                    Some(below) => Some(below.saturating_add(tokens)),
                    // Nothing has to be closed after the last unbounded budget.
                    None => (tokens_left(frame.count) == Some(UNBOUNDED_BUDGET)).then_some(0),
                };
                most = most.max(closing);
            }
            self.memo.closing_tokens.insert(at, most);
        }
        Ok(self.memo.closing_tokens[&stack])
    }

    /// The fewest tokens from a frame's return to the end of the rule that it returns to.
    fn frame_tokens(&mut self, frame: StackFrame) -> Result<u64> {
        let program = self.program;
        // Returning to a scope or a budget goes on after it, and so does a repeat that has run often
        // enough; one that has not runs the rest.
        let returns = program.count_after(frame.point, frame.count);
        Ok(match program.point(frame.point) {
            Point::Scope { tag, .. } if returns > 0 => {
                match program.after_capture(tag, None, self.languages)? {
                    Some(next) => self.point_tokens(next)?,
                    None => NEVER,
                }
            }
            Point::Budget { next, .. } if returns > 0 => self.point_tokens(next)?,
            Point::Repeat { body, min, next, .. } if returns > 0 => {
                let turns = u64::from(min.saturating_sub(returns));
                let body = if turns > 0 { self.point_tokens(body)? } else { 0 };
                body.saturating_mul(turns).saturating_add(self.point_tokens(next)?)
            }
            _ => self.point_tokens(frame.point)?,
        })
    }

    /// The most tokens that may be spent above a stack; `None` if it cannot be completed.
    fn room(&mut self, stack: StackId) -> Result<Option<u64>> {
        let stacks = self.stacks;
        self.memo.rooms.insert(BOTTOM, Some(ANY_NUMBER));
        for at in unknown_stacks(stacks, stack, |at| self.memo.rooms.contains_key(&at)) {
            let mut most: Option<u64> = None;
            for frame in stacks.frames(at) {
                let Some(below) = self.memo.rooms[&frame.below] else { continue };
                let tokens = self.frame_tokens(*frame)?;
                let room = match below {
                    _ if tokens == NEVER => continue,
                    ANY_NUMBER => ANY_NUMBER,
                    below => match below.checked_sub(tokens) {
                        Some(room) => room,
                        None => continue,
                    },
                };
                let left = match tokens_left(frame.count) {
                    None | Some(UNBOUNDED_BUDGET) => ANY_NUMBER,
                    Some(left) => left.into(),
                };
                most = most.max(Some(room.min(left)));
            }
            self.memo.rooms.insert(at, most);
        }
        Ok(self.memo.rooms[&stack])
    }
}

/// The stacks that a stack is made of, itself included, as far as they are not known; those that lie
/// below others come first.
fn unknown_stacks(
    stacks: &ReturnStacks,
    stack: StackId,
    is_known: impl Fn(StackId) -> bool,
) -> BTreeSet<StackId> {
    // What lies below has smaller ids: ascending order needs no recursion.
    let mut needed = BTreeSet::new();
    let mut todo = vec![stack];
    while let Some(at) = todo.pop() {
        if !is_known(at) && needed.insert(at) {
            todo.extend(stacks.frames(at).iter().map(|frame| frame.below));
        }
    }
    needed
}
