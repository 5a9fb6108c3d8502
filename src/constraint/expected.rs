//! The continuations that a constraint accepts at one place, and the errors that name them.

use crate::error::{ConstraintPart, Error, ErrorKind, Result};
use crate::recognizer::{ACCEPT, ConfigId, Point, Recognizer, TokenSpan};
use crate::regular::ByteSet;

/// The continuations that a constraint accepts at one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The bytes that may come next.
    pub bytes: ByteSet,
    /// The tokens that may come next by themselves, ascending, end tokens not counted.
    pub special_tokens: Vec<u32>,
    /// Whether any token may come next that is not in a list of excluded ones.
    pub other_tokens: bool,
    /// Whether the text may end here.
    pub end: bool,
    /// The rules of the grammar, or the keywords of the schema, that are being read.
    pub sources: Vec<ConstraintPart>,
}

impl Expected {
    /// In words: ``one of [0-9] or the end``. Of characters beyond ASCII only the first byte is
    /// known, so they are not listed.
    pub fn describe(&self) -> String {
        let mut parts = Vec::new();
        let ascii = self.bytes.intersection(&ByteSet::range(0, 0x7F));
        let beyond = self.bytes.intersection(&ByteSet::range(0x80, 0xFF));
        match ascii.len() {
            _ if self.bytes == ByteSet::ALL => parts.push("any byte".into()),
            0 => {}
            1 => parts.extend(ascii.iter().next().map(show)),
            128 => parts.push("any character of ASCII".into()),
            _ => parts.push(format!("one of {ascii:?}")),
        }
        if !beyond.is_empty() && self.bytes != ByteSet::ALL {
            let what = if beyond == ByteSet::range(0xC2, 0xF4) {
                "any character beyond ASCII"
            } else if beyond.iter().all(|byte| byte < 0xC0) {
                "another character beyond ASCII"
            } else {
                "some characters beyond ASCII"
            };
            parts.push(what.into());
        }
        if !self.special_tokens.is_empty() {
            parts.push(format!("token {:?}", self.special_tokens));
        }
        if self.other_tokens {
            parts.push("a token that is not excluded".into());
        }
        if self.end {
            parts.push("the end".into());
        }
        parts.join(" or ")
    }
}

/// A byte as messages write it.
pub(super) fn show(byte: u8) -> String {
    match byte {
        b' ' => "a blank".to_owned(),
        b'"' | b'\'' => format!("`{}`", char::from(byte)),
        byte => format!("`{}`", std::ascii::escape_default(byte)),
    }
}

/// The error of a rejected token or byte.
pub(super) fn rejection(message: String, expected: &Expected) -> Error {
    let error = Error::new(ErrorKind::Rejected, message)
        .with_help(format!("expected {}", expected.describe()));
    if let Some(pointer) = expected.sources.iter().find_map(ConstraintPart::keyword) {
        return error.at_pointer(pointer);
    }
    match expected.sources.iter().find_map(ConstraintPart::rule) {
        Some(rule) => error.at_rule(rule),
        None => error,
    }
}

/// The continuations after some bytes that can be read from a configuration.
pub(super) fn expected_after(
    recognizer: &mut Recognizer,
    from: ConfigId,
    bytes: &[u8],
) -> Result<Expected> {
    let at = recognizer.read(from, bytes)?.unwrap_or(from);
    expected(recognizer, at)
}

/// The continuations of a configuration.
pub(super) fn expected(recognizer: &mut Recognizer, at: ConfigId) -> Result<Expected> {
    // Of the bytes that terminals go on with, what was captured may forbid some: an array or an object that an array
    // of `uniqueItems` has already.
    let mut bytes = ByteSet::EMPTY;
    for byte in recognizer.next_bytes(at)?.iter() {
        if recognizer.read(at, &[byte])?.is_ok() {
            bytes.insert(byte);
        }
    }
    let mut expected = Expected { bytes, ..Expected::default() };
    let program = &recognizer.program;
    for item in recognizer.items(at) {
        match program.point(item.point) {
            Point::Special { tokens: tokens @ TokenSpan::OneOf(_), .. } => {
                expected.special_tokens.extend(program.listed_tokens(tokens));
            }
            Point::Special { tokens: TokenSpan::Except(_), .. } => expected.other_tokens = true,
            _ if item.point == ACCEPT => expected.end = true,
            _ => {}
        }
        for part in program.constraint_parts(item.point) {
            if !part.as_str().is_empty() && !expected.sources.contains(&part) {
                expected.sources.push(part);
            }
        }
    }
    expected.special_tokens.sort_unstable();
    expected.special_tokens.dedup();
    Ok(expected)
}
