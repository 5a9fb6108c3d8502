//! The tokens that a constraint allows after a prefix, or why one is not: `maskwright mask` over
//! HTTP.

use serde_json::{Value, json};

use crate::error::ErrorKind;
use crate::server::api_error::ApiError;
use crate::server::app::App;
use crate::server::request::{Fields, read_constraint, wrong};
use crate::{Matcher, Vocabulary};

/// Tokens that are listed where the request does not say how many.
const DEFAULT_LISTED: usize = 1000;

/// The part of the request's field `prefix` or `prefix_token_ids`.
enum Prefix {
    Text(String),
    Tokens(Vec<u32>),
}

/// `{"prefix": …}` or `{"prefix_token_ids": […]}`, beside a constraint; `why` (an id, or a token's
/// text) explains one token, `limit` and `offset` choose of the allowed ones.
pub(super) fn answer(app: &App, mut fields: Fields) -> Result<Value, ApiError> {
    let mut format = read_constraint(&mut fields, &app.names)?;
    let text = fields.string("prefix")?;
    let tokens = fields.token_ids("prefix_token_ids")?;
    let why = fields.value("why");
    let limit = fields.integer("limit", 0)?.unwrap_or(DEFAULT_LISTED);
    let offset = fields.integer("offset", 0)?.unwrap_or(0);
    fields.finish()?;
    let prefix = match (text, tokens) {
        (Some(_), Some(_)) => {
            let message = "stands beside `prefix`; write one of them";
            return Err(ApiError::field("prefix_token_ids", message));
        }
        (_, Some(tokens)) => Prefix::Tokens(tokens),
        (text, None) => Prefix::Text(text.unwrap_or_default()),
    };
    let compiler = format.configure(&app.compiler)?;
    // There is one, or it was refused above.
    let Some(constraint) = format.compile(&compiler)? else { return Ok(Value::Null) };
    let vocabulary = compiler.vocabulary();
    let token = why.map(|why| find(vocabulary, &why)).transpose()?;
    let mut matcher = constraint.matcher();
    let (field, read) = match &prefix {
        Prefix::Text(text) => ("prefix", matcher.accept_bytes(text.as_bytes())),
        Prefix::Tokens(tokens) => {
            let read = tokens.iter().try_for_each(|&token| matcher.accept(token));
            ("prefix_token_ids", read)
        }
    };
    if let Err(error) = read {
        return match error.kind() {
            ErrorKind::Rejected | ErrorKind::Request | ErrorKind::Vocabulary => {
                Err(ApiError::field(field, error))
            }
            _ => Err(ApiError::from_engine(&error)),
        };
    }
    let answer = match token {
        Some(token) => explanation(&mut matcher, token),
        None => allowed(&mut matcher, vocabulary, limit, offset),
    };
    answer.map_err(|error| ApiError::from_engine(&error))
}

fn explanation(matcher: &mut Matcher, token: u32) -> crate::Result<Value> {
    let why = matcher.explain(token)?;
    let decided_by: Vec<&str> = why.decided_by().iter().map(|part| part.as_str()).collect();
    Ok(json!({
        "token": why.token,
        "name": why.name,
        "allowed": why.allowed,
        "fits": why.fits,
        "failed": why.failed,
        "expected": {
            "bytes": format!("{:?}", why.expected.bytes),
            "special_tokens": why.expected.special_tokens,
            "end": why.expected.end,
        },
        "decided_by": decided_by,
        "reason": why.to_string(),
    }))
}

fn allowed(
    matcher: &mut Matcher,
    vocabulary: &Vocabulary,
    limit: usize,
    offset: usize,
) -> crate::Result<Value> {
    let accepting = matcher.is_accepting();
    let mask = matcher.mask()?;
    let tokens: Vec<Value> = mask
        .iter()
        .skip(offset)
        .take(limit)
        .map(|token| {
            let text = vocabulary.token_bytes(token).map(String::from_utf8_lossy);
            json!({ "token": token, "name": vocabulary.token_name(token), "text": text })
        })
        .collect();
    Ok(json!({
        "allowed": mask.count(),
        "vocabulary": vocabulary.len(),
        "accepting": accepting,
        "tokens": tokens,
    }))
}

/// A token by its id, or by its text or name.
fn find(vocabulary: &Vocabulary, why: &Value) -> Result<u32, ApiError> {
    let trie = vocabulary.trie();
    let by_id = || why.as_u64().filter(|&id| id < vocabulary.len() as u64).map(|id| id as u32);
    let by_text = |text: &str| {
        let node = trie.find(text.as_bytes())?;
        trie.tokens(node).first().copied()
    };
    let by_name =
        |name: &str| (0..vocabulary.len() as u32).find(|&id| vocabulary.token_name(id) == name);
    let found = match why.as_str() {
        Some(text) => by_text(text).or_else(|| by_name(text)),
        None => by_id(),
    };
    found.ok_or_else(|| wrong("why", "a token's id, or its exact text", why))
}
