//! Few tokens from a configuration to the end of the text.
//!
//! An item is completed by the rest of its terminal, then by shortest texts down its stack
//! ([`LeastDerivations`]), in the fewest tokens that spell them ([`TokenCosts`]). That is a *bound*
//! on the least number of tokens: another text of more bytes might take fewer.
//!
//! The bound is consistent: from a configuration with the bound `n`, some allowed token leads to one with
//! a bound of at most `n - 1`. To keep this, the path behind a reported bound is remembered as a
//! [promise](Promise), for each configuration on the path as the text comes to it.

use std::sync::Arc;

use super::bounds::{TokensToFinish, no_bound, within_limits};
use super::cache::{CompletionCache, Promise, ScopedItem};
use super::least_derivation::LeastDerivations;
use super::plan_memo::{CaptureAssumption, CompletionTail};
use super::token_cost::TokenCosts;
use crate::deadline;
use crate::error::{Error, ErrorKind, LimitName, Result};
use crate::recognizer::{
    ACCEPT, BOTTOM, ConfigId, Item, NO_TEXT, Point, PointId, RETURN, Recognizer, StackFrame,
    StackId, TextId,
};
use crate::regular::Language;
use crate::vocabulary::Vocabulary;

/// Paths down an ambiguous stack that are compared.
const MAX_STACK_PATHS: usize = 16;

/// Trie nodes up to which a completion within token budgets may be searched for: each step of the
/// search walks the whole trie.
const MAX_SEARCHED_TRIE_NODES: usize = 1_000;

/// Bytes of forced text that are followed to its end to say that a bound is exact.
const MAX_FORCED_BYTES: usize = 1 << 12;

/// Few tokens from an item to the end.
pub(super) struct TokenPath {
    pub(super) tokens: Vec<u32>,
    /// Whether captured texts on it are assumed to be followed by what may follow any.
    is_approximate: bool,
}

/// Whether a search tries blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blanks {
    Skipped,
    Tried,
}

/// Plans completions in tokens; borrows a constraint's memory for a while.
pub(crate) struct CompletionPlanner<'a> {
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) recognizer: &'a mut Recognizer,
    pub(super) cache: &'a mut CompletionCache,
}

impl<'a> CompletionPlanner<'a> {
    pub(crate) fn new(
        vocabulary: &'a Vocabulary,
        recognizer: &'a mut Recognizer,
        cache: &'a mut CompletionCache,
    ) -> Self {
        Self { vocabulary, recognizer, cache }
    }

    /// The shortest texts in bytes.
    pub(super) fn derivations(&mut self) -> LeastDerivations<'_> {
        LeastDerivations::new(self.recognizer, &mut self.cache.plans)
    }

    /// Plans completions that could fit into `tokens` tokens. Of longer ones only lower bounds on their
    /// length are computed, by arithmetic: they cost nothing.
    pub(super) fn plan_within(&mut self, tokens: u32) {
        if self.cache.plans.plan_within(tokens, self.vocabulary.longest_token()) {
            // What was too long may not be any more.
            self.cache.forget();
        }
    }

    /// A bound on the tokens that complete a configuration.
    ///
    /// Errors if none was found, or if the shortest text has more than 1 MiB.
    pub(crate) fn tokens_to_finish(&mut self, id: ConfigId) -> Result<TokensToFinish> {
        self.plan_within(u32::MAX);
        match self.tokens_left(id)? {
            Some(tokens) => self.with_exactness(id, tokens),
            None => match self.bytes_left(id)? {
                Some(bytes) if bytes > self.cache.plans.max_spelled_bytes() => {
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

    /// The bound with whether it is exact.
    fn with_exactness(&mut self, id: ConfigId, tokens: u32) -> Result<TokensToFinish> {
        // At least one is needed where the text is not complete.
        let exact = tokens <= 1
            || !self.recognizer.program.has_budgets()
                && (!self.recognizer.spells_every_byte() || self.is_forced(id)?);
        Ok(TokensToFinish { tokens, exact })
    }

    /// Errors if `tokens` tokens cannot complete a configuration. Where no completion is
    /// found within the limits of the search, nothing is refused.
    pub(crate) fn check_budget(&mut self, id: ConfigId, tokens: u32) -> Result<()> {
        self.plan_within(tokens);
        let found = within_limits(self.tokens_left(id))?;
        let needed = match found {
            Some(needed) if needed <= tokens => return Ok(()),
            Some(needed) => {
                if !self.with_exactness(id, needed)?.exact {
                    let message = format!(
                        "no text of the constraint was found within {tokens} tokens: {needed} are enough"
                    );
                    return Err(too_few_tokens(message));
                }
                format!("{needed} are needed")
            }
            None => match within_limits(self.bytes_left(id))? {
                Some(bytes) if bytes > self.cache.plans.max_spelled_bytes() => {
                    let needed = bytes.div_ceil(self.vocabulary.longest_token() as u64);
                    if needed > tokens.into() {
                        format!("at least {needed} are needed")
                    } else {
                        let message = format!(
                            "no text of the constraint was found within {tokens} tokens: the shortest has {bytes} bytes or more"
                        );
                        return Err(too_few_tokens(message));
                    }
                }
                _ => return Ok(()),
            },
        };
        let message =
            format!("the constraint cannot be satisfied within {tokens} tokens: {needed}");
        Err(too_few_tokens(message))
    }

    /// Bytes from a configuration to the end of the text; above what is worth planning a lower
    /// bound.
    pub(super) fn bytes_left(&mut self, id: ConfigId) -> Result<Option<u64>> {
        let mut least: Option<u64> = None;
        for i in 0..self.recognizer.items(id).len() {
            let item = self.recognizer.items(id)[i];
            let bytes = self.derivations().item_bytes(item)?;
            least = least.into_iter().chain(bytes).min();
        }
        Ok(least)
    }

    /// Whether only one text completes a configuration, as far as its first [`MAX_FORCED_BYTES`] bytes
    /// tell.
    fn is_forced(&mut self, mut id: ConfigId) -> Result<bool> {
        for _ in 0..MAX_FORCED_BYTES {
            let special = |item: &Item| {
                matches!(self.recognizer.program.point(item.point), Point::Special { .. })
            };
            if self.recognizer.items(id).iter().any(special) {
                return Ok(false);
            }
            let bytes = self.recognizer.next_bytes(id)?;
            let byte = match (self.recognizer.is_accepting(id), bytes.len(), bytes.iter().next()) {
                (true, 0, _) => return Ok(true),
                (false, 1, Some(byte)) => byte,
                _ => return Ok(false),
            };
            match self.recognizer.read(id, &[byte])? {
                Ok(next) => id = next,
                Err(_) => return Ok(false),
            }
        }
        Ok(false)
    }

    /// A bound on the tokens that complete a configuration; `None` if no completion was found.
    pub(super) fn tokens_left(&mut self, id: ConfigId) -> Result<Option<u32>> {
        if self.recognizer.is_accepting(id) {
            return Ok(Some(0));
        }
        let promised = self.cache.promises.get(&id).map(Promise::left);
        if let Some(&known) = self.cache.bounds.configurations.get(&id) {
            return Ok(known.into_iter().chain(promised).min());
        }
        let mut least: Option<u32> = None;
        if self.recognizer.spells_every_byte() {
            for i in 0..self.recognizer.items(id).len() {
                let scoped = (self.recognizer.scope_text(id), self.recognizer.items(id)[i]);
                let tokens = self.item_tokens(scoped)?;
                least = least.into_iter().chain(tokens).min();
            }
        } else {
            least = self.search_by_tokens(id)?;
        }
        if least.is_none() && self.is_searchable_within_budgets() {
            least = self.search_by_tokens(id)?;
        }
        self.cache.bounds.configurations.insert(id, least);
        Ok(least.into_iter().chain(promised).min())
    }

    /// Whether a way within budgets of tokens may be searched for: in small vocabularies.
    fn is_searchable_within_budgets(&self) -> bool {
        self.recognizer.program.has_budgets()
            && self.vocabulary.trie().nodes().len() <= MAX_SEARCHED_TRIE_NODES
    }

    /// Remembers the promised path of a configuration, and its rest for the configuration after its
    /// first token. Returns that token and the number of tokens of the path.
    pub(super) fn promise(&mut self, id: ConfigId) -> Result<Option<(u32, u32)>> {
        let mut best: Option<(u32, ScopedItem)> = None;
        for i in 0..self.recognizer.items(id).len() {
            let scoped = (self.recognizer.scope_text(id), self.recognizer.items(id)[i]);
            if let Some(left) = self.item_tokens(scoped)?
                && best.is_none_or(|(least, _)| left < least)
            {
                best = Some((left, scoped));
            }
        }
        let promised = self.cache.promises.get(&id).cloned();
        let promise = match (promised, best) {
            (Some(promise), best) if best.is_none_or(|(least, _)| promise.left() <= least) => {
                promise
            }
            (_, Some((_, scoped))) => {
                let (tokens, _) = self.item_path(scoped)?.unwrap_or_default();
                self.cache.promise_bytes += size_of_val(&*tokens);
                let promise = Promise { tokens: tokens.into(), from: 0 };
                self.cache.promises.insert(id, promise.clone());
                promise
            }
            (_, None) => return Ok(None),
        };
        let Some(&token) = promise.tokens.get(promise.from) else { return Ok(None) };
        let left = promise.left();
        // What follows is promised once its turn comes.
        if let Ok(next) = self.recognizer.read_token(self.vocabulary, id, token)? {
            let rest = Promise { from: promise.from + 1, ..promise };
            match self.cache.promises.get(&next) {
                Some(known) if known.left() <= rest.left() => {}
                _ => drop(self.cache.promises.insert(next, rest)),
            }
        }
        Ok(Some((token, left)))
    }

    /// A bound on the tokens from an item to the end of the text.
    pub(super) fn item_tokens(&mut self, scoped: ScopedItem) -> Result<Option<u32>> {
        if let Some(&known) = self.cache.bounds.items.get(&scoped) {
            return Ok(known);
        }
        let path = within_limits(self.item_path(scoped))?;
        let tokens = path.map(|(tokens, excess)| {
            if excess > 0 {
                self.cache.bounds.excess_tokens.insert(scoped, excess);
            }
            tokens.len() as u32
        });
        self.cache.bounds.items.insert(scoped, tokens);
        Ok(tokens)
    }

    /// A short path, in tokens, from an item to the end of the text. Three plans are tried in turn: one
    /// in which captured texts restrict nothing, one with the captured texts that it spells itself, and
    /// a search (needed for items that are arrays or objects). Returns the path and how many tokens
    /// longer it is than the first plan.
    fn item_path(&mut self, (text, item): ScopedItem) -> Result<Option<(Vec<u32>, u32)>> {
        let path = self.shortest_path(item)?;
        let Some(TokenPath { tokens, is_approximate }) = path else { return Ok(None) };
        let counts_tokens = self.recognizer.program.has_budgets();
        if !counts_tokens && (!is_approximate || !self.recognizer.program.has_captures()) {
            return Ok(Some((tokens, 0)));
        }
        let from = self.configuration_of_item(text, item)?;
        if self.completes(from, &tokens)? {
            return Ok(Some((tokens, 0)));
        }
        if counts_tokens {
            // The shortest path may use a token that spans a budget's end and is charged to it;
            // single-byte tokens never do.
            let bytes = self.single_bytes(&tokens);
            let is_way = self.completes(from, &bytes)?;
            return Ok(is_way.then_some((bytes, 0)));
        }
        let least = tokens.len();
        let with_excess = |tokens: Vec<u32>| {
            let excess = tokens.len().saturating_sub(least) as u32;
            (tokens, excess)
        };
        self.cache.plans.assume(CaptureAssumption::Spelled);
        let path = within_limits(self.shortest_path(item));
        self.cache.plans.assume(CaptureAssumption::Any);
        if let Some(TokenPath { tokens, is_approximate }) = path?
            && (!is_approximate || self.completes(from, &tokens)?)
        {
            return Ok(Some(with_excess(tokens)));
        }
        // Blanks make a path longer and seldom help, but each of them would be looked at.
        let found = match self.search_by_bytes(from, Blanks::Skipped)? {
            Some(tokens) => Some(tokens),
            None => self.search_by_bytes(from, Blanks::Tried)?,
        };
        Ok(found.map(with_excess))
    }

    /// The number of tokens by which a completion of the configuration exceeds a plan in which captured
    /// texts restrict nothing.
    ///
    /// Reading a token does not increase it: of `n` planned texts that differ from all captured ones, a
    /// newly captured text equals at most one, so `n - 1` still differ from all. If `b` and `c` are
    /// planned and the token completes the item `b`, the plan goes on with `c`.
    pub(super) fn excess_tokens(&mut self, id: ConfigId) -> Result<u32> {
        let mut most = 0;
        for i in 0..self.recognizer.items(id).len() {
            let scoped = (self.recognizer.scope_text(id), self.recognizer.items(id)[i]);
            self.item_tokens(scoped)?;
            most = most.max(self.cache.bounds.excess_tokens.get(&scoped).copied().unwrap_or(0));
        }
        Ok(most)
    }

    /// Tokens of one byte each in the place of longer ones.
    fn single_bytes(&self, tokens: &[u32]) -> Vec<u32> {
        let trie = self.vocabulary.trie();
        let of_byte = |&byte: &u8| trie.root_child(byte).and_then(|node| trie.tokens(node).first());
        let mut bytes = Vec::new();
        for &token in tokens {
            match self.vocabulary.token_bytes(token) {
                Some(text) => bytes.extend(text.iter().filter_map(of_byte)),
                None => bytes.push(token),
            }
        }
        bytes
    }

    /// Whether some tokens complete the text of a configuration.
    fn completes(&mut self, from: ConfigId, tokens: &[u32]) -> Result<bool> {
        let mut at = from;
        for &token in tokens {
            match self.recognizer.read_token(self.vocabulary, at, token)? {
                Ok(next) => at = next,
                Err(_) => return Ok(false),
            }
        }
        Ok(self.recognizer.is_accepting(at))
    }

    /// The configuration of one item alone, with what follows it where its terminal may end.
    fn configuration_of_item(&mut self, text: TextId, item: Item) -> Result<ConfigId> {
        let recognizer = &mut *self.recognizer;
        let mut items = Vec::new();
        if text != NO_TEXT {
            items.push(Item::scope_text(text));
        }
        recognizer.resume_scope_text(&mut items);
        let point = recognizer.program.point(item.point);
        let is_terminal = matches!(point, Point::Regular { .. } | Point::Capture { .. });
        let has_ended = is_terminal && item.state == Language::EPSILON;
        let next = match point {
            Point::Regular { next, .. } if recognizer.languages.is_nullable(item.state) => {
                Some(next)
            }
            Point::Capture { tag, .. } if recognizer.languages.is_nullable(item.state) => {
                let text = recognizer.text(item.text);
                recognizer.after_capture(tag, Some(&text))?
            }
            _ => None,
        };
        if let Some(next) = next {
            recognizer.close_from(next, item.stack, &mut items)?;
        }
        if !has_ended {
            items.push(item);
        }
        recognizer.merge(&mut items)?;
        recognizer.keep_scope_text(&mut items);
        Ok(recognizer.intern(&items))
    }

    /// The fewest tokens that spell one of the short texts from an item to the end.
    pub(super) fn shortest_path(&mut self, item: Item) -> Result<Option<TokenPath>> {
        if matches!(item.point, ACCEPT | RETURN) {
            let here = TokenPath { tokens: Vec::new(), is_approximate: false };
            return Ok((item.point == ACCEPT).then_some(here));
        }
        let planned = self.cache.plans.max_spelled_bytes();
        if self.derivations().item_bytes(item)?.is_none_or(|bytes| bytes > planned) {
            return Ok(None);
        }
        let Some(rest) = self.derivations().item_rest(item)? else { return Ok(None) };
        let tails = self.tails(rest.next, item.stack)?;
        let mut best: Option<TokenPath> = None;
        for CompletionTail { costs, is_approximate } in &*tails {
            let whole = TokenCosts::before(self.vocabulary, &rest.text, costs);
            if best.as_ref().is_none_or(|best| whole.count() < best.tokens.len() as u32) {
                let is_approximate = *is_approximate || rest.is_approximate;
                let tokens = whole.tokens(self.vocabulary);
                best = tokens.map(|tokens| TokenPath { tokens, is_approximate }).or(best);
            }
        }
        Ok(best)
    }

    /// Short texts from a point down a stack to the end, one for each path down.
    fn tails(&mut self, next: PointId, stack: StackId) -> Result<Arc<[CompletionTail]>> {
        if let Some(known) = self.cache.plans.current.tails.get(&(next, stack)) {
            return Ok(Arc::clone(known));
        }
        let mut start = Vec::new();
        self.derivations().write(next, &mut start)?;
        let mut tails = Vec::new();
        let begins_approximate = self.cache.plans.current.is_approximate(next);
        for path in self.stack_paths(stack)? {
            let (mut text, mut is_approximate) = (start.clone(), begins_approximate);
            for frame in path {
                self.derivations().write_frame(frame, &mut text)?;
                is_approximate |= self.derivations().is_frame_approximate(frame);
            }
            if text.len() as u64 <= self.cache.plans.max_spelled_bytes() {
                let costs = TokenCosts::before(self.vocabulary, &text, &TokenCosts::end());
                tails.push(CompletionTail { costs, is_approximate });
            }
        }
        let tails: Arc<[CompletionTail]> = tails.into();
        let bytes = tails.iter().map(|tail| tail.costs.text.len() * 8 + 64);
        self.cache.list_bytes += bytes.sum::<usize>();
        self.cache.plans.current.tails.insert((next, stack), Arc::clone(&tails));
        Ok(tails)
    }

    /// Chains of frames from a stack down to the bottom, the shortest first.
    fn stack_paths(&mut self, stack: StackId) -> Result<Vec<Vec<StackFrame>>> {
        let mut done = Vec::new();
        let mut open = vec![(Vec::new(), stack)];
        while let Some((path, at)) = open.pop() {
            deadline::check()?;
            if at == BOTTOM {
                done.push(path);
                continue;
            }
            let mut frames = Vec::new();
            for i in 0..self.recognizer.stacks.frames(at).len() {
                let frame = self.recognizer.stacks.frames(at)[i];
                if let Some(bytes) = self.derivations().frame_bytes(frame)?
                    && let Some(below) = self.derivations().stack_bytes(frame.below)?
                {
                    frames.push((bytes.saturating_add(below), frame));
                }
            }
            frames.sort_unstable();
            let spare = MAX_STACK_PATHS.saturating_sub(done.len() + open.len()).max(1);
            // The shortest is popped first.
            for &(_, frame) in frames.iter().take(spare).rev() {
                let mut path: Vec<StackFrame> = path.clone();
                path.push(frame);
                open.push((path, frame.below));
            }
        }
        Ok(done)
    }
}

fn too_few_tokens(message: String) -> Error {
    Error::new(ErrorKind::Request, message)
        .with_help("raise `max_tokens`, shorten the prompt, or switch `budget` off")
        .with_limit(LimitName::MaxTokens)
}
