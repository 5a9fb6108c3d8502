//! The share of values that the model gets right while it learns.
//!
//! A value counts as right if each of its tokens is the likeliest after the ones before it, which
//! is to say that greedy decoding writes it to the letter where a constraint forces the keys.

use candle_core::Result;

use crate::lesson::{Lesson, batch};
use crate::net::Net;
use crate::tokenizer::Encoder;
use xtask::tiny_data::words::Split;
use xtask::tiny_data::{Course, example};

/// Shares of one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accuracy {
    /// Of the values in the answers.
    pub values: f64,
    /// Of the answers, from the first brace to the end token.
    pub answers: f64,
}

/// The seed of the held-out prompts: far from any that training counts up from.
pub const SEED: u64 = 0x5eed_0000_0000_0001;

/// The accuracy on `count` held-out examples of a course.
pub fn accuracy(net: &Net, encoder: &Encoder, course: Course, count: u64) -> Result<Accuracy> {
    let (mut values, mut right_values, mut right_answers) = (0_usize, 0_usize, 0_usize);
    for chunk in 0..count.div_ceil(16) {
        let mut lessons = Vec::new();
        for index in chunk * 16..(chunk * 16 + 16).min(count) {
            let example = example(SEED, index, Split::HeldOut, course);
            let lesson = Lesson::new(encoder, None, &[example]);
            lessons.push(lesson.map_err(candle_core::Error::msg)?);
        }
        let batch = batch(&lessons, 1.0);
        let best: Vec<u32> = net.logits(&batch)?.argmax(1)?.to_vec1()?;
        let mut right = best.iter().zip(&batch.targets).map(|(best, target)| best == target);
        for lesson in &lessons {
            // Rows are the answer's tokens in order: the weights of all others are zero.
            let right: Vec<bool> = right.by_ref().take(lesson.answer.len()).collect();
            let start = lesson.answer.start;
            values += lesson.values.len();
            right_values += lesson
                .values
                .iter()
                .filter(|value| right[value.start - start..value.end - start].iter().all(|r| *r))
                .count();
            right_answers += usize::from(right.iter().all(|right| *right));
        }
    }
    Ok(Accuracy {
        values: right_values as f64 / values.max(1) as f64,
        answers: right_answers as f64 / count.max(1) as f64,
    })
}
