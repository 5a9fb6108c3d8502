//! Chat templates: from the messages of a conversation to a prompt.
//!
//! Templates are written for Jinja2 inside Hugging Face's `apply_chat_template`; here MiniJinja
//! runs them with the same additions (`raise_exception`, `strftime_now`, `tojson` as Python writes
//! JSON, `{% generation %}`, trimmed blocks); values print as in Python. Where
//! Jinja2 itself fails on a template (a loop over `none`, an unknown name), MiniJinja renders
//! nothing.
//!
//! Steps and output of a template are bounded, for a template is a program that comes with a model.

mod python_json;
mod python_methods;
mod python_text;
mod strftime;
mod told_tools;
mod turns;

use std::cell::Cell;
use std::io;
use std::time::SystemTime;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value, ValueKind};
use minijinja::{Environment, ErrorKind as JinjaErrorKind, Output, State, context, filters};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::checkpoint::ModelFiles;
use crate::error::{Error, ErrorKind, Result};
use crate::strict_json;

pub(crate) use strftime::strftime;

const CONFIG: &str = "tokenizer_config.json";
/// Special tokens by name, where `tokenizer_config.json` does not have them.
const SPECIAL_TOKENS_MAP: &str = "special_tokens_map.json";
/// The field of `tokenizer_config.json` with one template, or a list of named ones.
const FIELD: &str = "chat_template";
/// The template for any conversation, in Hugging Face's words.
const DEFAULT: &str = "default";
/// The one for conversations with tools, where there is one.
const TOOL_USE: &str = "tool_use";

/// The role of a message with what a tool gave.
const TOOL: &str = "tool";

/// The field of a message with the calls of tools.
const TOOL_CALLS: &str = "tool_calls";

/// The variable with the tools.
const TOOLS: &str = "tools";

/// The variable with a JSON Schema of the answer.
const JSON_SCHEMA: &str = "json_schema";

/// The variable with what the model is to answer from.
const DOCUMENTS: &str = "documents";

/// The folder with named templates beside `chat_template.jinja`.
const ADDITIONAL: &str = "additional_chat_templates";

/// Greatest number of instructions of a template, without those for messages and tools. Templates
/// of public models take some hundred for a message.
const MAX_STEPS: u64 = 5_000_000;
/// Instructions that each message and each tool adds to [`MAX_STEPS`].
const STEPS_PER_PART: u64 = 20_000;
/// Greatest number of bytes that a template writes, without those for the conversation.
const MAX_BYTES: usize = 16 << 20;
/// Bytes that each byte of the conversation adds to [`MAX_BYTES`].
const BYTES_PER_CONVERSATION_BYTE: usize = 8;

type JinjaResult<T> = std::result::Result<T, minijinja::Error>;

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The speaker: `system`, `user`, `assistant`, `tool`.
    pub role: String,
    /// The text.
    #[serde(default)]
    pub content: String,
    /// Other fields for the template, such as `tool_calls`, `tool_call_id` and `name`.
    #[serde(flatten)]
    pub more: Map<String, Json>,
}

impl Message {
    /// A message of a role, such as `user`.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Self { role: role.into(), content: content.into(), more: Map::new() }
    }
}

/// A model's chat template, parsed.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    /// The text of all templates, in which tags of a family of models can be looked for.
    text: String,
    /// Variables with special tokens: `bos_token`, `eos_token` and others.
    tokens: Vec<(String, String)>,
    /// Whether one of the templates tells of tools.
    reads_tools: bool,
}

impl ChatTemplate {
    /// A template from its text; `tokens` are the variables that it may use for special tokens,
    /// such as `("bos_token", "<s>")`.
    ///
    /// ```
    /// use maskwright::model::{ChatTemplate, Message};
    /// let text = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{{ eos_token }}{% endfor %}\
    ///             {% if add_generation_prompt %}<|assistant|>{% endif %}";
    /// let template = ChatTemplate::new(text, &[("eos_token", "</s>")])?;
    /// let prompt = template.render(&[Message::new("user", "Hi!")], true, None)?;
    /// assert_eq!(prompt, "<|user|>Hi!</s><|assistant|>");
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn new(text: &str, tokens: &[(&str, &str)]) -> Result<Self> {
        Self::named(&[(DEFAULT, text)], tokens.iter().copied())
    }

    fn named<'a>(
        templates: &[(&'static str, &str)],
        tokens: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| broken(&error))?);
        environment.set_unknown_method_callback(python_methods::call);
        environment.set_formatter(print_like_python);
        environment.add_filter("tojson", python_json::tojson);
        environment.add_filter("string", |value: &Value| python_text::text(value));
        add_filters_of_undefined(&mut environment);
        environment.add_function("raise_exception", |message: String| {
            Err::<Value, _>(minijinja::Error::new(JinjaErrorKind::InvalidOperation, message))
        });
        // As in Jinja2: whatever has a length and items.
        environment.add_test("sequence", |value: Value| {
            matches!(value.kind(), ValueKind::Seq | ValueKind::String | ValueKind::Map)
        });
        // For Jinja2, nothing (`tools=None`) cannot be iterated over.
        environment
            .add_test("iterable", |value: &Value| !value.is_none() && value.try_iter().is_ok());
        for (name, text) in templates {
            // Jinja2 reads all line ends as `\n`.
            let text = text.replace("\r\n", "\n").replace('\r', "\n");
            environment
                .add_template_owned(*name, without_generation_tags(&text))
                .map_err(|error| broken(&error))?;
        }
        let tokens = tokens.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        let text = templates.iter().map(|(_, text)| *text).collect::<Vec<_>>().join("\n");
        let reads_tools = environment
            .templates()
            .any(|(_, template)| template.undeclared_variables(false).contains(TOOLS));
        Ok(Self { environment, text, tokens, reads_tools })
    }

    /// The template of a model folder: `chat_template.jinja`, with named ones in
    /// `additional_chat_templates`, else `chat_template` in `chat_template.json`, where processors of several
    /// media keep it, or in `tokenizer_config.json`; `None` if it has none of them. Special tokens that
    /// `tokenizer_config.json` does not name are those of
    /// `special_tokens_map.json`.
    pub(super) fn read(files: &ModelFiles) -> Result<Option<Self>> {
        const JINJA: &str = "chat_template.jinja";
        const PROCESSOR: &str = "chat_template.json";
        let config = files.json(CONFIG)?.unwrap_or_default();
        let map = files.json(SPECIAL_TOKENS_MAP)?.unwrap_or_default();
        let processor = files.json(PROCESSOR)?.unwrap_or_default();
        let text = |name: &str| -> Result<Option<String>> {
            let bytes = files.read(name)?;
            Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        };
        let own = text(JINJA)?;
        let tool_use_file = format!("{ADDITIONAL}/{TOOL_USE}.jinja");
        let own_tool_use = text(&tool_use_file)?;
        let mut found: Vec<(&'static str, &str, &str)> = match &own {
            Some(text) => vec![(DEFAULT, text, JINJA)],
            None => {
                let of_processor =
                    templates(&processor).into_iter().map(|(n, text)| (n, text, PROCESSOR));
                let of_tokenizer =
                    templates(&config).into_iter().map(|(n, text)| (n, text, CONFIG));
                let own: Vec<_> = of_processor.collect();
                if own.is_empty() { of_tokenizer.collect() } else { own }
            }
        };
        if let Some(text) = &own_tool_use {
            found.retain(|(name, ..)| *name != TOOL_USE);
            found.push((TOOL_USE, text, &tool_use_file));
        }
        if found.is_empty() {
            return Ok(None);
        }
        // A folder with the template for tools alone uses it for every conversation.
        if !found.iter().any(|(name, ..)| *name == DEFAULT) {
            found.extend(found.first().map(|&(_, text, file)| (DEFAULT, text, file)));
        }
        let tokens: Vec<(&str, &str)> =
            special_tokens(&map).chain(special_tokens(&config)).collect();
        for &(name, text, file) in &found {
            Self::named(&[(name, text)], std::iter::empty())
                .map_err(|error| error.in_file(files.path(file)))?;
        }
        let templates: Vec<_> = found.iter().map(|&(name, text, _)| (name, text)).collect();
        Self::named(&templates, tokens.into_iter()).map(Some)
    }

    /// The text of the template, in which tags of a family of models can be looked for.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Adds a JSON Schema of the answer to the variables for the template, as `json_schema`, where the template has that
    /// name and the variables do not. That of the embedded model tells it; templates of most models do not.
    ///
    /// ```
    /// use maskwright::model::{ChatTemplate, Message};
    /// use serde_json::{Map, json};
    ///
    /// let text = "{{ messages[0].content }} Answer with {{ json_schema.required | join(' and ') }}.";
    /// let template = ChatTemplate::new(text, &[])?;
    /// let mut variables = Map::new();
    /// template.tell_schema(&json!({"required": ["name", "age"]}), &mut variables);
    /// let messages = [Message::new("user", "Who is Grace?")];
    /// let prompt = template.render_with(&messages, true, None, &variables)?;
    /// assert_eq!(prompt, "Who is Grace? Answer with name and age.");
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn tell_schema(&self, schema: &Json, variables: &mut Map<String, Json>) {
        if self.text.contains(JSON_SCHEMA) {
            variables.entry(JSON_SCHEMA).or_insert_with(|| schema.clone());
        }
    }

    /// Whether one of the templates tells of tools; if not, they are told in the text of a message.
    pub(crate) fn reads_tools(&self) -> bool {
        self.reads_tools
    }

    /// The text of the template for conversations without tools.
    #[cfg(feature = "server")]
    pub(crate) fn default_text(&self) -> String {
        let template = self.environment.get_template(DEFAULT);
        template.map_or_else(|_| self.text.clone(), |template| template.source().to_owned())
    }

    /// The prompt for a conversation, ending where the assistant is to speak if
    /// `add_generation_prompt`. `tools` is a list of OpenAI's tool objects; a template that reads none is
    /// told of them in the text of the system message, or of the first one of the user's.
    ///
    /// Arguments of tool calls that are JSON in a string, as OpenAI's API has them, are handed over
    /// as the object that templates expect; a template that reads no calls has them in the text, as plain JSON.
    /// A conversation that the template refuses is tried with turns of one speaker joined and short ids of calls, then
    /// with the system's first message at the head of the user's, too.
    /// Errors with the template's words if it refuses that, too.
    pub fn render(
        &self,
        messages: &[Message],
        add_generation_prompt: bool,
        tools: Option<&Json>,
    ) -> Result<String> {
        self.render_at(SystemTime::now(), messages, add_generation_prompt, tools)
    }

    /// [`render`](Self::render) with another time for templates that write the date (in UTC).
    pub fn render_at(
        &self,
        now: SystemTime,
        messages: &[Message],
        add_generation_prompt: bool,
        tools: Option<&Json>,
    ) -> Result<String> {
        self.render_by(now, messages, add_generation_prompt, tools, &Map::new())
    }

    /// [`render`](Self::render) with more variables for the template, such as `enable_thinking`; a
    /// template does not see those that it does not name. They change none of its usual variables but
    /// `documents`, a list of objects that the model is to answer from, which errors where the template
    /// reads none.
    pub fn render_with(
        &self,
        messages: &[Message],
        add_generation_prompt: bool,
        tools: Option<&Json>,
        variables: &Map<String, Json>,
    ) -> Result<String> {
        self.render_by(SystemTime::now(), messages, add_generation_prompt, tools, variables)
    }

    fn render_by(
        &self,
        now: SystemTime,
        messages: &[Message],
        add_generation_prompt: bool,
        tools: Option<&Json>,
        variables: &Map<String, Json>,
    ) -> Result<String> {
        let list = tools.and_then(Json::as_array).filter(|list| !list.is_empty());
        if let Some(list) = list
            && !self.reads_tools
        {
            let messages = told_tools::with_tools_in_text(messages, list);
            return self.render_by(now, &messages, add_generation_prompt, None, variables);
        }
        let has_calls = |message: &Message| message.more.contains_key(TOOL_CALLS);
        if !self.text.contains(TOOL_CALLS) && messages.iter().any(has_calls) {
            let messages: Vec<_> = messages.iter().map(told_tools::with_calls_in_text).collect();
            return self.render_by(now, &messages, add_generation_prompt, tools, variables);
        }
        let documents = variables.get(DOCUMENTS);
        if documents.is_some() && !self.text.contains(DOCUMENTS) {
            let message = "the chat template reads no documents";
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("write them into a message")
                .at_field(DOCUMENTS));
        }
        // Where a template fails, other forms are tried: an empty description for tools that have none, arguments of
        // calls as JSON text (OpenAI's form), empty content instead of `none` for calls without text, turns of one
        // speaker joined, and the system's message as the user's.
        let parsed = with_parsed_arguments(messages)?;
        let texts = Some(with_argument_texts(messages)).filter(|texts| *texts != parsed);
        let sent = || [Some(&parsed), texts.as_ref()].into_iter().flatten();
        let mut in_turn: Vec<_> = sent().map(|messages| turns::in_turn(messages)).collect();
        let without_system = in_turn.iter().filter_map(|turns| turns::with_system_as_user(turns));
        let without_system: Vec<_> = without_system.collect();
        in_turn.retain(|turns| sent().all(|messages| messages != turns));
        in_turn.extend(without_system);
        let described = tools.and_then(with_descriptions);
        let mut failed = None;
        let asks = self.asks_for_content();
        let nulls = [Some(asks), asks.then_some(false)].into_iter().flatten();
        let all = sent().chain(&in_turn);
        let tools = [Some(tools), described.as_ref().map(Some)].into_iter().flatten();
        let messages_of = nulls.flat_map(|has_null| all.clone().map(move |all| (has_null, all)));
        for (has_null, messages) in messages_of {
            for tools in tools.clone() {
                let render = |messages: &[Message]| {
                    let messages = template_messages(messages, has_null);
                    self.render_messages(now, &messages, add_generation_prompt, tools, variables)
                };
                match render(messages) {
                    Ok(rendered) => {
                        self.check_read(&rendered, messages, render)?;
                        return Ok(rendered);
                    }
                    Err(error) if error.kind() == ErrorKind::Request => {
                        failed.get_or_insert(error);
                    }
                    error => return error,
                }
            }
        }
        // There was one attempt at least, which has returned or failed.
        Err(failed.unwrap_or_else(|| endless("the chat template was not read")))
    }

    /// Errors if the template passes over the answers of tools: the model would go on without what a tool gave it.
    fn check_read(
        &self,
        rendered: &str,
        messages: &[Message],
        render: impl Fn(&[Message]) -> Result<String>,
    ) -> Result<()> {
        let is_answer = |message: &Message| message.role == TOOL && !message.content.is_empty();
        // The last answer is tried for all of them: the prompt must change without it.
        let Some(index) = messages.iter().rposition(is_answer) else { return Ok(()) };
        let mut others = messages.to_vec();
        others.remove(index);
        if self.text.contains(TOOL) || render(&others).is_ok_and(|other| other != rendered) {
            return Ok(());
        }
        let message =
            format!("the chat template passes over message {index}, of the role `{TOOL}`");
        Err(Error::new(ErrorKind::Request, message)
            .with_help("write what the tool gave into a message of the user"))
    }

    fn render_messages(
        &self,
        now: SystemTime,
        messages: &[Json],
        add_generation_prompt: bool,
        tools: Option<&Json>,
        variables: &Map<String, Json>,
    ) -> Result<String> {
        let documents = variables.get(DOCUMENTS);
        let strftime_now = Value::from_function(move |format: String| strftime(&format, now));
        let tokens = self.tokens.iter().map(|(k, v)| (k.as_str(), Value::from(v.as_str())));
        // The template's own come last, and win.
        let more = variables.iter().map(|(name, value)| (name.as_str(), Value::from(Serde(value))));
        let variables = Value::from_pairs(more.chain(tokens));
        let context = context! {
            messages => Value::from(Serde(&messages)),
            tools => Value::from(Serde(tools)),
            documents => Value::from(Serde(documents)),
            add_generation_prompt,
            strftime_now,
            ..variables
        };
        let parts = messages.len() + tools.and_then(Json::as_array).map_or(0, Vec::len);
        let steps = MAX_STEPS.saturating_add(STEPS_PER_PART.saturating_mul(parts as u64));
        let mut environment = self.environment.clone();
        environment.set_fuel(Some(steps));
        let special = tools.and_then(|_| environment.get_template(TOOL_USE).ok());
        let template = match special {
            Some(template) => template,
            None => environment.get_template(DEFAULT).map_err(|error| broken(&error))?,
        };
        let size = serde_json::to_vec(&(&messages, tools, documents)).map_or(0, |json| json.len());
        let most = MAX_BYTES.saturating_add(size.saturating_mul(BYTES_PER_CONVERSATION_BYTE));
        let (mut out, is_full) = (Vec::new(), Cell::new(false));
        let bounded = BoundedWriter { out: &mut out, most, is_full: &is_full };
        let rendered = template.render_captured_to(context, bounded).map(drop);
        rendered.map_err(|error| {
            if is_full.get() {
                let message = format!("the chat template writes more than {most} bytes");
                return endless(&message);
            }
            if error.kind() == JinjaErrorKind::OutOfFuel {
                let message = format!("the chat template takes more than {steps} steps");
                return endless(&message);
            }
            if matches!(
                error.kind(),
                JinjaErrorKind::UnknownMethod
                    | JinjaErrorKind::UnknownFilter
                    | JinjaErrorKind::UnknownFunction
                    | JinjaErrorKind::UnknownTest
            ) {
                let message = format!("the chat template does not run here: {}", line(&error));
                return Error::new(ErrorKind::Request, message)
                    .with_help("write the template without it, though Jinja2 may know it");
            }
            Error::new(ErrorKind::Request, format!("the chat template refuses: {}", line(&error)))
                .with_help(
                    "send messages in the roles and the order that the model's template takes",
                )
        })?;
        // Templates and values are strings.
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// Whether the template asks if content is `none`, as DeepSeek-R1's does before calls.
    fn asks_for_content(&self) -> bool {
        const NAMES: [&str; 3] = ["content", "content']", "content\"]"];
        NAMES
            .iter()
            .flat_map(|name| self.text.split(name).skip(1))
            .any(|after| after.starts_with(" is none") || after.starts_with(" is not none"))
    }
}

/// The messages as a template sees them; with `has_null` the content of calls without text is `none`.
fn template_messages(messages: &[Message], has_null: bool) -> Vec<Json> {
    let message = |message: &Message| {
        let mut json = serde_json::to_value(message).unwrap_or_default();
        if has_null && message.content.is_empty() && message.more.contains_key(TOOL_CALLS) {
            json["content"] = Json::Null;
        }
        json
    };
    messages.iter().map(message).collect()
}

/// The error for a template that exceeds a limit.
fn endless(message: &str) -> Error {
    Error::new(ErrorKind::Limit, message)
        .with_help("shorten the conversation, or mend the template: a loop in it may never end")
}

/// A writer that fails beyond a number of bytes.
struct BoundedWriter<'a> {
    out: &'a mut Vec<u8>,
    most: usize,
    /// Whether more was to be written.
    is_full: &'a Cell<bool>,
}

impl io::Write for BoundedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.out.len() + bytes.len() > self.most {
            self.is_full.set(true);
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.out.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The error for a template that does not parse.
fn broken(error: &minijinja::Error) -> Error {
    Error::new(ErrorKind::Model, format!("the chat template does not parse: {}", line(error)))
        .with_help("mend the template, or give a prompt without one")
}

/// MiniJinja's error on one line: the detail, else the kind, and the template's line.
fn line(error: &minijinja::Error) -> String {
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    let place = error.line().map(|n| format!(" (line {n} of the template)"));
    detail.replace('\n', " ") + &place.unwrap_or_default()
}

/// The templates in `tokenizer_config.json`: one, or several by name, of which the first is the
/// default if none is called so.
fn templates(config: &Json) -> Vec<(&'static str, &str)> {
    match &config[FIELD] {
        Json::String(text) => vec![(DEFAULT, text)],
        Json::Array(list) => {
            let named = |name: &str| list.iter().find(|entry| entry["name"] == name);
            let default =
                named(DEFAULT).or(list.first()).and_then(|entry| entry["template"].as_str());
            let tool_use = named(TOOL_USE).and_then(|entry| entry["template"].as_str());
            let default = default.map(|text| (DEFAULT, text));
            default.into_iter().chain(tool_use.map(|text| (TOOL_USE, text))).collect()
        }
        _ => Vec::new(),
    }
}

/// Every `…_token` of `tokenizer_config.json`, written as a string or as an added token.
fn special_tokens(config: &Json) -> impl Iterator<Item = (&str, &str)> {
    let entries = config.as_object().into_iter().flatten();
    entries.filter(|(key, _)| key.ends_with("_token")).filter_map(|(key, value)| {
        Some((key.as_str(), value.as_str().or(value["content"].as_str())?))
    })
}

/// `{% generation %}` marks what to train on, and means nothing here: it becomes `{% if true %}`,
/// so that its whitespace control stays.
fn without_generation_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{%") {
        let Some(len) = rest[start..].find("%}") else { break };
        let tag = &rest[start..start + len];
        let name = tag[2..].trim_start_matches(['-', '+']).trim_end_matches(['-', '+']).trim();
        let replacement = match name {
            "generation" => tag.replace("generation", "if true"),
            "endgeneration" => tag.replace("endgeneration", "endif"),
            _ => tag.to_owned(),
        };
        out += &rest[..start];
        out += &replacement;
        rest = &rest[start + len..];
    }
    out + rest
}

/// The messages with the arguments of their calls as objects, which OpenAI's clients send as the text of JSON.
///
/// Errors if an object has a number that would be rounded. Text that is no object stays text.
pub(super) fn with_parsed_arguments(messages: &[Message]) -> Result<Vec<Message>> {
    let mut failed = Ok(());
    let parsed = with_arguments(messages, |arguments| {
        let text = arguments.as_str().filter(|text| text.trim_start().starts_with('{'))?;
        serde_json::from_str::<IgnoredAny>(text).ok()?;
        match strict_json::parse(text) {
            Ok(object) => Some(object),
            // A key that is written twice, as models may do.
            Err(error) if error.place().pointer.is_some() => serde_json::from_str(text).ok(),
            Err(error) => {
                failed = Err(error);
                None
            }
        }
    });
    failed.map(|()| parsed)
}

/// The messages with the arguments of their calls as the text of JSON.
fn with_argument_texts(messages: &[Message]) -> Vec<Message> {
    with_arguments(messages, |arguments| {
        arguments.is_object().then(|| arguments.to_string().into())
    })
}

/// The tools with an empty description where a function has none; `None` if all have one.
fn with_descriptions(tools: &Json) -> Option<Json> {
    let mut tools = tools.clone();
    let mut is_changed = false;
    for tool in tools.as_array_mut()? {
        let function = match tool.get("function") {
            Some(_) => tool.get_mut("function"),
            None => Some(tool),
        };
        if let Some(function) = function.and_then(Json::as_object_mut)
            && function.get("description").is_none_or(Json::is_null)
        {
            function.insert("description".to_owned(), Json::from(""));
            is_changed = true;
        }
    }
    is_changed.then_some(tools)
}

/// The messages with other arguments of their calls, where `other` has some.
fn with_arguments(
    messages: &[Message],
    mut other: impl FnMut(&Json) -> Option<Json>,
) -> Vec<Message> {
    let mut messages = messages.to_vec();
    for message in &mut messages {
        let calls = message.more.get_mut(TOOL_CALLS).and_then(Json::as_array_mut);
        for call in calls.into_iter().flatten() {
            if let Some(arguments) = call.pointer_mut("/function/arguments")
                && let Some(other) = other(arguments)
            {
                *arguments = other;
            }
        }
    }
    messages
}

/// Filters that take an undefined value for one without items, as in Jinja2: templates ask so for the properties of a
/// tool that names none.
fn add_filters_of_undefined(environment: &mut Environment<'_>) {
    let nothing = || Value::from_iter(std::iter::empty::<Value>());
    let items = move |value: &Value| {
        if value.is_undefined() { Ok(nothing()) } else { filters::items(value) }
    };
    let length = |value: &Value| if value.is_undefined() { Ok(0) } else { filters::length(value) };
    let first = |value: &Value| {
        if value.is_undefined() { Ok(Value::UNDEFINED) } else { filters::first(value) }
    };
    let last = |value: Value| {
        if value.is_undefined() { Ok(Value::UNDEFINED) } else { filters::last(value) }
    };
    environment.add_filter("items", items);
    environment.add_filter("length", length);
    environment.add_filter("count", length);
    environment.add_filter("first", first);
    environment.add_filter("last", last);
}

/// Prints values as Python does.
fn print_like_python(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
) -> JinjaResult<()> {
    if !python_text::differs(value) {
        return minijinja::escape_formatter(out, state, value);
    }
    out.write_str(&python_text::text(value)?).map_err(minijinja::Error::from)
}
