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
//! rows together     1         2, 3 …       many
//! tile              1 × 8     3 × 4        6 × 4       (rows × registers of 16 columns, AVX-512)
//! one result        a lane takes the products k = 0, 1, 2, … one after the other: the same for each
//! ```
//!
//! ```
//! use maskwright_kernels::{PackedWeights, WeightSlice, linear};
//! // Two rows of three numbers, and two columns: (rows, k) · (columns, k)ᵀ.
//! let (x, w) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
//! let w = PackedWeights::new(WeightSlice::F32(&w), 3);
//! let y = linear(&x, &w);
//! assert_eq!(y, [1.0, 6.0, 4.0, 15.0]);
//! assert_eq!(linear(&x[3..], &w), y[2..]);
//! ```
//!
//! Products with quantised weights are integer products: each 32 activations of a row are quantised to `i16`
//! with a scale of their own (error at most 1/65534 of the greatest of them). They have the same bits on all
//! processors.
//!
//! Instructions are chosen once a process by `pulp` (AVX-512, AVX2, NEON, scalar); products are the same
//! on all that multiply and add in one rounding, attention may differ with the length of registers.

mod attention;
mod block;
mod exponential;
mod half_panels;
mod linear;
mod prefetch;
mod quantised;
#[cfg(test)]
mod random;
mod rows;

pub use attention::{Scoring, Segment, attend};
pub use block::{BLOCK_POSITIONS, BlockLayout};
pub use linear::{PackedWeights, Product, WeightSlice, linear, linear_into};
pub use quantised::BlockFormat;
pub use rows::{
    Activation, RotaryPairs, activate, add, add_bias, add_scaled, clamp, gate, layer_norm,
    rms_norm, rotate, scale, soft_cap,
};
