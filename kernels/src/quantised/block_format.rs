//! The formats of blocks: those of ggml (`ggml-common.h`, `ggml-quants.c` in ggml-org/ggml), with its
//! names. "K" formats have blocks of 256 weights, whose scales are quantised, too.
//!
//! ```text
//! Q4_0   d: f16, 32 codes of 4 bits                                  (code − 8) · d
//! Q4_1   d, m: f16, 32 codes of 4 bits                               code · d + m
//! Q4_K   d, dmin: f16, 8 scales and 8 mins of 6 bits, 256 codes      code · d · scale − dmin · min
//! Q6_K   256 codes of 6 bits, 16 scales of 8 bits, d: f16            (code − 32) · d · scale
//! IQ4_NL d: f16, 32 codes of 4 bits                                  LEVELS[code] · d
//! MXFP4  e: 8 bits, 32 codes of 4 bits, each a number in E2M1        number · 2^(e − 127)
//! ```
//!
//! In each of them a weight is (number − zero) · scale + offset, with an integer number from 0 to 255 that its code
//! is or chooses from a table:
//!
//! ```text
//! Q4_0   number = code             zero = 8
//! MXFP4  number = TABLE[code]      zero = 12: the numbers 0, 0.5, 1, 1.5, 2, 3, 4, 6 doubled are integers
//! ```

use half::f16;
use rayon::prelude::*;

/// The weights of the greatest block.
pub(super) const MAX_BLOCK_WEIGHTS: usize = 256;

/// The groups of the greatest block.
pub(super) const MAX_GROUPS: usize = 16;

/// A format of blocks of quantised weights.
///
/// ```
/// use maskwright_kernels::BlockFormat;
/// // A scale of 0.5 (0x3800 in half precision), and 32 codes of 4 bits: 8 stands for zero.
/// let mut block = vec![0x88; 18];
/// block[..2].copy_from_slice(&[0x00, 0x38]);
/// // The low half of a byte is a weight of the first half of the block, the high half one of the second.
/// block[2] = 0x0f;
/// let mut weights = [0.0; 32];
/// BlockFormat::Q4_0.read(&block, &mut weights);
/// assert_eq!((weights[0], weights[1], weights[16]), (3.5, 0.0, -4.0));
/// ```
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockFormat {
    /// 4 bits around zero, 32 weights a block.
    Q4_0,
    /// 4 bits and a least weight, 32 weights a block.
    Q4_1,
    /// 5 bits around zero, 32 weights a block.
    Q5_0,
    /// 5 bits and a least weight, 32 weights a block.
    Q5_1,
    /// 8 bits around zero, 32 weights a block.
    Q8_0,
    /// 2 bits, scales and least weights of 4 bits for 16 weights each, 256 weights a block.
    Q2_K,
    /// 3 bits around zero, scales of 6 bits for 16 weights each, 256 weights a block.
    Q3_K,
    /// 4 bits, scales and least weights of 6 bits for 32 weights each, 256 weights a block.
    Q4_K,
    /// 5 bits, scales and least weights of 6 bits for 32 weights each, 256 weights a block.
    Q5_K,
    /// 6 bits around zero, scales of 8 bits for 16 weights each, 256 weights a block.
    Q6_K,
    /// 4 bits that choose one of 16 levels, 32 weights a block.
    IQ4_NL,
    /// 4 bits that choose one of 16 levels, scales of 6 bits for 32 weights each, 256 weights a block.
    IQ4_XS,
    /// Floating-point numbers of 4 bits, a power of two as scale, 32 weights a block (OCP Microscaling
    /// Formats 1.0).
    MXFP4,
}

/// The levels of `IQ4_NL` and `IQ4_XS`: −127, −104, −83, −65, −49, −35, −22, −10, 1, 13, 25, 38, 53, 69, 89, 113,
/// each plus 127, so that the least is 0.
const LEVELS: [u8; 16] = [0, 23, 44, 62, 78, 92, 105, 117, 128, 140, 152, 165, 180, 196, 216, 240];

/// The numbers of `MXFP4` in ascending order, doubled, each plus 12, so that the least is 0.
const E2M1: [u8; 16] = [0, 4, 6, 8, 9, 10, 11, 12, 12, 13, 14, 15, 16, 18, 20, 24];

/// The greatest exponent of `MXFP4` with which all weights are finite.
const MAX_EXPONENT: u8 = 252;

/// The value that is added to number · scale. It is exact in `f32`: its half-precision factor has 11 bits,
/// its integer factor at most 8.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Offset {
    /// −zero · scale: this number stands for the weight 0.
    Zero(u8),
    /// A number of the block.
    OfBlock,
    /// −(a number of the block) · (a small integer of the group).
    OfGroup,
}

/// A block, its fields unpacked.
pub(super) struct Block {
    pub(super) codes: [u8; MAX_BLOCK_WEIGHTS],
    /// The bits of the block's scale, which [`BlockFormat::scale`] reads.
    pub(super) d: u16,
    /// The block's offset, or the factor of its groups' mins: the bits of a half-precision number.
    pub(super) m: u16,
    /// The factor of each group, where groups have one.
    pub(super) scales: [i8; MAX_GROUPS],
    /// The min of each group, where groups have one.
    pub(super) mins: [u8; MAX_GROUPS],
}

impl BlockFormat {
    /// All formats.
    pub const ALL: [Self; 13] = [
        Self::Q4_0,
        Self::Q4_1,
        Self::Q5_0,
        Self::Q5_1,
        Self::Q8_0,
        Self::Q2_K,
        Self::Q3_K,
        Self::Q4_K,
        Self::Q5_K,
        Self::Q6_K,
        Self::IQ4_NL,
        Self::IQ4_XS,
        Self::MXFP4,
    ];

    /// The number of weights of a block, all of one row.
    pub const fn weights(self) -> usize {
        match self {
            Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 | Self::Q8_0 => 32,
            Self::IQ4_NL | Self::MXFP4 => 32,
            Self::Q2_K | Self::Q3_K | Self::Q4_K | Self::Q5_K | Self::Q6_K | Self::IQ4_XS => 256,
        }
    }

    /// The number of bytes of a block.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Q4_0 => 2 + 16,
            Self::Q4_1 => 4 + 16,
            Self::Q5_0 => 2 + 4 + 16,
            Self::Q5_1 => 4 + 4 + 16,
            Self::Q8_0 => 2 + 32,
            Self::Q2_K => 16 + 64 + 4,
            Self::Q3_K => 32 + 64 + 12 + 2,
            Self::Q4_K => 4 + 12 + 128,
            Self::Q5_K => 4 + 12 + 32 + 128,
            Self::Q6_K => 128 + 64 + 16 + 2,
            Self::IQ4_NL => 2 + 16,
            Self::IQ4_XS => 2 + 2 + 4 + 128,
            Self::MXFP4 => 1 + 16,
        }
    }

    /// The index of the first block whose scale or offset is infinite or NaN, or so great that a weight is
    /// infinite; a valid file has none.
    ///
    /// ```
    /// use maskwright_kernels::BlockFormat;
    /// let mut blocks = vec![0; 3 * BlockFormat::Q8_0.bytes()];
    /// assert_eq!(BlockFormat::Q8_0.first_damaged(&blocks), None);
    /// blocks[BlockFormat::Q8_0.bytes() + 1] = 0x7c;
    /// assert_eq!(BlockFormat::Q8_0.first_damaged(&blocks), Some(1));
    /// ```
    pub fn first_damaged(self, blocks: &[u8]) -> Option<usize> {
        /// Blocks that a thread looks at together.
        const TOGETHER: usize = 4096;
        let is_damaged = |block: &[u8]| match self {
            Self::MXFP4 => block[0] > MAX_EXPONENT,
            _ => {
                let is_finite = |at: &usize| block[at + 1] & 0x7c != 0x7c;
                !self.half_precision().iter().all(is_finite)
            }
        };
        let size = self.bytes();
        let parts = blocks.par_chunks(TOGETHER * size).enumerate();
        parts.find_map_first(|(part, blocks)| {
            let at = blocks.chunks_exact(size).position(is_damaged)?;
            Some(part * TOGETHER + at)
        })
    }

    /// The places of the half-precision numbers in a block.
    const fn half_precision(self) -> &'static [usize] {
        match self {
            Self::Q4_0 | Self::Q5_0 | Self::Q8_0 | Self::IQ4_NL | Self::IQ4_XS => &[0],
            Self::Q4_1 | Self::Q5_1 | Self::Q4_K | Self::Q5_K => &[0, 2],
            Self::Q2_K => &[80, 82],
            Self::Q3_K => &[108],
            Self::Q6_K => &[208],
            Self::MXFP4 => &[],
        }
    }

    /// Writes the weights of some blocks, as many as `y` holds. Panics if there are fewer.
    pub fn read(self, blocks: &[u8], y: &mut [f32]) {
        let group = self.group();
        for (block, y) in blocks.chunks_exact(self.bytes()).zip(y.chunks_mut(self.weights())) {
            let block = self.block(block);
            let (d, m) = (self.scale(block.d), f16::from_bits(block.m).to_f32());
            for (index, (code, y)) in block.codes.iter().zip(y).enumerate() {
                let scale =
                    if self.has_scales() { d * f32::from(block.scales[index / group]) } else { d };
                let number = (self.number(*code) - self.zero()) as f32;
                *y = match self.offset() {
                    Offset::Zero(_) => number * scale,
                    Offset::OfBlock => number.mul_add(scale, m),
                    Offset::OfGroup => {
                        number.mul_add(scale, -m * f32::from(block.mins[index / group]))
                    }
                };
            }
        }
    }

    /// The number from 0 to 255 that a code stands for.
    pub(super) fn number(self, code: u8) -> i32 {
        i32::from(self.table().map_or(code, |table| table[usize::from(code)]))
    }

    /// The numbers that codes of 4 bits choose from, where they are not the codes. The first is 0.
    #[inline(always)]
    pub(super) const fn table(self) -> Option<&'static [u8; 16]> {
        match self {
            Self::IQ4_NL | Self::IQ4_XS => Some(&LEVELS),
            Self::MXFP4 => Some(&E2M1),
            _ => None,
        }
    }

    /// The number that stands for 0, before an offset is added.
    #[inline(always)]
    pub(super) const fn zero(self) -> i32 {
        match self.offset() {
            Offset::Zero(zero) => zero as i32,
            Offset::OfBlock | Offset::OfGroup => 0,
        }
    }

    /// Whether something that the blocks hold is added to products.
    #[inline(always)]
    pub(super) const fn has_offset(self) -> bool {
        !matches!(self.offset(), Offset::Zero(_))
    }

    /// The scale of a block, by its bits.
    fn scale(self, bits: u16) -> f32 {
        match self {
            Self::MXFP4 => half_of_power(bits),
            _ => f16::from_bits(bits).to_f32(),
        }
    }

    /// Weights that share a scale.
    pub(super) const fn group(self) -> usize {
        match self {
            Self::Q2_K | Self::Q3_K | Self::Q6_K => 16,
            _ => 32,
        }
    }

    /// The lower and the further bits of a code.
    pub(super) const fn bits(self) -> (u32, u32) {
        match self {
            Self::Q4_0 | Self::Q4_1 | Self::Q4_K => (4, 0),
            Self::Q5_0 | Self::Q5_1 | Self::Q5_K => (4, 1),
            Self::Q8_0 => (8, 0),
            Self::IQ4_NL | Self::IQ4_XS | Self::MXFP4 => (4, 0),
            Self::Q2_K => (2, 0),
            Self::Q3_K => (2, 1),
            Self::Q6_K => (4, 2),
        }
    }

    /// Whether groups have a factor of their own.
    pub(super) const fn has_scales(self) -> bool {
        self.weights() == 256
    }

    pub(super) const fn offset(self) -> Offset {
        match self {
            Self::Q4_0 => Offset::Zero(8),
            Self::Q5_0 => Offset::Zero(16),
            Self::Q8_0 => Offset::Zero(128),
            Self::IQ4_NL | Self::IQ4_XS => Offset::Zero(127),
            Self::MXFP4 => Offset::Zero(12),
            Self::Q3_K => Offset::Zero(4),
            Self::Q6_K => Offset::Zero(32),
            Self::Q4_1 | Self::Q5_1 => Offset::OfBlock,
            Self::Q2_K | Self::Q4_K | Self::Q5_K => Offset::OfGroup,
        }
    }

    /// Unpacks a block of [`bytes`](Self::bytes).
    pub(super) fn block(self, bytes: &[u8]) -> Block {
        let mut block = Block {
            codes: [0; MAX_BLOCK_WEIGHTS],
            d: 0,
            m: 0,
            scales: [1; MAX_GROUPS],
            mins: [0; MAX_GROUPS],
        };
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        match self {
            Self::Q4_0 => {
                block.d = half(0);
                halves(&bytes[2..], &mut block.codes[..32]);
            }
            Self::Q4_1 => {
                (block.d, block.m) = (half(0), half(2));
                halves(&bytes[4..], &mut block.codes[..32]);
            }
            Self::Q5_0 => {
                block.d = half(0);
                halves(&bytes[6..], &mut block.codes[..32]);
                fifth_bits(&bytes[2..6], &mut block.codes);
            }
            Self::Q5_1 => {
                (block.d, block.m) = (half(0), half(2));
                halves(&bytes[8..], &mut block.codes[..32]);
                fifth_bits(&bytes[4..8], &mut block.codes);
            }
            Self::Q8_0 => {
                block.d = half(0);
                for (code, byte) in block.codes.iter_mut().zip(&bytes[2..]) {
                    // From −128 … 127 to 0 … 255.
                    *code = byte ^ 0x80;
                }
            }
            Self::Q2_K => {
                for (group, byte) in bytes[..16].iter().enumerate() {
                    block.scales[group] = (byte & 15) as i8;
                    block.mins[group] = byte >> 4;
                }
                quarters(&bytes[16..80], &mut block.codes);
                (block.d, block.m) = (half(80), half(82));
            }
            Self::Q3_K => {
                quarters(&bytes[32..96], &mut block.codes);
                for (index, code) in block.codes.iter_mut().enumerate() {
                    *code |= (bytes[index % 32] >> (index / 32) & 1) << 2;
                }
                let scales = &bytes[96..108];
                for group in 0..16 {
                    let low = scales[group % 8] >> (group / 8 * 4) & 15;
                    let high = scales[8 + group % 4] >> (group / 4 * 2) & 3;
                    block.scales[group] = (low | high << 4) as i8 - 32;
                }
                block.d = half(108);
            }
            Self::Q4_K | Self::Q5_K => {
                (block.d, block.m) = (half(0), half(2));
                scales_and_mins(&bytes[4..16], &mut block);
                let codes = if self == Self::Q4_K { &bytes[16..] } else { &bytes[48..] };
                for (codes, bytes) in block.codes.chunks_exact_mut(64).zip(codes.chunks_exact(32)) {
                    halves(bytes, codes);
                }
                if self == Self::Q5_K {
                    for (index, code) in block.codes.iter_mut().enumerate() {
                        *code |= (bytes[16 + index % 32] >> (index / 32) & 1) << 4;
                    }
                }
            }
            Self::Q6_K => {
                for half in 0..2 {
                    let codes = &mut block.codes[half * 128..(half + 1) * 128];
                    halves(&bytes[half * 64..(half + 1) * 64], codes);
                    let high = &bytes[128 + half * 32..128 + (half + 1) * 32];
                    for (index, code) in codes.iter_mut().enumerate() {
                        *code |= (high[index % 32] >> (index / 32 * 2) & 3) << 4;
                    }
                }
                for (scale, byte) in block.scales.iter_mut().zip(&bytes[192..208]) {
                    *scale = *byte as i8;
                }
                block.d = half(208);
            }
            Self::IQ4_NL => {
                block.d = half(0);
                halves(&bytes[2..], &mut block.codes[..32]);
            }
            Self::IQ4_XS => {
                let (high, low) = (half(2), &bytes[4..8]);
                block.d = half(0);
                for (group, scale) in block.scales[..8].iter_mut().enumerate() {
                    let low = low[group / 2] >> (group % 2 * 4) & 15;
                    let high = (high >> (group * 2) & 3) as u8;
                    *scale = (low | high << 4) as i8 - 32;
                }
                for (codes, bytes) in
                    block.codes.chunks_exact_mut(32).zip(bytes[8..].chunks_exact(16))
                {
                    halves(bytes, codes);
                }
            }
            Self::MXFP4 => {
                block.d = u16::from(bytes[0]);
                halves(&bytes[1..], &mut block.codes[..32]);
                for code in &mut block.codes[..32] {
                    // A sign and three bits, as a place in the ascending numbers.
                    *code = if *code & 8 == 0 { 8 + *code } else { 15 - *code };
                }
            }
        }
        block
    }
}

/// 2^(e − 128): half of the scale of `MXFP4`, whose numbers are doubled.
#[inline(always)]
pub(super) fn half_of_power(exponent: u16) -> f32 {
    // Down to 2^−126 a power of two is its exponent alone; the two below lie in the fraction.
    let normal = u32::from(exponent.saturating_sub(1)) << 23;
    f32::from_bits(if exponent < 2 { 1 << (21 + exponent) } else { normal })
}

/// The low halves of the bytes, then the high halves.
fn halves(bytes: &[u8], codes: &mut [u8]) {
    let (low, high) = codes.split_at_mut(codes.len() / 2);
    for ((low, high), byte) in low.iter_mut().zip(high).zip(bytes) {
        (*low, *high) = (byte & 15, byte >> 4);
    }
}

/// Codes of 2 bits: 32 bytes hold 128 codes, first the lowest bits of all.
fn quarters(bytes: &[u8], codes: &mut [u8]) {
    for (codes, bytes) in codes.chunks_exact_mut(128).zip(bytes.chunks_exact(32)) {
        for (index, code) in codes.iter_mut().enumerate() {
            *code = bytes[index % 32] >> (index / 32 * 2) & 3;
        }
    }
}

/// Adds the bits of a 32-bit number to the codes above their four bits.
fn fifth_bits(bytes: &[u8], codes: &mut [u8; MAX_BLOCK_WEIGHTS]) {
    for (index, code) in codes[..32].iter_mut().enumerate() {
        *code |= (bytes[index / 8] >> (index % 8) & 1) << 4;
    }
}

/// Eight scales and eight mins of 6 bits in 12 bytes: the upper two bits of the later four lie above
/// those of the first four.
fn scales_and_mins(bytes: &[u8], block: &mut Block) {
    for group in 0..4 {
        block.scales[group] = (bytes[group] & 63) as i8;
        block.mins[group] = bytes[group + 4] & 63;
        block.scales[group + 4] = ((bytes[group + 8] & 15) | (bytes[group] >> 6) << 4) as i8;
        block.mins[group + 4] = (bytes[group + 8] >> 4) | (bytes[group + 4] >> 6) << 4;
    }
}
