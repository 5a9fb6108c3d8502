//! Handler of `POST /v1/decisions`: the probabilities of labels after an input, without writing a text.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request as HttpRequest, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::app::App;
use super::completions::renamed;
use super::request::{DecisionRequest, Fields, Question, QuestionKind, ignoring_unknown};
use super::response::{now, unique_id};
use super::work::{JsonBody, blocking, with_ignored};
use super::worker::{RequestedTexts, WorkerReply};
use crate::engine::{Decision, DecisionStop, LabelProbability, OpenedReasoning, Usage};

/// Answers all questions, in their order.
pub(super) async fn decide(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    let mut body = JsonBody::read(&app, request).await?;
    let fields = Fields::new("", std::mem::take(&mut body.value))?;
    let prompt = ["input", "prompt"].into_iter().find(|name| fields.has(name));
    let answered = answers(&app, body, fields).await;
    answered.map_err(|error| match prompt {
        Some(prompt) => renamed(error, prompt),
        None => error,
    })
}

/// The answers to the questions of a body with these fields.
async fn answers(app: &Arc<App>, mut body: JsonBody, fields: Fields) -> Result<Response, ApiError> {
    let read = || DecisionRequest::read(fields, &app.names, &app.bounds.decisions);
    let (read, ignored) = ignoring_unknown(app.ignore_unknown_fields, read)?;
    if let (true, Some(error)) = (read.is_chat(), &app.no_chat) {
        return Err(ApiError::no_chat_template(error));
    }
    let mut requests = read.requests(app.parse_special, app.bounds.max_body_bytes)?;
    let (mut replies, _) = {
        let app = Arc::clone(app);
        blocking(move || {
            for request in &mut requests {
                // Labels are answers: they come after reasoning that the chat template opens.
                let begun =
                    app.formats.begin(&app.engine, request, String::new(), OpenedReasoning::Close);
                begun.map_err(|error| ApiError::from_engine(&error))?;
            }
            let permit = body.permit.take();
            // Its turn of the pool ends before the wait for the model.
            drop(body);
            app.worker.submit(&RequestedTexts::Each(requests), permit)
        })
        .await??
    };
    let mut answers = vec![Value::Null; read.questions.len()];
    let mut usage = Usage::default();
    let mut read_tokens = 0;
    loop {
        match replies.recv().await.ok_or_else(ApiError::gone)? {
            WorkerReply::Done(index, response) => {
                usage.prompt_tokens += response.usage.prompt_tokens;
                usage.cached_tokens += response.usage.cached_tokens;
                if let (Some(decision), Some(question)) =
                    (&response.decision, read.questions.get(index))
                {
                    read_tokens += decision.tokens_read;
                    answers[index] = answer(question, decision);
                }
            }
            WorkerReply::Finished => break,
            WorkerReply::Failed(error) => return Err(ApiError::from_engine(&error)),
            WorkerReply::OutOfTime => return Err(app.out_of_time()),
            WorkerReply::Text(..) | WorkerReply::Special(..) | WorkerReply::Step(..) => {}
        }
    }
    let input_tokens = usage.prompt_tokens + read_tokens;
    let object = json!({
        "id": unique_id("dec-"),
        "object": "decision",
        "created": now(),
        "model": app.name(),
        "answers": answers,
        "usage": {
            "input_tokens": input_tokens,
            "input_tokens_details": { "cached_tokens": usage.cached_tokens, "cache_write_tokens": 0 },
            "output_tokens": 0,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": input_tokens,
        },
    });
    Ok(with_ignored(Json(object).into_response(), &ignored))
}

/// The answer to a question.
fn answer(question: &Question, decision: &Decision) -> Value {
    let best = decision.answer();
    let probabilities = |value: &dyn Fn(usize) -> Value, with_label: bool| -> Vec<Value> {
        let all = decision.labels.iter().enumerate();
        all.map(|(i, label)| probability(label, value(i), with_label)).collect()
    };
    let mut answer = match &question.kind {
        QuestionKind::Predicate => {
            let yes = &decision.labels[0];
            json!({
                "type": "predicate",
                "probability": yes.probability,
                "lower": yes.lower,
                "upper": yes.upper,
                "confidence": best.probability,
                "probabilities": probabilities(&|i| json!(i == 0), false),
            })
        }
        QuestionKind::Choice(values) => json!({
            "type": "choice",
            "choice": values[decision.best],
            "confidence": best.probability,
            "probabilities": probabilities(&|i| values[i].clone(), false),
        }),
        QuestionKind::Score(values) => json!({
            "type": "score",
            "score": decision.expected(values),
            "confidence": best.probability,
            "probabilities": probabilities(&|i| number(values[i]), true),
        }),
    };
    answer["name"] = json!(question.name);
    answer["diagnostics"] = json!({
        "label_mass": decision.label_mass,
        "label_mass_upper": decision.label_mass_upper,
        "argmax_is_label": decision.argmax_is_label,
        "entropy": decision.entropy,
        "margin": decision.margin,
        "contexts": decision.contexts,
        "tokens_read": decision.tokens_read,
        "stopped": match decision.stop {
            DecisionStop::Complete => "complete",
            DecisionStop::Tolerance => "tolerance",
            DecisionStop::Limit => "max_contexts",
        },
    });
    answer
}

/// One label of an answer.
fn probability(label: &LabelProbability, value: Value, with_label: bool) -> Value {
    let mut object = json!({
        "value": value,
        "probability": label.probability,
        "lower": label.lower,
        "upper": label.upper,
        "logprob": label.logprob,
    });
    if with_label {
        object["label"] = json!(label.name);
    }
    object
}

/// A number, without a fraction if it is an integer.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 { json!(value as i64) } else { json!(value) }
}
