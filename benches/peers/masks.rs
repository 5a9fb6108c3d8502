//! Masks beside a peer's: llguidance and this library in one process, over one vocabulary and one
//! corpus, on one thread, and a table of both with ratios.
//!
//! For each schema, compiling from its text and the first mask; then along each instance, as Python
//! writes it, the mask at each token, and the acceptance of the token. The peer is set up as its
//! own benchmark (json_stats) does it: its slicer for JSON, no forced tokens. Both start each schema with what
//! the vocabulary and (unless `--unshared`) earlier schemas have left; which one goes first changes
//! from schema to schema. Memory cannot be told apart in one process: `maskwright bench masks`
//! reports it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::Parser as _;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(clap::Parser)]
struct Args {
    /// A folder of MaskBench's .jsonl files, or one file
    #[arg(long)]
    corpus: PathBuf,
    /// `o200k`, or a tokenizer.json
    #[arg(long, default_value = "o200k")]
    tokenizer: String,
    /// A random sample of this many schemas
    #[arg(long)]
    limit: Option<usize>,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Nothing that schemas have left in caches serves another: a fresh compiler for each
    #[arg(long)]
    unshared: bool,
    /// Members of objects in any order, on our side (the peer knows the schema's order alone)
    #[arg(long)]
    any_order: bool,
    /// The peer's instances of one schema share its lexer, as ours share what they learn; its own
    /// benchmark gives each instance a copy
    #[arg(long)]
    peer_shares: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let corpus = read_corpus(&args)?;
    let words = Arc::new(Words::load(&args.tokenizer)?);
    let clock = Instant::now();
    let peer = Peer::new(&words, args.peer_shares)?;
    let peer_load = clock.elapsed();
    let clock = Instant::now();
    let ours = Ours::new(&words, &args)?;
    println!(
        "{} schemas, {} tokens in the vocabulary ({}); loaded in {:.0} and {:.0} ms",
        corpus.len(),
        words.bytes.len(),
        args.tokenizer,
        peer_load.as_secs_f64() * 1e3,
        clock.elapsed().as_secs_f64() * 1e3,
    );
    println!("caches of maskwright: {}", if args.unshared { "cleared" } else { "shared" });
    // A panic of an engine is an error of that schema.
    std::panic::set_hook(Box::new(|_| {}));
    let mut engines: [Box<dyn Engine>; 2] = [Box::new(peer), Box::new(ours)];
    let mut outcomes: [Vec<Outcome>; 2] = Default::default();
    for (turn, case) in corpus.iter().enumerate() {
        let tests = case.tests.iter().map(|test| {
            let mut text = String::new();
            python(&test.data, &mut text)?;
            Ok((test.valid, (words.encode)(&text)))
        });
        let tests = tests.collect::<Result<Vec<_>>>()?;
        for i in if turn % 2 == 0 { [0, 1] } else { [1, 0] } {
            engines[i].prepare();
            let before = preempted();
            let mut outcome = measure(engines[i].as_ref(), case.schema.get(), &tests);
            outcome.preempted = preempted() - before;
            outcomes[i].push(outcome);
        }
    }
    let all: Vec<usize> = (0..corpus.len()).collect();
    let both: Vec<usize> =
        all.iter().copied().filter(|&i| outcomes.iter().all(|o| o[i].compiled)).collect();
    print_table("Each on all schemas that it compiles", &outcomes, &all);
    print_table("Schemas that both compile", &outcomes, &both);
    Ok(())
}

// The corpus.

#[derive(serde::Deserialize)]
struct Case {
    id: String,
    schema: Box<RawValue>,
    #[serde(default)]
    tests: Vec<Test>,
}

#[derive(serde::Deserialize)]
struct Test {
    valid: bool,
    data: Value,
}

/// The lines of the corpus in the order of their ids, or the sample that `bench masks` draws by the
/// same seed: a Fisher–Yates shuffle's first, by splitmix64.
fn read_corpus(args: &Args) -> Result<Vec<Case>> {
    let mut files = vec![args.corpus.clone()];
    if args.corpus.is_dir() {
        let entries = std::fs::read_dir(&args.corpus)?;
        files = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        files.retain(|path| path.extension().is_some_and(|e| e == "jsonl"));
    }
    let mut cases = BTreeMap::new();
    for file in &files {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let case: Case =
                serde_json::from_str(line).with_context(|| file.display().to_string())?;
            cases.entry(format!("{}.json", case.id)).or_insert(case);
        }
    }
    let mut cases: Vec<Case> = cases.into_values().collect();
    if let Some(limit) = args.limit {
        let (n, mut state) = (limit.min(cases.len()), args.seed);
        for i in 0..n {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            let left = (cases.len() - i) as u64;
            cases.swap(i, i + ((z ^ (z >> 31)) % left) as usize);
        }
        cases.truncate(n);
        cases.sort_by_cached_key(|case| format!("{}.json", case.id));
    }
    ensure!(!cases.is_empty(), "{} holds no schema", args.corpus.display());
    Ok(cases)
}

/// As Python's `json.dumps(…, ensure_ascii=False)`.
fn python(value: &Value, out: &mut String) -> Result<()> {
    let comma = |i: usize| if i > 0 { ", " } else { "" };
    match value {
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(comma(i));
                python(item, out)?;
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (i, (name, member)) in members.iter().enumerate() {
                *out += &format!("{}{}: ", comma(i), serde_json::to_string(name)?);
                python(member, out)?;
            }
            out.push('}');
        }
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) if float != 0.0 && !(1e-4..1e16).contains(&float.abs()) => {
                let text = format!("{float:e}");
                let (digits, exponent) = text.split_once('e').context("no exponent")?;
                *out += &format!("{digits}e{:+03}", exponent.parse::<i32>()?);
            }
            Some(float) => *out += &format!("{float:?}"),
            None => *out += &number.to_string(),
        },
        other => *out += &other.to_string(),
    }
    Ok(())
}

// The vocabulary.

/// What both are given: the bytes of each token, which of them are no text, the end token.
struct Words {
    bytes: Vec<Vec<u8>>,
    special: Vec<bool>,
    end: u32,
    encode: Box<dyn Fn(&str) -> Vec<u32> + Send + Sync>,
}

impl Words {
    fn load(tokenizer: &str) -> Result<Self> {
        if tokenizer != "o200k" {
            return Self::from_tokenizer_json(Path::new(tokenizer));
        }
        const RANKS: u32 = 199_998;
        let bpe = tiktoken_rs::o200k_base()?;
        let bytes = (0..200_019).map(|id| bpe.decode_bytes(&[id]).unwrap_or_default()).collect();
        Ok(Self {
            bytes,
            special: (0..200_019).map(|id| id >= RANKS).collect(),
            end: 199_999,
            encode: Box::new(move |text| bpe.encode_ordinary(text)),
        })
    }

    fn from_tokenizer_json(path: &Path) -> Result<Self> {
        let tokenizer = toktrie_hf_tokenizers::ByteTokenizer::from_file(path)?;
        let end = tokenizer.tokrx_info().tok_eos;
        // It marks what is no text by a byte before the name.
        let marked = |bytes: &Vec<u8>| {
            bytes.is_empty() || bytes.first() == Some(&toktrie::TokTrie::SPECIAL_TOKEN_MARKER)
        };
        let mut bytes = tokenizer.token_bytes();
        let special: Vec<bool> = bytes.iter().map(|b| marked(b) && b.len() != 1).collect();
        for (bytes, _) in bytes.iter_mut().zip(&special).filter(|(_, special)| **special) {
            *bytes = bytes.split_off(bytes.len().min(1));
        }
        let env = tokenizer.into_tok_env(None)?;
        Ok(Self { bytes, special, end, encode: Box::new(move |text| env.tokenize(text)) })
    }
}

// The engines.

trait Engine {
    /// Before each schema, off the clock.
    fn prepare(&mut self) {}
    /// From a schema's text.
    fn compile(&self, schema: &str) -> Result<Box<dyn Compiled>>;
}

trait Compiled {
    /// A sequence at its beginning.
    fn start(&self) -> Result<Box<dyn Sequence>>;
}

trait Sequence {
    /// Computes the mask, packed.
    fn mask(&mut self) -> Result<()>;
    /// Has the mask last computed this token?
    fn allows(&self, token: u32) -> bool;
    fn accept(&mut self, token: u32) -> Result<()>;
    /// May the text end here?
    fn may_end(&mut self) -> Result<bool>;
}

struct Ours {
    compiler: maskwright::Compiler,
    options: maskwright::json_schema::Options,
    unshared: bool,
}

impl Ours {
    fn new(words: &Words, args: &Args) -> Result<Self> {
        let text = words.bytes.iter().zip(&words.special);
        let tokens = text.map(|(bytes, special)| (!special).then(|| bytes.clone())).collect();
        let end = words.end;
        let vocabulary = maskwright::Vocabulary::from_tokens(tokens, &[(end, "<|end|>")], &[end])?;
        let mut options = maskwright::json_schema::Options::default();
        if args.any_order {
            options.property_order = maskwright::json_schema::PropertyOrder::Any;
        }
        let compiler = maskwright::Compiler::new(vocabulary).with_json_options(options.clone());
        Ok(Self { compiler, options, unshared: args.unshared })
    }
}

impl Engine for Ours {
    fn prepare(&mut self) {
        if self.unshared {
            let fresh = maskwright::Compiler::new(Arc::clone(self.compiler.vocabulary()));
            self.compiler = fresh.with_json_options(self.options.clone());
        }
    }

    fn compile(&self, schema: &str) -> Result<Box<dyn Compiled>> {
        Ok(Box::new(self.compiler.json_schema_text(schema)?))
    }
}

impl Compiled for maskwright::Constraint {
    fn start(&self) -> Result<Box<dyn Sequence>> {
        let row = vec![0; self.vocabulary().len().div_ceil(32)];
        Ok(Box::new(OurSequence { matcher: self.matcher(), row }))
    }
}

struct OurSequence {
    matcher: maskwright::Matcher,
    row: Vec<u32>,
}

impl Sequence for OurSequence {
    fn mask(&mut self) -> Result<()> {
        Ok(self.matcher.fill_mask(&mut self.row)?)
    }

    fn allows(&self, token: u32) -> bool {
        self.row[token as usize / 32] >> (token % 32) & 1 == 1
    }

    fn accept(&mut self, token: u32) -> Result<()> {
        Ok(self.matcher.accept(token)?)
    }

    fn may_end(&mut self) -> Result<bool> {
        Ok(self.matcher.is_accepting())
    }
}

struct Peer {
    factory: llguidance::ParserFactory,
    shares: bool,
}

/// The trie that the peer reads the vocabulary from, and the way to encode.
struct PeerTokens {
    trie: toktrie::TokTrie,
    words: Arc<Words>,
}

impl toktrie::TokenizerEnv for PeerTokens {
    fn tok_trie(&self) -> &toktrie::TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<u32> {
        self.trie.tokenize_with_greedy_fallback(bytes, |text| (self.words.encode)(text))
    }
}

impl Peer {
    fn new(words: &Arc<Words>, shares: bool) -> Result<Self> {
        let info = toktrie::TokRxInfo {
            vocab_size: words.bytes.len() as u32,
            tok_eos: words.end,
            tok_bos: None,
            tok_pad: None,
            tok_unk: None,
            tok_end_of_turn: None,
        };
        // Special tokens are known by a byte before their name, which may not be empty.
        let marked =
            words.bytes.iter().zip(&words.special).enumerate().map(|(id, (bytes, special))| {
                let name = format!("<token {id}>").into_bytes();
                match (special, bytes.is_empty()) {
                    (false, _) => bytes.clone(),
                    (true, false) => {
                        [&[toktrie::TokTrie::SPECIAL_TOKEN_MARKER], &bytes[..]].concat()
                    }
                    (true, true) => [&[toktrie::TokTrie::SPECIAL_TOKEN_MARKER], &name[..]].concat(),
                }
            });
        let trie = toktrie::TokTrie::from(&info, &marked.collect::<Vec<_>>());
        let tokens: toktrie::TokEnv = Arc::new(PeerTokens { trie, words: Arc::clone(words) });
        let able = toktrie::InferenceCapabilities {
            ff_tokens: false,
            backtrack: false,
            conditional_ff_tokens: false,
            fork: false,
        };
        let slices = llguidance::earley::SlicedBiasComputer::json_slices();
        let mut factory = llguidance::ParserFactory::new(&tokens, able, &slices)?;
        factory.quiet();
        Ok(Self { factory, shares })
    }
}

impl Engine for Peer {
    fn compile(&self, schema: &str) -> Result<Box<dyn Compiled>> {
        use llguidance::api::{GrammarInit, TopLevelGrammar};
        let schema = serde_json::from_str(schema)?;
        let grammar = GrammarInit::Serialized(TopLevelGrammar::from_json_schema(schema));
        let parser = self.factory.create_parser_from_init_default(grammar)?;
        Ok(Box::new(PeerCompiled { parser, first: Cell::new(true), shares: self.shares }))
    }
}

struct PeerCompiled {
    parser: llguidance::TokenParser,
    /// Has no sequence begun yet?
    first: Cell<bool>,
    shares: bool,
}

impl Compiled for PeerCompiled {
    /// As in its own benchmark: the first mask is that of a clone with the same lexer, which keeps
    /// what it learns, and each instance has a copy of that lexer.
    fn start(&self) -> Result<Box<dyn Sequence>> {
        let mut parser = match self.first.replace(false) || self.shares {
            true => self.parser.clone(),
            false => self.parser.deep_clone(),
        };
        parser.start_without_prompt();
        Ok(Box::new(PeerSequence { parser, mask: toktrie::SimpleVob::new() }))
    }
}

struct PeerSequence {
    parser: llguidance::TokenParser,
    mask: toktrie::SimpleVob,
}

impl Sequence for PeerSequence {
    fn mask(&mut self) -> Result<()> {
        self.mask = self.parser.compute_mask()?;
        Ok(())
    }

    fn allows(&self, token: u32) -> bool {
        self.mask.is_allowed(token)
    }

    fn accept(&mut self, token: u32) -> Result<()> {
        ensure!(self.parser.consume_token(token)? == 0, "it backtracked");
        Ok(())
    }

    fn may_end(&mut self) -> Result<bool> {
        Ok(self.parser.is_accepting())
    }
}

// Measuring.

/// What became of one schema. Times in µs.
#[derive(Default)]
struct Outcome {
    compiled: bool,
    /// A valid instance rejected, or an error on the way.
    rejects_valid: bool,
    accepts_invalid: bool,
    first_mask: f64,
    masks: Vec<f32>,
    accepts: f64,
    accepted: usize,
    preempted: u64,
}

/// How often another thread was put in this one's place, where the system tells: what tails are
/// worth.
fn preempted() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let count = status.lines().find_map(|l| l.strip_prefix("nonvoluntary_ctxt_switches:"));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

fn guarded<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| Err(anyhow!("it panicked")))
}

fn measure(engine: &dyn Engine, schema: &str, tests: &[(bool, Vec<u32>)]) -> Outcome {
    let mut outcome = Outcome::default();
    let clock = Instant::now();
    let Ok(compiled) = guarded(|| engine.compile(schema)) else { return outcome };
    let first = guarded(|| {
        let mut sequence = compiled.start()?;
        sequence.mask()?;
        Ok(sequence)
    });
    outcome.first_mask = micros(clock.elapsed());
    outcome.compiled = true;
    drop(first);
    for (valid, tokens) in tests {
        match guarded(|| follow(compiled.as_ref(), tokens, &mut outcome)) {
            Ok(accepted) => {
                outcome.rejects_valid |= *valid && !accepted;
                outcome.accepts_invalid |= !*valid && accepted;
            }
            Err(_) => outcome.rejects_valid = true,
        }
    }
    outcome
}

fn follow(compiled: &dyn Compiled, tokens: &[u32], outcome: &mut Outcome) -> Result<bool> {
    let mut sequence = compiled.start()?;
    for &token in tokens {
        let clock = Instant::now();
        sequence.mask()?;
        outcome.masks.push(micros(clock.elapsed()) as f32);
        if !sequence.allows(token) {
            return Ok(false);
        }
        let clock = Instant::now();
        sequence.accept(token)?;
        outcome.accepts += micros(clock.elapsed());
        outcome.accepted += 1;
    }
    sequence.may_end()
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

// The table.

const PERCENTILES: [f64; 7] = [25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9];

/// Both engines side by side on these schemas.
fn print_table(title: &str, outcomes: &[Vec<Outcome>; 2], schemas: &[usize]) {
    println!("\n{title} ({}), times in µs\n", schemas.len());
    println!("| | llguidance 1.9.1 | maskwright | times faster |\n|:--|--:|--:|--:|");
    let [peer, ours] = outcomes.each_ref().map(|outcomes| column(outcomes, schemas));
    for ((name, peer, is_time), (_, ours, _)) in peer.into_iter().zip(ours) {
        match is_time {
            true => println!("| {name} | {peer:.2} | {ours:.2} | {:.1} |", peer / ours),
            false => println!("| {name} | {peer} | {ours} | |"),
        }
    }
}

/// Name, value, and is it a time?
fn column(outcomes: &[Outcome], schemas: &[usize]) -> Vec<(String, f64, bool)> {
    let chosen: Vec<&Outcome> = schemas.iter().map(|&i| &outcomes[i]).collect();
    let compiled: Vec<&&Outcome> = chosen.iter().filter(|o| o.compiled).collect();
    let masks: Vec<f64> = compiled.iter().flat_map(|o| &o.masks).map(|&us| f64::from(us)).collect();
    let first_masks: Vec<f64> = compiled.iter().map(|o| o.first_mask).collect();
    let accepted: usize = compiled.iter().map(|o| o.accepted).sum();
    let accept = compiled.iter().map(|o| o.accepts).sum::<f64>() / accepted.max(1) as f64;
    let mask = masks.iter().sum::<f64>() / masks.len().max(1) as f64;
    let tokens = masks.len();
    let mut rows = distribution("mask", masks);
    rows.push(("mask plus accept avg".to_owned(), mask + accept, true));
    rows.extend(distribution("compile and first mask", first_masks));
    let count = |is: fn(&Outcome) -> bool| chosen.iter().filter(|o| is(o)).count();
    rows.extend(
        [
            ("times preempted", chosen.iter().map(|o| o.preempted as usize).sum()),
            ("tokens", tokens),
            ("passing", count(|o| o.compiled && !o.rejects_valid && !o.accepts_invalid)),
            ("compile error", count(|o| !o.compiled)),
            ("validation error", count(|o| o.rejects_valid)),
            ("invalidation error", count(|o| !o.rejects_valid && o.accepts_invalid)),
        ]
        .map(|(name, n)| (name.to_owned(), n as f64, false)),
    );
    rows
}

/// Average, percentiles as MaskBench takes them, greatest.
fn distribution(name: &str, mut times: Vec<f64>) -> Vec<(String, f64, bool)> {
    times.sort_unstable_by(f64::total_cmp);
    let n = times.len();
    let at = |p: f64| times.get(((n as f64 * p / 100.0) as usize).min(n.saturating_sub(1)));
    let mut rows = vec![("avg".to_owned(), Some(times.iter().sum::<f64>() / n as f64))];
    rows.extend(PERCENTILES.map(|p| (format!("p{p}"), at(p).copied())));
    rows.push(("max".to_owned(), times.last().copied()));
    let row = |(what, us): (String, Option<f64>)| {
        (format!("{name} {what}"), us.unwrap_or(f64::NAN), true)
    };
    rows.into_iter().map(row).collect()
}
