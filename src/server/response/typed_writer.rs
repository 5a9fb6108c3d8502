//! Writers of answers as one object, and of those whose events are objects with a `type`.

use std::collections::VecDeque;

use axum::response::sse::Event;
use serde::Serialize;

use super::event_stream::EventWriter;
use crate::server::api_error::ApiError;
use crate::server::json_text::json_text;
use crate::server::worker::WorkerReply;

/// Makes one object of all replies.
pub(crate) trait WholeWriter {
    /// The answer, as it is written.
    type Whole: Serialize;

    /// Takes a reply that is no error and not the last.
    fn add(&mut self, reply: WorkerReply);

    /// The answer, after the last reply.
    fn finish(&mut self) -> Self::Whole;
}

/// Makes an answer of which every event is an object, sent under the name that its `type` has.
pub(crate) trait TypedWriter: WholeWriter + Send + Unpin + 'static {
    /// Takes the number of tokens of the prompt, before all replies.
    fn note_prompt(&mut self, _tokens: usize) {}

    /// Makes the events that come before all others, unless they were made.
    fn begin_stream(&mut self);

    /// Makes the event of an error.
    fn add_error(&mut self, error: &ApiError);

    /// The events that were made and not sent.
    fn unsent(&mut self) -> &mut Vec<TypedEvent>;
}

/// An event of a stream that is an object with a `type`.
pub(crate) struct TypedEvent {
    kind: String,
    data: String,
}

impl TypedEvent {
    /// An event whose object has this type.
    pub(crate) fn new(kind: &str, object: &impl Serialize) -> Self {
        Self { kind: kind.to_owned(), data: json_text(object).get().to_owned() }
    }
}

impl<W: TypedWriter> EventWriter for W {
    fn begin(&mut self, prompt_tokens: usize) {
        self.note_prompt(prompt_tokens);
    }

    fn take(&mut self, reply: WorkerReply, events: &mut VecDeque<Event>) {
        self.begin_stream();
        match reply {
            WorkerReply::Finished => {
                self.finish();
            }
            reply => self.add(reply),
        }
        send(self.unsent(), events);
    }

    fn fail(&mut self, error: &ApiError, events: &mut VecDeque<Event>) {
        self.add_error(error);
        send(self.unsent(), events);
    }
}

fn send(unsent: &mut Vec<TypedEvent>, events: &mut VecDeque<Event>) {
    let sent =
        unsent.drain(..).map(|TypedEvent { kind, data }| Event::default().event(kind).data(data));
    events.extend(sent);
}
