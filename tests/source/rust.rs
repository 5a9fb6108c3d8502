//! A scanner for Rust source: comments, `use` trees, paths, and where test code begins.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// One file of the crate.
pub(crate) struct SourceFile {
    /// Relative to the package, with `/`.
    pub(crate) path: String,
    /// Its module path; empty for `lib.rs`.
    pub(crate) module: Vec<String>,
    pub(crate) text: String,
}

impl SourceFile {
    /// The text before the first `#[cfg(test)]` that opens a module in this file.
    pub(crate) fn without_tests(&self) -> &str {
        let mut from = 0;
        while let Some(at) = self.text[from..].find("#[cfg(test)]") {
            let at = from + at;
            let rest = self.text[at..].lines().skip(1).find(|line| !line.starts_with("#["));
            if rest.is_some_and(|line| line.starts_with("mod ") && line.ends_with('{')) {
                return &self.text[..at];
            }
            from = at + 1;
        }
        &self.text
    }
}

/// The modules that are compiled for tests alone: `#[cfg(test)] mod name;`.
pub(crate) fn test_modules(files: &[SourceFile]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for file in files {
        let lines: Vec<&str> = file.text.lines().collect();
        for (index, _) in lines.iter().enumerate().filter(|(_, line)| **line == "#[cfg(test)]") {
            let declared = lines[index + 1..].iter().find(|line| !line.starts_with("#["));
            let words: Vec<&str> =
                declared.map_or(vec![], |line| line.split_whitespace().collect());
            if let [.., "mod", name] = words[..]
                && let Some(name) = name.strip_suffix(';')
            {
                found.push([&file.module[..], &[name.to_owned()]].concat());
            }
        }
    }
    found
}

/// The `.rs` files below a folder of the package, sorted.
pub(crate) fn files(folder: &str) -> Vec<SourceFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    collect(&root.join(folder), &mut paths);
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let relative = path.strip_prefix(root).unwrap_or(&path);
            let relative = relative.to_string_lossy().replace('\\', "/");
            let module = relative.trim_start_matches("src/").trim_end_matches(".rs");
            let module: Vec<String> = match module {
                "lib" => Vec::new(),
                _ => module.split('/').map(str::to_owned).collect(),
            };
            let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{relative}: {e}"));
            SourceFile { path: relative, module, text }
        })
        .collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let path = entry.unwrap_or_else(|e| panic!("{}: {e}", folder.display())).path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "target") {
                collect(&path, paths);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

/// The text with comments, strings and character literals blanked out.
pub(crate) fn code(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let blank = |code: &mut Vec<u8>, bytes: &[u8]| {
        code.extend(bytes.iter().map(|&byte| if byte == b'\n' { b'\n' } else { b' ' }));
    };
    while at < bytes.len() {
        let rest = &bytes[at..];
        let length = if rest.starts_with(b"//") {
            rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())
        } else if rest.starts_with(b"/*") {
            find(rest, b"*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(hashes) = raw_string(rest, at.checked_sub(1).map(|i| bytes[i])) {
            let quote = find(rest, b"\"").unwrap_or(0) + 1;
            let mut end = vec![b'"'];
            end.extend(std::iter::repeat_n(b'#', hashes));
            find(&rest[quote..], &end).map_or(rest.len(), |at| quote + at + end.len())
        } else if rest[0] == b'"' {
            let mut end = 1;
            while end < rest.len() && rest[end] != b'"' {
                end += if rest[end] == b'\\' { 2 } else { 1 };
            }
            (end + 1).min(rest.len())
        } else if rest.starts_with(b"'\\") {
            2 + rest[2..].iter().skip(1).position(|&byte| byte == b'\'').map_or(1, |at| at + 2)
        } else if rest[0] == b'\'' && rest.len() > 2 && rest[2] == b'\'' {
            3
        } else {
            code.push(rest[0]);
            at += 1;
            continue;
        };
        blank(&mut code, &rest[..length]);
        at += length;
    }
    String::from_utf8_lossy(&code).into_owned()
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// The number of `#` of a raw string that begins here.
fn raw_string(rest: &[u8], before: Option<u8>) -> Option<usize> {
    if before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return None;
    }
    let rest = rest.strip_prefix(b"b").unwrap_or(rest).strip_prefix(b"r")?;
    let hashes = rest.iter().take_while(|&&byte| byte == b'#').count();
    (rest.get(hashes) == Some(&b'"')).then_some(hashes)
}

/// A path that a file mentions, absolute within the crate, with the name under which a `pub use`
/// makes it available.
pub(crate) struct Mention {
    pub(crate) path: Vec<String>,
    pub(crate) exported_as: Option<String>,
}

/// The modules of a crate, by path.
pub(crate) type Modules<'a> = BTreeMap<Vec<String>, &'a SourceFile>;

/// The paths into the crate that a file mentions outside of its tests.
pub(crate) fn mentions(file: &SourceFile, modules: &Modules<'_>) -> Vec<Mention> {
    let code = code(file.without_tests());
    let mut found = Vec::new();
    let mut rest = String::new();
    let mut at = 0;
    while let Some((start, end, exported)) = next_use(&code, at) {
        rest.push_str(&code[at..start]);
        at = end;
        let tree: String = code[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
        let tree = tree.split_once("use ").map_or("", |(_, tree)| tree).trim_end_matches(';');
        for leaf in expand(tree) {
            let (path, alias) = leaf.split_once(" as ").unwrap_or((&leaf, ""));
            let segments: Vec<&str> = path.split("::").map(str::trim).collect();
            if let Some(path) = absolute(&file.module, &segments, modules) {
                let name = if alias.is_empty() { path.last().cloned() } else { Some(alias.into()) };
                found.push(Mention { path, exported_as: name.filter(|_| exported) });
            }
        }
    }
    rest.push_str(&code[at..]);
    // A visibility names a module without importing from it.
    let rest = rest.replace("pub(in crate::", "pub(in ");
    for path in paths(&rest) {
        let segments: Vec<&str> = path.split("::").collect();
        if let Some(path) = absolute(&file.module, &segments, modules) {
            found.push(Mention { path, exported_as: None });
        }
    }
    found
}

/// The next `use` item from a place on: its start, its end, and whether it is exported.
fn next_use(code: &str, from: usize) -> Option<(usize, usize, bool)> {
    let mut at = from;
    while let Some(found) = code[at..].find("use ") {
        let start = at + found;
        let line = code[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let before = code[line..start].trim();
        if before.is_empty() || before.starts_with("pub") && !before.contains("fn ") {
            let end = start + code[start..].find(';')? + 1;
            return Some((line, end, before.starts_with("pub")));
        }
        at = start + 4;
    }
    None
}

/// The leaves of a `use` tree.
fn expand(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let (Some(open), Some(close)) = (tree.find('{'), tree.rfind('}')) else {
        return vec![tree.to_owned()];
    };
    let (prefix, body) = (&tree[..open], &tree[open + 1..close]);
    let (mut leaves, mut depth, mut part) = (Vec::new(), 0, String::new());
    for character in body.chars().chain([',']) {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !part.trim().is_empty() {
                    leaves.extend(expand(part.trim()).into_iter().map(|leaf| {
                        if leaf == "self" {
                            prefix.trim_end_matches("::").to_owned()
                        } else {
                            format!("{prefix}{leaf}")
                        }
                    }));
                }
                part.clear();
                continue;
            }
            _ => {}
        }
        part.push(character);
    }
    leaves
}

/// Paths of two segments and more outside of `use` items.
fn paths(code: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    code.split(|c: char| !is_part(c))
        .filter(|word| word.contains("::"))
        .map(|word| word.trim_matches(':').to_owned())
        .collect()
}

/// A path from the crate's root, if it leads into the crate.
fn absolute(module: &[String], segments: &[&str], modules: &Modules<'_>) -> Option<Vec<String>> {
    let owned = |segments: &[&str]| segments.iter().map(|&s| s.to_owned()).collect::<Vec<_>>();
    match segments {
        ["crate", rest @ ..] => Some(owned(rest)),
        ["self", rest @ ..] => Some([module, &owned(rest)[..]].concat()),
        ["super", ..] => {
            let ups = segments.iter().take_while(|&&s| s == "super").count();
            let base = module.len().checked_sub(ups)?;
            Some([&module[..base], &owned(&segments[ups..])[..]].concat())
        }
        [first, ..] => {
            let child = [module, &owned(&[first])[..]].concat();
            modules.contains_key(&child).then(|| [module, &owned(segments)[..]].concat())
        }
        [] => None,
    }
}

/// The longest module that a path leads through.
pub(crate) fn module_of(path: &[String], modules: &Modules<'_>) -> Vec<String> {
    let length = (0..=path.len()).rev().find(|&n| modules.contains_key(&path[..n]));
    path[..length.unwrap_or(0)].to_vec()
}

/// Each line of comment blocks: the line's number and the block's text.
pub(crate) fn comment_blocks(text: &str) -> Vec<(usize, bool, String)> {
    let mut blocks: Vec<(usize, bool, String)> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let doc = line.starts_with("///") || line.starts_with("//!");
        let Some(body) = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"))
            .or_else(|| line.strip_prefix("//"))
        else {
            open = false;
            continue;
        };
        match blocks.last_mut().filter(|_| open) {
            Some((_, _, text)) => {
                text.push(' ');
                text.push_str(body.trim());
            }
            None => blocks.push((index + 1, doc, body.trim().to_owned())),
        }
        open = true;
    }
    blocks
}
