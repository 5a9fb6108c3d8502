//! The working half of a constraint: configurations, steps and masks, with their memory.
//!
//! A *configuration* is the set of items that are live after some text, an item being a terminal
//! that is being read, the state it is in, and the set of stacks to return to. Configurations at
//! token boundaries are hash-consed, so a mask that was computed once is never computed again;
//! inside a token items are stepped bare, without interning.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::closure::{Closure, Pending};
pub(crate) use super::configurations::ConfigId;
use super::configurations::Configs;
use super::gss::{BOTTOM, StackId, Stacks};
use super::liveness::{Liveness, Spelling};
use super::program::{ACCEPT, Point, PointId, Program, RETURN};
use crate::completion::Finishing;
use crate::deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::names::NameStep;
use crate::limits::Limits;
use crate::mask::hot_masks::Lent;
use crate::mask::split::SplitCache;
use crate::mask::{Json, Masks};
use crate::regular::{ByteSet, Language, Languages};
use crate::vocabulary::{Trie, Vocabulary};

/// One live way to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Item {
    /// A [`Point::Regular`] or [`Point::Special`], or [`ACCEPT`].
    pub(crate) point: PointId,
    /// What may still come of the terminal; the number of a node at [`Point::Names`];
    /// [`Language::EPSILON`] at other points.
    pub(crate) state: Language,
    /// What was read of the terminal, at [`Point::Capture`] outside of walks.
    pub(crate) text: TextId,
    pub(crate) stack: StackId,
}

impl Item {
    /// An item at [`ACCEPT`] or [`RETURN`].
    pub(crate) fn border(point: PointId, stack: StackId) -> Self {
        Self { point, state: Language::EPSILON, text: NO_TEXT, stack }
    }
}

/// A string that was read, by identity within its machine.
pub(crate) type TextId = u32;

/// Nothing was read, or it does not matter.
pub(crate) const NO_TEXT: TextId = 0;

/// The state at which a choice of names begins.
pub(crate) const FIRST_NODE: Language = Language::EMPTY;

/// Strings that were read, each as another and its last byte.
#[derive(Clone, Debug, Default)]
struct Texts {
    /// By id, less one.
    texts: Vec<(TextId, u8)>,
    ids: FxHashMap<(TextId, u8), TextId>,
}

impl Texts {
    fn push(&mut self, text: TextId, byte: u8) -> TextId {
        *self.ids.entry((text, byte)).or_insert_with(|| {
            self.texts.push((text, byte));
            self.texts.len() as TextId
        })
    }

    /// About how many bytes they take.
    fn size(&self) -> usize {
        self.texts.len() * (2 * size_of::<(TextId, u8)>() + 8)
    }

    fn bytes(&self, mut text: TextId) -> Vec<u8> {
        let mut bytes = Vec::new();
        while text != NO_TEXT {
            let (before, byte) = self.texts[text as usize - 1];
            bytes.push(byte);
            text = before;
        }
        bytes.reverse();
        bytes
    }
}

/// Configurations, stacks, terminal states and masks; belongs to one constraint at a time.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) languages: Languages,
    pub(crate) stacks: Stacks,
    /// For vocabularies in which not all that is viable can be spelled.
    pub(crate) liveness: Option<Liveness>,
    configs: Configs,
    pub(crate) shared_slices: Arc<SplitCache>,
    /// In bytes.
    pub(crate) longest_token: u32,
    pub(crate) masks: Masks,
    pub(crate) lent: Lent,
    pub(crate) finishing: Finishing,
    pub(crate) json: Json,
    pub(crate) states_per_step: usize,
    pub(crate) closure: Closure,
    texts: Texts,
    /// Do steps belong to a walk, which captures nothing?
    pub(crate) walking: bool,
    /// Items by depth in the trie, for walks.
    levels: Vec<Vec<Item>>,
    /// Items before and after a byte, for reading.
    buffers: (Vec<Item>, Vec<Item>),
}

/// Called by a walk for a node of the trie and the items there.
pub(crate) type Found<'a> = dyn FnMut(&mut Machine, usize, &[Item]) -> Result<()> + 'a;

pub(crate) fn too_many(limit: usize) -> Error {
    Error::new(ErrorKind::Limit, format!("one step needs more than {limit} parallel states"))
        .with_help("make the grammar less ambiguous, or raise the limit `states_per_step`")
}

impl Machine {
    /// A machine at the start of a program, and the configuration there; `languages` holds the
    /// program's terminals.
    pub(crate) fn new(
        program: &Program,
        vocabulary: &Vocabulary,
        mut languages: Languages,
        slices: Arc<SplitCache>,
        spelling: &Spelling,
        limits: &Limits,
    ) -> Result<(Self, ConfigId)> {
        let liveness = Liveness::new(&mut languages, spelling);
        // Without JSON strings in it no unit is theirs.
        let unit = program.text_unit.unwrap_or(Language::EMPTY);
        let json = Json { unit, quote: languages.literal(b"\"") };
        let mut this = Self {
            languages,
            liveness,
            stacks: Stacks::new(limits.depth),
            configs: Configs::default(),
            shared_slices: slices,
            longest_token: spelling.longest,
            masks: Masks::default(),
            lent: Lent::default(),
            finishing: Finishing::default(),
            json,
            states_per_step: limits.states_per_step,
            closure: Closure::default(),
            texts: Texts::default(),
            walking: false,
            levels: Vec::new(),
            buffers: Default::default(),
        };
        let mut items = Vec::new();
        if program.entry(program.start()).is_none() {
            program.expand(program.start(), &mut this.languages)?;
        }
        // Known now.
        let start = program.entry(program.start()).unwrap_or(ACCEPT);
        this.closure.starts.push(((start, 0), BOTTOM));
        this.close(program, &mut items)?;
        this.merge(&mut items)?;
        if !this.is_live(program, vocabulary, &items)? {
            let message = "no text that the vocabulary can spell satisfies the constraint";
            return Err(Error::new(ErrorKind::Unsatisfiable, message));
        }
        let start = this.intern(&items);
        Ok((this, start))
    }

    /// About how many bytes the memory takes.
    pub(crate) fn bytes(&self) -> usize {
        self.languages.bytes()
            + self.stacks.bytes()
            + self.configs.bytes()
            + self.masks.bytes()
            + self.finishing.bytes()
            + self.lent.bytes()
            + self.texts.size()
    }

    pub(crate) fn items(&self, id: ConfigId) -> &[Item] {
        self.configs.items(id)
    }

    pub(crate) fn intern(&mut self, items: &[Item]) -> ConfigId {
        self.configs.intern(items)
    }

    /// Is the text so far complete?
    pub(crate) fn is_accepting(&self, id: ConfigId) -> bool {
        self.items(id).iter().any(|item| item.point == ACCEPT)
    }

    /// Expands the points in `closure.starts` into items, without reading.
    pub(crate) fn close(&mut self, program: &Program, items: &mut Vec<Item>) -> Result<()> {
        let closed = self.close_starts(program, items);
        if closed.is_err() {
            // Nobody else is to start from there.
            self.closure.starts.clear();
        }
        closed
    }

    fn close_starts(&mut self, program: &Program, items: &mut Vec<Item>) -> Result<()> {
        let before = items.len();
        let starts: SmallVec<[_; 4]> = SmallVec::from_slice(&self.closure.starts);
        loop {
            deadline::check()?;
            let (languages, stacks) = (&self.languages, &mut self.stacks);
            let pending =
                self.closure.run(program, languages, stacks, self.states_per_step, items)?;
            // Seldom: once for each rule, once for each text of a scope.
            match pending {
                None => return Ok(()),
                Some(Pending::Rule(rule)) => program.expand(rule, &mut self.languages)?,
                Some(Pending::Capture(tag, text)) => {
                    program.after_capture(tag, text.as_deref(), &mut self.languages)?;
                }
            }
            items.truncate(before);
            self.closure.starts.clear();
            self.closure.starts.extend_from_slice(&starts);
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
        if items.len() > self.states_per_step {
            return Err(too_many(self.states_per_step));
        }
        Ok(())
    }

    /// Reads one byte: `next` becomes the items after it, none if it is not allowed.
    pub(crate) fn step(
        &mut self,
        program: &Program,
        items: &[Item],
        byte: u8,
        next: &mut Vec<Item>,
    ) -> Result<()> {
        deadline::check()?;
        next.clear();
        self.record(items, byte);
        // Left over where an earlier step has failed.
        self.closure.starts.clear();
        for item in items {
            let after = match program.point(item.point) {
                Point::Regular { next, .. } => Some(next),
                Point::Capture { .. } => None,
                Point::Names(names) => {
                    match program.name_step(names, item.state.number(), byte) {
                        NameStep::Dead => {}
                        NameStep::Inside(node) => {
                            next.push(Item { state: Language::from_number(node), ..*item });
                        }
                        NameStep::End(rank) => {
                            let after = program.after_name(names, rank, &mut self.languages)?;
                            self.closure.starts.push(((after, 0), item.stack));
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
            let (text, after) = match (after, program.point(item.point)) {
                (None, Point::Capture { tag, .. }) => {
                    let text = match self.walking {
                        true => NO_TEXT,
                        false => self.texts.push(item.text, byte),
                    };
                    let mut after = None;
                    if nullable {
                        let bytes = (!self.walking).then(|| self.texts.bytes(text));
                        let languages = &mut self.languages;
                        after = program.after_capture(tag, bytes.as_deref(), languages)?;
                    }
                    (text, after)
                }
                (after, _) => (NO_TEXT, after),
            };
            if state != Language::EPSILON {
                next.push(Item { state, text, ..*item });
            }
            if nullable && let Some(after) = after {
                self.closure.starts.push(((after, 0), item.stack));
            }
        }
        if !self.closure.starts.is_empty() {
            self.close(program, next)?;
        }
        self.merge(next)
    }

    /// A string that was read.
    pub(crate) fn text(&self, text: TextId) -> Vec<u8> {
        self.texts.bytes(text)
    }

    /// Adds a byte to the text of the open scopes, if there are any.
    fn record(&mut self, items: &[Item], byte: u8) {
        if let Some(text) = &mut self.closure.text {
            match items.iter().any(|item| self.stacks.records(item.stack)) {
                true => text.push(byte),
                false => text.clear(),
            }
        }
    }

    /// Takes up the text that a configuration's scopes have read.
    pub(crate) fn resume_text(&mut self, items: &mut Vec<Item>) {
        let text = match items.first() {
            Some(&first) if first.point == RETURN => {
                items.remove(0);
                self.texts.bytes(first.text)
            }
            _ => Vec::new(),
        };
        self.closure.text = Some(text);
    }

    /// Makes the text that scopes have read a part of the configuration.
    pub(crate) fn keep_text(&mut self, items: &mut Vec<Item>) {
        let text = self.closure.text.take().unwrap_or_default();
        if items.iter().any(|item| self.stacks.records(item.stack)) {
            let text = text.iter().fold(NO_TEXT, |text, &byte| self.texts.push(text, byte));
            items.insert(0, Item { text, ..Item::border(RETURN, BOTTOM) });
        }
    }

    /// Reads bytes from a configuration. On rejection: how many bytes were accepted.
    pub(crate) fn read(
        &mut self,
        program: &Program,
        from: ConfigId,
        bytes: &[u8],
    ) -> Result<std::result::Result<ConfigId, usize>> {
        let (mut items, mut next) = std::mem::take(&mut self.buffers);
        items.clear();
        items.extend_from_slice(self.configs.items(from));
        self.resume_text(&mut items);
        let mut read = Ok(bytes.len());
        for (i, &byte) in bytes.iter().enumerate() {
            let stepped = self.step_in_place(program, &mut items, &mut next, byte);
            if stepped.is_err() || items.is_empty() {
                let placed = |error| program.placed(items.iter().map(|item| item.point), error);
                read = stepped.map(|()| i).map_err(placed);
                break;
            }
        }
        let found = match read {
            Ok(read) if read == bytes.len() => {
                self.keep_text(&mut items);
                Ok(Ok(self.configs.intern(&items)))
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
        program: &Program,
        items: &mut Vec<Item>,
        next: &mut Vec<Item>,
        byte: u8,
    ) -> Result<()> {
        if let [item] = &mut items[..]
            && !self.stacks.records(item.stack)
        {
            match program.point(item.point) {
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
                        self.closure.starts.clear();
                        self.closure.starts.push(((after, 0), item.stack));
                        self.close(program, next)?;
                        self.merge(next)?;
                        std::mem::swap(items, next);
                    }
                    return Ok(());
                }
                Point::Names(names) => {
                    let step = program.name_step(names, item.state.number(), byte);
                    if let NameStep::Inside(node) = step {
                        item.state = Language::from_number(node);
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        self.step(program, items, byte, next)?;
        std::mem::swap(items, next);
        Ok(())
    }

    /// Which of some tokens are not allowed, each read for real.
    pub(crate) fn rejected(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        from: ConfigId,
        tokens: &[u32],
    ) -> Result<Vec<u32>> {
        let mut start = self.items(from).to_vec();
        self.resume_text(&mut start);
        // What open scopes have read so far is the same for all.
        let text = self.closure.text.take().unwrap_or_default();
        let (mut items, mut next) = (Vec::new(), Vec::new());
        let mut rejected = Vec::new();
        for &token in tokens {
            items.clone_from(&start);
            self.closure.text = Some(text.clone());
            let bytes = vocabulary.token_bytes(token).unwrap_or_default();
            let read = bytes.iter().try_for_each(|&byte| {
                self.step(program, &items, byte, &mut next)?;
                std::mem::swap(&mut items, &mut next);
                Ok(())
            });
            self.closure.text = None;
            read?;
            // Nothing steps to nothing.
            let read = !bytes.is_empty()
                && !items.is_empty()
                && !vocabulary.end_tokens().contains(&token)
                && self.is_live(program, vocabulary, &items)?;
            if !read && self.read_special(program, from, token)?.is_empty() {
                rejected.push(token);
            }
        }
        Ok(rejected)
    }

    /// Reads one token: as the special token that the grammar names, and as its text. On rejection:
    /// how many bytes of its text were accepted.
    pub(crate) fn read_token(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        from: ConfigId,
        token: u32,
    ) -> Result<std::result::Result<ConfigId, usize>> {
        if let Some(next) = self.configs.after(from, token) {
            return Ok(Ok(next));
        }
        let read = self.read_new_token(program, vocabulary, from, token)?;
        if let Ok(next) = read {
            self.configs.remember(from, token, next);
        }
        Ok(read)
    }

    fn read_new_token(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        from: ConfigId,
        token: u32,
    ) -> Result<std::result::Result<ConfigId, usize>> {
        let mut items = self.read_special(program, from, token)?;
        let text = match vocabulary.token_bytes(token) {
            Some(bytes) if !bytes.is_empty() && !vocabulary.end_tokens().contains(&token) => {
                self.read(program, from, bytes)?
            }
            _ => Err(0),
        };
        match text {
            Ok(id) if items.is_empty() && self.liveness.is_none() => return Ok(Ok(id)),
            Ok(id) => items.extend_from_slice(self.configs.items(id)),
            Err(read) if items.is_empty() => return Ok(Err(read)),
            Err(_) => {}
        }
        self.merge(&mut items)?;
        match self.is_live(program, vocabulary, &items)? {
            true => Ok(Ok(self.configs.intern(&items))),
            // All of its bytes fit, but the vocabulary cannot spell what must follow.
            false => Ok(Err(0)),
        }
    }

    /// The items after a special token that the grammar names; none if it does not name it here.
    pub(crate) fn read_special(
        &mut self,
        program: &Program,
        from: ConfigId,
        token: u32,
    ) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        // Left over where an earlier step has failed.
        self.closure.starts.clear();
        for item in self.configs.items(from) {
            if let Point::Special { tokens, next } = program.point(item.point)
                && program.tokens(tokens).contains(&token)
            {
                self.closure.starts.push(((next, 0), item.stack));
            }
        }
        if !self.closure.starts.is_empty() {
            self.close(program, &mut items)?;
            self.merge(&mut items)?;
        }
        Ok(items)
    }

    /// Calls `found` for each node of a trie that holds tokens and can be reached from these items,
    /// with the items there. One forward pass; subtrees below a rejected byte are skipped.
    pub(crate) fn walk(
        &mut self,
        program: &Program,
        trie: &Trie,
        items: &[Item],
        found: &mut Found<'_>,
    ) -> Result<()> {
        if items.is_empty() {
            return Ok(());
        }
        let nodes = trie.nodes();
        let mut levels = std::mem::take(&mut self.levels);
        if levels.is_empty() {
            levels.push(Vec::new());
        }
        levels[0].clear();
        levels[0].extend_from_slice(items);
        for byte in self.first_bytes(program, items)?.iter() {
            let Some(mut node) = trie.first(byte) else { continue };
            let end = nodes[node].subtree_end as usize;
            while node < end {
                let at = nodes[node];
                let depth = usize::from(at.depth);
                if levels.len() == depth {
                    levels.push(Vec::new());
                }
                let (above, below) = levels.split_at_mut(depth);
                let (items, next) = (&above[depth - 1], &mut below[0]);
                self.step(program, items, at.byte, next)?;
                if next.is_empty() {
                    node = at.subtree_end as usize;
                    continue;
                }
                if !trie.tokens(node).is_empty() {
                    found(self, node, next)?;
                }
                node += 1;
            }
        }
        self.levels = levels;
        Ok(())
    }

    /// The bytes that may come next.
    pub(crate) fn next_bytes(&mut self, program: &Program, id: ConfigId) -> Result<ByteSet> {
        let mut bytes = ByteSet::EMPTY;
        for item in self.items(id).to_vec() {
            let refused = self.refused_bytes(program, item)?;
            let first = self.first_bytes(program, &[item])?;
            bytes = bytes.union(&first.intersection(&refused.complement()));
        }
        Ok(bytes)
    }

    pub(crate) fn first_bytes(&mut self, program: &Program, items: &[Item]) -> Result<ByteSet> {
        let mut bytes = ByteSet::EMPTY;
        for item in items {
            let first = match program.point(item.point) {
                Point::Regular { .. } | Point::Capture { .. } => {
                    self.languages.first_bytes(item.state)?
                }
                Point::Names(names) => program.name_first(names, item.state.number()),
                _ => continue,
            };
            bytes = bytes.union(&first);
        }
        Ok(bytes)
    }
}
