//! How much of a server one client may take: bytes, connections and time.

use std::time::Duration;

/// Bounds on what clients can make a server hold, wait for or compute.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// Bytes of one body; schemas of several megabytes exist.
    pub body: usize,
    /// Bytes of all bodies whose requests are not answered yet; another one waits for room, and
    /// is told to come back where there is none for as long as a body may take to arrive. Small
    /// bodies (64 KiB) do not count.
    pub bodies: usize,
    /// Connections that are open at a time, less where the system lets the process open fewer files.
    pub connections: usize,
    /// How long a request's head may take to arrive, since the connection was made or the last
    /// answer was sent: an idle connection is closed after it.
    pub head: Duration,
    /// How long a body may take to arrive.
    pub arrival: Duration,
    /// How long a client may take no byte of its answer.
    pub delivery: Duration,
    /// How long the model may work on one request; `None` for as long as it takes.
    pub request: Option<Duration>,
    /// A streamed answer that has not begun after so long begins with comments, so that no proxy
    /// takes the connection for dead.
    pub silence: Duration,
    /// Constraints that are compiled at a time, and large bodies that are parsed: the model's thread
    /// keeps a core of its own.
    pub compiles: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            body: 16 << 20,
            bodies: 64 << 20,
            connections: 1024,
            head: Duration::from_secs(30),
            arrival: Duration::from_secs(60),
            delivery: Duration::from_secs(60),
            request: Some(Duration::from_secs(600)),
            silence: Duration::from_secs(10),
            compiles: (cores - 1).max(1),
        }
    }
}
