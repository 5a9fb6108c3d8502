//! The names of experts in the layers of a GGUF file, where Hugging Face's checkpoints have one tensor for
//! all of them, or for gate and up: `LAYER.experts.3.gate_proj`.

/// The experts, before their number.
pub(crate) const EXPERTS: &str = "experts";

/// The expert that every token has.
pub(crate) const SHARED_EXPERT: &str = "shared_expert";

/// The projections of an expert.
pub(crate) const GATED: [&str; 3] = ["gate_proj", "up_proj", "down_proj"];

/// Gate and up of an expert where the file, too, has them in one tensor.
pub(crate) const GATE_UP: &str = "gate_up_proj";
