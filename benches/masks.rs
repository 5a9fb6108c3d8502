//! Costs of the parts, each beside the floor that it cannot pass.
//!
//! `cargo bench --bench masks` runs all, `cargo bench --bench masks -- warm` those with `warm` in
//! their name. The vocabulary is made up; with `MASKWRIGHT_SHARED` naming a folder that holds
//! `tokenizers/tiktoken/o200k_base.tiktoken`, that one is measured as well. Masks and accepts are
//! timed over a whole text, so that the time of one is the inverse of `item/s`.
//!
//! # Floors
//!
//! - A mask that is computed is written once: [`floor::write_a_mask`].
//! - A mask in a row of the host's is copied once: [`floor::copy_a_mask`].
//! - A mask that is found by asking each token costs [`floor::walk_the_trie`], times the share of
//!   the nodes that the constraint cannot skip. Whatever is faster has not asked.
//! - A vocabulary's bytes are read once: [`floor::read_the_bytes`]; its index is read, and what is
//!   in it written: [`floor::copy_an_index`].
//! - A mask that is lent moves nothing; finding it is one look-up behind one lock.
//! - The rows of a batch are written once each: [`floor::write_a_batch`]. What is computed for them
//!   is shared among the cores.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use maskwright::constraint::{Compiler, Constraint};
use maskwright::{Matcher, TokenMask, Vocabulary, fill_masks};

fn main() {
    divan::main();
}

/// A vocabulary that parts are measured with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    MadeUp,
    O200k,
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MadeUp => "made-up",
            Self::O200k => "o200k",
        })
    }
}

impl Words {
    fn all() -> Vec<Self> {
        let real = o200k_file().is_some_and(|file| file.exists());
        if real { vec![Self::MadeUp, Self::O200k] } else { vec![Self::MadeUp] }
    }

    /// Those that are files.
    fn files() -> Vec<Self> {
        Self::all().into_iter().filter(|&words| words == Self::O200k).collect()
    }

    fn load_by_index(self) -> Vocabulary {
        Vocabulary::from_file_indexed(o200k_file().unwrap_or_default(), index_folder())
            .expect("the vocabulary is sound")
    }

    fn vocabulary(self) -> Arc<Vocabulary> {
        static LOADED: [OnceLock<Arc<Vocabulary>>; 2] = [OnceLock::new(), OnceLock::new()];
        LOADED[self as usize].get_or_init(|| Arc::new(self.load())).clone()
    }

    fn load(self) -> Vocabulary {
        match self {
            Self::MadeUp => {
                let tokens = made_up_tokens();
                let end = tokens.len() as u32;
                Vocabulary::from_tokens(tokens, &[(end, "<|end|>")], &[end])
            }
            // Listed only where the file exists.
            Self::O200k => Vocabulary::from_file(o200k_file().unwrap_or_default()),
        }
        .expect("the vocabulary is sound")
    }
}

fn index_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("index")
}

fn o200k_file() -> Option<PathBuf> {
    let shared = PathBuf::from(std::env::var_os("MASKWRIGHT_SHARED")?);
    Some(shared.join("tokenizers/tiktoken/o200k_base.tiktoken"))
}

/// Some 40,000 tokens in the proportions of real ones: all bytes, syllables with and without a
/// space before them, capitals, numbers of up to three digits, runs of blanks, punctuation.
fn made_up_tokens() -> Vec<Option<Vec<u8>>> {
    let mut tokens: BTreeSet<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let onsets =
        ["", "b", "ch", "d", "f", "gr", "h", "l", "m", "n", "pr", "qu", "r", "st", "t", "v"];
    let rimes = ["a", "e", "i", "o", "u", "an", "er", "ing", "ion", "ow", "é"];
    let syllables: Vec<String> =
        onsets.iter().flat_map(|a| rimes.iter().map(move |b| format!("{a}{b}"))).collect();
    let longer = syllables.iter().enumerate().flat_map(|(i, a)| {
        // Every second pair, so that not every prefix leads to all others.
        syllables.iter().skip(i % 2).step_by(2).map(move |b| format!("{a}{b}"))
    });
    for word in syllables.iter().cloned().chain(longer) {
        tokens.insert(format!(" {word}").into_bytes());
        let mut letters = word.chars();
        let capital = letters.next().map(|first| first.to_uppercase().to_string());
        tokens.insert(format!("{}{}", capital.unwrap_or_default(), letters.as_str()).into_bytes());
        tokens.insert(word.into_bytes());
    }
    tokens.extend((0..1000).map(|number| number.to_string().into_bytes()));
    tokens.extend((2..60).map(|length| vec![b' '; length]));
    tokens.extend((1..30).map(|length| [&b"\n"[..], &vec![b' '; length]].concat()));
    let marks = ["\"", ",", ":", " ", "{", "}", "[", "]", "\\", ".", "-", "\n"];
    for a in marks {
        for b in marks {
            tokens.insert(format!("{a}{b}").into_bytes());
            tokens.extend(marks.map(|c| format!("{a}{b}{c}").into_bytes()));
        }
    }
    tokens.into_iter().map(Some).collect()
}

/// A constraint and a text in its language.
#[derive(Clone, Copy, Debug)]
struct Case {
    words: Words,
    name: &'static str,
    /// A JSON Schema.
    schema: &'static str,
    text: &'static str,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.words, self.name)
    }
}

/// Name, JSON Schema, instance.
const SCHEMAS: &[(&str, &str, &str)] = &[
    (
        "strings",
        r#"{"type": "array", "items": {"type": "string"}}"#,
        r#"["the quick brown fox", "jumps over", "", "the lazy dog; \"quoted\", é"]"#,
    ),
    (
        "object",
        r#"{"type": "object", "properties": {
            "name": {"type": "string", "maxLength": 40}, "age": {"type": "integer", "minimum": 0},
            "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}},
            "born": {"type": "string"}},
            "required": ["name", "age"], "additionalProperties": false}"#,
        r#"{"name": "Ada Lovelace", "age": 36, "tags": ["red", "blue"], "born": "1815-12-10"}"#,
    ),
    (
        "any JSON",
        "{}",
        r#"{"a": [1, 2.5, {"b": null, "c": [true, false, "text"]}], "d": {"e": [[], {}]}}"#,
    ),
];

fn cases() -> Vec<Case> {
    let of =
        |words| SCHEMAS.iter().map(move |&(name, schema, text)| Case { words, name, schema, text });
    Words::all().into_iter().flat_map(of).collect()
}

impl Case {
    fn compile(&self, compiler: &Compiler) -> Constraint {
        compiler.json_schema_str(self.schema).expect("the schema is sound")
    }

    fn compiler(&self) -> Compiler {
        Compiler::new(self.words.vocabulary())
    }

    /// The text as tokens, each the longest that fits.
    fn tokens(&self) -> Vec<u32> {
        let vocabulary = self.words.vocabulary();
        let trie = vocabulary.trie();
        let mut rest = self.text.as_bytes();
        let mut tokens = Vec::new();
        while !rest.is_empty() {
            let fits = |length: &usize| {
                let node = trie.find(&rest[..*length])?;
                Some((*length, *trie.tokens(node).first()?))
            };
            let lengths = (1..=rest.len().min(30)).collect::<Vec<_>>();
            let found = lengths.iter().rev().find_map(fits);
            let (length, token) = found.expect("every byte is a token");
            tokens.push(token);
            rest = &rest[length..];
        }
        tokens
    }
}

/// Takes a mask at each token of the text; returns how many tokens they allow, so that nothing is
/// optimised away.
fn walk(constraint: &Constraint, tokens: &[u32]) -> usize {
    let mut matcher = constraint.matcher();
    let mut allowed = 0;
    for &token in tokens {
        allowed += matcher.mask().expect("a mask").words()[0].count_ones() as usize;
        matcher.accept(token).expect("the text is in the language");
    }
    assert!(matcher.is_accepting(), "the text ends too early");
    allowed
}

mod vocabulary {
    use super::*;

    /// From the bytes of its tokens (made-up), or from its file.
    #[divan::bench(args = Words::all(), sample_count = 20)]
    fn load(words: Words) -> Vocabulary {
        words.load()
    }

    /// By an index that is there.
    #[divan::bench(args = Words::files(), sample_count = 20)]
    fn load_by_index(words: Words) -> Vocabulary {
        words.load_by_index()
    }

    /// Preparing a compiler: what all of its constraints share.
    #[divan::bench(args = Words::all(), sample_count = 20)]
    fn prepare(words: Words) -> Compiler {
        Compiler::new(words.vocabulary())
    }

    /// The same by an index that is there.
    #[divan::bench(args = Words::files(), sample_count = 20)]
    fn prepare_by_index(bencher: Bencher, words: Words) {
        let vocabulary = Arc::new(words.load_by_index());
        let compiler = Compiler::new(Arc::clone(&vocabulary));
        drop(compiler);
        bencher.bench(|| Compiler::new(Arc::clone(&vocabulary)));
    }
}

mod constraint {
    use super::*;

    /// With a compiler that has compiled it before, as a server has.
    #[divan::bench(args = cases())]
    fn compile(bencher: Bencher, case: &Case) {
        let compiler = case.compiler();
        bencher.bench(|| case.compile(&compiler));
    }

    /// Compiling and the first mask, by a compiler that has never seen anything.
    #[divan::bench(args = cases())]
    fn first_mask_ever(bencher: Bencher, case: &Case) {
        bencher.with_inputs(|| case.compiler()).bench_values(|compiler| {
            let constraint = case.compile(&compiler);
            constraint.matcher().mask().expect("a mask").count()
        });
    }

    /// The same by a compiler that has compiled it before.
    #[divan::bench(args = cases())]
    fn first_mask(bencher: Bencher, case: &Case) {
        let compiler = case.compiler();
        bencher.bench(|| case.compile(&compiler).matcher().mask().expect("a mask").count());
    }
}

mod mask {
    use super::*;

    /// Masks and accepts along a text that the constraint has not seen before.
    #[divan::bench(args = cases())]
    fn cold(bencher: Bencher, case: &Case) {
        let (compiler, tokens) = (case.compiler(), case.tokens());
        bencher
            .counter(ItemsCount::new(tokens.len()))
            .with_inputs(|| case.compile(&compiler))
            .bench_refs(|constraint| walk(constraint, &tokens));
    }

    /// The same along a text that it has seen before.
    #[divan::bench(args = cases())]
    fn warm(bencher: Bencher, case: &Case) {
        let tokens = case.tokens();
        let constraint = case.compile(&case.compiler());
        walk(&constraint, &tokens);
        bencher.counter(ItemsCount::new(tokens.len())).bench(|| walk(&constraint, &tokens));
    }

    /// One mask after the other is lent, in states seen many times.
    #[divan::bench(args = cases())]
    fn lend(bencher: Bencher, case: &Case) {
        let tokens = case.tokens();
        let constraint = case.compile(&case.compiler());
        (0..20).for_each(|_| _ = walk(&constraint, &tokens));
        let mut places = Vec::new();
        let mut matcher = constraint.matcher();
        for &token in &tokens {
            places.push(matcher.clone());
            matcher.accept(token).expect("in the language");
        }
        bencher.counter(ItemsCount::new(places.len())).bench_local(|| {
            places.iter_mut().for_each(|matcher| _ = black_box(matcher.mask().expect("a mask")));
        });
    }

    /// Accepts alone, along a text seen before.
    #[divan::bench(args = cases())]
    fn accept(bencher: Bencher, case: &Case) {
        let tokens = case.tokens();
        let constraint = case.compile(&case.compiler());
        bencher.counter(ItemsCount::new(tokens.len())).bench(|| {
            let mut matcher = constraint.matcher();
            tokens.iter().for_each(|&token| matcher.accept(token).expect("in the language"));
            matcher
        });
    }
}

/// 256 sequences of 16 constraints of one compiler, each somewhere in its text.
mod batch {
    use super::*;

    const ROWS: usize = 256;

    fn matchers(words: Words, compiler: &Compiler) -> Vec<Matcher> {
        let cases: Vec<Case> = cases().into_iter().filter(|case| case.words == words).collect();
        let constraints: Vec<_> = (0..16)
            .map(|index| (cases[index % cases.len()], cases[index % cases.len()].compile(compiler)))
            .collect();
        let matcher = |index: usize| {
            let (case, constraint) = &constraints[index % constraints.len()];
            let tokens = case.tokens();
            let mut matcher = constraint.matcher();
            for &token in &tokens[..index / constraints.len() % tokens.len()] {
                matcher.accept(token).expect("in the language");
            }
            matcher
        };
        (0..ROWS).map(matcher).collect()
    }

    fn rows(words: Words) -> Vec<u32> {
        vec![0; ROWS * words.vocabulary().len().div_ceil(32)]
    }

    fn one_by_one(matchers: &mut [Matcher], rows: &mut [u32]) {
        let width = rows.len() / ROWS;
        for (matcher, row) in matchers.iter_mut().zip(rows.chunks_mut(width)) {
            matcher.fill_mask(row).expect("a mask");
        }
    }

    fn together(matchers: &mut [Matcher], rows: &mut [u32]) {
        let width = rows.len() / ROWS;
        let mut batch: Vec<_> = matchers.iter_mut().zip(rows.chunks_mut(width)).collect();
        fill_masks(&mut batch).expect("masks");
    }

    #[divan::bench(args = Words::all(), sample_count = 30)]
    fn cold_one_by_one(bencher: Bencher, words: Words) {
        let (compiler, mut rows) = (Compiler::new(words.vocabulary()), rows(words));
        bencher
            .with_inputs(|| matchers(words, &compiler))
            .bench_local_refs(|matchers| one_by_one(matchers, &mut rows));
    }

    #[divan::bench(args = Words::all(), sample_count = 30)]
    fn cold_together(bencher: Bencher, words: Words) {
        let (compiler, mut rows) = (Compiler::new(words.vocabulary()), rows(words));
        bencher
            .with_inputs(|| matchers(words, &compiler))
            .bench_local_refs(|matchers| together(matchers, &mut rows));
    }

    #[divan::bench(args = Words::all(), sample_count = 30)]
    fn warm_one_by_one(bencher: Bencher, words: Words) {
        let compiler = Compiler::new(words.vocabulary());
        let (mut matchers, mut rows) = (matchers(words, &compiler), rows(words));
        one_by_one(&mut matchers, &mut rows);
        bencher.bench_local(|| one_by_one(&mut matchers, &mut rows));
    }

    #[divan::bench(args = Words::all(), sample_count = 30)]
    fn warm_together(bencher: Bencher, words: Words) {
        let compiler = Compiler::new(words.vocabulary());
        let (mut matchers, mut rows) = (matchers(words, &compiler), rows(words));
        one_by_one(&mut matchers, &mut rows);
        bencher.bench_local(|| together(&mut matchers, &mut rows));
    }
}

mod floor {
    use super::*;

    #[divan::bench(args = Words::all())]
    fn write_a_batch(bencher: Bencher, words: Words) {
        let mask = TokenMask::all(words.vocabulary().len());
        let mut rows = vec![0; 256 * mask.words().len()];
        bencher.counter(BytesCount::new(size_of_val(&rows[..]))).bench_local(|| {
            for row in black_box(&mut rows).chunks_mut(mask.words().len()) {
                row.copy_from_slice(black_box(mask.words()));
            }
        });
    }

    /// The file of a vocabulary's index, read and copied.
    #[divan::bench(args = Words::files(), sample_count = 20)]
    fn copy_an_index(bencher: Bencher, words: Words) {
        words.load_by_index();
        let files = || std::fs::read_dir(index_folder()).into_iter().flatten().flatten();
        let named = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("vocabulary");
        let file = files().find(|file| named(&file.file_name())).map(|file| file.path());
        let file = file.expect("just written");
        let bytes = std::fs::read(&file).map_or(0, |bytes| bytes.len());
        bencher.counter(BytesCount::new(bytes)).bench(|| std::fs::read(&file));
    }

    #[divan::bench(args = Words::all())]
    fn write_a_mask(bencher: Bencher, words: Words) {
        let mut mask = TokenMask::new(words.vocabulary().len());
        let bytes = size_of_val(mask.words());
        bencher.counter(BytesCount::new(bytes)).bench_local(|| black_box(&mut mask).clear());
    }

    #[divan::bench(args = Words::all())]
    fn copy_a_mask(bencher: Bencher, words: Words) {
        let mask = TokenMask::all(words.vocabulary().len());
        let mut row = vec![0; mask.words().len()];
        bencher
            .counter(BytesCount::new(size_of_val(mask.words())))
            .bench_local(|| black_box(&mut row).copy_from_slice(black_box(mask.words())));
    }

    /// All nodes, asking each whether its byte is in a set of two states.
    #[divan::bench(args = Words::all())]
    fn walk_the_trie(bencher: Bencher, words: Words) {
        let vocabulary = words.vocabulary();
        let nodes = vocabulary.trie().nodes();
        let table: Vec<u8> = (0..512u32).map(|i| (i % 2) as u8).collect();
        bencher.counter(ItemsCount::new(nodes.len())).bench(|| {
            nodes
                .iter()
                .fold(0, |state, node| table[usize::from(state) * 256 + usize::from(node.byte)])
        });
    }

    /// The bytes of all tokens, summed.
    #[divan::bench(args = Words::all())]
    fn read_the_bytes(bencher: Bencher, words: Words) {
        let vocabulary = words.vocabulary();
        let all: Vec<u32> = (0..vocabulary.len() as u32).collect();
        let bytes = vocabulary.decode(&all);
        bencher
            .counter(BytesCount::new(bytes.len()))
            .bench(|| black_box(&bytes).iter().map(|&byte| u64::from(byte)).sum::<u64>());
    }
}
