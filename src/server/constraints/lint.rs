//! Advice about a schema: `maskwright lint` over HTTP.

use serde_json::{Value, json};

use crate::error::Error;
use crate::json_schema::Schema;
use crate::server::api_error::ApiError;
use crate::server::app::App;
use crate::server::request::{Fields, read_constraint};

/// The findings about the schema of a request, with the sizes of its texts.
pub(super) fn answer(app: &App, mut fields: Fields) -> Result<Value, ApiError> {
    let mut format = read_constraint(&mut fields, &app.names)?;
    fields.finish()?;
    let compiler = format.configure(&app.compiler)?;
    let compiler = format.configured(&compiler);
    let Some(schema) = format.schema() else {
        let message =
            "is no JSON Schema, of which alone there is advice; write {\"json_schema\": …}";
        return Err(ApiError::field(format.field(), message));
    };
    let text = schema.to_string();
    let schema = match Schema::from_text(&text) {
        Ok(schema) => schema,
        Err(error) => return Ok(refused(&error)),
    };
    let lint = schema.lint_within(&compiler.json_options().clone(), compiler.limits());
    let findings: Vec<Value> = lint
        .findings
        .iter()
        .map(|finding| {
            json!({
                "pointer": finding.pointer,
                "kind": finding.kind.name(),
                "message": finding.message,
            })
        })
        .collect();
    let mut answer = json!({
        "findings": findings,
        "least_bytes": lint.least_bytes,
        "most_bytes": lint.most_bytes,
        "accepted": lint.error.is_none(),
    });
    if let Some(error) = &lint.error {
        answer["error"] = json!(in_words(error));
    }
    Ok(answer)
}

/// The answer about a schema that cannot be read.
fn refused(error: &Error) -> Value {
    json!({
        "findings": [],
        "least_bytes": null,
        "most_bytes": null,
        "accepted": false,
        "error": in_words(error),
    })
}

/// The error with its place in the schema, but without lines: those of the text that was sent are not known.
fn in_words(error: &Error) -> String {
    let pointer = error.place().pointer.as_ref().map_or_else(String::new, |at| format!("{at}: "));
    let help = error.help().map_or_else(String::new, |help| format!("; {help}"));
    format!("{pointer}{}{help}", error.message())
}
