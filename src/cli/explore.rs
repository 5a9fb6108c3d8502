//! `maskwright explore`: one prompt and constraint at several temperatures, or with several settings,
//! side by side.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser;
use indicatif::ProgressBar;
use serde_json::{Value, json};

use maskwright::Compiler;
use maskwright::engine::{Event, Request, Response};
use maskwright::error::{Error, ErrorKind, Result};
use maskwright::model::GenerationConfig;
use maskwright::sampling::SamplingParams;

use super::output::{self, OutputFormat, Stop};
use super::shell_words::shell_words;
use crate::cli::args::constraint::ConstraintArgs;
use crate::cli::args::generation::GenerationArgs;
use crate::cli::args::model::ModelArgs;
use crate::cli::args::sampling::SamplingArgs;
use crate::cli::args::tools::{MessagePrinter, answer_protocol};
use crate::cli::outcome::Outcome;

/// Characters of a line where the width of the terminal is unknown.
const DEFAULT_WIDTH: usize = 100;
/// Characters between two columns.
const COLUMN_GAP: usize = 3;
/// Least characters of a column.
const MIN_COLUMN_WIDTH: usize = 15;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The prompt
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: String,
    /// Gives the prompt to the model as it is, without its chat template
    #[arg(long)]
    raw: bool,
    /// The temperatures, each a column
    #[arg(long, value_name = "T,…", value_delimiter = ',', default_value = "0.2,0.5,0.8,1.0,1.5")]
    temperatures: Vec<f32>,
    /// Sampling options of a column, as in `--settings "--temperature 1 --top-p 0.5"` (repeat the
    /// option), instead of temperatures
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    #[arg(conflicts_with = "temperatures")]
    settings: Vec<String>,
    /// Texts of each column
    #[arg(long, value_name = "N", default_value = "3", value_parser = crate::cli::args::generation::at_least_one)]
    samples: std::num::NonZeroUsize,
    #[command(flatten)]
    constraint: ConstraintArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    generation: GenerationArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
    /// Columns that the table may fill [default: $COLUMNS, or 100]
    #[arg(long, value_name = "N")]
    width: Option<usize>,
    /// Format of the result
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: OutputFormat,
}

/// The options of a column.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Settings {
    #[command(flatten)]
    sampling: SamplingArgs,
}

/// Texts at one temperature, or with the same settings.
struct Column {
    title: String,
    params: SamplingParams,
    responses: Vec<Response>,
}

impl Args {
    /// The file of the schema, where the constraint is one.
    pub(super) fn schema_file(&self) -> Option<PathBuf> {
        self.constraint.schema_file()
    }
}

pub(super) fn run(args: Args) -> std::result::Result<Outcome, Stop> {
    // Options that are out of range are reported before a model loads for minutes.
    args.columns(&GenerationConfig::default())?;
    let engine = args.generation.load(&args.model)?;
    let defaults = args.generation.defaults(engine.model())?;
    let base = args.sampling.params(&defaults)?;
    let compiler = Compiler::new(Arc::clone(engine.vocabulary()));
    let mut asked = Request {
        raw: args.raw,
        template_variables: args.constraint.template_variables(&engine),
        faithfulness: true,
        ..Request::text(&args.prompt)
    };
    let protocol = answer_protocol(&engine, args.constraint.is_given(), &mut asked)?;
    asked.constraint = args.constraint.compile(&protocol.compiler(&compiler)?)?;
    let mut columns = args.columns(&defaults)?;
    let samples = args.samples.get();
    let of = |column: &Column| {
        // The same seeds for each column, so that only its settings differ.
        let seed = Some(column.params.seed.or(base.seed).unwrap_or(0));
        let request =
            Request { sampling: SamplingParams { seed, ..column.params.clone() }, ..asked.clone() };
        args.generation.apply(request, &defaults).times(samples)
    };
    let requests: Vec<Request> = columns.iter().flat_map(of).collect();
    // indicatif draws on standard error, and only on a terminal.
    let bar = ProgressBar::new(requests.len() as u64);
    // Answers are shown, without reasoning before them.
    let mut messages: Vec<MessagePrinter> =
        requests.iter().map(|_| MessagePrinter::new(&protocol, false)).collect();
    let responses = engine.generate_each(&requests, &mut |index, event| {
        let told = match event {
            Event::Text(text) => messages[index].text(text),
            Event::Special(token) => {
                messages[index].special(&engine.vocabulary().token_name(token))
            }
            Event::Ended(_) => {
                bar.inc(1);
                Ok(())
            }
            Event::Step(_) | Event::Working => Ok(()),
        };
        if told.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    bar.finish_and_clear();
    let mut responses = responses?;
    for (response, message) in responses.iter_mut().zip(&mut messages) {
        response.text.clone_from(&message.finish()?.text);
    }
    let mut responses = responses.into_iter();
    columns.iter_mut().for_each(|column| column.responses.extend(responses.by_ref().take(samples)));
    match args.output {
        OutputFormat::Json => {
            for column in &columns {
                output::line(&column.describe().to_string())?;
            }
        }
        OutputFormat::Text => {
            let columns_of_terminal = || std::env::var("COLUMNS").ok()?.parse().ok();
            let width = args.width.or_else(columns_of_terminal).unwrap_or(DEFAULT_WIDTH);
            output::line(&table(&columns, width))?;
        }
    }
    Ok(Outcome::Success)
}

impl Args {
    /// The columns, without texts yet.
    ///
    /// Errors on an option that the columns would leave without a meaning.
    fn columns(&self, defaults: &GenerationConfig) -> Result<Vec<Column>> {
        let base = self.sampling.params(defaults)?;
        let off = SamplingParams {
            seed: base.seed,
            temperature: base.temperature,
            ..defaults.sampling()
        };
        let others = !self.settings.is_empty() && base != off;
        if others || self.sampling.temperature().is_some() {
            let (message, help) = if self.settings.is_empty() {
                ("--temperature is that of no column", "write --temperatures")
            } else {
                ("options of sampling beside --settings", "write them into each")
            };
            return Err(Error::new(ErrorKind::Request, message).with_help(help));
        }
        let column = |title, params| Column { title, params, responses: Vec::new() };
        let at = |&temperature: &f32| {
            let params = SamplingParams { temperature, ..base.clone() };
            params.validate()?;
            Ok(column(format!("temperature {temperature}"), params))
        };
        let with = |options: &String| {
            let settings = Settings::try_parse_from(shell_words(options)?).map_err(|error| {
                let text = error.to_string();
                let line = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
                Error::new(ErrorKind::Request, format!("--settings: {line}"))
                    .with_help("see `maskwright explore --help`")
            })?;
            Ok(column(options.clone(), settings.sampling.params(defaults)?))
        };
        if self.settings.is_empty() {
            self.temperatures.iter().map(at).collect()
        } else {
            self.settings.iter().map(with).collect()
        }
    }
}

impl Column {
    /// The share of different n-grams of tokens among all, over all texts (Li et al. 2016, "A
    /// Diversity-Promoting Objective Function for Neural Conversation Models", section 5.2).
    fn distinct(&self, n: usize) -> f64 {
        let all = self.responses.iter().flat_map(|response| response.tokens.windows(n));
        let (count, distinct) = (all.clone().count(), all.collect::<HashSet<_>>().len());
        distinct as f64 / count.max(1) as f64
    }

    /// Number of texts that satisfy the constraint.
    fn complete(&self) -> usize {
        self.responses.iter().filter(|response| response.complete).count()
    }

    /// The share of the model's probability that the mask left, on average.
    fn mass(&self) -> f64 {
        let masses = self.responses.iter().filter_map(|r| Some(r.summary.as_ref()?.mean_mass()));
        let (count, sum) = masses.fold((0, 0.0), |(n, sum), mass| (n + 1, sum + mass));
        if count == 0 { 1.0 } else { sum / f64::from(count) }
    }

    fn describe(&self) -> Value {
        let texts: Vec<Value> = self
            .responses
            .iter()
            .map(|r| json!({ "text": r.text, "complete": r.complete, "seed": r.seed }))
            .collect();
        json!({
            "settings": self.title,
            "temperature": self.params.temperature,
            "samples": texts,
            "distinct_1": self.distinct(1),
            "distinct_2": self.distinct(2),
            "complete": self.complete(),
            "mean_allowed_mass": self.mass(),
        })
    }
}

/// The columns side by side; as many abreast as are not too narrow.
fn table(columns: &[Column], width: usize) -> String {
    let abreast =
        ((width + COLUMN_GAP) / (MIN_COLUMN_WIDTH + COLUMN_GAP)).clamp(1, columns.len().max(1));
    let mut out = Vec::new();
    for columns in columns.chunks(abreast) {
        let each = ((width + COLUMN_GAP) / columns.len()).saturating_sub(COLUMN_GAP).max(1);
        let mut row = |cells: Vec<String>| {
            let cells: Vec<Vec<String>> = cells.iter().map(|cell| wrap(cell, each)).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for line in 0..height {
                let parts: Vec<String> = cells
                    .iter()
                    .map(|cell| {
                        let part = cell.get(line).map_or("", String::as_str);
                        format!("{part}{}", " ".repeat(each.saturating_sub(part.chars().count())))
                    })
                    .collect();
                out.push(parts.join(&" ".repeat(COLUMN_GAP)).trim_end().to_owned());
            }
            out.push(String::new());
        };
        row(columns.iter().map(|c| c.title.clone()).collect());
        let samples = columns.iter().map(|c| c.responses.len()).max().unwrap_or(0);
        for sample in 0..samples {
            let cell = |column: &Column| {
                let Some(response) = column.responses.get(sample) else { return String::new() };
                let mark = if response.complete { "" } else { " [incomplete]" };
                output::show(response.text.as_bytes()) + mark
            };
            row(columns.iter().map(cell).collect());
        }
        let facts = |c: &Column| {
            let (complete, all) = (c.complete(), c.responses.len());
            format!(
                "distinct-1 {:.2}\ndistinct-2 {:.2}\nvalid {complete}/{all}\nmass {:.3}",
                c.distinct(1),
                c.distinct(2),
                c.mass()
            )
        };
        row(columns.iter().map(facts).collect());
    }
    out.join("\n").trim_end().to_owned()
}

/// A text in lines of at most so many characters.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let lines = text.split('\n').flat_map(|line| {
        let characters: Vec<char> = line.chars().collect();
        let pieces: Vec<String> =
            characters.chunks(width.max(1)).map(|piece| piece.iter().collect()).collect();
        if pieces.is_empty() { vec![String::new()] } else { pieces }
    });
    lines.collect()
}
