//! `model`: the name of the model that is served.

use super::fields::Fields;
use crate::server::api_error::ApiError;

/// Checks the model that a request names, if it names one.
pub(crate) fn check_model(fields: &mut Fields, models: &[String]) -> Result<(), ApiError> {
    match fields.string("model")? {
        Some(asked) if !models.contains(&asked) => {
            Err(ApiError::unknown_model(&asked, models.first().map_or("", String::as_str)))
        }
        _ => Ok(()),
    }
}

/// Checks the model that a request must name.
pub(crate) fn require_model(fields: &mut Fields, models: &[String]) -> Result<(), ApiError> {
    if !fields.has("model") {
        let model = models.first().map_or("", String::as_str);
        return Err(ApiError::field("model", format!("is missing; write \"{model}\"")));
    }
    check_model(fields, models)
}
