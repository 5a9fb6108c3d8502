//! The layout of a block of a paged KV cache: keys and values of 16 positions in every layer.
//!
//! Layer after layer and head after head lie the keys as (width, positions), so that one dimension of
//! all positions fills a register, and then the values as (positions, width):
//!
//! ```text
//! layer 0, head 0              layer 0, head 1              layer 1, head 0
//! keys        values           keys        values           keys …
//! width · 16  16 · width       width · 16  16 · width
//! ```

use std::ops::Range;

/// Positions of a block: one register of `f32` on the widest processors.
pub const BLOCK_POSITIONS: usize = 16;

/// The sizes of a layer's part of a block.
///
/// ```
/// use maskwright_kernels::BlockLayout;
/// let layout = BlockLayout { kv_heads: 2, width: 3 };
/// assert_eq!(layout.len(5), 5 * 2 * 2 * 3 * 16);
/// assert_eq!((layout.keys(0, 1), layout.values(0, 1)), (96..144, 144..192));
/// let mut block = vec![0.0; layout.len(5)];
/// layout.write(&mut block, 0, 15, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[7.0; 6]);
/// // The keys of the second head: each dimension of 16 positions.
/// assert_eq!(block[96 + 15..144].iter().step_by(16).collect::<Vec<_>>(), [&4.0, &5.0, &6.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockLayout {
    /// Key-value heads of a layer.
    pub kv_heads: usize,
    /// Numbers of one head.
    pub width: usize,
}

impl BlockLayout {
    /// The numbers of a block for a model of some layers.
    pub fn len(self, layers: usize) -> usize {
        layers * self.kv_heads * 2 * self.part()
    }

    /// The place of the keys of a head: (width, positions).
    #[inline]
    pub fn keys(self, layer: usize, kv_head: usize) -> Range<usize> {
        let from = (layer * self.kv_heads + kv_head) * 2 * self.part();
        from..from + self.part()
    }

    /// The place of the values of a head: (positions, width).
    #[inline]
    pub fn values(self, layer: usize, kv_head: usize) -> Range<usize> {
        let from = self.keys(layer, kv_head).end;
        from..from + self.part()
    }

    /// Writes the keys and values of one position of a block, each (heads, width).
    pub fn write(
        self,
        block: &mut [f32],
        layer: usize,
        position: usize,
        keys: &[f32],
        values: &[f32],
    ) {
        let heads = keys.chunks_exact(self.width).zip(values.chunks_exact(self.width));
        for (head, (keys, values)) in heads.enumerate() {
            let column = block[self.keys(layer, head)][position..].iter_mut();
            for (to, from) in column.step_by(BLOCK_POSITIONS).zip(keys) {
                *to = *from;
            }
            let at = position * self.width;
            block[self.values(layer, head)][at..at + self.width].copy_from_slice(values);
        }
    }

    /// The indices of all numbers of one position, in the blocks of a model of some layers.
    pub fn position(self, layers: usize, position: usize) -> impl Iterator<Item = usize> {
        let heads = (0..layers).flat_map(move |layer| (0..self.kv_heads).map(move |h| (layer, h)));
        heads.flat_map(move |(layer, head)| {
            let keys = self.keys(layer, head).skip(position).step_by(BLOCK_POSITIONS);
            keys.chain(self.values(layer, head).skip(position * self.width).take(self.width))
        })
    }

    /// The numbers of the keys, or of the values, of one head of a layer.
    fn part(self) -> usize {
        self.width * BLOCK_POSITIONS
    }
}
