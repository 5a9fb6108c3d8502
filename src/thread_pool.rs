//! Rayon's pool of threads, which batches of masks and the sorting of long lists share.
//!
//! A process that `fork` made has the pool of its parent without its threads: work that is given to it
//! waits for ever. Such a process computes alone.

use std::sync::OnceLock;

/// Whether the pool has threads: it has in the process that asks first, which is the one that makes it.
pub(crate) fn has_threads() -> bool {
    static OWNER: OnceLock<u32> = OnceLock::new();
    let this = process();
    *OWNER.get_or_init(|| this) == this
}

/// The number of this process, where a process can be made by `fork`.
#[cfg(unix)]
pub(crate) fn process() -> u32 {
    std::process::id()
}

/// There is no `fork`.
#[cfg(not(unix))]
pub(crate) fn process() -> u32 {
    0
}
