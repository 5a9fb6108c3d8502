//! The line in which the chat template tells a tool, or the schema of the answer.

use serde_json::Value;

/// A line in which the chat template tells a tool, or the schema of the answer.
pub struct ToldLine {
    pub parts: Vec<ToldPart>,
    /// Of a tool, whether it is called.
    pub is_called: Option<bool>,
}

/// A stretch of a line.
pub struct ToldPart {
    pub text: String,
    /// If it ends with what tells a field of the answer: the field's value, null if the answer has none.
    pub value: Option<Value>,
}

/// The lines of the tools: "name(key type, key choice/choice): description = name".
pub fn tool_lines(tools: &[Value], answer: &Value) -> Vec<ToldLine> {
    let line = |tool: &Value| {
        let function = &tool["function"];
        let name = function["name"].as_str().unwrap_or_default();
        let arguments = arguments_of(answer, name);
        let mut writer = ToldWriter { parts: vec![], text: name.to_owned() };
        writer.shape(&function["parameters"], arguments);
        writer.text += &match function["description"].as_str() {
            None | Some("") => format!(" = {name}"),
            Some(description) => format!(": {description} = {name}"),
        };
        writer.end(None);
        ToldLine { parts: writer.parts, is_called: Some(arguments.is_some()) }
    };
    tools.iter().map(line).collect()
}

/// The line of an answer's schema: "answer(key type, key choice/choice, key(key, key))"; none where it has no fields.
pub fn schema_line(schema: &Value, answer: &Value) -> Option<ToldLine> {
    if schema["properties"].is_null() && schema["items"]["properties"].is_null() {
        return None;
    }
    let mut writer = ToldWriter { parts: vec![], text: "answer".to_owned() };
    writer.shape(schema, Some(answer));
    writer.end(None);
    Some(ToldLine { parts: writer.parts, is_called: None })
}

struct ToldWriter {
    parts: Vec<ToldPart>,
    /// The text after them.
    text: String,
}

impl ToldWriter {
    fn end(&mut self, value: Option<Value>) {
        self.parts.push(ToldPart { text: std::mem::take(&mut self.text), value });
    }

    /// Tells a schema behind the key of such a value.
    fn shape(&mut self, schema: &Value, value: Option<&Value>) {
        let types = match &schema["type"] {
            Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
            of_type => Vec::from_iter(of_type.as_str()),
        };
        let choices = schema["enum"].as_array();
        if let Some(choices) = choices {
            let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
            self.text += &format!(" {}", choices.join("/"));
        } else {
            let told = types.iter().filter(|name| !["object", "string", "null"].contains(name));
            told.for_each(|name| self.text += &format!(" {name}"));
            if let Some(format @ ("email" | "date")) = schema["format"].as_str() {
                self.text += &format!(" {format}");
            }
            if !schema["minLength"].is_null() {
                self.text += " minLength";
            }
        }
        if choices.map_or(types.contains(&"null"), |choices| choices.contains(&Value::Null)) {
            self.text += " null";
        }
        if choices.is_some() {
            return;
        }
        if !schema["items"].is_null() {
            self.shape(&schema["items"], value.and_then(|value| value.get(0)));
        }
        let Some(properties) = schema["properties"].as_object() else { return };
        self.text.push('(');
        for (at, (key, field)) in properties.iter().enumerate() {
            self.text += if at > 0 { ", " } else { "" };
            self.text += key;
            let inner = value.map(|value| &value[key.as_str()]);
            self.shape(field, inner);
            if let Some(inner) = inner
                && field["properties"].is_null()
                && field["items"]["properties"].is_null()
            {
                self.end(Some(inner.clone()));
            }
        }
        self.text.push(')');
    }
}

/// The arguments of the first call of the tool.
fn arguments_of<'a>(answer: &'a Value, name: &str) -> Option<&'a Value> {
    match answer {
        Value::Array(calls) => calls.iter().find_map(|call| arguments_of(call, name)),
        call => (call["name"].as_str() == Some(name)).then(|| &call["arguments"]),
    }
}
