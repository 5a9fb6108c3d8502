//! Which members an object of a rejected text lacks: more than the byte says where it ends.

use serde_json::{Value, json};

/// An object that lacks members that the schema requires.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Missing {
    /// JSON pointer of the object in the text.
    object: String,
    names: Vec<String>,
    /// JSON pointer of `required` in the schema.
    keyword: String,
}

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
        let lacking = |source: &String| {
            let keyword = source.split(", ").find(|pointer| pointer.ends_with("/required"))?;
            let required = schema.pointer(keyword)?.as_array()?;
            let names = required.iter().filter_map(Value::as_str);
            let names = names.filter(|name| !keys.iter().any(|key| key == name));
            Some((keyword.to_owned(), names.map(str::to_owned).collect::<Vec<String>>()))
        };
        let all: Vec<(String, Vec<String>)> = sources.iter().filter_map(lacking).collect();
        // Where one of several alternatives lacks none, something else is wrong.
        let known = all.iter().all(|(_, names)| !names.is_empty());
        let (keyword, names) = all.into_iter().next().filter(|_| known)?;
        Some(Self { object, names, keyword })
    }

    pub(super) fn describe(&self) -> String {
        let object = match self.object.as_str() {
            "" => "the object".to_owned(),
            pointer => format!("the object at {pointer}"),
        };
        let names: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        let members = if names.len() == 1 { "member" } else { "members" };
        format!("{object} lacks the required {members} {} (at {})", names.join(", "), self.keyword)
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "object": self.object, "names": self.names, "keyword": self.keyword })
    }
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
            Some(Missing { object: "/a~1b/1".into(), names, keyword: required.into() })
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
}
