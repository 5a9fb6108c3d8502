//! Switches for the strategies that leave out work when a mask is made.
//!
//! Each strategy agrees with the definition, a walk over the vocabulary's trie, so masks are the
//! same with any of them off. They can be switched off to measure what each of them earns
//! (`maskwright bench masks --without NAME`) and to test that none of them changes a mask.

/// A strategy that leaves out work when a mask is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Strategy {
    /// Walks the trie of byte shapes where a state treats all bytes of a class alike.
    ByteShapes,
    /// Passes over subtrees whose bytes all leave a state where it is.
    SubtreeSkips,
    /// Reads only tokens with a byte that leaves a state to which most bytes return.
    SelfLoops,
    /// The same for automata in which most characters are ordinary.
    OrdinaryText,
    /// Copies the split of the state to which most bytes lead and reads where the two differ.
    CommonSuccessor,
    /// Copies the split of a state without its far bounds and reads the longest tokens again.
    FarBounds,
    /// Keeps the split of a wide terminal state.
    Splits,
    /// Walks a list of literals for a while before its split is made.
    ListWalks,
    /// Reads repeats of a unit by how many units each token has.
    Repeats,
    /// Reads JSON strings as repeats of characters with a condition.
    JsonTexts,
    /// Finds the tokens that leave a repeat below one node of bytes instead of one of shapes.
    ByteExitNodes,
    /// Makes what nearly every constraint needs in advance.
    Prebuilt,
    /// Drops bounds of repeats that no token can reach.
    Widening,
    /// Counts how often a unit fits into a token, to drop more bounds.
    MaxRepeats,
    /// Leaves out ends of a terminal inside a word where nothing that follows begins like a word.
    WordEnds,
    /// Reads strings with a few exclusions as if without, and checks the tokens that end as one.
    Exclusions,
    /// Merges many places inside tokens into one trie of token suffixes.
    GatheredCursors,
    /// Shares what a terminal allows between constraints.
    SharedTerminalTokens,
    /// Keeps whole masks of configurations that are asked for often.
    HotMasks,
    /// Checks of the tokens with a comma only those in which a second text can depend on a first.
    CommaFilter,
    /// Looks up items that must differ where they end, instead of excluding them from a language.
    ItemLookup,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Self; 21] = [
        Self::ByteShapes,
        Self::SubtreeSkips,
        Self::SelfLoops,
        Self::OrdinaryText,
        Self::CommonSuccessor,
        Self::FarBounds,
        Self::Splits,
        Self::ListWalks,
        Self::Repeats,
        Self::JsonTexts,
        Self::ByteExitNodes,
        Self::Prebuilt,
        Self::Widening,
        Self::MaxRepeats,
        Self::WordEnds,
        Self::Exclusions,
        Self::GatheredCursors,
        Self::SharedTerminalTokens,
        Self::HotMasks,
        Self::CommaFilter,
        Self::ItemLookup,
    ];

    /// The name by which a command line switches it off.
    pub fn name(self) -> &'static str {
        match self {
            Self::ByteShapes => "byte_shapes",
            Self::SubtreeSkips => "subtree_skips",
            Self::SelfLoops => "self_loops",
            Self::OrdinaryText => "ordinary_text",
            Self::CommonSuccessor => "common_successor",
            Self::FarBounds => "far_bounds",
            Self::Splits => "splits",
            Self::ListWalks => "list_walks",
            Self::Repeats => "repeats",
            Self::JsonTexts => "json_texts",
            Self::ByteExitNodes => "byte_exit_nodes",
            Self::Prebuilt => "prebuilt",
            Self::Widening => "widening",
            Self::MaxRepeats => "max_repeats",
            Self::WordEnds => "word_ends",
            Self::Exclusions => "exclusions",
            Self::GatheredCursors => "gathered_cursors",
            Self::SharedTerminalTokens => "shared_terminal_tokens",
            Self::HotMasks => "hot_masks",
            Self::CommaFilter => "comma_filter",
            Self::ItemLookup => "item_lookup",
        }
    }
}

impl std::str::FromStr for Strategy {
    type Err = String;

    /// Parses a strategy's name. Errors name all of them.
    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|strategy| strategy.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no strategy `{name}`; there are {names}")
        })
    }
}

/// A set of strategies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategies(u32);

impl Strategies {
    /// No strategy: every mask is computed by its definition.
    pub const NONE: Self = Self(0);
    /// All strategies.
    pub const ALL: Self = Self(u32::MAX);

    /// The same set without a strategy.
    #[must_use]
    pub fn without(self, strategy: Strategy) -> Self {
        Self(self.0 & !(1 << strategy as u32))
    }

    /// Whether a strategy is in the set.
    #[inline]
    pub fn has(self, strategy: Strategy) -> bool {
        self.0 >> strategy as u32 & 1 == 1
    }
}

impl Default for Strategies {
    fn default() -> Self {
        Self::ALL
    }
}
