//! The oracle for grammars with budgets of tokens: which token sequences are in a language, and which
//! can still become one.
//!
//! It is the oracle of [`spans`](super::spans) with a number on every path: the least number of tokens
//! that *begin* on it. A path that a part with a budget reads takes that many tokens, and one more if
//! it starts inside a token and reads anything. Paths of fewer tokens to the same state allow all that
//! others do, so the least number is all that has to be known.

use std::collections::{BTreeMap, BTreeSet};

use super::automaton::Dfa;
use super::language::{Grammar, Node, Symbol, Token, alphabet, special};
use super::spans::Verdict;

/// Least numbers of begun tokens, by state of the automaton.
type Reached = BTreeMap<usize, u32>;

/// The root of the trie is state 0.
const ROOT: usize = 0;

/// A node, flattened; operands are indices.
enum Form {
    Terminal(Dfa),
    Special(Symbol),
    Sequence(Vec<usize>),
    Choice(Vec<usize>),
    Star(usize),
    Budget(usize, u32),
}

/// Decides token sequences of one grammar under one vocabulary.
pub(crate) struct TokenOracle {
    forms: Vec<Form>,
    letters: BTreeMap<u8, usize>,
    /// Successors in the trie of the vocabulary, by state and symbol; a token's last symbol leads to
    /// the root, too.
    trie: Vec<BTreeMap<Symbol, BTreeSet<usize>>>,
    /// For each state of the trie, the states that each form leads to.
    rows: Vec<Vec<Reached>>,
    seen: BTreeMap<Vec<Vec<Symbol>>, Verdict>,
}

/// The tokens of a sequence one after the other, with the places where they begin.
struct Chain {
    text: Vec<Symbol>,
    begins: BTreeSet<usize>,
    /// The state of its first place; the trie lies before it.
    first: usize,
}

impl TokenOracle {
    pub(crate) fn new(grammar: &Grammar, tokens: &[Token]) -> Self {
        let alphabet = alphabet(grammar, tokens);
        let mut forms: Vec<Form> = grammar.rules.iter().map(|_| Form::Choice(vec![])).collect();
        for (rule, body) in grammar.rules.iter().enumerate() {
            let body = flatten(body, &alphabet, &mut forms);
            forms[rule] = Form::Choice(vec![body]);
        }
        let letters = alphabet.iter().enumerate().map(|(i, &byte)| (byte, i)).collect();
        let trie = trie(tokens);
        let chain = Chain { text: vec![], begins: BTreeSet::new(), first: trie.len() };
        let mut this = Self { forms, letters, trie, rows: vec![], seen: BTreeMap::new() };
        let states: Vec<usize> = (0..this.trie.len()).collect();
        let mut rows = vec![Vec::new(); states.len()];
        this.settle(&states, &chain, &mut rows);
        this.rows = rows;
        this
    }

    /// Says of a token sequence whether it is in the language and whether it can become a member.
    pub(crate) fn judge(&mut self, tokens: &[Vec<Symbol>]) -> Verdict {
        if let Some(&verdict) = self.seen.get(tokens) {
            return verdict;
        }
        let begins = tokens.iter().scan(0, |at, token| {
            let begin = *at;
            *at += token.len();
            Some(begin)
        });
        let begins = begins.collect();
        let chain = Chain { text: tokens.concat(), begins, first: self.trie.len() };
        let end = chain.first + chain.text.len();
        let mut rows = self.rows.clone();
        rows.resize(end + 1, Vec::new());
        for state in (chain.first..=end).rev() {
            self.settle(&[state], &chain, &mut rows);
        }
        let reached = &rows[chain.first][0];
        let member = reached.contains_key(&end);
        let verdict = Verdict { member, viable: member || reached.contains_key(&ROOT) };
        self.seen.insert(tokens.to_vec(), verdict);
        verdict
    }

    /// Whether no token is half read in a state.
    fn is_border(&self, state: usize, chain: &Chain) -> bool {
        match state.checked_sub(chain.first) {
            None => state == ROOT,
            Some(place) => place == chain.text.len() || chain.begins.contains(&place),
        }
    }

    fn next(&self, state: usize, symbol: Symbol, chain: &Chain) -> BTreeSet<usize> {
        let from_trie = |state: usize| self.trie[state].get(&symbol).cloned().unwrap_or_default();
        match state.checked_sub(chain.first) {
            None => from_trie(state),
            Some(place) => match chain.text.get(place) {
                Some(&expected) if expected == symbol => BTreeSet::from([state + 1]),
                Some(_) => BTreeSet::new(),
                None => from_trie(ROOT),
            },
        }
    }

    /// The least fixed point of all forms over these states, the rows of the others being known.
    fn settle(&self, states: &[usize], chain: &Chain, rows: &mut [Vec<Reached>]) {
        for &state in states {
            rows[state] = self.forms.iter().map(|form| self.leaf(form, state, chain)).collect();
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &state in states {
                for form in 0..self.forms.len() {
                    for (to, tokens) in self.inner(form, state, chain, rows) {
                        let known = rows[state][form].entry(to).or_insert(u32::MAX);
                        changed |= tokens < *known;
                        *known = tokens.min(*known);
                    }
                }
            }
        }
    }

    /// Where a terminal or special token leads; nowhere for other forms.
    fn leaf(&self, form: &Form, from: usize, chain: &Chain) -> Reached {
        let begun = |state: usize| u32::from(self.is_border(state, chain));
        let dfa = match form {
            Form::Terminal(dfa) => dfa,
            Form::Special(symbol) => {
                let next = self.next(from, *symbol, chain);
                return next.into_iter().map(|to| (to, begun(from))).collect();
            }
            _ => return Reached::new(),
        };
        let mut reached = BTreeMap::from([((from, 0), 0)]);
        let mut pending = vec![(from, 0)];
        while let Some((state, inside)) = pending.pop() {
            let tokens = reached[&(state, inside)] + begun(state);
            for (&byte, &letter) in &self.letters {
                let after = dfa.next[inside][letter];
                for to in self.next(state, byte.into(), chain) {
                    let known = reached.entry((to, after)).or_insert(u32::MAX);
                    if tokens < *known {
                        *known = tokens;
                        pending.push((to, after));
                    }
                }
            }
        }
        let mut found = Reached::new();
        for ((state, inside), tokens) in reached {
            if dfa.accepting[inside] {
                let known = found.entry(state).or_insert(u32::MAX);
                *known = tokens.min(*known);
            }
        }
        found
    }

    /// Where the other forms lead, by what is known of their operands.
    fn inner(&self, form: usize, from: usize, chain: &Chain, rows: &[Vec<Reached>]) -> Reached {
        let add = |all: &mut Reached, to: usize, tokens: u32| {
            let known = all.entry(to).or_insert(u32::MAX);
            *known = tokens.min(*known);
        };
        let after = |at: &Reached, operand: usize| {
            let mut all = Reached::new();
            for (&state, &before) in at {
                for (&to, &tokens) in
                    rows.get(state).and_then(|row| row.get(operand)).into_iter().flatten()
                {
                    add(&mut all, to, before + tokens);
                }
            }
            all
        };
        let here = || Reached::from([(from, 0)]);
        match &self.forms[form] {
            Form::Terminal(_) | Form::Special(_) => Reached::new(),
            Form::Sequence(parts) => parts.iter().fold(here(), |at, &part| after(&at, part)),
            Form::Choice(parts) => {
                let mut all = Reached::new();
                for &part in parts {
                    rows[from][part].iter().for_each(|(&to, &tokens)| add(&mut all, to, tokens));
                }
                all
            }
            Form::Star(part) => {
                let mut all = after(&rows[from][*part], form);
                add(&mut all, from, 0);
                all
            }
            Form::Budget(part, max) => {
                let fits = |&(&to, &begun): &(&usize, &u32)| {
                    // Back to where it began without a token begun: nothing was read.
                    let is_empty = to == from && begun == 0;
                    let half_read = !is_empty && !self.is_border(from, chain);
                    begun + u32::from(half_read) <= *max
                };
                let fitting = rows[from][*part].iter().filter(fits);
                fitting.map(|(&to, &begun)| (to, begun)).collect()
            }
        }
    }
}

/// The trie of the vocabulary: a token's last symbol leads back to the root, and on to where the
/// longer tokens that begin with it go.
fn trie(tokens: &[Token]) -> Vec<BTreeMap<Symbol, BTreeSet<usize>>> {
    let mut trie: Vec<BTreeMap<Symbol, BTreeSet<usize>>> = vec![BTreeMap::new()];
    let mut nodes: BTreeMap<Vec<Symbol>, usize> = BTreeMap::from([(vec![], ROOT)]);
    for (id, token) in (0..).zip(tokens) {
        let Some(text) = token.symbols(id) else { continue };
        for end in 1..=text.len() {
            let from = nodes[&text[..end - 1]];
            let to = if end == text.len() {
                ROOT
            } else {
                *nodes.entry(text[..end].to_vec()).or_insert_with(|| {
                    trie.push(BTreeMap::new());
                    trie.len() - 1
                })
            };
            trie[from].entry(text[end - 1]).or_default().insert(to);
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
        Node::Call(rule) => return *rule,
        Node::Budget(part, max) => {
            let part = flatten(part, alphabet, forms);
            Form::Budget(part, *max)
        }
        Node::Repeat(part, min, max) => {
            let part = flatten(part, alphabet, forms);
            let mut parts = vec![part; *min as usize];
            match max {
                None => parts.push(push(forms, Form::Star(part))),
                Some(max) if max < min => parts.push(push(forms, Form::Choice(vec![]))),
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

/// Whether a token sequence is in the language, from the definition: by all spans of its text.
pub(crate) fn is_member(grammar: &Grammar, tokens: &[Vec<Symbol>]) -> bool {
    let text = tokens.concat();
    let mut bytes: Vec<u8> = text.iter().filter_map(|&symbol| symbol.try_into().ok()).collect();
    bytes.sort_unstable();
    bytes.dedup();
    let mut spans = Spans { text: &text, bytes, tokens, known: BTreeMap::new() };
    // Rules grow until no span is new.
    loop {
        let before: usize = spans.known.values().map(BTreeSet::len).sum();
        for rule in 0..grammar.rules.len() {
            for from in 0..=text.len() {
                let found = spans.ends(&grammar.rules[rule], from);
                spans.known.entry((rule, from)).or_default().extend(found);
            }
        }
        if before == spans.known.values().map(BTreeSet::len).sum::<usize>() {
            return spans.known.get(&(0, 0)).is_some_and(|ends| ends.contains(&text.len()));
        }
    }
}

/// The spans of a text that parts of a grammar derive.
struct Spans<'a> {
    text: &'a [Symbol],
    /// The bytes of the text, ascending.
    bytes: Vec<u8>,
    tokens: &'a [Vec<Symbol>],
    /// By rule and start, the ends that are known.
    known: BTreeMap<(usize, usize), BTreeSet<usize>>,
}

impl Spans<'_> {
    /// The tokens that hold a symbol of a span.
    fn tokens_of(&self, from: usize, to: usize) -> usize {
        let mut at = 0;
        let mut count = 0;
        for token in self.tokens {
            let (begin, end) = (at, at + token.len());
            count += usize::from(begin < to && from < end && from < to);
            at = end;
        }
        count
    }

    fn ends(&self, node: &Node, from: usize) -> BTreeSet<usize> {
        match node {
            Node::Terminal(expr) => {
                let dfa = Dfa::new(expr, &self.bytes);
                let (mut state, mut ends) = (0, BTreeSet::new());
                for read in from..=self.text.len() {
                    if dfa.accepting[state] {
                        ends.insert(read);
                    }
                    let symbol = self.text.get(read);
                    let letter = |&byte: &u8| Some(&Symbol::from(byte)) == symbol;
                    let Some(letter) = self.bytes.iter().position(letter) else { break };
                    state = dfa.next[state][letter];
                }
                ends
            }
            Node::Special(id) => {
                let is_next = self.text.get(from) == Some(&special(*id));
                is_next.then_some(from + 1).into_iter().collect()
            }
            Node::Sequence(parts) => {
                parts.iter().fold(BTreeSet::from([from]), |at, part| self.all_ends(part, &at))
            }
            Node::Choice(parts) => parts.iter().flat_map(|part| self.ends(part, from)).collect(),
            Node::Call(rule) => self.known.get(&(*rule, from)).cloned().unwrap_or_default(),
            Node::Budget(part, max) => {
                let mut ends = self.ends(part, from);
                ends.retain(|&to| self.tokens_of(from, to) <= *max as usize);
                ends
            }
            Node::Repeat(part, min, max) => {
                let mut at = BTreeSet::from([from]);
                for _ in 0..*min {
                    at = self.all_ends(part, &at);
                }
                let mut all = if max.is_some_and(|max| max < *min) { BTreeSet::new() } else { at };
                // Turns beyond the text's length read nothing new.
                let more = max.map_or(self.text.len() as u32 + 1, |max| max.saturating_sub(*min));
                for _ in 0..more {
                    let further = self.all_ends(part, &all);
                    all.extend(further);
                }
                all
            }
        }
    }

    fn all_ends(&self, node: &Node, from: &BTreeSet<usize>) -> BTreeSet<usize> {
        from.iter().flat_map(|&from| self.ends(node, from)).collect()
    }
}
