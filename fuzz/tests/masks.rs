//! Masks of random schemas against the definition: over a finite universe of texts another
//! validator says which are valid, and a token is allowed if and only if a valid text goes on with
//! it.
//!
//! The universe is part of each schema: scalars, and arrays and objects of two of them at most; no
//! numbers, of which each has many spellings.
//! Vocabularies are the bytes, random pieces of texts, and (with `MASKWRIGHT_SHARED`) what a real
//! one has of the universe's characters. `MASKWRIGHT_ORACLE_CASES` says how many schemas,
//! `MASKWRIGHT_ORACLE_SEED` where they begin.

use std::path::PathBuf;

use maskwright::json_schema::{Options, PropertyOrder, Whitespace};
use maskwright::{Compiler, Constraint, ErrorKind, Limits, Vocabulary};
use maskwright_fuzz::random::Random;
use maskwright_fuzz::schemas::Maker;
use maskwright_fuzz::setting;
use maskwright_fuzz::validator::Validator;
use serde_json::{Value, json};

/// Walks through each schema.
const WALKS: usize = 6;

const KEYS: [&str; 3] = ["a", "b", "ab"];

/// The universe as a schema, in words that every draft has.
fn universe() -> Value {
    let scalar = json!({"anyOf": [
        {"type": ["null", "boolean"]},
        {"type": "string", "maxLength": 2, "pattern": "^[ab]*$"},
    ]});
    json!({"anyOf": [
        scalar,
        {"type": "array", "maxItems": 2, "items": scalar},
        {"type": "object", "maxProperties": 2, "additionalProperties": false,
            "patternProperties": {"^(a|b|ab)$": scalar}},
    ]})
}

/// Its texts, without white space.
fn texts() -> Vec<String> {
    let words = ["null", "false", "true"].map(str::to_owned);
    let strings = ["", "a", "b", "aa", "ab", "ba", "bb"].map(|text| format!("{text:?}"));
    let scalars: Vec<String> = words.into_iter().chain(strings).collect();
    let mut texts = scalars.clone();
    texts.extend(["[]", "{}"].map(str::to_owned));
    for first in &scalars {
        texts.push(format!("[{first}]"));
        texts.extend(KEYS.map(|key| format!("{{{key:?}:{first}}}")));
        for second in &scalars {
            texts.push(format!("[{first},{second}]"));
            for (one, other) in KEYS.iter().flat_map(|one| KEYS.map(|other| (*one, other))) {
                if one != other {
                    texts.push(format!("{{{one:?}:{first},{other:?}:{second}}}"));
                }
            }
        }
    }
    texts.sort_unstable();
    texts
}

/// Every byte, pieces of texts, and an end token.
struct Tokens {
    tokens: Vec<Vec<u8>>,
    compiler: Compiler,
}

impl Tokens {
    fn new(longer: Vec<Vec<u8>>) -> Self {
        let tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).chain(longer).collect();
        let end = tokens.len() as u32;
        let named = tokens.iter().cloned().map(Some).chain([None]).collect();
        let vocabulary = Vocabulary::from_tokens(named, &[(end, "<end>")], &[end]).unwrap();
        let mut options = Options::default();
        options.whitespace = Whitespace::Compact;
        options.property_order = PropertyOrder::Any;
        options.alternatives = 100;
        let limits = Limits { states_per_step: 400, ..Limits::default() };
        let compiler = Compiler::new(vocabulary).with_limits(limits).with_json_options(options);
        Self { tokens, compiler }
    }

    fn pieces(random: &mut Random, texts: &[String]) -> Self {
        let piece = |random: &mut Random| {
            let text = random.pick(texts).as_bytes();
            let from = random.below(text.len());
            let to = (from + 2 + random.below(6)).min(text.len());
            text[from..to].to_vec()
        };
        Self::new((0..150).map(|_| piece(random)).collect())
    }

    /// Of a real vocabulary.
    fn real(texts: &[String]) -> Option<Self> {
        let shared = std::env::var_os("MASKWRIGHT_SHARED").map(PathBuf::from)?;
        let path = shared.join("tokenizers/tiktoken/o200k_base.tiktoken");
        let real = Vocabulary::from_file(path).unwrap();
        let used: Vec<u8> = texts.concat().into_bytes();
        let fits = |token: &&[u8]| token.len() > 1 && token.iter().all(|byte| used.contains(byte));
        let ids = 0..real.len() as u32;
        let longer = ids.filter_map(|id| real.token_bytes(id)).filter(fits);
        Some(Self::new(longer.map(<[u8]>::to_vec).collect()))
    }
}

/// Counts of what was compared, and the differences.
#[derive(Default)]
struct Tally {
    schemas: usize,
    empty: usize,
    refused: usize,
    masks: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn schema(&mut self, tokens: &Tokens, schema: &Value, universe: &[String], seed: u64) {
        let Some(validator) = Validator::new(schema, false) else { return };
        self.schemas += 1;
        let members: Vec<&str> = universe
            .iter()
            .map(String::as_str)
            .filter(|text| validator.judge(text).is_ok())
            .collect();
        let constraint = match tokens.compiler.json_schema_str(&schema.to_string()) {
            Ok(constraint) => constraint,
            Err(e) if e.kind() == ErrorKind::Unsatisfiable => {
                self.empty += 1;
                if let Some(member) = members.first() {
                    self.wrong.push(format!("seed {seed}: {e}, but {member}: {schema}"));
                }
                return;
            }
            Err(_) => {
                self.refused += 1;
                return;
            }
        };
        if members.is_empty() {
            return self.wrong.push(format!("seed {seed}: compiled, but nothing is in {schema}"));
        }
        let mut random = Random::new(seed);
        for _ in 0..WALKS {
            if let Err(wrong) = self.walk(tokens, &constraint, &members, &mut random) {
                return self.wrong.push(format!("seed {seed}: {wrong}: {schema}"));
            }
        }
    }

    /// To the end of a text; the members are sorted.
    fn walk(
        &mut self,
        tokens: &Tokens,
        constraint: &Constraint,
        members: &[&str],
        random: &mut Random,
    ) -> Result<(), String> {
        let mut matcher = constraint.matcher();
        let (mut text, end) = (Vec::new(), tokens.tokens.len() as u32);
        loop {
            let goes_on = |token: &[u8]| {
                let longer = [&text[..], token].concat();
                let at = members.partition_point(|member| member.as_bytes() < &longer[..]);
                members.get(at).is_some_and(|member| member.as_bytes().starts_with(&longer))
            };
            let mut expected: Vec<u32> = (0..)
                .zip(&tokens.tokens)
                .filter(|(_, token)| goes_on(token))
                .map(|(id, _)| id)
                .collect();
            let member = members.binary_search_by(|member| member.as_bytes().cmp(&text)).is_ok();
            expected.extend(member.then_some(end));
            let shown = String::from_utf8_lossy(&text).into_owned();
            let mask = match matcher.mask() {
                Ok(mask) => mask,
                // Too ambiguous for these limits.
                Err(error) if error.kind() == ErrorKind::Limit => return Ok(()),
                Err(error) => return Err(format!("after {shown}: {error}")),
            };
            let found: Vec<u32> = mask.iter().collect();
            self.masks += 1;
            if found != expected {
                let name = |id: &u32| match tokens.tokens.get(*id as usize) {
                    Some(token) => String::from_utf8_lossy(token).into_owned(),
                    None => "the end".into(),
                };
                let (more, less) = (
                    found.iter().find(|id| !expected.contains(id)).map(name),
                    expected.iter().find(|id| !found.contains(id)).map(name),
                );
                return Err(format!("after {shown}: too much {more:?}, too little {less:?}"));
            }
            let token = *random.pick(&expected);
            if token == end {
                return Ok(());
            }
            matcher.accept(token).map_err(|error| format!("after {shown}: {error}"))?;
            text.extend_from_slice(&tokens.tokens[token as usize]);
        }
    }
}

#[test]
fn masks_of_random_schemas_are_those_of_the_definition() {
    let cases = setting("MASKWRIGHT_ORACLE_CASES", 300) as u64;
    let first = setting("MASKWRIGHT_ORACLE_SEED", 0) as u64;
    let texts = texts();
    let within = universe();
    let real = Tokens::real(&texts);
    let mut tally = Tally::default();
    let mut random = Random::new(first);
    let mut pieces = Tokens::pieces(&mut random, &texts);
    for seed in first..first + cases {
        let mut choices = Random::new(seed);
        let parts = Maker::make(&mut choices, false);
        if parts.is_disputed() {
            continue;
        }
        if seed % 20 == 0 {
            pieces = Tokens::pieces(&mut random, &texts);
        }
        let tokens = match &real {
            Some(real) if seed % 2 == 0 => real,
            _ => &pieces,
        };
        tally.schema(tokens, &parts.within(&within), &texts, seed);
    }
    let Tally { schemas, empty, refused, masks, wrong } = tally;
    println!(
        "{masks} masks of {schemas} schemas ({empty} empty, {refused} refused) are as the \
         definition says; {} are not",
        wrong.len()
    );
    wrong.iter().take(20).for_each(|wrong| println!("    {wrong}"));
    assert!(wrong.is_empty() && masks > 0 && refused * 20 <= schemas);
}
