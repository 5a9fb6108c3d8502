//! Findings about patterns: missing anchors, anchors of one alternative alone, other notations.

use super::finding::FindingKind;
use super::linter::Linter;
use crate::json_schema::document::ValueId;

/// The metacharacters of patterns.
const METACHARACTERS: [char; 14] =
    ['^', '$', '.', '*', '+', '?', '(', ')', '[', ']', '{', '}', '\\', '|'];

impl Linter<'_> {
    /// Findings about the patterns of `pattern` and `patternProperties`.
    pub(super) fn loose_patterns(&mut self, schema: ValueId) {
        let document = self.document;
        if let Some(at) = document.get(schema, "pattern")
            && let Some(pattern) = document.string(at)
            && let Some(message) = doubt(pattern)
        {
            self.find(at, FindingKind::Hint, message);
        }
        let Some(names) = document.get(schema, "patternProperties") else { return };
        let Some(names) = document.members(names) else { return };
        for (pattern, at) in names.iter() {
            // Patterns for pieces of names are common; only those without any anchor are doubtful.
            let message = match doubt(pattern) {
                Some(message) if is_foreign(pattern) => message,
                _ if pattern.contains(['^', '$']) || matches!(pattern, "" | ".*" | ".+" | ".") => {
                    continue;
                }
                _ => format!(
                    "`{pattern}` matches every name that contains such a text: did you mean `^` and \
                     `$` around it?"
                ),
            };
            self.find(at, FindingKind::Hint, message);
        }
    }
}

/// Whether a pattern is written in another notation.
fn is_foreign(pattern: &str) -> bool {
    is_between_slashes(pattern) || pattern.contains("[[:")
}

/// Whether a pattern is written as `/…/flags`.
fn is_between_slashes(pattern: &str) -> bool {
    pattern.len() > 2
        && pattern.starts_with('/')
        && pattern.trim_end_matches(['g', 'i', 'm', 'u', 's']).ends_with('/')
        && pattern.contains(METACHARACTERS)
}

/// A message about a pattern that probably means something else.
fn doubt(pattern: &str) -> Option<String> {
    if is_between_slashes(pattern) {
        return Some(
            "the slashes around the pattern are part of it, and so are flags after them: did you \
             mean it without?"
                .into(),
        );
    }
    if let Some((_, class)) = pattern.split_once("[[:")
        && let Some((name, _)) = class.split_once(":]")
    {
        return Some(format!(
            "`[:{name}:]` is no class in ECMA-262, but these characters: did you mean `\\p{{…}}`, or \
             a range?"
        ));
    }
    let branches = branches(without_flags(pattern));
    let starts = branches.iter().filter(|branch| is_anchored_at_start(branch)).count();
    let ends = branches.iter().filter(|branch| is_anchored_at_end(branch)).count();
    let one = branches.len() == 1;
    let all = |count: usize| count == branches.len();
    Some(match (starts, ends) {
        _ if pattern.is_empty() || (all(starts) && all(ends)) => return None,
        (0, 0) if one => {
            "anything may stand around what the pattern matches: did you mean `^` and `$`?".into()
        }
        (_, 0) if one => {
            "anything may follow what the pattern matches: did you mean a `$` at its end?".into()
        }
        (0, _) if one => {
            "anything may precede what the pattern matches: did you mean a `^` at its start?".into()
        }
        // Alternative words without anchors are often meant.
        (0, 0) => return None,
        _ => {
            let inner = pattern.strip_prefix('^').unwrap_or(pattern);
            let inner = if ends > 0 { inner.strip_suffix('$').unwrap_or(inner) } else { inner };
            format!(
                "`^` and `$` belong to the alternatives that they stand in, and others match \
                 anywhere: did you mean `^(?:{inner})$`?"
            )
        }
    })
}

/// The pattern without flags for the whole of it, `(?i)`.
fn without_flags(pattern: &str) -> &str {
    let flags = pattern.strip_prefix("(?").and_then(|rest| rest.split_once(')'));
    match flags {
        Some((flags, rest)) if flags.bytes().all(|byte| byte.is_ascii_alphabetic()) => rest,
        _ => pattern,
    }
}

/// Whether an alternative matches at the start alone: by a `^`, or by a group whose alternatives
/// all do.
fn is_anchored_at_start(branch: &str) -> bool {
    branch.starts_with('^')
        || group_at_start(branch).is_some_and(|(inner, _)| all(inner, is_anchored_at_start))
}

/// Whether an alternative matches at the end alone: by a `$`, or by a group whose alternatives all
/// do.
fn is_anchored_at_end(branch: &str) -> bool {
    if let Some(rest) = branch.strip_suffix('$') {
        return rest.bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 == 0;
    }
    // A group at the end of the branch.
    let mut rest = branch;
    while !rest.is_empty() {
        match group_at_start(rest) {
            Some((inner, "")) => return all(inner, is_anchored_at_end),
            Some((_, after)) => rest = after,
            None => {
                let next = rest.char_indices().nth(match rest.chars().next() {
                    Some('\\') => 2,
                    Some('[') => class_length(rest),
                    _ => 1,
                });
                rest = next.map_or("", |(at, _)| &rest[at..]);
            }
        }
    }
    false
}

/// The number of characters of the class at the start of a pattern.
fn class_length(pattern: &str) -> usize {
    let mut escaped = false;
    let end = pattern.chars().position(|c| {
        let closes = c == ']' && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    });
    end.map_or(1, |end| end + 1)
}

/// Whether all alternatives of a group satisfy a predicate.
fn all(inner: &str, holds: fn(&str) -> bool) -> bool {
    branches(inner).into_iter().all(holds)
}

/// The content of the group at the start of a pattern, and the rest after it. `None` for
/// look-around and for a group that may be skipped.
fn group_at_start(pattern: &str) -> Option<(&str, &str)> {
    let inside = pattern.strip_prefix('(')?;
    let (mut depth, mut class, mut escaped) = (0usize, false, false);
    let end = inside.char_indices().find(|&(_, c)| {
        let closes = !escaped && !class && c == ')' && depth == 0;
        match c {
            _ if escaped => {}
            '[' => class = true,
            ']' => class = false,
            '(' if !class => depth += 1,
            ')' if !class => depth = depth.saturating_sub(1),
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        closes
    });
    let (end, _) = end?;
    let (inner, after) = (&inside[..end], &inside[end + 1..]);
    if after.starts_with(['?', '*', '{']) {
        return None;
    }
    match inner.strip_prefix('?') {
        None => Some((inner, after)),
        Some(special) => {
            let (kind, rest) = special.split_once([':', '>'])?;
            let named =
                kind.strip_prefix(['<', 'P']).is_some_and(|name| !name.starts_with(['=', '!']));
            let flags = kind.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
            (flags || named).then_some((rest, after))
        }
    }
}

/// The alternatives of a pattern outside of groups.
fn branches(pattern: &str) -> Vec<&str> {
    let (mut found, mut start, mut depth) = (Vec::new(), 0, 0usize);
    let (mut class, mut escaped) = (false, false);
    for (at, c) in pattern.char_indices() {
        match c {
            _ if escaped => {}
            '[' => class = true,
            ']' => class = false,
            _ if class => {}
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => {
                found.push(&pattern[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    found.push(&pattern[start..]);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_belong_to_their_alternative() {
        for (pattern, words) in [
            ("^a$", None),
            ("^a$|^b$", None),
            ("(?i)^abc$", None),
            ("(^abc$)", None),
            ("(?:^a$|^b$)", None),
            ("(?:^a|^b)c$", None),
            ("(?<name>^a$)", None),
            ("(?i)abc$", Some("a `^` at its start")),
            ("(^a|b)c$", Some("a `^` at its start")),
            ("(?:^a)?b$", Some("a `^` at its start")),
            ("(?=^a)b$", Some("a `^` at its start")),
            (r"^a([)$]|\)$)", Some("a `$` at its end")),
            ("^a(b|c$)", Some("a `$` at its end")),
            ("^(a|b)$", None),
            ("cat|dog", None),
            ("", None),
            ("[a-z]+", Some("`^` and `$`?")),
            ("^[a-z|]+", Some("a `$` at its end")),
            ("[a-z]+$", Some("a `^` at its start")),
            (r"^\$", Some("a `$` at its end")),
            ("^a|b$", Some("`^(?:a|b)$`")),
            ("^a$|b", Some("others match anywhere")),
            ("/^a+$/i", Some("slashes")),
            ("^[[:alpha:]]+$", Some("`[:alpha:]`")),
        ] {
            let said = doubt(pattern);
            let right = match (words, &said) {
                (None, None) => true,
                (Some(words), Some(said)) => said.contains(words),
                _ => false,
            };
            assert!(right, "{pattern}: {said:?}");
        }
    }
}
