//! One text, from the start of a plan to its end.

use rustc_hash::FxHashMap;

use super::Bounds;
use super::choices::Choices;
use super::coverage::Visits;
use super::distances::{Distances, FAR, plus};
use super::plan::{Plan, Turn};
use crate::deadline;
use crate::error::Error;
use crate::regular::{ByteSet, Language};

/// How often a captured text is written anew where what it must differ from is not known before.
const TRIES: u32 = 60;
/// Texts that are tried in vain before they are made half as long.
const TRIES_FOR_LESS: usize = 8;
/// Turns after which a walk has lost its way, for each byte that the text may have.
const TURNS_PER_BYTE: usize = 400;

/// Why a walk came to no text.
pub(super) enum Stop {
    /// No way on keeps the bounds.
    DeadEnd,
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// What is returned to.
struct Frame {
    /// Where it goes on; for a repeat and a scope, themselves.
    point: u32,
    kind: Kind,
    /// From the return on to the end of the text: bytes at least, bytes at most, bytes before
    /// something new.
    rest: Rest,
}

enum Kind {
    Call,
    /// It has run so often, this time included.
    Repeat(u32),
    Scope(Begun),
}

/// Where a text began that may have to be written anew.
#[derive(Clone, Copy)]
struct Begun {
    bytes: usize,
    choices: usize,
    tries: u32,
}

#[derive(Clone, Copy)]
struct Rest {
    least: u32,
    most: u32,
    goal: u32,
}

impl Rest {
    const END: Self = Self { least: 0, most: 0, goal: FAR };
}

/// A way on.
#[derive(Clone, Copy)]
struct Way {
    rest: Rest,
    /// Calls open at once on the way.
    depth: usize,
    /// Has no text gone this way?
    new: bool,
}

/// Bytes that lead from a state of a terminal to another.
struct Step {
    to: Language,
    bytes: ByteSet,
    /// Bytes of the shortest string from there on; at most.
    least: u32,
    most: u32,
}

/// How a text is written.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    /// On the way to something that no text has reached?
    pub(super) hunts: bool,
    /// Is a way measured by a text that is known to lead from it to the end, rather than by what no
    /// text can be shorter than?
    pub(super) careful: bool,
    /// Texts that were begun in vain.
    pub(super) tries: usize,
}

/// A text as it is written.
pub(super) struct Walk<'a> {
    plan: &'a Plan,
    distances: &'a mut Distances,
    visits: &'a mut Visits,
    choices: &'a mut Choices,
    bounds: Bounds,
    /// See [`Manner`].
    hunts: bool,
    /// From this length on the text heads for its end.
    enough: usize,
    text: Vec<u8>,
    stack: Vec<Frame>,
    /// What is being written anew must differ from what was written before: chance decides, not
    /// the shortest way.
    again: u32,
    /// See [`Manner`].
    careful: bool,
    steps: FxHashMap<Language, Vec<Step>>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        distances: &'a mut Distances,
        visits: &'a mut Visits,
        choices: &'a mut Choices,
        bounds: Bounds,
        manner: Manner,
    ) -> Self {
        let Manner { hunts, careful, tries } = manner;
        choices.begin();
        let Bounds { min_bytes, max_bytes, .. } = bounds;
        // Short texts are as welcome as long ones: the square of a number between 0 and 1.
        let room = max_bytes.saturating_sub(min_bytes).min(1 << 20) as u64;
        // The more was tried in vain, the sooner a text heads for its end.
        let room = room >> (tries / TRIES_FOR_LESS).min(20);
        let part = match choices.is_told() {
            true => 1 << 16,
            false => u64::from(choices.below(1 << 16)),
        };
        let enough = min_bytes + ((room * part * part) >> 32) as usize;
        let (text, stack, steps) = (Vec::new(), Vec::new(), FxHashMap::default());
        Self {
            plan,
            distances,
            visits,
            choices,
            bounds,
            hunts,
            enough,
            text,
            stack,
            again: 0,
            careful,
            steps,
        }
    }

    /// The text from this point on.
    pub(super) fn run(mut self, start: u32) -> Result<Vec<u8>, Stop> {
        let mut point = start;
        let most_turns = 10_000 + TURNS_PER_BYTE * self.bounds.max_bytes;
        for _ in 0..most_turns {
            deadline::check()?;
            self.distances.learn(self.plan, self.hunts.then_some(&*self.visits))?;
            point = match self.turn(point)? {
                Some(next) => next,
                None => return Ok(self.text),
            };
        }
        Err(Stop::DeadEnd)
    }

    /// Does what stands at a point; where it goes on, if the text is not at its end.
    fn turn(&mut self, point: u32) -> Result<Option<u32>, Stop> {
        let turn = self.distances.turn(point).clone();
        if !self.choices.is_told() && self.visits.is_new_place(self.plan, point, &turn) {
            self.visits.visit(self.plan, point);
            // What was hunted is here.
            self.hunts = false;
        }
        Ok(Some(match turn {
            Turn::Return => match self.stack.pop() {
                None => return Ok(None),
                Some(frame) => self.come_back(frame)?,
            },
            Turn::Special => return Err(Stop::DeadEnd),
            Turn::Read { language, next } => {
                let rest = self.rest(next);
                self.read(language, rest)?;
                next
            }
            Turn::Call { rule, next } => {
                let entry = self.plan.enter(rule)?;
                if next != Plan::RETURN {
                    let rest = self.rest(next);
                    self.stack.push(Frame { point: next, kind: Kind::Call, rest });
                }
                entry
            }
            Turn::Fork(ways) => {
                let options = (0..).zip(ways.iter()).map(|(i, &way)| Way {
                    rest: self.rest(way),
                    depth: self.stack.len() + self.distances.depth(way) as usize,
                    new: self.visits.is_new_way(point, i),
                });
                let way = self.choose(&options.collect::<Vec<_>>())?;
                self.take(point, way as u32);
                ways[way]
            }
            Turn::Repeat { .. } => self.repeat(point, 0)?,
            Turn::Names { names, all } => loop {
                let options: Vec<Way> = all
                    .iter()
                    .map(|(rank, name)| Way {
                        rest: self.rest_of_name(point, names, *rank, name.len() as u32),
                        depth: self.stack.len(),
                        new: self.visits.is_new_way(point, *rank),
                    })
                    .collect();
                let noted = self.choices.len();
                let (rank, name) = &all[self.choose(&options)?];
                let next = self.plan.after_name(names, *rank)?;
                if self.careful {
                    self.distances.learn(self.plan, self.hunts.then_some(&*self.visits))?;
                    let length = name.len() as u32;
                    let rest = self.rest_of_name(point, names, *rank, length);
                    if self.text.len() + rest.least as usize > self.bounds.max_bytes {
                        // Known now, and chosen no more.
                        self.choices.truncate(noted);
                        continue;
                    }
                }
                self.take(point, *rank);
                self.text.extend_from_slice(name);
                break next;
            },
            Turn::Capture { language, tag } => self.capture(language, tag)?,
            Turn::Scope { body, tag } => {
                let begun = Begun { bytes: self.text.len(), choices: self.choices.len(), tries: 0 };
                self.enter_scope(point, body, tag, begun)
            }
        }))
    }

    fn enter_scope(&mut self, point: u32, body: u32, tag: u32, begun: Begun) -> u32 {
        let rest = self.rest_behind(tag);
        self.stack.push(Frame { point, kind: Kind::Scope(begun), rest });
        body
    }

    /// Goes on where a frame says.
    fn come_back(&mut self, frame: Frame) -> Result<u32, Stop> {
        let begun = match frame.kind {
            Kind::Call => return Ok(frame.point),
            Kind::Repeat(times) => return self.repeat(frame.point, times),
            Kind::Scope(begun) => begun,
        };
        let Turn::Scope { body, tag } = *self.distances.turn(frame.point) else {
            return Err(Stop::DeadEnd);
        };
        self.again = self.again.saturating_sub(begun.tries);
        match self.plan.after_capture(tag, &self.text[begun.bytes..])? {
            Some(next) => {
                self.visits.come_behind(next);
                Ok(next)
            }
            None => {
                let begun = self.undo(begun)?;
                self.again += begun.tries;
                Ok(self.enter_scope(frame.point, body, tag, begun))
            }
        }
    }

    /// Back to where a text began, for another try.
    fn undo(&mut self, begun: Begun) -> Result<Begun, Stop> {
        if begun.tries == TRIES {
            return Err(Stop::DeadEnd);
        }
        self.text.truncate(begun.bytes);
        self.choices.truncate(begun.choices);
        Ok(Begun { tries: begun.tries + 1, ..begun })
    }

    /// A repeat that has run some times: once more, or on.
    fn repeat(&mut self, point: u32, times: u32) -> Result<u32, Stop> {
        let Turn::Repeat { body, min, max, next } = *self.distances.turn(point) else {
            return Err(Stop::DeadEnd);
        };
        let (least, most) = (self.least(body), self.distances.most(body));
        // After one time more; those that must follow, and those that may.
        let (must, may) = (min.saturating_sub(times + 1), max.saturating_sub(times + 1));
        let on = self.rest(next);
        let after = on.after(least.saturating_mul(must), most.saturating_mul(may));
        let (goal, body_goal) = (after.goal, self.distances.goal(body));
        let once = Way {
            rest: Rest { goal: body_goal.min(plus(least, goal)), ..after.after(least, most) },
            depth: self.stack.len() + 1 + self.distances.depth(body) as usize,
            new: self.visits.is_new_way(point, 0),
        };
        let depth = self.stack.len() + self.distances.depth(next) as usize;
        let stop = Way { rest: on, depth, new: false };
        let again = match (times < min, times < max && least != FAR) {
            (true, _) => true,
            (_, false) => false,
            _ => self.choose(&[stop, once])? == 1,
        };
        if !again {
            return Ok(next);
        }
        self.take(point, 0);
        self.stack.push(Frame { point, kind: Kind::Repeat(times + 1), rest: after });
        Ok(body)
    }

    /// A string of the language, where that decides what follows.
    fn capture(&mut self, language: Language, tag: u32) -> Result<u32, Stop> {
        let mut begun = Begun { bytes: self.text.len(), choices: self.choices.len(), tries: 0 };
        let rest = self.rest_behind(tag);
        loop {
            self.read(language, rest)?;
            self.again = self.again.saturating_sub(begun.tries);
            if let Some(next) = self.plan.after_capture(tag, &self.text[begun.bytes..])? {
                self.visits.come_behind(next);
                return Ok(next);
            }
            begun = self.undo(begun)?;
            self.again += begun.tries;
        }
    }

    /// What follows the rule that is being written.
    fn below(&self) -> Rest {
        self.stack.last().map_or(Rest::END, |frame| frame.rest)
    }

    /// From a point on.
    fn rest(&self, point: u32) -> Rest {
        let below = self.below();
        let (least, most) = (self.least(point), self.distances.most(point));
        let goal = self.distances.goal(point).min(plus(least, below.goal));
        Rest { least: plus(least, below.least), most: plus(most, below.most), goal }
    }

    /// Bytes from a point to the end of its rule.
    fn least(&self, point: u32) -> u32 {
        match self.distances.least(point) {
            FAR => FAR,
            least if self.careful => self.plan.shortest(point).map_or(least, |b| b.max(least)),
            least => least,
        }
    }

    /// With a name, and from there on.
    fn rest_of_name(&self, point: u32, names: u32, rank: u32, length: u32) -> Rest {
        let known = self.plan.known_name(names, rank);
        match known.filter(|&target| (target as usize) < self.distances.turns().len()) {
            Some(target) => self.rest(target).after(length, length),
            None => {
                let below = Rest { most: FAR, goal: 0, ..self.below() }.after(length, FAR);
                // The shortest text leads through a name that is known.
                let shortest = if self.careful { plus(self.rest(point).least, 1) } else { 0 };
                Rest { least: below.least.max(shortest), ..below }
            }
        }
    }

    /// Behind a text that decides what follows.
    fn rest_behind(&self, tag: u32) -> Rest {
        let below = Rest { most: FAR, ..self.below() };
        match self.careful {
            true => below.after(self.plan.shortest_after(tag).unwrap_or(0), FAR),
            false => below,
        }
    }

    fn take(&mut self, point: u32, way: u32) {
        if !self.choices.is_told() && self.visits.is_new_way(point, way) {
            self.visits.take(point, way);
            self.hunts = false;
        }
    }

    /// May the text go on so?
    fn fits(&self, way: &Way) -> bool {
        self.text.len() + way.rest.least as usize <= self.bounds.max_bytes
            && way.rest.least != FAR
            && self.bounds.max_depth.is_none_or(|most| way.depth <= most)
    }

    /// One of these ways.
    fn choose(&mut self, ways: &[Way]) -> Result<usize, Stop> {
        let mut open: Vec<usize> = (0..ways.len()).filter(|&i| self.fits(&ways[i])).collect();
        let long =
            |&i: &usize| self.text.len() + ways[i].rest.most as usize >= self.bounds.min_bytes;
        if open.iter().any(long) {
            open.retain(long);
        }
        match open[..] {
            [] => return Err(Stop::DeadEnd),
            [one] => return Ok(one),
            _ => {}
        }
        // The simplest first.
        open.sort_by_key(|&i| ways[i].rest.least);
        if self.again == 0
            && let Some(told) = self.choices.told(open.len())
        {
            self.choices.note(told);
            return Ok(open[told]);
        }
        let least = ways[open[0]].rest.least;
        let mut among: Vec<usize> = open.clone();
        let goal = |&i: &usize| if ways[i].new { 0 } else { ways[i].rest.goal };
        let nearest = open.iter().map(goal).min().unwrap_or(FAR);
        if self.hunts && self.again == 0 && nearest != FAR {
            among.retain(|i| goal(i) == nearest);
        } else if self.text.len() + least as usize >= self.enough && self.again == 0 {
            among.retain(|&i| ways[i].rest.least == least);
        }
        let new: Vec<usize> = among.iter().copied().filter(|&i| ways[i].new).collect();
        if !new.is_empty() && self.choices.one_in(2) {
            among = new;
        }
        let chosen = among[self.choices.below(among.len() as u32) as usize];
        self.choices.note(open.iter().position(|&i| i == chosen).unwrap_or(0));
        Ok(chosen)
    }

    /// Writes a string of the language; `rest` follows.
    fn read(&mut self, language: Language, rest: Rest) -> Result<(), Stop> {
        let mut state = language;
        let below = Rest { goal: FAR, ..rest };
        loop {
            self.learn_steps(state)?;
            let steps = &self.steps[&state];
            let ends = self.plan.languages(|languages| languages.is_nullable(state));
            if steps.is_empty() {
                return if ends { Ok(()) } else { Err(Stop::DeadEnd) };
            }
            if ends {
                let least = steps.iter().map(|step| step.least).min().unwrap_or(FAR);
                let most = steps.iter().map(|step| step.most).max().unwrap_or(0);
                let new = steps.iter().any(|step| self.visits.is_new_step(state, step.to));
                let depth = self.stack.len();
                let stop = Way { rest: below, depth, new: false };
                let on = below.after(plus(least, 1), plus(most, 1));
                // What is hunted is no step of a terminal.
                let on = Way { rest: on, depth, new: new && !self.hunts };
                // Strings of a few characters rather than of one.
                let ways = [stop, on];
                let go_on = match self.again == 0 && !self.choices.is_told() {
                    true => self.choose_length(&ways)?,
                    false => self.choose(&ways)? == 1,
                };
                if !go_on {
                    return Ok(());
                }
            }
            state = self.step(state, rest)?;
        }
    }

    /// To go on (the second) or not.
    fn choose_length(&mut self, ways: &[Way; 2]) -> Result<bool, Stop> {
        let free = ways.iter().all(|way| self.fits(way))
            && self.text.len() + ways[0].rest.most as usize >= self.bounds.min_bytes;
        let home = self.text.len() + ways[0].rest.least as usize >= self.enough;
        if !free || home || self.hunts || ways[1].new {
            return Ok(self.choose(ways)? == 1);
        }
        let on = !self.choices.one_in(4);
        self.choices.note(usize::from(on));
        Ok(on)
    }

    /// One byte of a terminal; the state after it.
    fn step(&mut self, state: Language, rest: Rest) -> Result<Language, Stop> {
        let steps = &self.steps[&state];
        let written = self.text.len() + 1;
        let mut open: Vec<usize> = (0..steps.len())
            .filter(|&i| {
                let least = plus(steps[i].least, rest.least);
                least != FAR && written + least as usize <= self.bounds.max_bytes
            })
            .collect();
        let long =
            |&i: &usize| written + plus(steps[i].most, rest.most) as usize >= self.bounds.min_bytes;
        if open.iter().any(long) {
            open.retain(long);
        }
        open.sort_by_key(|&i| steps[i].least);
        // All bytes, the simplest first.
        let all: Vec<(usize, u8)> = open
            .iter()
            .flat_map(|&i| simplest_first(&steps[i].bytes).map(move |b| (i, b)))
            .collect();
        if all.is_empty() {
            return Err(Stop::DeadEnd);
        }
        let told = match self.again == 0 && all.len() > 1 {
            true => self.choices.told(all.len()),
            false => None,
        };
        let at = match told {
            Some(at) => at,
            None if all.len() == 1 => 0,
            None => {
                let mut among = open;
                let least = steps[among[0]].least;
                let home = written + plus(least, rest.least) as usize >= self.enough;
                if home && self.again == 0 {
                    among.retain(|&i| steps[i].least == least);
                }
                let new = |&i: &usize| self.visits.is_new_step(state, steps[i].to);
                let plain = |&i: &usize| steps[i].bytes.iter().any(|b| b.is_ascii());
                if among.iter().any(new) && self.choices.one_in(2) {
                    among.retain(new);
                } else if among.iter().any(plain) && !self.choices.one_in(8) {
                    among.retain(plain);
                }
                let step = among[self.choices.below(among.len() as u32) as usize];
                let byte = draw_byte(&steps[step].bytes, self.choices);
                all.iter().position(|&found| found == (step, byte)).unwrap_or(0)
            }
        };
        if all.len() > 1 {
            self.choices.note(at);
        }
        let (step, byte) = all[at];
        let to = steps[step].to;
        self.text.push(byte);
        if !self.choices.is_told() {
            self.visits.see(state, steps.len());
            self.visits.step(state, to);
        }
        Ok(to)
    }

    /// Finds out where the bytes lead from a state.
    fn learn_steps(&mut self, state: Language) -> Result<(), Stop> {
        if self.steps.contains_key(&state) {
            return Ok(());
        }
        let row = self.plan.languages(|languages| languages.row(state).copied())?;
        let mut steps: Vec<Step> = Vec::new();
        for (byte, to) in (0..=u8::MAX).zip(row) {
            if to == Language::EMPTY {
                continue;
            }
            match steps.iter_mut().find(|step| step.to == to) {
                Some(step) => step.bytes.insert(byte),
                None => {
                    let bytes = ByteSet::from_iter([byte]);
                    let least = self.distances.least_length(self.plan, to)?;
                    let most = self.distances.most_length(self.plan, to);
                    steps.push(Step { to, bytes, least, most });
                }
            }
        }
        self.steps.insert(state, steps);
        Ok(())
    }
}

impl Rest {
    /// The same after so many bytes more.
    fn after(self, least: u32, most: u32) -> Self {
        let goal = plus(least, self.goal);
        Self { least: plus(least, self.least), most: plus(most, self.most), goal }
    }
}

/// The bytes in the order in which a reader finds them simple: letters, digits, other printable
/// ones, the rest.
fn simplest_first(bytes: &ByteSet) -> impl Iterator<Item = u8> {
    let rank = |b: u8| match b {
        b'a'..=b'z' => 0,
        b'0'..=b'9' => 1,
        b'A'..=b'Z' => 2,
        b' '..=b'~' => 3,
        _ => 4,
    };
    let mut sorted: Vec<u8> = bytes.iter().collect();
    sorted.sort_by_key(|&b| (rank(b), b));
    sorted.into_iter()
}

/// One of the bytes: mostly a printable one, often a letter or digit.
fn draw_byte(bytes: &ByteSet, choices: &mut Choices) -> u8 {
    let mut among: Vec<u8> = bytes.iter().collect();
    let mut prefer = |wanted: fn(&u8) -> bool, unless_one_in: u32| {
        if among.iter().any(wanted) && !choices.one_in(unless_one_in) {
            among.retain(wanted);
        }
    };
    prefer(|b| matches!(b, b' '..=b'~'), 16);
    prefer(u8::is_ascii_alphanumeric, 2);
    // A step is made of one byte at least.
    among.get(choices.below(among.len().max(1) as u32) as usize).copied().unwrap_or_default()
}
