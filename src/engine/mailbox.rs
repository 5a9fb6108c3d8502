//! Events on their way from the thread that drives the engine to one that waits for its texts.

use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::response::{Event, TextEvent};
use super::submission::Listener;
use crate::error::Result;

/// A message to the thread that waits.
pub(crate) enum Mail {
    /// An event of a text of the request of this index.
    Event { request: usize, rank: usize, event: TextEvent },
    /// The end of a request.
    End(Result<()>),
}

/// Messages that were not taken yet.
#[derive(Default)]
pub(crate) struct Mailbox {
    mail: Mutex<Vec<Mail>>,
    news: Condvar,
}

impl Mailbox {
    /// A listener that puts the events of the request of this index here.
    pub(crate) fn listener(this: &Arc<Self>, request: usize) -> impl Listener + use<> {
        Sender { mailbox: Arc::clone(this), request }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Takes all messages.
    pub(crate) fn take(&self) -> Vec<Mail> {
        std::mem::take(&mut *self.mail.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for a message.
    pub(crate) fn wait(&self, time: Duration) {
        let mail = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        if mail.is_empty() {
            drop(self.news.wait_timeout(mail, time));
        }
    }

    fn put(&self, message: Mail) {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner).push(message);
        self.news.notify_one();
    }
}

struct Sender {
    mailbox: Arc<Mailbox>,
    request: usize,
}

impl Listener for Sender {
    fn on_event(&mut self, rank: usize, event: Event<'_>) -> ControlFlow<()> {
        let event = TextEvent::new(&event);
        self.mailbox.put(Mail::Event { request: self.request, rank, event });
        ControlFlow::Continue(())
    }

    fn on_end(&mut self, result: Result<()>) {
        self.mailbox.put(Mail::End(result));
    }
}
