//! Random texts of a constraint, and texts one edit outside of it: `maskwright sample` over HTTP.

use serde_json::{Value, json};

use crate::sample::{Bounds, Texts};
use crate::server::api_error::ApiError;
use crate::server::app::App;
use crate::server::request::{Fields, read_constraint};
use crate::{Compiler, Vocabulary};

/// Greatest length of a text in bytes.
const MAX_BYTES: usize = 1 << 16;

/// `n`, `seed`, `min_bytes`, `max_bytes`, `max_depth` and `near_misses`, beside a constraint.
pub(super) fn answer(app: &App, mut fields: Fields) -> Result<Value, ApiError> {
    let mut format = read_constraint(&mut fields, &app.names)?.by_rules();
    let up_to = |most: usize| {
        move |value: &Value| usize::try_from(value.as_u64()?).ok().filter(|&n| n <= most)
    };
    let most = app.bounds.generation.max_samples;
    let wanted = format!("an integer up to {most}");
    let n = fields.read("n", &wanted, up_to(most))?.unwrap_or(most.min(10));
    let seed = fields.read("seed", "an integer from 0 up", Value::as_u64)?.unwrap_or(0);
    let wanted = format!("an integer up to {MAX_BYTES}");
    let default = Bounds::default();
    let bounds = Bounds {
        min_bytes: fields.read("min_bytes", &wanted, up_to(MAX_BYTES))?.unwrap_or(0),
        max_bytes: fields
            .read("max_bytes", &wanted, up_to(MAX_BYTES))?
            .unwrap_or(default.max_bytes),
        max_depth: fields.integer("max_depth", 0)?,
    };
    let near_misses = fields.flag("near_misses")?.unwrap_or(false);
    fields.finish()?;
    // Every byte a token by itself: the texts do not depend on the model's vocabulary.
    let bytes = (0..=u8::MAX).map(|byte| Some(vec![byte])).collect();
    let vocabulary = Vocabulary::from_tokens(bytes, &[], &[]);
    let vocabulary = vocabulary.map_err(|error| ApiError::from_engine(&error))?;
    let compiler = Compiler::new(vocabulary)
        .without_token_budgets()
        .with_limits(app.compiler.limits().clone())
        .with_json_options(app.compiler.json_options().clone());
    let compiler = format.configure(&compiler)?;
    // There is one, or it was refused above.
    let Some(constraint) = format.compile(&compiler)? else { return Ok(Value::Null) };
    let draw = || -> crate::Result<Vec<Value>> {
        let mut texts = Texts::new(&constraint, seed)?.within(bounds);
        let mut drawn = Vec::with_capacity(n);
        for _ in 0..n {
            let mut text = texts.draw()?;
            if near_misses {
                match texts.near_miss(&text)? {
                    Some(miss) => text = miss,
                    None => continue,
                }
            }
            drawn.push(match String::from_utf8(text) {
                Ok(text) => json!({ "text": text }),
                // JSON has no other way to write what is no UTF-8.
                Err(error) => json!({ "bytes": error.as_bytes() }),
            });
        }
        Ok(drawn)
    };
    // All of them within the time that compiling may take: meanwhile others wait for their turn.
    let texts = constraint.limits().compiling(draw);
    let texts = texts.map_err(|error| ApiError::from_engine(&error))?;
    Ok(json!({ "texts": texts }))
}
