//! Everything that compiling a constraint depends on, shared by a compiler and its constraints: a
//! constraint compiles itself again whenever its matchers need a fresh memory.

use std::sync::Arc;

use super::named_grammars::NamedGrammars;
use crate::grammar::Grammar;
use crate::json_schema::{self, Options};
use crate::limits::Limits;
use crate::mask::split_cache::SplitCache;
use crate::mask::{Strategies, Strategy};
use crate::recognizer::ByteCoverage;
use crate::regular::Dialect;
use crate::vocabulary::Vocabulary;

/// The settings of a compiler and the tables that its constraints share.
#[derive(Clone, Debug)]
pub(super) struct CompileContext {
    pub(super) vocabulary: Arc<Vocabulary>,
    pub(super) coverage: ByteCoverage,
    pub(super) limits: Limits,
    pub(super) json_options: Options,
    /// The grammars that grammars may refer to.
    pub(super) named_grammars: NamedGrammars,
    /// The dialect of regular expressions, where it was chosen.
    pub(super) regex_dialect: Option<Dialect>,
    /// Splits of the vocabulary by states of terminals.
    pub(super) splits: Arc<SplitCache>,
    /// The tables that compiled schemas share.
    pub(super) schemas: Arc<json_schema::Shared>,
    /// A grammar whose text stands before every text.
    pub(super) prefix: Option<Arc<Grammar>>,
    /// Whether `max_tokens` of rules bounds anything.
    pub(super) has_token_budgets: bool,
}

impl CompileContext {
    /// Default settings for a vocabulary, with the tables that nearly every constraint needs.
    pub(super) fn new(vocabulary: Arc<Vocabulary>) -> Self {
        let limits = Limits::default();
        let splits = Arc::new(SplitCache::new(&limits, Strategies::ALL));
        let coverage = ByteCoverage::new(&vocabulary);
        splits.prepare(&vocabulary);
        let schemas = Arc::new(json_schema::Shared::of(&vocabulary));
        schemas.prepare();
        let json_options = Options::default();
        Self {
            vocabulary,
            coverage,
            limits,
            json_options,
            named_grammars: NamedGrammars::default(),
            regex_dialect: None,
            splits,
            schemas,
            prefix: None,
            has_token_budgets: true,
        }
    }

    /// Whether items that must differ may be looked up where they end, instead of being excluded from a
    /// language. Needs a vocabulary that can spell every text.
    pub(super) fn looks_up_items(&self) -> bool {
        self.coverage.has_every_byte() && self.splits.strategies().has(Strategy::ItemLookup)
    }
}
