//! Panels of quantised weights as pairs of 16-bit integers: a strategy for several rows.
//!
//! A single row uses each weight once, in the register in which it was [unpacked](super::product). Several rows use
//! each weight several times: a part of a panel is unpacked once for all of them, into the second-level cache, and
//! unpacking takes no registers from the products. Integers and scales are the same, and so are the bits of the
//! results.

use pulp::NullaryFnOnce;

use super::codes::Codes;
use super::integer_products::IntegerProducts;
use super::panels::QuantisedPanels;
use super::quantised_rows::{HALF, UNIT};
use crate::linear::PANEL;

/// 32 numbers of k of 16 columns.
#[derive(Clone)]
#[repr(align(64))]
pub(super) struct UnpackedUnit {
    /// Numbers less the one that stands for 0: (pairs of k, 16).
    pub(super) pairs: [[u32; PANEL]; HALF],
    /// The scales of its one or two groups.
    pub(super) scales: [[f32; PANEL]; 2],
    /// The offsets of its groups, if the format has some.
    pub(super) offsets: [[f32; PANEL]; 2],
}

impl Default for UnpackedUnit {
    fn default() -> Self {
        Self { pairs: [[0; PANEL]; HALF], scales: [[0.0; PANEL]; 2], offsets: [[0.0; PANEL]; 2] }
    }
}

/// Writes the units of a panel from the unit `from` on.
#[inline(always)]
pub(super) fn unpack<S: IntegerProducts, const N: usize>(
    simd: S,
    panels: &QuantisedPanels,
    panel: usize,
    from: usize,
    units: &mut [UnpackedUnit],
) {
    macro_rules! unpack {
        ($low:literal, $high:literal, $has_table:literal) => {
            simd.vectorize(Unpack::<S, N, $low, $high, $has_table> {
                simd,
                panels,
                panel,
                from,
                units,
            })
        };
    }
    match (panels.format.bits(), panels.format.table()) {
        (_, Some(_)) => unpack!(4, 0, true),
        ((8, _), _) => unpack!(8, 0, false),
        ((4, 0), _) => unpack!(4, 0, false),
        ((4, 1), _) => unpack!(4, 1, false),
        ((4, _), _) => unpack!(4, 2, false),
        ((_, 0), _) => unpack!(2, 0, false),
        ((_, _), _) => unpack!(2, 1, false),
    }
}

struct Unpack<'a, S, const N: usize, const LOW: u32, const HIGH: u32, const HAS_TABLE: bool> {
    simd: S,
    panels: &'a QuantisedPanels,
    panel: usize,
    from: usize,
    units: &'a mut [UnpackedUnit],
}

/// Loops, because closures with many instructions of a register are not inlined.
impl<S: IntegerProducts, const N: usize, const LOW: u32, const HIGH: u32, const HAS_TABLE: bool>
    NullaryFnOnce for Unpack<'_, S, N, LOW, HIGH, HAS_TABLE>
{
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { simd, panels, panel, from, units } = self;
        let format = panels.format;
        let codes = Codes::<S, LOW, HIGH, HAS_TABLE>::new(simd, format.table().unwrap_or(&[0; 16]));
        let pairs = Codes::<S, LOW, HIGH, HAS_TABLE>::PAIRS;
        let zero = simd.splat_u32s((format.zero() | format.zero() << 16) as u32);
        let bits = (LOW + HIGH) as usize;
        let (units_of_block, groups) = (format.weights() / UNIT, UNIT / format.group());
        let words = &panels.words[(panel * (panels.k / UNIT) + from) * bits..];
        for ((unit, to), words) in (from..).zip(units).zip(words.chunks_exact(bits)) {
            for (word, to) in to.pairs.chunks_exact_mut(pairs).enumerate() {
                for n in 0..N {
                    let mut low = S::as_simd_u32s(&words[word]).0[n];
                    let mut high = codes.high(words, word, n);
                    for to in to.iter_mut() {
                        let numbers = codes.numbers(low, high);
                        S::as_mut_simd_u32s(to).0[n] = simd.subtract_pairs(numbers, zero);
                        (low, high) = codes.next(low, high);
                    }
                }
            }
            let block = panels.block_scales(panel, unit / units_of_block);
            for group in 0..groups {
                let index = unit * groups + group;
                to.scales[group] = panels.group_scale(panel, index, &block);
                if format.has_offset() {
                    to.offsets[group] = panels.group_offset(panel, index, &block);
                }
            }
        }
    }
}
