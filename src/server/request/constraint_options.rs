//! `constraint_options`: the settings of the compiler for one request, by the names of
//! [`Compiler::with_settings`]; limits may be lowered, not raised.

use std::time::Duration;

use serde_json::Value;

use super::fields::{Fields, wrong};
use crate::server::api_error::{ApiError, field_of_pointer};
use crate::{Compiler, Limits};

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
    let (new, server) = (changed.limits(), compiler.limits());
    let (options, server_options) = (changed.json_options(), compiler.json_options());
    let raised = raised_size(new, server)
        .or_else(|| raised_time(new, server))
        .or_else(|| (options.work > server_options.work).then_some("work"))
        .or_else(|| (options.alternatives > server_options.alternatives).then_some("alternatives"));
    match raised {
        None => Ok(changed),
        Some(limit) => {
            let message = "is above the server's, which a request may only lower";
            Err(ApiError::field(format!("{FIELD}.limits.{limit}"), message))
        }
    }
}

/// The first size that is above the server's.
fn raised_size(new: &Limits, server: &Limits) -> Option<&'static str> {
    [
        ("grammar_size", new.grammar_size > server.grammar_size),
        ("language_states", new.language_states > server.language_states),
        ("states_per_step", new.states_per_step > server.states_per_step),
        ("depth", new.depth > server.depth),
        ("cache_bytes", new.cache_bytes > server.cache_bytes),
        ("split_bytes", new.split_bytes > server.split_bytes),
        ("split_nodes", new.split_nodes > server.split_nodes),
    ]
    .into_iter()
    .find_map(|(name, is_raised)| is_raised.then_some(name))
}

/// The first time that is above the server's.
fn raised_time(new: &Limits, server: &Limits) -> Option<&'static str> {
    let is_raised = |new: Option<Duration>, server: Option<Duration>| {
        new.unwrap_or(Duration::MAX) > server.unwrap_or(Duration::MAX)
    };
    [
        ("time_per_constraint", is_raised(new.time_per_constraint, server.time_per_constraint)),
        ("time_per_mask", is_raised(new.time_per_mask, server.time_per_mask)),
    ]
    .into_iter()
    .find_map(|(name, is_raised)| is_raised.then_some(name))
}
