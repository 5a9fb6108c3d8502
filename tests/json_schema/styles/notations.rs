//! Each style written and read independently of the engine, after the families' chat templates and
//! the parsers of servers: regular expressions where those have them.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

/// Whitespace between tags.
const BLANK: [char; 4] = [' ', '\t', '\n', '\r'];

/// Readings of one text beyond which it is not looked at.
const MAX_READINGS: usize = 256;

/// Patterns of one parameter in the flat styles: key, perhaps a type, raw value.
static FLAT: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let one =
        |pattern: &str| Regex::new(&format!("(?s)^[ \\t\\r\\n]*{pattern}")).expect("a pattern");
    vec![
        ("qwen_xml", one("<parameter=(?P<k>.*?)>(?P<v>.*?)</parameter>")),
        ("mimo_xml", one("<parameter=(?P<k>.*?)>(?P<v>.*?)</parameter>")),
        ("minimax_xml", one("<parameter name=\"(?P<k>.*?)\">(?P<v>.*?)</parameter>")),
        (
            "deepseek_xml",
            one(
                "<｜DSML｜parameter name=\"(?P<k>.*?)\" string=\"(?P<t>.*?)\">(?P<v>.*?)</｜DSML｜parameter>",
            ),
        ),
        (
            "deepseek_v4_1_xml",
            one(
                "<｜DSML｜ parameter name=\"(?P<k>.*?)\" string=\"(?P<t>.*?)\">(?P<v>.*?)</｜DSML｜ parameter>",
            ),
        ),
        (
            "glm_xml",
            one("<arg_key>(?P<k>.*?)</arg_key>[ \\t\\r\\n]*<arg_value>(?P<v>.*?)</arg_value>"),
        ),
        (
            "kimi_k3_xml",
            one(
                "<\\|open\\|>argument key=\"(?P<k>.*?)\" type=\"(?P<t>.*?)\"<\\|sep\\|>(?P<v>.*?)<\\|close\\|>argument<\\|sep\\|>",
            ),
        ),
    ]
});

/// The arguments that a text may be read as; `None` if they are too many.
pub(super) fn readings(style: &str, text: &str) -> Option<Vec<Value>> {
    if let Some((_, pattern)) = FLAT.iter().find(|(name, _)| *name == style) {
        return flat_readings(style, pattern, text);
    }
    let all = match style {
        "gemma_4" => gemma(text.trim_start_matches(BLANK)).into_iter().collect(),
        "cohere_xml" => members(text, "", &cohere_member),
        "python" => python(text.trim_matches(BLANK)).map(|value| (value, "")).into_iter().collect(),
        _ => members(text, "", &m3_member),
    };
    let whole = all.into_iter().filter(|(_, rest)| rest.trim_matches(BLANK).is_empty());
    Some(whole.map(|(value, _)| value).collect())
}

/// Keyword arguments in parentheses, their values literals of JSON or Python.
fn python(text: &str) -> Option<Value> {
    let mut rest = text.strip_prefix('(')?;
    let mut members = Map::new();
    while rest != ")" {
        if !members.is_empty() {
            rest = rest.strip_prefix(", ")?;
        }
        let (key, after) = rest.split_once('=')?;
        let (value, after) = literal(after)?;
        rest = after;
        if !is_identifier(key) || members.insert(key.to_owned(), value).is_some() {
            return None;
        }
    }
    Some(Value::Object(members))
}

/// A literal of JSON or Python at the beginning of a text, and the text after it. Strings between
/// single quotes hold none, and quotes or escapes, but not both.
fn literal(text: &str) -> Option<(Value, &str)> {
    let words = [("None", Value::Null), ("null", Value::Null)];
    let booleans = [("True", true), ("true", true), ("False", false), ("false", false)];
    let booleans = booleans.map(|(word, value)| (word, Value::Bool(value)));
    for (word, value) in words.into_iter().chain(booleans) {
        if let Some(rest) = text.strip_prefix(word) {
            return Some((value, rest));
        }
    }
    let first = text.chars().next()?;
    match first {
        '[' | '{' => {
            let (is_object, close) = (first == '{', if first == '{' { '}' } else { ']' });
            let (mut items, mut members) = (Vec::new(), Map::new());
            let mut rest = text[1..].trim_start_matches(BLANK);
            if let Some(rest) = rest.strip_prefix(close) {
                return Some((if is_object { members.into() } else { items.into() }, rest));
            }
            loop {
                if is_object {
                    let (key, after) = literal(rest).filter(|_| rest.starts_with('"'))?;
                    let after = after.trim_start_matches(BLANK).strip_prefix(':')?;
                    let (value, after) = literal(after.trim_start_matches(BLANK))?;
                    if members.insert(key.as_str()?.to_owned(), value).is_some() {
                        return None;
                    }
                    rest = after.trim_start_matches(BLANK);
                } else {
                    let (item, after) = literal(rest)?;
                    items.push(item);
                    rest = after.trim_start_matches(BLANK);
                }
                match rest.strip_prefix(',') {
                    Some(after) => rest = after.trim_start_matches(BLANK),
                    None => break,
                }
            }
            let rest = rest.strip_prefix(close)?;
            Some((if is_object { members.into() } else { items.into() }, rest))
        }
        '"' => {
            let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
            let value = values.next()?.ok()?;
            Some((value, &text[values.byte_offset()..]))
        }
        '\'' => {
            let (content, rest) = text[1..].split_once('\'')?;
            if content.contains('"') && content.contains('\\') {
                return None;
            }
            let json = format!("\"{}\"", content.replace('"', "\\\""));
            Some((serde_json::from_str(&json).ok()?, rest))
        }
        _ => {
            let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
            let length = text.find(|c| !is_part(c)).unwrap_or(text.len());
            Some((serde_json::from_str(&text[..length]).ok()?, &text[length..]))
        }
    }
}

fn is_identifier(key: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    key.starts_with(is_letter) && key.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

fn flat_readings(style: &str, pattern: &Regex, text: &str) -> Option<Vec<Value>> {
    let (mut rest, mut all) = (text, vec![Map::new()]);
    while !rest.trim_matches(BLANK).is_empty() {
        let Some(found) = pattern.captures(rest) else { return Some(Vec::new()) };
        rest = &rest[found[0].len()..];
        let raw = &found["v"];
        let string = match style {
            "qwen_xml" => {
                let raw = raw.strip_prefix('\n').unwrap_or(raw);
                raw.strip_suffix('\n').unwrap_or(raw)
            }
            _ => raw,
        };
        let string = Value::from(string);
        let json: Option<Value> = serde_json::from_str(raw).ok();
        let values: Vec<Value> = match (style, found.name("t").map(|kind| kind.as_str())) {
            ("deepseek_xml" | "deepseek_v4_1_xml", Some("true")) => vec![string],
            ("deepseek_xml" | "deepseek_v4_1_xml", Some("false")) => {
                json.into_iter().filter(|value| !value.is_string()).collect()
            }
            ("deepseek_xml" | "deepseek_v4_1_xml", _) => Vec::new(),
            ("kimi_k3_xml", Some("string")) => vec![string],
            ("kimi_k3_xml", Some(kind)) => {
                json.into_iter().filter(|value| kind_of(value) == kind).collect()
            }
            // JSON strings stand in no quotes: with them they are text.
            _ => json.into_iter().filter(|value| !value.is_string()).chain([string]).collect(),
        };
        let key = &found["k"];
        if all.iter().any(|known| known.contains_key(key))
            || all.len() * values.len() > MAX_READINGS
        {
            return if all.len() * values.len() > MAX_READINGS { None } else { Some(Vec::new()) };
        }
        let mut longer = Vec::new();
        for known in &all {
            for value in &values {
                let mut with = known.clone();
                with.insert(key.to_owned(), value.clone());
                longer.push(with);
            }
        }
        all = longer;
    }
    Some(all.into_iter().map(Value::Object).collect())
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Readings of a value with the text after each.
type Readings<'t> = Vec<(Value, &'t str)>;

/// Objects whose members a function reads, up to a closing tag.
fn members<'t>(
    text: &'t str,
    close: &str,
    member: &dyn Fn(&'t str) -> Option<(String, Readings<'t>)>,
) -> Readings<'t> {
    let mut open: Vec<(Map<String, Value>, &str)> = vec![(Map::new(), text)];
    let mut found = Vec::new();
    while let Some((map, rest)) = open.pop() {
        let next = rest.trim_start_matches(BLANK);
        if open.len() + found.len() > MAX_READINGS {
            return Vec::new();
        }
        match next.strip_prefix(close) {
            Some(after) if !close.is_empty() || next.is_empty() => {
                found.push((Value::Object(map), after));
                continue;
            }
            _ => {}
        }
        let Some((key, values)) = member(next) else { continue };
        for (value, after) in values {
            let mut map = map.clone();
            if map.insert(key.clone(), value).is_none() {
                open.push((map, after));
            }
        }
    }
    found
}

/// Arrays whose items a function reads, up to a closing tag.
fn items<'t>(text: &'t str, close: &str, item: &dyn Fn(&'t str) -> Readings<'t>) -> Readings<'t> {
    let mut open: Vec<(Vec<Value>, &str)> = vec![(Vec::new(), text)];
    let mut found = Vec::new();
    while let Some((list, rest)) = open.pop() {
        let next = rest.trim_start_matches(BLANK);
        if open.len() + found.len() > MAX_READINGS {
            return Vec::new();
        }
        if let Some(after) = next.strip_prefix(close) {
            found.push((Value::Array(list), after));
            continue;
        }
        for (value, after) in item(next) {
            open.push(([&list[..], &[value]].concat(), after));
        }
    }
    found
}

fn cohere_member(text: &str) -> Option<(String, Readings<'_>)> {
    let rest = text.strip_prefix("<cofl:value name=\"")?;
    let (key, rest) = rest.split_once("\" type=\"")?;
    Some((key.to_owned(), cohere_value(rest)))
}

fn cohere_value(text: &str) -> Readings<'_> {
    const CLOSE: &str = "</cofl:value>";
    if let Some(rest) = text.strip_prefix("raw\">") {
        return rest.split_once(CLOSE).map(|(raw, rest)| (raw.into(), rest)).into_iter().collect();
    }
    if let Some(rest) = text.strip_prefix("json\">") {
        let read = rest.split_once(CLOSE).and_then(|(raw, rest)| {
            let value: Value = serde_json::from_str(raw).ok()?;
            (!value.is_string() && !value.is_array() && !value.is_object()).then_some((value, rest))
        });
        return read.into_iter().collect();
    }
    if let Some(rest) = text.strip_prefix("dict\">") {
        return members(rest, CLOSE, &cohere_member);
    }
    let Some(rest) = text.strip_prefix("list\">") else { return Vec::new() };
    items(rest, CLOSE, &|text| {
        text.strip_prefix("<cofl:value type=\"").map(cohere_value).unwrap_or_default()
    })
}

const NAMESPACE: &str = "]<]minimax[>[";

fn m3_member(text: &str) -> Option<(String, Readings<'_>)> {
    let (key, rest) = text.strip_prefix(NAMESPACE)?.strip_prefix('<')?.split_once('>')?;
    Some((key.to_owned(), m3_value(rest, &format!("{NAMESPACE}</{key}>"))))
}

fn m3_value<'t>(text: &'t str, close: &str) -> Readings<'t> {
    let mut found = Readings::new();
    if let Some(at) = text.find(NAMESPACE)
        && let Some(after) = text[at..].strip_prefix(close)
    {
        let raw = &text[..at];
        let json = serde_json::from_str::<Value>(raw).ok();
        let scalar = json.filter(|value| {
            !value.is_string() && !value.is_array() && !value.is_object() && raw.trim() == raw
        });
        found.extend(scalar.map(|value| (value, after)));
        found.push((raw.into(), after));
    }
    found.extend(members(text, close, &m3_member));
    let item = format!("{NAMESPACE}<item>");
    let end = format!("{NAMESPACE}</item>");
    found.extend(items(text, close, &|text| {
        text.strip_prefix(&*item).map(|text| m3_value(text, &end)).unwrap_or_default()
    }));
    found
}

fn gemma(text: &str) -> Option<(Value, &str)> {
    const QUOTE: &str = "<|\"|>";
    if let Some(rest) = text.strip_prefix(QUOTE) {
        let (string, rest) = rest.split_once(QUOTE)?;
        return Some((string.into(), rest));
    }
    if let Some(mut rest) = text.strip_prefix('{') {
        let mut map = Map::new();
        while let Some(next) = rest.strip_prefix(if map.is_empty() { "" } else { "," }) {
            if map.is_empty() && next.starts_with('}') {
                break;
            }
            let (key, next) = next.split_once(':')?;
            let (value, next) = gemma(next)?;
            if map.insert(key.to_owned(), value).is_some() {
                return None;
            }
            rest = next;
        }
        return Some((map.into(), rest.strip_prefix('}')?));
    }
    if let Some(mut rest) = text.strip_prefix('[') {
        let mut list = Vec::new();
        while let Some(next) = rest.strip_prefix(if list.is_empty() { "" } else { "," }) {
            if list.is_empty() && next.starts_with(']') {
                break;
            }
            let (value, next) = gemma(next)?;
            list.push(value);
            rest = next;
        }
        return Some((list.into(), rest.strip_prefix(']')?));
    }
    let end = text.find([',', '}', ']']).unwrap_or(text.len());
    let raw = &text[..end];
    let value: Value = serde_json::from_str(raw).ok().filter(|_| raw.trim() == raw)?;
    (!value.is_string()).then_some((value, &text[end..]))
}

/// Arguments as a style writes them; `None` if it cannot.
pub(super) fn written(style: &str, arguments: &Value) -> Option<String> {
    let Value::Object(members) = arguments else { return None };
    if style == "gemma_4" {
        return gemma_text(arguments);
    }
    if style == "python" {
        let member = |(key, value): (&String, &Value)| {
            is_identifier(key).then(|| format!("{key}={}", crate::common::dumps(value)))
        };
        let members: Option<Vec<String>> = members.iter().map(member).collect();
        return members.map(|members| format!("({})", members.join(", ")));
    }
    let mut out = Vec::new();
    for (key, value) in members {
        out.push(match style {
            "cohere_xml" => cohere_text(&format!(" name=\"{}\"", cohere_key(key)?), value)?,
            "minimax_m3_xml" => m3_text(key, value)?,
            _ => flat_text(style, key, value)?,
        });
    }
    let between = if style == "kimi_k3_xml" { "" } else { "\n" };
    Some(out.join(between))
}

fn flat_text(style: &str, key: &str, value: &Value) -> Option<String> {
    let json = crate::common::dumps(value);
    let (text, is_string) = match value {
        Value::String(text) => (text.as_str(), true),
        _ => (json.as_str(), false),
    };
    let space = |c: char| c.is_whitespace() || c == '\u{feff}';
    let (end, name_end, key_is_fit) = match style {
        "qwen_xml" => ("</parameter>", ">", true),
        "mimo_xml" => ("</parameter>", ">", true),
        "minimax_xml" => ("</parameter>", "\"", !key.contains('>')),
        "deepseek_xml" => ("</｜DSML｜parameter>", "\"", true),
        "deepseek_v4_1_xml" => ("</｜DSML｜ parameter>", "\"", true),
        "glm_xml" => ("</arg_value>", "</arg_key>", key.trim_matches(space) == key),
        _ => ("<|close|>argument<|sep|>", "\"", !key.contains('&') && !key.contains("<|sep|>")),
    };
    if text.contains(end) || key.contains(name_end) || !key_is_fit || key.is_empty() {
        return None;
    }
    Some(match style {
        "qwen_xml" => format!("<parameter={key}>\n{text}\n</parameter>"),
        "mimo_xml" => format!("<parameter={key}>{text}</parameter>"),
        "minimax_xml" => format!("<parameter name=\"{key}\">{text}</parameter>"),
        "deepseek_xml" => format!(
            "<｜DSML｜parameter name=\"{key}\" string=\"{is_string}\">{text}</｜DSML｜parameter>"
        ),
        "deepseek_v4_1_xml" => format!(
            "<｜DSML｜ parameter name=\"{key}\" string=\"{is_string}\">{text}</｜DSML｜ parameter>"
        ),
        "glm_xml" => format!("<arg_key>{key}</arg_key>\n<arg_value>{text}</arg_value>"),
        _ => format!(
            "<|open|>argument key=\"{key}\" type=\"{}\"<|sep|>{text}<|close|>argument<|sep|>",
            kind_of(value)
        ),
    })
}

fn cohere_key(key: &str) -> Option<&str> {
    (!key.is_empty() && !key.contains(['"', '&', '<', '>'])).then_some(key)
}

fn cohere_text(name: &str, value: &Value) -> Option<String> {
    let (kind, text) = match value {
        Value::String(text) => ("raw", text.clone()),
        Value::Array(items) => {
            let items: Option<Vec<String>> =
                items.iter().map(|item| cohere_text("", item)).collect();
            ("list", items?.concat())
        }
        Value::Object(members) => {
            let mut all = String::new();
            for (key, value) in members {
                all += &cohere_text(&format!(" name=\"{}\"", cohere_key(key)?), value)?;
            }
            ("dict", all)
        }
        _ => ("json", crate::common::dumps(value)),
    };
    let fits = kind != "raw" || !text.contains("</cofl:value>");
    fits.then(|| format!("<cofl:value{name} type=\"{kind}\">{text}</cofl:value>"))
}

fn m3_text(key: &str, value: &Value) -> Option<String> {
    if key.is_empty() || key.contains('>') || key.starts_with('/') {
        return None;
    }
    let text = match value {
        Value::String(text) if text.contains(NAMESPACE) => return None,
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Option<Vec<String>> =
                items.iter().map(|item| m3_text("item", item)).collect();
            items?.concat()
        }
        Value::Object(members) => {
            let all: Option<Vec<String>> =
                members.iter().map(|(key, value)| m3_text(key, value)).collect();
            all?.concat()
        }
        _ => crate::common::dumps(value),
    };
    Some(format!("{NAMESPACE}<{key}>{text}{NAMESPACE}</{key}>"))
}

fn gemma_text(value: &Value) -> Option<String> {
    const QUOTE: &str = "<|\"|>";
    Some(match value {
        Value::String(text) if text.contains(QUOTE) => return None,
        Value::String(text) => format!("{QUOTE}{text}{QUOTE}"),
        Value::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(gemma_text).collect();
            format!("[{}]", items?.join(","))
        }
        Value::Object(members) => {
            let mut all = Vec::new();
            for (key, value) in members {
                let space = |c: char| c.is_whitespace() || c == '\u{feff}';
                if key.is_empty()
                    || key.contains([':', ',', '{', '}', '[', ']'])
                    || key.contains(QUOTE)
                    || key.trim_matches(space) != key
                {
                    return None;
                }
                all.push(format!("{key}:{}", gemma_text(value)?));
            }
            format!("{{{}}}", all.join(","))
        }
        _ => crate::common::dumps(value),
    })
}
