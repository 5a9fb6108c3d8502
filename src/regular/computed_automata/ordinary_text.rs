//! Texts of ordinary characters, where an automaton that computes its states reads a language.

use crate::error::Result;
use crate::regular::automaton::RunningAutomaton;
use crate::regular::computed_parts::leading_automaton;
use crate::regular::{ByteSet, CodePoints as _, Language, Languages, Utf8};

/// Characters that hardly change the state of an automaton; see
/// [`OrdinaryChars`](crate::regular::automaton::OrdinaryChars).
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrdinaryText {
    /// Those of ASCII.
    pub(crate) bytes: ByteSet,
    /// Those of ASCII that must not come first.
    pub(crate) later: ByteSet,
    /// Texts of ordinary characters, where these are not all characters beyond ASCII.
    pub(crate) text: Option<Language>,
    /// The state to which a text of two or more leads from where its last character alone would
    /// lead.
    pub(crate) base: Option<Language>,
}

/// The ordinary characters of a language that an automaton reads up to a byte that is none of them.
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
