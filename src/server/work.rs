//! The way of a request's body to its handler: media type, bytes, JSON; and the pool that reads,
//! compiles and checks, as many at a time as leave the model's thread a core.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Json;
use axum::extract::Request as HttpRequest;
use axum::http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use super::admission::BodyPermit;
use super::api_error::ApiError;
use super::app::App;
use super::request::{Fields, ignoring_unknown};
use super::request_log;
use crate::error::shortened;
use crate::{deadline, strict_json};

/// The header that names fields of a request that were left out.
const IGNORED_FIELDS: HeaderName = HeaderName::from_static("x-ignored-fields");

/// Greatest length of the names in it: clients and proxies refuse long heads.
const MAX_IGNORED_BYTES: usize = 2048;

/// A body that was read as JSON.
pub(super) struct JsonBody {
    pub(super) value: Value,
    /// Held until the request is answered.
    pub(super) permit: Option<BodyPermit>,
    /// The turn of the pool that a large body has taken to be parsed.
    turn: Option<OwnedSemaphorePermit>,
}

impl JsonBody {
    /// Reads the body of a request.
    ///
    /// Errors if it is no JSON, not announced as such, too large or too slow.
    pub(super) async fn read(app: &Arc<App>, request: HttpRequest) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        if let Err(error) = check_media_type(&parts.headers) {
            app.bodies.drop_rest(&parts.headers, body).await;
            return Err(error);
        }
        let body = app.bodies.read(body).await?;
        let turn = if body.is_large() { Some(app.turn().await?) } else { None };
        blocking(move || {
            let value = strict_json::parse_request(&body.bytes);
            let value = value.map_err(|error| ApiError::json(None, &error))?;
            Ok(Self { value, permit: body.permit, turn })
        })
        .await?
    }

    /// Waits for a turn of the pool, and keeps it for the next call of [`turn`](Self::turn).
    pub(super) async fn take_turn(&mut self, app: &App) -> Result<(), ApiError> {
        let turn = self.turn(app).await?;
        self.turn = Some(turn);
        Ok(())
    }

    /// A turn of the pool: the one that was kept, or another, after a wait.
    pub(super) async fn turn(&mut self, app: &App) -> Result<OwnedSemaphorePermit, ApiError> {
        match self.turn.take() {
            Some(turn) => Ok(turn),
            None => app.turn().await,
        }
    }
}

/// Kinds of work on the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PoolWork {
    /// It compiles constraints, and takes a turn.
    Compiling,
    /// It compiles nothing, and does not wait behind what others compile.
    Light,
}

/// Answers a request by work on the pool alone, which has no need of the model.
pub(super) async fn answer(
    app: Arc<App>,
    request: HttpRequest,
    kind: PoolWork,
    work: fn(&App, Fields) -> Result<Value, ApiError>,
) -> Result<Response, ApiError> {
    let mut body = JsonBody::read(&app, request).await?;
    let turn = match kind {
        PoolWork::Compiling => Some(body.turn(&app).await?),
        PoolWork::Light => body.turn.take(),
    };
    blocking(move || {
        let ignore = app.ignore_unknown_fields;
        let answer = ignoring_unknown(ignore, || work(&app, Fields::new("", body.value)?));
        drop((turn, body.permit));
        answer.map(|(answer, ignored)| with_ignored(Json(answer).into_response(), &ignored))
    })
    .await?
}

/// The response with the names of fields that were left out.
pub(super) fn with_ignored(mut response: Response, ignored: &[String]) -> Response {
    // A name that is no header's text is shown by what stands for it.
    let (mut names, mut count) = (String::new(), 0);
    for name in ignored {
        let name = shortened(name).escape_default().to_string();
        if names.len() + name.len() > MAX_IGNORED_BYTES {
            break;
        }
        let before = if count == 0 { "" } else { ", " };
        names += &format!("{before}{name}");
        count += 1;
    }
    if count < ignored.len() {
        names += &format!(", and {} more", ignored.len() - count);
    }
    if let Ok(names) = HeaderValue::from_str(&names)
        && !ignored.is_empty()
    {
        response.headers_mut().insert(IGNORED_FIELDS, names);
    }
    response
}

/// Runs work that takes a while on the blocking pool. Operations of constraints in it end soon after
/// the future is dropped, as it is when the client hangs up.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    /// Sets a flag when dropped.
    struct CancelOnDrop(Arc<AtomicBool>);
    impl Drop for CancelOnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let cancelled = Arc::new(AtomicBool::new(false));
    let _cancel = CancelOnDrop(Arc::clone(&cancelled));
    let record = request_log::current();
    let work = move || request_log::within(record, work);
    tokio::task::spawn_blocking(move || deadline::cancellable(cancelled, work))
        .await
        .map_err(|_| ApiError::gone())
}

fn check_media_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let coding = headers.get(CONTENT_ENCODING).map(HeaderValue::as_bytes);
    if let Some(coding) = coding.filter(|coding| !coding.eq_ignore_ascii_case(b"identity")) {
        return Err(ApiError::content_encoding(&String::from_utf8_lossy(coding)));
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") { Ok(()) } else { Err(ApiError::media_type()) }
}
