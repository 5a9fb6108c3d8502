//! The body of a request for decisions: an input, and questions about it with their labels.
//!
//! The shape is OpenAI's (`input`, `questions`, `instructions`, `choices`, `levels`), which other servers
//! have, too. Beyond it a question may leave out `instructions`: its labels are then read after the input
//! as it is.

use serde_json::{Map, Value, json};

use super::fields::{Fields, wrong};
use super::harmless::ignore_harmless;
use super::messages::messages;
use super::model_name::require_model;
use super::template;
use crate::engine::{Label, LabelEnd, Labels, Prompt, Request};
use crate::model::Message;
use crate::server::admission::DecisionBounds;
use crate::server::api_error::ApiError;
use crate::server::copies;

/// A request for decisions, read and checked.
pub(crate) struct DecisionRequest {
    input: Prompt,
    pub(crate) questions: Vec<Question>,
    template_variables: Map<String, Value>,
}

/// A question about the input.
pub(crate) struct Question {
    pub(crate) name: Option<String>,
    pub(crate) kind: QuestionKind,
    pub(crate) labels: Labels,
    /// The text that asks for one of the labels; none where the input does so itself.
    text: Option<String>,
}

/// The kind of a question, with what its labels stand for, in their order.
pub(crate) enum QuestionKind {
    /// Yes or no.
    Predicate,
    /// One of these values: texts or truth values.
    Choice(Vec<Value>),
    /// One of these numbers.
    Score(Vec<f64>),
}

impl DecisionRequest {
    /// Reads a body for the model that is served under these names.
    pub(crate) fn read(
        mut fields: Fields,
        models: &[String],
        bounds: &DecisionBounds,
    ) -> Result<Self, ApiError> {
        let &DecisionBounds { max_questions, max_label_bytes, max_contexts, .. } = bounds;
        require_model(&mut fields, models)?;
        let input = input(&mut fields)?;
        let whole_answer = fields.flag("whole_answer")?.unwrap_or(true);
        let end = if whole_answer { LabelEnd::EndToken } else { LabelEnd::Anything };
        let tolerance = fields.read("tolerance", "a number from 0 up to, but not, 1", |value| {
            value.as_f64().filter(|tolerance| (0.0..1.0).contains(tolerance))
        })?;
        let wanted = format!("an integer from 1 to {max_contexts}");
        let asked_contexts = fields.read("max_contexts", &wanted, |value| {
            let most = usize::try_from(value.as_u64()?).ok()?;
            (1..=max_contexts).contains(&most).then_some(most)
        })?;
        let settings = Labels {
            end,
            tolerance: tolerance.unwrap_or(Labels::DEFAULT_TOLERANCE),
            max_contexts: asked_contexts.unwrap_or(Labels::DEFAULT_MAX_CONTEXTS.min(max_contexts)),
            labels: Vec::new(),
        };
        let wanted = format!("a list of 1 to {max_questions} questions");
        let list = match fields.value("questions") {
            Some(Value::Array(list)) if (1..=max_questions).contains(&list.len()) => list,
            Some(value) => return Err(wrong("questions", &wanted, &value)),
            None => {
                return Err(ApiError::field("questions", format!("is missing; write {wanted}")));
            }
        };
        let mut questions = Vec::with_capacity(list.len());
        for (i, question) in list.into_iter().enumerate() {
            questions.push(Question::read(format!("questions[{i}]"), question, &settings, bounds)?);
        }
        let labels = questions.iter().flat_map(|question| &question.labels.labels);
        let bytes: usize = labels.flat_map(|label| &label.spellings).map(String::len).sum();
        if bytes > max_label_bytes {
            let message = format!("have labels of {bytes} bytes; {max_label_bytes} are the most");
            return Err(ApiError::field("questions", message));
        }
        let has_text = questions.iter().position(|question| question.text.is_some());
        if let (Prompt::Text(_) | Prompt::Tokens(_), Some(i)) = (&input, has_text) {
            let message = "goes with `input` or `messages`; write it into the `prompt`";
            return Err(ApiError::field(format!("questions[{i}].instructions"), message));
        }
        let template_variables = template::variables(&mut fields)?;
        if matches!(input, Prompt::Text(_) | Prompt::Tokens(_)) && !template_variables.is_empty() {
            let message = "goes with `input` or `messages`, which the chat template writes";
            return Err(ApiError::field("chat_template_kwargs", message));
        }
        fields.ignore("prompt_cache_options");
        ignore_harmless(&mut fields)?;
        fields.finish()?;
        Ok(Self { input, questions, template_variables })
    }

    /// Whether the prompt is a conversation, for the chat template.
    pub(crate) fn is_chat(&self) -> bool {
        matches!(self.input, Prompt::Chat(_))
    }

    /// A request to the engine for each question, where a body has at most `max_body_bytes`.
    pub(crate) fn requests(
        &self,
        parse_special: bool,
        max_body_bytes: usize,
    ) -> Result<Vec<Request>, ApiError> {
        let request = |question: &Question| Request {
            raw: true,
            parse_special,
            labels: Some(question.labels.clone()),
            template_variables: self.template_variables.clone(),
            ..Request::new(question.prompt(&self.input))
        };
        if let Some(first) = self.questions.first() {
            copies::check([(&request(first), self.questions.len())].into_iter(), max_body_bytes)?;
        }
        Ok(self.questions.iter().map(request).collect())
    }
}

/// `input` (a text, or items of messages), `messages`, or `prompt`: one of them.
fn input(fields: &mut Fields) -> Result<Prompt, ApiError> {
    let given: Vec<&str> =
        ["input", "messages", "prompt"].into_iter().filter(|name| fields.has(name)).collect();
    match given[..] {
        ["input"] => match fields.value("input") {
            Some(Value::String(text)) => Ok(Prompt::Chat(vec![Message::new("user", &text)])),
            Some(Value::Array(items)) if !items.is_empty() => {
                let items = items.into_iter().enumerate();
                let all: Result<_, _> = items.map(|(i, item)| message(i, item)).collect();
                all.map(Prompt::Chat)
            }
            value => {
                Err(wrong("input", "a string or a list of messages", &value.unwrap_or_default()))
            }
        },
        ["messages"] => messages(fields).map(Prompt::Chat),
        // The prompt.
        [_] => {
            let wanted = "a string or a list of token ids, not empty";
            let prompt = fields.read("prompt", wanted, |value| match value {
                Value::String(text) => Some(Prompt::Text(text.clone())),
                Value::Array(ids) if !ids.is_empty() => {
                    let id = |id: &Value| u32::try_from(id.as_u64()?).ok();
                    Some(Prompt::Tokens(ids.iter().map(id).collect::<Option<_>>()?))
                }
                _ => None,
            })?;
            prompt.ok_or_else(|| ApiError::field("prompt", "is missing"))
        }
        [] => Err(ApiError::field("input", "is missing; write a text, or a list of messages")),
        [first, second, ..] => {
            Err(ApiError::field(second, format!("stands beside `{first}`; write one")))
        }
    }
}

/// An item of `input`: a message whose parts are texts.
fn message(index: usize, item: Value) -> Result<Message, ApiError> {
    let mut fields = Fields::new(format!("input[{index}]"), item)?;
    let kind = fields.value("type").unwrap_or_else(|| "message".into());
    if kind != "message" {
        let wanted = "\"message\"; write calls of tools and their results as `messages`";
        return Err(wrong(&fields.name("type"), wanted, &kind));
    }
    let role = fields.value("role").unwrap_or_default();
    let role = match role.as_str() {
        Some("system" | "developer") => "system",
        Some("user") => "user",
        Some("assistant") => "assistant",
        _ => {
            let wanted = "\"user\", \"assistant\", \"system\" or \"developer\"";
            return Err(wrong(&fields.name("role"), wanted, &role));
        }
    };
    let place = fields.name("content");
    let content = fields.value("content").unwrap_or_default();
    fields.ignore("phase");
    fields.finish()?;
    Ok(Message::new(role, &text(&place, content)?))
}

/// A text, or the texts of parts, a line each.
fn text(place: &str, content: Value) -> Result<String, ApiError> {
    let parts = match content {
        Value::String(text) => return Ok(text),
        Value::Array(parts) => parts,
        value => return Err(wrong(place, "a string or a list of text parts", &value)),
    };
    let mut texts = Vec::with_capacity(parts.len());
    for (i, part) in parts.into_iter().enumerate() {
        let mut part = Fields::new(format!("{place}[{i}]"), part)?;
        let kind = part.value("type").unwrap_or_default();
        if !matches!(kind.as_str(), Some("input_text" | "output_text" | "text")) {
            let wanted = "\"input_text\", \"output_text\" or \"text\"; this model reads text only";
            return Err(wrong(&part.name("type"), wanted, &kind));
        }
        part.ignore("prompt_cache_breakpoint");
        let name = part.name("text");
        let text = part.string("text")?;
        texts.push(text.ok_or_else(|| ApiError::field(name, "is missing; write a string"))?);
        part.finish()?;
    }
    Ok(texts.join("\n"))
}

impl Question {
    fn read(
        place: String,
        value: Value,
        settings: &Labels,
        bounds: &DecisionBounds,
    ) -> Result<Self, ApiError> {
        let max_labels = bounds.max_labels;
        let mut fields = Fields::new(place, value)?;
        let kind = fields.value("type").unwrap_or_default();
        let name = fields.string("name")?;
        let instructions = match fields.value("instructions") {
            None => None,
            Some(value) => Some(text(&fields.name("instructions"), value)?),
        };
        let (labels, kind, asks, field) = match kind.as_str() {
            Some("predicate") => predicate(&mut fields)?,
            Some("choice") => choice(&mut fields)?,
            Some("score") => score(&mut fields, max_labels)?,
            _ => {
                let wanted = "\"predicate\", \"choice\" or \"score\"";
                return Err(wrong(&fields.name("type"), wanted, &kind));
            }
        };
        let field = fields.name(field);
        fields.finish()?;
        if labels.len() < 2 || labels.len() > max_labels {
            let message = format!("has {} labels; write 2 to {max_labels}", labels.len());
            return Err(ApiError::field(field, message));
        }
        let labels = Labels { labels, ..settings.clone() };
        labels.validate().map_err(|error| ApiError::field(field, error))?;
        let text = instructions.map(|instructions| format!("{instructions}\n\n{asks}"));
        Ok(Self { name, kind, labels, text })
    }

    /// The input with the question at its end.
    fn prompt(&self, input: &Prompt) -> Prompt {
        let (Prompt::Chat(messages), Some(text)) = (input, &self.text) else {
            return input.clone();
        };
        let mut messages = messages.clone();
        match messages.last_mut() {
            // Some templates want turns to alternate.
            Some(last) if last.role == "user" => last.content += &format!("\n\n{text}"),
            _ => messages.push(Message::new("user", text)),
        }
        Prompt::Chat(messages)
    }
}

/// The labels of a question, what they stand for, how they are asked for, and the field that has them.
type QuestionParts = (Vec<Label>, QuestionKind, String, &'static str);

/// Yes or no, also with a capital letter, or as `spellings` says.
fn predicate(fields: &mut Fields) -> Result<QuestionParts, ApiError> {
    let mut spellings = [vec!["yes", "Yes"], vec!["no", "No"]]
        .map(|texts| texts.into_iter().map(str::to_owned).collect::<Vec<_>>());
    if let Some(value) = fields.value("spellings") {
        let mut given = Fields::new(fields.name("spellings"), value)?;
        for (side, name) in ["true", "false"].into_iter().enumerate() {
            if let Some(texts) = texts(&mut given, name)? {
                spellings[side] = texts;
            }
        }
        given.finish()?;
    }
    let asks = format!("Answer {} or {}, and nothing else.", spellings[0][0], spellings[1][0]);
    let labels = ["true", "false"].into_iter().zip(spellings);
    let labels = labels.map(|(name, spellings)| Label { name: name.to_owned(), spellings });
    Ok((labels.collect(), QuestionKind::Predicate, asks, "spellings"))
}

/// `choices`: texts, true and false, or objects with `value`, `description` and `spellings`.
fn choice(fields: &mut Fields) -> Result<QuestionParts, ApiError> {
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    let mut asks = "Answer with one of these, and nothing else:".to_owned();
    for choice in options(fields, "choices", "value")? {
        let QuestionOption { value, label, description } = choice;
        asks.push_str(&line(&label, description.as_deref()));
        values.push(value);
        labels.push(label);
    }
    Ok((labels, QuestionKind::Choice(values), asks, "choices"))
}

/// `levels`, from the lowest up, which stand for 0, 1, …; or numbers: `minimum`, `maximum`, `step`.
fn score(fields: &mut Fields, max_labels: usize) -> Result<QuestionParts, ApiError> {
    let is_range = ["minimum", "maximum", "step"].iter().any(|name| fields.has(name));
    if is_range {
        if fields.has("levels") {
            let message = "stands beside a range; write `levels`, or `minimum` and `maximum`";
            return Err(ApiError::field(fields.name("levels"), message));
        }
        return range(fields, max_labels);
    }
    let mut labels = Vec::new();
    let mut asks =
        "Answer with one of these levels, from the lowest to the highest, and nothing else:"
            .to_owned();
    for QuestionOption { label, description, .. } in options(fields, "levels", "label")? {
        asks.push_str(&line(&label, description.as_deref()));
        labels.push(label);
    }
    let values = (0..labels.len()).map(|level| level as f64).collect();
    Ok((labels, QuestionKind::Score(values), asks, "levels"))
}

/// The numbers from `minimum` to `maximum`, `step` apart, written with as many digits as these have; at most one more
/// than there may be.
fn range(fields: &mut Fields, max_labels: usize) -> Result<QuestionParts, ApiError> {
    let mut number = |name: &str, default: Option<f64>| -> Result<(f64, usize), ApiError> {
        let place = fields.name(name);
        let read = fields.read(name, "a number of at most 9 decimals", |value| {
            let digits = match value.to_string() {
                text if text.contains(['e', 'E']) => return None,
                text => text.split_once('.').map_or(0, |(_, decimals)| decimals.len()),
            };
            Some((value.as_f64()?, digits)).filter(|_| digits <= 9)
        })?;
        let default = default.map(|default| (default, 0));
        read.or(default).ok_or_else(|| ApiError::field(place, "is missing; write a number"))
    };
    let (least, a) = number("minimum", None)?;
    let (most, b) = number("maximum", None)?;
    let (step, c) = number("step", Some(1.0))?;
    let digits = a.max(c);
    if step <= 0.0 || most < least {
        let message = "must be at least `minimum`, and `step` above 0";
        return Err(ApiError::field(fields.name("maximum"), message));
    }
    // Half a unit of the last digit that was written.
    let slack = 0.5 * 0.1_f64.powi(digits.max(b) as i32);
    let mut values = Vec::new();
    while values.len() <= max_labels {
        let value = least + values.len() as f64 * step;
        if value > most + slack {
            break;
        }
        values.push(value);
    }
    let text = |value: &f64| {
        let text = format!("{value:.digits$}");
        // A value that sums have left just below 0 is 0.
        let digits =
            text.strip_prefix('-').filter(|digits| !digits.contains(|c| matches!(c, '1'..='9')));
        digits.map_or_else(|| text.clone(), str::to_owned)
    };
    let labels: Vec<Label> = values.iter().map(|value| text(value).into()).collect();
    let asks = format!(
        "Answer with a number from {} to {}{}, and nothing else.",
        text(&least),
        values.last().map_or_else(String::new, text),
        if step == 1.0 { String::new() } else { format!(" in steps of {step}") }
    );
    // As they were written, so that 0.1 is 0.1.
    let values = labels.iter().map(|label| label.name.parse().unwrap_or_default()).collect();
    Ok((labels, QuestionKind::Score(values), asks, "maximum"))
}

/// One of the choices or levels of a question.
struct QuestionOption {
    value: Value,
    label: Label,
    description: Option<String>,
}

/// Choices or levels: texts, or objects whose text is in the field `key`.
fn options(fields: &mut Fields, list: &str, key: &str) -> Result<Vec<QuestionOption>, ApiError> {
    let place = fields.name(list);
    let items = match fields.value(list) {
        Some(Value::Array(items)) => items,
        Some(value) => return Err(wrong(&place, "a list", &value)),
        None => return Err(ApiError::field(place, "is missing; write a list of them")),
    };
    let mut options = Vec::with_capacity(items.len());
    for (i, item) in items.into_iter().enumerate() {
        let (place, is_value) = (format!("{place}[{i}]"), key == "value");
        let item = match item {
            Value::String(_) => json!({ key: item }),
            Value::Bool(_) if is_value => json!({ key: item }),
            Value::Object(_) => item,
            _ if is_value => {
                return Err(wrong(&place, "a string, true, false, or an object", &item));
            }
            _ => return Err(wrong(&place, "a string or an object", &item)),
        };
        let mut item = Fields::new(place, item)?;
        let (name, wanted) = (item.name(key), "a string, or true or false");
        let value = item.value(key);
        let label = match &value {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Bool(is_true)) if is_value => is_true.to_string(),
            Some(value) => return Err(wrong(&name, wanted, value)),
            None => return Err(ApiError::field(name, format!("is missing; write {wanted}"))),
        };
        let description = item.string("description")?;
        let spellings = texts(&mut item, "spellings")?.unwrap_or_else(|| vec![label.clone()]);
        item.finish()?;
        let label = Label { name: label, spellings };
        options.push(QuestionOption { value: value.unwrap_or_default(), label, description });
    }
    Ok(options)
}

/// A list of texts, at least one.
fn texts(fields: &mut Fields, name: &str) -> Result<Option<Vec<String>>, ApiError> {
    fields.read(name, "a list of at least one string", |value| {
        let list = value.as_array().filter(|list| !list.is_empty())?;
        list.iter().map(|text| text.as_str().map(str::to_owned)).collect()
    })
}

/// The line that offers a label.
fn line(label: &Label, description: Option<&str>) -> String {
    let text = label.spellings.first().map_or("", String::as_str);
    match description {
        None => format!("\n- {text}"),
        Some(description) => format!("\n- {text}: {description}"),
    }
}
