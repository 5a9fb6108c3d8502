//! Budget masks: the tokens after which a text can still be completed within a number of tokens.
//!
//! Most masks are far from the end: no token leaves more than the budget, and the mask is the ordinary
//! one. Near the end, the tokens of a mask are sorted by what they leave:
//!
//! - tokens that stand in no base are read one by one;
//! - tokens of a base stay inside a terminal and differ only in the state to which they lead, so they
//!   are sorted by that state;
//! - where the automaton has infinitely many states, the length of a token bounds the tokens needed
//!   after it.
//!
//! Invariant: if `n` tokens are said to be enough, the mask within `n` holds a token after which
//! `n - 1` are; the first token of the promised path is always in it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::bounds::{no_bound, too_few, within_limits};
use super::cache::TokensByState;
use super::planner::CompletionPlanner;
use crate::error::Result;
use crate::mask::{MaskBase, MaskBuilder, MaskCache, PackedMask};
use crate::recognizer::{ACCEPT, CaptureMode, ConfigId, Item, NO_TEXT, Point, TokenSpan};
use crate::regular::Language;
use crate::regular::automaton::CompletionGrowth;
use crate::regular::computed_parts;
use crate::regular::span;
use crate::regular::witness;

/// Tokens of states of terminals that are kept sorted, in all (16 MiB). A terminal whose length is
/// counted has a state for each length.
const MAX_SORTED_TOKENS: usize = 4 << 20;

/// In a grammar with captures, a mask with more listed tokens than this is not read token by token: each
/// captured text makes rules of its own.
const MAX_READ_TOKENS: usize = 16;

/// The longest token, in bytes, that is looked at more closely where its length alone does not tell
/// whether what it leaves fits.
const MAX_EXACT_SLACK_BYTES: usize = 2;

/// The tokens of a mask that stay inside the terminal in which they begin.
fn base_tokens(mask: &PackedMask) -> Vec<u32> {
    let mut tokens = Vec::new();
    for base in mask.bases().iter().filter(|base| base.is_at_token_start()) {
        base.append_tokens(&mut tokens);
    }
    tokens
}

/// Adds a margin of a quarter and four tokens (a heuristic): a text captured inside the token may make
/// the completion longer than planned.
fn with_capture_margin(tokens: u32) -> u32 {
    tokens.saturating_add(tokens / 4 + 4)
}

/// Writes budget masks; borrows a constraint's memory for a while.
pub(crate) struct BudgetMaskBuilder<'a> {
    planner: CompletionPlanner<'a>,
    masks: &'a mut MaskCache,
}

impl<'a> BudgetMaskBuilder<'a> {
    pub(crate) fn new(planner: CompletionPlanner<'a>, masks: &'a mut MaskCache) -> Self {
        Self { planner, masks }
    }

    fn masks(&mut self) -> MaskBuilder<'_> {
        MaskBuilder::new(self.planner.vocabulary, self.planner.recognizer, self.masks)
    }

    /// Writes the mask of the tokens after which `left` tokens, this one counted, are enough to
    /// complete the text.
    ///
    /// Errors if more are needed.
    pub(crate) fn write(&mut self, id: ConfigId, left: u32, row: &mut [u32]) -> Result<()> {
        self.planner.plan_within(left);
        let mask = self.masks().mask(id)?;
        if left > 0 && self.max_left(id, &mask)? < left {
            mask.write(row);
            return Ok(());
        }
        let Some(needed) = self.planner.tokens_left(id)? else {
            self.planner.check_budget(id, left)?;
            return Err(no_bound());
        };
        if needed > left {
            return Err(too_few(needed, left));
        }
        row.fill(0);
        let mut allow = |token: u32| row[token as usize / 32] |= 1 << (token % 32);
        // The promised path, whatever else is found. Where not all bytes are tokens, a shorter one may have been
        // searched for, which is found again below.
        let promised = self.planner.promise(id)?;
        if let Some((token, _)) = promised.filter(|(_, length)| *length <= left) {
            allow(token);
        }
        if self.planner.recognizer.is_accepting(id) {
            let ends = self.planner.vocabulary.end_tokens();
            mask.tokens().filter(|token| ends.contains(token)).for_each(&mut allow);
        }
        if left == 0 {
            return Ok(());
        }
        for &(token, rest) in &*self.listed(id, &mask)? {
            if rest < left {
                allow(token);
            }
        }
        if self.tokens_left_after_complements(id)?.is_some_and(|rest| rest < left) {
            mask.bases().iter().filter_map(MaskBase::complement).for_each(|tokens| {
                tokens.iter().for_each(&mut allow);
            });
        }
        for i in 0..self.planner.recognizer.items(id).len() {
            let item = self.planner.recognizer.items(id)[i];
            let point = self.planner.recognizer.program.point(item.point);
            if !matches!(point, Point::Regular { .. } | Point::Capture { .. })
                || !self.masks().has_base(item)?
            {
                continue;
            }
            // Captured texts decide what may follow, so each token would have to be read. This near the
            // end it is enough to allow some of them.
            let is_capture = matches!(point, Point::Capture { .. });
            if is_capture || self.planner.recognizer.stacks.has_scope(item.stack) {
                continue;
            }
            if self.planner.recognizer.items(id).len() == 1
                && computed_parts::starts_with_infinite_state_automaton(
                    &self.planner.recognizer.languages,
                    item.state,
                )
            {
                if self.planner.recognizer.program.has_budgets() {
                    self.allow_each((id, left), &mask, &mut allow)?;
                } else {
                    self.allow_by_growth((item, left), &mask, &mut allow)?;
                }
                continue;
            }
            let Some(stack) = self.planner.recognizer.stack_after_token(item.stack)? else {
                continue;
            };
            for (state, tokens) in &*self.tokens_by_state(item.state)? {
                let after = Item { state: *state, stack, ..item };
                let rest = self.planner.item_tokens((NO_TEXT, after))?;
                if rest.is_some_and(|rest| rest < left) {
                    tokens.iter().for_each(|&token| allow(token));
                }
            }
        }
        if let Some((token, _)) = promised.filter(|_| row.iter().all(|&word| word == 0)) {
            row[token as usize / 32] |= 1 << (token % 32);
        }
        Ok(())
    }

    /// Allows the tokens of a mask that stay inside a terminal and leave little enough, each read by itself.
    fn allow_each(
        &mut self,
        (id, left): (ConfigId, u32),
        mask: &PackedMask,
        allow: &mut impl FnMut(u32),
    ) -> Result<()> {
        for token in base_tokens(mask) {
            if self.rest_after(id, token)? < left {
                allow(token);
            }
        }
        Ok(())
    }

    /// Allows the tokens of a mask that stay inside a terminal with infinitely many states and leave little
    /// enough, judged by their length: the states to which they lead are too many to visit.
    fn allow_by_growth(
        &mut self,
        (item, left): (Item, u32),
        mask: &PackedMask,
        allow: &mut impl FnMut(u32),
    ) -> Result<()> {
        let after = Item { state: Language::EPSILON, ..item };
        let after = within_limits(self.planner.shortest_path(after))?;
        let Some(after) = after.map(|after| after.tokens.len()) else { return Ok(()) };
        let tokens = base_tokens(mask);
        // The states that are met are so many that none is kept.
        let mark = self.planner.recognizer.languages.mark();
        let allowed = self.allow_growth_of(item.state, &tokens, left as usize, after, allow);
        self.planner.recognizer.languages.release(mark);
        allowed
    }

    /// Allows those of `tokens`, read from the state `from`, after which the rest of the terminal and the
    /// `after` tokens that follow the terminal fit into `left`.
    fn allow_growth_of(
        &mut self,
        from: Language,
        tokens: &[u32],
        left: usize,
        after: usize,
        allow: &mut impl FnMut(u32),
    ) -> Result<()> {
        let mut growths: FxHashMap<Language, Option<CompletionGrowth>> = FxHashMap::default();
        for &token in tokens {
            let Some(text) = self.planner.vocabulary.token_bytes(token) else { continue };
            let unescaped_from =
                text.iter().rposition(|&byte| byte == b'\\').map_or(0, |at| at + 1);
            let (mut state, mut most) = (from, None);
            for read in 0..=text.len() {
                if read >= unescaped_from {
                    let languages = &self.planner.recognizer.languages;
                    let growth = growths
                        .entry(state)
                        .or_insert_with(|| computed_parts::completion_growth(languages, state));
                    most = growth.map(|growth| growth.base + growth.per_byte * (text.len() - read));
                }
                if most.is_some() || read == text.len() {
                    break;
                }
                state = self.planner.recognizer.languages.step(state, text[read])?;
            }
            let fits = |bytes: usize| bytes + after < left;
            let fits = match most {
                Some(most) if fits(most) => true,
                Some(_) if text.len() > MAX_EXACT_SLACK_BYTES && unescaped_from == 0 => false,
                _ => {
                    let end = text.iter().try_fold(from, |state, &byte| {
                        self.planner.recognizer.languages.step(state, byte)
                    })?;
                    witness::short(&mut self.planner.recognizer.languages, end)?
                        .is_some_and(|rest| fits(rest.len()))
                }
            };
            if fits {
                allow(token);
            }
        }
        Ok(())
    }

    /// Writes the mask of [`write`](Self::write) if it was computed before and the budget is far from its
    /// end. Returns whether it did.
    pub(crate) fn write_known(&self, id: ConfigId, left: u32, row: &mut [u32]) -> bool {
        let most = self.planner.cache.budget.max_left.get(&id);
        let is_far = left > 0 && most.is_some_and(|&most| most < left);
        let Some(mask) = is_far.then(|| self.masks.known(id)).flatten() else { return false };
        mask.write(row);
        true
    }

    /// A bound on the tokens left after any allowed token.
    fn max_left(&mut self, id: ConfigId, mask: &PackedMask) -> Result<u32> {
        if let Some(&known) = self.planner.cache.budget.max_left.get(&id) {
            return Ok(known);
        }
        let listed = self.listed(id, mask)?;
        let mut most = listed.iter().map(|&(_, rest)| rest).max().unwrap_or(0);
        if mask.bases().iter().any(MaskBase::is_at_token_start) {
            for i in 0..self.planner.recognizer.items(id).len() {
                let item = self.planner.recognizer.items(id)[i];
                let (Point::Regular { .. } | Point::Capture { .. }) =
                    self.planner.recognizer.program.point(item.point)
                else {
                    continue;
                };
                let languages = &mut self.planner.recognizer.languages;
                let spans = &mut self.planner.cache.budget.spans;
                let rest = span::span_bound(languages, item.state, spans)?;
                let after = Item { state: Language::EPSILON, ..item };
                let after = if self.planner.recognizer.program.has_budgets() {
                    // A budget may ask for more tokens than the fewest, but for no more than bytes.
                    within_limits(self.planner.derivations().item_bytes(after))?
                } else {
                    let path = within_limits(self.planner.shortest_path(after))?;
                    path.map(|path| path.tokens.len() as u64)
                };
                most = match (rest, after) {
                    (Some(rest), Some(after)) => {
                        let bytes = rest.saturating_add(after);
                        most.max(bytes.try_into().unwrap_or(u32::MAX))
                    }
                    _ => u32::MAX,
                };
            }
        }
        if mask.bases().iter().any(|base| base.complement().is_some()) {
            most = most.max(self.tokens_left_after_complements(id)?.unwrap_or(u32::MAX));
        }
        if self.planner.recognizer.program.has_captures() {
            most = with_capture_margin(most.saturating_add(self.planner.excess_tokens(id)?));
        }
        self.planner.cache.budget.max_left.insert(id, most);
        Ok(most)
    }

    /// A bound on the tokens needed after any token of a set that excludes some, for all such sets of
    /// a configuration; none if there are no such sets, or no bound was found.
    fn tokens_left_after_complements(&mut self, id: ConfigId) -> Result<Option<u32>> {
        let mut most = None;
        for i in 0..self.planner.recognizer.items(id).len() {
            let item = self.planner.recognizer.items(id)[i];
            let point = self.planner.recognizer.program.point(item.point);
            if !matches!(point, Point::Special { tokens: TokenSpan::Except(_), .. }) {
                continue;
            }
            let after = self.planner.recognizer.after_special_token(item)?;
            let after = self.planner.recognizer.intern(&after);
            let Some(rest) = within_limits(self.planner.tokens_left(after))? else {
                return Ok(None);
            };
            most = most.max(Some(rest));
        }
        Ok(most)
    }

    /// The tokens of a mask that stand in no base at the start of tokens, each with a bound on the tokens
    /// needed after it; without end tokens where they end the text.
    fn listed(&mut self, id: ConfigId, mask: &PackedMask) -> Result<Arc<[(u32, u32)]>> {
        if let Some(known) = self.planner.cache.budget.listed.get(&id) {
            return Ok(Arc::clone(known));
        }
        let mut tokens: Vec<u32> = mask.tokens().collect();
        for base in mask.bases() {
            if !base.is_at_token_start() && base.complement().is_none() {
                base.append_tokens(&mut tokens);
            }
        }
        if self.planner.recognizer.is_accepting(id) {
            tokens.retain(|token| !self.planner.vocabulary.end_tokens().contains(token));
        }
        tokens.sort_unstable();
        tokens.dedup();
        let many = self.planner.recognizer.program.has_captures() && tokens.len() > MAX_READ_TOKENS;
        let excess = if many { self.planner.excess_tokens(id)? } else { 0 };
        let mut rests = Vec::with_capacity(tokens.len());
        for token in tokens {
            let text = self.planner.vocabulary.token_bytes(token).filter(|_| many);
            let rest = match text {
                Some(text) => {
                    let rest = self.rest_by_walk(id, text)?;
                    if rest == 0 { 0 } else { with_capture_margin(rest.saturating_add(excess)) }
                }
                None => self.rest_after(id, token)?,
            };
            rests.push((token, rest));
        }
        let rests: Arc<[(u32, u32)]> = rests.into();
        self.planner.cache.list_bytes += size_of_val(&*rests);
        self.planner.cache.budget.listed.insert(id, Arc::clone(&rests));
        Ok(rests)
    }

    /// A bound on the tokens needed after a text, as if captured texts restricted nothing. Captures
    /// nothing, since each captured text makes rules of its own.
    fn rest_by_walk(&mut self, id: ConfigId, text: &[u8]) -> Result<u32> {
        let mut items: Vec<Item> = self.planner.recognizer.items(id).to_vec();
        items.retain(|item| !item.is_scope_text());
        self.planner.recognizer.captures = CaptureMode::Ignore;
        let walked = self.walk_text(items, text);
        self.planner.recognizer.captures = CaptureMode::Record;
        let mut least: Option<u32> = None;
        for item in within_limits(walked.map(Some))?.unwrap_or_default() {
            if item.point == ACCEPT {
                return Ok(0);
            }
            if let Some(&known) = self.planner.cache.bounds.capture_free_bounds.get(&item) {
                least = least.into_iter().chain(known).min();
                continue;
            }
            let path = within_limits(self.planner.shortest_path(item))?;
            let rest = path.map(|path| path.tokens.len() as u32);
            self.planner.cache.bounds.capture_free_bounds.insert(item, rest);
            least = least.into_iter().chain(rest).min();
        }
        Ok(least.unwrap_or(u32::MAX))
    }

    /// The items after a text.
    fn walk_text(&mut self, mut items: Vec<Item>, text: &[u8]) -> Result<Vec<Item>> {
        let mut next = Vec::new();
        for &byte in text {
            self.planner.recognizer.step(&items, byte, &mut next)?;
            std::mem::swap(&mut items, &mut next);
        }
        Ok(items)
    }

    /// A bound on the tokens left after a token; [`u32::MAX`] if none was found.
    fn rest_after(&mut self, id: ConfigId, token: u32) -> Result<u32> {
        let rest = match self.planner.recognizer.read_token(self.planner.vocabulary, id, token) {
            Ok(Ok(next)) => self.planner.tokens_left(next),
            Ok(Err(_)) => Ok(None),
            Err(error) => Err(error),
        };
        Ok(within_limits(rest)?.unwrap_or(u32::MAX))
    }

    /// The tokens that stay in a terminal to their end, by the state to which they lead.
    fn tokens_by_state(&mut self, state: Language) -> Result<TokensByState> {
        let known = &mut self.planner.cache.budget.by_state;
        if let Some(at) = known.iter().position(|(of, _)| *of == state) {
            let entry = known.remove(at);
            known.push(entry.clone());
            return Ok(entry.1);
        }
        let trie = self.planner.vocabulary.trie();
        let nodes = trie.nodes();
        let mut found: FxHashMap<Language, Vec<u32>> = FxHashMap::default();
        let mut path = vec![state];
        let mut node = 1;
        while node < nodes.len() {
            let at = nodes[node];
            path.truncate(usize::from(at.depth));
            let next = self.planner.recognizer.languages.step(path[path.len() - 1], at.byte)?;
            if next == Language::EMPTY {
                node = at.subtree_end as usize;
                continue;
            }
            if !trie.tokens(node).is_empty() {
                found.entry(next).or_default().extend_from_slice(trie.tokens(node));
            }
            path.push(next);
            node += 1;
        }
        let mut found: Vec<(Language, Box<[u32]>)> =
            found.into_iter().map(|(state, tokens)| (state, tokens.into())).collect();
        found.sort_unstable();
        let found: TokensByState = found.into();
        self.planner.cache.budget.keep_sorted(state, &found, MAX_SORTED_TOKENS);
        Ok(found)
    }
}
