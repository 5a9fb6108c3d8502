//! Arithmetic on natural numbers, and their form in states of automata.

use num_bigint::BigInt;

/// One more than one word of a state holds.
const WORD: i64 = 1_000_000_000_000_000_000;

pub(crate) fn ten(power: u32) -> BigInt {
    BigInt::from(10).pow(power)
}

pub(crate) fn gcd(a: &BigInt, b: &BigInt) -> BigInt {
    let (mut x, mut y) = (a.clone(), b.clone());
    while y != BigInt::ZERO {
        (x, y) = (y.clone(), x % y);
    }
    x
}

pub(crate) fn lcm(a: &BigInt, b: &BigInt) -> BigInt {
    a / gcd(a, b) * b
}

/// A natural number as words of a state, the lowest first; none for 0.
pub(crate) fn to_words(value: &BigInt) -> impl Iterator<Item = i64> {
    let mut value = value.clone();
    std::iter::from_fn(move || {
        // Less than a word.
        let word = (value != BigInt::ZERO).then(|| i64::try_from(&value % WORD).unwrap_or(0));
        value /= WORD;
        word
    })
}

pub(crate) fn from_words(words: &[i64]) -> BigInt {
    words.iter().rev().fold(BigInt::ZERO, |value, word| value * WORD + word)
}
