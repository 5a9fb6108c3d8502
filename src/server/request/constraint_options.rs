//! `constraint_options`: the settings of the compiler for one request, by the names of
//! [`Compiler::with_settings`]; limits may be lowered, not raised.

use serde_json::Value;

use super::fields::{Fields, wrong};
use crate::server::api_error::{ApiError, field_of_pointer};
use crate::{Compiler, NamedLimit};

/// The field's name.
const FIELD: &str = "constraint_options";

/// The settings of a request, with those that are null left out.
pub(super) fn read(fields: &mut Fields) -> Result<Option<Value>, ApiError> {
    match fields.value(FIELD) {
        None => Ok(None),
        Some(Value::Object(mut settings)) => {
            // Null is a value of these two alone.
            settings.retain(|name, value| !value.is_null() || name == "escapes");
            Ok(Some(Value::Object(settings)))
        }
        Some(value) => Err(wrong(FIELD, "an object of settings", &value)),
    }
}

/// The compiler with the settings of a request.
///
/// Errors at the field if there is no such setting, or if a limit is above the server's.
pub(super) fn apply(compiler: &Compiler, settings: &Value) -> Result<Compiler, ApiError> {
    let changed = compiler.clone().with_settings(settings).map_err(|error| {
        let pointer = error.place().pointer.clone().unwrap_or_default();
        let message = match error.help() {
            Some(help) => format!("{}; {help}", error.message()),
            None => error.message().to_owned(),
        };
        ApiError::field(field_of_pointer(FIELD, &pointer), message)
    })?;
    let value = |limit: &NamedLimit, of: &Compiler| limit.value(of.limits(), of.json_options());
    let is_raised = |limit: &&NamedLimit| value(limit, &changed).is_above(value(limit, compiler));
    let raised = NamedLimit::all().iter().find(is_raised).map(NamedLimit::name);
    match raised {
        None => Ok(changed),
        Some(limit) => {
            let message = "is above the server's, which a request may only lower";
            Err(ApiError::field(format!("{FIELD}.limits.{limit}"), message))
        }
    }
}
