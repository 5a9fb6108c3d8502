//! Precedence of lazy terminals over everything else that may begin at the same place.
//!
//! A lazy terminal is a shortest match: a language no string of which begins another. That alone
//! does not stop a grammar from reading its text in another way. In
//!
//! ```text
//! start: tool* tail
//! tool: head /[0-9]+/ "</tool>"
//! head[lazy]: TEXT "<tool>"
//! tail: TEXT
//! ```
//!
//! `tail` alone could take `<tool>x`. The rule of precedence: *where a lazy terminal may begin, a
//! text whose rest begins with one of its strings is read by it*. So every other way to go on from
//! there is for rests that begin with none of its strings, however far such a string would reach;
//! and of two lazy terminals the one whose string ends first is read (both, where both end there).
//!
//! A *place* is a position between two terminals of one parse. The terminals that may begin there
//! are those that begin what is left of the parse, before another choice is made: other
//! alternatives, another turn of a repeat, what follows it. An empty turn of a repeat is none.
//!
//! The grammar is rewritten for this, and stays a grammar. Along each parse a *state* is carried:
//! the lazy languages that may begin at the next place, and a *monitor*, the regular language that
//! the rest of the text must be in. At a place with lazy languages `H`, any other terminal makes the
//! monitor `M` into `M & ~(H .*)`; reading a text makes it the derivative by that text. Rules are
//! copied for the states that they are entered and left in, as in the intersection of a grammar
//! with a regular language (Bar-Hillel, Perles, Shamir, "On Formal Properties of Simple Phrase
//! Structure Grammars", 1961). Most rules see one state only; the free text behind the last call
//! becomes `TEXT & ~(TEXT "<tool>" .*)`, one terminal.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Grammar, GrammarBuilder, Node, NodeId, Origin, RuleId, analysis};
use crate::deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::regular::{ByteSet, Language};

/// Copies of rules that a rewritten grammar may have.
const MAX_COPIES: usize = 20_000;
/// States of a terminal beside a monitor that may be looked at.
const MAX_PAIRS: usize = 100_000;
/// Turns of a counted repeat that are written out.
const MAX_TURNS: u32 = 1_000;

/// A set of lazy languages, by its number.
type Set = u32;

/// No lazy language.
const NONE: Set = 0;

/// What is known between two terminals of a parse.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct State {
    /// What the rest of the text must be in.
    monitor: Language,
    /// Lazy languages that may begin here.
    place: Set,
}

/// Between terminals that no lazy language has to do with.
const UNTOUCHED: State = State { monitor: Language::ALL, place: NONE };

/// A rule with the states around it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Entry {
    rule: RuleId,
    from: State,
    /// Lazy languages that may begin behind it.
    follow: Set,
}

/// A repeat without bound, from its second turn on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Loop {
    node: NodeId,
    from: State,
    follow: Set,
}

/// The grammar with lazy terminals taking precedence.
///
/// `lazy` are those terminals. `apart` says of terminals that are made of several how they are made
/// of them, which matters where a lazy terminal may begin between two of these.
///
/// Errors if the rewritten grammar would exceed a limit.
pub(crate) fn prefer_lazy(
    grammar: Grammar,
    lazy: &[NodeId],
    apart: FxHashMap<NodeId, NodeId>,
) -> Result<Grammar> {
    let mut lazy_nodes = FxHashSet::default();
    for &id in lazy {
        // A lazy terminal that may be empty is always empty: it takes nothing from others.
        if let Node::Regular(language) = grammar.node(id)
            && !grammar.languages.is_nullable(*language)
        {
            lazy_nodes.insert(id);
        }
    }
    if lazy_nodes.is_empty() {
        return Ok(grammar);
    }
    let mut rewriting = Rewriting::new(grammar, lazy_nodes, apart);
    rewriting.find_outcomes()?;
    if !rewriting.has_conflict {
        return Ok(rewriting.grammar);
    }
    let name = rewriting.grammar.rules[rewriting.grammar.start.index()].name.clone();
    Writer {
        rewriting,
        builder: GrammarBuilder::new(),
        copies: FxHashMap::default(),
        rules: FxHashMap::default(),
        todo: Vec::new(),
        name,
    }
    .grammar()
}

struct Rewriting {
    grammar: Grammar,
    lazy: FxHashSet<NodeId>,
    /// By terminal: the same language, made of terminals that are not put together.
    apart: FxHashMap<NodeId, NodeId>,
    nullable: Vec<bool>,
    /// By node: the lazy languages that may begin it.
    first: Vec<Set>,
    /// By node: whether a lazy terminal is reachable from it.
    has_lazy: Vec<bool>,
    sets: Vec<Box<[Language]>>,
    set_numbers: FxHashMap<Box<[Language]>, Set>,
    /// By entry: the states that its non-empty texts lead to, ascending.
    outcomes: FxHashMap<Entry, Vec<State>>,
    loops: FxHashMap<Loop, Vec<State>>,
    /// Entries and loops in the order in which they were met.
    entries: Vec<Entry>,
    loop_entries: Vec<Loop>,
    /// By terminal and monitor: the monitors that its strings lead to.
    residuals: FxHashMap<(Language, Language), Vec<Language>>,
    /// By monitor and residual: the strings that lead from the one to the other.
    paths: FxHashMap<(Language, Language), Language>,
    /// Whether precedence takes any text from any terminal.
    has_conflict: bool,
    /// What holes are as regular languages, where lazy languages take texts from them.
    holes: FxHashMap<u32, Language>,
}

impl Rewriting {
    fn new(grammar: Grammar, lazy: FxHashSet<NodeId>, apart: FxHashMap<NodeId, NodeId>) -> Self {
        let nullable = analysis::least(&grammar, |_, node| match node {
            Node::Regular(language) | Node::Text(language) => {
                grammar.languages.is_nullable(*language)
            }
            _ => false,
        });
        let mut rewriting = Self {
            first: vec![NONE; grammar.nodes.len()],
            has_lazy: vec![false; grammar.nodes.len()],
            grammar,
            lazy,
            apart,
            nullable,
            sets: vec![Box::default()],
            set_numbers: FxHashMap::from_iter([(Box::default(), NONE)]),
            outcomes: FxHashMap::default(),
            loops: FxHashMap::default(),
            entries: Vec::new(),
            loop_entries: Vec::new(),
            residuals: FxHashMap::default(),
            paths: FxHashMap::default(),
            has_conflict: false,
            holes: FxHashMap::default(),
        };
        rewriting.find_first();
        rewriting
    }

    /// Fills `first` and `has_lazy`, from the lazy terminals up.
    fn find_first(&mut self) {
        let count = self.grammar.nodes.len();
        let mut parents: Vec<Vec<(usize, bool)>> = vec![Vec::new(); count];
        for (parent, node) in self.grammar.nodes.iter().enumerate() {
            match node {
                Node::Sequence(parts) => {
                    let mut at_left_edge = true;
                    for part in parts {
                        parents[part.index()].push((parent, at_left_edge));
                        at_left_edge &= self.nullable[part.index()];
                    }
                }
                Node::Choice(parts) => {
                    parts.iter().for_each(|part| parents[part.index()].push((parent, true)));
                }
                Node::Repeat { node, .. } => parents[node.index()].push((parent, true)),
                Node::Call(rule) => {
                    let body = self.grammar.rule(*rule).body();
                    parents[body.index()].push((parent, true));
                }
                _ => {}
            }
        }
        let mut todo = Vec::new();
        for &id in &self.lazy.clone() {
            if let Node::Regular(language) = *self.grammar.node(id) {
                self.first[id.index()] = self.set(vec![language]);
                self.has_lazy[id.index()] = true;
                todo.push(id.index());
            }
        }
        while let Some(node) = todo.pop() {
            for &(parent, at_left_edge) in &parents[node] {
                let mut first = self.first[parent];
                if at_left_edge {
                    first = self.union(first, self.first[node]);
                }
                if first != self.first[parent] || !self.has_lazy[parent] {
                    self.first[parent] = first;
                    self.has_lazy[parent] = true;
                    todo.push(parent);
                }
            }
        }
    }

    fn set(&mut self, mut languages: Vec<Language>) -> Set {
        languages.sort_unstable();
        languages.dedup();
        let languages: Box<[Language]> = languages.into();
        if let Some(&number) = self.set_numbers.get(&languages) {
            return number;
        }
        // There are no more sets than nodes and copies, which are limited.
        let number = self.sets.len() as Set;
        self.sets.push(languages.clone());
        self.set_numbers.insert(languages, number);
        number
    }

    fn union(&mut self, a: Set, b: Set) -> Set {
        if a == b || b == NONE {
            return a;
        }
        if a == NONE {
            return b;
        }
        let both = [&*self.sets[a as usize], &*self.sets[b as usize]].concat();
        self.set(both)
    }

    fn is_nullable(&self, node: NodeId) -> bool {
        self.nullable[node.index()]
    }

    /// A part that is made while a text is read, as a regular language.
    fn hole(&mut self, hole: u32) -> Result<Language> {
        if let Some(&known) = self.holes.get(&hole) {
            return Ok(known);
        }
        let source = Arc::clone(&self.grammar.holes[hole as usize]);
        let language = source.language(&mut self.grammar.languages).map_err(|error| {
            let message = "a lazy rule may begin where a JSON Schema stands that is not regular";
            let error =
                Error::new(ErrorKind::Grammar, format!("{message}: it {}", error.message()));
            error.with_help("let free text stand there, or write the lazy rule in another way")
        })?;
        self.holes.insert(hole, language);
        Ok(language)
    }

    /// Whether a node is the same in every state that it is entered in here.
    fn is_untouched(&self, node: NodeId, from: State, follow: Set) -> bool {
        from == UNTOUCHED && follow == NONE && !self.has_lazy[node.index()]
    }

    /// The lazy languages that may begin behind part `i` of a sequence.
    fn follow_of(&mut self, parts: &[NodeId], i: usize, follow: Set) -> Set {
        let mut set = NONE;
        for &part in &parts[i + 1..] {
            set = self.union(set, self.first[part.index()]);
            if !self.is_nullable(part) {
                return set;
            }
        }
        self.union(set, follow)
    }

    /// The strings of a terminal that precedence leaves to it, and the monitor that they are read
    /// beside.
    fn terminal(&mut self, id: NodeId, language: Language, from: State) -> (Language, Language) {
        let languages = &mut self.grammar.languages;
        let strings = languages.without_epsilon(language);
        let rivals: Vec<Language> = self.sets[from.place as usize]
            .iter()
            .copied()
            .filter(|&rival| !self.lazy.contains(&id) || rival != language)
            .collect();
        if rivals.is_empty() {
            return (strings, from.monitor);
        }
        self.has_conflict = true;
        let rivals = languages.union(rivals);
        if self.lazy.contains(&id) {
            // What another lazy terminal ends before it.
            let byte = languages.byte_set(ByteSet::ALL);
            let more = languages.repeat(byte, 1, None);
            let longer = languages.concat([rivals, more]);
            return (languages.difference(strings, longer), from.monitor);
        }
        let begun = languages.concat([rivals, Language::ALL]);
        (strings, languages.difference(from.monitor, begun))
    }

    /// The monitors that the strings of a terminal lead to.
    fn residuals(&mut self, strings: Language, monitor: Language) -> Result<Vec<Language>> {
        if let Some(known) = self.residuals.get(&(strings, monitor)) {
            return Ok(known.clone());
        }
        let languages = &mut self.grammar.languages;
        let mut found = FxHashSet::default();
        if monitor == Language::ALL {
            if languages.is_live(strings)? {
                found.insert(monitor);
            }
        } else {
            let mut seen = FxHashSet::from_iter([(strings, monitor)]);
            let mut todo = vec![(strings, monitor)];
            while let Some((x, m)) = todo.pop() {
                deadline::check()?;
                let row = *languages.row(x)?;
                let monitors = *languages.row(m)?;
                for (x, m) in row.into_iter().zip(monitors) {
                    if x == Language::EMPTY || m == Language::EMPTY || !seen.insert((x, m)) {
                        continue;
                    }
                    if seen.len() > MAX_PAIRS {
                        return Err(too_many());
                    }
                    if languages.is_nullable(x) {
                        found.insert(m);
                    }
                    todo.push((x, m));
                }
            }
        }
        let mut found: Vec<Language> = found.into_iter().collect();
        found.sort_unstable();
        self.residuals.insert((strings, monitor), found.clone());
        Ok(found)
    }

    /// The strings that lead from a monitor to one of its residuals.
    fn path(&mut self, monitor: Language, residual: Language) -> Result<Language> {
        if let Some(&known) = self.paths.get(&(monitor, residual)) {
            return Ok(known);
        }
        let languages = &mut self.grammar.languages;
        let mut variables = FxHashMap::default();
        let first = languages.variable(monitor == residual);
        variables.insert(monitor, first);
        let (mut order, mut todo) = (vec![first], vec![monitor]);
        while let Some(m) = todo.pop() {
            deadline::check()?;
            let row = *languages.row(m)?;
            let mut steps: Vec<(Language, ByteSet)> = Vec::new();
            for (byte, next) in (0..=u8::MAX).zip(row) {
                if next == Language::EMPTY {
                    continue;
                }
                match steps.iter_mut().find(|(known, _)| *known == next) {
                    Some((_, bytes)) => bytes.insert(byte),
                    None => steps.push((next, ByteSet::single(byte))),
                }
            }
            let mut parts = Vec::new();
            for (next, bytes) in steps {
                let variable = match variables.get(&next) {
                    Some(&variable) => variable,
                    None => {
                        if variables.len() > MAX_PAIRS {
                            return Err(too_many());
                        }
                        let variable = languages.variable(next == residual);
                        variables.insert(next, variable);
                        order.push(variable);
                        todo.push(next);
                        variable
                    }
                };
                let bytes = languages.byte_set(bytes);
                parts.push(languages.concat([bytes, variable]));
            }
            if m == residual {
                parts.push(Language::EPSILON);
            }
            let body = languages.union(parts);
            languages.define(variables[&m], body);
        }
        let path = languages.settle(&order, first);
        self.paths.insert((monitor, residual), path);
        Ok(path)
    }

    /// Finds all entries that the start leads to, and their outcomes: a least fixed point, reached
    /// when a round neither meets an entry nor changes an outcome.
    fn find_outcomes(&mut self) -> Result<()> {
        let start = self.start();
        self.call(start)?;
        loop {
            let met = (self.entries.len(), self.loop_entries.len());
            let mut grew = false;
            let mut next = 0;
            while next < self.entries.len() {
                let entry = self.entries[next];
                next += 1;
                deadline::check()?;
                let body = self.grammar.rule(entry.rule).body();
                let found = self.node(body, entry.from, entry.follow)?;
                grew |= self.outcomes.get(&entry) != Some(&found);
                self.outcomes.insert(entry, found);
            }
            let mut next = 0;
            while next < self.loop_entries.len() {
                let entry = self.loop_entries[next];
                next += 1;
                let found = self.turns(entry)?;
                grew |= self.loops.get(&entry) != Some(&found);
                self.loops.insert(entry, found);
            }
            if !grew && met == (self.entries.len(), self.loop_entries.len()) {
                return Ok(());
            }
        }
    }

    fn start(&self) -> Entry {
        let rule = self.grammar.start;
        let place = self.first[self.grammar.rule(rule).body().index()];
        Entry { rule, from: State { monitor: Language::ALL, place }, follow: NONE }
    }

    /// The outcomes of an entry as far as they are known.
    fn call(&mut self, entry: Entry) -> Result<Vec<State>> {
        if let Some(known) = self.outcomes.get(&entry) {
            return Ok(known.clone());
        }
        if self.entries.len() + self.loop_entries.len() > MAX_COPIES {
            return Err(too_many());
        }
        self.entries.push(entry);
        self.outcomes.insert(entry, Vec::new());
        Ok(Vec::new())
    }

    fn call_loop(&mut self, entry: Loop) -> Result<Vec<State>> {
        if let Some(known) = self.loops.get(&entry) {
            return Ok(known.clone());
        }
        if self.entries.len() + self.loop_entries.len() > MAX_COPIES {
            return Err(too_many());
        }
        self.loop_entries.push(entry);
        self.loops.insert(entry, Vec::new());
        Ok(Vec::new())
    }

    /// The states that the non-empty texts of a node lead to, as far as they are known.
    fn node(&mut self, id: NodeId, from: State, follow: Set) -> Result<Vec<State>> {
        if self.is_untouched(id, from, follow) {
            return Ok(vec![from]);
        }
        let mut found = match self.grammar.node(id).clone() {
            Node::Regular(_) if follow != NONE && self.apart.contains_key(&id) => {
                self.node(self.apart[&id], from, follow)?
            }
            Node::Regular(language) | Node::Text(language) => {
                let (strings, monitor) = self.terminal(id, language, from);
                let residuals = self.residuals(strings, monitor)?;
                residuals.into_iter().map(|monitor| State { monitor, place: follow }).collect()
            }
            Node::Special(_) => vec![State { monitor: Language::ALL, place: follow }],
            Node::Hole(_) if from == UNTOUCHED => {
                vec![State { monitor: Language::ALL, place: follow }]
            }
            Node::Hole(hole) => {
                let language = self.hole(hole)?;
                let (strings, monitor) = self.terminal(id, language, from);
                let residuals = self.residuals(strings, monitor)?;
                residuals.into_iter().map(|monitor| State { monitor, place: follow }).collect()
            }
            Node::Choice(parts) => {
                let mut found = Vec::new();
                for &part in &parts {
                    found.extend(self.node(part, from, follow)?);
                }
                found
            }
            Node::Sequence(parts) => {
                // By whether something was read.
                let mut states = vec![(from, false)];
                for (i, &part) in parts.iter().enumerate() {
                    let behind = self.follow_of(&parts, i, follow);
                    let mut next = Vec::new();
                    for (state, has_read) in states {
                        if self.is_nullable(part) {
                            next.push((state, has_read));
                        }
                        let outcomes = self.node(part, state, behind)?;
                        next.extend(outcomes.into_iter().map(|state| (state, true)));
                    }
                    next.sort_unstable();
                    next.dedup();
                    states = next;
                }
                states
                    .into_iter()
                    .filter(|&(_, has_read)| has_read)
                    .map(|(state, _)| state)
                    .collect()
            }
            Node::Repeat { node, min, max } => {
                if let Some(outcome) = self.uniform(node, min, from, follow)? {
                    vec![outcome]
                } else {
                    let mut found = Vec::new();
                    let mut states = vec![from];
                    let turns = self.turns_of(node, min, max)?;
                    for turn in 1..=turns.written {
                        let behind = self.behind_turn(node, turn, &turns, follow);
                        let mut next = Vec::new();
                        for &state in &states {
                            next.extend(self.node(node, state, behind)?);
                        }
                        next.sort_unstable();
                        next.dedup();
                        if turn >= turns.least {
                            found.extend_from_slice(&next);
                        }
                        states = next;
                    }
                    if turns.goes_on {
                        for from in states {
                            found.extend(self.call_loop(Loop { node, from, follow })?);
                        }
                    }
                    found
                }
            }
            Node::Call(rule) => self.call(Entry { rule, from, follow })?,
            Node::Names(_) | Node::Capture(..) | Node::Scope(..) => return Err(read_as_made()),
        };
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The state behind a repeat each turn of which is alike: it begins and ends in one state, and
    /// it makes no difference whether another turn may follow.
    fn uniform(
        &mut self,
        node: NodeId,
        min: u32,
        from: State,
        follow: Set,
    ) -> Result<Option<State>> {
        let first = self.first[node.index()];
        let again = self.union(first, follow);
        // Before the least number of turns nothing but another turn may follow.
        let must_repeat = min > 1 && !self.is_nullable(node);
        if again != follow
            || (must_repeat && first != follow)
            || from.place != follow
            || from.monitor != Language::ALL
        {
            return Ok(None);
        }
        Ok((self.node(node, from, follow)? == [from]).then_some(from))
    }

    /// How a repeat is written out.
    fn turns_of(&self, node: NodeId, min: u32, max: Option<u32>) -> Result<Turns> {
        let least = if self.is_nullable(node) { 1 } else { min.max(1) };
        let turns = match max {
            Some(most) => Turns { least, written: most, goes_on: false },
            None => Turns { least, written: least - 1, goes_on: true },
        };
        if turns.written <= MAX_TURNS {
            return Ok(turns);
        }
        let message = format!(
            "a repeat of more than {MAX_TURNS} turns stands where a lazy rule may begin, or where \
             what a lazy rule begins with is excluded"
        );
        Err(Error::new(ErrorKind::Grammar, message).with_help("write it as `*` or `+`"))
    }

    /// The lazy languages that may begin behind turn number `turn`.
    fn behind_turn(&mut self, node: NodeId, turn: u32, turns: &Turns, follow: Set) -> Set {
        let is_last = turn == turns.written && !turns.goes_on;
        let again = if is_last { NONE } else { self.first[node.index()] };
        let behind = if turn >= turns.least { follow } else { NONE };
        self.union(again, behind)
    }

    /// The states that one or more turns of a repeat lead to, as far as they are known.
    fn turns(&mut self, entry: Loop) -> Result<Vec<State>> {
        let Loop { node, from, follow } = entry;
        let behind = self.union(self.first[node.index()], follow);
        let mut found = self.node(node, from, behind)?;
        for state in found.clone() {
            found.extend(self.call_loop(Loop { node, from: state, follow })?);
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}

/// How a repeat is written out.
struct Turns {
    /// The least number of turns.
    least: u32,
    /// Turns that are written one by one.
    written: u32,
    /// Whether any number of turns may follow these, at least one.
    goes_on: bool,
}

/// Writes the rewritten grammar, once all outcomes are known.
struct Writer {
    rewriting: Rewriting,
    builder: GrammarBuilder,
    /// Nodes that are the same in every state, copied.
    copies: FxHashMap<NodeId, NodeId>,
    rules: FxHashMap<Variant, RuleId>,
    /// Rules that have no body yet.
    todo: Vec<(Variant, RuleId)>,
    /// The name of the rule that is being written.
    name: Origin,
}

/// What a rule of the rewritten grammar is made of, with the state that its texts lead to; `None`
/// where the text ends behind it, so that any state will do.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Variant {
    /// As it is.
    Whole(RuleId),
    /// Its texts that are not empty.
    Entry(Entry, Option<State>),
    Loop(Loop, Option<State>),
}

/// The rest of a sequence that is written part by part.
struct Rest<'a> {
    parts: &'a [NodeId],
    follow: Set,
    target: Option<State>,
    /// By part, state, and whether something was read.
    known: FxHashMap<(usize, State, bool), Option<Vec<NodeId>>>,
}

impl Writer {
    fn grammar(mut self) -> Result<Grammar> {
        let start = self.rewriting.start();
        let rule = self.rule(Variant::Entry(start, None));
        while let Some((variant, rule)) = self.todo.pop() {
            deadline::check()?;
            if self.todo.len() > MAX_COPIES {
                return Err(too_many());
            }
            let body = self.body(variant)?;
            let body = body.unwrap_or_else(|| self.builder.choice([]));
            self.builder.define(rule, body);
        }
        let body = self.rewriting.grammar.rule(start.rule).body();
        let rule = if self.rewriting.is_nullable(body) {
            let name = self.rewriting.grammar.rules[start.rule.index()].name.clone();
            let (text, empty) = (self.builder.call(rule), self.builder.empty());
            let body = self.builder.choice([text, empty]);
            let whole = self.builder.declare_from(name);
            self.builder.define(whole, body);
            whole
        } else {
            rule
        };
        self.builder.holes = std::mem::take(&mut self.rewriting.grammar.holes);
        self.builder.languages = std::mem::take(&mut self.rewriting.grammar.languages);
        self.builder.finish(rule)
    }

    fn rule(&mut self, variant: Variant) -> RuleId {
        if let Some(&rule) = self.rules.get(&variant) {
            return rule;
        }
        let name = match variant {
            Variant::Whole(rule) | Variant::Entry(Entry { rule, .. }, _) => {
                self.rewriting.grammar.rules[rule.index()].name.clone()
            }
            Variant::Loop(..) => self.name.clone(),
        };
        let rule = self.builder.declare_from(name);
        self.rules.insert(variant, rule);
        self.todo.push((variant, rule));
        rule
    }

    fn body(&mut self, variant: Variant) -> Result<Option<NodeId>> {
        match variant {
            Variant::Whole(rule) => {
                self.name = self.rewriting.grammar.rules[rule.index()].name.clone();
                let body = self.rewriting.grammar.rule(rule).body();
                Ok(Some(self.copy(body)))
            }
            Variant::Entry(Entry { rule, from, follow }, target) => {
                self.name = self.rewriting.grammar.rules[rule.index()].name.clone();
                let body = self.rewriting.grammar.rule(rule).body();
                self.node(body, from, follow, target)
            }
            Variant::Loop(Loop { node, from, follow }, target) => {
                let first = self.rewriting.first[node.index()];
                let behind = self.rewriting.union(first, follow);
                let mut ways = Vec::new();
                ways.extend(self.node(node, from, behind, target)?);
                for state in self.rewriting.node(node, from, behind)? {
                    let rest = Loop { node, from: state, follow };
                    if !self.leads(&self.rewriting.loops, &rest, target) {
                        continue;
                    }
                    if let Some(turn) = self.node(node, from, behind, Some(state))? {
                        let rest = self.rule(Variant::Loop(rest, target));
                        let rest = self.builder.call(rest);
                        ways.push(self.builder.sequence([turn, rest]));
                    }
                }
                Ok((!ways.is_empty()).then(|| self.builder.choice(ways)))
            }
        }
    }

    /// Whether some text of an entry leads to a state.
    fn leads<K: Eq + std::hash::Hash>(
        &self,
        outcomes: &FxHashMap<K, Vec<State>>,
        entry: &K,
        target: Option<State>,
    ) -> bool {
        outcomes.get(entry).is_some_and(|states| match target {
            Some(target) => states.contains(&target),
            None => !states.is_empty(),
        })
    }

    /// A node and all that it calls, as they are.
    fn copy(&mut self, id: NodeId) -> NodeId {
        if let Some(&known) = self.copies.get(&id) {
            return known;
        }
        let node = match self.rewriting.grammar.node(id).clone() {
            Node::Sequence(parts) => {
                Node::Sequence(parts.iter().map(|&part| self.copy(part)).collect())
            }
            Node::Choice(parts) => {
                Node::Choice(parts.iter().map(|&part| self.copy(part)).collect())
            }
            Node::Repeat { node, min, max } => Node::Repeat { node: self.copy(node), min, max },
            Node::Call(rule) => Node::Call(self.rule(Variant::Whole(rule))),
            leaf => leaf,
        };
        let copy = self.builder.add(node);
        self.mark(copy, id);
        self.copies.insert(id, copy);
        copy
    }

    /// Says of a node that it comes from where another does.
    fn mark(&mut self, node: NodeId, from: NodeId) {
        if let Some(origin) = self.rewriting.grammar.origin(from)
            && self.builder.origin(node).is_none()
        {
            self.builder.mark_from(node, origin.clone());
        }
    }

    /// The texts of a node that lead to the target and are not empty (or leave the state as it is);
    /// `None` if there are none.
    fn node(
        &mut self,
        id: NodeId,
        from: State,
        follow: Set,
        target: Option<State>,
    ) -> Result<Option<NodeId>> {
        if self.rewriting.is_untouched(id, from, follow) {
            return Ok(target.is_none_or(|target| target == from).then(|| self.copy(id)));
        }
        let written = match self.rewriting.grammar.node(id).clone() {
            Node::Regular(_) if follow != NONE && self.rewriting.apart.contains_key(&id) => {
                let apart = self.rewriting.apart[&id];
                self.node(apart, from, follow, target)?.map(|node| self.together(node))
            }
            Node::Regular(language) | Node::Text(language) => {
                let (strings, monitor) = self.rewriting.terminal(id, language, from);
                match self.strings(strings, monitor, follow, target)? {
                    Some(language) => Some(self.builder.regular(language)),
                    None => None,
                }
            }
            Node::Special(token) => {
                let state = State { monitor: Language::ALL, place: follow };
                target.is_none_or(|target| target == state).then(|| self.builder.special(token))
            }
            Node::Hole(hole) if from == UNTOUCHED => {
                let state = State { monitor: Language::ALL, place: follow };
                let leads = target.is_none_or(|target| target == state);
                leads.then(|| self.builder.add(Node::Hole(hole)))
            }
            Node::Hole(hole) => {
                let language = self.rewriting.hole(hole)?;
                let (strings, monitor) = self.rewriting.terminal(id, language, from);
                let strings = self.strings(strings, monitor, follow, target)?;
                strings.map(|language| self.builder.regular(language))
            }
            Node::Choice(parts) => {
                let mut ways = Vec::new();
                for &part in &parts {
                    ways.extend(self.node(part, from, follow, target)?);
                }
                (!ways.is_empty()).then(|| self.builder.choice(ways))
            }
            Node::Sequence(parts) => {
                let mut rest = Rest { parts: &parts, follow, target, known: FxHashMap::default() };
                let parts = self.sequence(&mut rest, 0, from, false)?;
                parts.map(|parts| self.builder.sequence(parts))
            }
            Node::Repeat { node, min, max } => {
                self.repeat(node, (min, max), from, follow, target)?
            }
            Node::Call(rule) => {
                let entry = Entry { rule, from, follow };
                if self.leads(&self.rewriting.outcomes, &entry, target) {
                    let rule = self.rule(Variant::Entry(entry, target));
                    Some(self.builder.call(rule))
                } else {
                    None
                }
            }
            Node::Names(_) | Node::Capture(..) | Node::Scope(..) => return Err(read_as_made()),
        };
        if let Some(written) = written {
            self.mark(written, id);
        }
        Ok(written)
    }

    /// One terminal in the place of a node that calls no rule.
    fn together(&mut self, node: NodeId) -> NodeId {
        match self.language(node) {
            Some(language) => self.builder.regular(language),
            None => node,
        }
    }

    /// The language of a written node that calls no rule and counts nothing.
    fn language(&mut self, node: NodeId) -> Option<Language> {
        match self.builder.node(node).clone() {
            Node::Regular(language) => Some(language),
            Node::Sequence(parts) => {
                let parts: Option<Vec<Language>> =
                    parts.iter().map(|&part| self.language(part)).collect();
                Some(self.rewriting.grammar.languages.concat(parts?))
            }
            Node::Choice(parts) => {
                let parts: Option<Vec<Language>> =
                    parts.iter().map(|&part| self.language(part)).collect();
                Some(self.rewriting.grammar.languages.union(parts?))
            }
            Node::Repeat { node, min, max } if min <= 1 && max.is_none_or(|max| max == 1) => {
                let part = self.language(node)?;
                Some(self.rewriting.grammar.languages.repeat(part, min, max))
            }
            _ => None,
        }
    }

    /// The strings of a terminal that lead to the target.
    fn strings(
        &mut self,
        strings: Language,
        monitor: Language,
        follow: Set,
        target: Option<State>,
    ) -> Result<Option<Language>> {
        let residuals = self.rewriting.residuals(strings, monitor)?;
        let beside = match target {
            None => monitor,
            Some(State { place, .. }) if place != follow => return Ok(None),
            Some(target) => match &residuals[..] {
                [one] if *one == target.monitor => monitor,
                many if many.contains(&target.monitor) => {
                    self.rewriting.path(monitor, target.monitor)?
                }
                _ => return Ok(None),
            },
        };
        if residuals.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.rewriting.grammar.languages.intersect([strings, beside])))
    }

    /// Part `i` of a sequence and those behind it.
    fn sequence(
        &mut self,
        rest: &mut Rest<'_>,
        i: usize,
        state: State,
        has_read: bool,
    ) -> Result<Option<Vec<NodeId>>> {
        let Some(&part) = rest.parts.get(i) else {
            let ends = has_read && rest.target.is_none_or(|target| target == state);
            return Ok(ends.then(Vec::new));
        };
        if let Some(known) = rest.known.get(&(i, state, has_read)) {
            return Ok(known.clone());
        }
        let behind = self.rewriting.follow_of(rest.parts, i, rest.follow);
        let mut ways: Vec<Vec<NodeId>> = Vec::new();
        if rest.target.is_none() && i + 1 == rest.parts.len() {
            ways.extend(self.node(part, state, behind, None)?.map(|node| vec![node]));
        } else {
            for next in self.rewriting.node(part, state, behind)? {
                let Some(more) = self.sequence(rest, i + 1, next, true)? else { continue };
                if let Some(node) = self.node(part, state, behind, Some(next))? {
                    ways.push([vec![node], more].concat());
                }
            }
        }
        if self.rewriting.is_nullable(part) && !self.holds_empty(part, state, behind)? {
            ways.extend(self.sequence(rest, i + 1, state, has_read)?);
        }
        let found = match ways.len() {
            0 => None,
            1 => ways.pop(),
            _ => {
                let ways: Vec<NodeId> =
                    ways.into_iter().map(|way| self.builder.sequence(way)).collect();
                Some(vec![self.builder.choice(ways)])
            }
        };
        rest.known.insert((i, state, has_read), found.clone());
        Ok(found)
    }

    /// Whether a nullable node is written with its empty text.
    fn holds_empty(&mut self, id: NodeId, from: State, follow: Set) -> Result<bool> {
        if self.rewriting.is_untouched(id, from, follow) {
            return Ok(true);
        }
        Ok(match *self.rewriting.grammar.node(id) {
            Node::Repeat { node, min, .. } => {
                self.rewriting.uniform(node, min, from, follow)?.is_some()
            }
            _ => false,
        })
    }

    fn repeat(
        &mut self,
        node: NodeId,
        (min, max): (u32, Option<u32>),
        from: State,
        follow: Set,
        target: Option<State>,
    ) -> Result<Option<NodeId>> {
        if let Some(state) = self.rewriting.uniform(node, min, from, follow)? {
            if target.is_some_and(|target| target != state) {
                return Ok(None);
            }
            let Some(turn) = self.node(node, from, follow, Some(state))? else { return Ok(None) };
            let min = if self.rewriting.is_nullable(node) { 0 } else { min };
            return Ok(Some(self.builder.repeat(turn, min, max)));
        }
        let turns = self.rewriting.turns_of(node, min, max)?;
        self.turn(node, &turns, 1, from, follow, target, &mut FxHashMap::default())
    }

    /// Turn number `number` of a repeat that is written out, and those behind it.
    #[allow(clippy::too_many_arguments)]
    fn turn(
        &mut self,
        node: NodeId,
        turns: &Turns,
        number: u32,
        from: State,
        follow: Set,
        target: Option<State>,
        known: &mut FxHashMap<(u32, State), Option<NodeId>>,
    ) -> Result<Option<NodeId>> {
        if number > turns.written {
            let rest = Loop { node, from, follow };
            if !turns.goes_on || !self.leads(&self.rewriting.loops, &rest, target) {
                return Ok(None);
            }
            let rest = self.rule(Variant::Loop(rest, target));
            return Ok(Some(self.builder.call(rest)));
        }
        if let Some(&known) = known.get(&(number, from)) {
            return Ok(known);
        }
        let behind = self.rewriting.behind_turn(node, number, turns, follow);
        let mut ways = Vec::new();
        if number >= turns.least {
            ways.extend(self.node(node, from, behind, target)?);
        }
        for state in self.rewriting.node(node, from, behind)? {
            let rest = self.turn(node, turns, number + 1, state, follow, target, known)?;
            let Some(rest) = rest else { continue };
            if let Some(turn) = self.node(node, from, behind, Some(state))? {
                ways.push(self.builder.sequence([turn, rest]));
            }
        }
        let found = (!ways.is_empty()).then(|| self.builder.choice(ways));
        known.insert((number, from), found);
        Ok(found)
    }
}

fn too_many() -> Error {
    Error::new(
        ErrorKind::Limit,
        "a lazy rule and what else may begin in its place combine into too many cases",
    )
    .with_help("let free text stand behind the last call, as in `start: tool* TEXT`")
}

fn read_as_made() -> Error {
    Error::new(ErrorKind::Grammar, "a lazy rule stands beside rules that are made as they are read")
}
