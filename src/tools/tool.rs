//! A tool and what its arguments must be.

use serde_json::{Value, json};

use super::custom_input::InputFormat;
use crate::error::{Error, ErrorKind, Result, shortened};
use crate::json_schema::Strictness;

/// A function that a model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    name: String,
    description: Option<String>,
    parameters: Value,
    strictness: Option<Strictness>,
    /// The format of its input, if it takes a text instead of arguments.
    input: Option<InputFormat>,
}

/// The members of a tool that may hold the schema of its arguments: OpenAI's, Anthropic's, MCP's.
const SCHEMA_MEMBERS: [&str; 3] = ["parameters", "input_schema", "inputSchema"];

/// The members of a function, a custom tool, or a tool of Anthropic or MCP.
const MEMBERS: &[&str] =
    &["name", "description", "parameters", "input_schema", "inputSchema", "strict", "format"];

/// Members of tools that say nothing of calls.
const UNREAD_MEMBERS: &[&str] = &[
    "type",
    "title",
    "annotations",
    "outputSchema",
    "output_schema",
    "icons",
    "_meta",
    "execution",
    "cache_control",
    "defer_loading",
    "allowed_callers",
    "input_examples",
    "eager_input_streaming",
];

/// Longest name, in bytes: Anthropic's API takes so many, OpenAI's half of them.
const MAX_NAME_LEN: usize = 128;

impl Tool {
    /// A tool by its name and the JSON Schema of its arguments.
    ///
    /// Errors if the name is not made of one to 128 letters, digits, `_`, `-` and `.`.
    pub fn new(name: impl Into<String>, parameters: Value) -> Result<Self> {
        let name = name.into();
        let good = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if name.is_empty() || name.len() > MAX_NAME_LEN || !name.chars().all(good) {
            let message = format!("`{}` is no name of a tool", shortened(&name));
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("use 1 to 128 letters, digits, `_`, `-` and `.`"));
        }
        Ok(Self { name, description: None, parameters, strictness: None, input: None })
    }

    /// A tool that takes one text, the string `input` of its arguments (OpenAI's custom tools).
    ///
    /// ```
    /// use maskwright::tools::{InputFormat, Tool};
    /// let tool = Tool::custom("sum", InputFormat::Regex("[0-9]+( \\+ [0-9]+)*".to_owned()))?;
    /// assert!(tool.is_custom());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    ///
    /// Errors as [`new`](Self::new).
    pub fn custom(name: impl Into<String>, input: InputFormat) -> Result<Self> {
        let tool = Self::new(name, input.parameters())?;
        Ok(Self { input: Some(input), ..tool })
    }

    /// Whether it takes one text instead of arguments.
    pub fn is_custom(&self) -> bool {
        self.input.is_some()
    }

    /// The format of the text that it takes.
    pub(crate) fn input(&self) -> Option<&InputFormat> {
        self.input.as_ref()
    }

    /// A tool whose arguments deserialise into a `T`, by the schema that `schemars` derives. Needs
    /// the feature `schemars`.
    #[cfg(feature = "schemars")]
    pub fn for_type<T: schemars::JsonSchema>(name: impl Into<String>) -> Result<Self> {
        let schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>();
        Self::new(name, schema.to_value())
    }

    /// The tools of a JSON array: OpenAI's `{"type": "function", "function": {"name", "parameters"}}` and
    /// `{"type": "custom", "custom": {"name", "format"}}`,
    /// the function object alone, or Anthropic's and MCP's `{"name", "input_schema"}`. A tool without
    /// parameters takes an empty object; one with `"strict": true` is [closed](Strictness::Closed).
    ///
    /// Errors name the place by a JSON pointer.
    pub fn read(tools: &Value) -> Result<Vec<Self>> {
        let bad = |pointer: String, message: &str| {
            Error::new(ErrorKind::Request, message).at_pointer(pointer).with_help(
                "write [{\"type\": \"function\", \"function\": {\"name\": …, \"parameters\": …}}]",
            )
        };
        let Some(tools) = tools.as_array() else {
            return Err(bad(String::new(), "tools are a JSON array"));
        };
        let mut read: Vec<Self> = Vec::new();
        for (i, tool) in tools.iter().enumerate() {
            let mut pointer = format!("/{i}");
            let takes_schema = SCHEMA_MEMBERS.iter().any(|key| tool.get(key).is_some());
            let kind = match tool.get("type") {
                None | Some(Value::Null) => "function",
                // Anthropic's tools with a schema.
                Some(Value::String(kind)) if kind == "custom" && takes_schema => "function",
                Some(Value::String(kind)) if kind == "function" || kind == "custom" => kind,
                Some(_) => {
                    let message = "a tool is a function or a custom tool here";
                    return Err(bad(format!("{pointer}/type"), message));
                }
            };
            let function = match tool.get(kind) {
                Some(function) => {
                    pointer.push('/');
                    pointer.push_str(kind);
                    function
                }
                None => tool,
            };
            let outer: &[&str] = if std::ptr::eq(function, tool) { MEMBERS } else { &[kind] };
            for (object, at, known) in
                [(tool, format!("/{i}"), outer), (function, pointer.clone(), MEMBERS)]
            {
                let unknown = object.as_object().and_then(|members| {
                    members.keys().find(|key| {
                        !known.contains(&key.as_str()) && !UNREAD_MEMBERS.contains(&key.as_str())
                    })
                });
                if let Some(key) = unknown {
                    let message = format!("a tool has no member `{key}`");
                    return Err(bad(format!("{at}/{key}"), &message));
                }
            }
            let Some(name) = function.get("name").and_then(Value::as_str) else {
                return Err(bad(format!("{pointer}/name"), "a tool needs a name"));
            };
            let given = |key: &&str| function.get(key).filter(|schema| !schema.is_null());
            let parameters = SCHEMA_MEMBERS.iter().find_map(given).cloned();
            let none = json!({"type": "object", "properties": {}, "additionalProperties": false});
            let made = if kind == "custom" {
                let format = function.get("format").filter(|format| !format.is_null());
                let input = format.map_or(Ok(InputFormat::Text), InputFormat::read);
                Self::custom(
                    name,
                    input.map_err(|error| {
                        let at = format!(
                            "{pointer}/format{}",
                            error.place().pointer.as_deref().unwrap_or_default()
                        );
                        error.at_pointer(at)
                    })?,
                )
            } else {
                Self::new(name, parameters.unwrap_or(none))
            };
            let mut tool = made.map_err(|error| error.at_pointer(format!("{pointer}/name")))?;
            tool.description =
                function.get("description").and_then(Value::as_str).map(str::to_owned);
            tool.strictness = match function.get("strict") {
                None | Some(Value::Null) => None,
                Some(Value::Bool(true)) => Some(Strictness::Closed),
                Some(Value::Bool(false)) => Some(Strictness::AsWritten),
                Some(_) => {
                    return Err(bad(format!("{pointer}/strict"), "`strict` is true or false"));
                }
            };
            if read.iter().any(|known| known.name == tool.name) {
                return Err(bad(format!("{pointer}/name"), "two tools have one name"));
            }
            read.push(tool);
        }
        Ok(read)
    }

    /// The same with a description of its purpose, for the model.
    #[must_use]
    pub fn with_description(self, description: impl Into<String>) -> Self {
        Self { description: Some(description.into()), ..self }
    }

    /// The same with another reading of members that its schema names nothing of than the options
    /// have.
    #[must_use]
    pub fn with_strictness(self, strictness: Strictness) -> Self {
        Self { strictness: Some(strictness), ..self }
    }

    /// The tool as OpenAI's API writes it, which is what chat templates read.
    pub fn to_value(&self) -> Value {
        let mut function = json!({"name": self.name});
        let of_input = self.input.as_ref().and_then(InputFormat::description);
        let parts: Vec<&str> =
            [&self.description, &of_input].into_iter().flatten().map(String::as_str).collect();
        if !parts.is_empty() {
            function["description"] = json!(parts.join("\n"));
        }
        function["parameters"] = self.parameters.clone();
        json!({"type": "function", "function": function})
    }

    /// Name of the tool.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reading of members that its schema names nothing of, where it differs from the options.
    pub(crate) fn strictness(&self) -> Option<Strictness> {
        self.strictness
    }

    /// JSON Schema of the arguments.
    pub fn parameters(&self) -> &Value {
        &self.parameters
    }
}
