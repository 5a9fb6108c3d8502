//! Products of [quantised rows](super::quantised_rows) with quantised panels, in integers.
//!
//! The codes of a group of 16 or 32 weights are multiplied with the integers of the row as they are, two at a
//! time, and their sum is exact. Only then it becomes a number in single precision, and scales come in:
//!
//! ```text
//! group     i = Σ (code − zero) · q                                  exact, 32 bits
//! unit      part = i · scale + Σq · offset [+ the second group]      one rounding each
//! row       sum = part · scale of the row's unit + sum               units in ascending order
//! ```
//!
//! *No sum overflows.* |q| ≤ 32767, 0 ≤ code ≤ 255, 0 ≤ zero ≤ 128, and a group has at most 32 weights: no
//! partial sum is beyond 32 · 32767 · (255 + 128) < 2²⁹. A pair of codes as 16-bit integers is not negative.
//!
//! *Invariant: batch invariance.* Integer sums are the same in any order, and what is rounded is rounded in one
//! order, by operations that all processors have: a row's result has the same bits alone, among others, and with
//! registers of any length.

use std::array::from_fn;
use std::hint::black_box;

use pulp::{Arch, NullaryFnOnce, Scalar};

use super::codes::Codes;
use super::integer_products::IntegerProducts;
use super::panels::{QuantisedPanels, QuantisedSlice};
use super::quantised_rows::{HALF, QuantisedActivations, UNIT};
use super::unpacked::{UnpackedUnit, unpack};
use crate::linear::PANEL;

/// Rows from which on weights are unpacked for all of them.
const UNPACKED_ROWS: usize = 3;

/// Units that are unpacked at a time: 1024 numbers of k, which take 40 KiB of the second-level cache.
const UNPACKED_UNITS: usize = 16;

/// The product of some rows with some panels.
pub(crate) struct QuantisedTask<'a> {
    /// (rows, k / 32).
    pub(crate) x: &'a [QuantisedActivations],
    pub(crate) panels: QuantisedSlice<'a>,
    /// A part of each row.
    pub(crate) y: Vec<&'a mut [f32]>,
}

impl QuantisedTask<'_> {
    /// Writes the product with the registers of a kind of processor.
    pub(crate) fn run(self, arch: Arch) {
        match arch {
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Arch::V4(simd) => self.run_with::<_, 1, 2>(simd),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Arch::V3(simd) => self.run_with::<_, 2, 2>(simd),
            #[cfg(target_arch = "aarch64")]
            Arch::Neon(simd) => self.run_with::<_, 4, 1>(simd),
            _ => self.run_with::<_, 16, 1>(Scalar),
        }
    }

    /// All tiles. A panel has `N` registers; `P` panels are multiplied together with a single row.
    #[inline(always)]
    fn run_with<S: IntegerProducts, const N: usize, const P: usize>(mut self, simd: S) {
        let units = self.panels.panels.k / UNIT;
        let rows = self.x.len() / units;
        let panels = self.y.first().map_or(0, |row| row.len().div_ceil(PANEL));
        if rows < UNPACKED_ROWS {
            for row in 0..rows {
                let mut panel = 0;
                while panel < panels {
                    panel += if panels - panel >= P {
                        self.packed::<S, N, P>(simd, panel, row)
                    } else {
                        self.packed::<S, N, 1>(simd, panel, row)
                    };
                }
            }
            return;
        }
        let mut unpacked = vec![UnpackedUnit::default(); UNPACKED_UNITS.min(units)];
        for panel in 0..panels {
            for from in (0..units).step_by(UNPACKED_UNITS) {
                let part = &mut unpacked[..UNPACKED_UNITS.min(units - from)];
                unpack::<S, N>(simd, self.panels.panels, self.panels.from + panel, from, part);
                let mut row = 0;
                while row < rows {
                    row += match rows - row {
                        6.. => self.unpacked::<S, N, 6>(simd, part, from, panel, row),
                        4.. => self.unpacked::<S, N, 4>(simd, part, from, panel, row),
                        2.. => self.unpacked::<S, N, 2>(simd, part, from, panel, row),
                        _ => self.unpacked::<S, N, 1>(simd, part, from, panel, row),
                    };
                }
            }
        }
    }

    /// Writes the products of a row with the `P` panels from `panel` on. Returns `P`.
    #[inline(always)]
    fn packed<S: IntegerProducts, const N: usize, const P: usize>(
        &mut self,
        simd: S,
        panel: usize,
        row: usize,
    ) -> usize {
        let QuantisedSlice { panels, from } = self.panels;
        let units = panels.k / UNIT;
        let x = &self.x[row * units..][..units];
        let mut y = [[0.0; PANEL]; P];
        macro_rules! multiply {
            ($low:literal, $high:literal, $has_table:literal) => {
                simd.vectorize(OneRow::<S, N, P, $low, $high, $has_table> {
                    simd,
                    panels,
                    panel: from + panel,
                    x,
                    y: &mut y,
                })
            };
        }
        match (panels.format.bits(), panels.format.table()) {
            (_, Some(_)) => multiply!(4, 0, true),
            ((8, _), _) => multiply!(8, 0, false),
            ((4, 0), _) => multiply!(4, 0, false),
            ((4, 1), _) => multiply!(4, 1, false),
            ((4, _), _) => multiply!(4, 2, false),
            ((_, 0), _) => multiply!(2, 0, false),
            ((_, _), _) => multiply!(2, 1, false),
        }
        for (p, y) in y.iter().enumerate() {
            let place = &mut self.y[row][(panel + p) * PANEL..];
            let n = PANEL.min(place.len());
            place[..n].copy_from_slice(&y[..n]);
        }
        P
    }

    /// Adds the products of the `R` rows from `row` on with the units of a panel from the unit `from` on. Returns
    /// `R`.
    #[inline(always)]
    fn unpacked<S: IntegerProducts, const N: usize, const R: usize>(
        &mut self,
        simd: S,
        unpacked: &[UnpackedUnit],
        from: usize,
        panel: usize,
        row: usize,
    ) -> usize {
        let panels = self.panels.panels;
        let units = panels.k / UNIT;
        let x = from_fn(|r| &self.x[(row + r) * units + from..][..unpacked.len()]);
        let places = &mut self.y[row..row + R];
        let column = panel * PANEL;
        let n = PANEL.min(places[0].len() - column);
        let mut y = [[0.0; PANEL]; R];
        if from > 0 {
            for (y, place) in y.iter_mut().zip(&*places) {
                y[..n].copy_from_slice(&place[column..][..n]);
            }
        }
        macro_rules! multiply {
            ($groups:literal, $has_offset:literal) => {
                simd.vectorize(SeveralRows::<S, N, R, $groups, $has_offset> {
                    simd,
                    unpacked,
                    x,
                    y: &mut y,
                })
            };
        }
        match (UNIT / panels.format.group(), panels.format.has_offset()) {
            (1, false) => multiply!(1, false),
            (1, true) => multiply!(1, true),
            (_, false) => multiply!(2, false),
            (_, true) => multiply!(2, true),
        }
        for (y, place) in y.iter().zip(places) {
            place[column..][..n].copy_from_slice(&y[..n]);
        }
        R
    }
}

/// The product of a row with `P` panels of `N` registers.
struct OneRow<
    'a,
    S,
    const N: usize,
    const P: usize,
    const LOW: u32,
    const HIGH: u32,
    const HAS_TABLE: bool,
> {
    simd: S,
    panels: &'a QuantisedPanels,
    panel: usize,
    x: &'a [QuantisedActivations],
    y: &'a mut [[f32; PANEL]; P],
}

/// Loops, because closures with many instructions of a register are not inlined.
impl<
    S: IntegerProducts,
    const N: usize,
    const P: usize,
    const LOW: u32,
    const HIGH: u32,
    const HAS_TABLE: bool,
> NullaryFnOnce for OneRow<'_, S, N, P, LOW, HIGH, HAS_TABLE>
{
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { simd, panels, panel, x, y } = self;
        let format = panels.format;
        let codes = Codes::<S, LOW, HIGH, HAS_TABLE>::new(simd, format.table().unwrap_or(&[0; 16]));
        let (bits, units) = ((LOW + HIGH) as usize, panels.k / UNIT);
        let words: [&[[u32; PANEL]]; P] =
            from_fn(|p| &panels.words[(panel + p) * units * bits..][..units * bits]);
        let (units_of_block, groups) = (format.weights() / UNIT, UNIT / format.group());
        let words_of_group = LOW as usize / groups;
        let (zero, has_offset) = (format.zero(), format.has_offset());
        let none = simd.splat_f32s(0.0);
        let mut sums = [[none; N]; P];
        for (block, x) in x.chunks_exact(units_of_block).enumerate() {
            let block_scales: [_; P] = from_fn(|p| panels.block_scales(panel + p, block));
            for (unit, x) in (block * units_of_block..).zip(x) {
                let words: [&[[u32; PANEL]]; P] =
                    from_fn(|p| &words[p][unit * bits..(unit + 1) * bits]);
                let mut parts = [[none; N]; P];
                for group in 0..groups {
                    let of_row = x.sum(group, groups);
                    let correction = simd.splat_u32s((-zero * of_row) as u32);
                    let mut integers = [[correction; N]; P];
                    for word in group * words_of_group..(group + 1) * words_of_group {
                        add_word(simd, &codes, words, x, word, &mut integers);
                    }
                    for p in 0..P {
                        let index = unit * groups + group;
                        let scale = panels.group_scale(panel + p, index, &block_scales[p]);
                        add_scaled(simd, group, &integers[p], &scale, &mut parts[p]);
                        if has_offset {
                            let offset = panels.group_offset(panel + p, index, &block_scales[p]);
                            add_offset(simd, of_row, &offset, &mut parts[p]);
                        }
                    }
                }
                let scale = simd.splat_f32s(x.scale);
                for p in 0..P {
                    for n in 0..N {
                        sums[p][n] = simd.mul_add_f32s(parts[p][n], scale, sums[p][n]);
                    }
                }
            }
        }
        for (y, sums) in y.iter_mut().zip(&sums) {
            S::as_mut_simd_f32s(y).0.copy_from_slice(sums);
        }
    }
}

/// Adds the products of a row with the codes of a word of lower bits.
#[inline(always)]
fn add_word<
    S: IntegerProducts,
    const N: usize,
    const P: usize,
    const LOW: u32,
    const HIGH: u32,
    const HAS_TABLE: bool,
>(
    simd: S,
    codes: &Codes<'_, S, LOW, HIGH, HAS_TABLE>,
    words: [&[[u32; PANEL]]; P],
    x: &QuantisedActivations,
    word: usize,
    integers: &mut [[S::u32s; N]; P],
) {
    let pairs = Codes::<S, LOW, HIGH, HAS_TABLE>::PAIRS;
    let none = simd.splat_u32s(0);
    let (mut low, mut high) = ([[none; N]; P], [[none; N]; P]);
    for p in 0..P {
        for n in 0..N {
            low[p][n] = S::as_simd_u32s(&words[p][word]).0[n];
            high[p][n] = codes.high(words[p], word, n);
        }
    }
    for x in &x.pairs[word * pairs..(word + 1) * pairs] {
        let x = simd.splat_u32s(*x);
        for p in 0..P {
            for n in 0..N {
                let weights = codes.numbers(low[p][n], high[p][n]);
                integers[p][n] = simd.add_products(integers[p][n], weights, x);
                (low[p][n], high[p][n]) = codes.next(low[p][n], high[p][n]);
            }
        }
    }
}

/// Adds the integers of a group, times its scale, to a unit's part of a sum, which the first begins.
#[inline(always)]
fn add_scaled<S: IntegerProducts, const N: usize>(
    simd: S,
    group: usize,
    integers: &[S::u32s; N],
    scale: &[f32; PANEL],
    part: &mut [S::f32s; N],
) {
    let scale = S::as_simd_f32s(scale).0;
    for n in 0..N {
        let number = simd.to_f32s(integers[n]);
        part[n] = match group {
            0 => simd.mul_f32s(number, scale[n]),
            _ => simd.mul_add_f32s(number, scale[n], part[n]),
        };
    }
}

/// Adds the sum of a row's integers in a group, times the group's offset, to a unit's part of a sum.
#[inline(always)]
fn add_offset<S: IntegerProducts, const N: usize>(
    simd: S,
    of_row: i32,
    offset: &[f32; PANEL],
    part: &mut [S::f32s; N],
) {
    let offset = S::as_simd_f32s(offset).0;
    let of_row = simd.splat_f32s(of_row as f32);
    for n in 0..N {
        part[n] = simd.mul_add_f32s(of_row, offset[n], part[n]);
    }
}

/// The products of `R` rows with some units of a panel of `N` registers, in so many groups each, to be added to
/// `y`.
struct SeveralRows<
    'a,
    S,
    const N: usize,
    const R: usize,
    const GROUPS: usize,
    const HAS_OFFSET: bool,
> {
    simd: S,
    unpacked: &'a [UnpackedUnit],
    x: [&'a [QuantisedActivations]; R],
    y: &'a mut [[f32; PANEL]; R],
}

impl<
    S: IntegerProducts,
    const N: usize,
    const R: usize,
    const GROUPS: usize,
    const HAS_OFFSET: bool,
> NullaryFnOnce for SeveralRows<'_, S, N, R, GROUPS, HAS_OFFSET>
{
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { simd, unpacked, x, y } = self;
        // Hidden from the compiler, which would unroll the loop and run out of registers.
        let pairs = black_box(HALF / GROUPS);
        let x: [&[QuantisedActivations]; R] = from_fn(|r| &x[r][..unpacked.len()]);
        for (index, unit) in unpacked.iter().enumerate() {
            let x: [&QuantisedActivations; R] = from_fn(|r| &x[r][index]);
            let mut parts = [[simd.splat_f32s(0.0); N]; R];
            for group in 0..GROUPS {
                let part = group * pairs..(group + 1) * pairs;
                let weights = &unit.pairs[part.clone()];
                let pairs: [&[u32]; R] = from_fn(|r| &x[r].pairs[part.clone()][..weights.len()]);
                let mut integers = [[simd.splat_u32s(0); N]; R];
                for (pair, weights) in weights.iter().enumerate() {
                    let weights = S::as_simd_u32s(weights).0;
                    for r in 0..R {
                        let x = simd.splat_u32s(pairs[r][pair]);
                        for n in 0..N {
                            integers[r][n] = simd.add_products(integers[r][n], weights[n], x);
                        }
                    }
                }
                for r in 0..R {
                    add_scaled(simd, group, &integers[r], &unit.scales[group], &mut parts[r]);
                    if HAS_OFFSET {
                        let of_row = x[r].sum(group, GROUPS);
                        add_offset(simd, of_row, &unit.offsets[group], &mut parts[r]);
                    }
                }
            }
            for r in 0..R {
                let scale = simd.splat_f32s(x[r].scale);
                let sums = S::as_mut_simd_f32s(&mut y[r]).0;
                for n in 0..N {
                    sums[n] = simd.mul_add_f32s(parts[r][n], scale, sums[n]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::{PackedWeights, WeightSlice, linear};
    use crate::quantised::{BlockFormat, quantise_rows};
    use crate::random::Random;

    /// Blocks of random bytes, without infinities among the half-precision numbers, wherever they lie.
    fn blocks(format: BlockFormat, count: usize, random: &mut Random) -> Vec<u8> {
        let mut bytes = random.bytes(count * format.bytes());
        bytes.iter_mut().for_each(|byte| *byte &= 0xbf);
        bytes
    }

    /// The offset of a weight.
    fn offset_of(panels: &QuantisedPanels, column: usize, k: usize) -> f64 {
        if !panels.format.has_offset() {
            return 0.0;
        }
        let block = panels.block_scales(column / PANEL, k / panels.format.weights());
        let group = k / panels.format.group();
        f64::from(panels.group_offset(column / PANEL, group, &block)[column % PANEL])
    }

    /// Random weights of a format: as numbers, packed, and in panels.
    struct TestWeights {
        /// Weights of a column.
        k: usize,
        wide: Vec<f32>,
        packed: PackedWeights,
        panels: QuantisedPanels,
    }

    impl TestWeights {
        fn new(format: BlockFormat, count: usize, columns: usize, random: &mut Random) -> Self {
            let k = count * format.weights();
            let bytes = blocks(format, columns * count, random);
            let mut wide = vec![0.0; columns * k];
            format.read(&bytes, &mut wide);
            let packed = PackedWeights::new(WeightSlice::Blocks(format, &bytes), k);
            Self { k, wide, packed, panels: QuantisedPanels::new(format, &bytes, k) }
        }
    }

    #[test]
    fn packed_weights_are_the_numbers_of_their_blocks() {
        for format in BlockFormat::ALL {
            for (count, columns) in [(1, 3), (3, 37), (70, 16)] {
                let TestWeights { k, wide, packed, .. } =
                    TestWeights::new(format, count, columns, &mut Random(7));
                assert_eq!((packed.columns(), packed.k()), (columns, k));
                let mut row = vec![0.0; k];
                for (column, expected) in wide.chunks_exact(k).enumerate() {
                    packed.read(column, &mut row);
                    assert_eq!(row, expected, "{format:?}");
                }
            }
        }
    }

    #[test]
    fn products_are_the_exact_ones_within_the_steps_of_rounding() {
        for format in BlockFormat::ALL {
            for (count, columns) in [(1, 3), (3, 37), (9, 80)] {
                let mut random = Random(8);
                let TestWeights { k, wide: w, packed, panels } =
                    TestWeights::new(format, count, columns, &mut random);
                let x = random.numbers(7 * k);
                let y = linear(&x, &packed);
                for (row, x) in x.chunks_exact(k).enumerate() {
                    for (column, w) in w.chunks_exact(k).enumerate() {
                        let (mut exact, mut steps, mut amounts) = (0.0, 0.0, 0.0);
                        for (unit, (x, w)) in x.chunks(UNIT).zip(w.chunks(UNIT)).enumerate() {
                            let greatest =
                                x.iter().fold(0.0, |greatest: f32, x| greatest.max(x.abs()));
                            let greatest = f64::from(greatest);
                            for (k, (x, w)) in (unit * UNIT..).zip(x.iter().zip(w)) {
                                let (x, w) = (f64::from(*x), f64::from(*w));
                                exact += x * w;
                                steps += greatest / 32767.0 * w.abs();
                                // Products of codes and sums of offsets may cancel.
                                let offset = offset_of(&panels, column, k).abs();
                                amounts += greatest * (w.abs() + 2.0 * offset);
                            }
                        }
                        // Half a step for each weight, at most 8 roundings of a unit, and one of the sum after it.
                        let roundings = (8 + k / UNIT) as f64;
                        let bound = 0.505 * steps + amounts * roundings * 2_f64.powi(-24);
                        let error = (f64::from(y[row * columns + column]) - exact).abs();
                        assert!(error <= bound, "{format:?} {k} {row} {column}: {error} {bound}");
                    }
                }
            }
        }
    }

    #[test]
    fn rows_are_the_same_bits_alone_and_together_and_on_all_processors() {
        for format in BlockFormat::ALL {
            for (count, columns) in [(1, 3), (3, 37), (40, 52)] {
                let mut random = Random(9);
                let TestWeights { k, packed, panels, .. } =
                    TestWeights::new(format, count, columns, &mut random);
                let x = random.numbers(270 * k);
                let all = linear(&x, &packed);
                for (row, x) in x.chunks_exact(k).enumerate() {
                    assert_eq!(linear(x, &packed), all[row * columns..][..columns], "{format:?}");
                }
                for rows in [1, 2, 3, 5, 6, 7, 13] {
                    let x = &x[..rows * k];
                    assert_eq!(linear(x, &packed), all[..rows * columns], "{format:?} {rows}");
                    let (quantised, mut y) = (quantise_rows(x), vec![0.0; rows * columns]);
                    let places = y.chunks_mut(columns).collect();
                    let task = QuantisedTask { x: &quantised, panels: panels.slice(0), y: places };
                    task.run(Arch::Scalar);
                    assert_eq!(y, all[..rows * columns], "{format:?} {rows}, scalar");
                }
            }
        }
    }

    #[test]
    fn nan_reaches_the_results() {
        let bytes = blocks(BlockFormat::Q4_K, 5, &mut Random(10));
        let packed = PackedWeights::new(WeightSlice::Blocks(BlockFormat::Q4_K, &bytes), 256);
        let mut x = vec![1.0; 512];
        x[300] = f32::NAN;
        let y = linear(&x, &packed);
        assert!(y[..5].iter().all(|y| y.is_finite()) && y[5..].iter().all(|y| y.is_nan()));
    }

    #[test]
    fn the_greatest_sums_fit() {
        // All codes and all integers are the greatest that there are.
        let mut bytes = vec![0xff; BlockFormat::Q8_0.bytes()];
        bytes[..2].copy_from_slice(&[0x00, 0x3c]);
        bytes[2..].fill(0x80);
        let packed = PackedWeights::new(WeightSlice::Blocks(BlockFormat::Q8_0, &bytes), 32);
        assert_eq!(linear(&[-1.0; 32], &packed), [32.0 * 128.0]);
    }
}
