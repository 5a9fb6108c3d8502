//! Runs in an index.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use super::{At, Border, Leaving, Run, Runs, new_trie};
use crate::mask::shapes::Classes;
use crate::vocabulary::{IndexReader, IndexWriter, Trie, Vocabulary};

/// Kinds of what stands at a border.
const NODE: u8 = 0;
const SHAPE: u8 = 1;
const TOKEN: u8 = 2;

impl Runs {
    /// Writes them and what was asked of them.
    pub(crate) fn encode(&self, to: &mut IndexWriter) {
        to.number(self.node);
        to.list(self.inside.iter().copied());
        to.list(self.upto.iter().copied());
        let mut borders: Vec<_> = self.borders.iter().collect();
        borders.sort_unstable_by_key(|&(&byte, _)| byte);
        to.list(borders.iter().map(|&(&byte, _)| byte));
        for (_, list) in borders {
            let kind = |border: &Border| match border.tokens {
                At::Node(_) => NODE,
                At::Shape(_) => SHAPE,
                At::Token(_) => TOKEN,
            };
            let number = |border: &Border| match border.tokens {
                At::Node(number) | At::Shape(number) | At::Token(number) => number,
            };
            to.list(list.iter().map(kind));
            to.list(list.iter().map(number));
            put_runs(to, list.iter().map(|border| border.run));
        }
        let known = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        let mut leaving: Vec<_> = known.iter().collect();
        leaving.sort_unstable_by_key(|&(&byte, _)| byte);
        to.list(leaving.iter().map(|&(&byte, _)| byte));
        for (_, leaving) in leaving {
            leaving.tails.encode(to);
            put_runs(to, leaving.runs.iter().copied());
        }
    }

    /// Reads them; `None` if they cannot be runs below this node of the vocabulary's trie.
    pub(crate) fn decode(
        from: &mut IndexReader<'_>,
        vocabulary: &Vocabulary,
        classes: &Classes,
        node: u32,
    ) -> Option<Self> {
        let top = usize::from(vocabulary.trie().nodes().get(node as usize)?.depth);
        let stored = from.number::<u32>()?;
        let inside: Box<[u32]> = from.list()?.collect();
        let upto: Box<[u32]> = from.list()?.collect();
        let sound = stored == node
            && inside.iter().all(|&token| (token as usize) < vocabulary.len())
            && upto.is_sorted()
            && upto.last().is_some_and(|&last| last as usize == inside.len());
        if !sound {
            return None;
        }
        let mut borders = FxHashMap::default();
        for byte in from.list::<u8>()? {
            let (kinds, numbers) = (from.list::<u8>()?, from.list::<u32>()?);
            let runs = get_runs(from)?;
            if numbers.len() != runs.len() || kinds.len() != runs.len() {
                return None;
            }
            let border = |((kind, number), run): ((u8, u32), Run)| {
                let (tokens, count) = match kind {
                    NODE => (At::Node(number), vocabulary.trie().nodes().len()),
                    SHAPE => (At::Shape(number), classes.trie().nodes().len()),
                    TOKEN => (At::Token(number), vocabulary.len()),
                    _ => return None,
                };
                ((number as usize) < count).then_some(Border { tokens, run })
            };
            let list: Option<Vec<Border>> = kinds.zip(numbers).zip(runs).map(border).collect();
            borders.insert(byte, list?);
        }
        let mut leaving = FxHashMap::default();
        for byte in from.list::<u8>()? {
            let tails = Trie::decode(from, vocabulary.len())?;
            let runs: Box<[Run]> = get_runs(from)?.into();
            if runs.len() != tails.ids().len() {
                return None;
            }
            leaving.insert(byte, Arc::new(Leaving { tails, runs, id: new_trie() }));
        }
        Some(Self {
            masks: upto.iter().map(|_| OnceLock::new()).collect(),
            upto,
            inside,
            borders,
            node,
            top,
            leaving: Mutex::new(leaving),
            of_class: Mutex::default(),
            words: vocabulary.len(),
            id: new_trie(),
        })
    }
}

fn put_runs(to: &mut IndexWriter, runs: impl ExactSizeIterator<Item = Run> + Clone) {
    to.list(runs.clone().map(|run| run.units));
    to.list(runs.map(|run| run.bytes));
}

fn get_runs(from: &mut IndexReader<'_>) -> Option<Vec<Run>> {
    let (units, bytes) = (from.list::<u16>()?, from.list::<u16>()?);
    let same = units.len() == bytes.len();
    same.then(|| units.zip(bytes).map(|(units, bytes)| Run { units, bytes }).collect())
}
