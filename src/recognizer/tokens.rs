//! Reads whole tokens: as their bytes, and as the tokens that a grammar names.
//!
//! A token is allowed if its bytes can be read and the text can be completed by further tokens. The
//! second half is free where every byte is a token by itself; elsewhere [`liveness`](super::liveness)
//! decides it for most items, and a search over configurations for the rest.

use std::mem;

use rustc_hash::{FxHashMap, FxHashSet};

use super::budget_counter::BudgetChange;
use super::byte_coverage::ByteCoverage;
use super::configurations::WidenedConfig;
use super::item::{ConfigId, Item, StackId};
use super::item_set_table::{ItemSetTable, KnownStep};
use super::liveness::{Liveness, LivenessCheck};
use super::point::Point;
use super::program::Program;
use super::rule_budgets::{change_items, least_tokens_left, with_budgets};
use super::stepper::{ReadResult, Recognizer};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::regular::Languages;
use crate::vocabulary::{Trie, Vocabulary};

/// Configurations that one search for a live one may visit.
const MAX_SEARCHED_CONFIGURATIONS: usize = 20_000;

/// Nodes of the vocabulary's trie that one search within budgets may walk.
const MAX_WALKED_NODES: usize = 100_000;

/// Called by a walk with the items after some bytes: whether it takes the tokens that end there.
pub(crate) type JudgeItems<'a> = dyn FnMut(&mut Recognizer, &[Item]) -> Result<bool> + 'a;

impl Recognizer {
    /// A recognizer for a program, and the configuration before any text; `languages` holds the
    /// program's terminals.
    ///
    /// Errors if no text of the program can be spelled by the vocabulary.
    pub(crate) fn new(
        program: Program,
        mut languages: Languages,
        vocabulary: &Vocabulary,
        coverage: &ByteCoverage,
        limits: &Limits,
    ) -> Result<(Self, ConfigId)> {
        let liveness = Liveness::new(&mut languages, coverage, &program);
        let mut this = Self::empty(program, languages, liveness, limits);
        let items = this.start_items()?;
        if !this.is_live(vocabulary, &items)? {
            let error = |message| Error::new(ErrorKind::Unsatisfiable, message);
            return Err(if this.spells_every_byte() {
                error("no text satisfies the constraint within `max_tokens` of its rules")
                    .with_help(
                        "raise `max_tokens` of the rules whose shortest text takes more tokens",
                    )
            } else {
                error("no text that the vocabulary can spell satisfies the constraint")
            });
        }
        let start = this.intern(&items);
        Ok((this, start))
    }

    /// Whether every byte that tokens hold is a token by itself: then everything that can be read can
    /// be completed, budgets aside.
    pub(crate) fn spells_every_byte(&self) -> bool {
        self.liveness.as_ref().is_none_or(Liveness::has_every_byte)
    }

    /// Whether a text that is in these items can be completed by further tokens.
    ///
    /// Exact where no rule has a token budget, and where some byte is not a token by itself. Otherwise the
    /// search is bounded, and false may mean that nothing was found: then a token is refused that a longer
    /// search would allow, never the reverse.
    ///
    /// Errors if more than [`MAX_SEARCHED_CONFIGURATIONS`] configurations are visited.
    pub(crate) fn is_live(&mut self, vocabulary: &Vocabulary, items: &[Item]) -> Result<bool> {
        let Some(mut memo) = self.liveness.take() else { return Ok(true) };
        let live = self.search_live(vocabulary, items, &mut memo);
        self.liveness = Some(memo);
        live
    }

    /// Breadth-first search over whole tokens for a configuration that is completable. If
    /// none is reached, everything visited is dead.
    fn search_live(
        &mut self,
        vocabulary: &Vocabulary,
        items: &[Item],
        memo: &mut Liveness,
    ) -> Result<bool> {
        if self.is_completable(vocabulary, items, memo)? {
            return Ok(true);
        }
        let start = self.intern(items);
        if let Some(&live) = memo.configurations.get(&start) {
            return Ok(live);
        }
        // Where every byte is a token, budgets alone decide, and a vocabulary is too large to be
        // searched: what is not found soon is refused.
        let max_expanded = if memo.has_every_byte() {
            MAX_WALKED_NODES / vocabulary.trie().nodes().len()
        } else {
            usize::MAX
        };
        let mut visited = vec![start];
        let mut before = FxHashMap::from_iter([(start, start)]);
        let mut next = 0;
        while let Some(&at) = visited.get(next).filter(|_| next < max_expanded) {
            next += 1;
            for successor in self.successors(vocabulary, at)? {
                let live = match memo.configurations.get(&successor) {
                    Some(&live) => live,
                    None => {
                        let items = self.items(successor).to_vec();
                        self.is_completable(vocabulary, &items, memo)?
                    }
                };
                if live {
                    // Mark the whole path, so that each live configuration has a live successor.
                    memo.configurations.insert(successor, true);
                    let mut on_path = at;
                    while memo.configurations.insert(on_path, true).is_none() {
                        on_path = before[&on_path];
                    }
                    return Ok(true);
                }
                if !memo.configurations.contains_key(&successor) {
                    before.entry(successor).or_insert_with(|| {
                        visited.push(successor);
                        at
                    });
                }
            }
            if visited.len() > MAX_SEARCHED_CONFIGURATIONS {
                if memo.has_every_byte() {
                    break;
                }
                let message = format!(
                    "more than {MAX_SEARCHED_CONFIGURATIONS} states searched for a way to finish \
                     in this vocabulary, which has bytes that are no tokens by themselves"
                );
                return Err(Error::new(ErrorKind::Limit, message)
                    .with_help("use a vocabulary with all single bytes"));
            }
        }
        if next < visited.len() {
            // The search was cut off: only the start counts as dead. A search that begins at another of
            // the visited configurations may still find it live.
            visited.truncate(1);
        }
        memo.configurations.extend(visited.into_iter().map(|visited| (visited, false)));
        Ok(false)
    }

    /// The most tokens that close all unbounded budgets after any token that ends inside the
    /// terminal of an item; `None` if that is not known, or if another budget might not suffice.
    pub(crate) fn closing_tokens(
        &mut self,
        vocabulary: &Vocabulary,
        item: Item,
    ) -> Result<Option<u64>> {
        let Some(mut memo) = self.liveness.take() else { return Ok(Some(0)) };
        let Self { program, languages, stacks, .. } = self;
        let check = &mut LivenessCheck { vocabulary, program, languages, stacks, memo: &mut memo };
        let closing = check.closing_tokens(item);
        self.liveness = Some(memo);
        closing
    }

    /// A stack after one more token that ends inside a terminal above it; `None` if a budget is spent.
    pub(crate) fn stack_after_token(&mut self, stack: StackId) -> Result<Option<StackId>> {
        match with_budgets(&mut self.stacks, stack, BudgetChange::Charge)? {
            Some(charged) => with_budgets(&mut self.stacks, charged, BudgetChange::EndToken),
            None => Ok(None),
        }
    }

    /// The configuration with unbounded budgets in the place of those that are open.
    pub(crate) fn widened(&mut self, id: ConfigId) -> Result<WidenedConfig> {
        if let Some(known) = self.configurations.widened(id) {
            return Ok(known);
        }
        let mut items = self.items(id).to_vec();
        let mut least = u32::MAX;
        for item in &items {
            if self.stacks.has_budget(item.stack) {
                least = least.min(least_tokens_left(&mut self.stacks, item.stack));
            }
        }
        if change_items(&mut self.stacks, &mut items, BudgetChange::Widen)? {
            self.merge(&mut items)?;
        }
        let widened = WidenedConfig { config: self.intern(&items), least_tokens_left: least };
        self.configurations.remember_widened(id, widened);
        Ok(widened)
    }

    fn is_completable(
        &mut self,
        vocabulary: &Vocabulary,
        items: &[Item],
        memo: &mut Liveness,
    ) -> Result<bool> {
        let Self { program, languages, stacks, .. } = self;
        LivenessCheck { vocabulary, program, languages, stacks, memo }.has_completable(items)
    }

    /// The configurations to which any one token leads.
    pub(crate) fn successors(
        &mut self,
        vocabulary: &Vocabulary,
        from: ConfigId,
    ) -> Result<FxHashSet<ConfigId>> {
        let mut found = FxHashSet::default();
        let items = self.items(from).to_vec();
        let mut collect = |recognizer: &mut Self, items: &[Item]| {
            let mut items = items.to_vec();
            recognizer.end_token(&mut items)?;
            found.insert(recognizer.intern(&items));
            Ok(false)
        };
        self.walk(vocabulary.trie(), &items, &mut collect, &mut |_| {})?;
        for item in items {
            if let Point::Special { .. } = self.program.point(item.point) {
                let after = self.after_special_token(item)?;
                found.insert(self.intern(&after));
            }
        }
        Ok(found)
    }

    /// Reads one token: as one that the grammar names, and as its text.
    pub(crate) fn read_token(
        &mut self,
        vocabulary: &Vocabulary,
        from: ConfigId,
        token: u32,
    ) -> Result<ReadResult> {
        if let Some(next) = self.configurations.successor(from, token) {
            return Ok(Ok(next));
        }
        let read = self.read_new_token(vocabulary, from, token)?;
        if let Ok(next) = read {
            self.configurations.remember_successor(from, token, next);
        }
        Ok(read)
    }

    fn read_new_token(
        &mut self,
        vocabulary: &Vocabulary,
        from: ConfigId,
        token: u32,
    ) -> Result<ReadResult> {
        // A set that excludes tokens lists those below it only.
        if token as usize >= vocabulary.len() {
            return Ok(Err(0));
        }
        let mut items = self.read_special(from, token)?;
        let text = match vocabulary.token_bytes(token) {
            Some(bytes) if !bytes.is_empty() && !vocabulary.end_tokens().contains(&token) => {
                self.read_token_bytes(from, bytes)?
            }
            _ => Err(0),
        };
        match text {
            Ok(id) if items.is_empty() && self.liveness.is_none() => return Ok(Ok(id)),
            Ok(id) => items.extend_from_slice(self.configurations.items(id)),
            Err(read) if items.is_empty() => return Ok(Err(read)),
            Err(_) => {}
        }
        self.merge(&mut items)?;
        if self.is_live(vocabulary, &items)? {
            Ok(Ok(self.configurations.intern(&items)))
        } else {
            // All of its bytes fit, but the vocabulary cannot spell what must follow.
            Ok(Err(0))
        }
    }

    /// Those of some tokens that are not allowed, each read with all that it captures.
    pub(crate) fn rejected(
        &mut self,
        vocabulary: &Vocabulary,
        from: ConfigId,
        tokens: &[u32],
    ) -> Result<Vec<u32>> {
        let mut start = self.items(from).to_vec();
        self.resume_scope_text(&mut start);
        // What open scopes have read so far is the same for all.
        let text = self.take_scope_text().unwrap_or_default();
        let (mut items, mut next) = (Vec::new(), Vec::new());
        let mut rejected = Vec::new();
        for &token in tokens {
            items.clone_from(&start);
            self.set_scope_text(text.clone());
            let bytes = vocabulary.token_bytes(token).unwrap_or_default();
            let read = bytes.iter().try_for_each(|&byte| {
                self.step(&items, byte, &mut next)?;
                mem::swap(&mut items, &mut next);
                Ok(())
            });
            self.take_scope_text();
            read?;
            self.end_token(&mut items)?;
            // Nothing steps to nothing.
            let read = !bytes.is_empty()
                && !items.is_empty()
                && !vocabulary.end_tokens().contains(&token)
                && self.is_live(vocabulary, &items)?;
            if !read && self.read_special(from, token)?.is_empty() {
                rejected.push(token);
            }
        }
        Ok(rejected)
    }

    /// Calls `take` for each node of a trie whose tokens these items can read and for which `is_taken` holds of
    /// the items after them; `is_taken` is asked once for equal items, or a few times where there are many.
    /// One forward pass; subtrees below a rejected byte are skipped. Must not be called while the text of a scope
    /// is recorded.
    pub(crate) fn walk(
        &mut self,
        trie: &Trie,
        items: &[Item],
        is_taken: &mut JudgeItems<'_>,
        take: &mut dyn FnMut(usize),
    ) -> Result<()> {
        if items.is_empty() {
            return Ok(());
        }
        let nodes = trie.nodes();
        let mut table = ItemSetTable::default();
        // The sets from the root to the node being read.
        let mut path = vec![table.add(items, &mut [])];
        let mut next = Vec::new();
        for byte in self.first_bytes(items)?.iter() {
            let Some(mut node) = trie.root_child(byte) else { continue };
            let end = nodes[node].subtree_end as usize;
            while node < end {
                let at = nodes[node];
                path.truncate(usize::from(at.depth));
                let from = path[path.len() - 1];
                let to = match table.step(from, at.byte) {
                    KnownStep::To(to) => Some(to),
                    KnownStep::Rejected => None,
                    KnownStep::Unread => {
                        self.step(&table.items(from), at.byte, &mut next)?;
                        let to = (!next.is_empty()).then(|| table.add(&next, &mut path));
                        table.remember_step(path[path.len() - 1], at.byte, to);
                        to
                    }
                };
                let Some(to) = to else {
                    node = at.subtree_end as usize;
                    continue;
                };
                if !trie.tokens(node).is_empty() {
                    let known = table.verdict(to);
                    let is_taken = match known {
                        Some(is_taken) => is_taken,
                        None => is_taken(self, &table.items(to))?,
                    };
                    if known.is_none() {
                        table.remember_verdict(to, is_taken);
                    }
                    if is_taken {
                        take(node);
                    }
                }
                path.push(to);
                node += 1;
            }
        }
        Ok(())
    }
}
