//! Random strings of a grammar: a sampler to which all tokens are alike, held to the grammar by its
//! masks. Useful for feeding a parser with texts that it must accept.
//!
//!     cargo run --example random_strings
//!
//! Needs no model and no feature. Arguments: how many strings, and a seed.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use maskwright::grammar::{Grammar, GrammarBuilder};
use maskwright::{Compiler, Result, Sampler, SamplingParams, Vocabulary};

/// Strings longer than this are given up; nearly all end before.
const MAX_TOKENS: usize = 400;

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments.next().map_or(Ok(10), |count| count.parse())?;
    let seed = arguments.next().map(|seed| seed.parse()).transpose()?;

    // Every byte is a token, and 256 ends a text.
    let bytes = (0..=u8::MAX).map(|byte| Some(vec![byte])).collect();
    let vocabulary = Vocabulary::from_tokens(bytes, &[(256, "<end>")], &[256])?;
    let compiler = Compiler::new(vocabulary);
    let constraint = compiler.compile(arithmetic()?)?;
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

/// Sums of products of numbers and parentheses; left-recursive, as grammars in textbooks are.
fn arithmetic() -> Result<Grammar> {
    let mut g = GrammarBuilder::new();
    let (sum, product) = (g.declare("sum"), g.declare("product"));
    let digit = g.languages().byte_range(b'0', b'9');
    let digits = g.languages().repeat(digit, 1, Some(3));
    let number = g.regular(digits);
    let (open, close) = (g.literal(b"("), g.literal(b")"));
    let inner = g.call(sum);
    let parentheses = g.sequence([open, inner, close]);
    let atom = g.choice([number, parentheses]);

    // product = product "*" atom | atom, and so for sum.
    for (rule, operator, operand) in [(product, b"*", None), (sum, b"+", Some(product))] {
        let left = g.call(rule);
        let operator = g.literal(operator);
        let right = operand.map_or(atom, |operand| g.call(operand));
        let longer = g.sequence([left, operator, right]);
        let body = g.choice([right, longer]);
        g.define(rule, body);
    }
    g.finish(sum)
}
