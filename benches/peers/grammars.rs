//! Masks beside llguidance's on Lark grammars: one process, one vocabulary, the same grammar text
//! for both, the same texts.
//!
//! `grammars/` holds the grammars, written as for llguidance (what it should read at once is a
//! terminal, blanks are ignored), and the texts: a JSON string a line. For each grammar, compiling
//! from its text and the first mask; then along each text the mask at each token, and the
//! acceptance of the token. Which engine goes first changes from text to text; both keep what a
//! grammar's earlier texts have taught them, unless `--fresh` lets each text compile anew.
//!
//! `tags/` holds free text with calls of tools in it: lazy grammars for llguidance, and for ours the
//! structural tag `NAME.tag.json` beside them. `--export FILE` writes the tags, texts and vocabulary for
//! `xgrammar_masks.py`.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use clap::Parser as _;

use beside_peers::engines::{Engine, Input, Ours, Peer, Words, exported_vocabulary};
use beside_peers::measure::{Outcome, Run, print_table};

#[derive(clap::Parser)]
struct Args {
    /// A folder of grammars, each `NAME.lark` with its texts in `NAME.jsonl`
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/grammars"))]
    grammars: PathBuf,
    /// Only these
    #[arg(long)]
    only: Vec<String>,
    /// `o200k`, or a tokenizer.json
    #[arg(long, default_value = "o200k")]
    tokenizer: String,
    /// On our side the grammars of these names that come with the program, not the peer's text
    #[arg(long)]
    ready: bool,
    /// Each text compiles its grammar anew, with nothing learnt before
    #[arg(long)]
    fresh: bool,
    /// Passes over the texts
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// Writes vocabulary, structural tags and tokens for engines that run elsewhere, and measures nothing
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// The slowest masks of each, with the text before them
    #[arg(long)]
    slowest: Option<usize>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let words = Arc::new(Words::load(&args.tokenizer)?);
    if let Some(path) = &args.export {
        return export(path, &args, &words);
    }
    let mut engines: [Box<dyn Engine>; 2] = [
        Box::new(Peer::new(&words, true)?),
        Box::new(Ours::new(&words, Default::default(), args.fresh)?),
    ];
    // A panic of an engine is an error of that text.
    std::panic::set_hook(Box::new(|_| {}));
    let mut all: [Vec<Outcome>; 2] = Default::default();
    for name in names(&args)? {
        let file = |ending: &str| {
            let path = args.grammars.join(format!("{name}.{ending}"));
            std::fs::read_to_string(&path).with_context(|| path.display().to_string())
        };
        let (grammar, texts) = (file("lark")?, file("jsonl")?);
        let texts = tokens(&texts, &words)?;
        let tag = file("tag.json").ok();
        let ours = match (args.ready, &tag) {
            (true, _) => Input::Ready(&name),
            (false, Some(tag)) => Input::StructuralTag(tag),
            (false, None) => Input::Lark(&grammar),
        };
        let outcomes = walk(&args, &mut engines, [Input::Lark(&grammar), ours], &texts)?;
        if let Some(n) = args.slowest {
            for (engine, outcomes) in ["llguidance", "maskwright"].iter().zip(&outcomes) {
                println!("\n{engine}, {name}:");
                print_slowest(&words, outcomes, &texts, n);
            }
        }
        let inputs: Vec<usize> = (0..outcomes[0].len()).collect();
        print_table(&format!("{name}, {} texts", texts.len()), &outcomes, &inputs);
        for (all, outcomes) in all.iter_mut().zip(outcomes) {
            all.extend(outcomes);
        }
    }
    let inputs: Vec<usize> = (0..all[0].len()).collect();
    print_table("All", &all, &inputs);
    Ok(())
}

/// The tokens of texts, each a JSON string on a line.
fn tokens(texts: &str, words: &Words) -> Result<Vec<Vec<u32>>> {
    texts.lines().map(|line| Ok((words.encode)(&serde_json::from_str::<String>(line)?))).collect()
}

fn export(path: &Path, args: &Args, words: &Words) -> Result<()> {
    let mut out = BufWriter::new(std::fs::File::create(path)?);
    writeln!(out, "{}", exported_vocabulary(words))?;
    for name in names(args)? {
        let file = |ending: &str| {
            let path = args.grammars.join(format!("{name}.{ending}"));
            std::fs::read_to_string(&path).with_context(|| path.display().to_string())
        };
        let tag: serde_json::Value = serde_json::from_str(&file("tag.json")?)?;
        let tests = tokens(&file("jsonl")?, words)?.into_iter();
        let tests: Vec<_> =
            tests.map(|tokens| serde_json::json!({"valid": true, "tokens": tokens})).collect();
        writeln!(out, "{}", serde_json::json!({"structural_tag": tag, "tests": tests}))?;
    }
    out.flush()?;
    Ok(())
}

fn names(args: &Args) -> Result<Vec<String>> {
    let mut names = args.only.clone();
    if names.is_empty() {
        for entry in std::fs::read_dir(&args.grammars)? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "lark") {
                names.extend(path.file_stem().and_then(|name| name.to_str()).map(str::to_owned));
            }
        }
        names.sort();
    }
    ensure!(!names.is_empty(), "{} holds no grammar", args.grammars.display());
    Ok(names)
}

/// One outcome a text and engine.
fn walk(
    args: &Args,
    engines: &mut [Box<dyn Engine>; 2],
    grammars: [Input<'_>; 2],
    texts: &[Vec<u32>],
) -> Result<[Vec<Outcome>; 2]> {
    let mut runs: [Option<Run>; 2] = [None, None];
    let mut outcomes: [Vec<Outcome>; 2] = Default::default();
    for turn in 0..args.rounds * texts.len() {
        for i in if turn % 2 == 0 { [0, 1] } else { [1, 0] } {
            let mut outcome = Outcome::default();
            if args.fresh || turn == 0 {
                engines[i].prepare();
                runs[i] = Some(Run::compile(engines[i].as_ref(), grammars[i], &mut outcome)?);
            }
            outcome.compiled = true;
            let run = runs[i].as_ref().context("nothing was compiled")?;
            run.follow(&texts[turn % texts.len()], true, &mut outcome);
            outcomes[i].push(outcome);
        }
    }
    Ok(outcomes)
}

fn print_slowest(words: &Words, outcomes: &[Outcome], texts: &[Vec<u32>], n: usize) {
    let mut masks = Vec::new();
    for (i, outcome) in outcomes.iter().enumerate() {
        masks.extend(outcome.masks.iter().enumerate().map(|(step, &us)| (us, i, step)));
    }
    masks.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (us, i, step) in masks.into_iter().take(n) {
        let text = &texts[i % texts.len()];
        let before: Vec<u8> =
            text[..step].iter().flat_map(|&t| &words.bytes[t as usize]).copied().collect();
        let before = String::from_utf8_lossy(&before).into_owned();
        let tail: String =
            before.chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
        println!("{us:9.1} µs  text {i}, token {step}, after {tail:?}");
    }
}
