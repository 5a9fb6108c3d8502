//! The rows of logits that are wanted of a pass.

/// The tokens of a [`Chunk`](super::Chunk) after which logits are wanted. They cost one product with the widest
/// matrix of the model each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogitRows {
    /// None: a part of a prompt that is not its last.
    None,
    /// The last one.
    Last,
    /// All.
    All,
}
