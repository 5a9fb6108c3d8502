//! Reading a pattern, character by character.

use super::*;

impl State {
    /// The state after a character; `None` if no text follows.
    pub(crate) fn after(mut self, c: char) -> Option<Self> {
        let mode = std::mem::replace(&mut self.mode, Mode::Term { repeats: false });
        match mode {
            Mode::Term { repeats } => self.term(c, repeats),
            Mode::Repeated if c == '?' => Some(self),
            Mode::Repeated => self.term(c, false),
            Mode::Zero if c.is_ascii_digit() => None,
            Mode::Zero => self.term(c, true),
            Mode::Number(number) => match c.to_digit(10) {
                Some(digit) => {
                    let number = number * 10 + digit;
                    (number <= MOST_GROUPS).then(|| self.at(Mode::Number(number)))
                }
                None => {
                    self.refer_to(number);
                    self.term(c, true)
                }
            },
            Mode::Least { digits, any } => self.least(digits, any, c),
            Mode::Most { least, read, order, any } => self.most(least, (read, order, any), c),
            Mode::Group if c == '?' => Some(self.at(Mode::Mark)),
            Mode::Group => {
                self.capture();
                self.term(c, false)
            }
            Mode::Mark => self.mark(c),
            Mode::Behind if matches!(c, '=' | '!') => Some(self.open(false)),
            Mode::Behind => self.name(true, Vec::new(), c),
            Mode::Flags { on, off, minus } => self.flags(on, off, minus, c),
            Mode::NameMark => {
                let name = Mode::Name { declares: false, read: Vec::new() };
                (c == '<').then(|| self.at(name))
            }
            Mode::Name { declares, read } => self.name(declares, read, c),
            Mode::Class { first, at, tail } => self.class(first, at, tail, c),
            Mode::Escape { then, tail, forced: true } => (c == 'u')
                .then(|| self.at(Mode::Unicode { then, tail, forced: true, count: 0, value: 0 })),
            Mode::Escape { then, tail, forced: false } => self.escape(then, tail, c),
            Mode::Control(then) => {
                if c.is_ascii_alphabetic() {
                    self.value(then, u32::from(c) % 32)
                } else {
                    None
                }
            }
            Mode::Hex(then, 0, _) => {
                let value = c.to_digit(16)?;
                then.allows(value << 4, value << 4 | 0xF)
                    .then(|| self.at(Mode::Hex(then, 1, value)))
            }
            Mode::Hex(then, _, value) => self.value(then, value << 4 | c.to_digit(16)?),
            Mode::Unicode { then, forced: false, count: 0, .. } if c == '{' => {
                Some(self.at(Mode::Braced { then, any: false, value: 0 }))
            }
            Mode::Unicode { then, tail, forced, count, value } => {
                self.unit(then, (tail, forced), count + 1, value << 4 | c.to_digit(16)?)
            }
            Mode::Braced { then, any: true, value } if c == '}' => self.value(then, value),
            Mode::Braced { then, value, .. } => self.braced(then, value << 4 | c.to_digit(16)?),
            Mode::PropertyMark(then) => {
                (c == '{').then(|| self.at(Mode::Property(then, Begun::NOTHING)))
            }
            Mode::Property(then, begun) if c == '}' && begun.is_whole() => self.set(then),
            Mode::Property(then, begun) => {
                let begun = begun.then(u8::try_from(c).ok()?)?;
                Some(self.at(Mode::Property(then, begun)))
            }
            Mode::Pair { then, high } => {
                let tail = Tail::High { unit: high, ends: false };
                (c == '\\').then(|| self.at(Mode::Escape { then, tail, forced: true }))
            }
        }
    }

    fn at(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// `Term`, or what comes between terms.
    fn term(mut self, c: char, repeats: bool) -> Option<Self> {
        let mode = match c {
            '|' => {
                self.next_alternative();
                Mode::Term { repeats: false }
            }
            '(' => Mode::Group,
            ')' => Mode::Term { repeats: self.close()? },
            '[' => Mode::Class { first: true, at: Member::Fresh, tail: Tail::Nothing },
            '\\' => Mode::Escape { then: Then::Term, tail: Tail::Nothing, forced: false },
            '^' | '$' => Mode::Term { repeats: false },
            '*' | '+' | '?' if repeats => Mode::Repeated,
            '{' if repeats => Mode::Least { digits: Vec::new(), any: false },
            '*' | '+' | '?' | '{' | '}' | ']' => return None,
            _ => Mode::Term { repeats: true },
        };
        Some(self.at(mode))
    }

    /// `QuantifierPrefix`, in its first number.
    fn least(self, mut digits: Vec<u8>, any: bool, c: char) -> Option<Self> {
        let mode = match (c, c.to_digit(10)) {
            (_, Some(digit)) => {
                if digit > 0 || !digits.is_empty() {
                    digits.push(digit as u8);
                }
                Mode::Least { digits, any: true }
            }
            ('}', _) if any => Mode::Repeated,
            (',', _) if any => {
                Mode::Most { least: digits, read: 0, order: Ordering::Equal, any: false }
            }
            _ => return None,
        };
        Some(self.at(mode))
    }

    /// `QuantifierPrefix`, in its second number, which is not below the first.
    fn most(
        self,
        least: Vec<u8>,
        (read, order, any): (usize, Ordering, bool),
        c: char,
    ) -> Option<Self> {
        let mode = match (c, c.to_digit(10)) {
            (_, Some(0)) if read == 0 => Mode::Most { least, read, order, any: true },
            (_, Some(digit)) => {
                let (read, order) = match least.get(read) {
                    Some(&other) => (read + 1, order.then(digit.cmp(&other.into()))),
                    None => (least.len() + 1, Ordering::Greater),
                };
                Mode::Most { least, read, order, any: true }
            }
            ('}', _) if !any || read.cmp(&least.len()).then(order).is_ge() => Mode::Repeated,
            _ => return None,
        };
        Some(self.at(mode))
    }

    /// After `(?`.
    fn mark(self, c: char) -> Option<Self> {
        Some(match c {
            ':' => self.open(true),
            '=' | '!' => self.open(false),
            '<' => self.at(Mode::Behind),
            _ => return self.flags(0, 0, false, c),
        })
    }

    /// `RegularExpressionModifiers`, of which none comes twice, and not all are left out.
    fn flags(self, mut on: u8, mut off: u8, minus: bool, c: char) -> Option<Self> {
        match c {
            ':' if on | off != 0 => return Some(self.open(true)),
            '-' if !minus => return Some(self.at(Mode::Flags { on, off, minus: true })),
            _ => {}
        }
        let flag = 1 << FLAGS.find(c)?;
        if (on | off) & flag != 0 {
            return None;
        }
        *(if minus { &mut off } else { &mut on }) |= flag;
        Some(self.at(Mode::Flags { on, off, minus }))
    }

    /// Opens a group.
    fn open(mut self, repeats: bool) -> Self {
        self.open.push(repeats);
        self.at(Mode::Term { repeats: false })
    }

    /// Opens a group that can be referred to.
    fn capture(&mut self) {
        self.open.push(true);
        self.captures = MOST_GROUPS.min(self.captures + 1);
        if self.captures >= self.referred {
            self.referred = 0;
        }
    }

    fn refer_to(&mut self, number: u32) {
        if number > self.captures {
            self.referred = self.referred.max(number);
        }
    }

    /// Closes the innermost group, and says whether it may be repeated; `None` if there is none.
    fn close(&mut self) -> Option<bool> {
        let depth = self.open.len() as u32;
        let repeats = self.open.pop()?;
        for name in self.names.iter_mut().filter(|name| name.depth == depth) {
            (name.depth, name.here) = (depth - 1, true);
        }
        self.names.sort_unstable();
        self.names.dedup();
        Some(repeats)
    }

    /// What stands in one alternative is not matched beside what stands in another.
    fn next_alternative(&mut self) {
        let depth = self.open.len() as u32;
        for name in self.names.iter_mut().filter(|name| name.depth == depth) {
            name.here = false;
        }
        self.names.sort_unstable();
        self.names.dedup();
    }

    /// Is there a group of this name that can match together with one that is opened here?
    pub(crate) fn is_taken(&self, text: &[u32]) -> bool {
        self.names.iter().any(|name| name.here && name.text == text)
    }

    /// `GroupName`.
    fn name(mut self, declares: bool, mut read: Vec<u32>, c: char) -> Option<Self> {
        match c {
            '>' if read.is_empty() => None,
            '>' if declares => {
                if self.is_taken(&read) {
                    return None;
                }
                self.wanted.retain(|wanted| *wanted != read);
                self.names.push(Name { depth: self.open.len() as u32, here: true, text: read });
                self.names.sort_unstable();
                self.capture();
                Some(self)
            }
            '>' => {
                if self.names.iter().all(|name| name.text != read) {
                    self.wanted.push(read);
                    self.wanted.sort_unstable();
                    self.wanted.dedup();
                }
                Some(self.at(Mode::Term { repeats: true }))
            }
            '\\' => {
                let then = Then::Name { declares, read };
                Some(self.at(Mode::Escape { then, tail: Tail::Nothing, forced: false }))
            }
            _ => is_of_name(c.into(), read.is_empty()).then(|| {
                read.push(c.into());
                self.at(Mode::Name { declares, read })
            }),
        }
    }

    pub(crate) fn in_class(self, at: Member, tail: Tail) -> Self {
        self.at(Mode::Class { first: false, at, tail })
    }

    /// `ClassContents`. A hyphen is a range's where a member stands before it, and does not end a
    /// range itself.
    fn class(self, first: bool, at: Member, tail: Tail, c: char) -> Option<Self> {
        match (c, at) {
            ('^', _) if first => Some(self.in_class(Member::Fresh, Tail::Nothing)),
            ('0'..='9', _) if tail == Tail::Zero => None,
            (']', _) => Some(self.at(Mode::Term { repeats: true })),
            (_, Member::Hyphen(None)) => None,
            ('\\', _) => {
                let then = match at {
                    Member::Hyphen(Some(first)) => Then::Last(first),
                    _ => Then::Member,
                };
                Some(self.at(Mode::Escape { then, tail, forced: false }))
            }
            ('-', Member::After(member)) => {
                Some(self.in_class(Member::Hyphen(member), Tail::Nothing))
            }
            (_, Member::Hyphen(Some(first))) => self.value(Then::Last(first), c.into()),
            _ => self.value(Then::Member, c.into()),
        }
    }

    /// What stands for one code point.
    fn value(self, then: Then, value: u32) -> Option<Self> {
        if !then.allows(value, value) {
            return None;
        }
        Some(match then {
            Then::Term => self.at(Mode::Term { repeats: true }),
            Then::Member => self.in_class(Member::After(Some(value)), Tail::Nothing),
            Then::Last(_) => self.in_class(Member::Fresh, Tail::Nothing),
            Then::Name { declares, mut read } => {
                read.push(value);
                self.at(Mode::Name { declares, read })
            }
        })
    }

    /// What stands for a set of characters.
    fn set(self, then: Then) -> Option<Self> {
        match then {
            Then::Term => Some(self.at(Mode::Term { repeats: true })),
            Then::Member => Some(self.in_class(Member::After(None), Tail::Nothing)),
            Then::Last(_) | Then::Name { .. } => None,
        }
    }

    /// What follows a backslash: `AtomEscape`, `ClassEscape`, or what stands for a character of a
    /// name.
    fn escape(self, then: Then, tail: Tail, c: char) -> Option<Self> {
        let in_class = matches!(then, Then::Member | Then::Last(_));
        if c == 'u' {
            return Some(self.at(Mode::Unicode { then, tail, forced: false, count: 0, value: 0 }));
        }
        if let Then::Name { .. } = then {
            return None;
        }
        match c {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => self.set(then),
            'p' | 'P' if !matches!(then, Then::Last(_)) => Some(self.at(Mode::PropertyMark(then))),
            't' => self.value(then, 0x09),
            'n' => self.value(then, 0x0A),
            'v' => self.value(then, 0x0B),
            'f' => self.value(then, 0x0C),
            'r' => self.value(then, 0x0D),
            'b' if in_class => self.value(then, 0x08),
            'b' | 'B' if !in_class => Some(self.at(Mode::Term { repeats: false })),
            'c' => then.allows(1, 26).then(|| self.at(Mode::Control(then))),
            'x' => then.allows(0, 0xFF).then(|| self.at(Mode::Hex(then, 0, 0))),
            '0' if in_class => {
                let mut state = self.value(then, 0)?;
                if let Mode::Class { tail, .. } = &mut state.mode {
                    *tail = Tail::Zero;
                }
                Some(state)
            }
            '0' => Some(self.at(Mode::Zero)),
            '1'..='9' if !in_class => Some(self.at(Mode::Number(c.to_digit(10)?))),
            'k' if !in_class => Some(self.at(Mode::NameMark)),
            '-' if in_class => self.value(then, c.into()),
            '/' => self.value(then, c.into()),
            _ if SYNTAX.contains(c) => self.value(then, c.into()),
            _ => None,
        }
    }

    /// After so many digits of `\uhhhh`, a unit of UTF-16: of two that make a pair, the second
    /// belongs to the first.
    fn unit(
        self,
        then: Then,
        (tail, forced): (Tail, bool),
        count: u32,
        value: u32,
    ) -> Option<Self> {
        let bits = 4 * (4 - count);
        let (first, last) = (value << bits, (value << bits) + (1 << bits) - 1);
        let (low, high) = halves(first, last);
        let pairs = match tail {
            // A pair that need not be one is as good as a member of a class.
            Tail::High { unit, .. } if low.0 <= low.1 => {
                !forced || then.allows(pair(unit, low.0), pair(unit, low.1))
            }
            _ => false,
        };
        let begins = high.0 <= high.1 && then.allows(pair(high.0, 0xDC00), pair(high.1, 0xDFFF));
        if !pairs && (forced || !begins && !then.allows(first, last)) {
            return None;
        }
        if count < 4 {
            return Some(self.at(Mode::Unicode { then, tail, forced, count, value }));
        }
        match (tail, then) {
            (Tail::High { unit, .. }, then) if pairs && forced => {
                self.value(then, pair(unit, value))
            }
            (Tail::High { ends: true, .. }, _) if pairs => {
                Some(self.in_class(Member::Fresh, Tail::Nothing))
            }
            (Tail::High { unit, .. }, then) if pairs => self.value(then, pair(unit, value)),
            (_, Then::Member) if begins => {
                let tail = Tail::High { unit: value, ends: false };
                Some(self.in_class(Member::After(Some(value)), tail))
            }
            (_, Then::Last(least)) if begins && value >= least => {
                Some(self.in_class(Member::Fresh, Tail::High { unit: value, ends: true }))
            }
            (_, then @ (Then::Last(_) | Then::Name { .. })) if begins => {
                Some(self.at(Mode::Pair { then, high: value }))
            }
            (_, then) => self.value(then, value),
        }
    }

    /// After digits of `\u{…}`, whose value is a code point.
    fn braced(self, then: Then, value: u32) -> Option<Self> {
        then.digits(value)?;
        Some(self.at(Mode::Braced { then, any: true, value }))
    }
}
