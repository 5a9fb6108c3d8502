//! The error for features that models of candle-transformers do not have.

use crate::error::{Error, ErrorKind};

/// The error for a feature that models of candle-transformers lack; `feature` ends in its verb: "draft models
/// are".
pub(super) fn adapted_error(kind: ErrorKind, model_type: &str, feature: &str) -> Error {
    let message = format!(
        "{feature} not supported for models of type `{model_type}`, which candle-transformers computes"
    );
    Error::new(kind, message)
}
