//! Findings about one keyword by itself: its effect, its draft, its cost; and the order of members.

use super::finding::FindingKind;
use super::linter::Linter;
use super::mistakes::quoted_list;
use super::{effects, foreign};
use crate::json_schema::document::draft::{Draft, SchemaDialect};
use crate::json_schema::document::hints::{TYPES, nearest};
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::number::decimal::Decimal;
use crate::json_schema::options::{OneOf, PropertyOrder};
use crate::json_schema::string::format::{BESIDE_PATTERNS, FORMATS, Format, format, is_beyond};

/// Counts from which on a bound costs memory: every count is a state.
const LARGE_COUNT: u32 = 10_000;

/// Alternatives from which on following them in parallel costs time.
const COSTLY_ALTERNATIVES: usize = 20;

impl Linter<'_> {
    /// The effect of one keyword. Whether it has one on the values that are accepted.
    pub(super) fn keyword(
        &mut self,
        schema: ValueId,
        keyword: &str,
        value: ValueId,
        dialect: SchemaDialect,
    ) -> bool {
        let Some(effect) = effects::effect(keyword) else {
            self.unknown_keyword(schema, keyword, value);
            return false;
        };
        if !dialect.knows(keyword) {
            let message = format!("`{keyword}` is not a keyword of the schema's draft");
            self.find(value, FindingKind::Ignored, message);
            return false;
        }
        if let Some(message) = self.of_another_type(schema, keyword) {
            self.find(value, FindingKind::Hint, message);
            return false;
        }
        let has = |other: &str| self.document.get(schema, other).is_some();
        let lonely = match keyword {
            "then" | "else" if !has("if") => Some("`if`"),
            "if" if !has("then") && !has("else") => Some("`then` or `else`"),
            "minContains" | "maxContains" if !has("contains") => Some("`contains`"),
            "additionalItems" => {
                let tuple = self.document.get(schema, "items");
                let tuple =
                    tuple.is_some_and(|at| matches!(self.document.value(at), Value::Array(_)));
                (!tuple).then_some("an array of `items`")
            }
            _ => None,
        };
        if let Some(other) = lonely {
            let message = format!("`{keyword}` has no effect without {other}");
            self.find(value, FindingKind::Ignored, message);
            return false;
        }
        if keyword == "$schema" {
            self.draft(value);
            return true;
        }
        match (self.effect_of_value(schema, keyword, value), effect) {
            (Some((kind, words)), _) => {
                self.find(value, kind, format!("`{keyword}` {words}"));
            }
            (None, effects::Effect::Says(words)) => {
                self.find(value, FindingKind::Annotation, format!("`{keyword}` {words}"));
            }
            (None, effects::Effect::Enforces(words)) if keyword == "format" => {
                self.format(schema, value, words, dialect);
            }
            (None, effects::Effect::Enforces(words)) => {
                self.find(value, FindingKind::Enforced, format!("`{keyword}` {words}"));
            }
        }
        // Later drafts ask that nobody give it another meaning (2020-12 metaschema).
        let kept = keyword == "dependencies" && dialect.draft >= Draft::Draft201909;
        if (!dialect.declared || kept)
            && let Some(today) = self.counterpart_today(keyword, value)
        {
            let since = if dialect.declared {
                ""
            } else {
                ", since the schema names no draft in `$schema`"
            };
            let message = format!(
                "`{keyword}` is of an older draft and keeps its old meaning{since}; in 2020-12 \
                 {today}"
            );
            self.find(value, FindingKind::Hint, message);
        }
        if let Some(words) = self.cost(keyword, value) {
            self.find(value, FindingKind::Cost, words);
        }
        // What such a schema asks for is not enforced.
        keyword != "contentSchema"
    }

    /// The effect of a keyword that has another one than usual by its value, by a keyword beside it, or by an
    /// option.
    fn effect_of_value(
        &self,
        schema: ValueId,
        keyword: &str,
        value: ValueId,
    ) -> Option<(FindingKind, &'static str)> {
        let is_zero = |at| match self.document.value(at) {
            Value::Number(literal) => {
                Decimal::parse(literal).is_some_and(|n| n.to_count() == Some(0))
            }
            _ => false,
        };
        match keyword {
            "uniqueItems" if matches!(self.document.value(value), Value::Bool(false)) => {
                Some((FindingKind::Annotation, "is false: items may come twice"))
            }
            "contains" if self.document.get(schema, "minContains").is_some_and(is_zero) => {
                let words = "need not hold for any item, since `minContains` is 0";
                Some((FindingKind::Enforced, words))
            }
            "oneOf" if self.options.one_of == OneOf::AtLeast => {
                let words = "leaves all of its schemas open until the text decides between them, as \
                             `anyOf` does: so the option says";
                Some((FindingKind::Enforced, words))
            }
            _ => None,
        }
    }

    /// A keyword that no draft has.
    fn unknown_keyword(&mut self, schema: ValueId, keyword: &str, value: ValueId) {
        let document = self.document;
        if keyword == "x-guidance" && schema == document.root() {
            let message = "`x-guidance` sets how JSON is written, as in llguidance";
            return self.find(value, FindingKind::Annotation, message);
        }
        let message = format!("`{keyword}` is a keyword of no draft, and has no effect");
        if let Some(words) = foreign::instead(keyword) {
            return self.find(value, FindingKind::Hint, format!("{message}; {words}"));
        }
        let known = effects::KEYWORDS.iter().map(|(known, _)| *known);
        if let Some(near) = nearest(keyword, known) {
            let message = format!("{message}: did you mean `{near}`?");
            return self.find(value, FindingKind::Hint, message);
        }
        // A keyword that references lead into may have any name.
        let led_into = |text: &str| {
            let rest = text.strip_prefix("#/").and_then(|pointer| pointer.strip_prefix(keyword));
            rest.is_some_and(|rest| rest.starts_with('/') || rest.is_empty())
        };
        let root = schema == document.root();
        if root && document.strings().any(led_into) {
            let message = format!("`{keyword}` is a keyword of no draft; references lead into it");
            return self.find(value, FindingKind::Annotation, message);
        }
        if foreign::looks_like_a_schema(document, value) && !keyword.starts_with("x-") {
            let message = format!("{message}: did you mean to put it into `properties`?");
            return self.find(value, FindingKind::Hint, message);
        }
        self.find(value, FindingKind::Ignored, message);
    }

    /// A message about a keyword for values of a type that `type` beside it does not allow.
    fn of_another_type(&self, schema: ValueId, keyword: &str) -> Option<String> {
        let wanted = effects::constrained_type(keyword)?;
        let types = self.types(schema)?;
        if types.is_empty()
            || types.iter().any(|name| !TYPES.contains(name))
            || types.iter().any(|name| *name == wanted || (wanted, *name) == ("number", "integer"))
        {
            return None;
        }
        let names: Vec<String> = types.iter().map(|name| format!("`{name}`")).collect();
        let message = format!(
            "`{keyword}` looks at values of the type `{wanted}` alone, and `type` is {}: it has no \
             effect",
            names.join(" or ")
        );
        Some(match (wanted, &types[..]) {
            ("object", ["array"]) => format!("{message}; did you mean to put it into `items`?"),
            ("number" | "array", ["string"]) if keyword.starts_with("min") => {
                format!("{message}; did you mean `minLength`?")
            }
            ("number" | "array", ["string"]) if keyword.starts_with("max") => {
                format!("{message}; did you mean `maxLength`?")
            }
            ("number" | "string", ["array"]) if keyword.starts_with("min") => {
                format!("{message}; did you mean `minItems`?")
            }
            ("number" | "string", ["array"]) if keyword.starts_with("max") => {
                format!("{message}; did you mean `maxItems`?")
            }
            ("string", ["integer" | "number"]) if keyword == "minLength" => {
                format!("{message}; did you mean `minimum`?")
            }
            ("string", ["integer" | "number"]) if keyword == "maxLength" => {
                format!("{message}; did you mean `maximum`?")
            }
            ("array", ["object"]) => format!("{message}; did you mean `\"type\": \"array\"`?"),
            _ => message,
        })
    }

    /// The counterpart in draft 2020-12 of a keyword that only older drafts have, or have with such
    /// a value.
    fn counterpart_today(&self, keyword: &str, value: ValueId) -> Option<&'static str> {
        Some(match (keyword, self.document.value(value)) {
            ("id", _) => "it is `$id`",
            ("definitions", _) => "it is `$defs`",
            ("dependencies", _) => "it is `dependentRequired` or `dependentSchemas`",
            ("additionalItems", _) => "it is `items` beside `prefixItems`",
            ("items", Value::Array(_)) => "a list of schemas for the first items is `prefixItems`",
            ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(_)) => "it is the bound itself",
            _ => return None,
        })
    }

    /// The draft that `$schema` names.
    fn draft(&mut self, at: ValueId) {
        match self.unknown_draft(at) {
            Some(message) => self.find(at, FindingKind::Hint, message),
            None => {
                let message = "`$schema` names the draft that the schema is read by";
                self.find(at, FindingKind::Annotation, message);
            }
        }
    }

    /// A message about a `$schema` that names no known draft.
    pub(super) fn unknown_draft(&self, at: ValueId) -> Option<String> {
        let document = self.document;
        let uri = document.string(at).unwrap_or_default();
        let supplied = |uri: &str| document.supplied().any(|(supplied, _)| supplied == uri);
        if Draft::from_uri(uri).is_some() || supplied(uri.trim_end_matches('#')) {
            return None;
        }
        let message = format!(
            "`$schema` is `{uri}`, which is no draft from 4 to 2020-12 and no metaschema that is \
             supplied, so the schema is read as if it named none"
        );
        Some(match nearest(uri, Draft::URIS.into_iter()) {
            Some(near) => format!("{message}: did you mean `{near}`?"),
            None => message,
        })
    }

    /// The order in which the members of an object are written.
    pub(super) fn member_order(&mut self, schema: ValueId) {
        let Some(at) = self.document.get(schema, "properties") else { return };
        let Some(properties) = self.document.members(at).filter(|p| p.len() > 1) else { return };
        if self.options.property_order == PropertyOrder::Any {
            return;
        }
        let names: Vec<&str> = properties.iter().map(|(key, _)| key).collect();
        let listed = quoted_list(&names);
        let message = if self.is_closed(schema) {
            format!("members are written in the order of the schema: {listed}")
        } else {
            format!(
                "members are written in the order of the schema: {listed}; then others that are \
                 required, then the rest"
            )
        };
        self.find(at, FindingKind::Order, message);
    }

    /// The effect of `format`; `words` say what it enforces.
    pub(super) fn format(
        &mut self,
        schema: ValueId,
        at: ValueId,
        words: &str,
        dialect: SchemaDialect,
    ) {
        let Some(name) = self.document.string(at) else { return };
        match format(name) {
            Format::Unknown => {
                let message = format!("the format `{name}` is not known, and not enforced");
                match nearest(name, FORMATS.iter().copied()) {
                    Some(near) => {
                        let message = format!("{message}: did you mean `{near}`?");
                        self.find(at, FindingKind::Hint, message);
                    }
                    None => match foreign::format_instead(name) {
                        Some(words) => {
                            self.find(at, FindingKind::Hint, format!("{message}; {words}"));
                        }
                        None => self.find(at, FindingKind::Ignored, message),
                    },
                }
            }
            _ if is_beyond(name, |keyword| self.has(schema, keyword)) => {
                let beside = BESIDE_PATTERNS.iter().find(|keyword| self.has(schema, keyword));
                let beside = match (name, beside) {
                    ("regex", Some(keyword)) => format!(" beside `{keyword}`"),
                    _ => String::new(),
                };
                let message = format!("the format `{name}` is not enforced{beside}");
                self.find(at, FindingKind::Ignored, message);
            }
            Format::Texts(_) if self.options.formats || dialect.asserts_formats() => {
                let but = match name {
                    "idn-email" => ", but that its host may have any characters beyond ASCII",
                    "hostname" => {
                        ", but for labels with `--` in the third and fourth place (`xn--…`), which \
                         are refused"
                    }
                    _ => "",
                };
                self.find(at, FindingKind::Enforced, format!("`format` {words}{but}"));
            }
            _ => {
                let message = format!("the format `{name}` is a remark under these options");
                self.find(at, FindingKind::Annotation, message);
            }
        }
    }

    /// The reason that a keyword is slow, if it is.
    fn cost(&self, keyword: &str, at: ValueId) -> Option<String> {
        match (keyword, self.document.value(at)) {
            ("uniqueItems", Value::Bool(true)) => Some(
                "items are compared with all that came before: the longer the array, the more \
                 there is to remember"
                    .into(),
            ),
            (
                "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
                | "maxProperties",
                Value::Number(literal),
            ) => {
                let count = Decimal::parse(literal)?.to_count()?;
                (count >= LARGE_COUNT).then(|| {
                    format!(
                        "counting to {count} keeps as many states; without a bound there are few"
                    )
                })
            }
            ("oneOf" | "anyOf", Value::Array(branches))
                if branches.len() >= COSTLY_ALTERNATIVES =>
            {
                Some(format!(
                    "{} alternatives stay open until the text decides between them: a member \
                     with a `const` of its own in each, written first, decides soonest",
                    branches.len()
                ))
            }
            ("pattern", Value::String(pattern)) if pattern.contains("(?") => {
                let look = ["(?=", "(?!", "(?<=", "(?<!"];
                look.iter().any(|look| pattern.contains(look)).then(|| {
                    "looking ahead or behind is exact, and multiplies the states of the pattern"
                        .into()
                })
            }
            _ => None,
        }
    }
}
