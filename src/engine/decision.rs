//! Labels to decide between, and the probabilities that the model gives them.
//!
//! A label is scored as a text, not as a token: its probability is the sum over all token sequences that
//! spell it (Cao and Rimell 2021, "You should evaluate your language model on marginal likelihood over
//! tokenisations"; Vieira et al. 2024, "From Language Models over Tokens to Language Models over
//! Characters"). `yes` may be written `yes`, `y es`, `ye s` or `y e s`; each is another context for the
//! model, and all of them count:
//!
//! ```text
//! P(yes)       = P(yes ⏹) + P(y es ⏹) + P(ye s ⏹) + P(y e s ⏹)        ⏹ an end token
//! probability  = P(yes) / (P(yes) + P(no))                             given that it is one of the labels
//! ```
//!
//! There are exponentially many such sequences, almost all of them with almost no probability. They are
//! read best first, and what was not read is bounded by the probability of the sequences that lead to it,
//! so that the bounds hold whenever the reading stops.

use crate::error::{Error, ErrorKind, Result, shortened};

/// A label, and the texts that stand for it.
///
/// ```
/// use maskwright::engine::Label;
/// let label = Label { name: "yes".to_owned(), spellings: vec!["yes".into(), "Yes".into()] };
/// assert_eq!(Label::from("no").spellings, ["no"]);
/// # let _ = label;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The name by which the decision speaks of it.
    pub name: String,
    /// The texts that count as this label, at least one, none of them empty, none of another label.
    pub spellings: Vec<String>,
}

impl<T: Into<String>> From<T> for Label {
    fn from(text: T) -> Self {
        let name: String = text.into();
        Self { spellings: vec![name.clone()], name }
    }
}

/// The event that follows a label in the texts that count for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LabelEnd {
    /// An end token, or one of the request's stop tokens: the whole answer is the label.
    #[default]
    EndToken,
    /// Anything: the answer begins with the label, and with no longer one of the labels.
    Anything,
}

/// Labels to decide between, and how far to read.
///
/// ```
/// use maskwright::engine::Labels;
/// let labels = Labels::new(["billing", "support", "other"]);
/// assert_eq!(labels.labels.len(), 3);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    /// The labels, at least one.
    pub labels: Vec<Label>,
    /// The event that follows a label.
    pub end: LabelEnd,
    /// Greatest distance between the lower and the upper bound of a probability at which reading
    /// stops; of a label alone, whose probability is 1, the share of its mass that is not read. 0 to read
    /// every tokenisation.
    pub tolerance: f64,
    /// Greatest number of contexts that the model reads: the prompt, and beginnings of tokenisations
    /// after it. Where it is reached first, the bounds are wider than `tolerance`.
    pub max_contexts: usize,
}

impl Labels {
    /// The default of [`tolerance`](Self::tolerance).
    pub const DEFAULT_TOLERANCE: f64 = 1e-6;
    /// The default of [`max_contexts`](Self::max_contexts).
    pub const DEFAULT_MAX_CONTEXTS: usize = 1024;

    /// These labels, each of which is the whole answer, with the default bounds.
    pub fn new<T: Into<Label>>(labels: impl IntoIterator<Item = T>) -> Self {
        Self {
            labels: labels.into_iter().map(Into::into).collect(),
            end: LabelEnd::default(),
            tolerance: Self::DEFAULT_TOLERANCE,
            max_contexts: Self::DEFAULT_MAX_CONTEXTS,
        }
    }

    /// The length of the longest spelling, in bytes: at most so many tokens spell it.
    pub(crate) fn longest(&self) -> usize {
        let spellings = self.labels.iter().flat_map(|label| &label.spellings);
        spellings.map(String::len).max().unwrap_or(0)
    }

    /// Errors, naming the field, on values out of range and on labels without a text of their own.
    pub(crate) fn validate(&self) -> Result<()> {
        let error = |field, message: String, help: &str| {
            Err(Error::new(ErrorKind::Request, message).with_help(help).at_field(field))
        };
        if self.labels.is_empty() {
            return error("labels", "no labels are given".into(), "write two or more");
        }
        if !(0.0..1.0).contains(&self.tolerance) {
            let message = format!("`tolerance` is {}", self.tolerance);
            return error("tolerance", message, "write a number from 0 up to, but not, 1");
        }
        if self.max_contexts == 0 {
            let message = "`max_contexts` is 0".into();
            return error("max_contexts", message, "write a number from 1, which reads the prompt");
        }
        let mut seen = std::collections::HashMap::new();
        for (index, label) in self.labels.iter().enumerate() {
            if label.spellings.is_empty() {
                let message = format!("the label `{}` has no spelling", shortened(&label.name));
                return error("labels", message, "write the texts that stand for it");
            }
            for text in &label.spellings {
                if text.is_empty() {
                    let message =
                        format!("the label `{}` has an empty text", shortened(&label.name));
                    return error("labels", message, "a label has at least one character");
                }
                if let Some(other) = seen.insert(text, index) {
                    let other = shortened(&self.labels[other].name);
                    let (name, text) = (shortened(&label.name), shortened(text));
                    let message = format!("`{text}` stands for the labels `{other}` and `{name}`");
                    return error("labels", message, "write each text once");
                }
            }
        }
        Ok(())
    }
}

/// The reason why no more tokenisations were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionStop {
    /// There are no more: the probabilities are exact, up to rounding.
    Complete,
    /// All bounds are within [`Labels::tolerance`].
    Tolerance,
    /// [`Labels::max_contexts`] were read; bounds are wider than the tolerance.
    Limit,
}

/// The probability of one label, given that the answer is one of the labels.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelProbability {
    /// The name of the label.
    pub name: String,
    /// Its probability by what was read; between the bounds. The sum over all labels is 1.
    pub probability: f64,
    /// Its probability is at least this.
    pub lower: f64,
    /// Its probability is at most this.
    pub upper: f64,
    /// Natural logarithm of its probability among all texts, by what was read; negative infinity where
    /// the model cannot write it.
    pub logprob: f64,
}

/// The probabilities of labels after a prompt, by the model alone: temperature 1, no penalties.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The labels, in the order in which they were given.
    pub labels: Vec<LabelProbability>,
    /// Index of the most probable label; of equal ones the first.
    pub best: usize,
    /// Probability that the answer is one of the labels at all: at least this.
    pub label_mass: f64,
    /// Probability that the answer is one of the labels at all: at most this.
    pub label_mass_upper: f64,
    /// Entropy of the distribution over the labels, in nats.
    pub entropy: f64,
    /// Distance of the most probable label to the second; 1 where there is one label.
    pub margin: f64,
    /// Whether the most probable first token of all can begin a label: where it cannot, the model would
    /// rather have written something else.
    pub argmax_is_label: bool,
    /// Contexts that the model read: the prompt, and beginnings of tokenisations after it.
    pub contexts: usize,
    /// Tokens of those contexts after the prompt.
    pub tokens_read: usize,
    /// The reason why no more were read.
    pub stop: DecisionStop,
}

impl Decision {
    /// The most probable label.
    ///
    /// ```no_run
    /// use maskwright::engine::{Engine, Labels, Request};
    /// use maskwright::model::ModelOptions;
    /// let engine = Engine::load(&ModelOptions::default())?;
    /// let request = Request::text("Is 7 a prime number? Answer yes or no.");
    /// let decision = engine.decide(&request, &Labels::new(["yes", "no"]))?;
    /// println!("{} ({:.1}%)", decision.answer().name, 100.0 * decision.answer().probability);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn answer(&self) -> &LabelProbability {
        &self.labels[self.best]
    }

    /// The expected value where the labels stand for these numbers, in their order; those that are
    /// missing count as 0.
    pub fn expected(&self, values: &[f64]) -> f64 {
        self.labels.iter().zip(values).map(|(label, value)| label.probability * value).sum()
    }
}
