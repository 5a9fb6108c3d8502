//! The numbers: bytes, connections and time that clients may take.

use std::time::Duration;

/// Bounds on what clients can make a server hold, wait for or compute.
///
/// More than 12 fields: each is a setting of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerBounds {
    /// Bytes of one body; schemas of several megabytes exist. The texts of one request, each with its prompt
    /// and lists, may take sixteen times that together.
    pub max_body_bytes: usize,
    /// Bytes of all bodies whose requests are not answered yet; another one waits for room, and
    /// is told to come back where there is none for as long as a body may take to arrive. Small
    /// bodies (64 KiB) do not count.
    pub max_total_body_bytes: usize,
    /// Connections that are open at a time, less where the system lets the process open fewer files.
    pub max_connections: usize,
    /// Longest time for the head of a request to arrive, since the connection was made or the last
    /// answer was sent; an idle connection is closed after it.
    pub head_timeout: Duration,
    /// Longest time for a body to arrive.
    pub body_timeout: Duration,
    /// Longest time in which a client must make room for more of its answer. Systems call a connection writable
    /// again when a good part of its buffer is free (Linux a third), so one that reads a few kB a second is cut off.
    pub write_timeout: Duration,
    /// Longest time for which the model works on one request; `None` for no limit.
    pub request_timeout: Option<Duration>,
    /// Longest time for requests in flight to be answered once the server is told to stop.
    pub drain_timeout: Duration,
    /// Time after which a streamed answer that has not begun begins with comments, so that no proxy
    /// takes the connection for dead.
    pub keep_alive_delay: Duration,
    /// Choices that wait for the model to have room for them; another request is told to come back.
    pub max_waiting: usize,
    /// Constraints that are compiled, and large bodies that are parsed, at a time. One less than the
    /// cores by default, which leaves one to the engine's thread.
    pub max_compiles: usize,
    /// Bytes of compiled constraints that are kept for requests with the same; 0 for none.
    pub constraint_cache_bytes: usize,
    /// Bounds on one request for texts.
    pub generation: GenerationBounds,
    /// Bounds on one request for decisions.
    pub decisions: DecisionBounds,
}

/// Numbers of what one request for texts may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GenerationBounds {
    /// Choices of a prompt, beams, and texts of which the best are answered: `n`, `num_beams` and
    /// `best_of`. Texts of `n` and `best_of` take a place each among the running ones; beams of one search
    /// share one.
    pub max_choices: usize,
    /// Stop strings, and as many stop regexes; OpenAI's limit is four.
    pub max_stops: usize,
    /// Prompts of one request for completions.
    pub max_prompts: usize,
    /// Random texts of one request for samples of a constraint.
    pub max_samples: usize,
}

impl Default for GenerationBounds {
    fn default() -> Self {
        Self { max_choices: 16, max_stops: 16, max_prompts: 128, max_samples: 1000 }
    }
}

/// Numbers of what one request for decisions may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecisionBounds {
    /// Questions; OpenAI's limit by default.
    pub max_questions: usize,
    /// Labels of one question.
    pub max_labels: usize,
    /// Bytes of all labels, each of which takes a node of a tree.
    pub max_label_bytes: usize,
    /// The greatest `max_contexts`: contexts that are read for one question.
    pub max_contexts: usize,
}

impl Default for DecisionBounds {
    fn default() -> Self {
        Self {
            max_questions: 400,
            max_labels: 1000,
            max_label_bytes: 64 << 10,
            max_contexts: 1 << 16,
        }
    }
}

impl Default for ServerBounds {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            max_body_bytes: 16 << 20,
            max_total_body_bytes: 64 << 20,
            max_connections: 1024,
            head_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(60),
            request_timeout: Some(Duration::from_secs(600)),
            drain_timeout: Duration::from_secs(10),
            keep_alive_delay: Duration::from_secs(10),
            max_waiting: 256,
            max_compiles: (cores - 1).max(1),
            constraint_cache_bytes: 256 << 20,
            generation: GenerationBounds::default(),
            decisions: DecisionBounds::default(),
        }
    }
}
