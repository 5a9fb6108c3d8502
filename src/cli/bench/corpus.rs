//! MaskBench's corpus: JSON lines `{"id", "schema", "tests": [{"valid", "data"}]}`.
//!
//! Only the position of each line is kept in memory; a line is read when its turn comes.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::cli::input;
use maskwright::error::{Error, ErrorKind, Result};

/// A line, read: the text of a schema, and instances of it.
#[derive(Debug, serde::Deserialize)]
pub(super) struct CorpusCase {
    pub(super) schema: Box<RawValue>,
    #[serde(default)]
    pub(super) tests: Vec<Instance>,
}

#[derive(Debug, serde::Deserialize)]
pub(super) struct Instance {
    pub(super) valid: bool,
    pub(super) data: Box<RawValue>,
}

#[derive(serde::Deserialize)]
struct CaseId {
    id: String,
}

/// Position of a line.
#[derive(Clone, Debug)]
struct CorpusLine {
    id: String,
    file: usize,
    number: usize,
    start: u64,
    bytes: usize,
}

/// The lines of a file, or of all `.jsonl` files of a folder, each id once, in the order of the
/// ids.
#[derive(Debug)]
pub(super) struct Corpus {
    files: Vec<PathBuf>,
    lines: Vec<CorpusLine>,
}

impl Corpus {
    /// Finds the lines. Errors on what cannot be read or has no id, with file and line, and on a
    /// corpus without a line.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let files = if path.is_dir() { files(path)? } else { vec![path.to_owned()] };
        let (mut lines, mut seen) = (Vec::new(), BTreeSet::new());
        for (file, path) in files.iter().enumerate() {
            let mut reader = BufReader::new(File::open(path).map_err(|e| unreadable(path, e))?);
            let (mut start, mut text) = (0, String::new());
            for number in 1.. {
                text.clear();
                let bytes = reader.read_line(&mut text).map_err(|e| unreadable(path, e))?;
                if bytes == 0 {
                    break;
                }
                if !text.trim().is_empty() {
                    let CaseId { id } =
                        serde_json::from_str(&text).map_err(|e| malformed(path, number, &e))?;
                    if seen.insert(id.clone()) {
                        lines.push(CorpusLine { id, file, number, start, bytes });
                    }
                }
                start += bytes as u64;
            }
        }
        if lines.is_empty() {
            return Err(Error::new(ErrorKind::Request, "the corpus has no schema")
                .in_file(path)
                .with_help("give a folder of .jsonl files, or one such file"));
        }
        let mut corpus = Self { files, lines };
        corpus.sort();
        Ok(corpus)
    }

    fn sort(&mut self) {
        self.lines.sort_by_cached_key(|line| record_id(&line.id));
    }

    /// Keeps `n` lines, drawn by the seed: a Fisher–Yates shuffle's first n, by splitmix64 (Steele,
    /// Lea and Flood 2014), on every machine the same.
    pub(super) fn sample(&mut self, n: usize, mut seed: u64) {
        let n = n.min(self.lines.len());
        for i in 0..n {
            seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            let left = (self.lines.len() - i) as u64;
            self.lines.swap(i, i + ((mixed ^ (mixed >> 31)) % left) as usize);
        }
        self.lines.truncate(n);
        self.sort();
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn id(&self, index: usize) -> String {
        record_id(&self.lines[index].id)
    }

    /// Reads a line. Errors, with file and line, if it is not as it should be.
    pub(super) fn read(&self, index: usize) -> Result<CorpusCase> {
        let line = &self.lines[index];
        let path = &self.files[line.file];
        let mut text = vec![0; line.bytes];
        let mut file = File::open(path).map_err(|e| unreadable(path, e))?;
        file.seek(SeekFrom::Start(line.start))
            .and_then(|_| file.read_exact(&mut text))
            .map_err(|e| unreadable(path, e))?;
        serde_json::from_slice(&text).map_err(|e| malformed(path, line.number, &e))
    }
}

/// Name of a line in records: that of MaskBench's file of it.
fn record_id(id: &str) -> String {
    format!("{id}.json")
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|e| unreadable(folder, e))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| unreadable(folder, e))?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    input::unreadable(path, error, "give a folder of .jsonl files, or one such file")
}

fn malformed(path: &Path, number: usize, error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Request, format!("not a case: {error}"))
        .in_file(path)
        .at_line_column(number, error.column().max(1))
        .with_help(
            r#"a line is {"id": …, "schema": …, "tests": [{"valid": true or false, "data": …}]}"#,
        )
}

/// JSON as Python's `json.dumps(json.loads(text), ensure_ascii=False)` writes it: a blank after
/// each comma and colon, integers digit by digit, other numbers as `repr` of a double, of members
/// with one name the last in the place of the first.
///
/// Errors on what Python reads and no JSON can write (half a surrogate pair, 1e999).
pub(super) fn python(json: &RawValue) -> serde_json::Result<String> {
    let mut out = String::new();
    dump(json, &mut out)?;
    Ok(out)
}

fn dump(json: &RawValue, out: &mut String) -> serde_json::Result<()> {
    let text = json.get().trim();
    match text.as_bytes().first() {
        Some(b'{') => {
            let Members(members) = serde_json::from_str(text)?;
            out.push('{');
            for (index, (name, value)) in members.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                out.push_str(&serde_json::to_string(name)?);
                out.push_str(": ");
                dump(value, out)?;
            }
            out.push('}');
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text)?;
            out.push('[');
            for (index, item) in items.into_iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                dump(item, out)?;
            }
            out.push(']');
        }
        Some(b'"') => out.push_str(&serde_json::to_string(&serde_json::from_str::<String>(text)?)?),
        Some(b'-' | b'0'..=b'9') => out.push_str(&number(text)?),
        _ => out.push_str(text),
    }
    Ok(())
}

/// A number as Python writes it: `int` as it is, `float` with the fewest digits that tell it apart,
/// and an exponent below 1e-4 and from 1e16 on (the documentation of `repr` and of `format` type
/// `r`).
fn number(text: &str) -> serde_json::Result<String> {
    if !text.contains(['.', 'e', 'E']) {
        return Ok(if text == "-0" { "0".to_owned() } else { text.to_owned() });
    }
    let value: f64 = text.parse().map_err(serde::de::Error::custom)?;
    if value.is_infinite() {
        return Err(serde::de::Error::custom(format!("{text} is beyond all doubles")));
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().map_err(serde::de::Error::custom)?;
    Ok(match exponent {
        -4..16 => format!("{value:?}"),
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
    })
}

/// The members of an object, unread.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(
                self,
                mut map: M,
            ) -> std::result::Result<Self::Value, M::Error> {
                let (mut members, mut places) = (Vec::new(), FxHashMap::default());
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    let place = *places.entry(name.clone()).or_insert(members.len());
                    match members.get_mut(place) {
                        Some((_, last)) => *last = value,
                        None => members.push((name, value)),
                    }
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(InOrder)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Expected texts are those of CPython 3.12.
    #[test]
    fn json_is_written_as_python_writes_it() {
        for (text, written) in [
            ("[1,2.50,1e20,1e-7,1e16,0.0001]", "[1, 2.5, 1e+20, 1e-07, 1e+16, 0.0001]"),
            (
                "[123456789012345680.0,1E15,1.5e300]",
                "[1.2345678901234568e+17, 1000000000000000.0, 1.5e+300]",
            ),
            ("[-0,-0.0,0e5,1E1]", "[0, -0.0, 0.0, 10.0]"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("{ \"b\":1 ,\"a\":{},\"b\":[] }", r#"{"b": [], "a": {}}"#),
            (r#""\u00e9\/\u0001\b\ud83d\ude00""#, "\"é/\\u0001\\b😀\""),
            ("[true ,false,\tnull]", "[true, false, null]"),
        ] {
            let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
            assert_eq!(python(&raw).unwrap(), written);
        }
        for text in ["1e999", r#"["\ud83d"]"#] {
            let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
            assert!(python(&raw).is_err(), "{text}");
        }
    }
}
