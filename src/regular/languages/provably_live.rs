//! Non-emptiness that structure proves.

use rustc_hash::FxHashMap;

use super::every_prefix::accepts_every_prefix;
use super::expression::{Expression, Language, UNBOUNDED};
use super::store::Languages;

/// Nested concatenations that are looked into.
const MAX_DEPTH: u32 = 200;

/// Whether structure proves that it has a string.
pub(super) fn is_provably_live(languages: &Languages, x: Language, depth: u32) -> bool {
    if let Some(live) = languages.arena.properties(x).live {
        return live;
    }
    match languages.arena.expr(x) {
        _ if depth > MAX_DEPTH => false,
        &Expression::Concat(a, b) => {
            is_provably_live(languages, a, depth + 1) && is_provably_live(languages, b, depth + 1)
        }
        Expression::Intersect(_) => unit_of_every_prefix(languages, x).is_some(),
        _ => false,
    }
}

/// The unit over which [every text](accepts_every_prefix) is a viable prefix of the intersection
/// `x`.
pub(super) fn unit_of_every_prefix(languages: &Languages, x: Language) -> Option<Language> {
    let Expression::Intersect(xs) = languages.arena.expr(x) else { return None };
    let unit = xs.iter().find_map(|&part| match *languages.arena.expr(part) {
        Expression::Repeat(unit, _, UNBOUNDED) => Some(unit),
        _ => None,
    })?;
    accepts_every_prefix(languages, x, unit, &mut FxHashMap::default()).then_some(unit)
}
