//! The recognizer itself: reads bytes from items and configurations.
//!
//! One step reads one byte: every item's terminal takes it, items whose terminal rejects it are
//! dropped, and where a terminal may end, the [`closure`](super::closure) of the point after it adds
//! the items that may come next. At token boundaries the items are interned as a configuration;
//! inside a token they are bare, in two buffers that all steps use again.
//!
//! *Captured texts.* What follows a key of a JSON object may depend on the keys before it. Points that
//! capture keep the string read so far in their items, and scopes record all that is read since
//! they began. Walks over many tokens capture nothing ([`CaptureMode::Ignore`]): they find what may
//! follow *some* captured text, and the mask re-reads the few tokens for which that may be too much.

use std::mem;

use super::budget_counter::BudgetChange;
use super::captured_texts::CapturedTexts;
use super::closure::{Closure, Pending, too_many_states};
use super::configurations::Configurations;
use super::gss::ReturnStacks;
use super::item::{ACCEPT, BOTTOM, ConfigId, Item, KeyChoiceId, NO_TEXT, PointId, StackId, TextId};
use super::liveness::Liveness;
use super::point::Point;
use super::program::Program;
use super::refused_texts::refused_bytes;
use super::rule_budgets::{change_items, with_budgets};
use crate::deadline;
use crate::error::Result;
use crate::grammar::key_choice::{KeyRank, KeyStep};
use crate::grammar::{RuleId, SourceTag};
use crate::limits::Limits;
use crate::regular::{ByteSet, Language, Languages};

/// The outcome of reading bytes: the configuration after them, or how many of them were accepted.
pub(crate) type ReadResult = std::result::Result<ConfigId, usize>;

/// Whether steps keep the strings that points capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaptureMode {
    /// A captured string is followed by the continuation that its source makes of that string.
    Record,
    /// A captured string is followed by the continuation of any string.
    Ignore,
}

/// Whether rule budgets are charged for the bytes that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenCounting {
    /// The bytes are a token's: budgets are charged.
    Charge,
    /// The bytes are not known to be a token's: budgets are not charged.
    Ignore,
}

/// A program and the state accumulated while parsing with it: terminal states, stacks,
/// configurations, captured texts. Belongs to one thread at a time.
///
/// More than 40 methods: it is what all of parsing by bytes, by tokens and without captures share.
#[derive(Debug)]
pub(crate) struct Recognizer {
    pub(crate) program: Program,
    /// The arena of the program's terminals and their states.
    pub(crate) languages: Languages,
    pub(crate) stacks: ReturnStacks,
    /// Absent where everything is live.
    pub(super) liveness: Option<Liveness>,
    pub(super) configurations: Configurations,
    pub(crate) captures: CaptureMode,
    /// [`TokenCounting::Ignore`] throughout where the program has no rule budgets.
    pub(super) token_counting: TokenCounting,
    closure: Closure,
    pub(crate) texts: CapturedTexts,
    /// Items that one step may keep; more are an error.
    max_states: usize,
    /// Items before and after a byte.
    buffers: (Vec<Item>, Vec<Item>),
}

impl Recognizer {
    /// A recognizer that has read nothing; `languages` holds the program's terminals.
    pub(super) fn empty(
        program: Program,
        languages: Languages,
        liveness: Option<Liveness>,
        limits: &Limits,
    ) -> Self {
        let token_counting =
            if program.has_budgets() { TokenCounting::Charge } else { TokenCounting::Ignore };
        Self {
            program,
            languages,
            stacks: ReturnStacks::new(limits.depth),
            liveness,
            configurations: Configurations::default(),
            captures: CaptureMode::Record,
            token_counting,
            closure: Closure::default(),
            texts: CapturedTexts::default(),
            max_states: limits.states_per_step,
            buffers: Default::default(),
        }
    }

    /// The items before any text.
    pub(super) fn start_items(&mut self) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        let start = self.entry(self.program.start())?;
        // A start rule has a body.
        self.close_from(start.unwrap_or(ACCEPT), BOTTOM, &mut items)?;
        self.merge(&mut items)?;
        Ok(items)
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.program.memory_bytes()
            + self.languages.memory_bytes()
            + self.stacks.memory_bytes()
            + self.configurations.memory_bytes()
            + self.texts.memory_bytes()
    }

    /// The items of a configuration.
    #[inline]
    pub(crate) fn items(&self, id: ConfigId) -> &[Item] {
        self.configurations.items(id)
    }

    /// The configuration of these items, sorted and without duplicates.
    pub(crate) fn intern(&mut self, items: &[Item]) -> ConfigId {
        self.configurations.intern(items)
    }

    /// Whether the text so far is complete.
    pub(crate) fn is_accepting(&self, id: ConfigId) -> bool {
        self.items(id).iter().any(|item| item.point == ACCEPT)
    }

    /// The captured string.
    pub(crate) fn text(&self, text: TextId) -> Vec<u8> {
        self.texts.bytes_of(text)
    }

    /// The text that the open scopes of a configuration have read.
    pub(crate) fn scope_text(&self, id: ConfigId) -> TextId {
        match self.items(id).first() {
            Some(first) if first.is_scope_text() => first.text,
            _ => NO_TEXT,
        }
    }

    /// The point where a rule's body begins; the body is made if it is not yet.
    pub(crate) fn entry(&mut self, rule: RuleId) -> Result<Option<PointId>> {
        if self.program.entry(rule).is_none() {
            self.program.expand(rule, &mut self.languages)?;
        }
        Ok(self.program.entry(rule))
    }

    /// The point after a key of a choice.
    pub(crate) fn after_key(&mut self, choice: KeyChoiceId, rank: KeyRank) -> Result<PointId> {
        self.program.after_key(choice, rank, &mut self.languages)
    }

    /// The point after a captured text, by the tag of the capture; `None` if the text is not allowed
    /// after all. Without a text: the point after any.
    pub(crate) fn after_capture(
        &mut self,
        tag: SourceTag,
        text: Option<&[u8]>,
    ) -> Result<Option<PointId>> {
        self.program.after_capture(tag, text, &mut self.languages)
    }

    /// Appends the items that a point leads to without reading.
    pub(crate) fn close_from(
        &mut self,
        point: PointId,
        stack: StackId,
        items: &mut Vec<Item>,
    ) -> Result<()> {
        self.closure.clear_starts();
        self.closure.start_at(point, stack);
        self.close(items)
    }

    /// Appends the items that the closure's starts lead to.
    fn close(&mut self, items: &mut Vec<Item>) -> Result<()> {
        let closed = self.close_starts(items);
        if closed.is_err() {
            // They are not to be part of the next step.
            self.closure.clear_starts();
        }
        closed
    }

    fn close_starts(&mut self, items: &mut Vec<Item>) -> Result<()> {
        let before = items.len();
        let starts = self.closure.saved_starts();
        loop {
            deadline::check()?;
            let (languages, stacks) = (&self.languages, &mut self.stacks);
            let pending =
                self.closure.run(&self.program, languages, stacks, self.max_states, items)?;
            // Seldom: once for each rule, once for each text of a scope.
            match pending {
                None => return Ok(()),
                Some(Pending::Rule(rule)) => self.program.expand(rule, &mut self.languages)?,
                Some(Pending::Capture { tag, text }) => {
                    self.after_capture(tag, text.as_deref())?;
                }
            }
            items.truncate(before);
            self.closure.restore_starts(&starts);
        }
    }

    /// Sorts items and merges those that differ in their stacks only.
    pub(crate) fn merge(&mut self, items: &mut Vec<Item>) -> Result<()> {
        if items.len() > 1 {
            items.sort_unstable();
            items.dedup();
            let mut kept = 0;
            for i in 1..items.len() {
                let (last, item) = (items[kept], items[i]);
                if (last.point, last.state, last.text) == (item.point, item.state, item.text) {
                    items[kept].stack = self.stacks.union(last.stack, item.stack)?;
                } else {
                    kept += 1;
                    items[kept] = item;
                }
            }
            items.truncate(kept + 1);
        }
        self.check_states(items.len())
    }

    /// Ends a token: budgets forget the charge, and stacks whose budget is used up are dropped.
    pub(crate) fn end_token(&mut self, items: &mut Vec<Item>) -> Result<()> {
        if change_items(&mut self.stacks, items, BudgetChange::EndToken)? {
            self.merge(items)?;
        }
        Ok(())
    }

    /// Errors where a step has more items than the limit.
    pub(crate) fn check_states(&self, states: usize) -> Result<()> {
        if states > self.max_states { Err(too_many_states(self.max_states)) } else { Ok(()) }
    }

    /// Reads one byte: `next` becomes the items after it, none if it is not allowed.
    pub(crate) fn step(&mut self, items: &[Item], byte: u8, next: &mut Vec<Item>) -> Result<()> {
        if self.token_counting == TokenCounting::Ignore {
            return self.step_charged(items, byte, next);
        }
        let mut charged = items.to_vec();
        if change_items(&mut self.stacks, &mut charged, BudgetChange::Charge)? {
            self.merge(&mut charged)?;
        }
        self.step_charged(&charged, byte, next)
    }

    /// Reads one byte, from items whose budgets have counted the token.
    fn step_charged(&mut self, items: &[Item], byte: u8, next: &mut Vec<Item>) -> Result<()> {
        deadline::check()?;
        next.clear();
        self.record_scope_byte(items, byte);
        // Left over where an earlier step has failed.
        self.closure.clear_starts();
        for item in items {
            let after = match self.program.point(item.point) {
                Point::Regular { next, .. } => Some(next),
                Point::Capture { .. } => None,
                Point::KeyChoice(choice) => {
                    match self.program.key_step(choice, item.key_node(), byte) {
                        KeyStep::Dead => {}
                        KeyStep::Inside(node) => next.push(item.with_key_node(node)),
                        KeyStep::End(rank) => {
                            let after = self.after_key(choice, rank)?;
                            self.closure.start_at(after, item.stack);
                        }
                    }
                    continue;
                }
                _ => continue,
            };
            let state = self.languages.step(item.state, byte)?;
            if state == Language::EMPTY {
                continue;
            }
            let nullable = self.languages.is_nullable(state);
            let (text, after) = match (after, self.program.point(item.point)) {
                (None, Point::Capture { tag, .. }) => {
                    self.capture_byte(tag, item.text, byte, nullable)?
                }
                (after, _) => (NO_TEXT, after),
            };
            if state != Language::EPSILON {
                next.push(Item { state, text, ..*item });
            }
            if nullable && let Some(after) = after {
                self.closure.start_at(after, item.stack);
            }
        }
        if self.closure.has_starts() {
            self.close(next)?;
        }
        self.merge(next)
    }

    /// Adds a byte to a captured string: the longer string, and the point after it where it may end.
    fn capture_byte(
        &mut self,
        tag: SourceTag,
        text: TextId,
        byte: u8,
        may_end: bool,
    ) -> Result<(TextId, Option<PointId>)> {
        let is_recorded = self.captures == CaptureMode::Record;
        let text = if is_recorded { self.texts.push(text, byte) } else { NO_TEXT };
        if !may_end {
            return Ok((text, None));
        }
        let bytes = is_recorded.then(|| self.texts.bytes_of(text));
        Ok((text, self.after_capture(tag, bytes.as_deref())?))
    }

    /// Adds a byte to the text of the open scopes, if there are any.
    fn record_scope_byte(&mut self, items: &[Item], byte: u8) {
        if let Some(text) = &mut self.closure.text {
            if items.iter().any(|item| self.stacks.has_scope(item.stack)) {
                text.push(byte);
            } else {
                text.clear();
            }
        }
    }

    /// Takes the text that open scopes have read out of a configuration's items, and records on.
    pub(crate) fn resume_scope_text(&mut self, items: &mut Vec<Item>) {
        let text = match items.first() {
            Some(&first) if first.is_scope_text() => {
                items.remove(0);
                self.texts.bytes_of(first.text)
            }
            _ => Vec::new(),
        };
        self.closure.text = Some(text);
    }

    /// Makes the text that scopes have read a part of the items, and records no more.
    pub(crate) fn keep_scope_text(&mut self, items: &mut Vec<Item>) {
        let text = self.closure.text.take().unwrap_or_default();
        if items.iter().any(|item| self.stacks.has_scope(item.stack)) {
            let text = text.iter().fold(NO_TEXT, |text, &byte| self.texts.push(text, byte));
            items.insert(0, Item::scope_text(text));
        }
    }

    /// The text that is being recorded for open scopes, which no longer records.
    pub(super) fn take_scope_text(&mut self) -> Option<Vec<u8>> {
        self.closure.text.take()
    }

    /// Goes on recording after a text of open scopes.
    pub(super) fn set_scope_text(&mut self, text: Vec<u8>) {
        self.closure.text = Some(text);
    }

    /// Reads bytes from a configuration that are no token's: budgets count nothing.
    pub(crate) fn read(&mut self, from: ConfigId, bytes: &[u8]) -> Result<ReadResult> {
        let token_counting = mem::replace(&mut self.token_counting, TokenCounting::Ignore);
        let read = self.read_token_bytes(from, bytes);
        self.token_counting = token_counting;
        read
    }

    /// Reads the bytes of one token from a configuration.
    pub(super) fn read_token_bytes(&mut self, from: ConfigId, bytes: &[u8]) -> Result<ReadResult> {
        let (mut items, mut next) = mem::take(&mut self.buffers);
        items.clear();
        items.extend_from_slice(self.configurations.items(from));
        self.resume_scope_text(&mut items);
        let mut read = Ok(bytes.len());
        for (i, &byte) in bytes.iter().enumerate() {
            let stepped = self.step_in_place(&mut items, &mut next, byte);
            if stepped.is_err() || items.is_empty() {
                let with_place =
                    |error| self.program.with_place(items.iter().map(|item| item.point), error);
                read = stepped.map(|()| i).map_err(with_place);
                break;
            }
        }
        let found = match read {
            Ok(read) if read == bytes.len() => {
                let ended = match self.token_counting {
                    TokenCounting::Charge => self.end_token(&mut items),
                    TokenCounting::Ignore => Ok(()),
                };
                self.keep_scope_text(&mut items);
                ended.map(|()| Ok(self.configurations.intern(&items)))
            }
            read => {
                self.closure.text = None;
                read.map(Err)
            }
        };
        self.buffers = (items, next);
        found
    }

    /// Reads one byte: `items` become the items after it, none if it is not allowed. `next` is a
    /// buffer.
    ///
    /// Mostly there is one item, and the byte stays inside its terminal.
    fn step_in_place(
        &mut self,
        items: &mut Vec<Item>,
        next: &mut Vec<Item>,
        byte: u8,
    ) -> Result<()> {
        if let [item] = &mut items[..]
            && !self.stacks.has_scope(item.stack)
            && self.token_counting == TokenCounting::Ignore
        {
            match self.program.point(item.point) {
                Point::Regular { next: after, .. } => {
                    let state = self.languages.step(item.state, byte)?;
                    if state == Language::EMPTY {
                        items.clear();
                    } else if !self.languages.is_nullable(state) {
                        item.state = state;
                    } else {
                        next.clear();
                        if state != Language::EPSILON {
                            next.push(Item { state, ..*item });
                        }
                        // No open scope wants to know what was read before.
                        self.closure.text.iter_mut().for_each(Vec::clear);
                        self.close_from(after, item.stack, next)?;
                        self.merge(next)?;
                        mem::swap(items, next);
                    }
                    return Ok(());
                }
                Point::KeyChoice(choice) => {
                    let step = self.program.key_step(choice, item.key_node(), byte);
                    if let KeyStep::Inside(node) = step {
                        *item = item.with_key_node(node);
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        self.step(items, byte, next)?;
        mem::swap(items, next);
        Ok(())
    }

    /// The items after an item whose point is a set of tokens, once one of these is read.
    pub(crate) fn after_special_token(&mut self, item: Item) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        if let Point::Special { next, .. } = self.program.point(item.point)
            && let Some(stack) = with_budgets(&mut self.stacks, item.stack, BudgetChange::Charge)?
        {
            self.close_from(next, stack, &mut items)?;
            self.merge(&mut items)?;
            self.end_token(&mut items)?;
        }
        Ok(items)
    }

    /// The bytes that may come next.
    pub(crate) fn next_bytes(&mut self, id: ConfigId) -> Result<ByteSet> {
        let mut bytes = ByteSet::EMPTY;
        for item in self.items(id).to_vec() {
            let Self { program, languages, texts, .. } = &mut *self;
            let refused = refused_bytes(program, languages, texts, item)?;
            let first = self.first_bytes(&[item])?;
            bytes = bytes.union(&first.intersection(&refused.complement()));
        }
        Ok(bytes)
    }

    /// The bytes that the terminals of some items may go on with, whatever was captured.
    pub(crate) fn first_bytes(&mut self, items: &[Item]) -> Result<ByteSet> {
        let mut bytes = ByteSet::EMPTY;
        for item in items {
            let first = match self.program.point(item.point) {
                Point::Regular { .. } | Point::Capture { .. } => {
                    self.languages.first_bytes(item.state)?
                }
                Point::KeyChoice(choice) => self.program.key_first_bytes(choice, item.key_node()),
                _ => continue,
            };
            bytes = bytes.union(&first);
        }
        Ok(bytes)
    }

    /// The items after a token that the grammar names here, alone or in a set; none if it does not.
    pub(crate) fn read_special(&mut self, from: ConfigId, token: u32) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        for i in 0..self.configurations.items(from).len() {
            let item = self.configurations.items(from)[i];
            if let Point::Special { tokens, .. } = self.program.point(item.point)
                && self.program.has_token(tokens, token)
            {
                items.extend(self.after_special_token(item)?);
            }
        }
        if !items.is_empty() {
            self.merge(&mut items)?;
        }
        Ok(items)
    }
}
