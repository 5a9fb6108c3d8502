//! Exclusion of the items that an array holds already, where its items must differ.
//!
//! The written items are a persistent set of canonical texts
//! ([`TextSets`](crate::regular::TextSets)): adding an item costs its own length, and whether an item
//! was written before is a look-up. A later item must not end as
//! one of them; whether its *beginning* can still become another item is a matter of counting. An
//! item after whose text a great many others can still come (`"ab"`, where any string will do)
//! leaves every beginning of it alive, so nothing is taken out of the language of items, and only
//! where such an item ends is it looked up ([`ExcludedItems::refused_texts`]). All others (`"red"` of an
//! `enum`, the last of 20 digits) are taken out of the language, which then knows by itself which
//! beginnings lead nowhere.
//!
//! *Invariant:* a beginning of an item that is looked up has more continuations than an array can
//! have items.

use rustc_hash::FxHashMap;

use crate::deadline;
use crate::error::Result;
use crate::json_schema::number::decimal::Decimal;
use crate::json_schema::number::{NumberSet, Numbers};
use crate::json_schema::options::Spelling;
use crate::json_schema::set::written_items::ExcludedItems;
use crate::json_schema::set::{Set, Sets};
use crate::regular::{Language, Languages, TextSet};

/// More texts than an array has items.
const MORE_THAN_ITEMS: u64 = 1 << 32;

/// States and bytes that are looked at to count the texts of a language; what takes more is taken
/// to have few.
const COUNTED_STATES: usize = 1_000;
const COUNTED_BYTES: usize = 64;

impl Sets<'_> {
    /// The items of a set that written items exclude.
    pub(crate) fn excluded_items(&mut self, set: Set, written: TextSet) -> Result<ExcludedItems> {
        let (mut excluded, mut new, mut at) = (ExcludedItems::NOTHING, Vec::new(), written);
        while let Some((before, item)) = self.written.added.get(&at) {
            if let Some(&known) = self.written.excluded.get(&(set, at)) {
                excluded = known;
                break;
            }
            new.push((at, item.clone()));
            at = *before;
        }
        for (at, item) in new.into_iter().rev() {
            self.exclude(set, &item, &mut excluded)?;
            self.written.excluded.insert((set, at), excluded);
        }
        Ok(excluded)
    }

    fn exclude(&mut self, set: Set, item: &str, excluded: &mut ExcludedItems) -> Result<()> {
        let shape = self.shape(set)?;
        match item.as_bytes().first() {
            // A string that can be spelled in many ways is compared by all of them.
            Some(b'"') if self.options.spelling == Spelling::Canonical => {
                let Ok(text) = serde_json::from_str::<String>(item) else { return Ok(()) };
                let spelled = self.strings.spell(&text);
                let Some(rest) = after(&mut self.languages, shape.strings, &spelled)? else {
                    return Ok(());
                };
                if self.is_inexhaustible(rest)? {
                    let whole = [b"\"", &spelled[..], b"\""].concat();
                    excluded.refused_texts =
                        self.written.texts.with(excluded.refused_texts, &whole);
                } else {
                    excluded.strings = self.written.texts.with(excluded.strings, &spelled);
                }
            }
            Some(b'-' | b'0'..=b'9') => {
                let Some(number) = Decimal::parse(item) else { return Ok(()) };
                if self.are_spelled_once(set, shape.numbers)? {
                    let literal = number.to_fixed();
                    let all = self.number_text(shape.numbers)?;
                    let rest = after(&mut self.languages, all, literal.as_bytes())?;
                    let Some(rest) = rest else { return Ok(()) };
                    if self.is_inexhaustible(rest)? {
                        let texts = &self.written.texts;
                        excluded.refused_texts =
                            texts.with(excluded.refused_texts, literal.as_bytes());
                        return Ok(());
                    }
                }
                for literal in Numbers::literals(&number) {
                    let texts = &self.written.texts;
                    excluded.numbers = texts.with(excluded.numbers, literal.as_bytes());
                }
                let all = excluded.formula;
                excluded.formula = self.numbers.formula(|formulas| {
                    let one = formulas.value(&number);
                    formulas.or(all, one)
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// The numbers among the excluded items.
    pub(crate) fn excluded_numbers(&mut self, excluded: ExcludedItems) -> NumberSet {
        let listed = self.written.texts.language(&mut self.languages, excluded.numbers);
        NumberSet { listed, may_have_point: true, formula: excluded.formula, ..NumberSet::NONE }
    }

    /// Whether each number of a set is spelled in one way: all are integers.
    fn are_spelled_once(&mut self, set: Set, numbers: NumberSet) -> Result<bool> {
        if let Some(&known) = self.written.spelled_once.get(&set) {
            return Ok(known);
        }
        let all = self.number_text(numbers)?;
        let others = self.numbers.spelled_otherwise(&mut self.languages, all);
        let once = !self.languages.is_live(others)?;
        self.written.spelled_once.insert(set, once);
        Ok(once)
    }

    /// Whether a language has surely more texts than an array has items.
    fn is_inexhaustible(&mut self, rest: Language) -> Result<bool> {
        if !self.written.every_byte {
            return Ok(false);
        }
        if let Some(&known) = self.written.inexhaustible.get(&rest) {
            return Ok(known);
        }
        let many = has_many_texts(&mut self.languages, rest)?;
        self.written.inexhaustible.insert(rest, many);
        Ok(many)
    }
}

/// The rest of a language after one of its texts.
fn after(l: &mut Languages, mut language: Language, text: &[u8]) -> Result<Option<Language>> {
    for &byte in text {
        language = l.step(language, byte)?;
        if language == Language::EMPTY {
            return Ok(None);
        }
    }
    Ok(l.is_nullable(language).then_some(language))
}

/// Whether it is found soon that a language has more texts than an array has items: byte by byte,
/// how many beginnings lead to each state.
fn has_many_texts(l: &mut Languages, language: Language) -> Result<bool> {
    let mut ends: u64 = 0;
    let mut beginnings: FxHashMap<Language, u64> = FxHashMap::from_iter([(language, 1)]);
    for _ in 0..COUNTED_BYTES {
        if beginnings.len() > COUNTED_STATES {
            return Ok(false);
        }
        let mut longer: FxHashMap<Language, u64> = FxHashMap::default();
        for (&state, &times) in &beginnings {
            deadline::check()?;
            if l.is_nullable(state) {
                ends = ends.saturating_add(times);
            }
            for &next in l.row(state)? {
                if next != Language::EMPTY {
                    let known = longer.entry(next).or_default();
                    *known = known.saturating_add(times);
                }
            }
        }
        // Every beginning can be completed, each to a text of its own.
        let open = longer.values().fold(ends, |sum, &times| sum.saturating_add(times));
        if open >= MORE_THAN_ITEMS {
            return Ok(true);
        }
        beginnings = longer;
    }
    Ok(false)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;

    #[test]
    fn languages_of_many_texts() {
        let mut l = Languages::new();
        let digit = l.byte_range(b'0', b'9');
        for (min, max, many) in
            [(0, None, true), (0, Some(9), false), (0, Some(10), true), (10, Some(10), true)]
        {
            let digits = l.repeat(digit, min, max);
            assert_eq!(has_many_texts(&mut l, digits).unwrap(), many, "{min} {max:?}");
        }
        let a = l.literal(b"a");
        let few = l.repeat(a, 0, None);
        assert!(!has_many_texts(&mut l, few).unwrap());
    }
}
