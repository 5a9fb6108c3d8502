//! The end of a server: new requests are refused while those in flight are answered, and what takes
//! longer is cut off with an error.

use std::future::Future;

use tokio::sync::watch;

/// A part of the server's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Serving,
    /// Requests in flight are answered, new ones refused.
    Draining,
    /// Requests in flight are refused, too.
    CutOff,
}

/// The phase of one server, which its handlers share.
pub(super) struct Shutdown(watch::Sender<Phase>);

impl Default for Shutdown {
    fn default() -> Self {
        Self(watch::Sender::new(Phase::Serving))
    }
}

impl Shutdown {
    /// From now on new requests are refused.
    pub(super) fn drain(&self) {
        self.0.send_replace(Phase::Draining);
    }

    /// Ends all requests in flight with an error.
    pub(super) fn cut_off(&self) {
        self.0.send_replace(Phase::CutOff);
    }

    /// Whether new requests are refused.
    pub(super) fn is_draining(&self) -> bool {
        *self.0.borrow() >= Phase::Draining
    }

    /// Ready when requests in flight must end.
    pub(super) fn is_cut_off(&self) -> impl Future<Output = ()> + Send + Sync + use<> {
        let mut phase = self.0.subscribe();
        async move {
            // A server that is gone has cut off everything.
            let _ = phase.wait_for(|phase| *phase == Phase::CutOff).await;
        }
    }
}
