//! Random schemas of all drafts in both directions: what is drawn from a schema is valid, what is
//! drawn from its complement is not, and other instances, however they are spelled, are accepted
//! if and only if they are valid, by another validator.
//!
//! So do the schemas of `seeds.jsonl`, which other faults have left.
//!
//! `MASKWRIGHT_FUZZ_CASES` says how many instances are judged, `MASKWRIGHT_FUZZ_SEED` where the
//! schemas begin.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use maskwright::json_schema::{Options, PropertyOrder, Spelling, Whitespace};
use maskwright::sample::{Bounds, Texts};
use maskwright::{Compiler, Constraint, ErrorKind, Limits, Vocabulary};
use maskwright_fuzz::instances::{mutate, spell};
use maskwright_fuzz::random::Random;
use maskwright_fuzz::schemas::{Maker, Parts, value};
use maskwright_fuzz::setting;
use maskwright_fuzz::shrink::shrink;
use maskwright_fuzz::validator::Validator;
use serde_json::{Value, json};

/// The compilers that take part.
struct Ours {
    /// Every order, spelling and white space.
    any: Compiler,
    /// As values are written by default.
    plain: Compiler,
}

/// Whether a constraint accepts a text; `None` where a limit is reached.
fn accepts(constraint: &Constraint, text: &str) -> Option<bool> {
    let mut matcher = constraint.matcher();
    match matcher.accept_bytes(text.as_bytes()) {
        Ok(()) => Some(matcher.is_accepting()),
        Err(e) if e.kind() == ErrorKind::Rejected => Some(false),
        Err(_) => None,
    }
}

/// A schema in our hands: none at all if nothing satisfies it.
enum Compiled {
    Some(Constraint),
    Nothing,
    Refused(String),
}

impl Ours {
    fn new(formats: bool) -> Self {
        let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
        let vocabulary = Vocabulary::from_tokens(tokens, &[], &[]).unwrap();
        // What is ambiguous a thousand times over takes long, and is said to be too much.
        let limits = Limits { states_per_step: 400, ..Limits::default() };
        let plain = Compiler::new(vocabulary).with_limits(limits);
        let mut options = Options::default();
        options.alternatives = 100;
        options.formats = formats;
        let compiler = plain.clone().with_json_options(options.clone());
        options.spelling = Spelling::Any;
        options.property_order = PropertyOrder::Any;
        options.whitespace = Whitespace::Any;
        Self { any: plain.with_json_options(options), plain: compiler }
    }
}

fn compile(compiler: &Compiler, schema: &Value) -> Compiled {
    match compiler.json_schema_str(&schema.to_string()) {
        Ok(constraint) => Compiled::Some(constraint),
        Err(e) if e.kind() == ErrorKind::Unsatisfiable => Compiled::Nothing,
        Err(e) => Compiled::Refused(e.to_string()),
    }
}

/// A text about which the two disagree, and how.
#[derive(Clone, Debug)]
struct Disagreement {
    schema: Value,
    text: String,
    how: String,
}

/// The validator's verdict; `None` where it fails itself, as it does on powers of ten that it
/// takes for 0 or for endless.
fn judge(validator: &Validator, text: &str) -> Option<Result<(), String>> {
    let mut powers = text.split(['e', 'E']).skip(1);
    let endless = |power: &str| {
        let digits = power.trim_start_matches(['+', '-', '0']);
        digits.chars().take_while(char::is_ascii_digit).count() > 2
    };
    if powers.any(endless) {
        return None;
    }
    catch_unwind(AssertUnwindSafe(|| validator.judge(text))).ok()
}

/// Compares both verdicts on a text; `None` where one of the two says nothing.
fn compare(
    compiled: &Compiled,
    plain: &Compiled,
    validator: &Validator,
    text: &str,
) -> Option<Result<(), String>> {
    let valid = judge(validator, text)?;
    let said = match compiled {
        Compiled::Some(constraint) => accepts(constraint, text)?,
        Compiled::Nothing => false,
        Compiled::Refused(_) => return None,
    };
    Some(match (said, &valid) {
        (true, Err(why)) => Err(format!("accepted, but: {why}")),
        (false, Ok(())) => Err("rejected, but valid".into()),
        // The default writes less, nothing else.
        (false, Err(_)) => match plain {
            Compiled::Some(plain) if accepts(plain, text) == Some(true) => {
                Err("accepted in the schema's order alone".into())
            }
            _ => Ok(()),
        },
        (true, Ok(())) => Ok(()),
    })
}

#[derive(Default)]
struct Tally {
    schemas: usize,
    untaken: usize,
    empty: usize,
    cases: usize,
    valid: usize,
    unsaid: usize,
    refused: BTreeMap<String, (usize, String)>,
    wrong: Vec<Disagreement>,
}

fn draw(compiled: &Compiled, seed: u64, count: usize, max_bytes: usize) -> Vec<String> {
    let Compiled::Some(constraint) = compiled else { return Vec::new() };
    let Ok(texts) = Texts::new(constraint, seed) else { return Vec::new() };
    let mut texts = texts.within(Bounds { max_bytes, ..Bounds::default() });
    let drawn = (0..count).map_while(|_| texts.draw().ok());
    drawn.filter_map(|text| String::from_utf8(text).ok()).collect()
}

impl Tally {
    fn schema(&mut self, ours: &Ours, formats: bool, parts: &Parts, seed: u64) {
        let schema = parts.schema();
        let Some(validator) = Validator::new(&schema, formats) else {
            self.untaken += 1;
            return;
        };
        self.schemas += 1;
        let any = compile(&ours.any, &schema);
        let plain = compile(&ours.plain, &schema);
        let negated = compile(&ours.any, &parts.negated());
        for (compiled, schema) in [(&any, &schema), (&negated, &parts.negated())] {
            if let Compiled::Refused(error) = compiled {
                let error: String = error.chars().take(50).collect();
                let first = (0, schema.to_string());
                self.refused.entry(error).or_insert(first).0 += 1;
            }
        }
        self.empty += usize::from(matches!(any, Compiled::Nothing));
        let mut random = Random::new(!seed);
        let mut texts = draw(&any, seed, 5, 70);
        texts.extend(draw(&plain, seed, 4, 60));
        texts.extend(draw(&negated, seed, 4, 50));
        let mut values: Vec<Value> =
            texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
        values.extend((0..4).map(|_| value(&mut random, 2)));
        for _ in 0..8 {
            let at = random.below(values.len());
            let changed = mutate(&mut random, &values[at]);
            values.push(changed);
        }
        let spelled = values.iter().map(|value| spell(&mut random, value));
        texts.extend(spelled.collect::<Vec<_>>());
        for text in texts {
            let trace = setting("MASKWRIGHT_FUZZ_TRACE", 0) > 1;
            if trace {
                eprintln!("{text}");
            }
            self.case(&any, &plain, &validator, &schema, text.clone());
            // The complement has every other text.
            if let (Some(valid), Compiled::Some(negated)) = (judge(&validator, &text), &negated)
                && accepts(negated, &text) == Some(valid.is_ok())
            {
                let how = format!("the complement is wrong: {valid:?}");
                self.wrong.push(Disagreement { schema: parts.negated(), text, how });
            }
        }
    }

    fn case(
        &mut self,
        any: &Compiled,
        plain: &Compiled,
        validator: &Validator,
        schema: &Value,
        text: String,
    ) {
        self.cases += 1;
        match compare(any, plain, validator, &text) {
            None => self.unsaid += 1,
            Some(Ok(())) => {
                self.valid += usize::from(matches!(judge(validator, &text), Some(Ok(()))));
            }
            Some(Err(how)) => {
                self.wrong.push(Disagreement { schema: schema.clone(), text, how });
            }
        }
    }
}

/// Schemas that were found wrong once, or are hard for another reason, with texts that tell; and
/// these texts changed.
#[test]
fn seeds_mean_the_same_to_both() {
    let ours = Ours::new(true);
    for (seed, line) in include_str!("../seeds.jsonl").lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        let schema = &line["schema"];
        let validator = Validator::new(schema, true).unwrap();
        let any = compile(&ours.any, schema);
        let plain = compile(&ours.plain, schema);
        let texts = line["texts"].as_array().unwrap().iter().filter_map(Value::as_str);
        let mut texts: Vec<String> = texts.map(str::to_owned).collect();
        let mut random = Random::new(seed as u64);
        for text in texts.clone() {
            let value: Value = serde_json::from_str(&text).unwrap();
            for _ in 0..40 {
                let changed = mutate(&mut random, &value);
                texts.push(spell(&mut random, &changed));
            }
        }
        // The validator knows no number of a great exponent.
        let drawn = draw(&plain, 1, 20, 80);
        texts.extend(drawn.into_iter().filter(|text| judge(&validator, text).is_some()));
        for text in texts {
            let same = compare(&any, &plain, &validator, &text);
            assert_eq!(same, Some(Ok(())), "{schema}\n{text}");
        }
    }
}

/// The disagreement in its smallest form.
fn smallest(ours: &Ours, formats: bool, found: &Disagreement) -> Disagreement {
    let how = |schema: &Value, text: &str| {
        let validator = Validator::new(schema, formats)?;
        let (any, plain) = (compile(&ours.any, schema), compile(&ours.plain, schema));
        compare(&any, &plain, &validator, text)?.err()
    };
    let mut found = found.clone();
    // Schema and instance together: with one the other may become simpler.
    let both = json!({"schema": found.schema, "text": found.text});
    let parts = |both: &Value| (both["schema"].clone(), both["text"].as_str().map(str::to_owned));
    let fails = |both: &Value| match parts(both) {
        (schema, Some(text)) => how(&schema, &text).is_some(),
        _ => false,
    };
    let both = shrink(both, fails);
    let instance = serde_json::from_str::<Value>(both["text"].as_str().unwrap_or_default());
    found.schema = both["schema"].clone();
    if let Ok(instance) = instance {
        let text = shrink(instance, |i| how(&found.schema, &i.to_string()).is_some()).to_string();
        if how(&found.schema, &text).is_some() {
            found.text = text;
        }
    }
    found.schema = shrink(found.schema, |schema| how(schema, &found.text).is_some());
    found.how = how(&found.schema, &found.text).unwrap_or(found.how);
    found
}

#[test]
fn random_schemas_mean_the_same_to_both() {
    let cases = setting("MASKWRIGHT_FUZZ_CASES", 2_000);
    let first = setting("MASKWRIGHT_FUZZ_SEED", 0) as u64;
    let ours = [Ours::new(false), Ours::new(true)];
    let mut tally = Tally::default();
    let mut shown = 0;
    for seed in first.. {
        if tally.cases >= cases {
            break;
        }
        let mut random = Random::new(seed);
        let formats = random.percent(30);
        let parts = Maker::make(&mut random, formats);
        if parts.is_disputed() {
            continue;
        }
        let (ours, before) = (&ours[usize::from(formats)], tally.wrong.len());
        let started = std::time::Instant::now();
        if setting("MASKWRIGHT_FUZZ_TRACE", 0) > 0 {
            eprintln!("seed {seed}: {}", parts.schema());
        }
        tally.schema(ours, formats, &parts, seed);
        if started.elapsed().as_millis() > 2_000 {
            println!("seed {seed}: {:?}: {}", started.elapsed(), parts.schema());
        }
        if tally.wrong.len() > before && shown < setting("MASKWRIGHT_FUZZ_SHOWN", 20) {
            shown += 1;
            let found = smallest(ours, formats, &tally.wrong[before]);
            println!("seed {seed}: {}\n    {}\n    {}", found.how, found.schema, found.text);
        }
    }
    let Tally { schemas, untaken, empty, cases, valid, unsaid, refused, wrong } = tally;
    println!(
        "{cases} cases of {schemas} schemas ({empty} empty): {valid} valid, {unsaid} unsaid, {} \
         wrong; the validator does not take {untaken}",
        wrong.len()
    );
    for (error, (count, first)) in refused {
        println!("refused {count} times: {error}\n    {first}");
    }
    assert!(wrong.is_empty());
}
