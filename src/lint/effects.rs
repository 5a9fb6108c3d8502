//! What each keyword does to generation.

use super::{FindingKind, Linter, foreign};
use crate::json_schema::document::draft::Dialect;
use crate::json_schema::document::hints::nearest;
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::number::decimal::Decimal;
use crate::json_schema::string::format::{BESIDE_PATTERNS, FORMATS, Format, format, is_beyond};

/// Counts from here on are felt: what is counted is told apart by its number.
const LARGE_COUNT: u32 = 10_000;

/// Alternatives from here on are felt.
const MANY_ALTERNATIVES: usize = 20;

/// What a keyword does, said after its name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effect {
    Enforces(&'static str),
    Says(&'static str),
}

use Effect::{Enforces, Says};

/// The keywords of all drafts.
pub(crate) const KEYWORDS: &[(&str, Effect)] = &[
    ("type", Enforces("decides with which byte the value may begin")),
    ("enum", Enforces("leaves the listed values alone, in the spelling and order listed")),
    ("const", Enforces("leaves one value")),
    ("multipleOf", Enforces("keeps the remainder of the digits while a number is written")),
    ("maximum", Enforces("compares digit by digit while a number is written")),
    ("exclusiveMaximum", Enforces("compares digit by digit while a number is written")),
    ("minimum", Enforces("compares digit by digit while a number is written")),
    ("exclusiveMinimum", Enforces("compares digit by digit while a number is written")),
    ("maxLength", Enforces("counts the characters (code points) of strings")),
    ("minLength", Enforces("counts the characters (code points) of strings")),
    ("pattern", Enforces("is matched somewhere in the string, unless it has `^` and `$`")),
    ("x-quote-from", Enforces("leaves what is quoted from the given text")),
    ("format", Enforces("is enforced exactly as its RFC says")),
    ("items", Enforces("applies to the items")),
    ("prefixItems", Enforces("applies to the first items, one by one")),
    ("additionalItems", Enforces("applies to the items after those of `items`")),
    ("contains", Enforces("must hold for some item")),
    ("maxContains", Enforces("counts the items that `contains` holds for")),
    ("minContains", Enforces("counts the items that `contains` holds for")),
    ("maxItems", Enforces("counts the items")),
    ("minItems", Enforces("counts the items")),
    ("uniqueItems", Enforces("remembers the items, so that none comes twice")),
    ("properties", Enforces("applies to the members with these names")),
    ("patternProperties", Enforces("applies to members whose names match")),
    ("additionalProperties", Enforces("applies to members with no other name")),
    ("propertyNames", Enforces("applies to the names of members")),
    ("required", Enforces("names members that must come")),
    ("dependentRequired", Enforces("names members that must come if another does")),
    ("dependentSchemas", Enforces("applies to the whole object if a member comes")),
    ("dependencies", Enforces("applies to the whole object if a member comes")),
    ("maxProperties", Enforces("counts the members")),
    ("minProperties", Enforces("counts the members")),
    ("allOf", Enforces("intersects all of its schemas before anything is written")),
    ("anyOf", Enforces("leaves all of its schemas open until the text decides between them")),
    ("oneOf", Enforces("leaves the values of exactly one of its schemas")),
    ("not", Enforces("leaves the values that its schema does not accept")),
    ("if", Enforces("decides between `then` and `else`")),
    ("then", Enforces("applies to values that `if` accepts")),
    ("else", Enforces("applies to values that `if` does not accept")),
    ("unevaluatedItems", Enforces("applies to items that no other keyword has looked at")),
    ("unevaluatedProperties", Enforces("applies to members that no other keyword has looked at")),
    ("$ref", Enforces("applies the schema that it leads to")),
    ("$dynamicRef", Enforces("applies the schema that it leads to on this way through the schema")),
    (
        "$recursiveRef",
        Enforces("applies the schema that it leads to on this way through the schema"),
    ),
    ("$schema", Says("names the draft that the schema is read by")),
    ("$id", Says("names the schema; references start from here")),
    ("id", Says("names the schema; references start from here")),
    ("$anchor", Says("names the schema for references")),
    ("$dynamicAnchor", Says("names the schema for references, dynamic ones too")),
    ("$recursiveAnchor", Says("lets recursive references lead further out")),
    ("$vocabulary", Says("counts in metaschemas alone")),
    ("$defs", Says("holds schemas for references")),
    ("definitions", Says("holds schemas for references")),
    ("$comment", Says("is for people")),
    ("title", Says("is for people, and for the prompt")),
    ("description", Says("is for people, and for the prompt")),
    ("default", Says("is not written by itself: what is left out stays out")),
    ("examples", Says("is for people, and for the prompt")),
    ("deprecated", Says("is for people")),
    ("readOnly", Says("is for people: read-only members are written all the same")),
    ("writeOnly", Says("is for people")),
    ("contentEncoding", Says("is not enforced: the string may hold anything")),
    ("contentMediaType", Says("is not enforced: the string may hold anything")),
    ("contentSchema", Says("is not enforced: the string may hold anything")),
];

/// The type of values that a keyword looks at, if it looks at one type alone.
pub(crate) fn looks_at(keyword: &str) -> Option<&'static str> {
    Some(match keyword {
        "properties"
        | "required"
        | "additionalProperties"
        | "patternProperties"
        | "minProperties"
        | "maxProperties"
        | "propertyNames"
        | "dependentRequired"
        | "dependentSchemas"
        | "dependencies"
        | "unevaluatedProperties" => "object",
        "items" | "prefixItems" | "additionalItems" | "minItems" | "maxItems" | "uniqueItems"
        | "contains" | "minContains" | "maxContains" | "unevaluatedItems" => "array",
        "minLength" | "maxLength" | "pattern" | "format" => "string",
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => "number",
        _ => return None,
    })
}

/// What a keyword does, if any draft has it.
pub(crate) fn effect(keyword: &str) -> Option<Effect> {
    KEYWORDS.iter().find(|(known, _)| *known == keyword).map(|(_, effect)| *effect)
}

impl Linter<'_> {
    pub(crate) fn format(&mut self, schema: ValueId, at: ValueId, words: &str, dialect: Dialect) {
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
                    "hostname" | "email" | "idn-email" => {
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

    /// Why a keyword would be slow.
    pub(crate) fn cost(&self, keyword: &str, at: ValueId) -> Option<String> {
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
            ("oneOf" | "anyOf", Value::Array(branches)) if branches.len() >= MANY_ALTERNATIVES => {
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
