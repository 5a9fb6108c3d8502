//! Where in a pattern's text, and what of the text before still matters.

use std::cmp::Ordering;

use super::properties::Begun;
use crate::regular::automaton;

/// What is known of a text that may become a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Groups that were opened, by what they can be referred to, as far as that matters.
    pub(crate) captures: u32,
    /// The greatest number that is referred to, if there are not as many groups yet; or 0.
    pub(crate) referred: u32,
    /// The groups that are open, outermost first: may each be repeated?
    pub(crate) open: Vec<bool>,
    /// The names of groups, sorted.
    pub(crate) names: Vec<Name>,
    /// Names that are referred to, and not there yet; sorted.
    pub(crate) wanted: Vec<Vec<u32>>,
    pub(crate) mode: Mode,
}

/// The name of a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    /// So many groups are open around it, those that were closed since not counted.
    pub(crate) depth: u32,
    /// Does it stand in the alternative that is being read, and not in one before?
    pub(crate) here: bool,
    pub(crate) text: Vec<u32>,
}

/// A place in the syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Between terms; may the last one be repeated?
    Term {
        repeats: bool,
    },
    /// After a quantifier, which `?` may follow.
    Repeated,
    /// After `\0`, which no digit may follow.
    Zero,
    /// In a reference by number.
    Number(u32),
    /// After `{` and digits, zeros before others left out: were there any?
    Least {
        digits: Vec<u8>,
        any: bool,
    },
    /// After `{n,`: the digits of `n`; how many of the other number, zeros before them left out,
    /// and how these compare with as many of `n`. One digit more than `n` has stands for all.
    Most {
        least: Vec<u8>,
        read: usize,
        order: Ordering,
        any: bool,
    },
    /// After `(`.
    Group,
    /// After `(?`.
    Mark,
    /// After `(?<`.
    Behind,
    /// Within the flags of a group, each a bit.
    Flags {
        on: u8,
        off: u8,
        minus: bool,
    },
    /// After `\k`.
    NameMark,
    /// In a group's name.
    Name {
        declares: bool,
        read: Vec<u32>,
    },
    /// In a class; right after its `[`?
    Class {
        first: bool,
        at: Member,
        tail: Tail,
    },
    /// After a backslash; must it be the low half of a surrogate pair?
    Escape {
        then: Then,
        tail: Tail,
        forced: bool,
    },
    /// After `\c`.
    Control(Then),
    /// After `\x` and so many digits of this value.
    Hex(Then, u32, u32),
    /// After `\u` and so many digits of this value.
    Unicode {
        then: Then,
        tail: Tail,
        forced: bool,
        count: u32,
        value: u32,
    },
    /// After `\u{`: a number, and if it has digits yet.
    Braced {
        then: Then,
        any: bool,
        value: u32,
    },
    /// After `\p` or `\P`.
    PropertyMark(Then),
    Property(Then, Begun),
    /// After the high half of a surrogate pair whose low half must follow.
    Pair {
        then: Then,
        high: u32,
    },
}

/// Where in a class. A member is a code point, or a set, which is no end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Member {
    /// No range begins with what stands before.
    Fresh,
    After(Option<u32>),
    /// After a member and a hyphen.
    Hyphen(Option<u32>),
}

/// What the last escape in a class leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    Nothing,
    /// `\0`, which no digit may follow.
    Zero,
    /// The high half of a surrogate pair, if the low half follows. Does it end a range?
    High {
        unit: u32,
        ends: bool,
    },
}

/// What an escape stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// A term.
    Term,
    /// A member of a class.
    Member,
    /// The end of a range, at least this.
    Last(u32),
    /// A character of a name.
    Name { declares: bool, read: Vec<u32> },
}

/// How many bits of a number say which groups may be repeated.
const BITS: usize = 62;

/// Numbers, written one after another.
#[derive(Debug, Default)]
struct Writer(Vec<i64>);

impl Writer {
    fn number(&mut self, number: impl Into<i64>) -> &mut Self {
        self.0.push(number.into());
        self
    }

    /// A length below 2^32, as texts are.
    fn list<T: Copy + Into<i64>>(&mut self, list: &[T]) -> &mut Self {
        self.0.push(list.len() as i64);
        self.0.extend(list.iter().map(|&n| n.into()));
        self
    }

    fn then(&mut self, then: &Then) -> &mut Self {
        match then {
            Then::Term => self.number(0),
            Then::Member => self.number(1),
            Then::Last(least) => self.number(2).number(*least),
            Then::Name { declares, read } => self.number(3).number(*declares).list(read),
        }
    }

    fn tail(&mut self, tail: Tail) -> &mut Self {
        match tail {
            Tail::Nothing => self.number(0),
            Tail::Zero => self.number(1),
            Tail::High { unit, ends } => self.number(2).number(unit).number(ends),
        }
    }
}

/// The same numbers, read back; 0 where there are none.
struct Reader<'s>(std::slice::Iter<'s, i64>);

impl Reader<'_> {
    /// All numbers were written as 32 bits or fewer, but for bits of groups.
    fn wide(&mut self) -> i64 {
        self.0.next().copied().unwrap_or_default()
    }

    fn number(&mut self) -> u32 {
        self.wide() as u32
    }

    fn flag(&mut self) -> bool {
        self.wide() != 0
    }

    fn list<T>(&mut self, of: impl Fn(u32) -> T) -> Vec<T> {
        (0..self.number()).map(|_| of(self.number())).collect()
    }

    fn then(&mut self) -> Then {
        match self.number() {
            0 => Then::Term,
            1 => Then::Member,
            2 => Then::Last(self.number()),
            _ => Then::Name { declares: self.flag(), read: self.list(|c| c) },
        }
    }

    fn tail(&mut self) -> Tail {
        match self.number() {
            0 => Tail::Nothing,
            1 => Tail::Zero,
            _ => Tail::High { unit: self.number(), ends: self.flag() },
        }
    }
}

impl State {
    pub(crate) fn start() -> Self {
        Self {
            captures: 0,
            referred: 0,
            open: Vec::new(),
            names: Vec::new(),
            wanted: Vec::new(),
            mode: Mode::Term { repeats: false },
        }
    }

    pub(crate) fn write(&self) -> automaton::State {
        let mut to = Writer(Vec::with_capacity(12));
        to.number(self.captures).number(self.referred).number(self.open.len() as u32);
        for some in self.open.chunks(BITS) {
            to.number(some.iter().fold(0, |bits, &repeats| bits << 1 | i64::from(repeats)));
        }
        to.number(self.names.len() as u32);
        for Name { depth, here, text } in &self.names {
            to.number(*depth).number(*here).list(text);
        }
        to.number(self.wanted.len() as u32);
        for text in &self.wanted {
            to.list(text);
        }
        match &self.mode {
            &Mode::Term { repeats } => to.number(0).number(repeats),
            Mode::Repeated => to.number(1),
            Mode::Zero => to.number(2),
            &Mode::Number(number) => to.number(3).number(number),
            Mode::Least { digits, any } => to.number(4).list(digits).number(*any),
            Mode::Most { least, read, order, any } => {
                to.number(5).list(least).number(*read as u32).number(*order as i8).number(*any)
            }
            Mode::Group => to.number(6),
            Mode::Mark => to.number(7),
            Mode::Behind => to.number(8),
            &Mode::Flags { on, off, minus } => to.number(9).number(on).number(off).number(minus),
            Mode::NameMark => to.number(10),
            Mode::Name { declares, read } => to.number(11).number(*declares).list(read),
            &Mode::Class { first, at, tail } => {
                let (kind, value) = match at {
                    Member::Fresh => (0, None),
                    Member::After(value) => (1, value),
                    Member::Hyphen(value) => (2, value),
                };
                let value = value.map_or(-1, i64::from);
                to.number(12).number(first).number(kind).number(value).tail(tail)
            }
            Mode::Escape { then, tail, forced } => {
                to.number(13).then(then).tail(*tail).number(*forced)
            }
            Mode::Control(then) => to.number(14).then(then),
            Mode::Hex(then, count, value) => to.number(15).then(then).number(*count).number(*value),
            Mode::Unicode { then, tail, forced, count, value } => {
                to.number(16).then(then).tail(*tail);
                to.number(*forced).number(*count).number(*value)
            }
            Mode::Braced { then, any, value } => {
                to.number(17).then(then).number(*any).number(*value)
            }
            Mode::PropertyMark(then) => to.number(18).then(then),
            Mode::Property(then, begun) => {
                to.number(19).then(then).number(begun.first as u32).number(begun.length as u32)
            }
            Mode::Pair { then, high } => to.number(20).then(then).number(*high),
        };
        to.0.into()
    }

    pub(crate) fn decode(state: &[i64]) -> Self {
        let mut from = Reader(state.iter());
        let (captures, referred, groups) = (from.number(), from.number(), from.number() as usize);
        let mut open = Vec::with_capacity(groups);
        while open.len() < groups {
            let bits = from.wide();
            let some = (groups - open.len()).min(BITS);
            open.extend((0..some).rev().map(|bit| bits >> bit & 1 == 1));
        }
        let names = (0..from.number())
            .map(|_| Name { depth: from.number(), here: from.flag(), text: from.list(|c| c) })
            .collect();
        let wanted = (0..from.number()).map(|_| from.list(|c| c)).collect();
        let mode = match from.number() {
            0 => Mode::Term { repeats: from.flag() },
            1 => Mode::Repeated,
            2 => Mode::Zero,
            3 => Mode::Number(from.number()),
            4 => Mode::Least { digits: from.list(|n| n as u8), any: from.flag() },
            5 => Mode::Most {
                least: from.list(|n| n as u8),
                read: from.number() as usize,
                order: from.wide().cmp(&0),
                any: from.flag(),
            },
            6 => Mode::Group,
            7 => Mode::Mark,
            8 => Mode::Behind,
            9 => Mode::Flags {
                on: from.number() as u8,
                off: from.number() as u8,
                minus: from.flag(),
            },
            10 => Mode::NameMark,
            11 => Mode::Name { declares: from.flag(), read: from.list(|c| c) },
            12 => {
                let (first, kind, value) = (from.flag(), from.number(), from.wide());
                let value = u32::try_from(value).ok();
                let at = match kind {
                    0 => Member::Fresh,
                    1 => Member::After(value),
                    _ => Member::Hyphen(value),
                };
                Mode::Class { first, at, tail: from.tail() }
            }
            13 => Mode::Escape { then: from.then(), tail: from.tail(), forced: from.flag() },
            14 => Mode::Control(from.then()),
            15 => Mode::Hex(from.then(), from.number(), from.number()),
            16 => Mode::Unicode {
                then: from.then(),
                tail: from.tail(),
                forced: from.flag(),
                count: from.number(),
                value: from.number(),
            },
            17 => Mode::Braced { then: from.then(), any: from.flag(), value: from.number() },
            18 => Mode::PropertyMark(from.then()),
            19 => {
                let then = from.then();
                let (first, length) = (from.number() as usize, from.number() as usize);
                Mode::Property(then, Begun { first, length })
            }
            _ => Mode::Pair { then: from.then(), high: from.number() },
        };
        Self { captures, referred, open, names, wanted, mode }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_read_back_as_they_were_written() {
        let name = Then::Name { declares: true, read: vec![97, 0x1_F600] };
        let high = Tail::High { unit: 0xD83D, ends: true };
        let (then, tail) = (Then::Last(7), high);
        for mode in [
            Mode::Term { repeats: true },
            Mode::Repeated,
            Mode::Zero,
            Mode::Number(12),
            Mode::Least { digits: vec![1, 2], any: true },
            Mode::Most { least: vec![9], read: 1, order: Ordering::Less, any: true },
            Mode::Most { least: vec![9], read: 2, order: Ordering::Greater, any: true },
            Mode::Group,
            Mode::Mark,
            Mode::Behind,
            Mode::Flags { on: 5, off: 2, minus: true },
            Mode::NameMark,
            Mode::Name { declares: false, read: vec![] },
            Mode::Class { first: true, at: Member::Fresh, tail: Tail::Zero },
            Mode::Class { first: false, at: Member::After(Some(0)), tail },
            Mode::Class { first: false, at: Member::Hyphen(None), tail: Tail::Nothing },
            Mode::Escape { then: Then::Term, tail, forced: true },
            Mode::Control(Then::Member),
            Mode::Hex(then.clone(), 1, 15),
            Mode::Unicode { then: name.clone(), tail, forced: false, count: 3, value: 0xFFF },
            Mode::Braced { then: then.clone(), any: true, value: 0x10_FFFF },
            Mode::PropertyMark(Then::Term),
            Mode::Property(Then::Member, Begun { first: 3, length: 2 }),
            Mode::Pair { then: name, high: 0xD800 },
        ] {
            let open = (0..130).map(|n| n % 3 == 0).collect();
            let text = vec![98, 99];
            let names = vec![Name { depth: 2, here: true, text: text.clone() }];
            let wanted = vec![text];
            let state = State { captures: 3, referred: 4, open, names, wanted, mode };
            assert_eq!(State::decode(&state.write()), state);
        }
    }
}
