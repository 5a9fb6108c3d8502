//! Masks for an engine of your own: any program that has a row of logits and picks a token.
//!
//!     cargo run --release --no-default-features --example own_engine -- tokenizer.json
//!
//! Without an argument a vocabulary of single bytes takes the tokenizer's place. The "model" here is
//! a hash of the step; yours puts its own logits in the row. No feature of the crate is needed.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use maskwright::{Compiler, Matcher, Result, Vocabulary};

/// Room for this many tokens; the text is complete when they are used up.
const MAX_TOKENS: u32 = 60;

fn main() -> Result<()> {
    let vocabulary = match std::env::args().nth(1) {
        Some(path) => Vocabulary::from_file(path)?,
        None => {
            let mut tokens: Vec<_> = (0..=255).map(|byte| Some(vec![byte])).collect();
            tokens.push(None);
            Vocabulary::from_tokens(tokens, &[(256, "</s>")], &[256])?
        }
    };
    // Once for a vocabulary; compiled constraints are shared between requests.
    let compiler = Compiler::new(vocabulary);
    let constraint = compiler.json_schema_str(
        r#"{"type": "array", "items": {"enum": ["red", "green", "blue"]}, "uniqueItems": true}"#,
    )?;
    // Once for a sequence.
    let mut matcher = constraint.matcher();
    // One row of 32-bit words, bit `t` for token `t`: the layout of xgrammar and llguidance, so an
    // engine's own kernel can apply it. For a batch see `fill_masks`.
    let mut row = vec![0u32; compiler.vocabulary().len().div_ceil(32)];
    let mut text = Vec::new();
    for step in 0..MAX_TOKENS {
        fill(&mut matcher, MAX_TOKENS - step, &mut row)?;
        let token = argmax(&logits(step, compiler.vocabulary().len()), &row);
        matcher.accept(token)?;
        if matcher.is_finished() {
            break;
        }
        text.push(token);
    }
    println!("{}", String::from_utf8_lossy(&compiler.vocabulary().decode(&text)));
    Ok(())
}

/// The tokens after which the text can still be completed with `left` tokens in all.
fn fill(matcher: &mut Matcher, left: u32, row: &mut [u32]) -> Result<()> {
    row.copy_from_slice(matcher.mask_within(left)?.words());
    Ok(())
}

/// Stands for the forward pass of a model.
fn logits(step: u32, width: usize) -> Vec<f32> {
    let mixed = |token: u32| (token ^ step.wrapping_mul(0x9E37_79B9)).wrapping_mul(0x85EB_CA6B);
    (0..width as u32).map(|token| mixed(token) as f32).collect()
}

/// The greatest logit of an allowed token.
fn argmax(logits: &[f32], row: &[u32]) -> u32 {
    let allowed = |token: &usize| row[token / 32] >> (token % 32) & 1 == 1;
    let best = (0..logits.len()).filter(allowed).max_by(|&a, &b| logits[a].total_cmp(&logits[b]));
    // A mask that was asked for in time is never empty.
    best.map_or(0, |token| token as u32)
}
