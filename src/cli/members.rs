//! What is wrong with the members of an object of a rejected text: more than the byte says where
//! it ends, or where a key does.

use rustc_hash::FxHashSet;
use serde_json::{Value, json};

use crate::error::{listed, shortened};

/// What is wrong with an object.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// JSON pointer of the object in the text.
    object: String,
    kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// It has a member of this name already.
    Repeats(String),
    /// It lacks members that the schema requires.
    Lacks {
        /// By JSON pointer of `required` in the schema.
        lacking: Vec<(String, Vec<String>)>,
        /// Are all of these required, or those of one alternative or another?
        certain: bool,
    },
}

/// The most alternatives that a message names, each of which lacks something.
const WAYS: usize = 5;

/// Parts of JSON pointers behind which a schema need not apply.
const BRANCHES: [&str; 7] = ["anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];

/// Parts of JSON pointers behind which a schema applies to a value inside.
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

impl Fault {
    /// What is wrong at a byte that is not accepted: the object ends there, or a key stands there.
    /// `sources` are the keywords that are being read, as JSON pointers.
    pub(super) fn find(
        text: &[u8],
        byte: usize,
        sources: &[String],
        schema: &Value,
    ) -> Option<Self> {
        let (object, keys) = match object_around(text, byte)? {
            (object, Keys::Repeated(name)) => {
                return Some(Self { object, kind: Kind::Repeats(name) });
            }
            (object, Keys::All(keys)) => (object, keys.into_iter().collect::<FxHashSet<_>>()),
        };
        let lacking = |pointer: &String| {
            let required = schema.pointer(pointer)?.as_array()?;
            let names = required.iter().filter_map(Value::as_str);
            let names = names.filter(|name| !keys.contains(*name));
            Some((pointer.clone(), names.map(str::to_owned).collect::<Vec<String>>()))
        };
        let required = sources.iter().filter(|pointer| pointer.ends_with("/required"));
        let (branches, certain): (Vec<_>, Vec<_>) =
            required.partition(|pointer| is_branch(pointer, sources));
        let certain: Vec<_> = certain
            .into_iter()
            .filter_map(lacking)
            .filter(|(_, names)| !names.is_empty())
            .collect();
        if !certain.is_empty() {
            return Some(Self { object, kind: Kind::Lacks { lacking: certain, certain: true } });
        }
        let lacking: Vec<_> = branches.into_iter().filter_map(lacking).collect();
        // Where one of several alternatives lacks none, something else is wrong.
        let known = !lacking.is_empty() && lacking.iter().all(|(_, names)| !names.is_empty());
        known.then_some(Self { object, kind: Kind::Lacks { lacking, certain: false } })
    }

    pub(super) fn describe(&self) -> String {
        let object = match self.object.as_str() {
            "" => "the object".to_owned(),
            pointer => format!("the object at {}", shortened(pointer)),
        };
        let (lacking, certain) = match &self.kind {
            Kind::Repeats(name) => {
                return format!("{object} has a member `{}` already", shortened(name));
            }
            Kind::Lacks { lacking, certain } => (lacking, *certain),
        };
        let quoted = |names: &[&String]| -> String {
            listed(names.iter().map(|name| format!("`{}`", shortened(name))))
        };
        if certain {
            let names = names(lacking);
            let members = if names.len() == 1 { "member" } else { "members" };
            let keywords: Vec<&str> = lacking.iter().map(|(at, _)| at.as_str()).collect();
            let (names, keywords) = (quoted(&names), listed(keywords));
            return format!("{object} lacks the required {members} {names} (at {keywords})");
        }
        let ways = lacking.iter().map(|(keyword, names)| {
            let names = quoted(&names.iter().collect::<Vec<_>>());
            format!("{names} (at {})", shortened(keyword))
        });
        let ways: Vec<String> = ways.take(WAYS + 1).collect();
        let more = if ways.len() > WAYS { " or …" } else { "" };
        let ways = ways[..ways.len().min(WAYS)].join(" or ");
        format!("perhaps {object} lacks {ways}{more}")
    }

    /// What `check --output json` calls it, and what it says of it.
    pub(super) fn to_json(&self) -> (&'static str, Value) {
        match &self.kind {
            Kind::Repeats(name) => ("repeated", json!({ "object": self.object, "name": name })),
            Kind::Lacks { lacking, certain } => {
                let said = json!({
                    "object": self.object,
                    "names": names(lacking),
                    "keyword": lacking.first().map(|(keyword, _)| keyword),
                    "certain": certain,
                });
                ("missing", said)
            }
        }
    }
}

/// Each once.
fn names(lacking: &[(String, Vec<String>)]) -> Vec<&String> {
    let mut seen = FxHashSet::default();
    let all = lacking.iter().flat_map(|(_, names)| names);
    all.filter(|name| seen.insert(*name)).collect()
}

/// Does a keyword belong to one of several alternatives for the value that it speaks of?
fn is_branch(pointer: &str, sources: &[String]) -> bool {
    let own = pointer.split('/').rev().take_while(|part| !INSIDE.contains(part));
    if own.into_iter().any(|part| BRANCHES.contains(&part)) {
        return true;
    }
    // Or for a value around it?
    sources.iter().any(|other| {
        let both = pointer.split('/').zip(other.split('/'));
        let shared = both.take_while(|(a, b)| a == b).last();
        shared.is_some_and(|(last, _)| matches!(last, "anyOf" | "oneOf"))
    })
}

/// Where the innermost array or object begins in which a byte stands; 0 if it stands in none.
pub(super) fn inside(text: &[u8], byte: usize) -> usize {
    let (mut open, mut at) = (vec![0], 0);
    while at < byte {
        let Some(length) = token_length(&text[at..]) else { break };
        if at + length > byte {
            break;
        }
        match text[at] {
            b'{' | b'[' => open.push(at + 1),
            b'}' | b']' if open.len() > 1 => {
                open.pop();
            }
            _ => {}
        }
        at += length;
    }
    open.pop().unwrap_or(0)
}

/// An array or object that is open at some place of a text.
struct Level {
    /// Of an object.
    keys: Option<Vec<String>>,
    /// Of an array: how many items stand before.
    items: usize,
    /// Is a key next?
    at_key: bool,
}

/// Reads JSON as far as its brackets and keys go.
struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
    open: Vec<Level>,
}

impl Scanner<'_> {
    /// Reads one token, of which a string is one.
    fn step(&mut self) -> Option<()> {
        let start = self.at;
        self.at += token_length(self.text.get(start..)?)?;
        match *self.text.get(start)? {
            b'{' => self.open.push(Level { keys: Some(Vec::new()), items: 0, at_key: true }),
            b'[' => self.open.push(Level { keys: None, items: 0, at_key: false }),
            b'}' | b']' => {
                self.open.pop();
            }
            b',' => {
                let level = self.open.last_mut()?;
                (level.items, level.at_key) = (level.items + 1, level.keys.is_some());
            }
            b'"' => {
                let text = &self.text[start..self.at];
                if let Some(Level { keys: Some(keys), at_key, .. }) = self.open.last_mut()
                    && std::mem::take(at_key)
                {
                    keys.push(serde_json::from_slice(text).ok()?);
                }
            }
            _ => {}
        }
        Some(())
    }
}

/// The keys of an object.
enum Keys {
    All(Vec<String>),
    /// At the byte stands one that came before.
    Repeated(String),
}

/// The pointer and the keys of the object that ends at a byte, or in which a key stands there.
fn object_around(text: &[u8], byte: usize) -> Option<(String, Keys)> {
    let mut scanner = Scanner { text, at: 0, open: Vec::new() };
    let mut pointer = String::new();
    let repeated: Option<String> = loop {
        let level = scanner.open.last();
        let rest = text.get(scanner.at..)?;
        let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let next = *rest.get(blank)?;
        // The token in which the byte stands, or before which.
        let length = token_length(&rest[blank..]).unwrap_or(rest.len());
        let ends = scanner.at + blank + length > byte;
        if ends {
            let keyed = level.is_some_and(|level| level.keys.is_some());
            let at_key = level.is_some_and(|level| level.at_key) && next == b'"';
            if !keyed || !(at_key || next == b'}') {
                return None;
            }
            let key = rest.get(blank..blank + length).filter(|_| at_key);
            let key = key.and_then(|key| serde_json::from_slice(key).ok());
            let before = level.and_then(|level| level.keys.as_ref());
            break key.filter(|key| before.is_some_and(|keys| keys.contains(key)));
        }
        scanner.at += blank;
        scanner.step()?;
    };
    let depth = scanner.open.len();
    for level in &scanner.open[..depth - 1] {
        let token = match &level.keys {
            Some(keys) => keys.last()?.replace('~', "~0").replace('/', "~1"),
            None => level.items.to_string(),
        };
        pointer += "/";
        pointer += &token;
    }
    if let Some(name) = repeated {
        return Some((pointer, Keys::Repeated(name)));
    }
    // Keys that come later are not lacking.
    loop {
        let last = scanner.open.len() == depth && scanner.text.get(scanner.at) == Some(&b'}');
        if last {
            return Some((pointer, Keys::All(scanner.open.pop()?.keys?)));
        }
        scanner.step()?;
    }
}

/// The length of the string at the start of a text that has an end, or of one byte.
fn token_length(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    if text.first()? == &b'"' {
        while *text.get(at)? != b'"' {
            at += if text[at] == b'\\' { 2 } else { 1 };
        }
        at += 1;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking_is_named() {
        let schema = json!({"properties": {"a/b": {"items": {"required": ["x", "y", "z"]}}}});
        let required = "/properties/a~1b/items/required";
        let sources = ["/properties/a~1b/items/properties", required, "/type"].map(str::to_owned);
        let find = |text: &str, mark: &str| {
            let byte = text.find(mark)?;
            Fault::find(text.as_bytes(), byte, &sources, &schema)
        };
        let lacks = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let lacking = vec![(required.to_owned(), names)];
            let kind = Kind::Lacks { lacking, certain: true };
            Some(Fault { object: "/a~1b/1".into(), kind })
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
            let found = Fault::find(text.as_bytes(), byte, &[], &json!({}));
            let expected = expected.map(|(object, name)| Fault {
                object: object.into(),
                kind: Kind::Repeats(name.into()),
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
            let sources: Vec<String> = sources.split(' ').map(str::to_owned).collect();
            Some(Fault::find(text.as_bytes(), byte, &sources, &schema)?.describe())
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
        assert!(is_branch(around[0], &around.map(str::to_owned)));
        assert!(!is_branch(around[0], &around[..1].iter().map(|&s| s.into()).collect::<Vec<_>>()));
    }

    #[test]
    fn brackets_around_are_found() {
        for (text, byte, expected) in [
            ("12", 1, 0),
            (r#"["[", {"a": []}, 1"#, 18, 1),
            (r#"{"a": [1, "x"#, 12, 7),
            ("[]", 0, 0),
        ] {
            assert_eq!(inside(text.as_bytes(), byte), expected, "{text}");
        }
    }
}
