//! The languages that all schemas of a spelling begin with, made once in a process: characters,
//! common sets of numbers, punctuation.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::json_schema::layout::{Indentation, Layout};
use crate::json_schema::number::{BoundSide, Decimal, Numbers};
use crate::json_schema::options::{DIGITS, Spelling};
use crate::json_schema::punctuation::{Punctuation, Separators, flexible};
use crate::json_schema::string::StringSets;
use crate::regular::{Language, Languages};

/// Depths whose punctuation is made in advance for indented texts: most are no deeper.
const COMMON_DEPTH: u32 = 4;

/// Languages of texts, numbers and punctuation, to be copied by each schema.
#[derive(Clone, Debug)]
pub(crate) struct BaseLanguages {
    pub(crate) languages: Languages,
    pub(crate) numbers: Numbers,
    pub(crate) strings: StringSets,
    /// The punctuation of the layouts that texts visit first; gaps are flexible.
    pub(crate) punctuation: Arc<FxHashMap<Layout, Punctuation>>,
    pub(crate) flexible_gap: Language,
}

impl BaseLanguages {
    pub(crate) fn new(spelling: Spelling) -> Self {
        let mut base = Self::within(Languages::new(), spelling);
        base.languages.freeze();
        base
    }

    /// The same in an arena that other schemas use.
    pub(crate) fn within(mut languages: Languages, spelling: Spelling) -> Self {
        let mut numbers = Numbers::new(&mut languages, spelling);
        let strings = StringSets::new(&mut languages, spelling);
        // Most bounds of real schemas are these.
        let mut common = vec![(numbers.all(), false)];
        common
            .extend([false, true].map(|pointed| (numbers.integers(&mut languages, pointed), true)));
        let decimal = |text| Decimal::parse(text).into_iter();
        for (kind, whole) in common.clone() {
            let above = [("0", true), ("0", false), ("1", true)];
            for (least, inclusive) in
                above.into_iter().filter(|&(_, inclusive)| inclusive || !whole)
            {
                for least in decimal(least) {
                    let above = numbers.bound(&mut languages, &least, BoundSide::Above, inclusive);
                    common.push((numbers.and(&mut languages, kind, above), whole));
                }
            }
        }
        for (set, _) in common {
            // What cannot be made here is made where it is needed, and says why it cannot.
            let _ = numbers.literal_language(&mut languages, set, DIGITS);
        }
        let flexible_gap = flexible(&mut languages);
        let separators = Separators::with_gap(&mut languages, flexible_gap);
        let nested = (0..COMMON_DEPTH)
            .flat_map(|depth| Indentation::ALL.map(|unit| Layout::Indented(unit, depth)));
        let one_line = [Layout::Undecided, Layout::OneLine, Layout::Plain, Layout::Compact];
        let punctuation = one_line
            .into_iter()
            .chain(nested)
            .chain([Layout::Gaps])
            .map(|layout| (layout, Punctuation::new(&mut languages, layout, &separators)));
        let punctuation = Arc::new(punctuation.collect());
        Self { languages, numbers, strings, punctuation, flexible_gap }
    }
}
