//! Memory-mapped files.

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a file into memory for reading: a GGUF file holds gigabytes of weights after the few
/// megabytes that a vocabulary needs, checkpoints may be larger than memory, and an index need not
/// be copied to be checked.
#[allow(unsafe_code)]
pub(crate) fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is read-only and lives no longer than the load that reads it; it is only ever
    // seen as bytes, and every value of a byte is valid. Indexes and checkpoints are replaced by
    // other files, never rewritten in place. Like every program that maps model files, we rely on
    // nobody else changing or truncating the file meanwhile.
    unsafe { Mmap::map(file) }
}
