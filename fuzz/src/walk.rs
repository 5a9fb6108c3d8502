//! Random walks under the mask.

use maskwright::{Constraint, Error, Matcher, TokenMask};

use crate::random::Random;

/// The end of a walk.
pub enum End {
    /// The text, and how many tokens it has.
    Complete(Vec<u8>, u32),
    /// A limit was reached before the first token.
    Refused(Error),
    /// A limit was reached after some text.
    Broken(Vec<u8>, Error),
    /// Nothing was allowed, and the text was not complete.
    Stuck(Vec<u8>),
}

/// Takes tokens uniformly at random from what is allowed within a budget: what the shortest text
/// needs, and `more`.
pub fn uniform(constraint: &Constraint, random: &mut Random, more: u32) -> End {
    let mut matcher = constraint.matcher();
    let least = match matcher.tokens_to_finish() {
        Ok(least) => least.tokens,
        Err(error) => return End::Refused(error),
    };
    go_on(&mut matcher, random, least + more)
}

/// From where a matcher stands to the end, within a budget.
pub fn go_on(matcher: &mut Matcher, random: &mut Random, budget: u32) -> End {
    let mut text = Vec::new();
    let ends = matcher.constraint().vocabulary().end_tokens().to_vec();
    for step in 0.. {
        let token = match matcher.mask_within(budget - step) {
            Ok(mask) => any_of(mask, random),
            Err(error) => return End::Broken(text, error),
        };
        match token {
            None if matcher.is_accepting() => return End::Complete(text, step),
            None => return End::Stuck(text),
            Some(token) if ends.contains(&token) => return End::Complete(text, step),
            Some(token) => {
                if let Err(error) = matcher.accept(token) {
                    return End::Broken(text, error);
                }
                let vocabulary = matcher.constraint().vocabulary();
                text.extend_from_slice(vocabulary.token_bytes(token).unwrap_or_default());
            }
        }
    }
    End::Stuck(text)
}

/// One of the tokens of a mask, each as likely as the others.
fn any_of(mask: &TokenMask, random: &mut Random) -> Option<u32> {
    let count: usize = mask.words().iter().map(|word| word.count_ones() as usize).sum();
    let mut left = random.below(count.max(1));
    for (i, &word) in mask.words().iter().enumerate() {
        let here = word.count_ones() as usize;
        if left >= here {
            left -= here;
            continue;
        }
        let mut word = word;
        (0..left).for_each(|_| word &= word - 1);
        return Some(32 * i as u32 + word.trailing_zeros());
    }
    None
}
