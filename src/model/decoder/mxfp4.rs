//! MXFP4 of safetensors: 4-bit floating-point numbers in blocks of 32 with a power of two (Open Compute
//! Project 2023, "OCP Microscaling Formats (MX) Specification", section 5.4). gpt-oss stores its experts so.
//!
//! Its files hold codes and scales in tensors of their own, the kernels' blocks
//! ([`BlockFormat::MXFP4`](maskwright_kernels::BlockFormat::MXFP4)) a scale and then its codes, in another
//! order. The weights stay as they are, at 4.25 bits each:
//!
//! ```text
//! file    byte i: the numbers 2i (low) and 2i + 1 (high)
//! blocks  byte i: the numbers i (low) and i + 16 (high)
//! ```

/// Numbers of a block.
pub(super) const BLOCK: usize = 32;

/// Bytes of a block's codes.
pub(super) const CODE_BYTES: usize = BLOCK / 2;

/// Blocks of the kernels with the same numbers. `codes` are [`CODE_BYTES`] a block; `scales` are exponents
/// from −127 up.
pub(super) fn to_blocks(codes: &[u8], scales: &[u8]) -> Vec<u8> {
    let mut blocks = Vec::with_capacity(scales.len() * (1 + CODE_BYTES));
    for (codes, scale) in codes.chunks_exact(CODE_BYTES).zip(scales) {
        let number = |index: usize| codes[index / 2] >> (index % 2 * 4) & 15;
        blocks.push(*scale);
        blocks.extend((0..CODE_BYTES).map(|i| number(i) | number(i + CODE_BYTES) << 4));
    }
    blocks
}

#[cfg(test)]
mod tests {
    use maskwright_kernels::BlockFormat;

    use super::*;

    /// The number of a code by the formula of floating-point numbers.
    fn number(code: u8, scale: u8) -> f32 {
        let (sign, exponent, mantissa) = (code >> 3, code >> 1 & 3, f32::from(code & 1));
        let magnitude = match exponent {
            0 => mantissa * 0.5,
            _ => (1.0 + mantissa * 0.5) * 2.0_f32.powi(i32::from(exponent) - 1),
        };
        let scale = 2.0_f32.powi(i32::from(scale) - 127);
        if sign == 1 { -magnitude * scale } else { magnitude * scale }
    }

    #[test]
    fn blocks_hold_the_numbers_that_their_codes_say() {
        let codes: Vec<u8> = (0..48).map(|i| (i * 37 + 11) as u8).collect();
        for scales in [[104, 127, 143], [1, 121, 252]] {
            let expected: Vec<f32> =
                (0..96).map(|i| number(codes[i / 2] >> (i % 2 * 4) & 15, scales[i / 32])).collect();
            let blocks = to_blocks(&codes, &scales);
            assert_eq!(blocks.len(), 3 * BlockFormat::MXFP4.bytes());
            let mut numbers = vec![0.0; 96];
            BlockFormat::MXFP4.read(&blocks, &mut numbers);
            assert_eq!(numbers, expected);
        }
    }
}
