//! Drafts of JSON Schema: which keyword means what in which of them.

use crate::json_schema::string::byte_texts::{CHOICES_FROM, QUOTE_FROM};

/// A draft, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Draft {
    /// draft-04, where exclusive bounds are booleans and `1.0` is no integer.
    Draft4,
    /// draft-06.
    Draft6,
    /// draft-07.
    Draft7,
    /// 2019-09.
    Draft201909,
    /// 2020-12.
    Draft202012,
}

impl Draft {
    /// The URIs by which `$schema` names the drafts, oldest first.
    pub(crate) const URIS: [&'static str; 5] = [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ];

    /// The draft that a `$schema` names, if it is one of the five.
    pub(crate) fn from_uri(uri: &str) -> Option<Self> {
        let uri = uri.trim_end_matches('#');
        let uri = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"))?;
        Some(match uri.strip_prefix("json-schema.org/")?.trim_end_matches('/') {
            "draft-04/schema" => Self::Draft4,
            "draft-06/schema" => Self::Draft6,
            "draft-07/schema" => Self::Draft7,
            "draft/2019-09/schema" => Self::Draft201909,
            "draft/2020-12/schema" => Self::Draft202012,
            _ => return None,
        })
    }
}

/// The draft that a schema is read by, and whether it says so itself: where it does not, keywords
/// of older drafts that 2020-12 does not define keep their old meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SchemaDialect {
    pub(crate) draft: Draft,
    pub(crate) declared: bool,
    /// Those that a metaschema of its own names; `None`: all of the draft.
    pub(crate) vocabularies: Option<Vocabularies>,
}

/// A set of vocabularies (2019-09 and 2020-12 Core, section 8.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Vocabularies(u8);

impl Vocabularies {
    const APPLICATOR: u8 = 1;
    const UNEVALUATED: u8 = 1 << 1;
    const VALIDATION: u8 = 1 << 2;
    const FORMAT: u8 = 1 << 3;
    const FORMAT_ASSERTION: u8 = 1 << 4;

    /// Adds a vocabulary by its URI; false if there is none with that URI.
    pub(crate) fn add(&mut self, uri: &str) -> bool {
        let name =
            ["https://json-schema.org/draft/2019-09/", "https://json-schema.org/draft/2020-12/"]
                .into_iter()
                .find_map(|draft| uri.strip_prefix(draft));
        self.0 |= match name.and_then(|name| name.strip_prefix("vocab/")) {
            Some("core" | "meta-data" | "content") => 0,
            // 2019-09 has no vocabulary of its own for them.
            Some("applicator") if uri.contains("2019-09") => Self::APPLICATOR | Self::UNEVALUATED,
            Some("applicator") => Self::APPLICATOR,
            Some("unevaluated") => Self::UNEVALUATED,
            Some("validation") => Self::VALIDATION,
            Some("format" | "format-annotation") => Self::FORMAT,
            Some("format-assertion") => Self::FORMAT | Self::FORMAT_ASSERTION,
            _ => return false,
        };
        true
    }

    fn has(self, vocabulary: u8) -> bool {
        self.0 & vocabulary != 0
    }

    /// The vocabulary that a keyword belongs to, if it constrains values.
    fn of(keyword: &str) -> Option<u8> {
        Some(match keyword {
            "allOf"
            | "anyOf"
            | "oneOf"
            | "not"
            | "if"
            | "then"
            | "else"
            | "dependentSchemas"
            | "prefixItems"
            | "items"
            | "additionalItems"
            | "contains"
            | "properties"
            | "patternProperties"
            | "additionalProperties"
            | "propertyNames" => Self::APPLICATOR,
            "unevaluatedItems" | "unevaluatedProperties" => Self::UNEVALUATED,
            "type" | "enum" | "const" | "multipleOf" | "maximum" | "exclusiveMaximum"
            | "minimum" | "exclusiveMinimum" | "maxLength" | "minLength" | "pattern"
            | "maxItems" | "minItems" | "uniqueItems" | "maxContains" | "minContains"
            | "maxProperties" | "minProperties" | "required" | "dependentRequired" => {
                Self::VALIDATION
            }
            "format" => Self::FORMAT,
            _ => return None,
        })
    }
}

impl SchemaDialect {
    pub(crate) const UNDECLARED: Self =
        Self { draft: Draft::Draft202012, declared: false, vocabularies: None };

    pub(crate) fn declared(draft: Draft) -> Self {
        Self { draft, declared: true, vocabularies: None }
    }

    /// Whether the metaschema asserts formats, whatever the caller says.
    pub(crate) fn asserts_formats(self) -> bool {
        self.vocabularies.is_some_and(|known| known.has(Vocabularies::FORMAT_ASSERTION))
    }

    /// Whether the dialect defines the keyword. (draft-04 to 2020-12, unless said otherwise below.)
    pub(crate) fn knows(self, keyword: &str) -> bool {
        use Draft::*;
        let (first, last) = match keyword {
            "id" => (Draft4, Draft4),
            "$id" | "const" | "contains" | "propertyNames" => (Draft6, Draft202012),
            "if" | "then" | "else" => (Draft7, Draft202012),
            "$anchor"
            | "dependentRequired"
            | "dependentSchemas"
            | "minContains"
            | "maxContains"
            | "unevaluatedItems"
            | "unevaluatedProperties" => (Draft201909, Draft202012),
            "$recursiveRef" | "$recursiveAnchor" => (Draft201909, Draft201909),
            "prefixItems" | "$dynamicRef" | "$dynamicAnchor" => (Draft202012, Draft202012),
            "additionalItems" => (Draft4, Draft201909),
            _ => (Draft4, Draft202012),
        };
        let of_draft = !self.declared || (first..=last).contains(&self.draft);
        of_draft
            && self.vocabularies.is_none_or(|v| Vocabularies::of(keyword).is_none_or(|k| v.has(k)))
    }

    /// Whether `$ref` hides the keywords beside it.
    pub(crate) fn reference_stands_alone(self) -> bool {
        self.declared && self.draft <= Draft::Draft7
    }

    /// Whether `items` may be an array of schemas.
    pub(crate) fn items_may_be_array(self) -> bool {
        !self.declared || self.draft <= Draft::Draft201909
    }

    /// Whether `exclusiveMinimum` may be a boolean (and, in draft 4, nothing else).
    pub(crate) fn exclusive_may_be_boolean(self) -> bool {
        !self.declared || self.draft == Draft::Draft4
    }

    /// Whether `unevaluatedItems` counts items that `contains` finds as evaluated.
    pub(crate) fn contains_evaluates(self) -> bool {
        self.draft != Draft::Draft201909
    }

    /// Whether `1.0` is an integer.
    pub(crate) fn integers_may_have_points(self) -> bool {
        self.draft != Draft::Draft4
    }
}

/// Whether a keyword, of some draft or of this crate, may take values away.
pub(crate) fn constrains(keyword: &str) -> bool {
    let refers = matches!(keyword, "$ref" | "$dynamicRef" | "$recursiveRef" | "dependencies");
    refers || matches!(keyword, QUOTE_FROM | CHOICES_FROM) || Vocabularies::of(keyword).is_some()
}

/// The place of schemas in the value of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubschemaPosition {
    /// One schema.
    Schema,
    /// An array of schemas.
    List,
    /// An object whose values are schemas.
    Map,
    /// A schema or an array of them.
    SchemaOrList,
}

/// The place of schemas in the value of a keyword of any draft, if it holds any.
pub(crate) fn subschema_position(keyword: &str) -> Option<SubschemaPosition> {
    Some(match keyword {
        "additionalProperties"
        | "additionalItems"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contains"
        | "propertyNames"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contentSchema" => SubschemaPosition::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => SubschemaPosition::List,
        "properties" | "patternProperties" | "definitions" | "$defs" | "dependentSchemas"
        | "dependencies" => SubschemaPosition::Map,
        "items" => SubschemaPosition::SchemaOrList,
        _ => return None,
    })
}
