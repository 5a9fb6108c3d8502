//! Reading: rows of derivatives, liveness.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::*;
use crate::deadline;
use crate::regular::automaton::Slack;
use crate::regular::{CodePoints as _, Utf8};

/// Characters that say little; see [`Ordinary`](automaton::OrdinaryChars).
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrdinaryText {
    pub(crate) bytes: ByteSet,
    pub(crate) later: ByteSet,
    /// Texts of them, where these are not all with whole characters beyond ASCII.
    pub(crate) text: Option<Language>,
    pub(crate) base: Option<Language>,
}

/// Steps that a state takes before its row of 256 successors is worth computing.
const ROWLESS_STEPS: u8 = 4;

/// Parts of rows that the row of an automaton that computes its states counts for.
const COMPUTED: usize = 8;

/// Entries of rows that count as a part more.
const ENTRIES: usize = 16;

/// Every so many-th state that a search looks at is the oldest that it has met.
const OLDEST: usize = 4;

/// States after which a search asks of each whether it is evidently empty.
const MANY: usize = 100;

/// Parts within parts that a single derivative follows by recursion.
const DEEPEST: u32 = 200;

impl Languages {
    /// What may follow each byte, exactly: a successor without strings is [`Language::EMPTY`].
    ///
    /// Errors when the arena's limit on states is reached.
    pub fn row(&mut self, x: Language) -> Result<&Row> {
        if self.arena.clean_row(x).is_none() {
            self.fill_row(x)?;
            let (mut row, border) = (self.raw(x), self.arena.border(x));
            let (mut first, mut changed) = (ByteSet::EMPTY, false);
            let mut starts = border.union(&ByteSet::single(0));
            while let Some(start) = starts.first() {
                starts.remove(start);
                let end = starts.first().map_or(u8::MAX, |next| next - 1);
                let next = row[usize::from(start)];
                if next == Language::EMPTY {
                } else if self.is_live(next)? {
                    first = first.union(&ByteSet::range(start, end));
                } else {
                    row[usize::from(start)..=usize::from(end)].fill(Language::EMPTY);
                    changed = true;
                }
            }
            self.arena.set_first(x, first);
            // Searches may have forgotten it.
            match changed || self.arena.row(x).is_none() {
                true => self.arena.set_row(x, row, border, true),
                false => self.arena.mark_clean(x),
            }
        }
        // Filled above, or when it was made clean.
        self.arena.row(x).ok_or_else(|| self.over_limit())
    }

    /// The same, but perhaps with successors without strings that are not [`Language::EMPTY`]:
    /// bytes whose successors are equal are treated alike.
    pub(crate) fn plain_row(&mut self, x: Language) -> Result<&Row> {
        self.fill_row(x)?;
        // Filled.
        self.arena.row(x).ok_or_else(|| self.over_limit())
    }

    /// The row of a language if it has been computed already.
    #[inline]
    pub fn known_row(&self, x: Language) -> Option<&Row> {
        self.arena.clean_row(x)
    }

    /// What may follow one byte; [`Language::EMPTY`] if it may not come.
    ///
    /// A row is 256 successors, of which a literal or a counter that is passed once needs one:
    /// states get theirs when they have been stepped a few times.
    pub fn step(&mut self, x: Language, byte: u8) -> Result<Language> {
        if let Some(row) = self.arena.clean_row(x) {
            return Ok(row[usize::from(byte)]);
        }
        if self.arena.row(x).is_none()
            && !self.is_computed(x)
            && self.arena.count_step(x) >= ROWLESS_STEPS
        {
            self.fill_row(x)?;
        }
        let next = self.derivative(x, byte, 0)?;
        Ok(if self.is_live(next)? { next } else { Language::EMPTY })
    }

    /// Is it what an automaton of endless states reads first? Its states are many, and of each few
    /// successors are asked for.
    pub(crate) fn is_computed(&self, x: Language) -> bool {
        let endless = |x: Language| match self.arena.expr(x) {
            Expr::Automaton(running) => running.automaton.is_endless(),
            _ => false,
        };
        let first = match *self.arena.expr(x) {
            Expr::Concat(a, _) => a,
            _ => x,
        };
        self.endless
            && match self.arena.expr(first) {
                Expr::Union(xs) | Expr::Intersect(xs) => xs.iter().any(|&x| endless(x)),
                _ => endless(first),
            }
    }

    /// Does an automaton of endless states occur in it beside something that does not soon leave it
    /// alone? Its states are multiplied then, and none of them is like another.
    pub(crate) fn multiplies_endless(&self, x: Language) -> bool {
        /// Units that are counted one by one.
        const FEW: u32 = 8;
        if !self.has_endless(x) {
            return false;
        }
        let endless = |part: &Language| self.has_endless(*part);
        match self.arena.expr(x) {
            Expr::Automaton(_) => false,
            Expr::Union(xs) => xs.iter().any(|&x| self.multiplies_endless(x)),
            Expr::Intersect(xs) => {
                xs.iter().filter(|x| endless(x)).count() > 1
                    || xs.iter().any(|&x| match *self.arena.expr(x) {
                        Expr::Automaton(_) => false,
                        // What is listed.
                        _ if self.arena.facts(x).finite && !self.arena.facts(x).counted => false,
                        Expr::Repeat(_, ..=FEW, UNBOUNDED) => false,
                        Expr::Complement(inner) => !self.arena.facts(inner).finite,
                        _ => true,
                    })
            }
            _ => true,
        }
    }

    /// The automaton that reads `x` up to a byte with which the rest begins, its state, and the
    /// rest.
    fn computed_first(&self, x: Language) -> Option<(RunningAutomaton, Language)> {
        let &Expr::Concat(a, rest) = self.arena.expr(x) else { return None };
        match self.arena.expr(a) {
            Expr::Automaton(running) if !self.is_nullable(rest) => Some((running.clone(), rest)),
            _ => None,
        }
    }

    /// The characters that are [ordinary](automaton::OrdinaryChars) for a language that is read by an
    /// automaton up to a byte that is none of them.
    pub(crate) fn ordinary(&mut self, x: Language) -> Result<Option<OrdinaryText>> {
        let Some((RunningAutomaton { automaton, state }, rest)) = self.computed_first(x) else {
            return Ok(None);
        };
        let Some(ordinary) = automaton.ordinary(&state) else { return Ok(None) };
        let ends = self.first_bytes(rest)?;
        if ends.iter().any(|end| end >= 0x80 || ordinary.bytes.contains(end)) {
            return Ok(None);
        }
        let base = ordinary.base.map(|base| {
            let base = self.automaton(automaton, base);
            self.concat2(base, rest)
        });
        let text = ordinary.beyond.map(|[first, later]| {
            let [first, later] = [first, later].map(|class| {
                let ranges = class.ranges().iter();
                let ranges: Vec<(u32, u32)> =
                    ranges.map(|range| (range.start().into(), range.end().into())).collect();
                Utf8.class(self, &ranges)
            });
            let later = self.repeat(later, 0, None);
            self.concat2(first, later)
        });
        Ok(Some(OrdinaryText { bytes: ordinary.bytes, later: ordinary.later, text, base }))
    }

    /// How long the rest of a text can become, if an automaton reads it and knows.
    pub(crate) fn slack(&self, x: Language) -> Option<Slack> {
        let (RunningAutomaton { automaton, state }, rest) = self.computed_first(x)?;
        let mut slack = automaton.slack(&state)?;
        // Quotes and the like.
        slack.base += self.arena.facts(rest).effort as usize;
        matches!(self.arena.expr(rest), Expr::Set(_)).then_some(slack)
    }

    /// The derivative by one byte, perhaps a language without strings that is not
    /// [`Language::EMPTY`].
    fn derivative(&mut self, x: Language, byte: u8, depth: u32) -> Result<Language> {
        if let Some(row) = self.arena.row(x) {
            return Ok(row[usize::from(byte)]);
        }
        if self.arena.len() > self.limit {
            return Err(self.over_limit());
        }
        if depth > DEEPEST {
            self.fill_row(x)?;
            return Ok(self.arena.row(x).map_or(Language::EMPTY, |row| row[usize::from(byte)]));
        }
        let depth = depth + 1;
        Ok(match self.arena.expr(x) {
            Expr::Set(set) => {
                if set.contains(byte) {
                    Language::EPSILON
                } else {
                    Language::EMPTY
                }
            }
            &Expr::Concat(a, b) => {
                let first = self.derivative(a, byte, depth)?;
                let through = self.concat2(first, b);
                match self.is_nullable(a) {
                    true => {
                        let second = self.derivative(b, byte, depth)?;
                        match (through, second) {
                            (Language::EMPTY, other) | (other, Language::EMPTY) => other,
                            both => self.union([both.0, both.1]),
                        }
                    }
                    false => through,
                }
            }
            Expr::Union(xs) => {
                let xs = xs.clone();
                let mut next: SmallVec<[Language; 8]> = SmallVec::new();
                for &part in &xs {
                    match self.derivative(part, byte, depth)? {
                        Language::EMPTY => {}
                        part => next.push(part),
                    }
                }
                match next[..] {
                    [] => Language::EMPTY,
                    [one] => one,
                    _ => self.union(next),
                }
            }
            Expr::Intersect(xs) => {
                let xs = xs.clone();
                let mut next: SmallVec<[Language; 8]> = SmallVec::new();
                for &part in &xs {
                    match self.derivative(part, byte, depth)? {
                        Language::EMPTY => return Ok(Language::EMPTY),
                        part => next.push(part),
                    }
                }
                self.intersect(next)
            }
            &Expr::Complement(inner) => {
                let inner = self.derivative(inner, byte, depth)?;
                self.complement(inner)
            }
            &Expr::Repeat(inner, min, max) => {
                let first = self.derivative(inner, byte, depth)?;
                if first == Language::EMPTY {
                    return Ok(Language::EMPTY);
                }
                let more = if max == UNBOUNDED { None } else { Some(max - 1) };
                let rest = self.repeat(inner, min.saturating_sub(1), more);
                self.concat2(first, rest)
            }
            &Expr::Variable(v) => {
                let body = self.variables[v as usize].body;
                self.derivative(body, byte, depth)?
            }
            Expr::Automaton(RunningAutomaton { automaton, state }) => {
                let automaton = Arc::clone(automaton);
                let after = automaton.step(state, byte);
                // An answer that was cut short is none.
                deadline::check()?;
                match after {
                    Some(state) => self.automaton(automaton, state),
                    None => Language::EMPTY,
                }
            }
            &Expr::Table(table, state) => match self.tables[table as usize].step(state, byte) {
                Some(next) => self.table_state(table, next),
                None => Language::EMPTY,
            },
        })
    }

    /// The bytes with which its strings may begin.
    pub fn first_bytes(&mut self, x: Language) -> Result<ByteSet> {
        if let Some(first) = self.arena.first(x) {
            return Ok(first);
        }
        let first = match self.plain_first(x, 0) {
            Some(first) => first,
            None => {
                self.row(x)?;
                return Ok(self.arena.first(x).unwrap_or(ByteSet::EMPTY));
            }
        };
        self.arena.set_first(x, first);
        Ok(first)
    }

    /// The first bytes where structure alone decides them: all parts have strings, no and/not.
    fn plain_first(&self, x: Language, depth: u32) -> Option<ByteSet> {
        if let Some(first) = self.arena.first(x) {
            return Some(first);
        }
        if depth > DEEPEST || self.arena.facts(x).live == Some(false) {
            return None;
        }
        let depth = depth + 1;
        match self.arena.expr(x) {
            Expr::Set(set) => Some(*set),
            &Expr::Concat(a, b) => {
                if !self.is_surely_live(b, depth) {
                    return None;
                }
                let first = self.plain_first(a, depth)?;
                match self.is_nullable(a) {
                    true => Some(first.union(&self.plain_first(b, depth)?)),
                    false => Some(first),
                }
            }
            Expr::Union(xs) => xs.iter().try_fold(ByteSet::EMPTY, |all, &part| {
                Some(all.union(&self.plain_first(part, depth)?))
            }),
            &Expr::Repeat(inner, ..) => self.plain_first(inner, depth),
            &Expr::Table(table, state) => Some(self.tables[table as usize].first(state)),
            Expr::Intersect(_) => self.plain_first(self.total_over(x)?, depth),
            Expr::Automaton(RunningAutomaton { automaton, state }) => automaton.first(state),
            Expr::Complement(_) | Expr::Variable(_) => None,
        }
    }

    /// Has it strings, as far as structure says it?
    fn is_surely_live(&self, x: Language, depth: u32) -> bool {
        if let Some(live) = self.arena.facts(x).live {
            return live;
        }
        match self.arena.expr(x) {
            _ if depth > DEEPEST => false,
            &Expr::Concat(a, b) => {
                self.is_surely_live(a, depth + 1) && self.is_surely_live(b, depth + 1)
            }
            Expr::Intersect(_) => self.total_over(x).is_some(),
            _ => false,
        }
    }

    /// Is the text that an automaton of endless states knows to end in one that all else accepts?
    fn has_known_rest(&mut self, x: Language) -> Result<bool> {
        let Expr::Intersect(xs) = self.arena.expr(x) else { return Ok(false) };
        if !self.endless {
            return Ok(false);
        }
        let rest = xs.iter().find_map(|&part| match self.arena.expr(part) {
            Expr::Automaton(running) if running.automaton.is_endless() => {
                Some((part, running.automaton.rest(&running.state)?))
            }
            _ => None,
        });
        let (Some((automaton, rest)), parts) = (rest, xs.clone()) else { return Ok(false) };
        for &part in parts.iter().filter(|&&part| part != automaton) {
            let mut at = part;
            for &byte in &rest {
                at = self.derivative(at, byte, 0)?;
            }
            if !self.is_nullable(at) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The unit of texts every beginning of which can be completed to a string of `x`, all of
    /// whose strings are such texts.
    fn total_over(&self, x: Language) -> Option<Language> {
        let Expr::Intersect(xs) = self.arena.expr(x) else { return None };
        let unit = xs.iter().find_map(|&part| match *self.arena.expr(part) {
            Expr::Repeat(unit, _, UNBOUNDED) => Some(unit),
            _ => None,
        })?;
        self.is_total(x, unit, &mut FxHashMap::default()).then_some(unit)
    }

    /// Is the whole of `text` in it?
    pub fn matches(&mut self, x: Language, text: &[u8]) -> Result<bool> {
        let end = text.iter().try_fold(x, |x, &b| self.step(x, b))?;
        Ok(self.is_nullable(end))
    }

    fn over_limit(&self) -> Error {
        if self.work > self.most_work {
            // In parts of rows, which is not what users count.
            let message = "regular languages take more to decide than the limit `work` allows";
            let help = "simplify the patterns, or raise the limit";
            return Error::new(ErrorKind::Limit, message).with_help(help);
        }
        let message = format!("regular languages need more than {} states", self.limit);
        let help = "simplify the patterns, lower the counts, or raise the limit `language_states`";
        Error::new(ErrorKind::Limit, message).with_help(help)
    }

    pub(crate) fn raw(&self, x: Language) -> Row {
        self.arena.row(x).copied().unwrap_or([Language::EMPTY; 256])
    }

    /// Computes the row of derivatives, and those of the parts that it needs, without deciding
    /// which of them are empty. Own stack: expressions nest as deep as a literal is long.
    pub(crate) fn fill_row(&mut self, x: Language) -> Result<()> {
        if self.arena.row(x).is_some() {
            return Ok(());
        }
        self.arena.relieve();
        let mut stack = vec![x];
        while let Some(&top) = stack.last() {
            deadline::check()?;
            if self.arena.row(top).is_some() {
                stack.pop();
                continue;
            }
            if self.arena.len() > self.limit || self.work > self.most_work {
                return Err(self.over_limit());
            }
            let before = stack.len();
            let missing = |this: &Self, part: Language| this.arena.row(part).is_none();
            match self.arena.expr(top) {
                Expr::Set(_) | Expr::Table(..) | Expr::Automaton(_) => {}
                &Expr::Concat(a, b) => {
                    if missing(self, a) {
                        stack.push(a);
                    }
                    if self.is_nullable(a) && missing(self, b) {
                        stack.push(b);
                    }
                }
                Expr::Union(xs) | Expr::Intersect(xs) => {
                    stack.extend(xs.iter().copied().filter(|&part| missing(self, part)));
                }
                &Expr::Complement(part) | &Expr::Repeat(part, ..) => {
                    if missing(self, part) {
                        stack.push(part);
                    }
                }
                &Expr::Variable(v) => {
                    let body = self.variables[v as usize].body;
                    if missing(self, body) {
                        stack.push(body);
                    }
                }
            }
            if stack.len() == before {
                let parts = match self.arena.expr(top) {
                    Expr::Union(xs) | Expr::Intersect(xs) => 2 * xs.len(),
                    Expr::Automaton(_) => COMPUTED,
                    _ => 1,
                };
                self.work += parts;
                deadline::spend(parts);
                let (row, border) = self.derive(top);
                // What an automaton computed in a search that was cut short is not kept.
                deadline::check()?;
                self.arena.set_row(top, row, border, false);
                stack.pop();
            }
        }
        Ok(())
    }

    /// The row of `x`, whose parts have theirs, and its border.
    fn derive(&mut self, x: Language) -> (Row, ByteSet) {
        let expr = self.arena.expr(x).clone();
        match expr {
            Expr::Set(set) => {
                let row = |b| if set.contains(b) { Language::EPSILON } else { Language::EMPTY };
                (std::array::from_fn(|b| row(b as u8)), set.border())
            }
            Expr::Concat(a, b) => {
                let both = [a, b];
                let read = if self.is_nullable(a) { &both[..] } else { &both[..1] };
                self.combine(read, |this, parts| {
                    let through = this.concat2(parts[0], b);
                    match parts.get(1) {
                        None | Some(&Language::EMPTY) => through,
                        Some(&second) => this.union([through, second]),
                    }
                })
            }
            Expr::Union(xs) => self.combine(&xs, |this, mut parts| {
                parts.retain(|part| *part != Language::EMPTY);
                match parts[..] {
                    [] => Language::EMPTY,
                    [one] => one,
                    _ => this.union(parts),
                }
            }),
            Expr::Intersect(xs) => {
                self.combine(&xs, |this, parts| match parts.contains(&Language::EMPTY) {
                    true => Language::EMPTY,
                    false => this.intersect(parts),
                })
            }
            Expr::Complement(inner) => {
                self.combine(&[inner], |this, parts| this.complement(parts[0]))
            }
            Expr::Repeat(inner, min, max) => {
                let more = if max == UNBOUNDED { None } else { Some(max - 1) };
                let rest = self.repeat(inner, min.saturating_sub(1), more);
                self.combine(&[inner], |this, parts| this.concat2(parts[0], rest))
            }
            Expr::Variable(v) => {
                let body = self.variables[v as usize].body;
                (self.raw(body), self.arena.border(body))
            }
            Expr::Automaton(RunningAutomaton { automaton, state }) => {
                let mut row = [Language::EMPTY; 256];
                for byte in automaton.first(&state).unwrap_or(ByteSet::ALL).iter() {
                    if let Some(state) = automaton.step(&state, byte) {
                        row[usize::from(byte)] = self.automaton(automaton.clone(), state);
                    }
                }
                (row, border(&row))
            }
            Expr::Table(table, state) => {
                let at = Arc::clone(&self.tables[table as usize]);
                let next = at.successors(state).map(|next| match next {
                    Some(next) => self.table_state(table, next),
                    None => Language::EMPTY,
                });
                let next: SmallVec<[Language; 16]> = next.collect();
                let row = std::array::from_fn(|byte| next[at.class(byte as u8)]);
                (row, border(&row))
            }
        }
    }

    /// The row whose entries are made of those of others, once for each run of bytes that none of
    /// them tells apart, and its border.
    fn combine(
        &mut self,
        xs: &[Language],
        mut f: impl FnMut(&mut Self, SmallVec<[Language; 4]>) -> Language,
    ) -> (Row, ByteSet) {
        let borders = xs.iter().map(|&x| self.arena.border(x));
        let borders = borders.fold(ByteSet::single(0), |all, border| all.union(&border));
        self.work += xs.len() * borders.len() / ENTRIES;
        // By border, then by part: what they lead to.
        let width = xs.len();
        let mut parts = std::mem::take(&mut self.entries);
        parts.clear();
        parts.resize(width * borders.len(), Language::EMPTY);
        for (i, x) in xs.iter().enumerate() {
            let Some(row) = self.arena.row(*x) else { continue };
            let column = parts[i..].iter_mut().step_by(width);
            column.zip(borders.iter()).for_each(|(part, byte)| *part = row[usize::from(byte)]);
        }
        let mut row = [Language::EMPTY; 256];
        let mut kept = ByteSet::EMPTY;
        let mut last = Language::EMPTY;
        let mut from = 0;
        let mut same: (&[Language], Language) = (&[], Language::EMPTY);
        for (byte, parts) in borders.iter().zip(parts.chunks_exact(width)) {
            let at = usize::from(byte);
            row[from..at].fill(last);
            let next = match parts == same.0 {
                true => same.1,
                false => f(self, SmallVec::from_slice(parts)),
            };
            same = (parts, next);
            if next != last {
                kept.insert(byte);
            }
            (from, last) = (at, next);
        }
        self.entries = parts;
        row[from..].fill(last);
        (row, kept)
    }

    /// Has it any string? Exact; decided by a search where and/not occurs.
    ///
    /// Errors when the arena's limit on states is reached.
    pub fn is_live(&mut self, x: Language) -> Result<bool> {
        // Nothing is more than the most.
        Ok(self.is_live_soon(x, usize::MAX)?.unwrap_or(false))
    }

    /// The same, if it is found out with so many states; `None` if it is not.
    pub(crate) fn is_live_soon(&mut self, x: Language, most: usize) -> Result<Option<bool>> {
        if let Some(live) = self.arena.facts(x).live {
            return Ok(Some(live));
        }
        if self.is_surely_live(x, 0)
            || self.some_length(x, 0)?.is_some()
            || self.has_known_rest(x)?
        {
            self.arena.set_live(x, true);
            return Ok(Some(true));
        }
        if let Some(live) = self.has_counted_string(x)? {
            self.arena.set_live(x, live);
            return Ok(Some(live));
        }
        // Towards a state known to be live, from the state that promises most (the newest of
        // equals), and now and then from the oldest of the states to look at: the one finds long
        // strings that many patterns narrow soon, the other short strings where the promise
        // misleads. On success the way there is live; on failure everything seen is dead, since
        // none of it reaches a live state.
        let mut from: FxHashMap<Language, Language> = FxHashMap::from_iter([(x, x)]);
        let mut open = Open::default();
        open.push(self.arena.facts(x).effort, x);
        let mut looked_at = 0;
        while let Some(state) = open.pop() {
            deadline::check()?;
            looked_at += 1;
            if looked_at > most {
                return Ok(None);
            }
            // Most searches end before looking from outside would pay.
            if looked_at == MANY && self.is_evidently_empty(x) {
                self.arena.set_live(x, false);
                return Ok(Some(false));
            }
            self.fill_row(state)?;
            let Some(row) = self.arena.row(state) else { continue };
            let border = self.arena.border(state);
            let firsts = border.iter().chain((!border.contains(0)).then_some(0));
            let mut nexts: SmallVec<[Language; 16]> =
                firsts.map(|byte| row[usize::from(byte)]).collect();
            nexts.dedup();
            for next in nexts {
                if self.arena.facts(next).live == Some(false) {
                    continue;
                }
                if self.arena.facts(next).live == Some(true) {
                    let mut at = state;
                    loop {
                        self.arena.set_live(at, true);
                        // Every state in `from` was reached from another, the first from itself.
                        match from.get(&at) {
                            Some(&before) if before != at => at = before,
                            _ => return Ok(Some(true)),
                        }
                    }
                }
                if let std::collections::hash_map::Entry::Vacant(place) = from.entry(next) {
                    place.insert(state);
                    if looked_at >= MANY && self.is_evidently_empty(next) {
                        self.arena.set_live(next, false);
                        continue;
                    }
                    open.push(self.arena.facts(next).effort, next);
                }
            }
        }
        for state in from.into_keys() {
            self.arena.set_live(state, false);
        }
        Ok(Some(false))
    }
}

/// States that a search has met and not looked at yet.
#[derive(Default)]
pub(crate) struct Open {
    /// In the order in which they were met; `None` once they were taken.
    met: Vec<Option<Language>>,
    /// By how little they promise to need, then from the newest on.
    best: BinaryHeap<(Reverse<u32>, usize)>,
    /// All before it were taken.
    oldest: usize,
    /// How many were taken.
    taken: usize,
}

impl Open {
    pub(crate) fn push(&mut self, effort: u32, state: Language) {
        self.best.push((Reverse(effort), self.met.len()));
        self.met.push(Some(state));
    }

    pub(crate) fn pop(&mut self) -> Option<Language> {
        self.taken += 1;
        loop {
            let at = match self.taken % OLDEST {
                0 => {
                    self.oldest += 1;
                    self.oldest - 1
                }
                _ => self.best.pop()?.1,
            };
            if let Some(state) = self.met.get_mut(at)?.take() {
                return Some(state);
            }
        }
    }
}

/// The bytes whose entries differ from those before.
fn border(row: &Row) -> ByteSet {
    (1..=u8::MAX).filter(|&b| row[usize::from(b)] != row[usize::from(b) - 1]).collect()
}
