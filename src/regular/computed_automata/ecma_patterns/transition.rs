//! Transitions of the automaton of ECMA-262 patterns.

use std::cmp::Ordering;

use super::escape_target::{surrogate_halves, surrogate_pair};
use super::properties::PropertyPrefix;
use super::state::{
    ClassPosition, EscapeTarget, GroupName, OpenEscape, PatternState, SyntaxPosition,
};
use crate::regular::syntax::identifiers::is_group_name_char;

/// The greatest number of a group that may be referred to: a text that refers to it can be completed
/// by that many groups.
const MAX_GROUP_NUMBER: u32 = 999;

/// `SyntaxCharacter`.
pub(crate) const SYNTAX_CHARACTERS: &str = "^$\\.*+?()[]{}|";

/// The flags of `(?ims-ims:…)`.
const FLAGS: &str = "ims";

impl PatternState {
    /// The state after a character; `None` if no text follows.
    pub(crate) fn after(mut self, c: char) -> Option<Self> {
        let mode = std::mem::replace(&mut self.mode, SyntaxPosition::Term { repeats: false });
        match mode {
            SyntaxPosition::Term { repeats } => self.term(c, repeats),
            SyntaxPosition::Repeated if c == '?' => Some(self),
            SyntaxPosition::Repeated => self.term(c, false),
            SyntaxPosition::Zero if c.is_ascii_digit() => None,
            SyntaxPosition::Zero => self.term(c, true),
            SyntaxPosition::Number(number) => match c.to_digit(10) {
                Some(digit) => {
                    let number = number * 10 + digit;
                    (number <= MAX_GROUP_NUMBER).then(|| self.at(SyntaxPosition::Number(number)))
                }
                None => {
                    self.refer_to(number);
                    self.term(c, true)
                }
            },
            SyntaxPosition::Least { digits, any } => self.least(digits, any, c),
            SyntaxPosition::Most { least, read, order, any } => {
                self.most(least, (read, order, any), c)
            }
            SyntaxPosition::Group if c == '?' => Some(self.at(SyntaxPosition::Mark)),
            SyntaxPosition::Group => {
                self.capture();
                self.term(c, false)
            }
            SyntaxPosition::Mark => self.mark(c),
            SyntaxPosition::Behind if matches!(c, '=' | '!') => Some(self.open(false)),
            SyntaxPosition::Behind => self.name(true, Vec::new(), c),
            SyntaxPosition::Flags { on, off, minus } => self.flags(on, off, minus, c),
            SyntaxPosition::NameMark => {
                let name = SyntaxPosition::GroupName { declares: false, read: Vec::new() };
                (c == '<').then(|| self.at(name))
            }
            SyntaxPosition::GroupName { declares, read } => self.name(declares, read, c),
            SyntaxPosition::Class { first, at, tail } => self.class(first, at, tail, c),
            SyntaxPosition::Escape { then, tail, forced: true } => (c == 'u').then(|| {
                self.at(SyntaxPosition::Unicode { then, tail, forced: true, count: 0, value: 0 })
            }),
            SyntaxPosition::Escape { then, tail, forced: false } => self.escape(then, tail, c),
            SyntaxPosition::Control(then) => {
                if c.is_ascii_alphabetic() {
                    self.value(then, u32::from(c) % 32)
                } else {
                    None
                }
            }
            SyntaxPosition::Hex(then, 0, _) => {
                let value = c.to_digit(16)?;
                then.allows(value << 4, value << 4 | 0xF)
                    .then(|| self.at(SyntaxPosition::Hex(then, 1, value)))
            }
            SyntaxPosition::Hex(then, _, value) => self.value(then, value << 4 | c.to_digit(16)?),
            SyntaxPosition::Unicode { then, forced: false, count: 0, .. } if c == '{' => {
                Some(self.at(SyntaxPosition::Braced { then, any: false, value: 0 }))
            }
            SyntaxPosition::Unicode { then, tail, forced, count, value } => {
                self.unit(then, (tail, forced), count + 1, value << 4 | c.to_digit(16)?)
            }
            SyntaxPosition::Braced { then, any: true, value } if c == '}' => {
                self.value(then, value)
            }
            SyntaxPosition::Braced { then, value, .. } => {
                self.braced(then, value << 4 | c.to_digit(16)?)
            }
            SyntaxPosition::PropertyMark(then) => {
                (c == '{').then(|| self.at(SyntaxPosition::Property(then, PropertyPrefix::NOTHING)))
            }
            SyntaxPosition::Property(then, begun) if c == '}' && begun.is_whole() => self.set(then),
            SyntaxPosition::Property(then, begun) => {
                let begun = begun.then(u8::try_from(c).ok()?)?;
                Some(self.at(SyntaxPosition::Property(then, begun)))
            }
            SyntaxPosition::Pair { then, high } => {
                let tail = OpenEscape::High { unit: high, ends: false };
                (c == '\\').then(|| self.at(SyntaxPosition::Escape { then, tail, forced: true }))
            }
        }
    }

    fn at(mut self, mode: SyntaxPosition) -> Self {
        self.mode = mode;
        self
    }

    /// `Term`, or what comes between terms.
    fn term(mut self, c: char, repeats: bool) -> Option<Self> {
        let mode = match c {
            '|' => {
                self.next_alternative();
                SyntaxPosition::Term { repeats: false }
            }
            '(' => SyntaxPosition::Group,
            ')' => SyntaxPosition::Term { repeats: self.close()? },
            '[' => SyntaxPosition::Class {
                first: true,
                at: ClassPosition::Fresh,
                tail: OpenEscape::Nothing,
            },
            '\\' => SyntaxPosition::Escape {
                then: EscapeTarget::Term,
                tail: OpenEscape::Nothing,
                forced: false,
            },
            '^' | '$' => SyntaxPosition::Term { repeats: false },
            '*' | '+' | '?' if repeats => SyntaxPosition::Repeated,
            '{' if repeats => SyntaxPosition::Least { digits: Vec::new(), any: false },
            '*' | '+' | '?' | '{' | '}' | ']' => return None,
            _ => SyntaxPosition::Term { repeats: true },
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
                SyntaxPosition::Least { digits, any: true }
            }
            ('}', _) if any => SyntaxPosition::Repeated,
            (',', _) if any => {
                SyntaxPosition::Most { least: digits, read: 0, order: Ordering::Equal, any: false }
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
            (_, Some(0)) if read == 0 => SyntaxPosition::Most { least, read, order, any: true },
            (_, Some(digit)) => {
                let (read, order) = match least.get(read) {
                    Some(&other) => (read + 1, order.then(digit.cmp(&other.into()))),
                    None => (least.len() + 1, Ordering::Greater),
                };
                SyntaxPosition::Most { least, read, order, any: true }
            }
            ('}', _) if !any || read.cmp(&least.len()).then(order).is_ge() => {
                SyntaxPosition::Repeated
            }
            _ => return None,
        };
        Some(self.at(mode))
    }

    /// After `(?`.
    fn mark(self, c: char) -> Option<Self> {
        Some(match c {
            ':' => self.open(true),
            '=' | '!' => self.open(false),
            '<' => self.at(SyntaxPosition::Behind),
            _ => return self.flags(0, 0, false, c),
        })
    }

    /// `RegularExpressionModifiers`, of which none comes twice, and not all are left out.
    fn flags(self, mut on: u8, mut off: u8, minus: bool, c: char) -> Option<Self> {
        match c {
            ':' if on | off != 0 => return Some(self.open(true)),
            '-' if !minus => return Some(self.at(SyntaxPosition::Flags { on, off, minus: true })),
            _ => {}
        }
        let flag = 1 << FLAGS.find(c)?;
        if (on | off) & flag != 0 {
            return None;
        }
        *(if minus { &mut off } else { &mut on }) |= flag;
        Some(self.at(SyntaxPosition::Flags { on, off, minus }))
    }

    /// Opens a group.
    fn open(mut self, repeats: bool) -> Self {
        self.open.push(repeats);
        self.at(SyntaxPosition::Term { repeats: false })
    }

    /// Opens a group that can be referred to.
    fn capture(&mut self) {
        self.open.push(true);
        self.captures = MAX_GROUP_NUMBER.min(self.captures + 1);
        if self.captures >= self.referred {
            self.referred = 0;
        }
    }

    /// Records a reference to a group by number.
    fn refer_to(&mut self, number: u32) {
        if number > self.captures {
            self.referred = self.referred.max(number);
        }
    }

    /// Closes the innermost group, and returns whether it may be repeated; `None` if none is open.
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

    /// Begins another alternative: names in it cannot match together with those of the ones before.
    fn next_alternative(&mut self) {
        let depth = self.open.len() as u32;
        for name in self.names.iter_mut().filter(|name| name.depth == depth) {
            name.here = false;
        }
        self.names.sort_unstable();
        self.names.dedup();
    }

    /// Whether a group of this name can match together with one that is opened here.
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
                self.names.push(GroupName {
                    depth: self.open.len() as u32,
                    here: true,
                    text: read,
                });
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
                Some(self.at(SyntaxPosition::Term { repeats: true }))
            }
            '\\' => {
                let then = EscapeTarget::GroupName { declares, read };
                Some(self.at(SyntaxPosition::Escape {
                    then,
                    tail: OpenEscape::Nothing,
                    forced: false,
                }))
            }
            _ => is_group_name_char(c.into(), read.is_empty()).then(|| {
                read.push(c.into());
                self.at(SyntaxPosition::GroupName { declares, read })
            }),
        }
    }

    /// The state at a position of a class.
    pub(crate) fn in_class(self, at: ClassPosition, tail: OpenEscape) -> Self {
        self.at(SyntaxPosition::Class { first: false, at, tail })
    }

    /// `ClassContents`. A hyphen is a range's where a member stands before it, and does not end a
    /// range itself.
    fn class(self, first: bool, at: ClassPosition, tail: OpenEscape, c: char) -> Option<Self> {
        match (c, at) {
            ('^', _) if first => Some(self.in_class(ClassPosition::Fresh, OpenEscape::Nothing)),
            ('0'..='9', _) if tail == OpenEscape::Zero => None,
            (']', _) => Some(self.at(SyntaxPosition::Term { repeats: true })),
            (_, ClassPosition::Hyphen(None)) => None,
            ('\\', _) => {
                let then = match at {
                    ClassPosition::Hyphen(Some(first)) => EscapeTarget::RangeEnd(first),
                    _ => EscapeTarget::ClassMember,
                };
                Some(self.at(SyntaxPosition::Escape { then, tail, forced: false }))
            }
            ('-', ClassPosition::After(member)) => {
                Some(self.in_class(ClassPosition::Hyphen(member), OpenEscape::Nothing))
            }
            (_, ClassPosition::Hyphen(Some(first))) => {
                self.value(EscapeTarget::RangeEnd(first), c.into())
            }
            _ => self.value(EscapeTarget::ClassMember, c.into()),
        }
    }

    /// After what stands for one code point.
    fn value(self, then: EscapeTarget, value: u32) -> Option<Self> {
        if !then.allows(value, value) {
            return None;
        }
        Some(match then {
            EscapeTarget::Term => self.at(SyntaxPosition::Term { repeats: true }),
            EscapeTarget::ClassMember => {
                self.in_class(ClassPosition::After(Some(value)), OpenEscape::Nothing)
            }
            EscapeTarget::RangeEnd(_) => self.in_class(ClassPosition::Fresh, OpenEscape::Nothing),
            EscapeTarget::GroupName { declares, mut read } => {
                read.push(value);
                self.at(SyntaxPosition::GroupName { declares, read })
            }
        })
    }

    /// After what stands for a set of characters.
    fn set(self, then: EscapeTarget) -> Option<Self> {
        match then {
            EscapeTarget::Term => Some(self.at(SyntaxPosition::Term { repeats: true })),
            EscapeTarget::ClassMember => {
                Some(self.in_class(ClassPosition::After(None), OpenEscape::Nothing))
            }
            EscapeTarget::RangeEnd(_) | EscapeTarget::GroupName { .. } => None,
        }
    }

    /// Reads the character that a backslash escapes: `AtomEscape`, `ClassEscape`, or an escape in a
    /// name.
    fn escape(self, then: EscapeTarget, tail: OpenEscape, c: char) -> Option<Self> {
        let in_class = matches!(then, EscapeTarget::ClassMember | EscapeTarget::RangeEnd(_));
        if c == 'u' {
            return Some(self.at(SyntaxPosition::Unicode {
                then,
                tail,
                forced: false,
                count: 0,
                value: 0,
            }));
        }
        if let EscapeTarget::GroupName { .. } = then {
            return None;
        }
        match c {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => self.set(then),
            'p' | 'P' if !matches!(then, EscapeTarget::RangeEnd(_)) => {
                Some(self.at(SyntaxPosition::PropertyMark(then)))
            }
            't' => self.value(then, 0x09),
            'n' => self.value(then, 0x0A),
            'v' => self.value(then, 0x0B),
            'f' => self.value(then, 0x0C),
            'r' => self.value(then, 0x0D),
            'b' if in_class => self.value(then, 0x08),
            'b' | 'B' if !in_class => Some(self.at(SyntaxPosition::Term { repeats: false })),
            'c' => then.allows(1, 26).then(|| self.at(SyntaxPosition::Control(then))),
            'x' => then.allows(0, 0xFF).then(|| self.at(SyntaxPosition::Hex(then, 0, 0))),
            '0' if in_class => {
                let mut state = self.value(then, 0)?;
                if let SyntaxPosition::Class { tail, .. } = &mut state.mode {
                    *tail = OpenEscape::Zero;
                }
                Some(state)
            }
            '0' => Some(self.at(SyntaxPosition::Zero)),
            '1'..='9' if !in_class => Some(self.at(SyntaxPosition::Number(c.to_digit(10)?))),
            'k' if !in_class => Some(self.at(SyntaxPosition::NameMark)),
            '-' if in_class => self.value(then, c.into()),
            '/' => self.value(then, c.into()),
            _ if SYNTAX_CHARACTERS.contains(c) => self.value(then, c.into()),
            _ => None,
        }
    }

    /// After so many digits of `\uhhhh`, a unit of UTF-16: of two that make a pair, the second
    /// belongs to the first.
    fn unit(
        self,
        then: EscapeTarget,
        (tail, forced): (OpenEscape, bool),
        count: u32,
        value: u32,
    ) -> Option<Self> {
        let bits = 4 * (4 - count);
        let (first, last) = (value << bits, (value << bits) + (1 << bits) - 1);
        let (low, high) = surrogate_halves(first, last);
        let pairs = match tail {
            // A pair that need not be one is as good as a member of a class.
            OpenEscape::High { unit, .. } if low.0 <= low.1 => {
                !forced || then.allows(surrogate_pair(unit, low.0), surrogate_pair(unit, low.1))
            }
            _ => false,
        };
        let begins = high.0 <= high.1
            && then.allows(surrogate_pair(high.0, 0xDC00), surrogate_pair(high.1, 0xDFFF));
        if !pairs && (forced || !begins && !then.allows(first, last)) {
            return None;
        }
        if count < 4 {
            return Some(self.at(SyntaxPosition::Unicode { then, tail, forced, count, value }));
        }
        match (tail, then) {
            (OpenEscape::High { unit, .. }, then) if pairs && forced => {
                self.value(then, surrogate_pair(unit, value))
            }
            (OpenEscape::High { ends: true, .. }, _) if pairs => {
                Some(self.in_class(ClassPosition::Fresh, OpenEscape::Nothing))
            }
            (OpenEscape::High { unit, .. }, then) if pairs => {
                self.value(then, surrogate_pair(unit, value))
            }
            (_, EscapeTarget::ClassMember) if begins => {
                let tail = OpenEscape::High { unit: value, ends: false };
                Some(self.in_class(ClassPosition::After(Some(value)), tail))
            }
            (_, EscapeTarget::RangeEnd(least)) if begins && value >= least => Some(
                self.in_class(ClassPosition::Fresh, OpenEscape::High { unit: value, ends: true }),
            ),
            (_, then @ (EscapeTarget::RangeEnd(_) | EscapeTarget::GroupName { .. })) if begins => {
                Some(self.at(SyntaxPosition::Pair { then, high: value }))
            }
            (_, then) => self.value(then, value),
        }
    }

    /// After digits of `\u{…}`, whose value is a code point.
    fn braced(self, then: EscapeTarget, value: u32) -> Option<Self> {
        then.digits(value)?;
        Some(self.at(SyntaxPosition::Braced { then, any: true, value }))
    }
}
