//! The model and its draft model, with everything that all sequences share: vocabulary, and the mask
//! of a step without a constraint.

use std::sync::Arc;

use super::prompt;
use super::request::{Prompt, Request, Speculation};
use super::stop_cache::StopCache;
use super::stop_patterns::StopPatterns;
use super::token_healing;
use crate::constraint::Constraint;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
use crate::vocabulary::{TokenMask, Vocabulary};

/// One model, perhaps with a draft model. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ModelRunner {
    model: Arc<Model>,
    /// A faster model that guesses what `model` will write.
    draft: Option<Arc<Model>>,
    /// Every id that has a token: the mask of a step without a constraint.
    unconstrained_mask: Arc<TokenMask>,
    stops: Arc<StopCache>,
}

/// The tokens of a prompt, before the model has read them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TokenizedPrompt {
    /// The tokens that the model reads.
    pub(crate) tokens: Vec<u32>,
    /// Bytes that token healing took off the prompt's end; the text must begin with them.
    pub(crate) healing: Vec<u8>,
}

impl ModelRunner {
    /// A runner without a draft model.
    pub(crate) fn new(model: Model) -> Self {
        let vocabulary = model.vocabulary();
        let mut mask = TokenMask::new(vocabulary.len());
        // Vocabularies are far smaller than u32::MAX.
        for id in 0..vocabulary.len() as u32 {
            if vocabulary.token_bytes(id).is_some() || vocabulary.is_special(id) {
                mask.allow(id);
            }
        }
        let (model, unconstrained_mask) = (Arc::new(model), Arc::new(mask));
        Self { model, draft: None, unconstrained_mask, stops: Arc::default() }
    }

    /// The runner with KV blocks of its own for its caches: those of clones count apart.
    pub(crate) fn with_own_blocks(mut self) -> Self {
        self.model = Arc::new(Model::clone(&self.model).with_own_blocks());
        self
    }

    /// Greatest length of prompt and text, in tokens: the model's context.
    ///
    /// With LongRoPE it is the original context (short factors) if prompt and `max_tokens` fit into it, or if
    /// `max_tokens` is no bound (the whole context or more) and the prompt fits. Otherwise it is the whole
    /// context (long factors).
    pub(crate) fn max_sequence_len(&self, prompt: usize, max_tokens: usize) -> usize {
        let all = self.model.context_length();
        let Some(short) = self.model.config().short_context() else { return all };
        let fits = prompt.saturating_add(max_tokens) <= short;
        let is_without_bound = max_tokens >= all;
        if fits || (is_without_bound && prompt < short) { short } else { all }
    }

    /// Sets the draft model. Errors if its vocabulary is another one, or if candle-transformers computes one of
    /// the two.
    pub(crate) fn set_draft(&mut self, draft: Model) -> Result<()> {
        if let Some(adapted) = [self.model(), &draft].into_iter().find(|model| model.is_adapted()) {
            let help = "leave out the draft model";
            return Err(adapted
                .not_of_adapted(ErrorKind::Request, "draft models are")
                .with_help(help));
        }
        let (ours, theirs) = (self.vocabulary(), draft.vocabulary());
        // Of one tokenizer, models may be padded to different widths: the ids beyond the other's have no text.
        // Vocabularies are far smaller than u32::MAX.
        let width = ours.len().max(theirs.len()) as u32;
        let same = (0..width).all(|id| ours.token_bytes(id) == theirs.token_bytes(id));
        if !same {
            let message = "the draft model has another vocabulary than the model";
            return Err(Error::new(ErrorKind::Request, message).with_help(
                "give a model with the same tokenizer, or the first layers of this one",
            ));
        }
        self.draft = Some(Arc::new(draft));
        Ok(())
    }

    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    pub(crate) fn draft_model(&self) -> Option<&Arc<Model>> {
        self.draft.as_ref()
    }

    pub(crate) fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.model.vocabulary()
    }

    /// The mask of a step without a constraint.
    pub(crate) fn unconstrained_mask(&self) -> &TokenMask {
        &self.unconstrained_mask
    }

    /// The automaton of a request's stops. Errors, naming the field, if it cannot be made.
    pub(crate) fn stop_patterns(&self, request: &Request) -> Result<Arc<StopPatterns>> {
        self.stops.patterns(request)
    }

    /// Checks a request and makes the tokens of its prompt.
    ///
    /// Errors on a request that is out of range.
    pub(crate) fn tokenize_prompt(&self, request: &Request) -> Result<TokenizedPrompt> {
        request.validate()?;
        self.stop_patterns(request)?;
        self.check_tokens(request)?;
        self.check_features(request)?;
        if request.speculate == Speculation::Draft && self.draft.is_none() {
            let message = "`speculate` asks for a draft model, and there is none";
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("give the engine one, or speculate by `grammar` or `ngram`")
                .at_field("speculate"));
        }
        if let Some(constraint) = &request.constraint {
            self.check_vocabulary(constraint)?;
        }
        let mut tokens = prompt::tokens(&self.model, request)?;
        let healing = if request.token_healing {
            token_healing::take_back(self.vocabulary(), &mut tokens)
        } else {
            Vec::new()
        };
        Ok(TokenizedPrompt { tokens, healing })
    }

    /// Errors, naming the field, on features that need to truncate or fork the KV cache (speculation, beams,
    /// labels) where candle-transformers computes the model, which can do neither.
    fn check_features(&self, request: &Request) -> Result<()> {
        let asked = [
            ("speculate", request.speculate != Speculation::Off),
            ("beam", request.beam.is_some()),
            ("labels", request.labels.is_some()),
        ];
        match asked.into_iter().find(|(_, is_asked)| *is_asked) {
            Some((field, _)) if self.model.is_adapted() => {
                let feature = format!("`{field}` is");
                let error = self.model.not_of_adapted(ErrorKind::Request, &feature);
                Err(error.with_help("leave it out").at_field(field))
            }
            _ => Ok(()),
        }
    }

    /// Errors, naming the field, on ids that are no tokens of the vocabulary.
    fn check_tokens(&self, request: &Request) -> Result<()> {
        let (sampling, width) = (&request.sampling, self.vocabulary().len());
        let biased: Vec<u32> = sampling.logit_bias.keys().copied().collect();
        let none = Vec::new();
        let prompt = match &request.prompt {
            Prompt::Tokens(tokens) => tokens,
            Prompt::Text(_) | Prompt::Chat(_) => &none,
        };
        for (field, tokens) in [
            ("prompt", prompt),
            ("logit_bias", &biased),
            ("allowed_token_ids", &sampling.allowed_token_ids),
            ("banned_token_ids", &sampling.banned_token_ids),
            ("stop_token_ids", &request.stop_token_ids),
        ] {
            if let Some(token) = tokens.iter().find(|&&token| token as usize >= width) {
                let message =
                    format!("`{field}` names token {token}, which the model does not have");
                return Err(Error::new(ErrorKind::Request, message)
                    .with_help(format!("write ids from 0 to {}", width.saturating_sub(1)))
                    .at_field(field));
            }
        }
        Ok(())
    }

    /// Errors on a constraint that was compiled for another vocabulary.
    fn check_vocabulary(&self, constraint: &Constraint) -> Result<()> {
        let (theirs, ours) = (constraint.vocabulary(), self.vocabulary());
        if Arc::ptr_eq(theirs, ours) || theirs.len() == ours.len() {
            return Ok(());
        }
        let message = format!(
            "the constraint was compiled for {} tokens, the model has {}",
            theirs.len(),
            ours.len()
        );
        Err(Error::new(ErrorKind::Request, message)
            .with_help("compile it for the vocabulary of this engine"))
    }
}
