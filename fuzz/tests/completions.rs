//! Shortest completions: from prefixes of real instances of real schemas the shortest completion
//! that is found, on a real vocabulary, is valid, says another validator.
//!
//! By default a few prefixes of the instances of every so many-th schema.
//! `MASKWRIGHT_COMPLETION_STRIDE` says which schemas (1: all), `MASKWRIGHT_COMPLETION_PREFIXES` how
//! many prefixes of each instance (0: all, byte by byte).

use maskwright::json_schema::{Options, PropertyOrder};
use maskwright::{Compiler, Constraint, Vocabulary};
use maskwright_fuzz::corpus;
use maskwright_fuzz::random::Random;
use maskwright_fuzz::setting;
use maskwright_fuzz::validator::Validator;
use maskwright_fuzz::walk::{self, End};

fn accepts(constraint: &Constraint, text: &str) -> bool {
    let mut matcher = constraint.matcher();
    matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
}

#[derive(Default)]
struct Tally {
    instances: usize,
    completions: usize,
    tokens: u64,
    longest: u32,
    faults: Vec<String>,
}

impl Tally {
    fn instance(
        &mut self,
        constraint: &Constraint,
        valid: &Validator,
        (name, text): (&str, &str),
        prefixes: usize,
    ) {
        self.instances += 1;
        let mut random = Random::new(text.len() as u64);
        let mut at: Vec<usize> = match prefixes {
            0 => (0..=text.len()).collect(),
            n => (0..n).map(|_| random.below(text.len() + 1)).collect(),
        };
        at.sort_unstable();
        let (mut matcher, mut read) = (constraint.matcher(), 0);
        for at in at {
            if let Err(error) = matcher.accept_bytes(&text.as_bytes()[read..at]) {
                return self.faults.push(format!("{name}: {at}: {error}\n        {text}"));
            }
            read = at;
            let steps = matcher.steps();
            let end = match matcher.tokens_to_finish() {
                Ok(least) => {
                    self.longest = self.longest.max(least.tokens);
                    walk::go_on(&mut matcher, &mut random, least.tokens)
                }
                Err(error) => End::Refused(error),
            };
            let prefix = &text.as_bytes()[..at];
            match end {
                End::Complete(rest, tokens) => {
                    self.completions += 1;
                    self.tokens += u64::from(tokens);
                    let whole = [prefix, &rest].concat();
                    let judged = match std::str::from_utf8(&whole) {
                        Ok(whole) => valid.judge(whole),
                        Err(e) => Err(e.to_string()),
                    };
                    if let Err(why) = judged {
                        let whole = String::from_utf8_lossy(&whole);
                        self.faults.push(format!("{name}: {at}: {why}\n        {whole}"));
                        // The other prefixes are likely to say the same.
                        return;
                    }
                }
                End::Refused(error) | End::Broken(_, error) => {
                    let prefix = String::from_utf8_lossy(prefix);
                    self.faults.push(format!("{name}: {at}: {error}\n        {prefix}"));
                    return;
                }
                End::Stuck(_) => self.faults.push(format!("{name}: {at}: stuck\n        {text}")),
            }
            let taken = matcher.steps() - steps;
            matcher.rollback(taken).unwrap();
        }
    }
}

#[test]
fn shortest_completions_are_valid() {
    let prefixes = setting("MASKWRIGHT_COMPLETION_PREFIXES", 6);
    let stride = setting("MASKWRIGHT_COMPLETION_STRIDE", 41);
    let Some(entries) = corpus::maskbench(stride) else { return };
    let Some(shared) = corpus::shared() else { return };
    let path = shared.join("tokenizers/tiktoken/o200k_base.tiktoken");
    let plain = Compiler::new(Vocabulary::from_file(path).unwrap());
    let mut options = Options::default();
    options.property_order = PropertyOrder::Any;
    let any = plain.clone().with_json_options(options);
    let mut tally = Tally::default();
    let (mut schemas, mut unordered, mut refused) = (0, 0, Vec::new());
    for entry in entries {
        let Ok(constraint) = plain.json_schema(&entry.schema) else { continue };
        let Some(valid) = Validator::new(&entry.schema, true) else { continue };
        schemas += 1;
        let started = std::time::Instant::now();
        for (_, text) in entry.instances.iter().filter(|instance| instance.0) {
            let named = (entry.name.as_str(), text.as_str());
            if accepts(&constraint, text) {
                tally.instance(&constraint, &valid, named, prefixes);
                continue;
            }
            match any.json_schema(&entry.schema) {
                Ok(constraint) if accepts(&constraint, text) => {
                    unordered += 1;
                    tally.instance(&constraint, &valid, named, prefixes);
                }
                _ => refused.push(entry.name.clone()),
            }
        }
        if started.elapsed().as_secs() > 5 {
            println!("{}: {:?}", entry.name, started.elapsed());
        }
    }
    let Tally { instances, completions, tokens, longest, faults } = tally;
    println!(
        "{completions} completions of {tokens} tokens (at most {longest}) from prefixes of \
         {instances} instances of {schemas} schemas; {unordered} instances in another order than \
         the schema's"
    );
    println!("{} instances are not accepted: {refused:?}", refused.len());
    println!("{} faults", faults.len());
    faults.iter().for_each(|fault| println!("    {fault}"));
    assert!(faults.is_empty() && completions > 0);
}
