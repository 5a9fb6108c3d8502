//! Measurements of one input by two engines, and the table of both.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use crate::engines::{Compiled, Engine, Input};

/// The outcome of one input. Times in µs.
#[derive(Default)]
pub struct Outcome {
    pub compiled: bool,
    /// A valid text rejected, or an error on the way.
    pub rejects_valid: bool,
    pub accepts_invalid: bool,
    /// Compiling and the first mask, where it was compiled here.
    first_mask: Option<f64>,
    pub masks: Vec<f32>,
    /// Mask and acceptance of each token that was accepted.
    steps: Vec<f32>,
    preempted: u64,
}

/// Involuntary context switches of this thread, where the system tells: they say what tails are
/// worth.
fn preempted() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let count = status.lines().find_map(|l| l.strip_prefix("nonvoluntary_ctxt_switches:"));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

fn guarded<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| Err(anyhow!("it panicked")))
}

/// Compiles it and follows its texts, each of which is valid or not.
pub fn measure(engine: &dyn Engine, input: Input<'_>, tests: &[(bool, Vec<u32>)]) -> Outcome {
    let mut outcome = Outcome::default();
    let Ok(run) = Run::compile(engine, input, &mut outcome) else { return outcome };
    for (valid, tokens) in tests {
        run.follow(tokens, *valid, &mut outcome);
    }
    outcome
}

/// An input that was compiled.
pub struct Run(Box<dyn Compiled>);

impl Run {
    /// Compiles it and computes the first mask.
    pub fn compile(engine: &dyn Engine, input: Input<'_>, outcome: &mut Outcome) -> Result<Self> {
        let before = preempted();
        let clock = Instant::now();
        let compiled = guarded(|| engine.compile(input))?;
        let first = guarded(|| {
            let mut sequence = compiled.start()?;
            sequence.mask()?;
            Ok(sequence)
        });
        outcome.first_mask = Some(micros(clock.elapsed()));
        outcome.compiled = true;
        drop(first);
        outcome.preempted += preempted() - before;
        Ok(Self(compiled))
    }

    /// The masks along a text.
    pub fn follow(&self, tokens: &[u32], valid: bool, outcome: &mut Outcome) {
        let before = preempted();
        match guarded(|| follow(self.0.as_ref(), tokens, outcome)) {
            Ok(accepted) => {
                outcome.rejects_valid |= valid && !accepted;
                outcome.accepts_invalid |= !valid && accepted;
            }
            Err(_) => outcome.rejects_valid = true,
        }
        outcome.preempted += preempted() - before;
    }
}

fn follow(compiled: &dyn Compiled, tokens: &[u32], outcome: &mut Outcome) -> Result<bool> {
    let mut sequence = compiled.start()?;
    for &token in tokens {
        let clock = Instant::now();
        sequence.mask()?;
        let mask = micros(clock.elapsed());
        outcome.masks.push(mask as f32);
        if !sequence.allows(token) {
            return Ok(false);
        }
        let clock = Instant::now();
        sequence.accept(token)?;
        let accept = micros(clock.elapsed());
        outcome.steps.push((mask + accept) as f32);
    }
    sequence.may_end()
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

const PERCENTILES: [f64; 7] = [25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9];

/// Both engines side by side on these inputs.
pub fn print_table(title: &str, outcomes: &[Vec<Outcome>; 2], inputs: &[usize]) {
    println!("\n{title} ({}), times in µs\n", inputs.len());
    println!("| | llguidance 1.9.1 | maskwright | times faster |\n|:--|--:|--:|--:|");
    let [peer, ours] = outcomes.each_ref().map(|outcomes| column(outcomes, inputs));
    for ((name, peer, is_time), (_, ours, _)) in peer.into_iter().zip(ours) {
        if is_time {
            println!("| {name} | {peer:.2} | {ours:.2} | {:.1} |", peer / ours)
        } else {
            println!("| {name} | {peer} | {ours} | |")
        }
    }
}

/// A figure's name, its value, and whether it is a time.
fn column(outcomes: &[Outcome], inputs: &[usize]) -> Vec<(String, f64, bool)> {
    let chosen: Vec<&Outcome> = inputs.iter().map(|&i| &outcomes[i]).collect();
    let compiled: Vec<&&Outcome> = chosen.iter().filter(|o| o.compiled).collect();
    let times = |of: fn(&Outcome) -> &[f32]| -> Vec<f64> {
        compiled.iter().flat_map(|o| of(o)).map(|&us| f64::from(us)).collect()
    };
    let masks = times(|o| &o.masks);
    let tokens = masks.len();
    let mut rows = distribution("mask", masks);
    rows.extend(distribution("mask plus accept", times(|o| &o.steps)));
    let first_masks = compiled.iter().filter_map(|o| o.first_mask).collect();
    rows.extend(distribution("compile and first mask", first_masks));
    let count = |is: fn(&Outcome) -> bool| chosen.iter().filter(|o| is(o)).count();
    rows.extend(
        [
            ("times preempted", chosen.iter().map(|o| o.preempted as usize).sum()),
            ("tokens", tokens),
            ("passing", count(|o| o.compiled && !o.rejects_valid && !o.accepts_invalid)),
            ("compile error", count(|o| !o.compiled)),
            ("validation error", count(|o| o.rejects_valid)),
            ("invalidation error", count(|o| !o.rejects_valid && o.accepts_invalid)),
        ]
        .map(|(name, n)| (name.to_owned(), n as f64, false)),
    );
    rows
}

/// Average, percentiles as MaskBench takes them, greatest.
fn distribution(name: &str, mut times: Vec<f64>) -> Vec<(String, f64, bool)> {
    times.sort_unstable_by(f64::total_cmp);
    let n = times.len();
    let at = |p: f64| times.get(((n as f64 * p / 100.0) as usize).min(n.saturating_sub(1)));
    let mut rows = vec![("avg".to_owned(), Some(times.iter().sum::<f64>() / n as f64))];
    rows.extend(PERCENTILES.map(|p| (format!("p{p}"), at(p).copied())));
    rows.push(("max".to_owned(), times.last().copied()));
    let row = |(what, us): (String, Option<f64>)| {
        (format!("{name} {what}"), us.unwrap_or(f64::NAN), true)
    };
    rows.into_iter().map(row).collect()
}
