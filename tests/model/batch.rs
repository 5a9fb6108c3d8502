//! Batches: the logits of a sequence are the same, bit for bit, whatever is read beside it and however
//! its tokens are cut into chunks.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use crate::llama::{config, random_tensors};
use crate::model_support::write_model;
use maskwright::model::{
    Chunk, DType, KvCache, LogitRows, Logits, Model, ModelOptions, ModelSource, SharedBlock,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::json;

/// A model whose products are large enough for several threads and fill no tile.
fn folder(name: &str) -> PathBuf {
    let config = config(json!({"hidden_size": 100, "intermediate_size": 210, "head_dim": 24}));
    write_model(name, &config, &random_tensors(&config, 5), "F32", 1)
}

/// More tokens than any sequence here has.
const LONGEST: usize = 100;

/// The logits that a model should have: those of a model that reads token by token, one text alone.
#[derive(Clone, Copy)]
pub(crate) struct Reference<'a> {
    pub(crate) model: &'a Model,
    /// The greatest difference of a logit; `None`: the same bits.
    pub(crate) tolerance: Option<f32>,
}

impl<'a> Reference<'a> {
    /// The same model.
    fn exact(model: &'a Model) -> Self {
        Self { model, tolerance: None }
    }

    /// The logits after each token.
    fn logits(self, tokens: &[u32]) -> Vec<Vec<f32>> {
        let mut cache = self.model.new_cache_for(LONGEST).unwrap();
        let row = |token| self.model.forward(&[token], &mut cache).unwrap().to_vec().unwrap();
        tokens.iter().copied().map(row).collect()
    }

    /// Panics on rows that are not these.
    fn assert_same(self, rows: &[Logits], expected: &[Vec<f32>]) {
        assert_eq!(rows.len(), expected.len());
        for (row, expected) in rows.iter().zip(expected) {
            let row = row.to_vec().unwrap();
            assert_eq!(row.len(), expected.len());
            for (x, expected) in row.iter().zip(expected) {
                let is_same = match self.tolerance {
                    None => x.to_bits() == expected.to_bits(),
                    Some(tolerance) => (x - expected).abs() <= tolerance,
                };
                assert!(is_same, "{x} is not {expected}");
            }
        }
    }
}

struct Sequence {
    tokens: Vec<u32>,
    expected: Vec<Vec<f32>>,
    cache: KvCache,
}

#[test]
fn a_sequence_in_a_batch_has_the_logits_that_it_has_alone() {
    let folder = folder("batch");
    let cases = [(DType::F32, &[2, 3, 7, 16, 64][..]), (DType::BF16, &[7]), (DType::F16, &[7])];
    for (dtype, sizes) in cases {
        let source = ModelSource::Folder(folder.clone());
        let model = Model::load(&ModelOptions { source, dtype, ..Default::default() }).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        for &size in sizes {
            assert_batches_are_as_alone(&model, size, &mut rng);
        }
    }
}

/// Reads sequences side by side in chunks.
pub(crate) fn assert_batches_are_as_alone(model: &Model, size: usize, rng: &mut ChaCha8Rng) {
    assert_batches_are_as(Reference::exact(model), model, size, rng);
}

/// Reads sequences side by side in chunks.
pub(crate) fn assert_batches_are_as(
    reference: Reference<'_>,
    model: &Model,
    size: usize,
    rng: &mut ChaCha8Rng,
) {
    let width = model.vocabulary().len() as u32;
    let mut sequences: Vec<Sequence> = (0..size)
        .map(|_| {
            let length = 1 + rng.next_u32() % 24;
            let tokens: Vec<u32> = (0..length).map(|_| rng.next_u32() % width).collect();
            let expected = reference.logits(&tokens);
            Sequence { tokens, expected, cache: model.new_cache_for(LONGEST).unwrap() }
        })
        .collect();
    // Each pass reads a chunk of random length of a random part of the sequences; now and
    // then one is set back, as by a preemption, or goes on in a fork.
    while sequences.iter().any(|sequence| sequence.cache.len() < sequence.tokens.len()) {
        let mut chunks = Vec::new();
        let mut places = Vec::new();
        for (i, sequence) in sequences.iter_mut().enumerate() {
            let Sequence { tokens, cache, .. } = sequence;
            match rng.next_u32() % 16 {
                0 => cache.truncate(rng.next_u32() as usize % (cache.len() + 1)),
                1 => *cache = cache.fork(),
                2..6 => continue,
                _ => {}
            }
            let left = tokens.len() - cache.len();
            if left == 0 {
                continue;
            }
            let n = 1 + rng.next_u32() as usize % left.min(9);
            let from = cache.len();
            let logits =
                [LogitRows::None, LogitRows::Last, LogitRows::All][rng.next_u32() as usize % 3];
            places.push((i, from, n, logits));
            let chunk = Chunk::new(&tokens[from..from + n], cache).with_logits(logits);
            chunks.push(chunk);
        }
        let rows = model.forward_batch(&mut chunks).unwrap();
        assert_eq!(rows.len(), places.len());
        for (rows, (i, from, n, logits)) in rows.into_iter().zip(places) {
            let expected = &sequences[i].expected[from..from + n];
            match logits {
                LogitRows::None => assert!(rows.is_empty()),
                LogitRows::Last => reference.assert_same(&rows, &expected[n - 1..]),
                LogitRows::All => reference.assert_same(&rows, expected),
            }
        }
    }
}

#[test]
fn a_node_of_a_tree_has_the_logits_of_its_path() {
    let model = crate::model_support::load(folder("batch-tree"));
    assert_trees_are_as_paths(&model, 20);
}

/// Reads some random trees.
pub(crate) fn assert_trees_are_as_paths(model: &Model, trees: usize) {
    assert_trees_are_as_paths_of(Reference::exact(model), model, trees);
}

/// Reads some random trees.
pub(crate) fn assert_trees_are_as_paths_of(reference: Reference<'_>, model: &Model, trees: usize) {
    let width = model.vocabulary().len() as u32;
    let mut rng = ChaCha8Rng::seed_from_u64(10);
    for _ in 0..trees {
        let mut next = || rng.next_u32();
        let prompt: Vec<u32> = (0..1 + next() % 30).map(|_| next() % width).collect();
        let n = 1 + next() as usize % 12;
        let tokens: Vec<u32> = (0..n).map(|_| next() % width).collect();
        let parents: Vec<usize> = (1..n).map(|i| next() as usize % i).collect();
        let mut cache = model.new_cache_for(LONGEST).unwrap();
        model.forward(&prompt, &mut cache).unwrap();
        let rows = model.forward_tree(&tokens, &parents, &mut cache).unwrap();
        let mut path_to = vec![vec![0]];
        for (i, &parent) in parents.iter().enumerate() {
            let path = [path_to[parent].clone(), vec![i + 1]].concat();
            path_to.push(path);
        }
        for (path, row) in path_to.iter().zip(rows) {
            let text = path.iter().map(|&node| tokens[node]);
            let text: Vec<u32> = prompt.iter().copied().chain(text).collect();
            reference.assert_same(&[row], &reference.logits(&text)[text.len() - 1..]);
        }
        // The path that is kept goes on as if nothing else had been read.
        let path = &path_to[n - 1];
        model.keep(&mut cache, prompt.len(), path).unwrap();
        let text = path.iter().map(|&node| tokens[node]).chain([3]);
        let text: Vec<u32> = prompt.iter().copied().chain(text).collect();
        let row = model.forward(&[3], &mut cache).unwrap();
        reference.assert_same(&[row], &reference.logits(&text)[text.len() - 1..]);
    }
}

#[test]
fn a_cache_of_shared_blocks_goes_on_as_if_its_tokens_had_been_read() {
    let model = crate::model_support::load(folder("batch-prefix"));
    let counts = || model.kv_blocks().unwrap();
    let tokens: Vec<u32> = (0..60).map(|i| i * 7 % 100).collect();
    let reference = Reference::exact(&model);
    let expected = reference.logits(&tokens);
    let mut first = model.new_cache().unwrap();
    model.forward(&tokens[..40], &mut first).unwrap();
    let prefix: Vec<SharedBlock> = (0..).map_while(|index| first.block(index)).collect();
    assert_eq!((prefix.len(), counts().in_use), (2, 3));
    drop(first);
    assert!(prefix.iter().all(SharedBlock::is_only_holder));
    assert_eq!(counts().in_use, 2);
    // One goes on where the blocks end, one parts from them in the middle of a block.
    for (blocks, from) in [(2, 32), (2, 20), (1, 16), (0, 0)] {
        let mut cache = model.cache_of(&prefix[..blocks]).unwrap();
        cache.truncate(from);
        assert!(prefix.iter().take(from.div_ceil(16)).all(|block| !block.is_only_holder()));
        let before = counts().in_use;
        let reserved = cache.blocks_for(tokens.len() - from);
        let chunk = Chunk::new(&tokens[from..], &mut cache).with_logits(LogitRows::All);
        let rows = model.forward_batch(&mut [chunk]).unwrap().remove(0);
        reference.assert_same(&rows, &expected[from..]);
        assert_eq!((counts().in_use - before, cache.blocks_for(0)), (reserved, 0));
    }
    assert!(prefix.iter().all(SharedBlock::is_only_holder));
    let draft = model.first_layers(1).unwrap();
    assert!(draft.cache_of(&prefix).unwrap_err().to_string().contains("another model"));
    drop(prefix);
    model.limit_free_kv_blocks(1);
    assert_eq!((counts().in_use, counts().free), (0, 1));
}
