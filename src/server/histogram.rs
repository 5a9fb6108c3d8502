//! Histograms of durations, in Prometheus' text format, and the metrics of texts that use them.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::engine::FinishReason;

/// Upper bounds of the buckets in seconds: from a mask to a long answer, three a decade.
const BOUNDS: [f64; 18] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0,
    50.0, 100.0, 250.0,
];

/// Counts of durations by size.
#[derive(Default)]
pub(super) struct Histogram {
    /// Durations up to each bound and above the one before; the last counts those above all.
    counts: [AtomicU64; BOUNDS.len() + 1],
    /// Sum of all durations in microseconds.
    sum: AtomicU64,
}

impl Histogram {
    /// Counts a duration.
    pub(super) fn observe(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = BOUNDS.partition_point(|bound| *bound < seconds);
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.sum.fetch_add(micros, Ordering::Relaxed);
    }

    /// Writes it under a name.
    fn write(&self, text: &mut String, name: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP maskwright_{name} {help}");
        let _ = writeln!(text, "# TYPE maskwright_{name} histogram");
        let mut total = 0;
        let bounds = BOUNDS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(&self.counts) {
            total += count.load(Ordering::Relaxed);
            let _ = writeln!(text, "maskwright_{name}_bucket{{le=\"{bound}\"}} {total}");
        }
        let sum = self.sum.load(Ordering::Relaxed) as f64 / 1e6;
        let _ = writeln!(text, "maskwright_{name}_sum {sum}");
        let _ = writeln!(text, "maskwright_{name}_count {total}");
    }
}

/// Times of texts, and how they ended.
#[derive(Default)]
pub(super) struct TextMetrics {
    /// From submission to the first text.
    pub(super) time_to_first_token: Histogram,
    /// From one piece of text to the next.
    pub(super) inter_token_latency: Histogram,
    /// From submission to a place among the texts that are worked on.
    pub(super) queue_time: Histogram,
    /// From submission to the end.
    pub(super) request_time: Histogram,
    /// From a body to its compiled constraint.
    pub(super) compile_time: Histogram,
    finished: [AtomicU64; 3],
}

/// Names of the ends that are counted.
const ENDS: [&str; 3] = ["stop", "length", "abort"];

impl TextMetrics {
    /// Counts the end of a text.
    pub(super) fn count_end(&self, finish: FinishReason) {
        let end = match finish {
            FinishReason::Stop | FinishReason::StopString | FinishReason::StopToken => 0,
            FinishReason::Length => 1,
            FinishReason::Cancelled => 2,
        };
        if let Some(count) = self.finished.get(end) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes all figures.
    pub(super) fn write(&self, text: &mut String) {
        for (name, histogram, help) in [
            (
                "time_to_first_token_seconds",
                &self.time_to_first_token,
                "From submission to the first text.",
            ),
            (
                "inter_token_latency_seconds",
                &self.inter_token_latency,
                "From one piece of text to the next.",
            ),
            (
                "request_queue_time_seconds",
                &self.queue_time,
                "From submission to a place among the texts that are worked on.",
            ),
            ("e2e_request_latency_seconds", &self.request_time, "From submission to the end."),
            ("compile_time_seconds", &self.compile_time, "Compiling the constraint of a request."),
        ] {
            histogram.write(text, name, help);
        }
        let _ = writeln!(text, "# HELP maskwright_request_success_total Texts by how they ended.");
        let _ = writeln!(text, "# TYPE maskwright_request_success_total counter");
        for (end, count) in ENDS.iter().zip(&self.finished) {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(
                text,
                "maskwright_request_success_total{{finished_reason=\"{end}\"}} {count}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_counted_up_to_their_bound() {
        let histogram = Histogram::default();
        for micros in [500, 501, 300_000_000] {
            histogram.observe(Duration::from_micros(micros));
        }
        let mut text = String::new();
        histogram.write(&mut text, "x", "X.");
        for line in [
            "maskwright_x_bucket{le=\"0.0005\"} 1",
            "maskwright_x_bucket{le=\"0.001\"} 2",
            "maskwright_x_bucket{le=\"250\"} 2",
            "maskwright_x_bucket{le=\"+Inf\"} 3",
            "maskwright_x_sum 300.001001",
            "maskwright_x_count 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
