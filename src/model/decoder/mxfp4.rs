//! MXFP4: 4-bit floating-point numbers in blocks of 32 with a power of two (Open Compute Project 2023,
//! "OCP Microscaling Formats (MX) Specification", section 5.4). gpt-oss stores its experts so.
//!
//! A code is a sign, two bits of exponent and one of mantissa: 0, ½, 1, 1½, 2, 3, 4, 6. Twice of that is a
//! whole number up to 12, which the 5-bit codes of `Q5_0` hold, too, with half the scale in half
//! precision: the weights stay packed (5.5 bits each) and are multiplied as the numbers that they stand
//! for, without rounding. Where a scale is outside of half precision, the matrix is unpacked to `f32`.

use half::f16;

/// Numbers of a block.
pub(super) const BLOCK: usize = 32;

/// Twice the number of each code.
const DOUBLED: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// The bytes of a block of `Q5_0`: scale, fifth bits, lower bits.
const Q5_0_BYTES: usize = 2 + 4 + 16;

/// Blocks of `Q5_0` with the same numbers. `codes` are 16 bytes a block, of which the lower half is the
/// earlier number; `scales` are exponents from −127 up. `None` where half a scale is no half-precision
/// number.
pub(super) fn to_q5_0(codes: &[u8], scales: &[u8]) -> Option<Vec<u8>> {
    let mut packed = Vec::with_capacity(scales.len() * Q5_0_BYTES);
    for (codes, scale) in codes.chunks_exact(BLOCK / 2).zip(scales) {
        let half_scale = f16::from_f32(power_of_two(i32::from(*scale) - 128));
        if !half_scale.is_finite() || half_scale == f16::ZERO {
            return None;
        }
        packed.extend_from_slice(&half_scale.to_le_bytes());
        let mut fifths: u32 = 0;
        let mut lower = [0_u8; BLOCK / 2];
        for (index, code) in nibbles(codes).enumerate() {
            // From −12 … 12 to 4 … 28.
            let shifted = (DOUBLED[code] + 16) as u8;
            fifths |= u32::from(shifted >> 4) << index;
            lower[index % 16] |= (shifted & 15) << (index / 16 * 4);
        }
        packed.extend_from_slice(&fifths.to_le_bytes());
        packed.extend_from_slice(&lower);
    }
    Some(packed)
}

/// The numbers.
pub(super) fn to_f32(codes: &[u8], scales: &[u8]) -> Vec<f32> {
    let block = |(codes, scale): (&[u8], &u8)| {
        let scale = power_of_two(i32::from(*scale) - 128);
        let numbers = nibbles(codes).map(|code| f32::from(DOUBLED[code]) * scale);
        numbers.collect::<Vec<f32>>()
    };
    codes.chunks_exact(BLOCK / 2).zip(scales).flat_map(block).collect()
}

/// The codes of a block, in order.
fn nibbles(codes: &[u8]) -> impl Iterator<Item = usize> {
    codes.iter().flat_map(|byte| [usize::from(byte & 15), usize::from(byte >> 4)])
}

/// A power of two from 2⁻¹²⁸ to 2¹²⁷.
fn power_of_two(exponent: i32) -> f32 {
    2.0_f64.powi(exponent) as f32
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
        for scales in [[104, 127, 143], [120, 121, 122]] {
            let expected: Vec<f32> =
                (0..96).map(|i| number(codes[i / 2] >> (i % 2 * 4) & 15, scales[i / 32])).collect();
            assert_eq!(to_f32(&codes, &scales), expected);
            let packed = to_q5_0(&codes, &scales).unwrap_or_default();
            let mut numbers = vec![0.0; 96];
            BlockFormat::Q5_0.read(&packed, &mut numbers);
            assert_eq!(numbers, expected);
        }
    }

    #[test]
    fn scales_outside_of_half_precision_are_unpacked() {
        let codes = [0x21; 16];
        for scale in [0, 103, 144, 254] {
            assert_eq!(to_q5_0(&codes, &[scale]), None);
        }
        assert_eq!(to_f32(&codes, &[200])[..2], [0.5 * 2.0_f32.powi(73), 2.0_f32.powi(73)]);
        assert_eq!(to_f32(&codes, &[0])[1], 2.0_f32.powi(-127));
    }
}
