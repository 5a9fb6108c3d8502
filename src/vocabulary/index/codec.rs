//! Encoding of an index's content: little-endian numbers of fixed width, and lists of them with
//! their length in front.
//!
//! ```text
//! number u16 0x0102        02 01
//! list   [3_u16, 4_u16]    02 00 00 00 00 00 00 00  03 00  04 00
//! bytes  "ab"              02 00 00 00 00 00 00 00  61 62
//! ```
//!
//! There are no type tags: [`IndexReader`] must ask for what [`IndexWriter`] wrote, in the same
//! order. Reading never allocates for a length that the input does not hold.

/// A number of fixed width.
pub(crate) trait FixedWidth: Copy {
    /// Width in bytes.
    const WIDTH: usize;
    /// Appends the number.
    fn put(self, bytes: &mut Vec<u8>);
    /// Reads the number from exactly [`WIDTH`](Self::WIDTH) bytes.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! fixed_width {
    ($($number:ty),*) => {$(
        impl FixedWidth for $number {
            const WIDTH: usize = size_of::<Self>();

            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn get(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<Self>()];
                own.copy_from_slice(bytes);
                Self::from_le_bytes(own)
            }
        }
    )*};
}

fixed_width!(u8, u16, u32, u64);

/// The content of an index while it is written.
#[derive(Debug, Default)]
pub(crate) struct IndexWriter {
    bytes: Vec<u8>,
}

impl IndexWriter {
    /// A writer that leaves room for a header of this length.
    pub(super) fn after_header(length: usize) -> Self {
        Self { bytes: vec![0; length] }
    }

    /// The header's room and everything written after it.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Writes one number.
    pub(crate) fn number(&mut self, number: impl FixedWidth) {
        number.put(&mut self.bytes);
    }

    /// Writes the length as `u64`, then the numbers.
    pub(crate) fn list<T: FixedWidth>(&mut self, numbers: impl ExactSizeIterator<Item = T>) {
        self.number(numbers.len() as u64);
        self.bytes.reserve(numbers.len() * T::WIDTH);
        numbers.for_each(|number| number.put(&mut self.bytes));
    }

    /// Writes the length as `u64`, then the bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// A reader of what was written so far.
    #[cfg(test)]
    pub(crate) fn reader(&self) -> IndexReader<'_> {
        IndexReader { bytes: &self.bytes }
    }
}

/// The content of an index, read from front to back. Every method returns `None` where the content
/// ends too early.
#[derive(Debug)]
pub(crate) struct IndexReader<'a> {
    bytes: &'a [u8],
}

impl<'a> IndexReader<'a> {
    /// A reader of these bytes.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Whether everything was read.
    pub(super) fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    /// Reads one number.
    pub(crate) fn number<T: FixedWidth>(&mut self) -> Option<T> {
        self.take(T::WIDTH).map(T::get)
    }

    /// Reads numbers that [`IndexWriter::list`] has written.
    pub(crate) fn list<T: FixedWidth>(
        &mut self,
    ) -> Option<impl ExactSizeIterator<Item = T> + use<'a, T>> {
        let length = usize::try_from(self.number::<u64>()?).ok()?;
        let bytes = self.take(length.checked_mul(T::WIDTH)?)?;
        Some(bytes.chunks_exact(T::WIDTH).map(T::get))
    }

    /// Reads bytes that [`IndexWriter::bytes`] has written.
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number::<u64>()?).ok()?;
        self.take(length)
    }
}
