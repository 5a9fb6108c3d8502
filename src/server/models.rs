//! `GET /v1/models`: the one model that is served, under each of its names, in the shapes of OpenAI's and
//! Anthropic's APIs at once: their fields have different names.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::app::App;
use crate::model::strftime;

/// All names of the model.
pub(super) async fn list(State(app): State<Arc<App>>) -> Json<Value> {
    let models: Vec<Value> = app.names.iter().map(|name| describe(&app, name)).collect();
    Json(json!({
        "object": "list",
        "data": models,
        "first_id": app.names.first(),
        "last_id": app.names.last(),
        "has_more": false,
    }))
}

/// The model by one of its names.
pub(super) async fn get(
    State(app): State<Arc<App>>,
    model: Result<Path<String>, PathRejection>,
) -> Result<Json<Value>, ApiError> {
    // A path that is not UTF-8 is no name.
    let Ok(Path(model)) = model else {
        return Err(ApiError::unknown_model("\u{fffd}", app.name()));
    };
    if app.names.contains(&model) {
        Ok(Json(describe(&app, &model)))
    } else {
        Err(ApiError::unknown_model(&model, app.name()))
    }
}

fn describe(app: &App, name: &str) -> Value {
    let created = UNIX_EPOCH + Duration::from_secs(app.created);
    json!({
        "id": name,
        "object": "model",
        "created": app.created,
        "owned_by": "maskwright",
        // As vLLM reports it.
        "max_model_len": app.context_length,
        "type": "model",
        "display_name": name,
        "created_at": strftime("%FT%TZ", created),
    })
}
