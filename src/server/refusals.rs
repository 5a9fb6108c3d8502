//! Requests that were refused, counted by reason.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

/// The reason for which a request was refused, beside its response.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refusal(pub(super) &'static str);

/// Reasons that are shown before there was a request to refuse, so that a first one is seen as a change.
const REASONS: [&str; 15] = [
    "body_too_large",
    "context_length_exceeded",
    "invalid_api_key",
    "invalid_request_error",
    "method_not_allowed",
    "model_not_found",
    "no_room_for_body",
    "not_found",
    "previous_response_not_found",
    "queue_full",
    "server_error",
    "slow_body",
    "stopping",
    "timeout",
    "too_many_connections",
];

/// Counts of refused requests, by reason.
pub(super) struct RefusalCounts(Mutex<BTreeMap<&'static str, u64>>);

impl Default for RefusalCounts {
    fn default() -> Self {
        Self(Mutex::new(REASONS.map(|reason| (reason, 0)).into()))
    }
}

impl RefusalCounts {
    /// Counts a refusal.
    pub(super) fn count(&self, reason: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(reason).or_default() += 1;
    }

    /// Writes the counts in Prometheus' text format.
    pub(super) fn write(&self, text: &mut String) {
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "# HELP maskwright_refused_requests_total Requests refused, by reason.");
        let _ = writeln!(text, "# TYPE maskwright_refused_requests_total counter");
        for (reason, count) in &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ =
                writeln!(text, "maskwright_refused_requests_total{{reason=\"{reason}\"}} {count}");
        }
    }
}
