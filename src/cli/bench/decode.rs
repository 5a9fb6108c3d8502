//! `maskwright bench decode`: speed at which a model reads a prompt and writes a text.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::cli::input;
use maskwright::engine::Engine;
use maskwright::error::{Error, ErrorKind, Result};
use maskwright::model::KvCache;
use maskwright::sampling::{Sampler, SamplingParams};
use maskwright::{Compiler, Constraint};

use crate::cli::args::constraint::ConstraintArgs;
use crate::cli::args::generation::at_least_one;
use crate::cli::args::model::ModelArgs;
use crate::cli::outcome::Outcome;
use crate::cli::output::{self, OutputFormat, Stop};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    constraint: ConstraintArgs,
    /// Tokens of the prompt
    #[arg(long, value_name = "N", default_value = "64")]
    prompt_tokens: usize,
    /// Tokens that are written
    #[arg(long, value_name = "N", default_value = "128")]
    tokens: usize,
    /// Runs of each kind; the least time of each token counts
    #[arg(long, value_name = "N", default_value = "3", value_parser = at_least_one)]
    repeat: NonZeroUsize,
    /// Writes the time of each token, with and without cache, as a plot
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Format of the result
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: OutputFormat,
}

/// Times of one run.
struct DecodeTimes {
    prefill: Duration,
    /// Times of the tokens after the first.
    tokens: Vec<Duration>,
    /// Time of all masks together.
    masks: Duration,
}

impl DecodeTimes {
    /// Takes the lesser of both times, to leave out what else the machine did.
    fn lower(&mut self, other: Self) {
        self.prefill = self.prefill.min(other.prefill);
        self.masks = self.masks.min(other.masks);
        for (time, other) in self.tokens.iter_mut().zip(other.tokens) {
            *time = other.min(*time);
        }
    }

    fn decode(&self) -> Duration {
        self.tokens.iter().sum()
    }

    fn tokens_per_second(&self) -> f64 {
        self.tokens.len() as f64 / self.decode().as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

pub(super) fn run(args: &Args) -> std::result::Result<Outcome, Stop> {
    let engine = args.model.load()?;
    let compiler = Compiler::new(Arc::clone(engine.vocabulary()));
    let constraint = args.constraint.compile(&compiler)?;
    let prompt = prompt(&engine, args)?;
    // Once without a clock: the first pass pays for memory and for the weights' way into caches.
    write(&engine, &prompt, 2.min(args.tokens), None, true)?;
    let measure = |constraint, cached| {
        let mut best = write(&engine, &prompt, args.tokens, constraint, cached)?;
        for _ in 1..args.repeat.get() {
            best.lower(write(&engine, &prompt, args.tokens, constraint, cached)?);
        }
        Ok::<_, Error>(best)
    };
    let mut rows = vec![("cache", measure(None, true)?), ("no cache", measure(None, false)?)];
    if constraint.is_some() {
        rows.push(("constrained", measure(constraint.as_ref(), true)?));
    }
    if let Some(path) = &args.plot {
        std::fs::write(path, plot(&rows[0].1, &rows[1].1))
            .map_err(|error| input::unwritable(path, error))?;
    }
    match args.output {
        OutputFormat::Json => {
            for (name, timed) in &rows {
                let each: Vec<f64> = timed.tokens.iter().map(|t| t.as_secs_f64() * 1e6).collect();
                let line = json!({
                    "way": name,
                    "prompt_tokens": prompt.len(),
                    "tokens": timed.tokens.len(),
                    "prefill_us": timed.prefill.as_secs_f64() * 1e6,
                    "decode_us": timed.decode().as_secs_f64() * 1e6,
                    "masks_us": timed.masks.as_secs_f64() * 1e6,
                    "tokens_per_second": timed.tokens_per_second(),
                    "token_us": each,
                });
                output::line(&line.to_string())?;
            }
        }
        OutputFormat::Text => {
            output::line(
                "way          prefill tok/s  decode tok/s  ms/token first  last  masks ms",
            )?;
            for (name, timed) in &rows {
                let ms = |t: Option<&Duration>| t.map_or(0.0, |t| t.as_secs_f64() * 1e3);
                output::line(&format!(
                    "{name:<12} {:>13.0} {:>13.0} {:>15.2} {:>5.2} {:>9.2}",
                    prompt.len() as f64 / timed.prefill.as_secs_f64(),
                    timed.tokens_per_second(),
                    ms(timed.tokens.first()),
                    ms(timed.tokens.last()),
                    timed.masks.as_secs_f64() * 1e3,
                ))?;
            }
        }
    }
    Ok(Outcome::Success)
}

/// A prompt of as many tokens as asked for, which with the text must fit the context.
fn prompt(engine: &Engine, args: &Args) -> Result<Vec<u32>> {
    let (asked, most) =
        (args.prompt_tokens.saturating_add(args.tokens), engine.model().context_length());
    if args.prompt_tokens == 0 || args.tokens < 2 || asked > most {
        let message = format!("a prompt of {} tokens and {} more", args.prompt_tokens, args.tokens);
        return Err(Error::new(ErrorKind::Request, message).with_help(format!(
            "take at least 1 for the prompt and 2 for the text, {most} in all"
        )));
    }
    let text = "The quick brown fox jumps over the lazy dog. ";
    let tokens = engine.model().tokenizer().encode_prompt(text, true)?;
    Ok(tokens.into_iter().cycle().take(args.prompt_tokens).collect())
}

/// Writes greedily, and never ends by itself: where a constraint's text is whole, it is begun anew.
fn write(
    engine: &Engine,
    prompt: &[u32],
    tokens: usize,
    constraint: Option<&Constraint>,
    cached: bool,
) -> Result<DecodeTimes> {
    let model = engine.model();
    let mut sampler = Sampler::new(&SamplingParams::greedy())?;
    let mut matcher = constraint.map(Constraint::matcher);
    let mut cache: KvCache = model.new_cache()?;
    let clock = Instant::now();
    let mut row = model.forward(prompt, &mut cache)?.to_vec()?;
    let prefill = clock.elapsed();
    let mut all = prompt.to_vec();
    let (mut times, mut masks) = (Vec::with_capacity(tokens), Duration::ZERO);
    for _ in 1..tokens {
        let clock = Instant::now();
        let mask = match (&mut matcher, constraint) {
            (Some(matcher), Some(constraint)) => {
                if matcher.is_finished() || matcher.mask()?.is_empty() {
                    *matcher = constraint.matcher();
                }
                Some(matcher.mask()?)
            }
            _ => None,
        };
        let mask_time = clock.elapsed();
        let token = sampler.draw(&row, mask)?.token;
        if let Some(matcher) = &mut matcher {
            matcher.accept(token)?;
        }
        all.push(token);
        let read = if cached {
            &all[all.len() - 1..]
        } else {
            cache.truncate(0);
            &all[..]
        };
        row = model.forward(read, &mut cache)?.to_vec()?;
        masks += mask_time;
        times.push(clock.elapsed());
    }
    Ok(DecodeTimes { prefill, tokens: times, masks })
}

/// Size of the plot, and of its margin, in pixels.
const SIZE: (f64, f64) = (720.0, 400.0);
const MARGIN: f64 = 60.0;
/// The line goes through the median of a point and as many before and after it.
const SMOOTH: usize = 4;

/// Milliseconds of each token over its place: what grows with the text, and what does not. A point
/// for each token, and a line through the medians of neighbours, which one slow token does not move.
/// The lines set the scale: a point above them all stands at the upper edge.
fn plot(cached: &DecodeTimes, uncached: &DecodeTimes) -> String {
    let ms = |timed: &DecodeTimes| -> Vec<f64> {
        timed.tokens.iter().map(|t| t.as_secs_f64() * 1e3).collect()
    };
    let (cached, uncached) = (ms(cached), ms(uncached));
    let most = [&cached, &uncached]
        .into_iter()
        .flat_map(|values| (0..values.len()).map(|i| median(values, i)))
        .fold(f64::MIN_POSITIVE, f64::max);
    let (step, tokens) = (tick(most / 4.0), cached.len());
    let top = (most / step).ceil() * step;
    let (width, height) = SIZE;
    let at = |i: f64, y: f64| {
        let x = MARGIN + (width - 2.0 * MARGIN) * i / (tokens.max(2) - 1) as f64;
        (x, height - MARGIN - (height - 2.0 * MARGIN) * y / top)
    };
    let line = |values: &[f64], color: &str| {
        let (mut dots, mut points) = (String::new(), String::new());
        for (i, &y) in values.iter().enumerate() {
            let (x, y) = at(i as f64, y.min(top));
            // Writing to a string cannot fail.
            let _ = write!(dots, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.6\"/>");
            let (_, y) = at(i as f64, median(values, i));
            let _ = write!(points, "{x:.1},{y:.1} ");
        }
        format!(
            "<g fill=\"{color}\" fill-opacity=\"0.35\">{dots}</g>\n<polyline fill=\"none\" \
             stroke=\"{color}\" stroke-width=\"2\" points=\"{}\"/>\n",
            points.trim_end()
        )
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" \
         fill=\"white\"/>\n"
    );
    for n in 0..=(top / step).round() as u32 {
        let value = f64::from(n) * step;
        let (x, y) = at(0.0, value);
        let _ = writeln!(
            svg,
            "<line x1=\"{x}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            width - MARGIN,
            x - 6.0,
            y + 4.0,
            // Short: 0.1 + 0.2 is no label.
            (value * 1e6).round() / 1e6,
        );
    }
    let step = tick(tokens as f64 / 5.0).max(1.0);
    for n in 0..=(tokens.saturating_sub(1) as f64 / step) as u32 {
        let (x, y) = at(f64::from(n) * step, 0.0);
        let label = f64::from(n) * step;
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
            y + 18.0
        );
    }
    svg += &line(&uncached, "#b4541a");
    svg += &line(&cached, "#2f6f4f");
    let _ = writeln!(
        svg,
        "<text x=\"{MARGIN}\" y=\"24\">ms for each token: <tspan fill=\"#b4541a\">without \
         cache</tspan>, <tspan fill=\"#2f6f4f\">with cache</tspan></text>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">tokens written</text>\n</svg>",
        width / 2.0,
        height - 16.0,
    );
    svg
}

/// The next greater of 1, 2 and 5 times a power of ten.
fn tick(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|t| *t >= least).unwrap_or(least)
}

/// The median of a value and its neighbours.
fn median(values: &[f64], i: usize) -> f64 {
    let mut near = values[i.saturating_sub(SMOOTH)..values.len().min(i + SMOOTH + 1)].to_vec();
    near.sort_unstable_by(f64::total_cmp);
    near[near.len() / 2]
}
