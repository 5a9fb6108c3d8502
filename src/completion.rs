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

pub(crate) mod budget_mask;
pub(crate) mod least_derivation;
pub(crate) mod token_cost;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::deadline;
use crate::error::LimitName;
use crate::error::{Error, ErrorKind, Result};
use crate::recognizer::gss::{BOTTOM, Frame, StackId};
use crate::recognizer::program::{ACCEPT, Point, PointId, Program, RETURN};
use crate::recognizer::stepping::{ConfigId, Item, Machine, NO_TEXT, TextId};
use crate::regular::{Language, MAX_WITNESS_BYTES};
use crate::vocabulary::Vocabulary;
use least_derivation::{Open, Rest, Way};
use token_cost::Spelled;

/// How few tokens complete a text; the end token is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokensToFinish {
    /// So many are enough.
    pub tokens: u32,
    /// Are fewer not?
    pub exact: bool,
}

/// Ways down an ambiguous stack that are compared.
const WAYS_DOWN: usize = 16;

/// Configurations that a search for a completion expands.
const SEARCH: usize = 500;

/// Bytes that are always worth planning, however small the budget.
const LEAST_PLANNED: u64 = 1 << 12;

/// Forced text of more bytes is not followed to its end to say that a bound is exact.
const FORCED: usize = 1 << 12;

/// The assumption of a plan on captured texts (keys without a name, items that must differ).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Captured {
    /// Any text: what follows is what may follow some text, so that one plan serves for all texts
    /// that were captured before, and may not come true.
    #[default]
    Any,
    /// The short text that the plan spells, so that what follows is what really follows. Costs a
    /// rule for each captured text.
    Spelled,
}

/// The shortest texts under one assumption on captured texts.
#[derive(Clone, Debug, Default)]
struct Plan {
    ways: FxHashMap<PointId, Way>,
    /// Points from which more bytes are needed than are worth planning: lower bounds.
    long: FxHashMap<PointId, u64>,
    /// What is beyond the limits of its source.
    refused: FxHashSet<Open>,
    /// Bytes from a stack to the end of the text.
    stacks: FxHashMap<StackId, Option<u64>>,
    /// Texts from a point down a stack to the end.
    tails: FxHashMap<(PointId, StackId), Arc<[Tail]>>,
}

/// Memo tables of completions: shortest texts, their tokens, and what was promised.
#[derive(Clone, Debug, Default)]
pub(crate) struct Finishing {
    /// Completions of more bytes are not planned; see [`Machine::plan_within`].
    most: u64,
    /// The assumption of `plan`.
    assumes: Captured,
    plan: Plan,
    /// The plan of the other assumption.
    other: Plan,
    /// Tokens from an item to the end.
    items: FxHashMap<Alone, Option<u32>>,
    /// The tokens by which that exceeds a plan in which captured texts forbid nothing, if it does.
    extra: FxHashMap<Alone, u32>,
    /// The same as if captured texts forbade nothing.
    walked: FxHashMap<Item, Option<u32>>,
    configs: FxHashMap<ConfigId, Option<u32>>,
    /// The way to the end that was promised of a configuration.
    promised: FxHashMap<ConfigId, Promise>,
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
    pub(crate) fn bytes(&self) -> usize {
        let known = self.items.len() + self.walked.len() + self.configs.len() + self.promised.len();
        let planned = |plan: &Plan| plan.ways.len() + plan.long.len() + plan.stacks.len();
        self.bytes + 48 * (known + planned(&self.plan) + planned(&self.other))
    }

    /// Starts again with nothing remembered but what was promised.
    pub(crate) fn forget(&mut self) {
        let (promised, most) = (std::mem::take(&mut self.promised), self.most);
        *self = Self { promised, most, ..Self::default() };
    }
}

/// A way to the end of which it was said how long it is: some tokens from one of them on.
#[derive(Clone, Debug)]
struct Promise {
    tokens: Arc<[u32]>,
    from: usize,
}

impl Promise {
    /// The number of tokens left on the way.
    fn left(&self) -> u32 {
        (self.tokens.len() - self.from) as u32
    }
}

/// A text from a point down a stack to the end.
#[derive(Clone, Debug)]
struct Tail {
    spelled: Spelled,
    /// Whether captured texts in it are taken to lead where any text does.
    is_approximate: bool,
}

/// Few tokens from an item to the end.
struct ShortestWay {
    tokens: Vec<u32>,
    /// Whether captured texts on it are taken to lead where any text does.
    is_approximate: bool,
}

/// Tokens by the state that they lead to.
type Inside = Arc<[(Language, Box<[u32]>)]>;

/// One item of a configuration, and what its open scopes have read.
type Alone = (TextId, Item);

fn too_few(needed: u32, left: u32) -> Error {
    let message = format!("{left} tokens are left, and {needed} are needed to complete the text");
    Error::new(ErrorKind::Limit, message)
        .with_help(format!("{needed} is enough: allow more tokens, or ask for less"))
        .with_limit(LimitName::MaxTokens)
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
    /// From now on, completions are planned that could fit into so many tokens, and of longer ones
    /// only lower bounds on their length are computed, by arithmetic: what cannot fit costs nothing.
    /// Completions of more than [`MAX_WITNESS_BYTES`] bytes are never planned.
    fn plan_within(&mut self, vocabulary: &Vocabulary, tokens: u32) {
        let bytes = u64::from(tokens).saturating_mul(vocabulary.longest_token() as u64);
        let most = bytes.clamp(LEAST_PLANNED, MAX_WITNESS_BYTES).next_power_of_two();
        if most > self.finishing.most {
            // What was too long may not be any more.
            self.finishing.forget();
            self.finishing.most = most;
        }
    }

    /// The most bytes that a completion may have to be planned.
    fn planned(&self) -> u64 {
        self.finishing.most.min(MAX_WITNESS_BYTES)
    }

    /// Lets lengths be told whatever they are, for who spells nothing.
    pub(crate) fn plan_lengths(&mut self) {
        self.finishing.most = u64::MAX;
    }

    /// How few tokens complete a configuration.
    ///
    /// Errors if none were found, or if the shortest text has more than [`MAX_WITNESS_BYTES`] bytes.
    pub(crate) fn tokens_to_finish(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
    ) -> Result<TokensToFinish> {
        self.plan_within(vocabulary, u32::MAX);
        match self.tokens_left(program, vocabulary, id)? {
            Some(tokens) => self.told(program, id, tokens),
            None => match self.bytes_left(program, id)? {
                Some(bytes) if bytes > self.planned() => {
                    let message = format!(
                        "the shortest text that completes this one has {bytes} bytes or more, \
                         which no budget is kept for"
                    );
                    let help = "lower the counts and lengths that the constraint asks for";
                    Err(Error::new(ErrorKind::Limit, message).with_help(help))
                }
                _ => Err(no_bound()),
            },
        }
    }

    fn told(&mut self, program: &Program, id: ConfigId, tokens: u32) -> Result<TokensToFinish> {
        // At least one is needed where the text is not complete.
        let exact = tokens <= 1 || self.liveness.is_some() || self.is_forced(program, id)?;
        Ok(TokensToFinish { tokens, exact })
    }

    /// Errors if so many tokens are not enough to complete a configuration. Where no completion is
    /// found within the limits of the search, nothing is refused.
    pub(crate) fn check_budget(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
        tokens: u32,
    ) -> Result<()> {
        self.plan_within(vocabulary, tokens);
        let found = within_limits(self.tokens_left(program, vocabulary, id))?;
        let needed = match found {
            Some(needed) if needed <= tokens => return Ok(()),
            Some(needed) => {
                let told = self.told(program, id, needed)?;
                format!("{needed} {}", if told.exact { "are needed" } else { "are enough" })
            }
            None => match within_limits(self.bytes_left(program, id))? {
                Some(bytes) if bytes > self.planned() => {
                    let needed = bytes.div_ceil(vocabulary.longest_token() as u64);
                    match needed > tokens.into() {
                        true => format!("at least {needed} are needed"),
                        false => format!("its shortest text has {bytes} bytes or more"),
                    }
                }
                _ => return Ok(()),
            },
        };
        let message =
            format!("the constraint cannot be satisfied within {tokens} tokens: {needed}");
        Err(Error::new(ErrorKind::Request, message)
            .with_help("raise `max_tokens`, shorten the prompt, or switch `budget` off"))
    }

    /// Bytes from a configuration to the end of the text; above what is worth planning a lower
    /// bound.
    fn bytes_left(&mut self, program: &Program, id: ConfigId) -> Result<Option<u64>> {
        let mut least: Option<u64> = None;
        for i in 0..self.items(id).len() {
            let item = self.items(id)[i];
            let bytes = self.item_bytes(program, item)?;
            least = least.into_iter().chain(bytes).min();
        }
        Ok(least)
    }

    /// Whether one text only completes it, as far as its first [`FORCED`] bytes tell.
    fn is_forced(&mut self, program: &Program, mut id: ConfigId) -> Result<bool> {
        for _ in 0..FORCED {
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
        Ok(false)
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
        let promised = self.finishing.promised.get(&id).map(Promise::left);
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

    /// Remembers what is promised of a configuration, and of the one after it on the way. The first
    /// token of the way.
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
        let promised = self.finishing.promised.get(&id).cloned();
        let promise = match (promised, best) {
            (Some(promise), best) if best.is_none_or(|(least, _)| promise.left() <= least) => {
                promise
            }
            (_, Some((_, alone))) => {
                let (tokens, _) = self.way(program, vocabulary, alone)?.unwrap_or_default();
                self.finishing.bytes += size_of_val(&*tokens);
                let promise = Promise { tokens: tokens.into(), from: 0 };
                self.finishing.promised.insert(id, promise.clone());
                promise
            }
            (_, None) => return Ok(None),
        };
        let Some(&token) = promise.tokens.get(promise.from) else { return Ok(None) };
        // What follows is promised once its turn comes.
        if let Ok(next) = self.read_token(program, vocabulary, id, token)? {
            let rest = Promise { from: promise.from + 1, ..promise };
            match self.finishing.promised.get(&next) {
                Some(known) if known.left() <= rest.left() => {}
                _ => drop(self.finishing.promised.insert(next, rest)),
            }
        }
        Ok(Some(token))
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
        let tokens = way.map(|(tokens, extra)| {
            if extra > 0 {
                self.finishing.extra.insert(alone, extra);
            }
            tokens.len() as u32
        });
        self.finishing.items.insert(alone, tokens);
        Ok(tokens)
    }

    /// Few tokens from an item to the end of the text. What follows captured texts is first taken
    /// to be what follows any; where that is wrong, what follows those that are written; and where
    /// that is wrong, too (items that are arrays or objects), a way is searched for. Beside it, how
    /// many tokens more it has than the first.
    fn way(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        (text, item): Alone,
    ) -> Result<Option<(Vec<u32>, u32)>> {
        let way = self.shortest_way(program, vocabulary, item)?;
        let Some(ShortestWay { tokens, is_approximate }) = way else { return Ok(None) };
        if !is_approximate || !program.has_captures() {
            return Ok(Some((tokens, 0)));
        }
        let from = self.alone(program, text, item)?;
        if self.completes(program, vocabulary, from, &tokens)? {
            return Ok(Some((tokens, 0)));
        }
        let least = tokens.len();
        let with_extra = |tokens: Vec<u32>| {
            let extra = tokens.len().saturating_sub(least) as u32;
            (tokens, extra)
        };
        self.assume(Captured::Spelled);
        let way = within_limits(self.shortest_way(program, vocabulary, item));
        self.assume(Captured::Any);
        if let Some(ShortestWay { tokens, is_approximate }) = way?
            && (!is_approximate || self.completes(program, vocabulary, from, &tokens)?)
        {
            return Ok(Some(with_extra(tokens)));
        }
        // Blanks make a way longer and seldom help, but each of them would be looked at.
        let found = match self.search_by_bytes(program, vocabulary, from, false)? {
            Some(tokens) => Some(tokens),
            None => self.search_by_bytes(program, vocabulary, from, true)?,
        };
        Ok(found.map(with_extra))
    }

    /// The tokens by which completing a configuration exceeds a plan in which captured texts forbid
    /// nothing. After any token it is no more: of `n` texts that differ from those that are
    /// written, and are planned here, `n - 1` differ from one more.
    fn extra_tokens(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
    ) -> Result<u32> {
        let mut most = 0;
        for i in 0..self.items(id).len() {
            let alone = (self.scope_text(id), self.items(id)[i]);
            self.item_tokens(program, vocabulary, alone)?;
            most = most.max(self.finishing.extra.get(&alone).copied().unwrap_or(0));
        }
        Ok(most)
    }

    /// Plans with another assumption on captured texts.
    fn assume(&mut self, captured: Captured) {
        if self.finishing.assumes != captured {
            self.finishing.assumes = captured;
            std::mem::swap(&mut self.finishing.plan, &mut self.finishing.other);
        }
    }

    /// Whether some tokens complete the text of a configuration.
    fn completes(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        from: ConfigId,
        tokens: &[u32],
    ) -> Result<bool> {
        let mut at = from;
        for &token in tokens {
            match self.read_token(program, vocabulary, at, token)? {
                Ok(next) => at = next,
                Err(_) => return Ok(false),
            }
        }
        Ok(self.is_accepting(at))
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
    ) -> Result<Option<ShortestWay>> {
        if matches!(item.point, ACCEPT | RETURN) {
            let here = ShortestWay { tokens: Vec::new(), is_approximate: false };
            return Ok((item.point == ACCEPT).then_some(here));
        }
        let planned = self.planned();
        if self.item_bytes(program, item)?.is_none_or(|bytes| bytes > planned) {
            return Ok(None);
        }
        let Some(rest) = self.item_rest(program, item)? else { return Ok(None) };
        let tails = self.tails(program, vocabulary, rest.next, item.stack)?;
        let mut best: Option<ShortestWay> = None;
        for Tail { spelled, is_approximate } in &*tails {
            let whole = Spelled::before(vocabulary, &rest.text, spelled);
            if best.as_ref().is_none_or(|best| whole.count() < best.tokens.len() as u32) {
                let is_approximate = *is_approximate || rest.is_approximate;
                let way = whole.tokens(vocabulary);
                best = way.map(|tokens| ShortestWay { tokens, is_approximate }).or(best);
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
    ) -> Result<Arc<[Tail]>> {
        if let Some(known) = self.finishing.plan.tails.get(&(next, stack)) {
            return Ok(Arc::clone(known));
        }
        let mut start = Vec::new();
        self.write(program, next, &mut start)?;
        let mut tails = Vec::new();
        let begins_approximate =
            self.finishing.plan.ways.get(&next).is_none_or(|way| way.is_approximate);
        for way in self.ways_down(program, stack)? {
            let (mut text, mut is_approximate) = (start.clone(), begins_approximate);
            for frame in way {
                self.write_frame(program, frame, &mut text)?;
                is_approximate |= self.is_frame_approximate(program, frame);
            }
            if text.len() as u64 <= self.planned() {
                let spelled = Spelled::before(vocabulary, &text, &Spelled::end());
                tails.push(Tail { spelled, is_approximate });
            }
        }
        let tails: Arc<[Tail]> = tails.into();
        let bytes = tails.iter().map(|tail| tail.spelled.text.len() * 8 + 64);
        self.finishing.bytes += bytes.sum::<usize>();
        self.finishing.plan.tails.insert((next, stack), Arc::clone(&tails));
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
                let Some(least) = self.bytes_left(program, next)? else { continue };
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
            if let Some(Rest { mut text, next, .. }) = self.item_rest(program, self.items(id)[i])? {
                let planned = self.planned();
                let bytes = self.point_bytes(program, next)?;
                if text.is_empty() && bytes.is_some_and(|bytes| bytes <= planned) {
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
        let planned = self.planned();
        if self.bytes_left(program, from)?.is_some_and(|bytes| bytes > planned) {
            return Ok(None);
        }
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
