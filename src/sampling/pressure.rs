//! The pressure of a constraint: what the model alone would have done, compared with what the mask
//! lets it do.

use super::fast::{MaskedRow, MaximaPrecision, RowScan, row_scan};
use super::steps;
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::TokenMask;

/// One step's choice under the model's own distribution: before penalties, temperature and
/// truncation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    /// Natural logarithm of the token's probability among the allowed tokens.
    pub logprob: f64,
    /// Natural logarithm of its probability among all tokens.
    pub raw_logprob: f64,
    /// The share of the model's probability that lay on allowed tokens.
    pub allowed_mass: f64,
    /// Whether the mask forbade the token that the model held most probable.
    pub argmax_masked: bool,
}

impl Pressure {
    /// Measures one step: the logits before the mask, the mask, and the token that was written. A
    /// NaN or +∞ among forbidden tokens counts as −∞, since the chain ignores forbidden tokens.
    /// O(n) for n logits.
    ///
    /// ```
    /// use maskwright::TokenMask;
    /// use maskwright::sampling::Pressure;
    /// let mut mask = TokenMask::new(3);
    /// mask.allow(1);
    /// mask.allow(2);
    /// let pressure = Pressure::measure(&[0.0, 0.0, 0.0], &mask, 2)?;
    /// assert!((pressure.allowed_mass - 2.0 / 3.0).abs() < 1e-9);
    /// assert!((pressure.logprob - 0.5_f64.ln()).abs() < 1e-9);
    /// assert!(pressure.argmax_masked); // of equal logits the lowest id counts
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    ///
    /// Errors as [`Sampler::draw`](super::Sampler::draw) does, and if `token` is not below n.
    pub fn measure(logits: &[f32], mask: &TokenMask, token: u32) -> Result<Self> {
        if mask.len() != logits.len() {
            return Err(steps::mask_of_wrong_width(mask.len(), logits.len()));
        }
        let Some(&logit) = logits.get(token as usize) else {
            let message = format!("token {token} is beyond {} logits", logits.len());
            return Err(Error::new(ErrorKind::Sampling, message)
                .with_help("measure a token of the row's width"));
        };
        let log_sum = |words: &[u32]| {
            let mut maxima = Vec::new();
            let scan = row_scan::scan(logits, words, &mut maxima, MaximaPrecision::UpperBounds);
            let max_logit = f64::from(scan.best.map_or(f32::NEG_INFINITY, |best| best.1));
            let row = MaskedRow { logits, words, maxima: &maxima, temperature: 1.0 };
            (scan, max_logit + row.sum_of_exponentials(max_logit).ln())
        };
        let (kept, constrained) = log_sum(mask.words());
        if let Some(token) = kept.broken {
            return Err(steps::invalid_logit(token, logits[token as usize]));
        }
        if kept.best.is_none() {
            return Err(steps::nothing_allowed(mask.count()));
        }
        let every = TokenMask::all(logits.len());
        let (all, raw) = if mask == &every {
            (kept, constrained)
        } else {
            let forbidden: Vec<u32> = mask.words().iter().map(|word| !word).collect();
            // The bits beyond the width are no tokens.
            let forbidden: Vec<u32> =
                forbidden.iter().zip(every.words()).map(|(word, all)| word & all).collect();
            rest(logits, &forbidden, kept, constrained)
        };
        let logit = f64::from(logit);
        Ok(Self {
            logprob: logit - constrained,
            raw_logprob: logit - raw,
            allowed_mass: (constrained - raw).exp(),
            argmax_masked: all.best != kept.best,
        })
    }
}

/// Logarithm of the sum of the exponentials of all logits: what [`Pressure::raw_logprob`] takes off a
/// logit, bit for bit where the mask allows every token.
///
/// Errors if one of them is NaN or +∞, or if all are −∞.
#[cfg(feature = "model")]
pub(crate) fn log_sum_exp(logits: &[f32]) -> Result<f64> {
    let every = TokenMask::all(logits.len());
    let mut maxima = Vec::new();
    let scan = row_scan::scan(logits, every.words(), &mut maxima, MaximaPrecision::UpperBounds);
    if let Some(token) = scan.broken {
        return Err(steps::invalid_logit(token, logits[token as usize]));
    }
    let Some((_, best)) = scan.best else { return Err(steps::nothing_allowed(logits.len())) };
    let row = MaskedRow { logits, words: every.words(), maxima: &maxima, temperature: 1.0 };
    Ok(f64::from(best) + row.sum_of_exponentials(f64::from(best)).ln())
}

/// Scan and log-sum-exp over all tokens: `kept` and `constrained` are those of the allowed ones,
/// `words` the mask of the others.
fn rest(logits: &[f32], words: &[u32], kept: RowScan, constrained: f64) -> (RowScan, f64) {
    let mut maxima = Vec::new();
    let mut words = words.to_vec();
    let mut scan = row_scan::scan(logits, &words, &mut maxima, MaximaPrecision::UpperBounds);
    if scan.broken.is_some() {
        for (token, logit) in logits.iter().enumerate() {
            if logit.is_nan() || *logit == f32::INFINITY {
                words[token / 32] &= !(1 << (token % 32));
            }
        }
        scan = row_scan::scan(logits, &words, &mut maxima, MaximaPrecision::UpperBounds);
    }
    let Some((token, best)) = scan.best else { return (kept, constrained) };
    let max_logit = f64::from(best);
    let row = MaskedRow { logits, words: &words, maxima: &maxima, temperature: 1.0 };
    let others = max_logit + row.sum_of_exponentials(max_logit).ln();
    let most = others.max(constrained);
    let log_sum = most + ((others - most).exp() + (constrained - most).exp()).ln();
    // Of equal logits the lower id is the more probable.
    let wins = |(kept_token, kept_best): (u32, f32)| {
        best > kept_best || (best == kept_best && token < kept_token)
    };
    if kept.best.is_none_or(wins) {
        (RowScan { best: scan.best, ..kept }, log_sum)
    } else {
        (kept, log_sum)
    }
}

/// [`Pressure`] summed over a text: what `Request::faithfulness` asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Steps that were measured, the end token's among them.
    pub steps: usize,
    /// The sum of [`Pressure::logprob`]: the text's log-probability among constrained texts, drawn
    /// step by step.
    pub logprob: f64,
    /// The sum of [`Pressure::raw_logprob`]: its log-probability by the model alone.
    pub raw_logprob: f64,
    /// Steps at which the mask forbade the model's most probable token.
    pub argmax_masked: usize,
    /// The sum of the natural logarithms of [`Pressure::allowed_mass`]: the logarithm of the chance
    /// that the model alone would have stayed within the mask at every step, this text being given.
    pub log_allowed_mass: f64,
    /// The least [`Pressure::allowed_mass`] of a step; 1 without steps.
    pub least_mass: f64,
    /// Steps about which the constraint left no choice.
    pub forced: usize,
    /// Steps at which a ban, the least number of tokens or `ignore_eos` had to yield.
    pub yielded: usize,
}

impl Summary {
    /// A summary of no steps.
    pub fn new() -> Self {
        Self { least_mass: 1.0, ..Self::default() }
    }

    /// The log-probability per token by the model alone; 0 without steps.
    pub fn raw_logprob_per_token(&self) -> f64 {
        self.raw_logprob / self.steps.max(1) as f64
    }

    /// Adds a step.
    pub fn add(&mut self, pressure: &Pressure) {
        self.steps += 1;
        self.logprob += pressure.logprob;
        self.raw_logprob += pressure.raw_logprob;
        self.argmax_masked += usize::from(pressure.argmax_masked);
        self.log_allowed_mass += pressure.allowed_mass.ln();
        self.least_mass = self.least_mass.min(pressure.allowed_mass);
    }

    /// The geometric mean of the steps' allowed mass: 1 where the constraint never pressed.
    pub fn mean_mass(&self) -> f64 {
        match self.steps {
            0 => 1.0,
            n => (self.log_allowed_mass / n as f64).exp(),
        }
    }
}
