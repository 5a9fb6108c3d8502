//! The remaining text of an item: the rest of its terminal, then what follows down its stack.

use std::sync::Arc;

use smallvec::SmallVec;

use super::least_derivation::{LeastDerivations, Points};
use super::plan_memo::CaptureAssumption;
use super::token_cost::special;
use crate::error::Result;
use crate::grammar::RuleId;
use crate::recognizer::{
    ACCEPT, BOTTOM, Item, KeyChoiceId, KeySuffix, NO_TEXT, Point, PointId, RETURN, StackFrame,
    StackId,
};
use crate::regular::Language;
use crate::regular::lengths;
use crate::regular::witness;
use crate::regular::witness_length;

/// The rest of an item's terminal.
pub(super) struct TerminalRest {
    /// Bytes, and special tokens as [`special`] writes them.
    pub(super) text: Vec<u32>,
    /// The point after the terminal.
    pub(super) next: PointId,
    /// Whether the terminal is a captured text that is assumed to restrict nothing.
    pub(super) is_approximate: bool,
}

impl LeastDerivations<'_> {
    /// The points that come after a frame's return, each with the number of times.
    fn after_frame(&mut self, frame: StackFrame) -> Result<Option<Points>> {
        let count = self.recognizer.program.count_after(frame.point, frame.count);
        Ok(match self.recognizer.program.point(frame.point) {
            // Count 0: returned from a call, so the repeat has not started.
            Point::Repeat { body, min, next, .. } if count > 0 => {
                Some(SmallVec::from_slice(&[(body, min.saturating_sub(count)), (next, 1)]))
            }
            Point::Budget { next, .. } if count > 0 => Some(SmallVec::from_slice(&[(next, 1)])),
            Point::Scope { tag, .. } if count > 0 => self
                .recognizer
                .after_capture(tag, None)?
                .map(|next| SmallVec::from_slice(&[(next, 1)])),
            _ => Some(SmallVec::from_slice(&[(frame.point, 1)])),
        })
    }

    /// Bytes from a frame's return to the end of the rule that it returns to.
    pub(super) fn frame_bytes(&mut self, frame: StackFrame) -> Result<Option<u64>> {
        let Some(points) = self.after_frame(frame)? else { return Ok(None) };
        let mut sum = 0u64;
        for (point, times) in points {
            if times > 0 {
                let Some(bytes) = self.point_bytes(point)? else { return Ok(None) };
                sum = sum.saturating_add(bytes.saturating_mul(times.into()));
            }
        }
        Ok(Some(sum))
    }

    /// Whether the text after a frame's return is approximate.
    pub(super) fn is_frame_approximate(&self, frame: StackFrame) -> bool {
        let plan = &self.plans.current;
        match self.recognizer.program.point(frame.point) {
            Point::Scope { .. } => true,
            Point::Budget { next, .. } => plan.is_approximate(next),
            Point::Repeat { body, next, .. } => {
                plan.is_approximate(body) || plan.is_approximate(next)
            }
            _ => plan.is_approximate(frame.point),
        }
    }

    /// Appends the text after a frame's return.
    pub(super) fn write_frame(&mut self, frame: StackFrame, to: &mut Vec<u32>) -> Result<()> {
        for (point, times) in self.after_frame(frame)?.unwrap_or_default() {
            for _ in 0..times {
                self.write(point, to)?;
            }
        }
        Ok(())
    }

    /// Bytes from a stack to the end of the text.
    pub(super) fn stack_bytes(&mut self, stack: StackId) -> Result<Option<u64>> {
        self.plans.current.stacks.insert(BOTTOM, Some(0));
        let mut todo = vec![stack];
        while let Some(&at) = todo.last() {
            if self.plans.current.stacks.contains_key(&at) {
                todo.pop();
                continue;
            }
            let before = todo.len();
            let below = self.recognizer.stacks.frames(at).iter().map(|frame| frame.below);
            todo.extend(below.filter(|below| !self.plans.current.stacks.contains_key(below)));
            if todo.len() > before {
                continue;
            }
            let mut least: Option<u64> = None;
            for i in 0..self.recognizer.stacks.frames(at).len() {
                let frame = self.recognizer.stacks.frames(at)[i];
                let below = self.plans.current.stacks[&frame.below];
                if let (Some(bytes), Some(below)) = (self.frame_bytes(frame)?, below) {
                    let sum = bytes.saturating_add(below);
                    least = Some(least.map_or(sum, |least| least.min(sum)));
                }
            }
            self.plans.current.stacks.insert(at, least);
        }
        Ok(self.plans.current.stacks[&stack])
    }

    /// The key with which the shortest text from an item goes on: the rest of its bytes, and the
    /// point after it.
    fn key_rest(&mut self, item: Item, choice: KeyChoiceId) -> Result<Option<(Vec<u8>, PointId)>> {
        let mut best: Option<(u64, Vec<u8>, PointId)> = None;
        let keys = self.recognizer.program.shortest_keys(choice, item.key_node());
        for KeySuffix { rank, bytes: text, .. } in keys {
            let next = self.recognizer.after_key(choice, rank)?;
            let Some(bytes) = self.point_bytes(next)? else { continue };
            let whole = bytes.saturating_add(text.len() as u64);
            if best.as_ref().is_none_or(|best| whole < best.0) {
                best = Some((whole, text, next));
            }
        }
        Ok(best.map(|(_, text, next)| (text, next)))
    }

    /// The number of bytes left of an item's terminal, and the point after it.
    fn item_rest_bytes(&mut self, item: Item) -> Result<Option<(u64, PointId)>> {
        let most = self.plans.max_bytes;
        match self.recognizer.program.point(item.point) {
            Point::Regular { next, .. } => {
                let bytes =
                    witness_length::short_length(&mut self.recognizer.languages, item.state, most)?;
                Ok(bytes.map(|bytes| (bytes, next)))
            }
            Point::Capture { .. }
                if lengths::min_length_bound(&mut self.recognizer.languages, item.state) > most =>
            {
                Ok(Some((most.saturating_add(1), RETURN)))
            }
            Point::Special { next, .. } => Ok(Some((1, next))),
            _ => {
                let rest = self.item_rest(item)?;
                Ok(rest.map(|rest| (rest.text.len() as u64, rest.next)))
            }
        }
    }

    /// The rest of an item's terminal, spelled.
    pub(super) fn item_rest(&mut self, item: Item) -> Result<Option<TerminalRest>> {
        let symbols = |text: &[u8]| text.iter().map(|&byte| u32::from(byte)).collect();
        match self.recognizer.program.point(item.point) {
            Point::Special { tokens, next } => {
                let token = self.recognizer.program.first_token(tokens).map(special);
                let text = token.into_iter().collect();
                Ok(Some(TerminalRest { text, next, is_approximate: false }))
            }
            Point::KeyChoice(choice) => {
                let rest = self.key_rest(item, choice)?;
                Ok(rest.map(|(text, next)| TerminalRest {
                    text: symbols(&text),
                    next,
                    is_approximate: false,
                }))
            }
            Point::Regular { next, .. } => {
                let text = witness::short(&mut self.recognizer.languages, item.state)?;
                Ok(text.map(|text| TerminalRest {
                    text: symbols(&text),
                    next,
                    is_approximate: false,
                }))
            }
            Point::Capture { language, tag } => {
                // The captured text is unknown where captures are ignored or the terminal is
                // assumed to be read.
                let is_known = item.state == language
                    || item.text != NO_TEXT && item.state != Language::EPSILON;
                if is_known && self.recognizer.program.is_item(tag) {
                    let read = self.recognizer.text(item.text);
                    let rest = self.item_that_differs(tag, (item.state, &read))?;
                    if rest.is_some() {
                        return Ok(rest);
                    }
                }
                let Some(text) = witness::short(&mut self.recognizer.languages, item.state)? else {
                    return Ok(None);
                };
                let (next, is_approximate) = match self.plans.assumption {
                    CaptureAssumption::Spelled if is_known => {
                        let whole = [&*self.recognizer.text(item.text), &*text].concat();
                        (self.recognizer.after_capture(tag, Some(&whole))?, false)
                    }
                    _ => (self.recognizer.after_capture(tag, None)?, true),
                };
                Ok(next.map(|next| TerminalRest { text: symbols(&text), next, is_approximate }))
            }
            _ => Ok(None),
        }
    }

    /// A short rest of an array's item that is partly read. With this rest the item differs from the
    /// earlier items, where it must.
    pub(super) fn item_that_differs(
        &mut self,
        tag: u32,
        (state, read): (Language, &[u8]),
    ) -> Result<Option<TerminalRest>> {
        let mut left = state;
        loop {
            let Some(rest) = witness::short(&mut self.recognizer.languages, left)? else {
                return Ok(None);
            };
            let whole = [read, &rest].concat();
            if let Some(next) = self.recognizer.after_capture(tag, Some(&whole))? {
                let text = rest.iter().map(|&byte| u32::from(byte)).collect();
                return Ok(Some(TerminalRest { text, next, is_approximate: false }));
            }
            // The item equals an earlier one: try once more without all earlier ones.
            let Some((texts, set)) =
                self.recognizer.program.refused_texts(tag).filter(|_| left == state)
            else {
                return Ok(None);
            };
            let mut refused = texts.language(&mut self.recognizer.languages, set);
            for &byte in read {
                refused = self.recognizer.languages.step(refused, byte)?;
            }
            left = self.recognizer.languages.difference(state, refused);
        }
    }

    /// A short text of a rule, if its source knows one that is within the limit on planned bytes.
    pub(super) fn completion(&mut self, rule: RuleId) -> Result<Option<Arc<[u8]>>> {
        if self.recognizer.program.least_bytes(rule) > self.plans.max_spelled_bytes() {
            return Ok(None);
        }
        self.recognizer.program.completion(rule, &mut self.recognizer.languages)
    }

    /// Bytes from an item to the end of the text; a lower bound above the
    /// [limit on planned bytes](super::plan_memo::Plans::plan_within).
    pub(super) fn item_bytes(&mut self, item: Item) -> Result<Option<u64>> {
        match item.point {
            ACCEPT => return Ok(Some(0)),
            RETURN => return Ok(None),
            _ => {}
        }
        let Some((here, next)) = self.item_rest_bytes(item)? else { return Ok(None) };
        if here > self.plans.max_bytes {
            return Ok(Some(here));
        }
        let (Some(rule), Some(stack)) = (self.point_bytes(next)?, self.stack_bytes(item.stack)?)
        else {
            return Ok(None);
        };
        Ok(Some(here.saturating_add(rule).saturating_add(stack)))
    }
}
