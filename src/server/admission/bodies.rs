//! Bodies of requests: bounds on the length of one, on the bytes of all together, and on the time in which one
//! arrives ([`ServerBounds::body_timeout`]).
//!
//! A large body takes permits of a semaphore, one for each KiB, from before it is read until its
//! request is answered: what is parsed from a body is larger than the body.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, BodyDataStream, HttpBody as _};
use axum::http::HeaderMap;
use axum::http::header::EXPECT;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_stream::StreamExt as _;

use super::bounds::ServerBounds;
use crate::server::api_error::ApiError;

/// Greatest length of a body that takes no permits, in bytes: no other body keeps it out, and there
/// can be no more of them than connections.
const SMALL_BODY_BYTES: usize = 64 << 10;

/// Greatest length of what is read of a refused body, as a multiple of the greatest that is accepted.
const MAX_DROPPED_BODIES: usize = 4;

/// Greatest time for which it is read.
const MAX_DROP_TIME: Duration = Duration::from_secs(5);

/// Bytes that one permit stands for.
const PERMIT_BYTES: usize = 1 << 10;

/// Reads bodies, and counts the bytes of all large ones that are held.
pub(crate) struct BodyReader {
    permits: Arc<Semaphore>,
    /// Number of permits, free and taken.
    total: usize,
    bounds: ServerBounds,
}

/// The permits of a large body, given back when dropped.
pub(crate) type BodyPermit = OwnedSemaphorePermit;

/// A body that has arrived.
pub(crate) struct ReceivedBody {
    pub(crate) bytes: Vec<u8>,
    pub(crate) permit: Option<BodyPermit>,
}

impl ReceivedBody {
    /// Whether parsing it takes so long that it should wait for a turn.
    pub(crate) fn is_large(&self) -> bool {
        self.bytes.len() > SMALL_BODY_BYTES
    }
}

impl BodyReader {
    pub(crate) fn new(bounds: &ServerBounds) -> Self {
        let total = (bounds.max_total_body_bytes / PERMIT_BYTES).clamp(1, Semaphore::MAX_PERMITS);
        Self { permits: Arc::new(Semaphore::new(total)), total, bounds: bounds.clone() }
    }

    /// Reads a body. A large one waits for permits before it is read.
    ///
    /// Errors if it is too long, if it gets no permits within the time that a body may take to arrive,
    /// or if it takes longer to arrive.
    pub(crate) async fn read(&self, body: Body) -> Result<ReceivedBody, ApiError> {
        let announced = body.size_hint().exact();
        let length = announced.map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        if length.is_some_and(|length| length > self.bounds.max_body_bytes) {
            self.drop_pieces(body.into_data_stream()).await;
            return Err(ApiError::too_large(self.bounds.max_body_bytes));
        }
        let mut reading = PartialBody {
            bodies: self,
            pieces: body.into_data_stream(),
            received: ReceivedBody { bytes: Vec::new(), permit: None },
            left: self.bounds.body_timeout,
        };
        match length {
            Some(length) => {
                reading.acquire(length).await?;
                reading.read_up_to(length).await?;
            }
            // Permits for the greatest length: with fewer, each of many bodies that are half read
            // could wait for the others.
            None => {
                if !reading.read_up_to(SMALL_BODY_BYTES).await? {
                    reading.acquire(self.bounds.max_body_bytes).await?;
                }
            }
        }
        if reading.read_up_to(self.bounds.max_body_bytes).await? {
            Ok(reading.received)
        } else {
            self.drop_pieces(reading.pieces).await;
            Err(ApiError::too_large(self.bounds.max_body_bytes))
        }
    }

    /// Reads what is left of the body of a request that is refused, within bounds: a client that is still sending
    /// would find the connection closed, and not see the answer. One that waits for leave to send gets none.
    pub(crate) async fn drop_rest(&self, headers: &HeaderMap, body: Body) {
        if !body.is_end_stream() && !headers.contains_key(EXPECT) {
            self.drop_pieces(body.into_data_stream()).await;
        }
    }

    async fn drop_pieces(&self, mut pieces: BodyDataStream) {
        let mut left = self.bounds.max_body_bytes.saturating_mul(MAX_DROPPED_BODIES);
        let _ = tokio::time::timeout(self.bounds.body_timeout.min(MAX_DROP_TIME), async {
            while let Some(Ok(piece)) = pieces.next().await {
                left = left.saturating_sub(piece.len());
                if left == 0 {
                    break;
                }
            }
        })
        .await;
    }
}

/// A body that is being read.
struct PartialBody<'a> {
    bodies: &'a BodyReader,
    pieces: BodyDataStream,
    received: ReceivedBody,
    /// The time that the rest may take to arrive. It stands still while the body waits for permits.
    left: Duration,
}

impl PartialBody<'_> {
    /// Waits for the permits of a body of this length.
    async fn acquire(&mut self, length: usize) -> Result<(), ApiError> {
        if length <= SMALL_BODY_BYTES {
            return Ok(());
        }
        let count = u32::try_from(length.div_ceil(PERMIT_BYTES).min(self.bodies.total));
        let acquired =
            Arc::clone(&self.bodies.permits).acquire_many_owned(count.unwrap_or(u32::MAX));
        let body_timeout = self.bodies.bounds.body_timeout;
        if let Ok(Ok(permits)) = tokio::time::timeout(body_timeout, acquired).await {
            self.received.permit = Some(permits);
            return Ok(());
        }
        // A client that is still sending would not see an answer.
        let _ = tokio::time::timeout(body_timeout, async {
            while let Some(Ok(_)) = self.pieces.next().await {}
        })
        .await;
        Err(ApiError::no_room_for_body())
    }

    /// Reads until the body ends (true) or has more bytes than `length` (false).
    async fn read_up_to(&mut self, length: usize) -> Result<bool, ApiError> {
        let began = Instant::now();
        let left = self.left;
        let read = async {
            while self.received.bytes.len() <= length {
                match self.pieces.next().await {
                    None => return Ok(true),
                    Some(Ok(piece)) => self.received.bytes.extend_from_slice(&piece),
                    Some(Err(error)) => return Err(ApiError::unreadable_body(&error)),
                }
            }
            Ok(false)
        };
        let read = tokio::time::timeout(left, read).await;
        self.left = left.saturating_sub(began.elapsed());
        read.unwrap_or_else(|_| Err(ApiError::slow_body(self.bodies.bounds.body_timeout)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;

    fn streamed(length: usize) -> Body {
        let pieces = vec![vec![b' '; 1000]; length / 1000].into_iter().map(Ok::<_, std::io::Error>);
        Body::from_stream(tokio_stream::iter(pieces))
    }

    fn status(result: Result<ReceivedBody, ApiError>) -> u16 {
        result.err().map_or(200, |error| error.status().as_u16())
    }

    #[tokio::test]
    async fn large_bodies_have_room_as_long_as_they_are_held() {
        let bounds = ServerBounds {
            max_body_bytes: 100_000,
            max_total_body_bytes: 150_000,
            ..ServerBounds::default()
        };
        let bodies = BodyReader::new(&bounds);
        let whole = |length: usize| bodies.read(Body::from(vec![b' '; length]));
        assert_eq!(status(whole(100_001).await), 413);
        assert_eq!(status(bodies.read(streamed(101_000)).await), 413);
        assert_eq!(bodies.permits.available_permits(), bodies.total);
        let first = whole(100_000).await.unwrap();
        let small = bodies.read(streamed(60_000)).await.unwrap();
        assert!(first.is_large() && !small.is_large());
        for body in [Body::from(vec![b' '; 100_000]), streamed(70_000)] {
            // It waits, and is read when there is room.
            let mut waiting = std::pin::pin!(bodies.read(body));
            let soon = Duration::from_millis(1);
            assert!(tokio::time::timeout(soon, &mut waiting).await.is_err());
        }
        drop(first);
        assert_eq!(status(bodies.read(streamed(70_000)).await), 200);
        assert_eq!(bodies.permits.available_permits(), bodies.total);
    }

    #[tokio::test]
    async fn who_finds_no_room_is_told_to_come_back() {
        let body_timeout = Duration::from_millis(1);
        let bounds = ServerBounds {
            max_body_bytes: 100_000,
            max_total_body_bytes: 150_000,
            body_timeout,
            ..ServerBounds::default()
        };
        let bodies = BodyReader::new(&bounds);
        let _held = bodies.read(Body::from(vec![b' '; 100_000])).await.unwrap();
        assert_eq!(status(bodies.read(Body::from(vec![b' '; 100_000])).await), 503);
    }

    #[tokio::test]
    async fn a_body_that_does_not_arrive_is_given_up() {
        let bounds =
            ServerBounds { body_timeout: Duration::from_millis(1), ..ServerBounds::default() };
        let never = tokio_stream::pending::<Result<Vec<u8>, std::io::Error>>();
        assert_eq!(status(BodyReader::new(&bounds).read(Body::from_stream(never)).await), 408);
    }

    /// Of unknown length, it is read in two parts, which have the time of one body together.
    #[tokio::test]
    async fn the_parts_of_a_long_body_share_its_time() {
        let body_timeout = Duration::from_millis(200);
        let bodies = BodyReader::new(&ServerBounds { body_timeout, ..ServerBounds::default() });
        let late = |piece: Vec<u8>| async {
            tokio::time::sleep(Duration::from_millis(150)).await;
            Ok::<_, std::io::Error>(piece)
        };
        let pieces = tokio_stream::iter([vec![b' '; SMALL_BODY_BYTES + 1], vec![b' ']]).then(late);
        assert_eq!(status(bodies.read(Body::from_stream(pieces)).await), 408);
    }
}
