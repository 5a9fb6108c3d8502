//! The cache of one compiler: splits, and other results for a vocabulary that all of its constraints
//! share.
//!
//! States are known by fingerprints, so equal states of different constraints share a split. Entries
//! are evicted by the [CLOCK](clock_cache) rule when they exceed the memory limit. Results that nearly
//! every constraint needs are [made in advance](prebuilt), or read from the vocabulary's index.

mod clock_cache;
mod prebuilt;

use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::split::{
    ExitTails, RepeatExits, SplitDraft, SplitEnds, SplitKey, SplitStart, SplitState, TokenSplit,
};
use crate::error::Result;
use crate::limits::Limits;
use crate::mask::capture_tokens::CaptureTokens;
use crate::mask::split::byte_classes::class_of;
use crate::mask::split::common_successor::{differing_tokens, usual_successor};
use crate::mask::split::derived_split::{BaseSplit, Difference, derive_split};
use crate::mask::split::max_repeats::{longest_runs, max_repeats};
use crate::mask::split::ordinary_text::split_by_ordinary_text;
use crate::mask::split::repeats::{RepeatKey, RepeatSplit};
use crate::mask::split::self_loop::split_of_self_loop;
use crate::mask::split::split_tables::SplitTables;
use crate::mask::strategies::{Strategies, Strategy};
use crate::mask::terminal_tokens::{Continuation, TerminalTokens};
use crate::mask::trie_cursor::TrieCursor;
use crate::regular::computed_parts;
use crate::regular::ordinary_text;
use crate::regular::widening;
use crate::regular::{ByteSet, Language, Languages};
use crate::vocabulary::Vocabulary;
use clock_cache::ClockCache;

/// A split with more exits takes as long to lay out as to walk, so it is not copied where states
/// meet soon.
const MAX_COPIED_EXITS: usize = 4_096;

/// A split is derived from the common successor's only if the two states differ below at most 1/8 of
/// the trie's nodes; beyond, a walk by shapes is faster.
const MAX_DIFFERING_NODES_DIVISOR: usize = 8;

/// A state that lets at most 1/4 of the trie's nodes through is sooner walked than derived from another.
const MAX_WALKED_NODES_DIVISOR: usize = 4;

/// A split is derived from the self-loop only if at most 1/3 of the trie's nodes have to be read.
const MAX_LOOP_EXIT_NODES_DIVISOR: usize = 3;

/// If a cached superset has a run of at most this many bytes, its bound is used and no run is
/// computed.
const MAX_REUSED_RUN: u32 = 16;

/// The results for one vocabulary that the constraints of a compiler share; bounded in bytes.
#[derive(Debug)]
pub(crate) struct SplitCache {
    /// Read far more often than written, by many threads at once.
    known: RwLock<ClockCache>,
    tables: OnceLock<Arc<SplitTables>>,
    capture_tokens: OnceLock<CaptureTokens>,
    /// Bytes of what is kept.
    limit: usize,
    /// A split made with at most this much [work](SplitDraft::work) is not kept
    /// ([`Limits::split_nodes`]).
    max_unkept_work: usize,
    strategies: Strategies,
}

/// The key of the tokens of a terminal in the cache that all constraints of a compiler share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TerminalKey {
    /// The fingerprint of the terminal's state.
    pub(in crate::mask) state: u128,
    pub(in crate::mask) is_json_string: bool,
    pub(in crate::mask) continuation: Continuation,
    pub(in crate::mask) ends: SplitEnds,
    pub(in crate::mask) cursors: Arc<[TrieCursor]>,
}

impl SplitCache {
    pub(crate) fn new(limits: &Limits, strategies: Strategies) -> Self {
        Self {
            known: RwLock::default(),
            tables: OnceLock::new(),
            capture_tokens: OnceLock::new(),
            limit: limits.split_bytes,
            max_unkept_work: limits.split_nodes,
            strategies,
        }
    }

    /// The strategies by which masks are made.
    pub(crate) fn strategies(&self) -> Strategies {
        self.strategies
    }

    /// The split of a terminal state; `None` if the state is not worth one.
    pub(crate) fn split(
        &self,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        start: SplitStart,
    ) -> Result<Option<Arc<TokenSplit>>> {
        let SplitStart { state, node, ends } = start;
        let key = SplitKey { state: languages.fingerprint(state), node, ends };
        if let Some(known) = self.read().split(&key) {
            return Ok(known.clone());
        }
        // The automaton has too many states to keep. The split does not refer to them, so they are released.
        let mark = computed_parts::starts_with_stepwise_automaton(languages, state)
            .then(|| languages.mark());
        let split = self.make(vocabulary, languages, start);
        mark.into_iter().for_each(|mark| languages.release(mark));
        let split = split?.map(Arc::new);
        self.write().add_split(key, split.clone(), self.limit);
        Ok(split)
    }

    /// Makes a split without the lock: two threads may make the same one, which is harmless.
    fn make(
        &self,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        start: SplitStart,
    ) -> Result<Option<TokenSplit>> {
        let (tables, node) = (self.tables(vocabulary), start.node);
        let mut draft = None;
        let first = languages.first_bytes(start.state)?;
        let trie = vocabulary.trie();
        let children = trie.children(node as usize, first.bits());
        let below = children.map(|child| trie.nodes()[child].subtree_end as usize - child);
        let walked = below.sum::<usize>();
        if node == 0 && walked > trie.nodes().len() / MAX_WALKED_NODES_DIVISOR {
            if let Some(split) = self.copied(vocabulary, languages, start)? {
                return Ok(Some(split));
            }
            draft = self.around_text(vocabulary, languages, start.split_state())?;
        }
        let draft = match draft {
            Some(draft) => draft,
            None => tables.split_below(vocabulary, languages, start)?,
        };
        Ok((draft.work > self.max_unkept_work).then(|| TokenSplit::new(vocabulary, draft, node)))
    }

    /// Derives the split of a state from that of another state: of the same state without its far
    /// bounds, or of its usual successor.
    fn copied(
        &self,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        start: SplitStart,
    ) -> Result<Option<TokenSplit>> {
        let (tables, from) = (self.tables(vocabulary), start.split_state());
        if self.strategies.has(Strategy::FarBounds)
            && let Some((free, far)) = widening::without_far_bounds(languages, start.state)?
            && let Some(longer) = tables.longer_tokens(vocabulary, far)
            && let Some(known) =
                self.split(vocabulary, languages, SplitStart { state: free, ..start })?
        {
            let difference = Difference::Tokens(longer);
            return derive(tables, vocabulary, languages, from, &known, &difference).map(Some);
        }
        if self.strategies.has(Strategy::CommonSuccessor)
            && let Some(usual) = usual_successor(languages, start.state)?
            && let Some(known) =
                self.split(vocabulary, languages, SplitStart { state: usual, ..start })?
            && known.exits.len() <= MAX_COPIED_EXITS
        {
            let most = vocabulary.trie().nodes().len() / MAX_DIFFERING_NODES_DIVISOR;
            let tokens = differing_tokens(tables, vocabulary, languages, from, usual, most)?;
            if let Some(tokens) = tokens {
                let difference = Difference::Tokens(&tokens);
                return derive(tables, vocabulary, languages, from, &known, &difference).map(Some);
            }
        }
        Ok(None)
    }

    /// The split of a state that stays where it is with most characters.
    fn around_text(
        &self,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        from: SplitState,
    ) -> Result<Option<SplitDraft>> {
        let tables = self.tables(vocabulary);
        if self.strategies.has(Strategy::OrdinaryText)
            && let Some(ordinary) = ordinary_text::ordinary_text(languages, from.state)?
        {
            let text = match ordinary.text {
                Some(state) => {
                    let start = SplitStart { state, node: 0, ends: SplitEnds::OutsideWords };
                    self.split(vocabulary, languages, start)?
                }
                None => None,
            };
            let text = text.as_ref().map(|text| &text.inside);
            return split_by_ordinary_text(tables, vocabulary, languages, from, &ordinary, text);
        }
        if !self.strategies.has(Strategy::SelfLoops) {
            return Ok(None);
        }
        let most = vocabulary.trie().nodes().len() / MAX_LOOP_EXIT_NODES_DIVISOR;
        split_of_self_loop(tables, vocabulary, languages, from, most)
    }

    /// An upper bound on how many bytes of `set` stand in a row in any token: the bound of a cached
    /// superset if that is at most [`MAX_REUSED_RUN`], else the longest run of bytes in the classes of
    /// `set`. Without [`Strategy::MaxRepeats`], the length of the longest token.
    pub(crate) fn max_run(&self, vocabulary: &Vocabulary, set: ByteSet) -> u32 {
        if !self.strategies.has(Strategy::MaxRepeats) {
            return u32::from(self.tables(vocabulary).longest());
        }
        {
            let known = self.read();
            if let Some(longest) = known.max_run(&set) {
                return longest;
            }
            let wider = known.all_max_runs().filter(|(wide, _)| set.intersection(wide) == set);
            if let Some(longest) = wider.map(|(_, longest)| longest).min()
                && longest <= MAX_REUSED_RUN
            {
                return longest;
            }
        }
        let classes: ByteSet = set.iter().map(class_of).collect();
        let [longest] = longest_runs(self.tables(vocabulary).shapes.trie(), &[classes]);
        self.write().add_max_run(set, longest, self.limit);
        longest
    }

    /// The most repeats of a unit in a token.
    pub(crate) fn max_repeats(
        &self,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        unit: Language,
    ) -> Result<u32> {
        let fingerprint = languages.fingerprint(unit);
        if let Some(known) = self.read().max_repeats(fingerprint) {
            return Ok(known);
        }
        let most = max_repeats(self.tables(vocabulary), vocabulary, languages, unit)?;
        self.write().add_max_repeats(fingerprint, most, self.limit);
        Ok(most)
    }

    /// The tables of the vocabulary.
    fn tables(&self, vocabulary: &Vocabulary) -> &SplitTables {
        self.tables.get_or_init(|| Arc::new(SplitTables::new(vocabulary, self.strategies)))
    }

    /// The tokens in which text may depend on a captured one.
    pub(crate) fn capture_tokens(&self, vocabulary: &Vocabulary) -> &CaptureTokens {
        self.capture_tokens.get_or_init(|| CaptureTokens::new(vocabulary))
    }

    /// The tokens that a terminal allows from some cursors, if any constraint has asked for them.
    pub(crate) fn terminal_tokens(&self, key: &TerminalKey) -> Option<Arc<TerminalTokens>> {
        self.read().terminal_tokens(key).map(Arc::clone)
    }

    /// Shares the tokens of a terminal with all constraints.
    pub(crate) fn add_terminal_tokens(&self, key: TerminalKey, tokens: &Arc<TerminalTokens>) {
        self.write().add_terminal_tokens(key, Arc::clone(tokens), self.limit);
    }

    /// The split of a repeat of a unit below a node of the trie.
    pub(crate) fn repeat_split(
        &self,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        (unit, node): (Language, u32),
    ) -> Result<Arc<RepeatSplit>> {
        let key = RepeatKey { unit: languages.fingerprint(unit), node };
        self.repeat_split_by(key, vocabulary, languages, unit)
    }

    fn repeat_split_by(
        &self,
        key: RepeatKey,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        unit: Language,
    ) -> Result<Arc<RepeatSplit>> {
        if let Some(known) = self.read().repeat_split(&key) {
            return Ok(Arc::clone(known));
        }
        let tables = self.tables(vocabulary);
        let split = RepeatSplit::new(vocabulary, tables, languages, unit, key.node as usize)?;
        let split = Arc::new(split);
        self.write().add_repeat_split(key, Arc::clone(&split), self.limit);
        Ok(split)
    }

    /// The tokens that leave a repeat at a byte.
    pub(crate) fn repeat_exits(
        &self,
        vocabulary: &Vocabulary,
        repeat: &RepeatSplit,
        byte: u8,
    ) -> Arc<RepeatExits> {
        repeat.exits_at(vocabulary, self.tables(vocabulary), byte)
    }

    /// All tokens that leave a repeat.
    pub(crate) fn all_repeat_exits<'a>(
        &self,
        vocabulary: &Vocabulary,
        repeat: &'a RepeatSplit,
    ) -> &'a Arc<ExitTails> {
        repeat.all_exits(vocabulary, self.tables(vocabulary))
    }

    fn read(&self) -> RwLockReadGuard<'_, ClockCache> {
        // Consistent between any two operations.
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, ClockCache> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Derives a split from a known one by reading again only the tokens on which the two states can
/// differ. The tails are shared if all exits are the same, which is usual.
fn derive(
    tables: &SplitTables,
    vocabulary: &Vocabulary,
    languages: &mut Languages,
    from: SplitState,
    known: &TokenSplit,
    difference: &Difference<'_>,
) -> Result<TokenSplit> {
    let base =
        BaseSplit { inside: &known.inside, exits: &known.exits, word_bytes: known.word_bytes };
    let draft = derive_split(tables, vocabulary, languages, from, base, difference)?;
    Ok(known.derived(vocabulary, draft))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::mask::split::testing::{Compared, TestTokens};
    use crate::mask::split::walk::plain_split;

    #[test]
    fn far_from_a_bound_only_long_tokens_are_read() {
        let mut tokens = TestTokens::new(11, ["a", "b", "é", "-", "\"", "aaa", "bab", "éé"]);
        tokens.most = 29;
        let mut compared = Compared::new(&tokens, 3_000);
        for pattern in [
            "(?=[^\"]{0,40}\"$)[abé]+(-[abé]+)*\"",
            "(?=[^\"]{0,30}\"$)([ab]{1,30}-?)+é*\"",
            "(?=.{3,50}$)(aaa|b|é|-)*\"{0,2}",
        ] {
            compared.all_states(pattern, |tables, vocabulary, l, start| {
                let Some((free, far)) = widening::without_far_bounds(l, start.state)? else {
                    return Ok(None);
                };
                let Some(longer) = tables.longer_tokens(vocabulary, far) else { return Ok(None) };
                let known = plain_split(vocabulary, l, SplitStart { state: free, ..start })?;
                let base = BaseSplit {
                    inside: &known.inside,
                    exits: &known.exits,
                    word_bytes: known.word_bytes,
                };
                let (from, difference) = (start.split_state(), Difference::Tokens(longer));
                derive_split(tables, vocabulary, l, from, base, &difference).map(Some)
            });
        }
        compared.at_least(20);
    }
}
