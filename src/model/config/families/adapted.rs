//! Model types that candle-transformers computes, and not our decoder: what each reads out of its
//! `config.json`.
//!
//! A reader turns the keys into the settings that candle-transformers reads ([`Config::adapted`]), and refuses what
//! it would leave out: a key that the `transformers` library computes by and candle-transformers does not
//! must have the value that the code of the latter stands for ([`settings`]).

mod attention;
mod deepseek_v2;
mod gpt_bigcode;
mod granite_hybrid;
mod lfm2;
mod recurrent_gemma;
mod settings;
mod state_space;

use super::Family;

/// All of them.
pub(in crate::model::config) const ADAPTED: &[Family] = &[
    Family { model_type: "deepseek_v2", read: deepseek_v2::read },
    Family { model_type: "gpt_bigcode", read: gpt_bigcode::read },
    Family { model_type: "granitemoehybrid", read: granite_hybrid::read },
    Family { model_type: "helium", read: attention::read_helium },
    Family { model_type: "lfm2", read: lfm2::read },
    Family { model_type: "mamba", read: state_space::read_mamba },
    Family { model_type: "mamba2", read: state_space::read_mamba2 },
    Family { model_type: "olmo", read: attention::read_olmo },
    Family { model_type: "recurrent_gemma", read: recurrent_gemma::read },
];
