//! `GET /metrics`: the figures of the engine in Prometheus' text format.
//!
//! Names follow vLLM's where the meaning is the same, with our prefix.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

use super::app::App;
use crate::constraint::ConstraintCacheStats;
use crate::engine::EngineStats;

/// The figures now.
pub(super) async fn metrics(State(app): State<Arc<App>>) -> impl IntoResponse {
    let mut text = text(&app.engine.stats(), &app.constraints.stats());
    app.worker.metrics().write(&mut text);
    app.refusals.write(&mut text);
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}

/// The figures, each with its type and what it counts.
fn text(stats: &EngineStats, constraints: &ConstraintCacheStats) -> String {
    let count = |count: usize| count as u64;
    let gauges = [
        ("num_requests_running", count(stats.running), "Texts that are worked on."),
        ("num_requests_waiting", count(stats.waiting), "Texts that wait for their turn."),
        ("kv_blocks", count(stats.kv_blocks), "Blocks of the KV cache that there may be."),
        ("kv_blocks_held", count(stats.kv_blocks_held), "Blocks that texts hold."),
        (
            "kv_blocks_cached",
            count(stats.kv_blocks_cached),
            "Blocks that are kept for prompts that begin alike.",
        ),
        (
            "constraint_cache_entries",
            count(constraints.entries),
            "Compiled constraints and refusals that are kept for requests to come.",
        ),
        ("constraint_cache_bytes", count(constraints.bytes), "Their bytes."),
    ];
    let counters = [
        ("forward_passes_total", stats.steps, "Forward passes of the model."),
        ("tokens_read_total", stats.tokens_read, "Tokens that the model has read."),
        ("tokens_drawn_total", stats.tokens_drawn, "Tokens that were drawn."),
        ("num_preemptions_total", stats.preemptions, "Times that a text lost its blocks."),
        (
            "prefix_cache_queries_total",
            stats.prefix_lookups,
            "Tokens that were looked up in the prefix cache.",
        ),
        ("prefix_cache_hits_total", stats.prefix_hits, "Tokens that were found there."),
        (
            "constraint_cache_queries_total",
            constraints.hits + constraints.misses,
            "Constraints that were looked up among those of requests before.",
        ),
        ("constraint_cache_hits_total", constraints.hits, "Constraints that were found there."),
        (
            "late_masks_total",
            stats.late_masks,
            "Times that a text skipped forward passes because its mask was not ready.",
        ),
    ];
    let mut text = String::new();
    let gauges = gauges.iter().map(|metric| ("gauge", metric));
    for (kind, (name, value, help)) in gauges.chain(counters.iter().map(|m| ("counter", m))) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP maskwright_{name} {help}");
        let _ = writeln!(text, "# TYPE maskwright_{name} {kind}");
        let _ = writeln!(text, "maskwright_{name} {value}");
    }
    text
}
