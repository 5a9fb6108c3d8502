//! The playground at `/`: a page that shows what a constraint does to a model, token by token.
//!
//! Plain files of `server/playground/`, which are part of the program. The page loads nothing else and
//! talks to this server alone, which its content security policy makes sure of; it carries no key, and
//! calls the API with the one that its user types in.

use std::sync::Arc;

use axum::Router;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use twox_hash::XxHash3_128;

use super::app::App;

/// The policy of the page: its own files, its own server, nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the page.
#[derive(Clone, Copy)]
struct Asset {
    path: &'static str,
    media_type: &'static str,
    text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

const ASSETS: [Asset; 8] = [
    Asset { path: "/", media_type: HTML, text: include_str!("playground/index.html") },
    Asset {
        path: "/playground/style.css",
        media_type: "text/css; charset=utf-8",
        text: include_str!("playground/style.css"),
    },
    Asset {
        path: "/playground/icon.svg",
        media_type: "image/svg+xml",
        text: include_str!("playground/icon.svg"),
    },
    Asset {
        path: "/playground/app.js",
        media_type: SCRIPT,
        text: include_str!("playground/app.js"),
    },
    Asset {
        path: "/playground/api.js",
        media_type: SCRIPT,
        text: include_str!("playground/api.js"),
    },
    Asset {
        path: "/playground/examples.js",
        media_type: SCRIPT,
        text: include_str!("playground/examples.js"),
    },
    Asset {
        path: "/playground/json_mistake.js",
        media_type: SCRIPT,
        text: include_str!("playground/json_mistake.js"),
    },
    Asset {
        path: "/playground/output.js",
        media_type: SCRIPT,
        text: include_str!("playground/output.js"),
    },
];

/// The routes of the page, which need no key.
pub(super) fn routes() -> Router<Arc<App>> {
    ASSETS.into_iter().fold(Router::new(), |router, asset| {
        router
            .route(asset.path, get(move |headers: HeaderMap| async move { asset.answer(&headers) }))
    })
}

impl Asset {
    /// The file, or only that the browser has it. Browsers ask each time, so that the files of
    /// two versions never mix.
    fn answer(self, headers: &HeaderMap) -> Response {
        let tag = format!("\"{:032x}\"", XxHash3_128::oneshot(self.text.as_bytes()));
        let is_known = headers
            .get(IF_NONE_MATCH)
            .and_then(|tags| tags.to_str().ok())
            .is_some_and(|tags| tags.split(',').any(|known| known.trim() == tag));
        let headers = [
            (CONTENT_TYPE, self.media_type.to_owned()),
            (CACHE_CONTROL, "no-cache".to_owned()),
            (ETAG, tag),
            (CONTENT_SECURITY_POLICY, POLICY.to_owned()),
            (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
            (REFERRER_POLICY, "no-referrer".to_owned()),
        ];
        if is_known {
            (StatusCode::NOT_MODIFIED, headers).into_response()
        } else {
            (headers, self.text).into_response()
        }
    }
}
