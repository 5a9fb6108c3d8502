//! The facts of a parse: the positions at which rules begin, and where each may end.
//!
//! Earley's algorithm over a network: an *item* is a state of a rule's automaton with the position at
//! which the rule was called. Position by position, items call rules, read terminals to all positions
//! at which these may end, and at the end of a rule wake the items that wait for it. A rule that may
//! still go on after the last position is *open*.
//!
//! Time and memory are linear in the text for grammars whose lists are repeats or left recursive,
//! quadratic for lists by right recursion, and cubic at worst.
//!
//! Example: `start: word "," word` on `ab,`
//!
//! ```text
//! position 0   start: · word "," word      word: · [a-z]+  may end at 1 and 2
//! position 2   start: word · "," word      ends at 3
//! position 3   start: word "," · word      word is open, and so is start
//! ```

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::input::{Input, Symbol};
use super::network::{Network, NetworkRuleId, NetworkState, RuleKind, StateId, Terminal};
use crate::deadline;
use crate::error::{Error, ErrorKind, LimitName, Result};
use crate::regular::{Language, Languages};

/// Reads the parts of a grammar whose rules are made while a text is read.
pub(in crate::constraint) trait HoleReader: Send + Sync {
    /// The texts of a part, by its index, at the beginning of these symbols; ends are counted from
    /// there.
    fn read(&self, hole: u32, symbols: &[Symbol]) -> Result<Run>;
}

/// A state that is reached, in a rule that was called at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct EarleyItem {
    state: StateId,
    origin: u32,
    /// The iterations of a counted repeat.
    iterations: u32,
}

/// The texts of a terminal from one position.
#[derive(Debug, Default)]
pub(in crate::constraint) struct Run {
    /// The positions at which it may end, ascending.
    pub(in crate::constraint) ends: Vec<u32>,
    /// Whether it may go on after the last position.
    pub(in crate::constraint) is_open: bool,
}

/// The facts of a parse.
#[derive(Debug)]
pub(super) struct Chart<'a> {
    pub(super) network: &'a Network,
    pub(super) input: &'a Input,
    /// By terminal and position.
    runs: FxHashMap<(Terminal, u32), Rc<Run>>,
    /// By rule and the position at which it begins: where it may end, ascending.
    ends: FxHashMap<(NetworkRuleId, u32), Vec<u32>>,
    /// Rules, with the position at which they begin, that may go on after the last position.
    open: FxHashSet<(NetworkRuleId, u32)>,
}

/// A chart that is being made.
struct ChartBuilder<'a, 'b> {
    holes: &'b dyn HoleReader,
    languages: &'b mut Languages,
    chart: Chart<'a>,
    /// By position: items to look at.
    items: Vec<Vec<EarleyItem>>,
    /// The items of the position that is looked at.
    seen: FxHashSet<EarleyItem>,
    /// The items that wait for the end of a rule, by rule and the position of the call.
    waiting: FxHashMap<(NetworkRuleId, u32), Vec<EarleyItem>>,
    /// Items that may be added before the limit on memory.
    left: usize,
}

impl<'a> Chart<'a> {
    /// The facts about a text.
    ///
    /// Errors at a limit of time or memory.
    pub(super) fn parse(
        network: &'a Network,
        languages: &mut Languages,
        holes: &dyn HoleReader,
        max_bytes: usize,
        input: &'a Input,
    ) -> Result<Self> {
        let chart = Self {
            network,
            input,
            runs: FxHashMap::default(),
            ends: FxHashMap::default(),
            open: FxHashSet::default(),
        };
        let mut builder = ChartBuilder {
            holes,
            languages,
            chart,
            items: vec![Vec::new(); input.end() as usize + 1],
            seen: FxHashSet::default(),
            waiting: FxHashMap::default(),
            left: max_bytes / (2 * size_of::<EarleyItem>()),
        };
        builder.call(network.start, 0)?;
        for position in 0..=input.end() {
            builder.at(position)?;
        }
        builder.find_open()?;
        Ok(builder.chart)
    }

    /// The positions at which a rule that begins at one may end, ascending.
    pub(super) fn ends(&self, rule: NetworkRuleId, from: u32) -> &[u32] {
        self.ends.get(&(rule, from)).map_or(&[], Vec::as_slice)
    }

    /// The texts of a terminal that was read from a position.
    pub(super) fn run(&self, terminal: Terminal, from: u32) -> Option<&Run> {
        self.runs.get(&(terminal, from)).map(Rc::as_ref)
    }

    /// Whether a rule that begins at a position may go on after the last one.
    pub(super) fn is_open(&self, rule: NetworkRuleId, from: u32) -> bool {
        self.open.contains(&(rule, from))
    }
}

impl ChartBuilder<'_, '_> {
    fn add(&mut self, position: u32, item: EarleyItem) -> Result<()> {
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            Error::new(ErrorKind::Limit, "the captures of this text take too much memory to find")
                .with_help("raise the limit `cache_bytes`, or make the grammar less ambiguous")
                .with_limit(LimitName::CacheBytes)
        })?;
        self.items[position as usize].push(item);
        Ok(())
    }

    fn call(&mut self, rule: NetworkRuleId, position: u32) -> Result<()> {
        let state = self.chart.network.rules[rule as usize].start;
        self.add(position, EarleyItem { state, origin: position, iterations: 0 })
    }

    /// Looks at all items of a position.
    fn at(&mut self, position: u32) -> Result<()> {
        deadline::check()?;
        self.seen.clear();
        while let Some(item) = self.items[position as usize].pop() {
            if self.seen.insert(item) {
                self.expand(item, position)?;
            }
        }
        self.items[position as usize] = Vec::new();
        Ok(())
    }

    fn expand(&mut self, item: EarleyItem, position: u32) -> Result<()> {
        let network = self.chart.network;
        let rule = network.rule_of[item.state as usize];
        match &network.states[item.state as usize] {
            NetworkState::Fork(branches) => {
                for &state in branches {
                    self.add(position, EarleyItem { state, ..item })?;
                }
            }
            &NetworkState::Read { terminal, next } => {
                let run = self.read(terminal, position)?;
                if run.is_open {
                    self.chart.open.insert((rule, item.origin));
                }
                for &end in &run.ends {
                    self.add(end, EarleyItem { state: next, ..item })?;
                }
            }
            NetworkState::Token { tokens, next } => match self.chart.input.token(position) {
                Some((token, end)) if tokens.contains(token) => {
                    self.add(end, EarleyItem { state: *next, ..item })?;
                }
                Some(_) => {}
                None => {
                    if position == self.chart.input.end() {
                        self.chart.open.insert((rule, item.origin));
                    }
                }
            },
            &NetworkState::Call { rule, next } => {
                self.wait(rule, position, EarleyItem { state: next, ..item })?;
            }
            &NetworkState::Iteration { body, min, max } => {
                if item.iterations >= min {
                    self.complete(rule, item.origin, position)?;
                }
                if max.is_none_or(|max| item.iterations < max) {
                    // Iterations beyond the least number are not counted where there is no greatest.
                    let iterations = if max.is_some() {
                        item.iterations + 1
                    } else {
                        min.min(item.iterations + 1)
                    };
                    self.wait(body, position, EarleyItem { iterations, ..item })?;
                }
            }
            NetworkState::End => self.complete(rule, item.origin, position)?,
        }
        Ok(())
    }

    /// Lets an item go on after the texts of a rule that is called at a position.
    fn wait(&mut self, rule: NetworkRuleId, position: u32, item: EarleyItem) -> Result<()> {
        let waiting = self.waiting.entry((rule, position)).or_default();
        waiting.push(item);
        if waiting.len() == 1 {
            self.call(rule, position)?;
        }
        // An empty text may have been read before.
        if self.chart.ends(rule, position).contains(&position) {
            self.add(position, item)?;
        }
        Ok(())
    }

    /// Notes that a rule reads the text between two positions.
    fn complete(&mut self, rule: NetworkRuleId, from: u32, to: u32) -> Result<()> {
        let fits = match self.chart.network.rules[rule as usize].kind {
            RuleKind::Plain | RuleKind::Capture(_) | RuleKind::Ignored => true,
            RuleKind::MaxTokens(most) => self.chart.input.tokens_between(from, to) <= most,
            RuleKind::Whole(terminal) => self.read(terminal, from)?.ends.binary_search(&to).is_ok(),
        };
        let ends = self.chart.ends.entry((rule, from)).or_default();
        if !fits || ends.last() == Some(&to) {
            return Ok(());
        }
        ends.push(to);
        let waiting = self.waiting.get(&(rule, from)).map_or(0, Vec::len);
        for i in 0..waiting {
            let item = self.waiting[&(rule, from)][i];
            self.add(to, item)?;
        }
        Ok(())
    }

    /// Reads a terminal from a position, unless that was done before.
    fn read(&mut self, terminal: Terminal, position: u32) -> Result<Rc<Run>> {
        if let Some(known) = self.chart.runs.get(&(terminal, position)) {
            return Ok(Rc::clone(known));
        }
        let run = match terminal {
            Terminal::Regular(language) => self.read_regular(language, position)?,
            Terminal::Hole(hole) => {
                let mut run = self.holes.read(hole, self.chart.input.from(position))?;
                run.ends.iter_mut().for_each(|end| *end += position);
                run
            }
        };
        self.left = self.left.saturating_sub(run.ends.len() / 4);
        let run = Rc::new(run);
        self.chart.runs.insert((terminal, position), Rc::clone(&run));
        Ok(run)
    }

    fn read_regular(&mut self, language: Language, position: u32) -> Result<Run> {
        let mut run = Run::default();
        let mut state = language;
        let mut at = position;
        if self.languages.is_nullable(state) {
            run.ends.push(at);
        }
        for &symbol in self.chart.input.from(position) {
            let Symbol::Byte(byte) = symbol else { return Ok(run) };
            state = self.languages.step(state, byte)?;
            if state == Language::EMPTY {
                return Ok(run);
            }
            at += 1;
            if self.languages.is_nullable(state) {
                run.ends.push(at);
            }
        }
        run.is_open = !self.languages.first_bytes(state)?.is_empty();
        Ok(run)
    }

    /// Passes openness on to callers.
    fn find_open(&mut self) -> Result<()> {
        let end = self.chart.input.end();
        let mut todo: Vec<(NetworkRuleId, u32)> = self.chart.open.drain().collect();
        while let Some((rule, from)) = todo.pop() {
            let fits = match self.chart.network.rules[rule as usize].kind {
                RuleKind::Plain | RuleKind::Capture(_) | RuleKind::Ignored => true,
                RuleKind::MaxTokens(most) => self.chart.input.tokens_between(from, end) <= most,
                RuleKind::Whole(terminal) => self.read(terminal, from)?.is_open,
            };
            if !fits || !self.chart.open.insert((rule, from)) {
                continue;
            }
            for item in self.waiting.get(&(rule, from)).into_iter().flatten() {
                todo.push((self.chart.network.rule_of[item.state as usize], item.origin));
            }
        }
        Ok(())
    }
}
