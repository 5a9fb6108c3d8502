//! [`EdgeConditions`]: a pattern as a body between conditions on the text around it.
//!
//! The conditions of most keywords are the same, whatever their letters:
//!
//! ```text
//! \bif\b    if       between (?<!\w) and (?!\w), for it begins and ends with a letter
//! \belse\b  else     between the same
//! \b==\b    ==       between (?<=\w) and (?=\w)
//! ```

use regex_syntax::hir::ClassUnicode;

use super::pattern::{Assertion, Pattern, class_of};

/// A pattern that is a body between conditions, of which none depends on the text that the body matches.
#[derive(Debug)]
pub(crate) struct EdgeConditions {
    /// Conditions on the text before.
    pub(crate) before: Pattern,
    /// It looks at no text around and does not match the empty string.
    pub(crate) body: Pattern,
    /// Conditions on the text after.
    pub(crate) after: Pattern,
}

/// An edge of a body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Left,
    Right,
}

impl EdgeConditions {
    /// The parts of a pattern; `None` if it is not of this kind.
    pub(crate) fn of(pattern: &Pattern) -> Option<Self> {
        let mut parts = Vec::new();
        flatten(pattern, &mut parts);
        let begin = parts.iter().position(|part| !is_condition(part))?;
        let end = parts.iter().rposition(|part| !is_condition(part))? + 1;
        let body = Pattern::Concat(parts[begin..end].iter().map(|&part| part.clone()).collect());
        if !is_plain(&body) || body.is_lazy() {
            return None;
        }
        let side = |conditions: &[&Pattern], edge| {
            let (class, may_be_empty) = outermost(&body, edge);
            if may_be_empty {
                return None;
            }
            let conditions: Option<Vec<Pattern>> =
                conditions.iter().map(|condition| beside(condition, &class, edge)).collect();
            Some(all_of(conditions?))
        };
        let (before, after) =
            (side(&parts[..begin], Edge::Left)?, side(&parts[end..], Edge::Right)?);
        Some(Self { before, body, after })
    }
}

/// The parts of a sequence, those of sequences in it one by one.
fn flatten<'p>(pattern: &'p Pattern, parts: &mut Vec<&'p Pattern>) {
    match pattern {
        Pattern::Concat(inner) => inner.iter().for_each(|part| flatten(part, parts)),
        part => parts.push(part),
    }
}

/// Whether a pattern consists of conditions alone.
fn is_condition(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Look { .. } => true,
        Pattern::Concat(parts) | Pattern::Alternate(parts) => parts.iter().all(is_condition),
        Pattern::Class(_) | Pattern::Repeat { .. } | Pattern::Atomic { .. } => false,
    }
}

/// Whether a pattern matches the same strings everywhere.
fn is_plain(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Class(_) => true,
        Pattern::Look { .. } | Pattern::Atomic { .. } => false,
        Pattern::Concat(parts) | Pattern::Alternate(parts) => parts.iter().all(is_plain),
        Pattern::Repeat { body, .. } => is_plain(body),
    }
}

/// The characters at an edge of the strings of a plain pattern, and whether it matches the empty string.
fn outermost(pattern: &Pattern, edge: Edge) -> (ClassUnicode, bool) {
    let mut class = class_of([]);
    match pattern {
        Pattern::Class(characters) => (characters.clone(), false),
        Pattern::Concat(parts) => {
            let mut inwards: Vec<&Pattern> = parts.iter().collect();
            if edge == Edge::Right {
                inwards.reverse();
            }
            for part in inwards {
                let (characters, may_be_empty) = outermost(part, edge);
                class.union(&characters);
                if !may_be_empty {
                    return (class, false);
                }
            }
            (class, true)
        }
        Pattern::Alternate(parts) => {
            let mut any_empty = false;
            for part in parts {
                let (characters, may_be_empty) = outermost(part, edge);
                class.union(&characters);
                any_empty |= may_be_empty;
            }
            (class, any_empty)
        }
        Pattern::Repeat { body, min, .. } => {
            let (characters, may_be_empty) = outermost(body, edge);
            (characters, *min == 0 || may_be_empty)
        }
        Pattern::Look { .. } | Pattern::Atomic { .. } => (class, true),
    }
}

/// A condition at an edge of a body whose outermost character is one of `class`, as one on the text beyond; `None`
/// if that depends on the match.
fn beside(condition: &Pattern, class: &ClassUnicode, edge: Edge) -> Option<Pattern> {
    Some(match condition {
        Pattern::Concat(parts) => {
            let parts: Option<Vec<Pattern>> =
                parts.iter().map(|part| beside(part, class, edge)).collect();
            all_of(parts?)
        }
        Pattern::Alternate(parts) => {
            let parts: Option<Vec<Pattern>> =
                parts.iter().map(|part| beside(part, class, edge)).collect();
            any_of(parts?)
        }
        Pattern::Look { look, .. } => match (look, edge) {
            (Assertion::Start, Edge::Left) | (Assertion::End, Edge::Right) => condition.clone(),
            // The body lies between.
            (Assertion::Start, Edge::Right) | (Assertion::End, Edge::Left) => never(),
            (Assertion::Behind { body, .. }, Edge::Left)
            | (Assertion::Ahead { body, .. }, Edge::Right) => {
                if !is_plain(body) {
                    return None;
                }
                condition.clone()
            }
            (Assertion::Behind { body, negated }, Edge::Right)
            | (Assertion::Ahead { body, negated }, Edge::Left) => {
                let Pattern::Class(expected) = &**body else { return None };
                let (mut others, mut common) = (class.clone(), class.clone());
                others.difference(expected);
                common.intersect(expected);
                match (others.ranges().is_empty(), common.ranges().is_empty()) {
                    (true, false) if !negated => Pattern::empty(),
                    (false, true) if *negated => Pattern::empty(),
                    (true, false) | (false, true) => never(),
                    _ => return None,
                }
            }
        },
        Pattern::Class(_) | Pattern::Repeat { .. } | Pattern::Atomic { .. } => return None,
    })
}

/// The condition that nothing satisfies.
fn never() -> Pattern {
    Pattern::Class(class_of([]))
}

/// The condition that all of these hold.
fn all_of(mut conditions: Vec<Pattern>) -> Pattern {
    if conditions.contains(&never()) {
        return never();
    }
    conditions.retain(|condition| *condition != Pattern::empty());
    match <[Pattern; 1]>::try_from(conditions) {
        Ok([one]) => one,
        Err(several) => Pattern::Concat(several),
    }
}

/// The condition that one of these holds.
fn any_of(mut conditions: Vec<Pattern>) -> Pattern {
    if conditions.contains(&Pattern::empty()) {
        return Pattern::empty();
    }
    conditions.retain(|condition| *condition != never());
    match <[Pattern; 1]>::try_from(conditions) {
        Ok([one]) => one,
        Err(none) if none.is_empty() => never(),
        Err(several) => Pattern::Alternate(several),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::regular::{Dialect, parse_pattern};

    #[test]
    fn conditions_of_keywords_are_alike() -> Result<()> {
        let cases = [
            (r"\bif\b", Some((r"(?<!\w)", r"(?!\w)"))),
            (r"(?i:\b(?:select|from)\b)", Some((r"(?<!\w)", r"(?!\w)"))),
            (r"\b==\b", Some((r"(?<=\w)", r"(?=\w)"))),
            (r"\Bs\B", Some((r"(?<=\w)", r"(?=\w)"))),
            (r"\bx", Some((r"(?<!\w)", ""))),
            (r"-\b", Some(("", r"(?=\w)"))),
            (r"(?<!\.)\b[0-9]+(?![a-z])\b", Some((r"(?<!\.)(?<!\w)", r"(?![a-z])(?!\w)"))),
            (r"(?m:^#x$)", Some((r"(?m:^)", r"(?m:$)"))),
            // A condition that never holds.
            (r"x$\b", Some(("", r"$(?!\w)"))),
            (r"a^", Some(("", r"[a&&b]"))),
            // The match matters.
            (r"\b(?:if|==)\b", None),
            (r"(?!if)[a-z]+", None),
            (r"[a-z]+(?<!if)", None),
            (r"\b[a-z]*\b", None),
            (r"a\bb", None),
            (r"(?<=a(?=b))b", None),
            (r"\b.+?\b", None),
            (r"\b", None),
        ];
        for (pattern, expected) in cases {
            let found = EdgeConditions::of(&parse_pattern(pattern, Dialect::Rust)?);
            let found = found.map(|edges| (edges.before, edges.after));
            let expected = match expected {
                Some((before, after)) => {
                    let parts = [before, after].map(|part| parse_pattern(part, Dialect::Rust));
                    let [before, after] = parts;
                    Some((before?, after?))
                }
                None => None,
            };
            assert_eq!(found, expected, "{pattern}");
        }
        Ok(())
    }
}
