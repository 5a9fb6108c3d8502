//! The files of a model: where they lie, how they are opened, and the tensors in them.

mod files;
mod safetensors;
mod source;

pub(super) use files::ModelFiles;
pub(super) use safetensors::Weights;
pub use source::ModelSource;
