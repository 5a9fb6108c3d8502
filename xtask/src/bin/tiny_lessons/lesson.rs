//! Examples as token sequences: what the model reads, and what it is to learn from.

use std::ops::Range;

use rand::{RngExt, SeedableRng};
use serde::Serialize;

use crate::tokenizer::{ASSISTANT, BOS, END, Encoder, SYSTEM, USER};
use xtask::tiny_data::words::{Rng, Split, pick};
use xtask::tiny_data::{Course, Example, Part, example, tool_lines};

/// A conversation in tokens; each token's weight is that of predicting it.
#[derive(Serialize)]
pub struct Lesson {
    pub tokens: Vec<u32>,
    pub weights: Vec<f32>,
    /// Where the last answer's values stand among the tokens.
    pub values: Vec<Range<usize>>,
    /// Where the last answer stands, its end token included.
    pub answer: Range<usize>,
    /// Beside the text itself: after the line of each tool, whether that tool is called. The choice of a name needs
    /// to know it, and learns from one token of an answer; here it learns from every tool.
    pub marks: Vec<Mark>,
}

/// A token to predict at a place where another one stands.
#[derive(Serialize)]
pub struct Mark {
    pub place: usize,
    pub token: u32,
}

/// Longer lessons are dropped: they are few, and slow.
const LONGEST: usize = 400;

/// Weight of the answer's braces, commas, colons and blanks: nearly always plain.
const LAYOUT_WEIGHT: f32 = 0.3;
/// Weight of the name of a tool that is called: one choice, on which all arguments hang.
const TOOL_NAME_WEIGHT: f32 = 4.0;
/// Weight of keys that nothing in the prompt asks for: the constraint will force them.
const FREE_KEY_WEIGHT: f32 = 0.1;

const SYSTEM_PROMPTS: &[&str] = &[
    "You are a helpful assistant.",
    "Answer in JSON.",
    "You extract data from text.",
    "Reply with JSON only.",
    "You fill in forms.",
    "Extract the fields.",
    "Be brief.",
];

impl Lesson {
    /// The examples as turns of one conversation, after an instruction if there is one.
    pub fn new(
        encoder: &Encoder,
        system: Option<&str>,
        examples: &[Example],
    ) -> tokenizers::Result<Self> {
        let mut lesson = Self {
            tokens: Vec::new(),
            weights: Vec::new(),
            values: Vec::new(),
            answer: 0..0,
            marks: Vec::new(),
        };
        lesson.push(&[encoder.special(BOS)], 0.0);
        if let Some(system) = system {
            lesson.push(&[encoder.special(SYSTEM)], 0.0);
            lesson.push(&encoder.encode(system)?, 0.0);
        }
        for example in examples {
            lesson.push(&[encoder.special(USER)], 0.0);
            lesson.push(&encoder.encode(&example.prompt)?, 0.0);
            if !example.tools.is_empty() {
                lesson.push(&[encoder.special(SYSTEM)], 0.0);
            }
            for (line, is_called) in tool_lines(example) {
                lesson.push(&encoder.encode(&line)?, 0.0);
                let token = encoder.encode(if is_called { "true" } else { "false" })?[0];
                lesson.marks.push(Mark { place: lesson.tokens.len(), token });
                lesson.push(&encoder.encode("\n")?, 0.0);
            }
            let names: Vec<String> =
                example.tools.iter().map(|tool| tool["function"]["name"].to_string()).collect();
            lesson.push(&[encoder.special(ASSISTANT)], 0.0);
            lesson.values.clear();
            let start = lesson.tokens.len();
            for piece in &example.pieces {
                let is_tool_name = piece.part == Part::Value && names.contains(&piece.text);
                let weight = match piece.part {
                    _ if is_tool_name => TOOL_NAME_WEIGHT,
                    Part::Layout => LAYOUT_WEIGHT,
                    Part::Key if example.named => 1.0,
                    Part::Key => FREE_KEY_WEIGHT,
                    Part::Value => 1.0,
                };
                let from = lesson.tokens.len();
                lesson.push(&encoder.encode(&piece.text)?, weight);
                // Its opening quote is layout: with more weight, it would win over a blank before it.
                if is_tool_name {
                    lesson.weights[from] = LAYOUT_WEIGHT;
                }
                if piece.part == Part::Value {
                    lesson.values.push(from..lesson.tokens.len());
                }
            }
            lesson.push(&[encoder.special(END)], 1.0);
            lesson.answer = start..lesson.tokens.len();
        }
        Ok(lesson)
    }

    fn push(&mut self, tokens: &[u32], weight: f32) {
        self.tokens.extend_from_slice(tokens);
        self.weights.resize(self.tokens.len(), weight);
    }
}

/// Lesson number `index` of the training text; none if it is too long.
pub fn training(encoder: &Encoder, seed: u64, index: u64) -> tokenizers::Result<Option<Lesson>> {
    // Another stream than the example's own numbers, which are drawn from the same seed.
    let mut rng = Rng::seed_from_u64(seed ^ 0x7e11_5011);
    rng.set_stream(index);
    let full = |seed| example(seed, index, Split::Train, Course::Full);
    let mut examples = vec![full(seed)];
    let mut system = None;
    match rng.random_range(0..100) {
        0..=3 => system = Some(pick(&mut rng, SYSTEM_PROMPTS)),
        4..=5 if examples[0].tools.is_empty() => {
            examples.extend(Some(full(!seed)).filter(|example| example.tools.is_empty()));
        }
        _ => {}
    }
    let lesson = Lesson::new(encoder, system, &examples)?;
    Ok((lesson.tokens.len() <= LONGEST).then_some(lesson))
}
