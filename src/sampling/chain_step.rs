//! The steps of the chain by name, and the order in which they run.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};

/// A step of the chain that a user can move. The mask, and the lists of allowed and banned tokens,
/// are always first, and the draw is always last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChainStep {
    /// [`logit_bias`](super::steps::logit_bias).
    LogitBias,
    /// [`repetition_penalty`](super::steps::repetition_penalty).
    RepetitionPenalty,
    /// [`frequency_penalty`](super::steps::frequency_penalty).
    FrequencyPenalty,
    /// [`presence_penalty`](super::steps::presence_penalty).
    PresencePenalty,
    /// [`dry`](super::steps::dry).
    Dry,
    /// [`top_n_sigma`](super::steps::top_n_sigma).
    TopNSigma,
    /// [`temperature`](super::steps::temperature).
    Temperature,
    /// [`top_k`](super::steps::top_k).
    TopK,
    /// [`top_p`](super::steps::top_p).
    TopP,
    /// [`min_p`](super::steps::min_p).
    MinP,
    /// [`typical_p`](super::steps::typical_p).
    TypicalP,
    /// [`xtc`](super::steps::xtc).
    Xtc,
    /// [`mirostat`](super::steps::mirostat).
    Mirostat,
}

impl ChainStep {
    /// Every step, in the default order.
    pub const DEFAULT_ORDER: [Self; 13] = [
        Self::LogitBias,
        Self::RepetitionPenalty,
        Self::FrequencyPenalty,
        Self::PresencePenalty,
        Self::Dry,
        Self::TopNSigma,
        Self::Temperature,
        Self::TopK,
        Self::TopP,
        Self::MinP,
        Self::TypicalP,
        Self::Xtc,
        Self::Mirostat,
    ];

    /// Its name, which is that of its main setting.
    pub fn name(self) -> &'static str {
        match self {
            Self::LogitBias => "logit_bias",
            Self::RepetitionPenalty => "repetition_penalty",
            Self::FrequencyPenalty => "frequency_penalty",
            Self::PresencePenalty => "presence_penalty",
            Self::Dry => "dry",
            Self::TopNSigma => "top_n_sigma",
            Self::Temperature => "temperature",
            Self::TopK => "top_k",
            Self::TopP => "top_p",
            Self::MinP => "min_p",
            Self::TypicalP => "typical_p",
            Self::Xtc => "xtc",
            Self::Mirostat => "mirostat",
        }
    }

    /// The steps of these names, in their order. llama.cpp's names are known, too: `typ_p`, and
    /// `penalties` for all three.
    ///
    /// Errors on an unknown name.
    ///
    /// ```
    /// use maskwright::sampling::{ChainStep, Sampler, SamplingParams};
    /// // llama.cpp's place for the temperature: last.
    /// let samplers = ChainStep::list(["top_k", "top_p", "min_p", "temperature"])?;
    /// let params = SamplingParams { top_k: Some(40), temperature: 0.7, samplers, ..Default::default() };
    /// assert!(Sampler::new(&params).is_ok());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Self>> {
        let mut steps = Vec::new();
        for name in names {
            match name {
                "typ_p" => steps.push(Self::TypicalP),
                "penalties" => steps.extend([
                    Self::RepetitionPenalty,
                    Self::FrequencyPenalty,
                    Self::PresencePenalty,
                ]),
                name => steps.push(name.parse()?),
            }
        }
        Ok(steps)
    }

    /// Whether the step is the bias or a penalty: it changes the logits of some tokens, each without
    /// regard to the others. (The temperature changes all logits alike.)
    pub(super) fn is_bias_or_penalty(self) -> bool {
        matches!(
            self,
            Self::LogitBias
                | Self::RepetitionPenalty
                | Self::FrequencyPenalty
                | Self::PresencePenalty
                | Self::Dry
        )
    }

    /// Whether the step removes tokens, for which it must know all that are allowed.
    pub(crate) fn is_truncation(self) -> bool {
        !self.is_bias_or_penalty() && self != Self::Temperature
    }
}

impl fmt::Display for ChainStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ChainStep {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::DEFAULT_ORDER.into_iter().find(|step| step.name() == text).ok_or_else(|| {
            let names = Self::DEFAULT_ORDER.map(Self::name).join(", ");
            Error::new(ErrorKind::Sampling, format!("`{text}` is no step of the chain"))
                .with_help(format!("write one of {names}"))
        })
    }
}
