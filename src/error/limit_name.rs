//! Names of the limits that errors report.

use std::fmt;

/// Name of a limit that an error reports and a user can raise. Displayed as the field is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LimitName {
    /// [`Limits::grammar_size`](crate::Limits::grammar_size).
    GrammarSize,
    /// [`Limits::language_states`](crate::Limits::language_states).
    LanguageStates,
    /// [`Limits::states_per_step`](crate::Limits::states_per_step).
    StatesPerStep,
    /// [`Limits::depth`](crate::Limits::depth).
    Depth,
    /// [`Limits::time_per_constraint`](crate::Limits::time_per_constraint).
    TimePerConstraint,
    /// [`Limits::time_per_mask`](crate::Limits::time_per_mask).
    TimePerMask,
    /// [`Limits::cache_bytes`](crate::Limits::cache_bytes).
    CacheBytes,
    /// [`json_schema::Options::work`](crate::json_schema::Options::work).
    Work,
    /// [`json_schema::Options::alternatives`](crate::json_schema::Options::alternatives).
    Alternatives,
    /// The tokens that a text may still take: the budget given to a matcher, or `max_tokens` of a
    /// [`Request`](crate::Request).
    MaxTokens,
}

impl LimitName {
    /// The name of the field that holds the limit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GrammarSize => "grammar_size",
            Self::LanguageStates => "language_states",
            Self::StatesPerStep => "states_per_step",
            Self::Depth => "depth",
            Self::TimePerConstraint => "time_per_constraint",
            Self::TimePerMask => "time_per_mask",
            Self::CacheBytes => "cache_bytes",
            Self::Work => "work",
            Self::Alternatives => "alternatives",
            Self::MaxTokens => "max_tokens",
        }
    }
}

impl fmt::Display for LimitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
