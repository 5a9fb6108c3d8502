//! The layout of a block of a paged KV cache: keys and values of 16 positions in every layer.
//!
//! Layer after layer and head after head lie the keys as (width, positions), so that one dimension of
//! all positions fills a register, and then the values as (positions, width). Layers may differ in the
//! number and the width of their heads:
//!
//! ```text
//! layer 0, head 0              layer 0, head 1              layer 1, head 0
//! keys        values           keys        values           keys …
//! width · 16  16 · width       width · 16  16 · width
//! ```

use std::ops::Range;

/// Positions of a block: one register of `f32` on the widest processors.
pub const BLOCK_POSITIONS: usize = 16;

/// The place of a layer's part of a block, and its sizes.
///
/// ```
/// use maskwright_kernels::BlockLayout;
/// let first = BlockLayout { start: 0, kv_heads: 2, width: 3 };
/// assert_eq!(first.len(), 2 * 2 * 3 * 16);
/// assert_eq!((first.keys(1), first.values(1)), (96..144, 144..192));
/// let second = BlockLayout { start: first.end(), kv_heads: 1, width: 5 };
/// assert_eq!(second.keys(0), 192..272);
/// let mut block = vec![0.0; second.end()];
/// first.write(&mut block, 15, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[7.0; 6]);
/// // The keys of the second head: each dimension of 16 positions.
/// assert_eq!(block[96 + 15..144].iter().step_by(16).collect::<Vec<_>>(), [&4.0, &5.0, &6.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockLayout {
    /// The numbers of a block before the layer's.
    pub start: usize,
    /// Key-value heads of the layer.
    pub kv_heads: usize,
    /// Dimension of a head (head_dim).
    pub width: usize,
}

impl BlockLayout {
    /// The numbers of the layer's part.
    pub fn len(self) -> usize {
        self.kv_heads * 2 * self.part()
    }

    /// Whether the layer has no numbers.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The place after the layer's part: the start of the next one.
    pub fn end(self) -> usize {
        self.start + self.len()
    }

    /// The place of the keys of a head: (width, positions).
    #[inline]
    pub fn keys(self, kv_head: usize) -> Range<usize> {
        let from = self.start + kv_head * 2 * self.part();
        from..from + self.part()
    }

    /// The place of the values of a head: (positions, width).
    #[inline]
    pub fn values(self, kv_head: usize) -> Range<usize> {
        let from = self.keys(kv_head).end;
        from..from + self.part()
    }

    /// Writes the keys and values of one position of a block, each (heads, width).
    pub fn write(self, block: &mut [f32], position: usize, keys: &[f32], values: &[f32]) {
        let heads = keys.chunks_exact(self.width).zip(values.chunks_exact(self.width));
        for (head, (keys, values)) in heads.enumerate() {
            let column = block[self.keys(head)][position..].iter_mut();
            for (to, from) in column.step_by(BLOCK_POSITIONS).zip(keys) {
                *to = *from;
            }
            let at = position * self.width;
            block[self.values(head)][at..at + self.width].copy_from_slice(values);
        }
    }

    /// The indices of all numbers of one position.
    pub fn position(self, position: usize) -> impl Iterator<Item = usize> {
        (0..self.kv_heads).flat_map(move |head| {
            let keys = self.keys(head).skip(position).step_by(BLOCK_POSITIONS);
            keys.chain(self.values(head).skip(position * self.width).take(self.width))
        })
    }

    /// The numbers of the keys, or of the values, of one head.
    fn part(self) -> usize {
        self.width * BLOCK_POSITIONS
    }
}
