//! Regular expressions as explicit automata: complete, deterministic, built by products and sets
//! of states. (The engine takes derivatives, lazily.)

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use super::language::Expr;

/// State 0 is the start; every state has a successor for every letter.
#[derive(Clone, Debug)]
pub(crate) struct Dfa {
    /// Successor by state and letter.
    pub(crate) next: Vec<Vec<usize>>,
    pub(crate) accepting: Vec<bool>,
}

impl Dfa {
    /// The automaton of an expression over these bytes; letter `i` is `alphabet[i]`.
    pub(crate) fn new(expr: &Expr, alphabet: &[u8]) -> Self {
        let of = |e: &Expr| Self::new(e, alphabet);
        let letters = alphabet.len();
        match expr {
            Expr::Class(bytes) => Self::class(bytes, alphabet),
            Expr::Literal(bytes) => bytes.iter().fold(Self::epsilon(letters), |dfa, &b| {
                Self::concat(&dfa, &Self::class(&[b], alphabet))
            }),
            Expr::Concat(xs) => {
                xs.iter().fold(Self::epsilon(letters), |dfa, x| Self::concat(&dfa, &of(x)))
            }
            Expr::Union(xs) => xs.iter().fold(Self::constant(letters, false), |dfa, x| {
                Self::product(&dfa, &of(x), |a, b| a || b)
            }),
            Expr::And(xs) => xs.iter().fold(Self::constant(letters, true), |dfa, x| {
                Self::product(&dfa, &of(x), |a, b| a && b)
            }),
            Expr::Not(x) => {
                let mut dfa = of(x);
                dfa.accepting.iter_mut().for_each(|accepting| *accepting = !*accepting);
                dfa
            }
            Expr::Repeat(x, min, max) => Self::repeat(&of(x), letters, *min, *max),
        }
    }

    /// All strings, or none.
    fn constant(letters: usize, accepting: bool) -> Self {
        Self { next: vec![vec![0; letters]], accepting: vec![accepting] }
    }

    fn epsilon(letters: usize) -> Self {
        Self { next: vec![vec![1; letters]; 2], accepting: vec![true, false] }
    }

    fn class(bytes: &[u8], alphabet: &[u8]) -> Self {
        let first = alphabet.iter().map(|b| if bytes.contains(b) { 1 } else { 2 }).collect();
        let dead = vec![2; alphabet.len()];
        Self { next: vec![first, dead.clone(), dead], accepting: vec![false, true, false] }
    }

    fn product(a: &Self, b: &Self, accepting: impl Fn(bool, bool) -> bool) -> Self {
        let letters = a.next[0].len();
        explore(
            (0, 0),
            letters,
            |&(x, y), letter| (a.next[x][letter], b.next[y][letter]),
            |&(x, y)| accepting(a.accepting[x], b.accepting[y]),
        )
    }

    fn concat(a: &Self, b: &Self) -> Self {
        let letters = a.next[0].len();
        // Where `a` accepts, `b` starts as well.
        let enter = |x: usize, mut ys: BTreeSet<usize>| {
            if a.accepting[x] {
                ys.insert(0);
            }
            (x, ys)
        };
        explore(
            enter(0, BTreeSet::new()),
            letters,
            |(x, ys), letter| {
                enter(a.next[*x][letter], ys.iter().map(|&y| b.next[y][letter]).collect())
            },
            |(_, ys)| ys.iter().any(|&y| b.accepting[y]),
        )
    }

    fn star(a: &Self) -> Self {
        // Sets of states; a set that has accepted also starts anew. The empty string is in it
        // even if the start of `a` does not accept: hence the mark on the first set.
        let letters = a.next[0].len();
        explore(
            (true, BTreeSet::from([0])),
            letters,
            |(_, xs), letter| {
                let mut after: BTreeSet<usize> = xs.iter().map(|&x| a.next[x][letter]).collect();
                if after.iter().any(|&x| a.accepting[x]) {
                    after.insert(0);
                }
                (false, after)
            },
            |(first, xs)| *first || xs.iter().any(|&x| a.accepting[x]),
        )
    }

    fn repeat(a: &Self, letters: usize, min: u32, max: Option<u32>) -> Self {
        let start = Self::epsilon(letters);
        let least = (0..min).fold(start.clone(), |dfa, _| Self::concat(&dfa, a));
        match max {
            None => Self::concat(&least, &Self::star(a)),
            Some(max) if max < min => Self::constant(letters, false),
            Some(max) => {
                let maybe = Self::product(a, &start, |x, y| x || y);
                (min..max).fold(least, |dfa, _| Self::concat(&dfa, &maybe))
            }
        }
    }

    /// Merges states that no string tells apart, by refining a partition until it is stable.
    fn minimal(&self) -> Self {
        let mut class: Vec<usize> = self.accepting.iter().map(|&a| usize::from(a)).collect();
        let mut count = 0;
        loop {
            let mut ids = HashMap::new();
            let refined: Vec<usize> = (0..class.len())
                .map(|x| {
                    let row: Vec<usize> = self.next[x].iter().map(|&y| class[y]).collect();
                    let fresh = ids.len();
                    *ids.entry((class[x], row)).or_insert(fresh)
                })
                .collect();
            class = refined;
            if ids.len() == count {
                break;
            }
            count = ids.len();
        }
        // The start is numbered first, so it stays state 0.
        let member = |c: usize| class.iter().position(|&x| x == c).expect("classes have members");
        let members: Vec<usize> = (0..count).map(member).collect();
        Self {
            next: members
                .iter()
                .map(|&x| self.next[x].iter().map(|&y| class[y]).collect())
                .collect(),
            accepting: members.iter().map(|&x| self.accepting[x]).collect(),
        }
    }
}

/// The automaton whose states are everything that `step` reaches from `start`.
fn explore<S: Clone + Eq + Hash>(
    start: S,
    letters: usize,
    step: impl Fn(&S, usize) -> S,
    accepting: impl Fn(&S) -> bool,
) -> Dfa {
    let mut ids = HashMap::from([(start.clone(), 0)]);
    let mut states = vec![start];
    let mut next = Vec::new();
    while next.len() < states.len() {
        let state = states[next.len()].clone();
        let row = (0..letters).map(|letter| {
            let after = step(&state, letter);
            *ids.entry(after.clone()).or_insert_with(|| {
                states.push(after);
                states.len() - 1
            })
        });
        next.push(row.collect());
    }
    let accepting = states.iter().map(accepting).collect();
    // At once, so that sets of sets of states do not pile up.
    Dfa { next, accepting }.minimal()
}
