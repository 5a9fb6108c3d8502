//! The oracle itself: which strings are in a language, and which can still become one.
//!
//! A text `s` is made into a small automaton: a chain of its symbols, and after its end the
//! vocabulary as a trie whose tokens lead back to the trie's root. The paths from the chain's
//! start to the root spell exactly the strings `s·u` for token sequences `u`. For every node of
//! the grammar and every state, a least fixed point finds the states that the node's strings can
//! lead to (Bar-Hillel, Perles, Shamir 1961). The definition of an allowed token is then read off:
//! `s` is in the language if the start rule spans the whole chain, and can become a member if it
//! leads to the end of the chain or to the root.

use std::collections::{BTreeMap, HashMap};

use super::automaton::Dfa;
use super::language::{Expr, Grammar, Node, Symbol, Token, alphabet, special};

/// A set of states of the automaton; bit `i` is state `i`.
type States = u128;

/// The root of the trie is state 0.
const ROOT: usize = 0;

/// Longest text that the oracle takes next to the largest vocabulary that tests make.
pub(crate) const MAX_TEXT: usize = 40;

/// The oracle's verdict on a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// It is in the language.
    pub(crate) member: bool,
    /// Some token sequence, possibly empty, makes it one that is.
    pub(crate) viable: bool,
}

/// A node, flattened; operands are indices.
enum Form {
    Terminal(Dfa),
    Special(Symbol),
    Sequence(Vec<usize>),
    Choice(Vec<usize>),
    Star(usize),
}

/// Decides texts of one grammar under one vocabulary.
pub(crate) struct Oracle {
    forms: Vec<Form>,
    start: usize,
    letters: HashMap<Symbol, usize>,
    /// Successors in the trie of the vocabulary, by state and symbol.
    trie: Vec<BTreeMap<Symbol, States>>,
    /// For each state of the trie, the states that each form leads to.
    rows: Vec<Vec<States>>,
    seen: HashMap<Vec<Symbol>, Verdict>,
}

impl Oracle {
    pub(crate) fn new(grammar: &Grammar, tokens: &[Token]) -> Self {
        let alphabet = alphabet(grammar, tokens);
        // One form per rule comes first, so that calls can be resolved before their bodies.
        let mut forms: Vec<Form> = grammar.rules.iter().map(|_| Form::Choice(vec![])).collect();
        for (rule, body) in grammar.rules.iter().enumerate() {
            let body = flatten(body, &alphabet, &mut forms);
            forms[rule] = Form::Choice(vec![body]);
        }
        let letters = alphabet.iter().enumerate().map(|(i, &b)| (Symbol::from(b), i)).collect();
        let trie = trie(tokens);
        assert!(trie.len() + MAX_TEXT < 128, "the vocabulary is too large for the oracle");
        let mut this =
            Self { forms, start: 0, letters, trie, rows: Vec::new(), seen: HashMap::new() };
        let states: Vec<usize> = (0..this.trie.len()).collect();
        let mut rows = vec![Vec::new(); states.len()];
        this.settle(&states, &[], &mut rows);
        this.rows = rows;
        this
    }

    /// The bytes of grammar and vocabulary.
    pub(crate) fn letters(&self) -> impl Iterator<Item = Symbol> {
        self.letters.keys().copied()
    }

    /// Says of a text whether it is in the language and whether it can become a member.
    pub(crate) fn judge(&mut self, text: &[Symbol]) -> Verdict {
        if let Some(&verdict) = self.seen.get(text) {
            return verdict;
        }
        assert!(text.len() <= MAX_TEXT, "the text is too long for the oracle");
        // The chain lies after the trie. Its last state first: nothing leads backwards.
        let chain = self.trie.len();
        let mut rows = self.rows.clone();
        rows.resize(chain + text.len() + 1, Vec::new());
        for state in (chain..=chain + text.len()).rev() {
            self.settle(&[state], text, &mut rows);
        }
        let reached = rows[chain][self.start];
        let end = 1 << (chain + text.len());
        let verdict =
            Verdict { member: reached & end != 0, viable: reached & (end | 1 << ROOT) != 0 };
        self.seen.insert(text.to_vec(), verdict);
        verdict
    }

    /// The successors of a state by one symbol, where `text` is the chain.
    fn next(&self, state: usize, symbol: Symbol, text: &[Symbol]) -> States {
        let Some(position) = state.checked_sub(self.trie.len()) else {
            return self.trie[state].get(&symbol).copied().unwrap_or(0);
        };
        match text.get(position) {
            Some(&expected) if expected == symbol => 1 << (state + 1),
            Some(_) => 0,
            // At the end of the chain any token may come.
            None => self.next(ROOT, symbol, text),
        }
    }

    /// The least fixed point of all forms over these states, the rows of the others being known.
    fn settle(&self, states: &[usize], text: &[Symbol], rows: &mut [Vec<States>]) {
        for &state in states {
            rows[state] = self.forms.iter().map(|form| self.leaf(form, state, text)).collect();
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &state in states {
                for form in 0..self.forms.len() {
                    let row = rows[state][form] | self.inner(form, state, rows);
                    changed |= row != rows[state][form];
                    rows[state][form] = row;
                }
            }
        }
    }

    /// The states after a terminal or special token; none for other forms.
    fn leaf(&self, form: &Form, state: usize, text: &[Symbol]) -> States {
        let dfa = match form {
            Form::Terminal(dfa) => dfa,
            Form::Special(symbol) => return self.next(state, *symbol, text),
            _ => return 0,
        };
        // All pairs (state, state of the terminal) reached, as one set for each of the latter.
        let mut reached = vec![0; dfa.next.len()];
        reached[0] = 1 << state;
        let mut pending = vec![(state, 0)];
        while let Some((state, inside)) = pending.pop() {
            for (&symbol, &letter) in &self.letters {
                let after = dfa.next[inside][letter];
                for target in members(self.next(state, symbol, text) & !reached[after]) {
                    reached[after] |= 1 << target;
                    pending.push((target, after));
                }
            }
        }
        let accepting = reached.iter().zip(&dfa.accepting).filter(|(_, accepting)| **accepting);
        accepting.fold(0, |all, (states, _)| all | states)
    }

    /// Where the other forms lead, by what is known of their operands.
    fn inner(&self, form: usize, state: usize, rows: &[Vec<States>]) -> States {
        let from = |states: States, operand: usize| {
            members(states).fold(0, |all, state| all | rows[state][operand])
        };
        match &self.forms[form] {
            Form::Terminal(_) | Form::Special(_) => 0,
            Form::Sequence(parts) => parts.iter().fold(1 << state, |at, &part| from(at, part)),
            Form::Choice(parts) => parts.iter().fold(0, |all, &part| all | rows[state][part]),
            Form::Star(part) => 1 << state | from(rows[state][*part], form),
        }
    }
}

fn members(mut states: States) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (states != 0).then(|| states.trailing_zeros() as usize)?;
        states &= states - 1;
        Some(lowest)
    })
}

/// The trie of the vocabulary: a token's last symbol leads back to the root, and on to where the
/// longer tokens that begin with it go.
fn trie(tokens: &[Token]) -> Vec<BTreeMap<Symbol, States>> {
    let mut trie: Vec<BTreeMap<Symbol, States>> = vec![BTreeMap::new()];
    let mut nodes: HashMap<Vec<Symbol>, usize> = HashMap::from([(vec![], ROOT)]);
    for (id, token) in (0..).zip(tokens) {
        let Some(text) = token.symbols(id) else { continue };
        for end in 1..=text.len() {
            let from = nodes[&text[..end - 1]];
            if end == text.len() {
                *trie[from].entry(text[end - 1]).or_default() |= 1 << ROOT;
            } else {
                let to = *nodes.entry(text[..end].to_vec()).or_insert_with(|| {
                    trie.push(BTreeMap::new());
                    trie.len() - 1
                });
                *trie[from].entry(text[end - 1]).or_default() |= 1 << to;
            }
        }
    }
    trie
}

fn flatten(node: &Node, alphabet: &[u8], forms: &mut Vec<Form>) -> usize {
    let mut all = |nodes: &[Node]| -> Vec<usize> {
        nodes.iter().map(|node| flatten(node, alphabet, forms)).collect()
    };
    let form = match node {
        Node::Terminal(expr) => Form::Terminal(Dfa::new(expr, alphabet)),
        Node::Special(id) => Form::Special(special(*id)),
        Node::Sequence(parts) => Form::Sequence(all(parts)),
        Node::Choice(parts) => Form::Choice(all(parts)),
        // Without tokens there is nothing to count.
        Node::Budget(part, _) => return flatten(part, alphabet, forms),
        Node::Call(rule) => return *rule,
        Node::Repeat(part, min, max) => {
            let part = flatten(part, alphabet, forms);
            // min times the part, then as many more as the bound leaves, each of them optional.
            let mut parts = vec![part; *min as usize];
            match max {
                None => parts.push(push(forms, Form::Star(part))),
                Some(max) if max < min => {
                    let nothing = Expr::Union(vec![]);
                    parts.push(push(forms, Form::Terminal(Dfa::new(&nothing, alphabet))));
                }
                Some(max) => {
                    let empty = push(forms, Form::Sequence(vec![]));
                    let maybe = push(forms, Form::Choice(vec![part, empty]));
                    parts.extend((*min..*max).map(|_| maybe));
                }
            }
            Form::Sequence(parts)
        }
    };
    push(forms, form)
}

fn push(forms: &mut Vec<Form>, form: Form) -> usize {
    forms.push(form);
    forms.len() - 1
}
