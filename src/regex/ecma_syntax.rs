//! The texts that are patterns of ECMA-262 (2025 edition, section 22.2.1 with the `u` flag), as an
//! automaton over characters.
//!
//! Which texts are patterns is no regular language, and not even a context-free one: parentheses
//! nest, `[b-a]` and `{2,1}` are none, `\3` asks for three groups and `\k<x>` for one of that name,
//! wherever they stand, and no two groups that can match together have one name. So a state holds
//! what these rules need: which groups are open, how many there were, names, and where in the
//! syntax the text stands. States are made as they are read.
//!
//! From every state a text leads to the end: what is open can be closed, and groups that are
//! asked for can be written. For this not to be a text without end, `\N` stops at
//! [`MOST_GROUPS`].

mod properties;
mod state;

use std::cmp::Ordering;
use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, HirKind};

use self::properties::Begun;
use self::state::{Member, Mode, Name, State, Tail, Then};
use super::ByteSet;
use super::automaton::{self, Ordinary, Slack};
use super::spelled::CharAutomaton;

/// The greatest number of a group that may be referred to.
const MOST_GROUPS: u32 = 999;

/// The patterns of ECMA-262.
#[derive(Debug)]
pub(crate) struct Syntax;

/// The last code point of ASCII.
const ASCII: u32 = 0x7F;

/// `SyntaxCharacter`.
const SYNTAX: &str = "^$\\.*+?()[]{}|";

/// The flags of `(?ims-ims:…)`.
const FLAGS: &str = "ims";

/// `IdentifierStartChar`, and `IdentifierPartChar`.
static START: LazyLock<ClassUnicode> = LazyLock::new(|| identifier("[\\p{ID_Start}$_]"));
static PART: LazyLock<ClassUnicode> =
    LazyLock::new(|| identifier("[\\p{ID_Continue}$\\u{200C}\\u{200D}]"));

fn identifier(class: &str) -> ClassUnicode {
    match regex_syntax::parse(class).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        // Its tables are a default feature.
        _ => ClassUnicode::empty(),
    }
}

/// May a code point stand in a group's name, first or later?
pub(super) fn is_of_name(c: u32, first: bool) -> bool {
    meets(if first { &START } else { &PART }, c, c)
}

/// Does a set hold any code point of a range?
fn meets(class: &ClassUnicode, first: u32, last: u32) -> bool {
    let ranges = class.ranges();
    let at = ranges.partition_point(|range| u32::from(range.end()) < first);
    ranges.get(at).is_some_and(|range| u32::from(range.start()) <= last)
}

impl Then {
    /// May the value of an escape be one of these?
    fn allows(&self, first: u32, last: u32) -> bool {
        first <= last
            && match self {
                Self::Term | Self::Member => true,
                &Self::Last(least) => last >= least,
                Self::Name { read, .. } => {
                    meets(if read.is_empty() { &START } else { &PART }, first, last)
                }
            }
    }

    /// The least of these that may be the value of an escape.
    fn least(&self, first: u32, last: u32) -> Option<u32> {
        if !self.allows(first, last) {
            return None;
        }
        Some(match self {
            Self::Term | Self::Member => first,
            &Self::Last(least) => first.max(least),
            Self::Name { read, .. } => {
                let ranges = if read.is_empty() { START.ranges() } else { PART.ranges() };
                let at = ranges.partition_point(|range| u32::from(range.end()) < first);
                first.max(ranges[at].start().into())
            }
        })
    }

    /// How many more hexadecimal digits make a number a code point that is allowed; `None` if none
    /// do.
    fn digits(&self, value: u32) -> Option<u32> {
        let most = u32::from(char::MAX);
        // A code point has six digits at most.
        (0..=6).take_while(|digits| value << (4 * digits) <= most).find(|digits| {
            let (first, last) = (value << (4 * digits), ((value + 1) << (4 * digits)) - 1);
            self.allows(first, last.min(most))
        })
    }
}

/// Of a range of units, those that are the second half of a surrogate pair, and the first.
fn halves(first: u32, last: u32) -> ((u32, u32), (u32, u32)) {
    ((first.max(0xDC00), last.min(0xDFFF)), (first.max(0xD800), last.min(0xDBFF)))
}

/// The code point of a surrogate pair.
fn pair(high: u32, low: u32) -> u32 {
    0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)
}

impl State {
    /// The state after a character; `None` if no text follows.
    fn after(mut self, c: char) -> Option<Self> {
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
    fn is_taken(&self, text: &[u32]) -> bool {
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

    fn in_class(self, at: Member, tail: Tail) -> Self {
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

    fn accepts(&self) -> bool {
        let done = self.open.is_empty() && self.wanted.is_empty() && self.referred == 0;
        done && match self.mode {
            Mode::Term { .. } | Mode::Repeated | Mode::Zero => true,
            Mode::Number(number) => number <= self.captures,
            _ => false,
        }
    }

    /// So many groups that are referred to are missing.
    fn missing(&self) -> u32 {
        let referred = match self.mode {
            Mode::Number(number) => self.referred.max(number),
            _ => self.referred,
        };
        referred.saturating_sub(self.captures)
    }

    /// About how many characters lead to the end.
    fn effort(&self) -> u32 {
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
    fn rest(mut self) -> String {
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

    /// Does any character from `first` to `last`, none of which is ASCII, lead on?
    fn reads_beyond(&self, first: u32, last: u32) -> bool {
        match &self.mode {
            Mode::Term { .. } | Mode::Repeated | Mode::Zero | Mode::Number(_) | Mode::Group => true,
            Mode::Class { at: Member::Hyphen(end), .. } => end.is_some_and(|end| last >= end),
            Mode::Class { .. } => true,
            Mode::Behind => meets(&START, first, last),
            Mode::Name { read, .. } => {
                meets(if read.is_empty() { &START } else { &PART }, first, last)
            }
            _ => false,
        }
    }
}

impl CharAutomaton for Syntax {
    fn name(&self) -> &str {
        "patterns of ECMA-262"
    }

    fn start(&self) -> automaton::State {
        State::start().write()
    }

    fn accepts(&self, state: &[i64]) -> bool {
        State::decode(state).accepts()
    }

    fn step(&self, state: &[i64], c: char) -> Option<automaton::State> {
        Some(State::decode(state).after(c)?.write())
    }

    fn reads_any(&self, state: &[i64], first: u32, last: u32) -> bool {
        let state = State::decode(state);
        let leads_on = |c: char| state.clone().after(c).is_some();
        (first..=last.min(ASCII)).filter_map(char::from_u32).any(leads_on)
            || last > ASCII && state.reads_beyond(first.max(ASCII + 1), last)
    }

    fn reads_alike(&self, state: &[i64], first: u32, _: u32) -> bool {
        first > ASCII
            && match State::decode(state).mode {
                Mode::Term { .. } | Mode::Repeated | Mode::Zero | Mode::Number(_) | Mode::Group => {
                    true
                }
                Mode::Class { at: Member::Hyphen(Some(least)), .. } => first >= least,
                _ => false,
            }
    }

    fn ordinary(&self, state: &[i64]) -> Option<Ordinary> {
        let mut state = State::decode(state);
        let all =
            |holds: &dyn Fn(u8) -> bool| (0..=ASCII as u8).filter(|&byte| holds(byte)).collect();
        let but = |special: &str| all(&|byte| !special.contains(char::from(byte)));
        let mut later = ByteSet::EMPTY;
        let (bytes, beyond) = match &state.mode {
            Mode::Term { .. } | Mode::Repeated | Mode::Group => (but(SYNTAX), None),
            Mode::Class { at, tail, .. } if *tail != Tail::Zero => {
                match *at {
                    Member::Fresh | Member::After(_) => {}
                    Member::Hyphen(Some(first @ ..=ASCII)) => {
                        later = (0..first as u8).collect();
                        state = state.in_class(Member::Fresh, Tail::Nothing);
                    }
                    Member::Hyphen(_) => return None,
                }
                (but("^-]\\"), None)
            }
            Mode::Behind | Mode::Name { .. } => {
                let begins = !matches!(&state.mode, Mode::Name { read, .. } if !read.is_empty());
                let first: &ClassUnicode = if begins { &START } else { &PART };
                let bytes = all(&|byte| is_of_name(byte.into(), false));
                let base = None;
                return Some(Ordinary { bytes, later, beyond: Some([first, &PART]), base });
            }
            _ => return None,
        };
        Some(Ordinary { bytes, later, beyond, base: Some(state.write()) })
    }

    fn slack(&self, state: &[i64]) -> Option<Slack> {
        let state = State::decode(state);
        let counted = match &state.mode {
            // A number, or what may become one, refers to many groups.
            Mode::Number(_) | Mode::Escape { .. } => return None,
            Mode::Least { digits, .. } | Mode::Most { least: digits, .. } => digits.len(),
            _ => 0,
        };
        // What was asked for may be asked for anew: names that were begun, digits of a count. A
        // byte opens a group, a class, a count or half a pair.
        let (names, effort) = (state.names.len(), state.effort() as usize);
        let rest = state.rest().len();
        Some(Slack { base: 2 * rest + 4 * effort + counted + names + 16, by_byte: 8 })
    }

    fn rest(&self, state: &[i64]) -> String {
        State::decode(state).rest()
    }

    fn effort(&self, state: &[i64]) -> u32 {
        State::decode(state).effort()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regex::{Dialect, check};

    fn read(text: &str) -> Option<State> {
        text.chars().try_fold(State::start(), State::after)
    }

    fn is_pattern(text: &str) -> bool {
        read(text).is_some_and(|state| state.accepts())
    }

    #[test]
    fn patterns() {
        for pattern in [
            "",
            "|",
            "a|",
            "^(abc|de+?)*$",
            "(?:a){2}(?=b)(?!c)(?<=d)(?<!e)f{1,}?g{03,12}",
            "a{9,10}b{10,10}c{007,7}d{0,0}",
            "[]",
            "[^]",
            "[-a]",
            "[a-]",
            "[--a]",
            "[--]",
            "[a-b-c]",
            "[+--]",
            "[\\d-]",
            "[^^-b]",
            "[^\\]\\\\-]",
            "[\\0-\\x01\\b\\cA\\-z]",
            "[a-\\u{62}][\\u0061-b][\\t-\\n]",
            r"[\uD83D\uDE00-\u{1F601}]",
            r"[\u{1F600}-\uD83D\uDE01]",
            r"[\uD83D-\uD83E]",
            r"[\uDE00-\uDE01\uD83D]",
            r"[a-\uD83D\uDE00]",
            r"\uD83D\uDE00\uD83D\u0041\u{0}\u{00010FFFF}",
            r"\^\$\\\.\*\+\?\(\)\[\]\{\}\|\/",
            r"\0\cz\x7F\b\B\d\D\s\S\w\W\f\n\r\t\v",
            r"\p{L}\P{Script=Greek}[\p{Lu}\P{Any}-]",
            r"(a)\1",
            r"\2(a)(?:b)(c)",
            r"\10()()()()()()()()()()",
            r"(?<n>a)\k<n>",
            r"\k<é>(?<é>)",
            r"(?<\u0061\u{62}>)\k<ab>",
            r"(?<\uD835\uDC9C𝒜>)\k<𝒜𝒜>",
            "(?<$_a1>)(?<_>)",
            "(?<a>x)|(?<a>y)",
            "(?:(?<a>x)|(?<a>y))|(?<a>z)",
            "(?:(?<a>x)|y)(?:z|(?<b>w))",
            "(?i:a)(?im-s:b)(?-i:c)(?s-:d)",
            "é\u{1F600}\n\"",
        ] {
            assert!(is_pattern(pattern), "{pattern}");
        }
    }

    #[test]
    fn others() {
        for text in [
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "*",
            "a**",
            "a+?+",
            "a{1}{2}",
            "^*",
            "\\b+",
            "(?=a)*",
            "(?<!a)?",
            "a{",
            "a{,3}",
            "a{2,1}",
            "a{10,9}",
            "a{010,9}",
            "a{x}",
            "[b-a]",
            "[a-",
            "[\\d-a]",
            "[a-\\d]",
            "[\\p{L}-z]",
            "\\",
            "\\a",
            "\\Z",
            "\\_",
            "\\-",
            "\\c",
            "\\c1",
            "\\00",
            "\\01",
            "[\\1]",
            "[\\00]",
            "[\\B]",
            "[\\k]",
            "\\x0",
            "\\u123",
            "\\u{}",
            "\\u{110000}",
            "\\u{g}",
            "[\\u{62}-a]",
            "[\\u{1F601}-\\uD83D\\uDE00]",
            "[\\uD83D\\uDE00-\\uD83D]",
            "\\p",
            "\\p{",
            "\\p{l}",
            "\\p{Greek}",
            "\\p{IsGreek}",
            "\\1",
            "(a)\\2",
            "\\k",
            "\\k<a>",
            "(?<a>)\\k<b>",
            "(?<>)",
            "(?<1>)",
            "(?<a",
            "(?<a>)(?<a>)",
            "(?<a>(?<a>))",
            "(?:(?<a>)|b)(?<a>)",
            "(?<a>)(?:b|(?<a>))",
            "(?<\\u0031>)",
            "(?<\\uD835>)",
            "(?i)a",
            "(?ii:a)",
            "(?i-i:a)",
            "(?-:a)",
            "(?x:a)",
            "(?P<n>a)",
            "(?P=n)",
            "(?#c)",
            "(?>a)",
            "(?",
            "(?:",
            "(?'n'a)",
        ] {
            assert!(!is_pattern(text), "{text}");
        }
    }

    /// Texts drawn at random, by characters that mean something: from each of their states the
    /// rest makes a pattern, which is one to the reader of patterns, too.
    #[test]
    fn every_state_leads_to_a_pattern() {
        let pieces = [
            "a", "b", "é", "1", "0", "2", "(", "(?", "(?:", "(?=", "(?<", "(?<a", ">", ")", "[",
            "[^", "]", "-", "\\", "\\u", "\\u{", "D83D", "DE00", "00", "}", "\\x", "\\c", "\\p{",
            "L", "Script=", "\\k<", "|", "*", "?", "{", ",", "\\1", "\\3", "d", "k", "<", "=", "i",
            ":", "^", "\\uD83D",
        ];
        // Linear congruential: Knuth, The Art of Computer Programming 2, section 3.3.4.
        let mut seed = 1_u64;
        let mut draw = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let (mut patterns, mut modes) = (0, std::collections::HashSet::new());
        for _ in 0..3_000 {
            let (mut text, mut state) = (String::new(), State::start());
            // How long the rest can become, from places behind which no backslash stands.
            let mut bounds: Vec<(usize, Slack)> = Vec::new();
            for _ in 0..draw(25) {
                let piece = pieces[draw(pieces.len())];
                if let Some(next) = piece.chars().try_fold(state.clone(), State::after) {
                    text.push_str(piece);
                    state = next;
                    modes.insert(std::mem::discriminant(&state.mode));
                    assert_eq!(State::decode(&state.write()), state);
                    if piece.contains('\\') {
                        bounds.clear();
                    }
                    let rest = state.clone().rest();
                    let bytes = rest.len() + rest.matches('\\').count();
                    for (from, slack) in &bounds {
                        let most = slack.base + slack.by_byte * (text.len() - from);
                        assert!(bytes <= most, "{text:?} {rest:?} {slack:?}");
                    }
                    bounds.extend(Syntax.slack(&state.write()).map(|slack| (text.len(), slack)));
                }
            }
            let rest = state.clone().rest();
            let end = rest.chars().try_fold(state.clone(), State::after);
            assert!(end.is_some_and(|end| end.accepts()), "{text:?} {state:?} {rest:?}");
            text.push_str(&rest);
            let reader = check(&text, Dialect::Ecma);
            // References are of no regular meaning, and surrogates alone of none.
            if let Err(error) = reader {
                let message = error.message();
                assert!(message.contains("backreference"), "{text:?}: {message}");
            }
            patterns += usize::from(text.len() > 10);
        }
        assert!(patterns > 1_000 && modes.len() > 15, "{patterns} {}", modes.len());
    }

    #[test]
    fn ranges_are_those_of_characters() {
        for text in
            ["", "a", "[a-", "[é-", "[\\u{1F600}-", "(?<", "(?<a", "\\", "a{", "[a\\d-", "\\p{"]
        {
            let state = read(text).unwrap();
            for (first, last) in [
                (0, 0x7F),
                (0x30, 0x39),
                (0x7F, 0x80),
                (0x80, 0xBF),
                (0x2000, 0x206F),
                (0xE000, 0xE0FF),
                (0x1_F5F0, 0x1_F5FF),
                (0x1_F5F0, 0x1_F600),
                (0x10_FF00, 0x10_FFFF),
            ] {
                let any = (first..=last)
                    .filter_map(char::from_u32)
                    .any(|c| state.clone().after(c).is_some());
                assert_eq!(Syntax.reads_any(&state.write(), first, last), any, "{text} {first:x}");
            }
        }
    }
}
