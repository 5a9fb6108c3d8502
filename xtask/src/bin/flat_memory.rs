//! Memory under load: one constraint serves very many documents, and very many constraints are
//! held at once.
//!
//! `cargo run --release -p xtask --bin flat_memory -- documents 1000000` writes a
//! million documents, all different, under the masks of one constraint, and prints how much memory
//! the process holds after 10, 100, 1,000, … of them. `… -- schemas DIR TOKENIZER 1000` compiles so
//! many schemas of a corpus (lines of `{"schema": …}`) and keeps them all. Linux.

#![allow(clippy::print_stdout, reason = "the figures are what one runs it for")]

use std::error::Error;
use std::fs::{self, DirEntry, File};
use std::io::{BufRead as _, BufReader};

use maskwright::{Compiler, Limits, Vocabulary};
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["documents", count] => documents(count.parse()?),
        ["schemas", corpus, tokenizer, count] => schemas(corpus, tokenizer, count.parse()?),
        _ => Err("documents N | schemas DIR TOKENIZER N".into()),
    }
}

/// The process's resident memory now and at its peak, in MiB.
fn resident() -> Result<(u64, u64), Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let of = |name| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    Ok((of("VmRSS").unwrap_or(0) / 1024, of("VmHWM").unwrap_or(0) / 1024))
}

/// A schema with all that remembers: keys of any name, items that must differ, bounds on length.
const SCHEMA: &str = r#"{"type": "object",
    "properties": {"id": {"type": "integer", "minimum": 0}, "name": {"type": "string", "maxLength": 30},
        "tags": {"type": "array", "uniqueItems": true, "items": {"type": "string"}}},
    "required": ["id", "name"], "additionalProperties": {"type": "number"}}"#;

fn documents(count: u64) -> Result<(), Box<dyn Error>> {
    let mut tokens: Vec<Option<Vec<u8>>> = (0..=255).map(|byte| Some(vec![byte])).collect();
    let words =
        ["\", \"", "\": ", ", \"", "\": [\"", "user", "name", "tags", "id", "\"], \"", "12", "345"];
    tokens.extend(words.map(|word| Some(word.as_bytes().to_vec())));
    let vocabulary = Vocabulary::from_tokens(tokens, &[], &[])?;
    // A small bound, so that it is reached many times.
    let limits = Limits { cache_bytes: 16 << 20, ..Limits::default() };
    let compiler = Compiler::new(vocabulary).with_limits(limits);
    let constraint = compiler.json_schema_str(SCHEMA)?;
    let mut next = 10;
    let mut masks = 0u64;
    for n in 1..=count {
        let text = format!(
            r#"{{"id": {n}, "name": "user {}", "tags": ["a{}", "b{n}", "{}"], "key{n}": {}.5}}"#,
            n.wrapping_mul(0x9E37_79B9_7F4A_7C15),
            n % 977,
            n % 13,
            n % 1009,
        );
        let mut matcher = constraint.matcher();
        let vocabulary = constraint.vocabulary();
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let trie = vocabulary.trie();
            let longest = (1..=rest.len().min(8)).rev().find_map(|length| {
                Some((length, *trie.tokens(trie.find(&rest[..length])?).first()?))
            });
            let (length, token) = longest.ok_or("every byte is a token")?;
            if !matcher.mask()?.contains(token) {
                return Err(format!("a token of {text} is not allowed").into());
            }
            matcher.accept(token)?;
            masks += 1;
            rest = &rest[length..];
        }
        if n == next || n == count {
            let (now, most) = resident()?;
            let cache = constraint.cache_bytes() >> 20;
            println!(
                "{n:>9} documents, {masks:>10} masks: {now:>4} MiB, at most {most:>4}; caches {cache:>3} MiB"
            );
            next *= 10;
        }
    }
    Ok(())
}

fn schemas(corpus: &str, tokenizer: &str, count: usize) -> Result<(), Box<dyn Error>> {
    let compiler = Compiler::new(Vocabulary::from_file(tokenizer)?);
    println!("after loading: {} MiB", resident()?.0);
    let mut files: Vec<_> = fs::read_dir(corpus)?.collect::<Result<Vec<_>, _>>()?;
    files.sort_by_key(DirEntry::path);
    let (mut kept, mut lines) = (Vec::new(), 0u64);
    // A line at a time, so that the corpus itself takes no room.
    for file in files {
        for line in BufReader::new(File::open(file.path())?).lines() {
            let value: Value = serde_json::from_str(&line?)?;
            lines += 1;
            // Each fifth, to have some of every kind.
            if lines % 5 == 0
                && kept.len() < count
                && let Ok(constraint) = compiler.json_schema(&value["schema"])
            {
                constraint.matcher().mask()?;
                kept.push(constraint);
            }
        }
    }
    let caches: usize = kept.iter().map(maskwright::Constraint::cache_bytes).sum();
    let (now, most) = resident()?;
    println!("{} constraints: {now} MiB, at most {most}; caches {} MiB", kept.len(), caches >> 20);
    Ok(())
}
