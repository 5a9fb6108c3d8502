//! Outcomes: the states that each rule can be left in, for each state that it is entered in.
//!
//! A rule's outcomes depend on those of the rules that it calls, so they are a least fixed point:
//! every round re-evaluates all entries met so far with the outcomes known so far, until a round
//! neither meets an entry nor changes an outcome.

use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::lazy_first::LazyFirst;
use super::limits::{MAX_COPIES, made_on_demand, too_many_cases};
use super::monitor::{Monitors, TerminalStrings};
use super::repeats::Unrolling;
use super::state::{LazySetId, LazySets, LoopEntry, ParseState, RuleEntry};
use crate::deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::analysis::least_fixed_point;
use crate::grammar::form::{Grammar, Node, NodeId};
use crate::regular::marked_text::{self, LookaroundTerminal, MarkNumber};
use crate::regular::{ByteSet, Language};

/// The outcomes of entries of one kind.
struct OutcomeTable<K> {
    /// By entry: the states that its non-empty texts lead to, ascending.
    states: FxHashMap<K, Vec<ParseState>>,
    /// The entries in the order in which they were met.
    order: Vec<K>,
}

impl<K: Copy + Eq + Hash> OutcomeTable<K> {
    fn new() -> Self {
        Self { states: FxHashMap::default(), order: Vec::new() }
    }

    /// The outcomes of an entry as far as they are known; none for an entry that is met first.
    /// `others` is the number of entries of other kinds.
    fn meet(&mut self, entry: K, others: usize) -> Result<Vec<ParseState>> {
        if let Some(known) = self.states.get(&entry) {
            return Ok(known.clone());
        }
        if self.order.len() + others > MAX_COPIES {
            return Err(too_many_cases());
        }
        self.order.push(entry);
        self.states.insert(entry, Vec::new());
        Ok(Vec::new())
    }

    /// Replaces the outcomes of an entry; whether they have changed.
    fn replace(&mut self, entry: K, found: Vec<ParseState>) -> bool {
        let has_changed = self.states.get(&entry) != Some(&found);
        self.states.insert(entry, found);
        has_changed
    }

    /// Whether some text of an entry leads to `target`, or to any state if that is `None`.
    fn reaches(&self, entry: &K, target: Option<ParseState>) -> bool {
        self.states.get(entry).is_some_and(|states| match target {
            Some(target) => states.contains(&target),
            None => !states.is_empty(),
        })
    }
}

/// A grammar with the outcomes of all entries that its start leads to.
pub(super) struct Outcomes {
    pub(super) grammar: Grammar,
    lazy: FxHashSet<NodeId>,
    /// The terminals that look at the text around them, with their marks.
    lookaround: FxHashMap<NodeId, MarkNumber>,
    /// By merged terminal: the same language, as the terminals that it was merged from.
    unmerged: FxHashMap<NodeId, NodeId>,
    nullable: Vec<bool>,
    first: LazyFirst,
    sets: LazySets,
    rules: OutcomeTable<RuleEntry>,
    loops: OutcomeTable<LoopEntry>,
    pub(super) monitors: Monitors,
    /// Whether precedence takes some text from some terminal.
    has_conflict: bool,
    /// Holes as regular languages, where lazy terminals take texts from them.
    holes: FxHashMap<u32, Language>,
}

impl Outcomes {
    /// Finds all entries that the start leads to, and their outcomes.
    pub(super) fn find(
        mut grammar: Grammar,
        lazy: FxHashSet<NodeId>,
        lookaround_terminals: &[(NodeId, LookaroundTerminal)],
        unmerged: FxHashMap<NodeId, NodeId>,
    ) -> Result<Self> {
        let nullable = least_fixed_point(&grammar, |_, node| match node {
            Node::Regular(language) | Node::JsonString(language) => {
                grammar.languages.is_nullable(*language)
            }
            _ => false,
        });
        let mut sets = LazySets::new();
        // Terminals with the same conditions share their marks.
        let (mut lookaround, mut numbered) = (FxHashMap::default(), Vec::new());
        for &(node, LookaroundTerminal { conditions, .. }) in lookaround_terminals {
            let known = numbered.iter().position(|&other| other == conditions);
            let index = known.unwrap_or_else(|| {
                numbered.push(conditions);
                numbered.len() - 1
            });
            lookaround.insert(node, MarkNumber::new(index)?);
        }
        let idle = marked_text::monitor(&mut grammar.languages, &numbered)?;
        let first = LazyFirst::find(&grammar, &lazy, lookaround.keys(), &nullable, &mut sets);
        let mut outcomes = Self {
            grammar,
            lazy,
            has_conflict: !lookaround.is_empty(),
            lookaround,
            unmerged,
            nullable,
            first,
            sets,
            rules: OutcomeTable::new(),
            loops: OutcomeTable::new(),
            monitors: Monitors::new(idle),
            holes: FxHashMap::default(),
        };
        outcomes.iterate()?;
        Ok(outcomes)
    }

    fn iterate(&mut self) -> Result<()> {
        let start = self.start();
        self.of_rule(start)?;
        loop {
            let met = (self.rules.order.len(), self.loops.order.len());
            let mut has_grown = false;
            let mut next = 0;
            while next < self.rules.order.len() {
                let entry = self.rules.order[next];
                next += 1;
                deadline::check()?;
                let body = self.grammar.rule(entry.rule).body();
                let found = self.of_node(body, entry.from, entry.follow)?;
                has_grown |= self.rules.replace(entry, found);
            }
            let mut next = 0;
            while next < self.loops.order.len() {
                let entry = self.loops.order[next];
                next += 1;
                let found = self.of_iterations(entry)?;
                has_grown |= self.loops.replace(entry, found);
            }
            if !has_grown && met == (self.rules.order.len(), self.loops.order.len()) {
                return Ok(());
            }
        }
    }

    /// Whether precedence takes some text from some terminal.
    pub(super) fn has_conflict(&self) -> bool {
        self.has_conflict
    }

    pub(super) fn into_grammar(self) -> Grammar {
        self.grammar
    }

    /// The start rule, as it is entered at the beginning of a text.
    pub(super) fn start(&self) -> RuleEntry {
        let rule = self.grammar.start;
        let startable = self.first.of(self.grammar.rule(rule).body());
        let from = ParseState { monitor: self.monitors.idle, startable };
        RuleEntry { rule, from, follow: LazySetId::EMPTY }
    }

    /// Whether some text of a rule leads to `target`, or to any state if that is `None`.
    pub(super) fn rule_reaches(&self, entry: &RuleEntry, target: Option<ParseState>) -> bool {
        self.rules.reaches(entry, target)
    }

    /// Whether some text of a loop leads to `target`, or to any state if that is `None`.
    pub(super) fn loop_reaches(&self, entry: &LoopEntry, target: Option<ParseState>) -> bool {
        self.loops.reaches(entry, target)
    }

    pub(super) fn is_nullable(&self, node: NodeId) -> bool {
        self.nullable[node.index()]
    }

    /// The terminals that a terminal was merged from, where a lazy terminal may begin after it.
    pub(super) fn unmerged(&self, node: NodeId, follow: LazySetId) -> Option<NodeId> {
        self.unmerged.get(&node).copied().filter(|_| follow != LazySetId::EMPTY)
    }

    /// Whether a node has no conflict in this state: all its texts leave the state as it is.
    pub(super) fn is_untouched(
        &mut self,
        node: NodeId,
        from: ParseState,
        follow: LazySetId,
    ) -> Result<bool> {
        Ok(follow == LazySetId::EMPTY
            && !self.first.reaches_contextual(node)
            && self.is_unconstrained(from)?)
    }

    /// Whether any rest may follow in a state and leads back to it, and no lazy terminal may begin.
    pub(super) fn is_unconstrained(&mut self, state: ParseState) -> Result<bool> {
        let languages = &mut self.grammar.languages;
        Ok(state.startable == LazySetId::EMPTY
            && self.monitors.is_inert(languages, state.monitor)?)
    }

    /// Whether a text may end in a state: in the `target`, or in any where nothing follows (`None`).
    pub(super) fn may_end(&self, state: ParseState, target: Option<ParseState>) -> bool {
        match target {
            Some(target) => target == state,
            None => self.grammar.languages.is_nullable(state.monitor),
        }
    }

    /// The state after a token that is no text, which begins another; `None` if the text before must go on.
    pub(super) fn after_token(&self, from: ParseState, follow: LazySetId) -> Option<ParseState> {
        let may_end = self.grammar.languages.is_nullable(from.monitor);
        may_end.then_some(ParseState { monitor: self.monitors.idle, startable: follow })
    }

    /// The strings of a terminal, with its marks.
    pub(super) fn marked(&self, id: NodeId, strings: Language) -> TerminalStrings {
        TerminalStrings { strings, marks: self.lookaround.get(&id).copied() }
    }

    /// The states that a terminal leads to.
    fn of_terminal(
        &mut self,
        id: NodeId,
        language: Language,
        from: ParseState,
        follow: LazySetId,
    ) -> Result<Vec<ParseState>> {
        let (strings, monitor) = self.contested(id, language, from)?;
        let terminal = self.marked(id, strings);
        let residuals = self.monitors.residuals(&mut self.grammar.languages, terminal, monitor)?;
        let state = |monitor| ParseState { monitor, startable: follow };
        Ok(residuals.into_iter().map(state).collect())
    }

    /// The lazy languages that may begin after part `i` of a sequence.
    pub(super) fn follow_of_part(
        &mut self,
        parts: &[NodeId],
        i: usize,
        follow: LazySetId,
    ) -> LazySetId {
        let mut set = LazySetId::EMPTY;
        for &part in &parts[i + 1..] {
            set = self.sets.union(set, self.first.of(part));
            if !self.is_nullable(part) {
                return set;
            }
        }
        self.sets.union(set, follow)
    }

    /// The lazy languages that may begin after iteration number `iteration` of an unrolled repeat.
    pub(super) fn follow_of_iteration(
        &mut self,
        node: NodeId,
        iteration: u32,
        unrolling: &Unrolling,
        follow: LazySetId,
    ) -> LazySetId {
        let again =
            if unrolling.is_last(iteration) { LazySetId::EMPTY } else { self.first.of(node) };
        let after = if iteration >= unrolling.least { follow } else { LazySetId::EMPTY };
        self.sets.union(again, after)
    }

    /// The lazy languages that may begin after each iteration of a loop.
    pub(super) fn follow_in_loop(&mut self, node: NodeId, follow: LazySetId) -> LazySetId {
        self.sets.union(self.first.of(node), follow)
    }

    /// The strings of a terminal that lazy terminals do not take from it, and the monitor after that
    /// restriction. Either the strings (of a lazy terminal) or the monitor (of another one) is narrowed.
    pub(super) fn contested(
        &mut self,
        id: NodeId,
        language: Language,
        from: ParseState,
    ) -> Result<(Language, Language)> {
        let languages = &mut self.grammar.languages;
        let strings = languages.without_epsilon(language);
        let is_lazy = self.lazy.contains(&id);
        let rivals: Vec<Language> = self
            .sets
            .languages(from.startable)
            .iter()
            .copied()
            .filter(|&rival| !is_lazy || rival != language)
            .collect();
        if rivals.is_empty() {
            return Ok((strings, from.monitor));
        }
        self.has_conflict = true;
        let rivals = languages.union(rivals);
        if is_lazy {
            // Another lazy terminal whose string ends earlier is read instead.
            let byte = languages.byte_set(ByteSet::ALL);
            let more = languages.repeat(byte, 1, None);
            let longer = languages.concat([rivals, more]);
            return Ok((languages.difference(strings, longer), from.monitor));
        }
        let rivals = if self.lookaround.is_empty() {
            rivals
        } else {
            marked_text::among_marks(languages, rivals)?
        };
        let begun = languages.concat([rivals, Language::ALL]);
        Ok((strings, languages.difference(from.monitor, begun)))
    }

    /// A part whose rules are made while a text is read, as a regular language.
    pub(super) fn hole(&mut self, hole: u32) -> Result<Language> {
        if let Some(&known) = self.holes.get(&hole) {
            return Ok(known);
        }
        let source = Arc::clone(&self.grammar.holes[hole as usize]);
        let language = source.language(&mut self.grammar.languages).map_err(|error| {
            let message = "a lazy rule may begin, or a condition of a pattern looks, where a JSON Schema \
                           stands that is not regular";
            let error =
                Error::new(ErrorKind::Grammar, format!("{message}: it {}", error.message()));
            error.with_help(
                "let free text stand there, or something between that ends what the pattern looks at",
            )
        })?;
        self.holes.insert(hole, language);
        Ok(language)
    }

    /// The outcomes of a rule as far as they are known.
    fn of_rule(&mut self, entry: RuleEntry) -> Result<Vec<ParseState>> {
        self.rules.meet(entry, self.loops.order.len())
    }

    /// The outcomes of a loop as far as they are known.
    fn of_loop(&mut self, entry: LoopEntry) -> Result<Vec<ParseState>> {
        self.loops.meet(entry, self.rules.order.len())
    }

    /// The outcomes of a loop, from those of its iterations.
    fn of_iterations(&mut self, entry: LoopEntry) -> Result<Vec<ParseState>> {
        let LoopEntry { node, from, follow } = entry;
        let after = self.follow_in_loop(node, follow);
        let mut found = self.of_node(node, from, after)?;
        for state in found.clone() {
            found.extend(self.of_loop(LoopEntry { node, from: state, follow })?);
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The states that the non-empty texts of a node lead to, as far as they are known.
    pub(super) fn of_node(
        &mut self,
        id: NodeId,
        from: ParseState,
        follow: LazySetId,
    ) -> Result<Vec<ParseState>> {
        if self.is_untouched(id, from, follow)? {
            return Ok(vec![from]);
        }
        if let Some(unmerged) = self.unmerged(id, follow) {
            return self.of_node(unmerged, from, follow);
        }
        let mut found = match self.grammar.node(id).clone() {
            Node::Regular(language) | Node::JsonString(language) => {
                self.of_terminal(id, language, from, follow)?
            }
            Node::Special(_) => self.after_token(from, follow).into_iter().collect(),
            Node::Hole(_) if self.is_unconstrained(from)? => {
                vec![ParseState { startable: follow, ..from }]
            }
            Node::Hole(hole) => {
                let language = self.hole(hole)?;
                self.of_terminal(id, language, from, follow)?
            }
            Node::Choice(parts) => {
                let mut found = Vec::new();
                for &part in &parts {
                    found.extend(self.of_node(part, from, follow)?);
                }
                found
            }
            Node::Sequence(parts) => self.of_sequence(&parts, from, follow)?,
            Node::Repeat { node, min, max } => self.of_repeat(node, (min, max), from, follow)?,
            Node::Attributed { node, .. } => self.of_node(node, from, follow)?,
            Node::Call(rule) => self.of_rule(RuleEntry { rule, from, follow })?,
            Node::KeyChoice(_) | Node::Capture(..) | Node::Scope(..) => {
                return Err(made_on_demand());
            }
        };
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    fn of_sequence(
        &mut self,
        parts: &[NodeId],
        from: ParseState,
        follow: LazySetId,
    ) -> Result<Vec<ParseState>> {
        // States before the next part, each with whether something was read.
        let mut states = vec![(from, false)];
        for (i, &part) in parts.iter().enumerate() {
            let after = self.follow_of_part(parts, i, follow);
            let mut next = Vec::new();
            for (state, has_read) in states {
                if self.is_nullable(part) {
                    next.push((state, has_read));
                }
                let outcomes = self.of_node(part, state, after)?;
                next.extend(outcomes.into_iter().map(|state| (state, true)));
            }
            next.sort_unstable();
            next.dedup();
            states = next;
        }
        Ok(states.into_iter().filter(|&(_, has_read)| has_read).map(|(state, _)| state).collect())
    }

    fn of_repeat(
        &mut self,
        node: NodeId,
        (min, max): (u32, Option<u32>),
        from: ParseState,
        follow: LazySetId,
    ) -> Result<Vec<ParseState>> {
        if let Some(outcome) = self.uniform_iterations(node, min, from, follow)? {
            return Ok(vec![outcome]);
        }
        let mut found = Vec::new();
        let mut states = vec![from];
        let unrolling = Unrolling::of(min, max, self.is_nullable(node))?;
        for iteration in 1..=unrolling.written {
            let after = self.follow_of_iteration(node, iteration, &unrolling, follow);
            let mut next = Vec::new();
            for &state in &states {
                next.extend(self.of_node(node, state, after)?);
            }
            next.sort_unstable();
            next.dedup();
            if iteration >= unrolling.least {
                found.extend_from_slice(&next);
            }
            states = next;
        }
        if unrolling.has_loop {
            for from in states {
                found.extend(self.of_loop(LoopEntry { node, from, follow })?);
            }
        }
        Ok(found)
    }

    /// The state after a repeat whose iterations are all alike, so that it stays a repeat: each
    /// iteration begins and ends in that state, and it makes no difference whether another one may
    /// follow.
    pub(super) fn uniform_iterations(
        &mut self,
        node: NodeId,
        min: u32,
        from: ParseState,
        follow: LazySetId,
    ) -> Result<Option<ParseState>> {
        let first = self.first.of(node);
        let again = self.sets.union(first, follow);
        // Before the least number of iterations nothing but another iteration may follow.
        let must_repeat = min > 1 && !self.is_nullable(node);
        if again != follow
            || (must_repeat && first != follow)
            || from.startable != follow
            || !self.monitors.is_inert(&mut self.grammar.languages, from.monitor)?
        {
            return Ok(None);
        }
        Ok((self.of_node(node, from, follow)? == [from]).then_some(from))
    }
}
