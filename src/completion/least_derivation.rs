//! Least derivations: the shortest text from a point to the end of its rule.

use std::collections::VecDeque;

use super::token_cost::special;
use super::*;
use crate::deadline;
use crate::grammar::RuleId;
use crate::recognizer::program::Leads;
use crate::regular::{lengths, witness, witness_length};

/// Points looked at in one search for a shortest text.
const WORK: usize = 2_000_000;

/// No text is known.
const INFINITE: u64 = u64::MAX;

/// How many times its lower bound an unmade rule counts for where captured texts are spelled. Each
/// text makes rules of its own there, and with the bound itself all ways to choose a row of texts
/// would be tried before one is followed to its end: fifty items that differ took 5^50. Texts that
/// differ are seldom longer than so many times the shortest.
const FOLLOW_THROUGH: u64 = 4;

/// How the shortest text from a point goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) bytes: u64,
    /// Whether it goes through captured texts, which are taken to lead where any text does.
    pub(crate) is_approximate: bool,
    /// At forks: the way to take. At names: the name, by rank.
    pick: u32,
}

/// What is not made yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Open {
    Rule(RuleId),
    Name(u32, u32),
    /// What follows a captured text, by tag; `None` is any text.
    Capture(u32, Option<Arc<[u8]>>),
}

/// Points, each so many times.
type Points = SmallVec<[(PointId, u32); 2]>;

/// One way to go on at a point.
#[derive(Clone, Debug, Default)]
struct Choice {
    /// In bytes.
    fixed: u64,
    /// What it goes through.
    then: Points,
    open: Option<Open>,
    /// Whether it captures a text, which is taken to lead where any text does.
    is_approximate: bool,
    pick: u32,
}

impl Choice {
    fn new(fixed: u64, then: &[(PointId, u32)]) -> Self {
        Self { fixed, then: SmallVec::from_slice(then), ..Self::default() }
    }
}

impl Machine {
    /// The length of the shortest text from a point to the end of its rule, in bytes; `None` if
    /// none was found. An answer above what is [worth planning](Machine::plan_within) is a lower
    /// bound.
    ///
    /// A rule that is not made yet counts with a lower bound on its length until the shortest text
    /// leads through it. Where it leads through one such rule after another (an object of so many
    /// members), each round makes twice as many of them ahead as the one before, so that the rounds
    /// together look at no more than a few times the points of the last one.
    pub(crate) fn point_bytes(&mut self, program: &Program, start: PointId) -> Result<Option<u64>> {
        if let Some(way) = self.finishing.plan.ways.get(&start) {
            return Ok(Some(way.bytes));
        }
        let most = self.finishing.most;
        if let Some(&bytes) = self.finishing.plan.long.get(&start) {
            return Ok(Some(bytes));
        }
        let (mut work, mut ahead) = (0, 1);
        loop {
            let derivation = self.derivation(program, start)?;
            let bytes = derivation.bytes[0];
            work += derivation.points.len();
            if bytes == INFINITE || work > WORK {
                return Ok(None);
            }
            // With captured texts spelled, what is open counts for more than it takes at least.
            if bytes > most && self.finishing.assumes == Captured::Any {
                self.finishing.plan.long.insert(start, bytes);
                return Ok(Some(bytes));
            }
            let open = self.settle(&derivation);
            if open.is_empty() {
                return Ok(Some(bytes));
            }
            work += self.make_ahead(program, open, ahead)?;
            ahead = 2usize.saturating_mul(ahead);
        }
    }

    /// Makes what a shortest text leads through, and then what seems to come next, up to so many
    /// more. Returns how many points it looked at.
    fn make_ahead(&mut self, program: &Program, open: Vec<Open>, ahead: usize) -> Result<usize> {
        let (needed, mut made, mut work) = (open.len(), 0, 0);
        let mut todo = VecDeque::from(open);
        while let Some(open) = todo.pop_front() {
            if made >= needed + ahead {
                break;
            }
            made += 1;
            let Some(entry) = self.make(program, open)? else { continue };
            if made < needed + ahead && !self.finishing.plan.ways.contains_key(&entry) {
                let derivation = self.derivation(program, entry)?;
                work += derivation.points.len();
                if derivation.bytes[0] < INFINITE {
                    todo.extend(self.settle(&derivation));
                }
            }
        }
        Ok(work)
    }

    /// Remembers the ways of all points whose shortest text leads through nothing that is not made.
    /// Returns what the shortest text from the first point leads through and is not made.
    fn settle(&mut self, derivation: &Derivation) -> Vec<Open> {
        #[derive(Clone, Copy, PartialEq)]
        enum Known {
            Not,
            Begun,
            Open,
            Settled,
        }
        let Derivation { points, ids, choices, bytes } = derivation;
        // The first of the least: the same each time.
        let best: Vec<Option<&Choice>> = choices
            .iter()
            .map(|choices| choices.iter().min_by_key(|choice| self.cost(choice, ids, bytes)))
            .collect();
        let mut known = vec![Known::Not; points.len()];
        let mut is_approximate = vec![false; points.len()];
        let mut found: FxHashSet<&Open> = FxHashSet::default();
        let mut order = Vec::new();
        for start in 0..points.len() {
            let mut todo = vec![start];
            while let Some(&at) = todo.last() {
                let Some(choice) = best[at].filter(|_| bytes[at] < INFINITE) else {
                    known[at] = Known::Open;
                    todo.pop();
                    continue;
                };
                let then = || choice.then.iter().filter_map(|(point, _)| ids.get(point).copied());
                match known[at] {
                    Known::Not => {
                        known[at] = Known::Begun;
                        todo.extend(then().filter(|&next| known[next] == Known::Not));
                    }
                    Known::Begun => {
                        let settled = choice.open.is_none()
                            && then().all(|next| known[next] == Known::Settled);
                        known[at] = if settled { Known::Settled } else { Known::Open };
                        let ways = &self.finishing.plan.ways;
                        is_approximate[at] = choice.is_approximate
                            || choice.then.iter().any(|(next, _)| match ids.get(next) {
                                Some(&next) => is_approximate[next],
                                None => ways.get(next).is_some_and(|way| way.is_approximate),
                            });
                        if start == 0 {
                            order.extend(choice.open.as_ref().filter(|open| found.insert(open)));
                        }
                        todo.pop();
                    }
                    Known::Open | Known::Settled => {
                        todo.pop();
                    }
                }
            }
        }
        for (at, &point) in points.iter().enumerate() {
            if let (Known::Settled, Some(choice)) = (known[at], best[at]) {
                let (bytes, is_approximate) = (bytes[at], is_approximate[at]);
                let way = Way { bytes, is_approximate, pick: choice.pick };
                self.finishing.plan.ways.insert(point, way);
            }
        }
        order.into_iter().cloned().collect()
    }

    /// Makes what a shortest text may lead through; the point where it goes on. What is beyond the
    /// limits of its source is no way to the end.
    fn make(&mut self, program: &Program, open: Open) -> Result<Option<PointId>> {
        let languages = &mut self.languages;
        let made = match &open {
            // A rule can be called twice.
            &Open::Rule(rule) => match program.entry(rule) {
                Some(entry) => Ok(Some(entry)),
                None => program.expand(rule, languages).map(|()| program.entry(rule)),
            },
            &Open::Name(names, rank) => program.after_name(names, rank, languages).map(Some),
            Open::Capture(tag, text) => program.after_capture(*tag, text.as_deref(), languages),
        };
        match made {
            Err(error) if error.kind() == ErrorKind::Limit && !deadline::is_over() => {
                self.finishing.plan.refused.insert(open);
                Ok(None)
            }
            made => made,
        }
    }

    fn cost(&self, choice: &Choice, ids: &FxHashMap<PointId, usize>, bytes: &[u64]) -> u64 {
        choice.then.iter().fold(choice.fixed, |sum, &(point, times)| {
            let one = match (ids.get(&point), self.finishing.plan.ways.get(&point)) {
                (Some(&id), _) => bytes[id],
                (None, Some(way)) => way.bytes,
                (None, None) => INFINITE,
            };
            sum.saturating_add(one.saturating_mul(times.into()))
        })
    }

    /// The least bytes of all points that are known to be reached from a point.
    fn derivation(&mut self, program: &Program, start: PointId) -> Result<Derivation> {
        let mut points = vec![start];
        let mut ids = FxHashMap::from_iter([(start, 0)]);
        let mut choices: Vec<Vec<Choice>> = Vec::new();
        let mut before: Vec<SmallVec<[usize; 4]>> = vec![SmallVec::new()];
        while let Some(&point) = points.get(choices.len()) {
            deadline::check()?;
            let mut here = self.choices(program, point)?;
            let refused = &self.finishing.plan.refused;
            here.retain(|choice| choice.open.as_ref().is_none_or(|open| !refused.contains(open)));
            for &(next, _) in here.iter().flat_map(|choice| &choice.then) {
                if self.finishing.plan.ways.contains_key(&next) {
                    continue;
                }
                let id = *ids.entry(next).or_insert_with(|| {
                    points.push(next);
                    before.push(SmallVec::new());
                    points.len() - 1
                });
                before[id].push(choices.len());
            }
            choices.push(here);
        }
        let mut this = Derivation { bytes: vec![INFINITE; points.len()], points, ids, choices };
        let mut todo: Vec<usize> = (0..this.points.len()).collect();
        while let Some(at) = todo.pop() {
            let costs = this.choices[at].iter().map(|c| self.cost(c, &this.ids, &this.bytes));
            let least = costs.min().unwrap_or(INFINITE);
            if least < this.bytes[at] {
                this.bytes[at] = least;
                todo.extend_from_slice(&before[at]);
            }
        }
        Ok(this)
    }

    fn choices(&mut self, program: &Program, point: PointId) -> Result<Vec<Choice>> {
        Ok(match program.point(point) {
            Point::Border => vec![Choice::default()],
            Point::Regular { language, next } => {
                match witness_length::short_length(
                    &mut self.languages,
                    language,
                    self.finishing.most,
                )? {
                    Some(bytes) => vec![Choice::new(bytes, &[(next, 1)])],
                    None => Vec::new(),
                }
            }
            Point::Special { next, .. } => vec![Choice::new(1, &[(next, 1)])],
            Point::Call { rule, next } => {
                let text = self.completion(program, rule)?;
                vec![match (text, program.entry(rule)) {
                    (Some(text), _) => Choice::new(text.len() as u64, &[(next, 1)]),
                    (None, Some(entry)) => Choice::new(0, &[(entry, 1), (next, 1)]),
                    (None, None) => {
                        let least = program.least_bytes(rule);
                        let bytes = match self.finishing.assumes {
                            Captured::Any => least,
                            Captured::Spelled => least.saturating_mul(FOLLOW_THROUGH),
                        };
                        Choice { open: Some(Open::Rule(rule)), ..Choice::new(bytes, &[(next, 1)]) }
                    }
                }]
            }
            Point::Fork(ways) => {
                let ways = program.ways_to_shortest(point, ways).into_iter();
                ways.map(|way| Choice { pick: way, ..Choice::new(0, &[(way, 1)]) }).collect()
            }
            Point::Repeat { body, min, next, .. } => match min {
                0 => vec![Choice::new(0, &[(next, 1)])],
                _ => vec![Choice::new(0, &[(body, min), (next, 1)])],
            },
            Point::Names(names) => {
                let names_left = program.shortest_names(names, 0).into_iter();
                names_left
                    .map(|(rank, text, target)| match target {
                        Some(point) => {
                            Choice { pick: rank, ..Choice::new(text.len() as u64, &[(point, 1)]) }
                        }
                        None => Choice {
                            pick: rank,
                            open: Some(Open::Name(names, rank)),
                            ..Choice::new(text.len() as u64 + 1, &[])
                        },
                    })
                    .collect()
            }
            Point::Capture { language, tag } if program.is_item(tag) => {
                if lengths::min_length_bound(&mut self.languages, language) > self.planned() {
                    let bytes = lengths::min_length_bound(&mut self.languages, language);
                    return Ok(captured(program, tag, None, bytes, &[]));
                }
                let item = self.item_that_differs(program, tag, (language, &[]))?;
                let item = item.map(|item| Choice::new(item.text.len() as u64, &[(item.next, 1)]));
                item.into_iter().collect()
            }
            Point::Capture { language, tag } => {
                let most = self.finishing.most;
                match (
                    witness_length::short_length(&mut self.languages, language, most)?,
                    self.finishing.assumes,
                ) {
                    (None, _) => Vec::new(),
                    (Some(bytes), Captured::Spelled) if bytes <= self.planned() => {
                        let text = witness::short(&mut self.languages, language)?;
                        captured(program, tag, text, bytes, &[])
                    }
                    (Some(bytes), _) => captured(program, tag, None, bytes, &[]),
                }
            }
            Point::Scope { body, tag } => captured(program, tag, None, 0, &[(body, 1)]),
        })
    }

    /// Appends the shortest text from a point to the end of its rule, which is known.
    pub(crate) fn write(
        &mut self,
        program: &Program,
        start: PointId,
        to: &mut Vec<u32>,
    ) -> Result<()> {
        let mut todo = vec![start];
        while let Some(point) = todo.pop() {
            if to.len() as u64 > self.planned() {
                return Ok(());
            }
            let pick = match self.finishing.plan.ways.get(&point) {
                Some(way) => way.pick,
                // Settled with the point that leads to it.
                None => self.settled(program, point)?,
            };
            match program.point(point) {
                Point::Border => {}
                Point::Regular { language, next } => {
                    self.write_shortest(language, to)?;
                    todo.push(next);
                }
                Point::Special { tokens, next } => {
                    to.extend(program.tokens(tokens).first().map(|&token| special(token)));
                    todo.push(next);
                }
                Point::Call { rule, next } => {
                    todo.push(next);
                    match self.completion(program, rule)? {
                        Some(text) => to.extend(text.iter().map(|&byte| u32::from(byte))),
                        None => todo.extend(program.entry(rule)),
                    }
                }
                Point::Fork(_) => todo.push(pick),
                Point::Repeat { body, min, next, .. } => {
                    todo.push(next);
                    todo.extend((0..min).map(|_| body));
                }
                Point::Names(names) => {
                    let name = program.shortest_names(names, 0).into_iter().find(|n| n.0 == pick);
                    if let Some((_, text, target)) = name {
                        to.extend(text.into_iter().map(u32::from));
                        todo.extend(target);
                    }
                }
                Point::Capture { language, tag } if program.is_item(tag) => {
                    if let Some(item) = self.item_that_differs(program, tag, (language, &[]))? {
                        to.extend_from_slice(&item.text);
                        todo.push(item.next);
                    }
                }
                Point::Capture { language, tag } => {
                    let text = witness::short(&mut self.languages, language)?.unwrap_or_default();
                    to.extend(text.iter().map(|&byte| u32::from(byte)));
                    todo.extend(self.after_captured(program, tag, &text)?);
                }
                Point::Scope { body, tag } => {
                    todo.extend(program.after_capture(tag, None, &mut self.languages)?);
                    todo.push(body);
                }
            }
        }
        Ok(())
    }

    fn write_shortest(&mut self, language: Language, to: &mut Vec<u32>) -> Result<()> {
        let text = witness::short(&mut self.languages, language)?.unwrap_or_default();
        to.extend(text.iter().map(|&byte| u32::from(byte)));
        Ok(())
    }

    /// Where a text leads that a plan captures.
    pub(crate) fn after_captured(
        &mut self,
        program: &Program,
        tag: u32,
        text: &[u8],
    ) -> Result<Option<PointId>> {
        let text = match self.finishing.assumes {
            Captured::Any => None,
            Captured::Spelled => Some(text),
        };
        program.after_capture(tag, text, &mut self.languages)
    }

    fn settled(&mut self, program: &Program, point: PointId) -> Result<u32> {
        self.point_bytes(program, point)?;
        Ok(self.finishing.plan.ways.get(&point).map_or(RETURN, |way| way.pick))
    }

    /// The points that come after a frame's return, each so many times.
    fn after_frame(&mut self, program: &Program, frame: Frame) -> Result<Option<Points>> {
        let count = program.count_after(frame.point, frame.count);
        Ok(match program.point(frame.point) {
            // A call goes on to a repeat that has run no times.
            Point::Repeat { body, min, next, .. } if count > 0 => {
                Some(SmallVec::from_slice(&[(body, min.saturating_sub(count)), (next, 1)]))
            }
            Point::Scope { tag, .. } if count > 0 => program
                .after_capture(tag, None, &mut self.languages)?
                .map(|next| SmallVec::from_slice(&[(next, 1)])),
            _ => Some(SmallVec::from_slice(&[(frame.point, 1)])),
        })
    }

    /// Bytes from a frame's return to the end of the rule that it returns to.
    pub(crate) fn frame_bytes(&mut self, program: &Program, frame: Frame) -> Result<Option<u64>> {
        let Some(points) = self.after_frame(program, frame)? else { return Ok(None) };
        let mut sum = 0u64;
        for (point, times) in points {
            if times > 0 {
                let Some(bytes) = self.point_bytes(program, point)? else { return Ok(None) };
                sum = sum.saturating_add(bytes.saturating_mul(times.into()));
            }
        }
        Ok(Some(sum))
    }

    /// Whether a text that is written down the stack goes through captured texts, which are taken to
    /// lead where any text does.
    pub(crate) fn is_frame_approximate(&self, program: &Program, frame: Frame) -> bool {
        let known = |point: &PointId| {
            self.finishing.plan.ways.get(point).is_none_or(|way| way.is_approximate)
        };
        match program.point(frame.point) {
            Point::Scope { .. } => true,
            Point::Repeat { body, next, .. } => known(&body) || known(&next),
            _ => known(&frame.point),
        }
    }

    pub(crate) fn write_frame(
        &mut self,
        program: &Program,
        frame: Frame,
        to: &mut Vec<u32>,
    ) -> Result<()> {
        for (point, times) in self.after_frame(program, frame)?.unwrap_or_default() {
            for _ in 0..times {
                self.write(program, point, to)?;
            }
        }
        Ok(())
    }

    /// Bytes from a stack to the end of the text.
    pub(crate) fn stack_bytes(&mut self, program: &Program, stack: StackId) -> Result<Option<u64>> {
        self.finishing.plan.stacks.insert(BOTTOM, Some(0));
        let mut todo = vec![stack];
        while let Some(&at) = todo.last() {
            if self.finishing.plan.stacks.contains_key(&at) {
                todo.pop();
                continue;
            }
            let before = todo.len();
            let below = self.stacks.frames(at).iter().map(|frame| frame.below);
            todo.extend(below.filter(|below| !self.finishing.plan.stacks.contains_key(below)));
            if todo.len() > before {
                continue;
            }
            let mut least: Option<u64> = None;
            for i in 0..self.stacks.frames(at).len() {
                let frame = self.stacks.frames(at)[i];
                let below = self.finishing.plan.stacks[&frame.below];
                if let (Some(bytes), Some(below)) = (self.frame_bytes(program, frame)?, below) {
                    let sum = bytes.saturating_add(below);
                    least = Some(least.map_or(sum, |least| least.min(sum)));
                }
            }
            self.finishing.plan.stacks.insert(at, least);
        }
        Ok(self.finishing.plan.stacks[&stack])
    }

    /// The name of a choice with which the shortest text from an item goes on, from where the item
    /// is in it: what is left of it, and the point after it.
    fn name_rest(
        &mut self,
        program: &Program,
        item: Item,
        names: u32,
    ) -> Result<Option<(Vec<u8>, PointId)>> {
        let mut best: Option<(u64, Vec<u8>, PointId)> = None;
        for (rank, text, _) in program.shortest_names(names, item.state.number()) {
            let next = program.after_name(names, rank, &mut self.languages)?;
            let Some(bytes) = self.point_bytes(program, next)? else { continue };
            let whole = bytes.saturating_add(text.len() as u64);
            if best.as_ref().is_none_or(|best| whole < best.0) {
                best = Some((whole, text, next));
            }
        }
        Ok(best.map(|(_, text, next)| (text, next)))
    }

    /// The length of what is left of an item's terminal, and the point after it.
    fn item_rest_bytes(&mut self, program: &Program, item: Item) -> Result<Option<(u64, PointId)>> {
        let most = self.finishing.most;
        match program.point(item.point) {
            Point::Regular { next, .. } => {
                let bytes = witness_length::short_length(&mut self.languages, item.state, most)?;
                Ok(bytes.map(|bytes| (bytes, next)))
            }
            Point::Capture { .. }
                if lengths::min_length_bound(&mut self.languages, item.state) > most =>
            {
                Ok(Some((most.saturating_add(1), RETURN)))
            }
            Point::Special { next, .. } => Ok(Some((1, next))),
            _ => {
                let rest = self.item_rest(program, item)?;
                Ok(rest.map(|rest| (rest.text.len() as u64, rest.next)))
            }
        }
    }

    /// What is left of an item's terminal, as a text, and the point after it.
    pub(crate) fn item_rest(&mut self, program: &Program, item: Item) -> Result<Option<Rest>> {
        let symbols = |text: &[u8]| text.iter().map(|&byte| u32::from(byte)).collect();
        match program.point(item.point) {
            Point::Special { tokens, next } => {
                let token = program.tokens(tokens).first().map(|&token| special(token));
                let text = token.into_iter().collect();
                Ok(Some(Rest { text, next, is_approximate: false }))
            }
            Point::Names(names) => {
                let rest = self.name_rest(program, item, names)?;
                Ok(rest.map(|(text, next)| Rest {
                    text: symbols(&text),
                    next,
                    is_approximate: false,
                }))
            }
            Point::Regular { next, .. } => {
                let text = witness::short(&mut self.languages, item.state)?;
                Ok(text.map(|text| Rest { text: symbols(&text), next, is_approximate: false }))
            }
            Point::Capture { language, tag } => {
                // Of one that was walked, or that is taken to be read, it is not known what was.
                let is_known = item.state == language
                    || item.text != NO_TEXT && item.state != Language::EPSILON;
                if is_known && program.is_item(tag) {
                    let read = self.text(item.text);
                    let rest = self.item_that_differs(program, tag, (item.state, &read))?;
                    if rest.is_some() {
                        return Ok(rest);
                    }
                }
                let Some(text) = witness::short(&mut self.languages, item.state)? else {
                    return Ok(None);
                };
                let (next, is_approximate) = match self.finishing.assumes {
                    Captured::Spelled if is_known => {
                        let whole = [&*self.text(item.text), &*text].concat();
                        let languages = &mut self.languages;
                        (program.after_capture(tag, Some(&whole), languages)?, false)
                    }
                    _ => (program.after_capture(tag, None, &mut self.languages)?, true),
                };
                Ok(next.map(|next| Rest { text: symbols(&text), next, is_approximate }))
            }
            _ => Ok(None),
        }
    }

    /// A short rest of an array's item, of which some was read, with which it differs from those
    /// before, where it must.
    fn item_that_differs(
        &mut self,
        program: &Program,
        tag: u32,
        (state, read): (Language, &[u8]),
    ) -> Result<Option<Rest>> {
        let mut left = state;
        loop {
            let Some(rest) = witness::short(&mut self.languages, left)? else { return Ok(None) };
            let whole = [read, &rest].concat();
            if let Some(next) = program.after_capture(tag, Some(&whole), &mut self.languages)? {
                let text = rest.iter().map(|&byte| u32::from(byte)).collect();
                return Ok(Some(Rest { text, next, is_approximate: false }));
            }
            // It is among those before: once without all of them.
            let Some((texts, set)) = program.looked_up(tag).filter(|_| left == state) else {
                return Ok(None);
            };
            let mut refused = texts.language(&mut self.languages, set);
            for &byte in read {
                refused = self.languages.step(refused, byte)?;
            }
            left = self.languages.difference(state, refused);
        }
    }

    /// A short text of a rule, if its source tells one and it is worth planning.
    fn completion(&mut self, program: &Program, rule: RuleId) -> Result<Option<Arc<[u8]>>> {
        match program.least_bytes(rule) > self.planned() {
            true => Ok(None),
            false => program.completion(rule, &mut self.languages),
        }
    }

    /// Bytes from an item to the end of the text; above what is
    /// [worth planning](Machine::plan_within) a lower bound.
    pub(crate) fn item_bytes(&mut self, program: &Program, item: Item) -> Result<Option<u64>> {
        match item.point {
            ACCEPT => return Ok(Some(0)),
            RETURN => return Ok(None),
            _ => {}
        }
        let Some((here, next)) = self.item_rest_bytes(program, item)? else { return Ok(None) };
        if here > self.finishing.most {
            return Ok(Some(here));
        }
        let (Some(rule), Some(stack)) =
            (self.point_bytes(program, next)?, self.stack_bytes(program, item.stack)?)
        else {
            return Ok(None);
        };
        Ok(Some(here.saturating_add(rule).saturating_add(stack)))
    }
}

/// What is left of an item's terminal.
pub(crate) struct Rest {
    pub(crate) text: Vec<u32>,
    /// What follows it.
    pub(crate) next: PointId,
    /// Whether it is a captured text that is taken to lead where any text does.
    pub(crate) is_approximate: bool,
}

/// Points that are known to be reached from one, with the least bytes from each.
struct Derivation {
    points: Vec<PointId>,
    ids: FxHashMap<PointId, usize>,
    choices: Vec<Vec<Choice>>,
    bytes: Vec<u64>,
}

/// How it goes on after a captured text, of which `text` is known or nothing.
fn captured(
    program: &Program,
    tag: u32,
    text: Option<Arc<[u8]>>,
    fixed: u64,
    body: &[(PointId, u32)],
) -> Vec<Choice> {
    let is_approximate = text.is_none();
    let mut choice = Choice { is_approximate, ..Choice::new(fixed, body) };
    match program.leads(tag, text.as_deref()) {
        Leads::To(point) => choice.then.push((point, 1)),
        Leads::Nowhere => return Vec::new(),
        Leads::Unknown => choice.open = Some(Open::Capture(tag, text)),
    }
    vec![choice]
}
