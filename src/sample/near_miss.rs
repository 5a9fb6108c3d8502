//! Near misses: texts that are one edit away from another text.

use super::choices::Choices;

/// Edits of a text that are tried for one that leads outside of the language.
pub(super) const MAX_TRIES: usize = 200;

/// Characters that mean something in one format or another.
const SIGNIFICANT_CHARACTERS: &[u8] = b"{}[]()<>,:;=\"'\\/-+*.&|!?#@%_~^$` \n\t\r0159aeEfntuxAZ";

/// The text with one character put in, taken out, changed, or two neighbours swapped. Characters
/// are bytes where the text is no UTF-8.
pub(super) fn edit(text: &[u8], choices: &mut Choices) -> Vec<u8> {
    let pieces: Vec<&[u8]> = match std::str::from_utf8(text) {
        Ok(text) => {
            text.char_indices().map(|(at, c)| &text.as_bytes()[at..at + c.len_utf8()]).collect()
        }
        Err(_) => text.chunks(1).collect(),
    };
    let count = pieces.len() as u32;
    let from_text = count > 0 && choices.one_in(3);
    let piece = if from_text {
        pieces[choices.below(count) as usize]
    } else {
        let at = choices.below(SIGNIFICANT_CHARACTERS.len() as u32) as usize;
        &SIGNIFICANT_CHARACTERS[at..=at]
    };
    let at = choices.below(count + 1) as usize;
    let (before, after) = pieces.split_at(at);
    let edited: Vec<&[u8]> = match (choices.below(4), after) {
        (1, [_, rest @ ..]) => [before, rest].concat(),
        (2, [a, b, rest @ ..]) => [before, &[*b, *a], rest].concat(),
        (3, [_, rest @ ..]) => [before, &[piece], rest].concat(),
        _ => [before, &[piece], after].concat(),
    };
    edited.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edits by one operation: the lengths differ by one character at most, and all four occur.
    #[test]
    fn an_edit_is_one_operation() {
        let mut choices = Choices::by_seed(3);
        let text = "aé→b";
        let mut lengths = [0; 3];
        for _ in 0..400 {
            let edited = String::from_utf8(edit(text.as_bytes(), &mut choices)).unwrap();
            let (old, new): (Vec<char>, Vec<char>) =
                (text.chars().collect(), edited.chars().collect());
            lengths[new.len() + 1 - old.len()] += 1;
            let common = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
            let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
            let (old, new) =
                (old.len().saturating_sub(common + tail), new.len().saturating_sub(common + tail));
            assert!(old <= 2 && new <= 2, "{edited}");
        }
        assert!(lengths.iter().all(|&times| times > 40), "{lengths:?}");
    }
}
