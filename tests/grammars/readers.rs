//! Parsers that refuse next to nothing (INI, PGN, Markdown): here they agree with a grammar only if
//! what they have read is what stands in the text.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::process::{Command, Stdio};

use pgn_reader::{RawTag, Reader, SanPlus, Visitor};
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
    match theirs == lines {
        true => Ok(()),
        false if theirs.keys().any(|(_, key)| key.starts_with(['#', ';'])) => {
            Err("a comment becomes a key".into())
        }
        false => Err(format!("reads {theirs:?}")),
    }
}

/// What a game consists of, as far as PGN's reader tells.
#[derive(Debug, Default, PartialEq, Eq)]
struct Game {
    tags: Vec<(String, String)>,
    moves: Vec<String>,
    comments: usize,
    result: Option<String>,
}

struct Games;

impl Visitor for Games {
    type Tags = Game;
    type Movetext = Game;
    type Output = Game;

    fn begin_tags(&mut self) -> ControlFlow<Game, Game> {
        ControlFlow::Continue(Game::default())
    }

    fn tag(&mut self, game: &mut Game, name: &[u8], value: RawTag<'_>) -> ControlFlow<Game> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        game.tags.push((text(name), text(&value.decode())));
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, game: Game) -> ControlFlow<Game, Game> {
        ControlFlow::Continue(game)
    }

    fn san(&mut self, game: &mut Game, san: SanPlus) -> ControlFlow<Game> {
        game.moves.push(san.to_string());
        ControlFlow::Continue(())
    }

    fn comment(&mut self, game: &mut Game, _: pgn_reader::RawComment<'_>) -> ControlFlow<Game> {
        game.comments += 1;
        ControlFlow::Continue(())
    }

    fn outcome(&mut self, game: &mut Game, outcome: pgn_reader::Outcome) -> ControlFlow<Game> {
        game.result = Some(outcome.to_string());
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, game: Game) -> Game {
        game
    }
}

/// Tags, moves, comments and the result: those of pgn-reader beside those that the text says.
pub(crate) fn pgn(text: &str) -> Result<(), String> {
    let read = Reader::new(text.as_bytes()).read_game(&mut Games);
    let theirs = read.map_err(|error| error.to_string())?.ok_or("no game")?;
    let (mut game, mut rest) = (Game::default(), text);
    while let Some(tag) = rest.strip_prefix('[') {
        let (tag, after) = tag.split_once("\"]\n").ok_or("an open tag")?;
        let (name, value) = tag.split_once(" \"").ok_or("a tag without value")?;
        game.tags.push((name.to_owned(), value.replace("\\\"", "\"").replace("\\\\", "\\")));
        rest = after;
    }
    let mut moves = String::new();
    while let Some((before, comment)) = rest.split_once('{') {
        moves += before;
        game.comments += 1;
        rest = comment.split_once('}').ok_or("an open comment")?.1;
    }
    moves += rest;
    for word in moves.split_whitespace() {
        match word {
            "1-0" | "0-1" | "1/2-1/2" | "*" => game.result = Some(word.to_owned()),
            _ if word.starts_with('$') || word.ends_with('.') => {}
            _ => game.moves.push(word.trim_end_matches(['!', '?']).to_owned()),
        }
    }
    let escapes =
        game.tags.iter().any(|(_, value)| value.contains("\\\"") || value.contains("\\\\"));
    match theirs == game {
        true => Ok(()),
        false if escapes && (theirs.moves == game.moves) => Err("a backslash is lost".into()),
        false => Err(format!("reads {theirs:?} instead of {game:?}")),
    }
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

/// What Mermaid itself makes of each text, under Node.js; the folder in `MASKWRIGHT_MERMAID` is one
/// in which `npm install mermaid jsdom` was run.
pub(crate) fn mermaid(texts: &[String]) -> Vec<Result<(), String>> {
    const SCRIPT: &str = "
import { JSDOM } from 'jsdom';
const dom = new JSDOM('<!DOCTYPE html><body></body>');
globalThis.window = dom.window;
globalThis.document = dom.window.document;
const { default: mermaid } = await import('mermaid');
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const out = [];
for (const text of JSON.parse(Buffer.concat(chunks).toString())) {
    try { await mermaid.parse(text); out.push(null); }
    catch (error) { out.push(String(error.message ?? error).toWellFormed()); }
}
process.stdout.write(JSON.stringify(out));
";
    let skipped = || texts.iter().map(|_| Err("Mermaid is not installed".into())).collect();
    let Ok(folder) = std::env::var("MASKWRIGHT_MERMAID") else { return skipped() };
    let child = Command::new("node")
        .args(["--input-type=module", "--eval", SCRIPT])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.expect("MASKWRIGHT_MERMAID is given, so node is there");
    let input = serde_json::to_string(texts).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let verdicts: Vec<Option<String>> = serde_json::from_slice(&output.stdout).unwrap();
    verdicts.into_iter().map(|verdict| verdict.map_or(Ok(()), Err)).collect()
}
