//! Fields of tools and reasoning: `tools`, `tool_choice`, `parallel_tool_calls`, `reasoning_*`.

use serde_json::{Map, Value, json};

use crate::Compiler;
use crate::engine::{
    Engine, MessageFormats, MessageStart, OpenedReasoning, Protocol, Request, UnaskedReasoning,
};
use crate::error::{Error, ErrorKind, listed, shortened};
use crate::tools::{InputFormat, Tool, ToolCalls, ToolChoice, ToolFormat};

use super::answer_format::{AnswerFormat, strictness};
use super::fields::{Fields, wrong};
use super::template;
use crate::server::api_error::{ApiError, with_cure};

/// Greatest number of tools of a request: a model chooses among a few, and each is compiled.
const MAX_TOOLS: usize = 2048;

/// The tools of a request.
pub(crate) struct RequestTools {
    /// All tools, of which the model is told.
    tools: Vec<Tool>,
    /// Names of the tools that may be called; `None` for all.
    allowed: Option<Vec<String>>,
    choice: ToolChoice,
    parallel: bool,
}

/// The reasoning before the answer that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReasoningRequest {
    /// The request does not say: the chat template decides.
    Unsaid,
    /// None.
    Declined,
    /// At most so many tokens; `None` for as many as the model wants.
    Wanted(Option<usize>),
}

/// Errors if the request asks for reasoning, and its variables of the chat template for none.
pub(crate) fn check_thinking(
    reasoning: ReasoningRequest,
    variables: &Map<String, Value>,
) -> Result<(), ApiError> {
    match (reasoning, template::forbids_to_think(variables)) {
        (ReasoningRequest::Wanted(_), Some(name)) => Err(ApiError::field(
            format!("chat_template_kwargs.{name}"),
            "is false, and `reasoning_effort` or `reasoning_budget` asks for reasoning; leave one out",
        )),
        _ => Ok(()),
    }
}

/// Reads `tools`, `tool_choice` and `parallel_tool_calls`; nothing where there are no tools.
pub(crate) fn read(fields: &mut Fields) -> Result<Option<RequestTools>, ApiError> {
    let tools = tools(fields)?;
    let (allowed, choice) = choice(fields, &tools)?;
    let parallel = fields.flag("parallel_tool_calls")?.unwrap_or(true);
    if tools.is_empty() {
        return Ok(None);
    }
    Ok(Some(RequestTools { tools, allowed, choice, parallel }))
}

/// Reads `reasoning_effort`, and `reasoning_budget` in tokens. With the effort in the words of templates that are
/// told of it (gpt-oss's).
pub(crate) fn reasoning(
    fields: &mut Fields,
) -> Result<(ReasoningRequest, Option<&'static str>), ApiError> {
    let wanted = "\"none\", \"minimal\", \"low\", \"medium\", \"high\" or \"xhigh\"";
    // Tokens; `None` for no reasoning at all.
    let effort = fields.read("reasoning_effort", wanted, |value| match value.as_str()? {
        "none" => Some(None),
        "minimal" => Some(Some((128, "low"))),
        "low" => Some(Some((512, "low"))),
        "medium" => Some(Some((2048, "medium"))),
        "high" => Some(Some((8192, "high"))),
        "xhigh" => Some(Some((32_768, "high"))),
        _ => None,
    })?;
    let word = effort.flatten().map(|(_, word)| word);
    let budget = fields.integer("reasoning_budget", 0)?;
    let request = match (effort, budget) {
        (Some(None), Some(_)) => {
            return Err(ApiError::field(
                "reasoning_budget",
                "is only for a `reasoning_effort` but \"none\"",
            ));
        }
        (_, Some(budget)) | (Some(Some((budget, _))), None) => {
            ReasoningRequest::Wanted(Some(budget))
        }
        (Some(None), None) => ReasoningRequest::Declined,
        (None, None) => ReasoningRequest::Unsaid,
    };
    Ok((request, word))
}

/// The parts of a message that a request asks for.
pub(crate) struct MessageRequest<'a> {
    pub(crate) tools: Option<RequestTools>,
    pub(crate) reasoning: ReasoningRequest,
    pub(crate) format: &'a AnswerFormat,
    /// The beginning of the message.
    pub(crate) prefill: String,
}

/// Sets up a request that has its prompt: tools, the message's beginning, reasoning, and the constraint of the
/// whole message. Gives the protocol by which the message is taken apart.
pub(crate) fn apply_tools(
    (engine, formats): (&Engine, &MessageFormats),
    compiler: &Compiler,
    MessageRequest { tools, reasoning, format, prefill }: MessageRequest<'_>,
    request: &mut Request,
) -> Result<Protocol, ApiError> {
    let mut protocol = Protocol::default().of_model(engine);
    if let Some(tools) = tools {
        let wire = formats.tool_format(engine).map_err(|error| ApiError::from_engine(&error))?;
        let calls = tools.calls(wire, compiler, format)?;
        protocol = protocol.with_calls(calls, request);
    }
    let reasoning_is_asked = matches!(reasoning, ReasoningRequest::Wanted(_));
    let declines = matches!(reasoning, ReasoningRequest::Declined)
        || template::forbids_to_think(&request.template_variables).is_some();
    let opened = if declines { OpenedReasoning::Close } else { OpenedReasoning::Keep };
    let is_begun = !prefill.is_empty();
    let start = formats.begin(engine, request, prefill, opened);
    let start = start.map_err(|error| ApiError::from_engine(&error))?;
    let reasoning = match (reasoning, start) {
        (ReasoningRequest::Wanted(_), MessageStart::Message) if is_begun => {
            return Err(beside_begun("reasoning, which comes first"));
        }
        (ReasoningRequest::Declined, MessageStart::Reasoning) => {
            return Err(beside_begun(
                "`reasoning_effort` \"none\", since it begins with reasoning",
            ));
        }
        (ReasoningRequest::Wanted(budget), _) => Some(budget),
        (_, MessageStart::Reasoning) => Some(None),
        (_, MessageStart::Message) => None,
    };
    // Free text needs no constraint, even if it may begin with reasoning that the request did not ask for.
    let is_free = protocol.calls().is_none() && format.is_text() && !reasoning_is_asked;
    if let Some(budget) = reasoning {
        let wire = formats.reasoning.clone();
        let result = protocol.with_reasoning(engine, request, wire, budget);
        protocol = result.map_err(|error| ApiError::from_engine(&error))?;
    } else if !is_begun {
        let unasked = UnaskedReasoning { is_constrained: !format.is_text(), declines };
        let result = protocol.with_unasked_reasoning(engine, request, formats, unasked);
        protocol = result.map_err(|error| ApiError::from_engine(&error))?;
    }
    if is_free {
        return Ok(protocol);
    }
    let compiler = protocol.compiler(compiler).map_err(|error| ApiError::from_engine(&error))?;
    let compile = || match protocol.calls() {
        Some(calls) => calls.compile(&compiler),
        None => format.compiled(&compiler).unwrap_or_else(|| compiler.regex("(?s:.*)")),
    };
    // The prompt decides where the reasoning starts.
    let beside = format!("{:?}", protocol.reasoning_start());
    let constraint =
        format.looked_up(&beside, compile).map_err(|error| match protocol.calls() {
            Some(_) => match format.compiled(&compiler) {
                // It is not the tools then.
                Some(Err(error)) => format.error(error),
                _ => format.error_at("tools", &error),
            },
            None if format.is_text() => ApiError::from_engine(&error),
            None => format.error(error),
        })?;
    request.constraint = Some(constraint);
    Ok(protocol)
}

/// The field that says that the last message is the beginning of the answer.
pub(crate) const CONTINUE: &str = "continue_final_message";

/// The error for a beginning of the answer that stands beside a part of the message which comes before its
/// text or in it.
pub(crate) fn beside_begun(part: &str) -> ApiError {
    ApiError::field(
        CONTINUE,
        format!("asks for an answer that is begun, which does not go with {part}; leave one out"),
    )
}

impl RequestTools {
    fn calls(
        self,
        wire: ToolFormat,
        compiler: &Compiler,
        format: &AnswerFormat,
    ) -> Result<ToolCalls, ApiError> {
        let calls = ToolCalls::new(self.tools, wire)
            .with_choice(self.choice)
            .with_parallel_calls(self.parallel)
            .with_json_options(compiler.json_options());
        let calls = match self.allowed {
            Some(names) => calls.with_allowed(names),
            None => calls,
        };
        format.add_to_calls(calls, compiler)
    }
}

/// The tools of a request, in the field `tools`.
pub(crate) fn tools(fields: &mut Fields) -> Result<Vec<Tool>, ApiError> {
    let list = match fields.value("tools") {
        None => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(value) => return Err(wrong("tools", "a list of tools", &value)),
    };
    if list.len() > MAX_TOOLS {
        let message = format!("has {} tools; write at most {MAX_TOOLS}", list.len());
        return Err(ApiError::field("tools", message));
    }
    let mut tools: Vec<Tool> = Vec::with_capacity(list.len());
    for (i, tool) in list.into_iter().enumerate() {
        let CalledTool { name, kind, fields: mut function } = named(format!("tools[{i}]"), tool)?;
        let place = function.name("name");
        let description = function.string("description")?;
        let named = |error: Error| ApiError::field(&place, error);
        let mut tool = match kind {
            ToolKind::Custom => Tool::custom(name, input_format(&mut function)?).map_err(named)?,
            ToolKind::Function => arguments(name, &mut function)?.map_err(named)?,
        };
        function.finish()?;
        if let Some(description) = description {
            tool = tool.with_description(description);
        }
        if tools.iter().any(|known| known.name() == tool.name()) {
            return Err(ApiError::field(place, "is the name of another tool, too"));
        }
        tools.push(tool);
    }
    Ok(tools)
}

/// The tool that the rest of a function's fields describes.
fn arguments(name: String, function: &mut Fields) -> Result<crate::Result<Tool>, ApiError> {
    let parameters = function.read("parameters", "a JSON Schema", |value| {
        (value.is_object() || value.is_boolean()).then(|| value.clone())
    })?;
    if let Some(kind) = parameters.as_ref().and_then(|schema| schema.get("type")?.as_str())
        && kind != "object"
    {
        let says = format!("must describe an object, as in OpenAI's API: its `type` is {kind:?}");
        return Err(ApiError::field(function.name("parameters"), says));
    }
    let strictness = strictness(function)?;
    let nothing = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    Ok(Tool::new(name, parameters.unwrap_or(nothing)).map(|tool| match strictness {
        Some(strictness) => tool.with_strictness(strictness),
        None => tool,
    }))
}

/// `format` of a custom tool.
fn input_format(custom: &mut Fields) -> Result<InputFormat, ApiError> {
    let place = custom.name("format");
    match custom.value("format") {
        None => Ok(InputFormat::Text),
        Some(value) => {
            InputFormat::read(&value).map_err(|error| ApiError::field(place, with_cure(&error)))
        }
    }
}

/// The kinds of tools.
#[derive(Clone, Copy)]
enum ToolKind {
    /// It takes arguments by a schema.
    Function,
    /// It takes a text.
    Custom,
}

/// A tool by its name, with the other fields that stand beside the name.
struct CalledTool {
    name: String,
    kind: ToolKind,
    fields: Fields,
}

/// Reads `{"type": "function", "function": {"name": …, …}}`, or the same of `custom`.
fn named(path: String, value: Value) -> Result<CalledTool, ApiError> {
    let mut fields = Fields::new(path, value)?;
    let given = fields.value("type").unwrap_or_default();
    let (kind, key) = match given.as_str() {
        Some("function") => (ToolKind::Function, "function"),
        Some("custom") => (ToolKind::Custom, "custom"),
        _ => return Err(wrong(&fields.name("type"), "\"function\" or \"custom\"", &given)),
    };
    let place = fields.name(key);
    let Some(inner) = fields.value(key) else {
        return Err(ApiError::field(place, "is missing; write an object with `name`"));
    };
    // A hint to a cache, which works by itself here.
    fields.ignore("cache_control");
    fields.finish()?;
    let mut fields = Fields::new(place, inner)?;
    let place = fields.name("name");
    match fields.string("name")? {
        Some(name) => Ok(CalledTool { name, kind, fields }),
        None => Err(ApiError::field(place, "is missing; write the tool's name")),
    }
}

/// The names of `allowed_tools`, if sent, and the choice.
fn choice(
    fields: &mut Fields,
    tools: &[Tool],
) -> Result<(Option<Vec<String>>, ToolChoice), ApiError> {
    let wanted = "\"none\", \"auto\", \"required\" or an object of the type \"function\", \"custom\" \
                  or \"allowed_tools\"";
    let known = |place: &str, name: String| {
        if tools.iter().any(|tool| tool.name() == name) {
            Ok(name)
        } else if tools.is_empty() {
            Err(ApiError::field(place, "asks for a call, and there are no `tools`"))
        } else {
            let (name, names) = (shortened(&name), listed(tools.iter().map(Tool::name)));
            let message = format!("there is no tool `{name}`; there are {names}");
            Err(ApiError::field(place, message))
        }
    };
    let choice = match fields.value("tool_choice") {
        None => ToolChoice::Auto,
        Some(Value::String(choice)) if choice == "none" => ToolChoice::None,
        Some(Value::String(choice)) if choice == "auto" => ToolChoice::Auto,
        // Mistral's word is `any`.
        Some(Value::String(choice)) if choice == "required" || choice == "any" => {
            ToolChoice::Required
        }
        Some(value) if value["type"] == "function" || value["type"] == "custom" => {
            let CalledTool { name, fields, .. } = named("tool_choice".to_owned(), value)?;
            let place = fields.name("name");
            fields.finish()?;
            ToolChoice::Named(known(&place, name)?)
        }
        Some(value) if value["type"] == "allowed_tools" => {
            let mut choice = Fields::new("tool_choice", value)?;
            choice.ignore("type");
            let place = choice.name("allowed_tools");
            let allowed = choice.value("allowed_tools").unwrap_or_default();
            choice.finish()?;
            let mut allowed = Fields::new(place, allowed)?;
            let required = allowed.read("mode", "\"auto\" or \"required\"", |mode| {
                match mode.as_str()? {
                    "auto" => Some(false),
                    "required" => Some(true),
                    _ => None,
                }
            })?;
            let place = allowed.name("tools");
            let Some(Value::Array(list)) = allowed.value("tools") else {
                return Err(ApiError::field(place, "is missing; write a list of tools"));
            };
            allowed.finish()?;
            let mut names = Vec::with_capacity(list.len());
            for (i, tool) in list.into_iter().enumerate() {
                let CalledTool { name, fields, .. } = named(format!("{place}[{i}]"), tool)?;
                names.push(known(&fields.name("name"), name)?);
            }
            let choice =
                if required == Some(true) { ToolChoice::Required } else { ToolChoice::Auto };
            return Ok((Some(names), choice));
        }
        Some(value) => return Err(wrong("tool_choice", wanted, &value)),
    };
    if tools.is_empty() && choice == ToolChoice::Required {
        let error = Error::new(ErrorKind::Request, "asks for a call, and there are no `tools`");
        return Err(ApiError::field("tool_choice", error));
    }
    Ok((None, choice))
}
