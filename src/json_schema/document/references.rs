//! Resolution of references: base URIs, `$id`, anchors, JSON pointers and the dynamic scope.
//!
//! Nothing is ever fetched: references lead into the schema, into documents supplied with it, and
//! to the metaschemas. Identifiers are indexed when a reference first needs them.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::METASCHEMAS;
use super::draft::{Draft, SchemaDialect, SubschemaPosition, Vocabularies, subschema_position};
use super::hints;
use super::uri::{join, percent_decoded};
use crate::error::{ErrorKind, Result};
use crate::json_schema::document::{Document, Value, ValueId};

/// The dynamic scope: the resources passed on the way to a schema, as far as they matter. Equal
/// scopes have equal numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DynamicScope(u32);

impl DynamicScope {
    /// No resource with a dynamic anchor was passed.
    pub(crate) const EMPTY: Self = Self(0);
}

/// The name of a dynamic anchor, and its schema; `$recursiveAnchor` has no name of its own.
type DynamicAnchor = (Box<str>, ValueId);

/// The name under which a `$recursiveAnchor` is filed; no anchor can be called that.
const RECURSIVE: &str = "#";

/// All identifiers of one document, found on first need.
#[derive(Clone, Debug)]
pub(crate) struct References {
    draft: Option<Draft>,
    index: Option<IdentifierIndex>,
    /// Each scope: the outermost schema of each dynamic anchor, sorted by name.
    scopes: Vec<Box<[DynamicAnchor]>>,
    scope_ids: FxHashMap<Box<[DynamicAnchor]>, DynamicScope>,
    /// Scopes by the scope that they grew out of and the resource that was entered.
    entered: FxHashMap<(DynamicScope, ValueId), DynamicScope>,
}

#[derive(Clone, Debug, Default)]
struct IdentifierIndex {
    /// Roots of resources by absolute URI without fragment.
    resources: FxHashMap<String, ValueId>,
    /// Anchors by the root of their resource.
    anchors: FxHashMap<(ValueId, String), ValueId>,
    /// Dynamic anchors by the root of their resource.
    dynamic: FxHashMap<ValueId, Vec<DynamicAnchor>>,
}

/// Those of the metaschemas.
static BUILTIN: LazyLock<IdentifierIndex> = LazyLock::new(|| {
    let mut index = IdentifierIndex::default();
    let references = References::new(None);
    for (uri, root) in METASCHEMAS.supplied() {
        index.add(&references, &METASCHEMAS, uri.to_owned(), root);
    }
    index
});

/// The target of a reference before the dynamic scope is consulted.
struct Target {
    schema: ValueId,
    /// The anchor that it names, if it names one.
    anchor: Option<String>,
}

/// The cure for a reference to a document that is not there.
fn not_supplied(uri: &str) -> String {
    if uri.starts_with("file:") {
        return "supply its folder (`--resources DIR`), or put the schema into this one, under `$defs`"
            .into();
    }
    if uri.contains(':') {
        return "supply that document (`--resources` on the command line, `resources` in a request), \
                or put the schema into this one, under `$defs`; nothing is fetched"
            .into();
    }
    format!(
        "the schema has no URI that `{uri}` is relative to: give it an absolute `$id`, such as \
         https://example.org/schema.json, and supply the other document by its URI, or put it \
         into this one, under `$defs`"
    )
}

impl References {
    /// With the draft that the caller prescribes for schemas that name none.
    pub(crate) fn new(draft: Option<Draft>) -> Self {
        let none: Box<[DynamicAnchor]> = Box::default();
        Self {
            draft,
            index: None,
            scopes: vec![none.clone()],
            scope_ids: FxHashMap::from_iter([(none, DynamicScope::EMPTY)]),
            entered: FxHashMap::default(),
        }
    }

    /// The dialect in force at a schema: that of the innermost resource that names one. Documents
    /// supplied by the caller that name none are read as the schema that refers to them is.
    pub(crate) fn dialect(
        &mut self,
        document: &Document,
        schema: ValueId,
    ) -> Result<SchemaDialect> {
        if let Some((at, uri)) = self.metaschema(document, schema) {
            return match Draft::from_uri(uri) {
                Some(draft) => Ok(SchemaDialect::declared(draft)),
                None => self.custom(document, at, uri),
            };
        }
        if self.draft.is_none() && !schema.is_builtin() {
            let main = document.root();
            let supplied = document.supplied().any(|(_, root)| root == self.top(document, schema));
            if supplied && self.metaschema(document, main).is_some() {
                return self.dialect(document, main);
            }
        }
        Ok(self.draft.map_or(SchemaDialect::UNDECLARED, SchemaDialect::declared))
    }

    fn top(&self, document: &Document, mut at: ValueId) -> ValueId {
        while let Some(parent) = document.parent(at) {
            at = parent;
        }
        at
    }

    /// The innermost `$schema` that is in force at a schema.
    fn metaschema<'d>(
        &self,
        document: &'d Document,
        schema: ValueId,
    ) -> Option<(ValueId, &'d str)> {
        let mut at = schema;
        loop {
            let parent = document.parent(at);
            if let Some(named) = document.get(at, "$schema")
                && let Some(uri) = document.string(named)
                // `$schema` counts at the root of a resource only.
                && (parent.is_none()
                    || ["$id", "id"].iter().any(|k| document.get(at, k).is_some()))
                && (Draft::from_uri(uri).is_some() || self.knows_metaschema(document, uri))
            {
                return Some((named, uri));
            }
            at = parent?;
        }
    }

    /// Whether a metaschema that is of no draft is supplied.
    fn knows_metaschema(&self, document: &Document, uri: &str) -> bool {
        let uri = uri.trim_end_matches('#');
        document.supplied().any(|(supplied, _)| supplied == uri)
    }

    /// The dialect of a metaschema that is of no draft: the draft that it is written in, with the
    /// vocabularies that it names (2020-12 Core, section 8.1.2).
    fn custom(&mut self, document: &Document, at: ValueId, uri: &str) -> Result<SchemaDialect> {
        let uri = uri.trim_end_matches('#');
        let root = document.supplied().find(|&(supplied, _)| supplied == uri);
        let Some((_, root)) = root else { return Ok(SchemaDialect::UNDECLARED) };
        let own = document.get(root, "$schema").and_then(|uri| document.string(uri));
        let mut dialect = own
            .and_then(Draft::from_uri)
            .map_or(SchemaDialect::UNDECLARED, SchemaDialect::declared);
        dialect.declared = true;
        let Some(listed) = document.get(root, "$vocabulary").and_then(|v| document.members(v))
        else {
            return Ok(dialect);
        };
        if dialect.draft < Draft::Draft201909 {
            return Ok(dialect);
        }
        let mut known = Vocabularies::default();
        for (name, required) in listed.iter() {
            if !known.add(name) && matches!(document.value(required), Value::Bool(true)) {
                let message = format!(
                    "the metaschema `{uri}` requires the vocabulary `{name}`, which is not known"
                );
                return Err(document.error(ErrorKind::Schema, at, message));
            }
        }
        dialect.vocabularies = Some(known);
        Ok(dialect)
    }

    /// The draft of a schema, as far as finding its identifiers needs it.
    fn draft_of(&self, document: &Document, schema: ValueId) -> SchemaDialect {
        let declared = self.metaschema(document, schema).and_then(|(_, uri)| Draft::from_uri(uri));
        match declared.or(self.draft) {
            Some(draft) => SchemaDialect::declared(draft),
            None => SchemaDialect::UNDECLARED,
        }
    }

    /// The `$id` of a schema that makes it a resource of its own.
    fn own_id<'d>(&self, document: &'d Document, schema: ValueId) -> Option<&'d str> {
        let members = document.members(schema)?;
        if members.get("$id").is_none() && members.get("id").is_none() {
            return None;
        }
        let dialect = self.draft_of(document, schema);
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
        let base = document.base(at).unwrap_or_default().to_owned();
        let uri = ids.iter().rev().fold(base, |base, id| join(&base, id));
        let uri = uri.split('#').next().unwrap_or_default().to_owned();
        (root.unwrap_or(at), uri)
    }

    /// The root of the resource that a schema belongs to.
    fn resource_root(&self, document: &Document, schema: ValueId) -> ValueId {
        let mut at = schema;
        loop {
            if self.own_id(document, at).is_some() {
                return at;
            }
            match document.parent(at) {
                Some(parent) => at = parent,
                None => return at,
            }
        }
    }

    /// The schema that the reference text `at` (the value of a `$ref`) leads to.
    pub(crate) fn resolve(&mut self, document: &Document, at: ValueId) -> Result<ValueId> {
        Ok(self.target(document, at)?.schema)
    }

    /// The schema that the value of a `$dynamicRef` leads to in a scope (2020-12 Core, section
    /// 8.2.3.2): if it names a dynamic anchor, the outermost schema with that anchor.
    pub(crate) fn resolve_dynamic(
        &mut self,
        document: &Document,
        at: ValueId,
        scope: DynamicScope,
    ) -> Result<ValueId> {
        let Target { schema, anchor } = self.target(document, at)?;
        let dynamic = document.get(schema, "$dynamicAnchor").and_then(|a| document.string(a));
        match anchor {
            Some(anchor) if dynamic == Some(&anchor) => {
                Ok(self.outermost(scope, &anchor).unwrap_or(schema))
            }
            _ => Ok(schema),
        }
    }

    /// The schema that the value of a `$recursiveRef` leads to in a scope (2019-09 Core, section
    /// 8.2.4.2).
    pub(crate) fn resolve_recursive(
        &mut self,
        document: &Document,
        at: ValueId,
        scope: DynamicScope,
    ) -> Result<ValueId> {
        let Target { schema, .. } = self.target(document, at)?;
        if is_recursive(document, schema) {
            Ok(self.outermost(scope, RECURSIVE).unwrap_or(schema))
        } else {
            Ok(schema)
        }
    }

    fn outermost(&self, scope: DynamicScope, anchor: &str) -> Option<ValueId> {
        let anchors = &self.scopes[scope.0 as usize];
        let found = anchors.binary_search_by(|(name, _)| (**name).cmp(anchor)).ok()?;
        Some(anchors[found].1)
    }

    /// The scope in which a schema is read that is reached from `scope`.
    pub(crate) fn enter(
        &mut self,
        document: &Document,
        scope: DynamicScope,
        schema: ValueId,
    ) -> DynamicScope {
        if !document.is_dynamic(schema) {
            return DynamicScope::EMPTY;
        }
        let root = self.resource_root(document, schema);
        if let Some(&known) = self.entered.get(&(scope, root)) {
            return known;
        }
        let index = self.index_of(document, root);
        let new = index.dynamic.get(&root).cloned().unwrap_or_default();
        let mut anchors = self.scopes[scope.0 as usize].to_vec();
        for (name, target) in new {
            if let Err(place) = anchors.binary_search_by(|(known, _)| known.cmp(&name)) {
                anchors.insert(place, (name, target));
            }
        }
        let anchors: Box<[DynamicAnchor]> = anchors.into();
        let next = DynamicScope(self.scopes.len() as u32);
        let entered = *self.scope_ids.entry(anchors.clone()).or_insert(next);
        if entered == next {
            self.scopes.push(anchors);
        }
        self.entered.insert((scope, root), entered);
        entered
    }

    fn target(&mut self, document: &Document, at: ValueId) -> Result<Target> {
        let Some(reference) = document.string(at) else {
            return Err(document.error(ErrorKind::Schema, at, "a reference must be a string"));
        };
        // The reference is the value of a keyword, so it has a schema around it.
        let schema = document.parent(at).unwrap_or_else(|| document.root());
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let root = if uri.is_empty() {
            self.resource_root(document, schema)
        } else {
            let (own_root, base) = self.resource(document, schema);
            let uri = join(&base, uri);
            match self.find(document, own_root, &base, &uri) {
                Some(root) => root,
                None => {
                    let message = format!("the reference leads to `{uri}`, which is not supplied");
                    let error = document.error(ErrorKind::Schema, at, message);
                    // What looks like a name or a pointer was hardly meant for a document.
                    let local = !reference.contains([':', '#', '.']);
                    let near =
                        || hints::near_reference(document, own_root, reference, [].into_iter());
                    let near = local.then(near).flatten();
                    return Err(error.with_help(near.unwrap_or_else(|| not_supplied(&uri))));
                }
            }
        };
        let Some(fragment) = percent_decoded(fragment) else {
            let message = format!("`{reference}` is not a well-formed URI reference");
            return Err(document.error(ErrorKind::Schema, at, message));
        };
        let (target, anchor) = if fragment.is_empty() || fragment.starts_with('/') {
            (document.at_pointer(root, &fragment), None)
        } else {
            let index = self.index_of(document, root);
            (index.anchors.get(&(root, fragment.clone())).copied(), Some(fragment.clone()))
        };
        match target {
            Some(schema) => Ok(Target { schema, anchor }),
            None => {
                let message = format!("the reference `{reference}` leads nowhere");
                let error = document.error(ErrorKind::Schema, at, message);
                let anchors = &self.index_of(document, root).anchors;
                let names = anchors.keys().filter(|key| key.0 == root).map(|key| &*key.1);
                Err(match hints::near_reference(document, root, &fragment, names) {
                    Some(help) => error.with_help(help),
                    None => error,
                })
            }
        }
    }

    /// The root of the resource with a URI.
    fn find(
        &mut self,
        document: &Document,
        own_root: ValueId,
        base: &str,
        uri: &str,
    ) -> Option<ValueId> {
        // Most references lead to where they stand, or to a metaschema.
        if uri == base {
            return Some(own_root);
        }
        if uri.contains("json-schema.org/")
            && let Some(&root) = BUILTIN.resources.get(uri).or_else(|| {
                let other = match uri.strip_prefix("https:") {
                    Some(rest) => format!("http:{rest}"),
                    None => uri.replacen("http:", "https:", 1),
                };
                BUILTIN.resources.get(&other)
            })
        {
            return Some(root);
        }
        self.index(document).resources.get(uri).copied()
    }

    fn index_of(&mut self, document: &Document, root: ValueId) -> &IdentifierIndex {
        if root.is_builtin() { &BUILTIN } else { self.index(document) }
    }

    fn index(&mut self, document: &Document) -> &IdentifierIndex {
        if self.index.is_none() {
            let mut index = IdentifierIndex::default();
            let (_, uri) = self.resource(document, document.root());
            index.add(self, document, uri, document.root());
            for (uri, root) in document.supplied() {
                let uri = uri.split('#').next().unwrap_or_default().to_owned();
                index.add(self, document, uri, root);
            }
            self.index = Some(index);
        }
        self.index.get_or_insert_default()
    }
}

fn is_recursive(document: &Document, schema: ValueId) -> bool {
    let anchor = document.get(schema, "$recursiveAnchor");
    anchor.is_some_and(|anchor| matches!(document.value(anchor), Value::Bool(true)))
}

impl IdentifierIndex {
    /// Adds the identifiers of one document. What stands in unknown keywords, or is a value and
    /// no schema, identifies nothing.
    fn add(&mut self, references: &References, document: &Document, uri: String, top: ValueId) {
        self.resources.entry(uri).or_insert(top);
        let mut open = vec![top];
        while let Some(schema) = open.pop() {
            let Some(members) = document.members(schema) else { continue };
            let dialect = references.draft_of(document, schema);
            if references.own_id(document, schema).is_some() {
                let (root, uri) = references.resource(document, schema);
                self.resources.entry(uri).or_insert(root);
            }
            let text = |keyword: &str| {
                let known = dialect.knows(keyword).then(|| members.get(keyword)).flatten();
                document.string(known?)
            };
            let fragment = ["$id", "id"]
                .into_iter()
                .find_map(|keyword| text(keyword)?.split_once('#').map(|(_, fragment)| fragment));
            let dynamic = text("$dynamicAnchor");
            let names = text("$anchor").into_iter().chain(dynamic).chain(fragment);
            let root = || references.resource_root(document, schema);
            for anchor in names.filter(|anchor| !anchor.is_empty()) {
                self.anchors.entry((root(), anchor.to_owned())).or_insert(schema);
            }
            let recursive = is_recursive(document, schema) && root() == schema;
            for name in dynamic.into_iter().chain(recursive.then_some(RECURSIVE)) {
                self.dynamic.entry(root()).or_default().push((name.into(), schema));
            }
            for (keyword, value) in members.iter() {
                match (subschema_position(keyword), document.value(value)) {
                    (Some(SubschemaPosition::Map), Value::Object(map)) => {
                        open.extend(map.iter().map(|(_, child)| child));
                    }
                    (
                        Some(SubschemaPosition::List | SubschemaPosition::SchemaOrList),
                        Value::Array(items),
                    ) => {
                        open.extend(items.iter().copied());
                    }
                    (
                        Some(SubschemaPosition::Schema | SubschemaPosition::SchemaOrList),
                        Value::Object(_),
                    ) => {
                        open.push(value);
                    }
                    _ => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut references = References::new(None);
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
