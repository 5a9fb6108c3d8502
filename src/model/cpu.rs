//! Kernels of the CPU: matrix products, and attention over a paged KV cache.
//!
//! *Invariant: batch invariance.* Every number of a result is computed by one chain of operations
//! whose order depends on the shape of the model alone, never on how many rows are computed together.
//! So the logits of a sequence are the same, bit for bit, alone or in a batch, with its prompt read
//! whole or in pieces. Products of the usual libraries choose another order for one row than for
//! several.
//!
//! ```text
//! rows together     1         2, 3 …           many
//! tile              1 × 8     2 × 8, 3 × 8     6 × 4       (rows × columns in registers)
//! one result        lane i of a register sums the products k = i, i + L, i + 2L, …; then the
//!                   lanes are added in a fixed order: the same for each tile
//! ```
//!
//! Instructions are chosen once a process by `pulp` (AVX-512, AVX2, NEON, scalar); results may differ
//! between machines whose registers are of different length.

mod attention;
mod linear;

pub(super) use attention::{AttentionShape, Segment, attend};
pub(super) use linear::{WeightSlice, linear};
