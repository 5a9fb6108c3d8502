//! Equivalence classes of bytes that most patterns do not tell apart: digits, letters of one case,
//! and the bytes of UTF-8 as far as its well-formed sequences distinguish them.
//!
//! A class is named by its first byte, its *representative*.

use crate::regular::{ByteSet, Language};

/// The representative of each byte's class: digits, lower case, upper case, the continuation bytes
/// and lead bytes of UTF-8 as far as its well-formed sequences tell them apart (Unicode, table 3-7),
/// the leads of white space being alone; all others are alone.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut i = 0;
    while i < 256 {
        let byte = i as u8;
        class[i] = match byte {
            b'0'..=b'9' => b'0',
            b'a'..=b'z' => b'a',
            b'A'..=b'Z' => b'A',
            0x80..=0x8F => 0x80,
            0x90..=0x9F => 0x90,
            0xA0..=0xBF => 0xA0,
            0xC3..=0xDF => 0xC3,
            0xE4..=0xEC | 0xEE => 0xE4,
            0xF1..=0xF3 => 0xF1,
            0xC0..=0xC1 | 0xF5..=0xFF => 0xC0,
            other => other,
        };
        i += 1;
    }
    class
};

/// By representative: the bytes of its class, as bits.
const MEMBERS: [[u64; 4]; 256] = {
    let mut members = [[0; 4]; 256];
    let mut byte = 0;
    while byte < 256 {
        members[CLASS[byte] as usize][byte / 64] |= 1 << (byte % 64);
        byte += 1;
    }
    members
};

/// The representative of a byte's class.
pub(in crate::mask) fn class_of(byte: u8) -> u8 {
    CLASS[usize::from(byte)]
}

/// The representatives of all classes.
pub(in crate::mask) fn classes() -> impl Iterator<Item = u8> {
    (0..=u8::MAX).filter(|&byte| class_of(byte) == byte)
}

/// The bytes of a class.
pub(in crate::mask) fn members(class: u8) -> ByteSet {
    ByteSet::from_bits(MEMBERS[usize::from(class)])
}

/// Whether a byte is the only one of its class.
pub(in crate::mask) fn is_alone(byte: u8) -> bool {
    members(class_of(byte)).len() == 1
}

/// The classes whose bytes a state with this row of successors treats alike.
pub(in crate::mask) fn uniform_classes(row: &[Language; 256]) -> ByteSet {
    let mut uniform = ByteSet::ALL;
    for byte in 0..=u8::MAX {
        let class = class_of(byte);
        if row[usize::from(byte)] != row[usize::from(class)] {
            uniform.remove(class);
        }
    }
    uniform
}
