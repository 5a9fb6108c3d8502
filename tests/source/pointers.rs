//! Pointers of the documentation to files of this repository: paths in code spans, and relative
//! links.

use std::fs;
use std::path::{Path, PathBuf};

/// Pages at the root; those in `docs/` are added.
const PAGES: [&str; 3] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];

/// Endings of the files that prose points to.
const ENDINGS: [&str; 4] = [".rs", ".md", ".py", ".toml"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The pages, relative to the root.
fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs")).expect("the folder docs");
    let docs = docs.map(|entry| Path::new("docs").join(entry.expect("an entry").file_name()));
    let mut pages: Vec<PathBuf> = PAGES.iter().map(PathBuf::from).collect();
    pages.extend(docs.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    pages.sort();
    pages
}

/// The prose of a page by line: everything outside of fenced blocks.
fn prose_lines(text: &str) -> Vec<(usize, &str)> {
    let mut is_fenced = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            lines.push((index + 1, line));
        }
    }
    lines
}

/// The words of a line's code spans that look like files of this repository. A word with a
/// placeholder (`NAME`, `*`, `…`) is none.
fn paths_in_code(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).flat_map(str::split_whitespace).filter(|word| {
        word.contains('/')
            && !word.starts_with(['/', '~', '.'])
            && !word.contains("://")
            && !word.contains("NAME")
            && !word.contains(['*', '…', '<'])
            && ENDINGS.iter().any(|ending| word.ends_with(ending))
    })
}

/// The targets of a line's relative Markdown links, without their anchors.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let (target, _) = rest.split_once(')')?;
        let target = target.split('#').next().unwrap_or("");
        (!target.is_empty() && !target.contains(':')).then_some(target)
    })
}

#[test]
fn pages_point_to_files_that_exist() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(root().join(&page)).expect("a page in UTF-8");
        let folder = root().join(&page).parent().expect("a file has a folder").to_owned();
        for (number, line) in prose_lines(&text) {
            let is_missing = |path: &&str| {
                !root().join(path).exists() && !root().join("src").join(path).exists()
            };
            let paths = paths_in_code(line).filter(is_missing);
            let links = links(line).filter(|target| !folder.join(target).exists());
            for missing in paths.chain(links) {
                wrong.push(format!("{}:{number}: {missing}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "no such file:\n{}", wrong.join("\n"));
}
