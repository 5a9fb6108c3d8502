//! The sampling chain: from one row of logits to one token, by small pure steps.
//!
//! A [`Sampler`] runs these steps of [`steps`] in this order, which is defined nowhere else:
//!
//! | # | step | parameter | off at | source |
//! |--:|---|---|---|---|
//! | 1 | the mask: only its tokens go on ([`allow`](steps::allow)) | the mask | no mask | |
//! | 2 | the lists: only these, none of those | `allowed_token_ids`, `banned_token_ids` | empty | |
//! | 3 | [`logit_bias`](steps::logit_bias) | `logit_bias` | empty | OpenAI API reference |
//! | 4 | [`repetition_penalty`](steps::repetition_penalty) | `repetition_penalty` | 1 | Keskar et al. 2019 |
//! | 5 | [`frequency_penalty`](steps::frequency_penalty) | `frequency_penalty` | 0 | OpenAI API reference |
//! | 6 | [`presence_penalty`](steps::presence_penalty) | `presence_penalty` | 0 | OpenAI API reference |
//! | 7 | [`dry`](steps::dry) | `dry_multiplier`, … | 0 | Weidmann 2024 |
//! | 8 | [`top_n_sigma`](steps::top_n_sigma) | `top_n_sigma` | 0 | Tang et al. 2024 |
//! | 9 | [`temperature`](steps::temperature) | `temperature` | 1 | Ackley et al. 1985 |
//! | 10 | [`top_k`](steps::top_k) | `top_k` | none, 0 | Fan et al. 2018 |
//! | 11 | [`top_p`](steps::top_p) | `top_p` | 1 | Holtzman et al. 2019 |
//! | 12 | [`min_p`](steps::min_p) | `min_p` | 0 | Nguyen et al. 2024 |
//! | 13 | [`typical_p`](steps::typical_p) | `typical_p` | 1 | Meister et al. 2022 |
//! | 14 | [`xtc`](steps::xtc) | `xtc_probability`, `xtc_threshold` | 0 | Weidmann 2024 |
//! | 15 | [`mirostat`](steps::mirostat) | `mirostat`, `mirostat_tau`, `mirostat_eta` | 0 | Basu et al. 2021 |
//! | 16 | [`pick`](steps::pick): one token at random | `seed` | | |
//!
//! The mask comes first, so every later step, and every number in a [`Draw`], is about allowed
//! tokens only: a forbidden token takes no place in the top k and no mass in the nucleus. Each
//! truncation works on what the one before it left, renormalised. Steps 3 to 15 run in the order of
//! [`samplers`](SamplingParams::samplers), which a user can change.
//!
//! The temperature comes before the truncations but top-nσ, as in Hugging Face's `generate`;
//! llama.cpp has it last, which `samplers` can say, too. Where single steps differ from these two,
//! their own documentation says how.
//!
//! A temperature of 0 is greedy: the steps that change logits run, and the most probable token is
//! taken; truncations are skipped, wherever they stand.
//!
//! The mask is never violated. A list of tokens that would leave nothing of the mask is not
//! applied, and the [`Draw`] reports it.
//!
//! ```
//! use maskwright::sampling::{Sampler, SamplingParams};
//! let params = SamplingParams { temperature: 0.7, top_p: 0.9, seed: Some(42), ..Default::default() };
//! let mut sampler = Sampler::new(&params)?;
//! let logits = [0.1, 2.5, -1.0, 2.4];
//! let draw = sampler.draw(&logits, None)?;
//! sampler.accept(draw.token); // what the penalties of the next step look at
//! assert!([1, 3].contains(&draw.token));
//! assert_eq!((draw.allowed, draw.nucleus), (4, 2));
//! # Ok::<(), maskwright::Error>(())
//! ```
//!
//! # Parts
//!
//! | module | content |
//! |---|---|
//! | [`steps`] | the definitions: pure functions over a list of [`Candidate`]s |
//! | `fast` | paths that compute the same over a long row without a list; the definitions are their tests' reference |
//! | `params`, `chain_step` | settings with their ranges; the steps by name, and their default order |
//! | `penalty_history` | the tokens that penalties count |
//! | `sampler` | [`Sampler`]: random numbers, the chain, draws with a mask and by rejection |
//! | `pressure` | what a mask did to the model's own distribution |
//! | `exp`, `weighted_select` | the exponential by a table; quickselect by weights |
//!
//! # Adding a step
//!
//! 1. Write it as a function over candidates in `steps/penalties.rs` (changes logits token by
//!    token) or `steps/truncations.rs` (removes candidates, never all), with its paper and with how
//!    Hugging Face and llama.cpp differ.
//! 2. Give it a variant of [`ChainStep`] with name and place in the default order, and a line in
//!    the table above. A step that changes single logits also goes into `ChainStep::is_bias_or_penalty`, and
//!    the tokens that it may change into `Chain::changing`.
//! 3. Give it fields of [`SamplingParams`], their ranges in `validate`, and its off-value in
//!    `switches_on`.
//! 4. Call it in `Chain::adjust` or `Chain::run` (`sampler/chain.rs`). A fast path is a separate
//!    matter, with a test against the definition.
//! 5. Add it to the reference in `tests/sampling/reference.rs`; command line and server take it by
//!    its field (`cli/args/sampling.rs`, `server/request/generation.rs`).

mod chain_step;
mod exp;
mod fast;
mod params;
mod penalty_history;
mod pressure;
mod sampler;
pub mod steps;
mod weighted_select;

pub use chain_step::ChainStep;
pub use params::{PenaltyScope, SamplingParams};
#[cfg(feature = "model")]
pub(crate) use pressure::log_sum_exp;
pub use pressure::{Pressure, Summary};
pub use sampler::{Checked, Draw, Sampler};
pub use steps::Candidate;
