//! `maskwright generate`: a model writes one text, or several (`-n`, `--n-best`).

use std::io::{self, IsTerminal as _};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use indicatif::ProgressBar;
use serde_json::{Value, json};

use maskwright::engine::{Engine, Event, FinishReason, Protocol, Request, Response, StopReason};
use maskwright::error::{Error, ErrorKind};
use maskwright::model::GenerationConfig;
use maskwright::sampling::Summary;
use maskwright::tools::AssistantMessage;
use maskwright::{Compiler, Vocabulary};

use super::output::{self, OutputFormat, Stop};
use super::trace::{Trace, TraceFormat};
use crate::cli::args::constraint::ConstraintArgs;
use crate::cli::args::generation::{GenerationArgs, at_least_one};
use crate::cli::args::model::ModelArgs;
use crate::cli::args::sampling::SamplingArgs;
use crate::cli::args::tools;
use crate::cli::args::tools::{MessagePrinter, ToolArgs, UnaskedReasoningOutput};
use crate::cli::input::{self, BYTE_ORDER_MARK};
use crate::cli::outcome::Outcome;

/// Interval at which the progress spinner turns.
const SPINNER_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The prompt
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    #[arg(required_unless_present = "prompt_file", conflicts_with = "prompt_file")]
    prompt: Option<String>,
    /// A file with the prompt, or `-` for standard input; one final line break is not part of it
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// Gives the prompt to the model as it is, without its chat template
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    constraint: ConstraintArgs,
    #[command(flatten)]
    tools: ToolArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    generation: GenerationArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
    /// Writes N texts instead of one, with seeds that count up; the prompt is read once for all
    #[arg(short = 'n', long = "n", value_name = "N")]
    #[arg(value_parser = at_least_one, allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["stream", "trace", "n_best", "best_of", "beam"])]
    several: Option<NonZeroUsize>,
    /// Writes the N best texts of --beam or --best-of, best first, each after its score, by which they
    /// are ordered: of --best-of, the log-probability per token that the model alone gives it
    #[arg(long, alias = "num-return-sequences", value_name = "N")]
    #[arg(value_parser = at_least_one, allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["stream", "trace"])]
    n_best: Option<NonZeroUsize>,
    /// Writes text as it comes, also where standard output is no terminal
    #[arg(long, conflicts_with = "output")]
    stream: bool,
    /// Shows each step: what the model wanted, what the constraint left, what was written
    #[arg(long, value_enum, value_name = "FORMAT", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "table")]
    trace: Option<TraceFormat>,
    /// Format of the result
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: OutputFormat,
}

pub(super) fn run(args: Args) -> Result<Outcome, Stop> {
    // Options that are out of range are reported before a model loads for minutes.
    args.sampling.params(&GenerationConfig::default())?;
    let prompt = args.prompt()?;
    let engine = args.generation.load(&args.model)?;
    let defaults = args.generation.defaults(engine.model())?;
    let sampling = args.sampling.params(&defaults)?;
    let compiler = Compiler::new(Arc::clone(engine.vocabulary()));
    let mut request = Request {
        raw: args.raw,
        sampling,
        trace: args.trace.is_some(),
        faithfulness: args.output == OutputFormat::Json,
        template_variables: args.constraint.template_variables(&engine),
        ..Request::text(&prompt)
    };
    // Several texts are listed whole.
    let unasked = if args.n_best.is_some() {
        UnaskedReasoningOutput::Text
    } else {
        UnaskedReasoningOutput::Separate
    };
    let (tools, constraint) = (&args.tools, &args.constraint);
    let protocol = tools.apply(&engine, &compiler, constraint, unasked, &mut request)?;
    let request = args.generation.apply(request, &defaults);
    if let Some(most) = args.n_best {
        return ranked(&engine, &request, most, &protocol, args.output);
    }
    if let Some(n) = args.several {
        return several(&engine, &request, n, &protocol, args.output);
    }
    let max_tokens = request.max_tokens;
    let mut show = LiveOutput::new(&args, engine.vocabulary(), &protocol);
    let result = engine.generate(&request, &mut |event| show.event(event));
    let response = result?;
    let page = show.trace.as_ref().map_or_else(String::new, |trace| {
        trace.summary(&response);
        trace.page(&prompt, &response)
    });
    let reply = show.finish()?;
    if args.trace == Some(TraceFormat::Html) {
        output::line(&page)?;
    } else if args.streams() {
        for call in tools::calls(&reply) {
            output::line(&call.to_string())?;
        }
    } else {
        tell(&response, &reply, &protocol, args.output)?;
    }
    if response.yielded > 0 {
        let (n, s) = (response.yielded, if response.yielded == 1 { "" } else { "s" });
        output::note(&format!(
            "at {n} step{s} the constraint allowed only what a ban, --min-tokens, --ignore-eos or \
             --canonical would have forbidden, and it was written"
        ));
    }
    if response.complete {
        return Ok(Outcome::Success);
    }
    output::note(&format!("the text is not complete: {}", why_incomplete(&response, max_tokens)));
    Ok(Outcome::NotAccepted)
}

/// Writes the best texts, one after the other.
fn ranked(
    engine: &Engine,
    request: &Request,
    most: NonZeroUsize,
    protocol: &Protocol,
    format: OutputFormat,
) -> Result<Outcome, Stop> {
    let several = request.beam.as_ref().map_or(request.best_of, |beam| beam.width);
    if !protocol.is_plain() {
        let message = "--n-best goes with neither tools nor reasoning";
        return Err(Error::new(ErrorKind::Request, message).with_help("leave one out").into());
    }
    if most.get() > several {
        let message = format!("--n-best {most} of {several} that --beam or --best-of make");
        return Err(Error::new(ErrorKind::Request, message)
            .with_help(format!("let one of them make at least {most}, or draw with `-n {most}`"))
            .into());
    }
    if several == 1 {
        let message = "--n-best is of several texts, and one is written";
        return Err(Error::new(ErrorKind::Request, message)
            .with_help("add --beam N or --best-of N")
            .into());
    }
    let mut outcome = Outcome::Success;
    for response in engine.generate_ranked(request)?.iter().take(most.get()) {
        if !response.complete {
            outcome = Outcome::NotAccepted;
        }
        let reply = AssistantMessage { text: response.text.clone(), ..AssistantMessage::default() };
        match format {
            OutputFormat::Json => output::line(&describe(response, &reply, protocol).to_string())?,
            OutputFormat::Text => {
                let by_the_model = response.summary.as_ref().map(Summary::raw_logprob_per_token);
                let score = response.score.or(by_the_model).unwrap_or_default();
                output::line(&format!("{score:.4}\t{}", response.text))?;
            }
        }
    }
    Ok(outcome)
}

/// Writes several texts side by side, and prints each as soon as it and those before it are finished.
fn several(
    engine: &Engine,
    request: &Request,
    n: NonZeroUsize,
    protocol: &Protocol,
    format: OutputFormat,
) -> Result<Outcome, Stop> {
    let requests = request.times(n.get());
    let new = |_: &Request| (MessagePrinter::new(protocol, false), None);
    let mut texts: Vec<(MessagePrinter, Option<Response>)> = requests.iter().map(new).collect();
    let (mut printed, mut failed) = (0, None);
    let responses = engine.generate_each(&requests, &mut |index, event| {
        let (message, ended) = &mut texts[index];
        let mut told = match event {
            Event::Text(text) => message.text(text),
            Event::Special(token) => message.special(&engine.vocabulary().token_name(token)),
            Event::Ended(response) => {
                *ended = Some(response.clone());
                Ok(())
            }
            Event::Step(_) | Event::Working => Ok(()),
        };
        while told.is_ok()
            && let Some((message, Some(response))) = texts.get_mut(printed)
        {
            told = message.finish().and_then(|reply| tell(response, reply, protocol, format));
            printed += 1;
        }
        match told {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    if responses.iter().all(|response| response.complete) {
        Ok(Outcome::Success)
    } else {
        output::note("some of the texts are not complete; --output json says which");
        Ok(Outcome::NotAccepted)
    }
}

/// Writes a text that was not streamed.
fn tell(
    response: &Response,
    reply: &AssistantMessage,
    protocol: &Protocol,
    format: OutputFormat,
) -> io::Result<()> {
    if format == OutputFormat::Json {
        return output::line(&describe(response, reply, protocol).to_string());
    }
    if !reply.reasoning.is_empty() {
        output::note(&reply.reasoning);
    }
    if !reply.text.is_empty() || reply.calls.is_empty() {
        output::line(&reply.text)?;
    }
    tools::calls(reply).iter().try_for_each(|call| output::line(&call.to_string()))
}

/// The cause of an incomplete text, and its cure.
fn why_incomplete(response: &Response, max_tokens: usize) -> String {
    match response.finish {
        FinishReason::StopString => "a stop string ended it; leave out --stop".to_owned(),
        FinishReason::StopToken => "a stop token ended it; leave out --stop-token-id".to_owned(),
        _ if response.tokens.len() >= max_tokens => {
            format!("it ended after --max-tokens {max_tokens}; raise --max-tokens")
        }
        _ => "the model's context is full; shorten the prompt".to_owned(),
    }
}

impl Args {
    /// The file of the schema, where the constraint is one; none where tools have schemas, too.
    pub(super) fn schema_file(&self) -> Option<PathBuf> {
        self.constraint.schema_file().filter(|_| !self.tools.has_tools())
    }

    /// The prompt, or that of the file.
    ///
    /// Errors where standard input is to be two things.
    fn prompt(&self) -> Result<String, Error> {
        if self.constraint.reads_stdin() && self.tools.reads_stdin() {
            let message = "standard input is both the constraint and the tools";
            return Err(
                Error::new(ErrorKind::Request, message).with_help("give one of them as a file")
            );
        }
        if let Some(prompt) = &self.prompt {
            return Ok(prompt.clone());
        }
        let file = self.prompt_file.as_deref().unwrap_or(Path::new("-"));
        let others =
            [(self.constraint.reads_stdin(), "constraint"), (self.tools.reads_stdin(), "tools")];
        let other = others.into_iter().find(|(reads_stdin, _)| *reads_stdin);
        if let (true, Some((_, other))) = (file.as_os_str() == "-", other) {
            let message = format!("standard input is both the {other} and the prompt");
            return Err(
                Error::new(ErrorKind::Request, message).with_help("give one of them as a file")
            );
        }
        let text = input::read_text(file, "a file with the prompt")?;
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
        let text = text.strip_suffix('\n').unwrap_or(text);
        Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
    }

    /// A terminal gets text as it comes; a program, or a reader of the trace, in one piece.
    fn streams(&self) -> bool {
        let live = io::stdout().is_terminal() && self.output == OutputFormat::Text;
        self.trace != Some(TraceFormat::Html) && (self.stream || (live && self.trace.is_none()))
    }
}

/// The result for programs.
fn describe(response: &Response, reply: &AssistantMessage, protocol: &Protocol) -> Value {
    let finish = match response.finish {
        FinishReason::Length => "length",
        FinishReason::Stop
        | FinishReason::StopString
        | FinishReason::StopToken
        | FinishReason::Cancelled => "stop",
    };
    let mut described = json!({
        "text": reply.text,
        "finish_reason": finish,
        "seed": response.seed,
        "complete": response.complete,
        "stop_reason": match &response.stop_reason {
            None => Value::Null,
            Some(StopReason::Text(text)) => json!(text),
            Some(StopReason::Token(token)) => json!(token),
        },
        "captures": response.captures_json(&reply.text),
        "yielded": response.yielded,
        "faithfulness": response.faithfulness(),
        "rejection": response.rejection.map(|rejection| json!({
            "checks": rejection.checks,
            "log_weight": rejection.log_weight,
        })),
        "score": response.score,
        "tokens": response.tokens,
        "usage": {
            "prompt_tokens": response.usage.prompt_tokens,
            "completion_tokens": response.usage.completion_tokens,
            "reasoning_tokens": response.usage.reasoning_tokens,
        },
        "passes": {
            "model": response.passes.model,
            "drafted": response.passes.drafted,
            "accepted": response.passes.accepted,
        },
    });
    if !protocol.is_plain() {
        described["reasoning"] = json!(reply.reasoning);
        described["tool_calls"] = Value::Array(tools::calls(reply));
    }
    described
}

/// Output while the model writes: the text, the trace, or a spinner.
struct LiveOutput {
    streams: bool,
    message: MessagePrinter,
    vocabulary: Arc<Vocabulary>,
    trace: Option<Trace>,
    spinner: ProgressBar,
    written: usize,
    failed: Option<io::Error>,
}

impl LiveOutput {
    fn new(args: &Args, vocabulary: &Arc<Vocabulary>, protocol: &Protocol) -> Self {
        let (streams, trace) =
            (args.streams(), args.trace.map(|format| Trace::new(Arc::clone(vocabulary), format)));
        // indicatif draws on standard error, and only on a terminal.
        let spinner = if streams || args.trace.is_some() {
            ProgressBar::hidden()
        } else {
            ProgressBar::new_spinner()
        };
        spinner.enable_steady_tick(SPINNER_INTERVAL);
        let message = MessagePrinter::new(protocol, streams);
        let vocabulary = Arc::clone(vocabulary);
        Self { streams, message, vocabulary, trace, spinner, written: 0, failed: None }
    }

    fn event(&mut self, event: Event<'_>) -> ControlFlow<()> {
        match event {
            Event::Text(text) => {
                self.written += text.len();
                self.spinner.set_message(format!("{} bytes", self.written));
                let told = self.message.text(text);
                return self.tell(told);
            }
            Event::Special(token) => {
                let told = self.message.special(&self.vocabulary.token_name(token));
                return self.tell(told);
            }
            Event::Step(step) => {
                if let Some(trace) = &mut self.trace {
                    trace.step(step);
                }
            }
            Event::Working | Event::Ended(_) => {}
        }
        ControlFlow::Continue(())
    }

    /// Remembers that nobody reads any more.
    fn tell(&mut self, told: io::Result<()>) -> ControlFlow<()> {
        match told {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// The whole message; ends the line that was streamed.
    fn finish(mut self) -> Result<AssistantMessage, Stop> {
        self.spinner.finish_and_clear();
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        let reply = self.message.finish()?.clone();
        if self.streams && (!reply.text.is_empty() || reply.calls.is_empty()) {
            output::line("")?;
        }
        Ok(reply)
    }
}
