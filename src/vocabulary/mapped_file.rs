//! Memory-mapped files.

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a file into memory for reading: a GGUF file holds gigabytes of weights after the few
/// megabytes that a vocabulary needs, checkpoints may be larger than memory, and an index need not
/// be copied to be checked.
#[allow(unsafe_code)]
pub(crate) fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is read-only; it is only ever seen as bytes, and every value of a byte is valid.
    // It lives no longer than the load that reads it, or, for a list of choices, as long as the list.
    // Indexes, checkpoints and lists are replaced by other files, never rewritten in place. Like every
    // program that maps model files, we rely on nobody else changing or truncating the file meanwhile.
    unsafe { Mmap::map(file) }
}
