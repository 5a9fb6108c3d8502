//! Texts of ordinary characters, where an automaton that computes its states reads a language.

use crate::error::Result;
use crate::regular::automaton::RunningAutomaton;
use crate::regular::computed_parts::leading_automaton;
use crate::regular::{ByteSet, CodePoints as _, Language, Languages, Utf8};

/// Characters that say little; see [`Ordinary`](automaton::OrdinaryChars).
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrdinaryText {
    pub(crate) bytes: ByteSet,
    pub(crate) later: ByteSet,
    /// Texts of them, where these are not all with whole characters beyond ASCII.
    pub(crate) text: Option<Language>,
    pub(crate) base: Option<Language>,
}

/// The characters that are [ordinary](automaton::OrdinaryChars) for a language that is read by an
/// automaton up to a byte that is none of them.
pub(crate) fn ordinary_text(
    languages: &mut Languages,
    x: Language,
) -> Result<Option<OrdinaryText>> {
    let Some((RunningAutomaton { automaton, state }, rest)) = leading_automaton(languages, x)
    else {
        return Ok(None);
    };
    let Some(ordinary) = automaton.ordinary(&state) else { return Ok(None) };
    let ends = languages.first_bytes(rest)?;
    if ends.iter().any(|end| end >= 0x80 || ordinary.bytes.contains(end)) {
        return Ok(None);
    }
    let base = ordinary.base.map(|base| {
        let base = languages.automaton(automaton, base);
        languages.concat2(base, rest)
    });
    let text = ordinary.beyond.map(|[first, later]| {
        let [first, later] = [first, later].map(|class| {
            let ranges = class.ranges().iter();
            let ranges: Vec<(u32, u32)> =
                ranges.map(|range| (range.start().into(), range.end().into())).collect();
            Utf8.class(languages, &ranges)
        });
        let later = languages.repeat(later, 0, None);
        languages.concat2(first, later)
    });
    Ok(Some(OrdinaryText { bytes: ordinary.bytes, later: ordinary.later, text, base }))
}
