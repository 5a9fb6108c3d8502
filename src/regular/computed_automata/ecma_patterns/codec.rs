//! States as numbers and back, as automata keep them.

use std::slice;

use super::properties::PropertyPrefix;
use super::state::{
    ClassPosition, EscapeTarget, GroupName, OpenEscape, PatternState, SyntaxPosition,
};
use crate::regular::automaton::AutomatonState;

/// Groups whose flags are packed in one number; 62 bits keep it positive.
const FLAGS_PER_NUMBER: usize = 62;

/// Numbers, written one after another.
#[derive(Debug, Default)]
struct StateWriter(Vec<i64>);

impl StateWriter {
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

    fn then(&mut self, then: &EscapeTarget) -> &mut Self {
        match then {
            EscapeTarget::Term => self.number(0),
            EscapeTarget::ClassMember => self.number(1),
            EscapeTarget::RangeEnd(least) => self.number(2).number(*least),
            EscapeTarget::GroupName { declares, read } => {
                self.number(3).number(*declares).list(read)
            }
        }
    }

    fn tail(&mut self, tail: OpenEscape) -> &mut Self {
        match tail {
            OpenEscape::Nothing => self.number(0),
            OpenEscape::Zero => self.number(1),
            OpenEscape::High { unit, ends } => self.number(2).number(unit).number(ends),
        }
    }
}

/// The same numbers, read back; 0 where there are none.
struct StateReader<'s>(slice::Iter<'s, i64>);

impl StateReader<'_> {
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

    fn then(&mut self) -> EscapeTarget {
        match self.number() {
            0 => EscapeTarget::Term,
            1 => EscapeTarget::ClassMember,
            2 => EscapeTarget::RangeEnd(self.number()),
            _ => EscapeTarget::GroupName { declares: self.flag(), read: self.list(|c| c) },
        }
    }

    fn tail(&mut self) -> OpenEscape {
        match self.number() {
            0 => OpenEscape::Nothing,
            1 => OpenEscape::Zero,
            _ => OpenEscape::High { unit: self.number(), ends: self.flag() },
        }
    }
}

impl PatternState {
    pub(crate) fn write(&self) -> AutomatonState {
        let mut to = StateWriter(Vec::with_capacity(12));
        to.number(self.captures).number(self.referred).number(self.open.len() as u32);
        for some in self.open.chunks(FLAGS_PER_NUMBER) {
            to.number(some.iter().fold(0, |bits, &repeats| bits << 1 | i64::from(repeats)));
        }
        to.number(self.names.len() as u32);
        for GroupName { depth, here, text } in &self.names {
            to.number(*depth).number(*here).list(text);
        }
        to.number(self.wanted.len() as u32);
        for text in &self.wanted {
            to.list(text);
        }
        match &self.mode {
            &SyntaxPosition::Term { repeats } => to.number(0).number(repeats),
            SyntaxPosition::Repeated => to.number(1),
            SyntaxPosition::Zero => to.number(2),
            &SyntaxPosition::Number(number) => to.number(3).number(number),
            SyntaxPosition::Least { digits, any } => to.number(4).list(digits).number(*any),
            SyntaxPosition::Most { least, read, order, any } => {
                to.number(5).list(least).number(*read as u32).number(*order as i8).number(*any)
            }
            SyntaxPosition::Group => to.number(6),
            SyntaxPosition::Mark => to.number(7),
            SyntaxPosition::Behind => to.number(8),
            &SyntaxPosition::Flags { on, off, minus } => {
                to.number(9).number(on).number(off).number(minus)
            }
            SyntaxPosition::NameMark => to.number(10),
            SyntaxPosition::GroupName { declares, read } => {
                to.number(11).number(*declares).list(read)
            }
            &SyntaxPosition::Class { first, at, tail } => {
                let (kind, value) = match at {
                    ClassPosition::Fresh => (0, None),
                    ClassPosition::After(value) => (1, value),
                    ClassPosition::Hyphen(value) => (2, value),
                };
                let value = value.map_or(-1, i64::from);
                to.number(12).number(first).number(kind).number(value).tail(tail)
            }
            SyntaxPosition::Escape { then, tail, forced } => {
                to.number(13).then(then).tail(*tail).number(*forced)
            }
            SyntaxPosition::Control(then) => to.number(14).then(then),
            SyntaxPosition::Hex(then, count, value) => {
                to.number(15).then(then).number(*count).number(*value)
            }
            SyntaxPosition::Unicode { then, tail, forced, count, value } => {
                to.number(16).then(then).tail(*tail);
                to.number(*forced).number(*count).number(*value)
            }
            SyntaxPosition::Braced { then, any, value } => {
                to.number(17).then(then).number(*any).number(*value)
            }
            SyntaxPosition::PropertyMark(then) => to.number(18).then(then),
            SyntaxPosition::Property(then, begun) => {
                to.number(19).then(then).number(begun.first as u32).number(begun.length as u32)
            }
            SyntaxPosition::Pair { then, high } => to.number(20).then(then).number(*high),
        };
        to.0.into()
    }

    pub(crate) fn decode(state: &[i64]) -> Self {
        let mut from = StateReader(state.iter());
        let (captures, referred, groups) = (from.number(), from.number(), from.number() as usize);
        let mut open = Vec::with_capacity(groups);
        while open.len() < groups {
            let bits = from.wide();
            let some = (groups - open.len()).min(FLAGS_PER_NUMBER);
            open.extend((0..some).rev().map(|bit| bits >> bit & 1 == 1));
        }
        let names = (0..from.number())
            .map(|_| GroupName { depth: from.number(), here: from.flag(), text: from.list(|c| c) })
            .collect();
        let wanted = (0..from.number()).map(|_| from.list(|c| c)).collect();
        let mode = match from.number() {
            0 => SyntaxPosition::Term { repeats: from.flag() },
            1 => SyntaxPosition::Repeated,
            2 => SyntaxPosition::Zero,
            3 => SyntaxPosition::Number(from.number()),
            4 => SyntaxPosition::Least { digits: from.list(|n| n as u8), any: from.flag() },
            5 => SyntaxPosition::Most {
                least: from.list(|n| n as u8),
                read: from.number() as usize,
                order: from.wide().cmp(&0),
                any: from.flag(),
            },
            6 => SyntaxPosition::Group,
            7 => SyntaxPosition::Mark,
            8 => SyntaxPosition::Behind,
            9 => SyntaxPosition::Flags {
                on: from.number() as u8,
                off: from.number() as u8,
                minus: from.flag(),
            },
            10 => SyntaxPosition::NameMark,
            11 => SyntaxPosition::GroupName { declares: from.flag(), read: from.list(|c| c) },
            12 => {
                let (first, kind, value) = (from.flag(), from.number(), from.wide());
                let value = u32::try_from(value).ok();
                let at = match kind {
                    0 => ClassPosition::Fresh,
                    1 => ClassPosition::After(value),
                    _ => ClassPosition::Hyphen(value),
                };
                SyntaxPosition::Class { first, at, tail: from.tail() }
            }
            13 => {
                SyntaxPosition::Escape { then: from.then(), tail: from.tail(), forced: from.flag() }
            }
            14 => SyntaxPosition::Control(from.then()),
            15 => SyntaxPosition::Hex(from.then(), from.number(), from.number()),
            16 => SyntaxPosition::Unicode {
                then: from.then(),
                tail: from.tail(),
                forced: from.flag(),
                count: from.number(),
                value: from.number(),
            },
            17 => {
                SyntaxPosition::Braced { then: from.then(), any: from.flag(), value: from.number() }
            }
            18 => SyntaxPosition::PropertyMark(from.then()),
            19 => {
                let then = from.then();
                let (first, length) = (from.number() as usize, from.number() as usize);
                SyntaxPosition::Property(then, PropertyPrefix { first, length })
            }
            _ => SyntaxPosition::Pair { then: from.then(), high: from.number() },
        };
        Self { captures, referred, open, names, wanted, mode }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;

    #[test]
    fn states_read_back_as_they_were_written() {
        let name = EscapeTarget::GroupName { declares: true, read: vec![97, 0x1_F600] };
        let high = OpenEscape::High { unit: 0xD83D, ends: true };
        let (then, tail) = (EscapeTarget::RangeEnd(7), high);
        for mode in [
            SyntaxPosition::Term { repeats: true },
            SyntaxPosition::Repeated,
            SyntaxPosition::Zero,
            SyntaxPosition::Number(12),
            SyntaxPosition::Least { digits: vec![1, 2], any: true },
            SyntaxPosition::Most { least: vec![9], read: 1, order: Ordering::Less, any: true },
            SyntaxPosition::Most { least: vec![9], read: 2, order: Ordering::Greater, any: true },
            SyntaxPosition::Group,
            SyntaxPosition::Mark,
            SyntaxPosition::Behind,
            SyntaxPosition::Flags { on: 5, off: 2, minus: true },
            SyntaxPosition::NameMark,
            SyntaxPosition::GroupName { declares: false, read: vec![] },
            SyntaxPosition::Class { first: true, at: ClassPosition::Fresh, tail: OpenEscape::Zero },
            SyntaxPosition::Class { first: false, at: ClassPosition::After(Some(0)), tail },
            SyntaxPosition::Class {
                first: false,
                at: ClassPosition::Hyphen(None),
                tail: OpenEscape::Nothing,
            },
            SyntaxPosition::Escape { then: EscapeTarget::Term, tail, forced: true },
            SyntaxPosition::Control(EscapeTarget::ClassMember),
            SyntaxPosition::Hex(then.clone(), 1, 15),
            SyntaxPosition::Unicode {
                then: name.clone(),
                tail,
                forced: false,
                count: 3,
                value: 0xFFF,
            },
            SyntaxPosition::Braced { then: then.clone(), any: true, value: 0x10_FFFF },
            SyntaxPosition::PropertyMark(EscapeTarget::Term),
            SyntaxPosition::Property(
                EscapeTarget::ClassMember,
                PropertyPrefix { first: 3, length: 2 },
            ),
            SyntaxPosition::Pair { then: name, high: 0xD800 },
        ] {
            let open = (0..130).map(|n| n % 3 == 0).collect();
            let text = vec![98, 99];
            let names = vec![GroupName { depth: 2, here: true, text: text.clone() }];
            let wanted = vec![text];
            let state = PatternState { captures: 3, referred: 4, open, names, wanted, mode };
            assert_eq!(PatternState::decode(&state.write()), state);
        }
    }
}
