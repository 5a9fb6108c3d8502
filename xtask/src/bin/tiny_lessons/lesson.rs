//! Examples as token sequences: what the model reads, and what it is to learn from.

use std::ops::Range;

use rand::{RngExt, SeedableRng};
use serde::Serialize;
use serde_json::Value;

use crate::tokenizer::{ASSISTANT, BOS, END, Encoder, SYSTEM, USER};
use xtask::tiny_data::words::{Rng, Split, pick};
use xtask::tiny_data::{Course, Example, Part, ToldLine, example, schema_line, tool_lines};

/// A conversation in tokens; each token's weight is that of predicting it.
#[derive(Serialize)]
pub struct Lesson {
    pub tokens: Vec<u32>,
    pub weights: Vec<f32>,
    /// Where the last answer's values stand among the tokens.
    pub values: Vec<Range<usize>>,
    /// Where the last answer stands, its end token included.
    pub answer: Range<usize>,
    /// Beside the text itself: what the model should know of the answer when it has read what is asked for.
    pub marks: Vec<Mark>,
}

/// A token to predict at a place where another one stands: after the line of a tool `true` or `false`, whether that
/// tool is called; after a field that is told the first token of its value, and one further on the last.
/// The answer needs to know these, and learns each from one of its tokens; here it learns from every tool and field.
#[derive(Serialize)]
pub struct Mark {
    pub place: usize,
    pub token: u32,
    pub weight: f32,
}

/// Longer lessons are dropped: they are few, and slow.
const LONGEST: usize = 400;

/// Weight of the answer's braces, commas, colons and blanks: nearly always plain.
const LAYOUT_WEIGHT: f32 = 0.3;
/// Weight of the name of a tool that is called: one choice, on which all arguments hang.
const TOOL_NAME_WEIGHT: f32 = 4.0;
/// Weight of keys that nothing in the prompt asks for: the constraint will force them.
const FREE_KEY_WEIGHT: f32 = 0.1;
/// Weight of predicting, of a tool, whether it is called.
const CALLED_WEIGHT: f32 = 2.0;
/// Weight of predicting an end of a value before the answer.
const VALUE_MARK_WEIGHT: f32 = 0.5;

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
    /// The examples as turns of one conversation, after an instruction if there is one. The schema is told after
    /// the last, unless it has tools.
    pub fn new(
        encoder: &Encoder,
        system: Option<&str>,
        examples: &[Example],
        is_schema_told: bool,
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
        for (at, example) in examples.iter().enumerate() {
            lesson.push(&[encoder.special(USER)], 0.0);
            lesson.push(&encoder.encode(&example.prompt)?, 0.0);
            let mut lines = tool_lines(&example.tools, &example.answer);
            if is_schema_told && at + 1 == examples.len() && lines.is_empty() {
                lines.extend(schema_line(&example.schema, &example.answer));
            }
            if !lines.is_empty() {
                lesson.push(&[encoder.special(SYSTEM)], 0.0);
            }
            for line in lines {
                lesson.push_line(encoder, &line)?;
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

    fn push_line(&mut self, encoder: &Encoder, line: &ToldLine) -> tokenizers::Result<()> {
        for part in &line.parts {
            self.push(&encoder.encode(&part.text)?, 0.0);
            if let Some(value) = &part.value {
                let (first, last) = ends(encoder, value)?;
                let place = self.tokens.len();
                for (place, token) in [(place, first), (place + 1, last)] {
                    self.marks.push(Mark { place, token, weight: VALUE_MARK_WEIGHT });
                }
            }
        }
        if let Some(is_called) = line.is_called {
            let token = encoder.encode(if is_called { "true" } else { "false" })?[0];
            self.marks.push(Mark { place: self.tokens.len(), token, weight: CALLED_WEIGHT });
        }
        self.push(&encoder.encode("\n")?, 0.0);
        Ok(())
    }

    fn push(&mut self, tokens: &[u32], weight: f32) {
        self.tokens.extend_from_slice(tokens);
        self.weights.resize(self.tokens.len(), weight);
    }
}

/// The first and the last token of what a value says, between its quotes if it is a string or an array of them.
fn ends(encoder: &Encoder, value: &Value) -> tokenizers::Result<(u32, u32)> {
    let (first, last) = match value {
        Value::Array(items) => (items.first(), items.last()),
        value => (Some(value), Some(value)),
    };
    let tokens = |value: Option<&Value>| {
        let text = match value {
            Some(Value::String(text)) if !text.is_empty() => text.clone(),
            value => value.unwrap_or(&Value::Null).to_string(),
        };
        encoder.encode(&text)
    };
    // No text is without tokens.
    Ok((tokens(first)?[0], tokens(last)?.last().copied().unwrap_or_default()))
}

/// Takes a keyword out of a schema.
fn remove_keyword(schema: &mut Value, keyword: &str) {
    match schema {
        Value::Object(members) => {
            // An object is the schema of a field with that name.
            if members.get(keyword).is_some_and(|value| !value.is_object()) {
                members.remove(keyword);
            }
            members.values_mut().for_each(|member| remove_keyword(member, keyword));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| remove_keyword(item, keyword)),
        _ => {}
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
    // People's schemas at times say less.
    let left_out = match rng.random_range(0..20) {
        0..=2 => Some("type"),
        3..=5 => Some("enum"),
        _ => None,
    };
    if let Some(keyword) = left_out {
        for example in &mut examples {
            remove_keyword(&mut example.schema, keyword);
            for tool in &mut example.tools {
                remove_keyword(&mut tool["function"]["parameters"], keyword);
            }
        }
    }
    let is_schema_told = rng.random_range(0..5) > 0;
    let lesson = Lesson::new(encoder, system, &examples, is_schema_told)?;
    Ok((lesson.tokens.len() <= LONGEST).then_some(lesson))
}
