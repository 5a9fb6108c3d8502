//! Random strings of a grammar: a sampler to which all tokens are alike, held to the grammar by its
//! masks. Useful for feeding a parser with texts that it must accept.
//!
//!     cargo run --example random_strings
//!
//! Needs no model and no feature. Arguments: a GBNF file or the name of a grammar that comes with
//! the crate (`arithmetic` where none is given), how many strings, and a seed.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use maskwright::ebnf::{self, Dialect};
use maskwright::{Compiler, Sampler, SamplingParams, Vocabulary};

/// Strings longer than this are given up; nearly all end before.
const MAX_TOKENS: usize = 400;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "arithmetic".to_owned());
    let (grammar, dialect) = match ebnf::builtin(&name) {
        Some(known) => (known.text.to_owned(), known.dialect),
        None => (std::fs::read_to_string(&name)?, Dialect::of_file(&name).unwrap_or(Dialect::Gbnf)),
    };
    let count: usize = arguments.next().map_or(Ok(10), |count| count.parse())?;
    let seed = arguments.next().map(|seed| seed.parse()).transpose()?;

    // Every byte is a token, and 256 ends a text.
    let bytes = (0..=u8::MAX).map(|byte| Some(vec![byte])).collect();
    let vocabulary = Vocabulary::from_tokens(bytes, &[(256, "<end>")], &[256])?;
    let compiler = Compiler::new(vocabulary);
    let constraint = compiler.grammar(&grammar, dialect)?;
    let mut sampler = Sampler::new(&SamplingParams { seed, ..SamplingParams::default() })?;
    let alike = vec![0.0; compiler.vocabulary().len()];

    let mut written = 0;
    while written < count {
        let (mut matcher, mut tokens) = (constraint.matcher(), Vec::new());
        while !matcher.is_finished() && tokens.len() < MAX_TOKENS {
            let token = sampler.draw(&alike, Some(matcher.mask()?))?.token;
            matcher.accept(token)?;
            tokens.push(token);
        }
        if matcher.is_finished() {
            println!("{}", String::from_utf8(compiler.vocabulary().decode(&tokens))?);
            written += 1;
        }
    }
    Ok(())
}
