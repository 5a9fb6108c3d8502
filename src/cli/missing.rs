//! Which members an object of a rejected text lacks: more than the byte says where it ends.

use serde_json::{Value, json};

/// An object that lacks members that the schema requires.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Missing {
    /// JSON pointer of the object in the text.
    object: String,
    names: Vec<String>,
    /// JSON pointers of each `required` in the schema that names one.
    keywords: Vec<String>,
}

/// Parts of JSON pointers behind which a schema need not apply.
const BRANCHES: [&str; 7] = ["anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];

impl Missing {
    /// What is lacking at a byte that is not accepted: the object ends there, or a key stands
    /// there. `sources` are the keywords that are being read, lists of JSON pointers.
    pub(super) fn find(
        text: &[u8],
        byte: usize,
        sources: &[String],
        schema: &Value,
    ) -> Option<Self> {
        let (object, keys) = object_around(text, byte)?;
        let all: Vec<Self> = sources
            .iter()
            .filter_map(|source| {
                let required = required(source);
                (!required.is_empty()).then(|| Self::among(&object, &keys, &required, schema))
            })
            .collect();
        // Where one of several alternatives lacks none, something else is wrong.
        let known = all.iter().all(|missing| !missing.names.is_empty());
        all.into_iter().next().filter(|_| known)
    }

    /// What the keywords at these pointers require, and none of the keys is.
    fn among(object: &str, keys: &[String], required: &[&str], schema: &Value) -> Self {
        let mut this = Self { object: object.to_owned(), names: vec![], keywords: vec![] };
        for &keyword in required {
            let names = schema.pointer(keyword).and_then(Value::as_array);
            let names = names.into_iter().flatten().filter_map(Value::as_str);
            let lacking: Vec<&str> = names.filter(|name| !keys.iter().any(|k| k == name)).collect();
            let known = this.names.len();
            for name in lacking {
                if !this.names.iter().any(|known| known == name) {
                    this.names.push(name.to_owned());
                }
            }
            if this.names.len() > known {
                this.keywords.push(keyword.to_owned());
            }
        }
        this
    }

    pub(super) fn describe(&self) -> String {
        let object = match self.object.as_str() {
            "" => "the object".to_owned(),
            pointer => format!("the object at {pointer}"),
        };
        let names: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        let members = if names.len() == 1 { "member" } else { "members" };
        let (names, keywords) = (names.join(", "), self.keywords.join(", "));
        format!("{object} lacks the required {members} {names} (at {keywords})")
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "object": self.object, "names": self.names, "keyword": self.keywords.first() })
    }
}

/// The pointers of `required` in a list of pointers that apply together; of branches that were
/// taken together only what applies in all.
fn required(source: &str) -> Vec<&str> {
    let pointers = || source.split(", ").filter(|pointer| pointer.ends_with("/required"));
    let first = pointers().next().unwrap_or_default();
    if pointers().count() < 2 {
        return pointers().collect();
    }
    // What all pointers begin with is the way to all of them; all begin with an empty part.
    let shared = pointers().fold(first.split('/').count(), |shared, pointer| {
        let parts = first.split('/').zip(pointer.split('/'));
        shared.min(parts.take_while(|(a, b)| a == b).count())
    });
    let may_not_apply =
        |pointer: &&str| pointer.split('/').skip(shared - 1).any(|part| BRANCHES.contains(&part));
    pointers().filter(|pointer| !may_not_apply(pointer)).collect()
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

/// The pointer and all keys of the object that ends at a byte, or in which a key stands there.
fn object_around(text: &[u8], byte: usize) -> Option<(String, Vec<String>)> {
    let mut scanner = Scanner { text, at: 0, open: Vec::new() };
    let mut pointer = String::new();
    loop {
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
            break;
        }
        scanner.at += blank;
        scanner.step()?;
    }
    let depth = scanner.open.len();
    for level in &scanner.open[..depth - 1] {
        let token = match &level.keys {
            Some(keys) => keys.last()?.replace('~', "~0").replace('/', "~1"),
            None => level.items.to_string(),
        };
        pointer += "/";
        pointer += &token;
    }
    // Keys that come later are not lacking.
    loop {
        let last = scanner.open.len() == depth && scanner.text.get(scanner.at) == Some(&b'}');
        if last {
            return Some((pointer, scanner.open.pop()?.keys?));
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
        let sources = [format!("/properties/a~1b/items/properties, {required}, /type")];
        let find = |text: &str, mark: &str| {
            let byte = text.find(mark)?;
            Missing::find(text.as_bytes(), byte, &sources, &schema)
        };
        let lacks = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let keywords = vec![required.to_owned()];
            Some(Missing { object: "/a~1b/1".into(), names, keywords })
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
    fn all_that_is_required_together_is_named() {
        let schema = json!({"required": ["a"], "allOf": [{"required": ["b", "a"]}],
            "oneOf": [{"required": ["c"]}, {"required": ["d"]}]});
        let find = |text: &str, source: &str| {
            let byte = text.find('}')?;
            let missing = Missing::find(text.as_bytes(), byte, &[source.to_owned()], &schema)?;
            Some(missing.describe())
        };
        let all = "/required, /allOf/0/required, /oneOf/0/required, /oneOf/1/required";
        for (text, source, expected) in [
            ("{}", all, Some("members `a`, `b` (at /required, /allOf/0/required)")),
            (r#"{"a": 1}"#, all, Some("member `b` (at /allOf/0/required)")),
            (r#"{"b": 1}"#, all, Some("member `a` (at /required)")),
            // Which branch is meant is not known.
            (r#"{"a": 1, "b": 2}"#, all, None),
            ("{}", "/oneOf/0/required, /oneOf/1/required", None),
            ("{}", "/oneOf/1/required", Some("member `d` (at /oneOf/1/required)")),
        ] {
            let expected =
                expected.map(|expected| format!("the object lacks the required {expected}"));
            assert_eq!(find(text, source), expected, "{text} {source}");
        }
    }
}
