//! Many times of one kind, and their percentiles.

use std::time::Duration;

use serde_json::{Map, Value, json};

/// The percentiles that are reported, beside the average and the greatest.
const PERCENTILES: [(f64, &str); 7] = [
    (25.0, "p25"),
    (50.0, "p50"),
    (75.0, "p75"),
    (90.0, "p90"),
    (95.0, "p95"),
    (99.0, "p99"),
    (99.9, "p99.9"),
];

/// Many times of one kind: four bytes each (µs to seven digits), so that they hardly show in the
/// memory that is measured beside them.
#[derive(Clone, Debug, Default)]
pub(super) struct Times(Vec<f32>);

impl Times {
    pub(super) fn push(&mut self, time: Duration) {
        self.0.push((time.as_nanos() as f64 / 1e3) as f32);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Name and µs: the average, the percentiles, the greatest. Of n times in order, the percentile
    /// p is the one at `n · p / 100`, rounded down, as MaskBench takes it. Nothing of no times.
    pub(super) fn summary(&mut self) -> Vec<(&'static str, f64)> {
        let times = &mut self.0;
        times.sort_unstable_by(f32::total_cmp);
        let Some(&greatest) = times.last() else { return Vec::new() };
        let average = times.iter().map(|&t| f64::from(t)).sum::<f64>() / times.len() as f64;
        let percentile = |p: f64| {
            let at = (times.len() as f64 * p / 100.0) as usize;
            f64::from(times[at.min(times.len() - 1)])
        };
        std::iter::once(("avg", average))
            .chain(PERCENTILES.map(|(p, name)| (name, percentile(p))))
            .chain([("max", f64::from(greatest))])
            .collect()
    }
}

/// A summary as JSON, to the ns.
pub(super) fn as_json(summary: &[(&str, f64)]) -> Value {
    let entry = |&(name, us): &(&str, f64)| (name.to_owned(), json!((us * 1e3).round() / 1e3));
    Value::Object(summary.iter().map(entry).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_maskbench() {
        let mut times = Times::default();
        assert!(times.summary().is_empty());
        for us in (1..=1000).rev() {
            times.push(Duration::from_micros(us));
        }
        let summary = times.summary();
        let of = |name| summary.iter().find(|(n, _)| *n == name).map(|(_, us)| *us);
        assert_eq!(of("avg"), Some(500.5));
        assert_eq!(of("p50"), Some(501.0));
        assert_eq!(of("p99.9"), Some(1000.0));
        assert_eq!(of("max"), Some(1000.0));
        assert_eq!(summary.len(), 9);
        assert_eq!(as_json(&[("avg", 1.00049)]).to_string(), r#"{"avg":1.0}"#);
    }
}
