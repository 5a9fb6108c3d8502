//! Connections: a bound on their number, and time limits for clients that stay silent.
//!
//! `axum::serve` has no bound on either, so the loop that accepts connections is our own. A client
//! that sends half a head, or nothing at all, is cut off by hyper; one that takes nothing of its
//! answer is cut off by [`WriteTimeoutStream`].

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

use super::bounds::ServerBounds;
use crate::server::api_error::ApiError;
use crate::server::shutdown::Shutdown;

/// Delay before the next attempt where the system cannot accept a connection.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Open files that the process needs beside its connections: the listener, pipes, models.
const RESERVED_FILES: usize = 64;

/// Greatest number of refused connections whose close is awaited, so that the client reads the
/// refusal; others are sent the refusal and closed at once.
const MAX_AWAITED_REFUSALS: usize = 32;

/// Longest time to tell a client that its connection is refused.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

/// Time for the errors of requests that are cut off to reach their clients.
const CUT_OFF_TIMEOUT: Duration = Duration::from_secs(2);

/// Answers requests until `stop` is ready, and then until those in flight are answered. What takes
/// longer than [`ServerBounds::drain_timeout`] is cut off by `shutdown`. Connections beyond the bound
/// are reported to `on_refusal`.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    (bounds, on_refusal): (&ServerBounds, &(dyn Fn() + Sync)),
    stop: impl Future<Output = ()>,
    shutdown: &Shutdown,
) {
    let acceptor = Acceptor::new(listener, bounds, on_refusal);
    let graceful = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(bounds.head_timeout);
    let open = |http: &http1::Builder, stream| {
        http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()))
    };
    let mut stop = pin!(stop);
    loop {
        let (stream, slot) = tokio::select! {
            accepted = acceptor.accept() => accepted,
            () = &mut stop => break,
        };
        spawn(graceful.watch(open(&http, stream)), slot);
    }
    shutdown.drain();
    let mut drained = pin!(graceful.shutdown());
    // A load balancer that asks whether the server is ready is told that it is not.
    http.keep_alive(false);
    let refuse_new = async {
        loop {
            let (stream, slot) = acceptor.accept().await;
            spawn(open(&http, stream), slot);
        }
    };
    tokio::select! {
        () = &mut drained => return,
        () = refuse_new => {}
        () = tokio::time::sleep(bounds.drain_timeout) => {}
    }
    let seconds = bounds.drain_timeout.as_secs_f64();
    tracing::warn!(target: "maskwright::server", seconds, "cut off requests in flight");
    shutdown.cut_off();
    // A client that takes nothing of its answer is not waited for.
    let _ = tokio::time::timeout(CUT_OFF_TIMEOUT, drained).await;
}

/// Serves a connection, which keeps its slot until it is closed.
fn spawn(
    connection: impl Future<Output = hyper::Result<()>> + Send + 'static,
    slot: OwnedSemaphorePermit,
) {
    tokio::spawn(async move {
        // An error here is the client's: it was answered, or it has left.
        let _ = connection.await;
        drop(slot);
    });
}

/// Accepts connections, as many at a time as there are slots.
struct Acceptor<'a> {
    listener: TcpListener,
    slots: Arc<Semaphore>,
    /// Permits to wait until a client has read its refusal.
    refusals: Arc<Semaphore>,
    refusal: String,
    on_refusal: &'a (dyn Fn() + Sync),
    write_timeout: Duration,
}

impl<'a> Acceptor<'a> {
    fn new(
        listener: TcpListener,
        bounds: &ServerBounds,
        on_refusal: &'a (dyn Fn() + Sync),
    ) -> Self {
        let most = open_files().map_or(bounds.max_connections, |files| {
            bounds.max_connections.min(files.saturating_sub(RESERVED_FILES).max(1))
        });
        Self {
            listener,
            slots: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))),
            refusals: Arc::new(Semaphore::new(MAX_AWAITED_REFUSALS)),
            refusal: refusal(),
            on_refusal,
            write_timeout: bounds.write_timeout,
        }
    }

    /// The next connection that finds a slot, and its slot. Dropping the future loses no connection.
    async fn accept(&self) -> (WriteTimeoutStream, OwnedSemaphorePermit) {
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                // The client has left already, or the process has no file for it.
                Err(_) => {
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    continue;
                }
            };
            // Events of a stream leave one by one. Where this cannot be set, they are late.
            let _ = stream.set_nodelay(true);
            match Arc::clone(&self.slots).try_acquire_owned() {
                Ok(slot) => {
                    let within = self.write_timeout;
                    return (WriteTimeoutStream { stream, within, late: None }, slot);
                }
                Err(_) => self.refuse(stream),
            }
        }
    }

    /// Tells a client that there is no slot for it.
    fn refuse(&self, stream: TcpStream) {
        (self.on_refusal)();
        // A client that does not listen is not told.
        if let Ok(permit) = Arc::clone(&self.refusals).try_acquire_owned() {
            let refusal = self.refusal.clone();
            tokio::spawn(async move {
                let _ = tokio::time::timeout(REFUSAL_TIMEOUT, refuse(stream, &refusal)).await;
                drop(permit);
            });
        } else if let Ok(mut stream) = stream.into_std() {
            let _ = std::io::Write::write(&mut stream, self.refusal.as_bytes());
        }
    }
}

/// The response to a connection beyond the bound.
fn refusal() -> String {
    let body = ApiError::too_many_connections().object().to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// Sends the refusal, and waits until the client has closed the connection.
async fn refuse(mut stream: TcpStream, refusal: &str) -> io::Result<()> {
    stream.write_all(refusal.as_bytes()).await?;
    stream.shutdown().await?;
    // Closing a connection with unread bytes would take the answer back.
    let mut unread = [0; 4096];
    while stream.read(&mut unread).await? > 0 {}
    Ok(())
}

/// Number of files that the process may open, where the system says.
fn open_files() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    soft_limit(&limits)
}

/// The soft limit of open files in Linux' `/proc/self/limits`: the first number of its line.
fn soft_limit(limits: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// A connection whose writes time out: an error if the client takes no byte for `within`.
struct WriteTimeoutStream {
    stream: TcpStream,
    within: Duration,
    /// Timer of the pending write.
    late: Option<Pin<Box<Sleep>>>,
}

impl WriteTimeoutStream {
    /// Times a write that is still pending.
    fn timed<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.late = None;
            return written;
        }
        let within = self.within;
        let late = self.late.get_or_insert_with(|| Box::pin(tokio::time::sleep(within)));
        ready!(late.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for WriteTimeoutStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for WriteTimeoutStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.timed(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.timed(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.timed(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_in_force_is_read() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max processes             unlimited            unlimited            processes \n\
                      Max open files            256                  1048576              files     \n";
        assert_eq!(soft_limit(limits), Some(256));
        assert_eq!(soft_limit(""), None);
    }
}
