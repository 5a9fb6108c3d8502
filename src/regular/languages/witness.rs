//! Witnesses: shortest strings of a language, and short ones.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::expression::{Expression, Language};
use super::lengths::min_length_bound;
use super::memo::WitnessKind;
use super::search_queue::SearchQueue;
use super::store::Languages;
use crate::error::{Error, ErrorKind, Result};

/// States that a breadth-first search visits where a short string suffices.
const MAX_BREADTH_FIRST_STATES: usize = 3_000;

/// Expressions that it makes meanwhile.
const MAX_BREADTH_FIRST_NEW_STATES: usize = 10_000;

/// Longer rests of a witness are not remembered for the states on its path.
const MAX_REMEMBERED_BYTES: usize = 64;

/// Longer witnesses are measured, never made: 1 MiB.
pub(crate) const MAX_WITNESS_BYTES: u64 = 1 << 20;

impl Languages {
    /// A shortest string in it, or `None` if it has none: by structure, and by breadth-first search
    /// where an intersection or a complement stands. Remembered.
    ///
    /// Errors when the arena's limit on states is reached, and where every string has more than
    /// 1 MiB.
    ///
    /// ```
    /// let mut l = maskwright::regular::Languages::new();
    /// let digit = l.byte_range(b'0', b'9');
    /// let some = l.repeat(digit, 3, None);
    /// let zeros = l.literal(b"000");
    /// let others = l.difference(some, zeros);
    /// assert_eq!(l.shortest(others)?.as_deref(), Some(&b"001"[..]));
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn shortest(&mut self, x: Language) -> Result<Option<Arc<[u8]>>> {
        find(self, x, WitnessKind::Shortest)
    }
}

/// A short string, or `None` if there is none: a shortest one, except where the search would visit
/// thousands of states or an automaton offers a completion. Remembered, also for the states on its
/// path.
pub(crate) fn short(languages: &mut Languages, x: Language) -> Result<Option<Arc<[u8]>>> {
    find(languages, x, WitnessKind::Short)
}

/// The witness of a kind: by structure, subexpression by subexpression, and by search where an
/// intersection or a complement stands.
fn find(languages: &mut Languages, x: Language, wanted: WitnessKind) -> Result<Option<Arc<[u8]>>> {
    if let Some(known) = languages.memo.witnesses.get(&(wanted, x)) {
        return Ok(known.clone());
    }
    let bound = min_length_bound(languages, x);
    if bound > MAX_WITNESS_BYTES && bound < u64::MAX {
        let message = format!("its shortest text has {bound} bytes or more");
        let help = "lower the counts and lengths that it asks for";
        return Err(Error::new(ErrorKind::Limit, message).with_help(help));
    }
    for at in parts_without_witness(languages, x, wanted) {
        let of =
            |part: &Language| languages.memo.witnesses.get(&(wanted, *part)).cloned().flatten();
        let text: Option<Arc<[u8]>> = match languages.arena.expr(at) {
            Expression::Set(set) => set.iter().next().map(|byte| Arc::from([byte])),
            Expression::Concat(a, b) => match (of(a), of(b)) {
                (Some(a), Some(b)) => Some([&*a, &*b].concat().into()),
                _ => None,
            },
            Expression::Union(xs) => {
                xs.iter().filter_map(of).min_by(|a, b| (a.len(), a).cmp(&(b.len(), b)))
            }
            &Expression::Repeat(part, min, _) => match of(&part) {
                _ if min == 0 => Some(Arc::from([])),
                part => part.map(|part| part.repeat(min as usize).into()),
            },
            Expression::Computed(running) if wanted == WitnessKind::Short => {
                match running.automaton.completion(&running.state) {
                    Some(rest) => Some(rest.into()),
                    None => search(languages, at, wanted)?,
                }
            }
            _ => search(languages, at, wanted)?,
        };
        languages.memo.witnesses.insert((wanted, at), text);
    }
    Ok(languages.memo.witnesses.get(&(wanted, x)).cloned().flatten())
}

/// The subexpressions by concatenation, union and repeat whose witness is not remembered, without
/// those that are too long; parts before wholes.
fn parts_without_witness(
    languages: &mut Languages,
    x: Language,
    wanted: WitnessKind,
) -> BTreeSet<Language> {
    let mut needed = BTreeSet::new();
    let mut todo = vec![x];
    while let Some(at) = todo.pop() {
        let known = languages.memo.witnesses.contains_key(&(wanted, at)) || needed.contains(&at);
        if known || (MAX_WITNESS_BYTES + 1..u64::MAX).contains(&min_length_bound(languages, at)) {
            continue;
        }
        needed.insert(at);
        match languages.arena.expr(at) {
            &Expression::Concat(a, b) => todo.extend([a, b]),
            Expression::Union(xs) => todo.extend_from_slice(xs),
            &Expression::Repeat(part, min, _) if min > 0 => todo.push(part),
            _ => {}
        }
    }
    needed
}

/// A witness by breadth-first search; where a short one suffices and that takes long, by best-first
/// search.
fn search(
    languages: &mut Languages,
    x: Language,
    wanted: WitnessKind,
) -> Result<Option<Arc<[u8]>>> {
    if !languages.is_live(x)? {
        return Ok(None);
    }
    let computed = matches!(languages.arena.expr(x), Expression::Computed(_));
    if wanted == WitnessKind::Shortest || !computed {
        let mut open = VecDeque::from([x]);
        let found = search_to_end(
            languages,
            (x, wanted),
            true,
            &mut open,
            VecDeque::pop_front,
            |open, _, x| open.push_back(x),
        )?;
        if found.is_some() || wanted == WitnessKind::Shortest {
            return Ok(found);
        }
    }
    let mut open = SearchQueue::default();
    open.push(0, x);
    search_to_end(
        languages,
        (x, wanted),
        false,
        &mut open,
        SearchQueue::pop,
        |open, effort, state| {
            open.push(effort, state);
        },
    )
}

/// A string to acceptance, visiting states in the order in which `take` gives them. With
/// `by_distance` that order is breadth first, and the string a shortest one; where a short one
/// suffices, `None` if that takes long. Remembers the rest of the string for states on its path,
/// and continues from a state with its remembered string.
fn search_to_end<S>(
    languages: &mut Languages,
    (x, wanted): (Language, WitnessKind),
    by_distance: bool,
    open: &mut S,
    take: impl Fn(&mut S) -> Option<Language>,
    put: impl Fn(&mut S, u32, Language),
) -> Result<Option<Arc<[u8]>>> {
    // Each with the state before it, the byte from there, and how many bytes lead to it.
    let mut from: FxHashMap<Language, (Language, u8, usize)> = FxHashMap::default();
    from.insert(x, (x, 0, 0));
    // The length of the best string so far, and the state whose remembered string ends it.
    let mut best: Option<(usize, Language)> = None;
    let (mut looked_at, made) = (0, languages.len());
    while let Some(state) = take(open) {
        crate::deadline::check()?;
        let Some(&(_, _, depth)) = from.get(&state) else { break };
        looked_at += 1;
        let done = best.is_some_and(|(length, _)| !by_distance || length <= depth);
        let long = looked_at > MAX_BREADTH_FIRST_STATES
            || languages.len() - made > MAX_BREADTH_FIRST_NEW_STATES;
        if done || by_distance && wanted == WitnessKind::Short && long {
            break;
        }
        let rest = if languages.is_nullable(state) {
            Some(0)
        } else {
            let known = languages.memo.witnesses.get(&(wanted, state));
            known.and_then(|known| known.as_ref().map(|text| text.len()))
        };
        if let Some(rest) = rest {
            if best.is_none_or(|(length, _)| depth + rest < length) {
                best = Some((depth + rest, state));
            }
            continue;
        }
        let mut last = Language::EMPTY;
        for (byte, next) in (*languages.row(state)?).into_iter().enumerate() {
            // Most bytes side by side lead to one state.
            if std::mem::replace(&mut last, next) == next {
                continue;
            }
            let facts = languages.arena.properties(next);
            let (dead, effort) = (facts.live == Some(false), facts.distance);
            if !dead && next != Language::EMPTY && !from.contains_key(&next) {
                from.insert(next, (state, byte as u8, depth + 1));
                put(open, effort, next);
            }
        }
    }
    let Some((_, last)) = best else { return Ok(None) };
    let mut text = if languages.is_nullable(last) {
        Vec::new()
    } else {
        let known = languages.memo.witnesses.get(&(wanted, last)).cloned().flatten();
        known.unwrap_or_default().to_vec()
    };
    text.reverse();
    let mut at = last;
    while let Some(&(before, byte, _)) = from.get(&at).filter(|_| at != x) {
        text.push(byte);
        at = before;
        if text.len() <= MAX_REMEMBERED_BYTES {
            let rest = text.iter().rev().copied().collect();
            languages.memo.witnesses.insert((wanted, at), Some(rest));
        }
    }
    text.reverse();
    Ok(Some(text.into()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;

    #[test]
    fn by_structure_as_by_search() {
        let mut l = Languages::new();
        let letter = l.byte_range(b'a', b'c');
        let ab = l.literal(b"ab");
        let word = l.repeat(letter, 2, Some(4));
        let both = l.union([ab, word]);
        let tail = l.concat([both, word, ab]);
        for x in [letter, ab, word, both, tail] {
            assert_eq!(l.shortest(x).unwrap(), search(&mut l, x, WitnessKind::Shortest).unwrap());
        }
        let not = l.complement(word);
        let odd = l.intersect([not, both]);
        assert_eq!(l.shortest(odd).unwrap(), None);
        let others = l.difference(word, ab);
        assert_eq!(l.shortest(others).unwrap().as_deref(), Some(&b"aa"[..]));
    }

    #[test]
    fn among_many_states_a_string_is_short() {
        let mut l = Languages::new();
        let all = l.byte_set(crate::regular::ByteSet::ALL);
        let any = l.repeat(all, 0, None);
        // A hundred of those that some word begins, and each of the words.
        let mut parts = vec![l.repeat(all, 100, Some(200))];
        for word in [b"abcab", b"bcabc", b"cabca", b"aabbc", b"ccbba", b"babab"] {
            let word = l.literal(word);
            parts.push(l.concat([any, word, any]));
        }
        let x = l.intersect(parts);
        let text = short(&mut l, x).unwrap().unwrap();
        assert!(l.matches(x, &text).unwrap());
        assert!((100..=120).contains(&text.len()), "{}", text.len());
    }
}
