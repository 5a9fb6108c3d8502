//! The sampling chain: from one row of logits to one token, by small pure steps.
//!
//! A [`Sampler`] runs these steps of [`steps`] in this order; nowhere else is the order decided:
//!
//! | # | step | parameter | off at | source |
//! |--:|---|---|---|---|
//! | 1 | [`allow`](steps::allow): only tokens in the mask go on | the mask | no mask | |
//! | 2 | [`repetition_penalty`](steps::repetition_penalty) | `repetition_penalty` | 1 | Keskar et al. 2019 |
//! | 3 | [`frequency_penalty`](steps::frequency_penalty) | `frequency_penalty` | 0 | OpenAI API reference |
//! | 4 | [`presence_penalty`](steps::presence_penalty) | `presence_penalty` | 0 | OpenAI API reference |
//! | 5 | [`temperature`](steps::temperature), or [`greedy`](steps::greedy) at 0, which ends the chain | `temperature` | 1 | |
//! | 6 | [`top_k`](steps::top_k) | `top_k` | none, 0 | Fan et al. 2018 |
//! | 7 | [`top_p`](steps::top_p) | `top_p` | 1 | Holtzman et al. 2019 |
//! | 8 | [`min_p`](steps::min_p) | `min_p` | 0 | Nguyen et al. 2024 |
//! | 9 | [`pick`](steps::pick): one token at random | `seed` | | |
//!
//! The mask comes first, so every later step, and every number in a [`Draw`], is about allowed
//! tokens only: a forbidden token takes no place in the top k and no mass in the nucleus. Each
//! truncation works on what the one before it left, renormalised.
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

mod params;
mod sampler;
pub mod steps;

pub use params::SamplingParams;
pub use sampler::{Draw, Sampler};
pub use steps::Candidate;
