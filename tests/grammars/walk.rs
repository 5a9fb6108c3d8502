//! Random texts of a constraint, and texts one edit away from them.

use maskwright::{Constraint, Matcher};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// After this many bytes a text ends as soon as it may.
const LONG: usize = 60;
/// A text that is longer has lost its way; another is begun.
const TOO_LONG: usize = 500;
/// Bytes that are likely to bring a text to its end.
const CLOSING: &[u8] = b")]}>\"'`/;\n|";

/// A random walk along the bytes that the matcher expects. Blanks and bytes beyond ASCII are drawn
/// less often than their number asks for, closing bytes more often once the text is long.
pub(crate) fn sample(constraint: &Constraint, random: &mut ChaCha8Rng) -> Option<Vec<u8>> {
    let (mut matcher, mut text) = (constraint.matcher(), Vec::new());
    while text.len() < TOO_LONG {
        let long = text.len() > LONG;
        if matcher.is_accepting() && (long || random.random_ratio(1, 12)) {
            return Some(text);
        }
        let bytes: Vec<u8> = matcher.expected().unwrap().bytes.iter().collect();
        if bytes.is_empty() {
            return Some(text);
        }
        let mut from = bytes.clone();
        let mut prefer = |wanted: &dyn Fn(u8) -> bool, numerator: u32, of: u32| {
            let some: Vec<u8> = from.iter().copied().filter(|&b| wanted(b)).collect();
            if !some.is_empty() && random.random_ratio(numerator, of) {
                from = some;
            }
        };
        prefer(&|b| b.is_ascii(), 29, 30);
        prefer(&|b| !b.is_ascii_whitespace(), 5, 6);
        prefer(&|b| b.is_ascii_alphanumeric(), 1, 4);
        if long {
            prefer(&|b| CLOSING.contains(&b), 5, 8);
            if let Some(byte) = ending(&mut matcher, &bytes) {
                text.push(byte);
                matcher.accept_bytes(&[byte]).unwrap();
                continue;
            }
        }
        let byte = from[random.random_range(0..from.len())];
        matcher.accept_bytes(&[byte]).unwrap();
        text.push(byte);
    }
    None
}

/// A byte after which the text may end.
fn ending(matcher: &mut Matcher, bytes: &[u8]) -> Option<u8> {
    let others = bytes.iter().copied().filter(|b| !CLOSING.contains(b)).take(3);
    let closing = bytes.iter().copied().filter(|b| CLOSING.contains(b));
    closing.chain(others).filter(u8::is_ascii).find(|&byte| {
        matcher.accept_bytes(&[byte]).unwrap();
        let ends = matcher.is_accepting();
        matcher.rollback(1).unwrap();
        ends
    })
}

/// The text with one byte put in, taken out, changed, or two neighbours swapped.
pub(crate) fn near_miss(text: &[u8], random: &mut ChaCha8Rng) -> Vec<u8> {
    const BYTES: &[u8] = b"{}[]()<>,:;=\"'\\/-+*.&|!?#@%_~ \n\t09aeAZ";
    let mut text = text.to_vec();
    let at = random.random_range(0..=text.len());
    let byte = match random.random_ratio(1, 3) && !text.is_empty() {
        true => text[random.random_range(0..text.len())],
        false => BYTES[random.random_range(0..BYTES.len())],
    };
    match random.random_range(0..4) {
        0 => text.insert(at, byte),
        1 if at < text.len() => {
            text.remove(at);
        }
        2 if at + 1 < text.len() => text.swap(at, at + 1),
        _ if at < text.len() => text[at] = byte,
        _ => text.push(byte),
    }
    text
}
