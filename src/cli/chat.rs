//! `maskwright chat`: a conversation on the terminal, line by line.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use serde_json::{Map, Value};

use maskwright::engine::{Engine, Event, FinishReason, Protocol, Request};
use maskwright::error::{Error, ErrorKind, Result};
use maskwright::model::{GenerationConfig, Message};
use maskwright::{Compiler, Constraint};

use super::line_input::{LineEvent, LineReader};
use super::output::{self, Stop};
use super::shell_words::shell_words;
use crate::cli::args::constraint::ConstraintArgs;
use crate::cli::args::generation::GenerationArgs;
use crate::cli::args::model::ModelArgs;
use crate::cli::args::sampling::SamplingArgs;
use crate::cli::args::tools::{MessagePrinter, answer_protocol};
use crate::cli::outcome::Outcome;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    constraint: ConstraintArgs,
    #[command(flatten)]
    model: ModelArgs,
    /// System message before the conversation
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    system: Option<String>,
    #[command(flatten)]
    generation: GenerationArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
}

/// The options of a constraint on a line of a conversation.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Turn {
    #[command(flatten)]
    constraint: ConstraintArgs,
}

const HELP: &str = "a line is a message; /constraint OPTIONS sets the constraint from here on \
(--schema, --regex, --grammar, --choice, --json-object, as on the command line), /free takes it \
off, /reset forgets the conversation, /exit or ctrl-d ends it; ctrl-c ends an answer";

/// A typed line, read.
#[derive(Debug, PartialEq, Eq)]
enum ChatInput<'a> {
    Nothing,
    Exit,
    Reset,
    Help,
    Free,
    Constraint(&'a str),
    Message(&'a str),
}

fn read(line: &str) -> ChatInput<'_> {
    let line = line.trim();
    match line.split_once(char::is_whitespace).unwrap_or((line, "")) {
        ("", _) => ChatInput::Nothing,
        ("/exit" | "/quit", "") => ChatInput::Exit,
        ("/reset", "") => ChatInput::Reset,
        ("/help", "") => ChatInput::Help,
        ("/free", "") => ChatInput::Free,
        ("/constraint", options) => ChatInput::Constraint(options),
        _ => ChatInput::Message(line),
    }
}

/// A conversation.
struct Chat {
    engine: Engine,
    compiler: Compiler,
    constraint: AnswerConstraint,
    messages: Vec<Message>,
    /// Messages at the start that are never dropped.
    fixed: usize,
    /// Answers so far.
    answers: u64,
    /// The settings for what no option says.
    defaults: GenerationConfig,
    generation: GenerationArgs,
    sampling: SamplingArgs,
}

/// The constraint of the answers.
#[derive(Default)]
struct AnswerConstraint {
    options: Option<ConstraintArgs>,
    /// For messages that are the answer alone, without reasoning.
    compiled: Option<Constraint>,
    /// Variables that tell the chat template of it.
    template_variables: Map<String, Value>,
}

impl AnswerConstraint {
    fn new(options: ConstraintArgs, engine: &Engine, compiler: &Compiler) -> Result<Self> {
        let compiled = options.compile(compiler)?;
        let template_variables = options.template_variables(engine);
        Ok(Self { options: Some(options), compiled, template_variables })
    }

    /// The constraint of a message with the answer in it.
    fn of_message(&self, protocol: &Protocol, compiler: &Compiler) -> Result<Option<Constraint>> {
        match &self.options {
            Some(options) if self.compiled.is_some() && !protocol.is_plain() => {
                options.compile(&protocol.compiler(compiler)?)
            }
            _ => Ok(self.compiled.clone()),
        }
    }
}

/// Whether ctrl-c was pressed while an answer was written.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// The exit code of a program that SIGINT ended.
const ENDED_BY_SIGINT: i32 = 130;

/// Ctrl-C ends the answer; where that is not heard in time, the second one ends the program. (While
/// a line is typed the terminal sends no signal.)
fn end_answers_by_ctrl_c() -> Result<()> {
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(ENDED_BY_SIGINT);
        }
    })
    .map_err(|error| {
        Error::new(ErrorKind::Io, format!("cannot listen to ctrl-c: {error}"))
            .with_help("write the lines into a pipe")
    })
}

impl Args {
    /// The file of the schema, where the constraint is one.
    pub(super) fn schema_file(&self) -> Option<PathBuf> {
        self.constraint.schema_file()
    }
}

pub(super) fn run(args: Args) -> std::result::Result<Outcome, Stop> {
    let Args { constraint, model, system, generation, sampling } = args;
    let engine = generation.load(&model)?;
    engine.model().chat_template()?;
    let defaults = generation.defaults(engine.model())?;
    sampling.params(&defaults)?;
    let compiler = Compiler::new(Arc::clone(engine.vocabulary()));
    let constraint = AnswerConstraint::new(constraint, &engine, &compiler)?;
    let messages: Vec<Message> = system.iter().map(|text| Message::new("system", text)).collect();
    let fixed = messages.len();
    let mut chat = Chat {
        engine,
        compiler,
        constraint,
        messages,
        fixed,
        answers: 0,
        defaults,
        generation,
        sampling,
    };
    let mut lines = LineReader::open()?;
    if lines.is_terminal() {
        output::note(HELP);
        end_answers_by_ctrl_c()?;
    }
    loop {
        let line = match lines.read("> ")? {
            LineEvent::Line(line) => line,
            LineEvent::Interrupt => continue,
            LineEvent::End => return Ok(Outcome::Success),
        };
        match read(&line) {
            ChatInput::Nothing => {}
            ChatInput::Exit => return Ok(Outcome::Success),
            ChatInput::Help => output::note(HELP),
            ChatInput::Reset => chat.messages.truncate(chat.fixed),
            ChatInput::Free => chat.constraint = AnswerConstraint::default(),
            ChatInput::Constraint(options) => {
                // A conversation goes on after a slip of the hand.
                if let Err(error) = chat.constrain(options) {
                    output::note(&format!("error: {error}"));
                }
            }
            ChatInput::Message(text) => chat.answer(text)?,
        }
    }
}

impl Chat {
    /// Sets the constraint of the answers from here on.
    fn constrain(&mut self, options: &str) -> Result<()> {
        let turn = Turn::try_parse_from(shell_words(options)?).map_err(|error| {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            Error::new(ErrorKind::Request, line).with_help("see `maskwright chat --help`")
        })?;
        self.constraint = AnswerConstraint::new(turn.constraint, &self.engine, &self.compiler)?;
        Ok(())
    }

    /// Answers a message, and remembers both.
    fn answer(&mut self, text: &str) -> std::result::Result<(), Stop> {
        self.messages.push(Message::new("user", text));
        self.make_room()?;
        let (request, protocol) = match self.request() {
            Ok(prepared) => prepared,
            Err(error) => {
                self.messages.pop();
                output::note(&format!("error: {error}"));
                return Ok(());
            }
        };
        let mut message = MessagePrinter::new(&protocol, true);
        let vocabulary = Arc::clone(self.engine.vocabulary());
        let mut failed = None;
        INTERRUPTED.store(false, Ordering::Relaxed);
        let response = self.engine.generate(&request, &mut |event| {
            if INTERRUPTED.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            let told = match event {
                Event::Text(text) => message.text(text),
                Event::Special(token) => message.special(&vocabulary.token_name(token)),
                Event::Step(_) | Event::Working | Event::Ended(_) => Ok(()),
            };
            match told {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        let reply = message.finish()?;
        match response {
            Ok(response) => {
                output::line("")?;
                match response.finish {
                    FinishReason::Cancelled => output::note("interrupted"),
                    _ if response.complete => {}
                    FinishReason::StopString | FinishReason::StopToken => {
                        output::note("the text is not complete: a stop string or token ended it");
                    }
                    _ => output::note("the text is not complete; raise --max-tokens"),
                }
                self.messages.push(Message::new("assistant", &reply.text));
            }
            Err(error) => {
                self.messages.pop();
                output::note(&format!("error: {error}"));
            }
        }
        Ok(())
    }

    /// The request for an answer to the messages, and how it is taken apart.
    fn request(&mut self) -> Result<(Request, Protocol)> {
        let mut sampling = self.sampling.params(&self.defaults)?;
        // Each answer has random numbers of its own.
        sampling.seed = sampling.seed.map(|seed| seed.wrapping_add(self.answers));
        self.answers += 1;
        let mut request = Request {
            template_variables: self.constraint.template_variables.clone(),
            sampling,
            ..Request::chat(self.messages.clone())
        };
        let is_constrained = self.constraint.compiled.is_some();
        let protocol = answer_protocol(&self.engine, is_constrained, &mut request)?;
        request.constraint = self.constraint.of_message(&protocol, &self.compiler)?;
        Ok((self.generation.apply(request, &self.defaults), protocol))
    }

    /// Drops the oldest exchanges until the rest and an answer fit the model's context.
    fn make_room(&mut self) -> Result<()> {
        let model = self.engine.model();
        let room =
            model.context_length().saturating_sub(self.generation.max_tokens(&self.defaults));
        // Where an answer alone fills the context, half of it is left to the conversation.
        let room = room.max(model.context_length() / 2);
        loop {
            let names = self.generation.special_names();
            let (messages, variables) = (&self.messages, &self.constraint.template_variables);
            let fits = match model.encode_chat_with(messages, None, variables, names) {
                Ok(prompt) => prompt.len() <= room,
                Err(error) if error.kind() == ErrorKind::Context => false,
                Err(error) => return Err(error),
            };
            // A question goes with its answer; the last question stays.
            let oldest = self.fixed..self.fixed + 2;
            if fits || self.messages.len() <= oldest.end {
                return Ok(());
            }
            self.messages.drain(oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_messages_or_commands() {
        for (line, expected) in [
            ("", ChatInput::Nothing),
            ("  \n", ChatInput::Nothing),
            ("hello there\n", ChatInput::Message("hello there")),
            ("/exit\n", ChatInput::Exit),
            ("/exit now", ChatInput::Message("/exit now")),
            ("/constraint --choice a --choice b\n", ChatInput::Constraint("--choice a --choice b")),
            ("/free", ChatInput::Free),
            ("/unknown", ChatInput::Message("/unknown")),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }
}
