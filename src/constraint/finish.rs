//! How few tokens complete a text, and masks that keep it completable within a number of them.
//!
//! For each point the shortest text to the end of its rule is a least derivation (Knuth, "A
//! generalization of Dijkstra's algorithm", 1977), found over the rules that are made already; where
//! it leads through a rule that is not, that rule is taken to be one byte long until it is made. So
//! only rules that could be part of a shortest text are ever made. What completes a configuration
//! is the rest of a terminal, then such texts down the stack, in as few tokens as spell them. That
//! is a *bound* on the least number of tokens: another text of more bytes might take fewer.
//!
//! The bound is consistent: whatever it says of a configuration, some allowed token leads to one of
//! which it says less. For where a configuration was promised to be completed, the promise is
//! remembered all along the way.

mod derive;
mod spelled;
mod within;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::machine::{ConfigId, Item, Machine, NO_TEXT, TextId};
use super::program::{ACCEPT, Point, PointId, Program, RETURN};
use super::stacks::{BOTTOM, Frame, StackId};
use crate::deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::regex::Language;
use crate::vocab::Vocabulary;
use derive::{Open, Way};
use spelled::Spelled;

/// How few tokens complete a text; the end token is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokensToFinish {
    /// So many are enough.
    pub tokens: u32,
    /// Are fewer not?
    pub exact: bool,
}

/// Longer completions, in bytes, are not written out.
const LONGEST: u32 = 1 << 20;

/// Ways down an ambiguous stack that are compared.
const WAYS_DOWN: usize = 16;

/// Configurations that a search for a completion expands.
const SEARCH: usize = 500;

/// What a machine knows of how texts end.
#[derive(Clone, Debug, Default)]
pub(super) struct Finishing {
    ways: FxHashMap<PointId, Way>,
    /// What is beyond the limits of its source.
    refused: FxHashSet<Open>,
    /// Bytes from a stack to the end of the text.
    stacks: FxHashMap<StackId, Option<u32>>,
    /// Texts from a point down a stack to the end.
    tails: FxHashMap<(PointId, StackId), Arc<[Spelled]>>,
    /// Tokens from an item to the end.
    items: FxHashMap<Alone, Option<u32>>,
    /// The same, with room for what captured texts forbid.
    walked: FxHashMap<Item, Option<u32>>,
    configs: FxHashMap<ConfigId, Option<u32>>,
    /// What was promised of a configuration, and the token with which it comes true.
    promised: FxHashMap<ConfigId, (u32, u32)>,
    /// What follows each token of a mask that stands in no base.
    sparse: FxHashMap<ConfigId, Arc<[(u32, u32)]>>,
    /// A bound on what may be left after any token.
    farthest: FxHashMap<ConfigId, u32>,
    /// Tokens that stay in a terminal, by where they lead; the newest last.
    inside: Vec<(Language, Inside)>,
    bytes: usize,
}

impl Finishing {
    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        let known = self.items.len() + self.walked.len() + self.configs.len() + self.promised.len();
        self.bytes + 48 * (known + self.ways.len() + self.stacks.len())
    }

    /// Starts again with nothing remembered but what was promised.
    pub(super) fn forget(&mut self) {
        *self = Self { promised: std::mem::take(&mut self.promised), ..Self::default() };
    }
}

/// Tokens by the state that they lead to.
type Inside = Arc<[(Language, Box<[u32]>)]>;

/// One item of a configuration, and what its open scopes have read.
type Alone = (TextId, Item);

pub(super) fn too_few(needed: u32, left: u32) -> Error {
    let message = format!("{left} tokens are left, and {needed} are needed to complete the text");
    Error::new(ErrorKind::Limit, message)
        .with_help(format!("{needed} is enough: allow more tokens, or ask for less"))
}

/// What is too complex to be looked through is no way to the end.
fn within_limits<T>(found: Result<Option<T>>) -> Result<Option<T>> {
    match found {
        Err(error) if error.kind() == ErrorKind::Limit && !deadline::is_over() => Ok(None),
        found => found,
    }
}

fn no_bound() -> Error {
    let message = "no way to complete the text was found within the search's limits";
    Error::new(ErrorKind::Limit, message).with_help("go on without a budget of tokens")
}

impl Machine {
    /// How few tokens complete a configuration.
    pub(super) fn tokens_to_finish(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
    ) -> Result<TokensToFinish> {
        let tokens = self.tokens_left(program, vocabulary, id)?.ok_or_else(no_bound)?;
        // At least one is needed where the text is not complete.
        let exact = tokens <= 1 || self.liveness.is_some() || self.is_forced(program, id)?;
        Ok(TokensToFinish { tokens, exact })
    }

    /// Is there one text only that completes it?
    fn is_forced(&mut self, program: &Program, mut id: ConfigId) -> Result<bool> {
        loop {
            let special = |item: &Item| matches!(program.point(item.point), Point::Special { .. });
            if self.items(id).iter().any(special) {
                return Ok(false);
            }
            let bytes = self.next_bytes(program, id)?;
            let byte = match (self.is_accepting(id), bytes.len(), bytes.iter().next()) {
                (true, 0, _) => return Ok(true),
                (false, 1, Some(byte)) => byte,
                _ => return Ok(false),
            };
            match self.read(program, id, &[byte])? {
                Ok(next) => id = next,
                Err(_) => return Ok(false),
            }
        }
    }

    /// The same as a number; `None` if no completion was found.
    fn tokens_left(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
    ) -> Result<Option<u32>> {
        if self.is_accepting(id) {
            return Ok(Some(0));
        }
        let promised = self.finishing.promised.get(&id).map(|&(left, _)| left);
        if let Some(&known) = self.finishing.configs.get(&id) {
            return Ok(known.into_iter().chain(promised).min());
        }
        let least = match self.liveness.is_some() {
            true => self.search_by_tokens(program, vocabulary, id)?,
            false => {
                let mut least: Option<u32> = None;
                for i in 0..self.items(id).len() {
                    let alone = (self.scope_text(id), self.items(id)[i]);
                    let tokens = self.item_tokens(program, vocabulary, alone)?;
                    least = least.into_iter().chain(tokens).min();
                }
                least
            }
        };
        self.finishing.configs.insert(id, least);
        Ok(least.into_iter().chain(promised).min())
    }

    /// What the open scopes of a configuration have read.
    fn scope_text(&self, id: ConfigId) -> TextId {
        match self.items(id).first() {
            Some(first) if first.point == RETURN => first.text,
            _ => NO_TEXT,
        }
    }

    /// Remembers along the way what is promised of a configuration. The first token of the way.
    fn promise(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
    ) -> Result<Option<u32>> {
        let mut best: Option<(u32, Alone)> = None;
        for i in 0..self.items(id).len() {
            let alone = (self.scope_text(id), self.items(id)[i]);
            if let Some(left) = self.item_tokens(program, vocabulary, alone)?
                && best.is_none_or(|(least, _)| left < least)
            {
                best = Some((left, alone));
            }
        }
        let promised = self.finishing.promised.get(&id).copied();
        let (least, alone) = match (promised, best) {
            (Some((left, token)), best) if best.is_none_or(|(least, _)| left <= least) => {
                return Ok(Some(token));
            }
            (_, Some(best)) => best,
            (_, None) => return Ok(None),
        };
        debug_assert!(promised.is_none_or(|(left, _)| least < left));
        let tokens = self.way(program, vocabulary, alone)?.unwrap_or_default();
        let mut at = id;
        for (&token, left) in tokens.iter().zip((0..tokens.len() as u32).rev()) {
            let Ok(next) = self.read_token(program, vocabulary, at, token)? else { break };
            let promised = self.finishing.promised.entry(at).or_insert((left + 1, token));
            if promised.0 > left {
                *promised = (left + 1, token);
            }
            at = next;
        }
        Ok(tokens.first().copied())
    }

    /// Tokens from an item to the end of the text.
    fn item_tokens(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        alone: Alone,
    ) -> Result<Option<u32>> {
        if let Some(&known) = self.finishing.items.get(&alone) {
            return Ok(known);
        }
        let way = within_limits(self.way(program, vocabulary, alone))?;
        let tokens = way.map(|tokens| tokens.len() as u32);
        self.finishing.items.insert(alone, tokens);
        Ok(tokens)
    }

    /// Few tokens from an item to the end of the text. What follows captured texts is first taken
    /// to be what follows any; where that is wrong, a way is searched for.
    fn way(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        (text, item): Alone,
    ) -> Result<Option<Vec<u32>>> {
        let tokens = self.shortest_way(program, vocabulary, item)?;
        if !program.has_captures() {
            return Ok(tokens);
        }
        let Some(tokens) = tokens else { return Ok(None) };
        let from = self.alone(program, text, item)?;
        let mut at = Some(from);
        for &token in &tokens {
            let Some(here) = at else { break };
            at = self.read_token(program, vocabulary, here, token)?.ok();
        }
        match at.is_some_and(|at| self.is_accepting(at)) {
            true => Ok(Some(tokens)),
            // Blanks make a way longer and seldom help, but each of them would be looked at.
            false => match self.search_by_bytes(program, vocabulary, from, false)? {
                Some(tokens) => Ok(Some(tokens)),
                None => self.search_by_bytes(program, vocabulary, from, true),
            },
        }
    }

    /// The configuration of one item, and of what follows it where its terminal may end.
    fn alone(&mut self, program: &Program, text: TextId, item: Item) -> Result<ConfigId> {
        let mut items = Vec::new();
        if text != NO_TEXT {
            items.push(Item { text, ..Item::border(RETURN, BOTTOM) });
        }
        self.resume_text(&mut items);
        let terminal =
            matches!(program.point(item.point), Point::Regular { .. } | Point::Capture { .. });
        let ended = terminal && item.state == Language::EPSILON;
        let next = match program.point(item.point) {
            Point::Regular { next, .. } if self.languages.is_nullable(item.state) => Some(next),
            Point::Capture { tag, .. } if self.languages.is_nullable(item.state) => {
                let text = self.text(item.text);
                program.after_capture(tag, Some(&text), &mut self.languages)?
            }
            _ => None,
        };
        if let Some(next) = next {
            self.closure.starts.push(((next, 0), item.stack));
            self.close(program, &mut items)?;
        }
        if !ended {
            items.push(item);
        }
        self.merge(&mut items)?;
        self.keep_text(&mut items);
        Ok(self.intern(&items))
    }

    /// The fewest tokens that spell one of the short texts from an item to the end.
    fn shortest_way(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        item: Item,
    ) -> Result<Option<Vec<u32>>> {
        if matches!(item.point, ACCEPT | RETURN) {
            return Ok((item.point == ACCEPT).then(Vec::new));
        }
        let Some((rest, next)) = self.item_rest(program, item)? else { return Ok(None) };
        if self.point_bytes(program, next)?.is_none_or(|bytes| bytes > LONGEST) {
            return Ok(None);
        }
        let tails = self.tails(program, vocabulary, next, item.stack)?;
        let mut best: Option<Vec<u32>> = None;
        for tail in &*tails {
            let whole = Spelled::before(vocabulary, &rest, tail);
            if best.as_ref().is_none_or(|best| whole.count() < best.len() as u32) {
                best = whole.tokens(vocabulary).or(best);
            }
        }
        Ok(best)
    }

    /// Short texts from a point down a stack to the end, spelled; one for each way down.
    fn tails(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        next: PointId,
        stack: StackId,
    ) -> Result<Arc<[Spelled]>> {
        if let Some(known) = self.finishing.tails.get(&(next, stack)) {
            return Ok(Arc::clone(known));
        }
        let mut start = Vec::new();
        self.write(program, next, &mut start)?;
        let mut tails = Vec::new();
        for way in self.ways_down(program, stack)? {
            let mut text = start.clone();
            for frame in way {
                self.write_frame(program, frame, &mut text)?;
            }
            if text.len() as u32 <= LONGEST {
                tails.push(Spelled::before(vocabulary, &text, &Spelled::end()));
            }
        }
        let tails: Arc<[Spelled]> = tails.into();
        self.finishing.bytes += tails.iter().map(|tail| tail.text.len() * 8 + 64).sum::<usize>();
        self.finishing.tails.insert((next, stack), Arc::clone(&tails));
        Ok(tails)
    }

    /// Chains of frames from a stack down to the bottom, the shortest first.
    fn ways_down(&mut self, program: &Program, stack: StackId) -> Result<Vec<Vec<Frame>>> {
        let mut done = Vec::new();
        let mut open = vec![(Vec::new(), stack)];
        while let Some((way, at)) = open.pop() {
            deadline::check()?;
            if at == BOTTOM {
                done.push(way);
                continue;
            }
            let mut frames = Vec::new();
            for i in 0..self.stacks.frames(at).len() {
                let frame = self.stacks.frames(at)[i];
                if let Some(bytes) = self.frame_bytes(program, frame)?
                    && let Some(below) = self.stack_bytes(program, frame.below)?
                {
                    frames.push((bytes.saturating_add(below), frame));
                }
            }
            frames.sort_unstable();
            let spare = WAYS_DOWN.saturating_sub(done.len() + open.len()).max(1);
            // The shortest is popped first.
            for &(_, frame) in frames.iter().take(spare).rev() {
                let mut way = way.clone();
                way.push(frame);
                open.push((way, frame.below));
            }
        }
        Ok(done)
    }

    /// A short text to the end, byte by byte, where what captured texts forbid counts: always on
    /// from where the least seems to be left (greedy best-first search).
    fn search_by_bytes(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        from: ConfigId,
        blanks: bool,
    ) -> Result<Option<Vec<u32>>> {
        use std::cmp::Reverse;
        use std::collections::BinaryHeap;
        let mut before: FxHashMap<ConfigId, Option<(ConfigId, u8)>> = FxHashMap::default();
        before.insert(from, None);
        let mut open = BinaryHeap::from([Reverse((0, 0, from))]);
        let mut order = 0u32;
        let mut expanded = 0;
        while let Some(Reverse((_, _, at))) = open.pop() {
            deadline::check()?;
            if self.is_accepting(at) {
                let mut text = Vec::new();
                let mut at = at;
                while let Some(&Some((previous, byte))) = before.get(&at) {
                    text.push(byte.into());
                    at = previous;
                }
                text.reverse();
                return Ok(Spelled::before(vocabulary, &text, &Spelled::end()).tokens(vocabulary));
            }
            expanded += 1;
            if expanded > SEARCH {
                return Ok(None);
            }
            for byte in self.tried_bytes(program, at, blanks)? {
                let Ok(next) = self.read(program, at, &[byte])? else { continue };
                if before.contains_key(&next) {
                    continue;
                }
                let mut least: Option<u32> = None;
                for i in 0..self.items(next).len() {
                    let bytes = self.item_bytes(program, self.items(next)[i])?;
                    least = [least, bytes].into_iter().flatten().min();
                }
                let Some(least) = least else { continue };
                before.insert(next, Some((at, byte)));
                order += 1;
                // Of those that are equally near, the newest.
                open.push(Reverse((least, u32::MAX - order, next)));
            }
        }
        Ok(None)
    }

    /// Bytes that are worth trying from a configuration: those of its items' shortest texts, and a
    /// few of each range, with blanks or without. Each text that is captured on the way costs memory,
    /// and no constraint tells all bytes of a range apart.
    fn tried_bytes(&mut self, program: &Program, id: ConfigId, blanks: bool) -> Result<Vec<u8>> {
        const OF_EACH_RANGE: u8 = 3;
        let all = self.next_bytes(program, id)?;
        let mut tried = Vec::new();
        let mut place = 0;
        for byte in all.iter() {
            let continues = byte > 0 && all.contains(byte - 1);
            place = if continues { place + 1 } else { 0 };
            if place < OF_EACH_RANGE && (blanks || !byte.is_ascii_whitespace()) {
                tried.push(byte);
            }
        }
        for i in 0..self.items(id).len() {
            if let Some((rest, next)) = self.item_rest(program, self.items(id)[i])? {
                let mut text = rest;
                if text.is_empty() && self.point_bytes(program, next)?.is_some() {
                    self.write(program, next, &mut text)?;
                }
                let byte = text.first().and_then(|&symbol| u8::try_from(symbol).ok());
                tried.extend(byte.filter(|byte| !tried.contains(byte) && all.contains(*byte)));
            }
        }
        Ok(tried)
    }

    /// Exactly, where not every byte is a token by itself: breadth first over configurations.
    fn search_by_tokens(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        from: ConfigId,
    ) -> Result<Option<u32>> {
        const CONFIGURATIONS: usize = 20_000;
        let mut before = FxHashMap::from_iter([(from, from)]);
        let mut queue = vec![from];
        let mut next = 0;
        while let Some(&at) = queue.get(next) {
            next += 1;
            if self.is_accepting(at) {
                let (mut at, mut left) = (at, 0);
                while at != from {
                    self.finishing.configs.insert(at, Some(left));
                    (at, left) = (before[&at], left + 1);
                }
                self.finishing.configs.insert(from, Some(left));
                return Ok(Some(left));
            }
            for successor in self.successors(program, vocabulary, at)? {
                before.entry(successor).or_insert_with(|| {
                    queue.push(successor);
                    at
                });
            }
            if queue.len() > CONFIGURATIONS {
                break;
            }
        }
        Ok(None)
    }
}
