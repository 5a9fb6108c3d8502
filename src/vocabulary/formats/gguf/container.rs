//! The container of GGUF: header, metadata, and the directory of tensors.
//!
//! llama.cpp's format (`docs/gguf.md` in ggml-org/ggml), versions 2 and 3, little-endian: magic, version,
//! number of tensors, number of entries, then each entry as a key, the number of a type and a value, then
//! for each tensor its name, its dimensions, the number of a type and the offset of its data.
//!
//! Values borrow from the file. A length in it is compared with what is left before anything is allocated
//! for it.

use rustc_hash::FxHashSet;

use crate::error::{Error, ErrorKind, Result};

/// Deepest nesting of arrays that is read; no known file has more than one level.
const MAX_DEPTH: u32 = 4;

/// A value of the metadata. Integers and floats of all widths are widened to one variant each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum GgufValue<'a> {
    /// An integer of any width that fits.
    Integer(i64),
    /// A 64-bit integer beyond `i64`.
    Large(u64),
    /// A float of 32 or 64 bits.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// A string; by the format UTF-8, which is not checked.
    String(&'a [u8]),
    /// An array of values of one type.
    Array(GgufArray<'a>),
}

/// An array, its elements still encoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GgufArray<'a> {
    element: u32,
    len: u64,
    bytes: &'a [u8],
}

impl<'a> GgufArray<'a> {
    /// The elements. They were walked once when the file was read, so every one is there.
    pub(crate) fn iter(&self) -> impl Iterator<Item = GgufValue<'a>> + use<'a> {
        let mut cursor = GgufCursor { bytes: self.bytes, at: 0 };
        let element = self.element;
        (0..self.len).map_while(move |_| cursor.value(element, 0).ok())
    }
}

/// Whether a file begins with GGUF's magic.
pub(crate) fn is_gguf(start: &[u8]) -> bool {
    start.starts_with(b"GGUF")
}

/// The metadata of a file.
#[derive(Debug)]
pub(crate) struct GgufMetadata<'a> {
    entries: Vec<(&'a [u8], GgufValue<'a>)>,
    /// Header and metadata, in bytes from the file's start.
    pub(crate) length: usize,
}

impl<'a> GgufMetadata<'a> {
    /// Reads header and metadata; what follows them may be missing.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self> {
        if bytes.is_empty() {
            return Err(error("the file is empty").with_help("get a complete copy of the file"));
        }
        let mut cursor = GgufCursor { bytes, at: 0 };
        if !is_gguf(cursor.take(4)?) {
            return Err(error("not a GGUF file").at_byte(0));
        }
        let version = cursor.u32()?;
        if !(2..=3).contains(&version) {
            let big_endian = (2..=3).contains(&version.swap_bytes());
            let message = if big_endian {
                "the GGUF file is big-endian".to_owned()
            } else {
                format!("GGUF version {version} is not known")
            };
            let help = "versions 2 and 3, little-endian, are read";
            return Err(error(message).at_byte(4).with_help(help));
        }
        let _tensors = cursor.u64()?;
        let count = cursor.u64()?;
        let mut entries = Vec::new();
        let mut keys = FxHashSet::default();
        for _ in 0..count {
            let (at, key) = (cursor.at, cursor.string()?);
            if !keys.insert(key) {
                let message = format!(
                    "the GGUF file is damaged: `{}` is there twice",
                    String::from_utf8_lossy(key)
                );
                return Err(error(message)
                    .at_byte(at)
                    .with_help("get a complete copy of the file"));
            }
            let kind = cursor.u32()?;
            entries.push((key, cursor.value(kind, 0)?));
        }
        Ok(Self { entries, length: cursor.at })
    }

    /// All entries, in the file's order.
    #[cfg(feature = "model")]
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a [u8], GgufValue<'a>)> {
        self.entries.iter().copied()
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<GgufValue<'a>> {
        self.entries.iter().find(|(k, _)| *k == key.as_bytes()).map(|&(_, value)| value)
    }

    pub(crate) fn id(&self, key: &str) -> Option<u32> {
        match self.get(key)? {
            GgufValue::Integer(id) => u32::try_from(id).ok(),
            _ => None,
        }
    }

    pub(crate) fn array(&self, key: &str) -> Option<GgufArray<'a>> {
        match self.get(key)? {
            GgufValue::Array(array) => Some(array),
            _ => None,
        }
    }
}

/// A position in the file.
struct GgufCursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> GgufCursor<'a> {
    fn take(&mut self, len: u64) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        match usize::try_from(len).ok().and_then(|len| rest.get(..len)) {
            Some(taken) => {
                self.at += taken.len();
                Ok(taken)
            }
            None => {
                let message = format!(
                    "the GGUF file is damaged: {len} bytes are announced, {} are left",
                    rest.len()
                );
                Err(error(message).at_byte(self.at).with_help("get a complete copy of the file"))
            }
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn string(&mut self) -> Result<&'a [u8]> {
        let len = self.u64()?;
        self.take(len)
    }

    fn value(&mut self, kind: u32, depth: u32) -> Result<GgufValue<'a>> {
        Ok(match kind {
            0 => GgufValue::Integer(i64::from(u8::from_le_bytes(self.array()?))),
            1 => GgufValue::Integer(i64::from(i8::from_le_bytes(self.array()?))),
            2 => GgufValue::Integer(i64::from(u16::from_le_bytes(self.array()?))),
            3 => GgufValue::Integer(i64::from(i16::from_le_bytes(self.array()?))),
            4 => GgufValue::Integer(i64::from(self.u32()?)),
            5 => GgufValue::Integer(i64::from(i32::from_le_bytes(self.array()?))),
            6 => GgufValue::Float(f64::from(f32::from_le_bytes(self.array()?))),
            7 => GgufValue::Bool(self.take(1)? != [0]),
            8 => GgufValue::String(self.string()?),
            9 => {
                let (element, len) = (self.u32()?, self.u64()?);
                let start = self.at;
                self.skip(element, len, depth + 1)?;
                GgufValue::Array(GgufArray { element, len, bytes: &self.bytes[start..self.at] })
            }
            10 => {
                let value = self.u64()?;
                i64::try_from(value).map_or(GgufValue::Large(value), GgufValue::Integer)
            }
            11 => GgufValue::Integer(i64::from_le_bytes(self.array()?)),
            12 => GgufValue::Float(f64::from_le_bytes(self.array()?)),
            _ => return Err(self.unknown_type(kind)),
        })
    }

    /// Skips the elements of an array. Each takes at least one byte, so the file bounds the work.
    fn skip(&mut self, element: u32, len: u64, depth: u32) -> Result<()> {
        let size = match element {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 => 8,
            8 | 9 if depth <= MAX_DEPTH => {
                return (0..len).try_for_each(|_| self.value(element, depth).map(drop));
            }
            9 => return Err(error("arrays are nested too deeply").at_byte(self.at)),
            _ => return Err(self.unknown_type(element)),
        };
        self.take(len.saturating_mul(size)).map(drop)
    }

    fn unknown_type(&self, kind: u32) -> Error {
        error(format!("the GGUF file is damaged: {kind} is no type of a value")).at_byte(self.at)
    }
}

fn error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Vocabulary, message)
}

/// The directory of tensors, which follows the metadata.
#[cfg(feature = "model")]
pub(crate) mod directory {
    use super::{GgufCursor, GgufMetadata, error};
    use crate::error::Result;

    /// Greatest number of dimensions of a tensor (`GGML_MAX_DIMS`).
    const MAX_DIMENSIONS: u32 = 4;

    /// The number of tensors in the header, in bytes from the file's start.
    const COUNT: usize = 8;

    /// An entry of the directory of tensors.
    #[derive(Debug)]
    pub(crate) struct GgufTensor<'a> {
        /// By the format UTF-8, which is not checked.
        pub(crate) name: &'a [u8],
        /// The dimensions, the one whose numbers lie side by side first.
        pub(crate) shape: Vec<u64>,
        /// The number of ggml's type.
        pub(crate) kind: u32,
        /// The place of the data, from the start of the part with data.
        pub(crate) offset: u64,
    }

    /// The entries, and the place of the directory's end.
    pub(crate) fn tensors<'a>(
        bytes: &'a [u8],
        metadata: &GgufMetadata<'_>,
    ) -> Result<(Vec<GgufTensor<'a>>, usize)> {
        let count = GgufCursor { bytes, at: COUNT }.u64()?;
        let mut cursor = GgufCursor { bytes, at: metadata.length };
        let mut tensors = Vec::new();
        for _ in 0..count {
            let name = cursor.string()?;
            let dimensions = cursor.u32()?;
            if dimensions > MAX_DIMENSIONS {
                let message =
                    format!("the GGUF file is damaged: a tensor has {dimensions} dimensions");
                return Err(error(message).at_byte(cursor.at));
            }
            let shape = (0..dimensions).map(|_| cursor.u64()).collect::<Result<_>>()?;
            tensors.push(GgufTensor { name, shape, kind: cursor.u32()?, offset: cursor.u64()? });
        }
        Ok((tensors, cursor.at))
    }
}
