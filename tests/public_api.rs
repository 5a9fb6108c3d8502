//! The public items of the crate, as `docs/public-api.txt` lists them: a change of the API shows in
//! a diff of that file.
//!
//! The listing is read from the sources: from `lib.rs` on, public modules are entered, re-exports are
//! followed to the items that they name, and `impl` blocks are joined to their types. Items behind a
//! Cargo feature are listed whether it is on or not. Write the file anew with
//! `MASKWRIGHT_UPDATE=1 cargo test --test public_api`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::{ImplItem, Item, TraitItem, Type, UseTree, Visibility};

const LISTING: &str = "docs/public-api.txt";

/// The path of a module or of an item within the crate.
type ItemPath = Vec<String>;

/// All modules of the crate by their paths, and the members of `impl` blocks by their types.
#[derive(Default)]
struct Crate {
    modules: BTreeMap<ItemPath, Vec<Item>>,
    members: BTreeMap<ItemPath, BTreeSet<String>>,
}

impl Crate {
    fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut read = Self::default();
        read.read_module(&root.join("lib.rs"), &root, Vec::new());
        read.read_impls();
        read
    }

    /// Reads a module from its file; `folder` holds the files of its children.
    fn read_module(&mut self, file: &Path, folder: &Path, path: ItemPath) {
        let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let items: Vec<Item> = parsed.items.into_iter().filter(|item| !is_test(item)).collect();
        for item in &items {
            let Item::Mod(module) = item else { continue };
            let name = module.ident.to_string();
            if module.content.is_none() {
                let (file, folder) = (folder.join(format!("{name}.rs")), folder.join(&name));
                self.read_module(&file, &folder, join(&path, &name));
            }
        }
        self.modules.insert(path, items);
    }

    fn read_impls(&mut self) {
        let mut members: BTreeMap<ItemPath, BTreeSet<String>> = BTreeMap::new();
        for (path, items) in &self.modules {
            for item in items {
                let Item::Impl(block) = item else { continue };
                let Type::Path(of) = &*block.self_ty else { continue };
                let segments: Vec<String> =
                    of.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
                let Some(of) = self.resolve(path, &segments) else { continue };
                let members = members.entry(of).or_default();
                if let Some((_, of_trait, _)) = &block.trait_ {
                    members.insert(format!(": {}", tokens(of_trait)));
                    continue;
                }
                for member in &block.items {
                    match member {
                        ImplItem::Fn(function) if is_public(&function.vis) => {
                            members.insert(format!("::{}", signature(&function.sig)));
                        }
                        ImplItem::Const(constant) if is_public(&constant.vis) => {
                            let (name, of) = (&constant.ident, tokens(&constant.ty));
                            members.insert(format!("::{name}: {of}"));
                        }
                        _ => {}
                    }
                }
            }
        }
        self.members = members;
    }

    /// The item or module to which a path leads that is written in a module.
    fn resolve(&self, module: &[String], segments: &[String]) -> Option<ItemPath> {
        self.resolve_below(module, segments, 0)
    }

    fn resolve_below(&self, module: &[String], path: &[String], depth: usize) -> Option<ItemPath> {
        let (first, rest) = path.split_first()?;
        // A cycle of re-exports, which the compiler refuses.
        assert!(depth < 32, "{module:?} {path:?}");
        match first.as_str() {
            "crate" => return self.resolve_below(&[], rest, depth + 1),
            "self" => return self.resolve_below(module, rest, depth + 1),
            "super" => return self.resolve_below(&module[..module.len() - 1], rest, depth + 1),
            _ => {}
        }
        let here = join(module, first);
        if self.modules.contains_key(&here) {
            return match rest {
                [] => Some(here),
                rest => self.resolve_below(&here, rest, depth + 1),
            };
        }
        let items = self.modules.get(module)?;
        if rest.is_empty() && items.iter().any(|item| name(item).as_ref() == Some(first)) {
            return Some(here);
        }
        let uses = items.iter().filter_map(|item| match item {
            Item::Use(item) => Some(leaves(&item.tree)),
            _ => None,
        });
        let (mut target, _) = uses.flatten().find(|(_, alias)| alias == first)?;
        target.extend_from_slice(rest);
        // `use` paths begin with a module beside or in the crate, or another crate.
        let relative = self.modules.contains_key(&join(module, &target[0]));
        let is_local = relative || ["crate", "self", "super"].contains(&target[0].as_str());
        if is_local { self.resolve_below(module, &target, depth + 1) } else { None }
    }

    /// Lists the public items of a module under the path by which users name it.
    fn list(&self, module: &[String], shown: &str, known: &mut Listing) {
        let Some(items) = self.modules.get(module) else { return };
        for item in items {
            match item {
                Item::Mod(child) if is_public(&child.vis) => {
                    let child = child.ident.to_string();
                    let shown = format!("{shown}::{child}");
                    known.lines.insert(format!("{shown} (module)"));
                    self.list(&join(module, &child), &shown, known);
                }
                Item::Use(_) | Item::Mod(_) => {}
                item => {
                    if let Some(name) =
                        name(item).filter(|_| visibility(item).is_some_and(is_public))
                    {
                        self.list_item(
                            &join(module, &name),
                            item,
                            &format!("{shown}::{name}"),
                            known,
                        );
                    }
                }
            }
        }
        for item in items {
            let Item::Use(item) = item else { continue };
            if !is_public(&item.vis) {
                continue;
            }
            for (target, alias) in leaves(&item.tree) {
                let shown = format!("{shown}::{alias}");
                let Some(found) = self.resolve(module, &target) else {
                    known.lines.insert(format!("{shown} = {}", target.join("::")));
                    continue;
                };
                if let Some(first) = known.shown.get(&found) {
                    known.lines.insert(format!("{shown} = {first}"));
                    continue;
                }
                let (name, parent) = found.split_last().expect("a path");
                let items = self.modules.get(parent).into_iter().flatten();
                for item in items.filter(|item| crate::name(item).as_ref() == Some(name)) {
                    self.list_item(&found, item, &shown, known);
                }
            }
        }
    }

    fn list_item(&self, path: &[String], item: &Item, shown: &str, known: &mut Listing) {
        known.shown.insert(path.to_vec(), shown.to_owned());
        let mut add = |line: String| known.lines.insert(format!("{shown}{line}"));
        match item {
            Item::Struct(item) => {
                add(format!(" (struct{})", derives(&item.attrs)));
                for (index, field) in item.fields.iter().enumerate() {
                    if is_public(&field.vis) {
                        let name =
                            field.ident.as_ref().map_or(index.to_string(), ToString::to_string);
                        add(format!("::{name}: {}", tokens(&field.ty)));
                    }
                }
            }
            Item::Enum(item) => {
                add(format!(" (enum{})", derives(&item.attrs)));
                for variant in &item.variants {
                    add(format!("::{}{}", variant.ident, fields(&variant.fields)));
                }
            }
            Item::Trait(item) => {
                add(" (trait)".to_owned());
                for member in &item.items {
                    if let TraitItem::Fn(function) = member {
                        add(format!("::{}", signature(&function.sig)));
                    }
                }
            }
            Item::Fn(item) => {
                let line = signature(&item.sig);
                add(line.trim_start_matches(&item.sig.ident.to_string()).to_owned());
            }
            Item::Const(item) => {
                add(format!(": {}", tokens(&item.ty)));
            }
            Item::Static(item) => {
                add(format!(": {}", tokens(&item.ty)));
            }
            Item::Type(item) => {
                add(format!(" = {}", tokens(&item.ty)));
            }
            _ => {
                add(String::new());
            }
        }
        for member in self.members.get(path).into_iter().flatten() {
            add(member.clone());
        }
    }
}

/// The lines, and the path under which each item was listed first.
#[derive(Default)]
struct Listing {
    lines: BTreeSet<String>,
    shown: BTreeMap<ItemPath, String>,
}

fn join(path: &[String], name: &str) -> ItemPath {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Whether an item is only for tests.
fn is_test(item: &Item) -> bool {
    let attributes = match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(|attribute| {
        let text = tokens(attribute);
        text.contains("cfg(test)") || text.contains("cfg(doctest)")
    })
}

fn name(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        Item::Union(item) => item.ident.to_string(),
        _ => return None,
    })
}

fn visibility(item: &Item) -> Option<&Visibility> {
    Some(match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Static(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        Item::Union(item) => &item.vis,
        _ => return None,
    })
}

/// The paths of a `use` tree, each with the name that it gets.
fn leaves(tree: &UseTree) -> Vec<(Vec<String>, String)> {
    match tree {
        UseTree::Path(path) => {
            let first = path.ident.to_string();
            let mut leaves = leaves(&path.tree);
            for (path, alias) in &mut leaves {
                // `use a::{self}` names `a`.
                if path.as_slice() == ["self"] {
                    (*path, *alias) = (Vec::new(), first.clone());
                }
                path.insert(0, first.clone());
            }
            leaves
        }
        UseTree::Name(name) => vec![(vec![name.ident.to_string()], name.ident.to_string())],
        UseTree::Rename(rename) => {
            vec![(vec![rename.ident.to_string()], rename.rename.to_string())]
        }
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
        UseTree::Glob(_) => Vec::new(),
    }
}

/// The traits that an item derives.
fn derives(attributes: &[syn::Attribute]) -> String {
    let derives = attributes.iter().filter(|attribute| attribute.path().is_ident("derive"));
    derives
        .filter_map(|attribute| attribute.meta.require_list().ok())
        .map(|list| format!(": {}", tokens(&list.tokens)))
        .collect()
}

/// The fields of a variant: `(A, B)`, `{a: A, b: B}`, or nothing.
fn fields(fields: &syn::Fields) -> String {
    let of = |field: &syn::Field| match &field.ident {
        Some(name) => format!("{name}: {}", tokens(&field.ty)),
        None => tokens(&field.ty),
    };
    let list = fields.iter().map(of).collect::<Vec<_>>().join(", ");
    match fields {
        syn::Fields::Named(_) => format!("{{{list}}}"),
        syn::Fields::Unnamed(_) => format!("({list})"),
        syn::Fields::Unit => String::new(),
    }
}

fn signature(signature: &syn::Signature) -> String {
    tokens(signature).replacen("fn ", "", 1).replace("(mut ", "(")
}

/// Code as text, without the blanks that tokens have between them.
fn tokens(code: &impl ToTokens) -> String {
    let text = code.to_token_stream().to_string();
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (from, to) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" ::", "::"),
        (" < ", "<"),
        (" >", ">"),
        ("< ", "<"),
        (" ,", ","),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        ("& ", "&"),
        (" : ", ": "),
        (" ;", ";"),
        ("[ ", "["),
        (" ]", "]"),
        (" !", "!"),
        (", )", ")"),
        (",)", ")"),
        ("->(", "-> ("),
        ("# [", "#["),
    ] {
        text = text.replace(from, to);
    }
    text.replace("->", " -> ").replace("  ->", " ->").replace("->  ", "-> ").replace("- >", "->")
}

#[test]
fn the_listing_is_the_api() {
    let mut listing = Listing::default();
    Crate::read().list(&[], "maskwright", &mut listing);
    let text: String = listing.lines.iter().map(|line| format!("{line}\n")).collect();
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(LISTING);
    if std::env::var_os("MASKWRIGHT_UPDATE").is_some() {
        fs::write(&file, &text).expect("the listing is written");
        return;
    }
    let known = fs::read_to_string(&file).unwrap_or_default();
    let known: BTreeSet<&str> = known.lines().collect();
    let now: BTreeSet<&str> = text.lines().collect();
    let gone = known.difference(&now).map(|line| format!("- {line}"));
    let new = now.difference(&known).map(|line| format!("+ {line}"));
    let changes: Vec<String> = gone.chain(new).collect();
    assert!(
        changes.is_empty(),
        "the public API has changed; if it should, run `MASKWRIGHT_UPDATE=1 cargo test --test \
         public_api` and commit {LISTING}:\n{}",
        changes.join("\n")
    );
}
