//! Grammars that a grammar refers to by name: those of `--named-grammar`, and the files beside it.

use std::path::Path;

use maskwright::Compiler;
use maskwright::ebnf::{Dialect, NamedGrammar};
use maskwright::error::{Error, ErrorKind, Result};

use crate::cli::input;

/// A compiler that knows the grammars of `given` (`NAME=FILE` each), and those in the folder of the
/// grammar `file`, by the names of their files without the endings.
///
/// Errors if a file of `given` cannot be read.
pub(super) fn configure(
    mut compiler: Compiler,
    file: Option<&str>,
    given: &[String],
) -> Result<Compiler> {
    let mut names: Vec<&str> = Vec::new();
    for given in given {
        let Some((name, file)) = given.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            let message = format!("`{given}` is no name and file");
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("write --named-grammar NAME=FILE"));
        };
        if names.contains(&name) {
            let message = format!("two grammars have the name `{name}`");
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("give each --named-grammar a name of its own"));
        }
        names.push(name);
        compiler = compiler.with_grammar(name, read(Path::new(file))?);
    }
    let Some(file) = file.map(Path::new).filter(|file| file.is_file()) else { return Ok(compiler) };
    let folder = file.parent().unwrap_or(Path::new("")).to_owned();
    Ok(compiler.with_grammar_resolver(move |name| {
        // Names are made of letters, digits, `_` and `-`, paths of names and `/`.
        let endings = Dialect::ALL.iter().map(|dialect| dialect.name()).chain(["json"]);
        let mut files = endings.map(|ending| folder.join(format!("{name}.{ending}")));
        files.find(|file| file.is_file()).map(|file| read(&file)).transpose()
    }))
}

/// The grammar of a file: a JSON Schema by its ending, else a text in a notation.
fn read(file: &Path) -> Result<NamedGrammar> {
    let text = input::read_text(file, "a file with a grammar")?;
    if file.extension().is_some_and(|ending| ending == "json") {
        return Ok(NamedGrammar::JsonSchema(text.into()));
    }
    let Some(dialect) = Dialect::of_file(file).or_else(|| Dialect::guess(&text)) else {
        let message = "cannot tell the notation of the grammar";
        return Err(Error::new(ErrorKind::Grammar, message)
            .in_file(file)
            .with_help("give the file an ending such as .lark, .gbnf, .ebnf, .iso-ebnf or .abnf"));
    };
    Ok(NamedGrammar::Text { text: text.into(), dialect, file: Some(file.display().to_string()) })
}
