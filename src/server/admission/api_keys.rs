//! API keys, compared in constant time: the time of a refusal does not tell how much of a key was
//! right.

use axum::http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use subtle::{Choice, ConstantTimeEq as _};

use crate::server::api_error::ApiError;

/// The header in which clients of Anthropic's API send their key.
const ANTHROPIC_KEY: &str = "x-api-key";

/// The keys of the API. Without any, every request is admitted.
#[derive(Clone, Default)]
pub(crate) struct ApiKeys(Vec<Vec<u8>>);

impl ApiKeys {
    pub(crate) fn new(keys: &[String]) -> Self {
        Self(keys.iter().map(|key| key.clone().into_bytes()).collect())
    }

    /// Errors unless the request carries one of the keys.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let bearer = headers.get(AUTHORIZATION).map(|given| {
            match given.as_bytes().split_at_checked(b"Bearer ".len()) {
                Some((scheme, key)) if scheme.eq_ignore_ascii_case(b"Bearer ") => key,
                _ => &[],
            }
        });
        let own = headers.get(ANTHROPIC_KEY).map(HeaderValue::as_bytes);
        if bearer.is_none() && own.is_none() {
            let message = "no API key was given; send the header `Authorization: Bearer KEY` or \
                           `x-api-key: KEY`";
            return Err(ApiError::unauthorized(message));
        }
        // A client may send one of another server beside it. All keys are compared, so that the time does not tell
        // which one was nearly right.
        let mut right = Choice::from(0);
        for given in [bearer, own].into_iter().flatten() {
            right = self.0.iter().fold(right, |right, known| right | known.ct_eq(given));
        }
        if bool::from(right) {
            Ok(())
        } else {
            Err(ApiError::unauthorized("the API key is not one of this server's"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_the_keys_opens() {
        let keys = ApiKeys::new(&["first".into(), "second".into()]);
        for (header, opens) in [
            (None, false),
            (Some("Bearer first"), true),
            (Some("bearer second"), true),
            (Some("Bearer firs"), false),
            (Some("Bearer first2"), false),
            (Some("first"), false),
            (Some("Bearer "), false),
            (Some(""), false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(AUTHORIZATION, header.parse().unwrap());
            }
            assert_eq!(keys.check(&headers).is_ok(), opens, "{header:?}");
            assert!(ApiKeys::default().check(&headers).is_ok());
        }
        for (key, opens) in [("second", true), ("secon", false), ("", false)] {
            let headers = HeaderMap::from_iter([(
                axum::http::HeaderName::from_static(ANTHROPIC_KEY),
                key.parse().unwrap(),
            )]);
            assert_eq!(keys.check(&headers).is_ok(), opens, "{key:?}");
        }
    }
}
