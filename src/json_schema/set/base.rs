//! What all schemas begin with, made once in a process.

use std::sync::{Once, OnceLock};

use super::super::decimal::Decimal;
use super::super::layout::{Indentation, Layout};
use super::super::number::Side;
use super::super::punctuation::flexible;
use super::*;
use crate::regular::Tables;

/// Depths whose punctuation is made in advance for indented texts: most are no deeper.
const COMMON_DEPTH: u32 = 4;

/// What all schemas begin with: the languages of texts and of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    pub(crate) languages: Languages,
    pub(crate) numbers: Numbers,
    pub(crate) strings: Strings,
    /// What the commonest sets of numbers are written as, by the default bound on digits.
    pub(crate) spelled: FxHashMap<NumberSet, Language>,
    /// The punctuation of the layouts that texts visit first; gaps are flexible.
    pub(crate) punctuation: Rc<FxHashMap<Layout, Punctuation>>,
    pub(crate) flexible_gap: Language,
}

impl Base {
    pub(crate) fn new(spelling: Spelling) -> Self {
        let mut base = Self::within(Languages::new(), spelling);
        base.languages.freeze();
        base
    }

    /// The same in an arena that other schemas use.
    pub(crate) fn within(mut languages: Languages, spelling: Spelling) -> Self {
        let mut numbers = Numbers::new(&mut languages, spelling);
        let strings = Strings::new(&mut languages, spelling);
        let mut spelled = FxHashMap::default();
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
                    let above = numbers.bound(&mut languages, &least, Side::Above, inclusive);
                    common.push((numbers.and(&mut languages, kind, above), whole));
                }
            }
        }
        for (set, _) in common {
            // What cannot be made here is made where it is needed, and says why it cannot.
            if let Ok(number) = numbers.written_as(&mut languages, set, DIGITS) {
                spelled.insert(set, number);
            }
        }
        let flexible_gap = flexible(&mut languages);
        let nested = (0..COMMON_DEPTH)
            .flat_map(|depth| Indentation::ALL.map(|unit| Layout::Indented(unit, depth)));
        let one_line = [Layout::Undecided, Layout::OneLine, Layout::Plain, Layout::Compact];
        let punctuation = one_line
            .into_iter()
            .chain(nested)
            .chain([Layout::Gaps])
            .map(|layout| (layout, Punctuation::new(&mut languages, layout, flexible_gap)));
        let punctuation = Rc::new(punctuation.collect());
        Self { languages, numbers, strings, spelled, punctuation, flexible_gap }
    }
}

/// What all schemas of this process begin with, by spelling.
static BASES: [OnceLock<Base>; 2] = [const { OnceLock::new() }; 2];

/// What schemas share: automata.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) tables: Arc<Tables>,
}

impl Shared {
    pub(crate) fn base(&self, spelling: Spelling) -> Base {
        let base = match spelling {
            Spelling::Canonical => &BASES[0],
            Spelling::Any => &BASES[1],
        };
        base.get_or_init(|| Base::new(spelling)).clone()
    }

    /// Makes what most schemas need and no schema changes, once in a process.
    pub(crate) fn prepare(&self) {
        static PREPARED: Once = Once::new();
        PREPARED.call_once(|| {
            let options = Options::default();
            let document = Document::from_value(&serde_json::Value::Bool(true));
            let base = self.base(options.spelling);
            // Only time is lost if it fails.
            if let Ok(document) = document {
                let mut sets = Sets::from_base(&document, &options, base);
                for name in ["date-time", "email", "hostname"] {
                    let _ = sets.format(name, true);
                }
            }
        });
    }
}
