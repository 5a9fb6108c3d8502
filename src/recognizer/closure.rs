//! Expansion of program points into items, without reading.
//!
//! After a byte, some points are reached with some stacks; calls, choices, repeats and returns lead
//! from there to the terminals that may be read next. Ambiguity can lead to one point along very
//! many ways, so what is known is kept by *point*: the union of all stacks it was reached with,
//! going on only with stacks that are not in it yet. Calls wait until all returns are done, and
//! then push one frame over the union. A step thus makes one set of stacks per point at last, and
//! highly ambiguous grammars stay polynomial.

use rustc_hash::{FxHashMap, FxHashSet};

use super::gss::{BOTTOM, CALLED, StackId, Stacks};
use super::program::{ACCEPT, Leads, Point, PointId, Program, RETURN, SCOPE};
use super::stepping::{FIRST_NODE, Item, NO_TEXT, too_many};
use crate::error::Result;
use crate::grammar::RuleId;
use crate::regular::{Language, Languages};

/// Up to this many places are looked up by going through all of them, which is faster than hashing
/// and enough for nearly every step.
const FEW: usize = 16;

/// A point, and how often it has run if it is a counted repeat.
pub(crate) type Place = (PointId, u32);

/// What an expansion waits for.
#[derive(Clone, Debug)]
pub(crate) enum Pending {
    /// The body of a rule.
    Rule(RuleId),
    /// What follows the text of a scope.
    Capture(u32, Option<Vec<u8>>),
}

#[derive(Clone, Copy, Debug)]
struct Reached {
    place: Place,
    /// All stacks it was reached with.
    stack: StackId,
    /// Those below the last frame that a call or repeat has pushed here.
    pushed: Option<StackId>,
}

/// Where an expansion starts and what it has reached; buffers that every step uses again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Closure {
    /// The points to expand; taken by [`Closure::run`].
    pub(crate) starts: Vec<(Place, StackId)>,
    todo: Vec<(Place, StackId)>,
    reached: Vec<Reached>,
    /// Indices into `reached`, once these are more than a few.
    places: FxHashMap<Place, usize>,
    /// Stacks returned to: exact, since their union would be as deep as the text is nested.
    returned: Vec<StackId>,
    /// The same as a set, once they are more than a few.
    returns: FxHashSet<StackId>,
    /// Calls and repeats that wait, as indices into `reached`, the oldest first.
    waiting: Vec<usize>,
    accepts: bool,
    /// What must be made before the expansion can go on.
    pending: Option<Pending>,
    /// What was read since the outermost open scope began; `None` in walks.
    pub(crate) text: Option<Vec<u8>>,
    limit: usize,
}

/// Where the one way from a start leads: to an item, or to a place where it parts.
enum Followed {
    Item(Item),
    Parts((Place, StackId)),
    /// To a rule whose body is not made yet.
    Pending(RuleId),
}

/// Follows a start as far as there is one way only, which is the common case and needs no memory.
fn follow(
    program: &Program,
    languages: &Languages,
    stacks: &mut Stacks,
    ((mut point, count), mut stack): (Place, StackId),
) -> Result<Followed> {
    if count > 0 {
        return Ok(Followed::Parts(((point, count), stack)));
    }
    loop {
        let state = match program.point(point) {
            _ if point == ACCEPT => {
                stack = BOTTOM;
                Language::EPSILON
            }
            Point::Special { .. } => Language::EPSILON,
            Point::Names(_) => FIRST_NODE,
            Point::Capture { language, .. } => language,
            Point::Regular { language, .. } if !languages.is_nullable(language) => language,
            Point::Call { rule, next } => {
                let Some(entry) = program.entry(rule) else {
                    return Ok(Followed::Pending(rule));
                };
                point = entry;
                // A tail call returns to where its caller does.
                if next != RETURN {
                    stack = stacks.push(next, CALLED, stack)?;
                }
                continue;
            }
            _ if point == RETURN => match *stacks.frames(stack) {
                // A counted repeat goes on with its counter.
                [frame]
                    if !matches!(
                        program.point(frame.point),
                        Point::Repeat { .. } | Point::Scope { .. }
                    ) =>
                {
                    (point, stack) = (frame.point, frame.below);
                    continue;
                }
                _ => return Ok(Followed::Parts(((point, 0), stack))),
            },
            _ => return Ok(Followed::Parts(((point, 0), stack))),
        };
        return Ok(Followed::Item(Item { point, state, text: NO_TEXT, stack }));
    }
}

impl Closure {
    /// Appends the items that the starts lead to; there are no starts afterwards. If something must
    /// be made first: that, and what was appended is not all.
    ///
    /// Errors when more than `limit` ways are followed or a stack outgrows its depth.
    pub(crate) fn run(
        &mut self,
        program: &Program,
        languages: &Languages,
        stacks: &mut Stacks,
        limit: usize,
        items: &mut Vec<Item>,
    ) -> Result<Option<Pending>> {
        if let [start] = self.starts[..] {
            self.starts.clear();
            match follow(program, languages, stacks, start)? {
                Followed::Item(item) => {
                    items.push(item);
                    return Ok(None);
                }
                Followed::Pending(rule) => return Ok(Some(Pending::Rule(rule))),
                Followed::Parts(start) => self.starts.push(start),
            }
        }
        self.limit = limit;
        self.clear();
        for i in 0..self.starts.len() {
            let (place, stack) = self.starts[i];
            self.arrive(stacks, place, stack)?;
        }
        self.starts.clear();
        let mut waited = 0;
        loop {
            while let Some((place, stack)) = self.todo.pop() {
                self.expand(program, languages, stacks, place, stack)?;
            }
            let Some(&first) = self.waiting.get(waited) else { break };
            waited += 1;
            self.push_frame(program, stacks, first)?;
        }
        if let Some(pending) = self.pending.take() {
            return Ok(Some(pending));
        }
        for &Reached { place: (point, _), stack, .. } in &self.reached {
            let state = match program.point(point) {
                Point::Regular { language: Language::EPSILON, .. } => continue,
                Point::Regular { language, .. } | Point::Capture { language, .. } => language,
                Point::Names(_) => FIRST_NODE,
                Point::Special { .. } => Language::EPSILON,
                _ => continue,
            };
            items.push(Item { point, state, text: NO_TEXT, stack });
        }
        if self.accepts {
            items.push(Item::border(ACCEPT, BOTTOM));
        }
        Ok(None)
    }

    fn clear(&mut self) {
        self.todo.clear();
        if self.reached.len() > FEW {
            self.places.clear();
        }
        self.reached.clear();
        if self.returned.len() > FEW {
            self.returns.clear();
        }
        self.returned.clear();
        self.waiting.clear();
        self.accepts = false;
        self.pending = None;
    }

    fn index_of(&self, place: Place) -> Option<usize> {
        match self.reached.len() <= FEW {
            true => self.reached.iter().position(|reached| reached.place == place),
            false => self.places.get(&place).copied(),
        }
    }

    /// A way leads to this place with this stack. Goes on from there unless that is known.
    fn arrive(&mut self, stacks: &mut Stacks, place: Place, stack: StackId) -> Result<()> {
        match place.0 {
            ACCEPT => self.accepts = true,
            RETURN => {
                let known = match self.returned.len() <= FEW {
                    true => self.returned.contains(&stack),
                    false => self.returns.contains(&stack),
                };
                if !known {
                    self.returned.push(stack);
                    match self.returned.len() {
                        ..=FEW => {}
                        n if n == FEW + 1 => self.returns.extend(self.returned.iter().copied()),
                        _ => _ = self.returns.insert(stack),
                    }
                    self.todo.push((place, stack));
                }
            }
            _ => {
                if let Some(index) = self.index_of(place) {
                    let known = self.reached[index].stack;
                    let all = stacks.union(known, stack)?;
                    if all == known {
                        return Ok(());
                    }
                    self.reached[index].stack = all;
                } else {
                    self.reached.push(Reached { place, stack, pushed: None });
                    let places = self.reached.iter().map(|reached| reached.place).zip(0..);
                    match self.reached.len() {
                        ..=FEW => {}
                        n if n == FEW + 1 => self.places.extend(places),
                        n => _ = self.places.insert(place, n - 1),
                    }
                }
                self.todo.push((place, stack));
            }
        }
        if self.todo.len() + self.reached.len() + self.returned.len() > self.limit {
            return Err(too_many(self.limit));
        }
        Ok(())
    }

    fn expand(
        &mut self,
        program: &Program,
        languages: &Languages,
        stacks: &mut Stacks,
        place: Place,
        stack: StackId,
    ) -> Result<()> {
        let (point, count) = place;
        if point == RETURN {
            for i in 0..stacks.frames(stack).len() {
                let frame = stacks.frames(stack)[i];
                let count = program.count_after(frame.point, frame.count);
                self.arrive(stacks, (frame.point, count), frame.below)?;
            }
            return Ok(());
        }
        match program.point(point) {
            Point::Border | Point::Special { .. } | Point::Names(_) | Point::Capture { .. } => {}
            Point::Regular { language, next } => {
                if languages.is_nullable(language) {
                    self.arrive(stacks, (next, 0), stack)?;
                }
            }
            // A tail call returns to where its caller does.
            Point::Call { rule, next: RETURN } => match program.entry(rule) {
                Some(entry) => self.arrive(stacks, (entry, 0), stack)?,
                None => self.pending = Some(Pending::Rule(rule)),
            },
            Point::Call { .. } => self.waiting.extend(self.index_of(place)),
            Point::Scope { .. } if count == 0 => self.waiting.extend(self.index_of(place)),
            Point::Scope { tag, .. } => {
                let from = (count - SCOPE - 1) as usize;
                let text = self.text.as_ref().map(|text| &text[from.min(text.len())..]);
                match program.leads(tag, text) {
                    Leads::To(point) => self.arrive(stacks, (point, 0), stack)?,
                    Leads::Nowhere => {}
                    Leads::Unknown => {
                        self.pending = Some(Pending::Capture(tag, text.map(<[u8]>::to_vec)));
                    }
                }
            }
            Point::Fork(ways) => {
                for way in program.ways(ways) {
                    self.arrive(stacks, (way, 0), stack)?;
                }
            }
            Point::Repeat { min, max, next, .. } => {
                if count >= min {
                    self.arrive(stacks, (next, 0), stack)?;
                }
                if max == u32::MAX || count < max {
                    self.waiting.extend(self.index_of(place));
                }
            }
        }
        Ok(())
    }

    /// Enters the rule that a place calls, or the body that it repeats, with a frame over all of
    /// its stacks.
    fn push_frame(&mut self, program: &Program, stacks: &mut Stacks, index: usize) -> Result<()> {
        let Reached { place: (point, count), stack: below, pushed } = self.reached[index];
        if pushed == Some(below) {
            return Ok(());
        }
        self.reached[index].pushed = Some(below);
        let (entry, stack) = match program.point(point) {
            Point::Call { rule, next } => {
                let Some(entry) = program.entry(rule) else {
                    self.pending = Some(Pending::Rule(rule));
                    return Ok(());
                };
                (entry, stacks.push(next, CALLED, below)?)
            }
            Point::Repeat { body, .. } => (body, stacks.push(point, count, below)?),
            Point::Scope { body, .. } => {
                let from = self.text.as_ref().map_or(0, Vec::len) as u32;
                (body, stacks.push(point, SCOPE | from, below)?)
            }
            _ => return Ok(()),
        };
        self.arrive(stacks, (entry, 0), stack)
    }
}
