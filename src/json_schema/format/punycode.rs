//! Punycode (RFC 3492), with the parameters of section 5.

const BASE: u32 = 36;
const T_MIN: u32 = 1;
const T_MAX: u32 = 26;
const SKEW: u32 = 38;
const DAMP: u32 = 700;
const INITIAL_BIAS: u32 = 72;
const INITIAL_N: u32 = 0x80;

/// Section 6.1.
fn adapt(delta: u32, points: u32, first: bool) -> u32 {
    let mut delta = if first { delta / DAMP } else { delta / 2 };
    delta += delta / points;
    let mut k = 0;
    while delta > (BASE - T_MIN) * T_MAX / 2 {
        delta /= BASE - T_MIN;
        k += BASE;
    }
    k + (BASE - T_MIN + 1) * delta / (delta + SKEW)
}

fn threshold(k: u32, bias: u32) -> u32 {
    k.saturating_sub(bias).clamp(T_MIN, T_MAX)
}

fn digit(byte: u8) -> Option<u32> {
    match byte {
        b'a'..=b'z' => Some(u32::from(byte - b'a')),
        b'0'..=b'9' => Some(u32::from(byte - b'0') + 26),
        _ => None,
    }
}

fn letter(digit: u32) -> u8 {
    if digit < 26 { b'a' + digit as u8 } else { b'0' + (digit - 26) as u8 }
}

/// What small letters, digits and hyphens stand for (section 6.2). `None` if they stand for
/// nothing.
pub(super) fn decode(text: &[u8]) -> Option<Vec<char>> {
    let (basic, deltas) = match text.iter().rposition(|&byte| byte == b'-') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (&text[..0], text),
    };
    let mut out: Vec<char> = basic.iter().map(|&byte| char::from(byte)).collect();
    let (mut n, mut i, mut bias) = (INITIAL_N, 0u32, INITIAL_BIAS);
    let mut rest = deltas.iter();
    while !rest.as_slice().is_empty() {
        let (before, mut weight, mut k) = (i, 1u32, BASE);
        loop {
            let digit = digit(*rest.next()?)?;
            i = i.checked_add(digit.checked_mul(weight)?)?;
            let threshold = threshold(k, bias);
            if digit < threshold {
                break;
            }
            weight = weight.checked_mul(BASE - threshold)?;
            k += BASE;
        }
        let points = out.len() as u32 + 1;
        bias = adapt(i - before, points, before == 0);
        n = n.checked_add(i / points)?;
        i %= points;
        out.insert(i as usize, char::from_u32(n)?);
        i += 1;
    }
    Some(out)
}

/// The way to write these characters (section 6.3). `None` if they are too many or too far apart.
pub(super) fn encode(text: &[char]) -> Option<Vec<u8>> {
    let mut out: Vec<u8> = text.iter().filter(|c| c.is_ascii()).map(|&c| c as u8).collect();
    let basic = out.len() as u32;
    if basic > 0 {
        out.push(b'-');
    }
    let (mut n, mut delta, mut bias, mut done) = (INITIAL_N, 0u32, INITIAL_BIAS, basic);
    while (done as usize) < text.len() {
        let next = text.iter().map(|&c| u32::from(c)).filter(|&c| c >= n).min()?;
        delta = delta.checked_add((next - n).checked_mul(done + 1)?)?;
        n = next;
        for c in text.iter().map(|&c| u32::from(c)) {
            if c < n {
                delta = delta.checked_add(1)?;
            }
            if c == n {
                let (mut q, mut k) = (delta, BASE);
                loop {
                    let threshold = threshold(k, bias);
                    if q < threshold {
                        break;
                    }
                    out.push(letter(threshold + (q - threshold) % (BASE - threshold)));
                    q = (q - threshold) / (BASE - threshold);
                    k += BASE;
                }
                out.push(letter(q));
                bias = adapt(delta, done + 1, done == basic);
                delta = 0;
                done += 1;
            }
        }
        delta = delta.checked_add(1)?;
        n += 1;
    }
    Some(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;

    /// Some of section 7.1, and labels of the root zone.
    #[test]
    fn texts_are_those_of_the_rfc() {
        for (text, code) in [
            ("ليهمابتكلموشعربي؟", "egbpdaj6bu4bxfgehfvwxn"),
            ("他们为什么不说中文", "ihqwcrb4cv8a8dqg056pqjye"),
            ("למההםפשוטלאמדבריםעברית", "4dbcagdahymbxekheh6e0a7fei0b"),
            ("3年b組金八先生", "3b-ww4c5e180e575a65lsy2b"),
            ("bücher", "bcher-kva"),
            ("ü", "tda"),
            ("abc", "abc-"),
        ] {
            let characters: Vec<char> = text.chars().collect();
            assert_eq!(encode(&characters).unwrap(), code.as_bytes(), "{text}");
            assert_eq!(decode(code.as_bytes()).unwrap(), characters, "{code}");
        }
        for code in ["x", "-", "99999999", "a-é", "A"] {
            let same = decode(code.as_bytes()).and_then(|text| encode(&text));
            assert_ne!(same, Some(code.as_bytes().to_vec()), "{code}");
        }
    }
}
