//! Memory and time of this process by Linux' `/proc`; zeros on other systems.

use std::fs;

/// A reading of `/proc/self`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProcessStats {
    /// Resident memory in KiB: now, and the peak since [`forget_peak`].
    pub(super) rss_kb: u64,
    pub(super) peak_rss_kb: u64,
    /// Number of involuntary context switches.
    pub(super) preempted: u64,
    /// Time on a processor, in ns, of the main thread.
    pub(super) cpu_ns: u64,
}

impl ProcessStats {
    pub(super) fn read() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
        };
        let schedule = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
        Self {
            rss_kb: field("VmRSS:"),
            peak_rss_kb: field("VmHWM:"),
            preempted: field("nonvoluntary_ctxt_switches:"),
            cpu_ns: schedule.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0),
        }
    }
}

/// Restarts the count of the peak (proc(5), `clear_refs`). Where that is impossible, the peak stays
/// that of the whole run.
pub(super) fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// KiB as MiB with one decimal.
pub(super) fn mib(kb: u64) -> f64 {
    (kb as f64 / 102.4).round() / 10.0
}
