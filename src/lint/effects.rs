//! The table of keywords: the effect of each on generation, in words.

/// The effect of a keyword, in words that follow its name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Effect {
    /// Texts that break the keyword are never written.
    Enforces(&'static str),
    /// The keyword is for people or for references.
    Says(&'static str),
}

use Effect::{Enforces, Says};

/// The keywords of all drafts.
pub(super) const KEYWORDS: &[(&str, Effect)] = &[
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
    ("x-choices-from", Enforces("leaves the texts of the list of this name")),
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

/// The type of values that a keyword constrains, if it is one type alone.
pub(super) fn constrained_type(keyword: &str) -> Option<&'static str> {
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

/// The effect of a keyword, if any draft has it.
pub(super) fn effect(keyword: &str) -> Option<Effect> {
    KEYWORDS.iter().find(|(known, _)| *known == keyword).map(|(_, effect)| *effect)
}

/// Whether a `$ref` beside it hides a keyword, in drafts in which references stand alone. What says nothing of
/// values is still found: `$schema` names the draft, and references lead into `definitions`.
pub(super) fn is_hidden_by_reference(keyword: &str) -> bool {
    match effect(keyword) {
        Some(Enforces(_)) => keyword != "$ref",
        Some(Says(_)) => matches!(keyword, "$id" | "id"),
        None => false,
    }
}
