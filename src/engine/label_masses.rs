//! The arithmetic of a decision: masses of labels, of contexts that were not read, and the bounds that
//! follow.
//!
//! ```text
//! read (prompt):  P(yes)=.6  P(y)=.01  P(no)=.3       frontier: yes .6, no .3, y .01
//! read `yes`:     P(⏹|yes)=.9                         mass of yes: .54;  frontier: no .3, y .01
//! ```
//!
//! A context that was not read adds something between nothing and its own mass to the labels that it may
//! still become. With `a` the mass of a label, `A` that of all, `r` the unread mass that may become the
//! label and `o` that which may become another, its probability lies between `a / (A + o)` and
//! `(a + r) / (A + r)`: it falls with what others get and grows with what it gets itself.
//!
//! All masses are kept as natural logarithms, since those of long labels are below the least positive `f64`;
//! [`Bounds`] holds them divided by the greatest.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use super::decision::{Decision, DecisionStop, LabelEnd, LabelProbability, Labels};
use super::label_trie::{LabelNode, LabelTrie, NextTokens, Reachable};
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::Trie;

/// A context after the prompt: a beginning of a tokenisation.
#[derive(Clone, Debug)]
pub(crate) struct LabelContext {
    /// Its tokens.
    pub(crate) tokens: Vec<u32>,
    /// Its place among the paths.
    path: usize,
    /// The node of the labels that its bytes lead to.
    node: LabelNode,
    /// Natural logarithm of its probability.
    log_mass: f64,
}

/// A context that was not read. Greater ones are more probable; of equal ones those that were found first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct UnreadContext {
    /// Natural logarithm of its probability.
    log_mass: f64,
    path: usize,
    node: LabelNode,
}

impl Eq for UnreadContext {}

impl Ord for UnreadContext {
    fn cmp(&self, other: &Self) -> Ordering {
        self.log_mass.total_cmp(&other.log_mass).then(other.path.cmp(&self.path))
    }
}

impl PartialOrd for UnreadContext {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Masses of labels and of contexts that were not read.
#[derive(Debug)]
pub(crate) struct LabelMasses {
    trie: LabelTrie,
    names: Vec<String>,
    tolerance: f64,
    max_contexts: usize,
    /// Tokens that end a text.
    ends: Vec<u32>,
    /// Natural logarithms of the labels' masses, as far as they were read.
    log_masses: Vec<f64>,
    /// Contexts by the one before them and their last token; the first is the empty one.
    paths: Vec<(usize, u32)>,
    frontier: BinaryHeap<UnreadContext>,
    next_tokens: HashMap<LabelNode, Arc<NextTokens>>,
    argmax_is_label: bool,
    contexts: usize,
    tokens_read: usize,
}

impl LabelMasses {
    /// Masses before anything was read. `ends` are the tokens that end a text.
    pub(crate) fn new(labels: &Labels, mut ends: Vec<u32>) -> Self {
        ends.sort_unstable();
        ends.dedup();
        Self {
            trie: LabelTrie::new(labels),
            names: labels.labels.iter().map(|label| label.name.clone()).collect(),
            tolerance: labels.tolerance,
            max_contexts: labels.max_contexts,
            ends,
            log_masses: vec![f64::NEG_INFINITY; labels.labels.len()],
            paths: vec![(0, 0)],
            frontier: BinaryHeap::new(),
            next_tokens: HashMap::new(),
            argmax_is_label: false,
            contexts: 0,
            tokens_read: 0,
        }
    }

    /// The empty context, which is read first.
    pub(crate) fn prompt() -> LabelContext {
        LabelContext { tokens: Vec::new(), path: 0, node: 0, log_mass: 0.0 }
    }

    /// Takes the logits after a context. O(vocabulary).
    ///
    /// Errors if a logit is NaN or +∞, or if all are −∞.
    pub(crate) fn read(&mut self, context: &LabelContext, row: &[f32], trie: &Trie) -> Result<()> {
        let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut weights: Vec<f64> =
            row.iter().map(|&logit| (f64::from(logit) - f64::from(most)).exp()).collect();
        let sum: f64 = weights.iter().sum();
        if !sum.is_finite() {
            return Err(Error::new(ErrorKind::Model, "the model's logits are no finite numbers")
                .with_help("load it in a dtype of wider range"));
        }
        let LabelContext { path, node, log_mass, .. } = *context;
        let ln = |weight: f64| log_mass + (weight / sum).ln();
        self.contexts += 1;
        self.tokens_read += context.tokens.len();
        let next = Arc::clone(
            self.next_tokens
                .entry(node)
                .or_insert_with(|| Arc::new(self.trie.next_tokens(node, trie))),
        );
        if path == 0 {
            let is_best = |token: u32| row.get(token as usize) == Some(&most);
            self.argmax_is_label = next.stay.iter().any(|&(token, _)| is_best(token))
                || next.pass.iter().any(|&(token, _)| is_best(token));
        }
        let mut found = vec![0.0; self.log_masses.len()];
        let weight_of =
            |weights: &[f64], token: u32| weights.get(token as usize).copied().unwrap_or_default();
        for &(token, to) in &next.stay {
            let weight = weight_of(&weights, token);
            match self.trie.settled(to) {
                Some(label) => found[label] += weight,
                None if weight > 0.0 => {
                    self.paths.push((path, token));
                    let path = self.paths.len() - 1;
                    let log_mass = ln(weight);
                    self.frontier.push(UnreadContext { log_mass, path, node: to });
                }
                None => {}
            }
        }
        for &(token, label) in &next.pass {
            found[label] += weight_of(&weights, token);
        }
        match self.trie.end() {
            LabelEnd::EndToken => {
                if let Some(label) = self.trie.label(node) {
                    found[label] +=
                        self.ends.iter().map(|&end| weight_of(&weights, end)).sum::<f64>();
                }
            }
            // Whatever does not go on in the tree ends the longest label before it.
            LabelEnd::Anything => {
                if let Some(label) = self.trie.passed(node) {
                    let others = next.stay.iter().map(|&(token, _)| token);
                    for token in others.chain(next.pass.iter().map(|&(token, _)| token)) {
                        if let Some(weight) = weights.get_mut(token as usize) {
                            *weight = 0.0;
                        }
                    }
                    found[label] += weights.iter().sum::<f64>();
                }
            }
        }
        for (label, weight) in found.into_iter().enumerate() {
            self.log_masses[label] = ln_add(self.log_masses[label], ln(weight));
        }
        Ok(())
    }

    /// The unread contexts to read next, most probable first, at most `max_batch` of them. Empty once the
    /// bounds are within the tolerance or the limit is reached. Shorter than that, but not empty, where the
    /// mass of the contexts that remain is at most half of the tolerance.
    pub(crate) fn next_batch(&mut self, max_batch: usize) -> Vec<LabelContext> {
        let room = self.max_contexts.saturating_sub(self.contexts).min(max_batch);
        let bounds = self.bounds();
        if room == 0 || self.frontier.is_empty() || self.is_within_tolerance(&bounds) {
            return Vec::new();
        }
        // Half of the tolerance, relative to what was found: no label is uncertain by more than twice
        // the unread share.
        let spare = bounds.total * self.tolerance / 2.0;
        let (mut batch, mut unread) = (Vec::with_capacity(room), bounds.unread);
        while batch.len() < room
            && (batch.is_empty() || unread > spare)
            && let Some(UnreadContext { log_mass, path, node }) = self.frontier.pop()
        {
            unread -= (log_mass - bounds.log_scale).exp();
            batch.push(LabelContext { tokens: self.tokens(path), path, node, log_mass });
        }
        batch
    }

    /// Whether the bounds are as close as was asked for; with a tolerance of 0 everything is read.
    fn is_within_tolerance(&self, bounds: &Bounds) -> bool {
        self.tolerance > 0.0 && bounds.width <= self.tolerance
    }

    /// The tokens of a context.
    fn tokens(&self, mut path: usize) -> Vec<u32> {
        let mut tokens = Vec::new();
        while path != 0 {
            let (before, token) = self.paths[path];
            tokens.push(token);
            path = before;
        }
        tokens.reverse();
        tokens
    }

    /// The bounds of all labels now. O(unread contexts + nodes).
    fn bounds(&self) -> Bounds {
        let log_masses = self.log_masses.iter().copied();
        let unread = self.frontier.iter().map(|unread| unread.log_mass);
        let log_scale = log_masses.chain(unread).fold(f64::NEG_INFINITY, f64::max);
        if log_scale == f64::NEG_INFINITY {
            return Bounds::default();
        }
        let scaled = |log_mass: f64| (log_mass - log_scale).exp();
        let masses: Vec<f64> = self.log_masses.iter().copied().map(scaled).collect();
        let mut at_node = vec![0.0; self.trie.len()];
        for unread in &self.frontier {
            at_node[unread.node] += scaled(unread.log_mass);
        }
        let unread: f64 = at_node.iter().sum();
        let total: f64 = masses.iter().sum();
        // `own`: by label, the unread mass that may still become it: of contexts at nodes above its spellings and,
        // where anything may follow a label, below them. `sole`: the part of `own` that can become no other label.
        let (mut own, mut sole) = (vec![0.0; masses.len()], vec![0.0; masses.len()]);
        for (node, &mass) in at_node.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
            match self.trie.reachable(node) {
                Reachable::Nothing => {}
                Reachable::One(label) => {
                    own[label] += mass;
                    sole[label] += mass;
                }
                Reachable::Several => {
                    self.labels_from(node).into_iter().for_each(|label| own[label] += mass);
                }
            }
        }
        let ranges: Vec<(f64, f64)> = (0..masses.len())
            .map(|label| {
                let others = (unread - sole[label]).max(0.0);
                let lower = ratio(masses[label], total + others);
                // Where nothing was found, anything is possible.
                let upper = match total + own[label] {
                    0.0 => 0.0,
                    all => (masses[label] + own[label]) / all,
                };
                (lower, upper)
            })
            .collect();
        let width = match ranges.len() {
            // The probability of a label alone is 1: its mass is what is asked for.
            1 => ratio(unread, total + unread),
            _ => ranges.iter().map(|(lower, upper)| upper - lower).fold(0.0, f64::max),
        };
        Bounds { log_scale, masses, total, unread, ranges, width }
    }

    /// The labels that texts from a node on may become, each once.
    fn labels_from(&self, node: LabelNode) -> Vec<usize> {
        let mut labels: Vec<usize> = self.trie.labels_below(node);
        if self.trie.end() == LabelEnd::Anything {
            labels.extend(self.trie.passed(node));
        }
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    /// The decision by what was read.
    ///
    /// Errors if the model can write none of the labels, and if the limit was reached before any of
    /// them was whole.
    pub(crate) fn decision(&self) -> Result<Decision> {
        let bounds = self.bounds();
        if bounds.total == 0.0 {
            return Err(if self.frontier.is_empty() {
                Error::new(ErrorKind::Request, "the model can write none of the labels")
                    .with_help(
                        "write labels of its vocabulary's bytes; a label that an end token \
                                must follow needs a model that has one",
                    )
                    .at_field("labels")
            } else {
                Error::new(
                    ErrorKind::Request,
                    format!("{} contexts were read before any label was whole", self.contexts),
                )
                .with_help("raise `max_contexts`, or write shorter labels")
                .at_field("max_contexts")
            });
        }
        let labels: Vec<LabelProbability> = (0..self.log_masses.len())
            .map(|label| LabelProbability {
                name: self.names[label].clone(),
                probability: ratio(bounds.masses[label], bounds.total),
                lower: bounds.ranges[label].0,
                upper: bounds.ranges[label].1.min(1.0),
                logprob: self.log_masses[label],
            })
            .collect();
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.sort_by(|&a, &b| labels[b].probability.total_cmp(&labels[a].probability));
        let second = order.get(1).map_or(0.0, |&second| labels[second].probability);
        let entropy = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
        let stop = if self.frontier.is_empty() {
            DecisionStop::Complete
        } else if self.is_within_tolerance(&bounds) {
            DecisionStop::Tolerance
        } else {
            DecisionStop::Limit
        };
        let unscaled = |mass: f64| (mass.ln() + bounds.log_scale).exp().min(1.0);
        Ok(Decision {
            best: order[0],
            label_mass: unscaled(bounds.total),
            label_mass_upper: unscaled(bounds.total + bounds.unread),
            entropy: labels.iter().map(|label| entropy(label.probability)).sum(),
            margin: labels[order[0]].probability - second,
            argmax_is_label: self.argmax_is_label,
            contexts: self.contexts,
            tokens_read: self.tokens_read,
            stop,
            labels,
        })
    }
}

/// Masses divided by the greatest of them, and the bounds of probabilities that follow from them.
#[derive(Debug, Default)]
struct Bounds {
    /// Natural logarithm of that greatest mass, of a label or of an unread context.
    log_scale: f64,
    /// The masses of the labels, as far as they were read.
    masses: Vec<f64>,
    /// The sum of `masses`.
    total: f64,
    /// The mass of all contexts that were not read.
    unread: f64,
    /// The bounds of each label's probability.
    ranges: Vec<(f64, f64)>,
    /// The greatest distance between two bounds; of a label alone the share of its mass that is unread.
    width: f64,
}

fn ratio(part: f64, all: f64) -> f64 {
    if all > 0.0 { part / all } else { 0.0 }
}

/// ln(eᵃ + eᵇ).
fn ln_add(a: f64, b: f64) -> f64 {
    let (most, least) = (a.max(b), a.min(b));
    if least == f64::NEG_INFINITY { most } else { most + (least - most).exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Label;
    use crate::vocabulary::Vocabulary;

    const END: u32 = 9;

    fn vocabulary() -> Vocabulary {
        let words = ["a", "b", "ab", "ba", "aab", "b", "abc", "c", "bca"];
        let tokens = words.iter().map(|word| Some(word.as_bytes().to_vec())).collect();
        Vocabulary::from_tokens(tokens, &[(END, "</s>"), (10, "<x>")], &[END]).unwrap()
    }

    /// Logits of a model that looks at all tokens before.
    fn logits(context: &[u32]) -> Vec<f32> {
        let mut state = context.iter().fold(7_u64, |state, &token| {
            (state + u64::from(token) + 1).wrapping_mul(6364136223846793005).rotate_left(17)
        });
        (0..11)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 40) as f32 / (1 << 22) as f32
            })
            .collect()
    }

    fn probabilities(context: &[u32]) -> Vec<f64> {
        let weights: Vec<f64> = logits(context).iter().map(|&x| f64::from(x).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    /// The mass of each label, by the definition: every token sequence up to where the label is known.
    fn brute_force(labels: &Labels, vocabulary: &Vocabulary) -> Vec<f64> {
        fn walk(
            (labels, vocabulary): (&Labels, &Vocabulary),
            context: &mut Vec<u32>,
            mass: f64,
            masses: &mut [f64],
        ) {
            let text = vocabulary.decode(context);
            let spelled = |matches: &dyn Fn(&[u8]) -> bool| -> Vec<(usize, usize)> {
                let all = labels.labels.iter().enumerate();
                all.flat_map(|(i, label)| label.spellings.iter().map(move |text| (i, text)))
                    .filter(|(_, text)| matches(text.as_bytes()))
                    .map(|(i, text)| (i, text.len()))
                    .collect()
            };
            for (token, p) in probabilities(context).into_iter().enumerate() {
                let (token, mass) = (token as u32, mass * p);
                let Some(bytes) = vocabulary.token_bytes(token) else {
                    let whole = match labels.end {
                        LabelEnd::EndToken if token != END => Vec::new(),
                        LabelEnd::EndToken => spelled(&|label| label == text),
                        LabelEnd::Anything => spelled(&|label| text.starts_with(label)),
                    };
                    if let Some((label, _)) = whole.into_iter().max_by_key(|(_, len)| *len) {
                        masses[label] += mass;
                    }
                    continue;
                };
                let longer = [&text[..], bytes].concat();
                let is_open = !spelled(&|label| match labels.end {
                    LabelEnd::EndToken => label.starts_with(&longer),
                    LabelEnd::Anything => label.starts_with(&longer) && label.len() > longer.len(),
                })
                .is_empty();
                if is_open {
                    context.push(token);
                    walk((labels, vocabulary), context, mass, masses);
                    context.pop();
                } else if labels.end == LabelEnd::Anything {
                    let begun = spelled(&|label| longer.starts_with(label));
                    if let Some((label, _)) = begun.into_iter().max_by_key(|(_, len)| *len) {
                        masses[label] += mass;
                    }
                }
            }
        }
        let mut masses = vec![0.0; labels.labels.len()];
        walk((labels, vocabulary), &mut Vec::new(), 1.0, &mut masses);
        masses
    }

    /// Reads until the end, `most` contexts at a time, and checks the bounds on the way.
    fn decide(labels: &Labels, most: usize) -> Decision {
        let vocabulary = vocabulary();
        let exact = brute_force(labels, &vocabulary);
        let total: f64 = exact.iter().sum();
        let mut masses = LabelMasses::new(labels, vec![END]);
        let mut batch = vec![LabelMasses::prompt()];
        while !batch.is_empty() {
            for context in &batch {
                masses.read(context, &logits(&context.tokens), vocabulary.trie()).unwrap();
            }
            if let Ok(decision) = masses.decision() {
                assert!(decision.label_mass <= total + 1e-12, "{decision:?}");
                assert!(decision.label_mass_upper >= total - 1e-12, "{decision:?}");
                for (label, exact) in decision.labels.iter().zip(&exact) {
                    let p = exact / total;
                    assert!(label.lower <= p + 1e-12, "{p} of {label:?}");
                    assert!(label.upper >= p - 1e-12, "{p} of {label:?}");
                    assert!((label.lower..=label.upper + 1e-12).contains(&label.probability));
                }
            }
            batch = masses.next_batch(most);
        }
        let decision = masses.decision().unwrap();
        if decision.stop == DecisionStop::Complete {
            for (label, exact) in decision.labels.iter().zip(&exact) {
                assert!((label.probability - exact / total).abs() < 1e-12, "{exact}: {decision:?}");
                let is_close = (label.logprob - exact.ln()).abs() < 1e-12;
                assert!(is_close || label.logprob == exact.ln(), "{exact}: {decision:?}");
            }
            assert!((decision.label_mass - total).abs() < 1e-12);
        }
        decision
    }

    fn sets() -> Vec<Vec<Label>> {
        let spelled = Label { name: "s".into(), spellings: vec!["aab".into(), "abab".into()] };
        vec![
            vec!["ab".into(), "ba".into()],
            vec!["a".into(), "ab".into(), "abcab".into(), "b".into()],
            vec![spelled, "abcabca".into(), "bbaab".into()],
            vec!["aabbaabbab".into()],
        ]
    }

    #[test]
    fn every_tokenisation_counts_and_bounds_hold_on_the_way() {
        for end in [LabelEnd::EndToken, LabelEnd::Anything] {
            for labels in sets() {
                for most in [1, 3, 16] {
                    let labels = Labels { end, tolerance: 0.0, ..Labels::new(labels.clone()) };
                    let decision = decide(&labels, most);
                    assert_eq!(decision.stop, DecisionStop::Complete, "{labels:?}");
                    let sum: f64 = decision.labels.iter().map(|label| label.probability).sum();
                    assert!((sum - 1.0).abs() < 1e-12);
                    assert!(decision.labels.iter().all(|l| l.upper - l.lower < 1e-12));
                }
            }
        }
    }

    #[test]
    fn tolerance_and_limit_leave_bounds_that_hold() {
        for end in [LabelEnd::EndToken, LabelEnd::Anything] {
            let labels = Labels { end, ..Labels::new(sets()[2].clone()) };
            let all = decide(&Labels { tolerance: 0.0, ..labels.clone() }, 4).contexts;
            let loose = decide(&Labels { tolerance: 0.05, ..labels.clone() }, 4);
            assert_eq!(loose.stop, DecisionStop::Tolerance);
            assert!(loose.contexts < all, "{loose:?}");
            assert!(loose.labels.iter().all(|label| label.upper - label.lower <= 0.05));
            let short = decide(&Labels { max_contexts: all / 2, tolerance: 0.0, ..labels }, 4);
            assert_eq!((short.stop, short.contexts), (DecisionStop::Limit, all / 2));
            assert!(short.labels.iter().any(|label| label.upper - label.lower > 0.0));
        }
    }

    #[test]
    fn labels_that_cannot_be_written_are_told() {
        let of = |labels: &Labels| {
            let vocabulary = vocabulary();
            let mut masses = LabelMasses::new(labels, vec![END]);
            masses.read(&LabelMasses::prompt(), &logits(&[]), vocabulary.trie()).unwrap();
            (masses.next_batch(1).len(), masses.decision())
        };
        let (next, none) = of(&Labels::new(["x", "y"]));
        assert_eq!((next, none.unwrap_err().place().field), (0, Some("labels")));
        let (_, cut) = of(&Labels { max_contexts: 1, ..Labels::new(["ab", "x"]) });
        assert_eq!(cut.unwrap_err().place().field, Some("max_contexts"));
        // One of them cannot be written: the other is certain.
        let decision = decide(&Labels { tolerance: 0.0, ..Labels::new(["ab", "x"]) }, 2);
        assert_eq!((decision.labels[0].probability, decision.labels[1].upper), (1.0, 0.0));
        assert_eq!((decision.margin, decision.entropy), (1.0, 0.0));
    }

    #[test]
    fn masses_far_below_the_least_number_are_compared() {
        let long: String = "abc".repeat(400);
        let labels =
            Labels { max_contexts: 5_000, ..Labels::new([format!("{long}a"), format!("{long}b")]) };
        let vocabulary = vocabulary();
        let mut masses = LabelMasses::new(&labels, vec![END]);
        let mut batch = vec![LabelMasses::prompt()];
        // A model that writes `abc` hardly ever, and nothing else of the labels.
        let row = |context: &LabelContext| {
            let mut row = vec![f32::NEG_INFINITY; 11];
            let is_last = context.tokens.len() >= 400;
            (row[6], row[10]) = (if is_last { f32::NEG_INFINITY } else { -20.0 }, 0.0);
            if is_last {
                (row[0], row[1], row[END as usize]) = (-1.0, -2.0, -3.0);
            }
            row
        };
        while !batch.is_empty() {
            for context in &batch {
                masses.read(context, &row(context), vocabulary.trie()).unwrap();
            }
            batch = masses.next_batch(4);
        }
        let decision = masses.decision().unwrap();
        let odds = decision.labels[0].probability / decision.labels[1].probability;
        assert!((odds.ln() - 1.0).abs() < 1e-9, "{decision:?}");
        assert!(decision.labels[0].logprob < -8000.0 && decision.label_mass == 0.0);
    }
}
