//! `maskwright serve`: the HTTP server (OpenAI's and Anthropic's APIs, decisions, constraints).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use tokio::sync::oneshot;

use crate::cli::input::{self, BYTE_ORDER_MARK};
use maskwright::engine::{EngineOptions, MessageFormats};
use maskwright::error::{Error, ErrorKind};
use maskwright::server::{Server, ServerBounds, ServerOptions, interrupted};
use maskwright::tools::{ReasoningFormat, ToolFormat};

use super::check;
use super::logging::LogArgs;
use super::output::{self, Stop};
use crate::cli::args::generation::{self, GenerationConfigSource};
use crate::cli::args::json::JsonArgs;
use crate::cli::args::limits::LimitArgs;
use crate::cli::args::model::ModelArgs;
use crate::cli::outcome::Outcome;

/// The variable with keys, which other users of the machine cannot see as they see arguments.
const KEY_VARIABLE: &str = "MASKWRIGHT_API_KEY";

/// More than 12 fields: one an option of the command.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// A model that guesses for requests with `speculate`: "draft" (a model folder, or `layers:N`)
    #[arg(long, value_name = "DIR|layers:N")]
    draft_model: Option<String>,
    /// The name that requests call the model by (repeat the option for more; answers have the
    /// first) [default: the model's own]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    served_model_name: Vec<String>,
    /// The address to listen on; 0.0.0.0 or :: is open to the network
    // Of several of these the last one counts, so that those of a container's entry point can be changed.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = address)]
    #[arg(overrides_with = "host")]
    host: IpAddr,
    /// The port to listen on; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value = "8000", overrides_with = "port")]
    port: u16,
    /// A key that requests must carry as `Authorization: Bearer KEY` (repeat the option for more);
    /// other users of the machine can see it, unlike those of --api-key-file and of the variable
    /// MASKWRIGHT_API_KEY
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    api_key: Vec<String>,
    /// A file with such keys, one a line; lines that begin with # are comments
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// A web page's origin, such as https://example.org, whose scripts may use the server; `*` for
    /// those of all pages (repeat the option for more) [default: none]
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    cors_origin: Vec<String>,
    /// Leaves out fields of requests that this server does not know, and names them in the header
    /// x-ignored-fields, instead of refusing the request
    #[arg(long)]
    ignore_unknown_fields: bool,
    /// A file in TOML with options of this command by their names, such as `port = 8080`; those of
    /// the command line win
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    bounds: BoundArgs,
    #[command(flatten)]
    formats: FormatArgs,
    #[command(flatten)]
    engine: EngineArgs,
    /// The settings that count where a request does not say: `auto`, those of the model's
    /// generation_config.json; `none`; or those of a folder with such a file. End tokens are the
    /// model's in any case
    #[arg(long, value_name = "auto|none|DIR", default_value = "auto")]
    generation_config: GenerationConfigSource,
    /// Takes names of special tokens in messages and tools for these tokens, not for text: who writes
    /// a message can then end its turn
    #[arg(long)]
    parse_special: bool,
    /// Serves the API alone, without the page at / to try it with
    #[arg(long)]
    no_playground: bool,
}

/// Formats of tool calls and of reasoning.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Formats")]
struct FormatArgs {
    /// Format of tool calls, by its name in docs/coverage.md or as vLLM, SGLang or XGrammar call it
    /// [default: that of the chat template, or json]
    #[arg(long, visible_alias = "tool-call-parser", value_name = "FORMAT")]
    tool_format: Option<String>,
    /// Format of reasoning: think, mistral, gpt-oss or another of docs/coverage.md [default: that of
    /// the chat template, or think]
    #[arg(long, visible_alias = "reasoning-parser", value_name = "FORMAT")]
    reasoning_format: Option<String>,
}

impl FormatArgs {
    /// The formats that are given; errors if there is none of a name.
    fn formats(&self) -> maskwright::Result<MessageFormats> {
        let tools = self.tool_format.as_deref().map(ToolFormat::named).transpose()?;
        let reasoning = self.reasoning_format.as_deref().map(ReasoningFormat::named).transpose()?;
        Ok(MessageFormats { tools, reasoning })
    }
}

/// The number of requests that are worked on side by side, and the memory for them.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Engine")]
struct EngineArgs {
    /// Texts that are written side by side; others wait [default: 64]
    #[arg(long, visible_alias = "max-num-seqs", value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=65536))]
    max_running: Option<u32>,
    /// Texts that may wait; another request is told to come back [default: 256]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_waiting: Option<u32>,
    /// Memory for the KV cache, in MiB: as much as it takes, up to this [default: what all texts side by
    /// side take with the model's whole context, and at most a quarter of the available memory]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    kv_cache: Option<u32>,
    /// Tokens of prompts that one forward pass reads while nobody's text grows [default: 512]
    #[arg(long, visible_alias = "max-num-batched-tokens", value_name = "N",
          value_parser = clap::value_parser!(u32).range(16..))]
    prefill_tokens: Option<u32>,
    /// Tokens of prompts that one forward pass reads beside growing texts: more let new answers begin
    /// earlier, fewer keep the others even [default: 32, or one for each
    /// request if there are more; on a GPU those of --prefill-tokens]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(16..))]
    prefill_tokens_beside_decode: Option<u32>,
    /// Reads every prompt anew, also where another one began with the same tokens
    #[arg(long)]
    no_prefix_cache: bool,
}

impl EngineArgs {
    fn options(&self) -> EngineOptions {
        let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        let or = |given: Option<u32>, default| given.map_or(default, count);
        let default = EngineOptions::default();
        let megabytes = self.kv_cache.map(|megabytes| count(megabytes).saturating_mul(1 << 20));
        EngineOptions {
            max_running: or(self.max_running, default.max_running),
            kv_cache_bytes: megabytes.or(default.kv_cache_bytes),
            prefill_tokens: or(self.prefill_tokens, default.prefill_tokens),
            prefill_tokens_beside_decode: self.prefill_tokens_beside_decode.map(count),
            prefix_cache: !self.no_prefix_cache,
            ..default
        }
    }
}

/// Bounds on what one client may take of the server.
/// More than 12 fields: each is an option of its own.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Bounds")]
struct BoundArgs {
    /// The largest body of a request, in MiB [default: 16]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1024))]
    max_body: Option<u32>,
    /// Connections that are open at a time; fewer where the system lets the program open fewer
    /// files [default: 1024]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: Option<u32>,
    /// Constraints that are compiled at a time [default: one less than there are cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    max_compiles: Option<u32>,
    /// Memory for compiled constraints that are kept for requests with the same, in MiB [default: 256]
    #[arg(long, value_name = "MIB")]
    constraint_cache: Option<u32>,
    /// Choices of a prompt, beams, and texts of which the best are answered: the greatest `n`,
    /// `num_beams` and `best_of` [default: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_choices: Option<u32>,
    /// Stop strings of one request, and as many stop regexes [default: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_stops: Option<u32>,
    /// Prompts of one request for completions [default: 128]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_prompts: Option<u32>,
    /// Random texts of one request for samples of a constraint [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_samples: Option<u32>,
    /// Questions of one request for decisions [default: 400]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_questions: Option<u32>,
    /// Labels of one question of a request for decisions [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    max_labels: Option<u32>,
    /// Bytes of all labels of one request for decisions, in KiB [default: 64]
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u32).range(1..))]
    max_label_bytes: Option<u32>,
    /// The greatest `max_contexts` of a request for decisions: contexts that are read for one question
    /// [default: 65536]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_contexts: Option<u32>,
    /// Longest time that the model works on a request, in seconds, or none [default: 600]
    #[arg(long, value_name = "SECONDS|none", value_parser = seconds_or_none)]
    request_timeout: Option<Timeout>,
    /// Longest time for the head of a request to arrive, in seconds, since the connection was made
    /// or the last answer was sent: idle connections are closed after it [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    head_timeout: Option<Duration>,
    /// Longest time for the body of a request to arrive, in seconds [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    body_timeout: Option<Duration>,
    /// Longest time in which a client must make room for more of its answer in its connection's buffer, in
    /// seconds [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    write_timeout: Option<Duration>,
    /// Longest time for requests in flight to be answered once the server is told to stop, in
    /// seconds [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    drain_timeout: Option<Duration>,
}

/// A time limit, or none.
#[derive(Clone, Copy, Debug)]
struct Timeout(Option<Duration>);

fn seconds_or_none(text: &str) -> Result<Timeout, &'static str> {
    match text {
        "none" => Ok(Timeout(None)),
        text => seconds(text).map(|time| Timeout(Some(time))),
    }
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    // The clock of timeouts ends before that of durations.
    let most = Duration::from_secs(366 * 24 * 3600);
    let time = time.filter(|time| !time.is_zero() && *time <= most);
    time.ok_or("write a number of seconds, such as 30")
}

impl BoundArgs {
    fn bounds(&self) -> ServerBounds {
        let mut bounds = ServerBounds::default();
        if let Some(megabytes) = self.max_body {
            let room = bounds.max_total_body_bytes / bounds.max_body_bytes;
            bounds.max_body_bytes = usize::try_from(megabytes).unwrap_or(usize::MAX) << 20;
            bounds.max_total_body_bytes = bounds.max_body_bytes.saturating_mul(room);
        }
        let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        bounds.max_connections = self.max_connections.map_or(bounds.max_connections, count);
        bounds.max_compiles = self.max_compiles.map_or(bounds.max_compiles, count);
        let megabytes =
            self.constraint_cache.map(|megabytes| count(megabytes).saturating_mul(1 << 20));
        bounds.constraint_cache_bytes = megabytes.unwrap_or(bounds.constraint_cache_bytes);
        let generation = &mut bounds.generation;
        generation.max_choices = self.max_choices.map_or(generation.max_choices, count);
        generation.max_stops = self.max_stops.map_or(generation.max_stops, count);
        generation.max_prompts = self.max_prompts.map_or(generation.max_prompts, count);
        generation.max_samples = self.max_samples.map_or(generation.max_samples, count);
        let decisions = &mut bounds.decisions;
        decisions.max_questions = self.max_questions.map_or(decisions.max_questions, count);
        decisions.max_labels = self.max_labels.map_or(decisions.max_labels, count);
        let bytes = self.max_label_bytes.map(|kib| count(kib).saturating_mul(1 << 10));
        decisions.max_label_bytes = bytes.unwrap_or(decisions.max_label_bytes);
        decisions.max_contexts = self.max_contexts.map_or(decisions.max_contexts, count);
        bounds.request_timeout =
            self.request_timeout.map_or(bounds.request_timeout, |Timeout(time)| time);
        bounds.head_timeout = self.head_timeout.unwrap_or(bounds.head_timeout);
        bounds.body_timeout = self.body_timeout.unwrap_or(bounds.body_timeout);
        bounds.write_timeout = self.write_timeout.unwrap_or(bounds.write_timeout);
        bounds.drain_timeout = self.drain_timeout.unwrap_or(bounds.drain_timeout);
        bounds
    }
}

/// An address, or that of a name such as `localhost`: the IPv4 one, if it has one of each kind.
fn address(text: &str) -> std::result::Result<IpAddr, String> {
    let found = || (text, 0).to_socket_addrs().ok()?.min_by_key(SocketAddr::is_ipv6);
    let address = text.parse().ok().or_else(|| found().map(|found| found.ip()));
    address.ok_or_else(|| {
        "no address, and no name that has one; write one such as 127.0.0.1".to_owned()
    })
}

/// An origin as browsers write it, without a path.
fn origin(text: &str) -> std::result::Result<String, &'static str> {
    if matches!(text, "*" | "null") {
        return Ok(text.to_owned());
    }
    let wanted =
        "write scheme, host and port alone, such as https://example.org or http://localhost:3000";
    let (scheme, host) = text.split_once("://").ok_or(wanted)?;
    let host = host.strip_suffix('/').unwrap_or(host);
    let is_plain = |part: &str| !part.is_empty() && !part.contains(['/', '?', '#', ' ']);
    if !is_plain(scheme) || !is_plain(host) {
        return Err(wanted);
    }
    let origin = format!("{scheme}://{host}").to_ascii_lowercase();
    // Browsers leave out the scheme's own port.
    let own_port = if origin.starts_with("https:") { ":443" } else { ":80" };
    Ok(origin.strip_suffix(own_port).map_or_else(|| origin.clone(), str::to_owned))
}

pub(super) fn run(args: Args) -> Result<Outcome, Stop> {
    args.log.start();
    args.json.choices.require_names()?;
    let api_keys = keys(&args)?;
    if api_keys.is_empty() && !args.host.is_loopback() {
        output::note(
            "warning: anyone on the network can use this server; --api-key-file keeps them out",
        );
    }
    let json_options = args.limits.options(args.json.options()?);
    // A wrong option is reported at once, not at each request.
    check::compiler_of_texts()?.with_json_options(args.json.options()?).json_object()?;
    let mut bounds = args.bounds.bounds();
    let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
    bounds.max_waiting = args.engine.max_waiting.map_or(bounds.max_waiting, count);
    let mut options = ServerOptions {
        api_keys,
        json_options,
        limits: args.limits.limits(),
        bounds,
        model_names: args.served_model_name,
        parse_special: args.parse_special,
        cors_origins: args.cors_origin,
        ignore_unknown_fields: args.ignore_unknown_fields,
        formats: args.formats.formats()?,
        generation_config: None,
        without_playground: args.no_playground,
    };
    // The port first: it is known at once to be taken, where a model may load for minutes.
    let listener = Server::listen((args.host, args.port).into())?;
    let loading = end_when_told();
    let mut engine = args.model.load()?.with_options(args.engine.options());
    options.generation_config = Some(args.generation_config.read(engine.model())?);
    if let Some(draft) = &args.draft_model {
        engine = generation::with_draft(engine, draft, &args.model)?;
    }
    if !engine.model().has_chat_template() {
        output::note(&format!(
            "warning: the model `{}` has no chat template, so only completions of a prompt can be \
             served; put its chat_template.jinja into the model folder and start again",
            engine.model().name()
        ));
    }
    if let Some(bytes) = engine.kv_cache_bytes() {
        let chosen = match args.engine.kv_cache {
            Some(_) => "",
            None => ", chosen by the model and the available memory; --kv-cache sets another",
        };
        output::note(&format!("KV cache of up to {} MiB{chosen}", bytes.div_ceil(1 << 20)));
    }
    let server = Server::new(listener, engine, options)?;
    if !args.no_playground {
        output::note(&format!("playground at http://{}/", browsable(server.address())));
    }
    output::note(&format!("listening on http://{}/v1", server.address()));
    drop(loading);
    server.run(interrupted())?;
    Ok(Outcome::Success)
}

/// The address at which a browser on this machine finds a server that listens here.
fn browsable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => (Ipv4Addr::LOCALHOST, address.port()).into(),
        IpAddr::V6(ip) if ip.is_unspecified() => (Ipv6Addr::LOCALHOST, address.port()).into(),
        _ => address,
    }
}

/// Ends the process where it is told to stop, until what is returned is dropped. The first process of a container
/// ignores signals that nobody handles, and a model may take minutes to arrive.
fn end_when_told() -> oneshot::Sender<()> {
    let (until, dropped) = oneshot::channel();
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
            return;
        };
        runtime.block_on(async {
            tokio::select! {
                _ = dropped => {}
                () = interrupted() => std::process::exit(143), // 128 + SIGTERM, as shells report it
            }
        });
    });
    until
}

/// The keys of all sources together.
fn keys(args: &Args) -> Result<Vec<String>, Error> {
    let trimmed = args.api_key.iter().map(|key| key.trim().to_owned());
    let mut keys: Vec<String> = trimmed.filter(|key| !key.is_empty()).collect();
    if keys.len() < args.api_key.len() {
        return Err(Error::new(ErrorKind::Request, "`--api-key` is empty")
            .with_help("give a key, or leave it out to serve without one"));
    }
    if let Some(file) = &args.api_key_file {
        keys.extend(lines_of_keys(&input::read_text(file, "a file with one key a line")?));
        if keys.len() == args.api_key.len() {
            return Err(Error::new(ErrorKind::Request, "there is no key in the file")
                .in_file(Path::new(file))
                .with_help("write one key a line"));
        }
    }
    if let Some(value) = std::env::var_os(KEY_VARIABLE) {
        let text = value.into_string().map_err(|_| {
            Error::new(ErrorKind::Request, format!("{KEY_VARIABLE} is not UTF-8"))
                .with_help("set it to a key")
        })?;
        let before = keys.len();
        keys.extend(lines_of_keys(&text));
        if keys.len() == before {
            let message = format!("{KEY_VARIABLE} is set, and there is no key in it");
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("set it to a key, or unset it to serve without one"));
        }
    }
    Ok(keys)
}

fn lines_of_keys(text: &str) -> impl Iterator<Item = String> {
    let is_key = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    text.lines().map(str::trim).filter(is_key).map(str::to_owned)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;

    #[test]
    fn times_are_numbers_of_seconds() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        for text in ["0", "-1", "soon", "NaN", "inf", "1e300", ""] {
            assert!(seconds(text).is_err(), "{text}");
        }
        assert_eq!(seconds_or_none("none").unwrap().0, None);
    }

    #[test]
    fn a_browser_is_sent_to_this_machine() {
        for (from, to) in
            [("0.0.0.0:80", "127.0.0.1:80"), ("[::]:80", "[::1]:80"), ("10.0.0.1:8", "10.0.0.1:8")]
        {
            assert_eq!(browsable(from.parse().unwrap()).to_string(), to);
        }
    }

    #[test]
    fn keys_stand_on_lines() {
        let keys: Vec<String> = lines_of_keys("# of the team\none\r\n\n  two \n").collect();
        assert_eq!(keys, ["one", "two"]);
    }

    #[test]
    fn origins_are_written_as_browsers_send_them() {
        assert_eq!(origin("https://Example.org/").as_deref(), Ok("https://example.org"));
        assert_eq!(origin("http://localhost:3000").as_deref(), Ok("http://localhost:3000"));
        assert_eq!(origin("https://a.org:443").as_deref(), Ok("https://a.org"));
        assert_eq!(origin("http://a.org:80/").as_deref(), Ok("http://a.org"));
        assert_eq!(origin("*").as_deref(), Ok("*"));
        for wrong in ["example.org", "https://", "https://example.org/page", "https://a.b?c"] {
            assert!(origin(wrong).unwrap_err().contains("scheme, host and port"), "{wrong}");
        }
    }

    #[test]
    fn addresses_are_numbers_or_names() {
        assert_eq!(address("::1"), Ok(IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])));
        assert_eq!(address("localhost"), Ok(IpAddr::from([127, 0, 0, 1])));
        assert!(address("").unwrap_err().contains("127.0.0.1"));
    }
}
