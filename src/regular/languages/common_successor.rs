//! The common successor of a language: the one state of another language to which all its strings
//! lead.
//!
//! For example, every string of `(ab|é)+` leads from `.*` (over characters) to `.*`, so all of them
//! are texts of characters. This proves inclusion without complements.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::expression::{Expression, Language};
use super::memo::StringSource;
use super::store::Languages;
use crate::error::Result;

/// The state to which every string of `x` leads from `from`, if it is one and has strings. `left`
/// bounds the steps; `None` means no or unknown.
pub(super) fn common_successor(
    languages: &mut Languages,
    x: Language,
    from: Language,
    left: &mut usize,
    depth: u32,
) -> Result<Option<Language>> {
    /// Nested subexpressions that are followed.
    const MAX_DEPTH: u32 = 30;
    let (mut x, mut from) = (x, from);
    loop {
        *left = left.saturating_sub(1);
        if *left == 0 || depth > MAX_DEPTH {
            return Ok(None);
        }
        let Expression::Concat(a, b) = *languages.arena.expr(x) else { break };
        let Some(between) = common_successor(languages, a, from, left, depth + 1)? else {
            return Ok(None);
        };
        (x, from) = (b, between);
    }
    let depth = depth + 1;
    if let Some(&known) = languages.memo.common_successors.get(&(StringSource::Of(x), from)) {
        return Ok(known);
    }
    let after = match languages.arena.expr(x) {
        _ if x == Language::EPSILON => return Ok(Some(from)),
        Expression::Set(set) => {
            let set = *set;
            let row = languages.row(from)?;
            let mut nexts = set.iter().map(|byte| row[usize::from(byte)]);
            let first = nexts.next().filter(|&next| next != Language::EMPTY);
            first.filter(|&first| nexts.all(|next| next == first))
        }
        Expression::Union(xs) => {
            let xs = xs.clone();
            let mut all = common_successor(languages, xs[0], from, left, depth)?;
            for &part in &xs[1..] {
                if all.is_some() && common_successor(languages, part, from, left, depth)? != all {
                    all = None;
                }
            }
            all
        }
        Expression::Intersect(xs) => {
            let mut any = None;
            for &part in &xs.clone() {
                if any.is_none() {
                    any = common_successor(languages, part, from, left, depth)?;
                }
            }
            any
        }
        &Expression::Repeat(part, least, most) => {
            match common_successor(languages, part, from, left, depth)? {
                Some(after) if least == 0 => (after == from).then_some(from),
                Some(after) if most > 1 => {
                    let again = common_successor(languages, part, after, left, depth)?;
                    again.filter(|&again| again == after)
                }
                after => after,
            }
        }
        &Expression::DfaState(dfa, state) => {
            return common_successor_of_dfa(languages, (dfa, state), from, left);
        }
        Expression::Concat(..)
        | Expression::Complement(_)
        | Expression::Variable(_)
        | Expression::Computed(_)
        | Expression::Unescaped(_) => None,
    };
    languages.memo.common_successors.insert((StringSource::Of(x), from), after);
    Ok(after)
}

/// The common successor of the strings that a DFA accepts from a state. Strings from all states on
/// the way lead to the same, which is remembered.
fn common_successor_of_dfa(
    languages: &mut Languages,
    (dfa, state): (u32, u32),
    from: Language,
    left: &mut usize,
) -> Result<Option<Language>> {
    if let Some(&known) =
        languages.memo.common_successors.get(&(StringSource::From(dfa, state), from))
    {
        return Ok(known);
    }
    let at = Arc::clone(&languages.dfas[dfa as usize]);
    let mut seen = vec![(state, from)];
    let mut known: FxHashSet<(u32, Language)> = FxHashSet::from_iter([(state, from)]);
    let mut end = None;
    let mut next = 0;
    let holds = loop {
        let Some(&(state, place)) = seen.get(next) else { break true };
        next += 1;
        *left = left.saturating_sub(1);
        if *left == 0 || at.accepts(state) && *end.get_or_insert(place) != place {
            break false;
        }
        let row = languages.row(place)?;
        let steps = at.first(state);
        let steps = steps.iter().map(|byte| (at.step(state, byte), row[usize::from(byte)]));
        let mut last = None;
        let mut leaves = false;
        for step in steps {
            let (Some(state), place) = step else { continue };
            leaves |= place == Language::EMPTY;
            if last != Some(step) && known.insert((state, place)) {
                seen.push((state, place));
            }
            last = Some(step);
        }
        if leaves {
            break false;
        }
    };
    // Strings from all states that were seen end where those of the first do.
    let end = end.filter(|_| holds);
    let seen = seen.into_iter().map(|(at, place)| ((StringSource::From(dfa, at), place), end));
    languages.memo.common_successors.extend(seen);
    Ok(end)
}
