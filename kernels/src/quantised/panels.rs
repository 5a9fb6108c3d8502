//! Quantised weights in panels of 16 columns.
//!
//! Codes lie in units of 32 numbers of k. A word of 32 bits holds the lower bits of the codes of
//! consecutive k, those of even k in its lower half and those of odd k in its upper half, the lowest first, and
//! the words of 16 columns lie side by side; then the further bits in the same way:
//!
//! ```text
//! Q5_0   c0: k0 … k7   c1: k0 … k7   …   c15   (4 bits each)
//!        c0: k8 … k15  …                        4 rows of 16 words
//!        c0: k0 … k31  …                        1 row of 16 words (the fifth bit of each)
//! ```
//!
//! Scales are (blocks, 16) or (groups, 16) as in the file. [`Codes`](super::codes::Codes) make pairs of integers
//! of the words.

use rayon::prelude::*;

use super::block_format::{BlockFormat, Offset, half_of_power};
use super::quantised_rows::UNIT;
use crate::linear::PANEL;

/// A quantised matrix in panels of 16 columns; the last is filled up with zeros.
#[derive(Clone, Debug)]
pub(crate) struct QuantisedPanels {
    pub(super) format: BlockFormat,
    pub(super) k: usize,
    /// (panels, units, bits, 16).
    pub(super) words: Vec<[u32; PANEL]>,
    /// The bits of the scale of each block: (panels, blocks, 16).
    d: Vec<[u16; PANEL]>,
    /// The offset of each block as half-precision bits, if it has one.
    m: Vec<[u16; PANEL]>,
    /// The factor of each group, if groups have one: (panels, groups, 16).
    scales: Vec<[i8; PANEL]>,
    /// The min of each group, if groups have one.
    mins: Vec<[u8; PANEL]>,
}

/// Some panels.
#[derive(Clone, Copy)]
pub(crate) struct QuantisedSlice<'a> {
    pub(super) panels: &'a QuantisedPanels,
    /// The first panel.
    pub(super) from: usize,
}

impl QuantisedPanels {
    /// Packs the blocks of a matrix (columns, k), row after row. `k` is a multiple of a block's weights.
    pub(crate) fn new(format: BlockFormat, blocks: &[u8], k: usize) -> Self {
        let row = k / format.weights() * format.bytes();
        let columns = blocks.len().checked_div(row).unwrap_or(0);
        let panels = columns.div_ceil(PANEL);
        let (low, high) = format.bits();
        let (units, blocks_of_row, groups) = (k / UNIT, k / format.weights(), k / format.group());
        let only_if = |yes: bool, n: usize| if yes { panels * n } else { 0 };
        let offset = format.offset();
        let mut packed = Self {
            format,
            k,
            words: vec![[0; PANEL]; panels * units * (low + high) as usize],
            d: vec![[0; PANEL]; panels * blocks_of_row],
            m: vec![[0; PANEL]; only_if(format.has_offset(), blocks_of_row)],
            scales: vec![[0; PANEL]; only_if(format.has_scales(), groups)],
            mins: vec![[0; PANEL]; only_if(offset == Offset::OfGroup, groups)],
        };
        if panels == 0 {
            return packed;
        }
        // Parts of every field belong to one panel.
        let mut parts: Vec<Panel<'_>> = Vec::with_capacity(panels);
        let mut words = packed.words.chunks_exact_mut(units * (low + high) as usize);
        let mut d = packed.d.chunks_exact_mut(blocks_of_row);
        let mut m = packed.m.chunks_exact_mut(blocks_of_row);
        let mut scales = packed.scales.chunks_exact_mut(groups);
        let mut mins = packed.mins.chunks_exact_mut(groups);
        for _ in 0..panels {
            parts.push(Panel {
                format,
                words: words.next().unwrap_or_default(),
                d: d.next().unwrap_or_default(),
                m: m.next().unwrap_or_default(),
                scales: scales.next().unwrap_or_default(),
                mins: mins.next().unwrap_or_default(),
            });
        }
        parts.into_par_iter().zip(blocks.par_chunks(PANEL * row)).for_each(|(mut panel, rows)| {
            for (column, row) in rows.chunks_exact(row).enumerate() {
                panel.write(column, row);
            }
        });
        packed
    }

    pub(crate) fn slice(&self, from: usize) -> QuantisedSlice<'_> {
        QuantisedSlice { panels: self, from }
    }

    /// Writes the weights of a column.
    pub(crate) fn read(&self, column: usize, y: &mut [f32]) {
        let (panel, column) = (column / PANEL, column % PANEL);
        let (low, high) = self.format.bits();
        let bits = (low + high) as usize;
        for (k, y) in y.iter_mut().enumerate().take(self.k) {
            let unit = &self.words[(panel * (self.k / UNIT) + k / UNIT) * bits..][..bits];
            let (word, shift) = place(k % UNIT, low);
            let mut code = unit[word][column] >> shift & ((1 << low) - 1);
            if high > 0 {
                let (word, shift) = place(k % UNIT, high);
                code |= (unit[low as usize + word][column] >> shift & ((1 << high) - 1)) << low;
            }
            let block = self.block_scales(panel, k / self.format.weights());
            let group = k / self.format.group();
            let scale = self.group_scale(panel, group, &block)[column];
            let number = self.format.number(code as u8) - self.format.zero();
            *y = if self.format.has_offset() {
                let offset = self.group_offset(panel, group, &block)[column];
                (number as f32).mul_add(scale, offset)
            } else {
                number as f32 * scale
            };
        }
    }

    /// The numbers of a block of a panel's columns.
    #[inline(always)]
    pub(super) fn block_scales(&self, panel: usize, block: usize) -> BlockScales {
        let block = panel * (self.k / self.format.weights()) + block;
        let d = match self.format {
            BlockFormat::MXFP4 => self.d[block].map(half_of_power),
            _ => widen(&self.d[block]),
        };
        let m = if self.format.has_offset() { widen(&self.m[block]) } else { [0.0; PANEL] };
        BlockScales { d, m }
    }

    /// The scales of a group of a panel's columns.
    #[inline(always)]
    pub(super) fn group_scale(
        &self,
        panel: usize,
        group: usize,
        block: &BlockScales,
    ) -> [f32; PANEL] {
        let mut scale = block.d;
        if self.format.has_scales() {
            let factors = &self.scales[panel * (self.k / self.format.group()) + group];
            for (scale, factor) in scale.iter_mut().zip(factors) {
                *scale *= f32::from(*factor);
            }
        }
        scale
    }

    /// The offsets of a group of a panel's columns, in a format that has some.
    #[inline(always)]
    pub(super) fn group_offset(
        &self,
        panel: usize,
        group: usize,
        block: &BlockScales,
    ) -> [f32; PANEL] {
        let mut offset = block.m;
        if self.format.offset() == Offset::OfGroup {
            let mins = &self.mins[panel * (self.k / self.format.group()) + group];
            for (offset, min) in offset.iter_mut().zip(mins) {
                *offset *= -f32::from(*min);
            }
        }
        offset
    }
}

/// The scales and offsets, or their factors, of a block of 16 columns.
pub(super) struct BlockScales {
    d: [f32; PANEL],
    m: [f32; PANEL],
}

/// Half-precision numbers as single-precision ones: their bits are those of a number 2¹¹² times smaller.
/// Infinities, which no sound file holds ([`BlockFormat::first_damaged`]), become 65536.
#[inline(always)]
fn widen(bits: &[u16; PANEL]) -> [f32; PANEL] {
    const SCALE: f32 = f32::from_bits((127 + 112) << 23);
    let mut wide = [0.0; PANEL];
    for (wide, bits) in wide.iter_mut().zip(bits) {
        let bits = u32::from(*bits);
        *wide = f32::from_bits((bits & 0x8000) << 16 | (bits & 0x7fff) << 13) * SCALE;
    }
    wide
}

/// The word that holds the bits of a number of k, and the place of the lowest in it.
const fn place(k: usize, bits: u32) -> (usize, u32) {
    let of_word = 32 / bits as usize;
    (k / of_word, (k % of_word / 2) as u32 * bits + (k % 2) as u32 * 16)
}

/// The fields of one panel, to be written.
struct Panel<'a> {
    format: BlockFormat,
    words: &'a mut [[u32; PANEL]],
    d: &'a mut [[u16; PANEL]],
    m: &'a mut [[u16; PANEL]],
    scales: &'a mut [[i8; PANEL]],
    mins: &'a mut [[u8; PANEL]],
}

impl Panel<'_> {
    fn write(&mut self, column: usize, row: &[u8]) {
        let format = self.format;
        let (low, high) = format.bits();
        let bits = (low + high) as usize;
        let groups = format.weights() / format.group();
        for (index, bytes) in row.chunks_exact(format.bytes()).enumerate() {
            let block = format.block(bytes);
            self.d[index][column] = block.d;
            if let Some(m) = self.m.get_mut(index) {
                m[column] = block.m;
            }
            for group in 0..groups {
                if let Some(scales) = self.scales.get_mut(index * groups + group) {
                    scales[column] = block.scales[group];
                }
                if let Some(mins) = self.mins.get_mut(index * groups + group) {
                    mins[column] = block.mins[group];
                }
            }
            let units = &mut self.words[index * format.weights() / UNIT * bits..];
            for (k, code) in block.codes[..format.weights()].iter().enumerate() {
                let unit = &mut units[k / UNIT * bits..][..bits];
                let code = u32::from(*code);
                let (word, shift) = place(k % UNIT, low);
                unit[word][column] |= (code & ((1 << low) - 1)) << shift;
                if high > 0 {
                    let (word, shift) = place(k % UNIT, high);
                    unit[low as usize + word][column] |= code >> low << shift;
                }
            }
        }
    }
}
