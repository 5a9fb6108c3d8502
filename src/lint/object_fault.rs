//! Explains the rejection of a JSON object by its members: one that is repeated, or required ones
//! that are missing.
//!
//! A matcher rejects a byte: the `}` of an object that lacks a member, or the end of a key that was
//! written before. Taken alone, "`}`, expected `,`" helps nobody; this module reads the text before
//! the byte and the schema's `required` keywords around it, and names the members:
//!
//! ```
//! use maskwright::lint::ObjectFault;
//! let schema = serde_json::json!({"required": ["name", "age"]});
//! let text = br#"{"name": "Grace"}"#;
//! let fault = ObjectFault::find(text, text.len() - 1, &["/required"], &schema).unwrap();
//! assert_eq!(fault.to_string(), "the object lacks the required member `age` (at /required)");
//! ```
//!
//! It explains, and decides nothing: whether a text is rejected, and where, is the matcher's word.

mod scanner;

use std::fmt;

use rustc_hash::FxHashSet;
use serde_json::Value;

use crate::error::{listed, shortened};

pub use scanner::enclosing_content;

use scanner::{ObjectKeys, object_around};

/// A fault of an object in a rejected text. Displayed as a clause without a final full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectFault {
    /// JSON pointer of the object in the text.
    pub object: String,
    /// Kind of the fault, with the names of the members.
    pub kind: ObjectFaultKind,
}

/// Kind of an [`ObjectFault`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectFaultKind {
    /// The object has a member of this name already.
    Repeats(String),
    /// The object lacks members that the schema requires.
    Lacks {
        /// The missing members of each `required` keyword.
        missing: Vec<MissingMembers>,
        /// Whether all of these keywords apply.
        certainty: Certainty,
    },
}

/// The members of one `required` keyword that an object lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingMembers {
    /// JSON pointer of the `required` keyword in the schema.
    pub keyword: String,
    /// Names of the missing members, in the order of the keyword.
    pub names: Vec<String>,
}

/// Whether the keywords of an [`ObjectFault`] apply to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// All of them do.
    Certain,
    /// One or another does, as alternatives of a union or conditions hold.
    OneOfSeveral,
}

/// Greatest number of alternatives that a message lists, each of which lacks something.
const MAX_LISTED_ALTERNATIVES: usize = 5;

/// Reference tokens of JSON pointers after which a schema need not apply.
const BRANCHES: [&str; 7] = ["anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];

/// Reference tokens of JSON pointers after which a schema applies to a value inside.
const INSIDE: [&str; 10] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "$defs",
    "definitions",
];

impl ObjectFault {
    /// The fault of the object that ends at a rejected byte, or in which a key ends there. `keywords`
    /// are the JSON pointers of the keywords that the matcher is reading
    /// ([`Expected::sources`](crate::Expected::sources)). `None` if neither members nor keys are at
    /// fault.
    pub fn find(text: &[u8], byte: usize, keywords: &[&str], schema: &Value) -> Option<Self> {
        let (object, keys) = match object_around(text, byte)? {
            (object, ObjectKeys::Repeated(name)) => {
                return Some(Self { object, kind: ObjectFaultKind::Repeats(name) });
            }
            (object, ObjectKeys::All(keys)) => (object, keys.into_iter().collect::<FxHashSet<_>>()),
        };
        let missing = |keyword: &&str| {
            let required = schema.pointer(keyword)?.as_array()?;
            let names = required.iter().filter_map(Value::as_str);
            let names = names.filter(|name| !keys.contains(*name)).map(str::to_owned).collect();
            Some(MissingMembers { keyword: (*keyword).to_owned(), names })
        };
        let required = keywords.iter().filter(|keyword| keyword.ends_with("/required"));
        let (branches, certain): (Vec<_>, Vec<_>) =
            required.partition(|keyword| is_in_branch(keyword, keywords));
        let certain: Vec<_> = certain
            .into_iter()
            .filter_map(missing)
            .filter(|missing| !missing.names.is_empty())
            .collect();
        if !certain.is_empty() {
            let kind = ObjectFaultKind::Lacks { missing: certain, certainty: Certainty::Certain };
            return Some(Self { object, kind });
        }
        let missing: Vec<_> = branches.into_iter().filter_map(missing).collect();
        // Where one of several alternatives lacks nothing, something else is wrong.
        let explains = !missing.is_empty() && missing.iter().all(|m| !m.names.is_empty());
        let kind = ObjectFaultKind::Lacks { missing, certainty: Certainty::OneOfSeveral };
        explains.then_some(Self { object, kind })
    }

    /// Names of the missing members, each once.
    pub fn missing_names(&self) -> Vec<&str> {
        let missing = match &self.kind {
            ObjectFaultKind::Lacks { missing, .. } => &missing[..],
            ObjectFaultKind::Repeats(_) => &[],
        };
        let mut seen = FxHashSet::default();
        let all = missing.iter().flat_map(|missing| &missing.names).map(String::as_str);
        all.filter(|name| seen.insert(*name)).collect()
    }
}

impl fmt::Display for ObjectFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = match self.object.as_str() {
            "" => "the object".to_owned(),
            pointer => format!("the object at {}", shortened(pointer)),
        };
        let (missing, certainty) = match &self.kind {
            ObjectFaultKind::Repeats(name) => {
                return write!(f, "{object} has a member `{}` already", shortened(name));
            }
            ObjectFaultKind::Lacks { missing, certainty } => (missing, certainty),
        };
        match certainty {
            Certainty::Certain => {
                let names = self.missing_names();
                let members = if names.len() == 1 { "member" } else { "members" };
                let keywords = listed(missing.iter().map(|missing| &missing.keyword));
                let names = quoted(&names);
                write!(f, "{object} lacks the required {members} {names} (at {keywords})")
            }
            Certainty::OneOfSeveral => {
                let alternatives = missing.iter().take(MAX_LISTED_ALTERNATIVES).map(|missing| {
                    format!("{} (at {})", quoted(&missing.names), shortened(&missing.keyword))
                });
                let alternatives = alternatives.collect::<Vec<_>>().join(" or ");
                let more = if missing.len() > MAX_LISTED_ALTERNATIVES { " or …" } else { "" };
                write!(f, "perhaps {object} lacks {alternatives}{more}")
            }
        }
    }
}

/// Names in backticks, as a message lists them.
fn quoted<S: AsRef<str>>(names: &[S]) -> String {
    listed(names.iter().map(|name| format!("`{}`", shortened(name.as_ref()))))
}

/// Whether a keyword belongs to one of several alternatives, for the value that it speaks of or for
/// a value around it.
fn is_in_branch(pointer: &str, keywords: &[&str]) -> bool {
    let own = pointer.split('/').rev().take_while(|part| !INSIDE.contains(part));
    if own.into_iter().any(|part| BRANCHES.contains(&part)) {
        return true;
    }
    keywords.iter().any(|other| {
        let both = pointer.split('/').zip(other.split('/'));
        let shared = both.take_while(|(a, b)| a == b).last();
        shared.is_some_and(|(last, _)| matches!(last, "anyOf" | "oneOf"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_lacking_is_named() {
        let schema = json!({"properties": {"a/b": {"items": {"required": ["x", "y", "z"]}}}});
        let required = "/properties/a~1b/items/required";
        let sources = ["/properties/a~1b/items/properties", required, "/type"];
        let find = |text: &str, mark: &str| {
            let byte = text.find(mark)?;
            ObjectFault::find(text.as_bytes(), byte, &sources, &schema)
        };
        let lacks = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let missing = vec![MissingMembers { keyword: required.to_owned(), names }];
            let kind = ObjectFaultKind::Lacks { missing, certainty: Certainty::Certain };
            Some(ObjectFault { object: "/a~1b/1".into(), kind })
        };
        for (text, mark, expected) in [
            (r#"{"a/b": [{}, {"y": "}"  }]}"#, " }", lacks(&["x", "z"])),
            (r#"{"a/b": [{}, {"y": "}"  }]}"#, "}]", lacks(&["x", "z"])),
            (r#"{"a/b": [{}, {}]}"#, "}]", lacks(&["x", "y", "z"])),
            // Others come later.
            (r#"{"a/b": [{}, {"y": [{"z": 1}], "x": 2}]}"#, "y\"", lacks(&["z"])),
            // A value is wrong, or the text is cut off.
            (r#"{"a/b": [{}, {"y": "v"}]}"#, "v", None),
            (r#"{"a/b": [{}, {"y": 1"#, "1", None),
            (r#"{"a/b": [{}, {"y": 1, "#, ", ", None),
            (r#"{"a/b": [{}, {"x": 1, "y": 2, "z": 3}]}"#, "}]", None),
        ] {
            assert_eq!(find(text, mark), expected, "{text} at {mark}");
        }
    }

    #[test]
    fn a_member_that_comes_twice_is_named() {
        for (text, byte, expected) in [
            (r#"{"a": 1, "\u0061": 2"#, 15, Some(("", "a"))),
            (r#"{"a": [{"b": 1, "a": 2, "b""#, 26, Some(("/a/0", "b"))),
            (r#"{"a": [{"b": 1, "a": 2, "b""#, 18, None),
            // Not the key, but its value is wrong.
            (r#"{"a": 1, "a": 2}"#, 14, None),
        ] {
            let found = ObjectFault::find(text.as_bytes(), byte, &[], &json!({}));
            let expected = expected.map(|(object, name)| ObjectFault {
                object: object.into(),
                kind: ObjectFaultKind::Repeats(name.into()),
            });
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn all_that_is_required_together_is_named() {
        let schema = json!({"required": ["a"], "allOf": [{"required": ["b", "a"]}],
            "oneOf": [{"required": ["c"]}, {"required": ["d"]}]});
        let find = |text: &str, sources: &str| {
            let byte = text.find('}')?;
            let sources: Vec<&str> = sources.split(' ').collect();
            Some(ObjectFault::find(text.as_bytes(), byte, &sources, &schema)?.to_string())
        };
        let all = "/required /allOf/0/required /oneOf/0/required /oneOf/1/required";
        let one = "the object lacks the required member";
        for (text, sources, expected) in [
            ("{}", all, Some(format!("{one}s `a`, `b` (at /required, /allOf/0/required)"))),
            (r#"{"a": 1}"#, all, Some(format!("{one} `b` (at /allOf/0/required)"))),
            (
                r#"{"a": 1, "b": 2}"#,
                all,
                Some(
                    "perhaps the object lacks `c` (at /oneOf/0/required) or `d` (at \
                     /oneOf/1/required)"
                        .into(),
                ),
            ),
            // Something else is wrong.
            (r#"{"a": 1, "b": 2, "d": 3}"#, all, None),
            (
                "{}",
                "/oneOf/1/required /type",
                Some("perhaps the object lacks `d` (at /oneOf/1/required)".into()),
            ),
        ] {
            assert_eq!(find(text, sources), expected, "{text} {sources}");
        }
        let around = ["/anyOf/0/properties/p/required", "/anyOf/1/properties/p/type"];
        assert!(is_in_branch(around[0], &around));
        assert!(!is_in_branch(around[0], &around[..1]));
    }
}
