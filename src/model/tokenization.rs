//! From text to tokens: the tokenizer, names of special tokens in content, a lower bound on the
//! number of tokens of a text, and canonical tokenisations.

mod canonical;
mod control_tokens;
mod length_bound;
mod tokenizer;

pub use canonical::Canonical;
pub(super) use control_tokens::{ControlTokens, DisguisedConversation, StandIns};
pub(super) use length_bound::TokenCountBound;
pub use tokenizer::Tokenizer;
