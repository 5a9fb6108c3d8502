//! The layers of `src/` as `ARCHITECTURE.md` lists them: imports lead down, and files that import
//! each other in a circle are few and named.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::rust::{Modules, SourceFile, files, mentions, module_of, test_modules};

/// Files that may import each other in a circle. A cycle of two or three can be one algorithm in
/// parts; more is a module without a boundary.
const LARGEST_CYCLE: usize = 3;

/// The layer of each top-level module, from the table in `ARCHITECTURE.md`.
fn layers() -> BTreeMap<String, u32> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut layers = BTreeMap::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, layer, modules, _, _] = cells[..] else { continue };
        let Ok(layer) = layer.parse() else { continue };
        for module in modules.split(',') {
            let name = module.trim().trim_matches('`').trim_end_matches(".rs");
            layers.insert(name.trim_end_matches('/').to_owned(), layer);
        }
    }
    layers
}

/// The modules that each module imports, re-exports followed to the definition of a name.
fn imports(files: &[SourceFile]) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let modules: Modules<'_> = files.iter().map(|file| (file.module.clone(), file)).collect();
    let tests = test_modules(files);
    let found: Vec<_> = files
        .iter()
        .filter(|file| !tests.iter().any(|test| file.module.starts_with(test)))
        .map(|file| (file, mentions(file, &modules)))
        .collect();
    let mut exports = BTreeMap::new();
    for (file, mentions) in &found {
        for mention in mentions {
            if let Some(name) = &mention.exported_as {
                let path = [&file.module[..], std::slice::from_ref(name)].concat();
                exports.insert(path, mention.path.clone());
            }
        }
    }
    let mut imports: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> = BTreeMap::new();
    for (file, mentions) in found {
        let of = imports.entry(file.module.clone()).or_default();
        for mention in mentions {
            let mut path = mention.path;
            // Re-exports of re-exports, a few times over.
            for _ in 0..8 {
                let module = module_of(&path, &modules);
                let Some(name) = path.get(..=module.len()) else { break };
                let Some(target) = exports.get(name).filter(|target| **target != path) else {
                    break;
                };
                path = [&target[..], &path[module.len() + 1..]].concat();
            }
            let module = module_of(&path, &modules);
            if module != file.module {
                of.insert(module);
            }
        }
    }
    imports
}

#[test]
fn no_import_leads_up_or_sideways() {
    let layers = layers();
    let files = files("src");
    let mut wrong = Vec::new();
    for (module, targets) in imports(&files) {
        let Some(from) = module.first().filter(|name| *name != "main") else { continue };
        let Some(&layer) = layers.get(from) else {
            wrong.push(format!("`{from}` has no layer in ARCHITECTURE.md"));
            continue;
        };
        for target in targets {
            let Some(to) = target.first().filter(|to| *to != from) else { continue };
            match layers.get(to) {
                Some(&below) if below < layer => {}
                Some(&above) => wrong.push(format!(
                    "{} (layer {layer}) imports {} (layer {above})",
                    module.join("::"),
                    target.join("::"),
                )),
                None => wrong.push(format!("`{to}` has no layer in ARCHITECTURE.md")),
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Strongly connected components by repeated search, which is enough for some hundred files.
fn cycles(imports: &BTreeMap<Vec<String>, BTreeSet<Vec<String>>>) -> Vec<BTreeSet<Vec<String>>> {
    let reachable = |from: &Vec<String>| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(module) = open.pop() {
            for next in imports.get(&module).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen
    };
    let reach: BTreeMap<_, _> = imports.keys().map(|module| (module, reachable(module))).collect();
    let mut cycles = BTreeSet::new();
    for (module, to) in &reach {
        let cycle: BTreeSet<Vec<String>> = to
            .iter()
            .filter(|other| reach.get(other).is_some_and(|back| back.contains(*module)))
            .cloned()
            .collect();
        if cycle.len() > 1 {
            cycles.insert(cycle);
        }
    }
    cycles.into_iter().collect()
}

#[test]
fn import_cycles_are_small() {
    let imports = imports(&files("src"));
    let name = |module: &Vec<String>| match &module[..] {
        [] => "lib.rs".to_owned(),
        path => path.join("::"),
    };
    let mut wrong = Vec::new();
    for cycle in cycles(&imports) {
        if cycle.len() > LARGEST_CYCLE {
            let names: Vec<_> = cycle.iter().map(name).collect();
            wrong.push(format!("a cycle of {} files: {}", cycle.len(), names.join(", ")));
        }
    }
    for (module, targets) in &imports {
        for target in targets.iter().filter(|target| *target > module) {
            let family = target.starts_with(module) || module.starts_with(target);
            if !family && imports.get(target).is_some_and(|back| back.contains(module)) {
                wrong.push(format!("{} and {} import each other", name(module), name(target)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
