//! Completion of a pattern by a short text.

use std::cmp::Ordering;

use super::escape_target::{surrogate_halves, surrogate_pair};
use super::state::{EscapeTarget, OpenEscape, PatternState, SyntaxPosition};

impl PatternState {
    /// Number of groups that are referred to and missing.
    fn missing(&self) -> u32 {
        let referred = match self.mode {
            SyntaxPosition::Number(number) => self.referred.max(number),
            _ => self.referred,
        };
        referred.saturating_sub(self.captures)
    }

    /// Estimate of the number of characters that complete the pattern.
    pub(crate) fn completion_estimate(&self) -> u32 {
        // `(?<name>)`
        let named = |text: &Vec<u32>| text.len() as u32 + 5;
        let wanted: u32 = self.wanted.iter().map(named).sum();
        let within = match &self.mode {
            SyntaxPosition::Term { .. }
            | SyntaxPosition::Repeated
            | SyntaxPosition::Zero
            | SyntaxPosition::Number(_) => 0,
            SyntaxPosition::Group | SyntaxPosition::Class { .. } => 1,
            SyntaxPosition::GroupName { declares: false, read } => read.len() as u32 + 6,
            _ => 2,
        };
        self.open.len() as u32 + 2 * self.missing() + wanted + within
    }

    /// The next character of a short completion.
    fn onward(&self) -> Option<char> {
        let code_point = |c: &u32| char::from_u32(*c);
        let either = |first: bool, a: char, b: char| if first { a } else { b };
        Some(match &self.mode {
            SyntaxPosition::Term { .. }
            | SyntaxPosition::Repeated
            | SyntaxPosition::Zero
            | SyntaxPosition::Number(_) => {
                either(self.missing() > 0 || !self.wanted.is_empty(), '(', ')')
            }
            SyntaxPosition::Group => either(self.wanted.is_empty(), ')', '?'),
            SyntaxPosition::Mark => either(self.wanted.is_empty(), ':', '<'),
            SyntaxPosition::Behind => match self.wanted.first() {
                Some(name) => name.first().and_then(code_point)?,
                None => '=',
            },
            SyntaxPosition::GroupName { declares: true, read } => {
                match self.wanted.iter().find(|name| name.starts_with(read)) {
                    Some(name) if name.len() > read.len() => code_point(&name[read.len()])?,
                    None => either(read.is_empty() || self.is_taken(read), 'a', '>'),
                    _ => '>',
                }
            }
            SyntaxPosition::GroupName { declares: false, read } => {
                either(read.is_empty(), 'a', '>')
            }
            SyntaxPosition::Flags { on, off, .. } => either(on | off == 0, 'i', ':'),
            SyntaxPosition::NameMark => '<',
            SyntaxPosition::Least { any, .. } => either(*any, '}', '0'),
            SyntaxPosition::Most { least, read, order, any } => {
                match (read.cmp(&least.len()).then(*order), order) {
                    _ if !any => '}',
                    (Ordering::Less, Ordering::Equal) => char::from(b'0' + least[*read]),
                    (Ordering::Less, _) => '0',
                    _ => '}',
                }
            }
            SyntaxPosition::Class { .. } => ']',
            SyntaxPosition::Escape { forced: true, .. } => 'u',
            SyntaxPosition::Escape { then, .. } => match then {
                EscapeTarget::Term | EscapeTarget::ClassMember => '/',
                // The last of those that stand for themselves.
                EscapeTarget::RangeEnd(least) => either(*least <= u32::from('}'), '}', 'u'),
                EscapeTarget::GroupName { .. } => 'u',
            },
            SyntaxPosition::Control(_) => 'Z',
            SyntaxPosition::Hex(..) => 'F',
            SyntaxPosition::Unicode { then, tail, forced, count, value } => {
                let bits = 4 * (4 - count);
                let (first, last) = (value << bits, (value << bits) + (1 << bits) - 1);
                let (low, high) = surrogate_halves(first, last);
                let unit = match (*tail, then.least(first, last)) {
                    (OpenEscape::High { unit, .. }, _) if *forced => {
                        let c =
                            then.least(surrogate_pair(unit, low.0), surrogate_pair(unit, low.1))?;
                        0xDC00 | (c & 0x3FF)
                    }
                    (_, Some(unit)) => unit,
                    (_, None) => {
                        let c = then.least(
                            surrogate_pair(high.0, 0xDC00),
                            surrogate_pair(high.1, 0xDFFF),
                        )?;
                        0xD800 + ((c - 0x1_0000) >> 10)
                    }
                };
                char::from_digit((unit >> (bits - 4)) & 0xF, 16)?
            }
            SyntaxPosition::Braced { then, any, value } => match then.digits(*value)? {
                0 => either(*any, '}', '0'),
                digits => {
                    let bits = 4 * digits;
                    let last = (value << bits) + (1 << bits) - 1;
                    let c = then.least(value << bits, last.min(char::MAX.into()))?;
                    char::from_digit((c >> (bits - 4)) & 0xF, 16)?
                }
            },
            SyntaxPosition::PropertyMark(_) => '{',
            SyntaxPosition::Property(_, begun) => begun.onward().map_or('}', char::from),
            SyntaxPosition::Pair { .. } => '\\',
        })
    }

    /// A short text that completes the pattern.
    pub(crate) fn completion(mut self) -> String {
        let mut text = String::new();
        while !self.accepts() {
            let between = matches!(
                self.mode,
                SyntaxPosition::Term { .. }
                    | SyntaxPosition::Repeated
                    | SyntaxPosition::Zero
                    | SyntaxPosition::Number(_)
            );
            if between && self.wanted.is_empty() {
                text.push_str(&"()".repeat(self.missing() as usize));
                text.push_str(&")".repeat(self.open.len()));
                break;
            }
            let next = self.onward().and_then(|c| Some((c, self.clone().after(c)?)));
            // Never `None`: from every state some text completes the pattern.
            let Some((c, after)) = next else { break };
            text.push(c);
            self = after;
        }
        text
    }
}
