//! Parsers that refuse next to nothing (INI, Markdown), or read more than they refuse (PGN): here they
//! agree with a grammar only if what they have read is what stands in the text.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Sections with their pairs: those of rust-ini, without quotes and escapes, beside those that the
/// lines of the text say.
pub(crate) fn ini(text: &str) -> Result<(), String> {
    let option = ini::ParseOption {
        enabled_quote: false,
        enabled_escape: false,
        ..ini::ParseOption::default()
    };
    let read = ini::Ini::load_from_str_opt(text, option).map_err(|error| error.to_string())?;
    let mut theirs: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (section, pairs) in &read {
        for (key, value) in pairs.iter() {
            let name = (section.unwrap_or_default().to_owned(), key.to_owned());
            theirs.entry(name).or_default().push(value.to_owned());
        }
    }
    let mut lines: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let mut section = String::new();
    for line in text.split('\n').map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name.trim().to_owned();
        } else if line.is_empty() || line.starts_with([';', '#']) {
        } else if let Some((key, value)) = line.split_once('=') {
            let name = (section.clone(), key.trim().to_owned());
            lines.entry(name).or_default().push(value.trim().to_owned());
        } else {
            return Err(format!("no INI line: {line:?}"));
        }
    }
    if theirs == lines {
        Ok(())
    } else if theirs.keys().any(|(_, key)| key.starts_with(['#', ';'])) {
        Err("a comment becomes a key".into())
    } else {
        Err(format!("reads {theirs:?}"))
    }
}

/// Moves and result of each game: those that the PGN parser of `@mliebelt/pgn-parser` reads, under
/// Node.js, beside those that the text says; the folder in `MASKWRIGHT_PGN` is one in which
/// `npm install @mliebelt/pgn-parser` was run.
pub(crate) fn pgn(texts: &[String]) -> Vec<Result<(), String>> {
    const PARSE: &str = "
const { default: { parse } } = await import('@mliebelt/pgn-parser');
// A move with the whole square that it comes from is told with a dash.
const told = (move) => move.notation.notation.replace(/^([KQRBN][a-h][1-8])-/, '$1');
const read = (text) => {
    const game = parse(text, { startRule: 'game' });
    return [...game.moves.map(told), game.tags.Result].join(' ');
};
";
    let Ok(folder) = std::env::var("MASKWRIGHT_PGN") else {
        return texts.iter().map(|_| Err("the PGN parser is not installed".into())).collect();
    };
    let games = node(&folder, PARSE, texts);
    let same = |(text, game): (&String, Result<String, String>)| {
        let (game, words) = (game?, moves(text)?);
        if game == words { Ok(()) } else { Err(format!("reads {game:?} instead of {words:?}")) }
    };
    texts.iter().zip(games).map(same).collect()
}

/// The moves of a game and its result, one blank between them.
fn moves(text: &str) -> Result<String, String> {
    let mut rest = text;
    while let Some(tag) = rest.strip_prefix('[') {
        rest = tag.split_once("\"]\n").ok_or("an open tag")?.1;
    }
    let mut words = String::new();
    while let Some((before, comment)) = rest.split_once('{') {
        words += before;
        rest = comment.split_once('}').ok_or("an open comment")?.1;
    }
    words += rest;
    let plain = |word: &&str| !word.starts_with('$') && !word.ends_with('.');
    let moves = words.split_whitespace().filter(plain);
    Ok(moves.map(|word| word.trim_end_matches(['!', '?'])).collect::<Vec<_>>().join(" "))
}

/// The whole text must be one table, with as many rows as lines and as many columns as the
/// delimiter row says.
pub(crate) fn markdown_table(text: &str) -> Result<(), String> {
    let events: Vec<Event<'_>> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
    let (Some(Event::Start(Tag::Table(columns))), Some(Event::End(TagEnd::Table))) =
        (events.first(), events.last())
    else {
        return Err("not one table".into());
    };
    let count =
        |wanted: fn(&Event<'_>) -> bool| events.iter().filter(|event| wanted(event)).count();
    let tables = count(|event| matches!(event, Event::Start(Tag::Table(_))));
    let rows = count(|event| matches!(event, Event::Start(Tag::TableRow)));
    let lines = text.lines().count();
    let delimiters = text.lines().nth(1).unwrap_or_default().matches('|').count();
    match (tables, rows + 2 == lines, columns.len() + 1 == delimiters) {
        (1, true, true) => Ok(()),
        _ => Err(format!("{tables} tables, {rows} rows, {} columns", columns.len())),
    }
}

/// Mermaid's own verdict on each text, under Node.js; the folder in `MASKWRIGHT_MERMAID` is one
/// in which `npm install mermaid jsdom` was run.
pub(crate) fn mermaid(texts: &[String]) -> Vec<Result<(), String>> {
    const PARSE: &str = "
const { JSDOM } = await import('jsdom');
const dom = new JSDOM('<!DOCTYPE html><body></body>');
globalThis.window = dom.window;
globalThis.document = dom.window.document;
const { default: mermaid } = await import('mermaid');
const read = async (text) => { await mermaid.parse(text); return ''; };
";
    let Ok(folder) = std::env::var("MASKWRIGHT_MERMAID") else {
        return texts.iter().map(|_| Err("Mermaid is not installed".into())).collect();
    };
    node(&folder, PARSE, texts).into_iter().map(|read| read.map(|_| ())).collect()
}

/// Calls the JavaScript function `read` on each text: a string, or the error thrown.
fn node(folder: &str, definition: &str, texts: &[String]) -> Vec<Result<String, String>> {
    const EACH: &str = "
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const out = [];
for (const text of JSON.parse(Buffer.concat(chunks).toString())) {
    try { out.push([true, await read(text)]); }
    catch (error) { out.push([false, String(error.message ?? error).toWellFormed()]); }
}
process.stdout.write(JSON.stringify(out));
";
    let child = Command::new("node")
        .args(["--input-type=module", "--eval", &format!("{definition}{EACH}")])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.expect("the folder is given, so node is there");
    let input = serde_json::to_string(texts).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let read: Vec<(bool, String)> = serde_json::from_slice(&output.stdout).unwrap();
    read.into_iter().map(|(fine, text)| if fine { Ok(text) } else { Err(text) }).collect()
}
