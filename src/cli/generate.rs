//! `maskwright generate`: a model writes one text.

use std::io::{self, IsTerminal as _, Write as _};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use indicatif::ProgressBar;
use serde_json::json;

use crate::generation::{Event, FinishReason, Request, Response};
use crate::{Compiler, Vocabulary};

use super::Outcome;
use super::constraint::ConstraintArgs;
use super::model::ModelArgs;
use super::output::{self, Format, Stop};
use super::sampling::SamplingArgs;
use super::trace::Trace;

/// How often the progress spinner turns.
const TICK: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What the model reads before it writes
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: String,
    /// Gives the prompt to the model as it is, without its chat template
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    constraint: ConstraintArgs,
    #[command(flatten)]
    model: ModelArgs,
    /// The most tokens that are written
    #[arg(long, value_name = "N", default_value = "256", value_parser = at_least_one)]
    max_tokens: NonZeroUsize,
    /// Ends the text before this string (repeat the option for more)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    stop: Vec<String>,
    #[command(flatten)]
    sampling: SamplingArgs,
    /// Writes text as it comes, also where standard output is no terminal
    #[arg(long, conflicts_with = "output")]
    stream: bool,
    /// Shows each step on standard error: token, probability, tokens allowed, nucleus, text so far
    #[arg(long)]
    trace: bool,
    /// How the result is written
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

fn at_least_one(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "write a whole number from 1 up")
}

pub(super) fn run(args: Args) -> Result<Outcome, Stop> {
    let sampling = args.sampling.params()?;
    let engine = args.model.load()?;
    let compiler = Compiler::new(Arc::clone(engine.vocabulary()));
    let request = Request {
        raw: args.raw,
        constraint: args.constraint.compile(&compiler)?,
        sampling,
        max_tokens: args.max_tokens.get(),
        stop: args.stop.clone(),
        trace: args.trace,
        ..Request::text(&args.prompt)
    };
    let mut show = Show::new(&args, engine.vocabulary());
    let result = engine.generate(&request, &mut |event| show.event(event));
    let response = show.finish(result?)?;
    if args.output == Format::Json {
        output::line(&describe(&response).to_string())?;
    } else if !args.streams() {
        output::line(&response.text)?;
    }
    if response.complete {
        return Ok(Outcome::Success);
    }
    output::note(&format!("the text is not complete: {}", why_incomplete(&response, &args)));
    Ok(Outcome::NotAccepted)
}

/// What ended a text before the constraint was satisfied, and what to do about it.
fn why_incomplete(response: &Response, args: &Args) -> String {
    match response.finish {
        FinishReason::StopString => "a stop string ended it; leave out --stop".to_owned(),
        _ if response.tokens.len() >= args.max_tokens.get() => {
            format!("it ended after --max-tokens {}; raise --max-tokens", args.max_tokens)
        }
        _ => "the model's context is full; shorten the prompt".to_owned(),
    }
}

impl Args {
    /// A terminal gets text as it comes; a program, or a reader of the trace, in one piece.
    fn streams(&self) -> bool {
        let live = io::stdout().is_terminal() && !self.trace && self.output == Format::Text;
        self.stream || live
    }
}

/// The result for programs.
fn describe(response: &Response) -> serde_json::Value {
    let finish = match response.finish {
        FinishReason::Length => "length",
        FinishReason::Stop | FinishReason::StopString | FinishReason::Cancelled => "stop",
    };
    json!({
        "text": response.text,
        "finish_reason": finish,
        "seed": response.seed,
        "complete": response.complete,
        "tokens": response.tokens,
        "usage": {
            "prompt_tokens": response.usage.prompt_tokens,
            "completion_tokens": response.usage.completion_tokens,
        },
    })
}

/// What is seen while the model writes: the text, the trace, or a spinner.
struct Show {
    streams: bool,
    trace: Option<Trace>,
    spinner: ProgressBar,
    written: usize,
    failed: Option<io::Error>,
}

impl Show {
    fn new(args: &Args, vocabulary: &Arc<Vocabulary>) -> Self {
        let (streams, trace) =
            (args.streams(), args.trace.then(|| Trace::start(Arc::clone(vocabulary))));
        // indicatif draws on standard error, and only on a terminal.
        let spinner = match streams || args.trace {
            true => ProgressBar::hidden(),
            false => ProgressBar::new_spinner(),
        };
        spinner.enable_steady_tick(TICK);
        Self { streams, trace, spinner, written: 0, failed: None }
    }

    fn event(&mut self, event: Event<'_>) -> ControlFlow<()> {
        match event {
            Event::Text(text) if self.streams => {
                let mut out = io::stdout().lock();
                if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
                    self.failed = Some(error);
                    return ControlFlow::Break(());
                }
            }
            Event::Text(text) => {
                self.written += text.len();
                self.spinner.set_message(format!("{} bytes", self.written));
            }
            Event::Step(step) => {
                if let Some(trace) = &mut self.trace {
                    trace.step(step);
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Ends the line that was streamed.
    fn finish(self, response: Response) -> Result<Response, Stop> {
        self.spinner.finish_and_clear();
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        if self.streams {
            output::line("")?;
        }
        Ok(response)
    }
}
