//! The numbers: bytes, connections and time that clients may take.

use std::time::Duration;

/// Bounds on what clients can make a server hold, wait for or compute.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerBounds {
    /// Bytes of one body; schemas of several megabytes exist.
    pub body: usize,
    /// Bytes of all bodies whose requests are not answered yet; another one waits for room, and
    /// is told to come back where there is none for as long as a body may take to arrive. Small
    /// bodies (64 KiB) do not count.
    pub bodies: usize,
    /// Connections that are open at a time, less where the system lets the process open fewer files.
    pub connections: usize,
    /// Longest time for the head of a request to arrive, since the connection was made or the last
    /// answer was sent; an idle connection is closed after it.
    pub head: Duration,
    /// Longest time for a body to arrive.
    pub arrival: Duration,
    /// Longest time for which a client may take no byte of its answer.
    pub delivery: Duration,
    /// Longest time for which the model works on one request; `None` for no limit.
    pub request: Option<Duration>,
    /// Time after which a streamed answer that has not begun begins with comments, so that no proxy
    /// takes the connection for dead.
    pub silence: Duration,
    /// Constraints that are compiled, and large bodies that are parsed, at a time. One less than the
    /// cores by default, which leaves one to the model's thread.
    pub compiles: usize,
}

impl Default for ServerBounds {
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
