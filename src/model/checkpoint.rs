//! The files of a model: where they lie, how they are opened, and the tensors in them.

mod files;
mod gguf;
mod safetensors;
mod short_name;
mod source;
mod stored_tensor;
mod weights;

pub(super) use files::ModelFiles;
pub(super) use gguf::{EXPERTS, GATE_UP, GATED, SHARED_EXPERT};
pub use source::ModelSource;
pub(super) use weights::{MatrixData, Weights};
