//! Short texts that complete a pattern.

use super::*;

impl State {
    /// So many groups that are referred to are missing.
    fn missing(&self) -> u32 {
        let referred = match self.mode {
            Mode::Number(number) => self.referred.max(number),
            _ => self.referred,
        };
        referred.saturating_sub(self.captures)
    }

    /// About how many characters lead to the end.
    pub(crate) fn effort(&self) -> u32 {
        // `(?<name>)`
        let named = |text: &Vec<u32>| text.len() as u32 + 5;
        let wanted: u32 = self.wanted.iter().map(named).sum();
        let within = match &self.mode {
            Mode::Term { .. } | Mode::Repeated | Mode::Zero | Mode::Number(_) => 0,
            Mode::Group | Mode::Class { .. } => 1,
            Mode::Name { declares: false, read } => read.len() as u32 + 6,
            _ => 2,
        };
        self.open.len() as u32 + 2 * self.missing() + wanted + within
    }

    /// The next character on a short way to the end.
    fn onward(&self) -> Option<char> {
        let code_point = |c: &u32| char::from_u32(*c);
        let either = |first: bool, a: char, b: char| if first { a } else { b };
        Some(match &self.mode {
            Mode::Term { .. } | Mode::Repeated | Mode::Zero | Mode::Number(_) => {
                either(self.missing() > 0 || !self.wanted.is_empty(), '(', ')')
            }
            Mode::Group => either(self.wanted.is_empty(), ')', '?'),
            Mode::Mark => either(self.wanted.is_empty(), ':', '<'),
            Mode::Behind => match self.wanted.first() {
                Some(name) => name.first().and_then(code_point)?,
                None => '=',
            },
            Mode::Name { declares: true, read } => {
                match self.wanted.iter().find(|name| name.starts_with(read)) {
                    Some(name) if name.len() > read.len() => code_point(&name[read.len()])?,
                    None => either(read.is_empty() || self.is_taken(read), 'a', '>'),
                    _ => '>',
                }
            }
            Mode::Name { declares: false, read } => either(read.is_empty(), 'a', '>'),
            Mode::Flags { on, off, .. } => either(on | off == 0, 'i', ':'),
            Mode::NameMark => '<',
            Mode::Least { any, .. } => either(*any, '}', '0'),
            Mode::Most { least, read, order, any } => {
                match (read.cmp(&least.len()).then(*order), order) {
                    _ if !any => '}',
                    (Ordering::Less, Ordering::Equal) => char::from(b'0' + least[*read]),
                    (Ordering::Less, _) => '0',
                    _ => '}',
                }
            }
            Mode::Class { .. } => ']',
            Mode::Escape { forced: true, .. } => 'u',
            Mode::Escape { then, .. } => match then {
                Then::Term | Then::Member => '/',
                // The last of those that stand for themselves.
                Then::Last(least) => either(*least <= u32::from('}'), '}', 'u'),
                Then::Name { .. } => 'u',
            },
            Mode::Control(_) => 'Z',
            Mode::Hex(..) => 'F',
            Mode::Unicode { then, tail, forced, count, value } => {
                let bits = 4 * (4 - count);
                let (first, last) = (value << bits, (value << bits) + (1 << bits) - 1);
                let (low, high) = halves(first, last);
                let unit = match (*tail, then.least(first, last)) {
                    (Tail::High { unit, .. }, _) if *forced => {
                        let c = then.least(pair(unit, low.0), pair(unit, low.1))?;
                        0xDC00 | (c & 0x3FF)
                    }
                    (_, Some(unit)) => unit,
                    (_, None) => {
                        let c = then.least(pair(high.0, 0xDC00), pair(high.1, 0xDFFF))?;
                        0xD800 + ((c - 0x1_0000) >> 10)
                    }
                };
                char::from_digit((unit >> (bits - 4)) & 0xF, 16)?
            }
            Mode::Braced { then, any, value } => match then.digits(*value)? {
                0 => either(*any, '}', '0'),
                digits => {
                    let bits = 4 * digits;
                    let last = (value << bits) + (1 << bits) - 1;
                    let c = then.least(value << bits, last.min(char::MAX.into()))?;
                    char::from_digit((c >> (bits - 4)) & 0xF, 16)?
                }
            },
            Mode::PropertyMark(_) => '{',
            Mode::Property(_, begun) => begun.onward().map_or('}', char::from),
            Mode::Pair { .. } => '\\',
        })
    }

    /// A short text to the end.
    pub(crate) fn rest(mut self) -> String {
        let mut text = String::new();
        while !self.accepts() {
            let between = matches!(
                self.mode,
                Mode::Term { .. } | Mode::Repeated | Mode::Zero | Mode::Number(_)
            );
            if between && self.wanted.is_empty() {
                text.push_str(&"()".repeat(self.missing() as usize));
                text.push_str(&")".repeat(self.open.len()));
                break;
            }
            let next = self.onward().and_then(|c| Some((c, self.clone().after(c)?)));
            // There is one: a text leads to the end from everywhere.
            let Some((c, after)) = next else { break };
            text.push(c);
            self = after;
        }
        text
    }
}
