//! Where a `$ref` leads: base URIs, `$id`, anchors and JSON pointers within the document.
//!
//! Nothing is ever fetched; a reference to a document that is not at hand is an error.

use rustc_hash::FxHashMap;

use super::document::{Document, Value, ValueId};
use super::draft::{Dialect, Draft, Holds, holds};
use crate::error::{ErrorKind, Result};

/// All identifiers of one document, found on first need.
#[derive(Clone, Debug, Default)]
pub(super) struct References {
    draft: Option<Draft>,
    index: Option<Index>,
}

#[derive(Clone, Debug, Default)]
struct Index {
    /// Roots of resources by absolute URI without fragment.
    resources: FxHashMap<String, ValueId>,
    /// Anchors by the root of their resource.
    anchors: FxHashMap<(ValueId, String), ValueId>,
}

impl References {
    /// With the draft that the caller prescribes for schemas that name none.
    pub(super) fn new(draft: Option<Draft>) -> Self {
        Self { draft, index: None }
    }

    /// The dialect in force at a schema: that of the innermost resource that names one.
    pub(super) fn dialect(&self, document: &Document, schema: ValueId) -> Dialect {
        let mut at = Some(schema);
        while let Some(id) = at {
            let named = document.get(id, "$schema").and_then(|uri| document.string(uri));
            if let Some(draft) = named.and_then(Draft::from_uri) {
                return Dialect::declared(draft);
            }
            at = document.parent(id);
        }
        self.draft.map_or(Dialect::UNDECLARED, Dialect::declared)
    }

    /// The `$id` of a schema that makes it a resource of its own.
    fn own_id<'d>(&self, document: &'d Document, schema: ValueId) -> Option<&'d str> {
        let members = document.members(schema)?;
        if members.get("$id").is_none() && members.get("id").is_none() {
            return None;
        }
        let dialect = self.dialect(document, schema);
        if dialect.reference_stands_alone() && members.get("$ref").is_some() {
            return None;
        }
        let keyword = if dialect.knows("$id") { "$id" } else { "id" };
        let id = members.get(keyword).or_else(|| members.get("id").filter(|_| dialect.knows("id")));
        let id = document.string(id?)?;
        (!id.starts_with('#')).then_some(id)
    }

    /// The root of the resource that a schema belongs to, and the URI of that resource.
    fn resource(&self, document: &Document, schema: ValueId) -> (ValueId, String) {
        let mut ids = Vec::new();
        let (mut root, mut at) = (None, schema);
        loop {
            if let Some(id) = self.own_id(document, at) {
                root.get_or_insert(at);
                ids.push(id);
            }
            match document.parent(at) {
                Some(parent) => at = parent,
                None => break,
            }
        }
        let uri = ids.iter().rev().fold(String::new(), |base, id| join(&base, id));
        let uri = uri.split('#').next().unwrap_or_default().to_owned();
        (root.unwrap_or(at), uri)
    }

    /// The schema that the reference text `at` (the value of a `$ref`) leads to.
    pub(super) fn resolve(&mut self, document: &Document, at: ValueId) -> Result<ValueId> {
        let Some(reference) = document.string(at) else {
            return Err(document.error(ErrorKind::Schema, at, "a reference must be a string"));
        };
        // The reference is the value of a keyword, so it has a schema around it.
        let schema = document.parent(at).unwrap_or_else(|| document.root());
        let (own_root, base) = self.resource(document, schema);
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let root = if uri.is_empty() {
            own_root
        } else {
            let uri = join(&base, uri);
            let index = self.index(document);
            match index.resources.get(&uri) {
                Some(&root) => root,
                None => {
                    let message = format!("the reference leads to `{uri}`, which is not supplied");
                    return Err(document.error(ErrorKind::Schema, at, message).with_help(
                        "put the schema into this document, under `$defs`; nothing is fetched",
                    ));
                }
            }
        };
        let Some(fragment) = percent_decoded(fragment) else {
            let message = format!("`{reference}` is not a well-formed URI reference");
            return Err(document.error(ErrorKind::Schema, at, message));
        };
        let target = if fragment.is_empty() || fragment.starts_with('/') {
            document.at_pointer(root, &fragment)
        } else {
            let index = self.index(document);
            index.anchors.get(&(root, fragment.clone())).copied()
        };
        target.ok_or_else(|| {
            let message = format!("the reference `{reference}` leads nowhere");
            document.error(ErrorKind::Schema, at, message)
        })
    }

    fn index(&mut self, document: &Document) -> &Index {
        if self.index.is_none() {
            self.index = Some(self.build_index(document));
        }
        self.index.get_or_insert_default()
    }

    fn build_index(&self, document: &Document) -> Index {
        let mut index = Index::default();
        let (_, uri) = self.resource(document, document.root());
        index.resources.insert(uri, document.root());
        let mut open = vec![document.root()];
        while let Some(schema) = open.pop() {
            let Some(members) = document.members(schema) else { continue };
            let dialect = self.dialect(document, schema);
            if self.own_id(document, schema).is_some() {
                let (root, uri) = self.resource(document, schema);
                index.resources.entry(uri).or_insert(root);
            }
            let fragment = ["$id", "id"].into_iter().filter(|k| dialect.knows(k)).find_map(|k| {
                document.string(members.get(k)?)?.split_once('#').map(|(_, fragment)| fragment)
            });
            let anchors = ["$anchor", "$dynamicAnchor"].into_iter().filter(|k| dialect.knows(k));
            let anchors = anchors.filter_map(|k| document.string(members.get(k)?));
            for anchor in anchors.chain(fragment).filter(|a| !a.is_empty()) {
                let (root, _) = self.resource(document, schema);
                index.anchors.entry((root, anchor.to_owned())).or_insert(schema);
            }
            for (keyword, value) in members.iter() {
                match (holds(keyword), document.value(value)) {
                    (Some(Holds::Map), Value::Object(map)) => {
                        open.extend(map.iter().map(|(_, child)| child));
                    }
                    (Some(Holds::List | Holds::SchemaOrList), Value::Array(items)) => {
                        open.extend(items.iter().copied());
                    }
                    (Some(Holds::Schema | Holds::SchemaOrList), Value::Object(_)) => {
                        open.push(value);
                    }
                    _ => {}
                }
            }
        }
        index
    }
}

/// `%41` to `A`; `None` if an escape is broken or the bytes are not UTF-8.
fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(first);
        }
    }
    String::from_utf8(bytes).ok()
}

/// The parts of a URI that joining needs (RFC 3986, appendix B).
struct Parts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
}

fn parts(uri: &str) -> Parts<'_> {
    let uri = uri.split('#').next().unwrap_or_default();
    let (rest, query) = match uri.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (uri, None),
    };
    let (scheme, rest) = match rest.split_once(':') {
        Some((scheme, rest))
            if scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) =>
        {
            (Some(scheme), rest)
        }
        _ => (None, rest),
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            (Some(&rest[..end]), &rest[end..])
        }
        None => (None, rest),
    };
    Parts { scheme, authority, path, query }
}

/// Resolves a reference against a base (RFC 3986, section 5.2), without its fragment.
fn join(base: &str, reference: &str) -> String {
    let (b, r) = (parts(base), parts(reference));
    let (scheme, authority, path, query) = if r.scheme.is_some() {
        (r.scheme, r.authority, without_dots(r.path), r.query)
    } else if r.authority.is_some() {
        (b.scheme, r.authority, without_dots(r.path), r.query)
    } else if r.path.is_empty() {
        (b.scheme, b.authority, b.path.to_owned(), r.query.or(b.query))
    } else if r.path.starts_with('/') {
        (b.scheme, b.authority, without_dots(r.path), r.query)
    } else {
        let folder = match b.path.rfind('/') {
            Some(end) => &b.path[..=end],
            None if b.authority.is_some() => "/",
            None => "",
        };
        (b.scheme, b.authority, without_dots(&format!("{folder}{}", r.path)), r.query)
    };
    let mut uri = String::new();
    if let Some(scheme) = scheme {
        uri += &format!("{scheme}:");
    }
    if let Some(authority) = authority {
        uri += &format!("//{authority}");
    }
    uri += &path;
    if let Some(query) = query {
        uri += &format!("?{query}");
    }
    uri
}

fn without_dots(path: &str) -> String {
    if !path.contains("./") && !path.ends_with('.') {
        return path.to_owned();
    }
    let mut kept: Vec<&str> = Vec::new();
    let last = path.split('/').next_back().unwrap_or_default();
    for segment in path.split('/') {
        match segment {
            "." => {}
            ".." if kept.len() > 1 => {
                kept.pop();
            }
            ".." => {}
            segment => kept.push(segment),
        }
    }
    if last == "." || last == ".." {
        kept.push("");
    }
    kept.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_follows_rfc_3986_section_5_4() {
        let base = "http://a/b/c/d;p?q";
        let table = [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("", "http://a/b/c/d;p?q"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../../../g", "http://a/g"),
            ("urn:x:y", "urn:x:y"),
        ];
        for (reference, uri) in table {
            assert_eq!(join(base, reference), uri, "{reference}");
        }
        assert_eq!(join("", "item.json"), "item.json");
        assert_eq!(join("http://h", "item.json"), "http://h/item.json");
    }

    #[test]
    fn references_lead_to_pointers_ids_and_anchors() {
        let d = Document::parse(
            r##"{"$id": "http://x/root.json", "$defs": {
                "a": {"$id": "a.json", "$defs": {"b": {"$anchor": "here"}}, "not": {"$ref": "#here"}},
                "c/d": {"$ref": "a.json#/$defs/b"}, "e": {"$ref": "#/$defs/c~1d"},
                "f": {"$ref": "#/%24defs/e"}, "g": {"$ref": "http://x/root.json"},
                "h": {"$ref": "other.json"}, "i": {"$ref": "#here"}}}"##,
        )
        .unwrap();
        let mut references = References::default();
        let mut leads = |from: &str| {
            let at = d.at_pointer(d.root(), &format!("{from}/$ref")).unwrap();
            references.resolve(&d, at).map(|to| d.pointer(to)).map_err(|e| e.message().to_owned())
        };
        assert_eq!(leads("/$defs/a/not").unwrap(), "/$defs/a/$defs/b");
        assert_eq!(leads("/$defs/c~1d").unwrap(), "/$defs/a/$defs/b");
        assert_eq!(leads("/$defs/e").unwrap(), "/$defs/c~1d");
        assert_eq!(leads("/$defs/f").unwrap(), "/$defs/e");
        assert_eq!(leads("/$defs/g").unwrap(), "");
        assert!(leads("/$defs/h").unwrap_err().contains("`http://x/other.json`"));
        assert!(leads("/$defs/i").unwrap_err().contains("nowhere"));
    }
}
