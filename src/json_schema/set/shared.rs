//! State shared by the schemas of a process or of a compiler.

use std::sync::{Arc, Once, OnceLock};

use crate::json_schema::document::Document;
use crate::json_schema::options::{Options, Spelling};
use crate::json_schema::set::{BaseLanguages, Sets};
use crate::regular::SharedResults;
use crate::vocabulary::{SpecialTokenNames, Vocabulary};

/// By spelling, the languages that all schemas of the process begin with.
static BASES: [OnceLock<BaseLanguages>; 3] = [const { OnceLock::new() }; 3];

/// The tables that the schemas of a compiler share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Automata.
    pub(crate) tables: Arc<SharedResults>,
    /// The special tokens of the vocabulary, which signs of styles may name.
    pub(crate) tokens: Arc<SpecialTokenNames>,
}

impl Shared {
    pub(crate) fn of(vocabulary: &Vocabulary) -> Self {
        Self { tables: Arc::default(), tokens: Arc::new(SpecialTokenNames::new(vocabulary)) }
    }

    pub(crate) fn base(&self, spelling: Spelling) -> BaseLanguages {
        let base = match spelling {
            Spelling::Canonical => &BASES[0],
            Spelling::Any => &BASES[1],
            Spelling::Escapes => &BASES[2],
        };
        base.get_or_init(|| BaseLanguages::new(spelling)).clone()
    }

    /// Makes the base and the longest formats, once in a process.
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
