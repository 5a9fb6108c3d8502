//! Spans: the length of the shortest string from a state, maximised over all states of a language.
//!
//! If after any token an ending of the span is still within the bounds of all counters, these
//! bounds decide nothing: widening asks for it. Liveness and budget masks ask for the span as the
//! most bytes that are needed after a token that ends inside a terminal.

use rustc_hash::FxHashMap;

use super::counted_text::{CountedText, counted_text};
use super::expression::{Expression, Language, Row};
use super::lengths::length_range;
use super::store::Languages;
use super::subexpressions::subexpressions;
use super::witness::MAX_WITNESS_BYTES;
use super::witness_length::short_length;
use crate::deadline;
use crate::error::Result;

/// Upper bounds on spans, by language: exact for a language that was searched itself; for a state
/// met in another language's search, that language's span.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpanMemo {
    /// `None` where the search took too much.
    known: FxHashMap<Language, Option<u32>>,
    /// Work units of searches that found nothing. Beyond `MAX_WASTED_WORK` none is tried any more.
    wasted: usize,
}

impl SpanMemo {
    /// Number of remembered spans.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }
}

/// An upper bound on the span of `x` by arithmetic; `None` if structure shows none.
pub(super) fn structural_span(
    languages: &mut Languages,
    x: Language,
    depth: u32,
) -> Result<Option<u32>> {
    /// Nested subexpressions that are looked into.
    const MAX_DEPTH: u32 = 50;
    Ok(match languages.arena.expr(x) {
        _ if depth == MAX_DEPTH => None,
        _ if x == Language::EPSILON => Some(0),
        Expression::Set(set) => (!set.is_empty()).then_some(1),
        &Expression::Concat(a, b) => match structural_span(languages, a, depth + 1)? {
            Some(a) => structural_span(languages, b, depth + 1)?.map(|b| a.saturating_add(b)),
            None => None,
        },
        // After any prefix, the state of a union is a union of states of its parts. Its shortest
        // string is no longer than that of any part, so the largest span of a part is an upper
        // bound.
        Expression::Union(xs) => {
            let xs = xs.clone();
            let mut longest = 0;
            for &part in &xs {
                match structural_span(languages, part, depth + 1)? {
                    Some(span) => longest = span.max(longest),
                    None => return Ok(None),
                }
            }
            Some(longest)
        }
        &Expression::Repeat(part, min, _) => {
            structural_span(languages, part, depth + 1)?.map(|span| span.saturating_mul(min.max(1)))
        }
        &Expression::DfaState(dfa, _) => {
            Some(languages.dfas[dfa as usize].longest_shortest_length() as u32)
        }
        // The shortest way has no more units than bytes, so that of the fewest units, which the
        // bound allows if it allows any, has no more.
        Expression::Intersect(_) => match counted_text(languages, x)? {
            Some(CountedText { text, unit, .. }) => {
                let longest = length_range(languages, unit).most;
                let span = structural_span(languages, text, depth + 1)?;
                span.zip(longest).map(|(span, longest)| span.saturating_mul(longest))
            }
            None => None,
        },
        Expression::Complement(_)
        | Expression::Variable(_)
        | Expression::Computed(_)
        | Expression::Unescaped(_) => None,
    })
}

/// An upper bound on the span of `x`, by visiting all its states; `None` if that takes too much.
/// Exact unless `x` was met as a state in an earlier search.
pub(super) fn searched_span(
    languages: &mut Languages,
    x: Language,
    spans: &mut SpanMemo,
) -> Result<Option<u32>> {
    /// States that are visited.
    const MAX_STATES: usize = 400;
    /// Work units of one search.
    const MAX_WORK: usize = 10_000;
    /// Work units of all searches that found nothing.
    const MAX_WASTED_WORK: usize = 30_000;
    if let Some(&known) = spans.known.get(&x) {
        return Ok(known);
    }
    let shared = languages.shared.clone();
    let fingerprint = languages.fingerprint(x);
    let others = shared.as_ref().and_then(|shared| shared.span(fingerprint));
    if let Some(span) = others {
        spans.known.insert(x, span);
        return Ok(span);
    }
    if spans.wasted > MAX_WASTED_WORK {
        return Ok(None);
    }
    let before_it = languages.budget.work;
    let mut seen = vec![x];
    let mut ids: FxHashMap<Language, usize> = FxHashMap::from_iter([(x, 0)]);
    let mut before: Vec<Vec<usize>> = vec![Vec::new()];
    let mut next = 0;
    while let Some(&state) = seen.get(next) {
        let row = row_within_work(languages, state, before_it.saturating_add(MAX_WORK))?;
        let mut last = Language::EMPTY;
        for after in row.into_iter().flatten() {
            if after == last || after == Language::EMPTY {
                continue;
            }
            last = after;
            let id = *ids.entry(after).or_insert_with(|| {
                seen.push(after);
                before.push(Vec::new());
                seen.len() - 1
            });
            before[id].push(next);
        }
        if row.is_none() || seen.len() > MAX_STATES || languages.budget.work - before_it > MAX_WORK
        {
            spans.wasted += languages.budget.work - before_it;
            if let Some(shared) = &shared {
                shared.note_span(fingerprint, None);
            }
            spans.known.insert(x, None);
            return Ok(None);
        }
        next += 1;
    }
    // Breadth first from the ends.
    let mut layer: Vec<usize> =
        (0..seen.len()).filter(|&i| languages.is_nullable(seen[i])).collect();
    let mut done = vec![false; seen.len()];
    layer.iter().for_each(|&i| done[i] = true);
    let mut span = 0;
    loop {
        let mut further = Vec::new();
        for &state in &layer {
            for &from in &before[state] {
                if !done[from] {
                    done[from] = true;
                    further.push(from);
                }
            }
        }
        if further.is_empty() {
            break;
        }
        span += 1;
        layer = further;
    }
    if let Some(shared) = &shared {
        shared.note_span(fingerprint, Some(span));
    }
    seen.iter().for_each(|&state| _ = spans.known.insert(state, Some(span)));
    Ok(Some(span))
}

/// The row of a state, if it is found before the task has spent `most` work units. Which successors
/// have strings may take a search.
fn row_within_work(languages: &mut Languages, x: Language, most: usize) -> Result<Option<Row>> {
    let allowed = languages.budget.max_work;
    languages.budget.max_work = allowed.min(most);
    let row = languages.row(x).copied();
    languages.budget.max_work = allowed;
    match row {
        Err(_)
            if languages.budget.work > most
                && languages.budget.work <= allowed
                && !deadline::is_over() =>
        {
            Ok(None)
        }
        row => row.map(Some),
    }
}

/// An upper bound on the span of `x` by structure, with witnesses of its parts: closer than
/// [`structural_span`], but it spells witnesses out. The states of intersections and complements are
/// visited; `None` where these are too many.
pub(crate) fn span_bound(
    languages: &mut Languages,
    x: Language,
    spans: &mut SpanMemo,
) -> Result<Option<u64>> {
    let mut bounds: FxHashMap<Language, Option<u64>> = FxHashMap::default();
    for at in subexpressions(languages, x, |_| false) {
        let of = |part: &Language| bounds.get(part).copied().flatten();
        let bound = match languages.arena.expr(at).clone() {
            Expression::Set(_) => Some(1),
            Expression::Concat(a, b) => {
                match (of(&a), of(&b), short_length(languages, b, MAX_WITNESS_BYTES)?) {
                    (Some(first), Some(second), Some(rest)) => {
                        Some(second.max(first.saturating_add(rest)))
                    }
                    _ => None,
                }
            }
            Expression::Union(xs) => {
                xs.iter().map(of).try_fold(0, |most, bound| bound.map(|bound| most.max(bound)))
            }
            Expression::Repeat(part, min, _) => {
                match (of(&part), short_length(languages, part, MAX_WITNESS_BYTES)?) {
                    (Some(bound), Some(one)) => {
                        Some(bound.saturating_add(one.saturating_mul(min.into())))
                    }
                    // Nothing repeated is the empty string.
                    (_, None) => Some(0),
                    _ => None,
                }
            }
            Expression::Complement(Language::EMPTY) => Some(0),
            Expression::DfaState(dfa, _) => {
                Some(languages.dfas[dfa as usize].longest_shortest_length() as u64)
            }
            Expression::Intersect(_) | Expression::Complement(_) => {
                searched_span(languages, at, spans)?.map(u64::from)
            }
            Expression::Variable(_) | Expression::Computed(_) | Expression::Unescaped(_) => None,
        };
        bounds.insert(at, bound);
    }
    Ok(bounds[&x])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regular;
    use crate::regular::Utf8;
    use crate::regular::languages::compact::compile_named_dfa;

    /// From each state of a text with a bound, a way to the end is no longer than was said.
    #[test]
    fn no_way_is_longer_than_its_span() {
        let mut l = Languages::new();
        let parse = |l: &mut Languages, pattern: &str| {
            regular::parse(l, pattern, regular::Options::default(), &Utf8).unwrap()
        };
        let unit = parse(&mut l, "^(?s:.)$");
        let mut compared = 0;
        for pattern in ["^a*(b|\u{1F600}{2}c)$", "^(aaaé|-)+$", "^[ab]*(bbb|\u{1F600})$"] {
            for (max, dfa) in [1, 2, 3, 5, 9].into_iter().flat_map(|n| [(n, false), (n, true)]) {
                let mut x = parse(&mut l, pattern);
                if dfa {
                    x = compile_named_dfa(&mut l, &format!("span {pattern}"), x, unit).unwrap();
                }
                let bound = l.repeat(unit, 0, Some(max));
                let mut states = vec![l.intersect([x, bound])];
                let Some(span) = structural_span(&mut l, states[0], 0).unwrap() else { continue };
                for next in 0..200 {
                    let Some(&state) = states.get(next) else { break };
                    for after in *l.row(state).unwrap() {
                        if after != Language::EMPTY && !states.contains(&after) {
                            states.push(after);
                        }
                    }
                    let Some(shortest) = l.shortest(state).unwrap() else { continue };
                    assert!(shortest.len() as u32 <= span, "{pattern} {max}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 60, "{compared}");
    }

    #[test]
    fn no_state_needs_more_than_the_bound() {
        let mut l = Languages::new();
        let letter = l.byte_range(b'a', b'c');
        let short = l.literal(b"a");
        let long = l.literal(b"bcccccc");
        let either = l.union([short, long]);
        let x = l.repeat(either, 2, Some(3));
        let x = l.concat([x, letter]);
        let bound = span_bound(&mut l, x, &mut SpanMemo::default()).unwrap().unwrap();
        let mut states = vec![x];
        let mut next = 0;
        let mut most = 0;
        while let Some(&state) = states.get(next) {
            next += 1;
            most = most.max(l.shortest(state).unwrap().unwrap().len() as u64);
            for after in *l.row(state).unwrap() {
                if after != Language::EMPTY && !states.contains(&after) {
                    states.push(after);
                }
            }
        }
        assert!(most == 8 && (most..=most + 2).contains(&bound), "{most} {bound}");
    }
}
