//! The CPU kernels of [Maskwright](https://docs.rs/maskwright): matrix products, and attention over a
//! paged KV cache. Functions of `&[f32]`, row-major, without a tensor library; threads are those of
//! rayon's pool.
//!
//! *Invariant: batch invariance.* Every number of a result is computed by one chain of operations
//! whose order depends on the shape of the model alone, never on how many rows are computed together.
//! So the logits of a sequence are the same, bit for bit, alone or in a batch, with its prompt read
//! whole or in pieces. Products of the usual libraries choose another order for one row than for
//! several (He 2025, "Defeating Nondeterminism in LLM Inference").
//!
//! ```text
//! rows together     1         2, 3 …           many
//! tile              1 × 8     2 × 8, 3 × 8     6 × 4       (rows × columns in registers)
//! one result        lane i of a register sums the products k = i, i + L, i + 2L, …; then the
//!                   lanes are added in a fixed order: the same for each tile
//! ```
//!
//! ```
//! use maskwright_kernels::{WeightSlice, linear};
//! // Two rows of three numbers, and two columns: (rows, k) · (columns, k)ᵀ.
//! let (x, w) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
//! let y = linear(&x, WeightSlice::F32(&w), 3);
//! assert_eq!(y, [1.0, 6.0, 4.0, 15.0]);
//! assert_eq!(linear(&x[3..], WeightSlice::F32(&w), 3), y[2..]);
//! ```
//!
//! Instructions are chosen once a process by `pulp` (AVX-512, AVX2, NEON, scalar); results may differ
//! between machines whose registers are of different length.

mod attention;
mod block;
mod exponential;
mod linear;
#[cfg(test)]
mod random;
mod rows;

pub use attention::{Segment, attend};
pub use block::{BLOCK_POSITIONS, BlockLayout};
pub use linear::{Product, WeightSlice, linear, linear_into};
pub use rows::{add, add_bias, gate_by_silu, rms_norm, rotate};
