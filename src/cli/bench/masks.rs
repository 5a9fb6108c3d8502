//! `maskwright bench masks`: time to compile a schema, and of each mask along its instances.
//!
//! No model takes part. For each schema of a corpus: compiling from its text, and the first mask;
//! then along each instance, as Python writes it, the mask at each token, written into a packed
//! row, and the acceptance of the token. One thread; before the clock starts, only tables that depend
//! on the vocabulary alone are computed.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::corpus::{self, Corpus};
use super::encode::Encoder;
use super::process::{self, ProcessStats, mib};
use super::times::{Times, as_json};
use crate::cli::args::json::JsonArgs;
use crate::cli::args::model::vocabulary;
use crate::cli::input;
use crate::cli::outcome::Outcome;
use crate::cli::output::{self, OutputFormat, Stop};
use maskwright::constraint::{Compiler, Constraint};
use maskwright::error::{Error, ErrorKind, Result};
use maskwright::json_schema::{Options, Whitespace};
use maskwright::{Strategies, Strategy};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Lines of {"id": …, "schema": …, "tests": [{"valid": …, "data": …}]}: a .jsonl file, or a
    /// folder of such files
    #[arg(long, value_name = "DIR|FILE")]
    corpus: PathBuf,
    /// Whose tokens: a tokenizer.json, .tiktoken or .gguf file, a model of the hub (ORG/NAME, without its
    /// weights), or `tiny`
    #[arg(long, value_name = "T")]
    tokenizer: String,
    /// Measures a random sample of this many schemas
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Seed of the sample: the same seed draws the same
    #[arg(long, value_name = "N", default_value_t = 1, requires = "limit")]
    seed: u64,
    /// Starts each schema with empty shared caches
    #[arg(long)]
    unshared: bool,
    /// Makes masks without these strategies, which changes only how long it takes; `all` for none
    #[arg(long, value_name = "NAME", value_delimiter = ',', hide = true)]
    without: Vec<String>,
    #[command(flatten)]
    json: JsonArgs,
    /// Writes each schema's times and answers, one JSON line each
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Format of the result
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: OutputFormat,
}

/// Measurements of all schemas together.
#[derive(Default)]
struct Totals {
    masks: Times,
    accepts: Times,
    first_masks: Times,
    passing: usize,
    compile_errors: usize,
    validation_errors: usize,
    invalidation_errors: usize,
    /// Instances that the vocabulary cannot spell.
    unspelled: usize,
    peak_rss_kb: u64,
}

/// Tokens of an instance, and whether it is valid.
struct TokenizedInstance {
    valid: bool,
    tokens: Vec<u32>,
}

/// Result of one instance. Times in ns.
#[derive(Default, serde::Serialize)]
struct InstanceRecord {
    valid: bool,
    /// `None` if the engine failed.
    accepted: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    err: Option<String>,
    start_ns: u64,
    commit_ns: u64,
    mask_ns: Vec<u64>,
}

/// Result of one schema, as `--records` writes it.
#[derive(Default, serde::Serialize)]
struct SchemaRecord {
    id: String,
    /// `ok` or `compile_error`.
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    compile_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttfm_ns: Option<u64>,
    peak_rss_kb: u64,
    cpu_ms: f64,
    wall_ms: f64,
    preempted: u64,
    tests: Vec<InstanceRecord>,
}

/// A line of `--records`.
#[derive(serde::Serialize)]
#[serde(rename_all = "snake_case")]
enum RecordLine<'a> {
    Meta(Value),
    Schema(&'a SchemaRecord),
    Summary { wall_s: f64 },
}

pub(super) fn run(args: &Args) -> std::result::Result<Outcome, Stop> {
    let mut corpus = Corpus::open(&args.corpus)?;
    if let Some(limit) = args.limit {
        corpus.sample(limit, args.seed);
    }
    args.json.choices.require_names()?;
    let clock = Instant::now();
    let json_options = args.json.options()?;
    let mut compiler =
        Compiler::new(vocabulary(&args.tokenizer)?).with_json_options(json_options.clone());
    let strategies = strategies(&args.without)?;
    if strategies != Strategies::ALL {
        compiler = compiler.with_strategies(strategies);
    }
    let compiler = compiler;
    let (init, loaded) = (clock.elapsed(), ProcessStats::read());
    let mut encoder = Encoder::new(&args.tokenizer, Arc::clone(compiler.vocabulary()))?;
    let encoder_kb = ProcessStats::read().rss_kb.saturating_sub(loaded.rss_kb);
    let mut records = args.records.as_deref().map(Records::create).transpose()?;
    if let Some(records) = &mut records {
        records.write(&RecordLine::Meta(json!({
            "engine": "maskwright",
            "version": env!("CARGO_PKG_VERSION"),
            "vocab": args.tokenizer,
            "vocab_size": compiler.vocabulary().len(),
            "init_ms": init.as_secs_f64() * 1e3,
            "init_rss_kb": loaded.rss_kb,
            "timeout_s": 0.0,
        })))?;
    }
    let whole = Instant::now();
    let mut bench = Bench {
        row: vec![0; compiler.vocabulary().len().div_ceil(32)],
        compiler,
        totals: Totals { peak_rss_kb: loaded.peak_rss_kb, ..Totals::default() },
    };
    // indicatif draws on standard error, and only on a terminal.
    let bar = ProgressBar::new(corpus.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} schemas, {eta} left") {
        bar.set_style(style);
    }
    for index in 0..corpus.len() {
        let case = corpus.read(index)?;
        let mut tests = Vec::with_capacity(case.tests.len());
        for test in &case.tests {
            let text = corpus::python(&test.data).map_err(|error| {
                Error::new(
                    ErrorKind::Request,
                    format!("an instance of {}: {error}", corpus.id(index)),
                )
                .with_help("take it out of the corpus")
            })?;
            match encoder.encode(&text)? {
                Some(tokens) => tests.push(TokenizedInstance { valid: test.valid, tokens }),
                None => bench.totals.unspelled += 1,
            }
        }
        if args.unshared {
            let fresh = Compiler::new(Arc::clone(bench.compiler.vocabulary()));
            bench.compiler = fresh.with_json_options(json_options.clone());
            if strategies != Strategies::ALL {
                bench.compiler = bench.compiler.clone().with_strategies(strategies);
            }
        }
        let record = bench.schema(corpus.id(index), case.schema.get(), &tests);
        if let Some(records) = &mut records {
            records.write(&RecordLine::Schema(&record))?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some(mut records) = records {
        records.write(&RecordLine::Summary { wall_s: whole.elapsed().as_secs_f64() })?;
        records.0.flush()?;
    }
    let mut totals = bench.totals;
    let report =
        report(args, &json_options, &corpus, &encoder, &mut totals, (init, loaded, encoder_kb));
    match args.output {
        OutputFormat::Json => output::line(&report.to_string())?,
        OutputFormat::Text => print(&report)?,
    }
    Ok(Outcome::Success)
}

/// All strategies but those that are named; none where `all` is.
fn strategies(without: &[String]) -> Result<Strategies> {
    let mut strategies = Strategies::ALL;
    for name in without {
        if name == "all" {
            return Ok(Strategies::NONE);
        }
        let strategy: Strategy =
            name.parse().map_err(|message| Error::new(ErrorKind::Request, message))?;
        strategies = strategies.without(strategy);
    }
    Ok(strategies)
}

struct Bench {
    compiler: Compiler,
    /// Masks are written here.
    row: Vec<u32>,
    totals: Totals,
}

impl Bench {
    /// Measures one schema; its record.
    fn schema(&mut self, id: String, schema: &str, tests: &[TokenizedInstance]) -> SchemaRecord {
        process::forget_peak();
        let (before, clock) = (ProcessStats::read(), Instant::now());
        let compiled = self.compiler.json_schema_str(schema);
        let compile = clock.elapsed();
        let mut record = SchemaRecord { id, compile_ns: nanos(compile), ..SchemaRecord::default() };
        match compiled {
            Err(error) => {
                self.totals.compile_errors += 1;
                record.status = "compile_error";
                record.error = Some(error.to_string());
            }
            Ok(constraint) => {
                let clock = Instant::now();
                let first = constraint.matcher().fill_mask(&mut self.row);
                let first_mask = compile + clock.elapsed();
                self.totals.first_masks.push(first_mask);
                record.status = "ok";
                record.ttfm_ns = Some(nanos(first_mask));
                record.error = first.err().map(|error| format!("first mask: {error}"));
                record.tests = tests.iter().map(|test| self.instance(&constraint, test)).collect();
                self.count(&record.tests);
            }
        }
        let after = ProcessStats::read();
        self.totals.peak_rss_kb = self.totals.peak_rss_kb.max(after.peak_rss_kb);
        record.peak_rss_kb = after.peak_rss_kb;
        record.cpu_ms = after.cpu_ns.saturating_sub(before.cpu_ns) as f64 / 1e6;
        record.wall_ms = clock.elapsed().as_secs_f64() * 1e3;
        record.preempted = after.preempted.saturating_sub(before.preempted);
        record
    }

    fn instance(&mut self, constraint: &Constraint, test: &TokenizedInstance) -> InstanceRecord {
        let mut tested = InstanceRecord { valid: test.valid, ..InstanceRecord::default() };
        match self.follow(constraint, &test.tokens, &mut tested) {
            Ok(accepted) => tested.accepted = Some(accepted),
            Err(error) => tested.err = Some(error.to_string()),
        }
        tested
    }

    /// Whether the whole text is allowed, token by token.
    fn follow(
        &mut self,
        constraint: &Constraint,
        tokens: &[u32],
        tested: &mut InstanceRecord,
    ) -> Result<bool> {
        tested.mask_ns.reserve(tokens.len());
        let clock = Instant::now();
        let mut matcher = constraint.matcher();
        tested.start_ns = nanos(clock.elapsed());
        for &token in tokens {
            let clock = Instant::now();
            matcher.fill_mask(&mut self.row)?;
            let mask = clock.elapsed();
            self.totals.masks.push(mask);
            tested.mask_ns.push(nanos(mask));
            if self.row[token as usize / 32] >> (token % 32) & 1 == 0 {
                return Ok(false);
            }
            let clock = Instant::now();
            matcher.accept(token)?;
            let accept = clock.elapsed();
            self.totals.accepts.push(accept);
            tested.commit_ns += nanos(accept);
        }
        Ok(matcher.is_accepting())
    }

    /// A schema passes if each of its instances got the right answer; of the two kinds of wrong
    /// answers, a valid instance rejected counts before an invalid one accepted.
    fn count(&mut self, tested: &[InstanceRecord]) {
        let totals = &mut self.totals;
        if tested.iter().any(|t| t.accepted.is_none() || (t.valid && t.accepted == Some(false))) {
            totals.validation_errors += 1;
        } else if tested.iter().any(|t| !t.valid && t.accepted == Some(true)) {
            totals.invalidation_errors += 1;
        } else {
            totals.passing += 1;
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The file of `--records`.
struct Records(BufWriter<File>);

impl Records {
    fn create(path: &std::path::Path) -> Result<Self> {
        let file = File::create(path).map_err(|error| input::unwritable(path, error))?;
        Ok(Self(BufWriter::new(file)))
    }

    fn write(&mut self, line: &RecordLine<'_>) -> std::io::Result<()> {
        serde_json::to_writer(&mut self.0, line)?;
        self.0.write_all(b"\n")
    }
}

fn report(
    args: &Args,
    json_options: &Options,
    corpus: &Corpus,
    encoder: &Encoder,
    totals: &mut Totals,
    (init, loaded, encoder_kb): (Duration, ProcessStats, u64),
) -> Value {
    json!({
        "tbm_us": as_json(&totals.masks.summary()),
        "ttfm_us": as_json(&totals.first_masks.summary()),
        "accept_us": as_json(&totals.accepts.summary()),
        "schemas": corpus.len(),
        "passing": totals.passing,
        "compile_error": totals.compile_errors,
        "validation_error": totals.validation_errors,
        "invalidation_error": totals.invalidation_errors,
        "tokens": totals.masks.len(),
        "unspelled_instances": totals.unspelled,
        "init_ms": (init.as_secs_f64() * 1e4).round() / 10.0,
        "loaded_rss_mib": mib(loaded.rss_kb),
        "encoder_rss_mib": mib(encoder_kb),
        "peak_rss_mib": mib(totals.peak_rss_kb),
        "options": {
            "tokenizer": args.tokenizer,
            "vocabulary": encoder.vocabulary().len(),
            "encoding": encoder.method(),
            "respelled_instances": encoder.respelled,
            "whitespace": match &json_options.whitespace {
                Whitespace::Pattern(pattern) => pattern.clone(),
                Whitespace::Indent2 => "indent-2".to_owned(),
                Whitespace::Indent4 => "indent-4".to_owned(),
                Whitespace::IndentTab => "indent-tab".to_owned(),
                whitespace => named(whitespace),
            },
            "spelling": named(&json_options.spelling),
            "property_order": named(&json_options.property_order),
            "digits": json_options.digits,
            "formats": if json_options.formats { "enforce" } else { "annotate" },
            "schema_draft": json_options.draft.as_ref().map(named),
            "caches": if args.unshared { "cleared before each schema" } else { "shared between schemas" },
            "without": (!args.without.is_empty()).then_some(&args.without),
            "threads": 1,
            "limit": args.limit,
            "seed": args.limit.map(|_| args.seed),
        },
    })
}

/// The name of an option's value.
fn named(option: &impl std::fmt::Debug) -> String {
    format!("{option:?}").to_lowercase()
}

/// The report as a table.
fn print(report: &Value) -> std::io::Result<()> {
    let columns =
        [("tbm_us", "mask"), ("ttfm_us", "compile and first mask"), ("accept_us", "accept")];
    let mut head = format!("{:<8}", "µs");
    columns.iter().for_each(|(_, title)| head += &format!(" {title:>22}"));
    output::line(&head)?;
    // Nothing was measured where nothing compiles.
    let names: Vec<&String> = report["ttfm_us"].as_object().map_or(vec![], |o| o.keys().collect());
    for name in names {
        let mut line = format!("{name:<8}");
        for (key, _) in columns {
            match report[key][name].as_f64() {
                Some(us) => line += &format!(" {us:>22.2}"),
                None => line += &format!(" {:>22}", "-"),
            }
        }
        output::line(&line)?;
    }
    for (key, what) in [
        ("schemas", "schemas"),
        ("passing", "passing"),
        ("compile_error", "compile error"),
        ("validation_error", "validation error (a valid instance rejected)"),
        ("invalidation_error", "invalidation error (an invalid instance accepted)"),
        ("tokens", "tokens, a mask at each"),
        ("unspelled_instances", "instances that the vocabulary cannot spell, left out"),
        ("init_ms", "ms to load the vocabulary"),
        ("loaded_rss_mib", "MiB resident after that"),
        ("encoder_rss_mib", "MiB more for what encodes the instances, which masks do not need"),
        ("peak_rss_mib", "MiB resident at most, that included"),
    ] {
        output::line(&format!("{:>12} {what}", report[key].to_string()))?;
    }
    if let Some(options) = report["options"].as_object() {
        for (name, value) in options.iter().filter(|(_, value)| !value.is_null()) {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            output::line(&format!("{}: {value}", name.replace('_', " ")))?;
        }
    }
    Ok(())
}
