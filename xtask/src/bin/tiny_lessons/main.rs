//! Writes the lessons that `tiny`, the model that comes with the package, learns from: one JSON object a
//! line, without end. `xtask/train_tiny.py` starts this program and reads them.
//!
//! ```text
//! cargo run --release -p xtask --features model --bin tiny_lessons -- --folder src/model/tiny | head -3
//! ```
//!
//! A line is `{"tokens": […], "weights": […], "values": [{"start": …, "end": …}, …], "answer": {…},
//! "marks": [{"place": …, "token": …, "weight": …}, …]}`, with the ranges of the last answer's values and of the
//! last answer among the tokens, and tokens to predict beside the text. The same seed gives the same lessons in the
//! same order.

#![allow(clippy::print_stdout, missing_docs, unreachable_pub)]

mod lesson;
mod tokenizer;

use std::error::Error;
use std::fs;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};
use tokenizers::Tokenizer;

use lesson::{Lesson, training};
use tokenizer::Encoder;
use xtask::tiny_data::words::Split;
use xtask::tiny_data::{Course, example, fixed_texts};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Writes lessons for the embedded model `tiny`, one JSON object a line.
#[derive(Parser)]
struct Options {
    /// The model's folder. A tokenizer is trained there if there is none, and `tokenizer_config.json`
    /// is written.
    #[arg(long)]
    folder: PathBuf,
    /// Seed of the text, and of the tokenizer.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of the first lesson.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Held-out examples of a course, which training never sees, instead of lessons.
    #[arg(long)]
    held_out: Option<HeldOut>,
    /// Bytes, special tokens and merges of a vocabulary that is trained.
    #[arg(long, default_value_t = 768)]
    pieces: usize,
    /// Tokens in all: those that the folder's tokenizer lacks are added, whole words.
    #[arg(long, default_value_t = 7000)]
    vocabulary: usize,
}

/// The courses that training is measured on.
#[derive(Clone, Copy, ValueEnum)]
enum HeldOut {
    Unnamed,
    Named,
    Missing,
    Tools,
    NewTools,
    Sentences,
    Lists,
    Calls,
}

/// Examples that the tokenizer is learnt from.
const TOKENIZER_EXAMPLES: u64 = 20_000;
/// The seed of the held-out prompts: far from any that training counts up from.
const HELD_OUT_SEED: u64 = 0x5eed_0000_0000_0001;

fn main() -> Result<()> {
    let options = Options::parse();
    let encoder = encoder(&options)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    for index in options.first.. {
        let lesson = match options.held_out {
            None => training(&encoder, options.seed, index)?,
            Some(course) => {
                let course = match course {
                    HeldOut::Unnamed => Course::Records { named: false },
                    HeldOut::Named => Course::Records { named: true },
                    HeldOut::Missing => Course::Missing,
                    HeldOut::Tools => Course::Tools,
                    HeldOut::NewTools => Course::NewTools,
                    HeldOut::Sentences => Course::Sentences,
                    HeldOut::Lists => Course::Lists,
                    HeldOut::Calls => Course::Calls,
                };
                let example = example(HELD_OUT_SEED, index, Split::HeldOut, course);
                Some(Lesson::new(&encoder, None, &[example], true)?)
            }
        };
        let Some(lesson) = lesson else { continue };
        let written = serde_json::to_writer(&mut out, &lesson).map_err(std::io::Error::from);
        match written.and_then(|()| out.write_all(b"\n")) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
    Ok(())
}

/// The folder's tokenizer, trained first if there is none, and with words added if it is smaller than it is to be.
fn encoder(options: &Options) -> Result<Encoder> {
    let path = options.folder.join("tokenizer.json");
    if !path.exists() {
        let mut texts = Vec::new();
        for index in 0..TOKENIZER_EXAMPLES {
            let example = example(options.seed, index, Split::Train, Course::Full);
            texts.push(example.prompt);
            texts.push(example.pieces.into_iter().map(|piece| piece.text).collect());
        }
        tokenizer::train(&texts, options.pieces)?.save(&path, false)?;
    }
    let tokenizer = Tokenizer::from_file(&path)?;
    let size = tokenizer.get_vocab_size(true);
    let tokenizer = if size < options.vocabulary {
        let with_words = tokenizer::with_words(&tokenizer, fixed_texts(), options.vocabulary)?;
        with_words.save(&path, false)?;
        with_words
    } else {
        tokenizer
    };
    write_json(&options.folder.join("tokenizer_config.json"), &tokenizer::config())?;
    Encoder::new(tokenizer)
}

fn write_json(path: &Path, value: &serde_json::Value) -> Result<()> {
    Ok(fs::write(path, format!("{value:#}\n"))?)
}
