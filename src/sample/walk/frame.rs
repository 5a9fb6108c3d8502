//! The frames of a walk's stack.

use super::remainder::Remainder;

/// A return address.
pub(super) struct WalkFrame {
    /// The point at which the walk goes on; for repeats and scopes, their own.
    pub(super) point: u32,
    pub(super) kind: FrameKind,
    /// The rest of the text after the return.
    pub(super) rest: Remainder,
}

pub(super) enum FrameKind {
    Call,
    /// The number of turns that have begun.
    Repeat(u32),
    Scope(RetryPoint),
}

/// The beginning of a captured text, which may have to be written anew.
#[derive(Clone, Copy)]
pub(super) struct RetryPoint {
    /// The length of the text at the beginning.
    pub(super) bytes: usize,
    /// The number of choices at the beginning.
    pub(super) choices: usize,
    /// Attempts so far.
    pub(super) tries: u32,
}
