//! Random walks under the mask, over real schemas and a real vocabulary: every one ends within its
//! budget, and another validator calls its text valid.
//!
//! By default a few walks of every so many-th schema. `MASKWRIGHT_WALKS` says how many walks each
//! schema gets, `MASKWRIGHT_WALK_STRIDE` the stride (1: all), `MASKWRIGHT_WALK_SEED` the first
//! walk's seed.

use std::collections::BTreeMap;

use maskwright::sample::{Bounds, Texts};
use maskwright::{Compiler, Constraint, ErrorKind, Vocabulary};
use maskwright_fuzz::corpus::{self, Entry};
use maskwright_fuzz::random::Random;
use maskwright_fuzz::setting;
use maskwright_fuzz::validator::Validator;
use maskwright_fuzz::walk::{self, End};

/// Counts of the walks by their ends.
#[derive(Default)]
struct Tally {
    schemas: usize,
    complete: usize,
    tokens: u64,
    /// Schemas that do not compile, by what is said about them.
    uncompiled: BTreeMap<String, Vec<String>>,
    /// Schemas that the validator does not take.
    unjudged: Vec<String>,
    /// Schemas of which a limit was reached, sooner or later.
    refused: BTreeMap<String, String>,
    faults: Vec<String>,
}

impl Tally {
    fn fault(&mut self, fault: String) {
        println!("    {fault}");
        self.faults.push(fault);
    }

    fn judge(&mut self, entry: &Entry, valid: Option<&Validator>, text: &[u8], how: &str) {
        let text = match std::str::from_utf8(text) {
            Ok(text) => text,
            Err(e) => return self.fault(format!("{}: {how}: no UTF-8: {e}", entry.name)),
        };
        if let Some(Err(why)) = valid.map(|valid| valid.judge(text)) {
            self.fault(format!("{}: {how}: {why}\n        {text}", entry.name));
        }
    }

    fn walk(&mut self, entry: &Entry, constraint: &Constraint, walks: usize) {
        self.schemas += 1;
        let valid = Validator::new(&entry.schema, true);
        if valid.is_none() {
            self.unjudged.push(entry.name.clone());
        }
        let started = std::time::Instant::now();
        let first = setting("MASKWRIGHT_WALK_SEED", 0);
        for seed in first..first + walks {
            let mut random = Random::new(seed as u64);
            let most = [3, 30, 100, 300][seed % 4];
            let more = random.below(most + 1) as u32;
            let name = &entry.name;
            let shown = |text: Vec<u8>| String::from_utf8_lossy(&text).into_owned();
            match walk::uniform(constraint, &mut random, more) {
                End::Complete(text, tokens) => {
                    self.complete += 1;
                    self.tokens += u64::from(tokens);
                    self.judge(entry, valid.as_ref(), &text, "a walk");
                }
                End::Refused(error) | End::Broken(_, error) if error.kind() == ErrorKind::Limit => {
                    self.refused.insert(name.clone(), error.to_string());
                }
                End::Refused(error) => self.fault(format!("{name}: refused: {error}")),
                End::Broken(text, error) => {
                    self.fault(format!("{name}: broken: {error}\n        {}", shown(text)));
                }
                End::Stuck(text) => self.fault(format!("{name}: stuck: {}", shown(text))),
            }
        }
        let taken = started.elapsed();
        if taken.as_secs() as usize > 2 * walks {
            println!("{}: {taken:?}", entry.name);
        }
    }

    fn compile(&mut self, compiler: &Compiler, entry: &Entry) -> Option<Constraint> {
        let error = match compiler.json_schema(&entry.schema) {
            Ok(constraint) => return Some(constraint),
            Err(error) => error,
        };
        let what = format!("{:?}", error.kind());
        self.uncompiled.entry(what).or_default().push(format!("{}: {error}", entry.name));
        // What is no schema, or leads to a document that is not there, says nothing of walks.
        if error.kind() == ErrorKind::Limit {
            self.refused.insert(entry.name.clone(), error.to_string());
        }
        None
    }

    fn print(&self, what: &str) {
        println!("{} {what} of {} schemas, {} tokens", self.complete, self.schemas, self.tokens);
        for (kind, names) in &self.uncompiled {
            println!("not compiled, {kind}: {}", names.len());
            names.iter().for_each(|name| println!("    {name}"));
        }
        println!("the validator does not take {}: {:?}", self.unjudged.len(), self.unjudged);
        println!("a limit is reached by {}: {:#?}", self.refused.len(), self.refused);
        println!("{} faults, listed above", self.faults.len());
        assert!(self.faults.is_empty() && self.schemas > 0);
        assert!(self.refused.len() * 100 <= self.schemas);
    }
}

#[test]
fn walks_under_the_mask_are_valid() {
    let walks = setting("MASKWRIGHT_WALKS", 1);
    let Some(entries) = corpus::maskbench(setting("MASKWRIGHT_WALK_STRIDE", 41)) else { return };
    let Some(shared) = corpus::shared() else { return };
    let path = shared.join("tokenizers/tiktoken/o200k_base.tiktoken");
    let compiler = Compiler::new(Vocabulary::from_file(path).unwrap());
    let mut tally = Tally::default();
    for entry in entries {
        if let Some(constraint) = tally.compile(&compiler, &entry) {
            tally.walk(&entry, &constraint, walks);
        }
    }
    tally.print("walks");
}

/// Uniform walks spend their tokens within strings; these texts are spread over the schemas' rules.
#[test]
fn texts_spread_over_schemas_are_valid() {
    let draws = setting("MASKWRIGHT_WALKS", 1);
    let Some(entries) = corpus::maskbench(setting("MASKWRIGHT_WALK_STRIDE", 41)) else { return };
    let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
    let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[]).unwrap());
    let mut tally = Tally::default();
    let mut none = Vec::new();
    for entry in entries {
        let Some(constraint) = tally.compile(&compiler, &entry) else { continue };
        tally.schemas += 1;
        let valid = Validator::new(&entry.schema, true);
        let bounds = Bounds { max_bytes: 4000, ..Bounds::default() };
        let mut texts = match Texts::new(&constraint, 1) {
            Ok(texts) => texts.within(bounds),
            Err(error) => {
                none.push(format!("{}: {error}", entry.name));
                continue;
            }
        };
        for _ in 0..draws {
            match texts.draw() {
                Ok(text) => {
                    tally.complete += 1;
                    tally.judge(&entry, valid.as_ref(), &text, "a text");
                }
                Err(error) => {
                    none.push(format!("{}: {error}", entry.name));
                    break;
                }
            }
        }
    }
    println!("{} schemas without a text: {none:#?}", none.len());
    tally.print("texts");
    assert!(none.len() * 50 <= tally.schemas);
}
