//! Concatenation of two expressions, with adjacent repeats of one part folded.

use super::expression::{Expression, Language, UNBOUNDED};
use super::store::Languages;

/// `a`, which is no concatenation, then `b`. Folds `x{2,3}x*` and the like, so that repeats stay
/// few.
pub(super) fn join(languages: &mut Languages, a: Language, b: Language) -> Language {
    if a == Language::ALL && b == Language::ALL {
        return b;
    }
    if let Expression::Repeat(x, min, max) = *languages.arena.expr(a) {
        let (head, tail) = match *languages.arena.expr(b) {
            Expression::Concat(head, tail) => (head, Some(tail)),
            _ => (b, None),
        };
        if let Expression::Repeat(y, least, most) = *languages.arena.expr(head)
            && x == y
            && let Some(min) = min.checked_add(least)
            && let Some(max) = add_bounds(max, most)
        {
            let both = languages.intern(Expression::Repeat(x, min, max));
            return tail.map_or(both, |tail| languages.intern(Expression::Concat(both, tail)));
        }
    }
    languages.intern(Expression::Concat(a, b))
}

/// The sum of two upper bounds; `None` if it overflows.
fn add_bounds(a: u32, b: u32) -> Option<u32> {
    if a == UNBOUNDED || b == UNBOUNDED {
        return Some(UNBOUNDED);
    }
    a.checked_add(b).filter(|&sum| sum != UNBOUNDED)
}
