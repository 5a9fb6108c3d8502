//! Structural tags in the JSON of XGrammar and vLLM, as a grammar.

use serde_json::{Map, Value, json};

use super::tags::{Tag, TagBody, TaggedText, Tags};
use crate::constraint::Compiler;
use crate::ebnf::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::{Grammar, GrammarBuilder, NodeId};
use crate::json_schema::Schema;
use crate::regular::{Anchoring, Language, Triggers, Utf8, any_text};

/// The grammar of a structural tag: `{"type": "structural_tag", "format": …}`, or the older
/// `{"structures": [{"begin", "schema", "end"}], "triggers": […]}`.
///
/// A format is one of `const_string`, `json_schema`, `regex`, `grammar`, `any_text`, `sequence`,
/// `or`, `tag`, `triggered_tags` and `tags_with_separator`, with XGrammar's members. Text of
/// `any_text`, and the free text of `triggered_tags`, holds none of its `excludes`, and within a tag
/// not the tag's end. Tags with `at_least_one` begin the text at once, and with `stop_after_first`
/// the first one ends it. Other members may have the value that changes nothing, as XGrammar's
/// classes write all of theirs. JSON is by the compiler's options, and grammars are GBNF unless they
/// look like Lark.
///
/// Errors name the place by a JSON pointer.
pub fn structural_tag(value: &Value, compiler: &Compiler) -> Result<Grammar> {
    let mut object = TagObject { members: as_object(value, "")?, at: String::new() };
    if let Some(kind) = object.members.get("type")
        && kind != "structural_tag"
    {
        return Err(bad("/type", "the type is not \"structural_tag\""));
    }
    if object.members.contains_key("structures") || object.members.contains_key("triggers") {
        object.only(&["type", "structures", "triggers"], &[])?;
        return older(&object, compiler);
    }
    object.only(&["type", "format"], &[])?;
    let format = object.member("format")?;
    object.at.push_str("/format");
    let mut reader = TagReader { builder: GrammarBuilder::new(), compiler };
    let node = reader.format(format, &object.at, None)?;
    let start = reader.builder.rule("structural tag", node);
    reader.builder.finish(start)
}

/// The grammar of the older form, with `structures` and `triggers`.
fn older(object: &TagObject<'_>, compiler: &Compiler) -> Result<Grammar> {
    let mut tags = Vec::new();
    for (at, value) in object.list("structures")? {
        let structure = TagObject::new(value, &at)?;
        structure.only(&["begin", "schema", "end"], &[])?;
        tags.push(Tag {
            begin: structure.text("begin")?.to_owned(),
            body: TagBody::Json(structure.member("schema")?.clone()),
            end: structure.text("end")?.to_owned(),
        });
    }
    let triggers = object.texts("triggers")?;
    Tags { triggers, tags, at_least_one: false, at_most_one: false }
        .grammar(compiler.json_options())
}

/// Builder of the grammar.
struct TagReader<'a> {
    builder: GrammarBuilder,
    compiler: &'a Compiler,
}

impl TagReader<'_> {
    /// A format; `end` is the text that ends the tag around it.
    fn format(&mut self, value: &Value, at: &str, end: Option<&[String]>) -> Result<NodeId> {
        let object = TagObject::new(value, at)?;
        let kind = object.text("type")?;
        match kind {
            "const_string" => {
                object.only(&["type", "value"], &[])?;
                Ok(self.builder.literal(object.text("value")?.as_bytes()))
            }
            "json_schema" => {
                object.only(
                    &["type", "json_schema"],
                    &[
                        ("style", json!("json")),
                        ("any_order", json!(false)),
                        ("max_whitespace_cnt", Value::Null),
                    ],
                )?;
                let schema = Schema::from_value(object.member("json_schema")?)?;
                self.embed(schema.grammar(self.compiler.json_options()))
            }
            "regex" => {
                object.only(&["type", "pattern"], &[("excludes", json!([]))])?;
                let grammar =
                    self.compiler.regex_grammar(object.text("pattern")?, Anchoring::Whole);
                self.embed(grammar.map_err(|error| error.at_pointer(format!("{at}/pattern"))))
            }
            "grammar" => {
                object.only(&["type", "grammar"], &[])?;
                let text = object.text("grammar")?;
                let dialect = Dialect::guess(text).unwrap_or(Dialect::Gbnf);
                let grammar = self.compiler.parse_grammar(text, dialect);
                self.embed(grammar.map_err(|error| error.at_pointer(format!("{at}/grammar"))))
            }
            "any_text" => {
                object.only(
                    &["type", "excludes"],
                    &[("max_tokens", Value::Null), ("max_chars", Value::Null)],
                )?;
                let mut without = match object.members.contains_key("excludes") {
                    true => object.texts("excludes")?,
                    false => Vec::new(),
                };
                without.extend(end.unwrap_or_default().iter().cloned());
                let language = self.text_without(&without);
                Ok(self.builder.regular(language))
            }
            "sequence" | "or" => {
                object.only(&["type", "elements"], &[])?;
                let elements = object.list("elements")?;
                let last = elements.len().saturating_sub(1);
                let mut parts = Vec::with_capacity(elements.len());
                for (i, (at, element)) in elements.iter().enumerate() {
                    let end = end.filter(|_| kind == "or" || i == last);
                    parts.push(self.format(element, at, end)?);
                }
                match kind {
                    "or" if parts.is_empty() => Err(bad(at, "there is nothing to choose from")),
                    "or" => Ok(self.builder.choice(parts)),
                    _ => Ok(self.builder.sequence(parts)),
                }
            }
            "tag" => self.tag(&object, ""),
            "triggered_tags" => self.triggered(&object, end.unwrap_or_default()),
            "tags_with_separator" => self.separated(&object),
            _ => Err(bad(format!("{at}/type"), format!("`{kind}` is no format that is supported"))
                .with_help(
                    "known are const_string, json_schema, regex, grammar, any_text, sequence, or, \
                     tag, triggered_tags and tags_with_separator",
                )),
        }
    }

    /// A tag whose beginning is written already as far as `written`.
    fn tag(&mut self, object: &TagObject<'_>, written: &str) -> Result<NodeId> {
        object.only(&["type", "begin", "content", "end"], &[])?;
        let begin = object.text("begin")?;
        let ends = match object.member("end")? {
            Value::String(end) => vec![end.clone()],
            _ => object.texts("end")?,
        };
        // An empty end ends nothing.
        let real = ends.iter().all(|end| !end.is_empty()).then_some(&ends[..]);
        let content = object.member("content")?;
        let content = self.format(content, &format!("{}/content", object.at), real)?;
        let begin_left = self.builder.literal(&begin.as_bytes()[written.len()..]);
        let ends: Vec<NodeId> =
            ends.iter().map(|end| self.builder.literal(end.as_bytes())).collect();
        let end = self.builder.choice(ends);
        let whole = self.builder.sequence([begin_left, content, end]);
        Ok(self.builder.mark(whole, format!("tag `{begin}`")))
    }

    /// Free text, and tags where one of the triggers was written. Free text holds none of the
    /// `excludes` and none of `ends`, which end the tag around it.
    fn triggered(&mut self, object: &TagObject<'_>, ends: &[String]) -> Result<NodeId> {
        object.only(
            &["type", "triggers", "tags", "at_least_one", "stop_after_first", "excludes"],
            &[],
        )?;
        let names = object.texts("triggers")?;
        let mut stops = names.clone();
        if object.members.contains_key("excludes") {
            stops.extend(object.texts("excludes")?);
        }
        stops.extend_from_slice(ends);
        // The heads of the triggers come first.
        let triggers = Triggers::new(self.builder.languages(), &stops)?;
        let mut tags = Vec::new();
        for (at, tag) in object.list("tags")? {
            let tag = TagObject::new(tag, &at)?;
            let begin = tag.text("begin")?;
            let found =
                names.iter().enumerate().filter(|(_, name)| begin.starts_with(name.as_str()));
            let Some((number, name)) = found.max_by_key(|(_, name)| name.len()) else {
                return Err(bad(
                    format!("{at}/begin"),
                    format!("`{begin}` begins with no trigger"),
                ));
            };
            tags.push((number, self.tag(&tag, name)?));
        }
        let (least, first) = (object.flag("at_least_one")?, object.flag("stop_after_first")?);
        let text = TaggedText { triggers: &triggers, tags, names: &names };
        Ok(text.node(&mut self.builder, least, first))
    }

    /// Tags and nothing else, with a text between them.
    fn separated(&mut self, object: &TagObject<'_>) -> Result<NodeId> {
        object.only(&["type", "tags", "separator", "at_least_one", "stop_after_first"], &[])?;
        let mut tags = Vec::new();
        for (at, tag) in object.list("tags")? {
            tags.push(self.tag(&TagObject::new(tag, &at)?, "")?);
        }
        let tag = self.builder.choice(tags);
        let mut all = vec![tag];
        if !object.flag("stop_after_first")? {
            let separator = self.builder.literal(object.text("separator")?.as_bytes());
            let more = self.builder.sequence([separator, tag]);
            all.push(self.builder.repeat(more, 0, None));
        }
        let all = self.builder.sequence(all);
        let least = u32::from(object.flag("at_least_one")?);
        Ok(self.builder.repeat(all, least, Some(1)))
    }

    fn text_without(&mut self, texts: &[String]) -> Language {
        let languages = self.builder.languages();
        let text = any_text(languages, &Utf8);
        if texts.is_empty() {
            return text;
        }
        let any = languages.literals(texts.iter().map(String::as_bytes));
        let holds = languages.concat([text, any, text]);
        languages.difference(text, holds)
    }

    fn embed(&mut self, grammar: Result<Grammar>) -> Result<NodeId> {
        let rule = self.builder.embed(&grammar?)?;
        Ok(self.builder.call(rule))
    }
}

/// An object of a structural tag, with its JSON pointer for errors.
struct TagObject<'a> {
    members: &'a Map<String, Value>,
    at: String,
}

impl<'a> TagObject<'a> {
    fn new(value: &'a Value, at: &str) -> Result<Self> {
        Ok(Self { members: as_object(value, at)?, at: at.to_owned() })
    }

    /// Errors if there is a member that is neither known nor a default that changes nothing:
    /// XGrammar's classes write all their members.
    fn only(&self, known: &[&str], defaults: &[(&str, Value)]) -> Result<()> {
        for (key, value) in self.members {
            if known.contains(&key.as_str()) {
                continue;
            }
            let at = format!("{}/{key}", self.at);
            match defaults.iter().find(|(name, _)| name == key) {
                Some((_, default)) if value == default => {}
                Some((_, default)) => {
                    let message = format!("`{key}` is not supported with the value {value}");
                    let help = format!("leave it out, which means {default}");
                    return Err(bad(at, message).with_help(help));
                }
                None => return Err(bad(at, format!("`{key}` is not supported here"))),
            }
        }
        Ok(())
    }

    fn member(&self, key: &str) -> Result<&'a Value> {
        self.members.get(key).ok_or_else(|| bad(self.at.as_str(), format!("`{key}` is missing")))
    }

    fn text(&self, key: &str) -> Result<&'a str> {
        let wrong = || bad(format!("{}/{key}", self.at), format!("`{key}` is a text"));
        self.member(key)?.as_str().ok_or_else(wrong)
    }

    fn flag(&self, key: &str) -> Result<bool> {
        let wrong = || bad(format!("{}/{key}", self.at), format!("`{key}` is true or false"));
        self.members.get(key).map_or(Some(false), Value::as_bool).ok_or_else(wrong)
    }

    /// The items of a list, each with its JSON pointer.
    fn list(&self, key: &str) -> Result<Vec<(String, &'a Value)>> {
        let at = format!("{}/{key}", self.at);
        let Some(list) = self.member(key)?.as_array() else {
            return Err(bad(at, format!("`{key}` is a list")));
        };
        Ok(list.iter().enumerate().map(|(i, item)| (format!("{at}/{i}"), item)).collect())
    }

    fn texts(&self, key: &str) -> Result<Vec<String>> {
        let text = |(at, item): (String, &Value)| match item.as_str() {
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            _ => Err(bad(at, "this is a text, and not an empty one")),
        };
        self.list(key)?.into_iter().map(text).collect()
    }
}

fn as_object<'a>(value: &'a Value, at: &str) -> Result<&'a Map<String, Value>> {
    value.as_object().ok_or_else(|| bad(at, "a structural tag is made of JSON objects"))
}

fn bad(at: impl Into<String>, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Request, message.into()).at_pointer(at.into())
}
