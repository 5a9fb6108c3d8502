//! Formats as their JSON says them.

use serde_json::{Value, json};

use super::members::{Members, NamedToken, bad, items, token};
use crate::error::{Error, ErrorKind, Result};

/// Formats within formats. Reading and lowering recurse over them.
const MAX_NESTING: u32 = 128;

/// Names of all formats, for messages.
const NAMES: &str = "const_string, json_schema, regex, grammar, any_text, token, exclude_token, \
                     any_tokens, sequence, or, optional, plus, star, repeat, tag, triggered_tags, \
                     token_triggered_tags, tags_with_separator, dispatch, token_dispatch and \
                     qwen_xml_parameter";

/// Types of JSON Schema, which stand in the place of a format where a schema does.
const SCHEMA_TYPES: [&str; 7] =
    ["object", "array", "string", "integer", "number", "boolean", "null"];

/// The cure for a schema in the place of a format.
const SCHEMA_HELP: &str =
    "a schema stands in a format: {\"type\": \"json_schema\", \"json_schema\": …}";

/// A format.
#[derive(Debug)]
pub(super) enum Format {
    Text(String),
    Json(JsonFormat),
    Regex {
        pattern: String,
        at: String,
    },
    Grammar {
        text: String,
        at: String,
    },
    AnyText {
        excludes: Vec<String>,
        max_chars: Option<u32>,
        max_tokens: Option<u32>,
    },
    Token(NamedToken),
    /// One token but these.
    OtherToken(Vec<NamedToken>),
    /// Tokens but these.
    AnyTokens {
        excludes: Vec<NamedToken>,
        max_tokens: Option<u32>,
    },
    Sequence(Vec<Self>),
    Or(Vec<Self>),
    /// `min` to `max` times, `None` for no bound.
    Repeat {
        content: Box<Self>,
        min: u32,
        max: Option<u32>,
    },
    Tag(TagFormat),
    /// Tags and nothing else, with a text between them.
    Separated {
        tags: Vec<TagFormat>,
        separator: String,
        number: NumberOfTags,
    },
    Dispatch(TextDispatch),
    TokenDispatch(TokenDispatch),
}

/// JSON of a schema.
#[derive(Debug)]
pub(super) struct JsonFormat {
    pub(super) schema: Value,
    pub(super) style: Option<String>,
    pub(super) any_order: bool,
    /// Blanks and line breaks in a row.
    pub(super) max_whitespace: Option<u32>,
    pub(super) excludes: Vec<String>,
    pub(super) at: String,
    pub(super) schema_at: String,
}

/// A beginning, a content, an end.
#[derive(Debug)]
pub(super) struct TagFormat {
    pub(super) begin: TagBegin,
    pub(super) content: Box<Format>,
    pub(super) end: TagEnd,
    pub(super) at: String,
}

#[derive(Debug)]
pub(super) enum TagBegin {
    Text(String),
    Token(NamedToken),
}

#[derive(Debug)]
pub(super) enum TagEnd {
    /// Any one of these texts, of which some may be empty.
    Texts(Vec<String>),
    Token(NamedToken),
}

/// The number of tags.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberOfTags {
    pub(super) at_least_one: bool,
    pub(super) stop_after_first: bool,
}

/// Free text and what follows a trigger in it.
#[derive(Debug)]
pub(super) struct TextDispatch {
    pub(super) rules: Vec<TextRule>,
    pub(super) excludes: Vec<String>,
    pub(super) number: NumberOfTags,
    /// Whether free text holds no end of the tag around it.
    pub(super) stops_at_end: bool,
}

/// A trigger and its continuation.
#[derive(Debug)]
pub(super) struct TextRule {
    pub(super) trigger: String,
    pub(super) then: AfterTrigger,
}

#[derive(Debug)]
pub(super) enum AfterTrigger {
    Format(Format),
    /// The rest of a tag that begins with the trigger.
    Tag(TagFormat),
}

/// Free tokens and what follows one of some tokens among them.
#[derive(Debug)]
pub(super) struct TokenDispatch {
    pub(super) rules: Vec<TokenRule>,
    pub(super) excludes: Vec<NamedToken>,
    pub(super) number: NumberOfTags,
    /// Whether the free part leaves out the token that ends the tag around it.
    pub(super) stops_at_end: bool,
    /// The tokens that tags must begin with, each of them one tag at least.
    pub(super) triggers: Option<Vec<NamedToken>>,
}

#[derive(Debug)]
pub(super) struct TokenRule {
    pub(super) trigger: NamedToken,
    pub(super) then: AfterTrigger,
}

impl Format {
    /// Reads a format, which stands in `depth` others.
    pub(super) fn read(value: &Value, at: &str, depth: u32) -> Result<Self> {
        if depth > MAX_NESTING {
            let message = format!("more than {MAX_NESTING} formats within each other");
            return Err(Error::new(ErrorKind::Limit, message).at_pointer(at));
        }
        let members = Members::new(value, at)?;
        let kind = match members.get("type") {
            None if members.get("begin").is_some() => "tag",
            _ => members.text("type")?,
        };
        Ok(match kind {
            "const_string" => {
                members.only(&["type", "value"])?;
                Self::Text(members.text("value")?.to_owned())
            }
            "json_schema" => {
                members.only(&[
                    "type",
                    "json_schema",
                    "style",
                    "any_order",
                    "max_whitespace_cnt",
                    "excludes",
                ])?;
                Self::Json(JsonFormat::read(&members, None)?)
            }
            "qwen_xml_parameter" => {
                members.only(&["type", "json_schema"])?;
                Self::Json(JsonFormat::read(&members, Some("qwen_xml"))?)
            }
            "regex" => Self::read_regex(&members)?,
            "grammar" => {
                members.only(&["type", "grammar"])?;
                let text = members.full_text("grammar")?.to_owned();
                Self::Grammar { text, at: members.at("grammar") }
            }
            "any_text" => Self::read_any_text(&members)?,
            "token" => Self::Token(token_format(&members)?),
            "exclude_token" => {
                members.only(&["type", "exclude_tokens"])?;
                Self::OtherToken(members.tokens("exclude_tokens")?)
            }
            "any_tokens" => {
                members.only(&["type", "exclude_tokens", "max_tokens"])?;
                Self::AnyTokens {
                    excludes: members.tokens("exclude_tokens")?,
                    max_tokens: members.count("max_tokens")?,
                }
            }
            "sequence" | "or" => {
                members.only(&["type", "elements"])?;
                let elements = members.full_list("elements")?.into_iter();
                let elements = elements
                    .map(|(at, element)| Self::read(element, &at, depth + 1))
                    .collect::<Result<_>>()?;
                if kind == "or" { Self::Or(elements) } else { Self::Sequence(elements) }
            }
            "optional" | "plus" | "star" => {
                members.only(&["type", "content"])?;
                let (min, max) = match kind {
                    "optional" => (0, Some(1)),
                    "plus" => (1, None),
                    _ => (0, None),
                };
                Self::Repeat { content: Self::read_content(&members, depth)?, min, max }
            }
            "repeat" => Self::read_repeat(&members, depth)?,
            "tag" => Self::Tag(TagFormat::read(&members, depth)?),
            "triggered_tags" => Self::Dispatch(TextDispatch::read_tags(&members, depth)?),
            "dispatch" => Self::Dispatch(TextDispatch::read(&members, depth)?),
            "token_triggered_tags" => {
                Self::TokenDispatch(TokenDispatch::read_tags(&members, depth)?)
            }
            "token_dispatch" => Self::TokenDispatch(TokenDispatch::read(&members, depth)?),
            "tags_with_separator" => Self::read_separated(&members, depth)?,
            _ => return Err(unknown_kind(&members, kind)),
        })
    }

    /// Reads the member `content` of a format that stands in `depth` others.
    fn read_content(members: &Members<'_>, depth: u32) -> Result<Box<Self>> {
        let content = members.member("content")?;
        Ok(Box::new(Self::read(content, &members.at("content"), depth + 1)?))
    }

    fn read_regex(members: &Members<'_>) -> Result<Self> {
        members.only(&["type", "pattern", "excludes"])?;
        if !members.texts("excludes")?.is_empty() {
            return Err(members
                .bad("excludes", "a pattern has no `excludes`")
                .with_help("write a pattern that does not match them"));
        }
        let pattern = members.full_text("pattern")?.to_owned();
        Ok(Self::Regex { pattern, at: members.at("pattern") })
    }

    fn read_any_text(members: &Members<'_>) -> Result<Self> {
        members.only(&["type", "excludes", "max_tokens", "max_chars"])?;
        Ok(Self::AnyText {
            excludes: members.texts("excludes")?,
            max_chars: members.count("max_chars")?,
            max_tokens: members.count("max_tokens")?,
        })
    }

    fn read_repeat(members: &Members<'_>, depth: u32) -> Result<Self> {
        members.only(&["type", "min", "max", "content"])?;
        members.member("min")?;
        let min = members.count("min")?.unwrap_or(0);
        let max = match members.member("max")? {
            max if max == -1 => None,
            _ => members.count("max")?,
        };
        if max.is_some_and(|max| min > max) {
            return Err(members.bad("min", "`min` is greater than `max`"));
        }
        Ok(Self::Repeat { content: Self::read_content(members, depth)?, min, max })
    }

    fn read_separated(members: &Members<'_>, depth: u32) -> Result<Self> {
        members.only(&["type", "tags", "separator", "at_least_one", "stop_after_first"])?;
        Ok(Self::Separated {
            tags: tags(members, depth)?,
            separator: members.text("separator")?.to_owned(),
            number: NumberOfTags::read(members)?,
        })
    }

    /// Reads the older form, with `structures` and `triggers`.
    pub(super) fn read_older(members: &Members<'_>) -> Result<Self> {
        if members.get("max_new_tokens").is_some() {
            let message = "a structural tag has no `max_new_tokens`";
            return Err(members
                .bad("max_new_tokens", message)
                .with_help("`max_tokens` of the request bounds the whole answer"));
        }
        members.only(&["type", "structures", "triggers", "at_least_one"])?;
        let mut tags = Vec::new();
        for (at, value) in members.full_list("structures")? {
            let structure = Members::new(value, &at)?;
            structure.only(&["begin", "schema", "end"])?;
            let schema = JsonFormat {
                // SGLang's tools without parameters have none.
                schema: structure.get("schema").map_or_else(|| json!({}), Value::clone),
                style: None,
                any_order: false,
                max_whitespace: None,
                excludes: Vec::new(),
                at: structure.at("schema"),
                schema_at: structure.at("schema"),
            };
            tags.push(TagFormat {
                begin: TagBegin::Text(structure.text("begin")?.to_owned()),
                content: Box::new(Self::Json(schema)),
                end: TagEnd::Texts(vec![structure.text("end")?.to_owned()]),
                at,
            });
        }
        let at_least_one = members.flag("at_least_one", false)?;
        let number = NumberOfTags { at_least_one, stop_after_first: false };
        Ok(Self::Dispatch(TextDispatch {
            rules: rules_of_tags(members, tags)?,
            excludes: Vec::new(),
            number,
            stops_at_end: true,
        }))
    }
}

impl JsonFormat {
    fn read(members: &Members<'_>, style: Option<&str>) -> Result<Self> {
        let style = match (style, members.get("style")) {
            (None, Some(_)) => Some(members.text("style")?).filter(|&style| style != "json"),
            (style, _) => style,
        };
        let schema = members.member("json_schema")?;
        if !schema.is_object() && !schema.is_boolean() {
            return Err(members.bad("json_schema", "a schema is an object, true or false"));
        }
        let max_whitespace = members.count("max_whitespace_cnt")?;
        if max_whitespace == Some(0) {
            return Err(members.bad("max_whitespace_cnt", "the number of blanks is positive"));
        }
        Ok(Self {
            schema: schema.clone(),
            style: style.map(str::to_owned),
            any_order: members.flag("any_order", false)?,
            max_whitespace,
            excludes: members.texts("excludes")?,
            at: members.at.clone(),
            schema_at: members.at("json_schema"),
        })
    }
}

impl TagFormat {
    fn read(members: &Members<'_>, depth: u32) -> Result<Self> {
        members.only(&["type", "begin", "content", "end"])?;
        if let Some(kind) = members.get("type")
            && kind != "tag"
        {
            return Err(members.bad("type", "only tags may stand here"));
        }
        let begin = match members.member("begin")? {
            Value::String(begin) => TagBegin::Text(begin.clone()),
            begin => TagBegin::Token(token_format(&Members::new(begin, &members.at("begin"))?)?),
        };
        let end = match members.member("end")? {
            Value::String(end) => TagEnd::Texts(vec![end.clone()]),
            Value::Array(ends) if ends.is_empty() => {
                return Err(members
                    .bad("end", "the list of ends is empty")
                    .with_help("write one text or more, or \"\" for a tag that nothing ends"));
            }
            ends @ Value::Array(_) => {
                let text = |(at, end): (String, &Value)| match end {
                    Value::String(end) => Ok(end.clone()),
                    _ => Err(bad(at, "an end of several is a text")),
                };
                let ends = items(ends, &members.at("end"), "end")?.into_iter();
                TagEnd::Texts(ends.map(text).collect::<Result<_>>()?)
            }
            end => TagEnd::Token(token_format(&Members::new(end, &members.at("end"))?)?),
        };
        let content = Format::read(members.member("content")?, &members.at("content"), depth + 1)?;
        Ok(Self { begin, content: Box::new(content), end, at: members.at.clone() })
    }
}

impl NumberOfTags {
    fn read(members: &Members<'_>) -> Result<Self> {
        Ok(Self {
            at_least_one: members.flag("at_least_one", false)?,
            stop_after_first: members.flag("stop_after_first", false)?,
        })
    }

    /// The number of rules taken, by `loop`.
    fn read_loop(members: &Members<'_>) -> Result<Self> {
        Ok(Self { at_least_one: false, stop_after_first: !members.flag("loop", true)? })
    }
}

impl TextDispatch {
    fn read_tags(members: &Members<'_>, depth: u32) -> Result<Self> {
        members.only(&[
            "type",
            "triggers",
            "tags",
            "at_least_one",
            "stop_after_first",
            "excludes",
        ])?;
        Ok(Self {
            rules: rules_of_tags(members, tags(members, depth)?)?,
            excludes: members.texts("excludes")?,
            number: NumberOfTags::read(members)?,
            stops_at_end: true,
        })
    }

    fn read(members: &Members<'_>, depth: u32) -> Result<Self> {
        members.only(&["type", "rules", "loop", "excludes"])?;
        let mut rules = Vec::new();
        for (at, pattern, format) in pairs(members)? {
            let Some(trigger) = pattern.as_str().filter(|pattern| !pattern.is_empty()) else {
                return Err(bad(format!("{at}/0"), "a pattern is a text, and not an empty one"));
            };
            let then = AfterTrigger::Format(Format::read(format, &format!("{at}/1"), depth + 1)?);
            rules.push(TextRule { trigger: trigger.to_owned(), then });
        }
        Ok(Self {
            rules,
            excludes: members.texts("excludes")?,
            number: NumberOfTags::read_loop(members)?,
            stops_at_end: false,
        })
    }
}

impl TokenDispatch {
    fn read_tags(members: &Members<'_>, depth: u32) -> Result<Self> {
        members.only(&[
            "type",
            "trigger_tokens",
            "tags",
            "exclude_tokens",
            "at_least_one",
            "stop_after_first",
        ])?;
        members.full_list("trigger_tokens")?;
        let triggers = members.tokens("trigger_tokens")?;
        let mut rules = Vec::new();
        for tag in tags(members, depth)? {
            let TagBegin::Token(begin) = &tag.begin else {
                return Err(bad(format!("{}/begin", tag.at), "this tag begins with a token"));
            };
            rules.push(TokenRule { trigger: begin.clone(), then: AfterTrigger::Tag(tag) });
        }
        Ok(Self {
            rules,
            excludes: members.tokens("exclude_tokens")?,
            number: NumberOfTags::read(members)?,
            stops_at_end: true,
            triggers: Some(triggers),
        })
    }

    fn read(members: &Members<'_>, depth: u32) -> Result<Self> {
        members.only(&["type", "rules", "loop", "exclude_tokens"])?;
        let mut rules = Vec::new();
        for (at, pattern, format) in pairs(members)? {
            let trigger = token(pattern, format!("{at}/0"))?;
            let then = AfterTrigger::Format(Format::read(format, &format!("{at}/1"), depth + 1)?);
            rules.push(TokenRule { trigger, then });
        }
        Ok(Self {
            rules,
            excludes: members.tokens("exclude_tokens")?,
            number: NumberOfTags::read_loop(members)?,
            stops_at_end: false,
            triggers: None,
        })
    }
}

/// The error for a `type` that names no format.
fn unknown_kind(members: &Members<'_>, kind: &str) -> Error {
    let help = if SCHEMA_TYPES.contains(&kind) {
        SCHEMA_HELP.to_owned()
    } else {
        format!("known are {NAMES}")
    };
    members.bad("type", format!("`{kind}` is no format")).with_help(help)
}

/// The tags of a format, at least one.
fn tags(members: &Members<'_>, depth: u32) -> Result<Vec<TagFormat>> {
    let tags = members.full_list("tags")?.into_iter();
    tags.map(|(at, tag)| TagFormat::read(&Members::new(tag, &at)?, depth + 1)).collect()
}

/// A rule for each tag, by the one trigger that it begins with.
fn rules_of_tags(members: &Members<'_>, tags: Vec<TagFormat>) -> Result<Vec<TextRule>> {
    members.full_list("triggers")?;
    let triggers = members.texts("triggers")?;
    let mut rules = Vec::new();
    for tag in tags {
        let at = format!("{}/begin", tag.at);
        let TagBegin::Text(begin) = &tag.begin else {
            return Err(bad(at, "a trigger is a text, and so is the beginning of its tags")
                .with_help("use `token_triggered_tags`"));
        };
        let mut found = triggers.iter().filter(|trigger| begin.starts_with(trigger.as_str()));
        match (found.next(), found.next()) {
            (Some(trigger), None) => {
                rules.push(TextRule { trigger: trigger.clone(), then: AfterTrigger::Tag(tag) });
            }
            (None, _) => return Err(bad(at, format!("`{begin}` begins with no trigger"))),
            (Some(one), Some(other)) => {
                let message = format!("`{begin}` begins with two triggers, `{one}` and `{other}`");
                return Err(bad(at, message).with_help("leave one of them out"));
            }
        }
    }
    for (i, trigger) in triggers.iter().enumerate() {
        if !rules.iter().any(|rule| rule.trigger == *trigger) {
            let message = format!("no tag begins with the trigger `{trigger}`");
            return Err(bad(format!("{}/{i}", members.at("triggers")), message)
                .with_help("leave it out, or exclude it"));
        }
    }
    Ok(rules)
}

/// The pairs of `rules`, each with its JSON pointer.
fn pairs<'a>(members: &Members<'a>) -> Result<Vec<(String, &'a Value, &'a Value)>> {
    let pair = |(at, rule): (String, &'a Value)| match rule.as_array().map(Vec::as_slice) {
        Some([pattern, format]) => Ok((at, pattern, format)),
        _ => Err(bad(at, "a rule is a list of a pattern and a format")),
    };
    members.full_list("rules")?.into_iter().map(pair).collect()
}

/// The token of a token format.
fn token_format(members: &Members<'_>) -> Result<NamedToken> {
    members.only(&["type", "token"])?;
    if members.text("type")? != "token" {
        let message = "a tag begins and ends with a text, or with an object of the type `token`";
        return Err(members.bad("type", message));
    }
    token(members.member("token")?, members.at("token"))
}
