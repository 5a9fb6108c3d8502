//! Real parsers fed with texts that they must accept, and with texts one edit away that they must
//! not; the program lists disagreements and panics.
//!
//!     cargo run --no-default-features --example fuzz_parsers
//!
//! Arguments: how many texts for each parser (1,000), and a seed. For each finding it prints how
//! often it came, the shortest text, and why; a finding without a known reason ends the program
//! with exit code 1.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::BTreeMap;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use maskwright::ebnf;
use maskwright::sample::{Bounds, Texts};
use maskwright::{Compiler, Vocabulary};

struct Target {
    parser: &'static str,
    /// The ready grammar of its format.
    grammar: &'static str,
    parse: fn(&str) -> Result<(), String>,
    /// A finding (a part of how it is called), and its reason.
    reasons: &'static [(&'static str, &'static str)],
}

const TARGETS: &[Target] = &[
    Target {
        parser: "serde_json",
        grammar: "json",
        parse: |text| {
            let value: serde_json::Value = serde_json::from_str(text).map_err(unplaced)?;
            // What it writes it must read again as the same.
            let again: serde_json::Value =
                serde_json::from_str(&value.to_string()).map_err(unplaced)?;
            if value == again { Ok(()) } else { Err("another value when read again".into()) }
        },
        reasons: &[
            (
                "number out of range",
                "a number beyond a double, which RFC 8259 leaves to the reader",
            ),
            ("lone leading surrogate", "half of a surrogate pair, which RFC 8259 (8.2) allows"),
            ("unexpected end of hex escape", "half of a surrogate pair"),
        ],
    },
    Target {
        parser: "csv",
        grammar: "csv",
        parse: |text| {
            let mut reader = csv::ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .from_reader(text.as_bytes());
            let read = reader.records().try_for_each(|record| record.map(|_| ()));
            read.map_err(|error| error.to_string())
        },
        reasons: &[("accepts", "the crate reads any bytes: RFC 4180 is stricter than its users")],
    },
    Target {
        parser: "toml",
        grammar: "toml",
        parse: |text| {
            toml::from_str::<toml::Table>(text)
                .map(|_| ())
                .map_err(|error| error.message().to_owned())
        },
        reasons: &[
            ("duplicate key", "a key or table twice: not a matter of grammar"),
            ("cannot extend value", "a table added to a value: not a matter of grammar"),
            ("redefin", "a table twice: not a matter of grammar"),
            ("accepts", "the ready grammar is a part of TOML"),
        ],
    },
    Target {
        parser: "sqlparser",
        grammar: "sql",
        parse: sql,
        reasons: &[
            ("recursion limit", "nesting deeper than it allows"),
            (
                "after `* EXCEPT`",
                "it begins BigQuery's columns left out, in every dialect, and no second SELECT",
            ),
            (
                "two quotes in a row",
                "it writes them as the one quote that an escape stands for, and so loses one",
            ),
            ("accepts", "the ready grammar is a part of SQL"),
        ],
    },
];

/// Reads a query, writes it, and reads that.
fn sql(text: &str) -> Result<(), String> {
    let dialect = sqlparser::dialect::GenericDialect {};
    let read = |text: &str| sqlparser::parser::Parser::parse_sql(&dialect, text);
    let statements = read(text).map_err(|error| {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        if words.contains("* except") {
            "what comes after `* EXCEPT`".to_owned()
        } else {
            error.to_string()
        }
    })?;
    for statement in &statements {
        let written = statement.to_string();
        if read(&written).ok().as_deref() != Some(std::slice::from_ref(statement)) {
            let quotes = text.contains("''''") || text.contains("\"\"");
            let part = if quotes { " (two quotes in a row)" } else { "" };
            return Err(format!("its own writing{part}"));
        }
    }
    Ok(())
}

/// An error without its place, by which errors of one kind differ.
fn unplaced(error: serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// Feeds a parser with a text: `None` if it behaves, else the finding's name.
fn finding(target: &Target, text: &str, is_valid: bool) -> Option<String> {
    let parsed = catch_unwind(AssertUnwindSafe(|| (target.parse)(text)));
    match (parsed, is_valid) {
        (Err(panic), _) => {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message.or_else(|| panic.downcast_ref::<&str>().map(|&m| m.to_owned()));
            Some(format!("panics: {}", message.unwrap_or_default()))
        }
        (Ok(Err(message)), true) => Some(format!("refuses: {message}")),
        (Ok(Ok(())), false) => Some("accepts a near-miss".to_owned()),
        _ => None,
    }
}

/// Findings by name, each with its count and its shortest text.
type Findings = BTreeMap<String, (usize, String)>;

fn fuzz(target: &Target, count: usize, seed: u64) -> Result<Findings, Box<dyn Error>> {
    let tokens = (0..=u8::MAX).map(|byte| Some(vec![byte])).collect();
    let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[])?);
    let known = ebnf::builtin(target.grammar).ok_or("no such grammar")?;
    let constraint = compiler.grammar_by_rules(known.text, known.dialect)?;
    let bounds = Bounds { max_bytes: 120, ..Bounds::default() };
    let mut texts = Texts::new(&constraint, seed)?.within(bounds);
    let mut findings = Findings::new();
    let mut note = |text: Vec<u8>, is_valid| -> Result<(), Box<dyn Error>> {
        let text = String::from_utf8(text)?;
        if let Some(name) = finding(target, &text, is_valid) {
            let (times, shortest) = findings.entry(name).or_insert((0, text.clone()));
            *times += 1;
            if text.len() < shortest.len() {
                *shortest = text;
            }
        }
        Ok(())
    };
    for _ in 0..count {
        let text = texts.draw()?;
        if let Some(miss) = texts.near_miss(&text)? {
            note(miss, false)?;
        }
        note(text, true)?;
    }
    let coverage = texts.coverage();
    println!(
        "{} on {count} texts of `{}` and {count} near-misses; reached: rules {}, alternatives {}",
        target.parser, target.grammar, coverage.rules, coverage.alternatives,
    );
    Ok(findings)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().map_or(Ok(1000), |count| count.parse())?;
    let seed = arguments.next().map_or(Ok(7), |seed| seed.parse())?;
    // Panics are findings; they are reported below.
    std::panic::set_hook(Box::new(|_| {}));
    let mut unexplained = 0;
    for target in TARGETS {
        for (name, (times, shortest)) in fuzz(target, count, seed)? {
            let known = target.reasons.iter().find(|(part, _)| name.contains(part));
            let reason = known.map_or("NOT EXPLAINED", |(_, reason)| reason);
            unexplained += usize::from(known.is_none());
            println!("  {times} times {name}: {reason}\n    {shortest:?}");
        }
    }
    println!("{unexplained} findings are not explained");
    Ok(if unexplained == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
