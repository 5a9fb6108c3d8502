//! Weights asked from memory before they are needed.
//!
//! A part of a panel is multiplied with all rows, so that the memory would have nothing to do from the second
//! tile of rows on: each tile asks for its share of the part that comes next. Products of 4 to 16 rows with
//! matrices that no cache holds take 7 to 25% less time (Zen 3, one thread).

/// A cache line.
pub(crate) type Line = [u8; 64];

/// Asks for a line, into the second-level cache. Only x86-64 has a stable way to ask.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn prefetch(line: &Line) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint, which changes no memory and which no address makes fail. The
    // instruction is part of SSE, which every x86-64 processor has.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(line).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}
