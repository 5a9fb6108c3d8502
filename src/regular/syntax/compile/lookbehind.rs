//! Left contexts: what the lookbehinds of a pattern must know of the text before a position.
//!
//! Two prefixes are equivalent if every lookbehind either holds after both or after neither, now
//! and after any continuation. The contexts are the states of the product of the lookbehinds'
//! automata. For `(?<=a)b`: context 0 after any text that does not end in `a`, context 1 after one
//! that does.

use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::regular::syntax::pattern_error::error_at;
use crate::regular::{ByteSet, Language, Languages, variables};

/// States of the automaton that follows all lookbehinds of one pattern.
const STATE_LIMIT: usize = 4096;

/// The left contexts of a pattern: classes of prefixes that its lookbehinds (`^` among them)
/// tell apart. Context 0 is that of the empty prefix.
pub(crate) enum LeftContexts {
    /// No lookbehind.
    One,
    /// Only `^` does: 0 at the start, 1 later.
    Start,
    /// The states of an automaton that follows every lookbehind's prefixes.
    Many(Box<LookbehindDfa>),
}

/// The prefixes of all lookbehinds, determinised together byte by byte.
pub(crate) struct LookbehindDfa {
    /// Successor states of each state, by sets of bytes.
    edges: Vec<Vec<(ByteSet, usize)>>,
    /// By context: its state, which stands between two characters.
    context_states: Vec<usize>,
    /// By context: whether each lookbehind holds.
    holds: Vec<Vec<bool>>,
    /// For each set of target contexts: the languages that lead there, by state.
    paths: FxHashMap<Vec<bool>, Vec<Language>>,
    /// The variables that `paths` are made of.
    variables: Vec<Language>,
}

impl LeftContexts {
    /// The contexts that tell apart which of `prefixes` a prefix is in; `text` is the language of
    /// all prefixes, a repeat of single characters.
    pub(crate) fn new(
        languages: &mut Languages,
        prefixes: &[Language],
        text: Language,
    ) -> Result<Self> {
        match prefixes {
            [] => Ok(Self::One),
            [Language::EPSILON] => Ok(Self::Start),
            _ => Ok(Self::Many(Box::new(LookbehindDfa::new(languages, prefixes, text)?))),
        }
    }

    /// Number of contexts.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::One => 1,
            Self::Start => 2,
            Self::Many(automaton) => automaton.context_states.len(),
        }
    }

    /// Whether the prefixes of a context are in a lookbehind, by its index.
    pub(crate) fn holds(&self, context: usize, prefix: usize) -> bool {
        match self {
            Self::One => false,
            Self::Start => context == 0,
            Self::Many(automaton) => automaton.holds[context][prefix],
        }
    }

    /// The variables made so far, all of them defined.
    pub(crate) fn variables(&self) -> &[Language] {
        match self {
            Self::One | Self::Start => &[],
            Self::Many(automaton) => &automaton.variables,
        }
    }

    /// From each context: `piece` (not the empty string), then `rest` of the context that it leads
    /// to.
    pub(crate) fn then(
        &mut self,
        languages: &mut Languages,
        piece: Language,
        rest: &[Language],
    ) -> Vec<Language> {
        match self {
            Self::One | Self::Start => {
                // After a character it is never the start.
                let rest = rest[rest.len() - 1];
                vec![languages.concat([piece, rest]); self.len()]
            }
            Self::Many(automaton) => automaton.then(languages, piece, rest),
        }
    }
}

impl LookbehindDfa {
    fn new(languages: &mut Languages, prefixes: &[Language], text: Language) -> Result<Self> {
        let start: Vec<Language> = [text].into_iter().chain(prefixes.iter().copied()).collect();
        let mut ids = FxHashMap::from_iter([(start.clone(), 0)]);
        let mut tuples = vec![start];
        let mut edges = Vec::new();
        while let Some(tuple) = tuples.get(edges.len()) {
            let mut successors: FxHashMap<Vec<Language>, ByteSet> = FxHashMap::default();
            let rows: Vec<_> =
                tuple.iter().map(|&state| languages.row(state).copied()).collect::<Result<_>>()?;
            for byte in 0..=255u8 {
                let next: Vec<_> = rows.iter().map(|row| row[usize::from(byte)]).collect();
                if next[0] != Language::EMPTY {
                    successors.entry(next).or_default().insert(byte);
                }
            }
            let mut out = Vec::new();
            for (next, bytes) in successors {
                let id = *ids.entry(next).or_insert_with_key(|next| {
                    tuples.push(next.clone());
                    tuples.len() - 1
                });
                out.push((bytes, id));
            }
            // Hash order must not decide the order of anything made from this.
            out.sort_unstable();
            edges.push(out);
            if tuples.len() > STATE_LIMIT {
                let message =
                    format!("the lookbehinds of the pattern need more than {STATE_LIMIT} states");
                return Err(error_at(0, message).with_help("simplify what they look for"));
            }
        }
        let context_states: Vec<usize> =
            (0..tuples.len()).filter(|&state| tuples[state][0] == text).collect();
        let holds = context_states
            .iter()
            .map(|&state| tuples[state][1..].iter().map(|&x| languages.is_nullable(x)).collect())
            .collect();
        Ok(Self {
            edges,
            context_states,
            holds,
            paths: FxHashMap::default(),
            variables: Vec::new(),
        })
    }

    fn then(
        &mut self,
        languages: &mut Languages,
        piece: Language,
        rest: &[Language],
    ) -> Vec<Language> {
        // Contexts with the same rest form one target.
        let mut rests: Vec<Language> = rest.to_vec();
        rests.sort_unstable();
        rests.dedup();
        if let [one] = rests[..] {
            return vec![languages.concat([piece, one]); rest.len()];
        }
        let mut parts = vec![Vec::new(); rest.len()];
        for target in rests {
            let targets: Vec<bool> = rest.iter().map(|&r| r == target).collect();
            let paths = self.paths(languages, targets);
            for (context, parts) in parts.iter_mut().enumerate() {
                let path = paths[self.context_states[context]];
                let piece = languages.intersect([piece, path]);
                parts.push(languages.concat([piece, target]));
            }
        }
        parts.into_iter().map(|parts| languages.union(parts)).collect()
    }

    /// By state: the strings that lead to one of these contexts.
    fn paths(&mut self, languages: &mut Languages, targets: Vec<bool>) -> Vec<Language> {
        if let Some(known) = self.paths.get(&targets) {
            return known.clone();
        }
        let mut ends = vec![false; self.edges.len()];
        for (&state, &target) in self.context_states.iter().zip(&targets) {
            ends[state] = target;
        }
        let states: Vec<_> =
            ends.iter().map(|&end| variables::new_variable(languages, end)).collect();
        for (state, edges) in self.edges.iter().enumerate() {
            let mut parts = if ends[state] { vec![Language::EPSILON] } else { Vec::new() };
            for &(bytes, next) in edges {
                let bytes = languages.byte_set(bytes);
                parts.push(languages.concat([bytes, states[next]]));
            }
            let body = languages.union(parts);
            variables::define(languages, states[state], body);
        }
        self.variables.extend_from_slice(&states);
        self.paths.insert(targets, states.clone());
        states
    }
}
