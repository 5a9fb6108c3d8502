//! Hashes every mask row along every instance of a schema corpus and along the texts of the ready
//! grammars, so that a change that is meant to change no mask can be shown to change none.
//!
//! ```text
//! cargo run --release -p xtask --bin mask_fingerprints -- \
//!     --tokenizer o200k_base.tiktoken --corpus maskbench --records before.jsonl
//! cargo run --release -p xtask --bin mask_fingerprints -- --tokenizer o200k_base.tiktoken --grammars
//! ```
//!
//! One line is printed: constraints, texts, rows, and a hash (XXH3, 128 bits) of all rows in order.
//! `--records` writes a line per constraint, so that `diff` names those that differ. Texts are split
//! into the longest tokens from left to right, which needs no tokenizer and is the same everywhere.

#![allow(clippy::print_stdout, reason = "the hash is what one runs it for")]

use std::collections::HashMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use clap::Parser;
use indicatif::ProgressBar;
use maskwright::ebnf::GRAMMARS;
use maskwright::json_schema::{Options, PropertyOrder, Spelling};
use maskwright::{Compiler, Constraint, Limits, Strategies, Strategy, Vocabulary};
use serde_json::Value;
use serde_json::value::RawValue;
use twox_hash::XxHash3_128;

/// Hashes the mask rows of a corpus.
#[derive(Parser)]
struct Args {
    /// A tokenizer.json, .tiktoken or .gguf file.
    #[arg(long)]
    tokenizer: PathBuf,
    /// A folder of .jsonl files with lines `{"id", "schema", "tests": [{"data"}]}`.
    #[arg(long, required_unless_present = "grammars")]
    corpus: Option<PathBuf>,
    /// Hashes the masks along the accepted and rejected texts of the ready grammars.
    #[arg(long)]
    grammars: bool,
    /// Members in any order instead of the schema's.
    #[arg(long)]
    any_order: bool,
    /// Every spelling of numbers and strings instead of the usual one.
    #[arg(long)]
    any_spelling: bool,
    /// Takes each Nth schema.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Makes masks without these strategies, by name; `all` for none. Rows must stay the same.
    #[arg(long, value_delimiter = ',')]
    without: Vec<String>,
    /// Writes a line for each constraint.
    #[arg(long)]
    records: Option<PathBuf>,
}

#[derive(serde::Deserialize)]
struct Case {
    id: String,
    schema: Box<RawValue>,
    #[serde(default)]
    tests: Vec<Instance>,
}

#[derive(serde::Deserialize)]
struct Instance {
    data: Value,
}

/// The tokens of a vocabulary by their bytes.
struct LongestMatch {
    ids: HashMap<Vec<u8>, u32>,
    longest: usize,
}

impl LongestMatch {
    fn new(vocabulary: &Vocabulary) -> Self {
        let mut ids = HashMap::new();
        for id in 0..vocabulary.len() as u32 {
            if let Some(bytes) = vocabulary.token_bytes(id).filter(|bytes| !bytes.is_empty()) {
                ids.entry(bytes.to_vec()).or_insert(id);
            }
        }
        let longest = ids.keys().map(Vec::len).max().unwrap_or(0);
        Self { ids, longest }
    }

    /// None where no token begins with the next byte.
    fn encode(&self, mut text: &[u8]) -> Option<Vec<u32>> {
        let mut tokens = Vec::new();
        while !text.is_empty() {
            let (id, bytes) = (1..=self.longest.min(text.len()))
                .rev()
                .find_map(|bytes| self.ids.get(&text[..bytes]).map(|&id| (id, bytes)))?;
            tokens.push(id);
            text = &text[bytes..];
        }
        Some(tokens)
    }
}

/// The rows of one constraint or of all.
struct Rows {
    hash: XxHash3_128,
    texts: usize,
    rows: usize,
}

impl Rows {
    fn new() -> Self {
        Self { hash: XxHash3_128::new(), texts: 0, rows: 0 }
    }

    fn digest(&self) -> String {
        format!("{:032x}", self.hash.finish_128())
    }
}

struct Run {
    tokens: LongestMatch,
    row: Vec<u32>,
    all: Rows,
    constraints: usize,
    records: Option<BufWriter<File>>,
}

impl Run {
    /// Follows each text from its beginning to the first token that is not allowed.
    fn constraint(
        &mut self,
        id: &str,
        compiled: Result<Constraint, maskwright::Error>,
        texts: &[String],
    ) -> Result<(), Box<dyn Error>> {
        self.constraints += 1;
        let mut own = Rows::new();
        let outcome = match compiled {
            Err(error) => format!("not compiled: {error}"),
            Ok(constraint) => {
                let mut failed = None;
                for text in texts {
                    let Some(tokens) = self.tokens.encode(text.as_bytes()) else { continue };
                    own.texts += 1;
                    if let Err(error) = follow(&constraint, &tokens, &mut self.row, &mut own) {
                        failed = Some(error.to_string());
                    }
                }
                failed.map_or_else(|| "ok".to_owned(), |error| format!("failed: {error}"))
            }
        };
        self.all.hash.write(own.digest().as_bytes());
        self.all.hash.write(outcome.as_bytes());
        self.all.texts += own.texts;
        self.all.rows += own.rows;
        if let Some(records) = &mut self.records {
            let line = serde_json::json!({
                "id": id, "outcome": outcome, "texts": own.texts, "rows": own.rows,
                "hash": own.digest(),
            });
            writeln!(records, "{line}")?;
        }
        Ok(())
    }
}

fn follow(
    constraint: &Constraint,
    tokens: &[u32],
    row: &mut [u32],
    rows: &mut Rows,
) -> Result<(), maskwright::Error> {
    let mut matcher = constraint.matcher();
    for token in tokens.iter().map(|&token| Some(token)).chain([None]) {
        matcher.fill_mask(row)?;
        rows.rows += 1;
        for word in row.iter() {
            rows.hash.write(&word.to_le_bytes());
        }
        rows.hash.write(&[u8::from(matcher.is_accepting())]);
        match token {
            Some(token) if row[token as usize / 32] >> (token % 32) & 1 == 1 => {
                matcher.accept(token)?;
            }
            _ => break,
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let vocabulary = Vocabulary::from_file(&args.tokenizer)?;
    let mut options = Options::default();
    if args.any_order {
        options.property_order = PropertyOrder::Any;
    }
    if args.any_spelling {
        options.spelling = Spelling::Any;
    }
    let limits = Limits { time_per_constraint: None, time_per_mask: None, ..Limits::default() };
    let mut run = Run {
        tokens: LongestMatch::new(&vocabulary),
        row: vec![0; vocabulary.len().div_ceil(32)],
        all: Rows::new(),
        constraints: 0,
        records: args.records.as_deref().map(File::create).transpose()?.map(BufWriter::new),
    };
    let compiler = Compiler::new(vocabulary).with_limits(limits).with_json_options(options);
    let mut strategies = Strategies::ALL;
    for name in &args.without {
        strategies = match name.as_str() {
            "all" => Strategies::NONE,
            name => strategies.without(name.parse::<Strategy>()?),
        };
    }
    let compiler =
        if args.without.is_empty() { compiler } else { compiler.with_strategies(strategies) };
    if args.grammars {
        grammars(&compiler, &mut run)?;
    }
    if let Some(corpus) = &args.corpus {
        schemas(&compiler, corpus, args.every, &mut run)?;
    }
    if let Some(records) = &mut run.records {
        records.flush()?;
    }
    println!(
        "{} constraints, {} texts, {} rows: {}",
        run.constraints,
        run.all.texts,
        run.all.rows,
        run.all.digest()
    );
    Ok(())
}

/// The ready grammars along the texts beside them, which blank lines part.
fn grammars(compiler: &Compiler, run: &mut Run) -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../grammars");
    for grammar in GRAMMARS {
        let mut texts = Vec::new();
        for kind in ["accept", "reject"] {
            let text = fs::read_to_string(folder.join(format!("{}.{kind}.txt", grammar.name)))?;
            texts.extend(text.lines().map(|line| line.replace("\\n", "\n")));
        }
        run.constraint(grammar.name, compiler.grammar(grammar.text, grammar.dialect), &texts)?;
    }
    Ok(())
}

fn schemas(
    compiler: &Compiler,
    corpus: &Path,
    every: usize,
    run: &mut Run,
) -> Result<(), Box<dyn Error>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(corpus)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    let bar = ProgressBar::new(files.len() as u64);
    let mut index = 0;
    for file in files {
        for line in BufReader::new(File::open(&file)?).lines() {
            index += 1;
            if index % every != 0 {
                continue;
            }
            let case: Case = serde_json::from_str(&line?)?;
            let texts: Vec<String> = case.tests.iter().map(|test| spaced(&test.data)).collect();
            run.constraint(&case.id, compiler.json_schema_str(case.schema.get()), &texts)?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

/// A value as Python's `json.dumps` spaces it.
fn spaced(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                format!("{}: {}", Value::from(name.as_str()), spaced(value))
            };
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
