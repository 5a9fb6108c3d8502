//! Bodies of requests: how long they may be, alone and together, and how long they may take.

use std::sync::Arc;

use axum::body::{Body, BodyDataStream, HttpBody as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_stream::StreamExt as _;

use super::bounds::Bounds;
use super::error::ApiError;

/// Bodies up to so many bytes are not counted: no other may keep them out, and there can be no more
/// of them than connections.
const UNCOUNTED: usize = 64 << 10;

/// Bytes are counted in steps of so many.
const STEP: usize = 1 << 10;

/// Counts the bytes of all large bodies that are held.
pub(super) struct Bodies {
    /// One permit for each step.
    steps: Arc<Semaphore>,
    /// How many there are.
    total: usize,
    bounds: Bounds,
}

/// The room that a large body takes, until it is dropped. What is made of a body is larger than it,
/// so it takes its room until its request is answered.
pub(super) type Room = OwnedSemaphorePermit;

/// A body that was read.
pub(super) struct Held {
    pub(super) bytes: Vec<u8>,
    pub(super) room: Option<Room>,
}

impl Held {
    /// Whether it takes long enough to parse that it should wait its turn.
    pub(super) fn is_large(&self) -> bool {
        self.bytes.len() > UNCOUNTED
    }
}

impl Bodies {
    pub(super) fn new(bounds: &Bounds) -> Self {
        let steps = (bounds.bodies / STEP).clamp(1, Semaphore::MAX_PERMITS);
        Self { steps: Arc::new(Semaphore::new(steps)), total: steps, bounds: bounds.clone() }
    }

    /// Reads a body. A large one waits for room beside others before it is read.
    ///
    /// Errors if it is too long, if there is no room for it for as long as a body may take to
    /// arrive, or if it takes longer.
    pub(super) async fn read(&self, body: Body) -> Result<Held, ApiError> {
        let announced = body.size_hint().exact();
        let length = announced.map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        if length.is_some_and(|length| length > self.bounds.body) {
            return Err(ApiError::too_large(self.bounds.body));
        }
        let mut reading = Reading {
            bodies: self,
            pieces: body.into_data_stream(),
            held: Held { bytes: Vec::new(), room: None },
        };
        match length {
            Some(length) => {
                reading.make_room(length).await?;
                reading.read_up_to(length).await?;
            }
            // There may be room for less than the most, but then each of many bodies that are half
            // read could wait for the others.
            None => {
                if !reading.read_up_to(UNCOUNTED).await? {
                    reading.make_room(self.bounds.body).await?;
                }
            }
        }
        if reading.read_up_to(self.bounds.body).await? {
            Ok(reading.held)
        } else {
            Err(ApiError::too_large(self.bounds.body))
        }
    }
}

/// A body that is being read.
struct Reading<'a> {
    bodies: &'a Bodies,
    pieces: BodyDataStream,
    held: Held,
}

impl Reading<'_> {
    /// Waits until a body of this length has room.
    async fn make_room(&mut self, length: usize) -> Result<(), ApiError> {
        if length <= UNCOUNTED {
            return Ok(());
        }
        let steps = u32::try_from(length.div_ceil(STEP).min(self.bodies.total));
        let room = Arc::clone(&self.bodies.steps).acquire_many_owned(steps.unwrap_or(u32::MAX));
        let arrival = self.bodies.bounds.arrival;
        if let Ok(Ok(steps)) = tokio::time::timeout(arrival, room).await {
            self.held.room = Some(steps);
            return Ok(());
        }
        // A client that is still sending would not see an answer.
        let _ = tokio::time::timeout(arrival, async {
            while let Some(Ok(_)) = self.pieces.next().await {}
        })
        .await;
        Err(ApiError::no_room_for_body())
    }

    /// Reads on until the body ends, and says so, or has more bytes than this.
    async fn read_up_to(&mut self, length: usize) -> Result<bool, ApiError> {
        let arrival = self.bodies.bounds.arrival;
        let read = async {
            while self.held.bytes.len() <= length {
                match self.pieces.next().await {
                    None => return Ok(true),
                    Some(Ok(piece)) => self.held.bytes.extend_from_slice(&piece),
                    Some(Err(error)) => return Err(ApiError::unreadable_body(&error)),
                }
            }
            Ok(false)
        };
        let read = tokio::time::timeout(arrival, read).await;
        read.unwrap_or_else(|_| Err(ApiError::slow_body(arrival)))
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

    fn status(result: Result<Held, ApiError>) -> u16 {
        result.err().map_or(200, |error| error.status().as_u16())
    }

    #[tokio::test]
    async fn large_bodies_have_room_as_long_as_they_are_held() {
        let bounds = Bounds { body: 100_000, bodies: 150_000, ..Bounds::default() };
        let bodies = Bodies::new(&bounds);
        let whole = |length: usize| bodies.read(Body::from(vec![b' '; length]));
        assert_eq!(status(whole(100_001).await), 413);
        assert_eq!(status(bodies.read(streamed(101_000)).await), 413);
        assert_eq!(bodies.steps.available_permits(), bodies.total);
        let first = whole(100_000).await.unwrap();
        let small = bodies.read(streamed(60_000)).await.unwrap();
        assert!(first.is_large() && !small.is_large());
        for body in [Body::from(vec![b' '; 100_000]), streamed(70_000)] {
            // It waits, and is read when there is room.
            let mut waiting = std::pin::pin!(bodies.read(body));
            let soon = std::time::Duration::from_millis(1);
            assert!(tokio::time::timeout(soon, &mut waiting).await.is_err());
        }
        drop(first);
        assert_eq!(status(bodies.read(streamed(70_000)).await), 200);
        assert_eq!(bodies.steps.available_permits(), bodies.total);
    }

    #[tokio::test]
    async fn who_finds_no_room_is_told_to_come_back() {
        let arrival = std::time::Duration::from_millis(1);
        let bounds = Bounds { body: 100_000, bodies: 150_000, arrival, ..Bounds::default() };
        let bodies = Bodies::new(&bounds);
        let _held = bodies.read(Body::from(vec![b' '; 100_000])).await.unwrap();
        assert_eq!(status(bodies.read(Body::from(vec![b' '; 100_000])).await), 503);
    }

    #[tokio::test]
    async fn a_body_that_does_not_arrive_is_given_up() {
        let bounds = Bounds { arrival: std::time::Duration::from_millis(1), ..Bounds::default() };
        let never = tokio_stream::pending::<Result<Vec<u8>, std::io::Error>>();
        assert_eq!(status(Bodies::new(&bounds).read(Body::from_stream(never)).await), 408);
    }
}
