//! The operations of integer products that `pulp::Simd` lacks, for each kind of processor.

use pulp::{Scalar, Simd, cast};

/// Registers of 32-bit lanes, each of one integer or of a pair of 16-bit ones.
pub(super) trait IntegerProducts: Simd {
    /// Adds in each lane both products of the pairs to a sum, which fits.
    fn add_products(self, sum: Self::u32s, a: Self::u32s, b: Self::u32s) -> Self::u32s;

    /// The differences of both integers of each lane.
    fn subtract_pairs(self, a: Self::u32s, b: Self::u32s) -> Self::u32s;

    /// In each lane the table's number for each byte, which is below 16.
    fn look_up(self, table: &[u8; 16], bytes: Self::u32s) -> Self::u32s;

    /// Signed integers to the nearest numbers in single precision.
    fn to_f32s(self, integers: Self::u32s) -> Self::f32s;

    /// Lanes without their lowest bits.
    fn shift_right<const BITS: u32>(self, a: Self::u32s) -> Self::u32s;
}

/// [`IntegerProducts::add_products`] of a lane.
#[inline(always)]
fn add_products(sum: u32, a: u32, b: u32) -> u32 {
    let low = i32::from(a as i16) * i32::from(b as i16);
    let high = (a as i32 >> 16) * (b as i32 >> 16);
    sum.wrapping_add(low as u32).wrapping_add(high as u32)
}

/// [`IntegerProducts::subtract_pairs`] of a lane.
#[inline(always)]
fn subtract_pair(a: u32, b: u32) -> u32 {
    let low = (a as u16).wrapping_sub(b as u16);
    let high = ((a >> 16) as u16).wrapping_sub((b >> 16) as u16);
    u32::from(low) | u32::from(high) << 16
}

/// [`IntegerProducts::look_up`] of a lane.
#[inline(always)]
fn look_up(table: &[u8; 16], bytes: u32) -> u32 {
    u32::from_le_bytes(bytes.to_le_bytes().map(|byte| table[usize::from(byte & 15)]))
}

impl IntegerProducts for Scalar {
    #[inline(always)]
    fn add_products(self, sum: u32, a: u32, b: u32) -> u32 {
        add_products(sum, a, b)
    }

    #[inline(always)]
    fn subtract_pairs(self, a: u32, b: u32) -> u32 {
        subtract_pair(a, b)
    }

    #[inline(always)]
    fn look_up(self, table: &[u8; 16], bytes: u32) -> u32 {
        look_up(table, bytes)
    }

    #[inline(always)]
    fn to_f32s(self, integers: u32) -> f32 {
        integers as i32 as f32
    }

    #[inline(always)]
    fn shift_right<const BITS: u32>(self, a: u32) -> u32 {
        a >> BITS
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod x86 {
    use pulp::x86::{V3, V4};
    use pulp::{f32x8, f32x16, u32x8, u32x16};

    use super::{IntegerProducts, cast};

    impl IntegerProducts for V3 {
        #[inline(always)]
        fn add_products(self, sum: u32x8, a: u32x8, b: u32x8) -> u32x8 {
            let products = self.avx2._mm256_madd_epi16(cast(a), cast(b));
            cast(self.avx2._mm256_add_epi32(cast(sum), products))
        }

        #[inline(always)]
        fn subtract_pairs(self, a: u32x8, b: u32x8) -> u32x8 {
            cast(self.avx2._mm256_sub_epi16(cast(a), cast(b)))
        }

        #[inline(always)]
        fn look_up(self, table: &[u8; 16], bytes: u32x8) -> u32x8 {
            cast(self.avx2._mm256_shuffle_epi8(cast([*table; 2]), cast(bytes)))
        }

        #[inline(always)]
        fn to_f32s(self, integers: u32x8) -> f32x8 {
            self.convert_i32x8_to_f32x8(cast(integers))
        }

        #[inline(always)]
        fn shift_right<const BITS: u32>(self, a: u32x8) -> u32x8 {
            // A register of counts that the compiler knows becomes an immediate.
            self.shr_dyn_u32x8(a, self.splat_u32x8(BITS))
        }
    }

    impl IntegerProducts for V4 {
        #[inline(always)]
        fn add_products(self, sum: u32x16, a: u32x16, b: u32x16) -> u32x16 {
            let products = self.avx512bw._mm512_madd_epi16(cast(a), cast(b));
            cast(self.avx512f._mm512_add_epi32(cast(sum), products))
        }

        #[inline(always)]
        fn subtract_pairs(self, a: u32x16, b: u32x16) -> u32x16 {
            cast(self.avx512bw._mm512_sub_epi16(cast(a), cast(b)))
        }

        #[inline(always)]
        fn look_up(self, table: &[u8; 16], bytes: u32x16) -> u32x16 {
            cast(self.avx512bw._mm512_shuffle_epi8(cast([*table; 4]), cast(bytes)))
        }

        #[inline(always)]
        fn to_f32s(self, integers: u32x16) -> f32x16 {
            self.convert_i32x16_to_f32x16(cast(integers))
        }

        #[inline(always)]
        fn shift_right<const BITS: u32>(self, a: u32x16) -> u32x16 {
            self.shr_const_u32x16::<BITS>(a)
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use std::array::from_fn;

    use pulp::aarch64::Neon;
    use pulp::{f32x4, u32x4};

    use super::{IntegerProducts, add_products, cast, look_up, subtract_pair};

    /// Lane by lane: the compiler makes registers of the arrays.
    impl IntegerProducts for Neon {
        #[inline(always)]
        fn add_products(self, sum: u32x4, a: u32x4, b: u32x4) -> u32x4 {
            let [sum, a, b]: [[u32; 4]; 3] = [cast(sum), cast(a), cast(b)];
            cast(from_fn::<_, 4, _>(|lane| add_products(sum[lane], a[lane], b[lane])))
        }

        #[inline(always)]
        fn subtract_pairs(self, a: u32x4, b: u32x4) -> u32x4 {
            let [a, b]: [[u32; 4]; 2] = [cast(a), cast(b)];
            cast(from_fn::<_, 4, _>(|lane| subtract_pair(a[lane], b[lane])))
        }

        #[inline(always)]
        fn look_up(self, table: &[u8; 16], bytes: u32x4) -> u32x4 {
            let bytes: [u32; 4] = cast(bytes);
            cast(bytes.map(|bytes| look_up(table, bytes)))
        }

        #[inline(always)]
        fn to_f32s(self, integers: u32x4) -> f32x4 {
            let integers: [i32; 4] = cast(integers);
            cast(integers.map(|integer| integer as f32))
        }

        #[inline(always)]
        fn shift_right<const BITS: u32>(self, a: u32x4) -> u32x4 {
            let a: [u32; 4] = cast(a);
            cast(a.map(|a| a >> BITS))
        }
    }
}
