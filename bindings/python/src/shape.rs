//! [`Shape`]: the place and the form of rows of words, as the owners of memory describe it.

/// The shape of an array in bytes: address, rows, words of a row, bytes between rows and between words.
pub(crate) struct Shape {
    /// The address of the first word.
    pub(crate) address: usize,
    /// The number of rows.
    pub(crate) rows: usize,
    /// The words of a row.
    pub(crate) words: usize,
    /// The distance between two rows.
    pub(crate) row_bytes: isize,
    /// The distance between two words of a row.
    pub(crate) word_bytes: isize,
}
