//! Masks beside a peer's: llguidance and this library in one process, over one vocabulary and one
//! corpus, on one thread, and a table of both with ratios.
//!
//! For each schema, compiling from its text and the first mask; then along each instance, as Python
//! writes it, the mask at each token, and the acceptance of the token. The peer is set up as its
//! own benchmark (json_stats) does it: its slicer for JSON, no forced tokens. Both start each schema with what
//! the vocabulary and (unless `--unshared`) earlier schemas have left; which one goes first changes
//! from schema to schema. Memory cannot be told apart in one process: `maskwright bench masks`
//! reports it.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Parser as _;
use serde_json::Value;
use serde_json::value::RawValue;

use beside_peers::engines::{Engine, Input, Ours, Peer, Words, exported_vocabulary};
use beside_peers::figure::{Bars, svg};
use beside_peers::measure::{Outcome, measure, print_table};

#[derive(clap::Parser)]
struct Args {
    /// A folder of MaskBench's .jsonl files, or one file
    #[arg(long)]
    corpus: PathBuf,
    /// `o200k`, or a tokenizer.json
    #[arg(long, default_value = "o200k")]
    tokenizer: String,
    /// A random sample of this many schemas
    #[arg(long)]
    limit: Option<usize>,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Nothing that schemas have left in caches serves another: a fresh compiler for each
    #[arg(long)]
    unshared: bool,
    /// Members of objects in any order, on our side (the peer knows the schema's order alone)
    #[arg(long)]
    any_order: bool,
    /// Every spelling of strings and numbers, on our side, as the specification has it
    #[arg(long)]
    any_spelling: bool,
    /// The peer's instances of one schema share its lexer, as ours share what they learn; its own
    /// benchmark gives each instance a copy
    #[arg(long)]
    peer_shares: bool,
    /// Writes vocabulary, schemas and tokens for engines that run elsewhere, and measures nothing
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// Adds an engine to the figure: what `xgrammar_masks.py` wrote
    #[arg(long, value_name = "NAME=FILE")]
    beside: Vec<String>,
    /// Draws average, median and p99 of the mask times
    #[arg(long, value_name = "FILE.svg")]
    figure: Option<PathBuf>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let corpus = read_corpus(&args)?;
    let words = Arc::new(Words::load(&args.tokenizer)?);
    if let Some(path) = &args.export {
        return export(path, &corpus, &words);
    }
    let clock = Instant::now();
    let peer = Peer::new(&words, args.peer_shares)?;
    let peer_load = clock.elapsed();
    let clock = Instant::now();
    let mut options = maskwright::json_schema::Options::default();
    // Instances are written as `json.dumps` writes them: one of the tidy styles.
    options.whitespace = maskwright::json_schema::Whitespace::Tidy;
    if args.any_order {
        options.property_order = maskwright::json_schema::PropertyOrder::Any;
    }
    if args.any_spelling {
        options.spelling = maskwright::json_schema::Spelling::Any;
    }
    let ours = Ours::new(&words, options, args.unshared)?;
    println!(
        "{} schemas, {} tokens in the vocabulary ({}); loaded in {:.0} and {:.0} ms",
        corpus.len(),
        words.bytes.len(),
        args.tokenizer,
        peer_load.as_secs_f64() * 1e3,
        clock.elapsed().as_secs_f64() * 1e3,
    );
    println!("caches of maskwright: {}", if args.unshared { "cleared" } else { "shared" });
    // A panic of an engine is an error of that schema.
    std::panic::set_hook(Box::new(|_| {}));
    let mut engines: [Box<dyn Engine>; 2] = [Box::new(peer), Box::new(ours)];
    let mut outcomes: [Vec<Outcome>; 2] = Default::default();
    for (turn, case) in corpus.iter().enumerate() {
        let tests = case.tests.iter().map(|test| {
            let mut text = String::new();
            python(&test.data, &mut text)?;
            Ok((test.valid, (words.encode)(&text)))
        });
        let tests = tests.collect::<Result<Vec<_>>>()?;
        for i in if turn % 2 == 0 { [0, 1] } else { [1, 0] } {
            engines[i].prepare();
            let schema = Input::JsonSchema(case.schema.get());
            outcomes[i].push(measure(engines[i].as_ref(), schema, &tests));
        }
    }
    let all: Vec<usize> = (0..corpus.len()).collect();
    let both: Vec<usize> =
        all.iter().copied().filter(|&i| outcomes.iter().all(|o| o[i].compiled)).collect();
    print_table("Each on all schemas that it compiles", &outcomes, &all);
    print_table("Schemas that both compile", &outcomes, &both);
    match &args.figure {
        Some(path) => draw(path, &args, &corpus, &outcomes),
        None => Ok(()),
    }
}

/// Draws the mask times of all engines, each on the schemas that it compiles.
fn draw(path: &Path, args: &Args, corpus: &[Case], outcomes: &[Vec<Outcome>; 2]) -> Result<()> {
    let masks = |outcomes: &[Outcome]| -> Vec<f64> {
        outcomes.iter().flat_map(|o| &o.masks).map(|&us| f64::from(us)).collect()
    };
    let [peer, ours] = outcomes;
    let mut engines =
        vec![Bars::new("Maskwright", masks(ours)), Bars::new("llguidance 1.9.1", masks(peer))];
    for beside in &args.beside {
        let (name, file) = beside.split_once('=').context("`--beside` takes NAME=FILE")?;
        let text = std::fs::read_to_string(file).with_context(|| file.to_owned())?;
        let other: Elsewhere = serde_json::from_str(&text).with_context(|| file.to_owned())?;
        println!(
            "{name} {}: {} of {} schemas pass, {} masks",
            other.version,
            other.passing,
            other.schemas,
            other.masks_us.len()
        );
        engines.push(Bars::new(&format!("{name} {}", other.version), other.masks_us));
    }
    let engines: Vec<Bars> = engines.into_iter().flatten().collect();
    let note = format!(
        "{} schemas of MaskBench, {} vocabulary, one thread; each engine on the schemas that it compiles",
        corpus.len(),
        args.tokenizer,
    );
    std::fs::write(path, svg("Time to compute one token mask", &note, &engines))?;
    Ok(())
}

/// Mask times that a script measured in a process of its own.
#[derive(serde::Deserialize)]
struct Elsewhere {
    version: String,
    masks_us: Vec<f64>,
    passing: usize,
    schemas: usize,
}

/// A line with the vocabulary, then a line for each schema with its instances as tokens.
fn export(path: &Path, corpus: &[Case], words: &Words) -> Result<()> {
    let mut out = BufWriter::new(std::fs::File::create(path)?);
    writeln!(out, "{}", exported_vocabulary(words))?;
    for case in corpus {
        let tests = case.tests.iter().map(|test| {
            let mut text = String::new();
            python(&test.data, &mut text)?;
            Ok(serde_json::json!({"valid": test.valid, "tokens": (words.encode)(&text)}))
        });
        let tests = tests.collect::<Result<Vec<_>>>()?;
        let schema: Value = serde_json::from_str(case.schema.get())?;
        writeln!(out, "{}", serde_json::json!({"schema": schema, "tests": tests}))?;
    }
    out.flush()?;
    Ok(())
}

// The corpus.

#[derive(serde::Deserialize)]
struct Case {
    id: String,
    schema: Box<RawValue>,
    #[serde(default)]
    tests: Vec<Test>,
}

#[derive(serde::Deserialize)]
struct Test {
    valid: bool,
    data: Value,
}

/// The lines of the corpus in the order of their ids, or the sample that `bench masks` draws by the
/// same seed: a Fisher–Yates shuffle's first, by splitmix64.
fn read_corpus(args: &Args) -> Result<Vec<Case>> {
    let mut files = vec![args.corpus.clone()];
    if args.corpus.is_dir() {
        let entries = std::fs::read_dir(&args.corpus)?;
        files = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        files.retain(|path| path.extension().is_some_and(|e| e == "jsonl"));
    }
    let mut cases = BTreeMap::new();
    for file in &files {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let case: Case =
                serde_json::from_str(line).with_context(|| file.display().to_string())?;
            cases.entry(format!("{}.json", case.id)).or_insert(case);
        }
    }
    let mut cases: Vec<Case> = cases.into_values().collect();
    if let Some(limit) = args.limit {
        let (n, mut state) = (limit.min(cases.len()), args.seed);
        for i in 0..n {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            let left = (cases.len() - i) as u64;
            cases.swap(i, i + ((z ^ (z >> 31)) % left) as usize);
        }
        cases.truncate(n);
        cases.sort_by_cached_key(|case| format!("{}.json", case.id));
    }
    ensure!(!cases.is_empty(), "{} holds no schema", args.corpus.display());
    Ok(cases)
}

/// As Python's `json.dumps(…, ensure_ascii=False)`.
fn python(value: &Value, out: &mut String) -> Result<()> {
    let comma = |i: usize| if i > 0 { ", " } else { "" };
    match value {
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(comma(i));
                python(item, out)?;
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (i, (name, member)) in members.iter().enumerate() {
                *out += &format!("{}{}: ", comma(i), serde_json::to_string(name)?);
                python(member, out)?;
            }
            out.push('}');
        }
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) if float != 0.0 && !(1e-4..1e16).contains(&float.abs()) => {
                let text = format!("{float:e}");
                let (digits, exponent) = text.split_once('e').context("no exponent")?;
                *out += &format!("{digits}e{:+03}", exponent.parse::<i32>()?);
            }
            Some(float) => *out += &format!("{float:?}"),
            None => *out += &number.to_string(),
        },
        other => *out += &other.to_string(),
    }
    Ok(())
}
