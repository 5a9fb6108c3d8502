//! Whether texts are accepted, and where and why not: `maskwright check` over HTTP.

use std::cell::OnceCell;
use std::time::Duration;

use serde_json::{Value, json};

use crate::lint::{TextCheck, Verdict};
use crate::server::api_error::ApiError;
use crate::server::app::App;
use crate::server::request::{AnswerFormat, Fields, read_constraint};
use crate::{Compiler, Constraint, Limits};

/// Longest time to compile the constraint with another option, and to check a text against it. This only serves to
/// name an option with which a rejected text would be accepted.
const EXPLANATION_TIMEOUT: Duration = Duration::from_secs(1);

/// `{"text": …}` or `{"texts": […]}`, beside a constraint. `tokens: true` writes the texts in the
/// model's tokens.
pub(super) fn answer(app: &App, mut fields: Fields) -> Result<Value, ApiError> {
    let mut format = read_constraint(&mut fields, &app.names)?.by_rules();
    let wanted = "a list of strings";
    let texts = fields.read("texts", wanted, |value| {
        value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
    })?;
    let text = fields.string("text")?;
    let in_tokens = fields.flag("tokens")?.unwrap_or(false);
    fields.finish()?;
    let (texts, is_single): (Vec<String>, bool) = match (text, texts) {
        (Some(text), None) => (vec![text], true),
        (None, Some(texts)) => (texts, false),
        (None, None) => {
            return Err(ApiError::field("text", "is missing; write it, or a list of `texts`"));
        }
        (Some(_), Some(_)) => {
            return Err(ApiError::field("texts", "stands beside `text`; write one of them"));
        }
    };
    let compiler = format.configure(&app.compiler)?;
    // There is one, or it was refused above.
    let Some(constraint) = format.compile(&compiler)? else { return Ok(Value::Null) };
    let schema = format.schema();
    let mut check = TextCheck::new(&constraint).with_schema(schema.as_deref());
    if in_tokens {
        check = check.in_tokens(compiler.vocabulary().trie());
    }
    let others = OnceCell::new();
    let mut other_option = |text: &[u8]| {
        let others =
            others.get_or_init(|| written_otherwise(&format, &compiler, app.compiler.limits()));
        let accepts = |constraint: &Constraint| {
            let mut matcher = constraint.matcher();
            matcher.accept_bytes(text).is_ok() && matcher.is_accepting()
        };
        let other = others.iter().find(|(_, constraint)| accepts(constraint));
        other.map(|(settings, _)| format!("`constraint_options`: {settings}"))
    };
    let mut verdict = |text: &String| -> crate::Result<Value> {
        let verdict = check.run(text.as_bytes(), &mut other_option)?;
        let mut answer = verdict.to_json();
        if let Verdict::Rejected(rejection) = &verdict {
            answer["message"] = json!(rejection.message());
            answer["excerpt"] = json!(rejection.excerpt);
        }
        Ok(answer)
    };
    // All of them within the time that compiling may take: meanwhile others wait for their turn.
    let results = constraint.limits().compiling(|| texts.iter().map(&mut verdict).collect());
    let mut results: Vec<Value> = results.map_err(|error| ApiError::from_engine(&error))?;
    Ok(match results.pop() {
        Some(result) if is_single => result,
        last => {
            results.extend(last);
            json!({ "results": results })
        }
    })
}

/// The constraint with other options of JSON, each alone and all together; without those that do
/// not compile.
fn written_otherwise(
    format: &AnswerFormat,
    compiler: &Compiler,
    limits: &Limits,
) -> Vec<(Value, Constraint)> {
    if !format.is_json() {
        return Vec::new();
    }
    let within = |given: Option<Duration>| {
        Some(given.map_or(EXPLANATION_TIMEOUT, |time| time.min(EXPLANATION_TIMEOUT)))
    };
    let limits = Limits {
        time_per_constraint: within(limits.time_per_constraint),
        time_per_mask: within(limits.time_per_mask),
        ..limits.clone()
    };
    let all = [
        json!({ "whitespace": "any" }),
        json!({ "property_order": "any" }),
        json!({ "spelling": "any" }),
        json!({ "whitespace": "any", "property_order": "any", "spelling": "any" }),
    ];
    let compile = |settings: Value| {
        let other = compiler.clone().with_settings(&settings).ok()?;
        let constraint = format.compile(&other.with_limits(limits.clone())).ok()??;
        Some((settings, constraint))
    };
    all.into_iter().filter_map(compile).collect()
}
