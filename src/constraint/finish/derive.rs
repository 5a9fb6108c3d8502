//! Least derivations: the shortest text from a point to the end of its rule.

use super::spelled::special;
use super::*;
use crate::constraint::program::Leads;
use crate::deadline;
use crate::grammar::RuleId;

/// Points looked at in one search for a shortest text.
const WORK: usize = 2_000_000;

/// No text is known.
const INFINITE: u32 = u32::MAX;

/// How the shortest text from a point goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) bytes: u32,
    /// At forks: the way to take. At names: the name, by rank.
    pick: u32,
}

/// What is not made yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Open {
    Rule(RuleId),
    Name(u32, u32),
    Capture(u32),
}

/// Points, each so many times.
type Points = SmallVec<[(PointId, u32); 2]>;

/// One way to go on at a point.
#[derive(Clone, Debug, Default)]
struct Choice {
    /// In bytes.
    fixed: u32,
    /// What it goes through.
    then: Points,
    open: Option<Open>,
    pick: u32,
}

impl Choice {
    fn new(fixed: usize, then: &[(PointId, u32)]) -> Self {
        Self { fixed: fixed as u32, then: SmallVec::from_slice(then), ..Self::default() }
    }
}

impl Machine {
    /// The length of the shortest text from a point to the end of its rule, in bytes; `None` if
    /// none was found.
    pub(in crate::constraint) fn point_bytes(
        &mut self,
        program: &Program,
        start: PointId,
    ) -> Result<Option<u32>> {
        if let Some(way) = self.finishing.ways.get(&start) {
            return Ok(Some(way.bytes));
        }
        let mut work = 0;
        loop {
            let Derivation { points, ids, choices, bytes } = self.derivation(program, start)?;
            work += points.len();
            if bytes[0] == INFINITE || work > WORK {
                return Ok(None);
            }
            let mut opened = false;
            let mut seen = vec![false; points.len()];
            let mut todo = vec![0];
            let mut ways = Vec::new();
            while let Some(at) = todo.pop() {
                if std::mem::replace(&mut seen[at], true) {
                    continue;
                }
                let cost = |choice: &Choice| self.cost(choice, &ids, &bytes);
                // The first of the least: the same each time.
                let Some(best) = choices[at].iter().min_by_key(|choice| cost(choice)) else {
                    continue;
                };
                ways.push((points[at], Way { bytes: bytes[at], pick: best.pick }));
                todo.extend(best.then.iter().filter_map(|(point, _)| ids.get(point)));
                opened |= best.open.is_some();
                if let Some(open) = best.open {
                    self.make(program, open)?;
                }
            }
            if !opened {
                self.finishing.ways.extend(ways);
                return Ok(Some(bytes[0]));
            }
        }
    }

    /// Makes what a shortest text may lead through. What is beyond the limits of its source is no
    /// way to the end.
    fn make(&mut self, program: &Program, open: Open) -> Result<()> {
        let languages = &mut self.languages;
        let made = match open {
            // A rule can be called twice.
            Open::Rule(rule) if program.entry(rule).is_some() => Ok(()),
            Open::Rule(rule) => program.expand(rule, languages),
            Open::Name(names, rank) => program.after_name(names, rank, languages).map(|_| ()),
            Open::Capture(tag) => program.after_capture(tag, None, languages).map(|_| ()),
        };
        match made {
            Err(error) if error.kind() == ErrorKind::Limit && !deadline::is_over() => {
                self.finishing.refused.insert(open);
                Ok(())
            }
            made => made,
        }
    }

    fn cost(&self, choice: &Choice, ids: &FxHashMap<PointId, usize>, bytes: &[u32]) -> u32 {
        choice.then.iter().fold(choice.fixed, |sum, (point, times)| {
            let one = match (ids.get(point), self.finishing.ways.get(point)) {
                (Some(&id), _) => bytes[id],
                (None, Some(way)) => way.bytes,
                (None, None) => INFINITE,
            };
            sum.saturating_add(one.saturating_mul(*times))
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
            here.retain(|choice| choice.open.is_none_or(|o| !self.finishing.refused.contains(&o)));
            for &(next, _) in here.iter().flat_map(|choice| &choice.then) {
                if self.finishing.ways.contains_key(&next) {
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
            Point::Regular { language, next } => match self.languages.short(language)? {
                Some(text) => vec![Choice::new(text.len(), &[(next, 1)])],
                None => Vec::new(),
            },
            Point::Special { next, .. } => vec![Choice::new(1, &[(next, 1)])],
            Point::Call { rule, next } => vec![match program.entry(rule) {
                Some(entry) => Choice::new(0, &[(entry, 1), (next, 1)]),
                // No rule holds the empty string.
                None => Choice { open: Some(Open::Rule(rule)), ..Choice::new(1, &[(next, 1)]) },
            }],
            Point::Fork(ways) => {
                let ways = program.ways(ways).into_iter();
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
                            Choice { pick: rank, ..Choice::new(text.len(), &[(point, 1)]) }
                        }
                        None => Choice {
                            pick: rank,
                            open: Some(Open::Name(names, rank)),
                            ..Choice::new(text.len() + 1, &[])
                        },
                    })
                    .collect()
            }
            Point::Capture { language, tag } => match self.languages.short(language)? {
                Some(text) => captured(program, tag, text.len(), &[]),
                None => Vec::new(),
            },
            Point::Scope { body, tag } => captured(program, tag, 0, &[(body, 1)]),
        })
    }

    /// Appends the shortest text from a point to the end of its rule, which is known.
    pub(super) fn write(
        &mut self,
        program: &Program,
        start: PointId,
        to: &mut Vec<u32>,
    ) -> Result<()> {
        let mut todo = vec![start];
        while let Some(point) = todo.pop() {
            if to.len() as u32 > LONGEST {
                return Ok(());
            }
            let pick = match self.finishing.ways.get(&point) {
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
                    todo.extend(program.entry(rule));
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
                Point::Capture { language, tag } => {
                    self.write_shortest(language, to)?;
                    todo.extend(program.after_capture(tag, None, &mut self.languages)?);
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
        let text = self.languages.short(language)?.unwrap_or_default();
        to.extend(text.iter().map(|&byte| u32::from(byte)));
        Ok(())
    }

    fn settled(&mut self, program: &Program, point: PointId) -> Result<u32> {
        self.point_bytes(program, point)?;
        Ok(self.finishing.ways.get(&point).map_or(RETURN, |way| way.pick))
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
    pub(super) fn frame_bytes(&mut self, program: &Program, frame: Frame) -> Result<Option<u32>> {
        let Some(points) = self.after_frame(program, frame)? else { return Ok(None) };
        let mut sum = 0u32;
        for (point, times) in points {
            if times > 0 {
                let Some(bytes) = self.point_bytes(program, point)? else { return Ok(None) };
                sum = sum.saturating_add(bytes.saturating_mul(times));
            }
        }
        Ok(Some(sum))
    }

    pub(super) fn write_frame(
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
    pub(super) fn stack_bytes(&mut self, program: &Program, stack: StackId) -> Result<Option<u32>> {
        self.finishing.stacks.insert(BOTTOM, Some(0));
        let mut todo = vec![stack];
        while let Some(&at) = todo.last() {
            if self.finishing.stacks.contains_key(&at) {
                todo.pop();
                continue;
            }
            let before = todo.len();
            let below = self.stacks.frames(at).iter().map(|frame| frame.below);
            todo.extend(below.filter(|below| !self.finishing.stacks.contains_key(below)));
            if todo.len() > before {
                continue;
            }
            let mut least: Option<u32> = None;
            for i in 0..self.stacks.frames(at).len() {
                let frame = self.stacks.frames(at)[i];
                let below = self.finishing.stacks[&frame.below];
                if let (Some(bytes), Some(below)) = (self.frame_bytes(program, frame)?, below) {
                    let sum = bytes.saturating_add(below);
                    least = Some(least.map_or(sum, |least| least.min(sum)));
                }
            }
            self.finishing.stacks.insert(at, least);
        }
        Ok(self.finishing.stacks[&stack])
    }

    /// What is left of an item's terminal, as a text, and the point after it.
    pub(super) fn item_rest(
        &mut self,
        program: &Program,
        item: Item,
    ) -> Result<Option<(Vec<u32>, PointId)>> {
        let mut rest = Vec::new();
        let next = match program.point(item.point) {
            Point::Regular { next, .. } => Some(next),
            Point::Capture { tag, .. } => program.after_capture(tag, None, &mut self.languages)?,
            Point::Special { tokens, next } => {
                rest.extend(program.tokens(tokens).first().map(|&token| special(token)));
                return Ok(Some((rest, next)));
            }
            Point::Names(names) => {
                let mut best: Option<(u32, Vec<u8>, PointId)> = None;
                for (rank, text, _) in program.shortest_names(names, item.state.number()) {
                    let next = program.after_name(names, rank, &mut self.languages)?;
                    let Some(bytes) = self.point_bytes(program, next)? else { continue };
                    let whole = bytes.saturating_add(text.len() as u32);
                    if best.as_ref().is_none_or(|best| whole < best.0) {
                        best = Some((whole, text, next));
                    }
                }
                return Ok(best.map(|(_, text, next)| {
                    rest.extend(text.into_iter().map(u32::from));
                    (rest, next)
                }));
            }
            _ => return Ok(None),
        };
        Ok(match (next, self.languages.short(item.state)?) {
            (Some(next), Some(text)) => {
                rest.extend(text.iter().map(|&byte| u32::from(byte)));
                Some((rest, next))
            }
            _ => None,
        })
    }

    /// Bytes from an item to the end of the text, at least.
    pub(super) fn item_bytes(&mut self, program: &Program, item: Item) -> Result<Option<u32>> {
        match item.point {
            ACCEPT => return Ok(Some(0)),
            RETURN => return Ok(None),
            _ => {}
        }
        let Some((rest, next)) = self.item_rest(program, item)? else { return Ok(None) };
        let (Some(rule), Some(stack)) =
            (self.point_bytes(program, next)?, self.stack_bytes(program, item.stack)?)
        else {
            return Ok(None);
        };
        let here = rest.len() as u32;
        Ok(Some(here.saturating_add(rule).saturating_add(stack)))
    }
}

/// Points that are known to be reached from one, with the least bytes from each.
struct Derivation {
    points: Vec<PointId>,
    ids: FxHashMap<PointId, usize>,
    choices: Vec<Vec<Choice>>,
    bytes: Vec<u32>,
}

/// How it goes on after a captured text.
fn captured(program: &Program, tag: u32, fixed: usize, body: &[(PointId, u32)]) -> Vec<Choice> {
    let mut choice = Choice::new(fixed, body);
    match program.leads(tag, None) {
        Leads::To(point) => choice.then.push((point, 1)),
        Leads::Nowhere => return Vec::new(),
        Leads::Unknown => choice.open = Some(Open::Capture(tag)),
    }
    vec![choice]
}
